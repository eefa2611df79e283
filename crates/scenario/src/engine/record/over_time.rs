//! Sums in buckets of time whose length doubles when there are too many: the memory is bounded, and
//! nobody has to know how long a run will be.

use crate::recorded::OverTime;
use sim_core::{Ns, Observer, TaskId, World};
use topology::{CpuId, PerCpu};

/// First length of a bucket, ns.
const FIRST_BUCKET_NS: Ns = 1_000;
/// Buckets at most: more than a screen has columns.
const BUCKETS_MAX: usize = 2_048;

/// Sums of several rows.
pub(super) struct Buckets {
    ns: Ns,
    rows: Vec<Vec<u64>>,
}

impl Buckets {
    pub fn new(rows: usize) -> Self {
        Self { ns: FIRST_BUCKET_NS, rows: vec![Vec::new(); rows] }
    }

    /// Adds `rate` times the length of an interval to a row, each part of it to its bucket.
    pub fn add(&mut self, row: usize, from: Ns, to: Ns, rate: u64) {
        if rate == 0 {
            return;
        }
        self.make_room(to);
        let buckets = &mut self.rows[row];
        let mut at = from;
        while at < to {
            let bucket = at / self.ns;
            let end = to.min((bucket + 1) * self.ns);
            if buckets.len() <= bucket as usize {
                buckets.resize(bucket as usize + 1, 0);
            }
            buckets[bucket as usize] += (end - at) * rate;
            at = end;
        }
    }

    fn make_room(&mut self, to: Ns) {
        while to.div_ceil(self.ns) as usize > BUCKETS_MAX {
            self.ns *= 2;
            for buckets in &mut self.rows {
                *buckets = buckets.chunks(2).map(|pair| pair.iter().sum()).collect();
            }
        }
    }

    /// All rows, each up to the bucket in which the run ends.
    pub fn complete(mut self, end: Ns) -> (Ns, Vec<Vec<u64>>) {
        self.make_room(end);
        let n = end.div_ceil(self.ns) as usize;
        self.rows.iter_mut().for_each(|row| row.resize(n, 0));
        (self.ns, self.rows)
    }
}

/// Watches how busy the CPUs are and how many tasks wait.
pub(super) struct LoadWatcher {
    buckets: Buckets,
    busy_since: PerCpu<Option<Ns>>,
    /// Since when as many tasks wait as do.
    since: Ns,
    n_waiting: u64,
    n_wasted: u64,
}

impl LoadWatcher {
    pub fn new(n_cpus: usize) -> Self {
        Self {
            buckets: Buckets::new(n_cpus + 2),
            busy_since: vec![None; n_cpus].into(),
            since: 0,
            n_waiting: 0,
            n_wasted: 0,
        }
    }

    fn n_cpus(&self) -> usize {
        self.busy_since.len()
    }

    /// Charges the time for which as many tasks waited as did.
    fn charge(&mut self, now: Ns) {
        let (from, n) = (self.since, self.n_cpus());
        self.buckets.add(n, from, now, self.n_waiting);
        self.buckets.add(n + 1, from, now, self.n_wasted);
        self.since = now;
    }

    pub fn result(self, end: Ns) -> OverTime {
        let (bucket_ns, mut rows) = self.buckets.complete(end);
        let wasted_ns = rows.pop().unwrap_or_default();
        let waiting_ns = rows.pop().unwrap_or_default();
        OverTime { bucket_ns, busy_ns: rows, waiting_ns, wasted_ns }
    }
}

impl Observer for LoadWatcher {
    fn switch(&mut self, w: &World, cpu: CpuId, prev: TaskId, next: TaskId) {
        if prev == TaskId::IDLE {
            self.busy_since[cpu] = Some(w.now);
        } else if next == TaskId::IDLE
            && let Some(from) = self.busy_since[cpu].take()
        {
            self.buckets.add(cpu.idx(), from, w.now, 1);
        }
    }

    fn after_event(&mut self, w: &World) {
        let n_waiting = u64::from(w.n_waiting);
        let n_wasted = u64::from(w.n_idle_while_runnable());
        if (n_waiting, n_wasted) != (self.n_waiting, self.n_wasted) {
            self.charge(w.now);
            (self.n_waiting, self.n_wasted) = (n_waiting, n_wasted);
        }
    }

    fn end(&mut self, w: &World) {
        self.charge(w.now);
        for cpu in (0..self.n_cpus() as u32).map(CpuId) {
            if let Some(from) = self.busy_since[cpu].replace(w.now) {
                self.buckets.add(cpu.idx(), from, w.now, 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_spread_over_its_buckets_and_none_is_lost() {
        let mut buckets = Buckets::new(1);
        buckets.add(0, 500, 2_500, 3);
        assert_eq!(buckets.rows[0], [1_500, 3_000, 1_500]);
        buckets.add(0, 2_500, 5_000_000, 1);
        assert!(buckets.rows[0].len() <= BUCKETS_MAX);
        assert_eq!(buckets.rows[0].iter().sum::<u64>(), 6_000 + 4_997_500);
        assert_eq!(buckets.ns, 4_000);
    }

    #[test]
    fn rows_end_with_the_run() {
        let mut buckets = Buckets::new(2);
        buckets.add(0, 0, 1_000, 1);
        let (ns, rows) = buckets.complete(3_500);
        assert_eq!((ns, rows), (1_000, vec![vec![1_000, 0, 0, 0], vec![0; 4]]));
    }
}
