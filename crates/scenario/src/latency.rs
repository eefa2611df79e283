//! Why wake-ups took long: behind whom the tasks waited, and by which decisions.

use crate::explain::{Blame, Near};
use crate::units::parse_time;

/// Which wake-ups are slow: those that take longer than this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// A percentile of the wake-up latencies of the same run, by its metric's name.
    Percentile(&'static str),
    /// A time, ns.
    Time(u64),
}

/// Percentiles that can be asked for, and the metrics that tell them.
const PERCENTILES: [(&str, &str); 6] = [
    ("p50", "wakeup_latency_p50"),
    ("p90", "wakeup_latency_p90"),
    ("p95", "wakeup_latency_p95"),
    ("p99", "wakeup_latency_p99"),
    ("p99.9", "wakeup_latency_p999"),
    ("p999", "wakeup_latency_p999"),
];

impl Beyond {
    /// The usual: beyond the 99th percentile.
    pub const DEFAULT: Self = Self::Percentile("wakeup_latency_p99");

    /// `p99`, `p99.9`, … or a time, such as `2 ms`; `0` for all.
    ///
    /// # Errors
    /// What is wrong with the text, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "0" {
            return Ok(Self::Time(0));
        }
        let known = PERCENTILES.iter().find(|(name, _)| *name == text);
        match known {
            Some((_, metric)) => Ok(Self::Percentile(metric)),
            None if text.starts_with('p') => {
                Err("write p50, p90, p95, p99 or p99.9, or a time such as \"2 ms\"".to_string())
            }
            None => parse_time(text).map(Self::Time),
        }
    }

    /// The percentile as people write it, if it is one.
    pub fn percentile(self) -> Option<&'static str> {
        let Self::Percentile(metric) = self else { return None };
        PERCENTILES.iter().find(|(_, known)| *known == metric).map(|(name, _)| *name)
    }
}

/// What is asked about the waits of a run.
#[derive(Clone, Copy, Debug)]
pub struct LatencyQuestion {
    /// Which wake-ups are slow.
    pub beyond: Beyond,
    /// A runnable task that waited longer than this, whatever for, has stalled, ns.
    pub stall_ns: u64,
}

/// What a wait for a CPU began with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The task was woken: `sched_waking`.
    Woken,
    /// It was forked, or is one of the first.
    Forked,
    /// Another task took the CPU, or it gave the CPU up.
    Preempted,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Woken, Self::Forked, Self::Preempted];

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Woken => "woken",
            Self::Forked => "forked",
            Self::Preempted => "preempted",
        }
    }
}

/// Waits with one cause that have ended: percentiles have three significant digits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WaitTimes {
    /// How many.
    pub n: u64,
    /// Their sum, ns.
    pub total_ns: u64,
    /// p50, p90, p99 and p99.9, ns.
    pub percentiles_ns: [u64; 4],
    /// The longest, ns.
    pub max_ns: u64,
}

/// What kept a task that had been woken from running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hold {
    /// Its waker was choosing a CPU, waiting for a lock, or an interrupt was on its way.
    Way,
    /// It was on a runqueue, and no CPU idled that it could be matched with.
    Busy,
    /// It was on a runqueue, and a CPU idled that might have run it.
    Idled,
    /// Its group had used up its `cpu.max`.
    Throttled,
    /// It was between two runqueues.
    Moving,
}

impl Hold {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 5] = [Self::Way, Self::Busy, Self::Idled, Self::Throttled, Self::Moving];

    /// Name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Way => "way",
            Self::Busy => "busy",
            Self::Idled => "idled",
            Self::Throttled => "throttled",
            Self::Moving => "moving",
        }
    }
}

/// Time of slow wake-ups that one rule let pass.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldTime {
    /// What kept the tasks.
    pub hold: Hold,
    /// The rule to blame: [`Hold::Busy`]: the one that put the task there; [`Hold::Idled`]: as
    /// [`crate::RuleTime::name`]. Empty: there is none.
    pub rule: &'static str,
    /// What that means.
    pub text: &'static str,
    /// Features and tunables that change it and that the variant has not set so already; may be
    /// empty.
    pub knob: String,
    /// Slow wake-ups of which it had a part.
    pub n: u64,
    /// Time, ns.
    pub ns: u64,
    /// The longest part of one wake-up, ns.
    pub max_ns: u64,
}

/// Command and pid.
pub type Name = (String, u32);

/// One wait for a CPU, told.
#[derive(Clone, Debug, PartialEq)]
pub struct Story {
    /// What it began with.
    pub cause: Cause,
    /// Who waited.
    pub task: Name,
    /// Since when, ns by the clock of traces, which begins at 1 s.
    pub at_ns: u64,
    /// For how long, ns.
    pub ns: u64,
    /// True if it had not ended when the run ended.
    pub goes_on: bool,
    /// The task that woke, forked or preempted it; none: nobody did, or an interrupt that came
    /// while its CPU idled.
    pub by: Option<Name>,
    /// True if an interrupt woke it; `by` is whom the interrupt found on its CPU.
    pub by_interrupt: bool,
    /// The CPU where that happened.
    pub by_cpu: u32,
    /// The CPU where it ran at last, or whose runqueue it is still on.
    pub cpu: u32,
    /// Time before it was on a runqueue, ns.
    pub way_ns: u64,
    /// Time between two runqueues, ns.
    pub moving_ns: u64,
    /// Time for which its group had used up its `cpu.max`, ns.
    pub throttled_ns: u64,
    /// The runqueues that it was on, in the order of time.
    pub stays: Vec<Stay>,
    /// Who ran there meanwhile, in the order of time.
    pub behind: Vec<Behind>,
    /// CPUs that idled meanwhile and might have run it, the one with most time first.
    pub left: Vec<LeftCpu>,
}

/// A stay on a runqueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stay {
    /// Since when, ns by the clock of traces.
    pub at_ns: u64,
    /// The CPU.
    pub cpu: u32,
    /// The rule that put the task there.
    pub rule: &'static str,
}

/// Time for which a task ran on the CPU that another one waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    /// The CPU.
    pub cpu: u32,
    /// Who ran; an empty command: nobody, the CPU was leaving idle. Pid 0 with a command: several
    /// tasks of that name.
    pub runner: Name,
    /// When it was first in the way, ns by the clock of traces.
    pub at_ns: u64,
    /// For how long in all, ns.
    pub ns: u64,
}

/// A CPU that idled while a task waited that it may run, as the ledger of idle CPUs has paired
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftCpu {
    /// The CPU.
    pub cpu: u32,
    /// How far it is from the runqueue of the task.
    pub near: Near,
    /// The rule that is to blame.
    pub rule: &'static str,
    /// For how long, ns.
    pub ns: u64,
}

/// The waits of one run for CPUs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latencies {
    /// Simulated time that was measured, ns.
    pub elapsed_ns: u64,
    /// By [`Cause`].
    pub causes: [WaitTimes; 3],
    /// Wake-ups that took longer than this are slow, ns.
    pub beyond_ns: u64,
    /// How many there were …
    pub n_slow: u64,
    /// … and how long they took together, ns: the sum of [`Latencies::held`].
    pub slow_ns: u64,
    /// What kept the slow ones, the row with most time first.
    pub held: Vec<HeldTime>,
    /// Who ran on the CPUs that the slow ones waited for, the pair with most time first. The sum
    /// is the time of [`Hold::Busy`] and [`Hold::Idled`].
    pub pairs: Vec<Blame>,
    /// Waits beyond the same time after a preemption: who lost the CPU, and to whom.
    pub preempted: Vec<Blame>,
    /// The slowest wake-ups, the longest first.
    pub slowest: Vec<Story>,
    /// What counts as a stall, ns.
    pub stall_ns: u64,
    /// How many waits were longer than that, those that go on at the end included.
    pub n_stalls: u64,
    /// The longest of them.
    pub stalls: Vec<Story>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_or_a_time_can_be_asked_for() {
        assert_eq!(Beyond::parse("p99"), Ok(Beyond::DEFAULT));
        assert_eq!(Beyond::parse(" p99.9 ").map(Beyond::percentile), Ok(Some("p99.9")));
        assert_eq!(Beyond::parse("2 ms"), Ok(Beyond::Time(2_000_000)));
        assert_eq!(Beyond::parse("0").map(Beyond::percentile), Ok(None));
        for bad in ["p42", "2", "", "long", "-1 ms"] {
            assert!(Beyond::parse(bad).is_err(), "{bad}");
        }
        for (_, metric) in PERCENTILES {
            assert!(crate::registry::metrics::metric(metric).is_some(), "{metric}");
        }
    }
}
