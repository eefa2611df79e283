//! Scheduler features and tunables, by the names the kernel gives them.
//!
//! Features are the words of `/sys/kernel/debug/sched/features`: `NAME` turns one on, `NO_NAME`
//! off. Tunables are the files beside it, with the unit in the name.

use super::key::Fallback::{Bool, Int, Words};
use super::key::{Class, Fallback, KeyDef, Kind};

/// Kernels whose fair class is modeled, the oldest first: 6.18 is its stable tree as of 6.18.33.
pub const KERNELS: [&str; 4] = ["6.4", "6.6", "6.12", "6.18"];

/// Where a feature is on, or a tunable exists, by kernel.
type PerKernel<T> = [T; KERNELS.len()];

/// The place of a kernel in [`KERNELS`]; policies that are no kernel's count as the oldest.
fn index(rules: Option<&str>) -> usize {
    KERNELS.iter().position(|kernel| Some(*kernel) == rules).unwrap_or(0)
}

/// The kernels at which `has` is true, in words; empty if all are.
fn kernels(has: impl Fn(usize) -> bool) -> String {
    let known: Vec<usize> = (0..KERNELS.len()).filter(|k| has(*k)).collect();
    let (Some(&first), Some(&last)) = (known.first(), known.last()) else {
        return "in no kernel".to_string();
    };
    match (first, last + 1 == KERNELS.len()) {
        (0, true) => String::new(),
        (_, true) if first == last => format!("{} only", KERNELS[first]),
        (_, true) => format!("since {}", KERNELS[first]),
        (0, false) if last == 0 => format!("{} only", KERNELS[0]),
        (0, false) => format!("up to {}", KERNELS[last]),
        _ => format!("{} to {}", KERNELS[first], KERNELS[last]),
    }
}

/// One scheduler feature.
#[derive(Clone, Copy, Debug)]
pub struct FeatureDef {
    /// The kernel's name, without `NO_`.
    pub name: &'static str,
    /// By kernel: on or off unless the scenario says otherwise, or `None` if it does not exist.
    defaults: PerKernel<Option<bool>>,
    /// One line for people.
    pub help: &'static str,
}

impl FeatureDef {
    /// On or off unless the scenario says otherwise; `None` if the kernel does not have it.
    pub fn default(&self, rules: Option<&str>) -> Option<bool> {
        self.defaults[index(rules)]
    }

    /// True if it is on by default where it exists at all.
    pub fn is_on(&self) -> bool {
        self.defaults.iter().flatten().any(|on| *on)
    }

    /// The kernels that have it, in words; empty if all have.
    pub fn kernels(&self) -> String {
        kernels(|k| self.defaults[k].is_some())
    }
}

const fn row(
    name: &'static str,
    defaults: PerKernel<Option<bool>>,
    help: &'static str,
) -> FeatureDef {
    FeatureDef { name, defaults, help }
}

/// On, off, and not there.
const Y: Option<bool> = Some(true);
const N: Option<bool> = Some(false);
const X: Option<bool> = None;

/// All features of the fair class.
#[rustfmt::skip]
pub const FEATURES: &[FeatureDef] = &[
    row("SWQUEUE", [N, X, X, X],
        "shared wakequeue, version 1: idle CPUs pull waking tasks from one queue per LLC"),
    row("SWQUEUE_STEAL", [N, X, X, X],
        "SWQUEUE, its LLC's queue being empty, takes from those of the node's other LLCs (ours)"),
    row("SHARED_RUNQ", [N, N, X, X],
        "its successor: idle CPUs pull waiting tasks from an LLC's shards (not with SWQUEUE)"),
    row("SIS_NODE", [N, N, N, N], "look for an idle CPU in the other LLCs of the node too"),
    row("SIS_NODE_TOPOEXT", [N, N, N, N],
        "SIS_NODE looks no further than the neighboring LLC, as was tried in June 2023"),
    row("SIS_UTIL", [Y, Y, Y, Y], "scan fewer CPUs for an idle one as the LLC fills"),
    row("SIS_PROP", [N, N, X, X], "scan CPUs in proportion to the average idle time"),
    row("NEWIDLE_AVG_IDLE", [Y, Y, Y, Y],
        "stop newidle balance early when avg_idle is short (our name)"),
    row("NI_RANDOM", [X, X, X, Y],
        "try newidle balance as often as it has been of use lately"),
    row("GENTLE_FAIR_SLEEPERS", [Y, X, X, X],
        "a sleeper gets half a latency of credit, not a whole one"),
    row("START_DEBIT", [Y, X, X, X], "a new task starts one slice behind"),
    row("PLACE_LAG", [X, Y, Y, Y], "a task that wakes up or moves keeps its lag"),
    row("PLACE_DEADLINE_INITIAL", [X, Y, Y, Y], "a new task asks for half a slice"),
    row("PLACE_REL_DEADLINE", [X, X, Y, Y],
        "a task that moves keeps what is left of its slice"),
    row("RUN_TO_PARITY", [X, Y, Y, Y],
        "who runs is protected: while it is eligible, since 6.18 for the shortest slice"),
    row("PREEMPT_SHORT", [X, X, Y, Y], "a waking task with a shorter slice breaks that"),
    row("DELAY_DEQUEUE", [X, X, Y, Y],
        "a task that sleeps with negative lag stays on its queue until it is picked"),
    row("DELAY_ZERO", [X, X, Y, Y], "such a task gains no lag by staying"),
    row("PICK_BUDDY", [X, X, X, Y], "an eligible next buddy is picked out of order"),
    row("NEXT_BUDDY", [N, N, N, N], "prefer the task that was woken last"),
    row("LAST_BUDDY", [Y, X, X, X], "prefer the task that was preempted by a wake-up"),
    row("CACHE_HOT_BUDDY", [Y, Y, Y, Y], "a buddy counts as cache hot when tasks are moved"),
    row("WAKEUP_PREEMPTION", [Y, Y, Y, Y], "a waking task may preempt the running one"),
    row("TTWU_QUEUE", [Y, Y, Y, Y], "wake remote CPUs through their wake list"),
    row("WA_IDLE", [Y, Y, Y, Y], "wake_affine: prefer an idle CPU of the two"),
    row("WA_WEIGHT", [Y, Y, Y, Y], "wake_affine: compare the load of the two CPUs"),
    row("WA_BIAS", [Y, Y, Y, Y], "wake_affine: favor the waking CPU a little"),
    row("UTIL_EST", [Y, Y, Y, Y],
        "estimate a task's utilization from its last activations"),
    row("UTIL_EST_FASTUP", [Y, Y, X, X], "let that estimate rise at once"),
    row("ALT_PERIOD", [Y, X, X, X],
        "the period counts all runnable tasks of the hierarchy"),
    row("BASE_SLICE", [Y, X, X, X], "a slice is never shorter than min_granularity_ns"),
    row("LB_MIN", [N, N, N, N],
        "load balance leaves tasks with very little load where they are"),
];

/// One tunable.
#[derive(Clone, Copy, Debug)]
pub struct TunableDef {
    /// Name, range, default and help.
    pub key: KeyDef,
    /// The kernels whose fair class has it.
    exists: PerKernel<bool>,
    /// True if policies of the sched_ext shape have it.
    ext: bool,
}

impl TunableDef {
    /// True if the kernel's fair class has it.
    pub fn exists(&self, rules: Option<&str>) -> bool {
        self.exists[index(rules)]
    }

    /// True if a policy of the class may have it, whatever its rules.
    pub fn belongs_to(&self, class: Class) -> bool {
        match class {
            Class::Fair => self.exists.contains(&true),
            Class::Ext => self.ext,
            Class::Alone => false,
        }
    }

    /// The kernels whose fair class has it, in words; empty if all have.
    pub fn kernels(&self) -> String {
        kernels(|k| self.exists[k])
    }

    /// Who has it, in words.
    pub fn owners(&self) -> String {
        match (self.belongs_to(Class::Fair), self.ext) {
            (false, _) => "sched_ext".to_string(),
            (true, true) => String::new(),
            (true, false) => format!("fair {}", self.kernels()).trim_end().to_string(),
        }
    }
}

const SECOND: i64 = 1_000_000_000;

const fn fair(key: KeyDef) -> TunableDef {
    TunableDef { key, exists: [true; KERNELS.len()], ext: false }
}

const fn everywhere(key: KeyDef) -> TunableDef {
    TunableDef { key, exists: [true; KERNELS.len()], ext: true }
}

const fn of_ext(key: KeyDef) -> TunableDef {
    TunableDef { key, exists: [false; KERNELS.len()], ext: true }
}

const fn of_cfs(key: KeyDef) -> TunableDef {
    TunableDef { key, exists: [true, false, false, false], ext: false }
}

const fn of_shared_runq(key: KeyDef) -> TunableDef {
    TunableDef { key, exists: [true, true, false, false], ext: false }
}

const fn ns(name: &'static str, min: i64, default: Fallback, help: &'static str) -> KeyDef {
    KeyDef { name, kind: Kind::Int { min, max: SECOND }, unit: "ns", default, help }
}

/// All tunables.
pub const TUNABLES: &[TunableDef] = &[
    fair(ns(
        "migration_cost_ns",
        -1,
        Int(500_000),
        "a task that ran this recently is cache hot; -1: always, 0: never",
    )),
    of_cfs(ns(
        "latency_ns",
        100_000,
        Words("24000000 *"),
        "period in which every task runs once (* less below 8 CPUs)",
    )),
    of_cfs(ns("min_granularity_ns", 100_000, Words("3000000 *"), "shortest slice")),
    of_cfs(ns("wakeup_granularity_ns", 0, Words("4000000 *"), "lead needed to preempt")),
    TunableDef {
        key: ns(
            "base_slice_ns",
            100_000,
            Words("2800000 *"),
            "what a task asks for (* less below 8 CPUs; 3000000 up to 6.12)",
        ),
        exists: [false, true, true, true],
        ext: false,
    },
    TunableDef {
        key: KeyDef {
            name: "newidle_ratio",
            kind: Kind::Int { min: 0, max: 1024 },
            unit: "",
            default: Int(512),
            help: "NI_RANDOM: successes of 1024 tries to begin with (our name)",
        },
        exists: [false, false, false, true],
        ext: false,
    },
    fair(KeyDef {
        name: "nr_migrate",
        kind: Kind::Int { min: 1, max: 100_000 },
        unit: "",
        default: Int(32),
        help: "tasks looked at by one balance pass",
    }),
    everywhere(KeyDef {
        name: "hz",
        kind: Kind::Int { min: 24, max: 1200 },
        unit: "Hz",
        default: Words("the machine's"),
        help: "timer interrupts per second (CONFIG_HZ)",
    }),
    everywhere(ns("timer_slack_ns", 0, Int(50_000), "how late a sleeping task's timer may fire")),
    fair(KeyDef {
        name: "sis_node_skip_own",
        kind: Kind::Bool,
        unit: "",
        default: Bool(true),
        help: "SIS_NODE leaves out the LLC that was scanned already",
    }),
    fair(KeyDef {
        name: "sis_node_limit",
        kind: Kind::Int { min: 0, max: 100_000 },
        unit: "",
        default: Words("none"),
        help: "SIS_NODE searches at most so many LLCs beside that of the target (our name)",
    }),
    of_shared_runq(KeyDef {
        name: "shared_runq_version",
        kind: Kind::Int { min: 2, max: 4 },
        unit: "",
        default: Words("4 (6.4: 3)"),
        help: "the version of the patches that SHARED_RUNQ stands for (our name)",
    }),
    of_shared_runq(KeyDef {
        name: "shared_runq_shard_size",
        kind: Kind::Int { min: 1, max: 100_000 },
        unit: "",
        default: Int(6),
        help: "CPUs of a shard (SHARED_RUNQ_SHARD_SZ); as many as an LLC has, or more: one shard",
    }),
    of_ext(ns(
        "slice_dfl_ns",
        1000,
        Int(20_000_000),
        "what a task may run at once (SCX_SLICE_DFL)",
    )),
    of_ext(KeyDef {
        name: "recheck",
        kind: Kind::Bool,
        unit: "",
        default: Bool(true),
        help: "look again for idle CPUs when a task is queued; false: as scx_simple (our name)",
    }),
];

/// The row of a feature, by its kernel name without `NO_`.
pub fn feature(name: &str) -> Option<&'static FeatureDef> {
    FEATURES.iter().find(|f| f.name == name)
}

/// The row of a tunable.
pub fn tunable(name: &str) -> Option<&'static TunableDef> {
    TUNABLES.iter().find(|t| t.key.name == name)
}
