//! What the fair class keeps: per task, runqueue, domain level and LLC (spec 1.5, 2.1, 2.2).

use super::balance::{CpuStats, LlcStats};
use super::cfs::{Cfs, CfsQueue};
use super::counters::FairCounters;
use super::discipline::Discipline;
use super::features::{Features, Tunables};
use super::pelt::DETACHED;
use super::shared_runq::SharedQueues;
use super::topo::Topo;
use super::weights;
use sim_core::{GroupId, LockId, Ns, PerTask, SchedPolicy, TaskAttr, TaskId};
use topology::{CpuId, PerCpu};

/// PELT averages of a task or a runqueue (spec 2.5).
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the kernel's names")]
pub struct SchedAvg {
    pub last_update_time: Ns,
    pub load_sum: u64,
    pub runnable_sum: u64,
    pub util_sum: u64,
    pub period_contrib: u32,
    pub load_avg: u64,
    pub runnable_avg: u64,
    pub util_avg: u64,
}

/// `cfs.removed`: the averages of tasks that slept on a runqueue and woke elsewhere, or died. They
/// are part of its own until its next update.
#[derive(Clone, Copy, Default, Debug)]
pub struct Removed {
    /// How many there are.
    pub n_tasks: u32,
    /// The sum of their `load_avg`; the others likewise.
    pub load_avg: u64,
    /// `runnable_avg`
    pub runnable_avg: u64,
    /// `util_avg`
    pub util_avg: u64,
}

/// How often a waker changes its wakee (spec 5.5.1).
#[derive(Clone, Copy, Debug)]
pub struct Wakee {
    /// `wakee_flips`: switches between wakees, halved every second.
    pub flips: u32,
    /// The flips are halved at a wake-up at or after this instant (`wakee_flip_decay_ts` plus HZ
    /// jiffies, in ns).
    pub decay_due: Ns,
    /// `last_wakee`
    pub last: TaskId,
}

impl Default for Wakee {
    fn default() -> Self {
        Self { flips: 0, decay_due: 0, last: TaskId::NONE }
    }
}

/// Fair state of a task; `E` is what the discipline adds.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the fields are the kernel's names")]
pub struct FairTask<E = ()> {
    pub weight: u32,
    pub inv_weight: u32,
    pub policy: SchedPolicy,
    /// Its task group; of account in CFS with groups only.
    pub group: GroupId,
    /// `se.on_rq`: queued or current.
    pub on_rq: bool,
    pub vruntime: u64,
    pub exec_start: Ns,
    pub sum_exec_runtime: Ns,
    pub prev_sum_exec_runtime: Ns,
    pub avg: SchedAvg,
    pub util_est_enqueued: u32,
    pub util_est_ewma: u32,
    /// `UTIL_AVG_UNCHANGED`: util_avg was not updated since the last estimate.
    pub util_avg_unchanged: bool,
    pub wakee: Wakee,
    pub recent_used_cpu: CpuId,
    /// Neighbors on the runqueue's `cfs_tasks` list (NONE at the ends, or off the list).
    pub list_prev: TaskId,
    pub list_next: TaskId,
    /// Linked on a shared queue.
    pub on_swqueue: bool,
    pub swq_prev: TaskId,
    pub swq_next: TaskId,
    /// The CPU that touched its node there last, and has the line.
    pub swq_cpu: CpuId,
    /// The discipline's own.
    pub ext: E,
}

impl<E: Default> FairTask<E> {
    /// A task as `sched_fork` leaves it: no runtime, full load, no utilization (spec 2.1, 2.6).
    pub fn new(attr: &TaskAttr) -> Self {
        let (weight, inv_weight) = weights::weight_of(attr.nice, attr.policy);
        Self {
            weight,
            inv_weight,
            policy: attr.policy,
            group: attr.group,
            on_rq: false,
            vruntime: 0,
            exec_start: 0,
            sum_exec_runtime: 0,
            prev_sum_exec_runtime: 0,
            avg: SchedAvg {
                last_update_time: DETACHED,
                load_avg: u64::from(weight),
                ..SchedAvg::default()
            },
            util_est_enqueued: 0,
            util_est_ewma: 0,
            util_avg_unchanged: false,
            wakee: Wakee::default(),
            recent_used_cpu: CpuId(0),
            list_prev: TaskId::NONE,
            list_next: TaskId::NONE,
            on_swqueue: false,
            swq_prev: TaskId::NONE,
            swq_next: TaskId::NONE,
            swq_cpu: CpuId(0),
            ext: E::default(),
        }
    }
}

impl<E> FairTask<E> {
    /// True for a SCHED_IDLE task.
    #[inline]
    pub fn is_idle_policy(&self) -> bool {
        self.policy == SchedPolicy::Idle
    }
}

/// Fair state of a runqueue. `w.cpus[c].nr_running` counts tasks of all classes; without stopper
/// work it equals the number of fair tasks.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the fields are the kernel's names")]
pub struct FairRq<Q = CfsQueue> {
    /// Sum of the weights of on_rq tasks, the current one included.
    pub load_weight: u64,
    /// `cfs.h_nr_running`: fair tasks on the queue, the current one included.
    pub h_nr_running: u32,
    /// Those among them that sleep (delayed dequeue).
    pub h_nr_delayed: u32,
    /// `cfs.idle_h_nr_running`: SCHED_IDLE tasks among them.
    pub idle_h_nr_running: u32,
    /// The discipline's order of the queued tasks, without the current one.
    pub queue: Q,
    /// `cfs.curr`: NONE if idle or stopper runs.
    pub curr: TaskId,
    pub min_vruntime: u64,
    /// The next buddy: a task to be picked out of order.
    pub next: TaskId,
    pub avg: SchedAvg,
    pub util_est_enqueued: u32,
    /// `cfs_tasks`: most recently run first.
    pub list_head: TaskId,
    pub list_tail: TaskId,
    pub idle_stamp: Ns,
    pub avg_idle: Ns,
    pub wake_stamp: u64,
    pub wake_avg_idle: Ns,
    pub max_idle_balance_cost: Ns,
    /// In jiffies.
    pub next_balance: u64,
    /// In `nohz.idle_cpus_mask`.
    pub nohz_idle: bool,
    pub active_balance: bool,
    pub push_cpu: CpuId,
    /// Wakee flips of the idle task, the waker of an interrupt on an idle CPU.
    pub idle_wakee: Wakee,
    /// What the wake-up that this CPU is carrying out was based on.
    pub choice: PendingChoice,
    /// Mostly empty, so it stands apart from what each update reads.
    pub removed: Removed,
}

/// The inputs of an idle search whose time is still passing (see `commit_task_rq`).
#[derive(Clone, Copy, Debug)]
pub struct PendingChoice {
    /// The chosen CPU was idle.
    pub idle: bool,
    /// Where the task ran before.
    pub prev: CpuId,
    /// Where the search started.
    pub target: CpuId,
    /// `recent_used_cpu` before the search.
    pub recent: CpuId,
    /// The wake-up runs in an interrupt.
    pub in_irq: bool,
    /// The domain flag of the slow path (fork, exec); 0: a wake-up.
    pub slow: u32,
}

/// `min_vruntime` of a runqueue at boot: in the middle of the number range, so that virtual times
/// compare as plain integers whatever credit or debt is added (spec 0.4).
pub const MIN_VRUNTIME_AT_BOOT: u64 = 1 << 62;

impl<Q> FairRq<Q> {
    /// `cfs.h_nr_runnable`: fair tasks that do not sleep.
    #[inline]
    pub fn h_nr_runnable(&self) -> u32 {
        self.h_nr_running - self.h_nr_delayed
    }
}

impl<Q: Default> FairRq<Q> {
    /// An empty runqueue with the initial values of spec 2.2.
    pub fn new(migration_cost_ns: Ns) -> Self {
        Self {
            load_weight: 0,
            h_nr_running: 0,
            h_nr_delayed: 0,
            idle_h_nr_running: 0,
            queue: Q::default(),
            curr: TaskId::NONE,
            min_vruntime: MIN_VRUNTIME_AT_BOOT,
            next: TaskId::NONE,
            avg: SchedAvg::default(),
            util_est_enqueued: 0,
            list_head: TaskId::NONE,
            list_tail: TaskId::NONE,
            idle_stamp: 0,
            avg_idle: 2 * migration_cost_ns,
            wake_stamp: 0,
            wake_avg_idle: 2 * migration_cost_ns,
            max_idle_balance_cost: migration_cost_ns,
            next_balance: 0,
            nohz_idle: false,
            active_balance: false,
            push_cpu: CpuId(0),
            idle_wakee: Wakee::default(),
            choice: PendingChoice {
                idle: false,
                prev: CpuId(0),
                target: CpuId(0),
                recent: CpuId(0),
                in_irq: false,
                slow: 0,
            },
            removed: Removed::default(),
        }
    }
}

/// What one CPU keeps about one of its domains (spec 1.3); index `[cpu][level]`.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the fields are the kernel's names")]
pub struct SdState {
    /// Milliseconds.
    pub balance_interval: u64,
    pub max_newidle_lb_cost: Ns,
    /// In jiffies.
    pub last_decay_max_lb_cost: u64,
    pub nr_balance_failed: u32,
    /// In jiffies.
    pub last_balance: u64,
    pub avg_scan_cost: u64,
    /// NI_RANDOM: newidle calls, successes among them (weighted), and their ratio of 1024.
    pub newidle_call: u32,
    pub newidle_success: u32,
    pub newidle_ratio: u32,
}

/// `sd_llc_shared` (spec 1.5). Indexed by the machine's LLC number.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the fields are the kernel's names")]
pub struct LlcShared {
    pub nr_busy_cpus: u32,
    pub has_idle_cores: bool,
    pub nr_idle_scan: u32,
}

/// One shared queue (spec 7): a FIFO list threaded through the tasks, and its lock.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "obvious")]
pub struct Swqueue {
    pub head: TaskId,
    pub tail: TaskId,
    pub lock: LockId,
    /// How often somebody worked on it under its lock: who read the head at the same count has the
    /// line still.
    pub n_writes: u64,
}

impl Swqueue {
    /// An empty queue.
    pub fn new(lock: LockId) -> Self {
        Self { head: TaskId::NONE, tail: TaskId::NONE, lock, n_writes: 0 }
    }
}

/// The fair class, with CFS or EEVDF as its queueing discipline.
pub struct Fair<S: Discipline = Cfs> {
    /// The discipline.
    pub discipline: S,
    /// Features.
    pub features: Features,
    /// Tunables.
    pub tunables: Tunables,
    /// By `TaskId`.
    pub tasks: PerTask<FairTask<S::Entity>>,
    /// By `CpuId`.
    pub rqs: PerCpu<FairRq<S::Queue>>,
    /// By `CpuId`: what balancing reads of `rqs`.
    pub(crate) cpu_stats: PerCpu<CpuStats>,
    /// By LLC number: the sums of `cpu_stats`.
    pub(crate) llc_stats: Vec<LlcStats>,
    /// By `CpuId`, then level in the CPU's domain chain.
    pub sds: PerCpu<Vec<SdState>>,
    /// By LLC number.
    pub llcs: Vec<LlcShared>,
    /// Which shared queue is whose.
    pub shared: SharedQueues,
    /// The shared queues; none without SWQUEUE and SHARED_RUNQ.
    pub swqueues: Vec<Swqueue>,
    /// `rd.overload`.
    pub overload: bool,
    /// A SCHED_IDLE task exists or existed: `sched_idle_cpu` needs to be asked.
    pub sched_idle_used: bool,
    /// Precomputed topology.
    pub topo: Topo,
    /// Balance paths in progress and nohz state.
    pub balance: super::balance::BalanceState,
    /// What it has counted.
    pub counters: FairCounters,
}
