//! schbench without its locks (`-L`): message threads, and workers that ask them for requests.
//!
//! ```text
//! worker:         asks its message thread, sleeps | a network's 100 us | works | asks again
//! message thread: wakes all workers that have asked, the last one first, sleeps
//! ```
//!
//! With a rate (`-R`) workers do not ask. Each message thread sends its workers requests, eight of
//! them in turn, and then sleeps so long that the rate comes out. A worker that has more than eight
//! to do is left out. A request's latency begins when its worker runs; at a rate, when it was sent.
//!
//! All of this is from memory of the program and was not measured beside it. So is the work of a
//! request, five products of matrices that fill the cache footprint: a time of its own here, which
//! does not follow the footprint.

use crate::latency::Latency;
use crate::spread::Spread;
use sim_core::{Ns, Op, Program, ProgramCx, TaskAttr, TaskId};
use std::collections::VecDeque;

/// Parameters of schbench, with its options in brackets.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Message threads (`-m`).
    pub message_threads: u32,
    /// Workers of each (`-t`).
    pub threads: u32,
    /// CPU work of a request at full speed, ns.
    pub work_ns: Ns,
    /// Sleep before that work, ns.
    pub sleep_ns: Ns,
    /// Requests per second (`-R`), all workers together; none: as many as they can.
    pub rps: Option<u64>,
    /// What a worker uses again and again (`-F`), KiB.
    pub footprint_kib: u32,
    /// Coefficient of variation of the work (log-normal).
    pub spread: f64,
    /// Seed of its lengths.
    pub seed: u64,
}

/// Requests that are sent between two sleeps.
const BATCH: u32 = 8;
/// A worker with more requests than this gets no further one.
const PENDING_MAX: usize = 8;
const SECOND: Ns = 1_000_000_000;

/// Main is the first task, then come the message threads, then the workers of the first, and so on.
const MAIN: TaskId = TaskId(0);

#[derive(Clone, Debug, Default)]
struct MessageThread {
    forked: u32,
    asleep: bool,
    /// Workers that have asked, and those that are being woken, the last one at the back.
    asked: Vec<u32>,
    round: Vec<u32>,
    /// Requests sent since the last sleep, and since the start.
    of_batch: u32,
    sent: u64,
}

impl MessageThread {
    /// The worker that it wakes next. One that asks while others are woken comes in the next round.
    fn next_asker(&mut self) -> Option<u32> {
        if self.round.is_empty() {
            std::mem::swap(&mut self.round, &mut self.asked);
        }
        self.round.pop()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WorkerStep {
    /// Asks, or looks whether it has a request.
    Ask,
    /// Sleeps until then, as if its request came over a network.
    Network(Ns),
    Work,
}

#[derive(Clone, Debug)]
struct Worker {
    at: WorkerStep,
    /// It sleeps until it is given a request.
    asleep: bool,
    /// When each of its requests began.
    requests: VecDeque<Ns>,
}

/// The running benchmark.
pub struct Schbench {
    config: Config,
    forked: u32,
    messengers: Vec<MessageThread>,
    workers: Vec<Worker>,
    spread: Spread,
    latency: Latency,
    done: u64,
}

impl Schbench {
    /// The workload with these parameters, not started.
    pub fn new(config: Config) -> Self {
        let n = config.message_threads * config.threads;
        let worker = Worker { at: WorkerStep::Ask, asleep: false, requests: VecDeque::new() };
        Self {
            forked: 0,
            messengers: vec![MessageThread::default(); config.message_threads as usize],
            workers: vec![worker; n as usize],
            spread: Spread::new(config.spread, n, config.seed),
            latency: Latency::new(),
            done: 0,
            config,
        }
    }

    fn messenger_task(m: u32) -> TaskId {
        TaskId(1 + m)
    }

    fn worker_task(&self, worker: u32) -> TaskId {
        TaskId(1 + self.config.message_threads + worker)
    }

    /// Main makes the message threads.
    fn lead(&mut self) -> Op {
        if self.forked == self.config.message_threads {
            return Op::Wait;
        }
        self.forked += 1;
        Op::Fork(Self::messenger_task(self.forked - 1))
    }

    /// A message thread makes its workers, then serves them.
    fn serve(&mut self, cx: &ProgramCx<'_>, m: usize) -> Op {
        let (threads, first) = (self.config.threads, m as u32 * self.config.threads);
        if self.messengers[m].forked < threads {
            self.messengers[m].forked += 1;
            return Op::Fork(self.worker_task(first + self.messengers[m].forked - 1));
        }
        if let Some(rps) = self.config.rps {
            return self.send(cx.now(), m, rps);
        }
        match self.messengers[m].next_asker() {
            Some(worker) => self.give(worker, cx.now()),
            None => {
                self.messengers[m].asleep = true;
                Op::Wait
            }
        }
    }

    /// A request for `worker`, which is woken if it sleeps.
    fn give(&mut self, worker: u32, now: Ns) -> Op {
        let w = &mut self.workers[worker as usize];
        w.requests.push_back(now);
        match std::mem::take(&mut w.asleep) {
            true => Op::Wake { task: self.worker_task(worker), sync: false },
            false => Op::Kernel(0),
        }
    }

    /// The next request of a batch, or the sleep after it.
    fn send(&mut self, now: Ns, m: usize, rps: u64) -> Op {
        let threads = u64::from(self.config.threads);
        let messenger = &mut self.messengers[m];
        if messenger.of_batch == BATCH {
            messenger.of_batch = 0;
            // Each message thread sends its share of the rate, so its gaps are so many times
            // longer.
            let threads = u64::from(self.config.message_threads);
            return Op::Sleep(u64::from(BATCH) * SECOND * threads / rps);
        }
        messenger.of_batch += 1;
        let worker = m as u64 * threads + messenger.sent % threads;
        messenger.sent += 1;
        if self.workers[worker as usize].requests.len() > PENDING_MAX {
            return Op::Kernel(0);
        }
        self.give(worker as u32, now)
    }

    fn work(&mut self, cx: &ProgramCx<'_>, me: usize) -> Op {
        match self.workers[me].at {
            WorkerStep::Ask if !self.workers[me].requests.is_empty() => {
                let until = cx.now() + self.config.sleep_ns;
                self.workers[me].at = WorkerStep::Network(until);
                if self.config.rps.is_none() {
                    // It counts from when the worker runs.
                    self.workers[me].requests[0] = cx.now();
                }
                Op::SleepUntil(until)
            }
            // A wake-up for a request that it has found by itself may come late.
            WorkerStep::Network(until) if cx.now() < until => Op::SleepUntil(until),
            WorkerStep::Ask if self.workers[me].asleep || self.config.rps.is_some() => {
                self.workers[me].asleep = true;
                Op::Wait
            }
            WorkerStep::Ask => self.ask(me),
            WorkerStep::Network(_) => {
                self.workers[me].at = WorkerStep::Work;
                Op::Run(self.spread.vary(me, self.config.work_ns))
            }
            WorkerStep::Work => {
                let began = self.workers[me].requests.pop_front().expect("it works on one");
                self.latency.record(cx.now() - began);
                self.done += 1;
                self.workers[me].at = WorkerStep::Ask;
                self.work(cx, me)
            }
        }
    }

    /// The worker stands in the list, and its message thread shall look; next it sleeps.
    fn ask(&mut self, me: usize) -> Op {
        let m = me / self.config.threads as usize;
        self.workers[me].asleep = true;
        self.messengers[m].asked.push(me as u32);
        match std::mem::take(&mut self.messengers[m].asleep) {
            true => Op::Wake { task: Self::messenger_task(m as u32), sync: false },
            false => Op::Kernel(0),
        }
    }
}

impl Program for Schbench {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        let comm = cx.comm("schbench");
        let attr = TaskAttr { comm, ..TaskAttr::default() };
        let main = cx.start_task(attr);
        debug_assert_eq!(main, MAIN);
        for _ in &self.messengers {
            cx.new_task(attr);
        }
        for _ in &self.workers {
            cx.new_task(TaskAttr { working_set_kib: self.config.footprint_kib, ..attr });
        }
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let messengers = self.messengers.len();
        match task.idx() {
            0 => self.lead(),
            i if i <= messengers => self.serve(cx, i - 1),
            i => self.work(cx, i - 1 - messengers),
        }
    }

    fn is_under_way(&self) -> bool {
        self.messengers.iter().all(|m| m.forked == self.config.threads)
    }

    fn measurement_begins(&mut self) {
        (self.latency, self.done) = (Latency::new(), 0);
    }

    fn results(&self, elapsed_ns: Ns) -> Vec<(&'static str, f64)> {
        let per_s = self.done as f64 / (elapsed_ns.max(1) as f64 * 1e-9);
        let mut results = vec![("throughput", per_s)];
        results.extend(self.latency.results(Latency::NAMES));
        results
    }

    fn waits_for(&self, task: TaskId) -> String {
        let what = match task.idx() {
            0 => "the end",
            i if i <= self.messengers.len() => "a worker that asks",
            _ => "a request",
        };
        what.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bench(rps: Option<u64>) -> Schbench {
        Schbench::new(Config {
            message_threads: 2,
            threads: 3,
            work_ns: 1_000,
            sleep_ns: 100,
            rps,
            footprint_kib: 256,
            spread: 0.0,
            seed: 1,
        })
    }

    #[test]
    fn a_message_thread_sends_eight_requests_in_turn_and_sleeps_for_as_many() {
        let mut bench = bench(Some(2000));
        for worker in 3..6 {
            bench.workers[worker].asleep = true;
        }
        let ops: Vec<Op> = (0..9).map(|_| bench.send(5, 1, 2000)).collect();
        let woken = |worker| Op::Wake { task: bench.worker_task(worker), sync: false };
        assert_eq!(ops[..3], [woken(3), woken(4), woken(5)]);
        assert_eq!(ops[3..8], [Op::Kernel(0); 5], "they are awake by then");
        assert_eq!(ops[8], Op::Sleep(8_000_000), "half of the rate is this thread's");
        let pending = bench.workers.iter().map(|w| w.requests.len()).collect::<Vec<_>>();
        assert_eq!(pending, [0, 0, 0, 3, 3, 2]);
    }

    #[test]
    fn who_has_too_much_to_do_is_left_out() {
        let mut bench = bench(Some(2000));
        for _ in 0..100 {
            bench.send(5, 0, 2000);
        }
        assert!(bench.workers[..3].iter().all(|w| w.requests.len() == PENDING_MAX + 1));
    }

    #[test]
    fn a_worker_that_asks_wakes_its_message_thread_once() {
        let mut bench = bench(None);
        bench.messengers[1].asleep = true;
        let wakes = Op::Wake { task: Schbench::messenger_task(1), sync: false };
        assert_eq!(bench.ask(4), wakes);
        assert_eq!(bench.ask(3), Op::Kernel(0));
        assert_eq!(bench.messengers[1].asked, [4, 3]);
    }

    #[test]
    fn who_asks_during_a_round_is_woken_after_it() {
        let mut bench = bench(None);
        let m = &mut bench.messengers[0];
        m.asked = vec![0, 1];
        assert_eq!(m.next_asker(), Some(1));
        m.asked.push(2);
        assert_eq!((m.next_asker(), m.next_asker(), m.next_asker()), (Some(0), Some(2), None));
    }

    #[test]
    fn a_rate_below_the_number_of_message_threads_is_kept() {
        let mut bench = bench(Some(1));
        let sleeps = (0..9).map(|_| bench.send(5, 0, 1)).last();
        assert_eq!(sleeps, Some(Op::Sleep(16 * SECOND)), "8 requests, half of the rate");
    }
}
