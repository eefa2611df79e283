//! Any bytes as a perf.data: an error or a recording, and its machine or none.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::Cursor;
use topology::{Machine, RegularSpec};
use trace::replay::{Asked, perf_data};

fuzz_target!(|bytes: &[u8]| {
    let machine = Machine::regular(RegularSpec::default());
    let _ = perf_data::read(Cursor::new(bytes), &machine, Asked::default());
    let _ = perf_data::machine("fuzzed", Cursor::new(bytes));
});
