//! What the fair class keeps per task: `struct sched_entity`, and how often the task wakes others.

use super::pelt::{DETACHED, SchedAvg};
use super::weights;
use sim_core::{GroupId, Ns, SchedPolicy, TaskAttr, TaskId};
use topology::CpuId;

/// How often a waker changes its wakee.
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
    /// Its task group; of account with groups only.
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
    /// A task as `sched_fork` leaves it: no runtime, full load, no utilization.
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
