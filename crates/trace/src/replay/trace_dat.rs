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

use super::events_of_file::{beginning, recording};
use super::ftrace::Names;
use super::{Asked, ReplayError};
use events::Events;
use file::Header;
use std::io::{Read, Seek};
use topology::Machine;
use workloads::replay::Recording;

/// What a `trace.dat` begins with.
pub const MAGIC: &[u8; 10] = b"\x17\x08\x44tracing";

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
    let (pace, names) = beginning(Events::new(&header, &mut input, Names::default())?);
    recording(Events::new(&header, &mut input, names)?, pace, machine, asked)
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
