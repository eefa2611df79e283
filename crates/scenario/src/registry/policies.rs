//! Policies: what a scenario calls them, and how each is built from what a run states.

use super::key::{Class, Value};
use crate::output::{RunError, RunOutput};
use crate::run_spec::{Job, PolicyDef, RunSpec};
use policies::ext::{self, Ext, Fifo, LlcFifo, Ops, Vtime};
use policies::fair::features::{Features, Tunables};
use policies::fair::shared_runq::{SharedRunq, Version};
use policies::fair::{Eevdf, Fair, GroupSpec, Rules};
use policies::fcfs::Fcfs;
use sim_core::Ns;

/// All policies.
pub const POLICIES: &[PolicyDef] = &[
    PolicyDef {
        name: "cfs",
        rules: &["6.4"],
        class: Class::Fair,
        help: "the fair class before EEVDF: vruntime, buddies, wake-up preemption",
        run: cfs,
    },
    PolicyDef {
        name: "eevdf",
        rules: &["6.18", "6.12", "6.6"],
        class: Class::Fair,
        help: "the fair class since 6.6: lag, eligibility, virtual deadlines",
        run: |job| job.with(eevdf),
    },
    PolicyDef {
        name: "fifo",
        rules: EXT_RULES,
        class: Class::Ext,
        help: "sched_ext: one queue for the whole machine, first come first served (scx_simple -f)",
        run: |job| job.with(|spec| ext(spec, Fifo::new)),
    },
    PolicyDef {
        name: "vtime",
        rules: EXT_RULES,
        class: Class::Ext,
        help: "sched_ext: one queue for the whole machine, by weighted run time (scx_simple)",
        run: |job| job.with(|spec| ext(spec, Vtime::new)),
    },
    PolicyDef {
        name: "llc-fifo",
        rules: EXT_RULES,
        class: Class::Ext,
        help: "sched_ext: one queue per LLC, first come first served, with stealing",
        run: |job| job.with(|spec| ext(spec, LlcFifo::new)),
    },
    PolicyDef {
        name: "fcfs",
        rules: &[],
        class: Class::Alone,
        help: "the textbook's queue: one for all CPUs, free of cost, no slices, no preemption",
        run: |job| job.with(|_| Fcfs::default()),
    },
];

/// The policy that task groups are modeled for.
pub const GROUP_POLICY: &str = "cfs";

/// Kernels whose sched_ext is modeled.
const EXT_RULES: &[&str] = &["6.18", "6.12"];

/// The row of a policy.
pub fn policy(name: &str) -> Option<&'static PolicyDef> {
    POLICIES.iter().find(|p| p.name == name)
}

/// The fair class before EEVDF. Task groups cost each enqueue, so they are another type.
fn cfs(job: Job<'_>) -> Result<RunOutput, RunError> {
    match job.spec.cpu_weight() {
        Some(cpu_weight) => job.with(|spec| {
            Fair::with_groups(features(spec), tunables(spec), &[GroupSpec { cpu_weight }])
        }),
        None => job.with(|spec| Fair::new(features(spec), tunables(spec))),
    }
}

pub(crate) fn eevdf(spec: &RunSpec) -> Fair<Eevdf> {
    Fair::eevdf(rules(spec), features(spec), tunables(spec))
}

/// A scheduler of the sched_ext shape, made by `new` with or without its second look.
fn ext<S: Ops>(spec: &RunSpec, new: fn(bool) -> S) -> Ext<S> {
    let rules = match spec.rules {
        Some("6.12") => ext::Rules::V6_12,
        _ => ext::Rules::V6_18,
    };
    Ext::new(new(recheck(spec)), rules, ext_tunables(spec))
}

pub(crate) fn recheck(spec: &RunSpec) -> bool {
    spec.tunable("recheck").and_then(Value::bool).unwrap_or(true)
}

pub(crate) fn ext_tunables(spec: &RunSpec) -> ext::Tunables {
    let mut t = ext::Tunables::default();
    t.slice_ns = spec.tunable_int("slice_dfl_ns").map_or(t.slice_ns, |v| v as Ns);
    t
}

pub(crate) fn rules(spec: &RunSpec) -> Rules {
    match spec.rules {
        Some("6.6") => Rules::V6_6,
        Some("6.12") => Rules::V6_12,
        Some("6.18") => Rules::V6_18,
        _ => Rules::V6_4,
    }
}

pub(crate) fn features(spec: &RunSpec) -> Features {
    let f = |name| spec.feature(name);
    Features {
        gentle_fair_sleepers: f("GENTLE_FAIR_SLEEPERS"),
        start_debit: f("START_DEBIT"),
        next_buddy: f("NEXT_BUDDY"),
        last_buddy: f("LAST_BUDDY"),
        cache_hot_buddy: f("CACHE_HOT_BUDDY"),
        wakeup_preemption: f("WAKEUP_PREEMPTION"),
        ttwu_queue: f("TTWU_QUEUE"),
        sis_prop: f("SIS_PROP"),
        sis_util: f("SIS_UTIL"),
        sis_node: f("SIS_NODE"),
        sis_node_topoext: f("SIS_NODE_TOPOEXT"),
        wa_idle: f("WA_IDLE"),
        wa_weight: f("WA_WEIGHT"),
        wa_bias: f("WA_BIAS"),
        util_est: f("UTIL_EST"),
        util_est_fastup: f("UTIL_EST_FASTUP"),
        alt_period: f("ALT_PERIOD"),
        base_slice: f("BASE_SLICE"),
        lb_min: f("LB_MIN"),
        swqueue: f("SWQUEUE"),
        swqueue_steal: f("SWQUEUE_STEAL"),
        shared_runq: f("SHARED_RUNQ"),
        place_lag: f("PLACE_LAG"),
        place_deadline_initial: f("PLACE_DEADLINE_INITIAL"),
        place_rel_deadline: f("PLACE_REL_DEADLINE"),
        run_to_parity: f("RUN_TO_PARITY"),
        preempt_short: f("PREEMPT_SHORT"),
        delay_dequeue: f("DELAY_DEQUEUE"),
        delay_zero: f("DELAY_ZERO"),
        pick_buddy: f("PICK_BUDDY"),
        ni_random: f("NI_RANDOM"),
        newidle_avg_idle: f("NEWIDLE_AVG_IDLE"),
    }
}

pub(crate) fn tunables(spec: &RunSpec) -> Tunables {
    let mut t = Tunables::for_rules(rules(spec), spec.machine.n_cpus());
    let stated = |name| spec.tunable(name).and_then(|v| v.int());
    let set = |field: &mut u64, name| *field = stated(name).map_or(*field, |v| v as u64);
    set(&mut t.latency_ns, "latency_ns");
    set(&mut t.min_granularity_ns, "min_granularity_ns");
    set(&mut t.wakeup_granularity_ns, "wakeup_granularity_ns");
    if let Some(slice) = stated("base_slice_ns") {
        t.set_base_slice(slice as u64);
    }
    t.newidle_ratio = stated("newidle_ratio").map_or(t.newidle_ratio, |v| v as u32);
    if stated("latency_ns").is_some() || stated("min_granularity_ns").is_some() {
        t.nr_latency = t.latency_ns.div_ceil(t.min_granularity_ns.max(1)) as u32;
    }
    t.migration_cost_ns = stated("migration_cost_ns").unwrap_or(t.migration_cost_ns);
    t.nr_migrate = stated("nr_migrate").map_or(t.nr_migrate, |v| v as u32);
    let skip_own = spec.tunable("sis_node_skip_own").and_then(|v| v.bool());
    t.sis_node_skip_own = skip_own.unwrap_or(t.sis_node_skip_own);
    t.sis_node_limit = stated("sis_node_limit").map_or(t.sis_node_limit, |v| Some(v as u32));
    t.shared_runq = shared_runq(spec, t.shared_runq);
    t
}

/// What the scenario says of SHARED_RUNQ, else as it was.
fn shared_runq(spec: &RunSpec, or: SharedRunq) -> SharedRunq {
    let stated = |name| spec.tunable(name).and_then(|v| v.int());
    let version = match stated("shared_runq_version") {
        Some(2) => Version::V2,
        Some(3) => Version::V3,
        Some(_) => Version::V4,
        None => or.version,
    };
    let shard_size = stated("shared_runq_shard_size").map_or(or.shard_size, |v| v as u32);
    SharedRunq { version, shard_size }
}
