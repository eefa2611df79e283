//! Perfetto's traces, as `tracebox` and `perfetto` record them, with events of the kernel's
//! scheduler.
//!
//! A trace is a sequence of packets, each a protobuf message, some of them compressed. Events of
//! one CPU come in bundles. Bundles of several CPUs overlap in time, so a trace is looked at once
//! as a whole before its events are read in order. Switches and wake-ups are written down one by
//! one, or in columns that leave the current task out.
//!
//! It is read here: Perfetto's own reader is a program in C++, and the crates that know its
//! messages write them. Only fields that are needed are read (`wire`).

mod bundle;
mod compact;
mod events;
mod ftrace_event;
mod order;
mod packets;
mod processes;
mod record;
mod survey;
mod wire;
mod words;

use super::events_of_file::{beginning, recording};
use super::ftrace::Names;
use super::{Asked, Format, ReplayError};
use events::Events;
use std::io::{Read, Seek};
use survey::Survey;
use topology::Machine;
use workloads::replay::Recording;

/// What a trace begins with: the key of a packet. It is a new line in a text.
const FIRST: u8 = b'\n';
const HOW: &str = "record them as docs/TRACE.md shows";

/// True if a file that begins so is a Perfetto trace. It has no magic number: it begins as a text
/// may, but no text has the bytes behind.
pub(super) fn begins(start: &[u8]) -> bool {
    let is_control = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    start.first() == Some(&FIRST) && start.iter().take(Format::MAGIC_BYTES).any(is_control)
}

/// Reads a recording by Perfetto. It was made on `machine`, or on one like it. Who woke is told as
/// in a perf.data ([`super::perf_data::read`]) if `sched_waking` is written down in columns, and
/// else as in the text.
///
/// # Errors
/// What of it cannot be read or contradicts what was before.
pub fn read(
    mut input: impl Read + Seek,
    machine: &Machine,
    asked: Asked<'_>,
) -> Result<Recording, ReplayError> {
    let mut survey = Survey::of(&mut input)?;
    let of_proc = std::mem::take(&mut survey.names);
    let (pace, mut names) = beginning(Events::new(&survey, &mut input, Names::default())?);
    // Names in events are newer than those that `/proc` had.
    names.add_first(of_proc);
    recording(Events::new(&survey, &mut input, names)?, pace, machine, asked)
}

/// How many CPUs a recording names: one more than the highest number, or as many as it says that
/// the machine has.
///
/// # Errors
/// What of it cannot be read.
pub fn cpus(input: impl Read + Seek) -> Result<u32, ReplayError> {
    Ok(Survey::of(input)?.n_cpus)
}

/// The file contradicts itself in the packet at this place.
fn damaged_at(byte: u64, why: &str) -> ReplayError {
    ReplayError::Whole(format!("this Perfetto trace is damaged at byte {byte}: {why}"))
}

/// The file is a whole one, which is not read here.
fn other_format(why: &str, help: &str) -> ReplayError {
    ReplayError::Whole(format!("this Perfetto trace cannot be read here: {why}; {help}"))
}

/// The file has no switches; `has_tracks`: it has events that programs write themselves.
fn no_events(has_tracks: bool) -> ReplayError {
    let only = if has_tracks { ", only what programs write down themselves" } else { "" };
    ReplayError::Whole(format!(
        "there are no events of the scheduler in this Perfetto trace{only}; {HOW}"
    ))
}
