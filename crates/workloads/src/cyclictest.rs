//! cyclictest: threads that sleep until an instant and look how late it is when they run.
//!
//! ```text
//! thread i: sleeps until `next` | notes how much later it is | next += interval + i * distance
//! main:     makes the hogs and the threads | looks at their figures every 10 ms
//! ```
//!
//! Threads are SCHED_OTHER, the policy without `-p`. So their timers have the task's slack (50 us
//! by default), which is a part of the latency, as in the real tool. Instants that have passed when
//! a thread looks are skipped. `hogs` are processes beside it that never sleep.
//!
//! Left out: an interrupt that comes anyway lets a timer go within its slack. And while it runs the
//! tool keeps CPUs out of idle states (`/dev/cpu_dma_latency`): here the machine file says that.

use crate::latency::Latency;
use crate::random;
use sim_core::{Ns, Op, Program, ProgramCx, TaskAttr, TaskId};
use topology::REFERENCE_MHZ;

/// Parameters of cyclictest, with its options in brackets.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Threads that measure (`-t`).
    pub threads: u32,
    /// Interval of the first one (`-i`), ns.
    pub interval_ns: Ns,
    /// How much longer each one's interval is than that of the one before (`-d`), ns.
    pub distance_ns: Ns,
    /// Processes beside it that only compute.
    pub hogs: u32,
    /// Seed of the instant at which it begins.
    pub seed: u64,
}

/// Work of a thread per round (two looks at the clock, and its figures), and of main to look at the
/// figures, ns at [`REFERENCE_MHZ`]: unverified.
const ROUND_NS: Ns = 1000;
const LOOK_NS: Ns = 5000;
/// How often main looks (the program's `usleep(10000)`).
const LOOK_EVERY_NS: Ns = 10_000_000;

/// A thread of the benchmark.
#[derive(Clone, Copy, Debug)]
struct Timer {
    interval_ns: Ns,
    /// When it wants to run next; `None` before it has run.
    next: Option<Ns>,
    /// It has noted its latency of this round and works.
    noted: bool,
}

/// The running benchmark.
pub struct Cyclictest {
    config: Config,
    round_ns: Ns,
    look_ns: Ns,
    begun: bool,
    forked: u32,
    looks: bool,
    timers: Vec<Timer>,
    latency: Latency,
    rounds: u64,
}

impl Cyclictest {
    /// The workload with these parameters, not started.
    pub fn new(config: Config) -> Self {
        let timer = |i: u32| Timer {
            interval_ns: config.interval_ns + u64::from(i) * config.distance_ns,
            next: None,
            noted: false,
        };
        Self {
            round_ns: ROUND_NS,
            look_ns: LOOK_NS,
            begun: false,
            forked: 0,
            looks: false,
            timers: (0..config.threads).map(timer).collect(),
            latency: Latency::new(),
            rounds: 0,
            config,
        }
    }

    /// Main, the first task, makes the hogs and then the threads, in the order of their ids.
    fn lead(&mut self, tick_ns: Ns) -> Op {
        if !std::mem::replace(&mut self.begun, true) {
            // Else the threads' instants would have the same place in a tick for every seed.
            return Op::Run(random::part_of(self.config.seed, tick_ns));
        }
        if self.forked < self.config.hogs + self.config.threads {
            self.forked += 1;
            return Op::Fork(TaskId(self.forked));
        }
        self.looks = !self.looks;
        if self.looks { Op::Sleep(LOOK_EVERY_NS) } else { Op::Run(self.look_ns) }
    }

    fn measure(&mut self, now: Ns, i: usize) -> Op {
        let timer = &mut self.timers[i];
        let Some(next) = timer.next else {
            let next = now + timer.interval_ns;
            timer.next = Some(next);
            return Op::SleepUntil(next);
        };
        timer.noted = !timer.noted;
        if timer.noted {
            self.latency.record(now - next);
            self.rounds += 1;
            // The next instant that has not passed, as seen now.
            let missed = (now - next).saturating_sub(1) / timer.interval_ns;
            timer.next = Some(next + (1 + missed) * timer.interval_ns);
            return Op::Run(self.round_ns);
        }
        Op::SleepUntil(next)
    }
}

impl Program for Cyclictest {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        let clock_mhz = u64::from(cx.machine().clock_mhz);
        let at_clock = |ns: Ns| ns * u64::from(REFERENCE_MHZ) / clock_mhz;
        (self.round_ns, self.look_ns) = (at_clock(ROUND_NS), at_clock(LOOK_NS));
        let (comm, hog) = (cx.comm("cyclictest"), cx.comm("hog"));
        cx.start_task(TaskAttr { comm, ..TaskAttr::default() });
        for i in 0..self.config.hogs {
            cx.new_task(TaskAttr { comm: hog, mm: 1 + i, ..TaskAttr::default() });
        }
        for _ in &self.timers {
            cx.new_task(TaskAttr { comm, ..TaskAttr::default() });
        }
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let hogs = self.config.hogs as usize;
        match task.idx() {
            0 => self.lead(cx.machine().tick_ns()),
            i if i <= hogs => Op::Run(Ns::MAX),
            i => self.measure(cx.now(), i - 1 - hogs),
        }
    }

    fn is_under_way(&self) -> bool {
        self.forked == self.config.hogs + self.config.threads
    }

    fn measurement_begins(&mut self) {
        (self.latency, self.rounds) = (Latency::new(), 0);
    }

    fn results(&self, elapsed_ns: Ns) -> Vec<(&'static str, f64)> {
        let per_s = self.rounds as f64 / (elapsed_ns.max(1) as f64 * 1e-9);
        let mut results = vec![("throughput", per_s)];
        results.extend(self.latency.extremes(["latency_min", "latency_mean", "latency_max"]));
        results.extend(self.latency.percentiles(&[
            ("latency_p50", 0.5),
            ("latency_p90", 0.9),
            ("latency_p95", 0.95),
            ("latency_p99", 0.99),
            ("latency_p999", 0.999),
        ]));
        results
    }

    fn waits_for(&self, _task: TaskId) -> String {
        "its timer".to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_that_have_passed_are_skipped() {
        let config = Config { threads: 2, interval_ns: 1000, distance_ns: 500, hogs: 0, seed: 1 };
        let mut bench = Cyclictest::new(config);
        let then = |bench: &mut Cyclictest, now| {
            assert!(matches!(bench.measure(now, 1), Op::Run(_)));
            bench.measure(now, 1)
        };
        assert_eq!(bench.measure(100, 1), Op::SleepUntil(1600), "the second one's is longer");
        assert_eq!(then(&mut bench, 1700), Op::SleepUntil(3100));
        assert_eq!(then(&mut bench, 4600), Op::SleepUntil(4600), "the present one is not past");
        assert_eq!(then(&mut bench, 9101), Op::SleepUntil(10_600));
        assert_eq!(bench.rounds, 3);
    }
}
