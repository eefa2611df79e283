//! Recordings as workloads: perf's files and text, trace-cmd's files and Perfetto's traces become
//! what threads do.
//!
//! A text is read once, line by line, and kept as a few bytes per event, in all no more than
//! [`MEMORY_MAX`]. A thread's work is the time that it was on a CPU, without what the simulation
//! adds again: the machine's known costs of switches, wake-ups, forks and ticks, and the slowness
//! beside a busy SMT sibling.

mod clock;
mod costs;
mod event;
mod events_of_file;
mod file_fields;
mod ftrace;
mod line;
mod look_ahead;
mod pace;
mod packed;
pub mod perf_data;
pub mod perfetto;
mod reconstruct;
mod recording_file;
mod sleep_pattern;
mod thread;
mod ticks;
pub mod trace_dat;

use input::Fault;
use line::Line;
use look_ahead::LookAhead;
use pace::Pace;
use reconstruct::Reconstruction;
pub use recording_file::{ReadSeek, RecordingFile};
use std::io::{self, BufRead, Read};
use topology::Machine;
use workloads::replay::Recording;

/// Bytes that a recording may take in memory, however long its text is.
pub const MEMORY_MAX: usize = 1 << 28;
/// Bytes at the beginning that tell how long the kernel's paths took.
const BEGINNING_BYTES: u64 = 1 << 23;
/// The longest line; perf's are far shorter.
const LINE_BYTES_MAX: u64 = 1 << 16;
/// Bytes of a faulty line that are shown at most.
const SHOWN_BYTES: usize = 1000;

/// Why a recording cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A line cannot be understood, or contradicts the lines before.
    #[error("line {line}: {}", fault.message)]
    Line {
        /// Its number, from 1.
        line: u64,
        /// The line, or its beginning if it is very long.
        text: String,
        /// What is wrong, and where in the line.
        fault: Box<Fault>,
    },
    /// An event contradicts the events before.
    #[error("event {event}: {}", fault.message)]
    Event {
        /// Its number in order of time, from 1.
        event: u64,
        /// What is wrong.
        fault: Box<Fault>,
    },
    /// The recording as a whole cannot be replayed; the text says why.
    #[error("{0}")]
    Whole(String),
}

/// The formats of recordings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// The text of `perf script`, and whatever is neither of the others.
    Text,
    /// perf's own, `perf.data`.
    PerfData,
    /// trace-cmd's own, `trace.dat`.
    TraceDat,
    /// Perfetto's.
    Perfetto,
}

impl Format {
    /// Bytes at the beginning of a file that tell its format.
    pub const MAGIC_BYTES: usize = 64;

    /// The format of a file that begins so.
    pub fn of(start: &[u8]) -> Self {
        match start {
            _ if start.starts_with(perf_data::MAGIC) => Self::PerfData,
            _ if start.starts_with(trace_dat::MAGIC) => Self::TraceDat,
            _ if perfetto::begins(start) => Self::Perfetto,
            _ => Self::Text,
        }
    }
}

/// What a reader of a recording knows of its threads.
#[derive(Clone, Copy, Default, Debug)]
pub struct Asked<'a> {
    /// Names of threads that only timers and devices wake.
    pub timed: &'a [&'a str],
    /// Names of threads whose end counts, and that of their descendants; none: the recorded
    /// command's.
    pub measure: &'a [&'a str],
    /// The sessions of threads that were there before, by tid, in order of tids.
    pub sessions: &'a [(u32, u32)],
}

/// Reads a recording. It was made on `machine`, or on one like it.
///
/// The text does not tell a wake-up by a thread from one by an interrupt that hit this thread. So a
/// wake-up counts as one by the current task, if that is a thread. There are two exceptions: the
/// sleeps of the woken thread have the patterns of timers, or its name is in `asked.timed`.
///
/// # Errors
/// The first fault of the text, or an error of reading it.
pub fn read(
    mut input: impl BufRead,
    machine: &Machine,
    asked: Asked<'_>,
) -> Result<Recording, ReplayError> {
    let mut beginning = Vec::new();
    input.by_ref().take(BEGINNING_BYTES).read_to_end(&mut beginning)?;
    let mut pace = Pace::default();
    let lines = beginning.split(|byte| *byte == b'\n');
    let _ = lines.flat_map(Line::parse).flatten().all(|line| pace.see(&line.event));
    let (reconstruction, paths) = Reconstruction::at_pace(pace, machine, asked);
    let recording = read_into(reconstruction, beginning.as_slice().chain(input))?;
    Ok(Recording { paths: Some(paths), ..recording })
}

/// How many CPUs a recording names: one more than the highest number. What cannot be understood
/// counts for nothing here; [`read`] complains of it.
///
/// # Errors
/// An error of reading it.
pub fn cpus(input: impl BufRead) -> io::Result<u32> {
    let mut n_cpus = 0;
    let done = for_each_line(input, |line, _, _| {
        if let Ok(Some(parsed)) = Line::parse(line) {
            n_cpus = n_cpus.max(parsed.event.cpu.0 + 1);
        }
        Ok::<(), io::Error>(())
    });
    done.map(|()| n_cpus)
}

fn read_into(
    reconstruction: Reconstruction,
    input: impl BufRead,
) -> Result<Recording, ReplayError> {
    let mut events = LookAhead::new(reconstruction);
    let mut in_ns = false;
    for_each_line(input, |line, number, whole| {
        let taken = match Line::parse(line) {
            Ok(Some(_)) if !whole => Err(Fault::at(0..1, "the line is longer than 64 KiB")),
            Ok(Some(parsed)) => {
                in_ns |= parsed.in_ns;
                events.take(&parsed.event).map_err(|trouble| parsed.fault(trouble))
            }
            Ok(None) => Ok(()),
            Err(fault) => Err(fault),
        };
        taken.map_err(|fault| shown(line, number, fault))
    })?;
    let recording = events.finish().map_err(ReplayError::Whole)?;
    Ok(Recording { in_ns, ..recording })
}

/// Calls `take` with each line, its number from 1, and whether it is whole: of a line that is too
/// long it sees pieces.
fn for_each_line<E: From<io::Error>>(
    mut input: impl BufRead,
    mut take: impl FnMut(&[u8], u64, bool) -> Result<(), E>,
) -> Result<(), E> {
    let mut bytes = Vec::with_capacity(512);
    let mut number = 0;
    loop {
        bytes.clear();
        number += 1;
        let n = input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes)?;
        if n == 0 {
            return Ok(());
        }
        let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // The last line may lack its newline, but then it is shorter than the limit.
        take(line, number, bytes.len() > line.len() || n < LINE_BYTES_MAX as usize)?;
    }
}

/// The fault with so much of its line as people can look at.
fn shown(line: &[u8], number: u64, mut fault: Fault) -> ReplayError {
    let text = String::from_utf8_lossy(&line[..line.len().min(SHOWN_BYTES)]).into_owned();
    let inside = |at: usize| at.min(text.len());
    fault.span = fault.span.map(|span| inside(span.start)..inside(span.end));
    ReplayError::Line { line: number, text, fault: Box::new(fault) }
}

#[cfg(test)]
mod tests;
