//! Timers of sleeping tasks (`hrtimer_interrupt()`, v6.1 and v6.12).
//!
//! The tick is such a timer, too. So a sleeper whose soft expiry has passed at a tick edge wakes in
//! the tick's interrupt. And because timers run in the order of their hard expiries, up to the
//! first that may not run yet, no earlier interrupt runs a timer that lies behind the next tick.

use super::CLASS_TIMER;
use crate::cpu::Irq;
use crate::hrtimers::Hrtimer;
use crate::{
    EventQueue, NEVER, Ns, Observer, Policy, Program, SchedPolicy, Simulation, TaskId, TaskState,
    World,
};
use topology::CpuId;

impl World {
    /// Arms the timer of `p` on `cpu`, where it goes to sleep.
    pub(crate) fn arm_timer(&mut self, cpu: CpuId, p: TaskId, soft: Ns, hard: Ns) {
        // What is centuries away never comes.
        if EventQueue::key(hard, CLASS_TIMER) == EventQueue::NO_KEY {
            return;
        }
        let t = &mut self.tasks[p];
        (t.timer_at, t.timer_cpu) = (hard, cpu);
        if self.cpus[cpu].hrtimers.add(Hrtimer { hard, soft, task: p }) {
            self.program_timer(cpu);
        }
    }

    /// A task that is woken before its time needs its timer no more.
    #[inline]
    pub(crate) fn cancel_timer(&mut self, p: TaskId) {
        let t = &mut self.tasks[p];
        let hard = std::mem::replace(&mut t.timer_at, NEVER);
        if hard == NEVER {
            return;
        }
        let cpu = t.timer_cpu;
        if self.cpus[cpu].hrtimers.remove(hard, p) {
            self.program_timer(cpu);
        }
    }

    /// Sets the event of the first timer of `cpu`: at its hard expiry, or at the last tick edge
    /// before that, if its soft expiry has passed by then. (At an earlier edge the next tick is
    /// ahead of it.) An interrupt that is pending or under way does so when it ends.
    fn program_timer(&mut self, cpu: CpuId) {
        let c = &self.cpus[cpu];
        if c.irq_at[Irq::Timer as usize] != NEVER || c.timers_until.is_some() {
            return;
        }
        let at = c.hrtimers.first().map_or(NEVER, |first| {
            let edge = self.tick_after(cpu, first.hard).saturating_sub(self.times.tick_ns);
            if edge >= first.soft && edge > self.now { edge } else { first.hard }
        });
        self.timers.set(cpu.0, at, CLASS_TIMER);
    }

    /// The next task for the timer interrupt of `cpu` to wake. `None`: it has run all timers that
    /// may run (`__hrtimer_run_queues()`), and programs the next interrupt.
    pub(crate) fn next_expired(&mut self, cpu: CpuId) -> Option<TaskId> {
        let until = self.cpus[cpu].timers_until?;
        if let Some(p) = self.take_expired(cpu, until) {
            return Some(p);
        }
        // If the next one is due already, the interrupt goes on with what the clock says now. (The
        // kernel does so three times, then it lets the CPU do something else for a moment.)
        let now = self.now;
        let c = &mut self.cpus[cpu];
        if c.hrtimers.first().is_some_and(|first| first.hard <= now) {
            c.timers_until = Some(now);
            return self.take_expired(cpu, now);
        }
        c.timers_until = None;
        self.program_timer(cpu);
        None
    }

    /// The task of the first timer of an idle CPU, if it stands for a wake-up that has cost its
    /// time before and the task's waker would have used the CPU's wake list.
    pub(crate) fn idle_paid_timer(&self, cpu: CpuId) -> Option<TaskId> {
        let c = &self.cpus[cpu];
        let first = c.hrtimers.first().filter(|first| first.hard <= self.now)?;
        let t = &self.tasks[first.task];
        let sleeps = t.state == TaskState::Sleeping && !t.on_rq && !t.on_cpu && !t.migrating;
        let is_here = t.cpu == cpu && self.allowed(first.task, cpu);
        let by_list = self.config.ttwu_queue && t.attr.policy != SchedPolicy::Ext;
        let idles = !c.curr.is_task() && c.nr_running == 0 && !c.need_resched && !c.softirq;
        let paid = t.wake_paid.is_some() && idles;
        (paid && by_list && sleeps && is_here).then_some(first.task)
    }

    /// True if the timer interrupt of `cpu` has no other timer to run; then it is over.
    pub(crate) fn timers_are_run(&mut self, cpu: CpuId) -> bool {
        let c = &mut self.cpus[cpu];
        if c.hrtimers.first().is_some_and(|first| first.hard <= self.now) {
            return false;
        }
        c.timers_until = None;
        self.program_timer(cpu);
        true
    }

    /// True if the first timer of `cpu` stands for a wake-up that has cost its time before. On an
    /// idle CPU it is one like others from now on.
    pub(crate) fn settle_paid_timer(&mut self, cpu: CpuId) -> bool {
        let Some(&Hrtimer { task, .. }) = self.cpus[cpu].hrtimers.first() else {
            return false;
        };
        if !self.cpus[cpu].curr.is_task() {
            self.tasks[task].wake_paid = None;
        }
        self.tasks[task].wake_paid.is_some()
    }

    /// Takes the first timer of `cpu` if it may run at `until`.
    fn take_expired(&mut self, cpu: CpuId, until: Ns) -> Option<TaskId> {
        let c = &self.cpus[cpu];
        let first = c.hrtimers.first().filter(|first| first.soft <= until)?;
        let early = first.hard > until;
        if early && !c.tick_stopped && first.hard >= self.tick_after(cpu, until) {
            return None;
        }
        let p = first.task;
        self.cpus[cpu].hrtimers.pop();
        self.tasks[p].timer_at = NEVER;
        Some(p)
    }
}

impl<P: Policy, W: Program, O: Observer> Simulation<P, W, O> {
    /// The first timer of a CPU is due, or a tick edge comes at which it may expire. Returns the
    /// CPU if its interrupt comes next: then that needs no place in the queue.
    #[inline(never)]
    pub(super) fn timer_event(&mut self) -> Option<CpuId> {
        let (now, id) = self.w.timers.pop()?;
        let cpu = CpuId(id);
        let &Hrtimer { hard, task, .. } = self.w.cpus[cpu].hrtimers.first()?;
        // Daemons wake up for ever: they do not keep a run going that is stuck otherwise.
        if self.w.tasks[task].attr.daemon && self.only_daemons_go_on() {
            self.stop_if_stuck();
            return None;
        }
        self.w.this = cpu;
        let ticks =
            !self.w.cpus[cpu].tick_stopped && self.w.tick_after(cpu, now.saturating_sub(1)) == now;
        if hard > now && !ticks {
            // A CPU that sleeps has no tick.
            self.w.program_timer(cpu);
            self.finish_event();
            return None;
        }
        self.w.disturb(cpu);
        self.w.cpus[cpu].timers_in_tick = ticks;
        self.w.raise(cpu, Irq::Timer, now);
        self.finish_event();
        let key = self.w.next_key(cpu);
        let at = EventQueue::time_of_key(key);
        let leads = self.w.events.would_lead(cpu.0, key) && self.is_before_rest(key);
        if !leads || at >= self.before {
            self.w.events.set_key(cpu.0, key);
            return None;
        }
        self.w.now = at;
        self.w.counters.events += 1;
        Some(cpu)
    }
}
