//! The events of all CPUs in order of time; those of one instant in order of CPUs.

use super::file::{Header, Scale};
use super::page::Entry;
use super::pages::{CpuEntries, Reader};
use crate::replay::ReplayError;
use crate::replay::event::{Event, What};
use crate::replay::events_of_file::EventsOfFile;
use crate::replay::ftrace::{Names, is_pid};
use sim_core::Ns;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{Read, Seek};

/// The latest time, ns.
const AT_MAX: Ns = 1 << 62;

/// The events that are left.
pub(super) struct Events<'a, R> {
    header: &'a Header,
    reader: Reader<R>,
    cpus: Vec<CpuEntries>,
    /// The time of each CPU's next entry, and which CPU.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    /// The CPU of the event that was handed out last.
    taken: Option<usize>,
    names: Names,
}

impl<'a, R: Read + Seek> Events<'a, R> {
    /// `names` are those that threads have at first.
    pub(super) fn new(header: &'a Header, input: R, names: Names) -> Result<Self, ReplayError> {
        let mut reader = Reader::new(header, input);
        let mut cpus = Vec::with_capacity(header.cpus.len());
        let mut next = BinaryHeap::with_capacity(header.cpus.len());
        let mut in_order = header.cpus.clone();
        in_order.sort_by_key(|cpu| cpu.cpu.0);
        for (index, cpu) in in_order.into_iter().enumerate() {
            let mut entries = CpuEntries::new(cpu, &mut reader)?;
            if let Some(at) = entries.advance(&mut reader)? {
                next.push(Reverse((at, index)));
            }
            cpus.push(entries);
        }
        Ok(Self { header, reader, cpus, next, taken: None, names })
    }
}

impl<R: Read + Seek> EventsOfFile for Events<'_, R> {
    fn next(&mut self) -> Result<Option<Event<'_>>, ReplayError> {
        if let Some(taken) = self.taken.take()
            && let Some(at) = self.cpus[taken].advance(&mut self.reader)?
        {
            self.next.push(Reverse((at, taken)));
        }
        let Some(Reverse((at, index))) = self.next.pop() else {
            return Ok(None);
        };
        self.taken = Some(index);
        let entries = &self.cpus[index];
        let at = in_ns(at, self.header.scale).filter(|at| *at < AT_MAX);
        let at = at.ok_or_else(|| entries.damaged("its time is more than a century after 0"))?;
        let (cpu, process) = (entries.cpu, None);
        if let Some(Entry::Lost(n)) = entries.entry {
            let (comm, tid, context, what) = (&b""[..], None, None, What::Lost(n));
            return Ok(Some(Event { comm, tid, process, cpu, at, context, what }));
        }
        let raw = entries.record(self.header.layout);
        let event = tid(raw).zip(self.header.formats.event(raw));
        let (tid, (what, context)) = event.ok_or_else(|| {
            entries.damaged("an event is shorter than its fields, or has impossible ones")
        })?;
        self.names.see(&what);
        let comm = self.names.of(Some(tid));
        Ok(Some(Event { comm, tid: Some(tid), process, cpu, at, context, what }))
    }
}

/// The current task of a record: `common_pid`, behind type, flags and preemption count.
fn tid(raw: &[u8]) -> Option<u32> {
    let bytes = raw.get(4..8)?.try_into().ok()?;
    Some(u32::from_le_bytes(bytes)).filter(|tid| is_pid(*tid))
}

fn in_ns(at: u64, scale: Option<Scale>) -> Option<Ns> {
    match scale {
        None => Some(at),
        Some(Scale { multiplier, shift }) => {
            Ns::try_from((u128::from(at) * u128::from(multiplier)) >> shift).ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_nanoseconds() {
        let scale = Scale { multiplier: 3, shift: 1 };
        assert_eq!(in_ns(100, Some(scale)), Some(150));
        assert_eq!(in_ns(u64::MAX, Some(Scale { shift: 0, ..scale })), None);
    }
}
