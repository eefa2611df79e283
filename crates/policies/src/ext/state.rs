//! What the layer knows: dispatch queues, tasks and CPUs in dense arrays.

use super::cgroups::Cgroups;
use super::events::Events;
use super::idle::IdleMasks;
use super::later::Deferred;
use super::path::{BATCH_DFL, Path};
use super::queue::{Node, Order, Queue};
use super::types::{Dsq, DsqId, Insert, Rules, Tunables, Wanted};
use super::watchdog::Watchdog;
use crate::fair::GroupSpec;
use crate::fair::state::weights::{NICE_0_WEIGHT, weight_of};
use sim_core::{LockId, Ns, PerTask, SchedAttr, TaskId, World};
use std::collections::VecDeque;
use topology::{CpuId, IdVec, PerCpu};

/// A slice that never ends (`SCX_SLICE_INF`).
pub const SLICE_INF: Ns = u64::MAX;

/// Where a runnable task is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Place {
    /// Running, asleep, or being moved by the mechanism.
    #[default]
    Off,
    /// The scheduler keeps it in a structure of its own.
    Kept,
    /// On the local queue of its CPU.
    Local,
    /// On a queue with a lock.
    Dsq(DsqId),
    /// To be moved to another CPU's local queue (`ddsp_deferred_locals`).
    Deferred,
    /// Taken off its queue by a CPU that has yet to fetch it (`holding_cpu`).
    InFlight(CpuId),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    /// What is left of its slice, ns.
    pub slice: Ns,
    pub vtime: u64,
    /// 100: nice 0.
    pub weight: u32,
    /// Up to when its run time has been taken off its slice.
    pub exec_start: Ns,
    pub place: Place,
    /// How often it was enqueued: an insertion that was decided before the last time is void
    /// (`qseq`).
    pub n_enqueued: u64,
    /// Decided and not yet carried out.
    pub wanted: Option<Wanted>,
    /// The CPU that wrote its links last.
    pub touched_by: CpuId,
    /// The CPU that was chosen for it, until it is enqueued (`SCX_ENQ_CPU_SELECTED`).
    pub selected: Option<CpuId>,
}

impl Default for Task {
    fn default() -> Self {
        Self {
            slice: 0,
            vtime: 0,
            weight: 100,
            exec_start: 0,
            place: Place::Off,
            n_enqueued: 0,
            wanted: None,
            touched_by: CpuId(0),
            selected: None,
        }
    }
}

/// A dispatch queue with its lock.
pub(super) struct Dispatch {
    pub lock: LockId,
    pub queue: Queue,
    /// The scheduler has given it up (`SCX_DSQ_INVALID`).
    pub is_destroyed: bool,
}

/// One CPU.
pub(super) struct Rq {
    /// `SCX_DSQ_LOCAL`; the runqueue's lock guards it.
    pub local: Queue,
    /// The dispatch under way.
    pub path: Path,
    /// A higher class has taken the CPU (`cpu_released`).
    pub is_released: bool,
    /// Moves to other CPUs that it has to make.
    pub deferred: Deferred,
}

/// Everything but the scheduler itself.
pub(super) struct State {
    pub rules: Rules,
    pub tunables: Tunables,
    /// Tasks of the fair class are there, too (`SCX_OPS_SWITCH_PARTIAL`).
    pub is_partial: bool,
    pub tasks: PerTask<Task>,
    pub nodes: PerTask<Node>,
    pub rqs: PerCpu<Rq>,
    pub dsqs: IdVec<DsqId, Dispatch>,
    /// Built-in queues, by NUMA node.
    pub globals: Vec<DsqId>,
    pub idle: IdleMasks,
    pub cgroups: Cgroups,
    /// Number of insertions so far.
    seq: u64,
    /// What is being enqueued is all that its CPU has (`SCX_ENQ_LAST`).
    pub is_last: bool,
    /// What is being enqueued was on the local queue of a CPU that was lost (`SCX_ENQ_REENQ`).
    pub is_reenqueue: bool,
    /// What is being dequeued or enqueued is so for a change of the task (`DEQUEUE_SAVE`,
    /// `ENQUEUE_RESTORE`).
    pub is_change: bool,
    /// A task was taken out for a change, and is to be put back when that is stored.
    pub is_taken_out: bool,
    /// The scheduler gives up the local queue of the CPU that it loses.
    pub gives_up_local: bool,
    /// What was on it and is to be enqueued anew, under the lock of that CPU's runqueue.
    pub reenqueued: VecDeque<TaskId>,
    /// A task that was fetched has become the second of its CPU (`add_nr_running`).
    pub overloads: bool,
    /// The scheduler's timer, and the CPU that it runs on.
    pub timer: (Ns, CpuId),
    pub watchdog: Watchdog,
    pub events: Events,
    /// Insertions that one call of `dispatch` may make.
    pub batch_max: usize,
}

/// The class that a scheduler runs in.
pub struct Ext<S> {
    /// The scheduler.
    pub ops: S,
    pub(super) state: State,
}

impl<S> Ext<S> {
    /// The class with a scheduler, its rules and tunables.
    pub fn new(ops: S, rules: Rules, tunables: Tunables) -> Self {
        Self { ops, state: State::empty(rules, tunables) }
    }

    /// What the layer has counted so far.
    pub fn events(&self) -> Events {
        self.state.events
    }

    /// The class with these task groups: number 1 is the first one.
    #[must_use]
    pub fn with_groups(mut self, groups: &[GroupSpec]) -> Self {
        self.state.cgroups = Cgroups::new(groups);
        self
    }
}

impl State {
    /// Of no machine yet.
    pub fn empty(rules: Rules, tunables: Tunables) -> Self {
        Self {
            rules,
            tunables,
            is_partial: false,
            tasks: IdVec::new(),
            nodes: IdVec::new(),
            rqs: IdVec::new(),
            dsqs: IdVec::new(),
            globals: Vec::new(),
            idle: IdleMasks::default(),
            cgroups: Cgroups::default(),
            seq: 0,
            is_last: false,
            is_reenqueue: false,
            is_change: false,
            is_taken_out: false,
            gives_up_local: false,
            reenqueued: VecDeque::new(),
            overloads: false,
            timer: (sim_core::NEVER, CpuId(0)),
            watchdog: Watchdog::default(),
            events: Events::default(),
            batch_max: BATCH_DFL,
        }
    }

    /// Prepares for a machine at rest.
    pub fn init(&mut self, w: &mut World, idle_per_node: bool) {
        let rq = || Rq {
            local: Queue::new(Order::Fifo),
            path: Path::default(),
            is_released: false,
            deferred: Deferred::default(),
        };
        self.rqs = w.cpus.iter().map(|_| rq()).collect();
        self.idle = IdleMasks::new(w, self.rules, idle_per_node);
        self.globals = (0..w.machine.nodes.len()).map(|_| self.create(w, Order::Fifo)).collect();
    }

    pub fn create(&mut self, w: &mut World, order: Order) -> DsqId {
        let (lock, queue) = (w.new_lock("dsq"), Queue::new(order));
        self.dsqs.push(Dispatch { lock, queue, is_destroyed: false });
        DsqId(self.dsqs.len() as u32 - 1)
    }

    /// Asks for the scheduler's timer or the look of the watchdog, whichever comes first.
    pub fn arm(&self, w: &mut World) {
        w.set_policy_timer(usize::from(self.is_partial), self.timer.0.min(self.watchdog.at));
    }

    pub fn add_task(&mut self, w: &World, p: TaskId) {
        self.tasks.cover(p, Task::default);
        self.nodes.cover(p, Node::default);
        let weight = weight(w.tasks[p].attr.sched());
        self.tasks[p] =
            Task { slice: self.tunables.slice_ns, weight, touched_by: w.this, ..Task::default() };
    }

    /// The number of the last insertion.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    pub fn dsq(&self, id: DsqId) -> &Dispatch {
        &self.dsqs[id]
    }

    /// The queue with a lock that an insertion goes to; `None`: a local one.
    pub fn locked_queue(&self, w: &World, p: TaskId, to: Dsq) -> Option<DsqId> {
        match to {
            Dsq::Local | Dsq::LocalOn(_) => None,
            Dsq::Global => Some(self.global_of(w, w.tasks[p].cpu)),
            Dsq::User(id) => Some(id),
        }
    }

    pub fn global_of(&self, w: &World, cpu: CpuId) -> DsqId {
        self.globals[w.machine.cpus[cpu].node as usize]
    }

    /// Tasks on the local queue of a CPU, but those that the stopper is about to move.
    pub fn to_give_up(&self, w: &World, cpu: CpuId) -> Vec<TaskId> {
        let queue = &self.rqs[cpu].local;
        let all = std::iter::successors(queue.first(&self.nodes), |p| queue.next(&self.nodes, *p));
        all.filter(|p| !w.tasks[*p].misplaced).collect()
    }

    /// True if it is a task, and of this class.
    pub fn is_own(&self, w: &World, p: TaskId) -> bool {
        p.is_task() && (!self.is_partial || w.is_ext(p))
    }

    /// The current task of a CPU, if it is of this class.
    pub fn own_curr(&self, w: &World, cpu: CpuId) -> Option<TaskId> {
        let curr = w.cpus[cpu].curr;
        self.is_own(w, curr).then_some(curr)
    }

    /// Takes what the current task has run off its slice (`update_curr_scx`).
    pub fn update_curr(&mut self, w: &World, cpu: CpuId) {
        let Some(curr) = self.own_curr(w, cpu) else {
            return;
        };
        let t = &mut self.tasks[curr];
        let ran = w.now.saturating_sub(t.exec_start);
        t.exec_start = w.now;
        // An endless slice stays endless.
        if t.slice != SLICE_INF {
            t.slice = t.slice.saturating_sub(ran);
        }
    }

    /// Takes the ticks that have passed off the slice of `p`, if it runs. They decided nothing.
    pub fn catch_up(&mut self, w: &mut World, p: TaskId) {
        let cpu = w.tasks[p].cpu;
        if w.cpus[cpu].curr == p {
            w.replay_ticks(cpu, |w| self.update_curr(w, cpu));
        }
    }

    /// `refill_task_slice_dfl`
    pub fn refill_slice(&mut self, p: TaskId) {
        self.tasks[p].slice = self.tunables.slice_ns;
        self.events.refill_slice_dfl += 1;
    }

    /// A task that was fetched counts on a CPU's runqueue, whose lock is held.
    pub fn activate(&mut self, w: &mut World, cpu: CpuId, p: TaskId) {
        w.activate(cpu, p);
        self.overloads |= w.cpus[cpu].nr_running == 2;
    }

    /// Inserts into the local queue of the task's CPU, whose runqueue lock is held.
    pub fn insert_local(&mut self, w: &mut World, p: TaskId, wanted: Wanted) {
        let cpu = w.tasks[p].cpu;
        // The order of arrival, for all queues.
        self.seq += 1;
        let queue = &mut self.rqs[cpu].local;
        let Insert { head, preempt, .. } = wanted.flags;
        match head || preempt {
            true => queue.push_front(&mut self.nodes, p, self.seq),
            false => queue.push(&mut self.nodes, p, 0, self.seq),
        }
        let t = &mut self.tasks[p];
        (t.place, t.slice, t.touched_by) = (Place::Local, wanted.slice, w.this);
        // A task of a higher class runs on, and one that is enqueued where it still is the current
        // one keeps the slice that it was given.
        let curr = w.cpus[cpu].curr;
        // A CPU in `balance_one` looks for its next task as it is (`SCX_RQ_IN_BALANCE`).
        let preempt = preempt && curr != p && !self.rqs[cpu].path.is_under_way();
        if preempt && (!self.is_partial || self.is_own(w, curr)) {
            self.preempt(w, cpu);
        }
    }

    /// Inserts into a queue whose lock is held.
    pub fn insert_dsq(&mut self, w: &mut World, id: DsqId, p: TaskId, wanted: Wanted) {
        self.seq += 1;
        if self.dsqs[id].is_destroyed {
            w.give_up("attempting to dispatch to a destroyed dsq".to_string());
        }
        let queue = &mut self.dsqs[id].queue;
        let Wanted { vtime, flags, .. } = wanted;
        let order = if vtime.is_some() { Order::Vtime } else { Order::Fifo };
        if !queue.set_order(order) {
            w.give_up(format!("dispatch queue {} has tasks in another order", id.0));
        }
        match (flags.head || flags.preempt) && queue.order() == Order::Fifo {
            true => queue.push_front(&mut self.nodes, p, self.seq),
            false => queue.push(&mut self.nodes, p, vtime.unwrap_or(0), self.seq),
        }
        let t = &mut self.tasks[p];
        (t.place, t.slice, t.touched_by) = (Place::Dsq(id), wanted.slice, w.this);
        t.vtime = vtime.unwrap_or(t.vtime);
        if flags.kick_idle {
            self.kick_idle(w, p);
        }
    }

    /// Kicks a CPU at rest that `p` may use. A CPU that was kicked before looks by itself.
    fn kick_idle(&mut self, w: &mut World, p: TaskId) {
        let near = w.tasks[p].cpu;
        let rqs = &self.rqs;
        let fits = |w: &World, cpu: CpuId| is_at_rest(rqs, w, cpu);
        if let Some(cpu) = self.idle.pick_near(w, p, near, fits) {
            w.resched_curr(cpu);
        }
    }

    /// True if the scheduler has kept the task since its enqueue number `n_enqueued`.
    pub fn is_kept_since(&self, p: TaskId, n_enqueued: u64) -> bool {
        let t = &self.tasks[p];
        t.place == Place::Kept && t.n_enqueued == n_enqueued
    }

    /// Takes a task off the queue that it is on; the queue's lock is held.
    pub fn remove(&mut self, w: &World, p: TaskId) {
        let t = &mut self.tasks[p];
        t.touched_by = w.this;
        match std::mem::take(&mut t.place) {
            Place::Local => {
                let cpu = w.tasks[p].cpu;
                self.rqs[cpu].local.remove(&mut self.nodes, p);
            }
            Place::Dsq(id) => self.dsqs[id].queue.remove(&mut self.nodes, p),
            _ => {}
        }
    }

    /// The current task of a CPU gives way.
    pub fn preempt(&mut self, w: &mut World, cpu: CpuId) {
        if let Some(curr) = self.own_curr(w, cpu) {
            // Else the slice would end at a tick that has passed.
            self.catch_up(w, curr);
            self.update_curr(w, cpu);
            self.tasks[curr].slice = 0;
        }
        w.resched_curr(cpu);
    }

    /// The first task of a queue that `cpu` may take, and how many before it it may not.
    pub fn first_for(&self, w: &World, id: DsqId, cpu: CpuId) -> (Option<TaskId>, u32) {
        let queue = &self.dsq(id).queue;
        let mut skipped = 0;
        let mut at = queue.first(&self.nodes);
        while let Some(p) = at {
            // One that is being taken away has left its runqueue already.
            if w.tasks[p].on_rq && (w.tasks[p].cpu == cpu || w.allowed(p, cpu)) {
                return (Some(p), skipped);
            }
            skipped += 1;
            at = queue.next(&self.nodes, p);
        }
        (None, skipped)
    }

    /// How long a critical section of a queue takes whose lock was granted now, ns: the links of
    /// `n_nodes` tasks come from the CPU that wrote them last, which is taken to be the lock's last
    /// owner; and the lock's line, where the queue's head lies too, comes again as often as a
    /// waiter tries the lock.
    pub fn section_ns(&self, w: &World, id: DsqId, n_nodes: u32) -> Ns {
        let costs = &w.machine.locks;
        let lock = self.dsq(id).lock;
        // A waiter that spins takes the line away from the owner.
        let waiter = w.locks.first_waiter(lock);
        let again = waiter.map_or(0, |c| u64::from(costs.contended_lines) * w.line_ns(w.this, c));
        let last = w.locks.last_owner(lock).unwrap_or(w.this);
        costs.queue_hold_ns + again + u64::from(n_nodes) * w.line_ns(w.this, last)
    }

    /// Links that an insertion or a removal touches: neighbors of a list, or a path through a tree.
    pub fn nodes_touched(&self, id: DsqId) -> u32 {
        let queue = &self.dsq(id).queue;
        match queue.order() {
            Order::Fifo => 1,
            Order::Vtime => 1 + queue.len().max(1).ilog2(),
        }
    }
}

/// True if a CPU idles and has not been told to look for something to do.
pub(super) fn is_at_rest(rqs: &PerCpu<Rq>, w: &World, cpu: CpuId) -> bool {
    let rq = &rqs[cpu];
    w.cpus[cpu].curr == TaskId::IDLE
        && !is_told(rqs, w, cpu)
        && rq.local.is_empty()
        && !rq.path.is_under_way()
}

/// `task_can_run_on_remote_rq`: a scheduler that sends a task to another CPU, where it may not run,
/// is ended. Where it is it may be queued until the stopper has moved it.
pub(super) fn is_forbidden(w: &mut World, p: TaskId, to: CpuId) -> bool {
    let is_forbidden = to != w.tasks[p].cpu && !w.allowed(p, to);
    if is_forbidden {
        w.give_up(format!("{} sent to CPU {}, where it may not run", p.0, to.0));
    }
    is_forbidden
}

/// True if a CPU was told to schedule, or is about to tell itself.
pub(super) fn is_told(rqs: &PerCpu<Rq>, w: &World, cpu: CpuId) -> bool {
    w.cpus[cpu].need_resched || rqs[cpu].deferred.kicks.has(cpu)
}

/// The weight in the units of `cpu.weight` (`sched_weight_to_cgroup`).
pub(super) fn weight(attr: SchedAttr) -> u32 {
    let (weight, _) = weight_of(attr.nice, attr.policy);
    ((weight * 100 + NICE_0_WEIGHT / 2) / NICE_0_WEIGHT).clamp(1, 10_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_core::SchedPolicy;

    #[test]
    fn weights_are_those_of_cgroups() {
        let of = |nice, policy| weight(SchedAttr { nice, policy, slice_ns: 0 });
        assert_eq!(of(0, SchedPolicy::Normal), 100);
        assert_eq!(of(-20, SchedPolicy::Normal), 8668);
        assert_eq!(of(19, SchedPolicy::Normal), 1);
        assert_eq!(of(5, SchedPolicy::Normal), 33);
        assert_eq!(of(0, SchedPolicy::Idle), 1);
    }
}
