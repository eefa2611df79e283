//! Changing a workqueue's affinity while it is in use: a write to its files in sysfs.
//!
//! The task that writes makes the workers of pools that do not exist yet, then the workqueue goes
//! over to the new pwqs. What is queued in the old ones is executed by the old pools, whose workers
//! leave when they find nothing more; those asleep stay asleep, unlike in the kernel.

use super::path::Errand;
use super::{Affinity, Kind, PoolId, WorkerId, Workqueues, WqId};
use sim_core::{Op, ProgramCx};

/// A change under way, by a task that is not a worker.
#[derive(Debug)]
pub struct Change {
    wq: WqId,
    affinity: Affinity,
    /// By CPU.
    pools: Vec<PoolId>,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// The next pool to look at.
    Pool(usize),
    Start(usize),
    Attach(usize, WorkerId),
}

impl Workqueues {
    /// Begins to change an unbound workqueue.
    ///
    /// # Panics
    /// If it is bound.
    pub fn change(&mut self, cx: &mut ProgramCx<'_>, wq: WqId, affinity: Affinity) -> Change {
        assert!(self.is_unbound(wq), "only unbound workqueues have an affinity");
        let mut spec = self.wqs[wq].spec.clone();
        spec.kind = Kind::Unbound(affinity);
        let pools = self.pools_of(cx, &spec);
        // Held until the workqueue uses them.
        pools.iter().for_each(|pool| self.pools[*pool].refs += 1);
        Change { wq, affinity, pools, stage: Stage::Pool(0) }
    }
}

impl Change {
    /// What the task does next; `None` when the workqueue has changed.
    pub fn next(&mut self, all: &mut Workqueues, cx: &mut ProgramCx<'_>) -> Option<Op> {
        match self.stage {
            Stage::Pool(at) => {
                let without = |pool: &PoolId| all.pools[*pool].n_workers == 0;
                let Some(offset) = self.pools[at..].iter().position(without) else {
                    self.install(all);
                    return None;
                };
                self.stage = Stage::Start(at + offset);
                Some(Op::Kernel(cx.machine().workqueue.create_worker_ns))
            }
            Stage::Start(at) => {
                let worker = all.make_worker(cx, self.pools[at]);
                self.stage = Stage::Attach(at, worker);
                Some(Op::Fork(all.workers[worker].task))
            }
            Stage::Attach(at, worker) => {
                self.stage = Stage::Pool(at);
                Some(all.enter(cx, Errand::Attach(worker), self.pools[at]))
            }
        }
    }

    fn install(&self, all: &mut Workqueues) {
        let wq = &mut all.wqs[self.wq];
        let before = std::mem::replace(&mut wq.spec.kind, Kind::Unbound(self.affinity));
        let same_pools =
            wq.pwqs.iter().map(|pwq| all.pwqs[*pwq].pool).eq(self.pools.iter().copied());
        if before != wq.spec.kind && !same_pools {
            all.install(self.wq, &self.pools);
        }
        self.pools.iter().for_each(|pool| all.pools[*pool].refs -= 1);
    }
}
