//! dm-crypt: the work items of kcryptd, the thread that writes, the handler of completions.

use super::{Dir, DmCrypt};
use policies::workqueue::WorkId;
use sim_core::{LockId, Op, ProgramCx, Site, Step, TaskAttr, TaskId};
use topology::PerCpu;

/// kcryptd and dmcrypt_write take the lock of the tree of writes.
pub const WRITE_LOCK_SITE: &Site = &Site::new(19, "dmcrypt_write_lock", Site::OTHER_LOCKS);

/// How far a request's work item is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WorkStep {
    Begin,
    /// So many pieces of its bytes are left.
    Pieces(u64),
    /// Its bytes are through.
    Crypted,
    /// A write that goes into the tree; a read that goes into the ring.
    Deliver,
    Delivered,
}

impl WorkStep {
    fn after_piece(left: u64) -> Self {
        if left == 0 { WorkStep::Crypted } else { WorkStep::Pieces(left) }
    }
}

/// dmcrypt_write, and the tree that it writes out.
#[derive(Default)]
pub(super) struct Writer {
    task: Option<TaskId>,
    lock: Option<LockId>,
    tree: Vec<u32>,
    /// Requests taken out of the tree, in reverse: the next to be submitted is the last.
    batch: Vec<u32>,
    at: WriterAt,
    /// By CPU: the path under way there.
    paths: PerCpu<InsertStep>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum WriterAt {
    #[default]
    Look,
    /// Nothing was there; it is prepared to wait.
    Wait,
    Submit,
    /// The command for this request is written.
    Submitted(u32),
}

/// A path under the lock of the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum InsertStep {
    #[default]
    Lock,
    /// The first insertion into an empty tree wakes the thread, under the lock.
    Wake,
    Hold,
    Act,
    Done,
}

impl Writer {
    pub fn start(&mut self, cx: &mut ProgramCx<'_>) {
        let comm = cx.comm("dmcrypt_write");
        self.lock = Some(cx.new_lock("write_thread_lock"));
        self.paths = vec![InsertStep::Lock; cx.n_cpus()].into();
        self.task = Some(cx.start_task(TaskAttr { comm, kthread: true, ..TaskAttr::default() }));
    }

    pub fn is(&self, task: TaskId) -> bool {
        self.task == Some(task)
    }
}

impl DmCrypt {
    /// In how many pieces a request is encrypted. In a kernel that is not preemptible dm-crypt
    /// offers its CPU after each sector (`cond_resched()` in `crypt_convert()`); a preemptible one
    /// needs no such offer.
    fn pieces(&self, cx: &ProgramCx<'_>) -> u64 {
        if cx.machine().preemptible_kernel { 1 } else { self.config.sectors() }
    }

    /// What a worker of kcryptd does next for a request.
    pub(super) fn work(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, work: WorkId) -> Op {
        let (io, times, pieces) = (work.0, self.times(), self.pieces(cx));
        let request = &mut self.ios[work.0 as usize];
        let (dir, data) = (request.dir, request.data);
        let op = match request.at {
            WorkStep::Begin => {
                request.at = WorkStep::after_piece(pieces - 1);
                // The first piece takes what the division leaves over.
                let first = times.crypt - times.crypt / pieces * (pieces - 1);
                Op::Kernel(match dir {
                    // Plain text comes out of fio's caches; what is read comes from memory.
                    Dir::Write => first + self.transfer(cx, data),
                    Dir::Read => first,
                })
            }
            WorkStep::Pieces(left) => {
                request.at = WorkStep::after_piece(left - 1);
                Op::Kernel(times.crypt / pieces)
            }
            WorkStep::Crypted if dir == Dir::Write => {
                request.at = WorkStep::Delivered;
                Op::Path
            }
            WorkStep::Crypted => {
                request.at = WorkStep::Deliver;
                request.data = cx.cpu();
                Op::Kernel(times.costs.end_io)
            }
            WorkStep::Deliver => {
                request.at = WorkStep::Delivered;
                match self.complete(io) {
                    Some(job) => Op::Wake { task: job, sync: false },
                    None => return self.work(cx, task, work),
                }
            }
            WorkStep::Delivered => {
                self.returned.cover(task, || None);
                self.returned[task] = Some(io);
                return self.wq().work_done(cx, task);
            }
        };
        self.wq().in_work(cx, task, op)
    }

    /// What dmcrypt_write does next.
    pub(super) fn write_out(&mut self, cx: &mut ProgramCx<'_>) -> Op {
        match self.writer.at {
            WriterAt::Look => Op::Path,
            WriterAt::Wait => {
                self.writer.at = WriterAt::Look;
                Op::Wait
            }
            WriterAt::Submit => match self.writer.batch.pop() {
                Some(io) => {
                    self.writer.at = WriterAt::Submitted(io);
                    Op::Kernel(self.times().costs.to_device)
                }
                None => {
                    self.writer.at = WriterAt::Look;
                    Op::Path
                }
            },
            WriterAt::Submitted(io) => {
                self.send(cx, io);
                self.writer.at = WriterAt::Submit;
                self.write_out(cx)
            }
        }
    }

    /// A step under the lock of the tree, by a worker that inserts or by dmcrypt_write.
    pub(super) fn write_path(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Step {
        let cpu = cx.cpu();
        let lock = self.writer.lock.expect("made at the start");
        let inserts = !self.writer.is(task);
        let (next, step) = match self.writer.paths[cpu] {
            InsertStep::Lock => (InsertStep::Wake, Step::Lock(lock, WRITE_LOCK_SITE)),
            InsertStep::Wake => match self.writer.task.filter(|_| inserts) {
                Some(task) if self.writer.tree.is_empty() => {
                    (InsertStep::Hold, Step::Wake { task, sync: false })
                }
                _ => (InsertStep::Hold, Step::Spend(0)),
            },
            InsertStep::Hold => (InsertStep::Act, Step::Spend(self.times().costs.insert)),
            InsertStep::Act => {
                if inserts {
                    let work = self.wq().work_of(task).expect("a worker inserts in its item");
                    self.writer.tree.push(work.0);
                } else {
                    self.take_tree(cx, task);
                }
                (InsertStep::Done, Step::Unlock(lock))
            }
            InsertStep::Done => (InsertStep::Lock, Step::Done),
        };
        self.writer.paths[cpu] = next;
        step
    }

    /// The thread takes all that is in the tree, or will wait.
    fn take_tree(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) {
        let writer = &mut self.writer;
        if writer.tree.is_empty() {
            cx.prepare_to_wait(task);
            writer.at = WriterAt::Wait;
            return;
        }
        std::mem::swap(&mut writer.tree, &mut writer.batch);
        let ios = &self.ios;
        // The tree is sorted by sector, and taken from its front.
        writer.batch.sort_unstable_by_key(|io| std::cmp::Reverse((ios[*io as usize].sector, *io)));
        writer.at = WriterAt::Submit;
    }

    /// Next step of the handler of the SSD's interrupt.
    pub(super) fn handle(&mut self, cx: &mut ProgramCx<'_>) -> Step {
        let cpu = cx.cpu();
        loop {
            if self.wq().under_way(cx) {
                match self.wq().step(cx) {
                    Step::Done => continue,
                    step => return step,
                }
            }
            let Some(io) = self.handling[cpu].take() else {
                self.handling[cpu] = self.completed[cpu].pop_front();
                let Some(io) = self.handling[cpu] else {
                    return Step::Done;
                };
                let costs = self.times().costs;
                // A write ends here, a read in its worker.
                return Step::Spend(match self.ios[io as usize].dir {
                    Dir::Read => costs.complete,
                    Dir::Write => costs.complete + costs.end_io,
                });
            };
            match self.ios[io as usize].dir {
                Dir::Read => {
                    self.wq().queue(cx, WorkId(io));
                }
                Dir::Write => {
                    if let Some(job) = self.complete(io) {
                        return Step::Wake { task: job, sync: false };
                    }
                }
            }
        }
    }
}
