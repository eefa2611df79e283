//! What the fair class keeps per runqueue: `struct cfs_rq`, and its part of `struct rq`.

use super::pelt::{Removed, SchedAvg};
use super::pelt_clock::PeltClock;
use super::task::Wakee;
use sim_core::{Ns, TaskId};
use topology::CpuId;

/// Fair state of a runqueue. `w.cpus[c].nr_running` counts tasks of all classes; without stopper
/// work it equals the number of fair tasks.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the fields are the kernel's names")]
pub struct FairRq<Q> {
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
    /// `clock_pelt`, `lost_idle_time`
    pub pelt_clock: PeltClock,
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
    /// `sched_fair_runnable()` before the last pick: entities were queued, awake or not.
    pub was_runnable: bool,
    pub active_balance: bool,
    pub push_cpu: CpuId,
    /// Wakee flips of the idle task, the waker of an interrupt on an idle CPU.
    pub idle_wakee: Wakee,
    /// Mostly empty, so it stands apart from what each update reads.
    pub removed: Removed,
}

/// `min_vruntime` of a runqueue at boot: in the middle of the number range, so that virtual times
/// compare as plain integers whatever credit or debt is added.
pub const MIN_VRUNTIME_AT_BOOT: u64 = 1 << 62;

impl<Q> FairRq<Q> {
    /// `cfs.h_nr_runnable`: fair tasks that do not sleep.
    #[inline]
    pub fn h_nr_runnable(&self) -> u32 {
        self.h_nr_running - self.h_nr_delayed
    }
}

impl<Q: Default> FairRq<Q> {
    /// An empty runqueue as `init_cfs_rq` and `sched_init` leave it.
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
            pelt_clock: PeltClock::default(),
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
            was_runnable: false,
            active_balance: false,
            push_cpu: CpuId(0),
            idle_wakee: Wakee::default(),
            removed: Removed::default(),
        }
    }
}
