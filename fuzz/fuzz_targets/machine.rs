//! No text makes the machine loader panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = topology::load("fuzz.toml", text);
});
