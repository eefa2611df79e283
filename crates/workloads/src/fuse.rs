//! fio on a file system in user space, on FUSE passthrough, and on the file system below.
//!
//! ```text
//! daemon:      fio -> request, sleeps | daemon: reads it, lower file, writes the reply -> fio
//! passthrough: fio -> redirect -> lower file          (the daemon sees opens and closes only)
//! raw:         fio -> lower file
//! lower file:  page cache -> readahead -> SSD;   dirty pages -> kworker -> SSD
//! ```
//!
//! Reads in order come as readahead, at both levels: one window is on its way while another is
//! copied. Without a writeback cache each write is a request. Before it the kernel asks the daemon
//! for `security.capability` (`file_remove_privs()`), unless the daemon has said that it has no
//! xattrs.
//!
//! The CPU time of each request was measured (`costs`; docs/CALIBRATION.md). One rate of the SSD
//! for each operation is calibrated, on `raw`. Of 5.8: fs/fuse/dev.c, fs/fuse/file.c. Left out:
//! reclaim, though the file is larger than memory; journals; what `fsync` at the end adds.

pub(crate) mod connection;
pub(crate) mod costs;
mod job;
mod lower;
mod readahead;
mod serve;

use crate::latency::Latency;
use crate::random::{self, Purpose, Stream};
use crate::spread::Spread;
use connection::{Connection, Turn};
use costs::Costs;
use job::Job;
use lower::Lower;
use readahead::Readahead;
use sim_core::{Calls, Ns, Op, Program, ProgramCx, Stack, Step, TaskId};
use topology::CpuId;

/// How the kernel serves reads and writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// The daemon serves them.
    Daemon,
    /// The kernel serves them itself, with the file that the daemon named at the open.
    Passthrough,
    /// There is no FUSE: the program opens the lower file.
    Raw,
}

impl Mode {
    /// The mode by its name in a scenario.
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "daemon" => Some(Mode::Daemon),
            "passthrough" => Some(Mode::Passthrough),
            "raw" => Some(Mode::Raw),
            _ => None,
        }
    }
}

/// What is done with the file: fio's `rw`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum File {
    /// Read from begin to end.
    Read,
    /// Read block by block, anywhere.
    RandRead,
    /// Written from begin to end.
    Write,
    /// Written block by block, anywhere.
    RandWrite,
}

impl File {
    /// The operation by fio's name.
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "read" => Some(File::Read),
            "randread" => Some(File::RandRead),
            "write" => Some(File::Write),
            "randwrite" => Some(File::RandWrite),
            _ => None,
        }
    }

    fn reads(self) -> bool {
        matches!(self, File::Read | File::RandRead)
    }

    fn at_random(self) -> bool {
        matches!(self, File::RandRead | File::RandWrite)
    }
}

/// Parameters of fio, of the daemon and of the SSD.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// How reads and writes are served.
    pub mode: Mode,
    /// What fio does with the file.
    pub file: File,
    /// fio's bs, KiB.
    pub block_kib: u64,
    /// Window of readahead at both levels, KiB: a multiple of a block.
    pub readahead_kib: u64,
    /// fio's numjobs: processes, each with a file of its own.
    pub numjobs: u32,
    /// Threads of the daemon at most.
    pub daemon_threads: u32,
    /// The daemon moves pages by `splice()` in place of copying what it reads.
    pub splice: bool,
    /// The daemon answers GETXATTR.
    pub xattr: bool,
    /// What the SSD serves of these requests, 10^6 bytes per second.
    pub ssd_mb_s: f64,
    /// Coefficient of variation of each piece of work (log-normal).
    pub spread: f64,
    /// Seed of all lengths.
    pub seed: u64,
}

/// What a request asks the daemon for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A window of the file.
    Read { window: u64 },
    /// A block to be written.
    Write,
    /// `security.capability`, before a write.
    GetXattr,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    job: u32,
    kind: Kind,
    at: serve::RequestStep,
}

/// The running workload.
pub struct Fuse {
    config: Config,
    costs: Costs,
    connection: Connection,
    /// By number of the request.
    requests: Vec<Request>,
    /// Free numbers of requests.
    free: Vec<u32>,
    jobs: Vec<Job>,
    /// By job: its file as the FUSE file system has it in the page cache.
    upper: Vec<Readahead>,
    lower: Lower,
    spread: Spread,
    daemon_jitter: Stream,
    read_kib: u64,
    written_kib: u64,
    latency: Latency,
}

impl Fuse {
    /// The workload with these parameters, not started.
    pub fn new(config: Config) -> Self {
        let at_random = config.file.at_random();
        let device = random::stream(config.seed, 0, Purpose::Arrival);
        let block = at_random.then_some(config.block_kib);
        Self {
            costs: Costs::at_clock(topology::REFERENCE_MHZ, config.splice),
            connection: Connection::new(config.daemon_threads),
            requests: Vec::new(),
            free: Vec::new(),
            jobs: Vec::new(),
            upper: (0..config.numjobs).map(|_| Readahead::new(!at_random)).collect(),
            lower: Lower::new(config.ssd_mb_s, config.numjobs, block, device),
            spread: Spread::new(config.spread, 0, config.seed),
            daemon_jitter: random::stream(config.seed, u64::MAX - 1, Purpose::Service),
            read_kib: 0,
            written_kib: 0,
            latency: Latency::new(),
            config,
        }
    }

    /// Threads that the daemon has now.
    pub fn daemon_threads(&self) -> u32 {
        self.connection.n_threads()
    }

    /// What is read at a time, KiB.
    fn window_kib(&self) -> u64 {
        if self.config.file.at_random() { self.config.block_kib } else { self.config.readahead_kib }
    }

    /// Data that a request carries, KiB.
    fn kib_of(&self, kind: Kind) -> u64 {
        match kind {
            Kind::Read { .. } => self.window_kib(),
            Kind::Write => self.config.block_kib,
            Kind::GetXattr => 0,
        }
    }

    fn request(&mut self, request: Request) -> u32 {
        if let Some(number) = self.free.pop() {
            self.requests[number as usize] = request;
            return number;
        }
        self.requests.push(request);
        self.requests.len() as u32 - 1
    }
}

impl Program for Fuse {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        self.costs = Costs::at_clock(cx.machine().clock_mhz, self.config.splice);
        self.lower.start(cx, !self.config.file.reads());
        if self.config.mode == Mode::Daemon {
            self.connection.start(cx);
        }
        for job in 0..self.config.numjobs {
            let job = Job::start(cx, self.config.seed, job);
            self.jobs.push(job);
        }
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        if self.connection.is_daemon(task) {
            return match self.connection.turn(cx, task) {
                Turn::Op(op) => op,
                Turn::Serve(request) => self.serve(cx, task, request),
            };
        }
        if self.lower.is_flusher(task) {
            return self.lower.flush(cx, &self.costs);
        }
        // The jobs were made in a row.
        let job = (task.0 - self.jobs[0].task.0) as usize;
        self.issue(cx, job)
    }

    fn device(&mut self, cx: &mut ProgramCx<'_>) {
        self.lower.device(cx);
    }

    fn interrupt(&mut self, cx: &mut ProgramCx<'_>) -> Step {
        self.lower.interrupt(cx, &self.costs)
    }

    fn measurement_begins(&mut self) {
        (self.read_kib, self.written_kib) = (0, 0);
        self.latency = Latency::new();
    }

    fn results(&self, elapsed_ns: Ns) -> Vec<(&'static str, f64)> {
        let mib_s = |kib: u64| kib as f64 / 1024.0 / (elapsed_ns.max(1) as f64 * 1e-9);
        let mut results = match self.config.file.reads() {
            true => vec![("bandwidth", mib_s(self.read_kib))],
            false => vec![("bandwidth_write", mib_s(self.written_kib))],
        };
        results.extend(self.latency.results(Latency::NAMES));
        results
    }

    fn calls(&self, task: TaskId, op: &Op) -> Calls {
        let reads = self.config.file.reads();
        match op {
            _ if self.lower.is_flusher(task) => &["ret_from_fork", "kthread", "wb_workfn"],
            Op::Wait if self.connection.is_daemon(task) => {
                &["entry_SYSCALL_64", "do_syscall_64", "__x64_sys_read", "fuse_dev_do_read"]
            }
            Op::Wake { .. } if self.connection.is_daemon(task) => {
                &["entry_SYSCALL_64", "do_syscall_64", "__x64_sys_writev", "fuse_dev_do_write"]
            }
            Op::Wait | Op::Wake { .. } if reads => {
                &["entry_SYSCALL_64", "do_syscall_64", "__x64_sys_read", "fuse_readpage"]
            }
            Op::Wait | Op::Wake { .. } => {
                &["entry_SYSCALL_64", "do_syscall_64", "__x64_sys_write", "fuse_simple_request"]
            }
            Op::Kernel(_) if reads => &["entry_SYSCALL_64", "do_syscall_64", "__x64_sys_read"],
            Op::Kernel(_) => &["entry_SYSCALL_64", "do_syscall_64", "__x64_sys_write"],
            _ => op.calls(),
        }
    }

    fn unwind(&self, _cpu: CpuId, task: Option<TaskId>, stack: &mut Stack) {
        if task.is_none() {
            stack.call(&["asm_common_interrupt", "ahci_interrupt", "blk_mq_end_request"]);
        }
    }

    fn waits_for(&self, task: TaskId) -> String {
        let what = match self.config.mode {
            _ if self.connection.is_daemon(task) => "a request, or the SSD",
            _ if self.lower.is_flusher(task) => "something to write out",
            Mode::Daemon => "the daemon",
            Mode::Passthrough | Mode::Raw => "the SSD",
        };
        what.to_string()
    }
}
