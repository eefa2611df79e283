//! What the layer must keep, for property tests and debugging: a task is in one place, and that
//! place knows it.

use super::ops::Ops;
use super::queue::Queue;
use super::state::{Ext, Place, State, is_at_rest, is_told};
use super::types::DsqId;
use sim_core::{PerTask, TaskId, World};
use topology::CpuId;

impl<S: Ops> Ext<S> {
    /// Checks all queues against all tasks. O(CPUs + tasks).
    ///
    /// # Errors
    /// The first contradiction found, in words.
    pub fn check(&self, w: &World) -> Result<(), String> {
        let mut seen = PerTask::filled(Place::Off, w.tasks.len());
        for (cpu, rq) in self.state.rqs.iter().enumerate() {
            for p in tasks(&self.state, &rq.local) {
                note(&mut seen, p, Place::Local)?;
                if w.tasks[p].cpu.idx() != cpu || !w.tasks[p].on_rq {
                    return Err(format!("the local queue of {cpu} has {:?}", w.tasks[p]));
                }
            }
        }
        for (i, dsq) in self.state.dsqs.iter().enumerate() {
            for p in tasks(&self.state, &dsq.queue) {
                note(&mut seen, p, Place::Dsq(DsqId(i as u32)))?;
            }
        }
        for (i, seen) in seen.iter().copied().enumerate() {
            let known = self.state.tasks.get(i).map_or(Place::Off, |t| t.place);
            let is_queued = matches!(known, Place::Local | Place::Dsq(_));
            if is_queued && seen != known || !is_queued && seen != Place::Off {
                return Err(format!("task {i} is {known:?}, but the queues say {seen:?}"));
            }
        }
        Ok(())
    }

    /// A task that waits in a queue for any CPU while a CPU that may run it idles, was not told to
    /// look, and is not claimed for another task that is on its way; unless as many CPUs as tasks
    /// wait are about to look.
    pub fn waits_beside_idle_cpu(&self, w: &World) -> Option<(TaskId, CpuId)> {
        let cpus = || (0..w.cpus.len() as u32).map(CpuId);
        let at_rest =
            |cpu: &CpuId| is_at_rest(&self.state.rqs, w, *cpu) && self.state.idle.is_idle(*cpu);
        let resting: Vec<CpuId> = cpus().filter(at_rest).collect();
        let queued = self.state.dsqs.iter().flat_map(|dsq| tasks(&self.state, &dsq.queue));
        let queued: Vec<TaskId> = queued.filter(|p| w.tasks[*p].on_rq).collect();
        // Enough CPUs are on their way.
        if cpus().filter(|cpu| self.will_look(w, *cpu)).count() >= queued.len() {
            return None;
        }
        queued.into_iter().find_map(|p| Some((p, *resting.iter().find(|c| w.allowed(p, **c))?)))
    }

    /// True if the CPU was told to look for a task, and has found none so far.
    fn will_look(&self, w: &World, cpu: CpuId) -> bool {
        let c = &w.cpus[cpu];
        let rq = &self.state.rqs[cpu];
        let told = c.curr == TaskId::IDLE && is_told(&self.state.rqs, w, cpu);
        rq.local.is_empty() && if rq.path.is_under_way() { !rq.path.has_task() } else { told }
    }
}

fn tasks<'a>(s: &'a State, queue: &'a Queue) -> impl Iterator<Item = TaskId> + 'a {
    let first = queue.first(&s.nodes);
    std::iter::successors(first, |p| queue.next(&s.nodes, *p)).take(s.nodes.len() + 1)
}

fn note(seen: &mut PerTask<Place>, p: TaskId, place: Place) -> Result<(), String> {
    match std::mem::replace(&mut seen[p], place) {
        Place::Off => Ok(()),
        other => Err(format!("{p:?} is on {other:?} and on {place:?}")),
    }
}
