//! What a CPU has to do later (the steps are in `deferred`).

use super::types::{Kick, Wanted};
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

/// Moves that a CPU has to make, and the one under way.
#[derive(Default)]
pub(super) struct Deferred {
    /// Task, its enqueue, target, and what was decided.
    pub moves: VecDeque<(TaskId, u64, CpuId, Wanted)>,
    pub stage: Stage,
    /// The CPU itself is to be kicked.
    pub kick: Option<Kick>,
    pub src: Option<CpuId>,
}
