//! The fair class beside another one, whose tasks count on the same runqueues.

use crate::fair::queue::Discipline;
use crate::fair::state::{Fair, FairTask};
use sim_core::{TaskId, World};
use topology::CpuId;

impl<S: Discipline> Fair<S> {
    /// A task of another class was made. It may wake tasks of this one, so its wakees are counted.
    pub(crate) fn add_foreign(&mut self, w: &World, p: TaskId, parent: Option<TaskId>) {
        let decay_due = self.first_flip_decay(w);
        self.cover(w, p);
        let mut se = FairTask::new(&w.tasks[p].attr);
        match parent {
            Some(parent) => se.wakee = self.tasks[parent].wakee,
            None => se.wakee.decay_due = decay_due,
        }
        self.tasks[p] = se;
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

    /// True if a softirq of `cpu` has something to do for this class.
    pub(crate) fn wants_softirq(&self, w: &World, cpu: CpuId) -> bool {
        let was_asked = self.balance.paths[cpu].ilb.granted != 0;
        was_asked || w.jiffies() >= self.rqs[cpu].next_balance
    }
}
