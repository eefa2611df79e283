//! Any bytes as a Perfetto trace: an error or a recording, and a number of CPUs or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::Cursor;
use topology::{Machine, RegularSpec};
use trace::replay::{Asked, perfetto};

fuzz_target!(|bytes: &[u8]| {
    let machine = Machine::regular(RegularSpec::default());
    let _ = perfetto::read(Cursor::new(bytes), &machine, Asked::default());
    let _ = perfetto::cpus(Cursor::new(bytes));
});
