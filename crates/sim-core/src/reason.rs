//! Why a task waits where it does, and why an idle CPU did not get it: notes that a policy leaves
//! at its decisions, for an explanation of the run.
//!
//! A note is a pointer to a constant, written over the one before, and nothing in a simulation
//! reads it. A CPU's vain search is noted by the level of its domain chain: the decision that
//! misses a task behind another cache is that of the level that spans both CPUs.

use crate::{Ns, TaskId, World};
use std::fmt;
use topology::CpuId;

/// The CPUs that can take a task from where a rule has put it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Takers {
    /// Its CPU, and any CPU that balances.
    #[default]
    Balance,
    /// Its CPU only.
    Own,
    /// Any CPU that looks.
    Any,
}

/// A rule of a policy or of the mechanism that can leave a CPU idle while a task waits.
#[derive(PartialEq, Eq)]
pub struct Reason {
    /// Short: the kernel's function, a colon, what it did.
    pub name: &'static str,
    /// A sentence for readers who do not know the function by heart.
    pub text: &'static str,
    /// Features and tunables that change it; may be empty.
    pub knob: &'static str,
    /// For a rule that places tasks: the CPUs that can take the task from there.
    pub takers: Takers,
}

/// Prints the name alone: it identifies the constant.
impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Reason {
    /// A rule of a class that balances.
    pub const fn new(name: &'static str, text: &'static str, knob: &'static str) -> Self {
        Self { name, text, knob, takers: Takers::Balance }
    }

    /// The policy does not say.
    pub const UNTOLD: Self = Self::new("untold", "the policy does not say why", "");
    /// The task may run on one CPU only, and that is busy.
    pub const ONE_CPU: Self = Self::new(
        "select_task_rq: one CPU allowed",
        "a task that may run on one CPU only was put there, and one of the two had to wait",
        "",
    );
    /// The workload says where its first tasks start.
    pub const START: Self = Self::new(
        "start: where the workload says",
        "the workload says on which CPU the task begins",
        "",
    );
    /// What the policy chose is not allowed.
    pub const FALLBACK: Self = Self::new(
        "select_fallback_rq: first allowed CPU",
        "the CPU chosen was not allowed, so the task took the first that is",
        "",
    );
    /// Not a task: a CPU's stopper.
    pub const STOPPER: Self = Self::new(
        "migration/N: about to run",
        "the stopper was woken to move a task, and counts as one that waits until it runs",
        "",
    );
    /// It moved because its affinity changed.
    pub const AFFINITY: Self = Self::new(
        "set_cpus_allowed: moved",
        "its affinity changed, and it was moved to a CPU that is allowed, busy or not",
        "",
    );
    /// It moved as it executed another program.
    pub const EXEC: Self = Self::new(
        "sched_exec: moved",
        "balancing on exec chose another CPU, and the stopper moved the task there",
        "",
    );
    /// It was still being switched out.
    pub const ON_CPU: Self = Self::new(
        "ttwu: still switching out",
        "woken before it had left its CPU, it stays there without a search",
        "NO_TTWU_QUEUE",
    );
    /// The CPU it was put on is on its way out of idle.
    pub const ON_ITS_WAY: Self = Self::new(
        "idle exit: its CPU is waking up",
        "the task has an idle CPU of its own, which is on its way: interrupt, exit latency, switch",
        "",
    );
    /// The idle CPU looked at one queue, and the task waits on another.
    pub const ANOTHER_QUEUE: Self = Self::new(
        "find_busiest_queue: another queue",
        "the search chose another queue to pull from than the one where the task waits",
        "",
    );
}

/// Levels of a domain chain that notes are kept for; higher ones share the last.
const LEVELS: usize = 8;

/// An attempt to get a task, and what it failed by.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// The instant of the attempt, ns; 0 if there was none.
    pub at: Ns,
    /// Why it brought no task.
    pub reason: &'static Reason,
    /// The queue that it is about, if it is about one.
    pub queue: Option<CpuId>,
}

const NONE_YET: Attempt = Attempt { at: 0, reason: &Reason::UNTOLD, queue: None };

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
        // Of a search that failed and one that was not made, the later is why the CPU has no task.
        if level >= from && gave_up.at >= looked.at { gave_up } else { looked }
    }
}

impl World {
    /// Notes why `p` is where it is.
    #[inline]
    pub fn note_placed(&mut self, p: TaskId, reason: &'static Reason) {
        self.tasks[p].placed = reason;
    }

    /// `cpu` looked for a task at this level of its domain chain and got none.
    #[inline]
    pub fn note_sought(&mut self, cpu: CpuId, level: usize, reason: &'static Reason) {
        self.note_attempt(cpu, level, Attempt { at: self.now, reason, queue: None });
    }

    /// The same, if it came as far as the queue of a CPU.
    #[inline]
    pub fn note_attempt(&mut self, cpu: CpuId, level: usize, attempt: Attempt) {
        self.sought[cpu].by_level[level.min(LEVELS - 1)] = attempt;
    }

    /// `cpu` looks no further: not at this level, nor at those above.
    #[inline]
    pub fn note_gave_up(&mut self, cpu: CpuId, level: usize, reason: &'static Reason) {
        self.sought[cpu].gave_up = (level, Attempt { at: self.now, reason, queue: None });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use topology::{Machine, RegularSpec};

    #[test]
    fn the_highest_levels_share_a_note() {
        let machine = Machine::regular(RegularSpec::default());
        let (mut w, cpu) = (World::new(machine.into(), Config::default()), CpuId(0));
        w.now = 5;
        w.note_sought(cpu, 3, &Reason::ONE_CPU);
        w.note_sought(cpu, LEVELS + 1, &Reason::EXEC);
        let at = |level| w.sought[cpu].at_level(level).reason.name;
        assert_eq!(
            [2, 3, 4].map(at),
            [&Reason::UNTOLD, &Reason::ONE_CPU, &Reason::UNTOLD].map(|r| r.name)
        );
        assert_eq!([LEVELS - 1, LEVELS, LEVELS + 9].map(at), [Reason::EXEC.name; 3]);
    }

    /// Of two notes the later says why.
    #[test]
    fn who_gave_up_did_not_look_at_what_is_above() {
        let machine = Machine::regular(RegularSpec::default());
        let (mut w, cpu) = (World::new(machine.into(), Config::default()), CpuId(0));
        w.now = 5;
        w.note_sought(cpu, 1, &Reason::ONE_CPU);
        w.now = 6;
        w.note_gave_up(cpu, 1, &Reason::EXEC);
        w.note_sought(cpu, 0, &Reason::START);
        w.now = 7;
        w.note_sought(cpu, 2, &Reason::ON_CPU);
        let names = [0, 1, 2, 3].map(|level| w.sought[cpu].at_level(level).reason.name);
        let expected = [&Reason::START, &Reason::EXEC, &Reason::ON_CPU, &Reason::EXEC];
        assert_eq!(names, expected.map(|reason| reason.name));
    }
}
