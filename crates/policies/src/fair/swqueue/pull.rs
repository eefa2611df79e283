//! `swq_pick_next_task`: a CPU about to idle pops the head of a shared queue and fetches that task.
//!
//! The queue is popped under its lock, with the own runqueue lock held; then the own lock is
//! dropped for that of the task's runqueue (`task_rq_lock`), and what was read is looked at again.
//! Where the own LLC has nothing, SWQUEUE_STEAL goes on in `steal`.

use super::super::balance::{Flow, PULL_LINES};
use super::super::calls::{RQ_LOCK, SharedCalls};
use super::super::shared_runq::Version;
use super::super::state::Fair;
use super::super::{Discipline, reasons};
use super::{APPEND, Links, UNLINK};
use crate::fair::sites;
use crate::moves;
use sim_core::{LockId, Policy, Site, Stack, Step, TaskId, World};
use std::ops::ControlFlow;
use topology::CpuId;

/// What a pull came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pulled {
    /// Nothing was popped.
    Nothing,
    /// A task was popped, but ran by then, slept, or may not come here.
    Lost,
    /// A task is here now.
    Moved,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Stage {
    #[default]
    Look,
    Hold,
    Pop,
    Popped,
    PiLock,
    Lock,
    Locked,
    Move,
    Unlink,
    UnlockSrc,
    Relock,
    Attach,
    Append,
    Back,
    /// The own LLC has nothing.
    Empty,
    /// SWQUEUE_STEAL: another LLC's queue is next,
    Reach,
    /// its head has been read,
    Read,
    /// none is left.
    Gone,
}

/// `swq_pick_next_task` in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PullPath {
    stage: Stage,
    /// How many queues of the own LLC were looked at in vain.
    n_looked: u32,
    /// The own LLC had nothing: it is a steal, …
    steals: bool,
    /// … and so many others were looked at.
    pub(super) n_reached: u32,
    /// The queue that is being looked at.
    pub(super) queue: u32,
    task: TaskId,
    src: CpuId,
    moved: bool,
}

impl Default for PullPath {
    fn default() -> Self {
        Self {
            stage: Stage::Look,
            n_looked: 0,
            steals: false,
            n_reached: 0,
            queue: 0,
            task: TaskId::NONE,
            src: CpuId(0),
            moved: false,
        }
    }
}

impl PullPath {
    /// The functions below `swqueue_pick_next_task`.
    pub(crate) fn unwind(&self, calls: &SharedCalls, links: &Links, stack: &mut Stack) {
        match self.stage {
            Stage::Hold | Stage::Pop => stack.call(calls.pop),
            Stage::Locked => stack.call(&["task_rq_lock"]),
            Stage::Move | Stage::Unlink => stack.call(calls.move_task),
            Stage::Attach => stack.call(&[RQ_LOCK]),
            _ => {}
        }
        match self.stage {
            Stage::Unlink if links.under_way() => {
                stack.call(&["dequeue_task_fair"]);
                stack.call(calls.dequeue);
            }
            Stage::Append if links.under_way() => {
                stack.call(calls.move_task);
                stack.call(&["enqueue_task_fair"]);
                stack.call(calls.enqueue);
            }
            _ => {}
        }
    }
}

impl<S: Discipline> Fair<S> {
    /// Prepares a pull by `cpu`, which holds its runqueue lock.
    pub(crate) fn swq_pull_begin(&mut self, cpu: CpuId) {
        self.balance.paths[cpu].pull = PullPath::default();
    }

    /// Goes on with `swq_pick_next_task`. At the end the own runqueue lock is held again.
    pub(crate) fn swq_pull(&mut self, w: &mut World, cpu: CpuId) -> Flow<Pulled> {
        loop {
            let path = self.balance.paths[cpu].pull;
            let (step, next) = match path.stage {
                Stage::Back => {
                    let pulled = if path.moved { Pulled::Moved } else { Pulled::Lost };
                    return ControlFlow::Continue(pulled);
                }
                Stage::Empty => {
                    self.counters.pull_empty += 1;
                    if !self.balance.steals.reaches(self.topo.llc[cpu]) {
                        return ControlFlow::Continue(Pulled::Nothing);
                    }
                    self.counters.steal_attempts += 1;
                    self.balance.paths[cpu].pull.steals = true;
                    (None, Stage::Reach)
                }
                Stage::Gone => {
                    self.counters.steal_empty += 1;
                    return ControlFlow::Continue(Pulled::Nothing);
                }
                Stage::Reach | Stage::Read => self.swq_steal(w, cpu, path.stage),
                Stage::Look | Stage::Hold | Stage::Pop | Stage::Popped => {
                    self.swq_pop(w, cpu, path)
                }
                _ => self.swq_fetch(w, cpu, path),
            };
            self.balance.paths[cpu].pull.stage = next;
            if let Some(step) = step {
                return ControlFlow::Break(step);
            }
        }
    }

    /// First half: pop the head of the first queue that has one, under its lock.
    fn swq_pop(&mut self, w: &mut World, cpu: CpuId, path: PullPath) -> (Option<Step>, Stage) {
        let q = path.queue as usize;
        match path.stage {
            Stage::Look => {
                self.counters.pull_attempts += u64::from(path.n_looked == 0);
                self.swq_look(cpu)
            }
            Stage::Hold => {
                let hold = self.swq_unlink_ns(w, q, self.swqueues[q].head);
                (Some(Step::Spend(hold)), Stage::Pop)
            }
            Stage::Pop => {
                let p = self.swqueues[q].head;
                let popped = self.swq_may_pop(w, cpu, q);
                if popped {
                    self.swq_unlink(w, q, p);
                    self.balance.paths[cpu].pull.task = p;
                }
                let next = match popped {
                    true => Stage::Popped,
                    false if path.steals => Stage::Reach,
                    false => Stage::Look,
                };
                (Some(Step::Unlock(self.swqueues[q].lock)), next)
            }
            _ => (Some(Step::Unlock(LockId::rq(cpu))), Stage::PiLock),
        }
    }

    /// On to the next queue that does not look empty, which needs no lock to be seen.
    fn swq_look(&mut self, cpu: CpuId) -> (Option<Step>, Stage) {
        let path = &mut self.balance.paths[cpu].pull;
        while let Some(q) = self.shared.nth(cpu, path.n_looked) {
            path.n_looked += 1;
            path.queue = q as u32;
            if self.swqueues[q].head.is_task() {
                return (Some(Step::Lock(self.swqueues[q].lock, sites::PULL_POP)), Stage::Hold);
            }
        }
        (None, Stage::Empty)
    }

    /// There is a head, and, since version 2, it may run here: else it stays (T7.3).
    fn swq_may_pop(&mut self, w: &World, cpu: CpuId, q: usize) -> bool {
        let head = self.swqueues[q].head;
        if !head.is_task() {
            self.balance.swq.empty_under_lock += 1;
            self.swqueues[q].n_writes += 1;
            return false;
        }
        let fits = self.shared.version < Version::V2 || w.allowed(head, cpu);
        self.balance.swq.head_forbidden += u64::from(!fits);
        fits
    }

    /// Second half: `task_rq_lock` the popped task and move it here if it still waits.
    fn swq_fetch(&mut self, w: &mut World, cpu: CpuId, path: PullPath) -> (Option<Step>, Stage) {
        let (own, src) = (LockId::rq(cpu), LockId::rq(path.src));
        let site = sites::PULL_TASK_RQ_LOCK;
        match path.stage {
            Stage::PiLock => (Some(Step::Spend(w.take_pi_lock(path.task))), Stage::Lock),
            Stage::Lock => {
                let t = &w.tasks[path.task];
                if t.migrating {
                    return (Some(Step::WaitTask(path.task, Site::MIGRATING_WAIT)), Stage::Lock);
                }
                self.balance.paths[cpu].pull.src = t.cpu;
                (Some(Step::Lock(LockId::rq(t.cpu), site)), Stage::Locked)
            }
            Stage::Locked => self.swq_locked(w, cpu, path),
            Stage::Move => (None, self.swq_move(w, cpu, path)),
            Stage::Unlink => match self.swq_link_step(w, cpu, path.src, UNLINK) {
                Some(step) => (Some(step), Stage::Unlink),
                None => (None, Stage::UnlockSrc),
            },
            Stage::UnlockSrc => (Some(Step::Unlock(src)), Stage::Relock),
            Stage::Relock => (Some(Step::Lock(own, Site::SCHEDULE_RQ_LOCK)), Stage::Attach),
            Stage::Append => match self.swq_link_step(w, cpu, cpu, APPEND) {
                Some(step) => (Some(step), Stage::Append),
                None => (None, Stage::Back),
            },
            _ => {
                if path.moved {
                    self.attach_task(w, path.task, cpu, reasons::PULLED_HERE);
                }
                (None, Stage::Append)
            }
        }
    }

    /// The runqueue lock was granted: everything read before may have changed.
    fn swq_locked(&mut self, w: &mut World, cpu: CpuId, path: PullPath) -> (Option<Step>, Stage) {
        let t = &w.tasks[path.task];
        if t.migrating || t.cpu != path.src {
            return (Some(Step::Unlock(LockId::rq(path.src))), Stage::Lock);
        }
        let waits = t.on_rq && !t.on_cpu && w.cpus[path.src].curr != path.task;
        if waits && path.src != cpu && w.allowed(path.task, cpu) {
            let lines = PULL_LINES * w.line_ns(cpu, path.src);
            return (Some(Step::Spend(w.machine.costs.pull_ns + lines)), Stage::Move);
        }
        match path.steals {
            true => self.counters.steal_lost += 1,
            false => self.counters.pull_lost += 1,
        }
        if t.on_cpu {
            self.balance.swq.popped_but_running += 1;
        } else {
            self.balance.swq.popped_otherwise += 1;
        }
        // The task may have come to this very CPU: then its lock is the one that is wanted back.
        (None, if path.src == cpu { Stage::Back } else { Stage::UnlockSrc })
    }

    fn swq_move(&mut self, w: &mut World, cpu: CpuId, path: PullPath) -> Stage {
        self.catch_up(w, path.src);
        self.detach_task(w, path.task, path.src, cpu, moves::SHARED);
        match path.steals {
            true => self.counters.steal_hits += 1,
            false => self.counters.pull_hits += 1,
        }
        self.balance.swq.stolen_and_moved += 1;
        self.balance.paths[cpu].pull.moved = true;
        // It may have been queued again since the pop.
        Stage::Unlink
    }
}
