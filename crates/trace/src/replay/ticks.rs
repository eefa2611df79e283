//! When the ticks of a recording came: the timer wheel and softirqs that were put off wake kernel
//! threads at ticks, and hardly ever in between.
//!
//! A timer of the wheel (`schedule_timeout()`, `delayed_work`) is run by the tick's softirq. A
//! replay whose ticks come at other instants would wake these threads in the middle between two
//! ticks, where they preempt whom the tick would have preempted anyway: two switches for one.

use super::event::{Event, What};
use sim_core::{Context, Ns};
use std::collections::BTreeMap;

/// Rates that kernels are built with (`CONFIG_HZ`), the slowest first: every tick of a slow rate
/// may be one of a rate that is a multiple of it, too.
const RATES_HZ: [u32; 6] = [100, 200, 250, 300, 500, 1000];
/// For so long wake-ups are looked at, ns, and until there are the fewest that tell something: the
/// clock of a recording drifts away from the ticks, which go by another one.
const LOOK_NS: Ns = 3_000_000_000;
const WAKES_MIN: usize = 32;
const WAKES_MAX: usize = 4096;
/// A wake-up comes with a tick if it is so near to where the tick's wake-ups come as a rule, ns.
/// Hypervisors make a tick late by as much.
const NEAR_NS: Ns = 100_000;
/// Wake-ups of the second event come so soon after the first, ns.
const TWICE_NS: Ns = 100_000;
/// The share of wake-ups that come with ticks at least, and how much less than at the best rate
/// that may be at a slower one.
const SHARE_MIN: f64 = 0.75;
const SHARE_LESS: f64 = 0.05;
/// One part in so many of how late a tick is moves those that are expected.
const DRIFT_PART: i64 = 8;

/// Wake-ups of the threads that ticks wake.
#[derive(Default)]
pub(super) struct TickTimes {
    at: Vec<Ns>,
    /// By task: its last wake-up.
    last: BTreeMap<u32, Ns>,
}

/// Ticks of a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ticks {
    pub hz: u32,
    /// When the wake-ups of one of them came, by the recording's clock, ns.
    at: Ns,
}

impl TickTimes {
    /// Looks at the next event. Tasks wake these threads, too, but rarely.
    pub(super) fn see(&mut self, event: &Event<'_>) {
        let What::Wake { task, .. } = event.what else {
            return;
        };
        let by_ticks = matches!(task.comm, b"rcu_preempt" | b"rcu_sched")
            || task.comm.starts_with(b"ksoftirqd/");
        if !by_ticks || self.has_enough(event.at) {
            return;
        }
        let last = self.last.insert(task.tid, event.at);
        let is_second = last.is_some_and(|last| event.at < last + TWICE_NS);
        if !is_second && event.context != Some(Context::Task) {
            self.at.push(event.at);
        }
    }

    fn has_enough(&self, now: Ns) -> bool {
        let long = self.at.first().is_some_and(|first| now > first + LOOK_NS);
        long && self.at.len() >= WAKES_MIN || self.at.len() >= WAKES_MAX
    }

    /// The ticks, if the wake-ups show them.
    pub(super) fn ticks(&self) -> Option<Ticks> {
        if self.at.len() < WAKES_MIN {
            return None;
        }
        let shares = RATES_HZ.map(|hz| (hz, self.share(period_ns(hz))));
        let best = shares.iter().fold(0.0, |best: f64, (_, (share, _))| best.max(*share));
        let least = SHARE_MIN.max(best - SHARE_LESS);
        let (hz, (_, at)) = shares.into_iter().find(|(_, (share, _))| *share >= least)?;
        Some(Ticks { hz, at })
    }

    /// The share of wake-ups that come with ticks of this period, without those that are near to
    /// one by chance, and the one in the middle of these.
    fn share(&self, period: Ns) -> (f64, Ns) {
        let (near, at) = self.most_near(period);
        let near = near as f64 / self.at.len() as f64;
        let chance = (2 * NEAR_NS) as f64 / period as f64;
        ((near - chance) / (1.0 - chance), at)
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
    /// True if a wake-up at this instant, by the recording's clock, comes with a tick. It shows
    /// where the next ones come.
    pub(super) fn come_at(&mut self, at: Ns) -> bool {
        let late = self.late(at);
        let near = late.unsigned_abs() <= NEAR_NS;
        if near {
            self.at = self.at.saturating_add_signed(late / DRIFT_PART);
        }
        near
    }

    /// The tick with which an instant comes, by the recording's clock, ns.
    pub(super) fn tick_of(&self, at: Ns) -> Ns {
        at.saturating_add_signed(-self.late(at))
    }

    /// Ticks from an instant to another one that comes with a tick.
    pub(super) fn between(&self, since: Ns, at: Ns) -> u64 {
        let (period, since) = (period_ns(self.hz), since.min(at));
        // Who goes to sleep after it came with a tick has not seen the next one.
        let from_last = (since + NEAR_NS + period - self.at % period) % period;
        (at - since + from_last + period / 2 - NEAR_NS) / period
    }

    /// By how much an instant is later than the tick that is next to it.
    fn late(&self, at: Ns) -> i64 {
        let period = period_ns(self.hz);
        let after = (at + period - self.at % period) % period;
        if after <= period / 2 { after as i64 } else { after as i64 - period as i64 }
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
        TickTimes { at: at.into_iter().collect(), ..TickTimes::default() }.ticks()
    }

    proptest! {
        /// Whatever the rate and the first tick are, wake-ups that come with ticks tell them, though
        /// some come at any time.
        #[test]
        fn wake_ups_tell_the_ticks(
            rate in 0..RATES_HZ.len(),
            first in 0..10_000_000u64,
            wakes in prop::collection::vec((1..12u64, 0..60_000u64, 0..20u32, 0..10_000_000u64), 256),
        ) {
            let (hz, period) = (RATES_HZ[rate], period_ns(RATES_HZ[rate]));
            let mut tick = first + period;
            let mut with_ticks = Vec::new();
            let at = wakes.iter().map(|(ticks, late, chance, stray)| {
                tick += ticks * period;
                if *chance < 2 {
                    return tick + stray;
                }
                with_ticks.push(tick + late);
                tick + late
            });
            let mut ticks = seen(at.collect::<Vec<_>>()).expect("most come with ticks");
            prop_assert_eq!(ticks.hz, hz);
            prop_assert!(with_ticks.iter().all(|at| ticks.come_at(*at)));
            prop_assert!(!ticks.come_at(with_ticks[0] + period / 2));
        }

        /// Whoever comes with a tick and sleeps for some comes with the one so many ticks later.
        #[test]
        fn ticks_are_counted(
            phase in 0..4_000_000u64,
            (early, runs) in (0..2 * NEAR_NS, 0..3_500_000u64),
            (n, late) in (1..1000u64, 0..2 * NEAR_NS),
        ) {
            let ticks = Ticks { hz: 250, at: phase + NEAR_NS };
            let since = 4_000_000 + phase + early + runs;
            let at = 4_000_000 * (n + 1) + phase + late;
            prop_assert_eq!(ticks.between(since, at), n);
        }
    }

    #[test]
    fn what_comes_at_any_time_shows_no_ticks() {
        assert_eq!(seen((0..500u64).map(|i| i * 1_618_033)), None);
        assert_eq!(seen((0..8u64).map(|i| i * 4_000_000)), None, "too few");
    }

    /// A clock that runs faster by 50 in a million is a period ahead after 80 s.
    #[test]
    fn ticks_that_drift_are_followed() {
        let at = |i: u64| i * 4_000_000 + i * 200;
        let mut ticks = seen((1..50).map(at)).unwrap();
        assert!((1..50_000).all(|i| ticks.come_at(at(i))));
    }

    /// The second event of a wake-up is none of its own, and what a task does is no tick.
    #[test]
    fn each_wake_up_counts_once() {
        let task = crate::replay::event::Named { comm: b"rcu_preempt", tid: 16 };
        let what = What::Wake { task, prio: 120, target: topology::CpuId(0) };
        let mut times = TickTimes::default();
        let (softirq, task) = (Some(Context::Softirq), Some(Context::Task));
        let wakes = [(5, None), (5_005, None), (4_000_005, softirq), (8_000_005, task)];
        for (at, context) in wakes.into_iter().chain([(8_001_005, None), (9_000_005, None)]) {
            let (comm, tid, cpu) = (&b"a"[..], Some(3), topology::CpuId(0));
            times.see(&Event { comm, tid, process: None, cpu, at, context, what });
        }
        assert_eq!(times.at, [5, 4_000_005, 9_000_005]);
    }
}
