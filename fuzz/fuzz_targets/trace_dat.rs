//! Any bytes as a trace.dat: an error or a recording, and a number of CPUs or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::Cursor;
use topology::{Machine, RegularSpec};
use trace::replay::{Asked, trace_dat};

fuzz_target!(|bytes: &[u8]| {
    let machine = Machine::regular(RegularSpec::default());
    let _ = trace_dat::read(Cursor::new(bytes), &machine, Asked::default());
    let _ = trace_dat::cpus(Cursor::new(bytes));
});
