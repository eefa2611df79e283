//! The observer behind `schedlab explain --latency`: where the time of each wait for a CPU goes.
//!
//! A wait is followed from its beginning to the switch that ends it. Until the task is on a
//! runqueue its time is that of its waker's path. On a runqueue it is charged to whoever has the
//! CPU; and to a rule: the one to blame in the ledger of idle CPUs ([`super::ledger`]) while that
//! pairs the task with an idle CPU, else the one that put the task there. All of it is charged
//! once, so the sums are those of the metrics to the nanosecond.
//!
//! What is kept are sums, and the longest waits one by one.

mod wait;

use super::ledger::Ledger;
use super::{run_unwatched, run_watched};
use crate::explain::{Blame, knobs};
use crate::latency::{
    Beyond, Cause, HeldTime, Hold, Latencies, LatencyQuestion, Name, Story, WaitTimes,
};
use crate::output::{RunError, guarded};
use crate::run_spec::RunSpec;
use crate::waits::Times;
use sim_core::{MigrationCause, Ns, Observer, PerTask, Reason, TaskId, World};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use topology::{CpuId, Machine, PerCpu};
use wait::{Place, Wait, Who};

/// Waits that are told one by one.
const N_STORIES: usize = 10;
const N_STALLS: usize = 16;
/// The share of the progress that the first of two runs takes.
const FIRST_RUN: f64 = 0.2;
/// The stopper's name among the commands, and nobody's.
const MIGRATION: u16 = u16::MAX - 1;
const NOBODY: Who = (u16::MAX, 0);

impl RunSpec {
    /// Runs the simulation and says what its slow wake-ups waited for. If a percentile decides
    /// which are slow, it is run twice: the first run finds that percentile.
    ///
    /// # Errors
    /// The run fails.
    pub fn explain_latency(
        &self,
        question: &LatencyQuestion,
        progress: &dyn Fn(f64),
    ) -> Result<Latencies, RunError> {
        let (first, beyond_ns) = match question.beyond {
            Beyond::Time(ns) => (0.0, ns),
            Beyond::Percentile(metric) => {
                let output = guarded(|| run_unwatched(self, &|x| progress(x * FIRST_RUN)))?;
                let us = output.metrics.iter().find(|m| m.name == metric).map_or(0.0, |m| m.value);
                (FIRST_RUN, (us * 1e3).round() as Ns)
            }
        };
        let mut watch = LatencyWatcher::new(&self.machine, beyond_ns, question.stall_ns);
        guarded(|| run_watched(self, &mut watch, &|x| progress(first + x * (1.0 - first))))?;
        let mut found = watch.result;
        for row in &mut found.held {
            row.knob = knobs::left(self, &row.knob);
        }
        Ok(found)
    }
}

/// What is to blame for a part of a wait, and for how much.
struct Row {
    hold: Hold,
    reason: Option<&'static Reason>,
    n: u64,
    ns: Ns,
    max_ns: Ns,
}

impl Row {
    fn add(&mut self, ns: Ns) {
        self.n += 1;
        self.ns += ns;
        self.max_ns = self.max_ns.max(ns);
    }

    fn result(&self) -> HeldTime {
        let Row { hold, reason, n, ns, max_ns } = *self;
        let text = |of: fn(&'static Reason) -> &'static str| reason.map_or("", of);
        let (rule, knob) = (text(|r| r.name), text(|r| r.knob).to_string());
        HeldTime { hold, rule, text: text(|r| r.text), knob, n, ns, max_ns }
    }
}

/// Watches one run.
struct LatencyWatcher {
    ledger: Ledger,
    /// Up to here the ledger's pairs are charged.
    paired_to: Ns,
    beyond_ns: Ns,
    stall_ns: Ns,
    tasks: PerTask<Wait>,
    /// Tasks that wait, by the CPU on whose runqueue they are.
    waiters: PerCpu<Vec<TaskId>>,
    /// Tasks between two runqueues.
    between: Vec<TaskId>,
    n_throttled: u32,
    rows: Vec<Row>,
    causes: [Times; 3],
    n_slow: u64,
    slow_ns: Ns,
    pairs: BTreeMap<(u16, u16), Ns>,
    preempted: BTreeMap<(u16, u16), Ns>,
    slowest: Vec<Story>,
    n_stalls: u64,
    stalls: Vec<Story>,
    /// Complete when the run has ended.
    result: Latencies,
}

impl LatencyWatcher {
    fn new(machine: &Machine, beyond_ns: Ns, stall_ns: Ns) -> Self {
        Self {
            ledger: Ledger::new(machine),
            paired_to: 0,
            beyond_ns,
            stall_ns,
            tasks: PerTask::new(),
            waiters: vec![Vec::new(); machine.n_cpus()].into(),
            between: Vec::new(),
            n_throttled: 0,
            rows: Vec::new(),
            causes: std::array::from_fn(|_| Times::new()),
            n_slow: 0,
            slow_ns: 0,
            pairs: BTreeMap::new(),
            preempted: BTreeMap::new(),
            slowest: Vec::new(),
            n_stalls: 0,
            stalls: Vec::new(),
            result: Latencies::default(),
        }
    }

    fn wait(&mut self, p: TaskId) -> &mut Wait {
        self.tasks.cover(p, Wait::none);
        &mut self.tasks[p]
    }

    fn row(&mut self, hold: Hold, reason: Option<&'static Reason>) -> usize {
        // A constant need not have one address.
        let name = |reason: Option<&'static Reason>| reason.map(|r| r.name);
        let is = |r: &Row| r.hold == hold && name(r.reason) == name(reason);
        self.rows.iter().position(is).unwrap_or_else(|| {
            self.rows.push(Row { hold, reason, n: 0, ns: 0, max_ns: 0 });
            self.rows.len() - 1
        })
    }

    /// Charges the time since the last event to those that the ledger pairs with idle CPUs.
    fn charge_pairs(&mut self, now: Ns) {
        let ns = now - std::mem::replace(&mut self.paired_to, now);
        if ns == 0 {
            return;
        }
        for at in 0.. {
            let Some(found) = self.ledger.paired(at) else { return };
            let Some((waiter, idle, near, reason)) = found else { continue };
            let row = self.row(Hold::Idled, Some(reason));
            let wait = self.wait(waiter);
            if wait.cause.is_some() {
                wait.idled(idle, near, row, ns);
            }
        }
    }

    /// `p` has waited on until now, while `runner` had its CPU.
    fn go_on(&mut self, w: &World, p: TaskId, runner: Option<Who>) {
        let curr = |cpu: CpuId| who(w, cpu, w.cpus[cpu].curr);
        let wait = self.wait(p);
        let runner = match wait.place {
            Place::On(cpu) => runner.unwrap_or_else(|| curr(cpu)),
            _ => NOBODY,
        };
        wait.go_on(w.now, runner);
    }

    /// `p`, which waits, comes to the runqueue of `cpu`.
    fn arrive(&mut self, w: &World, p: TaskId, cpu: CpuId) {
        self.go_on(w, p, None);
        self.leave(p);
        let t = &w.tasks[p];
        let row = self.row(Hold::Busy, Some(t.placed));
        let wait = self.wait(p);
        wait.throttled = t.throttled;
        wait.arrive(w.now, cpu, t.placed, row);
        self.waiters[cpu].push(p);
    }

    /// `p` leaves the runqueue where it waits, if it is on one.
    fn leave(&mut self, p: TaskId) {
        let wait = self.wait(p);
        if let Place::On(cpu) = wait.place {
            wait.leave();
            let waiters = &mut self.waiters[cpu];
            let at = waiters.iter().position(|q| *q == p);
            at.map(|at| waiters.swap_remove(at));
        }
    }

    /// `p` runs now, or the run ends.
    fn end_wait(&mut self, w: &World, p: TaskId, goes_on: bool) {
        self.go_on(w, p, None);
        self.leave(p);
        let wait = self.wait(p);
        let Some(cause) = wait.cause else { return };
        let ns = w.now - wait.since;
        debug_assert_eq!(
            ns,
            wait.way_ns
                + wait.moving_ns
                + wait.throttled_ns
                + wait.rows.iter().map(|(_, ns)| ns).sum::<Ns>(),
        );
        if ns > self.stall_ns {
            self.n_stalls += 1;
            let story = self.story(w, p, goes_on, &self.stalls, N_STALLS);
            keep(&mut self.stalls, N_STALLS, story);
        }
        if !goes_on {
            self.causes[cause as usize].add(ns);
            if ns > self.beyond_ns {
                self.slow(w, p, cause, ns);
            }
        }
        self.tasks[p].cause = None;
    }

    /// A wait that is over was a long one.
    fn slow(&mut self, w: &World, p: TaskId, cause: Cause, ns: Ns) {
        let comm = w.tasks[p].attr.comm;
        match cause {
            Cause::Forked => {}
            Cause::Preempted => {
                let by = self.tasks[p].by.unwrap_or(NOBODY).0;
                *self.preempted.entry((comm, by)).or_default() += ns;
            }
            Cause::Woken => {
                self.n_slow += 1;
                self.slow_ns += ns;
                self.add_parts(p, comm);
                let story = self.story(w, p, false, &self.slowest, N_STORIES);
                keep(&mut self.slowest, N_STORIES, story);
            }
        }
    }

    /// The parts of a slow wake-up.
    fn add_parts(&mut self, p: TaskId, comm: u16) {
        let parts = |wait: &Wait| {
            [
                (Hold::Way, wait.way_ns),
                (Hold::Throttled, wait.throttled_ns),
                (Hold::Moving, wait.moving_ns),
            ]
        };
        for (hold, ns) in parts(&self.tasks[p]) {
            if ns > 0 {
                let row = self.row(hold, None);
                self.rows[row].add(ns);
            }
        }
        let wait = &self.tasks[p];
        for (row, ns) in &wait.rows {
            self.rows[*row].add(*ns);
        }
        for ahead in &wait.ahead {
            *self.pairs.entry((comm, ahead.who.0)).or_default() += ahead.ns;
        }
    }

    /// The wait as it is told, if it is to be kept among `kept`.
    fn story(
        &self,
        w: &World,
        p: TaskId,
        goes_on: bool,
        kept: &[Story],
        n: usize,
    ) -> Option<Story> {
        let wait = &self.tasks[p];
        let ns = w.now - wait.since;
        if kept.get(n - 1).is_some_and(|last| last.ns >= ns) {
            return None;
        }
        let rule = |row: usize| self.rows[row].reason.map_or("", |r| r.name);
        let task = (w.tasks[p].attr.comm, w.tasks[p].pid.0);
        let story = wait.story(w.now, task, rule, |who| named(w, who));
        Some(Story { goes_on, ..story })
    }

    fn latencies(&mut self, w: &World) -> Latencies {
        let times = |times: &Times| WaitTimes {
            n: times.n(),
            total_ns: times.sum_ns() as u64,
            percentiles_ns: [0.5, 0.9, 0.99, 0.999].map(|q| times.quantile_ns(q)),
            max_ns: times.max_ns(),
        };
        let mut held: Vec<HeldTime> =
            self.rows.iter().filter(|r| r.ns > 0).map(Row::result).collect();
        held.sort_by_key(|r| (Reverse(r.ns), r.hold, r.rule));
        Latencies {
            elapsed_ns: w.now - w.measured_from,
            causes: std::array::from_fn(|i| times(&self.causes[i])),
            beyond_ns: self.beyond_ns,
            n_slow: self.n_slow,
            slow_ns: self.slow_ns,
            held,
            pairs: blame(w, &self.pairs),
            preempted: blame(w, &self.preempted),
            slowest: std::mem::take(&mut self.slowest),
            stall_ns: self.stall_ns,
            n_stalls: self.n_stalls,
            stalls: std::mem::take(&mut self.stalls),
        }
    }
}

/// Keeps a story if it is one of the `n` longest.
fn keep(kept: &mut Vec<Story>, n: usize, story: Option<Story>) {
    let Some(story) = story else { return };
    let at = kept.partition_point(|other| other.ns >= story.ns);
    kept.insert(at, story);
    kept.truncate(n);
}

/// A task that runs, or the stopper, or nobody.
fn who(w: &World, cpu: CpuId, p: TaskId) -> Who {
    match p {
        TaskId::STOP => (MIGRATION, w.pid(cpu, p).0),
        p if p.is_task() => (w.tasks[p].attr.comm, w.tasks[p].pid.0),
        _ => NOBODY,
    }
}

fn comm(w: &World, comm: u16) -> String {
    match comm {
        MIGRATION => "migration".to_string(),
        comm => w.comms.get(usize::from(comm)).cloned().unwrap_or_default(),
    }
}

fn named(w: &World, (number, pid): Who) -> Name {
    (comm(w, number), pid)
}

fn blame(w: &World, pairs: &BTreeMap<(u16, u16), Ns>) -> Vec<Blame> {
    let told = |((waiter, runner), ns): (&(u16, u16), &Ns)| Blame {
        waiter: comm(w, *waiter),
        runner: comm(w, *runner),
        ns: *ns,
    };
    let mut blame: Vec<Blame> = pairs.iter().map(told).collect();
    blame.sort_by(|a, b| {
        b.ns.cmp(&a.ns).then_with(|| (&a.waiter, &a.runner).cmp(&(&b.waiter, &b.runner)))
    });
    blame
}

impl Observer for LatencyWatcher {
    fn switch(&mut self, w: &World, cpu: CpuId, prev: TaskId, next: TaskId) {
        self.charge_pairs(w.now);
        let runner = who(w, cpu, prev);
        for at in 0..self.waiters[cpu].len() {
            let p = self.waiters[cpu][at];
            self.go_on(w, p, Some(runner));
        }
        if next.is_task() {
            self.end_wait(w, next, false);
        }
        if prev.is_task() && w.tasks[prev].on_rq && !w.tasks[prev].sched_delayed {
            let by = who(w, cpu, next);
            let wait = self.wait(prev);
            wait.begin(w.now, Cause::Preempted);
            (wait.by, wait.by_cpu) = ((by != NOBODY).then_some(by), cpu.0);
            self.arrive(w, prev, cpu);
        }
        self.ledger.switch(w, cpu, prev, next);
    }

    fn waking(&mut self, w: &World, task: TaskId) {
        let t = &w.tasks[task];
        // Awake again before it has left its queue: it has gone on waiting, or running.
        if t.on_rq && !t.sched_delayed {
            return;
        }
        // A timer of the policy's own is on no CPU.
        let executing = w.cpus.get(w.this.idx());
        let by = executing.map(|c| who(w, w.this, c.curr)).filter(|by| *by != NOBODY);
        let wait = self.wait(task);
        wait.begin(w.now, Cause::Woken);
        wait.by = by;
        wait.by_interrupt = executing.is_none_or(|c| c.in_interrupt() || !c.curr.is_task());
        wait.by_cpu = if executing.is_some() { w.this.0 } else { 0 };
    }

    fn enqueued(&mut self, w: &World, cpu: CpuId, task: TaskId) {
        self.charge_pairs(w.now);
        if self.wait(task).cause.is_none() {
            let by = w.cpus.get(w.this.idx()).map(|c| who(w, w.this, c.curr));
            let wait = self.wait(task);
            wait.begin(w.now, Cause::Forked);
            (wait.by, wait.by_cpu) = (by.filter(|by| *by != NOBODY), cpu.0);
        }
        self.arrive(w, task, cpu);
        self.ledger.enqueued(w, cpu, task);
    }

    fn wakeup(&mut self, w: &World, cpu: CpuId, task: TaskId, new: bool) {
        self.charge_pairs(w.now);
        // It slept on its queue.
        if self.wait(task).cause.is_some() && self.tasks[task].place == Place::Way {
            self.arrive(w, task, cpu);
        }
        self.ledger.wakeup(w, cpu, task, new);
    }

    fn dequeue(&mut self, w: &World, cpu: CpuId, task: TaskId) {
        self.charge_pairs(w.now);
        self.ledger.dequeue(w, cpu, task);
    }

    fn migrate(&mut self, w: &World, task: TaskId, from: CpuId, to: CpuId, why: MigrationCause) {
        self.charge_pairs(w.now);
        let comes = !matches!(why, MigrationCause::Wake | MigrationCause::Fork);
        if comes && self.wait(task).cause.is_some() && self.tasks[task].place != Place::Way {
            self.go_on(w, task, None);
            self.leave(task);
            self.between.push(task);
        }
        self.ledger.migrate(w, task, from, to, why);
    }

    fn measurement_begins(&mut self, w: &World) {
        self.causes.iter_mut().for_each(Times::reset);
        (self.n_slow, self.slow_ns, self.n_stalls) = (0, 0, 0);
        self.pairs.clear();
        self.preempted.clear();
        self.slowest.clear();
        self.stalls.clear();
        for row in &mut self.rows {
            (row.n, row.ns, row.max_ns) = (0, 0, 0);
        }
        self.ledger.measurement_begins(w);
    }

    fn after_event(&mut self, w: &World) {
        self.charge_pairs(w.now);
        // Nobody tells when a moved task is on its new runqueue.
        for at in (0..self.between.len()).rev() {
            if w.tasks[self.between[at]].on_rq {
                let task = self.between.swap_remove(at);
                self.came_between(w, task);
            }
        }
        if w.n_throttled > 0 || self.n_throttled > 0 {
            self.look_for_throttled(w);
        }
        self.ledger.after_event(w);
    }

    fn end(&mut self, w: &World) {
        self.charge_pairs(w.now);
        for p in (0..self.tasks.len() as u32).map(TaskId) {
            if self.tasks[p].cause.is_some() {
                self.end_wait(w, p, true);
            }
        }
        self.result = self.latencies(w);
        self.ledger.end(w);
    }
}

impl LatencyWatcher {
    /// A task that was between two runqueues is on one again.
    fn came_between(&mut self, w: &World, task: TaskId) {
        if self.tasks[task].cause.is_some() && self.tasks[task].place == Place::Between {
            self.arrive(w, task, w.tasks[task].cpu);
        }
    }

    /// Nobody tells either which tasks are throttled from here on.
    fn look_for_throttled(&mut self, w: &World) {
        self.n_throttled = w.n_throttled;
        for cpu in (0..self.waiters.len() as u32).map(CpuId) {
            for at in 0..self.waiters[cpu].len() {
                let p = self.waiters[cpu][at];
                if self.tasks[p].throttled != w.tasks[p].throttled {
                    self.go_on(w, p, None);
                    self.tasks[p].throttled = w.tasks[p].throttled;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
