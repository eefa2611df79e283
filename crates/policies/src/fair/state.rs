//! What the fair class keeps: per task, per runqueue, per domain level, per LLC (spec 1.5, 2.1, 2.2).

use super::features::{Features, Tunables};
use sim_core::{LockId, Ns, TaskId};
use std::collections::VecDeque;
use topology::CpuId;

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

/// Fair state of a task.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the fields are the kernel's names")]
pub struct FairTask {
    pub weight: u32,
    pub inv_weight: u32,
    pub vruntime: u64,
    pub exec_start: Ns,
    pub sum_exec_runtime: Ns,
    pub prev_sum_exec_runtime: Ns,
    pub sleep_since: Ns,
    pub avg: SchedAvg,
    pub util_est_enqueued: u32,
    pub util_est_ewma: u32,
    /// `UTIL_AVG_UNCHANGED`: util_avg was not updated since the last estimate.
    pub util_avg_unchanged: bool,
    pub wakee_flips: u32,
    pub wakee_flip_decay_ts: u64,
    pub last_wakee: TaskId,
    pub recent_used_cpu: CpuId,
    /// Neighbors on the runqueue's `cfs_tasks` list (NONE at the ends, or off the list).
    pub list_prev: TaskId,
    pub list_next: TaskId,
    /// Linked on its LLC's shared wakequeue.
    pub on_swqueue: bool,
    pub swq_prev: TaskId,
    pub swq_next: TaskId,
}

/// Fair state of a runqueue. `w.cpus[c].nr_running` counts tasks of all classes; without stopper
/// work it equals the number of fair tasks.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the fields are the kernel's names")]
pub struct FairRq {
    /// Sum of the weights of on_rq tasks, the current one included.
    pub load_weight: u64,
    /// `cfs.h_nr_running`: fair tasks on the queue, the current one included.
    pub h_nr_running: u32,
    /// Queued tasks by (vruntime, order of arrival), without the current one.
    pub tree: VecDeque<(u64, TaskId)>,
    /// `cfs.curr`: NONE if idle or stopper runs.
    pub curr: TaskId,
    pub min_vruntime: u64,
    pub next: TaskId,
    pub last: TaskId,
    pub skip: TaskId,
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
}

/// `sd_llc_shared` (spec 1.5). Indexed by the machine's LLC number.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the fields are the kernel's names")]
pub struct LlcShared {
    pub nr_busy_cpus: u32,
    pub has_idle_cores: bool,
    pub nr_idle_scan: u32,
}

/// One LLC's shared wakequeue (spec 7.1): a FIFO list threaded through the tasks, and its lock.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "obvious")]
pub struct Swqueue {
    pub head: TaskId,
    pub tail: TaskId,
    pub lock: LockId,
}

/// The fair class.
pub struct Fair {
    /// Features.
    pub features: Features,
    /// Tunables.
    pub tunables: Tunables,
    /// By `TaskId`.
    pub tasks: Vec<FairTask>,
    /// By `CpuId`.
    pub rqs: Vec<FairRq>,
    /// By `CpuId`, then level in the CPU's domain chain.
    pub sds: Vec<Vec<SdState>>,
    /// By LLC number.
    pub llcs: Vec<LlcShared>,
    /// By LLC number; empty without SWQUEUE.
    pub swqueues: Vec<Swqueue>,
    /// `rd.overload`.
    pub overload: bool,
    /// Balance paths in progress and nohz state.
    pub balance: super::balance::BalanceState,
}
