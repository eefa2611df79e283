//! A thread's place in its file, and the small steps that its present event still has to do.

use super::props::Props;
use crate::random::Stream;
use sim_core::{Ns, Op, TaskId};
use std::collections::VecDeque;

/// A mutex or a condition variable: one that the file names, or a barrier's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Which {
    Named(u32),
    Barrier(u32),
}

/// What a thread that is blocked waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Waits {
    Start,
    Mutex(Which),
    Cond(Which),
}

/// A small step. An event is made of a few; some of them take no time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Micro {
    /// An operation of the engine, which takes time.
    Do(Op),
    /// Tell the scheduler what the thread is like in its first phase.
    SetUp,
    /// Meet the others before the first event.
    Start,
    /// Sleep on until the last has come.
    Started,
    /// Sleep until so long after the start, ns, if it is not 0. Timers count from there.
    Begin(Ns),
    /// Try to lock; true: has slept for it, or comes from a condition variable.
    Lock(Which, bool),
    /// In the kernel: sleep unless the mutex was freed meanwhile.
    MutexSleep(Which),
    /// Sleep on until woken by an unlock.
    MutexAsleep(Which),
    Unlock(Which),
    /// In the kernel: wake a task that sleeps on the mutex.
    MutexWake(Which),
    /// Count as a waiter from here on.
    CondJoin(Which),
    /// The way into the kernel.
    FutexCall,
    /// Sleep until signalled, if that has not happened yet.
    CondSleep(Which),
    Signal(Which),
    Broadcast(Which),
    /// At the barrier, its mutex held.
    Meet(u32),
    /// Through the barrier, its mutex held.
    Passed(u32),
    /// Work until the clock shows this instant.
    RunUntil(Ns),
    /// Start a thread of this kind.
    Fork(u32),
}

/// A thread's place in its file, and its state.
#[derive(Debug)]
pub(super) struct Thread {
    /// Index of its thread object.
    pub kind: u32,
    /// Rounds through all phases that are done.
    pub round: u64,
    pub phase: usize,
    pub phase_round: u64,
    /// Index of the next event of the phase.
    pub event: usize,
    /// It has slept in this round of its phase.
    pub slept: bool,
    /// Small steps to do, the next one last.
    pub todo: Vec<Micro>,
    /// From when its timers count, ns: the start that all threads share, and its delay.
    pub started_at: Ns,
    /// Threads that the system call under way has yet to wake, the oldest first.
    pub wakes: VecDeque<TaskId>,
    /// Last expiries of its own timers, by number.
    timers: Vec<(u32, Ns)>,
    /// Where its speed's quick variation comes from.
    pub jitter: Stream,
    pub waits: Waits,
    /// The properties that the scheduler was told last.
    pub props: Props,
}

impl Thread {
    pub fn new(kind: u32, jitter: Stream) -> Self {
        Self {
            kind,
            round: 0,
            phase: 0,
            phase_round: 0,
            event: 0,
            slept: false,
            todo: Vec::new(),
            started_at: 0,
            wakes: VecDeque::new(),
            timers: Vec::new(),
            jitter,
            waits: Waits::Start,
            props: Props::INHERITED,
        }
    }

    /// Puts steps, in their order, before all that is left to do.
    pub fn first<const N: usize>(&mut self, steps: [Micro; N]) {
        self.todo.extend(steps.into_iter().rev());
    }

    /// `pthread_cond_wait`: count as a waiter, unlock, sleep, lock again.
    pub fn cond_wait(&mut self, cond: Which, mutex: Which) {
        self.first([
            Micro::CondJoin(cond),
            Micro::Unlock(mutex),
            Micro::FutexCall,
            Micro::CondSleep(cond),
            Micro::Lock(mutex, true),
        ]);
    }

    /// When its own timer `timer` expired last.
    pub fn timer(&self, timer: u32) -> Option<Ns> {
        self.timers.iter().find(|(n, _)| *n == timer).map(|(_, at)| *at)
    }

    pub fn set_timer(&mut self, timer: u32, at: Ns) {
        match self.timers.iter_mut().find(|(n, _)| *n == timer) {
            Some(known) => known.1 = at,
            None => self.timers.push((timer, at)),
        }
    }
}

/// A wake-up by futex: never SYNC.
pub(super) fn wake(task: TaskId) -> Op {
    Op::Wake { task, sync: false }
}
