//! Why a task waits where it does, and why an idle CPU did not get it: notes that a policy leaves
//! at its decisions, for whoever explains a run afterwards.
//!
//! A note is a pointer to a constant, written over the one before, and nothing in a simulation
//! reads it. What a CPU looked for in vain is noted by the level of its domain chain, since a task
//! behind another cache is missed by the decision of the level that spans both.

use crate::{Ns, TaskId, World};
use std::fmt;
use topology::CpuId;

/// A rule of a policy or of the mechanism that can leave a CPU idle while a task waits.
#[derive(PartialEq, Eq)]
pub struct Reason {
    /// Short: the kernel's function, a colon, what it did.
    pub name: &'static str,
    /// A sentence for whoever does not know the function by heart.
    pub text: &'static str,
    /// Features and tunables that change it; may be empty.
    pub knob: &'static str,
}

/// Constants are what they are called.
impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Reason {
    /// The policy does not say.
    pub const UNTOLD: Self = Self { name: "untold", text: "the policy does not say why", knob: "" };
    /// The task may run on one CPU only, and that is busy.
    pub const ONE_CPU: Self = Self {
        name: "select_task_rq: one CPU allowed",
        text: "a task that may run on one CPU only was put there, and one of the two had to wait",
        knob: "",
    };
    /// The workload says where its first tasks start.
    pub const START: Self = Self {
        name: "start: where the workload says",
        text: "the workload says on which CPU the task begins",
        knob: "",
    };
    /// What the policy chose is not allowed.
    pub const FALLBACK: Self = Self {
        name: "select_fallback_rq: first allowed CPU",
        text: "the CPU chosen was not allowed, so the task took the first that is",
        knob: "",
    };
    /// Not a task: a CPU's stopper.
    pub const STOPPER: Self = Self {
        name: "migration/N: about to run",
        text: "the stopper was woken to move a task, and counts as one that waits until it runs",
        knob: "",
    };
    /// It moved because its affinity changed.
    pub const AFFINITY: Self = Self {
        name: "set_cpus_allowed: moved",
        text: "its affinity changed, and it moved to the first CPU that is allowed",
        knob: "",
    };
    /// It moved as it executed another program.
    pub const EXEC: Self = Self {
        name: "sched_exec: moved",
        text: "balancing on exec chose another CPU, and the stopper moved the task there",
        knob: "",
    };
    /// It was still being switched out.
    pub const ON_CPU: Self = Self {
        name: "ttwu: still switching out",
        text: "woken before it had left its CPU, it stays there without a search",
        knob: "NO_TTWU_QUEUE",
    };
    /// The CPU it was put on is on its way out of idle.
    pub const ON_ITS_WAY: Self = Self {
        name: "idle exit: its CPU is waking up",
        text: "the task has an idle CPU of its own, which is on its way: interrupt, exit latency, \
               switch",
        knob: "",
    };
}

/// Levels of a domain chain that notes are kept for; higher ones share the last.
const LEVELS: usize = 8;

/// An attempt to get a task, and what it failed by.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// When, ns; 0 if never.
    pub at: Ns,
    /// Why it brought nothing.
    pub reason: &'static Reason,
}

const NONE_YET: Attempt = Attempt { at: 0, reason: &Reason::UNTOLD };

/// What a CPU last looked for in vain, by level.
#[derive(Clone, Copy, Debug)]
pub struct Sought {
    by_level: [Attempt; LEVELS],
    /// The level from which on it did not look, and why.
    gave_up: (usize, Attempt),
}

impl Default for Sought {
    fn default() -> Self {
        Self { by_level: [NONE_YET; LEVELS], gave_up: (0, NONE_YET) }
    }
}

impl Sought {
    /// The last attempt that was, or would have been, at `level`.
    pub fn at_level(&self, level: usize) -> Attempt {
        let looked = self.by_level[level.min(LEVELS - 1)];
        let (from, gave_up) = self.gave_up;
        if level >= from && gave_up.at >= looked.at { gave_up } else { looked }
    }
}

impl World {
    /// `p` is where it is because of this.
    #[inline]
    pub fn note_placed(&mut self, p: TaskId, reason: &'static Reason) {
        self.tasks[p.idx()].placed = reason;
    }

    /// `cpu` looked for a task at this level of its domain chain and got none.
    #[inline]
    pub fn note_sought(&mut self, cpu: CpuId, level: usize, reason: &'static Reason) {
        let at = self.now;
        self.sought[cpu.idx()].by_level[level.min(LEVELS - 1)] = Attempt { at, reason };
    }

    /// `cpu` looks no further: not at this level, nor at those above.
    #[inline]
    pub fn note_gave_up(&mut self, cpu: CpuId, level: usize, reason: &'static Reason) {
        self.sought[cpu.idx()].gave_up = (level, Attempt { at: self.now, reason });
    }
}
