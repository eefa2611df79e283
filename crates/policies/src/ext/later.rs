//! What a CPU has to do later (the steps are in `deferred`).

use super::kicks::Kicks;
use super::types::Wanted;
use sim_core::TaskId;
use std::collections::VecDeque;
use topology::CpuId;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Stage {
    #[default]
    Next,
    SourceLocked,
    Move,
    LockTarget,
    Arrive,
}

/// Moves that a CPU has to make, the one under way, and kicks, which come first.
#[derive(Default)]
pub(super) struct Deferred {
    /// Task, its enqueue, target, and what was decided.
    pub moves: VecDeque<(TaskId, u64, CpuId, Wanted)>,
    pub stage: Stage,
    pub kicks: Kicks,
    pub src: Option<CpuId>,
}
