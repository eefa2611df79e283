//! What shares a machine with the workload: its own background threads, and a host that gives a
//! guest more or less of its speed. A machine file that says nothing has neither.

use crate::CpuId;

/// A thread of the system's own. It works a little, sleeps, and so on for ever.
#[derive(Clone, Debug, PartialEq)]
pub struct BackgroundThread {
    /// Its command name, as a trace shows it.
    pub name: String,
    /// The only CPU that the thread may use; `None`: any.
    pub cpu: Option<CpuId>,
    /// Nice level.
    pub nice: i8,
    /// A kernel thread (PF_KTHREAD).
    pub kthread: bool,
    /// Work of one round, ns at full speed.
    pub run_ns: u64,
    /// How long it sleeps after a round, ns. A kernel thread's sleep ends at a tick, as a jiffies
    /// timer does.
    pub sleep_ns: u64,
    /// Of so many rounds one is a long one; 0: none.
    pub long_every: u32,
    /// Work of a long round, ns.
    pub long_ns: u64,
}

/// How the speed varies. Each piece of work is slowed down by a factor whose logarithm has an
/// exponential distribution. A part of the pieces takes the factor that holds on their CPU for a
/// time, the others draw one of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Variation {
    /// Mean of the factor's logarithm; 0: the speed does not vary.
    pub slowdown: f64,
    /// Share of the pieces that take the factor that holds, 0 to 1: how alike neighbors in time
    /// are.
    pub held: f64,
    /// For how long a factor holds on a CPU, ns.
    pub hold_ns: u64,
}
