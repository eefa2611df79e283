//! What every run measures (DESIGN 5.3): an observer for what must be watched, and the world's own
//! counters for the rest.

use crate::output::{LlcUtilization, MetricValue, RunOutput};
use crate::registry::{self, SPIN_GROUPS};
use hdrhistogram::Histogram;
use sim_core::{Category, Ns, Observer, Policy, Program, Simulation, TaskId, World};
use topology::{CpuId, Distance, Machine, PerCpu};

/// Longest scheduling delay told apart, ns; longer ones count as this.
const LONGEST_DELAY_NS: u64 = 3_600_000_000_000;
/// Significant digits that the histogram of delays keeps.
const DIGITS: u8 = 3;
/// First length of a utilization bucket, ns; it doubles when there are too many.
const FIRST_BUCKET_NS: Ns = 1_000_000;
/// Buckets at most.
const MAX_BUCKETS: usize = 512;

/// What balance and pulls from shared queues did, if the policy has them.
const PULLS: [&str; 11] = [
    "newidle_attempts",
    "newidle_pulls",
    "balance_pulls",
    "pull_attempts",
    "pull_hits",
    "pull_lost",
    "pull_empty",
    "steal_attempts",
    "steal_hits",
    "steal_lost",
    "steal_empty",
];
/// What became of the tasks on shared queues: the steal window.
const STEAL_WINDOW: [&str; 3] = ["picked_by_own_cpu", "stolen_and_moved", "popped_but_running"];

/// Watches scheduling delays and the use of each LLC over time.
pub struct Recorder {
    delays: Histogram<u64>,
    /// The histogram's own is rounded, ns.
    longest_delay: Ns,
    busy_since: PerCpu<Ns>,
    llc_of: PerCpu<u32>,
    bucket_ns: Ns,
    /// Busy CPU time per LLC and bucket, ns.
    busy: Vec<Vec<u64>>,
}

impl Recorder {
    /// A recorder for a machine.
    pub fn new(machine: &Machine) -> Self {
        let delays = Histogram::new_with_bounds(1, LONGEST_DELAY_NS, DIGITS);
        Self {
            delays: delays.expect("the bounds are constant and valid"),
            longest_delay: 0,
            busy_since: vec![0; machine.n_cpus()].into(),
            llc_of: machine.cpus.iter().map(|c| c.llc).collect(),
            bucket_ns: FIRST_BUCKET_NS,
            busy: vec![Vec::new(); machine.llcs.len()],
        }
    }

    /// Spreads a busy interval of a CPU over the buckets.
    fn add_busy(&mut self, cpu: CpuId, from: Ns, to: Ns) {
        while (to / self.bucket_ns) as usize >= MAX_BUCKETS {
            self.coarsen();
        }
        let buckets = &mut self.busy[self.llc_of[cpu] as usize];
        let mut at = from;
        while at < to {
            let bucket = at / self.bucket_ns;
            let end = to.min((bucket + 1) * self.bucket_ns);
            if buckets.len() <= bucket as usize {
                buckets.resize(bucket as usize + 1, 0);
            }
            buckets[bucket as usize] += end - at;
            at = end;
        }
    }

    fn coarsen(&mut self) {
        self.bucket_ns *= 2;
        for buckets in &mut self.busy {
            *buckets = buckets.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
    }

    fn utilization(&self, w: &World) -> LlcUtilization {
        let mut all =
            Self { busy: self.busy.clone(), llc_of: self.llc_of.clone(), ..Self::new(&w.machine) };
        all.bucket_ns = self.bucket_ns;
        while w.now.div_ceil(all.bucket_ns) as usize > MAX_BUCKETS {
            all.coarsen();
        }
        for cpu in (0..w.cpus.len() as u32).map(CpuId) {
            if w.cpus[cpu].curr != TaskId::IDLE {
                all.add_busy(cpu, self.busy_since[cpu], w.now);
            }
        }
        let n_buckets = w.now.div_ceil(all.bucket_ns) as usize;
        let share = |llc: usize, bucket: usize| {
            let start = bucket as u64 * all.bucket_ns;
            let length = all.bucket_ns.min(w.now - start);
            let busy = all.busy[llc].get(bucket).copied().unwrap_or(0);
            busy as f32 / (length * w.machine.llcs[llc].len() as u64) as f32
        };
        let shares = (0..all.busy.len()).map(|l| (0..n_buckets).map(|b| share(l, b)).collect());
        LlcUtilization { bucket_ns: all.bucket_ns, shares: shares.collect() }
    }
}

impl Observer for Recorder {
    fn switch(&mut self, w: &World, cpu: CpuId, prev: TaskId, next: TaskId) {
        if prev == TaskId::IDLE {
            self.busy_since[cpu] = w.now;
        } else if next == TaskId::IDLE {
            self.add_busy(cpu, self.busy_since[cpu], w.now);
        }
    }

    fn measurement_begins(&mut self, _w: &World) {
        self.delays.reset();
        self.longest_delay = 0;
    }

    fn sched_delay(&mut self, _w: &World, _task: TaskId, ns: Ns) {
        self.delays.saturating_record(ns.max(1));
        self.longest_delay = self.longest_delay.max(ns);
    }

    /// All that is kept are sums, and only switches to and from idle are looked at.
    fn heeds_order(&self) -> bool {
        false
    }
}

/// All metrics of a finished run, whoever else has watched it.
pub fn output<P: Policy, W: Program, O: Observer>(
    sim: &mut Simulation<P, W, (Recorder, O)>,
    finished: bool,
) -> RunOutput {
    let recorder = &sim.observer.0;
    let mut m = Metrics(Vec::new());
    let mut samples = std::mem::take(&mut sim.w.samples);
    let w = &sim.w;
    m.time(w);
    for (name, value) in sim.program.results(w.now - w.measured_from) {
        m.add(name, value);
    }
    m.latencies(&mut samples);
    m.add("idle_while_runnable", w.idle_while_runnable_ns as f64 * 1e-9);
    let delays = &recorder.delays;
    for (name, quantile) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)] {
        // The histogram's value is the upper end of a bucket.
        let ns = delays.value_at_quantile(quantile).min(recorder.longest_delay);
        m.add(&format!("wakeup_latency_{name}"), ns as f64 * 1e-3);
    }
    m.add("wakeup_latency_max", recorder.longest_delay as f64 * 1e-3);
    m.spinning(w);
    m.counters(w);
    let counted = sim.policy.results();
    m.policy(&PULLS, &counted);
    super::sched_stat::metrics(w, &mut |name, value| m.add(name, value));
    m.policy(&STEAL_WINDOW, &counted);
    RunOutput { metrics: m.0, utilization: Some(recorder.utilization(w)), finished }
}

struct Metrics(Vec<MetricValue>);

impl Metrics {
    fn add(&mut self, name: &str, value: f64) {
        let def = registry::metric(name).expect("every metric of a run has its row");
        let (unit, better) = (def.unit, def.better);
        self.0.push(MetricValue { name: name.to_string(), unit, better, value });
    }

    fn time(&mut self, w: &World) {
        let measured = w.now - w.measured_from;
        let elapsed = measured.max(1) as f64;
        // What time(1) counts: a CPU that leaves a C-state has no task yet.
        let used: u64 = w.cpus.iter().map(busy_ns).sum();
        self.add("elapsed", measured as f64 / 1e9);
        self.add("cpu_pct", used as f64 / elapsed * 100.0);
    }

    /// What the workload measured itself, if it did: exact percentiles, by nearest rank. Sorts.
    fn latencies(&mut self, sorted: &mut [Ns]) {
        sorted.sort_unstable();
        let Some(max) = sorted.last() else {
            return;
        };
        let us = |ns: Ns| ns as f64 * 1e-3;
        let sum: u128 = sorted.iter().map(|ns| u128::from(*ns)).sum();
        self.add("latency_mean", sum as f64 / sorted.len() as f64 * 1e-3);
        for (name, permille) in [("p50", 500), ("p95", 950), ("p99", 990), ("p999", 999)] {
            let rank = (sorted.len() * permille).div_ceil(1000);
            self.add(&format!("latency_{name}"), us(sorted[rank - 1]));
        }
        self.add("latency_max", us(*max));
    }

    fn spinning(&mut self, w: &World) {
        let busy: u64 = w.cpus.iter().map(busy_ns).sum();
        let share = |ns: u64| ns as f64 / busy.max(1) as f64 * 100.0;
        let sites = workloads::lock_sites();
        self.add("spin_pct", share(sites.iter().map(|site| w.spin_ns(site)).sum()));
        for site in &sites {
            if !site.only_if_taken || w.locks.site(site).acquired > 0 {
                self.add(&format!("spin_pct.{}", site.name), share(w.spin_ns(site)));
            }
        }
        for group in SPIN_GROUPS {
            let its = sites.iter().filter(|site| site.group == group);
            self.add(&format!("spin_pct.{group}"), share(its.map(|site| w.spin_ns(site)).sum()));
        }
    }

    /// What a policy has counted itself; a policy that has no such thing has counted none of it.
    fn policy(&mut self, names: &[&'static str], counted: &[(&'static str, f64)]) {
        for name in names {
            let known = counted.iter().find(|(known, _)| known == name);
            self.add(name, known.map_or(0.0, |(_, value)| *value));
        }
    }

    fn counters(&mut self, w: &World) {
        let c = &w.counters;
        let moved = |d: Distance| c.migrations[d as usize] as f64;
        self.add("switches", c.switches as f64);
        self.add("wakeups", c.wakeups as f64);
        self.add("migrations_smt", moved(Distance::Smt));
        self.add("migrations_llc", moved(Distance::Llc));
        self.add("migrations_node", moved(Distance::Node));
        self.add("migrations_remote", moved(Distance::Socket));
    }
}

fn busy_ns(c: &sim_core::Cpu) -> u64 {
    let total: u64 = c.time.iter().sum();
    total - c.time[Category::Idle as usize] - c.time[Category::Exit as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_times_become_metrics_in_microseconds() {
        let mut m = Metrics(Vec::new());
        m.latencies(&mut []);
        assert!(m.0.is_empty());
        let mut samples: Vec<Ns> = (1..=100).rev().map(|us| us * 1000).collect();
        m.latencies(&mut samples);
        let found: Vec<_> = m.0.iter().map(|v| (v.name.as_str(), v.value)).collect();
        let expected = [
            ("mean", 50.5),
            ("p50", 50.0),
            ("p95", 95.0),
            ("p99", 99.0),
            ("p999", 100.0),
            ("max", 100.0),
        ];
        for ((name, value), (suffix, us)) in found.iter().zip(expected) {
            assert_eq!(*name, format!("latency_{suffix}"));
            assert!((value - us).abs() < 1e-9, "{name} {value}");
        }
        assert_eq!(found.len(), 6);
    }
}
