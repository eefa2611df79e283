//! Scheduler features and tunables under the kernel's names (spec 3.1, 4.1).

use super::Rules;
use super::shared_runq::{SharedRunq, Version};

/// Feature switches (`/sys/kernel/debug/sched/features`). `NO_X` turns X off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the fields are the kernel's feature names")]
pub struct Features {
    pub gentle_fair_sleepers: bool,
    pub start_debit: bool,
    pub next_buddy: bool,
    pub last_buddy: bool,
    pub cache_hot_buddy: bool,
    pub wakeup_preemption: bool,
    pub ttwu_queue: bool,
    pub sis_prop: bool,
    pub sis_util: bool,
    pub sis_node: bool,
    /// As tried in its discussion: SIS_NODE within pairs of neighboring LLCs.
    pub sis_node_topoext: bool,
    pub wa_idle: bool,
    pub wa_weight: bool,
    pub wa_bias: bool,
    pub util_est: bool,
    pub util_est_fastup: bool,
    pub alt_period: bool,
    pub base_slice: bool,
    pub lb_min: bool,
    pub swqueue: bool,
    /// Ours: SWQUEUE takes from other LLCs of the node, too.
    pub swqueue_steal: bool,
    pub shared_runq: bool,
    pub place_lag: bool,
    pub place_deadline_initial: bool,
    pub place_rel_deadline: bool,
    pub run_to_parity: bool,
    pub preempt_short: bool,
    pub delay_dequeue: bool,
    pub delay_zero: bool,
    pub pick_buddy: bool,
    pub ni_random: bool,
    /// Ours: off disables the early breaks of newidle balance on `avg_idle`.
    pub newidle_avg_idle: bool,
}

impl Features {
    /// The defaults of a kernel (spec 3.1, 4.1). What it does not have is off.
    pub fn for_rules(rules: Rules) -> Self {
        if rules == Rules::V6_4 {
            return Self::default();
        }
        let since = |first: Rules| rules >= first;
        Self {
            gentle_fair_sleepers: false,
            start_debit: false,
            last_buddy: false,
            alt_period: false,
            base_slice: false,
            place_lag: true,
            place_deadline_initial: true,
            run_to_parity: true,
            util_est_fastup: !since(Rules::V6_12),
            place_rel_deadline: since(Rules::V6_12),
            preempt_short: since(Rules::V6_12),
            delay_dequeue: since(Rules::V6_12),
            delay_zero: since(Rules::V6_12),
            pick_buddy: since(Rules::V6_18),
            ni_random: since(Rules::V6_18),
            ..Self::default()
        }
    }
}

/// The defaults of v6.4.
impl Default for Features {
    fn default() -> Self {
        Self {
            gentle_fair_sleepers: true,
            start_debit: true,
            next_buddy: false,
            last_buddy: true,
            cache_hot_buddy: true,
            wakeup_preemption: true,
            ttwu_queue: true,
            sis_prop: false,
            sis_util: true,
            sis_node: false,
            sis_node_topoext: false,
            wa_idle: true,
            wa_weight: true,
            wa_bias: true,
            util_est: true,
            util_est_fastup: true,
            alt_period: true,
            base_slice: true,
            lb_min: false,
            swqueue: false,
            swqueue_steal: false,
            shared_runq: false,
            place_lag: false,
            place_deadline_initial: false,
            place_rel_deadline: false,
            run_to_parity: false,
            preempt_short: false,
            delay_dequeue: false,
            delay_zero: false,
            pick_buddy: false,
            ni_random: false,
            newidle_avg_idle: true,
        }
    }
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
    /// `sched_nr_latency`; recompute it when latency or granularity is written.
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
    /// SIS_NODE skips the target's own LLC (spec 6).
    pub sis_node_skip_own: bool,
    /// SIS_NODE searches at most so many LLCs beside the target's; `None`: all of the node.
    pub sis_node_limit: Option<u32>,
    /// Ours: what SHARED_RUNQ stands for.
    pub shared_runq: SharedRunq,
}

impl Tunables {
    /// Writes `base_slice_ns`; the normalized one follows.
    pub fn set_base_slice(&mut self, ns: u64) {
        self.base_slice_ns = ns;
        self.normalized_base_slice_ns = ns / self.factor;
    }

    /// Defaults of v6.4 for a machine with this many CPUs (spec 3.1).
    pub fn for_cpus(n_cpus: usize) -> Self {
        Self::for_rules(Rules::V6_4, n_cpus)
    }

    /// Defaults of a kernel for a machine with this many CPUs (spec 3.1, 4.1).
    pub fn for_rules(rules: Rules, n_cpus: usize) -> Self {
        let factor = 1 + u64::from(n_cpus.min(8).ilog2());
        let normalized_base_slice_ns = if rules >= Rules::V6_18 { 700_000 } else { 750_000 };
        let version = if rules == Rules::V6_4 { Version::V3 } else { Version::V4 };
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
            sis_node_skip_own: true,
            sis_node_limit: None,
        }
    }
}
