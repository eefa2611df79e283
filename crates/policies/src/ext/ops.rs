//! What a scheduler of the sched_ext shape answers, under the names of `struct sched_ext_ops`.
//!
//! Every operation but `select_cpu`, `enqueue` and `dispatch` may be left out; those three have
//! the kernel's defaults, so that an empty implementation already is a scheduler. In Linux:
//! `kernel/sched/ext.c`, v6.12 (spec 12.2).

use super::cx::Cx;
use sim_core::{EnqueueFlags, Ns, TaskId};
use topology::{CpuId, DenseId};

/// A dispatch queue that the scheduler has made. The default stands for none yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DsqId(pub(super) u32);

impl DenseId for DsqId {
    #[inline]
    fn index(self) -> usize {
        self.0 as usize
    }

    fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).expect("a run has fewer dispatch queues than 2^32"))
    }
}

/// Where a task is inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dsq {
    /// `SCX_DSQ_LOCAL`: the own queue of the CPU that the task is on; inside `dispatch`, of the
    /// dispatching CPU.
    Local,
    /// `SCX_DSQ_GLOBAL`: the built-in queue of the task's NUMA node.
    Global,
    /// A queue made by [`Cx::create_dsq`].
    User(DsqId),
}

/// Flags of an insertion.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Insert {
    /// `SCX_ENQ_HEAD`: first, not last. FIFO queues only.
    pub head: bool,
    /// `SCX_ENQ_PREEMPT`: the current task of the CPU gives way (local queues only; implies
    /// `head`).
    pub preempt: bool,
    /// Ours: at the instant of the insertion, kick an idle CPU that may run the task. An idle CPU
    /// that was looked for earlier, as `enqueue` can do at best, may have gone idle since.
    pub kick_idle: bool,
}

/// Flags of a wake-up that `select_cpu` is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wake {
    /// `SCX_WAKE_SYNC`: the waker will sleep soon.
    pub sync: bool,
    /// `SCX_WAKE_FORK`
    pub fork: bool,
}

/// Why [`Cx::select_cpu_dfl`] has chosen a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// It was idle and is claimed now.
    Idle,
    /// It is the waker's, which will sleep soon.
    Waker,
    /// There was none better: the task's previous one.
    Prev,
}

/// What [`Cx::kick_cpu`] is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kick {
    /// `SCX_KICK_IDLE`: only if it idles.
    Idle,
    /// `SCX_KICK_PREEMPT`: its current task gives way.
    Preempt,
}

/// Answer of [`Ops::dispatch`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// `scx_bpf_consume`: move the first task of this queue that may run here to the local queue.
    /// If there is none, `dispatch` is asked for the next attempt.
    Consume(DsqId),
    /// Nothing more; what was inserted meanwhile is carried out.
    Done,
}

/// A scheduler.
pub trait Ops {
    /// True if [`Ops::tick`] is to be called: then no tick is computed away.
    const TICKS: bool = false;

    /// The scheduler is loaded; no task exists yet.
    fn init(&mut self, _cx: &mut Cx<'_>) {}

    /// A task was made by `parent` (or exists from the start).
    fn init_task(&mut self, _cx: &mut Cx<'_>, _p: TaskId, _parent: Option<TaskId>) {}

    /// The task enters the scheduler; `set_weight` follows.
    fn enable(&mut self, _cx: &mut Cx<'_>, _p: TaskId) {}

    /// The task leaves the scheduler for ever.
    fn disable(&mut self, _cx: &mut Cx<'_>, _p: TaskId) {}

    /// The task is gone; its id may be used again.
    fn exit_task(&mut self, _cx: &mut Cx<'_>, _p: TaskId) {}

    /// `p` wakes up, or is new: where shall it be enqueued? A CPU that idles is kicked when `p` is
    /// there. Inserting `p` here skips `enqueue`. Not called for tasks that may use one CPU only.
    fn select_cpu(&mut self, cx: &mut Cx<'_>, p: TaskId, prev: CpuId, wake: Wake) -> CpuId {
        let (cpu, why) = cx.select_cpu_dfl(p, prev, wake);
        if why != Why::Prev {
            cx.insert(p, Dsq::Local, cx.slice_dfl());
        }
        cpu
    }

    /// `p` is runnable on `cx.task_cpu(p)` and not inserted anywhere: insert it, or keep it.
    fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
        cx.insert(p, Dsq::Global, cx.slice_dfl());
    }

    /// `p`, which the scheduler keeps, is taken away (its affinity changes).
    fn dequeue(&mut self, _cx: &mut Cx<'_>, _p: TaskId) {}

    /// `cpu` has nothing to run but perhaps `prev`, whose slice is over. `attempt` counts the
    /// queues that were named and had nothing, from 0.
    fn dispatch(
        &mut self,
        _cx: &mut Cx<'_>,
        _cpu: CpuId,
        _prev: Option<TaskId>,
        _attempt: u32,
    ) -> Next {
        Next::Done
    }

    /// A tick found `p` running. Only if [`Ops::TICKS`].
    fn tick(&mut self, _cx: &mut Cx<'_>, _p: TaskId) {}

    /// `p` becomes runnable.
    fn runnable(&mut self, _cx: &mut Cx<'_>, _p: TaskId, _flags: EnqueueFlags) {}

    /// `p` starts to run.
    fn running(&mut self, _cx: &mut Cx<'_>, _p: TaskId) {}

    /// `p` stops running; `runnable`: it would go on. Its slice is what it has left.
    fn stopping(&mut self, _cx: &mut Cx<'_>, _p: TaskId, _runnable: bool) {}

    /// `p` is no longer runnable.
    fn quiescent(&mut self, _cx: &mut Cx<'_>, _p: TaskId) {}

    /// `p` yields. False: it gives up its slice.
    fn yield_task(&mut self, _cx: &mut Cx<'_>, _p: TaskId) -> bool {
        false
    }

    /// `cpu` goes idle, or ceases to be.
    fn update_idle(&mut self, _cx: &mut Cx<'_>, _cpu: CpuId, _idle: bool) {}

    /// The weight of `p` was set or has changed (100: nice 0).
    fn set_weight(&mut self, _cx: &mut Cx<'_>, _p: TaskId, _weight: u32) {}

    /// The allowed CPUs of `p` are about to change.
    fn set_cpumask(&mut self, _cx: &mut Cx<'_>, _p: TaskId) {}

    /// A higher class has taken `cpu` (here: the stopper).
    fn cpu_release(&mut self, _cx: &mut Cx<'_>, _cpu: CpuId) {}

    /// `cpu` is back.
    fn cpu_acquire(&mut self, _cx: &mut Cx<'_>, _cpu: CpuId) {}
}

/// A decided insertion.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Wanted {
    pub to: Dsq,
    pub slice: Ns,
    pub vtime: Option<u64>,
    pub flags: Insert,
}
