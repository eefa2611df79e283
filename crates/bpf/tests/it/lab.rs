//! A small kernel for the objects of these tests.

use bpf::memory::HOST;
use bpf::{Answer, End, FieldType, Host, Image, Kernel, Memory, Object, Options, Run, Struct, Vm};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Where the host's one object is.
pub const TASK: u64 = HOST + (7 << 32);

const SLEEP: u32 = 1;
const DOUBLE: u32 = 2;
const INSERT: u32 = 3;
const IDLE: u32 = 4;
const NEW: u32 = 5;
const ASK: u32 = 6;

pub struct Lab {
    pub now_ns: u64,
    pub cpu: u32,
    /// The bytes of the object at [`TASK`].
    pub task: Vec<u8>,
    pub lines: Vec<String>,
    /// Armed timers, with the instant when they fire.
    pub timers: BTreeMap<u64, u64>,
    /// Arguments of calls of `lab_insert`.
    pub inserted: Vec<[u64; 4]>,
    /// The argument of the last call of `lab_ask`.
    pub asked: u64,
}

impl Lab {
    pub fn new() -> Self {
        Self {
            now_ns: 1000,
            cpu: 1,
            task: vec![0; 256],
            lines: Vec::new(),
            timers: BTreeMap::new(),
            inserted: Vec::new(),
            asked: 0,
        }
    }

    pub fn put(&mut self, offset: usize, bytes: &[u8]) {
        self.task[offset..offset + bytes.len()].copy_from_slice(bytes);
    }
}

impl Host for Lab {
    fn load(&mut self, address: u64, size: u32) -> Option<u64> {
        let at = usize::try_from(address.checked_sub(TASK)?).ok()?;
        let bytes = self.task.get(at..at + size as usize)?;
        Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    fn store(&mut self, address: u64, size: u32, value: u64) -> bool {
        let at = address.wrapping_sub(TASK) as usize;
        match self.task.get_mut(at..at.saturating_add(size as usize)) {
            Some(place) => {
                place.copy_from_slice(&value.to_le_bytes()[..size as usize]);
                true
            }
            None => false,
        }
    }

    fn call(&mut self, function: u32, args: [u64; 5], _memory: &mut Memory) -> Answer {
        match function {
            SLEEP => {
                self.now_ns = self.now_ns.wrapping_add(args[0]);
                Answer::Suspend
            }
            DOUBLE => Answer::Value(args[0].wrapping_mul(2)),
            INSERT => {
                self.inserted.push([args[0], args[1], args[2], args[3]]);
                Answer::Value(0)
            }
            IDLE => Answer::Value(if args[0] == 9 { -1_i64 as u64 } else { 3 }),
            ASK => {
                self.asked = args[0];
                Answer::Suspend
            }
            NEW => Answer::Value(args[0].wrapping_mul(7)),
            other => Answer::Stop(format!("there is no function {other}")),
        }
    }

    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }

    fn cpu(&mut self) -> u32 {
        self.cpu
    }

    fn random(&mut self) -> u32 {
        4
    }

    fn print(&mut self, line: &str) {
        self.lines.push(line.to_string());
    }

    fn start_timer(&mut self, timer: u64, delay_ns: u64, _flags: u64) {
        self.timers.insert(timer, self.now_ns.wrapping_add(delay_ns));
    }

    fn cancel_timer(&mut self, timer: u64) {
        self.timers.remove(&timer);
    }
}

/// A kernel whose types are not those of the objects.
pub fn kernel() -> Kernel {
    let int = |size, is_signed| FieldType::Int { size, is_signed };
    let entity = Struct::new(24).with("vtime", 8, int(8, false)).with("slice", 16, int(8, false));
    let task = Struct::new(200)
        .with("pid", 40, int(4, true))
        .with("scx", 48, FieldType::Struct("entity".to_string()))
        .with("cpus", 80, FieldType::Array(Box::new(int(4, false)), 8))
        .with_bits("flags", (896, 7), 4)
        .with_bits("state", (903, 5), 4)
        .with("grown", 120, int(8, false))
        .with("grown_signed", 168, int(8, true))
        .with("comm", 128, FieldType::Array(Box::new(int(1, true)), 16))
        .with("in_union", 160, int(4, false));
    let mut kernel = Kernel::default();
    kernel.structs.insert("entity".to_string(), entity);
    kernel.structs.insert("task".to_string(), task);
    let values = [("KIND_A", 5), ("KIND_B", 6)].map(|(name, value)| (name.to_string(), value));
    kernel.enums.insert("kind".to_string(), BTreeMap::from(values));
    let functions = [
        ("lab_sleep", SLEEP),
        ("lab_double", DOUBLE),
        ("lab_insert", INSERT),
        ("lab_idle", IDLE),
        ("lab_ask", ASK),
    ];
    kernel.functions.extend(functions.map(|(name, number)| (name.to_string(), number.into())));
    kernel.variables.insert("lab_variable".to_string(), TASK);
    kernel.config.insert("LINUX_KERNEL_VERSION".to_string(), 0x6_0c00);
    kernel
}

/// The same, with a function that others lack.
pub fn new_kernel() -> Kernel {
    let mut kernel = kernel();
    kernel.functions.insert("lab_new".to_string(), NEW.into());
    kernel
}

pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/objects")
}

pub fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(format!("{name}.bpf.o"))).unwrap()
}

pub fn object(name: &str) -> Object {
    Object::read(&bytes(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

pub fn load(object: &Object, kernel: &Kernel) -> Vm {
    let options = Options { n_cpus: 4, bytes_max: 8 << 20, ..Options::default() };
    Vm::load(object, kernel, options).unwrap_or_else(|e| panic!("{e}"))
}

/// Runs a program to its end; a call that suspends it returns what `lab_sleep` was given.
pub fn end(vm: &mut Vm, lab: &mut Lab, program: &str, args: &[u64]) -> End {
    let id = vm.image().program(program).unwrap_or_else(|| panic!("no program {program}"));
    let mut run = Run::new(1_000_000);
    vm.begin(&mut run, id, args);
    loop {
        let before = lab.now_ns;
        match vm.run(&mut run, lab) {
            End::Suspended => run.resume(lab.now_ns.wrapping_sub(before)),
            end => return end,
        }
    }
}

/// What a program returns.
pub fn call(vm: &mut Vm, lab: &mut Lab, program: &str, args: &[u64]) -> u64 {
    match end(vm, lab, program, args) {
        End::Done(value) => value,
        End::Suspended => unreachable!("it is resumed"),
        End::Fault(fault) => panic!("{program}: {fault}"),
    }
}

/// What a program of an object returns, with a new memory.
pub fn once(name: &str, program: &str, args: &[u64]) -> u64 {
    call(&mut load(&object(name), &kernel()), &mut Lab::new(), program, args)
}

/// The value of a variable of up to eight bytes.
pub fn variable(vm: &Vm, name: &str) -> u64 {
    let image: &Image = vm.image();
    let (at, size) = image.variable(name).unwrap_or_else(|| panic!("no variable {name}"));
    let bytes = vm.memory.bytes(at, size).unwrap();
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}
