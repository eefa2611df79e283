//! Workloads on workqueues: their configuration from a scenario, and the sampler behind
//! `schedlab wq`.

use super::{Sampler, float, int, run_sampled};
use crate::experiment::{RunSpec, Until};
use crate::registry::Value;
use crate::run::RunError;
use crate::wq::{PoolRow, QueueRow, Sample, ScopePods, WqRun};
use policies::workqueue::{
    Affinity, DEFAULT_MAX_ACTIVE, DEFAULT_SHARD_CORES, Kind, MAX_ACTIVE, Pods, Scope, Workqueues,
    WqId,
};
use sim_core::{Ns, Program, World};
use topology::CpuSet;
use workloads::affinity_changes::AffinityChange;
use workloads::dm_crypt::{self, DmCrypt};
use workloads::queue_work::{self, QueueWork};

type Values = [(&'static str, Value)];

fn value<'a>(values: &'a Values, name: &str) -> Option<&'a Value> {
    values.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
}

fn scope(values: &Values) -> Option<Scope> {
    let cores = value(values, "shard_cores").and_then(Value::int);
    let cores = cores.map_or(DEFAULT_SHARD_CORES, |n| n as u32);
    match value(values, "scope")? {
        Value::Word(name) => Scope::by_name(name, cores),
        _ => None,
    }
}

fn affinity(spec: &RunSpec) -> Affinity {
    let values = &spec.workqueue;
    let switch = |name| value(values, name).and_then(Value::bool).unwrap_or(false);
    Affinity {
        scope: scope(values).unwrap_or(Affinity::default().scope),
        strict: switch("strict"),
        localize: switch("localize"),
    }
}

fn max_active(spec: &RunSpec, default: u32) -> u32 {
    value(&spec.workqueue, "max_active").and_then(Value::int).map_or(default, |n| n as u32)
}

fn changes(spec: &RunSpec) -> Vec<AffinityChange> {
    let change = |c: &crate::experiment::WorkqueueChange| AffinityChange {
        at: c.at,
        scope: scope(&c.values),
        strict: value(&c.values, "strict").and_then(Value::bool),
        localize: value(&c.values, "localize").and_then(Value::bool),
    };
    spec.workload.changes.iter().map(change).collect()
}

pub(super) fn dm_crypt(spec: &RunSpec) -> DmCrypt {
    let load = &spec.workload;
    let switch = |key| load.bool(key).unwrap_or(true);
    DmCrypt::new(dm_crypt::Config {
        numjobs: int(load, "numjobs") as u32,
        iodepth: int(load, "iodepth") as u32,
        bs_kib: int(load, "bs_kib") as u32,
        read_pct: float(load, "read_pct"),
        nice: load.get("nice").and_then(|v| v.int()).unwrap_or(0) as i8,
        hash_writes: switch("hash_writes"),
        hash_reads: switch("hash_reads"),
        hash_mb_s: float(load, "hash_mb_s"),
        crypt_mb_s: float(load, "crypt_mb_s"),
        generate_mb_s: float(load, "generate_mb_s"),
        ssd_read_ns: int(load, "ssd_read_ns"),
        ssd_write_ns: int(load, "ssd_write_ns"),
        ssd_parallel: int(load, "ssd_parallel") as u32,
        affinity: affinity(spec),
        // As dm-crypt asks for: one per online CPU.
        max_active: max_active(spec, (spec.machine.n_cpus() as u32).min(MAX_ACTIVE)),
        changes: changes(spec),
        seed: spec.seed,
    })
}

/// Memory of one of fio's processes with its buffers, bytes.
pub(crate) fn fio_bytes(iodepth: u64, bs_kib: u64) -> u64 {
    dm_crypt::Config::bytes_per_job(iodepth, bs_kib)
}

pub(super) fn queue_work(spec: &RunSpec) -> QueueWork {
    let load = &spec.workload;
    QueueWork::new(queue_work::Config {
        issuers: load.int("issuers").map_or(spec.machine.n_cpus() as u32, |n| n as u32),
        outstanding: int(load, "outstanding") as u32,
        work_ns: int(load, "work_ns"),
        affinity: affinity(spec),
        max_active: max_active(spec, DEFAULT_MAX_ACTIVE),
        changes: changes(spec),
    })
}

/// Runs a simulation and looks at its workqueues every `every_ns`.
pub(crate) fn watch(
    spec: &RunSpec,
    every_ns: Ns,
    progress: &dyn Fn(f64),
) -> Result<WqRun, RunError> {
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
    run_sampled(spec, Sampler { every_ns, look: &mut look }, progress)?;
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
    let row = |p: policies::workqueue::PoolInfo| PoolRow {
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
