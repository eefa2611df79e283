//! The shared queues of SWQUEUE and SHARED_RUNQ (spec 7): FIFOs of waiting tasks, each for an LLC
//! or a part of one.
//!
//! A task is appended under its runqueue's lock (who and when: `shared_runq`); it leaves when it is
//! picked, dequeued, or popped by a CPU of the LLC that goes idle. The list hangs together through
//! the tasks. Appending and unlinking are nested critical sections ([`Nested`]) that the mechanism
//! carries out, or steps of a path that moves tasks; the pull is a path of its own, which drops the
//! own runqueue lock on the way.

use super::balance::{Flow, PULL_LINES};
use super::calls::{RQ_LOCK, SharedCalls};
use super::shared_runq::Version;
use super::state::Fair;
use super::{Discipline, reasons};
use sim_core::{EnqueueFlags, Hook, LockId, MigrationCause, Nested, Ns, Policy, Site, Stack, Step};
use sim_core::{TaskId, World};
use std::ops::ControlFlow;
use topology::CpuId;

/// [`Nested::op`]: append at the tail.
pub(super) const APPEND: u8 = 0;
/// Unlink.
pub(super) const UNLINK: u8 = 1;
/// Append who ran until now; then unlink who is current.
pub(super) const PUT_PREV: u8 = 2;
/// Unlink, and append at the tail.
pub(super) const REQUEUE: u8 = 3;

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
    /// The head may not run here and was left in its place (since version 2).
    pub head_forbidden: u64,
}

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
    Unlink,
    UnlockSrc,
    Relock,
    Attach,
    Append,
    Back,
    Empty,
}

/// `swq_pick_next_task` in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PullPath {
    stage: Stage,
    /// How many queues were looked at in vain.
    n_looked: u32,
    /// The queue that is being looked at.
    queue: u32,
    task: TaskId,
    src: CpuId,
    moved: bool,
}

impl Default for PullPath {
    fn default() -> Self {
        let task = TaskId::NONE;
        Self { stage: Stage::Look, n_looked: 0, queue: 0, task, src: CpuId(0), moved: false }
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

/// Tasks that a path has taken off a runqueue or put on one, whose lock it holds, and that are to
/// be unlinked from the shared queue or appended to it: one hold of its lock each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links {
    pub tasks: Vec<TaskId>,
    next: usize,
    stage: LinkStage,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum LinkStage {
    #[default]
    Lock,
    Hold,
    Done,
}

impl Links {
    /// A queue's lock is waited for or held.
    pub(crate) fn under_way(&self) -> bool {
        self.stage != LinkStage::Lock
    }
}

impl<S: Discipline> Fair<S> {
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

    /// Last step of the enqueue (spec 7.1 hook 1).
    #[inline]
    pub(crate) fn swq_enqueue(
        &mut self,
        w: &World,
        cpu: CpuId,
        p: TaskId,
        flags: EnqueueFlags,
    ) -> Hook {
        let queued = self.shared_takes(w, cpu, p, flags);
        queued.then(|| self.swq_nested(cpu, p, Site::TtwuEnqueueSwq, APPEND))
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
        Some(self.swq_nested(cpu, p, site, UNLINK))
    }

    pub(super) fn swq_nested(&self, cpu: CpuId, task: TaskId, site: Site, op: u8) -> Nested {
        Nested { lock: self.swqueues[self.shared.own(cpu)].lock, site, task, op }
    }

    /// `Policy::nested_hold`.
    pub(crate) fn swq_nested_hold(&self, w: &World, cpu: CpuId, n: Nested) -> Ns {
        let q = self.shared.own(cpu);
        match n.op {
            APPEND | PUT_PREV => self.swq_append_ns(w, q, n.task),
            _ => self.swq_unlink_ns(w, q, n.task),
        }
    }

    /// `Policy::nested_done`: the append or the unlink happens, and what comes after it.
    pub(crate) fn swq_nested_done(&mut self, w: &mut World, cpu: CpuId, n: Nested) -> Hook {
        let (q, p) = (self.shared.own(cpu), n.task);
        if matches!(n.op, APPEND | PUT_PREV) {
            self.swq_append(w, q, p);
        } else if self.swq_unlink(w, q, p) {
            self.balance.swq.picked_by_own_cpu += u64::from(n.site == Site::PickRemoveSwq);
        }
        let curr = self.rqs[cpu.idx()].curr;
        match n.op {
            PUT_PREV if curr.is_task() => self.swq_remove(w, cpu, curr, Site::PickRemoveSwq),
            REQUEUE => self.shared_restored(w, cpu, p, w.tasks[p.idx()].nr_cpus_allowed),
            _ => None,
        }
    }

    /// A path that executes on `exec` has filled its [`Links`] with tasks of `cpu`'s runqueue: the
    /// next step, `None` when all are unlinked or appended. (Who is on no queue need not be
    /// unlinked.)
    pub(crate) fn swq_link_step(
        &mut self,
        w: &World,
        exec: CpuId,
        cpu: CpuId,
        op: u8,
    ) -> Option<Step> {
        let links = &mut self.balance.paths[exec.idx()].links;
        if links.stage == LinkStage::Lock {
            let rest = links.tasks.get(links.next..)?.iter();
            let wanted = |p: &TaskId| op == APPEND || self.tasks[p.idx()].on_swqueue;
            let skip = rest.clone().position(wanted).unwrap_or(rest.len());
            links.next += skip;
        }
        let Some(&p) = links.tasks.get(links.next) else {
            links.tasks.clear();
            links.next = 0;
            return None;
        };
        let q = self.shared.own(cpu);
        let lock = self.swqueues[q].lock;
        let (step, stage) = match (links.stage, op) {
            (LinkStage::Lock, APPEND) => (Step::Lock(lock, Site::TtwuEnqueueSwq), LinkStage::Hold),
            (LinkStage::Lock, _) => (Step::Lock(lock, Site::DequeueRemoveSwq), LinkStage::Hold),
            (LinkStage::Hold, APPEND) => {
                (Step::Spend(self.swq_append_ns(w, q, p)), LinkStage::Done)
            }
            (LinkStage::Hold, _) => (Step::Spend(self.swq_unlink_ns(w, q, p)), LinkStage::Done),
            (LinkStage::Done, _) => {
                links.next += 1;
                if op == APPEND {
                    self.swq_append(w, q, p);
                } else {
                    self.swq_unlink(w, q, p);
                }
                (Step::Unlock(lock), LinkStage::Lock)
            }
        };
        self.balance.paths[exec.idx()].links.stage = stage;
        Some(step)
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

    /// Goes on with `swq_pick_next_task`. At the end the own runqueue lock is held again.
    pub(crate) fn swq_pull(&mut self, w: &mut World, cpu: CpuId) -> Flow<Pulled> {
        loop {
            let path = self.balance.paths[cpu.idx()].pull;
            let (step, next) = match path.stage {
                Stage::Back => {
                    let pulled = if path.moved { Pulled::Moved } else { Pulled::Lost };
                    return ControlFlow::Continue(pulled);
                }
                Stage::Empty => {
                    w.counters.pull_empty += 1;
                    return ControlFlow::Continue(Pulled::Nothing);
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

    /// First half: pop the head of the first queue that has one, under its lock.
    fn swq_pop(&mut self, w: &mut World, cpu: CpuId, path: PullPath) -> (Option<Step>, Stage) {
        let q = path.queue as usize;
        match path.stage {
            Stage::Look => {
                w.counters.pull_attempts += u64::from(path.n_looked == 0);
                self.swq_look(cpu)
            }
            Stage::Hold => {
                let hold = self.swq_unlink_ns(w, q, self.swqueues[q].head);
                (Some(Step::Spend(hold)), Stage::Pop)
            }
            Stage::Pop => {
                let p = self.swqueues[q].head;
                let popped = self.swq_may_pop(w, cpu, p);
                if popped {
                    self.swq_unlink(w, q, p);
                    self.balance.paths[cpu.idx()].pull.task = p;
                }
                let next = if popped { Stage::Popped } else { Stage::Look };
                (Some(Step::Unlock(self.swqueues[q].lock)), next)
            }
            _ => (Some(Step::Unlock(LockId::rq(cpu))), Stage::PiLock),
        }
    }

    /// On to the next queue that does not look empty, which needs no lock to be seen.
    fn swq_look(&mut self, cpu: CpuId) -> (Option<Step>, Stage) {
        let path = &mut self.balance.paths[cpu.idx()].pull;
        while let Some(q) = self.shared.nth(cpu, path.n_looked) {
            path.n_looked += 1;
            path.queue = q as u32;
            if self.swqueues[q].head.is_task() {
                return (Some(Step::Lock(self.swqueues[q].lock, Site::PullPopSwq)), Stage::Hold);
            }
        }
        (None, Stage::Empty)
    }

    /// There is a head, and, since version 2, it may run here: else it stays (T7.3).
    fn swq_may_pop(&mut self, w: &World, cpu: CpuId, head: TaskId) -> bool {
        if !head.is_task() {
            self.balance.swq.empty_under_lock += 1;
            return false;
        }
        let fits = self.shared.version < Version::V2 || w.allowed(head, cpu);
        self.balance.swq.head_forbidden += u64::from(!fits);
        fits
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
            Stage::Move => (None, self.swq_move(w, cpu, path)),
            Stage::Unlink => match self.swq_link_step(w, cpu, path.src, UNLINK) {
                Some(step) => (Some(step), Stage::Unlink),
                None => (None, Stage::UnlockSrc),
            },
            Stage::UnlockSrc => (Some(Step::Unlock(src)), Stage::Relock),
            Stage::Relock => (Some(Step::Lock(own, Site::ScheduleRqLock)), Stage::Attach),
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

    fn swq_move(&mut self, w: &mut World, cpu: CpuId, path: PullPath) -> Stage {
        self.catch_up(w, path.src);
        self.detach_task(w, path.task, path.src, cpu, MigrationCause::Swqueue);
        w.counters.pull_hits += 1;
        self.balance.swq.stolen_and_moved += 1;
        self.balance.paths[cpu.idx()].pull.moved = true;
        // It may have been queued again since the pop.
        Stage::Unlink
    }
}
