//! A task moves between runqueues: the two halves of a move, each under one runqueue lock.

use crate::fair::queue::Discipline;
use crate::fair::state::Fair;
use sim_core::{Decision, DequeueFlags, EnqueueFlags, MigrationCause, Reason, TaskId, World};
use topology::CpuId;

impl<S: Discipline> Fair<S> {
    /// Takes `p` off `src`'s queue, whose lock is held: from here it is in transit to `dst`. If it
    /// is on a shared queue, the path has to unlink it (`swq_link_step`).
    pub(crate) fn detach_task(
        &mut self,
        w: &mut World,
        p: TaskId,
        src: CpuId,
        dst: CpuId,
        why: MigrationCause,
    ) {
        self.take_from_queue(w, src, p, DequeueFlags::default());
        if self.tasks[p].on_swqueue {
            self.balance.paths[w.this].links.tasks.push(p);
        }
        w.deactivate(src, p);
        w.tasks[p].migrating = true;
        w.set_task_cpu(p, dst, why);
        // A migrated task is cold until it has run again.
        self.tasks[p].exec_start = 0;
    }

    /// Puts `p` on `dst`'s queue, whose lock is held. If it is to be on the shared queue, the path
    /// has to append it (`swq_link_step`).
    pub(crate) fn attach_task(
        &mut self,
        w: &mut World,
        p: TaskId,
        dst: CpuId,
        why: &'static Reason,
    ) {
        w.note_placed(p, why);
        // The lock has just been taken.
        self.update_rq_clock(w, dst);
        w.activate(dst, p);
        w.tell(Decision::Attached { task: p, cpu: dst });
        let flags = EnqueueFlags { migrated: true, ..EnqueueFlags::default() };
        S::enqueue_entity(self, w, dst, p, flags);
        if self.shared_takes(w, dst, p, flags) {
            self.balance.paths[w.this].links.tasks.push(p);
        }
        self.check_preempt(w, dst, p, flags);
    }
}
