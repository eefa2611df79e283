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
    /// How long it sleeps after it, ns; a kernel thread until a tick.
    pub sleep_ns: u64,
    /// Every so many times it works longer; 0: never.
    pub long_every: u32,
    /// Its work then, ns.
    pub long_ns: u64,
}

/// How the speed varies. The logarithm of the slowdown is exponential. Some pieces of work meet the
/// slowdown that holds on their CPU for a time, the others one of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Variation {
    /// Mean of the logarithm; 0: the speed does not vary.
    pub slowdown: f64,
    /// Share of the pieces that meet the one that holds: how alike neighbors are.
    pub held: f64,
    /// For how long it holds, ns.
    pub hold_ns: u64,
}
