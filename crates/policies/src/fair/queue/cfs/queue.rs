//! The order of a runqueue: by vruntime.
//!
//! The kernel's red-black tree becomes a sorted ring buffer: queues are short, the leftmost entry
//! is read all the time, and most insertions are near an end. Equal keys keep the order of
//! arrival.

use crate::fair::state::FairRq;
use sim_core::TaskId;
use std::collections::VecDeque;

/// The waiting entities of a queue, and those to be picked or left out of order.
#[derive(Clone, Debug)]
pub struct CfsQueue {
    /// By (vruntime, order of arrival), without the current task.
    pub tree: VecDeque<(u64, TaskId)>,
    /// The task that a wake-up has preempted.
    pub last: TaskId,
    /// The task that has yielded.
    pub skip: TaskId,
}

impl Default for CfsQueue {
    fn default() -> Self {
        let tree = VecDeque::with_capacity(16);
        Self { tree, last: TaskId::NONE, skip: TaskId::NONE }
    }
}

impl FairRq<CfsQueue> {
    /// `__enqueue_entity`: after all entries that are not larger.
    #[inline]
    pub(crate) fn tree_insert(&mut self, vruntime: u64, p: TaskId) {
        match self.queue.tree.back() {
            Some((last, _)) if vruntime < *last => {
                let at = self.queue.tree.partition_point(|(v, _)| *v <= vruntime);
                self.queue.tree.insert(at, (vruntime, p));
            }
            _ => self.queue.tree.push_back((vruntime, p)),
        }
    }

    /// `__dequeue_entity`
    #[inline]
    pub(crate) fn tree_remove(&mut self, vruntime: u64, p: TaskId) {
        if self.queue.tree.front().is_some_and(|(_, first)| *first == p) {
            self.queue.tree.pop_front();
            return;
        }
        let mut at = self.queue.tree.partition_point(|(v, _)| *v < vruntime);
        while self.queue.tree[at].1 != p {
            at += 1;
        }
        debug_assert!(self.queue.tree[at].0 == vruntime, "{p:?} moved in the tree");
        self.queue.tree.remove(at);
    }

    /// `update_min_vruntime`, given that of the current task if it is on the queue.
    #[inline]
    pub(crate) fn update_min_vruntime(&mut self, curr: Option<u64>) {
        let leftmost = self.queue.tree.front().map_or(u64::MAX, |(vruntime, _)| *vruntime);
        let least = curr.unwrap_or(u64::MAX).min(leftmost);
        if least != u64::MAX && least > self.min_vruntime {
            self.min_vruntime = least;
        }
    }

    /// The leftmost queued entity.
    #[inline]
    pub(crate) fn leftmost(&self) -> Option<TaskId> {
        self.queue.tree.front().map(|(_, p)| *p)
    }

    /// `clear_buddies`: `se` is no buddy any more. The result says which of the three it was.
    #[inline]
    pub(crate) fn clear_buddies(&mut self, se: TaskId) -> [bool; 3] {
        let mut cleared = [false; 3];
        for (buddy, was) in self.buddies().into_iter().zip(&mut cleared) {
            *was = *buddy == se;
            if *was {
                *buddy = TaskId::NONE;
            }
        }
        cleared
    }

    #[inline]
    pub(super) fn buddies(&mut self) -> [&mut TaskId; 3] {
        [&mut self.next, &mut self.queue.last, &mut self.queue.skip]
    }
}
