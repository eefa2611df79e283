//! Which tasks are put on the shared queues, and when (`state::shared_runq` has the versions).

use super::list::{APPEND, PUT_PREV, REQUEUE};
use crate::fair::queue::Discipline;
use crate::fair::state::shared_runq::EnqueueRule;
use crate::fair::state::{Fair, sites};
use sim_core::{EnqueueFlags, Hook, Nested, TaskId, World};
use topology::CpuId;

/// How a task comes to wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Arrival {
    /// By an enqueue; the runqueue's count includes it.
    Enqueue(EnqueueFlags),
    /// Its attributes were changed.
    Restore,
    /// It ran until now.
    PutPrev,
}

impl<S: Discipline> Fair<S> {
    /// Whether `p`, which may use `n_allowed` CPUs, is to be queued as it comes to wait on `cpu`.
    fn shared_wants(&self, w: &World, cpu: CpuId, n_allowed: u32, how: Arrival) -> bool {
        // No other CPU could run it.
        if n_allowed == 1 {
            return false;
        }
        match (self.shared.rules.enqueue, how) {
            (EnqueueRule::Enqueue, how) => how != Arrival::PutPrev,
            (EnqueueRule::Wakeup, Arrival::Enqueue(f)) => f.wakeup && !f.migrated,
            (EnqueueRule::Wakeup, _) => false,
            (EnqueueRule::Tree, _) | (_, Arrival::PutPrev) => true,
            (EnqueueRule::TreeNonempty, _) => w.cpus[cpu].nr_running > 1,
        }
    }

    /// True if `p`, just put on the runqueue of `cpu`, is to be appended to the shared queue.
    #[inline]
    pub(crate) fn shared_takes(&self, w: &World, cpu: CpuId, p: TaskId, f: EnqueueFlags) -> bool {
        let n_allowed = w.tasks[p].nr_cpus_allowed;
        !self.swqueues.is_empty() && self.shared_wants(w, cpu, n_allowed, Arrival::Enqueue(f))
    }

    /// `prev` has been put back among the waiting tasks of `cpu`: it is appended, and then the
    /// current task unlinked.
    #[inline]
    pub(crate) fn shared_put_prev(&mut self, w: &World, cpu: CpuId, prev: TaskId) -> Hook {
        if !prev.is_task() || !self.shared.follows_tree() || !self.tasks[prev].on_rq {
            return None;
        }
        let n_allowed = w.tasks[prev].nr_cpus_allowed;
        let queued = self.shared_wants(w, cpu, n_allowed, Arrival::PutPrev);
        queued.then(|| self.swq_nested(cpu, prev, sites::PUT_PREV_ENQUEUE, PUT_PREV))
    }

    /// `p`, on the runqueue of its CPU, was taken off and put back as its attributes changed; it
    /// may use `n_allowed` CPUs from now on.
    pub(crate) fn shared_changed(&mut self, w: &mut World, p: TaskId, n_allowed: u32) -> Hook {
        let cpu = w.tasks[p].cpu;
        let is_curr = self.rqs[cpu].curr == p;
        let stays_off = match self.shared.rules.enqueue {
            EnqueueRule::Wakeup => true,
            // The code appends a task even while it runs, to be popped in vain. Left out: nothing
            // but a change of its attributes does that, and no waiter would be missed.
            EnqueueRule::Enqueue => is_curr,
            EnqueueRule::Tree | EnqueueRule::TreeNonempty => is_curr && n_allowed == 1,
        };
        if stays_off {
            return self.swq_remove(w, cpu, p, sites::DEQUEUE_REMOVE);
        }
        if is_curr {
            return Some(self.swq_nested(cpu, p, sites::PUT_PREV_ENQUEUE, PUT_PREV));
        }
        match self.swq_remove(w, cpu, p, sites::DEQUEUE_REMOVE) {
            Some(unlink) => Some(Nested { op: REQUEUE, ..unlink }),
            None => self.shared_restored(w, cpu, p, n_allowed),
        }
    }

    /// `p` waits on `cpu` again after a change of its attributes.
    pub(crate) fn shared_restored(&self, w: &World, cpu: CpuId, p: TaskId, n: u32) -> Hook {
        let queued = self.shared_wants(w, cpu, n, Arrival::Restore);
        queued.then(|| self.swq_nested(cpu, p, sites::TTWU_ENQUEUE, APPEND))
    }
}
