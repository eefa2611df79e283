//! The file system below: its page cache, and the SSD.
//!
//! Reads come in windows. What is written becomes dirty. A thread of the kernel writes it out when
//! more than half of the limit is dirty. A task that writes at the limit sleeps for a while, so in
//! the long run no task writes faster than the SSD. The run begins at the limit, as after a long
//! time of writing. Linux: `balance_dirty_pages()` and `wb_workfn()` of 5.8. Left out: journals,
//! reclaim, how the kernel computes the pause.

use super::costs::Costs;
use super::readahead::Readahead;
use crate::random::Stream;
use crate::ssd::{self, Ssd};
use sim_core::{Ns, Op, ProgramCx, Step, TaskAttr, TaskId};
use std::collections::VecDeque;
use topology::{CpuId, PerCpu};

/// Dirty data at which writers pause, KiB. Only that it outlasts a pause matters.
const DIRTY_MAX_KIB: u64 = 64 << 10;
/// … and down to which it is written out.
const BACKGROUND_KIB: u64 = DIRTY_MAX_KIB / 2;
/// A writer's pause, ns: what `balance_dirty_pages()` aims at.
const PAUSE_NS: Ns = 10_000_000;
/// Largest request of the block layer when a file is written out in order, KiB: unverified.
const WRITE_KIB: u64 = 512;
/// Requests in the queue of a SATA drive.
const QUEUE: u32 = 32;

/// What the SSD does.
#[derive(Clone, Copy, Debug)]
enum What {
    /// Reads this window of the file of this job.
    Read { job: u32, window: u64 },
    /// Writes so many KiB.
    Write { kib: u64 },
}

#[derive(Clone, Copy, Debug)]
struct Request {
    what: What,
    service: Ns,
    /// The CPU that submitted it, and that the SSD interrupts when it is complete.
    cpu: CpuId,
}

/// The lower file system of a run.
pub(super) struct Lower {
    ssd: Ssd,
    rng: Stream,
    /// 10^6 bytes per second.
    mb_s: f64,
    requests: Vec<Request>,
    free: Vec<u32>,
    /// By CPU: requests that have completed, to be handled there.
    completed: PerCpu<VecDeque<u32>>,
    /// By CPU: the request whose completion is being handled.
    handling: PerCpu<Option<u32>>,
    /// By job.
    pub files: Vec<Readahead>,
    /// Dirty data that the SSD has not been given yet, KiB.
    dirty_kib: u64,
    /// … and that it is writing.
    writing_kib: u64,
    n_writing: u32,
    /// Size of the requests that write it out, KiB.
    write_kib: u64,
    flusher: Option<TaskId>,
    flusher_sleeps: bool,
    /// What the flusher gives to the SSD when its present work is done, KiB.
    flushing_kib: u64,
}

impl Lower {
    /// An SSD that serves this rate, with `jobs` open files; `block_kib` if they are accessed at
    /// random.
    pub fn new(mb_s: f64, jobs: u32, block_kib: Option<u64>, rng: Stream) -> Self {
        Self {
            ssd: Ssd::new(1),
            rng,
            mb_s,
            requests: Vec::new(),
            free: Vec::new(),
            completed: PerCpu::new(),
            handling: PerCpu::new(),
            files: (0..jobs).map(|_| Readahead::new(block_kib.is_none())).collect(),
            dirty_kib: 0,
            writing_kib: 0,
            n_writing: 0,
            write_kib: block_kib.unwrap_or(WRITE_KIB),
            flusher: None,
            flusher_sleeps: false,
            flushing_kib: 0,
        }
    }

    /// Makes the flusher, if something will be written.
    pub fn start(&mut self, cx: &mut ProgramCx<'_>, writes: bool) {
        self.completed = vec![VecDeque::new(); cx.n_cpus()].into();
        self.handling = vec![None; cx.n_cpus()].into();
        if writes {
            self.dirty_kib = DIRTY_MAX_KIB;
            let comm = cx.comm("kworker/u48:flush");
            let attr = TaskAttr { comm, kthread: true, ..TaskAttr::default() };
            self.flusher = Some(cx.start_task(attr));
        }
    }

    pub fn is_flusher(&self, task: TaskId) -> bool {
        self.flusher == Some(task)
    }

    fn submit(&mut self, cx: &mut ProgramCx<'_>, what: What, kib: u64) {
        let mean = (kib as f64 * 1024.0 * 1e3 / self.mb_s).round().max(1.0) as Ns;
        let request =
            Request { what, service: ssd::service_ns(&mut self.rng, mean), cpu: cx.cpu() };
        let id = match self.free.pop() {
            Some(id) => {
                self.requests[id as usize] = request;
                id
            }
            None => {
                self.requests.push(request);
                self.requests.len() as u32 - 1
            }
        };
        self.ssd.submit(cx.now(), id, request.service);
        cx.set_device(self.ssd.next());
    }

    /// A window of a job's file goes to the SSD.
    pub fn read(&mut self, cx: &mut ProgramCx<'_>, job: u32, window: u64, kib: u64) {
        self.submit(cx, What::Read { job, window }, kib);
    }

    /// So much has been written into the page cache. Returns what the writer must do next: wake the
    /// flusher, or pause; `None` if it may go on.
    pub fn write(&mut self, kib: u64) -> Option<Op> {
        self.dirty_kib += kib;
        let flusher = self.flusher.filter(|_| self.dirty_kib > BACKGROUND_KIB);
        if let Some(task) = flusher
            && std::mem::take(&mut self.flusher_sleeps)
        {
            return Some(Op::Wake { task, sync: false });
        }
        self.pause()
    }

    /// A writer's sleep; `None` below the limit of dirty data.
    pub fn pause(&self) -> Option<Op> {
        let full = self.dirty_kib + self.writing_kib >= DIRTY_MAX_KIB;
        full.then_some(Op::Sleep(PAUSE_NS))
    }

    /// What the flusher does next.
    pub fn flush(&mut self, cx: &mut ProgramCx<'_>, costs: &Costs) -> Op {
        let kib = std::mem::take(&mut self.flushing_kib);
        if kib > 0 {
            self.submit(cx, What::Write { kib }, kib);
        }
        if self.dirty_kib <= BACKGROUND_KIB || self.n_writing == QUEUE {
            self.flusher_sleeps = true;
            return Op::Wait;
        }
        let kib = self.write_kib.min(self.dirty_kib);
        self.dirty_kib -= kib;
        self.writing_kib += kib;
        self.n_writing += 1;
        self.flushing_kib = kib;
        Op::Kernel(costs.command + costs.write_out_per_kib * kib)
    }

    /// The SSD is through with something.
    pub fn device(&mut self, cx: &mut ProgramCx<'_>) {
        let now = cx.now();
        while let Some(id) = self.ssd.complete(now, |id| self.requests[id as usize].service) {
            let cpu = self.requests[id as usize].cpu;
            self.completed[cpu].push_back(id);
            cx.raise(cpu);
        }
        cx.set_device(self.ssd.next());
    }

    /// Next step of the handler of the SSD's interrupt.
    pub fn interrupt(&mut self, cx: &mut ProgramCx<'_>, costs: &Costs) -> Step {
        let cpu = cx.cpu();
        loop {
            if let Some(id) = self.handling[cpu].take() {
                self.free.push(id);
                match self.complete(self.requests[id as usize].what) {
                    Some(task) => return Step::Wake { task, sync: false },
                    None => continue,
                }
            }
            self.handling[cpu] = self.completed[cpu].pop_front();
            match self.handling[cpu] {
                Some(_) => return Step::Spend(costs.complete),
                None => return Step::Done,
            }
        }
    }

    /// The task that the end of a request wakes, if any.
    fn complete(&mut self, what: What) -> Option<TaskId> {
        match what {
            What::Read { job, window } => self.files[job as usize].come(window),
            What::Write { kib } => {
                self.writing_kib -= kib;
                self.n_writing -= 1;
                let more = self.dirty_kib > BACKGROUND_KIB;
                let flusher = self.flusher.filter(|_| more)?;
                std::mem::take(&mut self.flusher_sleeps).then_some(flusher)
            }
        }
    }
}
