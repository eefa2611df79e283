//! What a CPU has to do later (the steps are in `deferred` and `kicks`).

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

/// Moves that a CPU has to make, the one under way, and kicks, which come after them.
#[derive(Default)]
pub(super) struct Deferred {
    /// Task, its enqueue, target, and what was decided.
    pub moves: VecDeque<(TaskId, u64, CpuId, Wanted)>,
    pub stage: Stage,
    pub kicks: Kicks,
    /// The task that runs next shall give way at once (`set_tsk_need_resched`).
    pub resched: bool,
    pub src: Option<CpuId>,
}

/// The kicks that a CPU has still to carry out.
#[derive(Default)]
pub(super) struct Kicks {
    /// Each CPU once, in the order of [`rank`].
    pub wanted: Vec<(CpuId, Kick)>,
    pub stage: Kicking,
}

#[derive(Clone, Copy, Default)]
pub(super) enum Kicking {
    /// The interrupt has not been taken yet.
    #[default]
    Asleep,
    Next,
    /// The lock of this CPU's runqueue is held.
    Locked(CpuId, Kick),
    /// It is still held, while the interrupt is sent.
    Kicked(CpuId),
}

/// Masks of CPUs are gone through one after the other, that of `SCX_KICK_IDLE` last.
fn rank((cpu, kick): (CpuId, Kick)) -> (bool, u32) {
    (kick == Kick::Idle, cpu.0)
}

impl Kicks {
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty() && matches!(self.stage, Kicking::Asleep)
    }

    /// True if this CPU has still to be kicked.
    pub fn has(&self, cpu: CpuId) -> bool {
        let is_next = matches!(self.stage, Kicking::Locked(target, _) if target == cpu);
        is_next || self.wanted.iter().any(|&(target, _)| target == cpu)
    }

    /// True while the runqueue of a kicked CPU is locked.
    pub fn is_locked(&self) -> bool {
        matches!(self.stage, Kicking::Locked(..) | Kicking::Kicked(_))
    }

    /// A CPU that is kicked in two ways is kicked in the stronger one.
    pub fn add(&mut self, cpu: CpuId, kick: Kick) {
        if let Some(at) = self.wanted.iter().position(|&(c, _)| c == cpu) {
            if self.wanted[at].1 >= kick {
                return;
            }
            self.wanted.remove(at);
        }
        let at = self.wanted.partition_point(|&k| rank(k) < rank((cpu, kick)));
        self.wanted.insert(at, (cpu, kick));
    }
}
