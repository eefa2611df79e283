//! A sched_ext scheduler beside the fair class: it has the tasks of SCHED_EXT, and all others stay
//! where they are (`SCX_OPS_SWITCH_PARTIAL`).
//!
//! The fair class is the higher one. Its tasks take a CPU from those of the scheduler at once, and
//! the scheduler sees it by `cpu_release` and `cpu_acquire`. Its balancing counts tasks of both
//! classes where the kernel counts `rq->nr_running`, and moves only its own.
//!
//! In Linux: `prev_balance`, `__pick_next_task` and `wakeup_preempt`, `core.c` v6.12;
//! `balance_fair` and `pick_task_scx`.

use super::dispatch::DSQ_LOCK;
use super::ops::Ops;
use super::state::Ext;
use super::types::Kick;
use crate::fair::{Discipline, Fair};
use sim_core::{
    Choice, DequeueFlags, EnqueueFlags, Hook, MaskId, Nested, Ns, OperationCount, Policy,
    SchedAttr, SchedPolicy, SelectKind, Signals, Stack, Step, TaskId, Within, World,
};
use topology::{CpuId, PerCpu};

/// Who is resumed next, in a path that both classes have a part of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Turn {
    /// The fair class, which is called for the first time if `first`.
    Fair,
    /// The fair class, for the first time.
    FairBegins,
    #[default]
    Ext,
}

/// Whether this `schedule()` has balanced. If it has, what can be picked now is all there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Balanced {
    #[default]
    No,
    Yes,
    /// The fair class has said that there is something to run, so the scheduler was not asked
    /// (`SCX_RQ_BAL_PENDING` is set still).
    WithoutExt,
}

/// What both classes are doing on one CPU.
#[derive(Clone, Copy, Default)]
struct OnCpu {
    balance: Turn,
    balanced: Balanced,
    softirq: Turn,
}

/// A scheduler of the sched_ext shape that has only a part of the tasks.
pub struct Partial<D: Discipline, S> {
    /// The class of all other tasks.
    pub fair: Fair<D>,
    /// The scheduler and its class.
    pub ext: Ext<S>,
    /// Tasks that begin with these names are of SCHED_EXT, besides those whose program says so; and
    /// all that they fork.
    commands: Vec<String>,
    cpus: PerCpu<OnCpu>,
}

impl<D: Discipline, S: Ops> Partial<D, S> {
    /// The two classes. The scheduler has the tasks that begin with one of these names, as if they
    /// were started by `chrt --ext`, and all that they fork.
    pub fn new(fair: Fair<D>, mut ext: Ext<S>, commands: Vec<String>) -> Self {
        ext.state.is_partial = true;
        Self { fair, ext, commands, cpus: PerCpu::new() }
    }

    /// What the fair class sees of a task: one that is not its own is like the stopper, which takes
    /// a CPU and leaves it.
    fn as_fair_sees(w: &World, p: TaskId) -> TaskId {
        if w.is_ext(p) { TaskId::STOP } else { p }
    }

    /// True if what can be picked is asked of sched_ext first: it is, if `prev` is of its class or
    /// below.
    fn begins_with_ext(w: &World, prev: TaskId) -> bool {
        prev == TaskId::IDLE || w.is_ext(prev)
    }

    /// Notes that a CPU has two tasks or more, if the scheduler has just brought it there.
    fn note_overload(&mut self) {
        if self.ext.take_overload() {
            self.fair.overload = true;
        }
    }
}

impl<D: Discipline, S: Ops> Policy for Partial<D, S> {
    fn init(&mut self, w: &mut World) {
        self.cpus = w.cpus.iter().map(|_| OnCpu::default()).collect();
        self.fair.init(w);
        self.ext.init(w);
        // With sched_ext, `ops.dispatch()` is to be asked (`scx_enabled()` in `__schedule()`).
        w.config.idles_on_without_pick = false;
    }

    fn task_fork(&mut self, w: &mut World, p: TaskId, parent: Option<TaskId>) {
        let comm = w.comms.get(w.tasks[p].attr.comm as usize);
        let is_named = comm.is_some_and(|comm| self.commands.contains(comm));
        if is_named || parent.is_some_and(|parent| w.is_ext(parent)) {
            w.tasks[p].attr.policy = SchedPolicy::Ext;
        }
        if w.is_ext(p) {
            self.fair.add_foreign(w, p, parent);
        } else {
            self.fair.task_fork(w, p, parent);
        }
        // The scheduler hears of tasks of other classes, too (`scx_fork`).
        self.ext.task_fork(w, p, parent);
    }

    fn task_dead(&mut self, w: &mut World, p: TaskId) {
        if !w.is_ext(p) {
            self.fair.task_dead(w, p);
        }
        self.ext.task_dead(w, p);
    }

    fn select_task_rq(&mut self, w: &mut World, p: TaskId, kind: SelectKind) -> Choice {
        match w.is_ext(p) {
            true => self.ext.select_task_rq(w, p, kind),
            false => self.fair.select_task_rq(w, p, kind),
        }
    }

    fn migrate_task_rq(&mut self, w: &mut World, p: TaskId, from: CpuId, to: CpuId) {
        if !w.is_ext(p) {
            self.fair.migrate_task_rq(w, p, from, to);
        }
    }

    fn enqueue_task(&mut self, w: &mut World, cpu: CpuId, p: TaskId, flags: EnqueueFlags) -> Hook {
        if !w.is_ext(p) {
            return self.fair.enqueue_task(w, cpu, p, flags);
        }
        self.fair.note_foreign(w, cpu, flags.wakeup);
        self.ext.enqueue_task(w, cpu, p, flags)
    }

    fn dequeue_task(&mut self, w: &mut World, cpu: CpuId, p: TaskId, flags: DequeueFlags) -> Hook {
        match w.is_ext(p) {
            true => self.ext.dequeue_task(w, cpu, p, flags),
            false => self.fair.dequeue_task(w, cpu, p, flags),
        }
    }

    fn nested_hold(&self, w: &World, cpu: CpuId, n: Nested) -> Ns {
        match w.is_ext(n.task) {
            true => self.ext.nested_hold(w, cpu, n),
            false => self.fair.nested_hold(w, cpu, n),
        }
    }

    fn wake_delayed(&mut self, w: &mut World, cpu: CpuId, p: TaskId) {
        self.fair.wake_delayed(w, cpu, p);
    }

    fn nested_done(&mut self, w: &mut World, cpu: CpuId, n: Nested) -> Hook {
        match w.is_ext(n.task) {
            true => self.ext.nested_done(w, cpu, n),
            false => self.fair.nested_done(w, cpu, n),
        }
    }

    fn wakeup_preempt(&mut self, w: &mut World, cpu: CpuId, p: TaskId, flags: EnqueueFlags) {
        match w.is_ext(p) {
            true => self.ext.wakeup_preempt(w, cpu, p, flags),
            false => self.fair.wakeup_preempt(w, cpu, p, flags),
        }
    }

    /// The first question of a schedule is answered if `dispatch` and newidle balance have nothing
    /// to say before; else [`Policy::before_idle`] follows, and the last question.
    fn pick_next_task(&mut self, w: &mut World, cpu: CpuId) -> Option<TaskId> {
        let balanced = std::mem::take(&mut self.cpus[cpu].balanced);
        let begins_with_ext = Self::begins_with_ext(w, w.cpus[cpu].curr);
        if balanced == Balanced::No && begins_with_ext {
            self.ext.acquire(w, cpu);
            if !self.ext.has_next(w, cpu) {
                return None;
            }
        }
        let fair = self.fair.pick_next_task(w, cpu);
        if fair.is_some() || balanced == Balanced::No && !begins_with_ext {
            return fair;
        }
        let ext = self.ext.pick_task(w, cpu);
        if ext.is_none() && balanced == Balanced::WithoutExt {
            // It asks as it leaves idle.
            self.ext.state.kick_cpu(w, cpu, Kick::Idle);
        }
        ext
    }

    fn switch_task(&mut self, w: &mut World, cpu: CpuId, prev: TaskId, next: TaskId) -> Hook {
        self.cpus[cpu].balanced = Balanced::No;
        let [fair_prev, fair_next] = [prev, next].map(|p| Self::as_fair_sees(w, p));
        let fair = self.fair.switch_task(w, cpu, fair_prev, fair_next);
        let ext = self.ext.switch_task(w, cpu, prev, next);
        debug_assert!(fair.is_none() || ext.is_none(), "one hook a switch");
        fair.or(ext)
    }

    fn before_idle(&mut self, w: &mut World, cpu: CpuId, prev: TaskId, first: bool) -> Step {
        let mut begins = first;
        if first {
            let begins_with_ext = Self::begins_with_ext(w, prev);
            self.cpus[cpu].balance = if begins_with_ext { Turn::Ext } else { Turn::Fair };
        }
        if self.cpus[cpu].balance == Turn::Fair {
            // `balance_fair`: the slow pick, as behind the stopper.
            let step = self.fair.before_idle(w, cpu, TaskId::STOP, first);
            if !step.is_done() {
                return step;
            }
            if self.fair.balance_says_yes(cpu) {
                self.cpus[cpu].balanced = Balanced::WithoutExt;
                return Step::Done;
            }
            (self.cpus[cpu].balance, begins) = (Turn::Ext, true);
            self.ext.acquire(w, cpu);
            if self.ext.has_next(w, cpu) {
                self.cpus[cpu].balanced = Balanced::Yes;
                return Step::Done;
            }
        }
        let step = self.ext.before_idle(w, cpu, prev, begins);
        if step.is_done() {
            self.cpus[cpu].balanced = Balanced::Yes;
        }
        self.note_overload();
        step
    }

    fn task_tick(&mut self, w: &mut World, cpu: CpuId) {
        self.ext.task_tick(w, cpu);
        self.fair.task_tick(w, cpu);
    }

    /// Every tick: a class that replays the ticks of a CPU would leave out the other's part.
    fn next_deciding_tick(&self, w: &World, cpu: CpuId) -> Ns {
        w.cpus[cpu].tick_next
    }

    /// The scheduler's part comes first: in Linux it is done in interrupts.
    fn softirq(&mut self, w: &mut World, cpu: CpuId, first: bool) -> Step {
        if first {
            self.cpus[cpu].softirq = Turn::Ext;
        }
        let turn = self.cpus[cpu].softirq;
        if turn != Turn::Ext {
            self.cpus[cpu].softirq = Turn::Fair;
            return self.fair.softirq(w, cpu, turn == Turn::FairBegins);
        }
        let step = self.ext.softirq(w, cpu, first);
        self.note_overload();
        if !step.is_done() || !self.fair.takes_softirq(cpu) {
            return step;
        }
        self.cpus[cpu].softirq = Turn::FairBegins;
        Step::IrqOn
    }

    fn stopper(&mut self, w: &mut World, cpu: CpuId, target: CpuId, first: bool) -> Step {
        self.fair.stopper(w, cpu, target, first)
    }

    fn stopper_woken(&mut self, w: &mut World, cpu: CpuId) {
        self.fair.stopper_woken(w, cpu);
    }

    fn idles_with_queued(&self) -> bool {
        true
    }

    fn idle_enter(&mut self, w: &mut World, cpu: CpuId, stops_tick: bool) {
        self.fair.idle_enter(w, cpu, stops_tick);
    }

    fn yield_task(&mut self, w: &mut World, cpu: CpuId) {
        match w.is_ext(w.cpus[cpu].curr) {
            true => self.ext.yield_task(w, cpu),
            false => self.fair.yield_task(w, cpu),
        }
    }

    fn set_scheduler(&mut self, w: &mut World, p: TaskId, attr: SchedAttr) -> Hook {
        match w.is_ext(p) {
            true => self.ext.set_scheduler(w, p, attr),
            false => self.fair.set_scheduler(w, p, attr),
        }
    }

    fn set_cpus_allowed(&mut self, w: &mut World, p: TaskId, allowed: MaskId) -> Hook {
        match w.is_ext(p) {
            true => self.ext.set_cpus_allowed(w, p, allowed),
            false => self.fair.set_cpus_allowed(w, p, allowed),
        }
    }

    fn attr_stored(&mut self, w: &mut World, p: TaskId) -> Hook {
        if w.is_ext(p) { self.ext.attr_stored(w, p) } else { None }
    }

    fn nohz_kick(&mut self, w: &mut World, cpu: CpuId) {
        self.fair.nohz_kick(w, cpu);
    }

    fn measurement_begins(&mut self) {
        self.fair.measurement_begins();
        self.ext.measurement_begins();
    }

    fn results(&self) -> Vec<(&'static str, f64)> {
        let mut all = self.fair.results();
        all.extend(self.ext.results());
        all
    }

    fn operations(&self) -> Vec<OperationCount> {
        self.ext.operations()
    }

    /// Of the fair class: tasks of sched_ext have no averages.
    fn cpu_signals(&self, cpu: CpuId) -> Option<Signals> {
        self.fair.cpu_signals(cpu)
    }

    fn task_signals(&self, p: TaskId) -> Option<Signals> {
        let is_ext = self.fair.tasks.get(p.idx())?.policy == SchedPolicy::Ext;
        if is_ext { None } else { self.fair.task_signals(p) }
    }

    fn unwind(&self, w: &World, cpu: CpuId, at: Within, stack: &mut Stack) {
        let is_fairs = match at {
            Within::Nested(site) => !std::ptr::eq(site, DSQ_LOCK),
            Within::BeforeIdle => self.cpus[cpu].balance == Turn::Fair,
            Within::Softirq => self.cpus[cpu].softirq == Turn::Fair,
            // Only the fair class asks for searches and for the stopper.
            Within::Select(_) | Within::Enqueue | Within::Stopper => true,
        };
        match is_fairs {
            true => self.fair.unwind(w, cpu, at, stack),
            false => self.ext.unwind(w, cpu, at, stack),
        }
    }

    fn policy_timer(&mut self, w: &mut World) {
        if self.fair.timer_at() <= w.now {
            self.fair.policy_timer(w);
        }
        self.ext.policy_timer(w);
    }
}
