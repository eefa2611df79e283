//! Active balance (spec 8.7, 14.1 S2): the stopper of the busiest CPU pushes one task to the
//! target.
//!
//! The mechanism has put the stopped task back on the queue before; the body is: lock the source,
//! detach the least recently run task that may move (hotness does not count), unlock, lock the
//! target, attach, unlock.

use super::{Flow, IdleType, PULL_LINES, domain_at};
use crate::fair::calls::{RQ_LOCK, SharedCalls};
use crate::fair::state::Fair;
use crate::fair::swqueue::{APPEND, Links, UNLINK};
use crate::fair::{Discipline, reasons};
use crate::moves;
use sim_core::{LockId, Policy, SdStat, Site, Stack, Step, StopWork, TaskId, World};
use std::ops::ControlFlow;
use topology::CpuId;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stage {
    #[default]
    Lock,
    Look,
    Detach,
    Unlink,
    Unlock,
    LockDst,
    Attach,
    Append,
    Done,
}

/// The push in progress on one CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StopPath {
    stage: Stage,
    task: TaskId,
}

impl Default for StopPath {
    fn default() -> Self {
        Self { stage: Stage::Lock, task: TaskId::NONE }
    }
}

impl StopPath {
    /// The functions below `active_load_balance_cpu_stop`.
    pub(crate) fn unwind(&self, calls: &SharedCalls, links: &Links, stack: &mut Stack) {
        match self.stage {
            Stage::Look => stack.call(&[RQ_LOCK]),
            Stage::Attach => stack.call(&["attach_one_task", RQ_LOCK]),
            Stage::Unlink if links.under_way() => {
                stack.call(&["detach_one_task", "dequeue_task_fair"]);
                stack.call(calls.dequeue);
            }
            Stage::Append => {
                stack.call(&["attach_one_task", "enqueue_task_fair"]);
                stack.call(calls.enqueue);
            }
            Stage::Detach => stack.call(&["detach_one_task"]),
            _ => {}
        }
    }
}

impl<S: Discipline> Fair<S> {
    /// Queues the push for `src`'s stopper. If the stopper has other work the request is dropped.
    pub(crate) fn start_active_balance(&mut self, w: &mut World, src: CpuId, target: CpuId) {
        self.catch_up(w, src);
        if w.stop_one_cpu(src, StopWork::Push(target)) {
            self.stopper_woken(w, src);
        } else {
            self.rqs[src].active_balance = false;
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
                None if next == Stage::Done => return ControlFlow::Continue(()),
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
    ) -> (Option<Step>, Stage) {
        let (src, dst) = (LockId::rq(cpu), LockId::rq(target));
        match stop.stage {
            Stage::Lock => (Some(Step::Lock(src, Site::STOP_RQ_LOCK)), Stage::Look),
            Stage::Look => {
                let work = w.machine.costs.pull_ns + PULL_LINES * w.line_ns(cpu, target);
                (Some(Step::Spend(work)), Stage::Detach)
            }
            Stage::Detach => self.detach_one(w, cpu, target),
            Stage::Unlink => match self.swq_link_step(w, cpu, cpu, UNLINK) {
                Some(step) => (Some(step), Stage::Unlink),
                None => (None, Stage::Unlock),
            },
            Stage::Unlock => (Some(Step::Unlock(src)), Stage::LockDst),
            Stage::LockDst if !stop.task.is_task() => (None, Stage::Done),
            Stage::LockDst => (Some(Step::Lock(dst, Site::STOP_RQ_LOCK)), Stage::Attach),
            Stage::Attach => {
                self.attach_task(w, stop.task, target, reasons::PUSHED_HERE);
                (None, Stage::Append)
            }
            Stage::Append => match self.swq_link_step(w, cpu, target, APPEND) {
                Some(step) => (Some(step), Stage::Append),
                None => (Some(Step::Unlock(dst)), Stage::Done),
            },
            Stage::Done => (None, Stage::Done),
        }
    }

    fn detach_one(&mut self, w: &mut World, cpu: CpuId, target: CpuId) -> (Option<Step>, Stage) {
        let wanted = std::mem::take(&mut self.rqs[cpu].active_balance);
        self.catch_up(w, cpu);
        if !wanted || w.cpus[cpu].nr_running <= 1 {
            return (None, Stage::Unlock);
        }
        let levels = self.sds[target].len();
        let spans_both =
            |l: &usize| domain_at(w, target, *l).is_some_and(|(d, _)| d.span.contains(cpu));
        let level = (0..levels).find(spans_both);
        let mut p = self.list_tail(cpu);
        while p.is_task() && (!w.allowed(p, target) || w.cpus[cpu].curr == p) {
            p = self.tasks[p].list_prev;
        }
        if let Some(level) = level {
            count_push(w.stat.sd_mut(target, level), p.is_task());
        }
        if !p.is_task() {
            return (None, Stage::Unlock);
        }
        self.detach_task(w, p, cpu, target, moves::ACTIVE);
        self.balance.paths[cpu].stop.task = p;
        if let Some(level) = level {
            self.sds[target][level].nr_balance_failed = 0;
        }
        (None, Stage::Unlink)
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
