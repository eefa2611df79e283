//! What happened, told to an observer: metrics, a trace, a profile.

use crate::{
    Category, Decision, LockId, MigrationCause, Ns, SignalSource, Site, Stack, TaskId, World,
};
use topology::CpuId;

/// Is told of events at the instant when they happen. A run without an observer pays nothing for
/// this: all methods are empty by default, and calls are resolved at compile time. The executing
/// CPU is `w.this` (in the policy's own timer it is no CPU of the machine).
///
/// Two observers watch together as a pair, and `&mut dyn Observer` is an observer too.
pub trait Observer {
    /// `cpu` goes over from `prev` to `next` (IDLE and STOP included); the switch starts now.
    #[inline]
    fn switch(&mut self, _w: &World, _cpu: CpuId, _prev: TaskId, _next: TaskId) {}

    /// `schedule()` on `cpu` has left its current task where it is.
    #[inline]
    fn stays(&mut self, _w: &World, _cpu: CpuId) {}

    /// The executing CPU begins to wake `task`, which last was on `task.cpu` (`sched_waking`).
    /// Wake-ups that find the task awake are not told.
    #[inline]
    fn waking(&mut self, _w: &World, _task: TaskId) {}

    /// `task` counts on the runqueue of `cpu` from here on: after a wake-up, a fork, or a move by
    /// the engine. Of moves by the policy only [`Observer::migrate`] tells.
    #[inline]
    fn enqueued(&mut self, _w: &World, _cpu: CpuId, _task: TaskId) {}

    /// `task` became runnable on `cpu` by a wake-up (`sched_wakeup`), or for the first time.
    #[inline]
    fn wakeup(&mut self, _w: &World, _cpu: CpuId, _task: TaskId, _new: bool) {}

    /// A wake-up found `task` about to sleep but still on the runqueue of `cpu`: it stays there
    /// (`ttwu_runnable`; the kernel traces it as `sched_wakeup` too).
    #[inline]
    fn wakeup_on_rq(&mut self, _w: &World, _cpu: CpuId, _task: TaskId) {}

    /// `task` leaves the runqueue of `cpu` to sleep or, if its state is dead, for ever.
    #[inline]
    fn dequeue(&mut self, _w: &World, _cpu: CpuId, _task: TaskId) {}

    /// `parent`, current on `cpu`, has made `child`, which is not runnable yet.
    #[inline]
    fn fork(&mut self, _w: &World, _cpu: CpuId, _parent: TaskId, _child: TaskId) {}

    /// The stopper of `cpu` was given work (its wake-up takes no steps of its own).
    #[inline]
    fn stopper_woken(&mut self, _w: &World, _cpu: CpuId) {}

    /// `task` waited this long from its wake-up to its first run.
    #[inline]
    fn sched_delay(&mut self, _w: &World, _task: TaskId, _ns: Ns) {}

    /// `task`, current on `cpu` from here on, waited this long for it: since its wake-up, its fork,
    /// or its last turn, if it was preempted. `prev` had the CPU before.
    #[inline]
    fn waited_for_cpu(&mut self, _w: &World, _cpu: CpuId, _task: TaskId, _prev: TaskId, _ns: Ns) {}

    /// `task` moves to another CPU.
    #[inline]
    fn migrate(
        &mut self,
        _w: &World,
        _task: TaskId,
        _from: CpuId,
        _to: CpuId,
        _why: MigrationCause,
    ) {
    }

    /// A CPU had to wait for a lock or a task's state and has it now.
    #[inline]
    fn waited(&mut self, _w: &World, _cpu: CpuId, _site: &'static Site, _ns: Ns) {}

    /// True if [`Observer::time_passed`] is to be called. It makes a run slower.
    #[inline]
    fn watches_time(&self) -> bool {
        false
    }

    /// `cpu` has spent `ns` more in one category and one place. Called only if
    /// [`Observer::watches_time`], and then for all busy time to the nanosecond; time in idle and
    /// in the exit from idle is not told.
    #[inline]
    fn time_passed(&mut self, _w: &World, _cpu: CpuId, _what: Category, _at: &Stack, _ns: Ns) {}

    /// True if [`Observer::decided`] is to be called. Asked once, before the run.
    #[inline]
    fn watches_decisions(&self) -> bool {
        false
    }

    /// The policy has decided something that no tracepoint shows, on the executing CPU. Called only
    /// if [`Observer::watches_decisions`].
    #[inline]
    fn decided(&mut self, _w: &World, _what: &Decision) {}

    /// True if [`Observer::signals`] is to be called. Every tick is simulated then.
    #[inline]
    fn watches_signals(&self) -> bool {
        false
    }

    /// An event on `cpu` is over, such as a switch or a tick: its signals may have changed, and
    /// those of the tasks that it concerned. Called only if [`Observer::watches_signals`].
    #[inline]
    fn signals(&mut self, _w: &World, _cpu: CpuId, _source: &dyn SignalSource) {}

    /// `cpu` owns `lock` now and goes on; it waited for `wait`, if it had to. `last` is the CPU
    /// that owned it before.
    #[inline]
    fn acquired(
        &mut self,
        _w: &World,
        _cpu: CpuId,
        _lock: LockId,
        _last: CpuId,
        _wait: Option<Ns>,
    ) {
    }

    /// `cpu` lets go of `lock`.
    #[inline]
    fn released(&mut self, _w: &World, _cpu: CpuId, _lock: LockId) {}

    /// True if the observer needs every switch, and all events in the order of time across CPUs.
    /// Otherwise [`Simulation::run_events`] may leave out switches between tasks that only compute,
    /// and the events around them. It may also tell [`Observer::sched_delay`] and
    /// [`Observer::waited_for_cpu`] early.
    ///
    /// [`Simulation::run_events`]: crate::Simulation::run_events
    #[inline]
    fn heeds_order(&self) -> bool {
        true
    }

    /// The measurement begins here: what was observed before does not count. Times are accounted.
    #[inline]
    fn measurement_begins(&mut self, _w: &World) {}

    /// An event has been handled completely (for invariants).
    #[inline]
    fn after_event(&mut self, _w: &World) {}

    /// The simulation stops here, all times accounted; it may be carried on.
    #[inline]
    fn end(&mut self, _w: &World) {}

    /// True if the observer can take in nothing more, as when its output cannot be written. The
    /// driver of the simulation may then stop it.
    #[inline]
    fn has_enough(&self) -> bool {
        false
    }
}

/// An observer that watches nothing.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoObserver;

impl Observer for NoObserver {
    #[inline]
    fn heeds_order(&self) -> bool {
        false
    }
}

/// Writes the methods that hand everything on, so that a pair cannot miss a new one.
macro_rules! hand_on {
    ($self:ident => $($to:expr),+) => {
        hand_on! { $self, ($($to),+),
            switch(cpu: CpuId, prev: TaskId, next: TaskId);
            stays(cpu: CpuId);
            waking(task: TaskId);
            enqueued(cpu: CpuId, task: TaskId);
            wakeup(cpu: CpuId, task: TaskId, new: bool);
            wakeup_on_rq(cpu: CpuId, task: TaskId);
            dequeue(cpu: CpuId, task: TaskId);
            fork(cpu: CpuId, parent: TaskId, child: TaskId);
            stopper_woken(cpu: CpuId);
            sched_delay(task: TaskId, ns: Ns);
            waited_for_cpu(cpu: CpuId, task: TaskId, prev: TaskId, ns: Ns);
            migrate(task: TaskId, from: CpuId, to: CpuId, why: MigrationCause);
            waited(cpu: CpuId, site: &'static Site, ns: Ns);
            time_passed(cpu: CpuId, what: Category, at: &Stack, ns: Ns);
            decided(what: &Decision);
            signals(cpu: CpuId, source: &dyn SignalSource);
            acquired(cpu: CpuId, lock: LockId, last: CpuId, wait: Option<Ns>);
            released(cpu: CpuId, lock: LockId);
            measurement_begins();
            after_event();
            end();
        }
    };
    ($self:ident, $to:tt, $($method:ident($($arg:ident: $kind:ty),*);)+) => {
        $(hand_on! { @one $self, $to, $method, ($($arg: $kind),*), ($($arg),*) })+
    };
    (@one $self:ident, ($($to:expr),+), $method:ident, ($($arg:ident: $kind:ty),*), $args:tt) => {
        #[inline]
        fn $method(&mut $self, w: &World, $($arg: $kind),*) {
            $(hand_on! { @call $to, $method, w, $args })+
        }
    };
    (@call $to:expr, $method:ident, $w:ident, ($($arg:ident),*)) => {
        $to.$method($w, $($arg),*);
    };
}

#[deny(clippy::missing_trait_methods, reason = "a forgotten method would take the default")]
impl<A: Observer, B: Observer> Observer for (A, B) {
    hand_on!(self => self.0, self.1);

    #[inline]
    fn has_enough(&self) -> bool {
        self.0.has_enough() || self.1.has_enough()
    }

    #[inline]
    fn watches_time(&self) -> bool {
        self.0.watches_time() || self.1.watches_time()
    }

    #[inline]
    fn watches_decisions(&self) -> bool {
        self.0.watches_decisions() || self.1.watches_decisions()
    }

    #[inline]
    fn watches_signals(&self) -> bool {
        self.0.watches_signals() || self.1.watches_signals()
    }

    #[inline]
    fn heeds_order(&self) -> bool {
        self.0.heeds_order() || self.1.heeds_order()
    }
}

#[deny(clippy::missing_trait_methods, reason = "a forgotten method would take the default")]
impl<O: Observer + ?Sized> Observer for &mut O {
    hand_on!(self => (**self));

    #[inline]
    fn has_enough(&self) -> bool {
        (**self).has_enough()
    }

    #[inline]
    fn watches_time(&self) -> bool {
        (**self).watches_time()
    }

    #[inline]
    fn watches_decisions(&self) -> bool {
        (**self).watches_decisions()
    }

    #[inline]
    fn watches_signals(&self) -> bool {
        (**self).watches_signals()
    }

    #[inline]
    fn heeds_order(&self) -> bool {
        (**self).heeds_order()
    }
}
