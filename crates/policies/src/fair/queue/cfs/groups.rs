//! Task groups (CONFIG_FAIR_GROUP_SCHED): cgroups with the cpu controller, or autogroups, one level
//! below the root.
//!
//! ```text
//!                 root queue of CPU 3: task 4, task 9, [group 1], [group 2]
//!                                                          |         |
//!                           queue of group 1 on CPU 3: task 5, 7   task 6
//! ```
//! On each CPU a group has a queue of its own, for its tasks there, and an *entity* that stands for
//! it on the root's queue. So a group competes with the root's tasks as if it was one of them, and
//! its tasks compete among themselves. What weight the entity has depends on where the group has
//! its load: all entities of a group together weigh about as much as its shares say
//! (`calc_group_shares`).
//!
//! The rules of CFS are written for a queue and an entity, whichever they are. Group entities are
//! numbered from [`FIRST_ENTITY`], as tasks that the mechanism never sees. Without `GROUPS` each
//! queue is a root's and each entity a task, and the compiler leaves the rest out.
//!
//! Weights are kept without the kernel's ten more bits, so the sum of those on a root queue may be
//! less than the kernel's by one for each group there. Left out: deeper levels, cpu.max
//! (bandwidth), cpu.idle, and moving tasks between groups. An enqueue, a dequeue and a pick take no
//! longer for having two levels. Follows kernel/sched/fair.c of v6.4.

mod check;
mod load;
#[cfg(test)]
mod tests;

use super::queue::CfsQueue;
use super::state::{
    Cfs, FIRST_ENTITY, Group, GroupOnCpu, GroupSpec, Groups, QueueId, SHARES_SHIFT, is_group,
};
use crate::fair::state::features::{Features, Tunables};
use crate::fair::state::weights::rq_inverse;
use crate::fair::state::{Fair, FairRq, FairTask};
use sim_core::{GroupId, Ns, TaskId};
use topology::CpuId;

impl Fair<Cfs<true>> {
    /// CFS with task groups: a task whose [`sim_core::TaskAttr::group`] is n is in the nth of
    /// `groups`, counted from 1. `Policy::init` fits it to a machine.
    pub fn with_groups(features: Features, tunables: Tunables, groups: &[GroupSpec]) -> Self {
        let group = |spec: &GroupSpec| Group {
            shares: u64::from(spec.weight()) << SHARES_SHIFT,
            load_avg: 0,
        };
        let groups = groups.iter().map(group).collect();
        let groups = Groups { groups, ..Groups::default() };
        Self::with(Cfs { groups, ..Cfs::default() }, features, tunables)
    }
}

impl<const GROUPS: bool> Fair<Cfs<GROUPS>> {
    pub(super) fn init_groups(&mut self) {
        let n_cpus = self.rqs.len();
        let this = &mut self.discipline.groups;
        let new = |group| std::iter::repeat_n(GroupOnCpu::new(group), n_cpus);
        this.on_cpus = this.groups.iter().flat_map(new).collect();
        this.h_load = vec![(0, u64::MAX); n_cpus].into();
        this.n_cpus = n_cpus;
    }

    /// The queue that the task `p` is on when it is on `cpu`; of the idle task, the root's.
    #[inline]
    pub(crate) fn queue_of(&self, cpu: CpuId, p: TaskId) -> QueueId {
        let group = if GROUPS && p.is_task() { self.tasks[p].group } else { GroupId::ROOT };
        QueueId { cpu, group }
    }

    /// `cfs_rq_of`: the queue that an entity is on when it is on `cpu`.
    #[inline]
    pub(super) fn queue_of_entity(&self, cpu: CpuId, se: TaskId) -> QueueId {
        if GROUPS && is_group(se) { QueueId::root(cpu) } else { self.queue_of(cpu, se) }
    }

    /// The entity that stands for a group's queue on the root's; the root is on no other.
    #[inline]
    pub(super) fn group_entity(&self, queue: QueueId) -> Option<TaskId> {
        if !GROUPS || queue.group == GroupId::ROOT {
            return None;
        }
        Some(TaskId(FIRST_ENTITY + self.discipline.groups.index(queue) as u32))
    }

    /// `group_cfs_rq`: the queue that an entity stands for, if it is a group's.
    #[inline]
    pub(super) fn group_queue(&self, cpu: CpuId, se: TaskId) -> Option<QueueId> {
        if !GROUPS || !is_group(se) {
            return None;
        }
        let index = (se.0 - FIRST_ENTITY) as usize;
        let group = index / self.discipline.groups.n_cpus + 1;
        Some(QueueId { cpu, group: GroupId(group as u16) })
    }

    /// What stands for the task `p` on the root's queue.
    #[inline]
    pub(super) fn at_root(&self, cpu: CpuId, p: TaskId) -> TaskId {
        self.group_entity(self.queue_of(cpu, p)).unwrap_or(p)
    }

    #[inline]
    pub(super) fn on_cpu(&self, queue: QueueId) -> &GroupOnCpu {
        let groups = &self.discipline.groups;
        &groups.on_cpus[groups.index(queue)]
    }

    #[inline]
    pub(super) fn on_cpu_mut(&mut self, queue: QueueId) -> &mut GroupOnCpu {
        let groups = &mut self.discipline.groups;
        let index = groups.index(queue);
        &mut groups.on_cpus[index]
    }

    #[inline]
    pub(super) fn queue(&self, queue: QueueId) -> &FairRq<CfsQueue> {
        if GROUPS && queue.group != GroupId::ROOT {
            return &self.on_cpu(queue).rq;
        }
        &self.rqs[queue.cpu]
    }

    #[inline]
    pub(super) fn queue_mut(&mut self, queue: QueueId) -> &mut FairRq<CfsQueue> {
        if GROUPS && queue.group != GroupId::ROOT {
            return &mut self.on_cpu_mut(queue).rq;
        }
        &mut self.rqs[queue.cpu]
    }

    /// A task or a group's entity.
    #[inline]
    pub(super) fn entity(&self, se: TaskId) -> &FairTask {
        if GROUPS && is_group(se) {
            return &self.discipline.groups.on_cpus[(se.0 - FIRST_ENTITY) as usize].se;
        }
        &self.tasks[se]
    }

    #[inline]
    pub(super) fn entity_mut(&mut self, se: TaskId) -> &mut FairTask {
        if GROUPS && is_group(se) {
            return &mut self.discipline.groups.on_cpus[(se.0 - FIRST_ENTITY) as usize].se;
        }
        &mut self.tasks[se]
    }

    #[inline]
    pub(super) fn queue_and_entity(
        &mut self,
        queue: QueueId,
        se: TaskId,
    ) -> (&mut FairRq<CfsQueue>, &mut FairTask) {
        let groups = &mut self.discipline.groups;
        if GROUPS && is_group(se) {
            let on_cpu = &mut groups.on_cpus[(se.0 - FIRST_ENTITY) as usize];
            return (&mut self.rqs[queue.cpu], &mut on_cpu.se);
        }
        let task = &mut self.tasks[se];
        if GROUPS && queue.group != GroupId::ROOT {
            let index = groups.index(queue);
            return (&mut groups.on_cpus[index].rq, task);
        }
        (&mut self.rqs[queue.cpu], task)
    }

    /// `cfs_rq.curr`: the task that runs, or its group's entity, if it is of this queue.
    #[inline]
    pub(crate) fn curr_of(&self, queue: QueueId) -> TaskId {
        let curr = self.queue(queue).curr;
        if queue.group == GroupId::ROOT { self.at_root(queue.cpu, curr) } else { curr }
    }

    /// `cfs_rq.nr_running`: entities on the queue, the current one included.
    #[inline]
    pub(crate) fn nr_running(&self, queue: QueueId) -> u32 {
        if !GROUPS || queue.group != GroupId::ROOT {
            return self.queue(queue).h_nr_running;
        }
        let curr = self.curr_of(queue);
        let runs = curr.is_task() && self.entity(curr).on_rq;
        self.queue(queue).queue.tree.len() as u32 + u32::from(runs)
    }

    /// `sched_idle_cfs_rq`: nothing but SCHED_IDLE tasks are on the queue. A group is none.
    pub(super) fn is_all_idle_policy(&self, queue: QueueId) -> bool {
        let rq = self.queue(queue);
        let all = rq.h_nr_running == rq.idle_h_nr_running && rq.h_nr_running > 0;
        let groups = &self.discipline.groups;
        let has_tasks = |group: QueueId| self.queue(group).h_nr_running > 0;
        // A group is not SCHED_IDLE, whatever its tasks are.
        let has_group = queue.group == GroupId::ROOT && groups.queues(queue.cpu).any(has_tasks);
        all && !has_group
    }

    /// `update_cfs_group`: what weight a group's entity has now. One that stays as it is is set
    /// anew, too, which charges the current entity and rounds its load again.
    #[inline]
    pub(super) fn update_group(&mut self, now: Ns, se: TaskId) {
        if GROUPS && is_group(se) {
            let index = (se.0 - FIRST_ENTITY) as usize;
            self.update_group_entity(now, se, index);
        }
    }

    fn update_group_entity(&mut self, now: Ns, se: TaskId, index: usize) {
        let groups = &mut self.discipline.groups;
        let (group, cpu) = (index / groups.n_cpus, index % groups.n_cpus);
        let on_cpu = &mut groups.on_cpus[index];
        on_cpu.runnable_weight = on_cpu.rq.h_nr_running;
        let shares = on_cpu.calc_group_shares(&groups.groups[group]);
        self.reweight_group(now, QueueId::root(CpuId(cpu as u32)), se, shares);
    }

    /// `reweight_entity` of a group's entity.
    fn reweight_group(&mut self, now: Ns, root: QueueId, se: TaskId, shares: u64) {
        // What has run so far was charged with the old weight.
        if self.entity(se).on_rq && self.curr_of(root) == se {
            self.charge_curr(root, now);
        }
        let (rq, entity) = self.queue_and_entity(root, se);
        // `scale_load_down`
        let (old, new) = (u64::from(entity.weight), (shares >> SHARES_SHIFT).max(2));
        rq.avg.reweight(&mut entity.avg, old, new);
        (entity.weight, entity.inv_weight) = (new as u32, rq_inverse(new));
        if entity.on_rq {
            rq.load_weight = rq.load_weight - old + new;
        }
        self.publish(root.cpu);
    }

    /// All tasks that wait on `cpu`: the root's with the groups' in their places.
    pub(super) fn queued_tasks(&self, cpu: CpuId) -> Vec<TaskId> {
        let tree = |queue| self.queue(queue).queue.tree.iter().map(|(_, se)| *se);
        let root = QueueId::root(cpu);
        let tasks = tree(root).flat_map(|se| match self.group_queue(cpu, se) {
            Some(queue) => tree(queue).collect(),
            None => vec![se],
        });
        // The current group's entity is off the tree, but its other tasks wait.
        let curr = self.group_queue(cpu, self.curr_of(root));
        tasks.chain(curr.into_iter().flat_map(tree)).collect()
    }
}

impl<const GROUPS: bool> Fair<Cfs<GROUPS>> {
    #[inline]
    pub(super) fn tree_insert(&mut self, queue: QueueId, se: TaskId) {
        let (rq, entity) = self.queue_and_entity(queue, se);
        rq.tree_insert(entity.vruntime, se);
    }

    /// `clear_buddies`: nor is its group's entity, where it was for the sake of `se`.
    #[inline]
    pub(super) fn clear_buddies(&mut self, queue: QueueId, se: TaskId) {
        let cleared = self.queue_mut(queue).clear_buddies(se);
        if let Some(group) = self.group_entity(queue) {
            let root = &mut self.rqs[queue.cpu];
            for (buddy, was) in root.buddies().into_iter().zip(cleared) {
                if was && *buddy == group {
                    *buddy = TaskId::NONE;
                }
            }
        }
    }
}
