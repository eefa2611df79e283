//! `swq_pick_next_task`: a CPU about to idle pops the head of a shared queue and fetches that task.
//!
//! The queue is popped under its lock, with the own runqueue lock held; then the own lock is
//! dropped for that of the task's runqueue (`task_rq_lock`), and what was read is looked at again.
//! Where the own LLC has nothing, SWQUEUE_STEAL goes on in `steal`.

use super::list::{APPEND, UNLINK};
use crate::fair::queue::Discipline;
use crate::fair::state::balance::PULL_LINES;
use crate::fair::state::path::{Flow, PullPath, PullStage};
use crate::fair::state::{Fair, reasons, sites};
use crate::moves;
use sim_core::{LockId, Policy, Site, Step, World};
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
                PullStage::Finish => {
                    let pulled = if path.moved { Pulled::Moved } else { Pulled::Lost };
                    return ControlFlow::Continue(pulled);
                }
                PullStage::LlcEmpty => {
                    // The queue of the own LLC, or all its shards, had nothing.
                    self.counters.pull_empty += 1;
                    if !self.balance.steals.has_others(self.topo.llc[cpu]) {
                        return ControlFlow::Continue(Pulled::Nothing);
                    }
                    self.counters.steal_attempts += 1;
                    self.balance.paths[cpu].pull.steals = true;
                    (None, PullStage::NextLlc)
                }
                PullStage::NoneLeft => {
                    self.counters.steal_empty += 1;
                    return ControlFlow::Continue(Pulled::Nothing);
                }
                PullStage::NextLlc | PullStage::HeadRead => self.swq_steal(w, cpu, path.stage),
                PullStage::Look | PullStage::Hold | PullStage::Pop | PullStage::Popped => {
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
    fn swq_pop(&mut self, w: &mut World, cpu: CpuId, path: PullPath) -> (Option<Step>, PullStage) {
        let q = path.queue as usize;
        match path.stage {
            PullStage::Look => {
                self.counters.pull_attempts += u64::from(path.n_looked == 0);
                self.swq_look(cpu)
            }
            PullStage::Hold => {
                // The head as of the grant of the lock: what the section touches is known only now.
                let hold = self.swq_unlink_ns(w, q, self.swqueues[q].head);
                (Some(Step::Spend(hold)), PullStage::Pop)
            }
            PullStage::Pop => {
                let p = self.swqueues[q].head;
                let popped = self.swq_may_pop(w, cpu, q);
                if popped {
                    self.swq_unlink(w, q, p);
                    self.balance.paths[cpu].pull.task = p;
                }
                let next = match popped {
                    true => PullStage::Popped,
                    false if path.steals => PullStage::NextLlc,
                    false => PullStage::Look,
                };
                (Some(Step::Unlock(self.swqueues[q].lock)), next)
            }
            _ => (Some(Step::Unlock(LockId::rq(cpu))), PullStage::PiLock),
        }
    }

    /// On to the next queue that does not look empty, which needs no lock to be seen.
    fn swq_look(&mut self, cpu: CpuId) -> (Option<Step>, PullStage) {
        let path = &mut self.balance.paths[cpu].pull;
        while let Some(q) = self.shared.nth(cpu, path.n_looked) {
            path.n_looked += 1;
            path.queue = q as u32;
            // `list_empty` without the lock.
            if self.swqueues[q].head.is_task() {
                return (Some(Step::Lock(self.swqueues[q].lock, sites::PULL_POP)), PullStage::Hold);
            }
        }
        (None, PullStage::LlcEmpty)
    }

    /// There is a head, and, since version 2, it may run here: else it stays.
    fn swq_may_pop(&mut self, w: &World, cpu: CpuId, q: usize) -> bool {
        let head = self.swqueues[q].head;
        if !head.is_task() {
            self.balance.swq.empty_under_lock += 1;
            self.swqueues[q].n_writes += 1;
            return false;
        }
        let fits = !self.shared.rules.leaves_forbidden_head || w.allowed(head, cpu);
        self.balance.swq.head_forbidden += u64::from(!fits);
        fits
    }

    /// Second half: `task_rq_lock` the popped task and move it here if it still waits.
    fn swq_fetch(
        &mut self,
        w: &mut World,
        cpu: CpuId,
        path: PullPath,
    ) -> (Option<Step>, PullStage) {
        let (own, src) = (LockId::rq(cpu), LockId::rq(path.src));
        let site = sites::PULL_TASK_RQ_LOCK;
        match path.stage {
            PullStage::PiLock => (Some(Step::Spend(w.take_pi_lock(path.task))), PullStage::Lock),
            PullStage::Lock => {
                let t = &w.tasks[path.task];
                // `task_rq_lock` waits as long as the task is between two runqueues.
                if t.migrating {
                    return (
                        Some(Step::WaitTask(path.task, Site::MIGRATING_WAIT)),
                        PullStage::Lock,
                    );
                }
                self.balance.paths[cpu].pull.src = t.cpu;
                (Some(Step::Lock(LockId::rq(t.cpu), site)), PullStage::Locked)
            }
            PullStage::Locked => self.swq_locked(w, cpu, path),
            PullStage::Move => (None, self.swq_move(w, cpu, path)),
            PullStage::Unlink => match self.swq_link_step(w, cpu, path.src, UNLINK) {
                Some(step) => (Some(step), PullStage::Unlink),
                None => (None, PullStage::UnlockSrc),
            },
            PullStage::UnlockSrc => (Some(Step::Unlock(src)), PullStage::Relock),
            PullStage::Relock => (Some(Step::Lock(own, Site::SCHEDULE_RQ_LOCK)), PullStage::Attach),
            PullStage::Append => match self.swq_link_step(w, cpu, cpu, APPEND) {
                Some(step) => (Some(step), PullStage::Append),
                None => (None, PullStage::Finish),
            },
            _ => {
                if path.moved {
                    self.attach_task(w, path.task, cpu, reasons::PULLED_HERE);
                }
                (None, PullStage::Append)
            }
        }
    }

    /// The runqueue lock was granted: everything read before may have changed.
    fn swq_locked(
        &mut self,
        w: &mut World,
        cpu: CpuId,
        path: PullPath,
    ) -> (Option<Step>, PullStage) {
        let t = &w.tasks[path.task];
        // It has moved on: `task_rq_lock` begins again with its new runqueue.
        if t.migrating || t.cpu != path.src {
            return (Some(Step::Unlock(LockId::rq(path.src))), PullStage::Lock);
        }
        // A task that runs, or is being switched out, is not taken from its CPU.
        let waits = t.on_rq && !t.on_cpu && w.cpus[path.src].curr != path.task;
        if waits && path.src != cpu && w.allowed(path.task, cpu) {
            self.update_rq_clock(w, path.src);
            let lines = PULL_LINES * w.line_ns(cpu, path.src);
            return (Some(Step::Spend(w.machine.costs.pull_ns + lines)), PullStage::Move);
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
        (None, if path.src == cpu { PullStage::Finish } else { PullStage::UnlockSrc })
    }

    fn swq_move(&mut self, w: &mut World, cpu: CpuId, path: PullPath) -> PullStage {
        self.catch_up(w, path.src);
        // `migrate_task_to`, under the lock of the source only.
        self.detach_task(w, path.task, path.src, cpu, moves::SHARED);
        match path.steals {
            true => self.counters.steal_hits += 1,
            false => self.counters.pull_hits += 1,
        }
        self.balance.swq.stolen_and_moved += 1;
        self.balance.paths[cpu].pull.moved = true;
        // It may have been queued again since the pop.
        PullStage::Unlink
    }
}
