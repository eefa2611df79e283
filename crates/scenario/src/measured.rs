//! What metrics are read from: the counters of the world, and an observer for what must be watched.

use crate::commands::ByCommand;
use crate::output::LlcUtilization;
use crate::waits::{LongWait, Longest, Times};
use sim_core::{Category, Cpu, Ns, Observer, OperationCount, Site, TaskId, World};
use topology::{CpuId, Distance, Machine, PerCpu};

/// First length of a utilization bucket, ns; it doubles when there are too many.
const FIRST_BUCKET_NS: Ns = 1_000_000;
/// Buckets at most.
const MAX_BUCKETS: usize = 512;

/// Watches waits for CPUs and the use of each LLC over time.
pub struct Recorder {
    /// From a wake-up to running.
    pub(crate) delays: Times,
    /// From being runnable to running, whatever it began with.
    pub(crate) waits: Times,
    longest: Longest,
    busy_since: PerCpu<Ns>,
    llc_of: PerCpu<u32>,
    bucket_ns: Ns,
    /// Busy CPU time per LLC and bucket, ns.
    busy: Vec<Vec<u64>>,
    /// By the names of threads, if the workload is a recording.
    pub(crate) commands: Option<ByCommand>,
}

impl Recorder {
    /// A recorder for a machine.
    pub fn new(machine: &Machine) -> Self {
        Self {
            delays: Times::new(),
            waits: Times::new(),
            longest: Longest::default(),
            busy_since: vec![0; machine.n_cpus()].into(),
            llc_of: machine.cpus.iter().map(|c| c.llc).collect(),
            bucket_ns: FIRST_BUCKET_NS,
            busy: vec![Vec::new(); machine.llcs.len()],
            commands: None,
        }
    }

    /// Spreads a busy interval of a CPU over the buckets.
    fn add_busy(&mut self, cpu: CpuId, from: Ns, to: Ns) {
        while to >= MAX_BUCKETS as Ns * self.bucket_ns {
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

    /// The longest waits for a CPU, those of tasks that wait at the end of the run among them.
    pub fn longest_waits(&mut self, w: &World) -> Vec<LongWait> {
        let mut longest = std::mem::take(&mut self.longest);
        longest.end(w);
        longest.into_waits()
    }

    /// The use of each LLC up to now.
    pub fn utilization(&self, w: &World) -> LlcUtilization {
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

/// A finished run, as the rows of metrics read it.
pub(crate) struct Measured<'a> {
    pub w: &'a World,
    pub recorder: &'a Recorder,
    /// What the policy counted itself.
    pub counted: Vec<(&'static str, f64)>,
    /// What its operations have cost.
    pub operations: Vec<OperationCount>,
    /// What the workload recorded, the shortest first.
    pub samples: Vec<Ns>,
}

impl Measured<'_> {
    /// What the policy counts in some runs only.
    pub fn counted_if_any(&self, name: &str) -> Option<f64> {
        self.counted.iter().find(|(known, _)| *known == name).map(|(_, n)| *n)
    }

    /// Nanoseconds since the measurement began; never 0.
    pub fn elapsed_ns(&self) -> u64 {
        (self.w.now - self.w.measured_from).max(1)
    }

    /// CPU time of all CPUs that time(1) counts: a CPU that leaves a C-state has no task yet.
    pub fn busy_ns(&self) -> u64 {
        let busy = |c: &Cpu| {
            let total: u64 = c.time.iter().sum();
            total - c.time[Category::Idle as usize] - c.time[Category::Exit as usize]
        };
        self.w.cpus.iter().map(busy).sum()
    }

    /// Share of the busy time that was spent at these call sites, %.
    pub fn spin_pct(&self, sites: &[&'static Site]) -> f64 {
        let ns: u64 = sites.iter().map(|site| self.w.spin_ns(site)).sum();
        ns as f64 / self.busy_ns().max(1) as f64 * 100.0
    }

    /// A quantile of the scheduling delays, us.
    pub fn delay_us(&self, quantile: f64) -> f64 {
        self.recorder.delays.quantile_ns(quantile) as f64 * 1e-3
    }

    /// So many ns of waits for `tg->load_avg` in busy time, %, if there are task groups.
    pub fn load_avg_pct(&self, ns: u64) -> Option<f64> {
        let busy_ns = self.busy_ns().max(1) as f64;
        self.w.has_own_lines().then(|| 100.0 * ns as f64 / busy_ns)
    }

    /// Moves of tasks over a distance.
    pub fn moves(&self, distance: Distance) -> f64 {
        self.w.counters.migrations[distance as usize] as f64
    }
}

impl Observer for Recorder {
    fn switch(&mut self, w: &World, cpu: CpuId, prev: TaskId, next: TaskId) {
        if let Some(commands) = &mut self.commands {
            commands.switch(w, cpu, prev);
        }
        if prev == TaskId::IDLE {
            self.busy_since[cpu] = w.now;
        } else if next == TaskId::IDLE {
            self.add_busy(cpu, self.busy_since[cpu], w.now);
        }
    }

    fn measurement_begins(&mut self, _w: &World) {
        self.delays.reset();
        self.waits.reset();
        self.longest = Longest::default();
    }

    fn sched_delay(&mut self, w: &World, task: TaskId, ns: Ns) {
        if let Some(commands) = &mut self.commands {
            commands.waited(w, task, ns);
        }
        self.delays.add(ns);
    }

    fn waited_for_cpu(&mut self, w: &World, cpu: CpuId, task: TaskId, prev: TaskId, ns: Ns) {
        self.waits.add(ns);
        self.longest.over(w, cpu, task, prev, ns);
    }

    /// All that is kept are sums. Without commands only switches to and from idle are looked at.
    fn heeds_order(&self) -> bool {
        self.commands.is_some()
    }
}
