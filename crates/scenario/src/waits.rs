//! How long tasks waited for a CPU, and which of these waits were the longest.

use hdrhistogram::Histogram;
use sim_core::{Ns, TaskId, World};
use topology::CpuId;
use trace::export::START_NS;

/// Longest time told apart, ns; longer ones count as this.
const LONGEST_NS: u64 = 3_600_000_000_000;
/// Significant digits that the histogram keeps.
const DIGITS: u8 = 3;
/// Waits that are kept one by one.
pub const N_LONGEST_WAITS: usize = 16;

/// One of the longest waits of a run for a CPU, whatever it began with: a wake-up, a fork, or a
/// preemption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LongWait {
    /// Since when the task was runnable, ns by the clock of traces, which begins at 1 s.
    pub at_ns: u64,
    /// For how long, ns.
    pub ns: u64,
    /// Its command and pid.
    pub task: (String, u32),
    /// The CPU that it ran on at last, or on whose queue it still is.
    pub cpu: u32,
    /// Command and pid of the task that had that CPU before, or has it; none: it idled.
    pub behind: Option<(String, u32)>,
    /// True if it has not run by the end of the run.
    pub goes_on: bool,
}

/// Times from being runnable to running, in bounded memory.
pub(crate) struct Times {
    histogram: Histogram<u64>,
    sum_ns: u128,
    /// The histogram's own is rounded, ns.
    max_ns: Ns,
}

impl Times {
    pub fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, DIGITS);
        let histogram = histogram.expect("the bounds are constant and valid");
        Self { histogram, sum_ns: 0, max_ns: 0 }
    }

    /// Adds a time; in the histogram 0 counts as 1 ns.
    #[inline]
    pub fn add(&mut self, ns: Ns) {
        self.histogram.saturating_record(ns.max(1));
        self.sum_ns += u128::from(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    pub fn reset(&mut self) {
        self.histogram.reset();
        (self.sum_ns, self.max_ns) = (0, 0);
    }

    pub fn n(&self) -> u64 {
        self.histogram.len()
    }

    /// A quantile, ns; 0 if there is no time.
    pub fn quantile_ns(&self, quantile: f64) -> Ns {
        // The histogram's value is the upper end of a bucket.
        self.histogram.value_at_quantile(quantile).min(self.max_ns)
    }

    /// All times added up, ns.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Exact to the digits of an `f64`, us; 0 if there is no time.
    pub fn mean_us(&self) -> f64 {
        self.sum_ns as f64 / self.n().max(1) as f64 * 1e-3
    }

    pub fn max_ns(&self) -> Ns {
        self.max_ns
    }
}

/// The longest waits of a run, the longest first.
#[derive(Default)]
pub(crate) struct Longest {
    waits: Vec<LongWait>,
    /// No wait that is shorter than this is kept, ns.
    floor_ns: Ns,
}

impl Longest {
    /// `task` has waited for `ns` and runs on `cpu` now, where `prev` ran before.
    #[inline]
    pub fn over(&mut self, w: &World, cpu: CpuId, task: TaskId, prev: TaskId, ns: Ns) {
        if ns >= self.floor_ns {
            self.keep(w, cpu, task, prev, ns, false);
        }
    }

    /// The run ends: those that still wait have waited, too.
    pub fn end(&mut self, w: &World) {
        for p in w.tasks.ids() {
            let t = &w.tasks[p];
            let curr = w.cpus[t.cpu].curr;
            let waits = t.on_rq && !t.sched_delayed && curr != p;
            let ns = w.now - t.runnable_since.min(w.now);
            if waits && ns >= self.floor_ns {
                self.keep(w, t.cpu, p, curr, ns, true);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn keep(&mut self, w: &World, cpu: CpuId, p: TaskId, prev: TaskId, ns: Ns, goes_on: bool) {
        // CPUs may run ahead of each other: which waits are kept must not depend on their order.
        let at_ns = START_NS + w.now - ns;
        let key = |ns: Ns, at_ns: Ns, cpu: u32| (std::cmp::Reverse(ns), at_ns, cpu);
        let is_before = |o: &LongWait| key(o.ns, o.at_ns, o.cpu) <= key(ns, at_ns, cpu.0);
        let at = self.waits.partition_point(is_before);
        if at == N_LONGEST_WAITS {
            return;
        }
        let task = named(w, cpu, p);
        let behind = (prev != TaskId::IDLE).then(|| named(w, cpu, prev));
        self.waits.insert(at, LongWait { at_ns, ns, task, cpu: cpu.0, behind, goes_on });
        self.waits.truncate(N_LONGEST_WAITS);
        if let Some(last) = self.waits.get(N_LONGEST_WAITS - 1) {
            self.floor_ns = last.ns;
        }
    }

    pub fn into_waits(self) -> Vec<LongWait> {
        self.waits
    }
}

/// Command and pid of a task, or of the stopper of a CPU.
pub(crate) fn named(w: &World, cpu: CpuId, p: TaskId) -> (String, u32) {
    let pid = w.pid(cpu, p).0;
    if p == TaskId::STOP {
        return (format!("migration/{}", cpu.0), pid);
    }
    let comm = w.tasks.get(p.idx()).map(|t| usize::from(t.attr.comm));
    (comm.and_then(|comm| w.comms.get(comm)).cloned().unwrap_or_default(), pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_percentiles_and_an_exact_sum() {
        let mut times = Times::new();
        assert_eq!((times.n(), times.quantile_ns(0.5), times.mean_us()), (0, 0, 0.0));
        (1..=1000).for_each(|us| times.add(us * 1000 + 1));
        assert_eq!(times.sum_ns(), 500_501_000);
        assert_eq!(times.max_ns(), 1_000_001);
        assert_eq!(times.quantile_ns(1.0), 1_000_001, "no longer than the longest");
        let p99 = times.quantile_ns(0.99) as f64;
        assert!((p99 / 990_000.0 - 1.0).abs() < 0.001, "{p99}");
        times.reset();
        assert_eq!((times.n(), times.sum_ns(), times.max_ns()), (0, 0, 0));
    }
}
