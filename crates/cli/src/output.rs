//! Where words go, and how the program ends.

use scenario::Faults;
use std::io::{ErrorKind, Write};
use std::sync::Once;

/// Why the program stops before its end.
pub enum Stop {
    /// Standard output was closed by its reader.
    ReaderGone,
    /// A run failed, or its results could not be written.
    RunFailed(String),
    /// An argument or an input is wrong.
    BadInput(String),
    /// Input files are wrong, each fault with its place.
    Faults(Faults),
}

/// Prints to standard output; colors only where they are wanted.
pub fn print(text: &str) -> Result<(), Stop> {
    warn_if_closed();
    let mut out = anstream::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|e| match e.kind() {
        ErrorKind::BrokenPipe => Stop::ReaderGone,
        _ => Stop::RunFailed(format!("cannot write to standard output: {e}")),
    })
}

/// Says once that nobody will read what goes to standard output, if it is closed.
pub fn warn_if_closed() {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        if is_closed() {
            let style = anstyle::AnsiColor::BrightYellow.on_default().bold();
            note("warning", style, "standard output is closed: what belongs there is lost");
        }
    });
}

/// True if standard output was closed when the program started. Rust's runtime then opens
/// /dev/null in its place, for reading and writing, where a shell's `> /dev/null` only writes.
#[cfg(target_os = "linux")]
fn is_closed() -> bool {
    /// `O_ACCMODE` and `O_RDWR` of the octal flags.
    const MODE: u32 = 0o3;
    const READ_AND_WRITE: u32 = 0o2;
    let info = std::fs::read_to_string("/proc/self/fdinfo/1").unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    let file = std::fs::read_link("/proc/self/fd/1");
    flags.is_some_and(|flags| flags & MODE == READ_AND_WRITE)
        && file.is_ok_and(|file| file == std::path::Path::new("/dev/null"))
}

/// Elsewhere nobody tells.
#[cfg(not(target_os = "linux"))]
fn is_closed() -> bool {
    false
}

/// Prints a help text that was asked for, or the version.
pub fn print_help(help: &clap::Error) -> Result<(), Stop> {
    print(&help.render().ansi().to_string())
}

/// Prints one line to standard error. If that is closed, the line is lost: there is no place to
/// report it.
pub fn note(kind: &str, style: anstyle::Style, message: &str) {
    let _ = writeln!(anstream::stderr(), "{style}{kind}{style:#}: {message}");
}

/// Prints a remark that is no part of the results.
pub fn remark(message: &str) {
    note("note", anstyle::AnsiColor::BrightGreen.on_default().bold(), message);
}

/// Prints an error.
pub fn complain(message: &str) {
    note("error", anstyle::AnsiColor::BrightRed.on_default().bold(), message);
}

/// Prints faults of input files as rustc would, and whether they kept something from being run.
pub fn show_faults(faults: &Faults, would_run: bool) {
    let n = faults.0.len();
    let _ = writeln!(anstream::stderr(), "{}\n", faults.render(true));
    let shown = match n > Faults::SHOWN_MAX {
        true => format!(", of which {} are shown", Faults::SHOWN_MAX),
        false => String::new(),
    };
    let not_run = if would_run { "; nothing was run" } else { "" };
    complain(&format!("{} in the input{shown}{not_run}", count(n, "fault")));
}

/// A number of things in words: `1 run`, `2 runs`.
pub fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
