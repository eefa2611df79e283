//! Ctrl-C and SIGTERM: the program ends at once, but leaves neither half-written files nor a
//! progress bar behind.
//!
//! Signals are waited for in a thread of their own, which may take locks. SIGHUP is left alone: it
//! would have to stay ignored under `nohup`.

use crate::progress;
use std::process;
#[cfg(unix)]
use std::sync::{Arc, atomic::AtomicBool};

/// Cleans up and ends the program once no file is being written.
fn end(signal: i32) -> ! {
    let _no_more_files = report::out::uninterrupted();
    let _no_more_traces = scenario::glue::abandon_unfinished_traces();
    let _no_more_bars = progress::wipe();
    // The exit code that a shell shows for a program that a signal has ended.
    process::exit(128 + signal)
}

/// Has signals that end the program clean up first. Where that is impossible they still end it,
/// and only a temporary file may stay. A second signal does not wait for that: the disk may hang.
#[cfg(unix)]
pub fn leave_nothing_behind() {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::{flag, iterator::Signals};
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else {
        return;
    };
    let again = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // Handlers run in this order: the first signal finds the flag not yet set.
        let _ = flag::register_conditional_shutdown(signal, 128 + signal, again.clone());
        let _ = flag::register(signal, again.clone());
    }
    std::thread::spawn(move || signals.forever().next().map(end));
}

/// Has Ctrl-C clean up first. Where that is impossible it still ends the program.
#[cfg(not(unix))]
pub fn leave_nothing_behind() {
    const SIGINT: i32 = 2;
    let _ = ctrlc::set_handler(|| end(SIGINT));
}
