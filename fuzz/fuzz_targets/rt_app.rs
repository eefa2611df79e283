//! No text makes the reader of rt-app files panic, and every fault lies in the text.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    for fault in trace::rt_app::read(text, 4).err().unwrap_or_default() {
        let span = fault.span.unwrap_or(0..0);
        assert!(span.start <= span.end && span.end <= text.len());
    }
});
