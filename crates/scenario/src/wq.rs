//! The workqueues of one run: what the kernel's wq_dump and wq_monitor scripts show.

/// The pods of a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopePods {
    /// Its name.
    pub name: &'static str,
    /// It is that of the unbound workqueue at the end of the run.
    pub chosen: bool,
    /// The CPUs of each pod.
    pub cpus: Vec<Vec<u32>>,
    /// The NUMA node of each pod.
    pub nodes: Vec<u32>,
    /// The pod of each CPU.
    pub of: Vec<u32>,
}

/// A worker pool at the end of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolRow {
    /// Its number.
    pub id: u32,
    /// Pool_workqueues that use it.
    pub refs: u32,
    /// Nice level of its workers.
    pub nice: i8,
    /// Idle workers.
    pub idle: u32,
    /// All workers.
    pub workers: u32,
    /// The CPU, if it is bound.
    pub cpu: Option<u32>,
    /// Its pod.
    pub cpus: Vec<u32>,
    /// Its workers never leave the pod.
    pub strict: bool,
}

/// The counters of a workqueue since the start of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueRow {
    /// Its name.
    pub name: String,
    /// Unbound, not per-CPU.
    pub unbound: bool,
    /// It has a rescuer (which has nothing to do here).
    pub mem_reclaim: bool,
    /// Items begun.
    pub total: u64,
    /// Items in execution.
    pub in_flight: u64,
    /// CPU time of its items, ns.
    pub cpu_ns: u64,
    /// Items found to hog their CPU; per-CPU workqueues only.
    pub cpu_hogs: u64,
    /// Concurrency management wake-ups of a per-CPU workqueue, repatriations of an unbound one.
    pub woken: u64,
    /// Items that ran on the CPU that queued them.
    pub cpu_local: u64,
}

/// All workqueues at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When, ns.
    pub at_ns: u64,
    /// In the order in which they were made.
    pub queues: Vec<QueueRow>,
}

/// What was seen in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WqRun {
    /// How each scope cuts the machine.
    pub scopes: Vec<ScopePods>,
    /// Pools at the end of the run.
    pub pools: Vec<PoolRow>,
    /// For each workqueue, name and unbound or not: the pool of each CPU at the end of the run.
    pub by_cpu: Vec<(String, bool, Vec<u32>)>,
    /// The earliest first.
    pub samples: Vec<Sample>,
}
