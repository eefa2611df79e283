//! The rules of the fair class that can leave a CPU idle while a task waits (`sim_core::Reason`):
//! why a task was put on a busy CPU, and why a CPU with nothing to do, or whoever balanced on its
//! behalf, came away with nothing.

use sim_core::Reason;

type Rule = &'static Reason;

const fn reason(name: &'static str, text: &'static str, knob: &'static str) -> Reason {
    Reason { name, text, knob }
}

// --- Why a task is on a busy CPU ---

pub(crate) const TAKEN_MEANWHILE: Rule = &reason(
    "select_task_rq: idle CPU taken meanwhile",
    "the CPU chosen was idle, and somebody else was there first",
    "",
);
pub(crate) const NO_LLC: Rule = &reason(
    "select_idle_sibling: no cache domain",
    "the CPU has no domain of CPUs that share a cache, so there is nowhere to look",
    "",
);
pub(crate) const NO_IDLE_IN_LLC: Rule = &reason(
    "select_idle_sibling: LLC has no idle CPU",
    "a wake-up looks behind the last-level cache of its target only, and all CPUs there were busy",
    "SIS_NODE",
);
pub(crate) const SIS_UTIL_FULL: Rule = &reason(
    "select_idle_cpu: SIS_UTIL, no look",
    "by its utilization at the last periodic balance the LLC was full (nr_idle_scan is 0)",
    "NO_SIS_UTIL",
);
pub(crate) const SIS_UTIL: Rule = &reason(
    "select_idle_cpu: SIS_UTIL, scan ended",
    "the wake-up looked at as many CPUs as nr_idle_scan allows, and none of them was idle",
    "NO_SIS_UTIL",
);
pub(crate) const SIS_PROP: Rule = &reason(
    "select_idle_cpu: SIS_PROP, scan ended",
    "the wake-up looked at as many CPUs as the waker's idle times are worth, none of them idle",
    "NO_SIS_PROP",
);
pub(crate) const NODE_IN_VAIN: Rule = &reason(
    "select_idle_node: no idle CPU seen",
    "the wake-up looked behind all LLCs of the node, as far as their budgets go",
    "NO_SIS_UTIL",
);
pub(crate) const WITH_KTHREAD: Rule = &reason(
    "select_idle_sibling: with its kthread",
    "woken by a kernel thread that is bound to this CPU and seems about to sleep, it stays",
    "",
);
pub(crate) const ONLY_IDLE_POLICY: Rule = &reason(
    "select_idle_sibling: only SCHED_IDLE",
    "the CPU chosen runs SCHED_IDLE tasks only, which have to wait instead",
    "",
);
pub(crate) const IDLEST_IS_BUSY: Rule = &reason(
    "find_idlest_cpu: a busy CPU",
    "fork and exec compare groups of CPUs by counts and averages, and came down to a busy one",
    "",
);
pub(crate) const BALANCED_HERE: Rule = &reason(
    "attach_tasks: moved to a busy queue",
    "load balance moved the task to a queue that is not empty",
    "",
);
pub(crate) const SLEPT_HERE: Rule = &reason(
    "ttwu_runnable: slept on its queue",
    "the task had gone to sleep on its queue and is woken there, without a search",
    "NO_DELAY_DEQUEUE",
);

// --- Why a CPU got nothing ---

pub(crate) const NOT_OVERLOADED: Rule = &reason(
    "newidle_balance: rd.overload is not set",
    "no queue is known to have two tasks, so there was no search",
    "",
);
pub(crate) const AVG_IDLE: Rule = &reason(
    "newidle_balance: avg_idle is too short",
    "the CPU expects to idle for less time than balancing up to this level has cost at most",
    "NO_NEWIDLE_AVG_IDLE, migration_cost_ns",
);
pub(crate) const NI_RANDOM: Rule = &reason(
    "newidle_balance: NI_RANDOM, not now",
    "this level is tried as often as it has been of use lately, and the dice said no",
    "NO_NI_RANDOM",
);
pub(crate) const NOT_NEWIDLE: Rule = &reason(
    "newidle_balance: no SD_BALANCE_NEWIDLE",
    "the domain that spans both CPUs does not balance when a CPU goes idle",
    "",
);
pub(crate) const TASK_CAME: Rule = &reason(
    "newidle_balance: a task came, and left",
    "the search ended for a task that somebody else had by then",
    "",
);
pub(crate) const NOT_MINE: Rule = &reason(
    "should_we_balance: another CPU's job",
    "periodic balance is left to the first idle CPU of the group",
    "",
);
pub(crate) const BALANCED: Rule = &reason(
    "find_busiest_group: balanced",
    "by the rules for groups no other one is so much busier that a task should move",
    "",
);
pub(crate) const NO_QUEUE: Rule = &reason(
    "find_busiest_queue: none",
    "the busiest group has no queue to take the imbalance from",
    "",
);
pub(crate) const QUEUE_EMPTIED: Rule = &reason(
    "load_balance: one task left there",
    "when it came to moving, only one task was left there",
    "",
);
pub(crate) const PINNED: Rule =
    &reason("can_migrate_task: affinity", "the tasks on the busiest queue may not run here", "");
pub(crate) const RUNNING: Rule = &reason(
    "can_migrate_task: running",
    "all that the busiest queue had was running, or still being switched out",
    "",
);
pub(crate) const HOT: Rule = &reason(
    "can_migrate_task: cache hot",
    "the tasks on the busiest queue ran there less than migration_cost ago",
    "migration_cost_ns",
);
pub(crate) const TOO_BIG: Rule = &reason(
    "detach_tasks: more than the imbalance",
    "moving any of the tasks would move more load than the imbalance",
    "",
);
