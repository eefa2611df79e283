//! fio's jobs: each keeps `iodepth` requests in flight with libaio, reaps one, issues the next.

use super::{Config, Dir, DmCrypt, Io, crypt};
use crate::random::{self, Purpose, Stream};
use crate::ssd;
use policies::workqueue::WorkId;
use sim_core::{Ns, Op, ProgramCx, TaskAttr, TaskId};
use std::collections::VecDeque;
use topology::CpuId;

/// What a job touches again and again beside its buffers, KiB: unverified.
const FIO_KIB: u32 = 128;

/// Time before fio begins, ns: kcryptd's first workers and the other kernel threads go to sleep.
const FIRST_JOB_NS: Ns = 20_000_000;
/// fio's own work to make a job, and a job's work before it is ready, ns. These and the next two
/// are those of a recording of fio 3.33.
const MAKE_JOB_NS: Ns = 400_000;
const PREPARE_JOB_NS: Ns = 100_000;
/// fio looks again whether its jobs are ready after this time, ns.
const POLL_NS: Ns = 100_000_000;
/// … and then lets one job go after the other, ns.
const RELEASE_JOB_NS: Ns = 3_000;

/// fio itself. It forks its jobs one by one and waits each time until the new one is ready;
/// when all are there, it lets them go in a row.
pub(super) struct Parent {
    task: TaskId,
    stage: IoStep,
    /// Jobs that it has made; while it lets them go, those that it has let go.
    jobs: usize,
    asleep: bool,
    /// The jobs are under way.
    pub started: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum IoStep {
    Begin,
    Make,
    Fork,
    WaitReady,
    PrepareRelease,
    Release,
}

impl Parent {
    pub fn start(cx: &mut ProgramCx<'_>) -> Self {
        let attr =
            TaskAttr { comm: cx.comm("fio"), working_set_kib: FIO_KIB, ..TaskAttr::default() };
        let task = cx.start_task(attr);
        Self { task, stage: IoStep::Begin, jobs: 0, asleep: false, started: false }
    }

    pub fn is(&self, task: TaskId) -> bool {
        self.task == task
    }

    fn go(&mut self, stage: IoStep, op: Op) -> Op {
        self.stage = stage;
        op
    }

    fn next(&mut self, jobs: &mut [Job]) -> Op {
        match self.stage {
            IoStep::Begin => self.go(IoStep::Make, Op::Sleep(FIRST_JOB_NS)),
            IoStep::Make if self.jobs == jobs.len() => {
                self.jobs = 0;
                self.go(IoStep::PrepareRelease, Op::Sleep(POLL_NS))
            }
            IoStep::Make => self.go(IoStep::Fork, Op::Run(MAKE_JOB_NS)),
            IoStep::Fork => {
                self.jobs += 1;
                self.go(IoStep::WaitReady, Op::Fork(jobs[self.jobs - 1].task))
            }
            IoStep::WaitReady if jobs[self.jobs - 1].at == JobStep::Ready => {
                self.stage = IoStep::Make;
                self.next(jobs)
            }
            IoStep::WaitReady => {
                self.asleep = true;
                Op::Wait
            }
            IoStep::PrepareRelease if self.jobs == jobs.len() => {
                self.started = true;
                Op::Exit
            }
            IoStep::PrepareRelease => self.go(IoStep::Release, Op::Run(RELEASE_JOB_NS)),
            IoStep::Release => {
                let job = &mut jobs[self.jobs];
                self.jobs += 1;
                job.at = JobStep::Top;
                let op = Op::Wake { task: job.task, sync: false };
                self.go(IoStep::PrepareRelease, op)
            }
        }
    }
}

/// A job.
pub(super) struct Job {
    pub task: TaskId,
    at: JobStep,
    rng: Stream,
    in_flight: u32,
    /// Completed requests that it has not reaped.
    ring: VecDeque<u32>,
    asleep: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum JobStep {
    /// New: gets its buffers.
    New,
    /// It has them, and tells fio.
    Prepared,
    /// Sleeps until fio lets it go.
    Ready,
    /// Issues if it may, else reaps.
    Top,
    /// Its buffer is ready: io_submit.
    Submit(u32),
    /// In io_submit, at the device mapper.
    Map(u32),
    /// Looks at its ring.
    Look,
    /// Has looked at all of a request that it has reaped.
    Verified(u32),
}

impl Job {
    /// A job that is made and not forked yet.
    pub fn new(cx: &mut ProgramCx<'_>, config: &Config, job: u32) -> Self {
        let comm = cx.comm("fio");
        let attr = TaskAttr {
            comm,
            nice: config.nice,
            mm: 1 + job,
            working_set_kib: FIO_KIB,
            ..TaskAttr::default()
        };
        Self {
            task: cx.new_task(attr),
            at: JobStep::New,
            rng: random::stream(config.seed, u64::from(job), Purpose::Arrival),
            in_flight: 0,
            ring: VecDeque::new(),
            asleep: false,
        }
    }

    /// The next request, drawn from the job's own stream: the same one in all variants.
    fn draw(&mut self, job: u32, config: &Config, now: Ns) -> Io {
        let read = random::unit(&mut self.rng) * 100.0 <= config.read_pct;
        let sector = (random::unit(&mut self.rng) * (1u64 << 40) as f64) as u64;
        let (dir, mean) = match read {
            true => (Dir::Read, config.ssd_read_ns),
            false => (Dir::Write, config.ssd_write_ns),
        };
        Io {
            job,
            dir,
            sector,
            service: ssd::service_ns(&mut self.rng, mean),
            issued_at: now,
            submitter: CpuId(0),
            data: CpuId(0),
            at: crypt::WorkStep::Begin,
            holders: 2,
        }
    }
}

impl DmCrypt {
    /// What fio itself does next.
    pub(super) fn make_jobs(&mut self) -> Op {
        match &mut self.parent {
            Some(parent) => parent.next(&mut self.jobs),
            None => Op::Exit,
        }
    }

    /// What a job does next.
    pub(super) fn issue(&mut self, cx: &mut ProgramCx<'_>, job: usize) -> Op {
        let times = self.times();
        match self.jobs[job].at {
            JobStep::New => {
                self.jobs[job].at = JobStep::Prepared;
                Op::Run(PREPARE_JOB_NS)
            }
            JobStep::Prepared => {
                self.jobs[job].at = JobStep::Ready;
                let fio = self.parent.as_mut().filter(|fio| fio.asleep);
                fio.map_or(Op::Wait, |fio| {
                    fio.asleep = false;
                    Op::Wake { task: fio.task, sync: false }
                })
            }
            JobStep::Ready => Op::Wait,
            JobStep::Top => {
                if self.jobs[job].in_flight == self.config.iodepth {
                    self.jobs[job].at = JobStep::Look;
                    return Op::Kernel(times.costs.reap);
                }
                let request = self.jobs[job].draw(job as u32, &self.config, cx.now());
                let io = self.allocate(request);
                self.jobs[job].in_flight += 1;
                self.jobs[job].at = JobStep::Submit(io);
                match request.dir {
                    Dir::Read => self.issue(cx, job),
                    Dir::Write if self.config.hash_writes => Op::Run(times.generate + times.hash),
                    Dir::Write => Op::Run(times.generate),
                }
            }
            JobStep::Submit(io) => {
                self.ios[io as usize].data = cx.cpu();
                self.jobs[job].at = JobStep::Map(io);
                Op::Kernel(match self.ios[io as usize].dir {
                    // A read goes to the device at once; a write's command is dmcrypt_write's work.
                    Dir::Read => times.costs.submit + times.costs.to_device,
                    Dir::Write => times.costs.submit,
                })
            }
            JobStep::Map(io) => {
                self.jobs[job].at = JobStep::Top;
                match self.ios[io as usize].dir {
                    Dir::Read => {
                        self.send(cx, io);
                        self.issue(cx, job)
                    }
                    Dir::Write => {
                        let queued = self.wq().queue(cx, WorkId(io));
                        debug_assert!(queued, "a request has one item");
                        Op::Path
                    }
                }
            }
            JobStep::Look => match self.jobs[job].ring.pop_front() {
                None => {
                    self.jobs[job].asleep = true;
                    Op::Wait
                }
                Some(io) => {
                    self.jobs[job].at = JobStep::Verified(io);
                    let request = self.ios[io as usize];
                    if request.dir == Dir::Write || !self.config.hash_reads {
                        return self.issue(cx, job);
                    }
                    Op::Run(times.hash + self.transfer(cx, request.data))
                }
            },
            JobStep::Verified(io) => {
                let request = self.ios[io as usize];
                match request.dir {
                    Dir::Read => self.read_bytes += self.config.bytes(),
                    Dir::Write => self.written_bytes += self.config.bytes(),
                }
                self.latency.record(cx.now() - request.issued_at);
                self.jobs[job].in_flight -= 1;
                self.put(io);
                self.jobs[job].at = JobStep::Top;
                self.issue(cx, job)
            }
        }
    }

    /// A request goes to the SSD.
    pub(super) fn send(&mut self, cx: &mut ProgramCx<'_>, io: u32) {
        let request = &mut self.ios[io as usize];
        request.submitter = cx.cpu();
        self.ssd.submit(cx.now(), io, request.service);
        cx.set_device(self.ssd.next());
    }

    /// A request is complete and goes into the ring of its job. Returns the job if it sleeps and is
    /// to be woken.
    pub(super) fn complete(&mut self, io: u32) -> Option<TaskId> {
        let job = &mut self.jobs[self.ios[io as usize].job as usize];
        job.ring.push_back(io);
        std::mem::take(&mut job.asleep).then_some(job.task)
    }
}
