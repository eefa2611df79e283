//! A dispatch in progress on one CPU (the steps are in `dispatch`).

use super::types::{DsqId, Move, Wanted};
use sim_core::TaskId;
use std::collections::VecDeque;
use topology::CpuId;

/// Rounds of `dispatch` (`SCX_DSP_MAX_LOOPS`).
pub(super) const LOOPS_MAX: u32 = 32;
/// Tasks that one call of `dispatch` may insert (`SCX_DSP_DFL_MAX_BATCH`).
pub(super) const BATCH_DFL: usize = 32;

/// On whose behalf a queue is consumed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// The kernel, before `dispatch`.
    First,
    /// The scheduler, in this attempt.
    Attempt(u32),
    /// The kernel, after `dispatch`.
    After,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DispatchStage {
    Look,
    /// The queue's lock is granted.
    Hold,
    Take,
    /// A task counts elsewhere: drop the own lock, take that one.
    DropOwn,
    LockSource,
    SourceLocked,
    Fetch,
    /// The task goes to a third CPU, whose lock is needed.
    LockTarget,
    TargetLocked,
    Relock,
    Attach,
    /// A queue that `dispatch` has named had a task: `dispatch` goes on.
    Consumed,
    /// A task that is moved needs the lock of the queue that it goes to.
    MoveLock,
    /// Carry out what `dispatch` has inserted.
    Flush,
    FlushHold,
    FlushInsert,
    Ask(u32),
    Done,
}

/// A dispatch in progress on one CPU.
pub(super) struct Path {
    pub stage: DispatchStage,
    pub queue: DsqId,
    pub purpose: Purpose,
    pub loops: u32,
    /// Tasks that `dispatch` has inserted in this round.
    pub n_dispatched: u32,
    /// What it has inserted, in order, and at which enqueue of the task.
    pub inserted: VecDeque<(TaskId, u64, Wanted)>,
    /// What it wants to consume, in which attempt, when that is carried out.
    pub consumes: Option<(DsqId, u32)>,
    /// What the scheduler wants to move from this queue, and at which enqueue of it that was.
    pub moves: Option<(Move, u64)>,
    /// The task being fetched or inserted.
    pub task: TaskId,
    pub wanted: Option<Wanted>,
    pub n_enqueued: u64,
    pub src: CpuId,
    /// Where it goes: this CPU, or another one (`SCX_DSQ_LOCAL_ON`).
    pub dst: CpuId,
    /// The insertion is the second half of a move.
    pub is_move: bool,
    /// It was fetched; false: another CPU was faster.
    pub is_ours: bool,
    /// This schedule has dispatched: what is on the local queue now is all there is.
    pub is_over: bool,
}

impl Default for Path {
    fn default() -> Self {
        Self {
            stage: DispatchStage::Done,
            queue: DsqId::default(),
            purpose: Purpose::First,
            loops: LOOPS_MAX,
            n_dispatched: 0,
            inserted: VecDeque::new(),
            consumes: None,
            moves: None,
            task: TaskId::NONE,
            wanted: None,
            n_enqueued: 0,
            src: CpuId(0),
            dst: CpuId(0),
            is_move: false,
            is_ours: false,
            is_over: false,
        }
    }
}

impl Path {
    /// True from the first look to the last.
    pub fn is_under_way(&self) -> bool {
        self.stage != DispatchStage::Done
    }

    /// True if a task has been taken and is being fetched.
    pub fn has_task(&self) -> bool {
        use DispatchStage::{Attach, DropOwn, Fetch, LockSource, Relock, SourceLocked};
        let is_moving =
            matches!(self.stage, DropOwn | LockSource | SourceLocked | Fetch | Relock | Attach);
        is_moving && self.src != self.dst
    }
}
