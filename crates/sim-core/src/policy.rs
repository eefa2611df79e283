//! The questions that the mechanism asks a scheduling policy, under the kernel's names.
//!
//! A policy decides and keeps its own state; it spends no time by itself. Where a decision takes
//! long or needs locks (a pull, a balance pass) the policy is *resumed* again and again and answers
//! with the next [`Step`]; the mechanism carries the step out and asks again. Each step reads the
//! world, and changes it, at the instant when the step before it has ended.

use crate::{LockId, MaskId, Ns, SchedAttr, Signals, Site, Stack, TaskId, Within, World};
use topology::CpuId;

/// The occasion at which a CPU is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SelectKind {
    /// `try_to_wake_up`.
    Wake {
        /// WF_SYNC: the waker says that it will sleep soon.
        sync: bool,
        /// The wake-up runs in an interrupt; `current` is the task that was interrupted.
        in_irq: bool,
    },
    /// The search of a wake-up has taken its time and ends now: it decides by what it sees at its
    /// end.
    Search {
        /// [`Choice::cpu`] of the first answer.
        target: CpuId,
    },
    /// `wake_up_new_task`.
    Fork,
    /// `sched_exec`.
    Exec,
}

/// Answer of [`Policy::select_task_rq`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    /// The CPU chosen; it need not be allowed for the task. For a wake-up with a search: the CPU
    /// near which it looks.
    pub cpu: CpuId,
    /// Time the search takes beyond the fixed part of the wake-up, ns. A wake-up with such a search
    /// asks again when the time is over, with [`SelectKind::Search`].
    pub scan_ns: Ns,
}

/// Flags of an enqueue: why the task comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EnqueueFlags {
    /// ENQUEUE_WAKEUP: it was woken.
    pub wakeup: bool,
    /// ENQUEUE_MIGRATED: it comes from another CPU.
    pub migrated: bool,
    /// First enqueue after fork.
    pub initial: bool,
}

/// Flags of a dequeue: why the task goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DequeueFlags {
    /// DEQUEUE_SLEEP: it goes to sleep or exits; otherwise it is moved.
    pub sleep: bool,
}

/// A short critical section that a policy wants inside the runqueue lock that is held (swqueue's
/// append and unlink). The mechanism takes `lock`, spends what [`Policy::nested_hold`] says once it
/// is granted, calls [`Policy::nested_done`], and releases it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nested {
    /// The lock to take inside the runqueue's.
    pub lock: LockId,
    /// Call site for the profile.
    pub site: &'static Site,
    /// The task that is queued or unlinked.
    pub task: TaskId,
    /// What to do, in a code of the policy's own.
    pub op: u8,
}

/// Whether a hook wants a nested critical section.
pub type Hook = Option<Nested>;

/// Next step of a resumable path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Let this much time pass, then resume.
    Spend(Ns),
    /// Take a lock (spinning if it is held), then resume.
    Lock(LockId, &'static Site),
    /// Take a lock if it is free; resume, and read the outcome from `Cpu::trylock_ok`.
    TryLock(LockId, &'static Site),
    /// Release a lock, then resume.
    Unlock(LockId),
    /// Spin until this task is neither migrating nor being switched out, then resume.
    WaitTask(TaskId, &'static Site),
    /// Wake a task, with all locks that the path holds kept meanwhile; then resume. Paths of
    /// programs only (see [`crate::Program::path`]).
    Wake {
        /// The task to wake.
        task: TaskId,
        /// WF_SYNC, as in [`crate::Op::Wake`].
        sync: bool,
    },
    /// From here interrupts wait (softirq paths only; paths inside `schedule()` are irq-off
    /// anyway).
    IrqOff,
    /// From here interrupts cut in again.
    IrqOn,
    /// The path is finished. A path that took locks has released them, but for those that it began
    /// with.
    Done,
}

impl Step {
    /// True for [`Step::Done`]. Whether two steps are equal takes longer to see.
    #[inline]
    pub const fn is_done(&self) -> bool {
        matches!(self, Self::Done)
    }
}

/// Work for a CPU's stopper thread (`struct cpu_stop_work`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopWork {
    /// Move this task (it ran here when the work was queued) to another CPU: `sched_exec`.
    Migrate(TaskId, CpuId),
    /// Active balance: the policy pushes one task to this CPU.
    Push(CpuId),
}

/// What an operation of a policy has cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OperationCount {
    /// Its name.
    pub name: &'static str,
    /// Calls that are over.
    pub calls: u64,
    /// Instructions of these.
    pub instructions: u64,
}

/// A scheduling class. All methods get the world at the present instant, `w.now`.
///
/// Which CPU executes is `w.this`: costs of side effects (an IPI sent by [`World::resched_curr`])
/// are charged there.
pub trait Policy {
    /// Prepares state for a machine; called once, before any task exists.
    fn init(&mut self, w: &mut World);

    /// A task was created by `parent` (or at the start of the run): `sched_fork` / `task_fork`.
    fn task_fork(&mut self, w: &mut World, p: TaskId, parent: Option<TaskId>);

    /// A task has exited and left its runqueue; its id may be used again.
    fn task_dead(&mut self, _w: &mut World, _p: TaskId) {}

    /// `select_task_rq`: chooses a CPU for `p`. The choice need not be allowed for `p`: the
    /// mechanism then falls back to another CPU.
    fn select_task_rq(&mut self, w: &mut World, p: TaskId, kind: SelectKind) -> Choice;

    /// `p`, not on any queue, is about to change from `from` to `to` in a wake-up
    /// (`migrate_task_rq`). `p.cpu` still is `from`.
    fn migrate_task_rq(&mut self, _w: &mut World, _p: TaskId, _from: CpuId, _to: CpuId) {}

    /// Puts `p` on the runqueue of `cpu`, whose lock is held. The mechanism has set `on_rq` and
    /// counted `nr_running` (so it includes `p`).
    fn enqueue_task(&mut self, w: &mut World, cpu: CpuId, p: TaskId, flags: EnqueueFlags) -> Hook;

    /// Takes `p` off the runqueue of `cpu`, whose lock is held. `nr_running` still includes `p`.
    ///
    /// A policy may keep a sleeping task on the queue for a while (delayed dequeue): it marks the
    /// task by [`World::set_delayed`], and the task stays counted. To take it off at last, inside a
    /// later [`Policy::pick_next_task`] or [`Policy::wakeup_preempt`], the policy clears the mark
    /// and calls [`World::deactivate`].
    fn dequeue_task(&mut self, w: &mut World, cpu: CpuId, p: TaskId, flags: DequeueFlags) -> Hook;

    /// The lock of the nested critical section `n`, asked for by a hook on `cpu`'s runqueue, is
    /// granted now: how long the section takes, ns.
    fn nested_hold(&self, _w: &World, _cpu: CpuId, _n: Nested) -> Ns {
        0
    }

    /// `p`, kept on the queue of `cpu` in its sleep, is woken (ENQUEUE_DELAYED): it stays there,
    /// and sleeps no more. [`Policy::wakeup_preempt`] follows.
    fn wake_delayed(&mut self, _w: &mut World, _cpu: CpuId, _p: TaskId) {}

    /// The nested critical section `n` ends now; another one may follow at once.
    fn nested_done(&mut self, _w: &mut World, _cpu: CpuId, _n: Nested) -> Hook {
        None
    }

    /// `check_preempt_curr`: `p` was put on `cpu`'s queue; call [`World::resched_curr`] if it
    /// should run. The queue's clock ([`World::rq_clock`]) is still that of the lock, though the
    /// path may have taken time since.
    fn wakeup_preempt(&mut self, w: &mut World, cpu: CpuId, p: TaskId, flags: EnqueueFlags);

    /// The task that should run on `cpu`, or `None` if no task of this class is runnable. The
    /// previous task, if still runnable, is a candidate. Changes nothing but buddies, and takes
    /// delayed tasks that it meets off the queue.
    fn pick_next_task(&mut self, w: &mut World, cpu: CpuId) -> Option<TaskId>;

    /// `put_prev_task` and `set_next_task`: `cpu` goes over from `prev` to `next`, which differ
    /// (ordinary tasks or IDLE/STOP). A `prev` that sleeps has been dequeued before.
    fn switch_task(&mut self, w: &mut World, cpu: CpuId, prev: TaskId, next: TaskId) -> Hook;

    /// The pull path: `cpu` holds its runqueue lock inside `schedule()` and nothing is runnable.
    /// Called with `first` true once per `schedule()`, then with false until [`Step::Done`]; the
    /// mechanism then asks [`Policy::pick_next_task`] a last time. `prev` is the task being left.
    /// The runqueue lock must be held again at `Done`.
    fn before_idle(&mut self, _w: &mut World, _cpu: CpuId, _prev: TaskId, _first: bool) -> Step {
        Step::Done
    }

    /// A tick edge at `w.now` on `cpu`, which may be idle. May call `resched_curr` and
    /// [`World::raise_softirq`].
    fn task_tick(&mut self, w: &mut World, cpu: CpuId);

    /// The earliest tick edge, at or after `w.cpus[cpu].tick_next`, at which `task_tick` may do
    /// more than account for the running task: ticks before it are replayed later by `task_tick`
    /// with `w.now` set back to the edge. Must not be later than the first such edge.
    fn next_deciding_tick(&self, w: &World, cpu: CpuId) -> Ns {
        w.cpus[cpu].tick_next
    }

    /// Until when `cpu`, which runs a task, may run ahead of the other CPUs; 0: not at all. Up to
    /// that instant its ticks, and the switches that they lead to, concern only this CPU and the
    /// tasks on its queue, as long as no other CPU touches the queue. This means: no tick raises a
    /// softirq, each of the tasks works on its segment ([`World::works_until`]), there always is a
    /// task to pick, and [`Policy::switch_task`] returns no hook. A policy that brings the instant
    /// forward for another reason calls [`World::disturb`].
    fn only_ticks_until(&self, _w: &World, _cpu: CpuId) -> Ns {
        0
    }

    /// The scheduler softirq raised on `cpu`: periodic balance, or a nohz-idle request. Resumed
    /// like [`Policy::before_idle`]; no lock is held at the start or at `Done`.
    fn softirq(&mut self, _w: &mut World, _cpu: CpuId, _first: bool) -> Step {
        Step::Done
    }

    /// Body of the stopper for [`StopWork::Push`]; no lock is held at the start or at `Done`.
    fn stopper(&mut self, _w: &mut World, _cpu: CpuId, _target: CpuId, _first: bool) -> Step {
        Step::Done
    }

    /// The stopper of `cpu` was woken for [`StopWork`]: `nr_running` counts it from here on
    /// (`ttwu_do_activate`). Called for work of the mechanism only (`sched_exec`, a new affinity),
    /// not for work that the policy itself queues by [`World::stop_one_cpu`].
    fn stopper_woken(&mut self, _w: &mut World, _cpu: CpuId) {}

    /// True if a CPU may go to sleep while tasks count on its runqueue. Such tasks may run on any
    /// CPU, as in sched_ext's dispatch queues, and only need_resched makes the CPU look again.
    fn idles_with_queued(&self) -> bool {
        false
    }

    /// `cpu` goes to sleep in the idle loop; `stops_tick` says whether its tick stops now (nohz).
    fn idle_enter(&mut self, _w: &mut World, _cpu: CpuId, _stops_tick: bool) {}

    /// `sched_yield` by the current task of `cpu`, just before `schedule()`.
    fn yield_task(&mut self, _w: &mut World, _cpu: CpuId) {}

    /// `p` gets this policy, nice level and slice (`__sched_setscheduler`). The lock of its
    /// runqueue is held; `p` may be running, queued, or asleep, and `w` still has the old values.
    fn set_scheduler(&mut self, _w: &mut World, _p: TaskId, _attr: SchedAttr) -> Hook {
        None
    }

    /// `p` gets this affinity mask (`set_cpus_allowed`), as [`Policy::set_scheduler`]. The
    /// mechanism moves it, if it must, afterwards.
    fn set_cpus_allowed(&mut self, _w: &mut World, _p: TaskId, _allowed: MaskId) -> Hook {
        None
    }

    /// The change of [`Policy::set_scheduler`] or [`Policy::set_cpus_allowed`] is stored, if that
    /// has asked for no lock: now `w` has the new values.
    fn attr_stored(&mut self, _w: &mut World, _p: TaskId) -> Hook {
        None
    }

    /// A nohz kick arrived at `cpu` (interrupt context).
    fn nohz_kick(&mut self, _w: &mut World, _cpu: CpuId) {}

    /// Replays the ticks of `cpu` that have passed in the middle of its running segment, so that
    /// its runqueue may be read or written. Call it before reading another CPU's averages; the
    /// engine does so before `enqueue_task`, `dequeue_task` and every event of the CPU itself.
    fn catch_up(&mut self, w: &mut World, cpu: CpuId) {
        w.replay_ticks(cpu, |w| self.task_tick(w, cpu));
    }

    /// The measurement begins here: the policy's counters start again.
    fn measurement_begins(&mut self) {}

    /// What the policy has counted since the measurement began: metrics by name.
    fn results(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// What its operations have cost since the measurement began, if they are programs whose
    /// instructions are counted.
    fn operations(&self) -> Vec<OperationCount> {
        Vec::new()
    }

    /// PELT averages of the runqueue of `cpu`, as of their last update, if the policy keeps any.
    fn cpu_signals(&self, _cpu: CpuId) -> Option<Signals> {
        None
    }

    /// The same of a task.
    fn task_signals(&self, _p: TaskId) -> Option<Signals> {
        None
    }

    /// For profiles: adds the functions of this policy that a path of `cpu` is in, and changes the
    /// stack's group if this part of the path has one of its own.
    fn unwind(&self, _w: &World, _cpu: CpuId, _at: Within, _stack: &mut Stack) {}

    /// Called at the instant last given to [`World::set_policy_timer`].
    fn policy_timer(&mut self, _w: &mut World) {}
}
