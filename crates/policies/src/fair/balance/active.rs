//! Active balance: the stopper of the busiest CPU pushes one task to the
//! target.
//!
//! The mechanism has put the stopped task back on the queue before; the body is: lock the source,
//! detach the least recently run task that may move (hotness does not count), unlock, lock the
//! target, attach, unlock.

use crate::fair::queue::Discipline;
use crate::fair::shared::{APPEND, UNLINK};
use crate::fair::state::balance::PULL_LINES;
use crate::fair::state::domain::domain_at;
use crate::fair::state::path::{Flow, StopPath, StopStage};
use crate::fair::state::{Fair, reasons};
use crate::moves;
use sim_core::{IdleType, LockId, Policy, SdStat, Site, Step, StopWork, TaskId, World};
use std::ops::ControlFlow;
use topology::CpuId;

impl<S: Discipline> Fair<S> {
    /// Queues the push for `src`'s stopper. As `active_balance` is set, it is the only one there.
    pub(crate) fn start_active_balance(&mut self, w: &mut World, src: CpuId, target: CpuId) {
        self.catch_up(w, src);
        if w.stop_one_cpu(src, StopWork::Push(target)) {
            self.note_stopper(w, src);
        }
    }

    /// `active_load_balance_cpu_stop` (see `Policy::stopper`).
    pub(crate) fn stopper_step(
        &mut self,
        w: &mut World,
        cpu: CpuId,
        target: CpuId,
        first: bool,
    ) -> Step {
        if first {
            self.balance.paths[cpu].stop = StopPath::default();
        }
        match self.stopper_run(w, cpu, target) {
            ControlFlow::Break(step) => step,
            ControlFlow::Continue(()) => Step::Done,
        }
    }

    fn stopper_run(&mut self, w: &mut World, cpu: CpuId, target: CpuId) -> Flow<()> {
        loop {
            let stop = self.balance.paths[cpu].stop;
            let (step, next) = self.stopper_stage(w, cpu, target, stop);
            self.balance.paths[cpu].stop.stage = next;
            match step {
                Some(step) => return ControlFlow::Break(step),
                None if next == StopStage::Done => return ControlFlow::Continue(()),
                None => {}
            }
        }
    }

    fn stopper_stage(
        &mut self,
        w: &mut World,
        cpu: CpuId,
        target: CpuId,
        stop: StopPath,
    ) -> (Option<Step>, StopStage) {
        let (src, dst) = (LockId::rq(cpu), LockId::rq(target));
        match stop.stage {
            StopStage::Lock => (Some(Step::Lock(src, Site::STOP_RQ_LOCK)), StopStage::Look),
            StopStage::Look => {
                self.update_rq_clock(w, cpu);
                let work = w.machine.costs.pull_ns + PULL_LINES * w.line_ns(cpu, target);
                (Some(Step::Spend(work)), StopStage::Detach)
            }
            StopStage::Detach => self.detach_one(w, cpu, target),
            StopStage::Unlink => match self.swq_link_step(w, cpu, cpu, UNLINK) {
                Some(step) => (Some(step), StopStage::Unlink),
                None => (None, StopStage::Unlock),
            },
            StopStage::Unlock => (Some(Step::Unlock(src)), StopStage::LockDst),
            StopStage::LockDst if !stop.task.is_task() => (None, StopStage::Done),
            StopStage::LockDst => (Some(Step::Lock(dst, Site::STOP_RQ_LOCK)), StopStage::Attach),
            StopStage::Attach => {
                self.attach_task(w, stop.task, target, reasons::PUSHED_HERE);
                (None, StopStage::Append)
            }
            StopStage::Append => match self.swq_link_step(w, cpu, target, APPEND) {
                Some(step) => (Some(step), StopStage::Append),
                None => (Some(Step::Unlock(dst)), StopStage::Done),
            },
            StopStage::Done => (None, StopStage::Done),
        }
    }

    fn detach_one(
        &mut self,
        w: &mut World,
        cpu: CpuId,
        target: CpuId,
    ) -> (Option<Step>, StopStage) {
        let wanted = std::mem::take(&mut self.rqs[cpu].active_balance);
        self.catch_up(w, cpu);
        // The tasks may have gone since the request.
        if !wanted || w.cpus[cpu].nr_running <= 1 {
            return (None, StopStage::Unlock);
        }
        let levels = self.sds[target].len();
        let spans_both =
            |l: &usize| domain_at(w, target, *l).is_some_and(|(d, _)| d.span.contains(cpu));
        // The lowest domain that spans both CPUs, whichever one asked.
        let level = (0..levels).find(spans_both);
        let mut p = self.list_tail(cpu);
        // No test of hotness: the push comes after several passes that moved nothing.
        while p.is_task() && !self.may_push(w, p, cpu, target) {
            p = self.tasks[p].list_prev;
        }
        if let Some(level) = level {
            count_push(w.stat.sd_mut(target, level), p.is_task());
        }
        if !p.is_task() {
            return (None, StopStage::Unlock);
        }
        self.detach_task(w, p, cpu, target, moves::ACTIVE);
        self.balance.paths[cpu].stop.task = p;
        if let Some(level) = level {
            self.sds[target][level].nr_balance_failed = 0;
        }
        (None, StopStage::Unlink)
    }

    /// `can_migrate_task` under LBF_ACTIVE_LB: where its group may not run a task is of no use.
    fn may_push(&self, w: &World, p: TaskId, from: CpuId, target: CpuId) -> bool {
        let throttled = w.tasks[p].throttled || self.in_throttled(self.queue_of(target, p));
        !throttled && w.allowed(p, target) && w.cpus[from].curr != p
    }
}

/// The push of a task to a CPU with this domain, or of none.
fn count_push(sd: &mut SdStat, moved: bool) {
    if moved {
        sd.alb_pushed += 1;
        // The kernel's `detach_one_task` counts as if the target were idle.
        sd.lb[IdleType::Idle as usize].gained += 1;
    } else {
        sd.alb_failed += 1;
    }
}
