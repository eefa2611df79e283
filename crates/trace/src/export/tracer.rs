//! The observer that turns what happens into tracepoints.
//!
//! The engine tells of the kernel's tracepoints at the places where the kernel fires them. Only
//! `sched_stat_runtime` is made here. The kernel fires it wherever `update_curr` finds time to
//! charge: when the current task is dequeued or put back, when another task joins or leaves its
//! runqueue, and at each tick. Whatever their number, the charges of a stay add up to the time from
//! the task's switch-in to its dequeue or switch-out.

use super::event::{Comm, Event, PrevState, Signal, What, Who};
use super::out_file::TraceError;
use super::sink::Sink;
use super::ticks::TickEdges;
use sim_core::{
    MigrationCause, Ns, Observer, PerTask, Pid, SignalSource, Signals, TaskId, TaskState, World,
};
use topology::{CpuId, Machine, PerCpu};

/// The tools' clock at the beginning of a run: many take 0 for "never", so it starts at 1 s.
pub const START_NS: Ns = 1_000_000_000;

/// The stay of a CPU's current task, and how much of it has been charged.
#[derive(Clone, Copy)]
struct Stint {
    curr: TaskId,
    /// When the task was switched to.
    start: Ns,
    /// Up to when the task was charged; `None` once it is off its runqueue and not charged any
    /// more.
    charged: Option<Ns>,
}

/// What a trace contains in all; the tools' own sums must agree with it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Totals {
    /// Number of tracepoints.
    pub events: u64,
    /// Number of `sched_switch`, those from and to idle tasks included.
    pub switches: u64,
    /// Completed stays of tasks on CPUs, stoppers included, ns: `perf sched timehist`'s run time.
    pub run_time_ns: u64,
    /// Sum of `sched_stat_runtime`, ns: `perf sched latency`'s run time.
    pub charged_ns: u64,
}

/// Watches a run and writes its trace to any number of sinks.
pub struct Tracer {
    sinks: Vec<Box<dyn Sink>>,
    error: Option<TraceError>,
    totals: Totals,
    stints: PerCpu<Stint>,
    ticks: TickEdges,
    /// By number of the command name.
    comms: Vec<Comm>,
    /// By CPU.
    idle: PerCpu<Comm>,
    stoppers: PerCpu<Comm>,
    stopper_known: PerCpu<bool>,
    /// The name under which each task was last shown, by `TaskId`.
    known: PerTask<(Pid, Comm)>,
    /// CPUs whose runqueue length may have changed in this event, and the lengths last told.
    dirty: Vec<CpuId>,
    nr_running: PerCpu<u32>,
    wasted: u32,
    last: Ns,
    signals: Option<SignalsTold>,
}

/// What was last told of signals.
struct SignalsTold {
    cpus: PerCpu<Option<Signals>>,
    /// With the pid, as ids are used again.
    tasks: PerTask<(Pid, Signals)>,
    /// Tasks that have left a CPU in this event.
    left: Vec<TaskId>,
}

impl Tracer {
    /// A tracer of runs on this machine.
    pub fn new(machine: &Machine, sinks: Vec<Box<dyn Sink>>) -> Self {
        let n = machine.n_cpus();
        let per_cpu = |name: &str| (0..n).map(|c| Comm::new(&format!("{name}/{c}"))).collect();
        Self {
            sinks,
            error: None,
            totals: Totals::default(),
            stints: vec![Stint { curr: TaskId::IDLE, start: 0, charged: None }; n].into(),
            ticks: TickEdges::default(),
            comms: Vec::new(),
            idle: per_cpu("swapper"),
            stoppers: per_cpu("migration"),
            stopper_known: vec![false; n].into(),
            known: PerTask::new(),
            dirty: Vec::new(),
            nr_running: vec![0; n].into(),
            wasted: 0,
            last: 0,
            signals: None,
        }
    }

    /// Tells of signals, too, as far as the policy has any.
    #[must_use]
    pub fn with_signals(mut self) -> Self {
        let cpus = vec![None; self.stints.len()].into();
        self.signals = Some(SignalsTold { cpus, tasks: PerTask::new(), left: Vec::new() });
        self
    }

    /// Completes the files.
    ///
    /// # Errors
    /// The first one that any sink met, in the run or now; then no file has been made.
    pub fn finish(self) -> Result<Totals, TraceError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut complete = Vec::new();
        for sink in self.sinks {
            complete.push(sink.finish()?);
        }
        for file in complete {
            file.publish()?;
        }
        Ok(self.totals)
    }

    fn emit(&mut self, at: Ns, cpu: CpuId, current: Who, what: What) {
        // A computed tick may lie before what has been told; time must not run backwards.
        self.last = self.last.max(at);
        let event = Event { at: START_NS + self.last, cpu, current, what };
        self.totals.events += u64::from(what.is_tracepoint());
        if self.error.is_some() {
            return;
        }
        for sink in &mut self.sinks {
            if let Err(error) = sink.event(&event) {
                self.error = Some(error);
                return;
            }
        }
    }

    /// Something happens now on the executing CPU.
    fn now(&mut self, w: &World, what: What) {
        let cpu = self.executing(w);
        let current = self.current(w, cpu);
        self.emit(w.now, cpu, current, what);
    }

    /// The CPU that executes the event. A timer of the policy's own is on no CPU: CPU 0 stands for
    /// it.
    fn executing(&self, w: &World) -> CpuId {
        if w.this.idx() < self.stints.len() { w.this } else { CpuId(0) }
    }

    fn current(&mut self, w: &World, cpu: CpuId) -> Who {
        self.who(w, cpu, self.stints[cpu].curr)
    }

    /// A task's fields in an event.
    fn name(&mut self, w: &World, cpu: CpuId, task: TaskId) -> Who {
        let pid = w.pid(cpu, task);
        match task {
            TaskId::IDLE | TaskId::NONE => Who { pid, comm: self.idle[cpu], prio: 120 },
            TaskId::STOP => Who { pid, comm: self.stoppers[cpu], prio: 0 },
            _ => {
                let attr = &w.tasks[task].attr;
                Who { pid, comm: self.comm(w, attr.comm), prio: 120 + i32::from(attr.nice) }
            }
        }
    }

    fn comm(&mut self, w: &World, number: u16) -> Comm {
        for name in w.comms.iter().skip(self.comms.len()) {
            self.comms.push(Comm::new(name));
        }
        self.comms.get(number as usize).copied().unwrap_or(Comm::new(""))
    }

    /// A task's fields. Formats that keep a list of names are told of a new name first.
    fn who(&mut self, w: &World, cpu: CpuId, task: TaskId) -> Who {
        let who = self.name(w, cpu, task);
        let is_new = match task {
            TaskId::STOP => !std::mem::replace(&mut self.stopper_known[cpu], true),
            _ if task.is_task() => self.remember(task, who),
            _ => false,
        };
        if is_new {
            let current = self.name(w, cpu, self.stints[cpu].curr);
            self.emit(self.last, cpu, current, What::Renamed { task: who });
        }
        who
    }

    fn remember(&mut self, task: TaskId, who: Who) -> bool {
        self.known.cover(task, || (Pid(0), Comm::new("")));
        let name = (who.pid, who.comm);
        std::mem::replace(&mut self.known[task], name) != name
    }

    /// `update_curr` of `cpu`'s runqueue, by the executing CPU.
    fn charge(&mut self, w: &World, cpu: CpuId) {
        self.take_ticks(w);
        let by = self.executing(w);
        self.charge_at(w, cpu, by, w.now);
    }

    fn charge_at(&mut self, w: &World, cpu: CpuId, by: CpuId, at: Ns) {
        let stint = &mut self.stints[cpu];
        let Some(from) = stint.charged else {
            return;
        };
        let (task, ns) = (stint.curr, at.saturating_sub(from));
        if ns == 0 {
            return;
        }
        stint.charged = Some(at);
        self.totals.charged_ns += ns;
        let task = self.who(w, cpu, task);
        let current = self.current(w, by);
        self.emit(at, by, current, What::StatRuntime { task, ns });
    }

    /// Charges at the ticks up to now; the engine does not tell of computed ticks.
    fn take_ticks(&mut self, w: &World) {
        while let Some((at, cpu)) = self.ticks.next_until(w) {
            self.charge_at(w, cpu, cpu, at);
        }
    }

    /// Tells those signals of a CPU that are not what was told last.
    fn tell_cpu(&mut self, w: &World, cpu: CpuId, now: Signals) {
        let Some(told) = &mut self.signals else { return };
        let before = told.cpus[cpu].replace(now);
        if before.is_none() {
            let value = u64::from(w.machine.freq_scale);
            self.now(w, What::CpuSignal { cpu, signal: Signal::FreqScale, value });
        }
        for (signal, value) in changed(before, now) {
            self.now(w, What::CpuSignal { cpu, signal, value });
        }
    }

    /// The same of a task.
    fn tell_task(&mut self, w: &World, cpu: CpuId, p: TaskId, now: Signals) {
        let pid = w.tasks[p].pid;
        let Some(told) = &mut self.signals else { return };
        told.tasks.cover(p, || (Pid(0), Signals::default()));
        let (known, before) = std::mem::replace(&mut told.tasks[p], (pid, now));
        for (signal, value) in changed((known == pid).then_some(before), now) {
            let task = self.who(w, cpu, p);
            self.now(w, What::TaskSignal { task, signal, value });
        }
    }

    fn tell_length(&mut self, w: &World, cpu: CpuId) {
        let n = w.cpus[cpu].nr_running;
        if std::mem::replace(&mut self.nr_running[cpu], n) != n {
            self.now(w, What::NrRunning { cpu, n });
        }
    }
}

/// The signals that are not as they were.
fn changed(before: Option<Signals>, now: Signals) -> impl Iterator<Item = (Signal, u64)> {
    let values = |s: Signals| [s.util_avg, s.load_avg, s.runnable_avg];
    let before = before.map(values);
    let all = [Signal::Util, Signal::Load, Signal::Runnable].into_iter().zip(values(now));
    let is_new = move |i: usize, value: u64| before.is_none_or(|before| before[i] != value);
    all.enumerate().filter(move |(i, (_, value))| is_new(*i, *value)).map(|(_, told)| told)
}

impl Observer for Tracer {
    fn switch(&mut self, w: &World, cpu: CpuId, prev: TaskId, next: TaskId) {
        if let Some(told) = &mut self.signals
            && prev.is_task()
        {
            told.left.push(prev);
        }
        self.charge(w, cpu);
        let state = PrevState::of(w, prev);
        let (prev_who, next_who) = (self.who(w, cpu, prev), self.who(w, cpu, next));
        self.now(w, What::Switch { prev: prev_who, state, next: next_who });
        self.totals.switches += 1;
        if prev != TaskId::IDLE {
            self.totals.run_time_ns += w.now - self.stints[cpu].start;
        }
        if state == PrevState::Dead {
            self.now(w, What::Exit { task: prev_who });
        }
        let charged = (next != TaskId::IDLE).then_some(w.now);
        self.stints[cpu] = Stint { curr: next, start: w.now, charged };
        self.dirty.push(cpu);
    }

    fn waking(&mut self, w: &World, task: TaskId) {
        self.take_ticks(w);
        let target = w.tasks[task].cpu;
        let task = self.who(w, target, task);
        let by = w.context(self.executing(w));
        self.now(w, What::Waking { task, target, by });
    }

    fn wakeup(&mut self, w: &World, cpu: CpuId, task: TaskId, new: bool) {
        self.charge(w, cpu);
        let task = self.who(w, cpu, task);
        let target = cpu;
        let what =
            if new { What::WakeupNew { task, target } } else { What::Wakeup { task, target } };
        self.now(w, what);
        self.dirty.push(cpu);
    }

    fn wakeup_on_rq(&mut self, w: &World, cpu: CpuId, task: TaskId) {
        let task = self.who(w, cpu, task);
        self.now(w, What::Wakeup { task, target: cpu });
    }

    fn dequeue(&mut self, w: &World, cpu: CpuId, task: TaskId) {
        self.charge(w, cpu);
        debug_assert_eq!(self.stints[cpu].curr, task);
        self.stints[cpu].charged = None;
        self.dirty.push(cpu);
    }

    fn fork(&mut self, w: &World, cpu: CpuId, parent: TaskId, child: TaskId) {
        self.take_ticks(w);
        let (parent, child_who) = (self.who(w, cpu, parent), self.name(w, cpu, child));
        self.now(w, What::Fork { parent, child: child_who });
        // Tools give the child its parent's name. If it has another one, its first event tells so.
        self.remember(child, Who { comm: parent.comm, ..child_who });
    }

    fn stopper_woken(&mut self, w: &World, cpu: CpuId) {
        self.charge(w, cpu);
        let task = self.who(w, cpu, TaskId::STOP);
        let by = w.context(self.executing(w));
        self.now(w, What::Waking { task, target: cpu, by });
        self.now(w, What::Wakeup { task, target: cpu });
        self.dirty.push(cpu);
    }

    fn migrate(&mut self, w: &World, task: TaskId, from: CpuId, to: CpuId, why: MigrationCause) {
        match why {
            // `wake_up_new_task` sets the first CPU without a tracepoint.
            MigrationCause::Fork => return,
            // The task has left its waker's sight, not a runqueue.
            MigrationCause::Wake => self.take_ticks(w),
            _ => self.charge(w, from),
        }
        let task = self.who(w, to, task);
        self.now(w, What::Migrate { task, from, to });
        self.dirty.extend([from, to]);
    }

    fn watches_signals(&self) -> bool {
        self.signals.is_some()
    }

    fn signals(&mut self, w: &World, cpu: CpuId, source: &dyn SignalSource) {
        // What was charged before comes before.
        self.take_ticks(w);
        if let Some(now) = source.of_cpu(cpu) {
            self.tell_cpu(w, cpu, now);
        }
        let Some(told) = &mut self.signals else { return };
        let mut tasks = std::mem::take(&mut told.left);
        let curr = w.cpus[cpu].curr;
        // A child has the name of its parent until it executes another program, soon. Its track has
        // the name that it has when it first leaves a CPU or has run for a tick.
        let is_known = |p: TaskId| told.tasks.get(p.idx()).is_some_and(|t| t.0 == w.tasks[p].pid);
        if curr.is_task() && (is_known(curr) || w.now >= self.stints[cpu].start + w.tick_ns()) {
            tasks.push(curr);
        }
        for p in &tasks {
            let is_gone = w.tasks[*p].state == TaskState::Dead;
            if let Some(now) = source.of_task(*p).filter(|_| !is_gone) {
                self.tell_task(w, cpu, *p, now);
            }
        }
        tasks.clear();
        if let Some(told) = &mut self.signals {
            told.left = tasks;
        }
    }

    fn after_event(&mut self, w: &World) {
        self.dirty.push(self.executing(w));
        while let Some(cpu) = self.dirty.pop() {
            self.tell_length(w, cpu);
        }
        let wasted = w.n_idle_while_runnable();
        if std::mem::replace(&mut self.wasted, wasted) != wasted {
            self.now(w, What::IdleWhileRunnable { n: wasted });
        }
    }

    fn end(&mut self, w: &World) {
        self.take_ticks(w);
        for cpu in (0..self.stints.len() as u32).map(CpuId) {
            self.charge_at(w, cpu, cpu, w.now);
        }
    }

    fn has_enough(&self) -> bool {
        self.error.is_some()
    }
}
