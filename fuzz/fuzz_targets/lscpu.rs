//! No text makes the reader of lscpu's output panic.
#![no_main]

use topology::import;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(imported) = import::lscpu("fuzz", text) {
        let written = topology::write(&imported.machine, "fuzz");
        topology::load("fuzz.toml", &written).expect("a machine that was made is valid");
    }
});
