//! What a profiler would see: the kernel functions that a CPU is in.
//!
//! A CPU's frames, its lock waits and its task's operation are turned into a call chain with the
//! names of Linux 6.4 on x86-64. Names are as fine as the steps of the engine: time that a step
//! spends in several functions is given to their caller. Nothing here is used unless an observer
//! asks for it ([`crate::Observer::watches_time`]).

use crate::{SelectKind, Site, TaskId};

/// A piece of a call chain, the outermost function first.
pub type Calls = &'static [&'static str];

/// Coarse parts that the busy time of a CPU falls into.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PathGroup {
    /// User mode.
    User,
    /// Bodies of system calls, the network stack included.
    Syscall,
    /// `try_to_wake_up`, wherever it is called.
    Wakeup,
    /// `sched_ttwu_pending`: tasks that others have put on the wake list.
    TtwuPending,
    /// `schedule()` but for the pull and newidle balance.
    Schedule,
    /// Pulling from a shared wakequeue.
    Pull,
    /// Newidle balance.
    Newidle,
    /// Periodic and nohz-idle balance.
    Balance,
    /// The stopper: `sched_exec`, active balance.
    Stopper,
    /// Making a task and its first wake-up; balancing on exec.
    Fork,
    /// Entry and exit of interrupts.
    Irq,
    /// The tick.
    Tick,
}

impl PathGroup {
    /// All groups, in the order in which tables show them.
    pub const ALL: [PathGroup; 12] = [
        PathGroup::User,
        PathGroup::Syscall,
        PathGroup::Wakeup,
        PathGroup::TtwuPending,
        PathGroup::Schedule,
        PathGroup::Pull,
        PathGroup::Newidle,
        PathGroup::Balance,
        PathGroup::Stopper,
        PathGroup::Fork,
        PathGroup::Irq,
        PathGroup::Tick,
    ];

    /// The name that tables show.
    pub const fn name(self) -> &'static str {
        match self {
            PathGroup::User => "user",
            PathGroup::Syscall => "system call",
            PathGroup::Wakeup => "wake-up",
            PathGroup::TtwuPending => "ttwu_pending",
            PathGroup::Schedule => "schedule",
            PathGroup::Pull => "pull",
            PathGroup::Newidle => "newidle balance",
            PathGroup::Balance => "periodic balance",
            PathGroup::Stopper => "stopper",
            PathGroup::Fork => "fork, exec",
            PathGroup::Irq => "interrupt",
            PathGroup::Tick => "tick",
        }
    }
}

/// Where a path of the mechanism is inside the policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Within {
    /// In the search that [`crate::Policy::select_task_rq`] has asked for.
    Select(SelectKind),
    /// In the fixed part of an enqueue.
    Enqueue,
    /// In a nested critical section, or waiting for its lock.
    Nested(&'static Site),
    /// In a step of [`crate::Policy::before_idle`].
    BeforeIdle,
    /// In a step of [`crate::Policy::softirq`].
    Softirq,
    /// In a step of [`crate::Policy::stopper`].
    Stopper,
}

/// What a CPU was doing for a while.
#[derive(Clone, Debug)]
pub struct Stack {
    /// The task whose time it was; IDLE and STOP included.
    pub task: TaskId,
    /// The part that the innermost path belongs to.
    pub group: PathGroup,
    /// The call site where it was spinning; `None` if it was not.
    pub site: Option<&'static Site>,
    funcs: Vec<&'static str>,
}

impl Default for Stack {
    fn default() -> Self {
        Self { task: TaskId::IDLE, group: PathGroup::Irq, site: None, funcs: Vec::new() }
    }
}

impl Stack {
    /// The functions, the outermost first.
    pub fn functions(&self) -> &[&'static str] {
        &self.funcs
    }

    pub(crate) fn clear(&mut self, task: TaskId, group: PathGroup) {
        self.funcs.clear();
        (self.task, self.group, self.site) = (task, group, None);
    }

    /// Adds functions that the last one has called.
    #[inline]
    pub fn call(&mut self, functions: Calls) {
        self.funcs.extend_from_slice(functions);
    }
}
