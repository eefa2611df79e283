//! What is done under a pool's lock, as a path of steps: lock, hold, act, wake, unlock.
//!
//! The lock is held through the wake-ups, so a wait for a runqueue's lock inside
//! lengthens the hold. Interrupts are off, so a CPU has at most one such path.

use super::active::Next;
use super::{PoolId, PwqId, WorkId, WorkerId, Workqueues};
use sim_core::{Ns, ProgramCx, Stack, Step, TaskId};
use topology::CpuId;

/// What a path is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Errand {
    /// `queue_work`
    Queue(WorkId),
    /// `flush_work`, by this task.
    Flush(WorkId, TaskId),
    /// A worker has been woken.
    Woken(WorkerId),
    /// A worker's item, or barrier, has returned.
    Returned(WorkerId),
    /// A worker that counts is about to block in its item.
    Blocking(WorkerId),
    /// The first worker has made the second one.
    Attach(WorkerId),
    /// A manager looks again.
    Managed(WorkerId),
    /// A tick has found that an item hogs the CPU.
    Hog(WorkerId),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// No path is under way.
    None,
    /// The pool that the item ran in last must be asked first.
    AskLast(PoolId),
    AskedLast(PoolId),
    Lock,
    /// The pwq was replaced meanwhile: begin anew.
    Retry,
    Hold,
    Act,
    /// What is active next is an item of another pool, whose lock takes the place of the own one's.
    Away,
    AwayAct,
    AwayPull,
    AwayKick,
    AwayUnlock,
    Relock,
    Relocked,
    /// The own pool is locked, and an item that has ended is accounted for.
    Ended,
    Wake,
    Kick,
    Unlock,
    End,
}

/// A path under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    errand: Errand,
    pool: PoolId,
    /// The pool whose lock is held, or is next.
    locked: PoolId,
    /// Of the item being queued.
    pub pwq: PwqId,
    stage: Stage,
    kick: bool,
}

impl Path {
    pub const NONE: Path = Path {
        errand: Errand::Queue(WorkId(u32::MAX)),
        pool: PoolId(u32::MAX),
        locked: PoolId(u32::MAX),
        pwq: PwqId(u32::MAX),
        stage: Stage::None,
        kick: false,
    };
}

fn wake(task: TaskId) -> Step {
    Step::Wake { task, sync: false }
}

impl Workqueues {
    /// True if the executing CPU is in a path of the workqueues: [`Workqueues::step`] goes on.
    #[inline]
    pub fn under_way(&self, cx: &ProgramCx<'_>) -> bool {
        self.paths[cx.cpu()].stage != Stage::None
    }

    /// Begins a path of the executing CPU.
    pub(super) fn begin(&mut self, cx: &ProgramCx<'_>, errand: Errand, pool: PoolId) {
        debug_assert!(!self.under_way(cx), "{errand:?} in the middle of another path");
        let path = Path { errand, pool, locked: pool, stage: Stage::Lock, ..Path::NONE };
        self.paths[cx.cpu()] = path;
    }

    /// Begins `queue_work`; an item that runs elsewhere must go there.
    pub(super) fn begin_queue(&mut self, cx: &ProgramCx<'_>, work: WorkId) {
        let wq = self.works[work].wq;
        let pwq = self.wqs[wq].pwqs[cx.cpu()];
        let pool = self.pwqs[pwq].pool;
        self.begin(cx, Errand::Queue(work), pool);
        let path = &mut self.paths[cx.cpu()];
        path.pwq = pwq;
        if let Some(last) = self.works[work].last_pool.filter(|last| *last != pool) {
            // The item may still run there, and must not run twice at once.
            path.stage = Stage::AskLast(last);
        }
    }

    /// The next step of the path of the executing CPU; `Done` when it is through.
    pub fn step(&mut self, cx: &mut ProgramCx<'_>) -> Step {
        let cpu = cx.cpu();
        loop {
            let path = self.paths[cpu];
            let (next, step) = match path.stage {
                Stage::None => return Step::Done,
                Stage::AskLast(last) => (Stage::AskedLast(last), Some(self.lock(last))),
                Stage::AskedLast(last) => self.asked(cpu, last),
                Stage::Lock => (Stage::Hold, Some(self.lock(path.pool))),
                Stage::Retry => {
                    self.retry(cx, path.errand);
                    continue;
                }
                Stage::Hold => (Stage::Act, Some(Step::Spend(self.hold_ns(cx, path)))),
                // The workqueue changed its pwqs while this CPU waited for the lock.
                Stage::Act if self.is_stale(path) => (Stage::Retry, Some(self.unlock(path.pool))),
                Stage::Act => match self.end_item(cx, path.errand) {
                    Next::Of(other) => self.leave_for(cpu, other),
                    Next::Active | Next::Nothing => (Stage::Ended, None),
                },
                Stage::Away => (Stage::AwayAct, Some(self.lock(path.locked))),
                // `node_activate_pending_pwq` looks again, since it had no lock for a moment.
                Stage::AwayAct => match self.activate_next(path) {
                    Next::Of(other) => self.leave_for(cpu, other),
                    _ if path.locked == path.pool => (Stage::Ended, None),
                    Next::Active => (Stage::AwayPull, None),
                    Next::Nothing => (Stage::AwayUnlock, None),
                },
                Stage::AwayPull => (Stage::AwayKick, Some(self.pull(cx, path.locked))),
                Stage::AwayKick => match self.kick(cx, path.locked) {
                    Some((task, true)) => (Stage::AwayKick, Some(wake(task))),
                    Some((task, false)) => (Stage::AwayUnlock, Some(wake(task))),
                    None => (Stage::AwayUnlock, None),
                },
                Stage::AwayUnlock => (Stage::Relock, Some(self.unlock(path.locked))),
                Stage::Relock => (Stage::Relocked, Some(self.lock(path.pool))),
                Stage::Relocked => (Stage::Ended, Some(self.pull(cx, path.pool))),
                Stage::Ended => {
                    let kick = self.act(cx, path.errand);
                    self.paths[cpu].kick = kick;
                    (Stage::Wake, None)
                }
                Stage::Wake => match self.wakes[cpu].pop() {
                    Some(task) => (Stage::Wake, Some(wake(task))),
                    None if path.kick => (Stage::Kick, None),
                    None => (Stage::Unlock, None),
                },
                Stage::Kick => self.next_kick(cx, path),
                Stage::Unlock => {
                    self.leave(path.errand);
                    (Stage::End, Some(self.unlock(path.pool)))
                }
                Stage::End => (Stage::None, Some(Step::Done)),
            };
            self.paths[cpu].stage = next;
            if let Some(step) = step {
                return step;
            }
        }
    }

    /// For profiles: the functions that a path of `cpu` is in.
    pub fn unwind(&self, cpu: CpuId, stack: &mut Stack) {
        let path = &self.paths[cpu];
        if path.stage == Stage::None {
            return;
        }
        stack.call(match path.errand {
            Errand::Queue(_) => &["queue_work_on", "__queue_work"],
            Errand::Flush(..) => &["__flush_work"],
            Errand::Woken(_) | Errand::Returned(_) | Errand::Managed(_) => &[],
            Errand::Attach(_) => &["create_worker"],
            Errand::Blocking(_) => &["schedule", "wq_worker_sleeping"],
            Errand::Hog(_) => &["wq_worker_tick"],
        });
        match path.stage {
            Stage::AskedLast(_) | Stage::Hold | Stage::AwayAct | Stage::Relocked => {
                stack.call(&["_raw_spin_lock"]);
            }
            Stage::AwayKick | Stage::AwayUnlock => stack.call(&["kick_pool", "wake_up_process"]),
            Stage::Kick | Stage::Unlock if path.kick => {
                stack.call(&["kick_pool", "wake_up_process"]);
            }
            _ => {}
        }
    }

    fn lock(&self, pool: PoolId) -> Step {
        Step::Lock(self.pools[pool].lock, super::POOL_LOCK_SITE)
    }

    fn unlock(&self, pool: PoolId) -> Step {
        Step::Unlock(self.pools[pool].lock)
    }

    /// The lines that the lock of `pool` protects come from whoever held it last.
    fn pull(&self, cx: &ProgramCx<'_>, pool: PoolId) -> Step {
        Step::Spend(cx.pull_ns(self.pools[pool].lock, cx.machine().workqueue.lines))
    }

    /// `pwq_dec_nr_active`, if the errand is that an item has ended.
    fn end_item(&mut self, cx: &mut ProgramCx<'_>, errand: Errand) -> Next {
        match errand {
            Errand::Returned(worker) => self.ended(cx, worker),
            _ => Next::Nothing,
        }
    }

    /// One pool is locked at a time, so two that look for each other's items cannot block.
    fn leave_for(&mut self, cpu: CpuId, other: PoolId) -> (Stage, Option<Step>) {
        let left = std::mem::replace(&mut self.paths[cpu].locked, other);
        (Stage::Away, Some(self.unlock(left)))
    }

    /// The item that comes next after the one that has ended becomes active, if it is one of the
    /// pool that is locked.
    fn activate_next(&mut self, path: Path) -> Next {
        match path.errand {
            Errand::Returned(worker) => {
                let wq = self.pwqs[self.workers[worker].pwq].wq;
                self.activate_pending(wq, path.pool, path.locked)
            }
            _ => Next::Nothing,
        }
    }

    /// The pool where the item ran last is locked: if it still runs there, it stays there.
    fn asked(&mut self, cpu: CpuId, last: PoolId) -> (Stage, Option<Step>) {
        let path = &mut self.paths[cpu];
        if let Errand::Queue(work) = path.errand
            && let Some(worker) = self.works[work].running
            && self.workers[worker].pool == last
        {
            (path.pool, path.locked) = (last, last);
            path.pwq = self.workers[worker].pwq;
            return (Stage::Hold, None);
        }
        (Stage::Lock, Some(self.unlock(last)))
    }

    /// The workqueue has another pwq by now, and nothing holds the one that was chosen.
    fn is_stale(&self, path: Path) -> bool {
        matches!(path.errand, Errand::Queue(_)) && self.pwqs[path.pwq].is_released()
    }

    fn retry(&mut self, cx: &ProgramCx<'_>, errand: Errand) {
        if let Errand::Queue(work) = errand {
            self.paths[cx.cpu()].stage = Stage::None;
            self.begin_queue(cx, work);
        }
    }

    fn hold_ns(&self, cx: &ProgramCx<'_>, path: Path) -> Ns {
        let costs = cx.machine().workqueue;
        let own = match path.errand {
            Errand::Queue(_) | Errand::Flush(..) => costs.queue_ns,
            _ => costs.work_ns,
        };
        own + cx.pull_ns(self.pools[path.pool].lock, costs.lines)
    }

    /// What the errand does at the end of its hold time; true if the pool is to be kicked.
    fn act(&mut self, cx: &mut ProgramCx<'_>, errand: Errand) -> bool {
        match errand {
            Errand::Queue(work) => self.insert(cx, work),
            Errand::Flush(work, task) => {
                self.insert_barrier(work, task);
                false
            }
            Errand::Woken(worker) => self.woken(cx, worker),
            Errand::Returned(worker) => self.start_next(cx, worker),
            Errand::Managed(worker) => self.managed(cx, worker),
            // `wq_worker_sleeping`: the pool loses a running worker and wakes another one.
            Errand::Blocking(worker) => {
                self.change_flags(worker, |w| w.sleeping = true);
                true
            }
            Errand::Attach(worker) => {
                self.attach(worker);
                let pool = self.pool_of(worker);
                // A new worker is woken by the kick, or else by itself, to become idle.
                let kicked = pool.need_more_work();
                if !kicked {
                    let task = self.workers[worker].task;
                    self.wakes[cx.cpu()].push(task);
                }
                kicked
            }
            Errand::Hog(worker) => self.mark_hog(worker),
        }
    }

    fn next_kick(&mut self, cx: &mut ProgramCx<'_>, path: Path) -> (Stage, Option<Step>) {
        let Some((task, again)) = self.kick(cx, path.pool) else {
            return (Stage::Unlock, None);
        };
        if let Errand::Blocking(worker) | Errand::Hog(worker) = path.errand {
            let pwq = self.workers[worker].pwq;
            // Concurrency management has woken it, not a new item.
            self.pwqs[pwq].stats.cm_wakeups += 1;
        }
        (if again { Stage::Kick } else { Stage::Unlock }, Some(wake(task)))
    }

    /// The last thing under the lock: an item that is about to run may be queued again.
    fn leave(&mut self, errand: Errand) {
        if let Errand::Woken(worker) | Errand::Returned(worker) | Errand::Managed(worker) = errand
            && let Some(work) = self.workers[worker].current
        {
            self.works[work].pending = false;
        }
    }
}
