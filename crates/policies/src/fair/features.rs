//! Scheduler features and tunables under the kernel's names (spec 3.1).

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
    pub wa_idle: bool,
    pub wa_weight: bool,
    pub wa_bias: bool,
    pub util_est: bool,
    pub util_est_fastup: bool,
    pub alt_period: bool,
    pub base_slice: bool,
    pub lb_min: bool,
    pub swqueue: bool,
    /// Ours: off disables the early breaks of newidle balance on `avg_idle`.
    pub newidle_avg_idle: bool,
}

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
            wa_idle: true,
            wa_weight: true,
            wa_bias: true,
            util_est: true,
            util_est_fastup: true,
            alt_period: true,
            base_slice: true,
            lb_min: false,
            swqueue: false,
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
    /// A task that ran this recently is cache hot, ns; -1: always hot.
    pub migration_cost_ns: i64,
    /// Tasks examined per balance pass.
    pub nr_migrate: u32,
    /// SIS_NODE skips the target's own LLC (spec 6).
    pub sis_node_skip_own: bool,
}

impl Tunables {
    /// Kernel defaults for a machine with this many CPUs (spec 3.1).
    pub fn for_cpus(n_cpus: usize) -> Self {
        let factor = 1 + u64::from(n_cpus.min(8).ilog2());
        Self {
            latency_ns: 6_000_000 * factor,
            min_granularity_ns: 750_000 * factor,
            idle_min_granularity_ns: 750_000,
            wakeup_granularity_ns: 1_000_000 * factor,
            nr_latency: 8,
            migration_cost_ns: 500_000,
            nr_migrate: 32,
            sis_node_skip_own: true,
        }
    }
}
