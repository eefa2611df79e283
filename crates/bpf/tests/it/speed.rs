//! How long an instruction takes: `cargo test --release -p bpf -- --ignored --nocapture speed`.

use crate::asm::{Nobody, exit, raw};
use bpf::{End, Image, Memory, Run, Vm};
use std::sync::Arc;
use std::time::Instant;

#[test]
#[ignore = "prints a time"]
fn speed() {
    let n = 20_000_000;
    // A loop as a compiler makes it: loads, stores, arithmetic of both widths, a branch.
    let code = [
        raw(0xb7, 1, 0, 0, n),
        raw(0xb7, 0, 0, 0, 0),
        raw(0x7b, 10, 1, -8, 0),
        raw(0x79, 2, 10, -8, 0),
        raw(0x0f, 0, 2, 0, 0),
        raw(0x67, 2, 0, 0, 3),
        raw(0xac, 0, 2, 0, 0),
        raw(0x63, 10, 0, -12, 0),
        raw(0x25, 2, 0, 1, 1000),
        raw(0x07, 0, 0, 0, 1),
        raw(0x17, 1, 0, 0, 1),
        raw(0x55, 1, 0, -10, 0),
        exit(),
    ];
    let image = Image::of_code("loop", &code).unwrap();
    let program = image.program("loop").unwrap();
    let mut vm = Vm::new(Arc::new(image), Memory::new(1, 4096));
    let mut run = Run::new(u64::MAX);
    vm.begin(&mut run, program, &[]);
    let start = Instant::now();
    assert!(matches!(vm.run(&mut run, &mut Nobody), End::Done(_)));
    let ns = start.elapsed().as_nanos() as f64 / run.executed() as f64;
    println!("{ns:.2} ns per instruction, {} instructions", run.executed());
    let start = Instant::now();
    let calls = 5_000_000;
    let image = Image::of_code("exit", &[raw(0xb7, 0, 0, 0, 0), exit()]).unwrap();
    let program = image.program("exit").unwrap();
    let mut vm = Vm::new(Arc::new(image), Memory::new(1, 4096));
    for _ in 0..calls {
        vm.begin(&mut run, program, &[1, 2, 3]);
        assert!(matches!(vm.run(&mut run, &mut Nobody), End::Done(_)));
    }
    println!("{:.1} ns per call", start.elapsed().as_nanos() as f64 / f64::from(calls));
}
