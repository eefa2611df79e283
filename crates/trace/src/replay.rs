//! Recordings as workloads: the text of `perf script` becomes what threads do.
//!
//! A recording is read once, line by line, and kept as a few bytes per event, in all no more than
//! [`MEMORY_MAX`]. What a thread computes
//! is what it was on a CPU for, without what the simulation adds again: the machine's known costs
//! of switches, wake-ups, forks and ticks, and the slowness beside a busy SMT sibling.

mod book;
mod clock;
mod costs;
mod habit;
mod line;
mod thread;

use book::Book;
use line::Line;
use std::io::{self, BufRead, Read};
use topology::{Fault, Machine};
use workloads::replay::Recording;

/// Bytes that a recording may take in memory, however long its text is.
pub const MEMORY_MAX: usize = 1 << 28;
/// The longest line; perf's are far shorter.
const LINE_BYTES_MAX: u64 = 1 << 16;
/// What is shown of a faulty line.
const SHOWN_BYTES: usize = 1000;

/// Why a recording cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A line makes no sense.
    #[error("line {line}: {}", fault.message)]
    Line {
        /// Its number, from 1.
        line: u64,
        /// The line.
        text: String,
        /// What is wrong, and where in the line.
        fault: Fault,
    },
    /// The recording as a whole makes no sense.
    #[error("{0}")]
    Whole(String),
}

/// Reads a recording for this machine, which it was made on or is like the one it was made on.
///
/// The text does not tell a wake-up by a thread from one by an interrupt that hit the thread. So a
/// wake-up counts as one by the current task, if that is a thread, unless the woken one's sleeps
/// have the habits of timers, or its name is in `timed`: only timers and devices wake those.
///
/// # Errors
/// The first line that makes no sense.
pub fn read(
    input: impl BufRead,
    machine: &Machine,
    timed: &[&str],
) -> Result<Recording, ReplayError> {
    read_into(Book::new(machine, timed, MEMORY_MAX), input)
}

fn read_into(mut book: Book, mut input: impl BufRead) -> Result<Recording, ReplayError> {
    let mut bytes = Vec::with_capacity(512);
    let mut number = 0;
    loop {
        bytes.clear();
        number += 1;
        let n = input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes)?;
        if n == 0 {
            return book.finish().map_err(ReplayError::Whole);
        }
        let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let whole = bytes.len() > line.len() || n < LINE_BYTES_MAX as usize;
        let taken = match Line::parse(line) {
            Ok(Some(_)) if !whole => Err(Fault::at(0..1, "the line is longer than 64 KiB")),
            Ok(Some(parsed)) => book.take(&parsed),
            Ok(None) => Ok(()),
            Err(fault) => Err(fault),
        };
        taken.map_err(|fault| shown(line, number, fault))?;
    }
}

/// The fault with so much of its line as people can look at.
fn shown(line: &[u8], number: u64, mut fault: Fault) -> ReplayError {
    let text = String::from_utf8_lossy(&line[..line.len().min(SHOWN_BYTES)]).into_owned();
    let inside = |at: usize| at.min(text.len());
    fault.span = fault.span.map(|span| inside(span.start)..inside(span.end));
    ReplayError::Line { line: number, text, fault }
}

#[cfg(test)]
mod tests;
