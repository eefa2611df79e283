//! Policies, scheduler features and tunables, by the names the kernel gives them.
//!
//! Features are the words of `/sys/kernel/debug/sched/features`: `NAME` turns one on, `NO_NAME`
//! off. Tunables are the files beside it, with the unit in the name.

use super::Fallback::{Bool, Int, Words};
use super::{Fallback, KeyDef, Kind};

/// One scheduling policy.
#[derive(Clone, Copy, Debug)]
pub struct PolicyDef {
    /// The name in a scenario.
    pub name: &'static str,
    /// Kernel versions whose rules are modeled, the default one first; empty if it has none.
    pub rules: &'static [&'static str],
    /// True if the features and tunables of the fair class apply.
    pub fair: bool,
    /// One line for people.
    pub help: &'static str,
}

/// All policies.
pub const POLICIES: &[PolicyDef] = &[
    PolicyDef {
        name: "cfs",
        rules: &["6.4"],
        fair: true,
        help: "the fair class before EEVDF: vruntime, buddies, wake-up preemption",
    },
    PolicyDef {
        name: "fifo",
        rules: &[],
        fair: false,
        help: "one queue for the whole machine, first come first served, no preemption",
    },
];

/// One scheduler feature.
#[derive(Clone, Copy, Debug)]
pub struct FeatureDef {
    /// The kernel's name, without `NO_`.
    pub name: &'static str,
    /// True if it is on unless the scenario says otherwise.
    pub default: bool,
    /// One line for people.
    pub help: &'static str,
}

const fn on(name: &'static str, help: &'static str) -> FeatureDef {
    FeatureDef { name, default: true, help }
}

const fn off(name: &'static str, help: &'static str) -> FeatureDef {
    FeatureDef { name, default: false, help }
}

/// All features of the fair class.
pub const FEATURES: &[FeatureDef] = &[
    off("SWQUEUE", "shared wakequeue: idle CPUs pull waking tasks from one queue per LLC"),
    off("SIS_NODE", "look for an idle CPU in the other LLCs of the node too"),
    on("SIS_UTIL", "scan fewer CPUs for an idle one as the LLC fills"),
    off("SIS_PROP", "scan CPUs in proportion to the average idle time"),
    on("NEWIDLE_AVG_IDLE", "stop newidle balance early when avg_idle is short (our name)"),
    on("GENTLE_FAIR_SLEEPERS", "a sleeper gets half a latency of credit, not a whole one"),
    on("START_DEBIT", "a new task starts one slice behind"),
    off("NEXT_BUDDY", "prefer the task that was woken last"),
    on("LAST_BUDDY", "prefer the task that was preempted by a wake-up"),
    on("CACHE_HOT_BUDDY", "a buddy counts as cache hot when tasks are moved"),
    on("WAKEUP_PREEMPTION", "a waking task may preempt the running one"),
    on("TTWU_QUEUE", "wake remote CPUs through their wake list"),
    on("WA_IDLE", "wake_affine: prefer an idle CPU of the two"),
    on("WA_WEIGHT", "wake_affine: compare the load of the two CPUs"),
    on("WA_BIAS", "wake_affine: favor the waking CPU a little"),
    on("UTIL_EST", "estimate a task's utilization from its last activations"),
    on("UTIL_EST_FASTUP", "let that estimate rise at once"),
    on("ALT_PERIOD", "the period counts all runnable tasks of the hierarchy"),
    on("BASE_SLICE", "a slice is never shorter than min_granularity_ns"),
    off("LB_MIN", "load balance leaves tasks with very little load where they are"),
];

const SECOND: i64 = 1_000_000_000;

const fn ns(name: &'static str, min: i64, default: Fallback, help: &'static str) -> KeyDef {
    KeyDef { name, kind: Kind::Int { min, max: SECOND }, unit: "ns", default, help }
}

/// All tunables of the fair class.
pub const TUNABLES: &[KeyDef] = &[
    ns(
        "migration_cost_ns",
        -1,
        Int(500_000),
        "a task that ran this recently is cache hot; -1: always, 0: never",
    ),
    ns(
        "latency_ns",
        100_000,
        Words("24000000 *"),
        "period in which every task runs once (* less below 8 CPUs)",
    ),
    ns("min_granularity_ns", 100_000, Words("3000000 *"), "shortest slice"),
    ns("wakeup_granularity_ns", 0, Words("4000000 *"), "lead needed to preempt"),
    KeyDef {
        name: "nr_migrate",
        kind: Kind::Int { min: 1, max: 100_000 },
        unit: "",
        default: Int(32),
        help: "tasks looked at by one balance pass",
    },
    KeyDef {
        name: "hz",
        kind: Kind::Int { min: 24, max: 1200 },
        unit: "Hz",
        default: Words("the machine's"),
        help: "timer interrupts per second (CONFIG_HZ)",
    },
    ns("timer_slack_ns", 0, Int(50_000), "how late a sleeping task's timer may fire"),
    KeyDef {
        name: "sis_node_skip_own",
        kind: Kind::Bool,
        unit: "",
        default: Bool(true),
        help: "SIS_NODE leaves out the LLC that was scanned already",
    },
];
