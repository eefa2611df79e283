//! A CPU that needs a task: `balance_one` (spec 12.3).
//!
//! The own runqueue's lock is held at the start and at the end. On the way: the global queue, then
//! what the scheduler's `dispatch` names, again and again until something is on the local queue or
//! `dispatch` has dispatched nothing. A task that counts on another CPU's runqueue is fetched from
//! there, with the own lock dropped; whoever takes it away meanwhile has won, and the queue is
//! looked at again.
//!
//! In Linux: `balance_one`, `consume_dispatch_q`, `finish_dispatch`, `ext.c` v6.12.

use super::Ext;
use super::cx::Cx;
use super::ops::{Dsq, DsqId, Insert, Next, Ops, Wanted};
use super::reasons;
use super::state::Place;
use crate::fair::balance::PULL_LINES;
use crate::moves;
use sim_core::{LockId, Policy, Site, Step, TaskId, World};
use std::collections::VecDeque;
use topology::CpuId;

/// Inserting into a dispatch queue, or taking from it.
pub const DSQ_LOCK: &Site = &Site::new(15, "dsq_lock", Site::OTHER_LOCKS);
/// `consume_dispatch_q()`: the runqueue of a task elsewhere, and the own one again.
pub const CONSUME_RQ_LOCK: &Site = &Site::new(16, "consume_rq_lock", Site::RQ_LOCKS);

/// Rounds of `dispatch` (`SCX_DSP_MAX_LOOPS`).
const LOOPS_MAX: u32 = 32;
/// Tasks that one call of `dispatch` may insert (`SCX_DSP_DFL_MAX_BATCH`).
pub(super) const BATCH_MAX: usize = 32;

/// Who wants a queue to be consumed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum For {
    /// The kernel, before `dispatch`.
    First,
    /// The scheduler, in this attempt.
    Attempt(u32),
    /// The kernel, after `dispatch`.
    After,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Look,
    /// The queue's lock is granted.
    Hold,
    Take,
    /// A task counts elsewhere: drop the own lock, take that one.
    DropOwn,
    LockSource,
    SourceLocked,
    Fetch,
    Relock,
    Attach,
    /// Carry out what `dispatch` has inserted.
    Flush,
    FlushHold,
    FlushInsert,
    Ask(u32),
    Done,
}

/// A dispatch in progress on one CPU.
pub(super) struct Path {
    stage: Stage,
    queue: DsqId,
    purpose: For,
    loops: u32,
    /// Tasks that `dispatch` has inserted in this round.
    n_dispatched: u32,
    /// What it has inserted, in order, and at which enqueue of the task.
    pub inserted: VecDeque<(TaskId, u64, Wanted)>,
    /// What it wants to consume, in which attempt, when that is carried out.
    consumes: Option<(DsqId, u32)>,
    /// The task being fetched or inserted.
    task: TaskId,
    wanted: Option<Wanted>,
    n_enqueued: u64,
    src: CpuId,
    /// It was fetched; false: somebody else was faster.
    is_ours: bool,
    /// This schedule has dispatched: what is on the local queue now is all there is.
    pub is_over: bool,
}

impl Default for Path {
    fn default() -> Self {
        Self {
            stage: Stage::Done,
            queue: DsqId::default(),
            purpose: For::First,
            loops: LOOPS_MAX,
            n_dispatched: 0,
            inserted: VecDeque::new(),
            consumes: None,
            task: TaskId::NONE,
            wanted: None,
            n_enqueued: 0,
            src: CpuId(0),
            is_ours: false,
            is_over: false,
        }
    }
}

impl Path {
    /// True from the first look to the last.
    pub fn is_under_way(&self) -> bool {
        self.stage != Stage::Done
    }

    /// True if a task has been taken and is being fetched.
    pub fn has_task(&self) -> bool {
        use Stage::{Attach, DropOwn, Fetch, LockSource, Relock, SourceLocked};
        matches!(self.stage, DropOwn | LockSource | SourceLocked | Fetch | Relock | Attach)
    }
}

impl<S: Ops> Ext<S> {
    /// `Policy::before_idle`.
    pub(super) fn dispatch_step(&mut self, w: &mut World, cpu: CpuId, first: bool) -> Step {
        if first {
            self.begin_dispatch(w, cpu);
        }
        loop {
            let stage = self.s.rqs[cpu].path.stage;
            let (step, next) = match stage {
                Stage::Look | Stage::Hold | Stage::Take => self.consume(w, cpu, stage),
                Stage::Flush => self.flush(w, cpu),
                Stage::FlushHold | Stage::FlushInsert => self.flush_into(w, cpu, stage),
                Stage::Ask(attempt) => self.ask(w, cpu, attempt),
                Stage::Done => {
                    self.s.rqs[cpu].path.is_over = true;
                    w.note_gave_up(cpu, 0, reasons::NOTHING_DISPATCHED);
                    return Step::Done;
                }
                _ => self.fetch(w, cpu, stage),
            };
            self.s.rqs[cpu].path.stage = next;
            if let Some(step) = step {
                return step;
            }
        }
    }

    fn begin_dispatch(&mut self, w: &mut World, cpu: CpuId) {
        let queue = self.s.global_of(w, cpu);
        let rq = &mut self.s.rqs[cpu];
        let inserted = std::mem::take(&mut rq.path.inserted);
        debug_assert!(inserted.is_empty(), "each dispatch carries out what it has inserted");
        rq.path = Path { stage: Stage::Look, queue, inserted, ..Path::default() };
        if std::mem::take(&mut rq.is_released) {
            self.ops.cpu_acquire(&mut Cx::new(w, &mut self.s), cpu);
        }
    }

    // --- consume_dispatch_q ---

    fn consume(&mut self, w: &mut World, cpu: CpuId, stage: Stage) -> (Option<Step>, Stage) {
        let id = self.s.rqs[cpu].path.queue;
        let lock = self.s.dsq(id).lock;
        match stage {
            Stage::Look => {
                if self.s.dsq(id).queue.is_empty() {
                    return (None, self.found_nothing(cpu));
                }
                (Some(Step::Lock(lock, DSQ_LOCK)), Stage::Hold)
            }
            Stage::Hold => {
                let (_, skipped) = self.s.first_for(w, id, cpu);
                let ns = self.s.section_ns(w, id, self.s.nodes_touched(id) + skipped);
                (Some(Step::Spend(ns)), Stage::Take)
            }
            _ => {
                let next = match self.s.first_for(w, id, cpu).0 {
                    None => self.found_nothing(cpu),
                    Some(p) => self.take(w, cpu, p),
                };
                (Some(Step::Unlock(lock)), next)
            }
        }
    }

    /// A task was found on the queue whose lock is held.
    fn take(&mut self, w: &mut World, cpu: CpuId, p: TaskId) -> Stage {
        self.s.remove(w, p);
        if w.tasks[p].cpu == cpu {
            self.s.insert_local(w, p, self.as_it_is(p));
            return Stage::Done;
        }
        self.hold(w, cpu, p, None)
    }

    /// Goes for a task that counts on another CPU's runqueue.
    fn hold(&mut self, w: &World, cpu: CpuId, p: TaskId, wanted: Option<Wanted>) -> Stage {
        self.s.tasks[p].place = Place::InFlight(cpu);
        let path = &mut self.s.rqs[cpu].path;
        (path.task, path.wanted, path.src) = (p, wanted, w.tasks[p].cpu);
        Stage::DropOwn
    }

    /// A task moves to the local queue with the slice that it has.
    fn as_it_is(&self, p: TaskId) -> Wanted {
        let slice = self.s.tasks[p].slice;
        Wanted { to: Dsq::Local, slice, vtime: None, flags: Insert::default() }
    }

    fn found_nothing(&mut self, cpu: CpuId) -> Stage {
        let path = &mut self.s.rqs[cpu].path;
        match path.purpose {
            For::First => Stage::Ask(0),
            For::Attempt(n) => Stage::Ask(n + 1),
            For::After if path.n_dispatched > 0 && path.loops > 0 => {
                path.n_dispatched = 0;
                Stage::Ask(0)
            }
            For::After => Stage::Done,
        }
    }

    // --- move_remote_task_to_local_dsq ---

    fn fetch(&mut self, w: &mut World, cpu: CpuId, stage: Stage) -> (Option<Step>, Stage) {
        let path = &self.s.rqs[cpu].path;
        let (p, src) = (path.task, path.src);
        let (own, other) = (LockId::rq(cpu), LockId::rq(src));
        match stage {
            Stage::DropOwn => (Some(Step::Unlock(own)), Stage::LockSource),
            Stage::LockSource => (Some(Step::Lock(other, CONSUME_RQ_LOCK)), Stage::SourceLocked),
            Stage::SourceLocked => {
                let is_ours = self.s.tasks[p].place == Place::InFlight(cpu);
                self.s.rqs[cpu].path.is_ours = is_ours;
                if !is_ours {
                    return (Some(Step::Unlock(other)), Stage::Relock);
                }
                let lines = PULL_LINES * w.line_ns(cpu, src);
                (Some(Step::Spend(w.machine.costs.pull_ns + lines)), Stage::Fetch)
            }
            Stage::Fetch => {
                self.catch_up(w, src);
                w.deactivate(src, p);
                w.tasks[p].migrating = true;
                w.set_task_cpu(p, cpu, moves::BALANCE);
                (Some(Step::Unlock(other)), Stage::Relock)
            }
            Stage::Relock => (Some(Step::Lock(own, CONSUME_RQ_LOCK)), Stage::Attach),
            _ => (None, self.attach(w, cpu)),
        }
    }

    /// The own lock is held again.
    fn attach(&mut self, w: &mut World, cpu: CpuId) -> Stage {
        let path = &mut self.s.rqs[cpu].path;
        let (p, is_ours, wanted) = (path.task, path.is_ours, path.wanted.take());
        if is_ours {
            w.activate(cpu, p);
            let wanted = wanted.unwrap_or_else(|| self.as_it_is(p));
            self.s.insert_local(w, p, wanted);
        }
        match (wanted, is_ours) {
            (Some(_), _) => Stage::Flush,
            (None, true) => Stage::Done,
            (None, false) => Stage::Look,
        }
    }

    // --- ops.dispatch and finish_dispatch ---

    fn ask(&mut self, w: &mut World, cpu: CpuId, attempt: u32) -> (Option<Step>, Stage) {
        let curr = w.cpus[cpu].curr;
        let prev = (curr.is_task() && w.tasks[curr].on_rq).then_some(curr);
        let mut cx = Cx { w, s: &mut self.s, dispatching: Some(cpu) };
        self.s.rqs[cpu].path.consumes = match self.ops.dispatch(&mut cx, cpu, prev, attempt) {
            Next::Consume(id) => Some((id, attempt)),
            Next::Done => None,
        };
        (None, Stage::Flush)
    }

    /// Carries out the insertions one after another.
    fn flush(&mut self, w: &mut World, cpu: CpuId) -> (Option<Step>, Stage) {
        let next = self.s.rqs[cpu].path.inserted.pop_front();
        let Some((p, n_enqueued, mut wanted)) = next else {
            return (None, self.flushed(w, cpu));
        };
        if wanted.to == Dsq::Local && !w.allowed(p, cpu) {
            wanted.to = Dsq::Global;
        }
        if !self.s.is_kept_since(p, n_enqueued) {
            // It was taken away since, and perhaps is kept again.
            return (None, Stage::Flush);
        }
        let path = &mut self.s.rqs[cpu].path;
        path.n_dispatched += 1;
        if let Some(id) = self.s.locked_queue(w, p, wanted.to) {
            let path = &mut self.s.rqs[cpu].path;
            (path.task, path.n_enqueued) = (p, n_enqueued);
            (path.wanted, path.queue) = (Some(wanted), id);
            return (Some(Step::Lock(self.s.dsq(id).lock, DSQ_LOCK)), Stage::FlushHold);
        }
        if w.tasks[p].cpu != cpu {
            return (None, self.hold(w, cpu, p, Some(wanted)));
        }
        self.s.insert_local(w, p, wanted);
        (None, Stage::Flush)
    }

    /// The lock of the queue that an insertion goes to is held.
    fn flush_into(&mut self, w: &mut World, cpu: CpuId, stage: Stage) -> (Option<Step>, Stage) {
        let path = &mut self.s.rqs[cpu].path;
        let (p, id, n_enqueued) = (path.task, path.queue, path.n_enqueued);
        if stage == Stage::FlushHold {
            let ns = self.s.section_ns(w, id, self.s.nodes_touched(id));
            return (Some(Step::Spend(ns)), Stage::FlushInsert);
        }
        if let Some(wanted) = path.wanted.take()
            && self.s.is_kept_since(p, n_enqueued)
        {
            self.s.insert_dsq(w, id, p, wanted);
        }
        (Some(Step::Unlock(self.s.dsq(id).lock)), Stage::Flush)
    }

    /// All insertions are done: is there something to run?
    fn flushed(&mut self, w: &World, cpu: CpuId) -> Stage {
        let path = &mut self.s.rqs[cpu].path;
        if let Some((id, attempt)) = path.consumes.take() {
            (path.queue, path.purpose) = (id, For::Attempt(attempt));
            return Stage::Look;
        }
        if !self.s.rqs[cpu].local.is_empty() {
            return Stage::Done;
        }
        let queue = self.s.global_of(w, cpu);
        let path = &mut self.s.rqs[cpu].path;
        path.loops -= 1;
        (path.queue, path.purpose) = (queue, For::After);
        Stage::Look
    }
}
