//! The worker's loop: as operations of its task, and as what happens under the
//! pool's lock in between.

use super::active::Next;
use super::path::Errand;
use super::{CPU_INTENSIVE_THRESH_NS, Item, WorkId, WorkerId, Workqueues};
use sim_core::{Op, ProgramCx, TaskId};

/// What a worker's task does next.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Turn {
    /// This.
    Op(Op),
    /// Executes this item: the owner says what that means, operation by operation, each passed
    /// through [`Workqueues::in_work`], and ends with [`Workqueues::work_done`].
    Work(WorkId),
}

/// Where a worker is in its loop.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Stage {
    /// Has not entered the loop.
    Unborn,
    /// On the idle list; goes to sleep now.
    Sleep,
    /// Goes into the pool.
    Awake,
    /// In an item.
    Work(WorkId),
    /// In an item, about to do this, which blocks.
    Block(WorkId, Op),
    /// To tell a flusher that it has waited for long enough.
    Barrier(TaskId),
    /// Has returned from an item or a barrier.
    Back,
    /// The manager: makes a thread, starts it, attaches it, looks again.
    Create,
    Start,
    Attach(WorkerId),
    Recheck,
    /// Its pool is no longer used.
    Exit,
}

impl Workqueues {
    /// What the worker `task` does next.
    pub fn turn(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Turn {
        let worker = self.worker_of(task);
        let w = &mut self.workers[worker];
        let pool = w.pool;
        let stage = w.stage;
        Turn::Op(match stage {
            Stage::Work(work) => {
                self.running_again(cx, worker);
                return Turn::Work(work);
            }
            // A new thread waits until its maker has attached it.
            Stage::Unborn if !w.attached => Op::Wait,
            Stage::Unborn | Stage::Awake => self.enter(cx, Errand::Woken(worker), pool),
            Stage::Sleep => {
                w.stage = Stage::Awake;
                Op::Wait
            }
            Stage::Block(work, op) => {
                w.stage = Stage::Work(work);
                op
            }
            Stage::Barrier(flusher) => {
                w.stage = Stage::Back;
                self.set_flushing(flusher, false);
                Op::Wake { task: flusher, sync: false }
            }
            Stage::Back => self.enter(cx, Errand::Returned(worker), pool),
            Stage::Create => {
                w.stage = Stage::Start;
                Op::Kernel(cx.machine().workqueue.create_worker_ns)
            }
            Stage::Start => {
                let new = self.make_worker(cx, pool);
                self.workers[worker].stage = Stage::Attach(new);
                Op::Fork(self.workers[new].task)
            }
            Stage::Attach(new) => {
                w.stage = Stage::Recheck;
                self.enter(cx, Errand::Attach(new), pool)
            }
            Stage::Recheck => self.enter(cx, Errand::Managed(worker), pool),
            Stage::Exit => {
                // The number of the task may be used again.
                self.worker_of[task] = None;
                Op::Exit
            }
        })
    }

    pub(super) fn enter(
        &mut self,
        cx: &mut ProgramCx<'_>,
        errand: Errand,
        pool: super::PoolId,
    ) -> Op {
        self.begin(cx, errand, pool);
        Op::Path
    }

    /// An operation of the item that `task` executes: if it blocks, the pool is told before.
    pub fn in_work(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, op: Op) -> Op {
        let worker = self.worker_of(task);
        if !matches!(op, Op::Wait | Op::Sleep(_) | Op::SleepUntil(_)) || !self.counts(worker) {
            return op;
        }
        if op == Op::Wait {
            cx.prepare_to_wait(task);
        }
        let w = &mut self.workers[worker];
        if let Stage::Work(work) = w.stage {
            w.stage = Stage::Block(work, op);
        }
        let pool = w.pool;
        self.enter(cx, Errand::Blocking(worker), pool)
    }

    /// The item that a worker executes.
    pub fn work_of(&self, task: TaskId) -> Option<WorkId> {
        self.workers[self.worker_of(task)].current
    }

    /// The item that `task` executes is complete.
    pub fn work_done(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let worker = self.worker_of(task);
        self.workers[worker].stage = Stage::Back;
        let pool = self.workers[worker].pool;
        self.enter(cx, Errand::Returned(worker), pool)
    }

    /// `wq_worker_running`: it has blocked in its item and runs again.
    fn running_again(&mut self, cx: &ProgramCx<'_>, worker: WorkerId) {
        if !self.workers[worker].sleeping {
            return;
        }
        let ran = cx.ran_ns(self.workers[worker].task);
        self.change_flags(worker, |w| (w.sleeping, w.since_ns) = (false, ran));
    }

    // --- under the pool's lock; each says whether the pool is to be kicked ---

    /// A worker that was idle looks for work; one that was handed some has left the idle list.
    pub(super) fn woken(&mut self, cx: &mut ProgramCx<'_>, worker: WorkerId) -> bool {
        if !self.workers[worker].idle {
            self.change_flags(worker, |w| w.prep = false);
            return self.start_next(cx, worker);
        }
        self.leave_idle(worker);
        self.recheck(cx, worker)
    }

    pub(super) fn recheck(&mut self, cx: &mut ProgramCx<'_>, worker: WorkerId) -> bool {
        let pool = self.workers[worker].pool;
        let p = &mut self.pools[pool];
        if !p.need_more_work() {
            return self.rest(cx, worker);
        }
        // One worker is kept idle for the next wake-up, or is being made.
        if p.idle.is_empty() && !p.has_manager {
            p.has_manager = true;
            self.workers[worker].stage = Stage::Create;
            return false;
        }
        self.change_flags(worker, |w| w.prep = false);
        self.assign(pool, worker);
        self.start_next(cx, worker)
    }

    /// A manager has made a worker; if that has left the idle list already, one more is made.
    pub(super) fn managed(&mut self, cx: &mut ProgramCx<'_>, worker: WorkerId) -> bool {
        let pool = self.workers[worker].pool;
        let p = &mut self.pools[pool];
        if p.need_to_create() {
            self.workers[worker].stage = Stage::Create;
            return false;
        }
        p.has_manager = false;
        self.recheck(cx, worker)
    }

    /// The end of an item, or of a barrier: what becomes active in its place.
    pub(super) fn ended(&mut self, cx: &mut ProgramCx<'_>, worker: WorkerId) -> Next {
        match self.workers[worker].current.take() {
            Some(work) => self.complete(cx, worker, work),
            None => Next::Nothing,
        }
    }

    fn complete(&mut self, cx: &mut ProgramCx<'_>, worker: WorkerId, work: WorkId) -> Next {
        self.count_time(cx, worker);
        if self.workers[worker].cpu_intensive {
            self.change_flags(worker, |w| w.cpu_intensive = false);
        }
        cx.watch_ticks(self.workers[worker].task, false);
        let pwq = self.workers[worker].pwq;
        let p = &mut self.pwqs[pwq];
        p.stats.completed += 1;
        self.works[work].running = None;
        let wq = p.wq;
        let color = self.workers[worker].color;
        let wakes = &mut self.wakes[cx.cpu()];
        let before = wakes.len();
        self.wqs[wq].flushes.remove(color, |task| wakes.push(task));
        for i in before..self.wakes[cx.cpu()].len() {
            self.set_flushing(self.wakes[cx.cpu()][i], false);
        }
        self.dec_active(pwq)
    }

    /// What the worker was given comes first; then what the pool has, as long as not too many
    /// others run.
    pub(super) fn start_next(&mut self, cx: &mut ProgramCx<'_>, worker: WorkerId) -> bool {
        let pool = self.workers[worker].pool;
        while self.workers[worker].scheduled.is_empty() {
            if !self.pools[pool].keep_working() {
                self.change_flags(worker, |w| w.prep = true);
                return self.rest(cx, worker);
            }
            self.assign(pool, worker);
        }
        match self.workers[worker].scheduled.pop_front() {
            Some(Item::Work(work)) => self.begin_work(cx, worker, work),
            Some(Item::Barrier(task)) => self.workers[worker].stage = Stage::Barrier(task),
            None => {}
        }
        // The chain: if more waits, the next idle worker is woken.
        true
    }

    fn begin_work(&mut self, cx: &mut ProgramCx<'_>, worker: WorkerId, work: WorkId) {
        let item = &mut self.works[work];
        item.listed = false;
        (item.running, item.last_pool) = (Some(worker), Some(self.workers[worker].pool));
        let pwq = item.pwq;
        let color = item.color;
        let flushers = std::mem::take(&mut item.flushers);
        let w = &mut self.workers[worker];
        for task in flushers.iter().rev() {
            w.scheduled.push_front(Item::Barrier(*task));
        }
        // The list's memory is used again.
        self.works[work].flushers = flushers;
        self.works[work].flushers.clear();
        let ran = cx.ran_ns(w.task);
        (w.current, w.pwq, w.color) = (Some(work), pwq, color);
        (w.since_ns, w.counted_ns) = (ran, ran);
        w.stage = Stage::Work(work);
        let p = &mut self.pwqs[pwq];
        p.stats.started += 1;
        p.stats.cpu_local += u64::from(p.cpu == cx.cpu());
        if self.wqs[p.wq].spec.cpu_intensive {
            self.change_flags(worker, |w| w.cpu_intensive = true);
        }
        if self.counts(worker) {
            cx.watch_ticks(self.workers[worker].task, true);
        }
    }

    /// Nothing to do: onto the idle list, and to sleep.
    fn rest(&mut self, cx: &mut ProgramCx<'_>, worker: WorkerId) -> bool {
        let pool = self.workers[worker].pool;
        if self.pools[pool].refs == 0 {
            self.pools[pool].n_workers -= 1;
            self.workers[worker].stage = Stage::Exit;
            return false;
        }
        self.enter_idle(worker);
        cx.prepare_to_wait(self.workers[worker].task);
        self.workers[worker].stage = Stage::Sleep;
        false
    }

    // --- CPU hogs ---

    /// A tick has hit the worker `task` in an item: if that has run for too long, a path on this
    /// CPU will mark it (the caller raises the interrupt that runs [`Workqueues::hog_path`]).
    pub fn tick(&mut self, cx: &ProgramCx<'_>, task: TaskId) -> bool {
        let worker = self.worker_of(task);
        let w = &self.workers[worker];
        let hog = self.counts(worker)
            && w.current.is_some()
            && cx.ran_ns(task) - w.since_ns >= CPU_INTENSIVE_THRESH_NS;
        if hog {
            self.hogs[cx.cpu()] = Some(worker);
        }
        hog
    }

    /// In an interrupt: begins the path that the tick has asked for, if it has.
    pub fn hog_path(&mut self, cx: &ProgramCx<'_>) -> bool {
        let Some(worker) = self.hogs[cx.cpu()].take() else {
            return false;
        };
        let pool = self.workers[worker].pool;
        self.begin(cx, Errand::Hog(worker), pool);
        true
    }

    pub(super) fn mark_hog(&mut self, worker: WorkerId) -> bool {
        if !self.counts(worker) || self.workers[worker].current.is_none() {
            return false;
        }
        self.change_flags(worker, |w| w.cpu_intensive = true);
        let pwq = self.workers[worker].pwq;
        self.pwqs[pwq].stats.cpu_intensive += 1;
        true
    }
}
