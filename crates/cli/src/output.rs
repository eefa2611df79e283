//! Where words go, and how the program ends.

use scenario::Faults;
use std::io::{ErrorKind, Write};

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
    let mut out = anstream::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|e| match e.kind() {
        ErrorKind::BrokenPipe => Stop::ReaderGone,
        _ => Stop::RunFailed(format!("cannot write to standard output: {e}")),
    })
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
