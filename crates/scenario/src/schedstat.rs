//! What /proc/schedstat says at the end of a run: the numbers of each line, in the file's order.
//!
//! Version 17 of the file, which Linux prints since 6.14 (kernel/sched/stats.c, described in
//! Documentation/scheduler/sched-stats.rst). Fields that stand for nothing in a simulation are 0:
//! see docs/SCHEDSTAT.md.

/// The numbers of a `cpu` line.
pub const CPU_FIELDS: [&str; 9] = [
    "yld_count",
    "array_exp",
    "sched_count",
    "sched_goidle",
    "ttwu_count",
    "ttwu_local",
    "rq_cpu_time",
    "run_delay",
    "pcount",
];

/// The numbers of a `domain` line that are there for each idle type: busy, idle and newly idle.
pub const LB_FIELDS: [&str; 11] = [
    "lb_count",
    "lb_balanced",
    "lb_failed",
    "lb_imbalance_load",
    "lb_imbalance_util",
    "lb_imbalance_task",
    "lb_imbalance_misfit",
    "lb_gained",
    "lb_hot_gained",
    "lb_nobusyq",
    "lb_nobusyg",
];

/// The idle types, in the order of a `domain` line.
pub const IDLE_TYPES: [&str; 3] = ["busy", "idle", "newidle"];

/// The numbers at the end of a `domain` line.
pub const DOMAIN_FIELDS: [&str; 12] = [
    "alb_count",
    "alb_failed",
    "alb_pushed",
    "sbe_count",
    "sbe_balanced",
    "sbe_pushed",
    "sbf_count",
    "sbf_balanced",
    "sbf_pushed",
    "ttwu_wake_remote",
    "ttwu_move_affine",
    "ttwu_move_balance",
];

/// A scheduling domain of a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainStat {
    /// The level's name since Linux 6.7: `SMT`, `MC`, `PKG`, `NODE` or `NUMA`.
    pub name: &'static str,
    /// CPUs spanned.
    pub cpus: Vec<u32>,
    /// By idle type, the numbers of [`LB_FIELDS`].
    pub lb: [[u64; LB_FIELDS.len()]; IDLE_TYPES.len()],
    /// The numbers of [`DOMAIN_FIELDS`].
    pub rest: [u64; DOMAIN_FIELDS.len()],
}

/// A CPU and its domains, bottom to top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuStat {
    /// The numbers of [`CPU_FIELDS`].
    pub fields: [u64; CPU_FIELDS.len()],
    /// Its domains.
    pub domains: Vec<DomainStat>,
}

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchedStat {
    /// The time at the end, in ticks of the kernel's clock.
    pub jiffies: u64,
    /// By CPU.
    pub cpus: Vec<CpuStat>,
}
