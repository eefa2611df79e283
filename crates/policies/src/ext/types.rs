//! What a scheduler and the class say to each other: queues, flags, answers; rules and tunables.

use sim_core::{Ns, TaskId};
use topology::{CpuId, DenseId};

/// The kernel version whose rules hold; they differ in the built-in choice of a CPU.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Rules {
    /// Any idle CPU is as good as another.
    V6_12,
    /// Idle CPUs of the same LLC first, then of the node.
    #[default]
    V6_18,
}

/// Tunables of the layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tunables {
    /// `SCX_SLICE_DFL`, ns.
    pub slice_ns: Ns,
}

impl Default for Tunables {
    fn default() -> Self {
        Self { slice_ns: 20_000_000 }
    }
}

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
    /// `SCX_DSQ_LOCAL_ON`: the own queue of this CPU, on which the task may run.
    LocalOn(CpuId),
    /// `SCX_DSQ_GLOBAL`: the built-in queue of the task's NUMA node.
    Global,
    /// A queue made by [`super::Cx::create_dsq`].
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

/// Flags of a search for an idle CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pick {
    /// `SCX_PICK_IDLE_CORE`: of a whole idle core, or none. Without SMT it says nothing.
    pub core: bool,
    /// `SCX_PICK_IDLE_IN_NODE`: in the node where the search begins, or none. Without masks per
    /// node it says nothing.
    pub in_node: bool,
}

/// Why [`super::Cx::select_cpu_dfl`] has chosen a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// It was idle and is claimed now.
    Idle,
    /// It is the waker's, which will sleep soon.
    Waker,
    /// There was none better: the task's previous one.
    Prev,
}

/// What [`super::Cx::kick_cpu`] is for; the later ones do what the earlier ones do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kick {
    /// `SCX_KICK_IDLE`: only if it idles.
    Idle,
    /// No flag: it schedules once; its current task may stay.
    Resched,
    /// `SCX_KICK_PREEMPT`: its current task gives way.
    Preempt,
}

/// Answer of [`super::Ops::dispatch`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// `scx_bpf_consume`: move the first task of this queue that may run here to the local queue.
    /// If there is none, `dispatch` is asked for the next attempt.
    Consume(DsqId),
    /// `scx_bpf_dsq_move`: move this task, if it is still where it was. `dispatch` is asked for the
    /// next attempt if it is not, else `consumed`. What was inserted before waits.
    Move(Move),
    /// Nothing more; what was inserted meanwhile is carried out.
    Done,
}

/// A task that is to go from a queue to another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move {
    /// The task.
    pub task: TaskId,
    /// The queue that it is on.
    pub from: DsqId,
    /// Where it goes. [`Dsq::Local`]: to the dispatching CPU.
    pub to: Dsq,
    /// Its slice there, ns; `None`: the one that it has.
    pub slice: Option<Ns>,
    /// Its vtime; only if `to` is by vtime.
    pub vtime: Option<u64>,
    /// As for an insertion.
    pub flags: Insert,
}

/// A decided insertion.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Wanted {
    pub to: Dsq,
    pub slice: Ns,
    pub vtime: Option<u64>,
    pub flags: Insert,
}

impl Wanted {
    /// At the end of a queue by arrival.
    pub fn last(to: Dsq, slice: Ns) -> Self {
        Self { to, slice, vtime: None, flags: Insert::default() }
    }
}
