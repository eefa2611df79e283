//! The shared queues of SWQUEUE and SHARED_RUNQ (spec 7): FIFOs of waiting tasks, each for an LLC
//! or a part of one.
//!
//! A task is appended under its runqueue's lock (who and when: `shared_runq`); it leaves when it is
//! picked, dequeued, or popped by a CPU of the LLC that goes idle. The list hangs together through
//! the tasks. Appending and unlinking are nested critical sections ([`Nested`]) that the mechanism
//! carries out, or steps of a path that moves tasks; the pull (`pull`) is a path of its own, which
//! drops the own runqueue lock on the way. `steal` lets it go on to the queues of other LLCs.

mod pull;
mod steal;

use super::Discipline;
use super::state::Fair;
use crate::fair::sites;
pub(crate) use pull::{PullPath, Pulled};
use sim_core::{EnqueueFlags, Hook, Nested, Ns, Site, Step, TaskId, World};
pub(crate) use steal::Steals;
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
        if p.is_task() && self.tasks[p].on_swqueue {
            (prev, next) = (self.tasks[p].swq_prev, self.tasks[p].swq_next);
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
            true => w.line_ns(w.this, self.tasks[p].swq_cpu),
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
        queued.then(|| self.swq_nested(cpu, p, sites::TTWU_ENQUEUE, APPEND))
    }

    /// Last step of a dequeue, or after `p` was made next (hooks 2 and 3). The test needs no lock,
    /// but the node's line, which a puller may have.
    #[inline]
    pub(crate) fn swq_remove(
        &mut self,
        w: &mut World,
        cpu: CpuId,
        p: TaskId,
        site: &'static Site,
    ) -> Hook {
        if self.swqueues.is_empty() {
            return None;
        }
        let t = &mut self.tasks[p];
        if !t.on_swqueue {
            let last = std::mem::replace(&mut t.swq_cpu, w.this);
            w.charge(w.line_ns(w.this, last));
            return None;
        }
        Some(self.swq_nested(cpu, p, site, UNLINK))
    }

    pub(super) fn swq_nested(
        &self,
        cpu: CpuId,
        task: TaskId,
        site: &'static Site,
        op: u8,
    ) -> Nested {
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
            self.balance.swq.picked_by_own_cpu += u64::from(n.site == sites::PICK_REMOVE);
        }
        let curr = self.rqs[cpu].curr;
        match n.op {
            PUT_PREV if curr.is_task() => self.swq_remove(w, cpu, curr, sites::PICK_REMOVE),
            REQUEUE => self.shared_restored(w, cpu, p, w.tasks[p].nr_cpus_allowed),
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
        let links = &mut self.balance.paths[exec].links;
        if links.stage == LinkStage::Lock {
            let rest = links.tasks.get(links.next..)?.iter();
            let wanted = |p: &TaskId| op == APPEND || self.tasks[*p].on_swqueue;
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
            (LinkStage::Lock, APPEND) => (Step::Lock(lock, sites::TTWU_ENQUEUE), LinkStage::Hold),
            (LinkStage::Lock, _) => (Step::Lock(lock, sites::DEQUEUE_REMOVE), LinkStage::Hold),
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
        self.balance.paths[exec].links.stage = stage;
        Some(step)
    }

    fn swq_append(&mut self, w: &World, q: usize, p: TaskId) {
        self.balance.swq.appended += 1;
        debug_assert!(!self.tasks[p].on_swqueue, "{p:?} queued twice");
        self.swqueues[q].n_writes += 1;
        let tail = std::mem::replace(&mut self.swqueues[q].tail, p);
        let t = &mut self.tasks[p];
        (t.on_swqueue, t.swq_prev, t.swq_next) = (true, tail, TaskId::NONE);
        t.swq_cpu = w.this;
        if tail.is_task() {
            let t = &mut self.tasks[tail];
            (t.swq_next, t.swq_cpu) = (p, w.this);
        } else {
            self.swqueues[q].head = p;
        }
    }

    /// Takes `p` off queue `q`; false if a puller has been faster.
    pub(crate) fn swq_unlink(&mut self, w: &World, q: usize, p: TaskId) -> bool {
        self.swqueues[q].n_writes += 1;
        let t = &mut self.tasks[p];
        t.swq_cpu = w.this;
        if !std::mem::take(&mut t.on_swqueue) {
            self.balance.swq.unlinked_nothing += 1;
            return false;
        }
        let (prev, next) = (t.swq_prev, t.swq_next);
        (t.swq_prev, t.swq_next) = (TaskId::NONE, TaskId::NONE);
        if prev.is_task() {
            let t = &mut self.tasks[prev];
            (t.swq_next, t.swq_cpu) = (next, w.this);
        } else {
            self.swqueues[q].head = next;
        }
        if next.is_task() {
            let t = &mut self.tasks[next];
            (t.swq_prev, t.swq_cpu) = (prev, w.this);
        } else {
            self.swqueues[q].tail = prev;
        }
        true
    }
}
