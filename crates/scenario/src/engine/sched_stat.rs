//! The world's scheduler statistics as metrics, and as the lines of /proc/schedstat.

use crate::output::{RunError, guarded};
use crate::registry::LEVELS;
use crate::run_spec::RunSpec;
use crate::schedstat::{CpuStat, DomainStat, SchedStat};
use sim_core::{IdleType, LbStat, Observer, SdStat, World};
use topology::{CpuId, Domain, Level};

/// The level's place in [`LEVELS`].
fn rank(level: Level) -> usize {
    match level {
        Level::Smt => 0,
        Level::Mc => 1,
        Level::Die => 2,
        Level::Node => 3,
        Level::Numa(_) => 4,
    }
}

/// The level's name in the kernel; Linux 6.7 changed DIE to PKG.
fn name(level: Level) -> &'static str {
    ["SMT", "MC", "PKG", "NODE", "NUMA"][rank(level)]
}

/// Adds what kernel developers print of a run, by name.
pub fn metrics(w: &World, add: &mut dyn FnMut(&str, f64)) {
    let to = w.wake_targets();
    add("wakeups_to_prev", to.prev as f64);
    add("wakeups_to_waker", to.waker as f64);
    add("wakeups_same_llc", to.same_llc as f64);
    add("wakeups_other_llc", to.other_llc as f64);
    if w.stat.is_fair {
        searches(w, add);
        balancing(w, add);
    }
}

/// The ratios are those of "sched/fair: Track efficiency of select_idle_sibling".
fn searches(w: &World, add: &mut dyn FnMut(&str, f64)) {
    let sis = &w.stat.sis;
    let fast = sis.searches - sis.domain_searches;
    let domain_scanned = w.stat.sis.domain_scanned;
    let scanned = fast + domain_scanned;
    let pct = |part: u64, of: u64| part as f64 / of.max(1) as f64 * 100.0;
    add("sis_search", sis.searches as f64);
    add("sis_domain_search", sis.domain_searches as f64);
    add("sis_recent_hits", sis.recent_hits as f64);
    add("sis_scanned", scanned as f64);
    add("sis_failed", sis.failed as f64);
    add("sis_success_pct", pct(sis.searches - sis.failed, sis.searches));
    add("sis_fast_success_pct", pct(fast, sis.searches));
    add("sis_efficiency_pct", pct(sis.searches - sis.failed, scanned));
    add("sis_domain_efficiency_pct", pct(sis.domain_searches - sis.failed, domain_scanned));
}

/// Sums over CPUs, for the levels that the machine has.
fn balancing(w: &World, add: &mut dyn FnMut(&str, f64)) {
    let mut sums: [Option<[u64; 6]>; LEVELS.len()] = Default::default();
    for (domain, sd) in all_domains(w) {
        let sums = sums[rank(domain.level)].get_or_insert_default();
        let lb = |idle: IdleType| &sd.lb[idle as usize];
        let (busy, idle, newidle) =
            (lb(IdleType::NotIdle), lb(IdleType::Idle), lb(IdleType::NewlyIdle));
        let here = [
            busy.count + idle.count,
            busy.failed + idle.failed,
            busy.gained + idle.gained,
            newidle.count,
            newidle.failed,
            newidle.gained,
        ];
        sums.iter_mut().zip(here).for_each(|(sum, n)| *sum += n);
    }
    for (level, sums) in LEVELS.iter().zip(sums) {
        for (what, sum) in LB_METRICS.iter().zip(sums.into_iter().flatten()) {
            add(&format!("{what}{level}"), sum as f64);
        }
    }
}

/// The families of [`balancing`]'s sums, in their order.
const LB_METRICS: [&str; 6] = [
    "lb_count.",
    "lb_failed.",
    "lb_gained.",
    "lb_newidle_count.",
    "lb_newidle_failed.",
    "lb_newidle_gained.",
];

/// Every domain of every CPU, with what the CPU counts for it.
fn all_domains(w: &World) -> impl Iterator<Item = (&Domain, &SdStat)> {
    (0..w.cpus.len() as u32).map(CpuId).flat_map(|cpu| domains_of(w, cpu))
}

fn domains_of(w: &World, cpu: CpuId) -> impl Iterator<Item = (&Domain, &SdStat)> {
    let chain = &w.machine.domains.chains[cpu];
    let domain = |level: usize| w.machine.domains.domain(chain[level].domain);
    (0..chain.len()).map(move |level| (domain(level), w.stat.sd(cpu, level)))
}

impl RunSpec {
    /// Runs the simulation and says what /proc/schedstat would have counted since the measurement
    /// began, as all metrics have.
    ///
    /// # Errors
    /// The run fails.
    pub fn schedstat(&self, progress: &dyn Fn(f64)) -> Result<SchedStat, RunError> {
        let mut watch = Reader::default();
        guarded(|| super::run_watched(self, &mut watch, progress))?;
        Ok(watch.result)
    }
}

/// Watches a run to its end and reads its counters then.
#[derive(Default)]
pub struct Reader {
    /// What they said.
    pub result: SchedStat,
}

impl Observer for Reader {
    /// Nothing but sums is looked at.
    fn heeds_order(&self) -> bool {
        false
    }

    fn end(&mut self, w: &World) {
        let cpus = (0..w.cpus.len() as u32).map(|cpu| read_cpu(w, CpuId(cpu)));
        self.result = SchedStat { jiffies: w.jiffies(), cpus: cpus.collect() };
    }
}

fn read_cpu(w: &World, cpu: CpuId) -> CpuStat {
    let c = &w.cpus[cpu];
    let fields = [
        c.stat.yields,
        0,
        c.sched_count(),
        c.stat.goidle,
        w.ttwu_count(cpu),
        c.ttwu_local(),
        c.stat.cpu_time_ns,
        c.stat.run_delay_ns,
        c.pcount(),
    ];
    CpuStat { fields, domains: domains_of(w, cpu).map(|(d, sd)| read_domain(d, sd)).collect() }
}

fn read_domain(domain: &Domain, sd: &SdStat) -> DomainStat {
    let wake_remote = sd.ttwu_wake_remote();
    let (failed, pushed, affine) = (sd.alb_failed, sd.alb_pushed, sd.ttwu_move_affine);
    DomainStat {
        name: name(domain.level),
        cpus: domain.cpus.iter().map(|c| c.0).collect(),
        lb: sd.lb.map(|lb| lb_fields(&lb)),
        // Nobody counts balancing on exec and fork, nor passive balancing, in the kernel either.
        rest: [sd.alb_count(), failed, pushed, 0, 0, 0, 0, 0, 0, wake_remote, affine, 0],
    }
}

fn lb_fields(lb: &LbStat) -> [u64; 11] {
    // All CPUs of a machine have the same capacity: no task is a misfit.
    let misfit = 0;
    [
        lb.count,
        lb.balanced,
        lb.failed,
        lb.imbalance_load,
        lb.imbalance_util,
        lb.imbalance_task,
        misfit,
        lb.gained,
        lb.hot_gained,
        lb.nobusyq,
        lb.nobusyg,
    ]
}
