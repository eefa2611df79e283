//! A thread of the recording while it is read: what it is doing, and what it has done.

use super::clock::Mark;
use super::reconstruct::interrupts::KernelWakes;
use super::reconstruct::replies::Partner;
use super::sleep_pattern::SleepPattern;
use sim_core::{Ns, SleepState};
use topology::CpuId;
use workloads::replay::{Act, Thread, Timed};

/// However high the machine's costs are, one part in so many of a piece of work is the thread's
/// own: the costs in a machine file may be those of another kernel than the recorded one.
const OWN_SHARE: Ns = 16;
/// Waits of a thread that are kept because timers may turn out to have ended them.
const UNCERTAIN_SLEEPS_MAX: usize = 16;
/// Costs that exceed a piece of work are taken off the next one, up to this much, ns.
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
    /// It has exited.
    Gone,
}

/// A thread, and its part of the recording so far.
pub(super) struct Live {
    pub thread: Thread,
    pub doing: Doing,
    /// Up to here its work is in `work`; meaningful while it runs.
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
    /// A change of its name may be an `execve`: it still has its first name, and no line has shown
    /// that it is a further thread of a process.
    pub may_exec: bool,
    /// The thread that ran at the last wake-up, and the place of the wake-up among that thread's
    /// acts; no place if a timer was the waker.
    pub woken_by: Option<(u32, Option<usize>)>,
    /// The place among its acts after the sleep that an interrupt has ended last.
    pub ended_by_interrupt: Option<usize>,
    /// The thread that it woke last, and the place among its acts after that.
    pub last_wake: Option<(u32, usize)>,
    /// It was preempted right after a wake-up, so that one's path had ended.
    left_path: bool,
    /// When another thread woke it while it still ran, on its way to sleep.
    pub woken_early: Option<Ns>,
    /// The thread that it talks to most.
    pub partner: Partner,
    /// The thread that woke it last, and since when that one had run, if it took that one's CPU
    /// then.
    pub preempted: Option<(u32, Ns)>,
    /// Its process's id, if the recording tells it.
    pub tgid: Option<u32>,
    /// The thread that started it, if that is in the recording.
    pub parent: Option<u32>,
    /// Since when it is on its CPU; meaningful while it runs.
    pub came: Ns,
    /// Where its last sleep's timer is set in a replay, at the end of the work before; 0: that was
    /// before the recording.
    pub set_at: Ns,
    /// It was woken and has not run since.
    pub woken: bool,
    /// The CPU that woke it, if it has not run since.
    pub woken_from: Option<CpuId>,
    /// The CPU of its wake-up's last event: where it was put, or where it was last if only
    /// `sched_waking` was recorded.
    pub woken_to: Option<CpuId>,
    /// That CPU was seen to enqueue it.
    pub enqueued_by_waker: bool,
    /// What its waker is taken to have saved by leaving the enqueue to an idle CPU, ns.
    pub waker_saved: Ns,
    /// How often it has left its CPU, and how often by a yield to others.
    pub leaves: u32,
    pub yields: u32,
    /// Its last charge may have been that of a yield to nobody.
    pub may_have_yielded: bool,
    /// How its last sleep ended of which the recording tells it, if no thread ended that.
    pub last_timed: Timed,
    /// When it exited, if it has.
    pub ended: Ns,
    /// The CPU on which it went to sleep last.
    pub left: Option<CpuId>,
    pub kernel_wakes: KernelWakes,
    /// How its sleeps have ended; `None` before the first one that can tell. Most threads of a
    /// build have no such sleep.
    pub pattern: Option<Box<SleepPattern>>,
    /// Waits that ended before the thread was known to have a timer.
    pub uncertain_sleeps: Vec<UncertainSleep>,
}

/// A wait for another thread that may have been for a timer.
#[derive(Clone, Copy)]
pub(super) struct UncertainSleep {
    /// Its place among the acts of the thread that waited.
    pub wait: usize,
    /// The thread that ran when it ended, and the place of the wake-up among that thread's acts.
    pub waker: u32,
    pub wake: usize,
    /// When it ended, and how long it took. A replay's begins earlier, where its timer is set.
    pub at: Ns,
    pub length: Ns,
    pub set_at: Ns,
}

impl UncertainSleep {
    /// Memory that one takes until it is settled: itself, and two changes with what lies around.
    pub(super) const BYTES: usize = 4 * size_of::<Self>();
}

impl Live {
    /// A thread without acts. `first_cpu`: where it slept when the recording began; `None` if it
    /// was started later.
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
            measured: true,
            session: 0,
            active_ns: 0,
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
            tgid: None,
            ended_by_interrupt: None,
            last_wake: None,
            left_path: false,
            woken_early: None,
            kernel_wakes: KernelWakes::default(),
            partner: Partner::default(),
            preempted: None,
            parent: None,
            came: 0,
            set_at: 0,
            woken: false,
            woken_from: None,
            woken_to: None,
            enqueued_by_waker: false,
            waker_saved: 0,
            leaves: 0,
            yields: 0,
            may_have_yielded: false,
            last_timed: Timed::Until,
            ended: 0,
            left: first_cpu,
            pattern: None,
            uncertain_sleeps: Vec::new(),
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

    /// Turns the work so far into an act, without the machine's costs and the share of ticks.
    pub(super) fn flush(&mut self, without_ticks: impl Fn(Ns) -> Ns) {
        let ns = without_ticks(self.own_work(self.work / OWN_SHARE));
        if ns > 0 {
            self.thread.acts.push(Act::Run(ns));
        }
    }

    /// Takes the work so far without the machine's costs, or `least` of it.
    fn own_work(&mut self, least: Ns) -> Ns {
        let own = self.work.saturating_sub(self.owed).max(least);
        self.owed = self.owed.saturating_sub(self.work - own).min(OWED_MAX);
        self.work = 0;
        own
    }

    /// It is preempted.
    pub(super) fn leaves_path(&mut self) {
        self.left_path |= self.last_wake.is_some_and(|(_, end)| end == self.thread.acts.end());
    }

    /// The thread that it has just woken preempts it at once: the way from the wake-up to here was
    /// the kernel's.
    pub(super) fn is_preempted_by(&mut self, wakee: u32) {
        if self.last_wake == Some((wakee, self.thread.acts.end())) {
            let ns = self.own_work(0);
            self.thread.acts.push(Act::InPath(ns));
            self.left_path = false;
        }
    }

    /// It leaves its CPU to the thread that it has just woken, which has not preempted it: if it
    /// exits or waits for a disk, the way from the wake-up to here is taken for one system call.
    /// Who sleeps interruptibly may do so in another one. (Who sleeps idle is a kernel thread,
    /// which has no user mode to be preempted in.)
    pub(super) fn leaves_to(&mut self, wakee: u32) {
        let in_call = match self.doing {
            Doing::Gone => true,
            Doing::Asleep { how, .. } => how != SleepState::Interruptible,
            _ => false,
        };
        if let Some((last, end)) = self.last_wake
            && in_call
            && last == wakee
            && !self.left_path
        {
            self.thread.acts.make_in_call(end);
        }
    }

    /// Before a wake-up: a piece of work more shows that the wake-up before was not of the same
    /// path (see [`workloads::replay`]).
    pub(super) fn split_work(&mut self) {
        if std::mem::take(&mut self.left_path) && self.work > 1 {
            self.thread.acts.push(Act::Run(1));
            self.work -= 1;
        }
    }

    /// The state in which it slept last.
    pub(super) fn sleep_state(&self) -> SleepState {
        self.sleeps
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

    /// A timer may have ended this wait. Only the first few waits are kept.
    pub(super) fn note_uncertain(&mut self, sleep: UncertainSleep) {
        let open = self.pattern.as_ref().is_some_and(|h| h.may_become_known(sleep.length));
        if open && self.uncertain_sleeps.len() < UNCERTAIN_SLEEPS_MAX {
            self.uncertain_sleeps.push(sleep);
        }
    }

    /// The thread has exited: if its waits are not known to be a timer's by now, they never will
    /// be.
    pub(super) fn sleeps_no_more(&mut self) {
        if self.uncertain_sleeps.is_empty() || self.first_repeat().is_none() {
            (self.pattern, self.uncertain_sleeps) = (None, Vec::new());
        }
    }

    /// As [`SleepPattern::first_repeat`].
    pub(super) fn first_repeat(&self) -> Option<bool> {
        self.pattern.as_ref()?.first_repeat()
    }

    /// The thread has this nice level from its beginning.
    pub(super) fn begins_with(&mut self, nice: i8) {
        (self.thread.nice, self.nice) = (nice, nice);
    }

    /// Its name as last shown.
    pub(super) fn name(&self) -> u16 {
        self.name
    }

    /// The thread shows this name from now on. The first change of the name of a started process is
    /// an `execve`; all others count as the thread's naming itself.
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
