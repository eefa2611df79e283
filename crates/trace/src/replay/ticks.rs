//! When the ticks of a recording came: the timer wheel and softirqs that were put off wake kernel
//! threads at ticks, and hardly ever in between.
//!
//! A timer of the wheel (`schedule_timeout()`, `delayed_work`) is run by the tick's softirq. A
//! replay whose ticks come at other instants would wake these threads in the middle between two
//! ticks, where they preempt whom the tick would have preempted anyway: two switches for one.

use super::event::{Event, What};
use sim_core::Ns;

/// Rates that kernels are built with (`CONFIG_HZ`), the slowest first: what keeps the time of a
/// slow tick keeps that of a faster one, too.
const RATES_HZ: [u32; 4] = [100, 250, 300, 1000];
/// Wake-ups that are looked at, and the fewest that tell something.
const WAKES_MAX: usize = 4096;
const WAKES_MIN: usize = 16;
/// A wake-up comes with a tick if it is so near to where the tick's wake-ups come as a rule, ns.
/// Hypervisors make a tick late by as much.
const NEAR_NS: Ns = 100_000;
/// So many of a hundred wake-ups have to come with ticks. Those of one HZ do so by chance in 20 of
/// a hundred at most at the rates below it.
const PERCENT_AT_LEAST: usize = 80;

/// Wake-ups of the threads that ticks wake.
#[derive(Default)]
pub(super) struct TickTimes {
    at: Vec<Ns>,
}

/// Ticks of a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ticks {
    pub hz: u32,
    /// When the wake-ups of one of them came, by the recording's clock, ns.
    at: Ns,
}

impl TickTimes {
    /// Looks at the next event.
    pub(super) fn see(&mut self, event: &Event<'_>) {
        let What::Wake { task, .. } = event.what else {
            return;
        };
        let by_ticks = task.comm.starts_with(b"rcu_") || task.comm.starts_with(b"ksoftirqd/");
        if by_ticks && self.at.len() < WAKES_MAX {
            self.at.push(event.at);
        }
    }

    /// The ticks, if the wake-ups show them.
    pub(super) fn ticks(&self) -> Option<Ticks> {
        if self.at.len() < WAKES_MIN {
            return None;
        }
        RATES_HZ.into_iter().find_map(|hz| {
            let (near, at) = self.most_near(period_ns(hz));
            (100 * near >= PERCENT_AT_LEAST * self.at.len()).then_some(Ticks { hz, at })
        })
    }

    /// The largest number of wake-ups that are near to each other if each counts from the tick of
    /// this period before it, and the one in the middle of these.
    fn most_near(&self, period: Ns) -> (usize, Ns) {
        let mut phases: Vec<Ns> = self.at.iter().map(|at| at % period).collect();
        phases.sort_unstable();
        let n = phases.len();
        // Once more around, since the first of a period are near to the last.
        let phase = |i: usize| phases[i % n] + if i < n { 0 } else { period };
        let (mut end, mut best) = (0, (0, 0));
        for begin in 0..n {
            while end < begin + n && phase(end) - phase(begin) <= 2 * NEAR_NS {
                end += 1;
            }
            best = best.max((end - begin, begin));
        }
        (best.0, phase(best.1 + best.0 / 2))
    }
}

impl Ticks {
    /// True if a wake-up at this instant, by the recording's clock, comes with a tick.
    pub(super) fn come_at(self, at: Ns) -> bool {
        let period = period_ns(self.hz);
        let after = (at + period - self.at % period) % period;
        after.min(period - after) <= NEAR_NS
    }
}

fn period_ns(hz: u32) -> Ns {
    1_000_000_000 / Ns::from(hz)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seen(at: impl IntoIterator<Item = Ns>) -> Option<Ticks> {
        TickTimes { at: at.into_iter().collect() }.ticks()
    }

    proptest! {
        /// Whatever the rate and the first tick are, wake-ups that come with ticks tell them.
        #[test]
        fn wake_ups_tell_the_ticks(
            rate in 0..RATES_HZ.len(),
            first in 0..10_000_000u64,
            late in prop::collection::vec((1..12u64, 0..60_000u64), 64),
        ) {
            let period = period_ns(RATES_HZ[rate]);
            let mut tick = first + period;
            let at: Vec<Ns> = late.iter().map(|(ticks, late)| {
                tick += ticks * period;
                tick + late
            }).collect();
            // Some steps have a common factor, and so a slower rate would do as well.
            let ticks = seen(at.iter().copied()).expect("they come with ticks");
            prop_assert!(RATES_HZ[rate].is_multiple_of(ticks.hz));
            prop_assert!(at.iter().filter(|at| ticks.come_at(**at)).count() * 10 >= at.len() * 8);
            prop_assert!(!ticks.come_at(at[0] + period_ns(ticks.hz) / 2));
        }
    }

    #[test]
    fn each_rate_is_told_from_the_others() {
        for hz in RATES_HZ {
            let steps = (0..100u64).scan(7_000_000, |at, i| {
                *at += (1 + i * i % 5) * period_ns(hz);
                Some(*at)
            });
            assert_eq!(seen(steps).map(|ticks| ticks.hz), Some(hz));
        }
    }

    #[test]
    fn what_comes_at_any_time_shows_no_ticks() {
        assert_eq!(seen((0..500u64).map(|i| i * 1_618_033)), None);
        assert_eq!(seen((0..8u64).map(|i| i * 4_000_000)), None, "too few");
    }
}
