//! What a task group keeps for `cpu.max` (CONFIG_CFS_BANDWIDTH): `struct cfs_bandwidth`, and what
//! its queues have of it. `queue::groups::bandwidth` has the functions on them.

use sim_core::{NEVER, Ns};
use topology::CpuId;

/// `cpu.max` and `cpu.max.burst`: how much CPU time a group has in each period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CpuMax {
    /// CPU time of all its tasks together, ns.
    pub quota_ns: Ns,
    /// In this time, ns.
    pub period_ns: Ns,
    /// How much of what it leaves it may keep for a later period, ns.
    pub burst_ns: Ns,
}

impl CpuMax {
    /// So much of each 100 ms, and no burst.
    pub fn of_100_ms(quota_ns: Ns) -> Self {
        Self { quota_ns, period_ns: 100_000_000, burst_ns: 0 }
    }
}

/// `cpu.stat` of a group, since the measurement began.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct BandwidthStat {
    /// Periods that have ended while the group was busy.
    pub nr_periods: u64,
    /// Those at whose end a queue was throttled.
    pub nr_throttled: u64,
    /// The sum over all CPUs of the time for which their queues were throttled, ns.
    pub throttled_ns: Ns,
}

/// `struct cfs_bandwidth`
#[derive(Clone, Debug)]
pub(crate) struct Bandwidth {
    pub max: CpuMax,
    /// What the queues may still take in this period.
    pub runtime: Ns,
    /// Nobody has taken any since the last period began.
    pub idle: bool,
    pub period_active: bool,
    /// When the period timer fires, or would if it was active.
    pub expires: Ns,
    /// When the slack timer fires.
    pub slack_at: Ns,
    /// A runqueue's lock was held when its queue was to be unthrottled: the next try.
    pub retry_at: Ns,
    /// The CPU that started the period timer, which is pinned.
    pub timer_cpu: CpuId,
    /// The CPUs on which its queue is throttled, in that order.
    pub throttled: Vec<CpuId>,
    pub stat: BandwidthStat,
}

impl Bandwidth {
    pub(crate) fn new(max: CpuMax) -> Self {
        Self {
            max,
            runtime: max.quota_ns,
            idle: false,
            period_active: false,
            expires: 0,
            slack_at: NEVER,
            retry_at: NEVER,
            timer_cpu: CpuId(0),
            throttled: Vec::new(),
            stat: BandwidthStat::default(),
        }
    }

    /// The first instant at which one of its timers fires.
    pub(crate) fn timer_at(&self) -> Ns {
        let period = if self.period_active { self.expires } else { NEVER };
        period.min(self.slack_at).min(self.retry_at)
    }

    /// `hrtimer_forward_now()` of the period timer: the result is how many periods have passed.
    pub(crate) fn forward(&mut self, now: Ns) -> u64 {
        if self.expires > now {
            return 0;
        }
        let n = (now - self.expires) / self.max.period_ns + 1;
        self.expires += n * self.max.period_ns;
        n
    }

    /// `__refill_cfs_bandwidth_runtime`
    pub(crate) fn refill(&mut self) {
        let most = self.max.quota_ns + self.max.burst_ns;
        self.runtime = (self.runtime + self.max.quota_ns).min(most);
    }

    /// `runtime_refresh_within`: the next period begins within this time.
    pub(crate) fn refills_within(&self, now: Ns, ns: Ns) -> bool {
        self.expires < now + ns
    }
}

/// What a group's queue on one CPU has.
#[derive(Clone, Default, Debug)]
pub(crate) struct QueueRuntime {
    /// `runtime_remaining`: CPU time that it has taken and not used.
    pub remaining: i64,
    pub throttled: bool,
    pub throttled_at: Ns,
    /// So many of it and of the groups above are throttled.
    pub throttle_count: u32,
    /// When its averages stopped, …
    pub throttled_clock_pelt: Ns,
    /// … and how long they have stood still before.
    pub throttled_clock_pelt_time: Ns,
}
