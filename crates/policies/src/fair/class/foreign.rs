//! The fair class beside another one, whose tasks count on the same runqueues.

use crate::fair::queue::Discipline;
use crate::fair::state::{Fair, FairTask};
use sim_core::{TaskId, World};
use topology::CpuId;

impl<S: Discipline> Fair<S> {
    /// A task of another class was made. It may wake tasks of this one, so its wakees are counted.
    pub(crate) fn add_foreign(&mut self, w: &World, p: TaskId, parent: Option<TaskId>) {
        let se = self.made_task(w, p, parent);
        self.cover(w, p);
        self.tasks[p] = se;
    }

    /// A task as it is made: it begins with the wakees of its parent, as `dup_task_struct` copies
    /// them.
    pub(super) fn made_task(
        &self,
        w: &World,
        p: TaskId,
        parent: Option<TaskId>,
    ) -> FairTask<S::Entity> {
        let mut se = FairTask::new(&w.tasks[p].attr);
        match parent {
            Some(parent) => se.wakee = self.tasks[parent].wakee,
            None => se.wakee.decay_due = self.first_flip_decay(w),
        }
        se
    }

    /// Makes room for a task. Tasks are made in the order of their ids, but need not start in it.
    pub(super) fn cover(&mut self, w: &World, p: TaskId) {
        while self.tasks.len() <= p.idx() {
            let next = TaskId(self.tasks.len() as u32);
            self.tasks.push(FairTask::new(&w.tasks[next].attr));
        }
    }

    /// A task of another class joins a runqueue: `rd.overload` and avg_idle take no notice of
    /// classes (`add_nr_running`, `ttwu_do_activate`, v6.12).
    pub(crate) fn note_foreign(&mut self, w: &World, cpu: CpuId, woken: bool) {
        self.note_nr_running(w, cpu);
        if woken {
            self.avg_idle_update(w, cpu);
        }
    }

    /// True if this class has raised the softirq of `cpu` since it was last served.
    pub(crate) fn takes_softirq(&mut self, cpu: CpuId) -> bool {
        std::mem::take(&mut self.balance.paths[cpu].has_raised)
    }

    /// `balance_fair`, when its path is over: there is something to run, or was.
    pub(crate) fn balance_says_yes(&self, cpu: CpuId) -> bool {
        self.balance.paths[cpu].newidle.says_yes
    }
}
