//! No text makes the machine loader panic, and what it reads survives being written.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(machine) = topology::load("fuzz.toml", text) {
        let written = topology::write(&machine, "fuzz");
        let again = topology::load("fuzz.toml", &written).expect("what is written is valid");
        assert_eq!(topology::write(&again, "fuzz"), written);
    }
});
