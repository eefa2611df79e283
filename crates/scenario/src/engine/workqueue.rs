//! The sampler behind `schedlab wq`.

use super::run_sampled;
use crate::output::{RunError, guarded};
use crate::run_spec::{RunSpec, Until};
use crate::wq::{PoolRow, QueueRow, Sample, ScopePods, WqRun};
use policies::workqueue::{
    Affinity, DEFAULT_SHARD_CORES, Kind, Pods, PoolInfo, Scope, Workqueues, WqId,
};
use sim_core::{Ns, Program, World};
use topology::CpuSet;

impl RunSpec {
    /// Runs the simulation and looks at its workqueues every `every_ns`.
    ///
    /// # Errors
    /// The run fails, or its workload uses no workqueue.
    pub fn workqueues(&self, every_ns: Ns, progress: &dyn Fn(f64)) -> Result<WqRun, RunError> {
        guarded(|| watch(self, every_ns, progress))
    }
}

fn watch(spec: &RunSpec, every_ns: Ns, progress: &dyn Fn(f64)) -> Result<WqRun, RunError> {
    if !spec.workload.def.workqueue {
        let kind = spec.workload.def.kind;
        return Err(RunError::Impossible(format!("workload `{kind}` uses no workqueue")));
    }
    if spec.until == Until::Done {
        return Err(RunError::Impossible("a run without an end cannot be sampled".to_string()));
    }
    let mut run = WqRun::default();
    let mut look = |w: &World, program: &dyn Program| {
        let all = program.inspect().and_then(|part| part.downcast_ref::<Workqueues>());
        let all = all.expect("its workqueues exist from the start");
        run.samples.push(Sample { at_ns: w.now, queues: rows(all) });
        run.scopes = scopes(spec, scope_in_use(all));
        run.pools = pools(all);
        run.by_cpu = by_cpu(all);
    };
    run_sampled(spec, every_ns, &mut look, progress)?;
    Ok(run)
}

fn rows(all: &Workqueues) -> Vec<QueueRow> {
    let ids = (0..all.n_wqs()).map(WqId);
    let row = |wq| {
        let (spec, stats, unbound) = (all.spec(wq), all.stats(wq), all.is_unbound(wq));
        QueueRow {
            name: spec.name.clone(),
            unbound,
            mem_reclaim: spec.mem_reclaim,
            total: stats.started,
            in_flight: stats.in_flight(),
            cpu_ns: stats.cpu_ns,
            cpu_hogs: stats.cpu_intensive,
            woken: if unbound { stats.repatriated } else { stats.cm_wakeups },
            cpu_local: stats.cpu_local,
        }
    };
    ids.map(row).collect()
}

fn list(set: &CpuSet) -> Vec<u32> {
    set.iter().map(|cpu| cpu.0).collect()
}

fn pools(all: &Workqueues) -> Vec<PoolRow> {
    let row = |p: PoolInfo| PoolRow {
        id: p.id,
        refs: p.refs,
        nice: p.nice,
        idle: p.idle as u32,
        workers: p.workers,
        cpu: p.cpu.map(|cpu| cpu.0),
        cpus: list(&p.pod),
        strict: p.strict,
    };
    all.pools().into_iter().map(row).collect()
}

fn by_cpu(all: &Workqueues) -> Vec<(String, bool, Vec<u32>)> {
    let ids = (0..all.n_wqs()).map(WqId);
    ids.map(|wq| (all.spec(wq).name.clone(), all.is_unbound(wq), all.pool_by_cpu(wq))).collect()
}

/// That of the unbound workqueue; it may have changed during the run.
fn scope_in_use(all: &Workqueues) -> Scope {
    let unbound = (0..all.n_wqs()).find_map(|wq| match all.spec(WqId(wq)).kind {
        Kind::Unbound(affinity) => Some(affinity.scope),
        Kind::Bound => None,
    });
    unbound.unwrap_or(Affinity::default().scope)
}

fn scopes(spec: &RunSpec, chosen: Scope) -> Vec<ScopePods> {
    let cores = match chosen {
        Scope::CacheShard(cores) => cores,
        _ => DEFAULT_SHARD_CORES,
    };
    let pods = |name: &&'static str| {
        let scope = Scope::by_name(name, cores).expect("its name is one of them");
        let pods = Pods::new(&spec.machine, scope);
        let node = |pod: &CpuSet| pod.first().map_or(0, |c| spec.machine.cpus[c].node);
        ScopePods {
            name,
            chosen: scope == chosen,
            nodes: pods.cpus.iter().map(node).collect(),
            cpus: pods.cpus.iter().map(list).collect(),
            of: pods.of.to_vec(),
        }
    };
    Scope::NAMES.iter().map(pods).collect()
}
