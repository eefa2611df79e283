//! SWQUEUE_STEAL: an idle CPU whose own LLC's queue is empty takes from those of the other LLCs of
//! its node. It is ours: the cover letter of the shared wakequeue names it as an outlook, and no
//! patch has been posted.
//!
//! * Order: nearest first by the latency of a line; what is equally near as a ring that begins
//!   after the own LLC. That is how `select_idle_node` walks the groups of the domain above the
//!   LLC, and no queue is the first choice of all CPUs.
//! * Costs: the line of each list's head, unless the CPU has it still; then those of the pull, by
//!   distance: the queue's lock and nodes, the lock of the task's runqueue, the migration.
//! * All of it happens before newidle balance and with the own runqueue lock held, as the pull
//!   does. Whether the look is worth it is not asked (there is no counterpart of `avg_idle`).
//! * What a pull loses, a steal loses: a head that may not run here is dropped from its queue
//!   (SWQUEUE is version 1), and there is no second look in the same `schedule()`.

use crate::fair::queue::Discipline;
use crate::fair::state::path::PullStage;
use crate::fair::state::{Fair, sites};
use sim_core::{Ns, Step, World};
use topology::CpuId;

impl<S: Discipline> Fair<S> {
    /// On to the next LLC: read the head of its list, then look at it.
    pub(super) fn swq_steal(
        &mut self,
        w: &mut World,
        cpu: CpuId,
        stage: PullStage,
    ) -> (Option<Step>, PullStage) {
        let path = &mut self.balance.paths[cpu].pull;
        if stage == PullStage::NextLlc {
            let Some(q) = self.balance.steals.nth(self.topo.llc[cpu], path.n_stolen_from) else {
                return (None, PullStage::NoneLeft);
            };
            path.n_stolen_from += 1;
            path.queue = q as u32;
            let ns = self.swq_head_ns(w, cpu, q);
            return ((ns > 0).then_some(Step::Spend(ns)), PullStage::HeadRead);
        }
        let q = path.queue as usize;
        let queue = &self.swqueues[q];
        *self.balance.steals.seen(cpu, q) = queue.n_writes;
        if queue.head.is_task() {
            return (Some(Step::Lock(queue.lock, sites::PULL_POP)), PullStage::Hold);
        }
        (None, PullStage::NextLlc)
    }

    /// What reading the head of a queue's list takes, ns. It lies in the line of the lock: at the
    /// CPU that holds the lock or held it last, or here if the lock was not taken since the last
    /// look.
    fn swq_head_ns(&mut self, w: &World, cpu: CpuId, q: usize) -> Ns {
        let queue = &self.swqueues[q];
        let owner = w.locks.owner(queue.lock);
        if owner.is_none() && *self.balance.steals.seen(cpu, q) == queue.n_writes {
            return 0;
        }
        let at = owner.or_else(|| w.locks.last_owner(queue.lock));
        at.map_or(0, |other| w.line_ns(cpu, other))
    }
}
