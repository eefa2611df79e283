//! Signals that end the program: it ends at once, but leaves neither half-written files nor a
//! progress bar behind.
//!
//! Signals are waited for in a thread of their own, which may take locks. What is ignored when the
//! program starts stays ignored: SIGHUP under `nohup`, SIGINT in the background of a script.

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
/// and only a temporary file may stay. When somebody asks a second time the program does not wait
/// for that: the disk may hang.
#[cfg(unix)]
pub fn leave_nothing_behind() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXCPU, SIGXFSZ};
    use signal_hook::{flag, iterator::Signals};
    // A file beyond `ulimit -f` is an error of the write, as on a full disk, and not our end.
    let _ = flag::register(SIGXFSZ, Arc::default());
    let ignored = ignored();
    let heard = |signal: &i32| ignored >> (signal - 1) & 1 == 0;
    let ending = [SIGINT, SIGTERM, SIGHUP, SIGXCPU].into_iter().filter(heard);
    let Ok(mut signals) = Signals::new(ending) else {
        return;
    };
    let again = Arc::new(AtomicBool::new(false));
    // A terminal that is closed sends SIGHUP twice, by the kernel and by the shell: that is nobody
    // who has lost patience.
    for signal in [SIGINT, SIGTERM].into_iter().filter(heard) {
        // Handlers run in this order: the first signal finds the flag not yet set.
        let _ = flag::register_conditional_shutdown(signal, 128 + signal, again.clone());
        let _ = flag::register(signal, again.clone());
    }
    std::thread::spawn(move || signals.forever().next().map(end));
}

/// The signals that are ignored, a bit each from SIGHUP = 1 on; where the system does not tell,
/// SIGHUP alone, since a run under `nohup` is to survive its terminal.
#[cfg(unix)]
fn ignored() -> u64 {
    const SIGHUP_ONLY: u64 = 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(SIGHUP_ONLY)
}

/// Has Ctrl-C clean up first. Where that is impossible it still ends the program.
#[cfg(not(unix))]
pub fn leave_nothing_behind() {
    const SIGINT: i32 = 2;
    let _ = ctrlc::set_handler(|| end(SIGINT));
}
