//! CPUs on which tasks only compute and take turns run ahead of the others.
//!
//! Such a CPU has nothing but ticks, and some of them make it switch. As long as no other CPU
//! touches its runqueue, neither a tick nor a switch can be observed: they read and write this CPU,
//! the tasks on its queue, and sums whose order does not matter. So they commute with all that
//! happens on other CPUs at the same time. They are handled in one go, up to the next event that
//! concerns more than one CPU. No event of such a turn needs a place in the queue. The path of
//! `schedule()` needs no frame: its lock is free, there is a next task, and no hook asks for more.
//!
//! ```text
//! events  | … public events …  | the end of each window: its CPU may become public again
//! ahead   | the next deciding tick of each CPU that runs ahead
//! ```
//! The first entry of `events` (and the timers, the devices, the policy's timer) is the horizon. Up
//! to it every CPU in `ahead` may run, as none of the others becomes public before. Code that is
//! about to touch such a CPU closes its window first ([`World::disturb`]). That happens in a public
//! event, and no CPU is ahead of that event.
//!
//! An observer that heeds the order of what happens on different CPUs sees every event in its
//! order, and so does a driver that looks at the world after each event ([`Simulation::step`]).

use crate::cpu::Base;
use crate::cpu::FULL_SPEED;
use crate::engine::{CLASS_TICK, stretch};
use crate::{
    Category, EventQueue, LockId, MaskId, NEVER, Ns, Observer, Policy, Program, Simulation, Site,
    TaskId, TaskState, World,
};
use topology::CpuId;

impl World {
    /// To be called before code touches `cpu`: it no longer runs ahead, and its events are computed
    /// anew. Code that takes its runqueue's lock or interrupts it need not call this.
    #[inline]
    pub fn disturb(&mut self, cpu: CpuId) {
        if self.ahead.first_key != EventQueue::NO_KEY {
            self.close_window(cpu);
        }
    }

    /// The same for the CPU whose runqueue `lock` protects, if it is a runqueue's lock.
    #[inline]
    pub(super) fn disturb_rq(&mut self, lock: LockId) {
        if self.ahead.first_key != EventQueue::NO_KEY && (lock.0 as usize) < self.cpus.len() {
            self.close_window(CpuId(lock.0));
        }
    }

    /// Sets the next deciding tick of `cpu`, which runs ahead; [`NEVER`]: it does not.
    #[cold]
    #[inline(never)]
    pub(super) fn set_ahead(&mut self, cpu: CpuId, edge: Ns) {
        self.ahead.ticks.set(cpu.0, edge, CLASS_TICK);
        self.ahead.first_key = self.ahead.ticks.first_key();
    }

    /// `cpu` no longer runs ahead. True if it did.
    #[cold]
    #[inline(never)]
    fn close_window(&mut self, cpu: CpuId) -> bool {
        let is_open = self.ahead.ticks.time_of(cpu.0) != NEVER;
        if is_open {
            self.set_ahead(cpu, NEVER);
            self.rearm(cpu);
        }
        is_open
    }

    /// Longer than the longest way from a tick of `cpu` to the end of the switch it leads to, ns.
    fn turn_ns(&self, cpu: CpuId) -> Ns {
        let c = &self.cpus[cpu];
        let costs = &self.machine.costs;
        let locks = &self.machine.locks;
        let line_ns = Ns::from(self.machine.line.ns.into_iter().max().unwrap_or(0));
        let switch_ns = costs.switch_ns + costs.mm_switch_ns;
        let ns = costs.tick_ns + locks.fast_ns + line_ns + costs.pick_ns + switch_ns + c.carry;
        // Four steps are stretched, each rounded up by itself.
        stretch(ns, c.speed) + 5
    }

    /// May `cpu`, about to take a tick, run ahead as far as the mechanism knows?
    fn is_undisturbed(&self, cpu: CpuId) -> bool {
        let c = &self.cpus[cpu];
        c.base == Base::Work
            && c.depth == 0
            && c.nr_running > 1
            && c.nr_delayed == 0
            && !c.need_resched
            && !c.softirq
            && c.irq_first == NEVER
            && c.stall == 0
            && c.stop_work.is_none()
            && c.wake_head == TaskId::NONE
            && !c.ttwu_pending
            && c.pushes_under_way == 0
            && c.curr.is_task()
            && self.locks.owner(LockId::rq(cpu)).is_none()
            && self.turn_ns(cpu) < self.times.tick_ns
    }

    /// Until when `p`, which is on a runqueue, would work on its segment at least, if it ran all
    /// the time at full speed, and each tick found it in user mode; 0 if it has another reason to
    /// do more than that.
    #[inline]
    pub fn works_until(&self, p: TaskId) -> Ns {
        let t = &self.tasks[p];
        let only_works = t.state == TaskState::Runnable
            && !t.in_kernel
            && !t.ticks_watched
            && t.attr.allowed == MaskId::ALL
            && t.spinner == u32::MAX;
        // The segment of the current task is as it was when its CPU's account was settled last.
        let since = self.cpus[t.cpu].since;
        if only_works { since + (t.work_left >> FULL_SPEED.trailing_zeros()) } else { 0 }
    }

    /// The first instant of all that is not in the queue of the CPUs' events.
    #[inline]
    fn next_without_cpus(&self) -> Ns {
        let timer = EventQueue::time_of_key(self.timers.first_key());
        timer.min(self.device_at).min(self.policy_timer)
    }
}

impl<P: Policy, W: Program, O: Observer> Simulation<P, W, O> {
    /// From now on CPUs may run ahead, or none does.
    #[inline]
    pub(super) fn let_run_ahead(&mut self, may: bool) {
        if may {
            self.w.ahead.next = 0;
            return;
        }
        self.w.ahead.next = NEVER;
        while self.w.ahead.first_key != EventQueue::NO_KEY {
            self.w.close_window(CpuId(self.w.ahead.ticks.first_id()));
        }
    }

    /// The first event in the queue is that of `cpu`, with this key. True if the queue has changed
    /// and is to be looked at again: the event was the end of a window, or a window opens at it.
    #[inline]
    pub(super) fn runs_ahead(&mut self, cpu: CpuId, key: u64) -> bool {
        if self.w.ahead.first_key != EventQueue::NO_KEY && self.w.close_window(cpu) {
            return true;
        }
        let at = EventQueue::time_of_key(key);
        let is_tick = key == EventQueue::key(at, CLASS_TICK);
        is_tick && at >= self.w.ahead.next && self.try_to_run_ahead(cpu, at)
    }

    #[inline(never)]
    fn try_to_run_ahead(&mut self, cpu: CpuId, edge: Ns) -> bool {
        if !self.open_window(cpu, edge) {
            return false;
        }
        let has_room = self.has_room(cpu, edge);
        if !has_room {
            self.give_up(cpu, edge);
        }
        has_room
    }

    /// The other CPUs leave no room for a turn: no more attempts at this tick edge.
    fn give_up(&mut self, cpu: CpuId, edge: Ns) {
        self.w.ahead.next = edge + self.w.times.tick_ns / 2;
        self.w.close_window(cpu);
    }

    /// Lets `cpu` run ahead from `edge` on, if nothing but ticks and turns lies before it.
    fn open_window(&mut self, cpu: CpuId, edge: Ns) -> bool {
        let c = &self.w.cpus[cpu];
        if c.deciding_tick != edge || !self.w.is_undisturbed(cpu) {
            return false;
        }
        let end = self.policy.only_ticks_until(&self.w, cpu);
        // A window shorter than a tick is not worth opening.
        if end <= edge + self.w.times.tick_ns {
            return false;
        }
        self.w.set_ahead(cpu, edge);
        self.w.events.set(cpu.0, end, CLASS_TICK);
        true
    }

    /// True if nothing that concerns other CPUs lies before the end of a turn that `cpu` begins at
    /// `edge`. A CPU whose tick comes before that end gets a window of its own, if it may.
    fn has_room(&mut self, cpu: CpuId, edge: Ns) -> bool {
        let end = edge + self.w.turn_ns(cpu);
        if end >= self.before || end >= self.w.next_without_cpus() {
            return false;
        }
        loop {
            let key = self.w.events.first_key();
            let at = EventQueue::time_of_key(key);
            let other = CpuId(self.w.events.first_id());
            if end < at {
                return true;
            }
            let closed = at >= self.w.ahead.next && self.w.ahead.ticks.time_of(other.0) == NEVER;
            if !closed || !self.open_window(other, at) {
                return false;
            }
        }
    }

    /// The first of the CPUs that run ahead goes on as far as it may.
    #[inline(never)]
    pub(super) fn run_ahead(&mut self) {
        let cpu = CpuId(self.w.ahead.ticks.first_id());
        let start = EventQueue::time_of_key(self.w.ahead.first_key);
        if !self.has_room(cpu, start) {
            return self.give_up(cpu, start);
        }
        self.w.now = start;
        let turn_ns = self.w.turn_ns(cpu);
        let first = EventQueue::time_of_key(self.w.events.first_key());
        let horizon = first.min(self.w.next_without_cpus()).min(self.before);
        self.w.this = cpu;
        let mut edge = start;
        while edge + turn_ns < horizon {
            self.take_turn(cpu, edge);
            edge = self.w.cpus[cpu].deciding_tick;
        }
        debug_assert!(!self.w.cpus[cpu].softirq && !self.w.after.disturbed, "{cpu} was disturbed");
        if cfg!(debug_assertions)
            && let Err(violation) = self.w.check_cpu(cpu)
        {
            panic!("at {edge} ns: {violation}");
        }
        self.w.set_ahead(cpu, edge);
        // Time goes back: the other CPUs have not come so far.
        self.w.now = start;
    }

    /// A deciding tick and, if it preempts, the switch: what the events of `cpu` would do one by
    /// one.
    fn take_turn(&mut self, cpu: CpuId, edge: Ns) {
        self.w.now = edge;
        self.w.counters.events += 1;
        self.policy.catch_up(&mut self.w, cpu);
        let c = &mut self.w.cpus[cpu];
        c.tick_untold = false;
        if c.need_resched {
            // `schedule()` begins when the tick's interrupt returns.
            self.w.now = c.since + c.stall;
            self.turn_over(cpu);
        }
        self.find_deciding_tick(cpu);
    }

    /// `schedule()` by preemption: what the steps in `engine::sched` do if no other CPU interferes.
    fn turn_over(&mut self, cpu: CpuId) {
        let begin = self.w.now;
        self.w.advance(cpu, begin);
        let costs = &self.w.machine.costs;
        let before_ns = costs.pick_before_lock_ns();
        let pick_ns = costs.pick_ns - before_ns;
        let lock_ns = self.w.machine.locks.fast_ns;
        let last = self.w.locks.pass(LockId::rq(cpu), cpu, Site::SCHEDULE_RQ_LOCK);
        let ns = pick_ns + lock_ns + self.w.line_ns(last, cpu);
        let c = &mut self.w.cpus[cpu];
        let prev = c.curr;
        let speed = c.speed;
        debug_assert!(self.w.tasks[prev].work_left > 0, "{prev:?} is through");
        // The policy may have charged costs to this path, such as a nohz kick in the tick.
        self.w.now += stretch(before_ns + std::mem::take(&mut c.carry), speed);
        self.w.update_clock_to_schedule(cpu);
        self.w.now += stretch(ns, speed);
        // The events are counted as if each step had been one.
        self.w.counters.events += 3;
        let next = self.policy.pick_next_task(&mut self.w, cpu).unwrap_or(prev);
        if next == prev {
            let c = &mut self.w.cpus[cpu];
            c.need_resched = false;
            c.stat.kept += 1;
        } else {
            let hook = self.change_current(cpu, prev, next);
            debug_assert!(hook.is_none(), "{cpu} was disturbed");
            self.w.counters.events += 1;
            let ns = self.w.switch_ns(cpu, next);
            self.w.now += stretch(ns, speed);
            self.switched_out(prev);
        }
        let now = self.w.now;
        let c = &mut self.w.cpus[cpu];
        c.account(Category::Kernel, now - begin);
        c.since = now;
        c.category = Category::Kernel;
    }
}
