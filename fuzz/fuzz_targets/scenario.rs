//! No text makes the scenario loader panic.
#![no_main]

use std::path::Path;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = scenario::load_str(Path::new("fuzz.toml"), text.to_string());
});
