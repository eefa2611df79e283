//! Sums over the measured part of a run: wake-up latencies, moves between LLCs, waits by site.

use crate::engine::times::Times;
use crate::profile::SiteTime;
use crate::recorded::Count;
use hdrhistogram::Histogram;
use sim_core::{MigrationCause, Ns, Observer, Site, TaskId, World};
use topology::{CpuId, Machine, PerCpu};

/// Significant digits of the histograms, and what counts as the longest time, as of the metrics.
const DIGITS: u8 = 3;
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Watches what is only added up.
pub(super) struct SumWatcher {
    delays: Histogram<u64>,
    longest_delay: Ns,
    llc_of: PerCpu<u32>,
    n_llcs: usize,
    waits: Vec<Times>,
    pub measured_from_ns: Ns,
    pub end_ns: Ns,
    pub moves: Vec<u64>,
    /// Complete when the run has ended.
    pub sites: Vec<SiteTime>,
}

impl SumWatcher {
    pub fn new(machine: &Machine) -> Self {
        let n_llcs = machine.llcs.len();
        Self {
            delays: histogram(),
            longest_delay: 0,
            llc_of: machine.cpus.iter().map(|c| c.llc).collect(),
            n_llcs,
            waits: (0..Site::SLOTS).map(|_| Times::new()).collect(),
            measured_from_ns: 0,
            end_ns: 0,
            moves: vec![0; n_llcs * n_llcs],
            sites: Vec::new(),
        }
    }

    pub fn wakeups(&self) -> Vec<Count> {
        counts(&self.delays, self.longest_delay)
    }

    fn site(&self, w: &World, site: &'static Site) -> SiteTime {
        let wait = self.waits[site.slot as usize].spread();
        let no_lock = site.group == Site::NO_LOCK;
        let acquisitions = if no_lock { wait.n } else { w.locks.site(site).acquired };
        SiteTime { name: site.name, group: site.group, no_lock, acquisitions, wait }
    }
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, DIGITS).expect("the bounds are constant and valid")
}

/// The times of a histogram. A bucket is named by its upper end, but the longest time is exact.
fn counts(times: &Histogram<u64>, longest: Ns) -> Vec<Count> {
    let value = |ns: u64| times.highest_equivalent(ns).min(longest);
    let all = times.iter_recorded();
    all.map(|v| Count { ns: value(v.value_iterated_to()), n: v.count_at_value() }).collect()
}

impl Observer for SumWatcher {
    fn sched_delay(&mut self, _w: &World, _task: TaskId, ns: Ns) {
        self.delays.saturating_record(ns.max(1));
        self.longest_delay = self.longest_delay.max(ns);
    }

    fn migrate(&mut self, _w: &World, _task: TaskId, from: CpuId, to: CpuId, _: MigrationCause) {
        let (from, to) = (self.llc_of[from] as usize, self.llc_of[to] as usize);
        self.moves[from * self.n_llcs + to] += 1;
    }

    fn waited(&mut self, _w: &World, _cpu: CpuId, site: &'static Site, ns: Ns) {
        self.waits[site.slot as usize].add(ns);
    }

    fn measurement_begins(&mut self, w: &World) {
        self.delays.reset();
        self.longest_delay = 0;
        self.moves.fill(0);
        self.waits = (0..Site::SLOTS).map(|_| Times::new()).collect();
        self.measured_from_ns = w.now;
    }

    fn end(&mut self, w: &World) {
        self.end_ns = w.now;
        let told = |s: &&'static Site| !s.only_if_taken || w.locks.site(s).acquired > 0;
        let sites = workloads::lock_sites().into_iter().filter(told);
        self.sites = sites.map(|site| self.site(w, site)).collect();
    }
}
