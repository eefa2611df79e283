//! A thread of the recording while it is read: what it is doing, and what it has done.

use super::clock::Mark;
use super::habit::Habit;
use sim_core::{Ns, SleepState};
use topology::CpuId;
use workloads::replay::{Act, Thread};

/// However high the machine's costs, this part (1/4) of a piece of work is the thread's own: a
/// machine file may have costs for another kernel than the recorded one.
const OWN_SHARE: Ns = 4;
/// So many waits of a thread may turn out to be a timer's.
const DOUBTS_MAX: usize = 16;
/// Costs that did not fit are carried over to the next piece of work, up to here, ns.
const OWED_MAX: Ns = 10_000;

/// What a thread is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Doing {
    /// Made, and not yet woken for the first time.
    New,
    /// On a CPU.
    Running(CpuId),
    /// Waiting for a CPU since then.
    Runnable { since: Ns },
    /// Asleep since then.
    Asleep { since: Ns, how: SleepState },
    /// It has ended.
    Gone,
}

/// A thread, and its part of the recording so far.
pub(super) struct Live {
    pub thread: Thread,
    pub doing: Doing,
    /// Since when its work is not yet in `work`; meaningful while it runs.
    pub mark: Mark,
    /// When it was last charged for its time: what comes after, up to a sleep, is the scheduler's.
    pub charged: Ns,
    /// Work since the last act.
    work: Ns,
    /// The machine's own costs since the last act: the simulation adds them again.
    owed: Ns,
    /// The state in which it slept last.
    sleeps: SleepState,
    name: u16,
    nice: i8,
    /// It is no mere thread of a process, as far as is known, and has the name of its parent.
    pub may_exec: bool,
    /// The last wake-up: by whom or beside whom, and where among its acts if by it.
    pub woken_by: Option<(u32, Option<usize>)>,
    /// Who started it, if that is in the recording.
    pub parent: Option<u32>,
    /// Where it went to sleep last.
    pub left: Option<CpuId>,
    /// How its sleeps have ended, if one of them could tell. Most threads of a build have none.
    pub habit: Option<Box<Habit>>,
    /// Waits from before it was known to have a timer.
    pub doubts: Vec<Doubt>,
}

/// A wait for another thread that may have been for a timer.
#[derive(Clone, Copy)]
pub(super) struct Doubt {
    /// Where it is among the acts of the one that waited.
    pub wait: usize,
    /// Who ran when it ended, and where the wake-up is among its acts.
    pub waker: u32,
    pub wake: usize,
    /// When it ended, and how long it took.
    pub at: Ns,
    pub length: Ns,
}

impl Doubt {
    /// Memory that one takes until it is settled: itself, and two changes with what lies around.
    pub(super) const BYTES: usize = 4 * size_of::<Self>();
}

impl Live {
    /// `first_cpu`: it was there before the recording.
    pub(super) fn new(tid: u32, name: u16, process: u32, first_cpu: Option<CpuId>) -> Self {
        let nice = 0;
        let thread = Thread {
            tid,
            name,
            nice,
            process,
            kthread: false,
            bound_to: None,
            first_cpu,
            acts: Default::default(),
        };
        Self {
            thread,
            doing: Doing::New,
            mark: Mark::default(),
            charged: 0,
            work: 0,
            owed: 0,
            sleeps: SleepState::Interruptible,
            name,
            nice,
            may_exec: true,
            woken_by: None,
            parent: None,
            left: first_cpu,
            habit: None,
            doubts: Vec::new(),
        }
    }

    /// Adds work, and costs that are in it.
    pub(super) fn add(&mut self, work: Ns, costs: Ns) {
        self.work = self.work.saturating_add(work);
        self.owed += costs;
    }

    /// Adds costs that later work will contain.
    pub(super) fn owe(&mut self, costs: Ns) {
        self.owed += costs;
    }

    /// Takes back costs that were only an estimate.
    pub(super) fn owes_less(&mut self, costs: Ns) {
        self.owed = self.owed.saturating_sub(costs);
    }

    /// The work so far becomes an act; ticks have taken their share of it.
    pub(super) fn flush(&mut self, without_ticks: impl Fn(Ns) -> Ns) {
        let own = self.work.saturating_sub(self.owed).max(self.work / OWN_SHARE);
        self.owed = self.owed.saturating_sub(self.work - own).min(OWED_MAX);
        self.work = 0;
        let ns = without_ticks(own);
        if ns > 0 {
            self.thread.acts.push(Act::Run(ns));
        }
    }

    /// It sleeps, or slept, in this state.
    pub(super) fn sleeps(&mut self, how: SleepState) {
        if how == SleepState::Idle {
            self.thread.kthread = true;
        }
        if self.sleeps != how {
            self.sleeps = how;
            self.thread.acts.push(Act::Sleeps(how));
        }
    }

    /// This wait may have been for a timer; only few, and the first ones, are kept.
    pub(super) fn doubt(&mut self, doubt: Doubt) {
        let open = self.habit.as_ref().is_some_and(|h| h.may_become_known(doubt.length));
        if open && self.doubts.len() < DOUBTS_MAX {
            self.doubts.push(doubt);
        }
    }

    /// It has ended: what has not been learned of its sleeps by now never will be.
    pub(super) fn sleeps_no_more(&mut self) {
        if self.doubts.is_empty() || self.first_repeat().is_none() {
            (self.habit, self.doubts) = (None, Vec::new());
        }
    }

    /// As [`Habit::first_repeat`].
    pub(super) fn first_repeat(&self) -> Option<bool> {
        self.habit.as_ref()?.first_repeat()
    }

    /// It has this nice level from its beginning.
    pub(super) fn begins_with(&mut self, nice: i8) {
        (self.thread.nice, self.nice) = (nice, nice);
    }

    /// Its name as last shown.
    pub(super) fn name(&self) -> u16 {
        self.name
    }

    /// It shows this name from now on. The first time that a process started by another one
    /// changes its name it does so by `execve`; threads name themselves.
    pub(super) fn named(&mut self, name: u16) {
        if self.name == name {
            return;
        }
        self.name = name;
        let execs = self.may_exec && self.thread.first_cpu.is_none();
        self.may_exec = false;
        self.thread.acts.push(if execs { Act::Exec(name) } else { Act::Named(name) });
    }

    /// It has this nice level from now on.
    pub(super) fn nice(&mut self, nice: i8) {
        if self.nice != nice {
            self.nice = nice;
            self.thread.acts.push(Act::Nice(nice));
        }
    }
}
