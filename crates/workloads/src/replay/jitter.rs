//! What another recording of the same would have had otherwise: lengths, and where threads begin.
//!
//! A piece of work is longer or shorter by up to as much as the thread's pieces differ from the
//! ones before them, the median of that, and no more than a tenth. The mean stays. Instants of
//! timers and the order of acts stay, too.

use super::{Act, Recording, Thread};
use crate::random::{self, Purpose};
use sim_core::Ns;
use topology::CpuId;

/// No piece of work changes by more.
const SPREAD_MAX: f64 = 0.1;
/// Pieces of work that are looked at; the first ones show how a thread varies.
const PIECES: usize = 4096;

/// The variation of one run.
#[derive(Clone, Debug)]
pub(super) struct Jitter {
    seed: u64,
    /// By thread: the largest change of a piece of work, as a part of it.
    spread: Vec<f64>,
}

impl Jitter {
    /// That of this seed.
    pub(super) fn new(recording: &Recording, seed: u64) -> Self {
        Self { seed, spread: recording.threads.iter().map(spread).collect() }
    }

    /// How long the piece of work at this place among a thread's acts takes, ns.
    pub(super) fn run(&self, thread: usize, place: usize, ns: Ns) -> Ns {
        let spread = self.spread[thread];
        let entity = (thread as u64) << 40 ^ place as u64;
        let unit = random::unit(&mut random::stream(self.seed, entity, Purpose::Service));
        (ns as f64 * (1.0 + spread * (2.0 * unit - 1.0))).round() as Ns
    }

    /// Where a thread begins on a machine with so many CPUs.
    pub(super) fn start_cpu(&self, thread: usize, n_cpus: usize) -> CpuId {
        let mut stream = random::stream(self.seed, thread as u64, Purpose::Start);
        let last = n_cpus.saturating_sub(1);
        CpuId(((random::unit(&mut stream) * n_cpus as f64) as usize).min(last) as u32)
    }
}

/// By which part of it a thread's piece of work differs from the one before, as a rule.
fn spread(thread: &Thread) -> f64 {
    let work = |act| if let Act::Run(ns) = act { Some(ns as f64) } else { None };
    let pieces: Vec<f64> = thread.acts.iter().filter_map(work).take(PIECES).collect();
    let mut changes: Vec<f64> = pieces
        .windows(2)
        .map(|two| 2.0 * (two[0] - two[1]).abs() / (two[0] + two[1]).max(1.0))
        .collect();
    changes.sort_unstable_by(f64::total_cmp);
    changes.get(changes.len() / 2).map_or(0.0, |median| median.min(SPREAD_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::Acts;

    fn recording(pieces: impl Iterator<Item = Ns>) -> Recording {
        let mut acts = Acts::default();
        pieces.for_each(|ns| acts.push(Act::Run(ns)));
        let thread = Thread {
            tid: 1,
            name: 0,
            nice: 0,
            process: 0,
            kthread: false,
            bound_to: None,
            first_cpu: Some(CpuId(0)),
            measured: true,
            session: 0,
            active_ns: 0,
            acts,
        };
        Recording { threads: vec![thread], ..Recording::default() }
    }

    #[test]
    fn what_never_varied_does_not_vary() {
        let jitter = Jitter::new(&recording((0..100).map(|_| 5_000)), 7);
        assert!((0..100).all(|place| jitter.run(0, place, 5_000) == 5_000));
    }

    #[test]
    fn lengths_vary_around_what_they_were() {
        let of = |seed| Jitter::new(&recording((0..100).map(|i| 1_000 + 40 * (i % 2))), seed);
        let lengths = |jitter: Jitter| -> Vec<Ns> {
            (0..10_000).map(|place| jitter.run(0, place, 100_000)).collect()
        };
        let (one, other) = (lengths(of(1)), lengths(of(2)));
        assert_eq!(one, lengths(of(1)));
        assert_ne!(one, other);
        // 40 of 1020 is 3.92 %.
        assert!(one.iter().all(|ns| ns.abs_diff(100_000) <= 3_922));
        let mean = one.iter().sum::<Ns>() / one.len() as Ns;
        assert!(mean.abs_diff(100_000) < 60, "{mean}");
    }

    #[test]
    fn threads_begin_anywhere() {
        let jitter = Jitter::new(&recording(std::iter::empty()), 3);
        let mut begins: Vec<u32> = (0..1000).map(|thread| jitter.start_cpu(thread, 4).0).collect();
        begins.sort_unstable();
        begins.dedup();
        assert_eq!(begins, [0, 1, 2, 3]);
    }
}
