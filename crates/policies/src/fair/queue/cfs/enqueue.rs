//! Entities join a queue and leave it: `enqueue_task_fair`, `dequeue_task_fair`.
//!
//! A task that is in a group joins the group's queue on its CPU; if it is the first there, the
//! group's entity joins its parent's queue, and so on; else only its weight is looked at again. The
//! last to leave takes it away.

use super::state::Cfs;
use crate::fair::queue::discipline::Discipline;
use crate::fair::queue::groups::Count;
use crate::fair::state::{Fair, QueueId};
use sim_core::{EnqueueFlags, TaskId, World};
use topology::CpuId;

/// Flags for a group's entity: its first task has woken up.
pub(super) const WAKEUP: EnqueueFlags =
    EnqueueFlags { wakeup: true, migrated: false, initial: false };

/// Why an entity leaves its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DequeueKind {
    /// DEQUEUE_SLEEP; so does a group's entity when its last task goes to another CPU.
    Sleep,
    /// For another CPU: its averages go with it and its vruntime becomes relative.
    Move,
    /// DEQUEUE_SAVE: for a moment, in which it is changed. Its vruntime stays as it is, and so does
    /// min_vruntime, or it would have to start further on.
    Save,
}

impl<const GROUPS: bool> Fair<Cfs<GROUPS>> {
    /// Puts `p` on its queue of `cpu`, as `enqueue_task_fair` does, but for the hooks of the
    /// wake-up path.
    pub(super) fn enqueue(&mut self, w: &mut World, cpu: CpuId, p: TaskId, f: EnqueueFlags) {
        let queue = self.queue_of(cpu, p);
        if f.initial {
            // By the averages as wake_up_new_task finds them, before the enqueue updates them.
            let shift = self.discipline.kernel.new_util_shift();
            let (rq, se) = self.queue_and_entity(queue, p);
            match w.tasks[p].attr.rested {
                true => se.avg.rest(),
                false => se.avg.post_init(&rq.avg, u64::from(se.weight) << shift),
            }
        }
        self.util_est_enqueue(cpu, p);
        self.enqueue_entity(w, queue, p, f);
        self.count_in(w, queue, p);
        self.publish(cpu);
        // The mechanism has counted `p` already.
        self.note_nr_running(w, cpu);
    }

    /// `enqueue_entity`
    pub(super) fn enqueue_entity(
        &mut self,
        w: &mut World,
        queue: QueueId,
        se: TaskId,
        f: EnqueueFlags,
    ) {
        // Off the queue a vruntime is relative to min_vruntime, but for a sleeper that stayed.
        let renorm = !f.wakeup || f.migrated;
        let is_curr = self.curr_of(queue) == se;
        if renorm && is_curr {
            self.add_min_vruntime(queue, se);
        }
        self.charge_curr(w, queue);
        if renorm && !is_curr {
            self.add_min_vruntime(queue, se);
        }
        self.join_averages(w, queue, se);
        self.update_group(w, se);
        self.add_weight(queue, se);
        if f.wakeup {
            self.place_entity(w, queue, se, false);
        }
        let entity = self.entity_mut(se);
        if f.migrated {
            // It is not cache hot here.
            entity.exec_start = 0;
        }
        entity.on_rq = true;
        if !is_curr {
            self.tree_insert(queue, se);
        }
        if GROUPS && Cfs::nr_entities(self, queue) == 1 {
            self.check_enqueue_throttle(w, queue);
        }
    }

    /// Takes `p` off its queue of `cpu`. Without `sleep` it leaves for another CPU.
    pub(super) fn dequeue(&mut self, w: &mut World, cpu: CpuId, p: TaskId, sleep: bool) {
        self.leave(w, cpu, p, if sleep { DequeueKind::Sleep } else { DequeueKind::Move });
        if sleep && self.features.util_est {
            self.tasks[p].util_est_update(self.features.util_est_fastup);
        }
    }

    /// DEQUEUE_SAVE: takes `p` off its queue of `cpu` for a moment.
    pub(super) fn save(&mut self, w: &mut World, cpu: CpuId, p: TaskId) {
        self.leave(w, cpu, p, DequeueKind::Save);
    }

    #[inline(always)]
    fn leave(&mut self, w: &mut World, cpu: CpuId, p: TaskId, kind: DequeueKind) {
        let queue = self.queue_of(cpu, p);
        self.util_est_dequeue(cpu, p);
        self.dequeue_entity(w, queue, p, kind);
        self.count_out(w, queue, p, kind);
        self.publish(cpu);
    }

    /// `dequeue_entity`
    #[inline(always)]
    pub(super) fn dequeue_entity(
        &mut self,
        w: &mut World,
        queue: QueueId,
        se: TaskId,
        kind: DequeueKind,
    ) {
        self.charge_curr(w, queue);
        self.leave_averages(w, queue, se, kind != DequeueKind::Move);
        self.take_off(queue, se);
        if kind == DequeueKind::Move {
            self.sub_min_vruntime(queue, se);
        }
        self.return_runtime(w, queue);
        self.update_group(w, se);
        if kind != DequeueKind::Save {
            self.update_min_vruntime(queue);
        }
    }

    /// ENQUEUE_RESTORE: the reverse.
    pub(super) fn restore(&mut self, w: &mut World, cpu: CpuId, p: TaskId) {
        let queue = self.queue_of(cpu, p);
        self.util_est_enqueue(cpu, p);
        self.update_averages(w, queue, p);
        self.add_weight(queue, p);
        self.tasks[p].on_rq = true;
        if self.curr_of(queue) != p {
            self.tree_insert(queue, p);
        }
        self.count_in(w, queue, p);
        self.publish(cpu);
    }

    /// Off the tree, and out of the queue's weight.
    fn take_off(&mut self, queue: QueueId, se: TaskId) {
        self.clear_buddies(queue, se);
        let is_curr = self.curr_of(queue) == se;
        let (rq, entity) = self.queue_and_entity(queue, se);
        if !is_curr {
            rq.tree_remove(entity.vruntime, se);
        }
        entity.on_rq = false;
        rq.load_weight -= u64::from(entity.weight);
    }

    #[inline]
    fn add_weight(&mut self, queue: QueueId, se: TaskId) {
        let (rq, se) = self.queue_and_entity(queue, se);
        rq.load_weight += u64::from(se.weight);
    }

    /// `p` counts on its queue, and what that does to those above.
    fn count_in(&mut self, w: &mut World, queue: QueueId, p: TaskId) {
        let idle = u32::from(self.tasks[p].is_idle_policy());
        let count = Count { n: 1, idle, delayed: 0 };
        self.list_add_head(queue.cpu, p);
        self.count(queue, count);
        let mut below = queue;
        while let Some((queue, group)) = self.above(below)
            && !self.is_throttled(below)
        {
            self.group_joins(w, queue, group, below);
            self.count(queue, count);
            below = queue;
        }
        self.mark_throttled(w, queue.cpu, p);
    }

    fn count_out(&mut self, w: &mut World, queue: QueueId, p: TaskId, kind: DequeueKind) {
        let idle = u32::from(self.tasks[p].is_idle_policy());
        let count = Count { n: 1, idle, delayed: 0 };
        self.list_del(queue.cpu, p);
        self.discount(queue, count);
        let mut below = queue;
        let mut kind = Some(kind);
        while let Some((queue, group)) = self.above(below)
            && !self.is_throttled(below)
        {
            kind = self.group_leaves(w, queue, group, below, kind);
            self.discount(queue, count);
            below = queue;
        }
        self.unmark_throttled(w, p);
    }

    /// A task has joined the queue below.
    fn group_joins(&mut self, w: &mut World, queue: QueueId, group: TaskId, below: QueueId) {
        self.on_cpu_mut(below).on_leaf_list = !self.in_throttled(below);
        if self.entity(group).on_rq {
            self.refresh_group(w, queue, group);
        } else {
            self.enqueue_entity(w, queue, group, WAKEUP);
        }
    }

    /// A task has left the queue below. `kind` says how the entity above it leaves if that is empty
    /// now; it is none once a queue was not. If the task sleeps, what is left there is to be picked
    /// again: it has not used up its slice. The result is `kind` for the next level.
    fn group_leaves(
        &mut self,
        w: &mut World,
        queue: QueueId,
        group: TaskId,
        below: QueueId,
        kind: Option<DequeueKind>,
    ) -> Option<DequeueKind> {
        if let Some(kind) = kind
            && self.queue(below).load_weight == 0
        {
            let save = kind == DequeueKind::Save;
            let up = if save { DequeueKind::Save } else { DequeueKind::Sleep };
            self.dequeue_entity(w, queue, group, up);
            return Some(kind);
        }
        if kind == Some(DequeueKind::Sleep) && !self.in_throttled(below) {
            self.set_next_buddy(queue, group);
        }
        self.refresh_group(w, queue, group);
        None
    }

    /// Averages and weight of a group's entity that stays on its queue.
    fn refresh_group(&mut self, w: &mut World, queue: QueueId, group: TaskId) {
        self.update_averages(w, queue, group);
        self.update_group(w, group);
    }

    #[inline]
    pub(super) fn sub_min_vruntime(&mut self, queue: QueueId, se: TaskId) {
        let (rq, se) = self.queue_and_entity(queue, se);
        se.vruntime = se.vruntime.wrapping_sub(rq.min_vruntime);
    }

    #[inline]
    fn add_min_vruntime(&mut self, queue: QueueId, se: TaskId) {
        let (rq, se) = self.queue_and_entity(queue, se);
        se.vruntime = se.vruntime.wrapping_add(rq.min_vruntime);
    }
}
