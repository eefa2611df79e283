//! Tasks join a shared queue and leave it: nested critical sections, and steps of other paths.

use crate::fair::queue::Discipline;
use crate::fair::state::path::LinkStage;
use crate::fair::state::{Fair, sites};
use sim_core::{EnqueueFlags, Hook, Nested, Ns, Site, Step, TaskId, World};
use topology::CpuId;

/// [`Nested::op`]: append at the tail.
pub(crate) const APPEND: u8 = 0;
/// Unlink.
pub(crate) const UNLINK: u8 = 1;
/// Append the task that ran until now; then unlink the current one.
pub(crate) const PUT_PREV: u8 = 2;
/// Unlink, and append at the tail.
pub(crate) const REQUEUE: u8 = 3;

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

    /// A critical section pulls the lines of the nodes that it writes from the CPUs that wrote them
    /// last.
    /// The list head lies in the line of the lock word: it has come with the lock, but comes again
    /// as often as a waiter tries the lock (`contended_lines`).
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

    /// Last step of the enqueue.
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

    pub(crate) fn swq_nested(
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
        let q = self.shared.own(cpu);
        let p = n.task;
        if matches!(n.op, APPEND | PUT_PREV) {
            self.swq_append(w, q, p);
        } else if self.swq_unlink(w, q, p) {
            self.balance.swq.picked_by_own_cpu += u64::from(n.site == sites::PICK_REMOVE);
        }
        // The second section of two: the lock was given back in between.
        let curr = self.rqs[cpu].curr;
        match n.op {
            PUT_PREV if curr.is_task() => self.swq_remove(w, cpu, curr, sites::PICK_REMOVE),
            REQUEUE => self.shared_restored(w, cpu, p, w.tasks[p].nr_cpus_allowed),
            _ => None,
        }
    }

    /// A path that executes on `exec` has filled its `Links` with tasks of `cpu`'s runqueue: the
    /// next step, `None` when all are unlinked or appended. (A task that
    /// is on no queue need not be unlinked.)
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
            // A puller may have been faster, and then there is nothing to unlink.
            links.next += skip;
        }
        // One hold of the lock per task, as the kernel's enqueue and dequeue take it each time.
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
        // The old tail's node is written, so its line comes here, too.
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
            // The owner has taken the lock for nothing: the puller was faster.
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
