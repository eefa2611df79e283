//! Policies: what a scenario calls them, and how each is built from what a run states.

use super::features::tunable;
use super::key::Class;
use crate::bpf_policy::ext_rules;
use crate::output::{RunError, RunOutput};
use crate::run_spec::{Job, PolicyDef, RunSpec};
use input::Value;
use policies::ext::bpf::Bpf;
use policies::ext::{self, Ext, Fifo, LlcFifo, Ops, Partial, Vtime};
use policies::fair::features::{Features, TUNABLES, Tunables};
use policies::fair::{Eevdf, Fair, Rules};
use policies::fcfs::Fcfs;
use sim_core::Ns;

/// All policies.
pub const POLICIES: &[PolicyDef] = &[
    PolicyDef {
        name: "cfs",
        rules: &["6.4", "6.1", "5.19"],
        class: Class::Fair,
        help: "the fair class before EEVDF: vruntime, buddies, wake-up preemption",
        run: cfs,
    },
    PolicyDef {
        name: "eevdf",
        rules: &["6.18", "6.12", "6.6"],
        class: Class::Fair,
        help: "the fair class since 6.6: lag, eligibility, virtual deadlines",
        run: eevdf_job,
    },
    PolicyDef {
        name: "fifo",
        rules: EXT_RULES,
        class: Class::Ext,
        help: "sched_ext: one queue for the whole machine, first come first served (scx_simple -f)",
        run: |job| ext_job(job, |spec| Fifo::new(recheck(spec))),
    },
    PolicyDef {
        name: "vtime",
        rules: EXT_RULES,
        class: Class::Ext,
        help: "sched_ext: one queue for the whole machine, by weighted run time (scx_simple)",
        run: |job| ext_job(job, |spec| Vtime::new(recheck(spec))),
    },
    PolicyDef {
        name: "llc-fifo",
        rules: EXT_RULES,
        class: Class::Ext,
        help: "sched_ext: one queue per LLC, first come first served, with stealing",
        run: |job| ext_job(job, |spec| LlcFifo::new(recheck(spec))),
    },
    PolicyDef {
        name: OF_OBJECTS,
        rules: EXT_RULES,
        class: Class::Ext,
        help: "sched_ext: a BPF object, policy = { bpf = \"FILE.bpf.o\" }",
        run: bpf_job,
    },
    PolicyDef {
        name: "fcfs",
        rules: &[],
        class: Class::Alone,
        help: "the textbook's queue: one for all CPUs, free of cost, no slices, no preemption",
        run: |job| job.with(|_| Fcfs::default()),
    },
];

/// The policy whose schedulers are BPF objects: it stands in a table, not by its name.
pub const OF_OBJECTS: &str = "bpf";

/// The policies that task groups are modeled for, but for BPF objects: what one of these makes of
/// them is its own.
pub const GROUP_POLICIES: &[&str] = &["cfs", "eevdf"];

/// Kernels whose sched_ext is modeled.
const EXT_RULES: &[&str] = &["6.18", "6.12"];

/// The row of a policy.
pub fn policy(name: &str) -> Option<&'static PolicyDef> {
    POLICIES.iter().find(|p| p.name == name)
}

/// The fair class before EEVDF. Task groups cost each enqueue, so they are another type.
fn cfs(job: Job<'_>) -> Result<RunOutput, RunError> {
    if job.spec.groups().is_empty() {
        return job.with(|spec| Fair::new(features(spec), tunables(spec)).with_rules(rules(spec)));
    }
    job.with(|spec| {
        let fair = Fair::with_groups(features(spec), tunables(spec), &spec.groups());
        fair.with_rules(rules(spec))
    })
}

/// The fair class since 6.6, with task groups or without.
fn eevdf_job(job: Job<'_>) -> Result<RunOutput, RunError> {
    if job.spec.groups().is_empty() {
        return job.with(eevdf);
    }
    job.with(eevdf_with_groups)
}

fn eevdf_with_groups(spec: &RunSpec) -> Fair<Eevdf<true>> {
    Fair::eevdf_with_groups(rules(spec), features(spec), tunables(spec), &spec.groups())
}

pub(crate) fn eevdf(spec: &RunSpec) -> Fair<Eevdf> {
    Fair::eevdf(rules(spec), features(spec), tunables(spec))
}

/// The scheduler of a BPF object.
fn bpf_job(job: Job<'_>) -> Result<RunOutput, RunError> {
    let spec = job.spec;
    let policy = spec.bpf.as_ref().expect("a scenario's policy `bpf` has its object");
    let scheduler = policy.load(spec.rules, &spec.machine)?;
    ext_job(job, |_| Bpf::new(&scheduler))
}

/// A scheduler of the sched_ext shape, which has all tasks, or some of them beside EEVDF.
fn ext_job<S: Ops>(job: Job<'_>, ops: impl FnOnce(&RunSpec) -> S) -> Result<RunOutput, RunError> {
    if job.spec.sched_ext.is_empty() {
        return job.with(|spec| ext(spec, ops(spec)));
    }
    job.with(|spec| {
        let fair = eevdf_with_groups(spec);
        Partial::new(fair, ext(spec, ops(spec)), spec.sched_ext.clone())
    })
}

/// A scheduler of the sched_ext shape under the rules and tunables of the run.
fn ext<S: Ops>(spec: &RunSpec, ops: S) -> Ext<S> {
    Ext::new(ops, ext_rules(spec.rules), ext_tunables(spec)).with_groups(&spec.groups())
}

pub(crate) fn recheck(spec: &RunSpec) -> bool {
    of_ext(spec, "recheck").bool().expect("its row takes true and false")
}

/// What the run states of a tunable of sched_ext, or its row's default.
fn of_ext(spec: &RunSpec, name: &str) -> Value {
    let default = || tunable(name)?.key.default.value();
    spec.tunable(name).cloned().or_else(default).expect("its row has a default for all machines")
}

pub(crate) fn ext_tunables(spec: &RunSpec) -> ext::Tunables {
    let slice_ns = of_ext(spec, "slice_dfl_ns").int().expect("its row takes whole numbers");
    ext::Tunables { slice_ns: slice_ns as Ns }
}

pub(crate) fn rules(spec: &RunSpec) -> Rules {
    spec.rules.and_then(Rules::by_name).unwrap_or(Rules::V6_4)
}

pub(crate) fn features(spec: &RunSpec) -> Features {
    let mut features = Features::for_rules(rules(spec));
    spec.features.iter().for_each(|stated| features.set(stated.name, stated.on));
    features
}

pub(crate) fn tunables(spec: &RunSpec) -> Tunables {
    let mut tunables = Tunables::for_rules(rules(spec), spec.machine.n_cpus());
    for def in TUNABLES {
        let value = spec.tunable(def.name);
        if let Some(value) = value.and_then(|v| v.int().or(v.bool().map(i64::from))) {
            (def.set)(&mut tunables, value);
        }
    }
    tunables
}
