//! Kernel versions whose rules are modeled, and what differs between them.
//!
//! A row of the table says what a version changes. Where the modeled versions are far apart, the
//! version in which a rule came is given with it. `docs/KERNELS.md` has the table in full.

use sim_core::{Ns, WakeList};

/// Kernel versions whose rules are modeled, in order of age. Stable trees have rules that came to
/// mainline later, so a version's rules are a row of facts ([`KernelRules`]) and no step of a
/// ladder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rules {
    /// v5.19
    V5_19,
    /// v6.1 as its stable tree has it (v6.1.192, Debian 12).
    V6_1,
    /// v6.4, with CFS.
    V6_4,
    /// v6.6, the first with EEVDF.
    V6_6,
    /// v6.12 as its stable tree has it (v6.12.113 and later).
    V6_12,
    /// v6.18 as its stable tree has it (v6.18.33 and later).
    V6_18,
}

/// What protects the current task of EEVDF from those with an earlier deadline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protection {
    /// It is eligible, and has the deadline of its pick.
    WhileEligible,
    /// The same, until a task of a shorter slice cancels it (PREEMPT_SHORT): v6.12.
    UntilCancelled,
    /// A vruntime (`vprot`): v6.17.
    UpToVruntime,
}

/// What a kernel does where kernels differ.
#[derive(Clone, Copy, Debug)]
pub struct KernelRules {
    /// `ttwu_queue_cond()`: which wake-ups go through the wake list.
    pub(crate) wake_list: WakeList,
    /// `sched_ttwu_pending()`: the CPU that enqueues what was on its wake list looks idle until it
    /// has; since v6.2 it does not.
    pub(crate) clears_pending_first: bool,
    /// `migrate_se_pelt_lag()`: averages of a sleeper that leaves an idle CPU decay to now, not to
    /// when the CPU went idle: v6.0.
    pub(crate) estimates_pelt_lag: bool,
    /// `check_preempt_tick()`: a slice is not longer than the latency: v6.3.
    pub(crate) caps_slice_at_latency: bool,
    /// `should_we_balance()`: newidle balance ends if a task came or is about to come: v6.0.
    pub(crate) newidle_yields_to_wakeup: bool,
    /// `find_idlest_group()` between NUMA nodes: the task stays only if the idle CPUs differ by at
    /// most two, however few tasks run on the node: v6.0.
    pub(crate) fork_heeds_numa_difference: bool,
    /// `calculate_imbalance()`: the difference is compared with what NUMA tolerates before it is
    /// halved: v6.0.
    pub(crate) halves_after_numa_test: bool,
    /// `imb_numa_nr` of nodes that are one LLC is a quarter of their CPUs; since v6.0 an eighth.
    pub(crate) tolerates_quarter_node: bool,
    /// `calculate_imbalance()`: nothing moves to a group that is loaded above the average: v6.3.
    pub(crate) compares_local_with_average: bool,
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
    /// A nohz kick that has set `need_resched` on an idle CPU neither drops itself nor ends the
    /// balance on behalf of others: v6.13, and stable trees.
    pub(crate) keeps_nohz_kick: bool,
    /// A CPU that was idle and stays so picks its idle task as if anew, which marks its core as
    /// idle (`set_next_task_idle()`). Since v6.12 nothing is set if the next task is the previous
    /// one (`put_prev_set_next_task()`).
    pub(crate) picks_idle_anew: bool,
    /// `__schedule()` ends with RQCF_REQ_SKIP cleared, before v6.6.
    pub(crate) ends_skip_with_schedule: bool,
    /// Where a CPU's counter of `cpumask_any_and_distribute()` stands is not known: since v6.6
    /// `kick_pool()` moves it, too, when it calls a worker back to its pod, and in v6.12 RCU.
    pub(crate) scatters_affine_moves: bool,
    /// `schedule_idle()` of a CPU with nothing queued ends without a pick (SM_IDLE): it looks
    /// for no task elsewhere, and its idle time goes on: v6.12.
    pub(crate) idles_on_without_pick: bool,
    /// `cpuidle_idle_call()`: a guest with one idle state keeps its tick until it has come in
    /// idle. The stable trees have it (6.1.192, 6.12.113, 6.18.44).
    pub(crate) lone_state_keeps_tick: bool,
    /// `pick_next_task_fair()` puts the task that it picks at the head of `cfs_tasks`, the one that
    /// runs already, too. Since v6.12 only another one.
    pub(crate) relists_kept_task: bool,
    /// `update_sg_wakeup_stats()` counts those CPUs of a group that the task may use: v6.19, and
    /// stable trees.
    pub(crate) counts_allowed_cpus_only: bool,
    /// `post_init_entity_util_avg()` scales a new task's utilization by its weight as it is, not
    /// 1024 times that: v6.10.
    pub(crate) weighs_new_util: bool,
    /// `sched_balance_newidle()` of a CPU without a domain ends before it counts who has come.
    pub(crate) newidle_needs_domain: bool,
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
    /// `protect_slice()`.
    pub(crate) protection: Protection,
    /// A waking task that may preempt a SCHED_IDLE one ends its protection.
    pub(crate) unprotects_idle_policy: bool,
    /// `pick_eevdf()` stays with the current task if the deadlines are equal.
    pub(crate) prefers_current_at_tie: bool,
    /// The entity of a group has the shortest slice of those below it.
    pub(crate) hands_slices_up: bool,
    /// `update_cfs_group()` leaves a group's entity as heavy as it was while its queue is empty.
    pub(crate) keeps_weight_of_empty_group: bool,
    /// `update_tg_load_avg()` writes what a queue adds to its group's load at most once in so many
    /// ns: v6.7. Before, whenever it had changed by a 64th.
    pub(crate) tg_load_avg_period_ns: Ns,
    /// `reweight_entity()` places an entity anew by its lag: v6.13. Before, vruntime and deadline
    /// were scaled around V.
    pub(crate) places_after_reweight: bool,
    /// `yield_task_fair()` moves an eligible task on to its deadline; before, only the deadline
    /// moved.
    pub(crate) yields_rest_of_slice: bool,
    /// The base slice of EEVDF on one CPU, ns.
    pub(crate) normalized_base_slice_ns: u64,
}

impl KernelRules {
    /// By how many bits a new task's weight is scaled where its utilization begins.
    pub(crate) fn new_util_shift(&self) -> u32 {
        if self.weighs_new_util { 0 } else { 10 }
    }
}

const V5_19: KernelRules = KernelRules {
    wake_list: WakeList::OtherLlcOrOnCpu,
    clears_pending_first: true,
    estimates_pelt_lag: false,
    caps_slice_at_latency: false,
    newidle_yields_to_wakeup: false,
    fork_heeds_numa_difference: false,
    halves_after_numa_test: false,
    tolerates_quarter_node: true,
    compares_local_with_average: false,
    balances_cores: false,
    takes_last_full_group: false,
    counts_waiting_as_util: false,
    ends_detach_at_loop_max: true,
    shifts_util_by_failures: false,
    leaves_delayed_tasks: false,
    counts_runnable_only: false,
    newidle_trusts_balance: false,
    keeps_nohz_kick: false,
    picks_idle_anew: true,
    ends_skip_with_schedule: true,
    scatters_affine_moves: false,
    idles_on_without_pick: false,
    lone_state_keeps_tick: false,
    relists_kept_task: true,
    counts_allowed_cpus_only: false,
    weighs_new_util: false,
    newidle_needs_domain: false,
    sync_ignores_delayed: false,
    places_new_tasks_once: false,
    keeps_one_util_estimate: false,
    charges_parent_at_fork: false,
    has_custom_slices: false,
    limits_lag_by_longest_slice: false,
    protection: Protection::WhileEligible,
    unprotects_idle_policy: false,
    prefers_current_at_tie: false,
    hands_slices_up: false,
    keeps_weight_of_empty_group: false,
    tg_load_avg_period_ns: 0,
    places_after_reweight: false,
    yields_rest_of_slice: false,
    normalized_base_slice_ns: 750_000,
};
const V6_1: KernelRules = KernelRules {
    wake_list: WakeList::OtherLlcOrIdle,
    estimates_pelt_lag: true,
    newidle_yields_to_wakeup: true,
    fork_heeds_numa_difference: true,
    halves_after_numa_test: true,
    tolerates_quarter_node: false,
    // The following came to mainline later, and to the stable tree from there.
    compares_local_with_average: true,
    shifts_util_by_failures: true,
    keeps_nohz_kick: true,
    counts_allowed_cpus_only: true,
    newidle_needs_domain: true,
    lone_state_keeps_tick: true,
    ..V5_19
};
const V6_4: KernelRules = KernelRules {
    clears_pending_first: false,
    caps_slice_at_latency: true,
    ends_detach_at_loop_max: false,
    shifts_util_by_failures: false,
    keeps_nohz_kick: false,
    counts_allowed_cpus_only: false,
    newidle_needs_domain: false,
    lone_state_keeps_tick: false,
    ..V6_1
};
const V6_6: KernelRules = KernelRules {
    ends_skip_with_schedule: false,
    scatters_affine_moves: true,
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
    protection: Protection::UntilCancelled,
    prefers_current_at_tie: false,
    hands_slices_up: true,
    picks_idle_anew: false,
    idles_on_without_pick: true,
    relists_kept_task: false,
    weighs_new_util: true,
    newidle_needs_domain: true,
    tg_load_avg_period_ns: 1_000_000,
    // The stable tree has these from later versions.
    keeps_nohz_kick: true,
    counts_allowed_cpus_only: true,
    lone_state_keeps_tick: true,
    sync_ignores_delayed: true,
    keeps_weight_of_empty_group: true,
    unprotects_idle_policy: true,
    yields_rest_of_slice: true,
    normalized_base_slice_ns: 700_000,
    ..V6_6
};
const V6_18: KernelRules = KernelRules {
    leaves_delayed_tasks: true,
    counts_runnable_only: true,
    limits_lag_by_longest_slice: true,
    protection: Protection::UpToVruntime,
    places_after_reweight: true,
    ..V6_12
};

impl Rules {
    /// What scenarios call them, the oldest first.
    pub const NAMES: [&str; 6] = ["5.19", "6.1", "6.4", "6.6", "6.12", "6.18"];

    /// The rules of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        let all = [Self::V5_19, Self::V6_1, Self::V6_4, Self::V6_6, Self::V6_12, Self::V6_18];
        all.into_iter().find(|rules| Self::NAMES[*rules as usize] == name)
    }

    /// The rules of a kernel, each version's as it changed those before.
    pub const fn kernel(self) -> &'static KernelRules {
        match self {
            Self::V5_19 => &V5_19,
            Self::V6_1 => &V6_1,
            Self::V6_4 => &V6_4,
            Self::V6_6 => &V6_6,
            Self::V6_12 => &V6_12,
            Self::V6_18 => &V6_18,
        }
    }
}
