//! What shares a machine with the workload: its own background threads, and a host that gives a
//! guest more or less of its speed. A machine file that says nothing has neither.

use crate::CpuId;

/// A thread of the system's own that works a little, sleeps, and so on for ever.
#[derive(Clone, Debug, PartialEq)]
pub struct BackgroundThread {
    /// Its command name, as a trace shows it.
    pub name: String,
    /// The only CPU that it may use; `None`: any.
    pub cpu: Option<CpuId>,
    /// Nice level.
    pub nice: i8,
    /// A kernel thread (PF_KTHREAD).
    pub kthread: bool,
    /// Its work each time, ns at full speed.
    pub run_ns: u64,
    /// How long it sleeps after it, ns.
    pub sleep_ns: u64,
    /// Every so many times it works longer; 0: never.
    pub long_every: u32,
    /// Its work then, ns.
    pub long_ns: u64,
}

/// How the speed varies: the logarithm of the slowdown is a sum of two exponential numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Variation {
    /// Mean of the part that holds for some time, by CPU; 0: none.
    pub drift: f64,
    /// For how long it holds, ns.
    pub drift_ns: u64,
    /// Mean of the part that is drawn for every piece of work; 0: none.
    pub jitter: f64,
}
