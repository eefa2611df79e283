//! What must hold of the books of task groups after every event, for tests.

use super::super::state::{Cfs, GroupOnCpu, QueueId, SHARES_SHIFT};
use crate::fair::state::Fair;
use sim_core::{GroupId, TaskId, World};
use topology::CpuId;

impl<const GROUPS: bool> Fair<Cfs<GROUPS>> {
    /// See `Discipline::check`: the sum of weights on the root's queue of `cpu`.
    pub(in super::super) fn check_groups(&self, w: &World, cpu: CpuId) -> Result<u64, String> {
        let root = QueueId::root(cpu);
        let (mut weight, mut n_entities) = self.sums_of(w, root);
        for queue in self.discipline.groups.queues(cpu) {
            let sums = self.sums_of(w, queue);
            let rq = self.queue(queue);
            let on_cpu = self.on_cpu(queue);
            if (rq.load_weight, rq.h_nr_running) != sums {
                let has = (rq.load_weight, rq.h_nr_running);
                return Err(format!("{queue:?} has weight and tasks {has:?} of {sums:?}"));
            }
            self.check_entity(queue, on_cpu)?;
            if on_cpu.se.on_rq {
                weight += u64::from(on_cpu.se.weight);
                n_entities += 1;
            }
        }
        if self.nr_running(root) != n_entities {
            let counted = self.nr_running(root);
            return Err(format!("{cpu} has {counted} entities of {n_entities}"));
        }
        self.check_loads()?;
        Ok(weight)
    }

    /// The weight and number of the tasks on a queue.
    fn sums_of(&self, w: &World, queue: QueueId) -> (u64, u32) {
        let ids = (0..w.tasks.len().min(self.tasks.len()) as u32).map(TaskId);
        let on = |p: &TaskId| w.tasks[*p].on_rq && w.tasks[*p].cpu == queue.cpu;
        let mine = ids.filter(|p| on(p) && self.queue_of(queue.cpu, *p) == queue);
        let weights = mine.map(|p| u64::from(self.tasks[p].weight));
        weights.fold((0, 0), |(sum, n), weight| (sum + weight, n + 1))
    }

    fn check_entity(&self, queue: QueueId, on_cpu: &GroupOnCpu) -> Result<(), String> {
        let se = &on_cpu.se;
        let has_tasks = on_cpu.rq.h_nr_running > 0;
        let group = &self.discipline.groups.groups[usize::from(queue.group.0) - 1];
        let most = (group.shares >> SHARES_SHIFT) as u32;
        let holds = [
            ("queued if it has tasks", se.on_rq == has_tasks),
            ("looked at while it has tasks", on_cpu.on_leaf_list || !has_tasks),
            ("as heavy as it may be", (2..=most).contains(&se.weight)),
            ("as runnable as its tasks", on_cpu.runnable_weight == on_cpu.rq.h_nr_running),
            ("running when one of them does", self.is_curr_of_both(queue)),
        ];
        match holds.into_iter().find(|(_, holds)| !holds) {
            Some((what, _)) => Err(format!("the entity of {queue:?} is not {what}: {se:?}")),
            None => Ok(()),
        }
    }

    fn is_curr_of_both(&self, queue: QueueId) -> bool {
        let curr = self.rqs[queue.cpu].curr;
        let is_ours = curr.is_task() && self.queue_of(queue.cpu, curr) == queue;
        self.queue(queue).curr == if is_ours { curr } else { TaskId::NONE }
    }

    /// What a group has on all CPUs is what its queues have told it.
    fn check_loads(&self) -> Result<(), String> {
        let groups = &self.discipline.groups;
        for (i, group) in groups.groups.iter().enumerate() {
            let told = groups.on_cpus[i * groups.n_cpus..][..groups.n_cpus].iter();
            let sum: u64 = told.map(|on_cpu| on_cpu.tg_load_avg_contrib).sum();
            if group.load_avg != sum {
                let id = GroupId(i as u16 + 1);
                return Err(format!("{id:?} has a load of {} of {sum}", group.load_avg));
            }
        }
        Ok(())
    }
}
