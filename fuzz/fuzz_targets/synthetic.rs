//! No description makes the reader of hwloc's synthetic strings panic.
#![no_main]

use topology::import;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(imported) = import::synthetic(text) {
        let written = topology::write(&imported.machine, "fuzz");
        topology::load("fuzz.toml", &written).expect("a machine that was made is valid");
    }
});
