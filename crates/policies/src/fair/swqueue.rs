//! The shared wakequeue of SWQUEUE v1 (spec 7.1): one FIFO of freshly woken tasks per LLC.
//!
//! A task that wakes on its previous CPU is appended under the runqueue lock; it leaves when it is
//! picked, dequeued, or popped by a CPU of the LLC that goes idle. The list hangs together through
//! the tasks. Appending and unlinking are nested critical sections ([`Nested`]) that the mechanism
//! carries out; the pull is a path of its own, which drops the own runqueue lock on the way.

use super::balance::{Flow, PULL_LINES};
use super::calls::RQ_LOCK;
use super::state::Fair;
use super::{Discipline, reasons};
use sim_core::{EnqueueFlags, Hook, LockId, MigrationCause, Nested, Ns, Policy, Site, Stack, Step};
use sim_core::{TaskId, World};
use std::ops::ControlFlow;
use topology::CpuId;

/// [`Nested::op`]: append at the tail.
const APPEND: u8 = 0;
/// [`Nested::op`]: unlink.
const UNLINK: u8 = 1;

/// What became of queued tasks (spec B.1), and the races of spec 7.1.
#[derive(Clone, Debug, Default)]
pub struct SwqStats {
    /// Appended by a wake-up.
    pub appended: u64,
    /// Unlinked by the CPU that picked it.
    pub picked_by_own_cpu: u64,
    /// Popped and moved by another CPU.
    pub stolen_and_moved: u64,
    /// Popped, but running by then.
    pub popped_but_running: u64,
    /// Popped, but asleep, forbidden here, or here already.
    pub popped_otherwise: u64,
    /// The owner took the lock to unlink and found that a puller had been faster.
    pub unlinked_nothing: u64,
    /// The list looked non-empty and was empty under the lock.
    pub empty_under_lock: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stage {
    #[default]
    Look,
    Hold,
    Pop,
    Popped,
    PiLock,
    Lock,
    Locked,
    Move,
    UnlinkHold,
    UnlinkDone,
    UnlockSrc,
    Relock,
    Attach,
    Back,
    Empty,
}

/// `swq_pick_next_task` in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PullPath {
    stage: Stage,
    task: TaskId,
    src: CpuId,
    moved: bool,
}

impl Default for PullPath {
    fn default() -> Self {
        Self { stage: Stage::Look, task: TaskId::NONE, src: CpuId(0), moved: false }
    }
}

impl PullPath {
    /// The functions below `swqueue_pick_next_task`.
    pub(crate) fn unwind(&self, stack: &mut Stack) {
        match self.stage {
            Stage::Hold | Stage::Pop => stack.call(&["swqueue_pull_task"]),
            Stage::Locked => stack.call(&["task_rq_lock"]),
            Stage::Move => stack.call(&["migrate_task_to"]),
            Stage::UnlinkHold | Stage::UnlinkDone => {
                stack.call(&["migrate_task_to", "dequeue_task_fair", "swqueue_remove_task"]);
            }
            Stage::Attach => stack.call(&[RQ_LOCK]),
            _ => {}
        }
    }
}

impl<S: Discipline> Fair<S> {
    #[inline]
    fn swq_of(&self, w: &World, cpu: CpuId) -> usize {
        w.machine.cpus[cpu.idx()].llc as usize
    }

    /// How long it takes to append `p` to queue `q`, whose lock was granted now, ns.
    fn swq_append_ns(&self, w: &World, q: usize, p: TaskId) -> Ns {
        self.swq_section_ns(w, q, [p, self.swqueues[q].tail, TaskId::NONE])
    }

    /// How long it takes to unlink `p` from queue `q`, whose lock was granted now, ns.
    pub(crate) fn swq_unlink_ns(&self, w: &World, q: usize, p: TaskId) -> Ns {
        let (mut prev, mut next) = (TaskId::NONE, TaskId::NONE);
        if p.is_task() && self.tasks[p.idx()].on_swqueue {
            (prev, next) = (self.tasks[p.idx()].swq_prev, self.tasks[p.idx()].swq_next);
        }
        self.swq_section_ns(w, q, [p, prev, next])
    }

    /// A critical section pulls the lines of the nodes that it writes from whoever wrote them last.
    /// The list head lies in the line of the lock word: it has come with the lock, but comes again
    /// as often as a waiter tries the lock (spec 11.2; `contended_lines`).
    fn swq_section_ns(&self, w: &World, q: usize, nodes: [TaskId; 3]) -> Ns {
        let costs = &w.machine.locks;
        let waiter = w.locks.first_waiter(self.swqueues[q].lock);
        let again = waiter.map_or(0, |c| u64::from(costs.contended_lines) * w.line_ns(w.this, c));
        let node_ns = |p: TaskId| match p.is_task() {
            true => w.line_ns(w.this, self.tasks[p.idx()].swq_cpu),
            false => 0,
        };
        costs.queue_hold_ns + again + nodes.into_iter().map(node_ns).sum::<u64>()
    }

    /// The lock of the queue that `p`, which has just left the runqueue of `src`, still hangs on.
    pub(crate) fn swq_lock_of(&self, w: &World, src: CpuId, p: TaskId) -> Option<LockId> {
        let linked = self.tasks[p.idx()].on_swqueue;
        linked.then(|| self.swqueues[self.swq_of(w, src)].lock)
    }

    /// Last step of the enqueue (spec 7.1 hook 1).
    #[inline]
    pub(crate) fn swq_enqueue(
        &mut self,
        w: &World,
        cpu: CpuId,
        p: TaskId,
        flags: EnqueueFlags,
    ) -> Hook {
        let stays = flags.wakeup && !flags.migrated;
        if self.swqueues.is_empty() || !stays || w.tasks[p.idx()].nr_cpus_allowed == 1 {
            return None;
        }
        self.swq_nested(w, cpu, p, Site::TtwuEnqueueSwq, APPEND)
    }

    /// Last step of a dequeue, or after `p` was made next (hooks 2 and 3). The test needs no lock,
    /// but the node's line, which a puller may have.
    #[inline]
    pub(crate) fn swq_remove(&mut self, w: &mut World, cpu: CpuId, p: TaskId, site: Site) -> Hook {
        if self.swqueues.is_empty() {
            return None;
        }
        let t = &mut self.tasks[p.idx()];
        if !t.on_swqueue {
            let last = std::mem::replace(&mut t.swq_cpu, w.this);
            w.charge(w.line_ns(w.this, last));
            return None;
        }
        self.swq_nested(w, cpu, p, site, UNLINK)
    }

    fn swq_nested(&self, w: &World, cpu: CpuId, p: TaskId, site: Site, op: u8) -> Hook {
        let q = self.swq_of(w, cpu);
        Some(Nested { lock: self.swqueues[q].lock, site, task: p, op })
    }

    /// `Policy::nested_hold`.
    pub(crate) fn swq_nested_hold(&self, w: &World, cpu: CpuId, n: Nested) -> Ns {
        let q = self.swq_of(w, cpu);
        match n.op {
            APPEND => self.swq_append_ns(w, q, n.task),
            _ => self.swq_unlink_ns(w, q, n.task),
        }
    }

    /// `Policy::nested_done`: the append or the unlink happens.
    pub(crate) fn swq_nested_done(&mut self, w: &World, cpu: CpuId, n: Nested) {
        let q = self.swq_of(w, cpu);
        if n.op == APPEND {
            self.swq_append(w, q, n.task);
        } else if self.swq_unlink(w, q, n.task) {
            self.balance.swq.picked_by_own_cpu += u64::from(n.site == Site::PickRemoveSwq);
        }
    }

    fn swq_append(&mut self, w: &World, q: usize, p: TaskId) {
        self.balance.swq.appended += 1;
        debug_assert!(!self.tasks[p.idx()].on_swqueue, "{p:?} queued twice");
        let tail = std::mem::replace(&mut self.swqueues[q].tail, p);
        let t = &mut self.tasks[p.idx()];
        (t.on_swqueue, t.swq_prev, t.swq_next) = (true, tail, TaskId::NONE);
        t.swq_cpu = w.this;
        if tail.is_task() {
            let t = &mut self.tasks[tail.idx()];
            (t.swq_next, t.swq_cpu) = (p, w.this);
        } else {
            self.swqueues[q].head = p;
        }
    }

    /// Takes `p` off queue `q`; false if a puller has been faster.
    pub(crate) fn swq_unlink(&mut self, w: &World, q: usize, p: TaskId) -> bool {
        let t = &mut self.tasks[p.idx()];
        t.swq_cpu = w.this;
        if !std::mem::take(&mut t.on_swqueue) {
            self.balance.swq.unlinked_nothing += 1;
            return false;
        }
        let (prev, next) = (t.swq_prev, t.swq_next);
        (t.swq_prev, t.swq_next) = (TaskId::NONE, TaskId::NONE);
        if prev.is_task() {
            let t = &mut self.tasks[prev.idx()];
            (t.swq_next, t.swq_cpu) = (next, w.this);
        } else {
            self.swqueues[q].head = next;
        }
        if next.is_task() {
            let t = &mut self.tasks[next.idx()];
            (t.swq_prev, t.swq_cpu) = (prev, w.this);
        } else {
            self.swqueues[q].tail = prev;
        }
        true
    }

    /// Prepares a pull by `cpu`, which holds its runqueue lock.
    pub(crate) fn swq_pull_begin(&mut self, cpu: CpuId) {
        self.balance.paths[cpu.idx()].pull = PullPath::default();
    }

    /// Goes on with `swq_pick_next_task`. The result says whether a task was popped (RETRY); the
    /// own runqueue lock is held again.
    pub(crate) fn swq_pull(&mut self, w: &mut World, cpu: CpuId) -> Flow<bool> {
        loop {
            let path = self.balance.paths[cpu.idx()].pull;
            let (step, next) = match path.stage {
                Stage::Back => return ControlFlow::Continue(true),
                Stage::Empty => {
                    w.counters.pull_empty += 1;
                    return ControlFlow::Continue(false);
                }
                Stage::Look | Stage::Hold | Stage::Pop | Stage::Popped => {
                    self.swq_pop(w, cpu, path)
                }
                _ => self.swq_fetch(w, cpu, path),
            };
            self.balance.paths[cpu.idx()].pull.stage = next;
            if let Some(step) = step {
                return ControlFlow::Break(step);
            }
        }
    }

    /// First half: pop the head under the queue's lock.
    fn swq_pop(&mut self, w: &mut World, cpu: CpuId, path: PullPath) -> (Option<Step>, Stage) {
        let q = self.swq_of(w, cpu);
        let lock = self.swqueues[q].lock;
        match path.stage {
            Stage::Look => {
                w.counters.pull_attempts += 1;
                if !self.swqueues[q].head.is_task() {
                    return (None, Stage::Empty);
                }
                (Some(Step::Lock(lock, Site::PullPopSwq)), Stage::Hold)
            }
            Stage::Hold => {
                let hold = self.swq_unlink_ns(w, q, self.swqueues[q].head);
                (Some(Step::Spend(hold)), Stage::Pop)
            }
            Stage::Pop => {
                let p = self.swqueues[q].head;
                if !p.is_task() {
                    self.balance.swq.empty_under_lock += 1;
                    return (Some(Step::Unlock(lock)), Stage::Empty);
                }
                self.swq_unlink(w, q, p);
                self.balance.paths[cpu.idx()].pull.task = p;
                (Some(Step::Unlock(lock)), Stage::Popped)
            }
            _ => (Some(Step::Unlock(LockId::rq(cpu))), Stage::PiLock),
        }
    }

    /// Second half: `task_rq_lock` the popped task and move it here if it still waits.
    fn swq_fetch(&mut self, w: &mut World, cpu: CpuId, path: PullPath) -> (Option<Step>, Stage) {
        let (own, src) = (LockId::rq(cpu), LockId::rq(path.src));
        let site = Site::PullTaskRqLock;
        match path.stage {
            Stage::PiLock => (Some(Step::Spend(w.take_pi_lock(path.task))), Stage::Lock),
            Stage::Lock => {
                let t = &w.tasks[path.task.idx()];
                if t.migrating {
                    return (Some(Step::WaitTask(path.task, Site::MigratingWait)), Stage::Lock);
                }
                self.balance.paths[cpu.idx()].pull.src = t.cpu;
                (Some(Step::Lock(LockId::rq(t.cpu), site)), Stage::Locked)
            }
            Stage::Locked => self.swq_locked(w, cpu, path),
            Stage::Move => self.swq_move(w, cpu, path),
            Stage::UnlinkHold => {
                let hold = self.swq_unlink_ns(w, self.swq_of(w, path.src), path.task);
                (Some(Step::Spend(hold)), Stage::UnlinkDone)
            }
            Stage::UnlinkDone => {
                let q = self.swq_of(w, path.src);
                self.swq_unlink(w, q, path.task);
                (Some(Step::Unlock(self.swqueues[q].lock)), Stage::UnlockSrc)
            }
            Stage::UnlockSrc => (Some(Step::Unlock(src)), Stage::Relock),
            Stage::Relock => (Some(Step::Lock(own, Site::ScheduleRqLock)), Stage::Attach),
            _ => {
                if path.moved {
                    self.attach_task(w, path.task, cpu, reasons::PULLED_HERE);
                }
                (None, Stage::Back)
            }
        }
    }

    /// The runqueue lock was granted: everything read before may have changed.
    fn swq_locked(&mut self, w: &mut World, cpu: CpuId, path: PullPath) -> (Option<Step>, Stage) {
        let t = &w.tasks[path.task.idx()];
        if t.migrating || t.cpu != path.src {
            return (Some(Step::Unlock(LockId::rq(path.src))), Stage::Lock);
        }
        let waits = t.on_rq && !t.on_cpu && w.cpus[path.src.idx()].curr != path.task;
        if waits && path.src != cpu && w.allowed(path.task, cpu) {
            let lines = PULL_LINES * w.line_ns(cpu, path.src);
            return (Some(Step::Spend(w.machine.costs.pull_ns + lines)), Stage::Move);
        }
        w.counters.pull_lost += 1;
        if t.on_cpu {
            self.balance.swq.popped_but_running += 1;
        } else {
            self.balance.swq.popped_otherwise += 1;
        }
        // The task may have come to this very CPU: then its lock is the one that is wanted back.
        (None, if path.src == cpu { Stage::Back } else { Stage::UnlockSrc })
    }

    fn swq_move(&mut self, w: &mut World, cpu: CpuId, path: PullPath) -> (Option<Step>, Stage) {
        let p = path.task;
        self.catch_up(w, path.src);
        self.detach_task(w, p, path.src, cpu, MigrationCause::Swqueue);
        w.counters.pull_hits += 1;
        self.balance.swq.stolen_and_moved += 1;
        self.balance.paths[cpu.idx()].pull.moved = true;
        // It may have slept and woken again since the pop.
        match self.swq_lock_of(w, path.src, p) {
            Some(lock) => (Some(Step::Lock(lock, Site::DequeueRemoveSwq)), Stage::UnlinkHold),
            None => (None, Stage::UnlockSrc),
        }
    }
}
