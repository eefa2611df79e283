//! One event of a recording, whatever its format: the current task, the CPU, the time, and what
//! happened.

use sim_core::{Context, Ns};
use topology::CpuId;

/// CPUs that an event may name.
pub(super) const CPUS_MAX: u64 = 8192;
/// Pids that Linux has.
pub(super) const PID_MAX: u64 = 1 << 22;

/// An event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Event<'a> {
    /// Name of the current task, as perf knows it.
    pub comm: &'a [u8],
    /// Thread id of the current task; `None` late in its exit, when it has none any more.
    pub tid: Option<u32>,
    /// Its process, if the recording says so.
    pub process: Option<u32>,
    /// The CPU that the event happened on.
    pub cpu: CpuId,
    /// The time stamp, ns.
    pub at: Ns,
    /// On whose behalf the CPU worked. Each event of ftrace tells it (`common_flags`), the text of
    /// `perf script` does not.
    pub context: Option<Context>,
    /// What happened.
    pub what: What<'a>,
}

/// A task as an event names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Named<'a> {
    /// Its name.
    pub comm: &'a [u8],
    /// Its thread id; 0 is an idle task.
    pub tid: u32,
}

/// How a task leaves its CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Left {
    /// The letter of its state, `R` if it could go on.
    pub state: u8,
    /// True if the kernel says that it was preempted (`R+`). It does not say that of a task that
    /// gives way on its return to user space.
    pub preempted: bool,
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What<'a> {
    /// One task gives way to another.
    Switch { prev: Named<'a>, prev_prio: i32, state: Left, next: Named<'a>, next_prio: i32 },
    /// A task is being woken (`sched_waking`), or was (`sched_wakeup`). Most wake-ups have both
    /// events; the first one counts.
    Wake { task: Named<'a>, prio: i32, target: CpuId },
    /// A task was woken for the first time.
    WakeNew { task: Named<'a>, prio: i32, target: CpuId },
    /// A task was charged for this long.
    Runtime { task: Named<'a>, ns: Ns },
    /// A task was made.
    Fork { parent: Named<'a>, child: Named<'a> },
    /// The current task has the event's name from now on.
    Renamed,
    /// perf could not write down so many events.
    Lost(u64),
    /// Nothing that replay needs.
    Other,
}

impl What<'_> {
    /// The names in it, in order; an empty one where there is none.
    pub(super) fn names(&self) -> [&[u8]; 2] {
        match self {
            Self::Switch { prev, next, .. } => [prev.comm, next.comm],
            Self::Fork { parent, child } => [parent.comm, child.comm],
            Self::Wake { task, .. } | Self::WakeNew { task, .. } | Self::Runtime { task, .. } => {
                [task.comm, b""]
            }
            Self::Renamed | Self::Lost(_) | Self::Other => [b"", b""],
        }
    }

    /// The same with these names.
    pub(super) fn with_names<'b>(&self, [one, other]: [&'b [u8]; 2]) -> What<'b> {
        let first = |task: &Named<'_>| Named { comm: one, tid: task.tid };
        let second = |task: &Named<'_>| Named { comm: other, tid: task.tid };
        match *self {
            Self::Switch { ref prev, prev_prio, state, ref next, next_prio } => {
                let (prev, next) = (first(prev), second(next));
                What::Switch { prev, prev_prio, state, next, next_prio }
            }
            Self::Fork { ref parent, ref child } => {
                What::Fork { parent: first(parent), child: second(child) }
            }
            Self::Wake { ref task, prio, target } => What::Wake { task: first(task), prio, target },
            Self::WakeNew { ref task, prio, target } => {
                What::WakeNew { task: first(task), prio, target }
            }
            Self::Runtime { ref task, ns } => What::Runtime { task: first(task), ns },
            Self::Renamed => What::Renamed,
            Self::Lost(n) => What::Lost(n),
            Self::Other => What::Other,
        }
    }
}

/// What of an event contradicts the events before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// Its CPU.
    Cpu,
    /// Its time.
    Time,
    /// All of it.
    Whole,
}

/// Why an event cannot be taken.
#[derive(Debug)]
pub(super) struct Trouble {
    pub part: Part,
    pub message: String,
    pub help: Option<String>,
}

impl Trouble {
    pub(super) fn new(part: Part, message: String, help: impl Into<String>) -> Self {
        Self { part, message, help: Some(help.into()) }
    }
}

impl From<String> for Trouble {
    fn from(message: String) -> Self {
        Self { part: Part::Whole, message, help: None }
    }
}
