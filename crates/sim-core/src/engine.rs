//! The engine: the loop over events, and how a CPU goes from one step to the next.
//!
//! A CPU is a stack of frames over a *base*. The base is the current task's segment of work, or
//! idle; a frame is a kernel path (`schedule()`, a wake-up, an interrupt, a softirq) in the middle
//! of a step. Only the top frame owns the CPU's one pending event. When a step's time is over the
//! path goes on until it spends time again or spins; then the CPU's event is set anew, once.
//!
//! Events at one instant are ordered by (tick | timer | other, number). So the order does not
//! depend on the order in which they were set.

mod attr;
mod base;
mod cache;
mod fork;
mod frame;
mod idle_exit;
mod irq;
mod lock;
mod path;
mod profile;
mod run_ahead;
mod sched;
mod step;
mod stop;
mod timers;
mod wake;
mod work;

use crate::frame::{Flow, Frame, Path};
pub(crate) use work::stretch;

use crate::cpu::{Base, Cpu, Irq};
use crate::events::EventQueue;
use crate::{
    NEVER, Ns, Observer, Policy, Program, ProgramCx, SelectKind, TaskId, TaskState, World,
};
use topology::CpuId;

/// Event classes: the order of what happens at one instant. Timers have a queue of their own, and
/// come before the other events of the CPUs.
pub(crate) const CLASS_TICK: u8 = 0;
pub(crate) const CLASS_TIMER: u8 = 1;
pub(crate) const CLASS_CPU: u8 = 1;

/// A program hangs if it does more operations than this at one instant.
const MAX_OPS_AT_ONCE: u32 = 100_000;

/// Tasks that may exist at a time; a Linux of common size has room for fewer.
pub const TASKS_MAX: usize = 1 << 20;

/// A task that waits for ever, and what it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The task that waits.
    pub task: TaskId,
    /// Its command name; empty if none is registered.
    pub comm: String,
    /// What it waits for, in the program's words.
    pub what: String,
}

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The program says it is done, or every task has exited.
    Done,
    /// The time limit was reached.
    Until,
    /// Every task is blocked and nothing is pending.
    NoProgress(Vec<Waiting>),
    /// The program of this task does operation after operation, and no time passes.
    Livelock(Waiting),
    /// There are [`TASKS_MAX`] tasks, and this one would start one more.
    TooManyTasks(TaskId),
    /// The policy has given up, for this reason ([`World::give_up`]).
    GivenUp(String),
}

/// A machine, a policy, a workload and an observer.
pub struct Simulation<P: Policy, W: Program, O: Observer> {
    /// The state of the mechanism.
    pub w: World,
    /// What decides.
    pub policy: P,
    /// What the tasks do.
    pub program: W,
    /// What watches the run.
    pub observer: O,
    pub(crate) stop: Option<StopReason>,
    /// What comes at this instant or later needs a turn of the loop of its own.
    before: Ns,
    ops_at_once: u32,
    last_op_at: Ns,
    watched: profile::Watched,
    /// The task on whose account the run last went on though a daemon woke up.
    goes_on: TaskId,
}

impl<P: Policy, W: Program, O: Observer> Simulation<P, W, O> {
    /// Prepares the policy and places the program's first tasks at time 0.
    pub fn new(mut w: World, mut policy: P, mut program: W, observer: O) -> Self {
        w.after.tells_decisions = observer.watches_decisions();
        // A tick that is only accounted changes averages, too.
        w.config.simulate_every_tick |= observer.watches_signals();
        // Each tick may change the clock.
        w.config.simulate_every_tick |= w.clocks.is_some();
        w.set_first_clocks();
        policy.init(&mut w);
        for cpu in (0..w.cpus.len() as u32).map(CpuId) {
            w.this = cpu;
            policy.idle_enter(&mut w, cpu, true);
        }
        program.start(&mut ProgramCx::of(&mut w));
        let starting = std::mem::take(&mut w.starting);
        let mut sim = Self {
            w,
            policy,
            program,
            observer,
            stop: None,
            before: 0,
            ops_at_once: 0,
            last_op_at: NEVER,
            watched: profile::Watched::default(),
            goes_on: TaskId::NONE,
        };
        starting.into_iter().for_each(|p| sim.place_first(p));
        sim
    }

    /// Runs until the program is done, nothing more can happen, or `until`.
    pub fn run_until(&mut self, until: Ns) -> StopReason {
        loop {
            if let Some(reason) = self.run_events(u32::MAX, until) {
                return reason;
            }
        }
    }

    /// Handles `n` events, and those of CPUs that run ahead of them, which cannot be observed in
    /// between. `Some` if the run is over; all times are then accounted.
    pub fn run_events(&mut self, n: u32, until: Ns) -> Option<StopReason> {
        let in_order = self.observer.heeds_order() || self.w.config.simulate_every_tick;
        self.let_run_ahead(!in_order);
        self.before = until.saturating_add(1);
        self.go_on(n, until)
    }

    /// Handles one event and no other; no CPU runs ahead. `Some` if the run is over; all times are
    /// then accounted.
    #[inline]
    pub fn step(&mut self, until: Ns) -> Option<StopReason> {
        self.let_run_ahead(false);
        self.before = 0;
        self.go_on(1, until)
    }

    /// Handles up to `n` events, until all that the program starts is there. The measurement then
    /// begins, at the end of that instant: not between two of its events, so it does not matter how
    /// far the engine goes in one go. `Some` if the run is over before.
    pub fn start_up(&mut self, n: u32, until: Ns) -> Option<StopReason> {
        for _ in 0..n {
            if let Some(reason) = self.step(until) {
                return Some(reason);
            }
            if self.program.is_under_way() {
                let at = self.w.now;
                while self.stop.is_none() && self.one_event(at) {}
                self.begin_measurement();
                return self.stop.is_some().then(|| self.end(until));
            }
        }
        None
    }

    fn go_on(&mut self, n: u32, until: Ns) -> Option<StopReason> {
        for _ in 0..n {
            if !self.one_event(until) || self.stop.is_some() {
                return Some(self.end(until));
            }
        }
        None
    }

    #[cold]
    fn end(&mut self, until: Ns) -> StopReason {
        // Without another reason the limit was reached, at which no event need lie.
        let reason = self.stop.take().unwrap_or_else(|| {
            self.w.now = until.max(self.w.now);
            StopReason::Until
        });
        self.let_run_ahead(false);
        self.settle_all();
        self.observer.end(&self.w);
        reason
    }

    /// The measurement begins here: the accounts and counters of the world, the policy, the program
    /// and the observer start again. The simulation itself goes on as before.
    pub fn begin_measurement(&mut self) {
        self.settle_all();
        self.w.begin_measurement();
        self.watched.forget();
        self.policy.measurement_begins();
        self.program.measurement_begins();
        self.observer.measurement_begins(&self.w);
    }

    /// Handles the next event; false if there is none before `until`. CPUs that may run ahead do
    /// so up to it, not beyond.
    fn one_event(&mut self, until: Ns) -> bool {
        loop {
            let cpu_key = self.w.events.first_key();
            let timer_key = self.w.timers.first_key();
            let ahead_key = self.w.ahead.first_key;
            let first = cpu_key.min(timer_key).min(ahead_key);
            let at = EventQueue::time_of_key(first);
            if self.w.device_at.min(self.w.policy_timer) <= at
                && let Some(goes_on) = self.event_outside(at, until)
            {
                return goes_on;
            }
            if at > until {
                return false;
            }
            // This one goes to the horizon at once, and its next tick then comes in its turn.
            if ahead_key == first {
                self.run_ahead();
                continue;
            }
            debug_assert!(at >= self.w.now, "an event in the past: {at} < {}", self.w.now);
            // A timer comes before a CPU's other event, but after its tick (see the classes).
            let timer_comes_first = timer_key <= cpu_key;
            let cpu = CpuId(self.w.events.first_id());
            if !timer_comes_first && self.runs_ahead(cpu, cpu_key) {
                continue;
            }
            self.w.now = at;
            self.w.counters.events += 1;
            let next = if timer_comes_first { self.timer_event() } else { Some(cpu) };
            // There is one call, and it is inlined.
            if let Some(cpu) = next {
                self.cpu_event(cpu);
            }
            return true;
        }
    }

    /// Handles a device or the policy's timer if it comes before the first event in the queues,
    /// which is at `at`. `None`: it does not.
    #[inline(never)]
    fn event_outside(&mut self, at: Ns, until: Ns) -> Option<bool> {
        if self.device_is_next(at) {
            return Some(self.device_event(until));
        }
        // The policy's timer comes after everything else at its instant.
        if self.w.policy_timer < at {
            return Some(self.policy_timer(until));
        }
        (at == NEVER).then(|| {
            self.stop_if_stuck();
            self.stop.is_some()
        })
    }

    fn policy_timer(&mut self, until: Ns) -> bool {
        let at = self.w.policy_timer;
        if at > until {
            return false;
        }
        // The policy's timer alone must not keep a run going in which no task ever runs again.
        // A task that waits is the policy's own business: it may have the timer for that.
        if self.everything_rests() && self.w.n_waiting == 0 {
            self.stop_if_stuck();
            return true;
        }
        self.w.now = at.max(self.w.now);
        self.w.this = CpuId(u32::MAX);
        self.w.take_policy_timers();
        self.policy.policy_timer(&mut self.w);
        self.finish_event();
        true
    }

    /// Tells the observer of the tasks that the policy has moved, the stoppers it has woken, and
    /// what it has decided.
    #[inline]
    pub(crate) fn tell_moves(&mut self) {
        while let Some(cpu) = self.w.after.stoppers_woken.pop() {
            self.observer.stopper_woken(&self.w, cpu);
        }
        for i in 0..self.w.after.moved.len() {
            let m = self.w.after.moved[i];
            self.observer.migrate(&self.w, m.task, m.from, m.to, m.why);
        }
        self.w.after.moved.clear();
        if self.w.after.tells_decisions {
            self.tell_decisions();
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_decisions(&mut self) {
        for decision in std::mem::take(&mut self.w.after.decisions) {
            self.observer.decided(&self.w, &decision);
        }
    }

    /// To be done after each event: the events of the CPUs that it has affected are set anew.
    #[inline]
    pub(crate) fn finish_event(&mut self) {
        // Most events have affected no other CPU.
        if self.w.after.disturbed {
            self.w.after.disturbed = false;
            if let Some(why) = self.w.after.given_up.take() {
                self.stop = Some(StopReason::GivenUp(why));
            }
            self.tell_moves();
            self.settle_surroundings();
        }
        if cfg!(debug_assertions)
            && (self.w.this.idx()) < self.w.cpus.len()
            && let Err(violation) = self.w.check_cpu(self.w.this)
        {
            panic!("at {} ns: {violation}", self.w.now);
        }
        // A timer of the policy's own is on no CPU.
        if self.observer.watches_signals() && self.w.this.idx() < self.w.cpus.len() {
            self.observer.signals(&self.w, self.w.this, &self.policy);
        }
        self.observer.after_event(&self.w);
    }

    fn settle_surroundings(&mut self) {
        while let Some(cpu) = self.w.after.speed_changed.pop() {
            self.apply_speed(cpu);
        }
        while let Some(cpu) = self.w.after.touched.pop() {
            // The executing CPU has caught up at the beginning of its event.
            if cpu != self.w.this {
                self.catch_up(cpu);
            }
            self.refresh(cpu);
        }
    }

    /// Recomputes the CPU's event, the deciding tick included.
    fn refresh(&mut self, cpu: CpuId) {
        self.find_deciding_tick(cpu);
        self.w.rearm(cpu);
    }

    /// Only a segment of work that nothing covers asks for the deciding tick.
    #[inline]
    fn find_deciding_tick(&mut self, cpu: CpuId) {
        let c = &self.w.cpus[cpu];
        if c.base != Base::Work || c.depth > 0 {
            return;
        }
        let tick = c.tick_next;
        // A program that watches its ticks has to be told of each.
        let watched = c.curr.is_task() && self.w.tasks[c.curr].ticks_watched;
        let every = self.w.config.simulate_every_tick || watched;
        let deciding =
            if every { tick } else { self.policy.next_deciding_tick(&self.w, cpu).max(tick) };
        self.w.cpus[cpu].deciding_tick = deciding;
    }

    /// The siblings of `cpu`, whose occupancy or frequency changed, go on at another speed; for
    /// another frequency `cpu` does, too.
    fn apply_speed(&mut self, cpu: CpuId) {
        for i in 0..self.w.siblings[cpu].len() {
            self.set_speed(self.w.siblings[cpu][i]);
        }
        if self.w.clocks.is_some() {
            self.set_speed(cpu);
        }
    }

    fn set_speed(&mut self, cpu: CpuId) {
        let speed = self.w.speed_of(cpu);
        if speed == self.w.cpus[cpu].speed {
            return;
        }
        // The time up to now has passed at the old speed.
        self.catch_up(cpu);
        self.w.settle(cpu);
        self.w.cpus[cpu].speed = speed;
        self.w.rearm(cpu);
    }

    /// Takes the ticks that `cpu` has passed in its segment.
    #[inline]
    pub(crate) fn catch_up(&mut self, cpu: CpuId) {
        if self.w.missed_tick(cpu) {
            self.policy.catch_up(&mut self.w, cpu);
        }
    }

    #[inline(always)]
    fn cpu_event(&mut self, cpu: CpuId) {
        self.w.this = cpu;
        self.catch_up(cpu);
        self.watch_time(cpu);
        if self.w.cpus[cpu].tick_untold {
            self.tell_tick(cpu);
        }
        let now = self.w.now;
        let c = &mut self.w.cpus[cpu];
        if c.depth > 0 {
            if c.top().end <= now {
                self.end_wait(cpu);
            } else {
                self.interrupt(cpu);
            }
        } else {
            match c.base {
                Base::Idle => self.leave_idle(cpu),
                Base::Leaving => self.idle_left(cpu),
                _ => {}
            }
        }
        self.proceed(cpu);
    }

    /// Carries the CPU on until another event comes first.
    #[inline(always)]
    fn proceed(&mut self, cpu: CpuId) {
        loop {
            self.run_steps(cpu);
            self.find_deciding_tick(cpu);
            self.finish_event();
            let key = self.w.next_key(cpu);
            self.w.events.set_key(cpu.0, key);
            let at = EventQueue::time_of_key(key);
            let c = &self.w.cpus[cpu];
            // With interrupts off the CPU's next event is the end of a step, whatever else happens.
            let plain_step = c.depth > 0 && c.top.irq_off && !c.waiting_now;
            let leads = || self.w.events.first_id() == cpu.0 && self.is_before_rest(key);
            if !plain_step || !leads() || at >= self.before || self.stop.is_some() {
                return;
            }
            // No other event lies before it, so the CPU goes on without a turn of the outer loop.
            self.w.now = at;
            self.w.counters.events += 1;
            self.watch_time(cpu);
        }
    }

    /// Goes from step to step at this instant.
    #[inline(always)]
    fn run_steps(&mut self, cpu: CpuId) {
        loop {
            let flow =
                if self.w.cpus[cpu].depth > 0 { self.frame_step(cpu) } else { self.base_step(cpu) };
            if flow == Flow::Wait || self.stop.is_some() {
                return;
            }
        }
    }

    /// True if a CPU's event with this key comes before timers, devices and CPUs that run ahead.
    #[inline]
    fn is_before_rest(&self, key: u64) -> bool {
        let w = &self.w;
        let at = EventQueue::time_of_key(key);
        key < w.timers.first_key().min(w.ahead.first_key)
            && at < w.device_at
            && at <= w.policy_timer
    }

    /// A first task is placed like a forked one, at no cost.
    fn place_first(&mut self, p: TaskId) {
        self.w.this = CpuId(0);
        self.policy.task_fork(&mut self.w, p, None);
        let cpu = self.select(p, SelectKind::Fork).cpu;
        self.w.tasks[p].state = TaskState::Runnable;
        self.w.tasks[p].cache_cpu = cpu;
        self.w.tasks[p].cpu = cpu;
        self.w.tasks[p].wake_cpu = cpu;
        self.enqueue_first(cpu, p);
        // The costs of placing it belong to no instant of the run.
        self.w.cpus.iter_mut().for_each(|c| c.carry = 0);
        self.w.this = CpuId(u32::MAX);
        for asked in [CpuId(0), cpu] {
            if self.w.cpus[asked].softirq {
                // No path of this CPU ends, at whose end the flag would be seen.
                self.w.raise(asked, Irq::Resched, self.w.now);
            }
        }
        self.w.after.touched.push(cpu);
        self.w.after.disturbed = true;
        self.finish_event();
    }

    fn everything_rests(&self) -> bool {
        let w = &self.w;
        w.n_idle as usize == w.cpus.len()
            && w.timers.is_empty()
            && w.device_at == NEVER
            && w.n_throttled == 0
            && w.cpus.iter().all(|c| {
                c.depth == 0 && c.base == Base::Idle && c.irq_first == NEVER && !c.need_resched
            })
    }

    /// True if only daemons will ever run again: all other tasks sleep without a timer.
    fn only_daemons_go_on(&mut self) -> bool {
        // Each wake-up of a daemon asks, and mostly the task goes on that went on the last time.
        if self.goes_on.idx() < self.w.tasks.len() && !self.is_blocked_or_daemon(self.goes_on) {
            return false;
        }
        self.look_for_others_than_daemons()
    }

    #[cold]
    fn look_for_others_than_daemons(&mut self) -> bool {
        if self.w.n_alive == 0 || self.device_may_wake() {
            return false;
        }
        // The newest tasks are the ones that are alive.
        let mut ids = (0..self.w.tasks.len() as u32).rev().map(TaskId);
        match ids.find(|p| !self.is_blocked_or_daemon(*p)) {
            Some(p) => {
                self.goes_on = p;
                false
            }
            None => true,
        }
    }

    /// True if a device works, or the end of its work is under way to a task.
    fn device_may_wake(&self) -> bool {
        let under_way = |c: &Cpu| {
            let depth = c.depth as usize;
            let handles = |frame: &Frame| frame.path == Path::Handler;
            c.irq_at[Irq::Device as usize] != NEVER
                || c.device_irq
                || depth > 0 && (handles(&c.top) || c.below[..depth - 1].iter().any(handles))
        };
        self.w.device_at != NEVER || self.w.cpus.iter().any(under_way)
    }

    fn is_blocked_or_daemon(&self, p: TaskId) -> bool {
        let t = &self.w.tasks[p];
        let blocked = match t.state {
            TaskState::Sleeping => !t.on_rq && t.timer_at == NEVER,
            state => matches!(state, TaskState::Dead | TaskState::New),
        };
        blocked || t.attr.daemon
    }

    /// Ends the run: done, or stuck if tasks other than daemons still sleep.
    fn stop_if_stuck(&mut self) {
        let w = &self.w;
        let blocked = |t: &crate::Task| matches!(t.state, TaskState::Sleeping) && !t.attr.daemon;
        let ids = (0..w.tasks.len() as u32).map(TaskId);
        let waiting: Vec<_> =
            ids.filter(|p| blocked(&w.tasks[*p])).map(|p| self.describe(p)).collect();
        self.stop = Some(if waiting.is_empty() {
            StopReason::Done
        } else {
            StopReason::NoProgress(waiting)
        });
    }

    fn describe(&self, task: TaskId) -> Waiting {
        let comm = self.w.tasks[task].attr.comm as usize;
        Waiting {
            task,
            comm: self.w.comms.get(comm).cloned().unwrap_or_default(),
            what: self.program.waits_for(task),
        }
    }

    /// Counts operations at one instant, to end a program that would hang the simulation.
    fn guard_livelock(&mut self, task: TaskId) {
        if self.last_op_at != self.w.now {
            (self.last_op_at, self.ops_at_once) = (self.w.now, 0);
        }
        self.ops_at_once += 1;
        if self.ops_at_once > MAX_OPS_AT_ONCE {
            self.stop = Some(StopReason::Livelock(self.describe(task)));
        }
    }

    /// Accounts every CPU's time up to now.
    fn settle_all(&mut self) {
        for cpu in (0..self.w.cpus.len() as u32).map(CpuId) {
            self.catch_up(cpu);
            self.w.settle(cpu);
            self.watch_time(cpu);
        }
        self.w.settle_idle_while_runnable();
    }
}
