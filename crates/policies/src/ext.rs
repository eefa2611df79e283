//! Schedulers of the sched_ext shape: operations, dispatch queues, slices.
//!
//! [`Ext`] is a scheduling class as `kernel/sched/ext.c` is one: it owns the local queues of the
//! CPUs, the dispatch queues with their locks, slices, and the masks of idle CPUs, and asks a
//! scheduler that implements [`Ops`] what to do. So a scheduler can be sketched here before it is
//! written in BPF. Three come with it: [`Fifo`], [`Vtime`] and [`LlcFifo`].
//!
//! Left out: `SCX_DSQ_LOCAL_ON`, `SCX_OPS_ENQ_LAST` and other flags of a scheduler, cgroups, core
//! scheduling, the bypass mode and the watchdog, and the time that a scheduler's own code takes.
//! Rules: Linux 6.12 or 6.18 (spec 12).

mod check;
mod cx;
mod dispatch;
mod fifo;
mod idle;
mod llc_fifo;
mod ops;
mod queue;
mod reasons;
mod state;
mod vtime;

pub use cx::Cx;
pub use fifo::Fifo;
pub use llc_fifo::LlcFifo;
pub use ops::{Dsq, DsqId, Insert, Kick, Next, Ops, Wake, Why};
pub use queue::Order;
pub use state::SLICE_INF;
pub use vtime::Vtime;

use ops::Wanted;
use sim_core::{
    Choice, DequeueFlags, EnqueueFlags, Hook, MaskId, NEVER, Nested, Ns, PathGroup, Policy,
    SchedAttr, SelectKind, Site, Stack, Step, TaskId, Within, World,
};
use state::{Place, State};
use topology::CpuId;

/// Where this class takes locks (see [`Site`]).
pub const LOCK_SITES: [&Site; 2] = [dispatch::DSQ_LOCK, dispatch::CONSUME_RQ_LOCK];

/// [`Nested::op`]: insert into a dispatch queue.
const INSERT: u8 = 0;
/// [`Nested::op`]: take off it.
const REMOVE: u8 = 1;

/// The kernel version whose rules hold; they differ in the built-in choice of a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rules {
    /// Any idle CPU is as good as another.
    V6_12,
    /// Idle CPUs of the same LLC first, then of the node.
    #[default]
    V6_18,
}

/// Tunables of the layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tunables {
    /// `SCX_SLICE_DFL`, ns.
    pub slice_ns: Ns,
}

impl Default for Tunables {
    fn default() -> Self {
        Self { slice_ns: 20_000_000 }
    }
}

/// The class that a scheduler runs in.
pub struct Ext<S> {
    /// The scheduler.
    pub ops: S,
    s: State,
}

impl<S: Ops> Ext<S> {
    /// The class with a scheduler, its rules and tunables.
    pub fn new(ops: S, rules: Rules, tunables: Tunables) -> Self {
        Self { ops, s: State::empty(rules, tunables) }
    }

    /// Puts a task on the local queue, or asks for the lock of another; `cpu`'s runqueue lock is
    /// held.
    fn carry_out(&mut self, w: &mut World, p: TaskId) -> Hook {
        let wanted = self.s.tasks[p].wanted?;
        match self.s.locked_queue(w, p, wanted.to) {
            None => {
                w.note_placed(p, reasons::LOCAL);
                self.s.tasks[p].wanted = None;
                self.s.insert_local(w, p, wanted);
                None
            }
            Some(id) => {
                w.note_placed(p, reasons::DISPATCH_QUEUE);
                let lock = self.s.dsq(id).lock;
                Some(Nested { lock, site: dispatch::DSQ_LOCK, task: p, op: INSERT })
            }
        }
    }

    /// `do_enqueue_task`
    fn enqueue(&mut self, w: &mut World, p: TaskId, flags: EnqueueFlags) -> Hook {
        if self.s.tasks[p].wanted.is_none() {
            let t = &mut self.s.tasks[p];
            (t.place, t.n_enqueued) = (Place::Kept, t.n_enqueued + 1);
            w.note_placed(p, reasons::KEPT);
            self.ops.enqueue(&mut Cx::new(w, &mut self.s), p, flags);
        }
        self.carry_out(w, p)
    }

    /// `put_prev_task_scx`: a task that would go on makes room.
    fn put_prev(&mut self, w: &mut World, cpu: CpuId, prev: TaskId) -> Hook {
        self.s.update_curr(w, cpu);
        self.ops.stopping(&mut Cx::new(w, &mut self.s), prev, true);
        let slice = self.s.tasks[prev].slice;
        if slice > 0 {
            let flags = Insert { head: true, ..Insert::default() };
            let wanted = Wanted { to: Dsq::Local, slice, vtime: None, flags };
            self.s.insert_local(w, prev, wanted);
            return None;
        }
        self.enqueue(w, prev, EnqueueFlags::default())
    }

    fn set_idle(&mut self, w: &mut World, cpu: CpuId, idle: bool) {
        self.s.idle.update(w, cpu, idle);
        self.ops.update_idle(&mut Cx::new(w, &mut self.s), cpu, idle);
    }
}

impl<S: Ops> Policy for Ext<S> {
    fn init(&mut self, w: &mut World) {
        // Its tasks never use the wake list, unless a scheduler asks for it (6.18 only).
        w.config.ttwu_queue = false;
        self.s.init(w);
        self.ops.init(&mut Cx::new(w, &mut self.s));
    }

    fn task_fork(&mut self, w: &mut World, p: TaskId, parent: Option<TaskId>) {
        self.s.add_task(w, p);
        let weight = self.s.tasks[p].weight;
        let cx = &mut Cx::new(w, &mut self.s);
        self.ops.init_task(cx, p, parent);
        self.ops.enable(cx, p);
        self.ops.set_weight(cx, p, weight);
    }

    fn task_dead(&mut self, w: &mut World, p: TaskId) {
        let cx = &mut Cx::new(w, &mut self.s);
        self.ops.disable(cx, p);
        self.ops.exit_task(cx, p);
    }

    fn select_task_rq(&mut self, w: &mut World, p: TaskId, kind: SelectKind) -> Choice {
        let t = &w.tasks[p];
        let (prev, wake) = match kind {
            SelectKind::Wake { sync, .. } => (t.wake_cpu, Wake { sync, fork: false }),
            SelectKind::Fork => (t.cpu, Wake { sync: false, fork: true }),
            SelectKind::Exec => return Choice { cpu: t.cpu, scan_ns: 0 },
        };
        let cpu = self.ops.select_cpu(&mut Cx::new(w, &mut self.s), p, prev, wake);
        // Looking at the masks was charged to the next step.
        Choice { cpu, scan_ns: 0 }
    }

    fn enqueue_task(&mut self, w: &mut World, _cpu: CpuId, p: TaskId, flags: EnqueueFlags) -> Hook {
        if flags.wakeup || flags.initial {
            self.ops.runnable(&mut Cx::new(w, &mut self.s), p, flags);
        }
        self.enqueue(w, p, flags)
    }

    fn dequeue_task(&mut self, w: &mut World, cpu: CpuId, p: TaskId, flags: DequeueFlags) -> Hook {
        if flags.sleep {
            self.s.update_curr(w, cpu);
            let cx = &mut Cx::new(w, &mut self.s);
            self.ops.stopping(cx, p, false);
            self.ops.quiescent(cx, p);
            return None;
        }
        match self.s.tasks[p].place {
            Place::Dsq(id) => {
                let lock = self.s.dsq(id).lock;
                Some(Nested { lock, site: dispatch::DSQ_LOCK, task: p, op: REMOVE })
            }
            Place::Kept => {
                self.s.tasks[p].place = Place::Off;
                self.ops.dequeue(&mut Cx::new(w, &mut self.s), p);
                None
            }
            _ => {
                self.s.remove(w, p);
                None
            }
        }
    }

    fn nested_hold(&self, w: &World, _cpu: CpuId, n: Nested) -> Ns {
        let id = match (n.op, self.s.tasks[n.task].place) {
            (INSERT, _) => {
                let wanted = self.s.tasks[n.task].wanted;
                wanted.and_then(|wanted| self.s.locked_queue(w, n.task, wanted.to))
            }
            (_, Place::Dsq(id)) => Some(id),
            _ => None,
        };
        id.map_or(0, |id| self.s.section_ns(w, id, self.s.nodes_touched(id)))
    }

    fn nested_done(&mut self, w: &mut World, _cpu: CpuId, n: Nested) -> Hook {
        let p = n.task;
        if n.op == REMOVE {
            self.s.remove(w, p);
            return None;
        }
        if let Some(wanted) = self.s.tasks[p].wanted.take()
            && let Some(id) = self.s.locked_queue(w, p, wanted.to)
        {
            self.s.insert_dsq(w, id, p, wanted);
        }
        None
    }

    /// A CPU that idles looks for something to do, wherever the task was put.
    fn wakeup_preempt(&mut self, w: &mut World, cpu: CpuId, _p: TaskId, _flags: EnqueueFlags) {
        if w.cpus[cpu].curr == TaskId::IDLE {
            w.resched_curr(cpu);
        }
    }

    /// The first question of a schedule is answered if the current task has slice left or the
    /// local queue has a task; else [`Policy::before_idle`] dispatches, and asks again.
    fn pick_next_task(&mut self, w: &mut World, cpu: CpuId) -> Option<TaskId> {
        let curr = w.cpus[cpu].curr;
        let stays = curr.is_task() && w.tasks[curr].on_rq;
        let dispatched = std::mem::take(&mut self.s.rqs[cpu].path.is_over);
        if stays && !dispatched {
            self.s.update_curr(w, cpu);
            if self.s.tasks[curr].slice > 0 {
                return Some(curr);
            }
        }
        if let Some(p) = self.s.rqs[cpu].local.first(&self.s.nodes) {
            if self.s.tasks[p].slice == 0 {
                self.s.tasks[p].slice = self.s.tunables.slice_ns;
            }
            return Some(p);
        }
        if stays && dispatched {
            let t = &mut self.s.tasks[curr];
            if t.slice == 0 {
                t.slice = self.s.tunables.slice_ns;
            }
            return Some(curr);
        }
        if dispatched && curr == TaskId::IDLE {
            // From idle to idle: whoever has claimed it in vain must find it again. The scheduler
            // is not told.
            self.s.idle.update(w, cpu, true);
        }
        None
    }

    fn switch_task(&mut self, w: &mut World, cpu: CpuId, prev: TaskId, next: TaskId) -> Hook {
        self.s.rqs[cpu].path.is_over = false;
        let mut hook = None;
        if prev == TaskId::IDLE {
            self.set_idle(w, cpu, false);
        } else if prev.is_task() && w.tasks[prev].on_rq {
            hook = self.put_prev(w, cpu, prev);
        }
        if next == TaskId::IDLE {
            self.set_idle(w, cpu, true);
        } else if next == TaskId::STOP {
            self.s.rqs[cpu].is_released = true;
            self.ops.cpu_release(&mut Cx::new(w, &mut self.s), cpu);
        } else {
            self.s.remove(w, next);
            self.s.tasks[next].exec_start = w.now;
            self.ops.running(&mut Cx::new(w, &mut self.s), next);
        }
        hook
    }

    fn before_idle(&mut self, w: &mut World, cpu: CpuId, _prev: TaskId, first: bool) -> Step {
        self.dispatch_step(w, cpu, first)
    }

    fn task_tick(&mut self, w: &mut World, cpu: CpuId) {
        let curr = w.cpus[cpu].curr;
        if !curr.is_task() {
            return;
        }
        self.s.update_curr(w, cpu);
        if S::TICKS {
            self.ops.tick(&mut Cx::new(w, &mut self.s), curr);
        }
        if self.s.tasks[curr].slice == 0 {
            w.resched_curr(cpu);
        }
    }

    fn next_deciding_tick(&self, w: &World, cpu: CpuId) -> Ns {
        let (curr, tick_next) = (w.cpus[cpu].curr, w.cpus[cpu].tick_next);
        if !curr.is_task() {
            return NEVER;
        }
        let t = &self.s.tasks[curr];
        let end = t.exec_start.saturating_add(t.slice);
        if S::TICKS || end <= tick_next {
            tick_next
        } else if t.slice == SLICE_INF {
            NEVER
        } else {
            w.tick_after(cpu, end - 1)
        }
    }

    fn idles_with_queued(&self) -> bool {
        true
    }

    fn yield_task(&mut self, w: &mut World, cpu: CpuId) {
        let curr = w.cpus[cpu].curr;
        if !self.ops.yield_task(&mut Cx::new(w, &mut self.s), curr) {
            self.s.update_curr(w, cpu);
            self.s.tasks[curr].slice = 0;
        }
    }

    /// The kernel takes a queued task off and enqueues it anew; here it keeps its place.
    fn set_scheduler(&mut self, w: &mut World, p: TaskId, attr: SchedAttr) -> Hook {
        let weight = state::weight(attr);
        self.s.tasks[p].weight = weight;
        self.ops.set_weight(&mut Cx::new(w, &mut self.s), p, weight);
        None
    }

    /// The kernel takes a queued task off and enqueues it anew; here it keeps its place in a queue,
    /// for its new CPUs. A CPU that is about to fetch it may no longer be allowed.
    fn set_cpus_allowed(&mut self, w: &mut World, p: TaskId, _allowed: MaskId) -> Hook {
        self.ops.set_cpumask(&mut Cx::new(w, &mut self.s), p);
        match self.s.tasks[p].place {
            Place::Kept => self.ops.dequeue(&mut Cx::new(w, &mut self.s), p),
            Place::InFlight(_) => {}
            Place::Off | Place::Local | Place::Dsq(_) => return None,
        }
        let cpu = w.tasks[p].cpu;
        let hook = self.enqueue(w, p, EnqueueFlags::default());
        if w.cpus[cpu].curr == TaskId::IDLE {
            w.resched_curr(cpu);
        }
        hook
    }

    fn unwind(&self, _w: &World, _cpu: CpuId, at: Within, stack: &mut Stack) {
        match at {
            Within::Select(_) => stack.call(&["select_task_rq_scx", "scx_select_cpu_dfl"]),
            Within::Enqueue => stack.call(&["enqueue_task_scx", "do_enqueue_task"]),
            Within::Nested(_) => stack.call(&["do_enqueue_task", "dispatch_enqueue"]),
            Within::BeforeIdle => {
                stack.group = PathGroup::Pull;
                stack.call(&["balance_scx", "balance_one", "consume_dispatch_q"]);
            }
            Within::Softirq | Within::Stopper => {}
        }
    }
}
