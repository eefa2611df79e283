//! The class as the mechanism sees it: `impl Policy for Ext`.

use super::cx::Cx;
use super::dispatch::DSQ_LOCK;
use super::ops::Ops;
use super::reasons;
use super::state::{Ext, Place, SLICE_INF, is_forbidden, weight};
use super::types::{Dsq, Insert, Rules, Wake, Wanted};
use super::watchdog::Watchdog;
use sim_core::{
    Choice, DequeueFlags, EnqueueFlags, Hook, MaskId, NEVER, Nested, Ns, OperationCount, PathGroup,
    Policy, SchedAttr, SelectKind, Stack, Step, TaskId, Within, World,
};
use topology::CpuId;

/// [`Nested::op`]: insert into a dispatch queue.
const INSERT: u8 = 0;
/// A slice that ends later never does, ns: with `SLICE_INF` all that would pass the end of time.
const LONGEST: Ns = SLICE_INF / 2;
/// [`Nested::op`]: take off it.
const REMOVE: u8 = 1;
/// [`Nested::op`]: the same, to put the task back with what has changed.
const TAKE_OUT: u8 = 2;

impl<S: Ops> Ext<S> {
    /// Puts a task on the local queue, or asks for the lock of another; `cpu`'s runqueue lock is
    /// held.
    fn carry_out(&mut self, w: &mut World, p: TaskId) -> Hook {
        let mut wanted = self.state.tasks[p].wanted?;
        if let Dsq::LocalOn(to) = wanted.to
            && to != w.tasks[p].cpu
        {
            if !is_forbidden(w, p, to) {
                w.note_placed(p, reasons::LOCAL);
                self.state.defer(w, p, to, wanted);
                return None;
            }
            wanted.to = Dsq::Global;
            self.state.tasks[p].wanted = Some(wanted);
        }
        match self.state.locked_queue(w, p, wanted.to) {
            None => {
                w.note_placed(p, reasons::LOCAL);
                self.state.tasks[p].wanted = None;
                self.state.insert_local(w, p, wanted);
                None
            }
            Some(id) => {
                w.note_placed(p, reasons::DISPATCH_QUEUE);
                let lock = self.state.dsq(id).lock;
                Some(Nested { lock, site: DSQ_LOCK, task: p, op: INSERT })
            }
        }
    }

    /// `do_enqueue_task`
    fn enqueue(&mut self, w: &mut World, p: TaskId, flags: EnqueueFlags) -> Hook {
        let is_open = self.state.tasks[p].wanted.is_none();
        if is_open && w.tasks[p].exiting && !self.ops.enqueues_exiting() {
            self.state.refill_slice(p);
            self.state.events.enq_skip_exiting += 1;
            self.state.tasks[p].wanted = Some(Wanted::last(Dsq::Local, self.state.tasks[p].slice));
        } else if is_open {
            let t = &mut self.state.tasks[p];
            (t.place, t.n_enqueued) = (Place::Kept, t.n_enqueued + 1);
            w.note_placed(p, reasons::KEPT);
            self.ops.enqueue(&mut Cx::new(w, &mut self.state), p, flags);
        }
        self.carry_out(w, p)
    }

    /// `put_prev_task_scx`: a task that would go on makes room.
    fn put_prev(&mut self, w: &mut World, cpu: CpuId, prev: TaskId) -> Hook {
        self.state.update_curr(w, cpu);
        self.ops.stopping(&mut Cx::new(w, &mut self.state), prev, true);
        let slice = self.state.tasks[prev].slice;
        if slice > 0 {
            let flags = Insert { head: true, ..Insert::default() };
            let wanted = Wanted { to: Dsq::Local, slice, vtime: None, flags };
            self.state.insert_local(w, prev, wanted);
            return None;
        }
        self.enqueue(w, prev, EnqueueFlags::default())
    }

    /// `dequeue_task_scx` with `DEQUEUE_SAVE`: a runnable task leaves, to come back changed. A CPU
    /// that is about to fetch it finds that it has gone (`holding_cpu`).
    fn take_out(&mut self, w: &mut World, p: TaskId) -> Hook {
        if !w.tasks[p].on_rq {
            return None;
        }
        let cpu = w.tasks[p].cpu;
        let place = self.state.tasks[p].place;
        self.state.is_change = true;
        if place == Place::Kept {
            self.ops.dequeue(&mut Cx::new(w, &mut self.state), p);
        }
        if w.cpus[cpu].curr == p {
            self.state.update_curr(w, cpu);
            self.ops.stopping(&mut Cx::new(w, &mut self.state), p, false);
        }
        self.ops.quiescent(&mut Cx::new(w, &mut self.state), p);
        self.state.is_change = false;
        if let Place::Dsq(id) = place {
            let lock = self.state.dsq(id).lock;
            return Some(Nested { lock, site: DSQ_LOCK, task: p, op: TAKE_OUT });
        }
        self.state.remove(w, p);
        self.state.is_taken_out = true;
        None
    }

    /// `enqueue_task_scx` with `ENQUEUE_RESTORE`: a task that runs goes on, any other one is
    /// enqueued like new.
    fn put_back(&mut self, w: &mut World, p: TaskId) -> Hook {
        let cpu = w.tasks[p].cpu;
        let flags = EnqueueFlags::default();
        self.state.is_change = true;
        self.ops.runnable(&mut Cx::new(w, &mut self.state), p, flags);
        let mut hook = None;
        if w.cpus[cpu].curr == p {
            self.state.tasks[p].exec_start = w.now;
            self.ops.running(&mut Cx::new(w, &mut self.state), p);
        } else {
            hook = self.enqueue(w, p, flags);
        }
        self.state.is_change = false;
        // `local_dsq_post_enq`: on any other queue nobody is told of it.
        let is_local = self.state.tasks[p].place == Place::Local;
        if is_local && w.cpus[cpu].curr == TaskId::IDLE {
            w.resched_curr(cpu);
        }
        hook
    }

    /// `scx_bpf_reenqueue_local`: the scheduler gave up what waits for a CPU that the stopper has.
    fn take_off_local(&mut self, w: &World, cpu: CpuId) {
        if !std::mem::take(&mut self.state.gives_up_local) {
            return;
        }
        for p in self.state.to_give_up(w, cpu) {
            self.state.remove(w, p);
            self.state.reenqueued.push_back(p);
        }
    }

    /// Enqueues such tasks anew, up to one that needs a queue's lock.
    fn reenqueue(&mut self, w: &mut World) -> Hook {
        while let Some(p) = self.state.reenqueued.pop_front() {
            self.state.is_reenqueue = true;
            let hook = self.enqueue(w, p, EnqueueFlags::default());
            self.state.is_reenqueue = false;
            if hook.is_some() {
                return hook;
            }
        }
        None
    }

    /// `balance_one` begins: if a higher class had the CPU, the scheduler hears that it is back.
    pub(super) fn acquire(&mut self, w: &mut World, cpu: CpuId) {
        if std::mem::take(&mut self.state.rqs[cpu].is_released) {
            self.ops.cpu_acquire(&mut Cx::new(w, &mut self.state), cpu);
        }
    }

    /// True if a CPU has two tasks or more since the last question, and this class brought the
    /// second one there.
    pub(super) fn take_overload(&mut self) -> bool {
        std::mem::take(&mut self.state.overloads)
    }

    /// True if `cpu` has something to run without a dispatch: its current task has slice left, or
    /// the local queue has a task.
    pub(super) fn has_next(&mut self, w: &World, cpu: CpuId) -> bool {
        self.state.update_curr(w, cpu);
        let curr = self.state.own_curr(w, cpu);
        curr.is_some_and(|p| w.tasks[p].on_rq && self.state.tasks[p].slice > 0)
            || !self.state.rqs[cpu].local.is_empty()
    }

    /// `pick_task_scx`, before the dispatch or behind it.
    pub(super) fn pick_task(&mut self, w: &mut World, cpu: CpuId) -> Option<TaskId> {
        let curr = w.cpus[cpu].curr;
        let stays = self.state.is_own(w, curr) && w.tasks[curr].on_rq;
        let dispatched = std::mem::take(&mut self.state.rqs[cpu].path.is_over);
        if stays && !dispatched {
            self.state.update_curr(w, cpu);
        }
        // Also a slice that `dispatch` has given it comes before the local queue.
        if stays && self.state.tasks[curr].slice > 0 {
            return Some(curr);
        }
        if let Some(p) = self.state.rqs[cpu].local.first(&self.state.nodes) {
            if self.state.tasks[p].slice == 0 {
                self.state.refill_slice(p);
            }
            return Some(p);
        }
        if stays && dispatched && !(self.ops.enqueues_last() && self.state.tasks[curr].slice == 0) {
            if self.state.tasks[curr].slice == 0 {
                self.state.events.dispatch_keep_last += 1;
                self.state.refill_slice(curr);
            }
            return Some(curr);
        }
        if dispatched && curr == TaskId::IDLE {
            // From idle to idle: a wake-up that claimed this CPU has sent it no task, so it must be
            // found again. The scheduler is not told.
            self.update_masks(w, cpu, true);
        }
        None
    }

    /// `scx_cgroup_init`
    fn init_cgroups(&mut self, w: &mut World) {
        for cgroup in self.state.cgroups.pre_order().to_vec() {
            let args = self.state.cgroups.init(cgroup).expect("the order has cgroups only");
            self.ops.cgroup_init(&mut Cx::new(w, &mut self.state), cgroup, args);
        }
    }

    fn update_masks(&mut self, w: &mut World, cpu: CpuId, idle: bool) {
        if self.ops.builtin_idle() {
            self.state.idle.update(w, cpu, idle);
        }
    }

    /// `__scx_update_idle`: 6.12 tells the scheduler before it changes the masks, 6.18 after that.
    fn set_idle(&mut self, w: &mut World, cpu: CpuId, idle: bool) {
        let tells_first = self.state.rules == Rules::V6_12;
        if !tells_first {
            self.update_masks(w, cpu, idle);
        }
        self.ops.update_idle(&mut Cx::new(w, &mut self.state), cpu, idle);
        if tells_first {
            self.update_masks(w, cpu, idle);
        }
    }
}

impl<S: Ops> Policy for Ext<S> {
    fn init(&mut self, w: &mut World) {
        // Its tasks never use the wake list, unless a scheduler asks for it (6.18 only).
        w.config.ttwu_queue &= self.state.is_partial;
        // Both kernels, 6.12.117 and 6.18's stable tree, have it.
        w.config.lone_state_keeps_tick = true;
        w.forget_distributed();
        self.state.init(w, self.ops.idle_per_node());
        self.state.batch_max = self.ops.dispatch_max_batch();
        self.ops.init(&mut Cx::new(w, &mut self.state));
        self.init_cgroups(w);
        self.state.watchdog = Watchdog::new(self.ops.timeout_ns(), w.now);
        self.state.arm(w);
    }

    fn task_fork(&mut self, w: &mut World, p: TaskId, parent: Option<TaskId>) {
        self.state.add_task(w, p);
        let weight = self.state.tasks[p].weight;
        let is_own = self.state.is_own(w, p);
        let cx = &mut Cx::new(w, &mut self.state);
        self.ops.init_task(cx, p, parent);
        if !is_own {
            return;
        }
        self.ops.enable(cx, p);
        self.ops.set_weight(cx, p, weight);
    }

    fn task_dead(&mut self, w: &mut World, p: TaskId) {
        let is_own = self.state.is_own(w, p);
        let cx = &mut Cx::new(w, &mut self.state);
        if is_own {
            self.ops.disable(cx, p);
        }
        self.ops.exit_task(cx, p);
    }

    fn select_task_rq(&mut self, w: &mut World, p: TaskId, kind: SelectKind) -> Choice {
        let t = &w.tasks[p];
        let (prev, wake) = match kind {
            SelectKind::Wake { sync, .. } => (t.wake_cpu, Wake { sync, fork: false }),
            SelectKind::Fork => (t.cpu, Wake { sync: false, fork: true }),
            SelectKind::Search { .. } | SelectKind::Exec => {
                return Choice { cpu: t.cpu, scan_ns: 0 };
            }
        };
        let cpu = self.ops.select_cpu(&mut Cx::new(w, &mut self.state), p, prev, wake);
        self.state.tasks[p].selected = Some(cpu);
        // Looking at the masks was charged to the next step.
        Choice { cpu, scan_ns: 0 }
    }

    fn enqueue_task(&mut self, w: &mut World, cpu: CpuId, p: TaskId, flags: EnqueueFlags) -> Hook {
        if flags.wakeup || flags.initial {
            let selected = self.state.tasks[p].selected.take();
            // A fork does not say that a CPU was selected for it (`SCX_ENQ_CPU_SELECTED`).
            let is_fallback = flags.wakeup && selected.is_some_and(|selected| selected != cpu);
            self.state.events.select_cpu_fallback += u64::from(is_fallback);
            self.ops.runnable(&mut Cx::new(w, &mut self.state), p, flags);
        }
        self.enqueue(w, p, flags)
    }

    fn dequeue_task(&mut self, w: &mut World, cpu: CpuId, p: TaskId, flags: DequeueFlags) -> Hook {
        if flags.sleep {
            self.state.update_curr(w, cpu);
            let cx = &mut Cx::new(w, &mut self.state);
            self.ops.stopping(cx, p, false);
            self.ops.quiescent(cx, p);
            return None;
        }
        match self.state.tasks[p].place {
            Place::Dsq(id) => {
                let lock = self.state.dsq(id).lock;
                Some(Nested { lock, site: DSQ_LOCK, task: p, op: REMOVE })
            }
            Place::Kept => {
                self.state.tasks[p].place = Place::Off;
                self.ops.dequeue(&mut Cx::new(w, &mut self.state), p);
                None
            }
            _ => {
                self.state.remove(w, p);
                None
            }
        }
    }

    fn nested_hold(&self, w: &World, _cpu: CpuId, n: Nested) -> Ns {
        let id = match (n.op, self.state.tasks[n.task].place) {
            (INSERT, _) => {
                let wanted = self.state.tasks[n.task].wanted;
                wanted.and_then(|wanted| self.state.locked_queue(w, n.task, wanted.to))
            }
            (_, Place::Dsq(id)) => Some(id),
            _ => None,
        };
        id.map_or(0, |id| self.state.section_ns(w, id, self.state.nodes_touched(id)))
    }

    fn nested_done(&mut self, w: &mut World, _cpu: CpuId, n: Nested) -> Hook {
        let p = n.task;
        if n.op != INSERT {
            self.state.remove(w, p);
            return if n.op == TAKE_OUT { self.put_back(w, p) } else { None };
        }
        if let Some(wanted) = self.state.tasks[p].wanted.take()
            && let Some(id) = self.state.locked_queue(w, p, wanted.to)
        {
            self.state.insert_dsq(w, id, p, wanted);
        }
        self.reenqueue(w)
    }

    /// A CPU that idles looks for something to do, wherever the task was put.
    fn wakeup_preempt(&mut self, w: &mut World, cpu: CpuId, _p: TaskId, _flags: EnqueueFlags) {
        if w.cpus[cpu].curr == TaskId::IDLE {
            w.resched_curr(cpu);
        }
        w.skip_clock_if_resched(cpu);
    }

    /// The first question of a schedule is answered if the current task has slice left or the
    /// local queue has a task; else [`Policy::before_idle`] dispatches, and asks again.
    fn pick_next_task(&mut self, w: &mut World, cpu: CpuId) -> Option<TaskId> {
        if !self.state.rqs[cpu].path.is_over {
            self.acquire(w, cpu);
        }
        self.pick_task(w, cpu)
    }

    fn switch_task(&mut self, w: &mut World, cpu: CpuId, prev: TaskId, next: TaskId) -> Hook {
        self.state.rqs[cpu].path.is_over = false;
        let was_own = self.state.is_own(w, prev);
        let mut hook = None;
        if prev == TaskId::IDLE {
            self.set_idle(w, cpu, false);
        } else if was_own && w.tasks[prev].on_rq {
            self.state.is_last = next == TaskId::IDLE;
            hook = self.put_prev(w, cpu, prev);
            if std::mem::take(&mut self.state.is_last) && !self.state.rqs[cpu].local.is_empty() {
                // It was enqueued where it ran: it goes on.
                self.state.rqs[cpu].deferred.resched = true;
                w.raise_softirq(cpu);
            }
        }
        if next == TaskId::IDLE {
            self.set_idle(w, cpu, true);
        } else if self.state.is_own(w, next) {
            self.state.remove(w, next);
            self.state.tasks[next].exec_start = w.now;
            self.ops.running(&mut Cx::new(w, &mut self.state), next);
        } else if was_own && !std::mem::replace(&mut self.state.rqs[cpu].is_released, true) {
            // `switch_class`: a higher class takes the CPU from a task of this one.
            self.ops.cpu_release(&mut Cx::new(w, &mut self.state), cpu, next);
            self.take_off_local(w, cpu);
            hook = hook.or_else(|| self.reenqueue(w));
        }
        hook
    }

    fn before_idle(&mut self, w: &mut World, cpu: CpuId, _prev: TaskId, first: bool) -> Step {
        self.dispatch_step(w, cpu, first)
    }

    fn task_tick(&mut self, w: &mut World, cpu: CpuId) {
        let Some(curr) = self.state.own_curr(w, cpu) else {
            return;
        };
        self.state.update_curr(w, cpu);
        if self.ops.ticks() {
            self.ops.tick(&mut Cx::new(w, &mut self.state), curr);
        }
        if self.state.tasks[curr].slice == 0 {
            w.resched_curr(cpu);
        }
    }

    fn next_deciding_tick(&self, w: &World, cpu: CpuId) -> Ns {
        let curr = w.cpus[cpu].curr;
        let tick_next = w.cpus[cpu].tick_next;
        if !curr.is_task() {
            return NEVER;
        }
        let t = &self.state.tasks[curr];
        let end = t.exec_start.saturating_add(t.slice);
        if self.ops.ticks() || end <= tick_next {
            tick_next
        } else if end > LONGEST {
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
        if !self.ops.yield_task(&mut Cx::new(w, &mut self.state), curr) {
            self.state.update_curr(w, cpu);
            self.state.tasks[curr].slice = 0;
        }
    }

    fn set_scheduler(&mut self, w: &mut World, p: TaskId, attr: SchedAttr) -> Hook {
        let hook = self.take_out(w, p);
        let weight = weight(attr);
        self.state.tasks[p].weight = weight;
        self.ops.set_weight(&mut Cx::new(w, &mut self.state), p, weight);
        hook
    }

    fn set_cpus_allowed(&mut self, w: &mut World, p: TaskId, allowed: MaskId) -> Hook {
        let hook = self.take_out(w, p);
        self.ops.set_cpumask(&mut Cx::new(w, &mut self.state), p, allowed);
        hook
    }

    fn attr_stored(&mut self, w: &mut World, p: TaskId) -> Hook {
        let is_out = std::mem::take(&mut self.state.is_taken_out);
        if is_out { self.put_back(w, p) } else { None }
    }

    fn softirq(&mut self, w: &mut World, cpu: CpuId, first: bool) -> Step {
        self.deferred_step(w, cpu, first)
    }

    fn policy_timer(&mut self, w: &mut World) {
        let (at, cpu) = self.state.timer;
        if at <= w.now {
            self.state.timer = (NEVER, CpuId(0));
            w.in_timer(cpu, |w| self.ops.timer(&mut Cx::new(w, &mut self.state)));
        }
        self.state.watchdog.look(w, self.state.is_partial);
        self.state.arm(w);
    }

    fn measurement_begins(&mut self) {
        self.ops.measurement_begins();
    }

    fn operations(&self) -> Vec<OperationCount> {
        self.ops.operations()
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
