//! Where the busy time of one run went: what a profiler of all CPUs would have sampled, exactly.

/// Time in one call chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackTime {
    /// Command name; `swapper` and `migration` for the idle task and the stopper.
    pub comm: String,
    /// Functions, the outermost first.
    pub functions: Vec<&'static str>,
    /// The part of the kernel that the innermost path belongs to.
    pub group: &'static str,
    /// What it was spinning for.
    pub site: Option<&'static str>,
    /// Time, ns.
    pub ns: u64,
}

/// Count, mean, 95th percentile and maximum of a time, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// How many there were.
    pub n: u64,
    /// Their sum, ns.
    pub total_ns: u64,
    /// 95 % are not longer, ns (two significant digits).
    pub p95_ns: u64,
    /// The longest, ns.
    pub max_ns: u64,
}

impl Spread {
    /// The mean, ns.
    pub fn mean_ns(&self) -> f64 {
        self.total_ns as f64 / self.n.max(1) as f64
    }
}

/// All locks of one class, as lockstat counts them.
#[derive(Clone, Debug, PartialEq)]
pub struct LockClass {
    /// Name.
    pub name: &'static str,
    /// Times that one of them was taken.
    pub acquisitions: u64,
    /// … after another CPU had it.
    pub bounces: u64,
    /// Times that a CPU had to wait.
    pub contended: u64,
    /// … for a lock that another CPU than itself had taken before.
    pub con_bounces: u64,
    /// Waits.
    pub wait: Spread,
    /// Holds, the time in locks nested inside included.
    pub hold: Spread,
}

/// Acquisitions at one call site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SiteTime {
    /// Name, as in the metric `spin_pct.<name>`.
    pub name: &'static str,
    /// Name of the group of sites, as in the metric `spin_pct.<group>`.
    pub group: &'static str,
    /// True if it waits for a task's state and not for a lock.
    pub no_lock: bool,
    /// Times that it got what it wanted.
    pub acquisitions: u64,
    /// Waits that have ended.
    pub wait: Spread,
}

/// The profile of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Simulated time, ns.
    pub elapsed_ns: u64,
    /// Busy time of all CPUs: the sum of [`Profile::stacks`], ns.
    pub busy_ns: u64,
    /// Number of CPUs.
    pub cpus: usize,
    /// Time by call chain, by command name and functions in alphabetical order.
    pub stacks: Vec<StackTime>,
    /// Groups in the order of tables; each is the group of some stack, or of none.
    pub groups: Vec<&'static str>,
    /// All call sites.
    pub sites: Vec<SiteTime>,
    /// All classes of locks.
    pub locks: Vec<LockClass>,
}

impl Profile {
    /// Time in the stacks that `wanted` chooses, ns.
    pub fn time(&self, wanted: impl Fn(&StackTime) -> bool) -> u64 {
        self.stacks.iter().filter(|s| wanted(s)).map(|s| s.ns).sum()
    }
}
