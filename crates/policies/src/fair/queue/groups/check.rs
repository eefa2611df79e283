//! What must hold of the books of task groups after every event, for tests.

use crate::fair::queue::discipline::Discipline;
use crate::fair::state::Fair;
use crate::fair::state::groups::{GroupOnCpu, QueueId, SHARES_SHIFT};
use sim_core::{GroupId, SchedPolicy, TaskId, World};
use topology::CpuId;

/// What a queue counts, as its entities say it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Counts {
    weight: u64,
    /// Entities.
    n: u32,
    /// Tasks here and below, …
    h_nr_running: u32,
    /// … those that sleep there, …
    h_nr_delayed: u32,
    /// … and those of SCHED_IDLE.
    idle_h_nr_running: u32,
}

impl<S: Discipline> Fair<S> {
    /// See `Discipline::check`: the sum of weights on the root's queue of `cpu`.
    pub(in crate::fair::queue) fn check_groups(
        &self,
        w: &World,
        cpu: CpuId,
    ) -> Result<u64, String> {
        // Children come before their parents.
        let groups: Vec<_> = self.groups.queues(cpu).collect();
        let mut counts = vec![Counts::default(); groups.len() + 1];
        self.count_tasks(w, cpu, &mut counts);
        for &queue in groups.iter().rev() {
            let counted = counts[usize::from(queue.group.0)];
            let on_cpu = self.on_cpu(queue);
            self.check_queue(queue, counted)?;
            self.check_entity(queue, on_cpu)?;
            let above = &mut counts[usize::from(self.groups.parent(queue).group.0)];
            above.weight += u64::from(on_cpu.se.on_rq) * u64::from(on_cpu.se.weight);
            above.n += u32::from(on_cpu.se.on_rq);
            if !self.is_throttled(queue) {
                above.h_nr_running += counted.h_nr_running;
                above.h_nr_delayed += counted.h_nr_delayed;
                above.idle_h_nr_running += counted.idle_h_nr_running;
            }
        }
        self.check_queue(QueueId::root(cpu), counts[0])?;
        self.check_loads()?;
        Ok(counts[0].weight)
    }

    /// The tasks on each queue of `cpu`, by its group.
    fn count_tasks(&self, w: &World, cpu: CpuId, counts: &mut [Counts]) {
        let ids = (0..w.tasks.len().min(self.tasks.len()) as u32).map(TaskId);
        let is_here = |p: &TaskId| w.tasks[*p].on_rq && w.tasks[*p].cpu == cpu;
        let is_fair = |p: &TaskId| w.tasks[*p].attr.policy != SchedPolicy::Ext;
        for p in ids.filter(is_here).filter(is_fair) {
            let se = &self.tasks[p];
            debug_assert_eq!(w.tasks[p].throttled, self.in_throttled(self.queue_of(cpu, p)));
            let counts = &mut counts[usize::from(self.queue_of(cpu, p).group.0)];
            counts.weight += u64::from(se.weight);
            counts.n += 1;
            counts.h_nr_running += 1;
            counts.h_nr_delayed += u32::from(S::DELAYS && S::is_delayed(&se.ext));
            counts.idle_h_nr_running += u32::from(se.is_idle_policy());
        }
    }

    fn check_queue(&self, queue: QueueId, counted: Counts) -> Result<(), String> {
        let rq = self.queue(queue);
        let has = Counts {
            weight: rq.load_weight,
            n: S::nr_entities(self, queue),
            h_nr_running: rq.h_nr_running,
            h_nr_delayed: rq.h_nr_delayed,
            idle_h_nr_running: rq.idle_h_nr_running,
        };
        match has == counted {
            true => Ok(()),
            false => Err(format!("{queue:?} has {has:?} of {counted:?}")),
        }
    }

    fn check_entity(
        &self,
        queue: QueueId,
        on_cpu: &GroupOnCpu<S::Entity, S::Queue>,
    ) -> Result<(), String> {
        let se = &on_cpu.se;
        let is_delayed = S::DELAYS && S::is_delayed(&se.ext);
        let is_throttled = on_cpu.runtime.throttled;
        let has_some = on_cpu.rq.load_weight > 0;
        let most = (self.groups.group(queue.group).shares >> SHARES_SHIFT) as u32;
        let holds = [
            (
                "queued if its queue is not empty",
                se.on_rq == (has_some && !is_throttled || is_delayed),
            ),
            ("delayed only if its queue is empty", !(has_some && is_delayed)),
            (
                "looked at while it has tasks",
                on_cpu.on_leaf_list || !has_some || self.in_throttled(queue),
            ),
            ("not delayed while throttled", !(is_delayed && is_throttled)),
            ("in arrears if throttled", !is_throttled || on_cpu.runtime.remaining <= 0),
            ("as heavy as it may be", (2..=most.max(2)).contains(&se.weight)),
            ("running when one of its tasks does", self.is_curr_of_both(queue)),
        ];
        match holds.into_iter().find(|(_, holds)| !holds) {
            Some((what, _)) => Err(format!("the entity of {queue:?} is not {what}: {se:?}")),
            None => Ok(()),
        }
    }

    /// The current entity is what the current task is below, on each level.
    fn is_curr_of_both(&self, queue: QueueId) -> bool {
        let curr = self.rqs[queue.cpu].curr;
        let ours = self.entity_on(queue, curr).unwrap_or(TaskId::NONE);
        self.curr_of(queue) == ours
    }

    /// What a group has on all CPUs is what its queues have told it.
    fn check_loads(&self) -> Result<(), String> {
        let groups = &self.groups;
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
