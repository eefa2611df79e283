//! A task that is enqueued on one CPU and inserted into the local queue of another one
//! (`SCX_DSQ_LOCAL_ON`), or that a timer moves to a CPU's local queue: the CPU that has decided it
//! moves the task later, in a softirq.
//!
//! In Linux: `direct_dispatch`, `schedule_deferred` and `process_ddsp_deferred_locals`, `ext.c`
//! v6.12, which do it when the runqueue's lock is next dropped, or in an interrupt; the softirq
//! stands for both. Kicks come after the moves: `irq_work_run_list` runs what was queued last
//! first, and a task that wakes up is moved before the lock is dropped. Of a timer
//! `scx_dispatch_from_dsq` takes the locks itself; a timer's callback takes no time here, so what
//! it moves is taken off its queue at once and arrives later.

use super::dispatch::CONSUME_RQ_LOCK;
use super::later::Stage;
use super::ops::Ops;
use super::state::{Ext, Place, State};
use super::types::Wanted;
use crate::fair::state::balance::PULL_LINES;
use crate::moves;
use sim_core::{LockId, Policy, Step, TaskId, World};
use topology::CpuId;

impl State {
    /// The executing CPU shall put `p`, which is on no queue, on the local queue of `to`.
    pub fn defer(&mut self, w: &mut World, p: TaskId, to: CpuId, wanted: Wanted) {
        let t = &mut self.tasks[p];
        (t.place, t.wanted) = (Place::Deferred, None);
        let cpu = w.this;
        self.rqs[cpu].deferred.moves.push_back((p, t.n_enqueued, to, wanted));
        w.raise_softirq(cpu);
    }
}

impl<S: Ops> Ext<S> {
    /// `Policy::softirq`
    pub(super) fn deferred_step(&mut self, w: &mut World, cpu: CpuId, first: bool) -> Step {
        let deferred = &self.state.rqs[cpu].deferred;
        // Runqueue locks are taken with interrupts off.
        if first && !(deferred.kicks.is_empty() && deferred.moves.is_empty()) {
            return Step::IrqOff;
        }
        if deferred.kicks.is_locked() {
            // A timer's handler may have asked for a move meanwhile.
            return self.state.kick_step(w, cpu);
        }
        loop {
            let deferred = &self.state.rqs[cpu].deferred;
            let Some(&(p, n_enqueued, dst, wanted)) = deferred.moves.front() else {
                if std::mem::take(&mut self.state.rqs[cpu].deferred.resched) {
                    w.resched_curr(cpu);
                }
                return self.state.kick_step(w, cpu);
            };
            let stage = deferred.stage;
            let src = deferred.src.unwrap_or(cpu);
            let t = &self.state.tasks[p];
            let is_due = t.place == Place::Deferred && t.n_enqueued == n_enqueued;
            let (step, next) = match stage {
                Stage::Next if is_due => {
                    let src = w.tasks[p].cpu;
                    self.state.rqs[cpu].deferred.src = Some(src);
                    (Some(Step::Lock(LockId::rq(src), CONSUME_RQ_LOCK)), Stage::SourceLocked)
                }
                Stage::Next => (None, self.next_move(cpu)),
                Stage::SourceLocked if is_due && w.tasks[p].cpu == src && src == dst => {
                    self.arrive_by_softirq(w, p, wanted);
                    (Some(Step::Unlock(LockId::rq(src))), self.next_move(cpu))
                }
                Stage::SourceLocked if is_due && w.tasks[p].cpu == src => {
                    self.state.tasks[p].place = Place::InFlight(cpu);
                    let lines = PULL_LINES * w.line_ns(src, dst);
                    (Some(Step::Spend(w.machine.costs.pull_ns + lines)), Stage::Move)
                }
                Stage::SourceLocked => (Some(Step::Unlock(LockId::rq(src))), self.next_move(cpu)),
                Stage::Move => {
                    self.catch_up(w, src);
                    w.deactivate(src, p);
                    w.tasks[p].migrating = true;
                    w.set_task_cpu(p, dst, moves::BALANCE);
                    (Some(Step::Unlock(LockId::rq(src))), Stage::LockTarget)
                }
                Stage::LockTarget => {
                    (Some(Step::Lock(LockId::rq(dst), CONSUME_RQ_LOCK)), Stage::Arrive)
                }
                Stage::Arrive => {
                    self.state.activate(w, dst, p);
                    self.arrive_by_softirq(w, p, wanted);
                    (Some(Step::Unlock(LockId::rq(dst))), self.next_move(cpu))
                }
            };
            self.state.rqs[cpu].deferred.stage = next;
            if let Some(step) = step {
                return step;
            }
        }
    }

    /// The task counts on the CPU that it goes to, whose lock is held.
    fn arrive_by_softirq(&mut self, w: &mut World, p: TaskId, wanted: Wanted) {
        self.state.insert_local(w, p, wanted);
        let dst = w.tasks[p].cpu;
        if w.cpus[dst].curr == TaskId::IDLE {
            w.resched_curr(dst);
        }
    }

    /// The first move is over, or void.
    fn next_move(&mut self, cpu: CpuId) -> Stage {
        self.state.rqs[cpu].deferred.moves.pop_front();
        Stage::Next
    }
}
