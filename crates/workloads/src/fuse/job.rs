//! fio's jobs: each reads or writes a file of its own, block after block, one at a time.

use super::{File, Fuse, Kind, Mode, Request};
use crate::random::{self, Purpose, Stream};
use sim_core::{Ns, Op, ProgramCx, SleepState, TaskAttr, TaskId};

/// What a job touches again and again beside its block, KiB: unverified.
const FIO_KIB: u32 = 128;

/// A job.
pub(super) struct Job {
    pub task: TaskId,
    pub at: JobStep,
    /// The daemon has answered the request that it waits for.
    pub answered: bool,
    /// The window that it reads, or the block.
    window: u64,
    began: Ns,
    pub jitter: Stream,
}

/// Where a job stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum JobStep {
    /// Begins with a block (of a file that is read in order: with a window).
    Begin,
    /// Touches the first page of its window.
    Touch,
    /// Has made room for this window, and asks for it.
    Ask(u64),
    /// Copies what it has read.
    Copy,
    /// Has prepared a request of this kind, and puts it into the queue.
    Queue(Kind),
    /// Sleeps until the daemon has answered it.
    Answer(Kind),
    /// The answer to this is taken in.
    Answered(Kind),
    /// Its block is in the page cache of the lower file.
    Written,
    /// Looks whether it may go on after a pause.
    Paused,
}

impl Job {
    pub fn start(cx: &mut ProgramCx<'_>, seed: u64, job: u32) -> Self {
        let comm = cx.comm("fio");
        let attr = TaskAttr { comm, mm: 1 + job, working_set_kib: FIO_KIB, ..TaskAttr::default() };
        Self {
            task: cx.start_task(attr),
            at: JobStep::Begin,
            answered: false,
            window: 0,
            began: 0,
            jitter: random::stream(seed, u64::from(job), Purpose::Service),
        }
    }
}

impl Fuse {
    /// What a job does next.
    pub(super) fn issue(&mut self, cx: &mut ProgramCx<'_>, me: usize) -> Op {
        let at = self.jobs[me].at;
        match at {
            JobStep::Begin => {
                self.jobs[me].began = cx.now();
                match (self.config.file.reads(), self.config.mode) {
                    (true, _) => self.touch(cx, me),
                    (false, Mode::Daemon) if self.config.xattr => self.prepare(me, Kind::GetXattr),
                    (false, Mode::Daemon) => self.prepare(me, Kind::Write),
                    (false, _) => {
                        let ns = self.costs.write(self.config.block_kib)
                            + self.redirect(self.costs.redirect_write);
                        self.kernel(me, JobStep::Written, ns)
                    }
                }
            }
            JobStep::Touch => self.touch(cx, me),
            JobStep::Ask(window) => {
                self.jobs[me].at = JobStep::Touch;
                self.lower.read(cx, me as u32, window, self.window_kib());
                self.touch(cx, me)
            }
            JobStep::Copy => self.have_read(cx, me),
            JobStep::Queue(kind) => self.queue(me, kind),
            JobStep::Answer(kind) if std::mem::take(&mut self.jobs[me].answered) => {
                let ns = self.costs.take_answer(kind, self.kib_of(kind));
                self.kernel(me, JobStep::Answered(kind), ns)
            }
            JobStep::Answer(_) => Op::Wait,
            JobStep::Answered(Kind::GetXattr) => self.prepare(me, Kind::Write),
            JobStep::Answered(_) => self.have_written(cx, me),
            JobStep::Written => {
                self.jobs[me].at = JobStep::Paused;
                match self.lower.write(self.config.block_kib) {
                    Some(op) => op,
                    None => self.have_written(cx, me),
                }
            }
            JobStep::Paused => match self.lower.pause() {
                Some(op) => op,
                None => self.have_written(cx, me),
            },
        }
    }

    /// Kernel work, and what comes after it.
    fn kernel(&mut self, me: usize, then: JobStep, ns: Ns) -> Op {
        self.jobs[me].at = then;
        Op::Kernel(self.spread.draw(&mut self.jobs[me].jitter, ns))
    }

    /// What passthrough adds to each call.
    fn redirect(&self, ns: Ns) -> Ns {
        if self.config.mode == Mode::Passthrough { ns } else { 0 }
    }

    /// The file that the job itself reads.
    fn file(&mut self, me: usize) -> &mut super::readahead::Readahead {
        match self.config.mode {
            Mode::Daemon => &mut self.upper[me],
            Mode::Passthrough | Mode::Raw => &mut self.lower.files[me],
        }
    }

    /// The first page of a window is needed. Asks for the windows that are to be asked for, then
    /// waits for this one.
    fn touch(&mut self, cx: &mut ProgramCx<'_>, me: usize) -> Op {
        let Job { window, task, .. } = self.jobs[me];
        let asked = self.file(me).ask(window);
        if let Some(asked) = asked {
            return match self.config.mode {
                Mode::Daemon => self.prepare(me, Kind::Read { window: asked }),
                Mode::Passthrough | Mode::Raw => {
                    let ns = self.costs.submit(self.window_kib());
                    self.kernel(me, JobStep::Ask(asked), ns)
                }
            };
        }
        self.jobs[me].at = JobStep::Touch;
        if !self.file(me).is_there(window, task) {
            // All pages come by readahead, even a single one, and are waited for in io_schedule().
            cx.set_sleep_state(task, SleepState::Uninterruptible);
            cx.set_io_wait(task, true);
            return Op::Wait;
        }
        cx.set_sleep_state(task, SleepState::Interruptible);
        cx.set_io_wait(task, false);
        let blocks = self.window_kib() / self.config.block_kib;
        let anywhere = self.config.file.at_random();
        let read = self.costs.read(self.config.block_kib, anywhere);
        let mut ns = blocks * (read + self.redirect(self.costs.redirect_read));
        if self.config.mode == Mode::Daemon {
            ns += self.costs.take_answer(Kind::Read { window }, self.window_kib());
        }
        self.kernel(me, JobStep::Copy, ns)
    }

    fn have_read(&mut self, cx: &mut ProgramCx<'_>, me: usize) -> Op {
        let window = self.jobs[me].window;
        self.file(me).forget(window);
        self.jobs[me].window += 1;
        self.read_kib += self.window_kib();
        self.end(cx, me)
    }

    fn have_written(&mut self, cx: &mut ProgramCx<'_>, me: usize) -> Op {
        self.written_kib += self.config.block_kib;
        self.end(cx, me)
    }

    fn end(&mut self, cx: &mut ProgramCx<'_>, me: usize) -> Op {
        // Of a file read in order, blocks are not timed one by one: a turn is a whole window.
        if self.config.file != File::Read {
            self.latency.record(cx.now() - self.jobs[me].began);
        }
        self.jobs[me].at = JobStep::Begin;
        self.issue(cx, me)
    }

    /// A request to the daemon is made.
    fn prepare(&mut self, me: usize, kind: Kind) -> Op {
        let ns = self.costs.send(kind, self.kib_of(kind));
        self.kernel(me, JobStep::Queue(kind), ns)
    }

    /// … and put into the queue. A reader goes on: it waits for pages, not for the answer.
    fn queue(&mut self, me: usize, kind: Kind) -> Op {
        self.jobs[me].at = match kind {
            Kind::Read { .. } => JobStep::Touch,
            _ => JobStep::Answer(kind),
        };
        let request =
            self.request(Request { job: me as u32, kind, at: super::serve::RequestStep::Take });
        match self.connection.queue(request) {
            Some(task) => Op::Wake { task, sync: false },
            // All threads of the daemon are busy: one of them will find the request.
            None => Op::Kernel(0),
        }
    }
}
