//! Damaged objects: nothing panics, nothing takes longer than its budget or more than its memory.

use crate::lab::{Lab, TASK, bytes, folder, new_kernel};
use bpf::insn::Raw;
use bpf::{End, Image, Kernel, Memory, Object, Options, ProgramId, Run, Unresolved, Vm};
use std::sync::Arc;

/// Objects per source. More of them: `BPF_DAMAGED=100000 cargo test -p bpf damage`.
const DAMAGED: u64 = 4_000;

/// A generator of the same numbers every time (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

fn names() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name());
    let names = entries.filter_map(|name| name.to_str()?.strip_suffix(".bpf.o").map(String::from));
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert!(names.len() > 10);
    names
}

fn damage(bytes: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=numbers.below(12) {
        let at = numbers.below(bytes.len());
        match numbers.below(8) {
            0 => bytes[at] = numbers.next() as u8,
            1 => bytes[at] = [0, 0xff, 0x7f, 0x80, 1][numbers.below(5)],
            2 => bytes.truncate(at.max(64)),
            3 => {
                let from = numbers.below(bytes.len());
                let n = numbers.below(64).min(bytes.len() - at).min(bytes.len() - from);
                bytes.copy_within(from..from + n, at);
            }
            _ => bytes[at] ^= 1 << numbers.below(8),
        }
    }
    bytes
}

/// Loads whatever this is, and runs all its programs; how many were run.
fn exercise(bytes: &[u8], kernel: &Kernel, options: Options) -> usize {
    let Ok(object) = Object::read(bytes) else {
        return 0;
    };
    let Ok(mut vm) = Vm::load(&object, kernel, options) else {
        return 0;
    };
    run_all(&mut vm)
}

fn run_all(vm: &mut Vm) -> usize {
    let (mut lab, mut run) = (Lab::new(), Run::new(3_000));
    let n = vm.image().programs().len();
    for program in 0..n {
        vm.begin(&mut run, ProgramId(program), &[TASK, 5, 2]);
        finish(vm, &mut run, &mut lab);
    }
    for _ in 0..4 {
        if let Some((timer, _)) = lab.timers.pop_first()
            && vm.begin_timer(&mut run, timer)
        {
            finish(vm, &mut run, &mut lab);
        }
    }
    n
}

fn finish(vm: &mut Vm, run: &mut Run, lab: &mut Lab) {
    while vm.run(run, lab) == End::Suspended {
        run.resume(1);
    }
    assert!(run.executed() <= 3_000);
}

#[test]
fn damaged_objects_are_refused_or_run() {
    let n = std::env::var("BPF_DAMAGED").ok().and_then(|n| n.parse().ok()).unwrap_or(DAMAGED);
    let (kernel, mut n_run) = (new_kernel(), 0);
    for (name, seed) in names().iter().zip(0..) {
        let whole = bytes(name);
        let mut numbers = Numbers(seed);
        for i in 0..n {
            let damaged = damage(&whole, &mut numbers);
            let unresolved = if i % 4 == 0 { Unresolved::Refuse } else { Unresolved::Fault };
            let options = Options { n_cpus: 4, bytes_max: 4 << 20, unresolved };
            n_run += exercise(&damaged, &kernel, options);
        }
    }
    assert!(n_run > 1000, "most of them could not be loaded: {n_run} programs were run");
}

/// Damage of code only: the object's tables stay, so all of it is loaded.
#[test]
fn damaged_code_is_run() {
    let mut numbers = Numbers(7);
    for _ in 0..20_000 {
        let code: Vec<Raw> = (0..20)
            .map(|_| {
                let mut raw = Raw::from_bytes(numbers.next().to_le_bytes());
                let opcodes = [0x85, 0x18, 0x95, 0x7b, 0x79, 0xbf, 0xb7, 0x05, 0xdb, 0xe5, 0x07];
                raw.opcode = opcodes[numbers.below(opcodes.len())];
                raw.dst %= 11;
                raw.src %= 11;
                raw.off %= 16;
                raw.imm = [0, 1, 2, 8, 87, 131, 169, 181, 164, 194, 4096][numbers.below(11)];
                raw
            })
            .collect();
        if let Ok(image) = Image::of_code("damaged", &code) {
            run_all(&mut Vm::new(Arc::new(image), Memory::new(2, 1 << 20)));
        }
    }
}
