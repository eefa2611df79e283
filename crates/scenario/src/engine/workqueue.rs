//! Workloads on workqueues: their configuration from a scenario, and runs that are looked at from
//! time to time for `schedlab wq`.

use super::{eevdf, ext, fair, float, int, world};
use crate::experiment::{RunSpec, Until};
use crate::registry::{Class, Value};
use crate::run::RunError;
use crate::wq::{PoolRow, QueueRow, Sample, ScopePods, WqRun};
use policies::fcfs::Fcfs;
use policies::workqueue::{
    Affinity, DEFAULT_MAX_ACTIVE, DEFAULT_SHARD_CORES, Kind, MAX_ACTIVE, Pods, Scope, Workqueues,
    WqId,
};
use sim_core::{NoObserver, Ns, Policy, Program, Simulation, StopReason};
use topology::CpuSet;
use workloads::Queues;
use workloads::affinity_changes::AffinityChange;
use workloads::background::WithBackground;
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

/// Runs a simulation and looks at its workqueues every `every` ns.
pub(crate) fn watch(spec: &RunSpec, every: Ns, progress: &dyn Fn(f64)) -> Result<WqRun, RunError> {
    match (spec.policy.0.class, spec.policy.name()) {
        (Class::Alone, _) => with_policy(spec, Fcfs::default(), every, progress),
        (Class::Ext, _) => with_policy(spec, ext(spec), every, progress),
        (Class::Fair, "eevdf") => with_policy(spec, eevdf(spec), every, progress),
        _ => with_policy(spec, fair(spec), every, progress),
    }
}

fn with_policy<P: Policy>(
    spec: &RunSpec,
    policy: P,
    every: Ns,
    progress: &dyn Fn(f64),
) -> Result<WqRun, RunError> {
    match spec.workload.def.kind {
        "dm-crypt" => sampled(spec, policy, dm_crypt(spec), every, progress),
        "queue-work" => sampled(spec, policy, queue_work(spec), every, progress),
        kind => Err(RunError::Impossible(format!("workload `{kind}` uses no workqueue"))),
    }
}

fn sampled<P: Policy, W: Program + Queues>(
    spec: &RunSpec,
    policy: P,
    program: W,
    every: Ns,
    progress: &dyn Fn(f64),
) -> Result<WqRun, RunError> {
    let program = WithBackground::new(program, &spec.machine.background, spec.seed);
    let mut sim = Simulation::new(world(spec), policy, program, NoObserver);
    let Until::Time(until) = spec.until else {
        return Err(RunError::Impossible("a run without an end cannot be sampled".to_string()));
    };
    let mut samples = Vec::new();
    let mut at = 0;
    while at < until {
        at = (at + every).min(until);
        match sim.run_until(at) {
            StopReason::Until => {}
            other => return Err(super::stopped(&sim.w, other)),
        }
        progress(at as f64 / until as f64);
        let all = sim.program.workload.workqueues();
        samples.push(Sample { at_ns: at, queues: all.map(rows).unwrap_or_default() });
    }
    let all = sim.program.workload.workqueues();
    Ok(WqRun {
        scopes: scopes(spec, all.and_then(scope_in_use).unwrap_or(affinity(spec).scope)),
        pools: all.map(pools).unwrap_or_default(),
        by_cpu: all.map(by_cpu).unwrap_or_default(),
        samples,
    })
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
fn scope_in_use(all: &Workqueues) -> Option<Scope> {
    (0..all.n_wqs()).find_map(|wq| match all.spec(WqId(wq)).kind {
        Kind::Unbound(affinity) => Some(affinity.scope),
        Kind::Bound => None,
    })
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
