//! Kernel versions whose rules are modeled, and what differs between them.
//!
//! A row of the table says what a version changes. Where the modeled versions are far apart, the
//! version in which a rule came is given with it.

/// Kernel versions whose rules are modeled, in order of age.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rules {
    /// v6.4, with CFS.
    V6_4,
    /// v6.6, the first with EEVDF.
    V6_6,
    /// v6.12
    V6_12,
    /// v6.18 as its stable tree has it (v6.18.33 and later).
    V6_18,
}

/// What a kernel does where kernels differ: v6.4 does none of it.
#[derive(Clone, Copy, Debug)]
pub struct KernelRules {
    /// `sibling_imbalance()`, `group_smt_balance`, and in `should_we_balance()` a CPU of an idle
    /// core before the sibling of a busy one: v6.6.
    pub(crate) balances_cores: bool,
    /// `update_sd_pick_busiest()`: of groups that are just as full the last one is the busiest:
    /// v6.5.
    pub(crate) takes_last_full_group: bool,
    /// `cpu_util_cfs_boost()`: a queue on which tasks wait counts as used as it is runnable: v6.5.
    pub(crate) counts_waiting_as_util: bool,
    /// `detach_tasks()` stops at `loop_max` even if it has seen nothing but pinned tasks.
    pub(crate) ends_detach_at_loop_max: bool,
    /// `detach_tasks()` takes tasks of more utilization the more often balancing has failed.
    pub(crate) shifts_util_by_failures: bool,
    /// `can_migrate_task()` leaves tasks that sleep on the queue, unless load is to be moved.
    pub(crate) leaves_delayed_tasks: bool,
    /// Statistics count the tasks of a queue without those that sleep there (`h_nr_runnable`).
    pub(crate) counts_runnable_only: bool,
    /// `sched_balance_newidle()` goes on to the next domain unless `continue_balancing` says no.
    /// Before, a task on its own queue or a pending wake-up ended it.
    pub(crate) newidle_trusts_balance: bool,
    /// `update_newidle_stats()`: how often newidle balance is of use is counted by domain.
    pub(crate) counts_newidle_success: bool,
    /// A nohz kick that has set `need_resched` on an idle CPU neither drops itself nor ends the
    /// balance on behalf of others: v6.13.
    pub(crate) keeps_nohz_kick: bool,
    /// `wake_affine_idle()`: a SYNC waker is alone if all other tasks on its queue sleep there.
    pub(crate) sync_ignores_delayed: bool,
    /// The enqueue of a new task passes ENQUEUE_INITIAL. In v6.6 only `task_fork_fair()` does, and
    /// the enqueue that follows places the task anew.
    pub(crate) places_new_tasks_once: bool,
    /// `util_est_update()` of v6.8: one number, estimated before the dequeue.
    pub(crate) keeps_one_util_estimate: bool,
    /// `task_fork_fair()` updates the parent's runtime.
    pub(crate) charges_parent_at_fork: bool,
    /// `sched_attr::sched_runtime` is the slice of a fair task.
    pub(crate) has_custom_slices: bool,
    /// `entity_lag()` is limited by the longest slice on the queue, not by twice the task's own.
    pub(crate) limits_lag_by_longest_slice: bool,
    /// The current task is protected up to a vruntime (`vprot`), not while it has the deadline of
    /// its pick (`vlag`).
    pub(crate) protects_by_vruntime: bool,
    /// `pick_eevdf()` stays with the current task if the deadlines are equal.
    pub(crate) prefers_current_at_tie: bool,
    /// `yield_task_fair()` moves an eligible task on to its deadline; before, only the deadline
    /// moved.
    pub(crate) yields_rest_of_slice: bool,
}

impl Rules {
    /// What scenarios call them, the oldest first.
    pub const NAMES: [&str; 4] = ["6.4", "6.6", "6.12", "6.18"];

    /// The rules of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        let all = [Self::V6_4, Self::V6_6, Self::V6_12, Self::V6_18];
        all.into_iter().find(|rules| Self::NAMES[*rules as usize] == name)
    }

    /// The rules of a kernel, each version's as it changed those before.
    pub const fn kernel(self) -> &'static KernelRules {
        const V6_4: KernelRules = KernelRules {
            balances_cores: false,
            takes_last_full_group: false,
            counts_waiting_as_util: false,
            ends_detach_at_loop_max: false,
            shifts_util_by_failures: false,
            leaves_delayed_tasks: false,
            counts_runnable_only: false,
            newidle_trusts_balance: false,
            counts_newidle_success: false,
            keeps_nohz_kick: false,
            sync_ignores_delayed: false,
            places_new_tasks_once: false,
            keeps_one_util_estimate: false,
            charges_parent_at_fork: false,
            has_custom_slices: false,
            limits_lag_by_longest_slice: false,
            protects_by_vruntime: false,
            prefers_current_at_tie: false,
            yields_rest_of_slice: false,
        };
        const V6_6: KernelRules = KernelRules {
            balances_cores: true,
            takes_last_full_group: true,
            counts_waiting_as_util: true,
            charges_parent_at_fork: true,
            prefers_current_at_tie: true,
            ..V6_4
        };
        const V6_12: KernelRules = KernelRules {
            ends_detach_at_loop_max: true,
            shifts_util_by_failures: true,
            newidle_trusts_balance: true,
            places_new_tasks_once: true,
            keeps_one_util_estimate: true,
            charges_parent_at_fork: false,
            has_custom_slices: true,
            prefers_current_at_tie: false,
            ..V6_6
        };
        const V6_18: KernelRules = KernelRules {
            leaves_delayed_tasks: true,
            counts_runnable_only: true,
            counts_newidle_success: true,
            keeps_nohz_kick: true,
            sync_ignores_delayed: true,
            limits_lag_by_longest_slice: true,
            protects_by_vruntime: true,
            yields_rest_of_slice: true,
            ..V6_12
        };
        match self {
            Self::V6_4 => &V6_4,
            Self::V6_6 => &V6_6,
            Self::V6_12 => &V6_12,
            Self::V6_18 => &V6_18,
        }
    }
}
