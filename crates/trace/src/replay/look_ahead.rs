//! Events wait until it is known since when their tasks run.
//!
//! A virtual machine may lose the events of an idle CPU, the switch to the next task among them.
//! That task's first charge (`sched_stat_runtime`) tells since when it runs. But its first event
//! may be another one: whoever answers a message wakes its sender before anything charges it. Or
//! another task wakes it, as it is about to sleep again.

use super::event::{Event, Trouble, What};
use super::reconstruct::{Reconstruction, Unseen};
use sim_core::Ns;
use std::collections::VecDeque;
use workloads::replay::Recording;

/// So many events wait at most. The tick charges who runs, so on most machines it takes fewer.
const WAITING_MAX: usize = 1024;

/// A reconstruction, and the events that it has not yet taken.
pub(super) struct LookAhead {
    reconstruction: Reconstruction,
    waiting: VecDeque<Kept>,
    /// Whom the first of these waits for.
    task: Option<Unseen>,
    /// Buffers for names.
    spare: Vec<Vec<u8>>,
}

impl LookAhead {
    pub(super) fn new(reconstruction: Reconstruction) -> Self {
        let (waiting, spare) = (VecDeque::new(), Vec::new());
        Self { reconstruction, waiting, task: None, spare }
    }

    /// Takes the next event.
    pub(super) fn take(&mut self, event: &Event<'_>) -> Result<(), Trouble> {
        if self.waiting.is_empty() {
            self.task = self.reconstruction.unseen(event);
            if self.task.is_none() {
                return self.reconstruction.take(event, None);
            }
            self.keep(event);
            return Ok(());
        }
        // What is wrong with its time or CPU is to be told at its place, so none waits before it.
        let last = self.waiting.back().map_or(0, |last| last.event.at);
        if event.at < last || !self.reconstruction.has_cpu(event.cpu) {
            self.take_waiting(usize::MAX)?;
            return self.take(event);
        }
        let decides = self.task.is_some_and(|task| told_by(task, event).is_some());
        self.keep(event);
        let too_many = usize::from(self.waiting.len() > WAITING_MAX);
        if decides || too_many > 0 { self.take_waiting(too_many) } else { Ok(()) }
    }

    fn keep(&mut self, event: &Event<'_>) {
        let names = self.spare.pop().unwrap_or_default();
        self.waiting.push_back(Kept::new(event, names));
    }

    /// The recording is complete.
    pub(super) fn finish(mut self) -> Result<Recording, String> {
        self.take_waiting(usize::MAX).map_err(|trouble| trouble.message)?;
        self.reconstruction.finish()
    }

    /// Hands events over, up to the first one whose task may have come unseen and it is not told
    /// when; so many of those as well.
    fn take_waiting(&mut self, mut untold: usize) -> Result<(), Trouble> {
        while let Some(first) = self.waiting.front() {
            let event = first.event();
            let mut came = None;
            if let Some(task) = self.reconstruction.unseen(&event) {
                self.task = Some(task);
                let mut later = self.waiting.iter().skip(1);
                match later.find_map(|later| told_by(task, &later.event)) {
                    Some(told) => came = told,
                    None if untold == 0 => return Ok(()),
                    None => untold -= 1,
                }
            }
            self.reconstruction.take(&event, came)?;
            self.spare.extend(self.waiting.pop_front().map(|kept| kept.names));
        }
        Ok(())
    }
}

/// What a later event tells of when a task came to its CPU: `Some(None)` if nothing will tell it
/// any more.
fn told_by(task: Unseen, later: &Event<'_>) -> Option<Option<Ns>> {
    if later.cpu != task.cpu {
        return None;
    }
    // Another task: the switch to it was lost as well, or this one has not come.
    if later.tid != Some(task.tid) {
        return Some(None);
    }
    match later.what {
        What::Runtime { task: charged, ns } if charged.tid == task.tid => {
            Some(later.at.checked_sub(ns).filter(|came| *came <= task.until))
        }
        What::Switch { .. } | What::Lost(_) => Some(None),
        _ => None,
    }
}

/// An event with names of its own.
struct Kept {
    /// The event without names.
    event: Event<'static>,
    names: Vec<u8>,
    /// Where the first two of its three names end.
    ends: [usize; 2],
}

impl Kept {
    fn new(event: &Event<'_>, mut names: Vec<u8>) -> Self {
        let [one, other] = event.what.names();
        let first = event.comm.len();
        names.clear();
        [event.comm, one, other].iter().for_each(|name| names.extend_from_slice(name));
        let what = event.what.with_names([b"", b""]);
        let Event { tid, process, cpu, at, context, .. } = *event;
        Self {
            event: Event { comm: b"", tid, process, cpu, at, context, what },
            names,
            ends: [first, first + one.len()],
        }
    }

    fn event(&self) -> Event<'_> {
        let (comm, names) = self.names.split_at(self.ends[0]);
        let (one, other) = names.split_at(self.ends[1] - self.ends[0]);
        Event { comm, what: self.event.what.with_names([one, other]), ..self.event }
    }
}
