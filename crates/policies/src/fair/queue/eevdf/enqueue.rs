//! Entities join a queue and leave it: `enqueue_task_fair`, `dequeue_entities`.
//!
//! A task that is in a group joins the group's queue on its CPU; if it is the first there, the
//! group's entity joins its parent's queue, and so on; else only its weight is looked at again. The
//! last to leave takes the entity away, unless that is ahead of V: then it stays in the queue and
//! pays first, as a task does (delayed dequeue).

use super::rescale;
use super::state::Eevdf;
use crate::fair::queue::groups::Count;
use crate::fair::state::groups::is_group;
use crate::fair::state::{Fair, QueueId};
use sim_core::{EnqueueFlags, Ns, TaskId, TaskState, World};
use topology::CpuId;

/// Flags for a group's entity: its first task has woken up.
const WAKEUP: EnqueueFlags = EnqueueFlags { wakeup: true, migrated: false, initial: false };

/// How an entity leaves its queue.
#[derive(Clone, Copy, Debug)]
struct Leave {
    /// DEQUEUE_SLEEP; so does a group's entity, whatever its last task does.
    sleep: bool,
    /// It is gone at once, also if it owes time: a task that exits (DEQUEUE_SPECIAL).
    at_once: bool,
    /// DEQUEUE_DELAYED: it has been picked while it was delayed.
    finish: bool,
}

impl<const GROUPS: bool> Fair<Eevdf<GROUPS>> {
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
        let delayed = self.tasks[p].ext.sched_delayed;
        if !delayed {
            self.util_est_enqueue(cpu, p);
        }
        self.enqueue_entity(w, queue, p, f);
        self.list_add_head(cpu, p);
        self.join_levels(w, queue, p);
        if delayed {
            w.set_delayed(p, true);
        }
        self.publish(cpu);
        // The mechanism has counted `p` already.
        self.note_nr_running(w, cpu);
    }

    /// `enqueue_entity`
    #[inline]
    fn enqueue_entity(&mut self, w: &mut World, queue: QueueId, se: TaskId, f: EnqueueFlags) {
        // A group's entity may be current still, though its last task has gone to sleep.
        let is_curr = GROUPS && self.curr_of(queue) == se;
        // In v6.6 only the fork passes the flag, and the enqueue that follows places anew.
        let initial = f.initial && self.discipline.kernel.places_new_tasks_once;
        if is_curr {
            self.place(queue, se, initial);
        }
        self.charge_curr(w, queue);
        self.join_averages(w, queue, se);
        self.update_group(w, se);
        if !is_curr {
            self.place(queue, se, initial);
        }
        self.add_weight(queue, se);
        let entity = self.entity_mut(se);
        if f.migrated {
            // It is not cache hot here.
            entity.exec_start = 0;
        }
        entity.on_rq = true;
        if !is_curr {
            self.tree_insert(queue, se);
        }
        if GROUPS && self.nr_on(queue) == 1 {
            self.check_enqueue_throttle(w, queue);
        }
    }

    /// Of a group, whose queue may go on; a delayed entity leaves first.
    pub(super) fn enqueue_group(&mut self, w: &mut World, queue: QueueId, se: TaskId) {
        if self.entity(se).on_rq {
            self.dequeue_group(w, queue, se);
        }
        self.enqueue_entity(w, queue, se, WAKEUP);
    }

    /// Of a group, whose queue is throttled: it leaves at once, also if it owes time.
    pub(super) fn dequeue_group(&mut self, w: &mut World, queue: QueueId, se: TaskId) {
        let finish = self.entity(se).ext.sched_delayed;
        self.dequeue_entity(w, queue, se, Leave { sleep: true, at_once: true, finish });
        if finish {
            self.entity_mut(se).ext.sched_delayed = false;
            self.forget_gain(se);
        }
    }

    /// `finish_delayed_dequeue_entity`: with DELAY_ZERO it was not to gain by staying.
    fn forget_gain(&mut self, se: TaskId) {
        let delay_zero = self.features.delay_zero;
        let ext = &mut self.entity_mut(se).ext;
        if delay_zero {
            ext.vlag = ext.vlag.min(0);
        }
    }

    /// `account_entity_enqueue`
    #[inline]
    fn add_weight(&mut self, queue: QueueId, se: TaskId) {
        let (rq, entity) = self.queue_and_entity(queue, se);
        rq.load_weight += u64::from(entity.weight);
        if GROUPS {
            rq.queue.nr += 1;
        }
    }

    #[inline]
    fn take_weight(&mut self, queue: QueueId, se: TaskId) {
        let (rq, entity) = self.queue_and_entity(queue, se);
        rq.load_weight -= u64::from(entity.weight);
        if GROUPS {
            rq.queue.nr -= 1;
        }
    }

    /// What `p` counts for on each level.
    #[inline]
    fn count_of(&self, p: TaskId) -> Count {
        let se = &self.tasks[p];
        let delayed = u32::from(se.ext.sched_delayed);
        Count { n: 1, idle: u32::from(se.is_idle_policy()), delayed }
    }

    /// `p` has joined its queue: it counts there, and what that does to the queues above.
    #[inline]
    fn join_levels(&mut self, w: &mut World, queue: QueueId, p: TaskId) {
        let c = self.count_of(p);
        let mut slice = self.slice_for_parent(queue);
        self.count(queue, c);
        let mut joins = true;
        let mut below = queue;
        while let Some((queue, group)) = self.above(below)
            && !self.is_throttled(below)
        {
            self.on_cpu_mut(below).on_leaf_list = !self.in_throttled(below);
            if joins && self.entity(group).on_rq {
                joins = false;
                if self.entity(group).ext.sched_delayed {
                    self.requeue_delayed(w, queue, group);
                }
            }
            if joins {
                self.hand_up(group, slice);
                self.enqueue_entity(w, queue, group, WAKEUP);
            } else {
                self.refresh_group(w, queue, group, slice);
            }
            slice = self.slice_for_parent(queue);
            self.count(queue, c);
            below = queue;
        }
        self.mark_throttled(w, queue.cpu, p);
    }

    /// `cfs_rq_min_slice`, which a group's entity gets for its slice since v6.12: so the group has
    /// its turns as often as the task in it that wants them most.
    #[inline]
    fn slice_for_parent(&self, queue: QueueId) -> Option<Ns> {
        let hands_up = GROUPS && self.discipline.kernel.hands_slices_up;
        (hands_up && self.group_entity(queue).is_some()).then(|| self.min_slice(queue))
    }

    fn hand_up(&mut self, group: TaskId, slice: Option<Ns>) {
        if let Some(slice) = slice {
            let ext = &mut self.entity_mut(group).ext;
            ext.slice = slice;
            ext.custom_slice = true;
        }
    }

    /// Averages, weight and slice of a group's entity that stays on its queue.
    fn refresh_group(&mut self, w: &mut World, queue: QueueId, group: TaskId, slice: Option<Ns>) {
        self.update_averages(w, queue, group);
        self.update_group(w, group);
        let Some(slice) = slice else {
            return;
        };
        // The deadline stays.
        self.entity_mut(group).ext.slice = slice;
        if self.curr_of(queue) != group {
            let root = self.queue(queue).queue.root;
            self.discipline.trees.set_slice(root, group, slice);
        }
    }

    /// Takes `p` off its queue, unless it wants to sleep and has to pay first. Without `sleep` it
    /// leaves for another CPU, delayed or not.
    pub(super) fn dequeue(&mut self, w: &mut World, cpu: CpuId, p: TaskId, sleep: bool) {
        let was_delayed = self.tasks[p].ext.sched_delayed;
        let early_estimate = self.discipline.kernel.keeps_one_util_estimate;
        if !was_delayed {
            self.util_est_dequeue(cpu, p);
        }
        // In v6.12 the estimate is made before the dequeue brings the averages up to date.
        if sleep && early_estimate {
            self.estimate_util(p);
        }
        let at_once = w.tasks[p].state == TaskState::Dead;
        let leave = Leave { sleep, at_once, finish: false };
        let queue = self.queue_of(cpu, p);
        if !self.dequeue_entity(w, queue, p, leave) {
            return w.set_delayed(p, true);
        }
        self.list_del(cpu, p);
        let count = self.count_of(p);
        self.leave_levels(w, queue, count, sleep);
        if was_delayed {
            w.set_delayed(p, false);
        }
        self.unmark_throttled(w, p);
        self.publish(cpu);
        if sleep && !early_estimate {
            self.estimate_util(p);
        }
    }

    /// `dequeue_entity`: false if `se` has to pay first and stays.
    #[inline]
    fn dequeue_entity(&mut self, w: &mut World, queue: QueueId, se: TaskId, g: Leave) -> bool {
        self.charge_curr(w, queue);
        self.clear_buddies(queue, se);
        let may_delay = g.sleep && !g.at_once && !g.finish && self.features.delay_dequeue;
        if may_delay && !self.is_eligible(queue, se) {
            self.update_averages_no_tg(w, queue, se);
            self.set_delayed(queue, se);
            return false;
        }
        self.leave_averages(w, queue, se, g.sleep);
        self.take_off(w, queue, se);
        if !g.sleep {
            // What is left of the slice goes along to the next queue.
            self.keep_slice(se);
        }
        self.return_runtime(w, queue);
        self.update_group(w, se);
        true
    }

    /// With PLACE_REL_DEADLINE the deadline of `se`, which has left its queue, is kept relative to
    /// its vruntime.
    #[inline]
    fn keep_slice(&mut self, se: TaskId) {
        if self.features.place_rel_deadline {
            let entity = self.entity_mut(se);
            entity.ext.deadline = entity.ext.deadline.wrapping_sub(entity.vruntime);
            entity.ext.rel_deadline = true;
        }
    }

    /// An entity has left this queue: what that does to those above. If its task sleeps, what is
    /// left is to be picked again: it has not used up its slice.
    #[inline]
    fn leave_levels(&mut self, w: &mut World, queue: QueueId, c: Count, sleeps: bool) {
        self.discount(queue, c);
        let mut leaves = true;
        let mut below = queue;
        while let Some((queue, group)) = self.above(below)
            && !self.is_throttled(below)
        {
            if leaves && self.queue(below).load_weight > 0 {
                leaves = false;
                if sleeps && !self.in_throttled(below) {
                    self.set_next_buddy(queue, group);
                }
            }
            let slice = self.slice_for_parent(below);
            if leaves {
                let last = Leave { sleep: true, at_once: false, finish: false };
                leaves = self.dequeue_entity(w, queue, group, last);
                if !leaves {
                    // It stays, and its slice becomes the shortest of the queue that it is on.
                    let slice = self.slice_for_parent(below).map(|_| self.min_slice(queue));
                    self.refresh_group(w, queue, group, slice);
                }
            } else {
                self.refresh_group(w, queue, group, slice);
            }
            self.discount(queue, c);
            below = queue;
        }
    }

    /// The delayed `se` has been picked: it has paid, and leaves for good now.
    pub(super) fn finish_delayed(&mut self, w: &mut World, queue: QueueId, se: TaskId) {
        let cpu = queue.cpu;
        let finish = Leave { sleep: true, at_once: false, finish: true };
        self.dequeue_entity(w, queue, se, finish);
        self.clear_delayed(queue, se);
        self.forget_gain(se);
        if GROUPS && is_group(se) {
            // Its tasks have left already.
            self.leave_levels(w, queue, Count { n: 0, idle: 0, delayed: 0 }, true);
            return self.publish(cpu);
        }
        self.list_del(cpu, se);
        let count = self.count_of(se);
        self.leave_levels(w, queue, count, true);
        self.publish(cpu);
        w.set_delayed(se, false);
        w.deactivate(cpu, se);
        if self.sched_idle_used {
            self.balance_if_only_idle_policy(w, cpu, se);
        }
    }

    /// `set_delayed`. The tasks of a group whose entity stays have been discounted.
    fn set_delayed(&mut self, queue: QueueId, se: TaskId) {
        self.entity_mut(se).ext.sched_delayed = true;
        if !(GROUPS && is_group(se)) {
            self.count_delayed(queue, 1);
        }
    }

    /// `clear_delayed`
    fn clear_delayed(&mut self, queue: QueueId, se: TaskId) {
        self.entity_mut(se).ext.sched_delayed = false;
        if !(GROUPS && is_group(se)) {
            self.count_delayed(queue, 0_u32.wrapping_sub(1));
        }
    }

    /// A task of this queue sleeps on it now (1), or no longer (-1).
    fn count_delayed(&mut self, queue: QueueId, change: u32) {
        let mut level = Some(queue);
        while let Some(queue) = level {
            let n = &mut self.queue_mut(queue).h_nr_delayed;
            *n = n.wrapping_add(change);
            if self.is_throttled(queue) {
                break;
            }
            level = self.above(queue).map(|(queue, _)| queue);
        }
        self.publish(queue.cpu);
    }

    /// The common end of a dequeue: `se` keeps its lag and is not counted any more.
    #[inline]
    fn take_off(&mut self, w: &World, queue: QueueId, se: TaskId) {
        let v = self.avg_vruntime(queue);
        let vlag = self.entity_lag(w, queue, se, v);
        self.entity_mut(se).ext.vlag = vlag;
        if self.curr_of(queue) != se {
            self.tree_remove(queue, se);
        }
        self.entity_mut(se).on_rq = false;
        self.take_weight(queue, se);
        self.update_min_vruntime(queue);
    }

    fn estimate_util(&mut self, p: TaskId) {
        if !self.features.util_est {
            return;
        }
        let se = &mut self.tasks[p];
        if self.discipline.kernel.keeps_one_util_estimate {
            se.util_est_update_v6_8();
        } else {
            se.util_est_update(self.features.util_est_fastup);
        }
    }

    /// ENQUEUE_DELAYED: the delayed `p` is woken.
    pub(super) fn wake_delayed(&mut self, w: &mut World, cpu: CpuId, p: TaskId) {
        self.util_est_enqueue(cpu, p);
        self.requeue_delayed(w, self.queue_of(cpu, p), p);
        w.set_delayed(p, false);
    }

    /// `requeue_delayed_entity`: what is delayed is wanted again. `update_curr` is not called.
    fn requeue_delayed(&mut self, w: &mut World, queue: QueueId, se: TaskId) {
        if self.features.delay_zero {
            let v = self.avg_vruntime(queue);
            let vlag = self.entity_lag(w, queue, se, v);
            self.entity_mut(se).ext.vlag = vlag;
            // It has paid its debt by waiting: it is not to gain by it as well.
            if vlag > 0 {
                self.place_without_lag(queue, se);
            }
        }
        self.update_averages_no_tg(w, queue, se);
        self.clear_delayed(queue, se);
    }

    /// The delayed `se` has more than paid while it slept: it starts afresh.
    fn place_without_lag(&mut self, queue: QueueId, se: TaskId) {
        // A group's entity may be current: its last task has gone to sleep a moment ago.
        let is_curr = GROUPS && self.curr_of(queue) == se;
        if !is_curr {
            self.tree_remove(queue, se);
            self.entity_mut(se).on_rq = false;
        }
        *self.nr_on_mut(queue) -= 1;
        self.entity_mut(se).ext.vlag = 0;
        self.place(queue, se, false);
        *self.nr_on_mut(queue) += 1;
        if !is_curr {
            self.entity_mut(se).on_rq = true;
            self.tree_insert(queue, se);
        }
    }

    /// DEQUEUE_SAVE: `p` keeps its lag and, with PLACE_REL_DEADLINE, what is left of its slice.
    pub(super) fn save(&mut self, w: &mut World, cpu: CpuId, p: TaskId) {
        let queue = self.queue_of(cpu, p);
        if !self.tasks[p].ext.sched_delayed {
            self.util_est_dequeue(cpu, p);
        }
        self.charge_curr(w, queue);
        self.update_averages(w, queue, p);
        self.clear_buddies(queue, p);
        self.take_off(w, queue, p);
        self.keep_slice(p);
        self.list_del(cpu, p);
        let count = self.count_of(p);
        self.leave_levels(w, queue, count, false);
        self.unmark_throttled(w, p);
        self.publish(cpu);
    }

    /// ENQUEUE_RESTORE, after `reweight_entity()`: the lag is kept in time of the CPU, and since
    /// v6.13 what is left of the slice as well. (In v6.12 that stays as it was in virtual time.)
    pub(super) fn restore(&mut self, w: &mut World, cpu: CpuId, p: TaskId, old_weight: u32) {
        let queue = self.queue_of(cpu, p);
        let keeps_ns = self.discipline.kernel.places_after_reweight;
        let se = &mut self.tasks[p];
        if old_weight != se.weight {
            se.ext.vlag = rescale(se.ext.vlag, old_weight, se.weight);
            if se.ext.rel_deadline && keeps_ns {
                let left = rescale(se.ext.deadline as i64, old_weight, se.weight);
                se.ext.deadline = left as u64;
            }
        }
        if !se.ext.sched_delayed {
            self.util_est_enqueue(cpu, p);
        }
        self.update_averages(w, queue, p);
        self.place(queue, p, false);
        self.add_weight(queue, p);
        self.tasks[p].on_rq = true;
        if self.rqs[cpu].curr != p {
            self.tree_insert(queue, p);
        }
        self.list_add_head(cpu, p);
        self.join_levels(w, queue, p);
        self.publish(cpu);
    }
}
