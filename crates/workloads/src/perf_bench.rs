//! `perf bench sched pipe`: two tasks that pass a number of four bytes back and forth.
//!
//! ```text
//! first task:  `loops` times: writes to one pipe, reads from the other
//! second task: `loops` times: reads from the one, writes to the other
//! ```
//!
//! An operation is a round trip: two messages, and so two wake-ups and, on one CPU, two switches.
//! As in the program, the time begins before the second task is forked and ends when both have
//! done their loops. The pipes are those of hackbench (`hackbench/channel.rs`), at its costs of a
//! message. `perf bench sched messaging` is hackbench itself, with perf's sizes.
//!
//! Left out: the exit of the forked process. From Linux 6.4 `tools/perf/bench/sched-pipe.c`.

use crate::hackbench::calls::{self, Step};
use crate::hackbench::{Channel, Medium, PIPE_NS, WORKING_SET_KIB};
use crate::spread::Spread;
use sim_core::{Calls, Ns, Op, Program, ProgramCx, TaskAttr, TaskId};
use std::collections::VecDeque;
use topology::REFERENCE_MHZ;

/// Senders, and receivers, of a group of `perf bench sched messaging`.
pub const MESSAGING_FDS: u32 = 20;
/// Bytes of one of its messages.
pub const MESSAGING_BYTES: u32 = 100;

/// Bytes of a message of `perf bench sched pipe`: a C `int`.
const PIPE_BYTES: u32 = 4;

/// Parameters of `perf bench sched pipe`, with its options in brackets.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Round trips (`-l`).
    pub loops: u64,
    /// Threads of one process (`-T`), not processes.
    pub threads: bool,
    /// CPU work to write a message, and as much to read it, at full speed, ns; none: by the clock.
    pub message_ns: Option<Ns>,
    /// Coefficient of variation of that work (log-normal).
    pub spread: f64,
    /// Seed of its lengths.
    pub seed: u64,
}

/// Where a task stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TaskStep {
    Write,
    Written,
    Read,
    HasRead,
    /// It has done its loops.
    End,
}

/// One of the two. Each writes to the pipe of its own number and reads from the other one.
#[derive(Clone, Copy, Debug)]
struct End {
    at: TaskStep,
    /// Messages that it has written, and read.
    written: u64,
    read: u64,
}

/// The running benchmark.
pub struct SchedPipe {
    config: Config,
    message_ns: Ns,
    /// True once the first task has forked the second one.
    forked: bool,
    ends: [End; 2],
    pipes: [Channel; 2],
    spread: Spread,
}

impl SchedPipe {
    /// The workload with these parameters, not started.
    pub fn new(config: Config) -> Self {
        let end = |at| End { at, written: 0, read: 0 };
        let pipe = || Channel::new(Medium::Pipe, PIPE_BYTES);
        Self {
            message_ns: 0,
            forked: false,
            ends: [end(TaskStep::Write), end(TaskStep::Read)],
            pipes: [pipe(), pipe()],
            spread: Spread::new(config.spread, 2, config.seed),
            config,
        }
    }

    /// Round trips that are complete.
    pub fn done(&self) -> u64 {
        self.ends[0].read
    }

    fn copy(&mut self, me: usize, then: TaskStep, extra_ns: Ns) -> Op {
        self.ends[me].at = then;
        Op::Kernel(self.spread.vary(me, self.message_ns) + extra_ns)
    }

    fn work(&mut self, cx: &ProgramCx<'_>, me: usize) -> Op {
        let peer = me ^ 1;
        match self.ends[me].at {
            TaskStep::Write => {
                self.pipes[me].begin_write();
                let ns = self.message_ns;
                let extra = self.pipes[me].write_extra_ns(cx.machine(), cx.cpu(), ns);
                self.copy(me, TaskStep::Written, extra)
            }
            TaskStep::Written => {
                self.ends[me].written += 1;
                let wakes = self.pipes[me].write(cx.cpu(), false);
                // The second task ends with a write, the first one with a read.
                let ends = me == 1 && self.ends[me].written == self.config.loops;
                self.ends[me].at = if ends { TaskStep::End } else { TaskStep::Read };
                match wakes {
                    true => Op::Wake { task: TaskId(peer as u32), sync: true },
                    false => self.work(cx, me),
                }
            }
            TaskStep::Read if self.pipes[peer].wait_for_message() => Op::Wait,
            TaskStep::Read => {
                let ns = self.message_ns;
                let extra = self.pipes[peer].read_extra_ns(cx.machine(), cx.cpu(), ns);
                self.copy(me, TaskStep::HasRead, extra)
            }
            TaskStep::HasRead => {
                self.pipes[peer].read(cx.cpu(), &mut VecDeque::new());
                self.ends[me].read += 1;
                let ends = me == 0 && self.ends[me].read == self.config.loops;
                self.ends[me].at = if ends { TaskStep::End } else { TaskStep::Write };
                self.work(cx, me)
            }
            TaskStep::End => Op::Exit,
        }
    }
}

impl Program for SchedPipe {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        let at_clock = PIPE_NS * u64::from(REFERENCE_MHZ) / u64::from(cx.machine().clock_mhz);
        self.message_ns = self.config.message_ns.unwrap_or(at_clock);
        let comm = cx.comm("sched-pipe");
        let attr = TaskAttr { comm, working_set_kib: WORKING_SET_KIB, ..TaskAttr::default() };
        cx.start_task(attr);
        cx.new_task(TaskAttr { mm: if self.config.threads { 0 } else { 1 }, ..attr });
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        if !std::mem::replace(&mut self.forked, true) {
            return Op::Fork(TaskId(1));
        }
        self.work(cx, task.idx())
    }

    fn calls(&self, task: TaskId, op: &Op) -> Calls {
        let step = match op {
            Op::Kernel(_) if self.ends[task.idx()].at == TaskStep::Written => Step::Write,
            Op::Kernel(_) => Step::Read,
            Op::Wake { .. } => Step::WakeReceiver,
            Op::Wait => Step::WaitForMessage,
            _ => return op.calls(),
        };
        calls::of(Medium::Pipe, step)
    }

    fn progress(&self) -> f64 {
        self.done() as f64 / self.config.loops as f64
    }

    fn results(&self, elapsed_ns: Ns) -> Vec<(&'static str, f64)> {
        let (done, ns) = (self.done() as f64, elapsed_ns.max(1) as f64);
        vec![("throughput", done / (ns * 1e-9)), ("usecs_per_op", ns * 1e-3 / done.max(1.0))]
    }

    fn waits_for(&self, _task: TaskId) -> String {
        "a message in its pipe".to_string()
    }
}
