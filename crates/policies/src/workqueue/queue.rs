//! `queue_work`: which pool takes an item, and when.

use super::{Pwq, PwqId, WorkId, Workqueues};
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

    /// Under the pool's lock: the item goes to the pool, or waits for others of its pwq.
    pub(super) fn insert(&mut self, cx: &ProgramCx<'_>, work: WorkId) -> bool {
        let pwq = self.paths[cx.cpu()].pwq;
        let w = &mut self.works[work];
        (w.pwq, w.listed) = (pwq, true);
        w.color = self.wqs[w.wq].flushes.add();
        let p = &mut self.pwqs[pwq];
        p.nr_in_flight += 1;
        let max_active = self.wqs[p.wq].spec.max_active;
        if p.nr_active >= max_active {
            p.inactive.push_back(work);
            return false;
        }
        p.nr_active += 1;
        self.pools[p.pool].worklist.push_back(work);
        true
    }

    /// An item of `pwq` is complete: the next one that waits for that becomes active. No worker is
    /// woken for it: the worker that asks finds it, or its next kick does.
    pub(super) fn dec_active(&mut self, pwq: PwqId) {
        let p = &mut self.pwqs[pwq];
        p.nr_active -= 1;
        p.nr_in_flight -= 1;
        if p.nr_active < self.wqs[p.wq].spec.max_active
            && let Some(work) = p.inactive.pop_front()
        {
            p.nr_active += 1;
            self.pools[p.pool].worklist.push_back(work);
        }
        self.put_pwq(pwq);
    }
}
