//! The rules of the fair class that can leave a CPU idle while a task waits (`sim_core::Reason`):
//! why a task was put on a busy CPU, and why a CPU with nothing to do, or the CPU that balanced on
//! its behalf, got nothing.

use sim_core::Reason;

type Rule = &'static Reason;

// --- Why a task is on a busy CPU ---

pub(crate) const TAKEN_MEANWHILE: Rule = &Reason::new(
    "select_task_rq: idle CPU taken meanwhile",
    "the CPU chosen was idle, and somebody else was there first",
    "",
);
pub(crate) const NO_LLC: Rule = &Reason::new(
    "select_idle_sibling: no cache domain",
    "the CPU has no domain of CPUs that share a cache, so there is nowhere to look",
    "",
);
pub(crate) const NO_IDLE_IN_LLC: Rule = &Reason::new(
    "select_idle_sibling: LLC has no idle CPU",
    "a wake-up looks behind the LLC of its target only, where no CPU that it may use was idle",
    "SIS_NODE",
);
pub(crate) const SIS_UTIL_FULL: Rule = &Reason::new(
    "select_idle_cpu: SIS_UTIL, no look",
    "an idle CPU was there, but by the LLC's utilization (nr_idle_scan is 0) nobody looks",
    "NO_SIS_UTIL",
);
pub(crate) const SIS_UTIL: Rule = &Reason::new(
    "select_idle_cpu: SIS_UTIL, scan ended",
    "an idle CPU was there, but not among the nr_idle_scan CPUs that were looked at",
    "NO_SIS_UTIL",
);
pub(crate) const SIS_PROP: Rule = &Reason::new(
    "select_idle_cpu: SIS_PROP, scan ended",
    "an idle CPU was there, but not among those that the waker's idle times are worth a look",
    "NO_SIS_PROP",
);
pub(crate) const NODE_IN_VAIN: Rule = &Reason::new(
    "select_idle_node: no idle CPU seen",
    "no CPU of the own LLC was idle, and none was seen behind the others with their budgets",
    "",
);
pub(crate) const NODE_LIMIT: Rule = &Reason::new(
    "select_idle_node: sis_node_limit",
    "no CPU was idle in the own LLC or in as many others as are searched at most",
    "sis_node_limit",
);
pub(crate) const NODE_PAIR: Rule = &Reason::new(
    "select_idle_node: SIS_NODE_TOPOEXT",
    "no CPU was idle in the own LLC, nor seen in its neighbor; the search goes no further",
    "NO_SIS_NODE_TOPOEXT",
);
pub(crate) const WITH_KTHREAD: Rule = &Reason::new(
    "select_idle_sibling: with its kthread",
    "woken by a kernel thread that is bound to this CPU and seems about to sleep, it stays",
    "",
);
pub(crate) const ONLY_IDLE_POLICY: Rule = &Reason::new(
    "select_idle_sibling: only SCHED_IDLE",
    "the CPU chosen runs SCHED_IDLE tasks only, which have to wait instead",
    "",
);
pub(crate) const IDLEST_IS_BUSY: Rule = &Reason::new(
    "find_idlest_cpu: a busy CPU",
    "a fork compares groups of CPUs by counts and averages, and came down to a busy one",
    "",
);
pub(crate) const BALANCED_HERE: Rule = &Reason::new(
    "attach_tasks: moved to a busy queue",
    "load balance moved the task to a queue that is not empty",
    "",
);
pub(crate) const PULLED_HERE: Rule = &Reason::new(
    "migrate_task_to: from the wakequeue",
    "an idle CPU pulled the task from the shared wakequeue, and another came there as well",
    "NO_SWQUEUE",
);
pub(crate) const PUSHED_HERE: Rule = &Reason::new(
    "attach_one_task: active balance",
    "the stopper pushed the task here, and another came as well",
    "",
);
pub(crate) const SLEPT_HERE: Rule = &Reason::new(
    "ttwu_runnable: slept on its queue",
    "the task had gone to sleep on its queue and is woken there, without a search",
    "NO_DELAY_DEQUEUE",
);

// --- Why a CPU got nothing ---

pub(crate) const NOT_OVERLOADED: Rule = &Reason::new(
    "newidle_balance: rd.overload is not set",
    "no queue is known to have two tasks, so there was no search",
    "",
);
pub(crate) const AVG_IDLE: Rule = &Reason::new(
    "newidle_balance: avg_idle is too short",
    "the CPU expects to idle for less time than balancing up to this level has cost at most",
    "NO_NEWIDLE_AVG_IDLE",
);
pub(crate) const NI_RANDOM: Rule = &Reason::new(
    "newidle_balance: NI_RANDOM, not now",
    "this level is tried as often as it has been of use lately, and the dice said no",
    "NO_NI_RANDOM, newidle_ratio",
);
pub(crate) const NOT_NEWIDLE: Rule = &Reason::new(
    "newidle_balance: no SD_BALANCE_NEWIDLE",
    "the domain that spans both CPUs does not balance when a CPU goes idle",
    "",
);
pub(crate) const TASK_CAME: Rule = &Reason::new(
    "newidle_balance: a task came, and left",
    "the search ended for a task that somebody else had by then",
    "",
);
pub(crate) const SHARED_RUNQ: Rule = &Reason::new(
    "newidle_balance: left to the shared runqueue",
    "the CPU had asked the shared queue and skipped the domains that one LLC spans",
    "NO_SHARED_RUNQ",
);
pub(crate) const POP_LOST: Rule = &Reason::new(
    "swq_pick_next_task: popped, but lost",
    "the CPU popped a task from the shared queue that ran by then, and looked no further",
    "NO_SWQUEUE, NO_SHARED_RUNQ",
);
pub(crate) const SERIALIZED: Rule = &Reason::new(
    "rebalance_domains: another one balances",
    "domains of nodes are balanced by one CPU at a time",
    "",
);
pub(crate) const NOT_MINE: Rule = &Reason::new(
    "should_we_balance: another CPU's job",
    "balancing on behalf of an idle CPU is left to the first idle one of its group",
    "",
);
pub(crate) const NO_BUSIEST: Rule = &Reason::new(
    "find_busiest_group: none is busy",
    "by their statistics no other group has a task to give",
    "",
);
pub(crate) const LOCAL_BUSIER: Rule = &Reason::new(
    "find_busiest_group: the local one is busier",
    "the group of the idle CPU is of a busier type, or has more load, than the busiest other",
    "",
);
pub(crate) const WITHIN_PCT: Rule = &Reason::new(
    "find_busiest_group: within imbalance_pct",
    "both groups are overloaded, and the loads differ by less than imbalance_pct",
    "",
);
pub(crate) const EVEN: Rule = &Reason::new(
    "find_busiest_group: busiest not overloaded",
    "the group that ranks as busiest has as many idle CPUs, or one task; others may have more",
    "",
);
pub(crate) const NO_IMBALANCE: Rule = &Reason::new(
    "calculate_imbalance: nothing to move",
    "the busiest group is busier, but by less than a task",
    "",
);
pub(crate) const NO_QUEUE: Rule = &Reason::new(
    "find_busiest_queue: none",
    "the busiest group has no queue to take the imbalance from",
    "",
);
pub(crate) const ONE_TASK: Rule = &Reason::new(
    "load_balance: one task on the busiest queue",
    "the queue chosen has nothing but what it runs",
    "",
);
pub(crate) const QUEUE_EMPTIED: Rule = &Reason::new(
    "detach_tasks: one task left there",
    "when the lock of the busiest queue was granted, only one task was left",
    "",
);
pub(crate) const THROTTLED: Rule = &Reason::new(
    "can_migrate_task: throttled",
    "its group has used up its cpu.max on one of the two CPUs",
    "",
);
pub(crate) const ASLEEP: Rule = &Reason::new(
    "can_migrate_task: asleep on its queue",
    "what the busiest queue had to give sleeps there (delayed dequeue)",
    "NO_DELAY_DEQUEUE",
);
pub(crate) const PULLED_SLEEPER: Rule = &Reason::new(
    "detach_tasks: pulled a task that sleeps",
    "the task that was pulled sleeps (delayed dequeue), and leaves at the next pick",
    "NO_DELAY_DEQUEUE",
);
pub(crate) const PINNED: Rule = &Reason::new(
    "can_migrate_task: affinity",
    "the tasks on the busiest queue may not run here",
    "",
);
pub(crate) const RUNNING: Rule = &Reason::new(
    "can_migrate_task: running",
    "all that the busiest queue had was running, or still being switched out",
    "",
);
pub(crate) const HOT: Rule = &Reason::new(
    "can_migrate_task: cache hot",
    "the tasks on the busiest queue ran there less than migration_cost ago",
    "migration_cost_ns",
);
pub(crate) const TOO_BIG: Rule = &Reason::new(
    "detach_tasks: more than the imbalance",
    "moving any of the tasks would move more load than the imbalance",
    "",
);
