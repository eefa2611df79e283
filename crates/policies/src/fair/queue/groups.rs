//! Task groups (CONFIG_FAIR_GROUP_SCHED): cgroups with the cpu controller, or autogroups.
//!
//! ```text
//!   root queue of CPU 3: task 4, task 9, [group 1], [group 3]
//!                                            |          |
//!   queue of group 1 there: task 5, 7, [group 2]      task 6
//!                                          |
//!   queue of group 2 there:              task 8
//! ```
//! On each CPU a group has a queue of its own, for its tasks there, and an *entity* that stands for
//! it on the queue of its parent. So a group competes with its parent's tasks as if it was one of
//! them, and its tasks compete among themselves. What weight the entity has depends on where the
//! group has its load: all entities of a group together weigh about as much as its shares say
//! (`calc_group_shares`).
//!
//! The rules of a discipline are written for a queue and an entity, whichever they are. Without
//! [`QueueKind::GROUPS`](crate::fair::state::QueueKind) each queue is a root's and each entity a
//! task, and the compiler leaves the rest out.
//!
//! Weights are kept without the kernel's ten more bits, so the sum of those on a queue may be less
//! than the kernel's by one for each group there. Left out: cpu.idle, and moving tasks between
//! groups. An enqueue, a dequeue and a pick take no longer for having more levels.

mod bandwidth;
mod check;
mod load;
#[cfg(test)]
mod tests;

pub(super) use bandwidth::Count;

use super::discipline::Discipline;
use crate::fair::state::groups::{FIRST_ENTITY, GroupOnCpu, QueueId, SHARES_SHIFT, is_group};
use crate::fair::state::weights::rq_inverse;
use crate::fair::state::{Fair, FairRq, FairTask};
use sim_core::{GroupId, TaskId, World};
use topology::CpuId;

impl<S: Discipline> Fair<S> {
    /// The queue that the task `p` is on when it is on `cpu`; of the idle task, the root's.
    #[inline]
    pub(crate) fn queue_of(&self, cpu: CpuId, p: TaskId) -> QueueId {
        let group = if S::GROUPS && p.is_task() { self.tasks[p].group } else { GroupId::ROOT };
        QueueId { cpu, group }
    }

    /// `cfs_rq_of`: the queue that an entity is on when it is on `cpu`.
    #[inline]
    pub(super) fn queue_of_entity(&self, cpu: CpuId, se: TaskId) -> QueueId {
        match self.group_queue(se) {
            Some(below) => self.groups.parent(below),
            None => self.queue_of(cpu, se),
        }
    }

    /// The entity that stands for a group's queue; the root's stands for itself.
    #[inline]
    pub(super) fn group_entity(&self, queue: QueueId) -> Option<TaskId> {
        if !S::GROUPS || queue.group == GroupId::ROOT {
            return None;
        }
        Some(TaskId(FIRST_ENTITY + self.groups.index(queue) as u32))
    }

    /// `parent_entity`: the entity that stands for a group's queue, and the queue that it is on.
    #[inline]
    pub(super) fn above(&self, queue: QueueId) -> Option<(QueueId, TaskId)> {
        let se = self.group_entity(queue)?;
        Some((self.groups.parent(queue), se))
    }

    /// `group_cfs_rq`: the queue that an entity stands for, if it is a group's.
    #[inline]
    pub(super) fn group_queue(&self, se: TaskId) -> Option<QueueId> {
        if !S::GROUPS || !is_group(se) {
            return None;
        }
        Some(self.groups.queue_of_index((se.0 - FIRST_ENTITY) as usize))
    }

    /// What of the task `p` competes on a queue: `p`, or the entity of a group that it is in, if it
    /// is somewhere below that queue.
    #[inline]
    pub(super) fn entity_on(&self, queue: QueueId, p: TaskId) -> Option<TaskId> {
        if !p.is_task() {
            return None;
        }
        let (mut at, mut se) = (self.queue_of(queue.cpu, p), p);
        while at != queue {
            (at, se) = self.above(at)?;
        }
        Some(se)
    }

    /// `find_matching_se`: the queue on which two tasks of a CPU compete, and what of each does.
    #[inline]
    pub(super) fn matching(&self, cpu: CpuId, p: TaskId, q: TaskId) -> (QueueId, TaskId, TaskId) {
        let (mut queue, mut se) = (self.queue_of(cpu, p), p);
        loop {
            if let Some(other) = self.entity_on(queue, q) {
                return (queue, se, other);
            }
            (queue, se) = self.above(queue).expect("all tasks are below the root");
        }
    }

    #[inline]
    pub(super) fn on_cpu(&self, queue: QueueId) -> &GroupOnCpu<S::Entity, S::Queue> {
        &self.groups.on_cpus[self.groups.index(queue)]
    }

    #[inline]
    pub(super) fn on_cpu_mut(&mut self, queue: QueueId) -> &mut GroupOnCpu<S::Entity, S::Queue> {
        let index = self.groups.index(queue);
        &mut self.groups.on_cpus[index]
    }

    #[inline]
    pub(super) fn queue(&self, queue: QueueId) -> &FairRq<S::Queue> {
        if S::GROUPS && queue.group != GroupId::ROOT {
            return &self.on_cpu(queue).rq;
        }
        &self.rqs[queue.cpu]
    }

    #[inline]
    pub(super) fn queue_mut(&mut self, queue: QueueId) -> &mut FairRq<S::Queue> {
        if S::GROUPS && queue.group != GroupId::ROOT {
            return &mut self.on_cpu_mut(queue).rq;
        }
        &mut self.rqs[queue.cpu]
    }

    /// A task or a group's entity.
    #[inline]
    pub(super) fn entity(&self, se: TaskId) -> &FairTask<S::Entity> {
        if S::GROUPS && is_group(se) {
            return &self.groups.on_cpus[(se.0 - FIRST_ENTITY) as usize].se;
        }
        &self.tasks[se]
    }

    #[inline]
    pub(super) fn entity_mut(&mut self, se: TaskId) -> &mut FairTask<S::Entity> {
        if S::GROUPS && is_group(se) {
            return &mut self.groups.on_cpus[(se.0 - FIRST_ENTITY) as usize].se;
        }
        &mut self.tasks[se]
    }

    #[inline]
    pub(super) fn queue_and_entity(
        &mut self,
        queue: QueueId,
        se: TaskId,
    ) -> (&mut FairRq<S::Queue>, &mut FairTask<S::Entity>) {
        if S::GROUPS && is_group(se) {
            return self.queue_and_group(queue, (se.0 - FIRST_ENTITY) as usize);
        }
        let task = &mut self.tasks[se];
        if S::GROUPS && queue.group != GroupId::ROOT {
            let index = self.groups.index(queue);
            return (&mut self.groups.on_cpus[index].rq, task);
        }
        (&mut self.rqs[queue.cpu], task)
    }

    /// The same for the entity of a group, which is by number behind its parent's.
    fn queue_and_group(
        &mut self,
        queue: QueueId,
        index: usize,
    ) -> (&mut FairRq<S::Queue>, &mut FairTask<S::Entity>) {
        if queue.group == GroupId::ROOT {
            return (&mut self.rqs[queue.cpu], &mut self.groups.on_cpus[index].se);
        }
        let parent = self.groups.index(queue);
        let (outer, inner) = self.groups.on_cpus.split_at_mut(index);
        (&mut outer[parent].rq, &mut inner[0].se)
    }

    /// `cfs_rq.curr`: the task that runs, or its group's entity, if it is below this queue.
    #[inline]
    pub(crate) fn curr_of(&self, queue: QueueId) -> TaskId {
        if !S::GROUPS {
            self.rqs[queue.cpu].curr
        } else if queue.group == GroupId::ROOT {
            self.groups.root_curr[queue.cpu]
        } else {
            self.on_cpu(queue).rq.curr
        }
    }

    /// Sets [`Fair::curr_of`] of a queue; on the root's, `rq.curr` is set apart.
    #[inline]
    pub(super) fn set_curr_of(&mut self, queue: QueueId, se: TaskId) {
        if !S::GROUPS {
            return;
        }
        if queue.group == GroupId::ROOT {
            self.groups.root_curr[queue.cpu] = se;
        } else {
            self.on_cpu_mut(queue).rq.curr = se;
        }
    }

    /// `update_cfs_group`: what weight a group's entity has now.
    #[inline]
    pub(super) fn update_group(&mut self, w: &mut World, se: TaskId) {
        if let Some(below) = self.group_queue(se) {
            self.update_group_entity(w, below, se);
        }
    }

    fn update_group_entity(&mut self, w: &mut World, below: QueueId, se: TaskId) {
        self.note_runnable(below);
        if self.in_throttled(below) {
            return;
        }
        let (queue, index) = (self.groups.parent(below), self.groups.index(below));
        let group = self.groups.group(below.group);
        if let Some(line) = group.load_line {
            w.look_at_line(line);
        }
        let shares = self.groups.on_cpus[index].calc_group_shares(group);
        // `scale_load_down`
        let weight = (shares >> SHARES_SHIFT).max(2) as u32;
        S::reweight_group(self, w, queue, se, weight);
    }

    /// `se_update_runnable`
    #[inline]
    fn note_runnable(&mut self, below: QueueId) {
        let on_cpu = self.on_cpu_mut(below);
        on_cpu.runnable_weight = on_cpu.rq.h_nr_runnable();
    }

    /// The end of `reweight_entity`: the weight is another one, and so is what the queue has of the
    /// entity's load.
    pub(super) fn set_group_weight(&mut self, queue: QueueId, se: TaskId, weight: u32) {
        let (rq, entity) = self.queue_and_entity(queue, se);
        let (old, new) = (u64::from(entity.weight), u64::from(weight));
        rq.avg.reweight(&mut entity.avg, old, new);
        (entity.weight, entity.inv_weight) = (weight, rq_inverse(new));
        if entity.on_rq {
            rq.load_weight = rq.load_weight - old + new;
        }
        self.publish(queue.cpu);
    }

    /// A group on the queue has tasks: the group is not SCHED_IDLE, whatever these are.
    pub(super) fn has_group(&self, queue: QueueId) -> bool {
        let has_tasks = |group: QueueId| self.queue(group).h_nr_running > 0;
        S::GROUPS && self.groups.children(queue).any(has_tasks)
    }

    /// All tasks that wait on `cpu`: those of a queue with those of the groups in their places.
    /// `waiting` has the order of one queue, without its current entity.
    pub(super) fn queued_tasks(
        &self,
        queue: QueueId,
        waiting: &impl Fn(&Self, QueueId) -> Vec<TaskId>,
        out: &mut Vec<TaskId>,
    ) {
        // The current group's entity is not among those that wait, but its other tasks do.
        let curr = self.group_queue(self.curr_of(queue)).and(Some(self.curr_of(queue)));
        for se in waiting(self, queue).into_iter().chain(curr) {
            match self.group_queue(se) {
                Some(below) => self.queued_tasks(below, waiting, out),
                None => out.push(se),
            }
        }
    }
}
