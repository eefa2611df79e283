//! The policy's averages of each runqueue over time, if they are asked for.

use super::over_time::Buckets;
use crate::recorded::{N_SIGNALS, SignalsOverTime};
use sim_core::{Ns, Observer, SignalSource, Signals, World};
use topology::CpuId;

/// Watches the averages of all runqueues.
pub(super) struct SignalWatcher {
    is_on: bool,
    n_cpus: usize,
    /// Rows: signal by signal, each CPU by CPU.
    buckets: Buckets,
    /// Of each row: since when it has this value.
    now: Vec<(Ns, u64)>,
    /// The policy has averages.
    is_told: bool,
}

impl SignalWatcher {
    pub fn new(n_cpus: usize, is_on: bool) -> Self {
        let n = if is_on { N_SIGNALS * n_cpus } else { 0 };
        Self { is_on, n_cpus, buckets: Buckets::new(n), now: vec![(0, 0); n], is_told: false }
    }

    fn set(&mut self, at: Ns, row: usize, value: u64) {
        let (since, before) = self.now[row];
        if value != before {
            self.buckets.add(row, since, at, before);
            self.now[row] = (at, value);
        }
    }

    pub fn result(self, end: Ns) -> Option<SignalsOverTime> {
        let n_cpus = self.n_cpus;
        let (bucket_ns, rows) = self.is_told.then(|| self.buckets.complete(end))?;
        let mean = |(bucket, sum): (usize, u64)| {
            let length = bucket_ns.min(end - bucket as Ns * bucket_ns).max(1);
            (sum + length / 2) / length
        };
        let means = |row: Vec<u64>| row.into_iter().enumerate().map(mean).collect();
        let mut rows = rows.into_iter().map(means);
        let signals = std::array::from_fn(|_| rows.by_ref().take(n_cpus).collect());
        Some(SignalsOverTime { bucket_ns, signals })
    }
}

impl Observer for SignalWatcher {
    fn watches_signals(&self) -> bool {
        self.is_on
    }

    fn signals(&mut self, w: &World, cpu: CpuId, source: &dyn SignalSource) {
        let Some(Signals { util_avg, load_avg, runnable_avg }) = source.of_cpu(cpu) else { return };
        self.is_told = true;
        for (signal, value) in [util_avg, runnable_avg, load_avg].into_iter().enumerate() {
            self.set(w.now, signal * self.n_cpus + cpu.idx(), value);
        }
    }

    fn end(&mut self, w: &World) {
        for row in 0..self.now.len() {
            let (since, value) = std::mem::replace(&mut self.now[row], (w.now, 0));
            self.buckets.add(row, since, w.now, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_has_the_mean_of_its_time() {
        let mut watch = SignalWatcher::new(1, true);
        watch.is_told = true;
        watch.set(250, 0, 1000);
        watch.set(750, 0, 200);
        watch.set(1_500, 1, 8);
        // As at the end of a run.
        watch.buckets.add(0, 750, 2_000, 200);
        watch.buckets.add(1, 1_500, 2_000, 8);
        let found = watch.result(2_000).unwrap();
        assert_eq!(found.bucket_ns, 1_000);
        assert_eq!(found.signals[0], [[550, 200]]);
        assert_eq!(found.signals[1], [[0, 4]]);
        assert_eq!(found.signals[2], [[0, 0]]);
        assert_eq!(SignalWatcher::new(1, true).result(2_000), None, "the policy has none");
    }
}
