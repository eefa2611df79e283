//! Instructions by opcode, and a program that is run at once.

use bpf::insn::Raw;
use bpf::{Answer, End, FaultKind, Host, Image, Memory, Run, Vm};
use std::sync::Arc;

pub const BUDGET: u64 = 100_000;

/// A host without anything.
pub struct Nobody;

impl Host for Nobody {
    fn call(&mut self, _function: u32, _args: [u64; 5], _memory: &mut Memory) -> Answer {
        Answer::Stop("nobody is called".to_string())
    }
}

pub fn raw(opcode: u8, dst: u8, src: u8, off: i16, imm: i32) -> Raw {
    Raw { opcode, dst, src, off, imm }
}

pub fn exit() -> Raw {
    raw(0x95, 0, 0, 0, 0)
}

/// A 64-bit constant.
pub fn wide(dst: u8, value: u64) -> [Raw; 2] {
    [raw(0x18, dst, 0, 0, value as i32), raw(0, 0, 0, 0, (value >> 32) as i32)]
}

/// Runs a program; what it returns, or why not.
pub fn run(code: &[Raw]) -> Result<u64, FaultKind> {
    let image = Image::of_code("test", code).unwrap_or_else(|e| panic!("{e}: {code:x?}"));
    let program = image.program("test").unwrap();
    let mut vm = Vm::new(Arc::new(image), Memory::new(4, 1 << 20));
    let mut run = Run::new(BUDGET);
    vm.begin(&mut run, program, &[1, 2, 3]);
    match vm.run(&mut run, &mut Nobody) {
        End::Done(value) => Ok(value),
        End::Suspended => panic!("nobody suspends"),
        End::Fault(fault) => Err(fault.kind),
    }
}

/// `r0 = f(r1 = a, r2 = b)`: the instructions in the middle may use `r0` to `r9`.
pub fn run_on(a: u64, b: u64, middle: &[Raw]) -> Result<u64, FaultKind> {
    let mut code = wide(1, a).to_vec();
    code.extend(wide(2, b));
    code.extend(middle);
    code.push(exit());
    run(&code)
}
