//! An SSD: so many requests at a time, first come first served, each for its own time.
//!
//! That time does not contain what the CPUs do for a request: the driver's command is work of the
//! task that submits, and its handler of completions is work of the CPU that is interrupted. Left
//! out: what a drive does in the background, merging, other schedulers of the block layer than
//! "none".

use crate::random::{self, Stream};
use sim_core::{NEVER, Ns};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Clock at which the costs of this file hold, MHz.
pub(crate) const CLOCK_MHZ: u64 = 3800;
/// The NVMe driver puts a command into its queue, ns: unverified.
pub(crate) const COMMAND_NS: Ns = 1000;
/// Interrupt of the device up to the end of the bio, ns: unverified.
pub(crate) const COMPLETE_NS: Ns = 1500;
/// Service times are uniform within this part of their mean, up and down.
const SERVICE_SPREAD: f64 = 1.0 / 3.0;

/// A cost of this file at the clock of a machine, ns.
pub(crate) fn at_clock(ns: Ns, mhz: u32) -> Ns {
    ns * CLOCK_MHZ / u64::from(mhz)
}

/// The time of the SSD for a request of this mean, ns.
pub(crate) fn service_ns(rng: &mut Stream, mean: Ns) -> Ns {
    let part = 1.0 + SERVICE_SPREAD * (2.0 * random::unit(rng) - 1.0);
    (mean as f64 * part).round() as Ns
}

/// The device and its queue.
pub(crate) struct Ssd {
    parallel: u32,
    /// (end, request), the first end on top.
    busy: BinaryHeap<Reverse<(Ns, u32)>>,
    waiting: VecDeque<u32>,
}

impl Ssd {
    pub fn new(parallel: u32) -> Self {
        Self { parallel, busy: BinaryHeap::new(), waiting: VecDeque::new() }
    }

    /// A request arrives; it is served at once if the device has a free place.
    pub fn submit(&mut self, now: Ns, io: u32, service: Ns) {
        if self.busy.len() < self.parallel as usize {
            self.busy.push(Reverse((now + service, io)));
        } else {
            self.waiting.push_back(io);
        }
    }

    /// A request that is complete by now; `None` if there is none. The next one that waits takes
    /// its place, from the instant when it was complete.
    pub fn complete(&mut self, now: Ns, service: impl Fn(u32) -> Ns) -> Option<u32> {
        let Reverse((end, io)) = *self.busy.peek()?;
        if end > now {
            return None;
        }
        self.busy.pop();
        if let Some(next) = self.waiting.pop_front() {
            self.busy.push(Reverse((end + service(next), next)));
        }
        Some(io)
    }

    /// When the next request will be complete.
    pub fn next(&self) -> Ns {
        self.busy.peek().map_or(NEVER, |Reverse((end, _))| *end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_beyond_its_width_wait_their_turn() {
        let mut ssd = Ssd::new(2);
        let service = |io: u32| 10 * Ns::from(io + 1);
        for io in 0..4 {
            ssd.submit(0, io, service(io));
        }
        assert_eq!(ssd.next(), 10);
        assert_eq!(ssd.complete(9, service), None);
        assert_eq!(ssd.complete(10, service), Some(0));
        // Request 2 has begun at 10, request 3 begins at 20.
        assert_eq!(ssd.complete(20, service), Some(1));
        assert_eq!((ssd.complete(20, service), ssd.next()), (None, 40));
        assert_eq!(ssd.complete(60, service), Some(2));
        assert_eq!(ssd.complete(60, service), Some(3));
        assert_eq!((ssd.complete(90, service), ssd.next()), (None, NEVER));
    }
}
