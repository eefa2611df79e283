//! The orders of a runqueue: by vruntime, and by how recently tasks ran.
//!
//! The kernel's red-black tree becomes a sorted ring buffer: queues are short, the leftmost entry
//! is read all the time, and most insertions are near an end. Equal keys keep the order of
//! arrival. `cfs_tasks` is a list threaded through the tasks (spec 8.7).

use super::super::Fair;
use super::super::state::FairRq;
use sim_core::TaskId;
use topology::CpuId;

impl FairRq {
    /// `__enqueue_entity`: after all entries that are not larger.
    #[inline]
    pub(crate) fn tree_insert(&mut self, vruntime: u64, p: TaskId) {
        match self.tree.back() {
            Some((last, _)) if vruntime < *last => {
                let at = self.tree.partition_point(|(v, _)| *v <= vruntime);
                self.tree.insert(at, (vruntime, p));
            }
            _ => self.tree.push_back((vruntime, p)),
        }
    }

    /// `__dequeue_entity`
    #[inline]
    pub(crate) fn tree_remove(&mut self, vruntime: u64, p: TaskId) {
        if self.tree.front().is_some_and(|(_, first)| *first == p) {
            self.tree.pop_front();
            return;
        }
        let mut at = self.tree.partition_point(|(v, _)| *v < vruntime);
        while self.tree[at].1 != p {
            at += 1;
        }
        debug_assert!(self.tree[at].0 == vruntime, "{p:?} moved in the tree");
        self.tree.remove(at);
    }

    /// `update_min_vruntime`, given that of the current task if it is on the queue.
    #[inline]
    pub(crate) fn update_min_vruntime(&mut self, curr: Option<u64>) {
        let leftmost = self.tree.front().map_or(u64::MAX, |(vruntime, _)| *vruntime);
        let least = curr.unwrap_or(u64::MAX).min(leftmost);
        if least != u64::MAX && least > self.min_vruntime {
            self.min_vruntime = least;
        }
    }

    /// The leftmost queued task.
    #[inline]
    pub(crate) fn leftmost(&self) -> Option<TaskId> {
        self.tree.front().map(|(_, p)| *p)
    }

    /// `clear_buddies`: `p` is nobody's candidate any more.
    #[inline]
    pub(crate) fn clear_buddies(&mut self, p: TaskId) {
        for buddy in [&mut self.next, &mut self.last, &mut self.skip] {
            if *buddy == p {
                *buddy = TaskId::NONE;
            }
        }
    }
}

impl Fair {
    #[inline]
    pub(crate) fn tree_insert(&mut self, cpu: CpuId, p: TaskId) {
        self.rqs[cpu.idx()].tree_insert(self.tasks[p.idx()].vruntime, p);
    }

    /// The task of `cpu` that ran longest ago (`cfs_tasks`, its tail), or NONE.
    #[inline]
    pub(crate) fn list_tail(&self, cpu: CpuId) -> TaskId {
        self.rqs[cpu.idx()].list_tail
    }

    /// Moves `p`, which is on the list of `cpu`, to its head.
    #[inline]
    pub(crate) fn list_rotate_to_head(&mut self, cpu: CpuId, p: TaskId) {
        if self.rqs[cpu.idx()].list_head != p {
            self.list_del(cpu, p);
            self.list_add_head(cpu, p);
        }
    }

    pub(crate) fn list_add_head(&mut self, cpu: CpuId, p: TaskId) {
        let rq = &mut self.rqs[cpu.idx()];
        let old = std::mem::replace(&mut rq.list_head, p);
        if old.is_task() {
            self.tasks[old.idx()].list_prev = p;
        } else {
            rq.list_tail = p;
        }
        let se = &mut self.tasks[p.idx()];
        (se.list_prev, se.list_next) = (TaskId::NONE, old);
    }

    pub(crate) fn list_del(&mut self, cpu: CpuId, p: TaskId) {
        let se = &mut self.tasks[p.idx()];
        let prev = std::mem::replace(&mut se.list_prev, TaskId::NONE);
        let next = std::mem::replace(&mut se.list_next, TaskId::NONE);
        let rq = &mut self.rqs[cpu.idx()];
        if prev.is_task() {
            self.tasks[prev.idx()].list_next = next;
        } else {
            rq.list_head = next;
        }
        if next.is_task() {
            self.tasks[next.idx()].list_prev = prev;
        } else {
            rq.list_tail = prev;
        }
    }
}
