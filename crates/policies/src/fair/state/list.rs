//! `cfs_tasks`: the fair tasks of a runqueue by how recently they ran, as a list
//! threaded through the tasks.

use super::fair::{Fair, QueueKind};
use sim_core::TaskId;
use topology::CpuId;

impl<S: QueueKind> Fair<S> {
    /// The task of `cpu` that ran longest ago (`cfs_tasks`, its tail), or NONE.
    #[inline]
    pub(crate) fn list_tail(&self, cpu: CpuId) -> TaskId {
        self.rqs[cpu].list_tail
    }

    /// The fair tasks of `cpu`, the current one included.
    pub(crate) fn list_of(&self, cpu: CpuId) -> impl Iterator<Item = TaskId> + '_ {
        let first = Some(self.rqs[cpu].list_head).filter(|p| p.is_task());
        let next = |p: &TaskId| Some(self.tasks[*p].list_next).filter(|p| p.is_task());
        std::iter::successors(first, next)
    }

    /// Moves `p`, which is on the list of `cpu`, to its head.
    #[inline]
    pub(crate) fn list_rotate_to_head(&mut self, cpu: CpuId, p: TaskId) {
        if self.rqs[cpu].list_head != p {
            self.list_del(cpu, p);
            self.list_add_head(cpu, p);
        }
    }

    pub(crate) fn list_add_head(&mut self, cpu: CpuId, p: TaskId) {
        let rq = &mut self.rqs[cpu];
        let old = std::mem::replace(&mut rq.list_head, p);
        if old.is_task() {
            self.tasks[old].list_prev = p;
        } else {
            rq.list_tail = p;
        }
        let se = &mut self.tasks[p];
        (se.list_prev, se.list_next) = (TaskId::NONE, old);
    }

    pub(crate) fn list_del(&mut self, cpu: CpuId, p: TaskId) {
        let se = &mut self.tasks[p];
        let prev = std::mem::replace(&mut se.list_prev, TaskId::NONE);
        let next = std::mem::replace(&mut se.list_next, TaskId::NONE);
        let rq = &mut self.rqs[cpu];
        if prev.is_task() {
            self.tasks[prev].list_next = next;
        } else {
            rq.list_head = next;
        }
        if next.is_task() {
            self.tasks[next].list_prev = prev;
        } else {
            rq.list_tail = prev;
        }
    }
}
