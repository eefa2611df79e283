//! What EEVDF keeps beside `state`: per task, per runqueue, and the trees of waiting tasks.

use super::tree::Trees;
use crate::fair::state::{KernelRules, QueueKind, Rules};
use sim_core::{Ns, TaskId};

/// EEVDF as a queueing discipline; with `GROUPS`, tasks may be in task groups (`queue::groups`).
#[derive(Clone, Debug)]
pub struct Eevdf<const GROUPS: bool = false> {
    pub(crate) rules: Rules,
    pub(crate) kernel: &'static KernelRules,
    pub(crate) trees: Trees<GROUPS>,
}

/// What a task, or a group's entity, has under EEVDF. Deadlines and the like are in its virtual
/// time, as its vruntime.
#[derive(Clone, Copy, Default, Debug)]
pub struct EevdfTask {
    /// When its slice ends; relative to its vruntime while `rel_deadline`.
    pub deadline: u64,
    /// How long it may run from one deadline to the next, ns of CPU time.
    pub slice: Ns,
    /// The slice is its own and not the base slice.
    pub custom_slice: bool,
    /// How far it was behind V when it left its queue.
    pub vlag: i64,
    /// While it runs. Up to v6.12: the deadline when it was picked; it is protected while this is
    /// still its deadline. Since v6.18: the vruntime up to which it is protected (vprot).
    pub protect: u64,
    /// `rel_deadline`: it is changing queues and keeps what is left of its slice.
    pub rel_deadline: bool,
    /// It sleeps, but has a debt to pay and stays on its queue.
    pub sched_delayed: bool,
}

/// The waiting tasks of a runqueue and their weighted sum of vruntimes.
#[derive(Clone, Copy, Debug)]
pub struct EevdfQueue {
    /// Root of its tree.
    pub(crate) root: TaskId,
    /// `avg_vruntime`: the sum of (vruntime - min_vruntime) * weight.
    pub(crate) sum: i128,
    /// `avg_load`: the sum of weights.
    pub(crate) load: u64,
    /// `cfs_rq.nr_running`, the current entity included; with groups only.
    pub(crate) nr: u32,
}

impl Default for EevdfQueue {
    fn default() -> Self {
        Self { root: TaskId::NONE, sum: 0, load: 0, nr: 0 }
    }
}

impl<const GROUPS: bool> QueueKind for Eevdf<GROUPS> {
    type Entity = EevdfTask;
    type Queue = EevdfQueue;
    const GROUPS: bool = GROUPS;
    const DELAYS: bool = true;

    #[inline]
    fn rules(&self) -> Rules {
        self.rules
    }

    #[inline]
    fn kernel(&self) -> &'static KernelRules {
        self.kernel
    }

    #[inline]
    fn is_delayed(ext: &EevdfTask) -> bool {
        ext.sched_delayed
    }
}
