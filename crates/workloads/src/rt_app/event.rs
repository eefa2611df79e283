//! What each event does, in small steps.

use super::thread::{Micro, Waits, Which, wake};
use super::{Event, RtApp};
use sim_core::{Ns, Op, ProgramCx, Step, TaskId};

/// `runtime` looks at the clock after pieces of this length, at the calibrated speed.
const RUNTIME_PIECE_NS: Ns = 32_000;

impl RtApp {
    /// Begins an event: an operation, or small steps that lead to some.
    pub(super) fn begin(&mut self, cx: &ProgramCx<'_>, me: TaskId, event: Event) -> Option<Op> {
        let named = Which::Named;
        match event {
            Event::Run(ns) => return Some(Op::Run(self.work(cx, me, ns))),
            Event::Runtime(ns) => {
                let end = cx.now().saturating_add(ns);
                self.thread(me).first([Micro::RunUntil(end)]);
            }
            Event::Sleep(ns) => return Some(Op::Sleep(ns)),
            Event::Timer { timer, period_ns, absolute } => {
                let at = self.next_expiry(me, cx.now(), timer, period_ns, absolute);
                return Some(Op::SleepUntil(at));
            }
            Event::Lock(m) => self.thread(me).first([Micro::Lock(named(m), false)]),
            Event::Unlock(m) => self.thread(me).first([Micro::Unlock(named(m))]),
            Event::Wait(c, m) => self.thread(me).cond_wait(named(c), named(m)),
            Event::Signal(c) => self.thread(me).first([Micro::Signal(named(c))]),
            Event::Broadcast(c) => self.thread(me).first([Micro::Broadcast(named(c))]),
            Event::Sync(c, m) => {
                self.thread(me).cond_wait(named(c), named(m));
                self.thread(me).first([Micro::Signal(named(c))]);
            }
            Event::Barrier(b) => {
                let mutex = Which::Barrier(b);
                let steps = [Micro::Lock(mutex, false), Micro::Meet(b), Micro::Unlock(mutex)];
                self.thread(me).first(steps);
            }
            // `first` puts steps in front, so the last call here is done first: lock, wait, unlock.
            Event::Suspend(c, m) => {
                self.thread(me).first([Micro::Unlock(named(m))]);
                self.thread(me).cond_wait(named(c), named(m));
                self.thread(me).first([Micro::Lock(named(m), false)]);
            }
            Event::Resume(c, m) => {
                let broadcast = Micro::Broadcast(named(c));
                let steps = [Micro::Lock(named(m), false), broadcast, Micro::Unlock(named(m))];
                self.thread(me).first(steps);
            }
            Event::Yield => return Some(Op::Yield),
            Event::Fork(kind) => self.thread(me).first([Micro::Fork(kind)]),
        }
        None
    }

    /// Does a small step; `None` if it took no time.
    pub(super) fn micro(&mut self, cx: &mut ProgramCx<'_>, me: TaskId, micro: Micro) -> Option<Op> {
        match micro {
            Micro::Do(op) => Some(op),
            Micro::SetUp => {
                let kind = self.thread(me).kind as usize;
                self.set_sched(me, kind);
                None
            }
            Micro::Start => self.arrive(me, cx.now()),
            Micro::Started => self.await_start(me),
            Micro::Begin(delay) => {
                let begins = self.start.zero.saturating_add(delay);
                self.thread(me).started_at = begins;
                (delay > 0).then_some(Op::SleepUntil(begins))
            }
            Micro::CondJoin(c) => {
                self.cond(c).join(me);
                None
            }
            Micro::Meet(b) => {
                self.meet(me, b);
                None
            }
            Micro::Passed(b) => {
                self.barriers[b as usize].missing += 1;
                None
            }
            Micro::RunUntil(end) => {
                if cx.now() >= end {
                    return None;
                }
                self.thread(me).first([Micro::RunUntil(end)]);
                Some(Op::Run(self.work(cx, me, RUNTIME_PIECE_NS)))
            }
            Micro::Fork(kind) => Some(Op::Fork(self.new_thread(cx, kind as usize, false))),
            blocking => self.futex(me, blocking),
        }
    }

    /// The steps that go to the kernel's futexes if they must.
    fn futex(&mut self, me: TaskId, micro: Micro) -> Option<Op> {
        match micro {
            Micro::Lock(m, has_waited) => {
                if self.mutex(m).try_lock(has_waited) {
                    return None;
                }
                self.thread(me).first([Micro::MutexSleep(m), Micro::Lock(m, true)]);
                Some(Op::Kernel(self.costs.futex))
            }
            Micro::MutexSleep(m) => {
                let sleeps = self.mutex(m).sleep(me);
                sleeps.then(|| self.block(me, Micro::MutexAsleep(m), Waits::Mutex(m)))
            }
            Micro::MutexAsleep(m) => {
                let sleeps = self.mutex(m).is_asleep(me);
                sleeps.then(|| self.block(me, Micro::MutexAsleep(m), Waits::Mutex(m)))
            }
            Micro::Unlock(m) => {
                if !self.mutex(m).unlock() {
                    return None;
                }
                self.thread(me).first([Micro::MutexWake(m)]);
                Some(Op::Kernel(self.costs.futex))
            }
            Micro::MutexWake(m) => self.mutex(m).wake_one().map(wake),
            Micro::FutexCall => Some(Op::Kernel(self.costs.futex)),
            Micro::CondSleep(c) => {
                let waits = self.cond(c).is_waiting(me);
                waits.then(|| self.block(me, Micro::CondSleep(c), Waits::Cond(c)))
            }
            Micro::Signal(c) => {
                let woken = self.cond(c).signal()?;
                self.thread(me).first([Micro::Do(wake(woken))]);
                Some(Op::Kernel(self.costs.futex))
            }
            Micro::Broadcast(c) => {
                let woken: Vec<TaskId> = std::iter::from_fn(|| self.cond(c).signal()).collect();
                let wakes = self.wake_all(me, woken)?;
                self.thread(me).first([Micro::Do(wakes)]);
                Some(Op::Kernel(self.costs.futex))
            }
            _ => None,
        }
    }

    /// `FUTEX_WAKE` of all: one system call. So a thread that is woken first and ought to preempt
    /// the waker waits until the last is awake (unless the kernel is preemptible).
    pub(super) fn wake_all(
        &mut self,
        me: TaskId,
        woken: impl IntoIterator<Item = TaskId>,
    ) -> Option<Op> {
        let wakes = &mut self.thread(me).wakes;
        wakes.extend(woken);
        (!wakes.is_empty()).then_some(Op::Path)
    }

    /// The next step of such a call.
    pub(super) fn next_wake(&mut self, me: TaskId) -> Step {
        let next = self.thread(me).wakes.pop_front();
        next.map_or(Step::Done, |task| Step::Wake { task, sync: false })
    }

    /// Sleeps; whatever wakes it, it looks at `again` first.
    pub(super) fn block(&mut self, me: TaskId, again: Micro, on: Waits) -> Op {
        let thread = self.thread(me);
        thread.waits = on;
        thread.first([again]);
        Op::Wait
    }

    /// At a barrier, its mutex held: the last thread wakes the others, the rest wait. A thread that
    /// has passed is missing again for the next round.
    fn meet(&mut self, me: TaskId, b: u32) {
        let own = Which::Barrier(b);
        if self.barriers[b as usize].missing == 0 {
            return self.thread(me).first([Micro::Broadcast(own)]);
        }
        self.barriers[b as usize].missing -= 1;
        self.thread(me).first([Micro::Passed(b)]);
        self.thread(me).cond_wait(own, own);
    }

    /// When a timer expires next. It counts from its thread's start; a relative one that is late
    /// counts anew from now.
    fn next_expiry(&mut self, me: TaskId, now: Ns, timer: u32, period: Ns, absolute: bool) -> Ns {
        let unique = self.spec.timers[timer as usize].unique;
        let shared = self.timers[timer as usize];
        let thread = self.thread(me);
        let last = if unique { thread.timer(timer) } else { shared };
        let at = last.unwrap_or(thread.started_at).saturating_add(period);
        // rt-app sets a relative timer that is late to now, but does not sleep for this period.
        let kept = if at <= now && !absolute { now } else { at };
        if unique {
            thread.set_timer(timer, kept);
        } else {
            self.timers[timer as usize] = Some(kept);
        }
        at
    }
}
