//! `queue_work`: which pool takes an item, and when.

use super::{Pwq, WorkId, Workqueues};
use sim_core::ProgramCx;

impl Pwq {
    /// It was replaced, and has let go of its pool.
    pub(super) fn is_released(&self) -> bool {
        self.replaced && self.nr_in_flight == 0
    }
}

impl Workqueues {
    /// Begins to queue an item on the executing CPU, in a task or in an interrupt; the caller then
    /// goes through [`Workqueues::step`] to its end. False, and nothing to be done, if the item is
    /// pending already.
    pub fn queue(&mut self, cx: &mut ProgramCx<'_>, work: WorkId) -> bool {
        let w = &mut self.works[work];
        if std::mem::replace(&mut w.pending, true) {
            return false;
        }
        self.begin_queue(cx, work);
        true
    }

    /// Under the pool's lock: the item goes to the pool, or waits for others of its workqueue.
    pub(super) fn insert(&mut self, cx: &ProgramCx<'_>, work: WorkId) -> bool {
        let pwq = self.paths[cx.cpu()].pwq;
        let w = &mut self.works[work];
        (w.pwq, w.listed) = (pwq, true);
        w.color = self.wqs[w.wq].flushes.add();
        let p = &mut self.pwqs[pwq];
        p.nr_in_flight += 1;
        if !self.may_activate(pwq) {
            self.pwqs[pwq].inactive.push_back(work);
            return false;
        }
        let pool = self.pwqs[pwq].pool;
        self.pools[pool].worklist.push_back(work);
        true
    }
}
