//! An event of a bundle as it is kept until its turn comes: as told, with numbers for names.

use super::words::Word;
use crate::replay::event::{CPUS_MAX, Left};
use crate::replay::ftrace::is_pid;
use sim_core::Ns;

/// The latest time, ns.
const AT_MAX: u64 = 1 << 62;

/// An event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Record {
    pub at: Ns,
    pub cpu: u32,
    /// The current task, if the event tells it.
    pub tid: Option<u32>,
    pub told: Told,
}

/// A task as an event names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Task {
    pub name: Word,
    pub tid: u32,
}

/// What an event tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Told {
    Switch {
        prev: Task,
        prev_prio: i32,
        state: Left,
        next: Task,
        next_prio: i32,
    },
    /// A switch from whoever came before.
    SwitchTo {
        state: Left,
        next: Task,
        next_prio: i32,
    },
    /// `sched_waking`, with `common_flags` if they were written down.
    Waking {
        task: Task,
        prio: i32,
        target: u32,
        flags: Option<u8>,
    },
    Wakeup {
        task: Task,
        prio: i32,
        target: u32,
    },
    WakeupNew {
        task: Task,
        prio: i32,
        target: u32,
    },
    Runtime {
        task: Task,
        ns: Ns,
    },
    /// `sched_process_fork`.
    Fork {
        parent: Task,
        child: Task,
    },
    /// `task_newtask`: the current task has made another one, a process or a thread of its own.
    NewTask {
        child: Task,
        is_thread: bool,
    },
    /// `task_rename`.
    Rename(Task),
    /// So many events were lost before.
    Lost(u64),
}

/// A thread id, if Linux may have such a one.
pub(super) fn tid(number: i64) -> Result<u32, &'static str> {
    let tid = u32::try_from(number).ok().filter(|tid| is_pid(*tid));
    tid.ok_or("a pid is above 4194304, or negative")
}

/// A priority as in the text: 0 to 139, and -1 for a deadline task.
pub(super) fn prio(number: i64) -> i32 {
    number.clamp(-1, 139) as i32
}

/// The CPU that an event names.
pub(super) fn cpu(number: i64) -> Result<u32, &'static str> {
    let cpu = u32::try_from(number).ok().filter(|cpu| u64::from(*cpu) < CPUS_MAX);
    cpu.ok_or("a CPU is not below 8192")
}

/// The time of an event.
pub(super) fn time(at: u64) -> Result<Ns, &'static str> {
    if at < AT_MAX { Ok(at) } else { Err("a time is more than a century after 0") }
}
