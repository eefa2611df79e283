//! `trace.dat`, as `trace-cmd record -e sched` writes it: versions 6 and 7.
//!
//! It keeps the pages of the kernel's ring buffer as they were, each CPU's together. So the CPUs
//! are read side by side and their events merged by time. A file of version 7 consists of sections
//! and may be compressed. As in a perf.data, each event tells whose the CPU was, but not of which
//! process, and nothing describes the machine.
//!
//! It is read here: crates that read it bind to the C library of trace-cmd (`libtracecmd`), or are
//! not published and need a nightly compiler (`traceevent` of LISA).

mod events;
mod file;
mod page;
mod pages;
mod sections;
mod unpack;

use super::ftrace::Names;
use super::pace::Pace;
use super::reconstruct::Reconstruction;
use super::{Asked, MEMORY_MAX, ReplayError, at_event};
use events::Events;
use file::Header;
use std::io::{Read, Seek};
use topology::Machine;
use workloads::replay::Recording;

/// What a `trace.dat` begins with.
pub const MAGIC: &[u8; 10] = b"\x17\x08\x44tracing";
/// Events at the beginning that tell how long the kernel's paths took, and the first names of
/// threads.
const BEGINNING_EVENTS: u32 = 60_000;

/// Reads a recording by trace-cmd. It was made on `machine`, or on one like it. Who woke is told as
/// in a perf.data ([`super::perf_data::read`]).
///
/// # Errors
/// What of it cannot be read or contradicts what was before.
pub fn read(
    mut input: impl Read + Seek,
    machine: &Machine,
    asked: Asked<'_>,
) -> Result<Recording, ReplayError> {
    let header = Header::read(&mut input)?;
    let (pace, names) = beginning(&header, &mut input)?;
    let paths = pace.paths(machine);
    let machine = Machine { costs: paths.costs, ..machine.clone() };
    let mut reconstruction = Reconstruction::new(&machine, asked, MEMORY_MAX);
    let mut events = Events::new(&header, &mut input, names)?;
    let mut number = 0;
    while let Some(event) = events.next()? {
        number += 1;
        reconstruction.take(&event).map_err(|trouble| at_event(number, trouble))?;
    }
    let recording = reconstruction.finish().map_err(ReplayError::Whole)?;
    Ok(Recording { paths: Some(paths), in_ns: true, ..recording })
}

/// What the first events tell.
fn beginning(header: &Header, input: impl Read + Seek) -> Result<(Pace, Names), ReplayError> {
    let (mut pace, mut names) = (Pace::default(), Names::default());
    let mut events = Events::new(header, input, Names::default())?;
    let mut goes_on = true;
    for _ in 0..BEGINNING_EVENTS {
        // What is wrong with the file is told when all of it is read.
        let Ok(Some(event)) = events.next() else { break };
        goes_on = goes_on && pace.see(&event);
        names.see_first(&event.what);
    }
    Ok((pace, names))
}

/// How many CPUs have events in a recording: one more than the highest number.
///
/// # Errors
/// Its header cannot be read.
pub fn cpus(mut input: impl Read + Seek) -> Result<u32, ReplayError> {
    let header = Header::read(&mut input)?;
    Ok(header.cpus.iter().map(|cpu| cpu.cpu.0 + 1).max().unwrap_or(0))
}

/// The file contradicts itself.
fn damaged(why: &str) -> ReplayError {
    ReplayError::Whole(format!("this trace.dat is damaged: {why}"))
}

/// The file is a whole one, which is not read here.
fn other_format(why: &str, help: &str) -> ReplayError {
    ReplayError::Whole(format!("this trace.dat cannot be read here: {why}; {help}"))
}
