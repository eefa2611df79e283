//! `queue_work()` as fast as it can: a thread on each CPU queues short items on one workqueue.
//!
//! Each thread has a few items of its own. It queues them in turn, and flushes an item before it
//! queues it again. The pools' locks, the wake-ups and the workers limit the rate.

use crate::affinity_changes::{AffinityChange, AffinityShell};
use crate::latency::Latency;
use policies::workqueue::{ActivePer, Affinity, Kind, Turn, WorkId, Workqueues, WqId, WqSpec};
use sim_core::{Ns, Op, Program, ProgramCx, Step, TaskAttr, TaskId};
use std::any::Any;
use topology::{CpuId, CpuSet, IdVec};

/// Parameters of the threads and of their workqueue.
#[derive(Clone, Debug)]
pub struct Config {
    /// Threads that queue. Thread i stays on CPU i, modulo the number of CPUs.
    pub issuers: u32,
    /// Items of each thread.
    pub outstanding: u32,
    /// Length of an item at full speed, ns.
    pub work_ns: Ns,
    /// The workqueue's affinity.
    pub affinity: Affinity,
    /// The workqueue's `max_active`.
    pub max_active: u32,
    /// Whose items it counts.
    pub active_per: ActivePer,
    /// Changes during the run.
    pub changes: Vec<AffinityChange>,
}

/// The only workqueue.
const WQ: WqId = WqId(0);

/// A thread that queues.
#[derive(Clone, Copy)]
struct Issuer {
    task: TaskId,
    at: IssuerStep,
    /// Items queued so far.
    queued: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum IssuerStep {
    /// Before the next item.
    Next,
    /// In the flush of the item.
    Flush,
    /// In `queue_work`, since then.
    Queue(Ns),
}

/// The running benchmark.
pub struct QueueWork {
    config: Config,
    wq: Option<Workqueues>,
    shell: AffinityShell,
    issuers: Vec<Issuer>,
    /// By item: when it was queued, and whether it has begun.
    items: IdVec<WorkId, (Ns, bool)>,
    done: u64,
    latency: Latency,
    queue_latency: Latency,
}

impl QueueWork {
    /// The workload with these parameters, not started.
    pub fn new(config: Config) -> Self {
        Self {
            shell: AffinityShell::new(config.changes.clone()),
            items: vec![(0, false); (config.issuers * config.outstanding) as usize].into(),
            config,
            wq: None,
            issuers: Vec::new(),
            done: 0,
            latency: Latency::new(),
            queue_latency: Latency::new(),
        }
    }

    fn wq(&mut self) -> &mut Workqueues {
        self.wq.as_mut().expect("made at the start")
    }

    fn issue(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, i: usize) -> Op {
        loop {
            if self.wq().is_flushing(task) {
                return Op::Wait;
            }
            let Issuer { at, queued, .. } = self.issuers[i];
            let own = (queued % u64::from(self.config.outstanding)) as u32;
            let item = WorkId(i as u32 * self.config.outstanding + own);
            match at {
                IssuerStep::Next => {
                    self.issuers[i].at = IssuerStep::Flush;
                    if self.wq().flush_work(cx, item, task) {
                        return Op::Path;
                    }
                }
                IssuerStep::Flush => {
                    self.issuers[i].at = IssuerStep::Queue(cx.now());
                    self.items[item] = (cx.now(), false);
                    if self.wq().queue(cx, item) {
                        return Op::Path;
                    }
                }
                IssuerStep::Queue(since) => {
                    self.queue_latency.record(cx.now() - since);
                    self.issuers[i].queued += 1;
                    self.issuers[i].at = IssuerStep::Next;
                }
            }
        }
    }

    fn work(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, item: WorkId) -> Op {
        let (queued_at, begun) = &mut self.items[item];
        if !std::mem::replace(begun, true) {
            let op = Op::Kernel(self.config.work_ns);
            return self.wq().in_work(cx, task, op);
        }
        let latency = cx.now() - *queued_at;
        self.latency.record(latency);
        self.done += 1;
        self.wq().work_done(cx, task)
    }
}

impl Program for QueueWork {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        let config = &self.config;
        let (max_active, active_per) = (config.max_active, config.active_per);
        let spec = WqSpec {
            max_active,
            active_per,
            ..WqSpec::new("bench", Kind::Unbound(config.affinity))
        };
        let mut wq = Workqueues::new(cx, vec![spec]);
        for _ in &self.items {
            wq.new_work(WQ);
        }
        self.wq = Some(wq);
        self.shell.start(cx);
        let comm = cx.comm("queue-work");
        for i in 0..self.config.issuers {
            let cpu = CpuId(i % cx.n_cpus() as u32);
            let allowed = cx.mask(CpuSet::of(cx.n_cpus(), [cpu]));
            let attr = TaskAttr { comm, allowed, kthread: true, ..TaskAttr::default() };
            self.issuers.push(Issuer {
                task: cx.start_task(attr),
                at: IssuerStep::Next,
                queued: 0,
            });
        }
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        if self.wq().is_worker(task) {
            return match self.wq().turn(cx, task) {
                Turn::Op(op) => op,
                Turn::Work(item) => self.work(cx, task, item),
            };
        }
        if self.shell.is(task) {
            let wq = self.wq.as_mut().expect("made at the start");
            return self.shell.next(cx, wq, WQ);
        }
        // The issuers were made in a row.
        let i = (task.0 - self.issuers[0].task.0) as usize;
        self.issue(cx, task, i)
    }

    fn path(&mut self, cx: &mut ProgramCx<'_>, _task: TaskId) -> Step {
        self.wq().step(cx)
    }

    fn results(&self, elapsed_ns: Ns) -> Vec<(&'static str, f64)> {
        let per_s = self.done as f64 / (elapsed_ns.max(1) as f64 * 1e-9);
        let mut results = vec![("throughput", per_s)];
        results.extend(self.latency.results(Latency::NAMES));
        results.extend(self.queue_latency.results([
            "queue_latency_mean",
            "queue_latency_p50",
            "queue_latency_p90",
            "queue_latency_p95",
            "queue_latency_p99",
            "queue_latency_p999",
            "queue_latency_max",
        ]));
        results
    }

    fn inspect(&self) -> Option<&dyn Any> {
        self.wq.as_ref().map(|wq| wq as &dyn Any)
    }

    fn waits_for(&self, task: TaskId) -> String {
        let worker = self.wq.as_ref().is_some_and(|wq| wq.is_worker(task));
        let what = if worker { "work" } else { "the end of its item" };
        what.to_string()
    }
}
