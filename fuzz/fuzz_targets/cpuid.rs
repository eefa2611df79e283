//! No CPUID dump makes its reader panic; a line `== puN` begins each file.
#![no_main]

use topology::import;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(imported) = import::cpuid("fuzz", &import::MemTree::parse(text)) {
        let written = topology::write(&imported.machine, "fuzz");
        topology::load("fuzz.toml", &written).expect("a machine that was made is valid");
    }
});
