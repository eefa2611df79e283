//! How the main thread starts the others, and what happens before.
//!
//! The CPUs on which threads start decide for seconds how they share them, and fork balancing goes
//! by what the CPUs have done before. So the time before the start belongs to the model. In the
//! recordings that `docs/CALIBRATION.md` names, the main thread creates the others on a CPU that
//! perf has kept busy until then. Here one thread stands for both. Its CPU, the instant of its
//! start and the length of each step vary with the seed, as from one recording to the next.

use super::RtApp;
use super::thread::{Micro, Thread, Waits, wake};
use crate::random::{self, Purpose, Stream};
use sim_core::{GroupId, Ns, Op, ProgramCx, TaskAttr, TaskId};
use std::sync::Arc;
use topology::CpuId;

/// The main thread begins at a random instant within this time, ns: longer than a tick.
const START_WITHIN_NS: Ns = 20_000_000;
/// Work on its CPU before the program is loaded, ns: unverified. It is several times the 32 ms in
/// which utilization halves, so that the CPU counts as busy.
const BEFORE_NS: Ns = 100_000_000;

/// The main thread's number for random streams; the others count from 0.
const MAIN: u64 = u64::MAX;

/// How far the main thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum StartStep {
    /// Before its first act.
    #[default]
    New,
    /// About to work as perf does, and to load the program.
    Loads,
    /// So many threads of this kind (the first number) exist.
    Between(usize, u32),
    /// The same, and the next one is about to be created.
    Creates(usize, u32),
    /// Sleeps until the duration is over.
    Sleeps(Ns),
    /// Sleeps until the last thread is gone.
    Joins,
    Over,
}

/// The main thread and the barrier before the threads' first events.
pub(super) struct Start {
    pub main: Option<TaskId>,
    stage: StartStep,
    rng: Stream,
    /// The first thread that was created.
    first: Option<TaskId>,
    /// When it came to the barrier, ns. rt-app's `t_zero`: delays and timers of all threads count
    /// from there, however late a thread has its first turn.
    pub zero: Ns,
    /// Threads that meet before their first events.
    expected: u64,
    /// How many of them have come.
    arrived: u64,
    /// Threads that wait there, in the order in which they came.
    waiting: Vec<TaskId>,
}

impl Start {
    pub fn new(expected: u64, seed: u64) -> Self {
        Self {
            main: None,
            stage: StartStep::New,
            rng: random::stream(seed, MAIN, Purpose::Start),
            first: None,
            zero: 0,
            expected,
            arrived: 0,
            waiting: Vec::new(),
        }
    }

    pub fn is_over(&self) -> bool {
        self.stage == StartStep::Over
    }
}

impl RtApp {
    /// Makes the main thread. It starts on a CPU and at a time that the seed chooses, so that
    /// neither ticks nor the machine's own threads have a fixed phase to it.
    pub(super) fn start_main(&mut self, cx: &mut ProgramCx<'_>) {
        let comm = cx.comm("rt-app");
        let n = cx.n_cpus() as u32;
        let cpu = (random::unit(&mut self.start.rng) * f64::from(n)) as u32;
        let start_cpu = Some(CpuId(cpu.min(n - 1)));
        self.start.main = Some(cx.start_task(TaskAttr { comm, start_cpu, ..TaskAttr::default() }));
    }

    /// The next operation of the main thread.
    pub(super) fn main_next(&mut self, cx: &mut ProgramCx<'_>) -> Op {
        match self.start.stage {
            StartStep::New => {
                self.start.stage = StartStep::Loads;
                Op::Sleep((random::unit(&mut self.start.rng) * START_WITHIN_NS as f64) as Ns)
            }
            StartStep::Loads => {
                self.start.stage = StartStep::Between(0, 0);
                Op::Run(BEFORE_NS + self.costs.load)
            }
            StartStep::Between(kind, n) => self.next_kind(cx, kind, n),
            StartStep::Creates(kind, n) => {
                self.start.stage = StartStep::Between(kind, n + 1);
                Op::Fork(self.new_thread(cx, kind, true))
            }
            StartStep::Sleeps(until) if cx.now() < until => Op::SleepUntil(until),
            StartStep::Joins if self.alive > 0 => Op::Wait,
            StartStep::Sleeps(_) | StartStep::Joins | StartStep::Over => {
                self.start.stage = StartStep::Over;
                Op::Exit
            }
        }
    }

    /// `n` threads of a kind exist: makes one more, or goes over to the next kind.
    fn next_kind(&mut self, cx: &mut ProgramCx<'_>, kind: usize, n: u32) -> Op {
        let mut next = (kind, n);
        while let Some(task) = self.spec.tasks.get(next.0) {
            if next.1 < task.instances {
                self.start.stage = StartStep::Creates(next.0, next.1);
                return Op::Kernel(self.costs.create.draw(&mut self.start.rng));
            }
            next = (next.0 + 1, 0);
        }
        let duration = self.spec.duration_ns;
        let until = |ns: Ns| StartStep::Sleeps(cx.now().saturating_add(ns));
        self.start.stage = duration.map_or(StartStep::Joins, until);
        self.main_next(cx)
    }

    /// Makes a thread that is not yet runnable. Those made by the main thread meet the others.
    pub(super) fn new_thread(
        &mut self,
        cx: &mut ProgramCx<'_>,
        kind: usize,
        meets: bool,
    ) -> TaskId {
        let spec = Arc::clone(&self.spec);
        let of = &spec.tasks[kind];
        let comm = cx.comm(&of.name);
        // The groups of the file are the first that there are. A thread of rt-app moves into its
        // group as it starts; here it is born there.
        let group = of.taskgroup.map_or(GroupId::ROOT, |idx| GroupId(idx + 1));
        let task = cx.new_task(TaskAttr { comm, group, ..TaskAttr::default() });
        let jitter = random::stream(self.seed, self.made, Purpose::Service);
        let mut thread = Thread::new(kind as u32, jitter);
        thread.first([Micro::Begin(of.delay_ns)]);
        if meets {
            thread.first([Micro::Start]);
        }
        thread.first([Micro::SetUp]);
        let mut rng = random::stream(self.seed, self.made, Purpose::Start);
        let set_up = self.costs.set_up.draw(&mut rng);
        thread.first([Micro::Do(Op::Run(set_up))]);
        if self.made == 0 {
            self.start.first = Some(task);
        }
        self.threads.cover(task, || None);
        self.threads[task] = Some(thread);
        (self.alive, self.made) = (self.alive + 1, self.made + 1);
        task
    }

    /// A thread comes to the barrier before its first event; the last one wakes the others.
    pub(super) fn arrive(&mut self, me: TaskId, now: Ns) -> Option<Op> {
        if self.start.first == Some(me) {
            self.start.zero = now;
        }
        self.start.arrived += 1;
        if self.start.arrived < self.start.expected {
            self.start.waiting.push(me);
            return self.await_start(me);
        }
        let waiting = std::mem::take(&mut self.start.waiting);
        self.wake_all(me, waiting)
    }

    /// Sleeps until the last thread has come.
    pub(super) fn await_start(&mut self, me: TaskId) -> Option<Op> {
        let waits = self.start.arrived < self.start.expected;
        waits.then(|| self.block(me, Micro::Started, Waits::Start))
    }

    /// The thread has done all its rounds. The last one ends a run without a duration.
    pub(super) fn finish(&mut self, me: TaskId) {
        self.alive -= 1;
        self.thread(me).first([Micro::Do(Op::Exit)]);
        if let (0, StartStep::Joins, Some(main)) = (self.alive, self.start.stage, self.start.main) {
            self.thread(me).first([Micro::Do(wake(main))]);
        }
    }
}
