//! Scheduler features and tunables under the kernel's names: a line each, from which the field, the
//! default of each kernel and the row of `schedlab list` follow.

use super::Rules;
use super::shared_runq::{SharedRunq, Version};
use sim_core::Ns;

/// The place of a kernel in [`Rules::NAMES`]; policies that are no kernel's count as the oldest.
pub fn index(rules: Option<&str>) -> usize {
    Rules::NAMES.iter().position(|kernel| Some(*kernel) == rules).unwrap_or(0)
}

/// The kernels at which `has` is true, in words; empty if all are.
pub fn kernels(has: impl Fn(usize) -> bool) -> String {
    let known: Vec<usize> = (0..Rules::NAMES.len()).filter(|k| has(*k)).collect();
    let (Some(&first), Some(&last)) = (known.first(), known.last()) else {
        return "in no kernel".to_string();
    };
    match (first, last + 1 == Rules::NAMES.len()) {
        (0, true) => String::new(),
        (_, true) if first == last => format!("{} only", Rules::NAMES[first]),
        (_, true) => format!("since {}", Rules::NAMES[first]),
        (0, false) if last == 0 => format!("{} only", Rules::NAMES[0]),
        (0, false) => format!("up to {}", Rules::NAMES[last]),
        _ => format!("{} to {}", Rules::NAMES[first], Rules::NAMES[last]),
    }
}

/// By kernel, the oldest first.
type PerKernel<T> = [T; Rules::NAMES.len()];

/// One scheduler feature.
#[derive(Clone, Copy, Debug)]
pub struct FeatureDef {
    /// The kernel's name, without `NO_`.
    pub name: &'static str,
    /// By kernel: on or off unless the scenario says otherwise, or `None` if it does not exist.
    pub defaults: PerKernel<Option<bool>>,
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

/// Makes the struct `Features` and the table of its features from lines of a name, its field, what
/// it is in each kernel of [`Rules::NAMES`] (Y: on, N: off, X: not there), and help.
#[macro_export]
macro_rules! features {
    ($($name:ident $field:ident [$($default:ident)*] $help:literal;)*) => {
        /// Feature switches (`/sys/kernel/debug/sched/features`). `NO_X` turns X off.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct Features {
            $(#[doc = $help] pub $field: bool,)*
        }

        impl Features {
            /// All features.
            pub const ALL: &[$crate::fair::features::FeatureDef] = &[
                $($crate::fair::features::FeatureDef {
                    name: stringify!($name),
                    defaults: [$($crate::features!(@ $default)),*],
                    help: $help,
                }),*
            ];

            /// The defaults of a kernel. What it does not have is off.
            pub fn for_rules(rules: $crate::fair::Rules) -> Self {
                let default = |defaults: [Option<bool>; $crate::fair::Rules::NAMES.len()]| {
                    defaults[rules as usize].unwrap_or(false)
                };
                Self { $($field: default([$($crate::features!(@ $default)),*]),)* }
            }

            /// Turns the feature of this name on or off.
            ///
            /// # Panics
            /// If there is none.
            pub fn set(&mut self, name: &str, on: bool) {
                match name {
                    $(stringify!($name) => self.$field = on,)*
                    _ => panic!("no feature is named {name}"),
                }
            }
        }
    };
    (@ Y) => { Some(true) };
    (@ N) => { Some(false) };
    (@ X) => { None };
}

features! {
    SWQUEUE swqueue [N N N X X X]
        "shared wakequeue, version 1: idle CPUs pull waking tasks from one queue per LLC";
    SWQ_FLAGS swq_flags [N N N X X X]
        "SWQUEUE as its text means it: only tasks that wake up on their previous CPU are queued";
    SWQUEUE_STEAL swqueue_steal [N N N X X X]
        "SWQUEUE, its LLC's queue being empty, takes from those of the node's other LLCs (ours)";
    SHARED_RUNQ shared_runq [N N N N X X]
        "its successor: idle CPUs pull waiting tasks from an LLC's shards (not with SWQUEUE)";
    SIS_NODE sis_node [N N N N N N] "look for an idle CPU in the other LLCs of the node too";
    SIS_NODE_TOPOEXT sis_node_topoext [N N N N N N]
        "SIS_NODE looks no further than the neighboring LLC, as was tried in June 2023";
    // 5.19 is the kernel that its commit (70fb5ccf2ebb) was measured on, on and off.
    SIS_UTIL sis_util [N Y Y Y Y Y] "scan fewer CPUs for an idle one as the LLC fills";
    SIS_PROP sis_prop [Y N N N X X] "scan CPUs in proportion to the average idle time";
    NEWIDLE_AVG_IDLE newidle_avg_idle [Y Y Y Y Y Y]
        "stop newidle balance early when avg_idle is short (our name)";
    NI_RANDOM ni_random [N Y N N Y Y] "try newidle balance as often as it has been of use lately";
    GENTLE_FAIR_SLEEPERS gentle_fair_sleepers [Y Y Y X X X]
        "a sleeper gets half a latency of credit, not a whole one";
    START_DEBIT start_debit [Y Y Y X X X] "a new task starts one slice behind";
    PLACE_LAG place_lag [X X X Y Y Y] "a task that wakes up or moves keeps its lag";
    PLACE_DEADLINE_INITIAL place_deadline_initial [X X X Y Y Y] "a new task asks for half a slice";
    PLACE_REL_DEADLINE place_rel_deadline [X X X X Y Y]
        "a task that moves keeps what is left of its slice";
    RUN_TO_PARITY run_to_parity [X X X Y Y Y]
        "who runs is protected: while it is eligible, since 6.18 for the shortest slice";
    PREEMPT_SHORT preempt_short [X X X X Y Y] "a waking task with a shorter slice breaks that";
    DELAY_DEQUEUE delay_dequeue [X X X X Y Y]
        "a task that sleeps with negative lag stays on its queue until it is picked";
    DELAY_ZERO delay_zero [X X X X Y Y] "such a task gains no lag by staying";
    PICK_BUDDY pick_buddy [X X X X Y Y] "an eligible next buddy is picked out of order";
    NEXT_BUDDY next_buddy [N N N N N N] "prefer the task that was woken last";
    LAST_BUDDY last_buddy [Y Y Y X X X] "prefer the task that was preempted by a wake-up";
    CACHE_HOT_BUDDY cache_hot_buddy [Y Y Y Y Y Y]
        "a buddy counts as cache hot when tasks are moved";
    WAKEUP_PREEMPTION wakeup_preemption [Y Y Y Y Y Y] "a waking task may preempt the running one";
    TTWU_QUEUE ttwu_queue [Y Y Y Y Y Y] "wake remote CPUs through their wake list";
    WA_IDLE wa_idle [Y Y Y Y Y Y] "wake_affine: prefer an idle CPU of the two";
    WA_WEIGHT wa_weight [Y Y Y Y Y Y] "wake_affine: compare the load of the two CPUs";
    WA_BIAS wa_bias [Y Y Y Y Y Y] "wake_affine: favor the waking CPU a little";
    UTIL_EST util_est [Y Y Y Y Y Y] "estimate a task's utilization from its last activations";
    UTIL_EST_FASTUP util_est_fastup [Y Y Y Y X X] "let that estimate rise at once";
    ALT_PERIOD alt_period [Y Y Y X X X] "the period counts all runnable tasks of the hierarchy";
    BASE_SLICE base_slice [Y Y Y X X X] "a slice is never shorter than min_granularity_ns";
    LB_MIN lb_min [N N N N N N] "load balance leaves tasks with very little load where they are";
}

/// The defaults of v6.4.
impl Default for Features {
    fn default() -> Self {
        Self::for_rules(Rules::V6_4)
    }
}

/// What values a tunable takes.
#[derive(Clone, Copy, Debug)]
pub enum Range {
    /// A whole number, ends included.
    Int {
        /// Smallest allowed.
        min: i64,
        /// Largest allowed.
        max: i64,
    },
    /// 0 and 1.
    Switch,
}

/// What a tunable is unless a scenario says otherwise.
#[derive(Clone, Copy, Debug)]
pub enum Unstated {
    /// This number, in every kernel on every machine; of a switch, 0 or 1.
    Int(i64),
    /// What these words say.
    Words(&'static str),
}

/// One tunable of the fair class.
#[derive(Clone, Copy, Debug)]
pub struct TunableDef {
    /// The kernel's name, with the unit.
    pub name: &'static str,
    /// What values it takes.
    pub range: Range,
    /// Unit of the value; empty for plain counts.
    pub unit: &'static str,
    /// What it is if it is not stated.
    pub default: Unstated,
    /// The kernels that have it, the oldest first.
    pub exists: PerKernel<bool>,
    /// One line for people.
    pub help: &'static str,
    /// Writes a value.
    pub set: fn(&mut Tunables, i64),
}

/// Tunables (`/sys/kernel/debug/sched/*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tunables {
    /// Targeted preemption latency of CPU-bound tasks, ns.
    pub latency_ns: u64,
    /// Minimal preemption granularity, ns.
    pub min_granularity_ns: u64,
    /// The same for SCHED_IDLE tasks, ns.
    pub idle_min_granularity_ns: u64,
    /// Wake-up preemption granularity, ns.
    pub wakeup_granularity_ns: u64,
    /// `sched_nr_latency`; it follows from latency and granularity when one of them is written.
    pub nr_latency: u32,
    /// EEVDF: what a task asks for by default, ns.
    pub base_slice_ns: u64,
    /// EEVDF: the same for a machine of one CPU, ns.
    pub normalized_base_slice_ns: u64,
    /// The factor between the two.
    pub factor: u64,
    /// Ours: the success ratio that NI_RANDOM starts from, of 1024.
    pub newidle_ratio: u32,
    /// A task that ran this recently is cache hot, ns; -1: always hot.
    pub migration_cost_ns: i64,
    /// Tasks examined per balance pass.
    pub nr_migrate: u32,
    /// Ours: a queue writes its share of its group's `tg->load_avg` at most once in so many ns.
    pub tg_load_avg_period_ns: Ns,
    /// SIS_NODE skips the target's own LLC.
    pub sis_node_skip_own: bool,
    /// SIS_NODE searches at most so many LLCs beside the target's; `None`: all of the node.
    pub sis_node_limit: Option<u32>,
    /// Ours: what SHARED_RUNQ stands for.
    pub shared_runq: SharedRunq,
}

impl Tunables {
    /// `sched_update_scaling`: how many slices make a latency.
    fn update_nr_latency(&mut self) {
        self.nr_latency = self.latency_ns.div_ceil(self.min_granularity_ns.max(1)) as u32;
    }

    /// Writes `base_slice_ns`; the normalized one follows.
    pub fn set_base_slice(&mut self, ns: u64) {
        self.base_slice_ns = ns;
        self.normalized_base_slice_ns = ns / self.factor;
    }

    /// Defaults of v6.4 for a machine with this many CPUs.
    pub fn for_cpus(n_cpus: usize) -> Self {
        Self::for_rules(Rules::V6_4, n_cpus)
    }

    /// Defaults of a kernel for a machine with this many CPUs.
    pub fn for_rules(rules: Rules, n_cpus: usize) -> Self {
        let factor = 1 + u64::from(n_cpus.min(8).ilog2());
        let normalized_base_slice_ns = rules.kernel().normalized_base_slice_ns;
        let version = if rules <= Rules::V6_4 { Version::V3 } else { Version::V4 };
        Self {
            shared_runq: SharedRunq { version, shard_size: 6 },
            base_slice_ns: normalized_base_slice_ns * factor,
            normalized_base_slice_ns,
            factor,
            newidle_ratio: 512,
            latency_ns: 6_000_000 * factor,
            min_granularity_ns: 750_000 * factor,
            idle_min_granularity_ns: 750_000,
            wakeup_granularity_ns: 1_000_000 * factor,
            nr_latency: 8,
            migration_cost_ns: 500_000,
            nr_migrate: 32,
            tg_load_avg_period_ns: rules.kernel().tg_load_avg_period_ns,
            sis_node_skip_own: true,
            sis_node_limit: None,
        }
    }
}

/// The longest time that a tunable may be, ns.
const SECOND: i64 = 1_000_000_000;

const ALL: PerKernel<bool> = [true; Rules::NAMES.len()];
const CFS: PerKernel<bool> = [true, true, true, false, false, false];
const EEVDF: PerKernel<bool> = [false, false, false, true, true, true];
const UP_TO_6_6: PerKernel<bool> = [true, true, true, true, false, false];

/// All tunables of the fair class.
pub const TUNABLES: &[TunableDef] = &[
    TunableDef {
        name: "migration_cost_ns",
        range: Range::Int { min: -1, max: SECOND },
        unit: "ns",
        default: Unstated::Int(500_000),
        exists: ALL,
        help: "a task that ran this recently is cache hot; -1: always, 0: never",
        set: |t, v| t.migration_cost_ns = v,
    },
    TunableDef {
        name: "latency_ns",
        range: Range::Int { min: 100_000, max: SECOND },
        unit: "ns",
        default: Unstated::Words("24000000 *"),
        exists: CFS,
        help: "period in which every task runs once (* less below 8 CPUs)",
        set: |t, v| {
            t.latency_ns = v as u64;
            t.update_nr_latency();
        },
    },
    TunableDef {
        name: "min_granularity_ns",
        range: Range::Int { min: 100_000, max: SECOND },
        unit: "ns",
        default: Unstated::Words("3000000 *"),
        exists: CFS,
        help: "shortest slice",
        set: |t, v| {
            t.min_granularity_ns = v as u64;
            t.update_nr_latency();
        },
    },
    TunableDef {
        name: "wakeup_granularity_ns",
        range: Range::Int { min: 0, max: SECOND },
        unit: "ns",
        default: Unstated::Words("4000000 *"),
        exists: CFS,
        help: "lead needed to preempt",
        set: |t, v| t.wakeup_granularity_ns = v as u64,
    },
    TunableDef {
        name: "base_slice_ns",
        range: Range::Int { min: 100_000, max: SECOND },
        unit: "ns",
        default: Unstated::Words("2800000 *"),
        exists: EEVDF,
        help: "what a task asks for (* less below 8 CPUs; 3000000 in 6.6)",
        set: |t, v| t.set_base_slice(v as u64),
    },
    TunableDef {
        name: "newidle_ratio",
        range: Range::Int { min: 0, max: 1024 },
        unit: "",
        default: Unstated::Int(512),
        exists: ALL,
        help: "NI_RANDOM: successes of 1024 tries to begin with (our name)",
        set: |t, v| t.newidle_ratio = v as u32,
    },
    TunableDef {
        name: "nr_migrate",
        range: Range::Int { min: 1, max: 100_000 },
        unit: "",
        default: Unstated::Int(32),
        exists: ALL,
        help: "tasks looked at by one balance pass",
        set: |t, v| t.nr_migrate = v as u32,
    },
    TunableDef {
        name: "tg_load_avg_period_ns",
        range: Range::Int { min: 0, max: SECOND },
        unit: "ns",
        default: Unstated::Words("1000000 (up to 6.6: 0)"),
        exists: ALL,
        help: "a CPU adds to its task group's load_avg at most once in so long (our name)",
        set: |t, v| t.tg_load_avg_period_ns = v as u64,
    },
    TunableDef {
        name: "sis_node_skip_own",
        range: Range::Switch,
        unit: "",
        default: Unstated::Int(1),
        exists: ALL,
        help: "SIS_NODE leaves out the LLC that was scanned already",
        set: |t, v| t.sis_node_skip_own = v == 1,
    },
    TunableDef {
        name: "sis_node_limit",
        range: Range::Int { min: 0, max: 100_000 },
        unit: "",
        default: Unstated::Words("none"),
        exists: ALL,
        help: "SIS_NODE searches at most so many LLCs beside that of the target (our name)",
        set: |t, v| t.sis_node_limit = Some(v as u32),
    },
    TunableDef {
        name: "shared_runq_version",
        range: Range::Int { min: 2, max: 4 },
        unit: "",
        default: Unstated::Words("4 (up to 6.4: 3)"),
        exists: UP_TO_6_6,
        help: "the version of the patches that SHARED_RUNQ stands for (our name)",
        set: |t, v| {
            t.shared_runq.version = match v {
                2 => Version::V2,
                3 => Version::V3,
                _ => Version::V4,
            }
        },
    },
    TunableDef {
        name: "shared_runq_shard_size",
        range: Range::Int { min: 1, max: 100_000 },
        unit: "",
        default: Unstated::Int(6),
        exists: UP_TO_6_6,
        help: "CPUs of a shard (SHARED_RUNQ_SHARD_SZ); as many as an LLC has, or more: one shard",
        set: |t, v| t.shared_runq.shard_size = v as u32,
    },
];
