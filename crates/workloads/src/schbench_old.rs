//! schbench as it was until 2023: message threads that wake workers, and how long the workers wait.
//!
//! ```text
//! worker:         thinks (spins by the clock) | stands in the list, posts | sleeps until woken
//! message thread: notes the time, wakes the whole list, the last one first | sleeps until posted
//!                 | sleeps `sleeptime` and up to a quarter more
//! ```
//!
//! The latency is from when the message thread noted the time, once for the whole list, to when
//! the worker runs: a message thread that is preempted by those it wakes shows in it. A worker
//! spins until the clock says so: time during which it does not run counts, too. Here it looks at
//! the clock every 50 us (`LOOK_NS`), there every 30 ns or so.
//!
//! A post to a message thread that has been posted already, or that sleeps on its timer, does not
//! wake it. Left out: `-p` (pipe), `-R` (a rate) and `-a` (auto).

use crate::latency::Latency;
use crate::random::{self, Purpose, Stream};
use rand::RngExt;
use sim_core::{Ns, Op, Program, ProgramCx, TaskAttr, TaskId};

/// Parameters of the old schbench, with its options in brackets.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Message threads (`-m`).
    pub message_threads: u32,
    /// Workers of each (`-t`).
    pub threads: u32,
    /// How long a worker thinks (`-c`), ns by the clock.
    pub cputime_ns: Ns,
    /// How long a message thread sleeps at least before it answers (`-s`), ns.
    pub sleeptime_ns: Ns,
    /// Seed of the rest of its sleeps.
    pub seed: u64,
}

/// What is printed: `Latency percentiles (usec)`.
const PERCENTILES: [(&str, f64); 7] = [
    ("latency_p50", 0.5),
    ("latency_p75", 0.75),
    ("latency_p90", 0.9),
    ("latency_p95", 0.95),
    ("latency_p99", 0.99),
    ("latency_p995", 0.995),
    ("latency_p999", 0.999),
];
/// How often a worker looks at the clock at least, ns.
const LOOK_NS: Ns = 50_000;

/// Main is the first task, then come the message threads, then the workers of the first, and so on.
const MAIN: TaskId = TaskId(0);

/// Where a message thread stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Round {
    #[default]
    Fork,
    /// It takes the list,
    Begin,
    /// wakes all workers that stand in it,
    Wake,
    /// and sleeps until it is posted.
    Await,
}

#[derive(Clone, Debug, Default)]
struct MessageThread {
    round: Round,
    forked: u32,
    /// A worker has posted it (its futex says FUTEX_RUNNING).
    posted: bool,
    /// It sleeps on its futex.
    asleep: bool,
    /// Workers that stand in its list, and those that it wakes, the next one at the back.
    list: Vec<u32>,
    waking: Vec<u32>,
    /// What it notes before it wakes them.
    noted: Ns,
}

/// Where a worker stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WorkerStep {
    Born,
    /// Thinks until then.
    Think(Ns),
    /// Sleeps until it is woken.
    Blocked,
    /// It was woken; this is when, as noted.
    Woken(Ns),
}

/// The running benchmark.
pub struct SchbenchOld {
    config: Config,
    forked: u32,
    messengers: Vec<MessageThread>,
    workers: Vec<WorkerStep>,
    /// By message thread.
    jitter: Vec<Stream>,
    latency: Latency,
    loops: u64,
}

impl SchbenchOld {
    /// The workload with these parameters, not started.
    pub fn new(config: Config) -> Self {
        let n = config.message_threads;
        let stream = |m| random::stream(config.seed, u64::from(m), Purpose::Service);
        Self {
            forked: 0,
            messengers: vec![MessageThread::default(); n as usize],
            workers: vec![WorkerStep::Born; (n * config.threads) as usize],
            jitter: (0..n).map(stream).collect(),
            latency: Latency::new(),
            loops: 0,
            config,
        }
    }

    fn messenger_task(m: usize) -> TaskId {
        TaskId(1 + m as u32)
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
        Op::Fork(Self::messenger_task(self.forked as usize - 1))
    }

    /// A message thread makes its workers, then answers them.
    fn serve(&mut self, now: Ns, m: usize) -> Op {
        let threads = self.config.threads;
        let messenger = &mut self.messengers[m];
        match messenger.round {
            Round::Fork if messenger.forked < threads => {
                messenger.forked += 1;
                let worker = m as u32 * threads + messenger.forked - 1;
                Op::Fork(self.worker_task(worker))
            }
            Round::Fork | Round::Begin => {
                messenger.posted = false;
                messenger.waking = std::mem::take(&mut messenger.list);
                messenger.noted = now;
                messenger.round = Round::Wake;
                self.serve(now, m)
            }
            Round::Wake => match messenger.waking.pop() {
                Some(worker) => {
                    self.workers[worker as usize] = WorkerStep::Woken(messenger.noted);
                    Op::Wake { task: self.worker_task(worker), sync: false }
                }
                None => {
                    messenger.round = Round::Await;
                    self.serve(now, m)
                }
            },
            Round::Await if !messenger.posted => {
                messenger.asleep = true;
                Op::Wait
            }
            Round::Await => {
                // It takes the post. It sleeps on its timer now, from which a post does not wake
                // it.
                (messenger.posted, messenger.asleep) = (false, false);
                messenger.round = Round::Begin;
                self.delay(m)
            }
        }
    }

    /// The sleep of a message thread before it answers.
    fn delay(&mut self, m: usize) -> Op {
        if self.config.sleeptime_ns == 0 {
            return Op::Kernel(0);
        }
        let quarter = self.config.sleeptime_ns / 4;
        let more = if quarter > 0 { self.jitter[m].random_range(0..quarter) } else { 0 };
        Op::Sleep(self.config.sleeptime_ns + more)
    }

    fn work(&mut self, now: Ns, me: usize) -> Op {
        match self.workers[me] {
            WorkerStep::Born => self.think(now, me),
            WorkerStep::Think(until) if now < until => Op::Run((until - now).min(LOOK_NS)),
            WorkerStep::Think(_) => {
                self.loops += 1;
                self.workers[me] = WorkerStep::Blocked;
                self.post(me)
            }
            WorkerStep::Blocked => Op::Wait,
            WorkerStep::Woken(noted) => {
                self.latency.record(now - noted);
                self.think(now, me)
            }
        }
    }

    fn think(&mut self, now: Ns, me: usize) -> Op {
        self.workers[me] = WorkerStep::Think(now + self.config.cputime_ns);
        match self.config.cputime_ns {
            0 => self.work(now, me),
            ns => Op::Run(ns.min(LOOK_NS)),
        }
    }

    /// A worker stands in the list from here on; next it sleeps, if it has not been woken by then.
    fn post(&mut self, me: usize) -> Op {
        let m = me / self.config.threads as usize;
        let messenger = &mut self.messengers[m];
        messenger.list.push(me as u32);
        messenger.posted = true;
        match std::mem::take(&mut messenger.asleep) {
            true => Op::Wake { task: Self::messenger_task(m), sync: false },
            false => Op::Kernel(0),
        }
    }
}

impl Program for SchbenchOld {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        let comm = cx.comm("schbench");
        let attr = TaskAttr { comm, ..TaskAttr::default() };
        let main = cx.start_task(attr);
        debug_assert_eq!(main, MAIN);
        for _ in 0..self.messengers.len() + self.workers.len() {
            cx.new_task(attr);
        }
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let (now, messengers) = (cx.now(), self.messengers.len());
        match task.idx() {
            0 => self.lead(),
            i if i <= messengers => self.serve(now, i - 1),
            i => self.work(now, i - 1 - messengers),
        }
    }

    fn is_under_way(&self) -> bool {
        self.messengers.iter().all(|m| m.round != Round::Fork)
    }

    fn measurement_begins(&mut self) {
        (self.latency, self.loops) = (Latency::new(), 0);
    }

    fn results(&self, elapsed_ns: Ns) -> Vec<(&'static str, f64)> {
        let per_s = self.loops as f64 / (elapsed_ns.max(1) as f64 * 1e-9);
        let mut results = vec![("throughput", per_s)];
        results.extend(self.latency.extremes(["latency_min", "latency_mean", "latency_max"]));
        results.extend(self.latency.percentiles(&PERCENTILES));
        results
    }

    fn waits_for(&self, task: TaskId) -> String {
        let what = match task.idx() {
            0 => "the end",
            i if i <= self.messengers.len() => "a worker's post",
            _ => "its message thread",
        };
        what.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bench() -> SchbenchOld {
        let config =
            Config { message_threads: 2, threads: 3, cputime_ns: 0, sleeptime_ns: 8000, seed: 1 };
        let mut bench = SchbenchOld::new(config);
        for m in 0..2 {
            (0..3).for_each(|_| _ = bench.serve(0, m));
            assert_eq!(bench.serve(0, m), Op::Wait);
        }
        bench
    }

    #[test]
    fn the_first_to_post_wakes_the_message_thread_and_the_last_is_woken_first() {
        let mut bench = bench();
        let wake = |task| Op::Wake { task, sync: false };
        assert_eq!(bench.work(5, 3), wake(SchbenchOld::messenger_task(1)));
        assert_eq!(bench.work(6, 4), Op::Kernel(0), "it has been posted already");
        assert!(matches!(bench.serve(7, 1), Op::Sleep(8000..10_000)));
        assert_eq!(bench.serve(20_000, 1), wake(bench.worker_task(4)));
        assert_eq!(bench.serve(25_000, 1), wake(bench.worker_task(3)));
        assert_eq!(bench.workers[3], WorkerStep::Woken(20_000), "the time was noted once");
    }

    #[test]
    fn a_post_during_the_message_threads_sleep_wakes_nobody_and_is_answered_all_the_same() {
        let mut bench = bench();
        bench.work(5, 0);
        bench.serve(6, 0);
        assert_eq!(bench.work(7, 1), Op::Kernel(0));
        let woken: Vec<Op> = (0..2).map(|_| bench.serve(9000, 0)).collect();
        let wake = |worker| Op::Wake { task: bench.worker_task(worker), sync: false };
        assert_eq!(woken, [wake(1), wake(0)]);
        assert_eq!(bench.serve(9001, 0), Op::Wait, "that post was forgotten with the list");
    }

    #[test]
    fn a_post_while_others_are_woken_makes_another_round() {
        let mut bench = bench();
        bench.work(5, 0);
        bench.serve(6, 0);
        bench.serve(9000, 0);
        bench.work(9001, 2);
        assert!(matches!(bench.serve(9002, 0), Op::Sleep(_)), "without sleeping on its futex");
    }

    #[test]
    fn a_worker_that_did_not_run_has_thought_all_the_same() {
        let mut bench = bench();
        bench.config.cputime_ns = 120_000;
        assert_eq!(bench.work(1000, 0), Op::Run(LOOK_NS));
        assert_eq!(bench.work(51_000, 0), Op::Run(LOOK_NS));
        assert_eq!(bench.work(101_000, 0), Op::Run(20_000));
        assert!(matches!(bench.work(400_000, 0), Op::Wake { .. }));
    }
}
