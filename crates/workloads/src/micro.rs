//! Small workloads: ping-pong pairs, spinners, short bursts, an open queue.
//!
//! They serve the benchmarks, the closed-form tests and first experiments.

use crate::random::{self, Purpose, Stream};
use rand_distr::{Distribution, Exp1};
use sim_core::{Ns, Op, PerTask, Program, ProgramCx, TaskAttr, TaskId};

/// Pairs of tasks that wake each other in turn: run, wake the partner, wait.
pub struct PingPong {
    /// Number of pairs.
    pub pairs: u32,
    /// Work per turn, ns.
    pub work_ns: Ns,
    /// Turns after which a task exits; 0: never.
    pub turns: u64,
    ball: Vec<bool>,
    step: Vec<u8>,
    left: Vec<u64>,
}

impl PingPong {
    /// `pairs` pairs that work `work_ns` per turn, for `turns` turns each (0: for ever).
    pub fn new(pairs: u32, work_ns: Ns, turns: u64) -> Self {
        let n = 2 * pairs as usize;
        Self {
            pairs,
            work_ns,
            turns,
            ball: (0..n).map(|i| i % 2 == 0).collect(),
            step: vec![0; n],
            left: vec![turns; n],
        }
    }
}

impl Program for PingPong {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        for pair in 0..self.pairs {
            for name in ["ping", "pong"] {
                let comm = cx.comm(name);
                cx.start_task(TaskAttr { comm, mm: pair, ..TaskAttr::default() });
            }
        }
    }

    #[inline]
    fn next(&mut self, _cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let me = task.idx();
        let partner = me ^ 1;
        match self.step[me] {
            0 if !self.ball[me] => Op::Wait,
            0 => {
                self.step[me] = 1;
                Op::Run(self.work_ns)
            }
            1 => {
                self.ball[me] = false;
                self.ball[partner] = true;
                self.left[me] = self.left[me].saturating_sub(1);
                self.step[me] = if self.turns > 0 && self.left[me] == 0 { 2 } else { 0 };
                Op::Wake { task: TaskId(partner as u32), sync: false }
            }
            _ => Op::Exit,
        }
    }

    fn waits_for(&self, _task: TaskId) -> String {
        "its partner's turn to end".to_string()
    }
}

/// CPU-bound tasks.
pub struct Spinners {
    /// Nice level of each task.
    pub nice: Vec<i8>,
    /// Work of each task, ns; 0: without end.
    pub work_ns: Ns,
    done: PerTask<bool>,
}

impl Spinners {
    /// One task per nice level, each with `work_ns` of work (0: without end).
    pub fn new(nice: Vec<i8>, work_ns: Ns) -> Self {
        let n = nice.len();
        Self { nice, work_ns, done: vec![false; n].into() }
    }
}

impl Program for Spinners {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        let comm = cx.comm("spinner");
        for (i, &nice) in self.nice.iter().enumerate() {
            cx.start_task(TaskAttr { comm, nice, mm: i as u32, ..TaskAttr::default() });
        }
    }

    fn next(&mut self, _cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        if self.work_ns == 0 {
            return Op::Run(Ns::MAX);
        }
        if std::mem::replace(&mut self.done[task], true) {
            return Op::Exit;
        }
        Op::Run(self.work_ns)
    }
}

/// Tasks that run for a short time and sleep, again and again, each with its own random lengths.
pub struct Short {
    /// Number of tasks.
    pub tasks: u32,
    /// Mean run, ns.
    pub run_ns: Ns,
    /// Mean sleep, ns.
    pub sleep_ns: Ns,
    /// Rounds of each task; 0: without end.
    pub rounds: u64,
    seed: u64,
    streams: Vec<Stream>,
    running: Vec<bool>,
    left: Vec<u64>,
}

impl Short {
    /// `tasks` tasks with exponential runs and sleeps of the given means, `rounds` times (0: for
    /// ever).
    pub fn new(tasks: u32, run_ns: Ns, sleep_ns: Ns, rounds: u64, seed: u64) -> Self {
        Self {
            tasks,
            run_ns,
            sleep_ns,
            rounds,
            seed,
            streams: Vec::new(),
            running: vec![true; tasks as usize],
            left: vec![rounds; tasks as usize],
        }
    }
}

fn exponential(rng: &mut Stream, mean_ns: Ns) -> Ns {
    let x: f64 = Exp1.sample(rng);
    let ns = x * mean_ns as f64;
    // Rounds as `f64::round`, which is a call on machines without SSE4; and signed, as unsigned
    // numbers are converted in several steps there. 2^63 ns are three hundred years.
    let whole = ns as i64;
    (whole as Ns + Ns::from(ns - whole as f64 >= 0.5)).max(1)
}

impl Program for Short {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        let comm = cx.comm("short");
        for i in 0..self.tasks {
            self.streams.push(random::stream(self.seed, u64::from(i), Purpose::Service));
            cx.start_task(TaskAttr { comm, mm: i, ..TaskAttr::default() });
        }
    }

    fn next(&mut self, _cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let i = task.idx();
        if self.rounds > 0 && self.left[i] == 0 {
            return Op::Exit;
        }
        self.running[i] = !self.running[i];
        if self.running[i] {
            self.left[i] = self.left[i].saturating_sub(1);
            Op::Run(exponential(&mut self.streams[i], self.run_ns))
        } else {
            Op::Sleep(exponential(&mut self.streams[i], self.sleep_ns))
        }
    }
}

/// An open queue: customers arrive in a Poisson stream and ask for an exponential service.
///
/// A customer is a task of a large pool that sleeps until its arrival. The pool must exceed the
/// largest number ever in the system, else arrivals would be late.
pub struct OpenQueue {
    /// Mean time between arrivals, ns.
    pub interarrival_ns: Ns,
    /// Mean service time, ns.
    pub service_ns: Ns,
    /// The run ends when this many customers were served.
    pub customers: u64,
    pool: u32,
    arrivals: Stream,
    services: Stream,
    next_arrival: Ns,
    served: u64,
    asleep: Vec<bool>,
}

impl OpenQueue {
    /// An M/M/c queue (c is the number of the machine's CPUs) that ends after `customers`.
    pub fn new(interarrival_ns: Ns, service_ns: Ns, customers: u64, pool: u32, seed: u64) -> Self {
        Self {
            interarrival_ns,
            service_ns,
            customers,
            pool,
            arrivals: random::stream(seed, 0, Purpose::Arrival),
            services: random::stream(seed, 0, Purpose::Service),
            next_arrival: 0,
            served: 0,
            asleep: vec![false; pool as usize],
        }
    }

    /// Customers that have begun their service.
    pub fn served(&self) -> u64 {
        self.served
    }
}

impl Program for OpenQueue {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        let comm = cx.comm("customer");
        for _ in 0..self.pool {
            cx.start_task(TaskAttr { comm, ..TaskAttr::default() });
        }
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let i = task.idx();
        if std::mem::replace(&mut self.asleep[i], false) {
            self.served += 1;
            return Op::Run(exponential(&mut self.services, self.service_ns));
        }
        if self.is_done() {
            return Op::Exit;
        }
        self.asleep[i] = true;
        // Arrivals are drawn when a customer goes to sleep, so they do not depend on the service.
        self.next_arrival += exponential(&mut self.arrivals, self.interarrival_ns);
        Op::Sleep(self.next_arrival.saturating_sub(cx.now()))
    }

    fn is_done(&self) -> bool {
        self.served >= self.customers
    }

    fn progress(&self) -> f64 {
        self.served as f64 / self.customers as f64
    }
}
