//! What a policy decides that no tracepoint tells of: searches for idle CPUs and balance passes.
//!
//! A policy knows no observer. It leaves its decisions with the world, and only if the observer
//! asks for them ([`crate::Observer::watches_decisions`]); the engine passes them on at the end of
//! the event, after the migrations of the same event.

use crate::{IdleType, TaskId, World};
use topology::CpuId;

/// How a balance pass ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BalanceEnd {
    /// There was nothing to do, or nothing that may be moved.
    Balanced,
    /// There was an imbalance, but no task was moved.
    Failed,
    /// So many tasks were moved.
    Moved(u32),
}

/// A decision, told at the end of the event in which it was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// The executing CPU begins `load_balance` (`sched_balance_rq`).
    BalanceBegins {
        /// The CPU that would get the tasks.
        cpu: CpuId,
        /// The level in the chain of that CPU's domains.
        level: u32,
        /// What that CPU is doing meanwhile.
        idle: IdleType,
    },
    /// The pass that the executing CPU began last is over.
    BalanceEnds(BalanceEnd),
    /// The policy has put a task that it was moving onto a runqueue.
    Attached {
        /// The task that was pulled or pushed.
        task: TaskId,
        /// The runqueue's CPU.
        cpu: CpuId,
    },
    /// The executing CPU has searched for an idle CPU (`select_idle_sibling`).
    Searched {
        /// The task that is being woken.
        task: TaskId,
        /// The CPU found; `None`: no idle one.
        found: Option<CpuId>,
        /// CPUs that the loops of the search have read; `None`: a CPU tried before them was idle.
        scanned: Option<u64>,
    },
}

impl World {
    /// Leaves a decision for the observer, if it asks for decisions.
    #[inline]
    pub fn tell(&mut self, decision: Decision) {
        if self.after.tells_decisions {
            self.keep(decision);
        }
    }

    // Apart, so that `tell` is a test and no more in runs without such an observer.
    #[cold]
    #[inline(never)]
    fn keep(&mut self, decision: Decision) {
        self.after.decisions.push(decision);
        self.after.disturbed = true;
    }
}
