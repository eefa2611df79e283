//! What a first look at all of a trace tells: when each bundle begins, so that events can be put
//! into order without keeping all of them; processes; and what was lost.

use super::bundle::{Bundle, Reader};
use super::packets::{Packet, Packets};
use super::record::Told;
use super::wire::{Broken, Fields, Value};
use super::{no_events, other_format, processes};
use crate::replay::ReplayError;
use crate::replay::event::CPUS_MAX;
use crate::replay::ftrace::Names;
use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Seek};

/// The first Linux whose numbers of a task's states are those of today.
const STATES_SINCE: (u32, u32) = (4, 14);
/// Of `FtraceStats`: the counts at the beginning, those of an earlier trace.
const AT_START: u64 = 1;

/// What is known before the first event.
#[derive(Default)]
pub(super) struct Survey {
    /// Of each bundle that has events: the earliest time of it and of all that come behind it.
    pub earliest: Vec<u64>,
    /// One more than the highest number of a CPU.
    pub n_cpus: u32,
    /// The process of each thread that `/proc` had.
    pub processes: HashMap<u32, u32>,
    /// The names of these, as far as they are known.
    pub names: Names,
    /// There is a `sched_process_fork`; else `task_newtask` tells of forks.
    pub has_forks: bool,
    /// What was lost, by CPU.
    pub losses: BTreeMap<u32, Losses>,
    /// When the last event was, ns.
    pub end: u64,
}

/// What was lost on a CPU.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Losses {
    /// Bundles before which something was lost.
    pub places: u64,
    /// How many events the kernel counted as lost when the trace began, and at its end.
    at_start: u64,
    at_end: u64,
    /// When the last event of its last bundle was.
    end: Option<u64>,
}

impl Losses {
    /// How many events were lost in all; at least one at each place.
    pub(super) fn events(&self) -> u64 {
        self.at_end.saturating_sub(self.at_start).max(self.places)
    }

    /// The CPU's next bundle. True if something was lost before it: the kernel's buffer was full,
    /// or the bundle before it is not in the trace.
    pub(super) fn passes(&mut self, bundle: &Bundle) -> bool {
        let is_gap = self.end.zip(bundle.end_before).is_some_and(|(end, before)| end < before);
        if bundle.first.is_some() {
            self.end = Some(bundle.end);
        }
        bundle.lost || is_gap
    }
}

impl Survey {
    pub(super) fn of(input: impl Read + Seek) -> Result<Self, ReplayError> {
        let (mut survey, mut reader) = (Self::default(), Reader::default());
        let (mut has_switches, mut has_tracks) = (false, false);
        let mut packets = Packets::new(input)?;
        while let Some(packet) = packets.next()? {
            let looked_at = match packet {
                Packet::Bundle(message) => reader
                    .read(message, |record| match record.told {
                        Told::Switch { .. } | Told::SwitchTo { .. } => has_switches = true,
                        Told::Fork { .. } => survey.has_forks = true,
                        _ => {}
                    })
                    .map(|bundle| survey.passes(&bundle)),
                Packet::Processes(message) => {
                    processes::note(message, &mut survey.processes, &mut survey.names)
                }
                Packet::System(message) => match survey.system(message) {
                    Ok(release) => check_release(release)?,
                    Err(Broken) => Err("what it says of its machine is no sound protobuf"),
                },
                Packet::Stats(message) => {
                    let broken = |_| "its counts of lost events are no sound protobuf";
                    survey.stats(message).map_err(broken)
                }
                Packet::Track => {
                    has_tracks = true;
                    Ok(())
                }
                _ => Ok(()),
            };
            looked_at.map_err(|why| packets.damaged(why))?;
        }
        if !has_switches {
            return Err(no_events(has_tracks));
        }
        survey.add_up();
        Ok(survey)
    }

    fn passes(&mut self, bundle: &Bundle) {
        let losses = self.losses.entry(bundle.cpu).or_default();
        if losses.passes(bundle) {
            losses.places += 1;
        }
        self.n_cpus = self.n_cpus.max(bundle.cpu + 1);
        self.earliest.extend(bundle.first);
        self.end = self.end.max(bundle.end);
    }

    /// Makes the times of bundles those of all that come behind, too.
    fn add_up(&mut self) {
        let mut earliest = u64::MAX;
        for first in self.earliest.iter_mut().rev() {
            earliest = earliest.min(*first);
            *first = earliest;
        }
    }

    /// Notes the number of CPUs. Returns the kernel's release.
    fn system<'a>(&mut self, message: &'a [u8]) -> Result<&'a [u8], Broken> {
        let mut release = &b""[..];
        for field in Fields::of(message) {
            match field? {
                (1, Value::Bytes(names)) => {
                    for field in Fields::of(names) {
                        if let (3, Value::Bytes(text)) = field? {
                            release = text;
                        }
                    }
                }
                (8, Value::Number(n)) if n <= CPUS_MAX => {
                    self.n_cpus = self.n_cpus.max(n as u32);
                }
                _ => {}
            }
        }
        Ok(release)
    }

    fn stats(&mut self, message: &[u8]) -> Result<(), Broken> {
        let (mut phase, mut of_cpus) = (0, Vec::new());
        for field in Fields::of(message) {
            match field? {
                (1, Value::Number(number)) => phase = number,
                (2, Value::Bytes(message)) => of_cpus.extend(lost_on(message)?),
                _ => {}
            }
        }
        for (cpu, lost) in of_cpus {
            let losses = self.losses.entry(cpu).or_default();
            let count = if phase == AT_START { &mut losses.at_start } else { &mut losses.at_end };
            *count = lost;
        }
        Ok(())
    }
}

/// A CPU, and how many events its buffer could not keep so far.
fn lost_on(message: &[u8]) -> Result<Option<(u32, u64)>, Broken> {
    let (mut cpu, mut lost) = (0, 0u64);
    for field in Fields::of(message) {
        match field? {
            (1, Value::Number(number)) => cpu = number,
            // Overwritten, not to be committed, and dropped.
            (3 | 4 | 8, Value::Number(n)) => lost = lost.saturating_add(n),
            _ => {}
        }
    }
    Ok((cpu < CPUS_MAX).then_some((cpu as u32, lost)))
}

/// Refuses what an old kernel recorded.
fn check_release(release: &[u8]) -> Result<Result<(), &'static str>, ReplayError> {
    let text = String::from_utf8_lossy(release);
    let mut numbers = text.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let version = numbers.next().zip(numbers.next());
    if version.is_none_or(|version| version >= STATES_SINCE) {
        return Ok(Ok(()));
    }
    let shown: String = text.chars().take(20).collect();
    let why = format!("Linux {} recorded it", shown.escape_debug());
    Err(other_format(&why, "before 4.14 the states of tasks had other numbers"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_kernels_states_are_not_guessed() {
        for release in ["4.14.190-android", "6.18.44", "10.0", "", "unknown"] {
            assert!(check_release(release.as_bytes()).is_ok(), "{release}");
        }
        let told = check_release(b"4.9.0\n").unwrap_err().to_string();
        assert!(told.contains(r"Linux 4.9.0\n recorded it"), "{told}");
    }

    #[test]
    fn losses_are_told_by_places_and_counts() {
        let mut losses = Losses { at_start: 5, at_end: 17, places: 2, ..Losses::default() };
        assert_eq!(losses.events(), 12);
        losses.at_end = 6;
        assert_eq!(losses.events(), 2);
        let bundle =
            |end_before, first, end| Bundle { end_before, first, end, ..Bundle::default() };
        // The first one of a ring, one behind it, one behind a gap, and an empty one.
        let all = [
            bundle(Some(90), Some(100), 200),
            bundle(Some(200), Some(210), 300),
            bundle(Some(400), Some(410), 500),
            bundle(Some(500), None, 0),
            bundle(None, Some(600), 700),
        ];
        assert_eq!(all.map(|bundle| losses.passes(&bundle)), [false, false, true, false, false]);
    }
}
