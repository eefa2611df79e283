//! The world's scheduler statistics as the lines of /proc/schedstat.

use crate::output::{RunError, guarded};
use crate::registry::metrics::{domains_of, rank};
use crate::run_spec::RunSpec;
use crate::schedstat::{CpuStat, DomainStat, SchedStat};
use sim_core::{LbStat, Observer, SdStat, World};
use topology::{CpuId, Domain, Level};

/// The level's name in the kernel; Linux 6.7 changed DIE to PKG.
fn name(level: Level) -> &'static str {
    ["SMT", "MC", "PKG", "NODE", "NUMA"][rank(level)]
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
