//! A CPU that needs a task: `balance_one`.
//!
//! The own runqueue's lock is held at the start and at the end. On the way: the global queue, then
//! what the scheduler's `dispatch` names, again and again until something is on the local queue or
//! `dispatch` has dispatched nothing. A task that counts on another CPU's runqueue is fetched from
//! there, with the own lock dropped; if another CPU takes it away
//! meanwhile, the queue is looked at again.
//!
//! In Linux: `balance_one`, `consume_dispatch_q`, `finish_dispatch`, `ext.c` v6.12.

use super::cx::Cx;
use super::ops::Ops;
use super::path::{DispatchStage, Path, Purpose};
use super::reasons;
use super::state::{Ext, Place, is_forbidden};
use super::types::{Dsq, Kick, Move, Next, Wanted};
use crate::fair::state::balance::PULL_LINES;
use crate::moves;
use sim_core::{LockId, Policy, Site, Step, TaskId, World};
use topology::CpuId;

/// Inserting into a dispatch queue, or taking from it.
pub const DSQ_LOCK: &Site = &Site::new(15, "dsq_lock", Site::OTHER_LOCKS);
/// `consume_dispatch_q()`: the runqueue of a task elsewhere, and the own one again.
pub const CONSUME_RQ_LOCK: &Site = &Site::new(16, "consume_rq_lock", Site::RQ_LOCKS);

impl<S: Ops> Ext<S> {
    /// `Policy::before_idle`.
    pub(super) fn dispatch_step(&mut self, w: &mut World, cpu: CpuId, first: bool) -> Step {
        if first {
            self.begin_dispatch(w, cpu);
        }
        loop {
            let stage = self.state.rqs[cpu].path.stage;
            let (step, next) = match stage {
                DispatchStage::Look | DispatchStage::Hold | DispatchStage::Take => {
                    self.consume(w, cpu, stage)
                }
                DispatchStage::Flush => self.flush(w, cpu),
                DispatchStage::FlushHold | DispatchStage::FlushInsert => {
                    self.flush_into(w, cpu, stage)
                }
                DispatchStage::Ask(attempt) => (None, self.ask(w, cpu, attempt)),
                DispatchStage::MoveLock => {
                    let lock = self.state.dsq(self.state.rqs[cpu].path.queue).lock;
                    (Some(Step::Lock(lock, DSQ_LOCK)), DispatchStage::FlushHold)
                }
                DispatchStage::Consumed => (None, self.consumed(w, cpu)),
                DispatchStage::Done => {
                    self.state.rqs[cpu].path.is_over = true;
                    w.note_gave_up(cpu, 0, reasons::NOTHING_DISPATCHED);
                    return Step::Done;
                }
                _ => self.fetch(w, cpu, stage),
            };
            self.state.rqs[cpu].path.stage = next;
            if let Some(step) = step {
                return step;
            }
        }
    }

    fn begin_dispatch(&mut self, w: &World, cpu: CpuId) {
        let queue = self.state.global_of(w, cpu);
        let rq = &mut self.state.rqs[cpu];
        let inserted = std::mem::take(&mut rq.path.inserted);
        debug_assert!(inserted.is_empty(), "each dispatch carries out what it has inserted");
        rq.path = Path { stage: DispatchStage::Look, queue, inserted, ..Path::default() };
    }

    // --- consume_dispatch_q ---

    fn consume(
        &mut self,
        w: &mut World,
        cpu: CpuId,
        stage: DispatchStage,
    ) -> (Option<Step>, DispatchStage) {
        let id = self.state.rqs[cpu].path.queue;
        let lock = self.state.dsq(id).lock;
        match stage {
            DispatchStage::Look => {
                // Read without the lock, as in the kernel.
                if self.state.dsq(id).queue.is_empty() {
                    return (None, self.found_nothing(w, cpu));
                }
                (Some(Step::Lock(lock, DSQ_LOCK)), DispatchStage::Hold)
            }
            DispatchStage::Hold => {
                let (_, skipped) = self.state.first_for(w, id, cpu);
                let ns = self.state.section_ns(w, id, self.state.nodes_touched(id) + skipped);
                (Some(Step::Spend(ns)), DispatchStage::Take)
            }
            _ => {
                let next = match self.state.rqs[cpu].path.moves.take() {
                    Some(moves) => self.take_for_move(w, cpu, moves),
                    None => match self.state.first_for(w, id, cpu).0 {
                        None => self.found_nothing(w, cpu),
                        Some(p) => self.take(w, cpu, p),
                    },
                };
                (Some(Step::Unlock(lock)), next)
            }
        }
    }

    /// `scx_dispatch_from_dsq`: the lock of the source queue is held. The kernel holds the lock of
    /// the task's runqueue, too, also if the task stays on it.
    fn take_for_move(
        &mut self,
        w: &mut World,
        cpu: CpuId,
        (m, n_enqueued): (Move, u64),
    ) -> DispatchStage {
        let t = &self.state.tasks[m.task];
        // Did someone else get to it?
        let is_there = t.place == Place::Dsq(m.from) && t.n_enqueued == n_enqueued;
        if !is_there || !w.tasks[m.task].on_rq {
            return self.found_nothing(w, cpu);
        }
        let slice = m.slice.unwrap_or(t.slice);
        let dst = match m.to {
            Dsq::LocalOn(dst) => dst,
            _ => cpu,
        };
        let is_local = matches!(m.to, Dsq::Local | Dsq::LocalOn(_));
        let to = if is_local && is_forbidden(w, m.task, dst) { Dsq::Global } else { m.to };
        let wanted = Wanted { to, slice, vtime: m.vtime, flags: m.flags };
        self.state.remove(w, m.task);
        self.state.rqs[cpu].path.is_move = true;
        if let Some(id) = self.state.locked_queue(w, m.task, to) {
            self.state.tasks[m.task].place = Place::InFlight(cpu);
            let path = &mut self.state.rqs[cpu].path;
            (path.task, path.wanted, path.queue) = (m.task, Some(wanted), id);
            return DispatchStage::MoveLock;
        }
        if w.tasks[m.task].cpu != cpu || dst != cpu {
            return self.hold(w, cpu, m.task, Some(wanted));
        }
        self.state.insert_local(w, m.task, wanted);
        DispatchStage::Flush
    }

    /// A task was found on the queue whose lock is held.
    fn take(&mut self, w: &mut World, cpu: CpuId, p: TaskId) -> DispatchStage {
        self.state.remove(w, p);
        if w.tasks[p].cpu == cpu {
            self.state.insert_local(w, p, self.as_it_is(p));
            return self.found(cpu);
        }
        self.hold(w, cpu, p, None)
    }

    /// A queue had a task, which is on the local queue now.
    fn found(&mut self, cpu: CpuId) -> DispatchStage {
        let path = &mut self.state.rqs[cpu].path;
        match path.purpose {
            Purpose::First | Purpose::After => DispatchStage::Done,
            Purpose::Attempt(_) => {
                path.n_dispatched += 1;
                DispatchStage::Consumed
            }
        }
    }

    /// Goes for a task that counts on another CPU's runqueue.
    fn hold(&mut self, w: &World, cpu: CpuId, p: TaskId, wanted: Option<Wanted>) -> DispatchStage {
        // `holding_cpu`: a change of the task takes it away by setting this to another value.
        self.state.tasks[p].place = Place::InFlight(cpu);
        let path = &mut self.state.rqs[cpu].path;
        (path.task, path.wanted, path.src) = (p, wanted, w.tasks[p].cpu);
        path.dst = match wanted.map(|wanted| wanted.to) {
            Some(Dsq::LocalOn(dst)) => dst,
            _ => cpu,
        };
        // The own lock is that of the source already.
        if path.src == cpu { DispatchStage::SourceLocked } else { DispatchStage::DropOwn }
    }

    /// A task moves to the local queue with the slice that it has.
    fn as_it_is(&self, p: TaskId) -> Wanted {
        let slice = self.state.tasks[p].slice;
        Wanted::last(Dsq::Local, slice)
    }

    fn found_nothing(&mut self, w: &mut World, cpu: CpuId) -> DispatchStage {
        let path = &mut self.state.rqs[cpu].path;
        path.moves = None;
        match path.purpose {
            Purpose::First => DispatchStage::Ask(0),
            Purpose::Attempt(n) => DispatchStage::Ask(n + 1),
            Purpose::After if path.loops == 0 => {
                // The CPU schedules anew, so that others than its scheduler have their turn.
                self.state.kick_cpu(w, cpu, Kick::Resched);
                DispatchStage::Done
            }
            Purpose::After if path.n_dispatched > 0 => {
                path.n_dispatched = 0;
                DispatchStage::Ask(0)
            }
            Purpose::After => DispatchStage::Done,
        }
    }

    // --- move_remote_task_to_local_dsq ---

    fn fetch(
        &mut self,
        w: &mut World,
        cpu: CpuId,
        stage: DispatchStage,
    ) -> (Option<Step>, DispatchStage) {
        let path = &self.state.rqs[cpu].path;
        let p = path.task;
        let (src, dst) = (path.src, path.dst);
        let (own, other, target) = (LockId::rq(cpu), LockId::rq(src), LockId::rq(dst));
        match stage {
            DispatchStage::DropOwn => (Some(Step::Unlock(own)), DispatchStage::LockSource),
            DispatchStage::LockSource => {
                (Some(Step::Lock(other, CONSUME_RQ_LOCK)), DispatchStage::SourceLocked)
            }
            DispatchStage::SourceLocked => {
                // Between the two locks the task may have been dequeued, or fetched by another CPU.
                let is_ours = self.state.tasks[p].place == Place::InFlight(cpu);
                self.state.rqs[cpu].path.is_ours = is_ours;
                if is_ours && src == dst {
                    self.arrive(w, cpu, p);
                }
                if !is_ours || src == dst {
                    return match src == cpu {
                        true => (None, DispatchStage::Attach),
                        false => (Some(Step::Unlock(other)), DispatchStage::Relock),
                    };
                }
                // The other runqueue is remote: its lines come here.
                let lines = PULL_LINES * w.line_ns(cpu, if src == cpu { dst } else { src });
                (Some(Step::Spend(w.machine.costs.pull_ns + lines)), DispatchStage::Fetch)
            }
            DispatchStage::Fetch => {
                self.catch_up(w, src);
                w.deactivate(src, p);
                w.tasks[p].migrating = true;
                w.set_task_cpu(p, dst, moves::BALANCE);
                let next =
                    if dst == cpu { DispatchStage::Relock } else { DispatchStage::LockTarget };
                (Some(Step::Unlock(other)), next)
            }
            DispatchStage::LockTarget => {
                (Some(Step::Lock(target, CONSUME_RQ_LOCK)), DispatchStage::TargetLocked)
            }
            DispatchStage::TargetLocked => {
                self.state.activate(w, dst, p);
                self.arrive(w, cpu, p);
                (Some(Step::Unlock(target)), DispatchStage::Relock)
            }
            DispatchStage::Relock => {
                (Some(Step::Lock(own, CONSUME_RQ_LOCK)), DispatchStage::Attach)
            }
            _ => (None, self.attach(w, cpu)),
        }
    }

    /// The task is on the runqueue of the other CPU that it was dispatched to, whose lock is held.
    fn arrive(&mut self, w: &mut World, cpu: CpuId, p: TaskId) {
        let path = &mut self.state.rqs[cpu].path;
        path.is_ours = false;
        if let Some(wanted) = path.wanted {
            self.state.insert_local(w, p, wanted);
        }
        let dst = w.tasks[p].cpu;
        if w.cpus[dst].curr == TaskId::IDLE {
            w.resched_curr(dst);
        }
    }

    /// The own lock is held again.
    fn attach(&mut self, w: &mut World, cpu: CpuId) -> DispatchStage {
        let path = &mut self.state.rqs[cpu].path;
        let p = path.task;
        let is_ours = path.is_ours;
        let wanted = path.wanted.take();
        if is_ours {
            self.state.activate(w, cpu, p);
            let wanted = wanted.unwrap_or_else(|| self.as_it_is(p));
            self.state.insert_local(w, p, wanted);
        }
        match (wanted, is_ours) {
            (Some(_), _) => DispatchStage::Flush,
            (None, true) => self.found(cpu),
            (None, false) => DispatchStage::Look,
        }
    }

    // --- ops.dispatch and finish_dispatch ---

    fn ask(&mut self, w: &mut World, cpu: CpuId, attempt: u32) -> DispatchStage {
        let prev = self.state.own_curr(w, cpu).filter(|curr| w.tasks[*curr].on_rq);
        let mut cx = Cx { w, state: &mut self.state, dispatching: Some(cpu) };
        let next = self.ops.dispatch(&mut cx, cpu, prev, attempt);
        self.answered(cpu, next, attempt)
    }

    /// `scx_bpf_consume` returns true, and `dispatch` goes on.
    fn consumed(&mut self, w: &mut World, cpu: CpuId) -> DispatchStage {
        let mut cx = Cx { w, state: &mut self.state, dispatching: Some(cpu) };
        let next = self.ops.consumed(&mut cx, cpu);
        let attempt = match self.state.rqs[cpu].path.purpose {
            Purpose::Attempt(n) => n + 1,
            Purpose::First | Purpose::After => 0,
        };
        self.answered(cpu, next, attempt)
    }

    fn answered(&mut self, cpu: CpuId, next: Next, attempt: u32) -> DispatchStage {
        let path = &mut self.state.rqs[cpu].path;
        path.consumes = match next {
            Next::Consume(id) => Some((id, attempt)),
            Next::Done => None,
            Next::Move(m) => {
                path.moves = Some((m, self.state.tasks[m.task].n_enqueued));
                (path.queue, path.purpose) = (m.from, Purpose::Attempt(attempt));
                return DispatchStage::Look;
            }
        };
        DispatchStage::Flush
    }

    /// Carries out the insertions one after another.
    fn flush(&mut self, w: &mut World, cpu: CpuId) -> (Option<Step>, DispatchStage) {
        if std::mem::take(&mut self.state.rqs[cpu].path.is_move) {
            return (None, DispatchStage::Consumed);
        }
        let next = self.state.rqs[cpu].path.inserted.pop_front();
        let Some((p, n_enqueued, mut wanted)) = next else {
            return (None, self.flushed(w, cpu));
        };
        let dst = match wanted.to {
            Dsq::LocalOn(dst) => dst,
            _ => cpu,
        };
        if !self.state.is_kept_since(p, n_enqueued) {
            // It was taken away since, and perhaps is kept again.
            return (None, DispatchStage::Flush);
        }
        let is_local = matches!(wanted.to, Dsq::Local | Dsq::LocalOn(_));
        if is_local && is_forbidden(w, p, dst) {
            wanted.to = Dsq::Global;
        }
        let path = &mut self.state.rqs[cpu].path;
        path.n_dispatched += 1;
        if let Some(id) = self.state.locked_queue(w, p, wanted.to) {
            let path = &mut self.state.rqs[cpu].path;
            (path.task, path.n_enqueued) = (p, n_enqueued);
            (path.wanted, path.queue) = (Some(wanted), id);
            return (Some(Step::Lock(self.state.dsq(id).lock, DSQ_LOCK)), DispatchStage::FlushHold);
        }
        if w.tasks[p].cpu != cpu || dst != cpu {
            return (None, self.hold(w, cpu, p, Some(wanted)));
        }
        self.state.insert_local(w, p, wanted);
        (None, DispatchStage::Flush)
    }

    /// The lock of the queue that an insertion goes to is held.
    fn flush_into(
        &mut self,
        w: &mut World,
        cpu: CpuId,
        stage: DispatchStage,
    ) -> (Option<Step>, DispatchStage) {
        let path = &mut self.state.rqs[cpu].path;
        let p = path.task;
        let id = path.queue;
        let n_enqueued = path.n_enqueued;
        if stage == DispatchStage::FlushHold {
            let ns = self.state.section_ns(w, id, self.state.nodes_touched(id));
            return (Some(Step::Spend(ns)), DispatchStage::FlushInsert);
        }
        let is_move = path.is_move;
        let wanted = path.wanted.take();
        let is_ours = match is_move {
            true => self.state.tasks[p].place == Place::InFlight(cpu),
            false => self.state.is_kept_since(p, n_enqueued),
        };
        if let Some(wanted) = wanted.filter(|_| is_ours) {
            self.state.insert_dsq(w, id, p, wanted);
        }
        (Some(Step::Unlock(self.state.dsq(id).lock)), DispatchStage::Flush)
    }

    /// All insertions are done: is there something to run?
    fn flushed(&mut self, w: &World, cpu: CpuId) -> DispatchStage {
        let path = &mut self.state.rqs[cpu].path;
        if let Some((id, attempt)) = path.consumes.take() {
            (path.queue, path.purpose) = (id, Purpose::Attempt(attempt));
            return DispatchStage::Look;
        }
        let curr = self.state.own_curr(w, cpu);
        let goes_on = curr.is_some_and(|p| w.tasks[p].on_rq && self.state.tasks[p].slice > 0);
        if goes_on || !self.state.rqs[cpu].local.is_empty() {
            return DispatchStage::Done;
        }
        let queue = self.state.global_of(w, cpu);
        let path = &mut self.state.rqs[cpu].path;
        path.loops -= 1;
        (path.queue, path.purpose) = (queue, Purpose::After);
        DispatchStage::Look
    }
}
