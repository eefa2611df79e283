//! What rt-app itself and its system calls take, on a machine of any clock.
//!
//! All of it was measured, or estimated, on the guest of the recordings that `docs/CALIBRATION.md`
//! names. Elsewhere it scales with the clock, as the costs of kernel paths do.

use crate::random::{self, Stream};
use sim_core::Ns;

/// That guest's clock, MHz.
const GUEST_MHZ: u64 = 2600;

/// rt-app's own work per round of a phase, ns, if the thread has not slept in it: 1.1 million empty
/// rounds in a second on that guest.
const ROUND_NS: Ns = 900;

/// The same after a sleep. Nearly all of a round is the line that rt-app writes to its log, 8 000
/// instructions; after a sleep of 1 ms they took that guest 1.4 to 5 us, about one a cycle.
const ROUND_AFTER_SLEEP_NS: Ns = 3_080;

/// A time of at least so much, and so much more in the mean, ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct AtLeast(Ns, Ns);

impl AtLeast {
    pub fn draw(self, rng: &mut Stream) -> Ns {
        self.0 + (self.1 as f64 * random::exponential(rng)) as Ns
    }
}

/// Times in ns.
#[derive(Clone, Debug)]
pub(super) struct Costs {
    /// Work per round, if the scenario says it.
    pub stated_round: Option<Ns>,
    round: Ns,
    round_after_sleep: Ns,
    /// Kernel part of a futex call before it sleeps or wakes: unverified, a system call's entry and
    /// a look at the hash bucket.
    pub futex: Ns,
    /// The main thread's work before the first thread: 2-3 ms in the recordings.
    pub load: Ns,
    /// The main thread's work between the creation of two threads, without the fork. In the
    /// recordings, with the fork, 20-30 us and now and then 50-150 us, for page faults.
    pub create: AtLeast,
    /// A new thread's work until it has set its nice level and comes to the barrier: 20-60 us
    /// there.
    pub set_up: AtLeast,
}

impl Costs {
    pub fn new(stated_round: Option<Ns>) -> Self {
        Self {
            stated_round,
            round: ROUND_NS,
            round_after_sleep: ROUND_AFTER_SLEEP_NS,
            futex: 400,
            load: 2_500_000,
            create: AtLeast(10_000, 20_000),
            set_up: AtLeast(20_000, 20_000),
        }
    }

    /// The same on a machine of this clock.
    pub fn fit(&mut self, clock_mhz: u32) {
        let at = |ns: Ns| (ns * GUEST_MHZ / u64::from(clock_mhz)).max(1);
        let rounds = [&mut self.round, &mut self.round_after_sleep];
        for ns in rounds.into_iter().chain([&mut self.futex, &mut self.load]) {
            *ns = at(*ns);
        }
        for AtLeast(least, more) in [&mut self.create, &mut self.set_up] {
            (*least, *more) = (at(*least), at(*more));
        }
    }

    /// rt-app's own work for a round in which the thread has slept or has not.
    pub fn round(&self, slept: bool) -> Ns {
        let measured = if slept { self.round_after_sleep } else { self.round };
        self.stated_round.unwrap_or(measured).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_clock_is_twice_the_time_but_for_what_is_stated() {
        let mut costs = Costs::new(None);
        costs.fit(1300);
        assert_eq!((costs.round(false), costs.round(true)), (1800, 6160));
        assert_eq!((costs.futex, costs.load), (800, 5_000_000));
        assert_eq!((costs.create.0, costs.create.1), (20_000, 40_000));
        let mut stated = Costs::new(Some(7));
        stated.fit(1300);
        assert_eq!((stated.round(false), stated.round(true)), (7, 7));
    }
}
