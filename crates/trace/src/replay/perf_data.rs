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

use super::pace::Pace;
use super::reconstruct::Reconstruction;
use super::{Asked, MEMORY_MAX, ReplayError, at_event};
pub use machine::{Recorded, machine};

use events::Events;
use file::Header;
use std::io::{Read, Seek};
use topology::Machine;
use workloads::replay::Recording;

/// What a `perf.data` begins with, from a little-endian machine.
pub const MAGIC: &[u8; 8] = b"PERFILE2";
/// Events at the beginning that tell how long the kernel's paths took.
const BEGINNING_EVENTS: u32 = 60_000;

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
    let mut pace = Pace::default();
    let mut events = Events::new(&header, &mut input)?;
    for _ in 0..BEGINNING_EVENTS {
        // What is wrong with the file is told when all of it is read.
        let Ok(Some(event)) = events.next() else { break };
        if !pace.see(&event) {
            break;
        }
    }
    let paths = pace.paths(machine);
    let machine = Machine { costs: paths.costs, ..machine.clone() };
    let mut reconstruction = Reconstruction::new(&machine, asked, MEMORY_MAX);
    let mut events = Events::new(&header, &mut input)?;
    let mut number = 0;
    while let Some(event) = events.next()? {
        number += 1;
        reconstruction.take(&event).map_err(|trouble| at_event(number, trouble))?;
    }
    let recording = reconstruction.finish().map_err(ReplayError::Whole)?;
    Ok(Recording { paths: Some(paths), in_ns: true, ..recording })
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
