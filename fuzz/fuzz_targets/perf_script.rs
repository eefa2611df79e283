//! No text makes the reader of recordings panic, and every fault lies in its line.
#![no_main]

use std::sync::LazyLock;
use topology::{Machine, RegularSpec};

static MACHINE: LazyLock<Machine> = LazyLock::new(|| Machine::regular(RegularSpec::default()));

libfuzzer_sys::fuzz_target!(|text: &[u8]| {
    let read = trace::replay::read(text, &MACHINE, &["a"]);
    if let Err(trace::replay::ReplayError::Line { text, fault, .. }) = read {
        let span = fault.span.unwrap_or(0..0);
        assert!(span.start <= span.end && span.end <= text.len());
    }
});
