//! Reclaim beside truncation: threads that take the oldest pages, one after the other, as fast as
//! they can, until no page is left.
//!
//! Each page leaves its mapping under the mapping's `tree_lock` and a shadow entry takes its place
//! (`shrink_page_list`, `__remove_mapping`, Linux 4.14). The oldest pages are those of the file
//! that is truncated next, or now. A page costs as much as in a truncation (both unmap, remove and
//! free it). Left out: lists, isolation, watermarks. kswapd sleeps when enough memory is free;
//! these threads never do, as if other programs went on asking for memory.

use super::{Costs, Critical, Round, Truncate};
use sim_core::{Calls, Op, Step, TaskId};

/// One thread that reclaims.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Reclaimer {
    /// The file whose page it has in hand.
    file: u32,
    costs: Costs,
    critical: Critical,
}

/// kswapd on its way to a page.
pub(super) const CALLS: Calls =
    &["ret_from_fork", "kthread", "kswapd", "shrink_node", "shrink_page_list"];

impl Truncate {
    /// The next page, or the end. The reclaimers were made in a row, after the task that deletes.
    pub(super) fn reclaim(&mut self, task: TaskId) -> Op {
        let Some(file) = self.files.reclaim() else {
            return Op::Exit;
        };
        let costs = self.costs_of(file);
        let me = &mut self.reclaimers[task.idx() - 1];
        me.file = file;
        me.costs = Costs { owed_ps: me.costs.owed_ps, ..costs };
        Op::Path
    }

    pub(super) fn reclaim_path(&mut self, task: TaskId) -> Step {
        let me = &mut self.reclaimers[task.idx() - 1];
        let round = Round { entries: 1, pages: true };
        let lock = self.locks[me.file as usize];
        me.critical.step(round, lock, self.irq_ns, &mut me.costs).unwrap_or(Step::Done)
    }
}
