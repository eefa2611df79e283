//! hackbench: groups in which each sender writes to each receiver, as fast as they can.
//!
//! ```text
//! main:     forks all tasks | reads a byte from each | lets all go at once | waits for their ends
//! sender:   `loops` times a message to each of its group's receivers
//! receiver: reads what its group's senders have for it
//! ```
//!
//! The parameters have the names of the program's. As there, the measured time begins when main
//! lets the tasks go. A write to a receiver that sleeps wakes it (SYNC); a write to a full channel
//! sleeps. Which senders are woken when there is room, and in which order, is in
//! `hackbench/channel.rs`. Left out: CPUs that use one pipe wait for its mutex, more bytes take
//! longer, and main waits for its threads one by one.

pub(crate) mod calls;
mod channel;

use crate::spread::Spread;
pub(crate) use channel::Channel;
pub use channel::Medium;
use sim_core::{Calls, Ns, Op, Program, ProgramCx, Step, TaskAttr, TaskId};
use std::collections::VecDeque;
use topology::REFERENCE_MHZ;

/// Parameters of hackbench, with its options in brackets.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Groups (`-g`).
    pub groups: u32,
    /// Senders, and receivers, of a group (`-f`).
    pub fds: u32,
    /// Messages from each sender to each receiver of its group (`-l`).
    pub loops: u32,
    /// Bytes of a message (`-s`), at most a page.
    pub datasize: u32,
    /// What messages go through (`-p`: pipes).
    pub medium: Medium,
    /// Threads of one process (`-T`), not processes.
    pub threads: bool,
    /// CPU work to write a message, and as much to read it, at full speed, ns; none: by the clock.
    pub message_ns: Option<Ns>,
    /// Coefficient of variation of that work (log-normal).
    pub spread: f64,
    /// Seed of its lengths.
    pub seed: u64,
}

/// CPU work to write or to read 100 bytes of a pipe on one CPU, ns at [`REFERENCE_MHZ`]: measured
/// on a guest of an EPYC at 4.5 GHz, with Linux 6.18, for 0.32 us.
pub(crate) const PIPE_NS: Ns = 480;
/// The same of a Unix stream socket: a pipe's by the instructions of both, 2390 to 1280 in
/// Debian's 6.1 and 6.12. The guest's kernel takes 3 times a pipe's: it pays for each return and
/// each object.
const SOCKET_NS: Ns = PIPE_NS * 2390 / 1280;
/// The end of a process and of a thread: the kernel build's 100 us at 4.5 GHz, and unverified.
const EXIT_NS: Ns = 150_000;
const THREAD_EXIT_NS: Ns = 15_000;
/// A byte through the pipe by which a task tells main that it is ready; main's work for a task that
/// has ended: unverified.
const BYTE_NS: Ns = 1000;
const REAP_NS: Ns = 10_000;
/// What a task uses again and again, KiB: as netperf's, unverified here.
pub(crate) const WORKING_SET_KIB: u32 = 64;

/// Main is the first task.
const MAIN: TaskId = TaskId(0);

/// Where main stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MainAt {
    Fork,
    AwaitReady,
    Go,
    Reap,
}

/// Where a sender or a receiver stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WorkerStep {
    Born,
    Ready,
    Hold,
    /// Looks whether there is room, or a message.
    Look,
    /// The message is copied.
    Copied,
    /// Wakes the tasks that it owes a wake-up.
    Wake,
    End,
    Gone,
}

#[derive(Clone, Debug)]
struct Worker {
    at: WorkerStep,
    /// Messages that it has sent or received.
    done: u64,
    /// It has waited for room.
    waited: bool,
    /// Workers that it is about to wake.
    wakes: VecDeque<u32>,
}

/// Costs at the machine's clock, ns.
#[derive(Clone, Copy, Debug, Default)]
struct Costs {
    message: Ns,
    exit: Ns,
    byte: Ns,
    reap: Ns,
}

/// The running benchmark.
pub struct Hackbench {
    config: Config,
    costs: Costs,
    /// By task but main: of each group the receivers, then the senders.
    workers: Vec<Worker>,
    /// By receiver.
    channels: Vec<Channel>,
    spread: Spread,
    main: MainAt,
    main_waits: bool,
    forked: u32,
    /// Workers that are ready (later: have ended), of which main has not read that, and has read
    /// it.
    unread: u32,
    read: u32,
    /// Workers that poll until main lets all go, and have not been woken.
    pollers: Vec<u32>,
    received: u64,
}

impl Hackbench {
    /// The workload with these parameters, not started.
    pub fn new(config: Config) -> Self {
        let n = 2 * config.fds * config.groups;
        let worker =
            Worker { at: WorkerStep::Born, done: 0, waited: false, wakes: VecDeque::new() };
        let channel = |_| Channel::new(config.medium, config.datasize);
        Self {
            costs: Costs::default(),
            workers: vec![worker; n as usize],
            channels: (0..n / 2).map(channel).collect(),
            spread: Spread::new(config.spread, n, config.seed),
            main: MainAt::Fork,
            main_waits: false,
            forked: 0,
            unread: 0,
            read: 0,
            pollers: Vec::new(),
            received: 0,
            config,
        }
    }

    /// A worker's task.
    fn task(worker: u32) -> TaskId {
        TaskId(worker + 1)
    }

    fn is_sender(&self, me: usize) -> bool {
        me as u32 % (2 * self.config.fds) >= self.config.fds
    }

    /// The channel that a worker writes to next, or reads from.
    fn channel_of(&self, me: usize) -> usize {
        let (me, fds) = (me as u32, self.config.fds);
        let first = me / (2 * fds) * fds;
        let of_group = match self.is_sender(me as usize) {
            true => (self.workers[me as usize].done % u64::from(fds)) as u32,
            false => me % (2 * fds),
        };
        (first + of_group) as usize
    }

    /// Messages that a worker sends or receives.
    fn share(&self) -> u64 {
        u64::from(self.config.fds) * u64::from(self.config.loops)
    }

    /// What main does next.
    fn lead(&mut self) -> Op {
        let n = self.workers.len() as u32;
        match self.main {
            MainAt::Fork if self.forked < n => {
                self.forked += 1;
                Op::Fork(Self::task(self.forked - 1))
            }
            MainAt::Fork => {
                self.main = MainAt::AwaitReady;
                self.lead()
            }
            MainAt::AwaitReady if self.read == n => {
                (self.main, self.read) = (MainAt::Go, 0);
                Op::Kernel(self.costs.byte)
            }
            MainAt::AwaitReady => self.see(self.costs.byte),
            // The path wakes all pollers, one after another.
            MainAt::Go => {
                self.main = MainAt::Reap;
                Op::Path
            }
            MainAt::Reap if self.read == n => Op::Exit,
            MainAt::Reap => self.see(self.costs.reap),
        }
    }

    /// Main takes note of one worker, or waits for it.
    fn see(&mut self, ns: Ns) -> Op {
        if self.unread == 0 {
            self.main_waits = true;
            return Op::Wait;
        }
        (self.unread, self.read) = (self.unread - 1, self.read + 1);
        Op::Kernel(ns)
    }

    /// A worker has something for main.
    fn tell_main(&mut self) -> Op {
        self.unread += 1;
        match std::mem::take(&mut self.main_waits) {
            true => Op::Wake { task: MAIN, sync: true },
            false => Op::Kernel(0),
        }
    }

    fn then(&mut self, me: usize, at: WorkerStep, op: Op) -> Op {
        self.workers[me].at = at;
        op
    }

    /// What a worker does next.
    fn work(&mut self, cx: &mut ProgramCx<'_>, me: usize) -> Op {
        match self.workers[me].at {
            WorkerStep::Born => self.then(me, WorkerStep::Ready, Op::Kernel(self.costs.byte)),
            WorkerStep::Ready => {
                self.workers[me].at = WorkerStep::Hold;
                self.tell_main()
            }
            WorkerStep::Hold if self.main == MainAt::Reap => {
                self.workers[me].at = WorkerStep::Look;
                self.work(cx, me)
            }
            WorkerStep::Hold => {
                self.pollers.push(me as u32);
                Op::Wait
            }
            WorkerStep::Look if self.workers[me].done == self.share() => {
                cx.set_exiting(Self::task(me as u32));
                self.then(me, WorkerStep::End, Op::Kernel(self.costs.exit))
            }
            WorkerStep::Look if self.is_sender(me) => self.begin_write(cx, me),
            WorkerStep::Look => self.begin_read(cx, me),
            WorkerStep::Copied => {
                if self.is_sender(me) {
                    self.write(cx, me)
                } else {
                    self.read(cx, me)
                }
            }
            // Wake-ups are part of the call's end; a call without any goes on at once.
            WorkerStep::Wake => {
                let more = !self.workers[me].wakes.is_empty();
                self.workers[me].at = WorkerStep::Look;
                if more { Op::Path } else { self.work(cx, me) }
            }
            WorkerStep::End => {
                self.workers[me].at = WorkerStep::Gone;
                self.tell_main()
            }
            WorkerStep::Gone => Op::Exit,
        }
    }

    fn begin_write(&mut self, cx: &ProgramCx<'_>, me: usize) -> Op {
        let to = self.channel_of(me);
        if !self.channels[to].has_room(self.workers[me].waited) {
            self.channels[to].wait_for_room(me as u32);
            self.workers[me].waited = true;
            return Op::Wait;
        }
        self.channels[to].begin_write();
        let ns = self.costs.message;
        let extra = self.channels[to].write_extra_ns(cx.machine(), cx.cpu(), ns);
        self.copy(me, extra)
    }

    fn begin_read(&mut self, cx: &ProgramCx<'_>, me: usize) -> Op {
        let from = self.channel_of(me);
        if self.channels[from].wait_for_message() {
            return Op::Wait;
        }
        let ns = self.costs.message;
        let extra = self.channels[from].read_extra_ns(cx.machine(), cx.cpu(), ns);
        self.copy(me, extra)
    }

    fn copy(&mut self, me: usize, extra_ns: Ns) -> Op {
        let ns = self.spread.vary(me, self.costs.message) + extra_ns;
        self.then(me, WorkerStep::Copied, Op::Kernel(ns))
    }

    /// The message is copied into the channel.
    fn write(&mut self, cx: &mut ProgramCx<'_>, me: usize) -> Op {
        let to = self.channel_of(me);
        let waited = self.workers[me].waited;
        // A pipe may have been filled meanwhile by another CPU: it has waited for the mutex.
        if self.config.medium == Medium::Pipe && !self.channels[to].has_room(waited) {
            self.workers[me].at = WorkerStep::Look;
            return self.work(cx, me);
        }
        if self.channels[to].write(cx.cpu(), waited) {
            let (fds, to) = (self.config.fds, to as u32);
            self.workers[me].wakes.push_back(to / fds * 2 * fds + to % fds);
        }
        if waited {
            self.workers[me].waited = false;
            let next = self.channels[to].next_writer();
            self.workers[me].wakes.extend(next);
        }
        self.finish(cx, me)
    }

    /// The message is copied out of the channel.
    fn read(&mut self, cx: &mut ProgramCx<'_>, me: usize) -> Op {
        let from = self.channel_of(me);
        self.channels[from].read(cx.cpu(), &mut self.workers[me].wakes);
        self.received += 1;
        self.finish(cx, me)
    }

    /// One message more is done.
    fn finish(&mut self, cx: &mut ProgramCx<'_>, me: usize) -> Op {
        let worker = &mut self.workers[me];
        worker.done += 1;
        worker.at = WorkerStep::Wake;
        self.work(cx, me)
    }
}

impl Program for Hackbench {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        let clock_mhz = u64::from(cx.machine().clock_mhz);
        let at_clock = |ns: Ns| ns * u64::from(REFERENCE_MHZ) / clock_mhz;
        let message = match self.config.medium {
            Medium::Socket => SOCKET_NS,
            Medium::Pipe => PIPE_NS,
        };
        let exit = if self.config.threads { THREAD_EXIT_NS } else { EXIT_NS };
        self.costs = Costs {
            message: self.config.message_ns.unwrap_or(at_clock(message)),
            exit: at_clock(exit),
            byte: at_clock(BYTE_NS),
            reap: at_clock(REAP_NS),
        };
        let comm = cx.comm("hackbench");
        let attr = TaskAttr { comm, working_set_kib: WORKING_SET_KIB, ..TaskAttr::default() };
        cx.start_task(attr);
        for worker in 0..self.workers.len() as u32 {
            cx.new_task(TaskAttr { mm: if self.config.threads { 0 } else { 1 + worker }, ..attr });
        }
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        if task == MAIN { self.lead() } else { self.work(cx, task.idx() - 1) }
    }

    /// The end of a `write()` or `read()` that wakes others.
    fn path(&mut self, _cx: &mut ProgramCx<'_>, task: TaskId) -> Step {
        let next = match task {
            MAIN => self.pollers.pop(),
            _ => self.workers[task.idx() - 1].wakes.pop_front(),
        };
        next.map_or(Step::Done, |worker| Step::Wake { task: Self::task(worker), sync: true })
    }

    fn calls(&self, task: TaskId, op: &Op) -> Calls {
        let Some(me) = task.idx().checked_sub(1) else {
            return op.calls();
        };
        let step = match (self.workers[me].at, op, self.is_sender(me)) {
            (WorkerStep::Look, Op::Path, true) => calls::Step::WakeReceiver,
            (WorkerStep::Look, Op::Path, false) => calls::Step::WakeSenders,
            (WorkerStep::Look, Op::Wait, true) => calls::Step::WaitForRoom,
            (WorkerStep::Look, Op::Wait, false) => calls::Step::WaitForMessage,
            (WorkerStep::Copied, _, true) => calls::Step::Write,
            (WorkerStep::Copied, _, false) => calls::Step::Read,
            _ => return op.calls(),
        };
        calls::of(self.config.medium, step)
    }

    fn progress(&self) -> f64 {
        let all = self.channels.len() as f64 * self.share() as f64;
        self.received as f64 / all.max(1.0)
    }

    /// hackbench stops the time from when main lets its tasks go.
    fn is_under_way(&self) -> bool {
        self.main == MainAt::Reap
    }

    fn results(&self, elapsed_ns: Ns) -> Vec<(&'static str, f64)> {
        vec![("throughput", self.received as f64 / (elapsed_ns.max(1) as f64 * 1e-9))]
    }

    fn waits_for(&self, task: TaskId) -> String {
        let what = match task.idx().checked_sub(1) {
            None => "its children",
            Some(me) if self.workers[me].at == WorkerStep::Hold => "the others to be ready",
            Some(me) if self.is_sender(me) => "room for a message",
            Some(_) => "a message",
        };
        what.to_string()
    }
}

#[cfg(test)]
mod tests;
