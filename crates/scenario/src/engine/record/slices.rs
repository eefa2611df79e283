//! Every turn of every task, with how it came to it.

use crate::recorded::{Came, Keep, Named, Slice, SliceEnd, Timeline};
use sim_core::{Ns, Observer, PerTask, Pid, TaskId, World};
use std::collections::BTreeMap;
use topology::{CpuId, PerCpu};
use trace::export::PrevState;

/// A task as it is known here.
#[derive(Clone, Copy)]
struct Known {
    pid: Pid,
    comm: u16,
    /// Its place among [`Timeline::tasks`].
    index: u32,
    /// Since when it is runnable, why, and by whom.
    since: Ns,
    came: Came,
    waker: Option<u32>,
    waker_cpu: u32,
    last_cpu: Option<u32>,
}

const NO_NAME: u32 = u32::MAX;

const UNKNOWN: Known = Known {
    pid: Pid(u32::MAX),
    comm: 0,
    index: NO_NAME,
    since: 0,
    came: Came::Started,
    waker: None,
    waker_cpu: 0,
    last_cpu: None,
};

/// Records turns, as many as may be kept.
pub(super) struct SliceWatcher {
    keep: Keep,
    n: usize,
    known: PerTask<Known>,
    /// The turns under way, by CPU, and whose they are.
    open: PerCpu<Option<(TaskId, Slice)>>,
    /// Stoppers that are shown.
    stoppers: BTreeMap<CpuId, u32>,
    timeline: Timeline,
}

impl SliceWatcher {
    pub fn new(n_cpus: usize, keep: Keep) -> Self {
        let (from_ns, to_ns) = (keep.from_ns, keep.to_ns);
        let cpus = vec![Vec::new(); n_cpus];
        Self {
            keep,
            n: 0,
            known: PerTask::new(),
            open: vec![None; n_cpus].into(),
            stoppers: BTreeMap::new(),
            timeline: Timeline { from_ns, to_ns, cpus, ..Timeline::default() },
        }
    }

    /// Nothing that happens from now on will be kept.
    fn is_over(&self, now: Ns) -> bool {
        self.timeline.is_full || now >= self.keep.to_ns
    }

    /// What is known of a task. An id that was used before is another task by its pid.
    fn known(&mut self, w: &World, p: TaskId) -> &mut Known {
        self.known.cover(p, || UNKNOWN);
        let pid = w.tasks[p].pid;
        let known = &mut self.known[p];
        if known.pid != pid {
            *known = Known { pid, ..UNKNOWN };
        }
        known
    }

    /// The place of a task under its present name, which it has from here on if it had none.
    fn named(&mut self, w: &World, p: TaskId) -> u32 {
        self.known(w, p);
        let t = &w.tasks[p];
        let known = &mut self.known[p];
        if known.index == NO_NAME || known.comm != t.attr.comm {
            known.comm = t.attr.comm;
            known.index = self.timeline.tasks.len() as u32;
            let comm = w.comms.get(usize::from(t.attr.comm)).cloned().unwrap_or_default();
            self.timeline.tasks.push(Named { pid: t.pid.0, comm });
        }
        known.index
    }

    /// The place of the task that is current on the executing CPU, if it is not idle.
    fn current(&mut self, w: &World) -> Option<u32> {
        // A timer of the policy's own is on no CPU.
        let curr = w.cpus.get(w.this.idx())?.curr;
        curr.is_task().then(|| self.named(w, curr))
    }

    /// `p` has become runnable now, by what is executing.
    fn comes(&mut self, w: &World, p: TaskId, came: Came) {
        let waker = self.current(w);
        let waker_cpu = if w.this.idx() < w.cpus.len() { w.this.0 } else { 0 };
        let known = self.known(w, p);
        (known.since, known.came) = (w.now, came);
        (known.waker, known.waker_cpu) = (waker, waker_cpu);
    }

    fn rule(&mut self, reason: &'static sim_core::Reason) -> u16 {
        let rules = &mut self.timeline.rules;
        let at = rules.iter().position(|(name, _)| *name == reason.name).unwrap_or_else(|| {
            rules.push((reason.name, reason.text));
            rules.len() - 1
        });
        at as u16
    }

    fn stopper(&mut self, w: &World, cpu: CpuId) -> u32 {
        let tasks = &mut self.timeline.tasks;
        *self.stoppers.entry(cpu).or_insert_with(|| {
            let comm = format!("migration/{cpu}");
            tasks.push(Named { pid: w.pid(cpu, TaskId::STOP).0, comm });
            tasks.len() as u32 - 1
        })
    }

    /// The turn of `next`, which begins now.
    fn begin(&mut self, w: &World, cpu: CpuId, next: TaskId) -> Slice {
        if !next.is_task() {
            return Slice { waker_cpu: cpu.0, ..turn(w.now, cpu, UNKNOWN) };
        }
        let rule = self.rule(w.tasks[next].placed);
        let known = *self.known(w, next);
        self.known[next].last_cpu = Some(cpu.0);
        Slice { rule, waited_ns: w.now - known.since, ..turn(w.now, cpu, known) }
    }

    /// Ends the turn on a CPU. It has the name that its task has by then: a process that begins as
    /// a copy of its parent and executes another program is the latter for most of its turn.
    fn end_turn(&mut self, w: &World, cpu: CpuId, end: SliceEnd) {
        let Some((p, slice)) = self.open[cpu].take() else { return };
        if w.now < self.keep.from_ns {
            return;
        }
        let task = if p.is_task() { self.named(w, p) } else { self.stopper(w, cpu) };
        let ns = w.now - slice.at_ns;
        self.timeline.cpus[cpu.idx()].push(Slice { task, ns, end, ..slice });
    }

    /// Ends all turns: no more are kept.
    fn close(&mut self, w: &World) {
        for cpu in (0..self.open.len() as u32).map(CpuId) {
            self.end_turn(w, cpu, SliceEnd::Goes);
        }
    }

    pub fn result(self) -> Timeline {
        self.timeline
    }
}

/// A turn that has just begun, without its name.
fn turn(at_ns: Ns, cpu: CpuId, known: Known) -> Slice {
    Slice {
        at_ns,
        ns: 0,
        waited_ns: 0,
        task: 0,
        came: known.came,
        waker: known.waker,
        waker_cpu: known.waker_cpu,
        last_cpu: known.last_cpu.unwrap_or(cpu.0),
        rule: 0,
        end: SliceEnd::Goes,
    }
}

fn end_of(w: &World, prev: TaskId) -> SliceEnd {
    match PrevState::of(w, prev) {
        PrevState::Runnable | PrevState::Preempted => SliceEnd::Preempted,
        PrevState::Interruptible => SliceEnd::Sleep,
        PrevState::Uninterruptible => SliceEnd::Uninterruptible,
        PrevState::Idle => SliceEnd::Idle,
        PrevState::Dead => SliceEnd::Exit,
    }
}

impl Observer for SliceWatcher {
    fn switch(&mut self, w: &World, cpu: CpuId, prev: TaskId, next: TaskId) {
        if prev != TaskId::IDLE {
            let end = end_of(w, prev);
            self.end_turn(w, cpu, end);
            if prev.is_task() && end == SliceEnd::Preempted {
                let known = self.known(w, prev);
                (known.since, known.came) = (w.now, Came::Preempted);
                (known.waker, known.waker_cpu) = (None, cpu.0);
            }
        }
        if next == TaskId::IDLE || self.is_over(w.now) {
            return;
        }
        if self.n == self.keep.slices_max {
            self.timeline.is_full = true;
            self.timeline.to_ns = w.now;
            self.close(w);
            return;
        }
        // A turn before the window may reach into it; until then it counts for nothing.
        self.n += usize::from(w.now >= self.keep.from_ns);
        self.open[cpu] = Some((next, self.begin(w, cpu, next)));
    }

    fn waking(&mut self, w: &World, task: TaskId) {
        if self.is_over(w.now) {
            return;
        }
        let t = &w.tasks[task];
        // Awake again before it has left its queue: it has gone on waiting, or running.
        if t.on_rq && !t.sched_delayed {
            return;
        }
        let executing = w.cpus.get(w.this.idx());
        let by_task = executing.is_some_and(|c| c.curr.is_task() && !c.in_interrupt());
        self.comes(w, task, if by_task { Came::Woken } else { Came::ByInterrupt });
    }

    fn wakeup(&mut self, w: &World, _cpu: CpuId, task: TaskId, new: bool) {
        if new && !self.is_over(w.now) {
            let came = if self.current(w).is_some() { Came::Forked } else { Came::Started };
            self.comes(w, task, came);
        }
    }

    fn end(&mut self, w: &World) {
        self.close(w);
        self.timeline.to_ns = self.timeline.to_ns.min(w.now);
        self.timeline.from_ns = self.timeline.from_ns.min(self.timeline.to_ns);
    }
}
