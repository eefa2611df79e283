//! `perf.data`, as `perf sched record` writes it.
//!
//! It tells more than its text: whose the CPU was at a wake-up, the current task's or an
//! interrupt's, and the machine. Records are read with `linux-perf-event-reader`. The file around
//! them is read here: the reader of whole files believes every count in them, and a damaged file
//! would take all memory.

mod bytes;
mod events;
mod file;
mod machine;
mod records;

use super::events_of_file::{EventsOfFile, beginning, recording};
use super::{Asked, ReplayError};
pub use machine::{Recorded, machine};

use events::Events;
use file::Header;
use std::io::{Read, Seek};
use topology::Machine;
use workloads::replay::Recording;

/// What a `perf.data` begins with, from a little-endian machine.
pub const MAGIC: &[u8; 8] = b"PERFILE2";

/// Reads a recording in perf's own format. It was made on `machine`, or on one like it.
///
/// Only the text leaves open who ended a sleep (see [`super::read`]): here a wake-up from a
/// hardware interrupt is a timer's or a device's, and one by the current task is that task's. A
/// softirq's may be either, and is told as in the text.
///
/// # Errors
/// What of it cannot be read or contradicts what was before.
pub fn read(
    mut input: impl Read + Seek,
    machine: &Machine,
    asked: Asked<'_>,
) -> Result<Recording, ReplayError> {
    let header = Header::read(&mut input)?;
    // The names that events tell are not needed: records of their own tell them earlier.
    let (pace, _) = beginning(Events::new(&header, &mut input)?);
    recording(Events::new(&header, &mut input)?, pace, machine, asked)
}

/// How many CPUs a recording's events name: one more than the highest number.
///
/// # Errors
/// What of it cannot be read.
pub fn cpus(mut input: impl Read + Seek) -> Result<u32, ReplayError> {
    let header = Header::read(&mut input)?;
    let mut events = Events::new(&header, &mut input)?;
    let mut n_cpus = 0;
    while let Some(event) = events.next()? {
        n_cpus = n_cpus.max(event.cpu.0 + 1);
    }
    Ok(n_cpus)
}
