//! No tree of files makes the reader of sysfs panic; a line `== PATH` begins each file.
#![no_main]

use topology::import;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(imported) = import::sysfs("fuzz", &import::MemTree::parse(text)) {
        let written = topology::write(&imported.machine, "fuzz");
        topology::load("fuzz.toml", &written).expect("a machine that was made is valid");
    }
});
