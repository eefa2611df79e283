//! The machine's own threads beside a workload: kernel threads and daemons that work a little now
//! and then. They belong to the machine, so every workload on it has them.

use crate::random::{self, Purpose, Stream};
use sim_core::{Calls, Ns, Op, Program, ProgramCx, Stack, Step, TaskAttr, TaskId};
use std::any::Any;
use topology::{BackgroundThread, CpuId, CpuSet, Machine};

/// Address spaces of background processes are numbered from here, away from a workload's.
const FIRST_MM: u32 = 1 << 30;

/// A workload on a machine with threads of its own. Without any it is the workload, unchanged.
pub struct WithBackground<W> {
    /// The workload itself.
    pub workload: W,
    threads: Vec<Daemon>,
    /// Id of the first of them; they never exit, so their ids stay theirs.
    first: u32,
}

/// One background thread.
struct Daemon {
    of: BackgroundThread,
    /// Its own name, with the number of its CPU or node.
    name: String,
    /// The CPUs that it may use; `None`: all.
    cpus: Option<CpuSet>,
    rng: Stream,
    /// Times it has worked.
    runs: u32,
    works: bool,
}

impl<W: Program> WithBackground<W> {
    /// The workload and this machine's threads; the seed decides when each of them works first.
    pub fn new(workload: W, machine: &Machine, seed: u64) -> Self {
        let each = machine
            .background
            .iter()
            .flat_map(|of| of.each(machine).into_iter().map(move |(name, cpus)| (of, name, cpus)));
        let daemon = |(i, (of, name, cpus)): (usize, (&BackgroundThread, _, _))| {
            let rng = random::stream(seed, i as u64, Purpose::Daemon);
            Daemon { of: of.clone(), name, cpus, rng, runs: 0, works: true }
        };
        let threads = each.enumerate().map(daemon).collect();
        Self { workload, threads, first: u32::MAX }
    }

    /// The workload alone, whatever the machine has.
    pub fn none(workload: W) -> Self {
        Self { workload, threads: Vec::new(), first: u32::MAX }
    }

    /// Index of the background thread that `task` is.
    #[inline]
    fn daemon(&self, task: TaskId) -> Option<usize> {
        let i = task.0.wrapping_sub(self.first) as usize;
        (i < self.threads.len()).then_some(i)
    }
}

impl Daemon {
    /// The next operation. At first it is in the middle of a sleep, and of the count to its long
    /// work.
    fn next(&mut self, cx: &ProgramCx<'_>) -> Op {
        self.works = !self.works;
        if !self.works && self.runs == 0 {
            let part = random::unit(&mut self.rng);
            let turn = random::unit(&mut self.rng);
            self.runs = 1 + (turn * f64::from(self.of.long_every)) as u32;
            return self.sleep(cx, (part * self.of.sleep_ns as f64) as Ns);
        }
        if !self.works {
            return self.sleep(cx, self.of.sleep_ns);
        }
        self.runs = self.runs.wrapping_add(1).max(1);
        let long = self.of.long_every > 0 && self.runs.is_multiple_of(self.of.long_every);
        let ns = if long { self.of.long_ns } else { self.of.run_ns };
        if self.of.kthread { Op::Kernel(ns) } else { Op::Run(ns) }
    }

    /// A kernel thread sleeps on a timer that counts jiffies: a tick wakes it.
    fn sleep(&self, cx: &ProgramCx<'_>, ns: Ns) -> Op {
        if !self.of.kthread {
            return Op::Sleep(ns);
        }
        let tick = cx.machine().tick_ns();
        Op::SleepUntil((cx.now() + ns).div_ceil(tick) * tick)
    }
}

/// A random CPU of those that the thread may use.
fn anywhere(daemon: &mut Daemon, n_cpus: usize) -> CpuId {
    let n = daemon.cpus.as_ref().map_or(n_cpus, CpuSet::len);
    let i = (random::unit(&mut daemon.rng) * n as f64) as usize;
    let i = i.min(n - 1);
    match &daemon.cpus {
        Some(cpus) => cpus.iter().nth(i).expect("one of them"),
        None => CpuId(i as u32),
    }
}

#[deny(clippy::missing_trait_methods, reason = "a forgotten method would take the default")]
impl<W: Program> Program for WithBackground<W> {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        self.workload.start(cx);
        for (i, daemon) in self.threads.iter_mut().enumerate() {
            let mut attr = TaskAttr {
                comm: cx.comm(&daemon.name),
                nice: daemon.of.nice,
                kthread: daemon.of.kthread,
                daemon: true,
                // A timer that counts jiffies has no slack.
                timer_slack_ns: daemon.of.kthread.then_some(0),
                mm: FIRST_MM + i as u32,
                ..TaskAttr::default()
            };
            let bound = daemon.cpus.as_ref().is_some_and(|cpus| cpus.len() == 1);
            if let Some(cpus) = &daemon.cpus {
                attr.allowed = cx.mask(cpus.clone());
            }
            if !bound {
                // It has been there for long before the run, so it may be anywhere.
                attr.start_cpu = Some(anywhere(daemon, cx.n_cpus()));
            }
            let task = cx.start_task(attr);
            self.first = self.first.min(task.0);
        }
    }

    #[inline]
    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        match self.daemon(task) {
            Some(i) => self.threads[i].next(cx),
            None => self.workload.next(cx, task),
        }
    }

    fn path(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Step {
        self.workload.path(cx, task)
    }

    fn device(&mut self, cx: &mut ProgramCx<'_>) {
        self.workload.device(cx);
    }

    fn interrupt(&mut self, cx: &mut ProgramCx<'_>) -> Step {
        self.workload.interrupt(cx)
    }

    fn tick(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) {
        self.workload.tick(cx, task);
    }

    fn is_done(&self) -> bool {
        self.workload.is_done()
    }

    fn progress(&self) -> f64 {
        self.workload.progress()
    }

    fn is_under_way(&self) -> bool {
        self.workload.is_under_way()
    }

    fn measurement_begins(&mut self) {
        self.workload.measurement_begins();
    }

    fn results(&self, elapsed_ns: Ns) -> Vec<(&'static str, f64)> {
        self.workload.results(elapsed_ns)
    }

    fn calls(&self, task: TaskId, op: &Op) -> Calls {
        match self.daemon(task) {
            Some(i) if self.threads[i].of.kthread => &["ret_from_fork_asm", "kthread"],
            Some(_) => op.calls(),
            None => self.workload.calls(task, op),
        }
    }

    fn unwind(&self, cpu: CpuId, task: Option<TaskId>, stack: &mut Stack) {
        if task.is_none_or(|task| self.daemon(task).is_none()) {
            self.workload.unwind(cpu, task, stack);
        }
    }

    fn inspect(&self) -> Option<&dyn Any> {
        self.workload.inspect()
    }

    fn waits_for(&self, task: TaskId) -> String {
        match self.daemon(task) {
            Some(_) => "its next turn".to_string(),
            None => self.workload.waits_for(task),
        }
    }
}
