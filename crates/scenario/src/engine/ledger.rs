//! The observer behind `schedlab explain`: idle-while-runnable time by the rule that let it happen.
//!
//! While `n` CPUs idle that could run tasks which wait (`World::n_idle_while_runnable`), `n` pairs
//! are made of an idle CPU and a waiting task: tasks that may run on few CPUs first, then the
//! nearest. Each pair is charged to the later of two decisions (`sim_core::Reason`): the one that
//! put the task on its busy CPU, or the CPU's last search at the level of its domains that spans
//! both. On a queue of k tasks it is the k - 1 that came last that are too many, whoever of them
//! runs: if the one that waits was there first, the one that runs is asked how it came.

use super::run_watched;
use super::times::Times;
use crate::explain::{Blame, Explanation, Kind, N_NEAR, Near, RuleTime, Wait, knobs};
use crate::output::{RunError, guarded};
use crate::run_spec::RunSpec;
use sim_core::{
    MaskId, MigrationCause, Ns, Observer, PerTask, Reason, Takers, TaskId, TaskState, World,
};
use std::collections::BTreeMap;
use std::ops::Range;
use topology::{ChainLink, CpuId, CpuSet, Machine, PerCpu};
use trace::export::START_NS;

impl RunSpec {
    /// Runs the simulation and says why CPUs idled while tasks waited.
    ///
    /// # Errors
    /// The run fails.
    pub fn explain(&self, progress: &dyn Fn(f64)) -> Result<Explanation, RunError> {
        let mut watch = Ledger::new(&self.machine);
        guarded(|| run_watched(self, &mut watch, progress))?;
        let mut found = watch.result;
        for rule in &mut found.rules {
            rule.knob = knobs::left(self, &rule.knob);
        }
        Ok(found)
    }
}

/// Whose name it is if no task's.
const NOBODY: u16 = u16::MAX;
const MIGRATION: u16 = NOBODY - 1;

/// Waits that are kept one by one.
const N_LONGEST: usize = 8;

/// An idle CPU and a task that waits elsewhere.
#[derive(Clone, Copy)]
struct Pair {
    rule: usize,
    near: Near,
    /// Who idles.
    idle: Option<CpuId>,
    /// Who waits.
    waiter: TaskId,
    /// Command names of who waits and who runs there.
    comms: (u16, u16),
}

/// Time charged to one rule.
struct Row {
    kind: Kind,
    reason: &'static Reason,
    ns: [Ns; N_NEAR],
    waits: Times,
}

impl Row {
    fn result(&self) -> RuleTime {
        let Reason { name, text, knob, .. } = *self.reason;
        let (kind, ns, waits) = (self.kind, self.ns, self.waits.spread());
        let knob = knob.to_string();
        RuleTime { kind, name, text, knob, ns, waits }
    }
}

/// The part of a wait that one rule is to blame for.
#[derive(Clone, Copy)]
struct Part {
    rule: usize,
    ns: Ns,
    /// Who ran meanwhile, at last.
    runner: u16,
}

/// A task's wait, as long as it lasts: since when, for how long with an idle CPU.
#[derive(Clone, Copy)]
struct Waiting {
    at: Ns,
    ns: Ns,
    now: Part,
    longest: Part,
}

impl Waiting {
    /// Goes on for `ns`; answers with the part that this ends.
    fn add(&mut self, since: Ns, ns: Ns, rule: usize, runner: u16) -> Option<Part> {
        if self.ns == 0 {
            (self.at, self.now) = (since, Part { rule, ns: 0, runner });
        }
        let before = self.now;
        if before.rule != rule {
            self.now = Part { rule, ns: 0, runner };
        }
        self.ns += ns;
        self.now.ns += ns;
        self.now.runner = runner;
        if self.now.ns > self.longest.ns {
            self.longest = self.now;
        }
        (before.rule != rule).then_some(before)
    }
}

/// A task as the ledger knows it.
#[derive(Clone, Copy)]
struct Place {
    /// The queue it is on, or was last.
    cpu: Option<CpuId>,
    arrived: Ns,
    waiting: Waiting,
}

const NO_PART: Part = Part { rule: 0, ns: 0, runner: NOBODY };
const NO_WAIT: Waiting = Waiting { at: 0, ns: 0, now: NO_PART, longest: NO_PART };
const NOWHERE: Place = Place { cpu: None, arrived: 0, waiting: NO_WAIT };

/// Watches one run.
pub struct Ledger {
    since: Ns,
    tasks: PerTask<Place>,
    /// Tasks of each queue in the order of their arrival.
    queues: PerCpu<Vec<TaskId>>,
    /// CPUs with such tasks.
    used: CpuSet,
    pairs: Vec<Pair>,
    /// CPUs that idle at present because what they have is throttled, …
    n_throttled: u64,
    /// … and for how long CPUs have.
    throttled_ns: Ns,
    waiting: Vec<(TaskId, CpuId)>,
    rows: Vec<Row>,
    blame: BTreeMap<(u16, u16), Ns>,
    /// The longest first.
    longest: Vec<Wait>,
    /// Complete when the run has ended.
    pub result: Explanation,
}

impl Ledger {
    pub fn new(machine: &Machine) -> Self {
        let n = machine.n_cpus();
        Self {
            since: 0,
            tasks: PerTask::new(),
            queues: vec![Vec::new(); n].into(),
            used: CpuSet::empty(n),
            pairs: Vec::new(),
            n_throttled: 0,
            throttled_ns: 0,
            waiting: Vec::new(),
            rows: Vec::new(),
            blame: BTreeMap::new(),
            longest: Vec::new(),
            result: Explanation::default(),
        }
    }

    fn place(&mut self, p: TaskId) -> &mut Place {
        self.tasks.cover(p, || NOWHERE);
        &mut self.tasks[p]
    }

    /// `p` comes to the queue of `cpu`, after all others.
    fn arrive(&mut self, w: &World, p: TaskId, cpu: CpuId) {
        self.leave(w, p);
        let place = self.place(p);
        (place.cpu, place.arrived) = (Some(cpu), w.now);
        self.queues[cpu].push(p);
        self.used.insert(cpu);
    }

    /// `p` leaves the queue that it is on, if any.
    fn leave(&mut self, w: &World, p: TaskId) {
        self.end_wait(w, p);
        if let Some(cpu) = self.place(p).cpu.take() {
            let queue = &mut self.queues[cpu];
            queue.retain(|q| *q != p);
            if queue.is_empty() {
                self.used.remove(cpu);
            }
        }
    }

    /// `p` waits no more where it is.
    fn end_wait(&mut self, w: &World, p: TaskId) {
        let place = self.place(p);
        let (cpu, waiting) = (place.cpu, std::mem::replace(&mut place.waiting, NO_WAIT));
        if waiting.ns > 0 {
            self.rows[waiting.now.rule].waits.add(waiting.now.ns);
        }
        let shortest = self.longest.get(N_LONGEST - 1).map_or(0, |wait| wait.ns);
        let (Some(cpu), true) = (cpu, waiting.ns > shortest) else {
            return;
        };
        let t = &w.tasks[p];
        let wait = Wait {
            at_ns: START_NS + waiting.at,
            ns: waiting.ns,
            task: (comm(w, t.attr.comm), t.pid.0),
            cpu: cpu.0,
            runner: comm(w, waiting.longest.runner),
            rule: self.rows[waiting.longest.rule].reason.name,
        };
        let at = self.longest.partition_point(|other| other.ns >= wait.ns);
        self.longest.insert(at, wait);
        self.longest.truncate(N_LONGEST);
    }

    /// Charges the time since the last event to the pairs that there were.
    fn charge(&mut self, now: Ns) {
        let since = std::mem::replace(&mut self.since, now);
        let ns = now - since;
        if ns == 0 {
            return;
        }
        self.throttled_ns += self.n_throttled * ns;
        for pair in std::mem::take(&mut self.pairs) {
            self.rows[pair.rule].ns[pair.near as usize] += ns;
            *self.blame.entry(pair.comms).or_default() += ns;
            if pair.waiter.is_task() {
                let waiting = &mut self.place(pair.waiter).waiting;
                if let Some(part) = waiting.add(since, ns, pair.rule, pair.comms.1) {
                    self.rows[part.rule].waits.add(part.ns);
                }
            }
        }
    }

    /// A pair that there is at present, if there are so many: the task that waits, the CPU that
    /// idles, how far that is, and the rule to blame; nothing if it is not one of a task.
    #[expect(clippy::option_option, reason = "the end of the list, and a gap in it")]
    pub(super) fn paired(
        &self,
        at: usize,
    ) -> Option<Option<(TaskId, CpuId, Near, &'static Reason)>> {
        let pair = self.pairs.get(at)?;
        let told = pair.idle.filter(|_| pair.waiter.is_task());
        Some(told.map(|idle| (pair.waiter, idle, pair.near, self.rows[pair.rule].reason)))
    }

    /// Makes the pairs anew.
    fn pair_up(&mut self, w: &World) {
        self.pairs.clear();
        let n = w.n_idle_while_runnable() as usize;
        if n == 0 {
            return;
        }
        self.find_waiting(w);
        let mut idle = w.idle_cpus.clone();
        let mut first = 0;
        while first < self.waiting.len() && self.pairs.len() < n {
            let n_cpus = n_allowed(w, self.waiting[first].0);
            let mut end = first + 1;
            while end < self.waiting.len() && n_allowed(w, self.waiting[end].0) == n_cpus {
                end += 1;
            }
            self.pair_some(w, first..end, n, &mut idle);
            first = end;
        }
        // Where sets of CPUs cross each other another choice might have made more pairs.
        while self.pairs.len() < n {
            let rule = self.row(Kind::Placed, &Reason::UNTOLD);
            let (near, waiter, comms) = (Near::Core, TaskId::NONE, (NOBODY, NOBODY));
            self.pairs.push(Pair { rule, near, idle: None, waiter, comms });
        }
    }

    /// CPUs that idle though tasks are on their queues, all of them throttled.
    fn idle_by_throttling(&self, w: &World) -> u64 {
        if w.n_throttled == 0 {
            return 0;
        }
        let throttled = |cpu: &CpuId| self.queues[*cpu].iter().any(|p| w.tasks[*p].throttled);
        self.used.iter().filter(|cpu| w.cpus[*cpu].idle && throttled(cpu)).count() as u64
    }

    /// Pairs some of the waiting tasks, the nearest first, until there are `n` pairs.
    fn pair_some(&mut self, w: &World, which: Range<usize>, n: usize, idle: &mut CpuSet) {
        for near in Near::ALL {
            for i in which.clone() {
                let (p, at) = self.waiting[i];
                if p == TaskId::NONE || self.pairs.len() == n {
                    continue;
                }
                let Some(cpu) = nearest(w, idle, p, at, near) else {
                    continue;
                };
                idle.remove(cpu);
                self.waiting[i].0 = TaskId::NONE;
                let pair = self.pair(w, p, at, cpu, near);
                self.pairs.push(pair);
            }
        }
    }

    /// Tasks that wait, those first that may not run everywhere: the fewer CPUs, the earlier.
    fn find_waiting(&mut self, w: &World) {
        self.waiting.clear();
        for cpu in self.used.iter() {
            let c = &w.cpus[cpu];
            let waits = |p: &&TaskId| {
                let t = &w.tasks[**p];
                t.on_rq && !t.sched_delayed && !t.throttled && t.cpu == cpu && c.curr != **p
            };
            let queue = self.queues[cpu].iter().filter(waits);
            // From its dequeue to the switch a task is current still, and `waiting` leaves one out
            // for it. Of tasks that are pinned the engine counts each.
            let leaves = w.masks.len() > 1 && c.curr.is_task() && !w.tasks[c.curr].on_rq;
            let n_waiting = (c.waiting() + u32::from(leaves)) as usize;
            let n = self.waiting.len() + c.waiting() as usize;
            self.waiting.extend(queue.take(n_waiting).map(|p| (*p, cpu)));
            if self.waiting.len() < n && c.stop_work.is_some() && c.curr != TaskId::STOP {
                self.waiting.push((TaskId::STOP, cpu));
            }
        }
        if w.masks.len() > 1 {
            self.waiting.sort_by_key(|(p, _)| n_allowed(w, *p));
        }
    }

    /// `cpu` idles while `p` waits at `at`: whose decision was it?
    fn pair(&mut self, w: &World, p: TaskId, at: CpuId, cpu: CpuId, near: Near) -> Pair {
        let curr = w.cpus[at].curr;
        let comm_of = |p: TaskId| match p {
            TaskId::STOP => MIGRATION,
            p if p.is_task() => w.tasks[p].attr.comm,
            _ => NOBODY,
        };
        let comms = (comm_of(p), comm_of(curr));
        if !p.is_task() {
            let rule = self.row(Kind::Placed, &Reason::STOPPER);
            return Pair { rule, near, idle: Some(cpu), waiter: p, comms };
        }
        let first = self.queues[at].first() == Some(&p);
        let surplus = if first { self.surplus(w, p, at) } else { p };
        let (arrived, placed) = (self.place(surplus).arrived, w.tasks[surplus].placed);
        let level = common_level(w, cpu, at);
        let sought = level.map(|level| w.sought[cpu].at_level(level));
        let sought = sought.filter(|s| s.at > arrived && placed.takers != Takers::Own);
        let (kind, reason) = match sought {
            _ if first && is_on_its_way(w, at) => (Kind::Placed, &Reason::ON_ITS_WAY),
            Some(s) if s.queue.is_some_and(|q| q != at) => (Kind::Sought, &Reason::ANOTHER_QUEUE),
            Some(s) => (Kind::Sought, s.reason),
            None => (Kind::Placed, placed),
        };
        let rule = self.row(kind, reason);
        Pair { rule, near, idle: Some(cpu), waiter: p, comms }
    }

    /// Who came after `p`, the first on its queue: whoever runs there, if it is of that queue.
    fn surplus(&mut self, w: &World, p: TaskId, at: CpuId) -> TaskId {
        let curr = w.cpus[at].curr;
        let rivals = w.tasks[p].placed.takers != Takers::Any;
        let known = rivals && curr.is_task() && self.place(curr).cpu == Some(at);
        if known { curr } else { p }
    }

    fn row(&mut self, kind: Kind, reason: &'static Reason) -> usize {
        // A constant need not have one address.
        let is = |r: &Row| r.kind == kind && r.reason.name == reason.name;
        self.rows.iter().position(is).unwrap_or_else(|| {
            self.rows.push(Row { kind, reason, ns: [0; N_NEAR], waits: Times::new() });
            self.rows.len() - 1
        })
    }

    fn explanation(&self, w: &World) -> Explanation {
        let mut rules: Vec<RuleTime> = self.rows.iter().map(Row::result).collect();
        rules.retain(|r| r.total_ns() > 0);
        rules.sort_by_key(|r| (std::cmp::Reverse(r.total_ns()), r.name, r.kind));
        let blame = |((waiter, runner), ns): (&(u16, u16), &Ns)| Blame {
            waiter: comm(w, *waiter),
            runner: comm(w, *runner),
            ns: *ns,
        };
        let mut blame: Vec<Blame> = self.blame.iter().map(blame).collect();
        blame.sort_by(|a, b| {
            b.ns.cmp(&a.ns).then_with(|| (&a.waiter, &a.runner).cmp(&(&b.waiter, &b.runner)))
        });
        Explanation {
            elapsed_ns: w.now - w.measured_from,
            cpus: w.cpus.len(),
            wasted_ns: w.idle_while_runnable_ns as u64,
            throttled_ns: self.throttled_ns,
            rules,
            blame,
            longest: self.longest.clone(),
        }
    }
}

/// On how many CPUs a task may run; without affinity, more than there are.
fn n_allowed(w: &World, p: TaskId) -> u32 {
    let task = w.tasks.get(p.idx()).filter(|t| t.attr.allowed != MaskId::ALL);
    task.map_or(u32::MAX, |t| t.nr_cpus_allowed)
}

/// What the command is called; nothing if it is nobody's.
fn comm(w: &World, comm: u16) -> String {
    match comm {
        MIGRATION => "migration".to_string(),
        comm => w.comms.get(usize::from(comm)).cloned().unwrap_or_default(),
    }
}

/// An idle CPU as near as that, which `p` may use.
fn nearest(w: &World, idle: &CpuSet, p: TaskId, at: CpuId, near: Near) -> Option<CpuId> {
    let place = &w.machine.cpus[at];
    let span = match near {
        Near::Core => &w.machine.cores[place.core as usize],
        Near::Llc => &w.machine.llcs[place.llc as usize],
        Near::Node => &w.machine.nodes[place.node as usize],
        Near::Far => &w.masks[MaskId(0)],
    };
    let allowed = if p.is_task() { w.allowed_set(p) } else { &w.masks[MaskId(0)] }.words();
    let words = idle.words().iter().zip(span.words()).zip(allowed).enumerate();
    let mut common = words.map(|(i, ((a, b), c))| (i, a & b & c)).filter(|(_, word)| *word != 0);
    common.next().map(|(i, word)| CpuId(i as u32 * 64 + word.trailing_zeros()))
}

/// The lowest level of `cpu`'s domain chain that spans `other`.
fn common_level(w: &World, cpu: CpuId, other: CpuId) -> Option<usize> {
    let domains = &w.machine.domains;
    let span = |link: &ChainLink| &domains.domains[link.domain].span;
    domains.chains[cpu].iter().position(|link| span(link).contains(other))
}

/// The CPU idles still, but has been told to look at its queue.
fn is_on_its_way(w: &World, cpu: CpuId) -> bool {
    let c = &w.cpus[cpu];
    c.curr == TaskId::IDLE && c.need_resched
}

impl Observer for Ledger {
    fn switch(&mut self, w: &World, _cpu: CpuId, _prev: TaskId, next: TaskId) {
        if next.is_task() {
            self.charge(w.now);
            self.end_wait(w, next);
        }
    }

    fn enqueued(&mut self, w: &World, cpu: CpuId, task: TaskId) {
        self.charge(w.now);
        self.arrive(w, task, cpu);
    }

    fn wakeup(&mut self, w: &World, cpu: CpuId, task: TaskId, _new: bool) {
        // It may have slept on its queue.
        if self.place(task).cpu != Some(cpu) {
            self.charge(w.now);
            self.arrive(w, task, cpu);
        }
    }

    fn dequeue(&mut self, w: &World, _cpu: CpuId, task: TaskId) {
        self.charge(w.now);
        self.leave(w, task);
    }

    fn migrate(&mut self, w: &World, task: TaskId, _from: CpuId, to: CpuId, why: MigrationCause) {
        self.charge(w.now);
        // A task that is being woken or forked arrives when that is done, one that sleeps does not.
        let comes = !matches!(why, MigrationCause::Wake | MigrationCause::Fork);
        if comes && w.tasks[task].state != TaskState::Sleeping {
            self.arrive(w, task, to);
        } else if comes {
            self.leave(w, task);
        }
    }

    fn measurement_begins(&mut self, w: &World) {
        (self.since, self.throttled_ns) = (w.now, 0);
        self.blame.clear();
        self.longest.clear();
        self.tasks.iter_mut().for_each(|t| t.waiting = NO_WAIT);
        for row in &mut self.rows {
            (row.ns, row.waits) = ([0; N_NEAR], Times::new());
        }
    }

    fn after_event(&mut self, w: &World) {
        self.charge(w.now);
        self.pair_up(w);
        self.n_throttled = self.idle_by_throttling(w);
    }

    fn end(&mut self, w: &World) {
        self.charge(w.now);
        for p in (0..self.tasks.len() as u32).map(TaskId) {
            self.end_wait(w, p);
        }
        self.result = self.explanation(w);
    }
}

#[cfg(test)]
mod tests;
