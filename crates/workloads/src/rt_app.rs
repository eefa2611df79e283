//! rt-app: threads that run, sleep, lock, wait and wake as a file says.
//!
//! The program is the one of Linux. A main thread creates the others. Each of them sets its own
//! properties and meets the others at a barrier, where the last to come wakes the rest. Then every
//! event does what rt-app's does, with the same system calls where a scheduler can see them. Left
//! out: memory and I/O events, real-time classes, priority inheritance, and the log files but for
//! the time that a round of a phase costs.
//!
//! `run` is work, in loops; how long a loop takes is a property of the machine
//! ([`Config::loop_ns`]) and varies as it does there ([`Speed`]).

mod costs;
mod event;
mod props;
mod spec;
mod start;
mod sync;
mod thread;

pub use spec::{Attrs, BarrierSpec, Event, PhaseSpec, Spec, TaskSpec, TimerSpec};

use crate::speed::Speed;
use costs::Costs;
use props::Props;
use sim_core::{Calls, Ns, Op, PerTask, Program, ProgramCx, Step, TaskId};
use start::Start;
use std::sync::Arc;
use sync::{Cond, Mutex};
use thread::{Thread, Waits, Which};

/// Parameters beside the file.
#[derive(Clone, Debug)]
pub struct Config {
    /// What the file says.
    pub spec: Arc<Spec>,
    /// What one of rt-app's loops takes on this machine at full speed, ns; `None`: as the file's
    /// calibration says.
    pub loop_ns: Option<f64>,
    /// rt-app's own work per round of a phase (it reads clocks and writes a log line), ns; `None`:
    /// as it was measured, at this machine's clock.
    pub round_ns: Option<Ns>,
    /// How the speed varies.
    pub speed: Speed,
    /// Seed of what varies between starts.
    pub seed: u64,
}

/// A barrier as rt-app builds it, of a mutex, a condition variable and a counter.
#[derive(Default)]
struct Barrier {
    mutex: Mutex,
    cond: Cond,
    /// Users that have yet to come before the last.
    missing: u32,
}

/// The running program.
pub struct RtApp {
    spec: Arc<Spec>,
    speed: Speed,
    seed: u64,
    costs: Costs,
    /// Work per calibrated ns.
    scale: f64,
    start: Start,
    /// By `TaskId`; `None` for the main thread and what is not of this program.
    threads: PerTask<Option<Thread>>,
    /// By kind: what its threads are like in each phase.
    props: Vec<Vec<Props>>,
    mutexes: Vec<Mutex>,
    conds: Vec<Cond>,
    barriers: Vec<Barrier>,
    /// Last expiries of the timers that threads share.
    timers: Vec<Option<Ns>>,
    /// Threads that have not finished.
    alive: u32,
    /// Threads made so far.
    made: u64,
    /// Rounds of phases done.
    rounds: u64,
}

impl RtApp {
    /// The program of a file.
    pub fn new(config: Config) -> Self {
        let spec = config.spec;
        let scale = match (config.loop_ns, spec.calibration_ns) {
            (Some(loop_ns), Some(calibration)) => loop_ns / f64::from(calibration),
            _ => 1.0,
        };
        let barrier =
            |b: &BarrierSpec| Barrier { missing: b.users.saturating_sub(1), ..Barrier::default() };
        Self {
            start: Start::new(spec.n_threads(), config.seed),
            threads: PerTask::new(),
            props: Vec::new(),
            mutexes: spec.mutexes.iter().map(|_| Mutex::default()).collect(),
            conds: spec.conds.iter().map(|_| Cond::default()).collect(),
            barriers: spec.barriers.iter().map(barrier).collect(),
            timers: vec![None; spec.timers.len()],
            speed: config.speed,
            seed: config.seed,
            costs: Costs::new(config.round_ns),
            scale,
            alive: 0,
            made: 0,
            rounds: 0,
            spec,
        }
    }

    /// The work, at full speed, of what would take `ns` by the calibration, here and now.
    fn work(&mut self, cx: &ProgramCx<'_>, me: TaskId, ns: Ns) -> Ns {
        let speed = &self.speed;
        let thread = self.threads[me].as_mut().expect("a thread of this program");
        let slowdown = speed.slowdown(cx.now(), cx.cpu(), &mut thread.jitter);
        ((ns as f64 * self.scale * slowdown) as Ns).max(1)
    }

    fn thread(&mut self, me: TaskId) -> &mut Thread {
        self.threads[me].as_mut().expect("a thread of this program")
    }

    fn mutex(&mut self, which: Which) -> &mut Mutex {
        match which {
            Which::Named(m) => &mut self.mutexes[m as usize],
            Which::Barrier(b) => &mut self.barriers[b as usize].mutex,
        }
    }

    fn cond(&mut self, which: Which) -> &mut Cond {
        match which {
            Which::Named(c) => &mut self.conds[c as usize],
            Which::Barrier(b) => &mut self.barriers[b as usize].cond,
        }
    }

    /// The next operation of a thread: of its small steps, or of the next event.
    fn thread_next(&mut self, cx: &mut ProgramCx<'_>, me: TaskId) -> Op {
        loop {
            let op = match self.thread(me).todo.pop() {
                Some(micro) => self.micro(cx, me, micro),
                None => self.advance(cx, me),
            };
            let Some(op) = op else { continue };
            self.thread(me).slept |= matches!(op, Op::Sleep(_) | Op::SleepUntil(_) | Op::Wait);
            return op;
        }
    }

    /// The last event is over: goes on to the next event, round or phase. Every round takes some
    /// time, so that a thread whose events take none does not hang the simulation.
    fn advance(&mut self, cx: &mut ProgramCx<'_>, me: TaskId) -> Option<Op> {
        let spec = Arc::clone(&self.spec);
        let t = self.thread(me);
        let kind = &spec.tasks[t.kind as usize];
        let Some(phase) = kind.phases.get(t.phase) else {
            (t.phase, t.round) = (0, t.round + 1);
            if kind.loops.is_some_and(|n| t.round >= n) {
                self.finish(me);
            }
            return None;
        };
        let (kind, phase_idx) = (t.kind as usize, t.phase);
        if t.event == 0 && self.change_props(me, kind, phase_idx) {
            return None;
        }
        let t = self.thread(me);
        if t.event < phase.events.len() {
            let event = phase.events[t.event];
            t.event += 1;
            return self.begin(cx, me, event);
        }
        (t.event, t.phase_round) = (0, t.phase_round + 1);
        if phase.loops.is_some_and(|n| t.phase_round >= n) {
            (t.phase, t.phase_round) = (t.phase + 1, 0);
        }
        let slept = std::mem::take(&mut t.slept);
        self.rounds += 1;
        Some(Op::Run(self.costs.round(slept)))
    }
}

impl Program for RtApp {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        self.props = self.spec.tasks.iter().map(|task| props::of_task(cx, task)).collect();
        self.costs.fit(cx.machine().clock_mhz);
        self.start_main(cx);
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        if self.start.main == Some(task) { self.main_next(cx) } else { self.thread_next(cx, task) }
    }

    fn path(&mut self, _cx: &mut ProgramCx<'_>, task: TaskId) -> Step {
        self.next_wake(task)
    }

    fn calls(&self, _task: TaskId, op: &Op) -> Calls {
        match op {
            Op::Path => Op::Wake { task: TaskId::NONE, sync: false }.calls(),
            _ => op.calls(),
        }
    }

    fn is_done(&self) -> bool {
        self.start.is_over()
    }

    fn results(&self, elapsed_ns: Ns) -> Vec<(&'static str, f64)> {
        vec![("throughput", self.rounds as f64 / (elapsed_ns.max(1) as f64 * 1e-9))]
    }

    fn waits_for(&self, task: TaskId) -> String {
        let Some(Some(thread)) = self.threads.at(task) else {
            return "its threads to end".to_string();
        };
        let spec = &self.spec;
        match thread.waits {
            Waits::Start => "the other threads to start".to_string(),
            Waits::Mutex(Which::Named(m)) => format!("the mutex `{}`", spec.mutexes[m as usize]),
            Waits::Cond(Which::Named(c)) => format!("a signal on `{}`", spec.conds[c as usize]),
            Waits::Mutex(Which::Barrier(b)) | Waits::Cond(Which::Barrier(b)) => {
                format!("the barrier `{}`", spec.barriers[b as usize].name)
            }
        }
    }
}
