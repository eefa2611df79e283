//! fio on dm-crypt: processes that issue, kcryptd, the one thread that writes, an SSD.
//!
//! ```text
//! write: fio generates and hashes -> io_submit: queue_work(kcryptd) on the issuing CPU
//!        kcryptd encrypts -> tree of writes, under its lock -> dmcrypt_write submits in order
//!        SSD -> interrupt on the CPU that submitted -> fio is woken
//! read:  fio -> io_submit: to the SSD at once
//!        SSD -> interrupt on the issuing CPU: queue_work(kcryptd) there
//!        kcryptd decrypts, wakes fio -> fio hashes to verify, if it does
//! ```
//!
//! Two rates are calibrated, on the baseline (docs/CALIBRATION.md): bytes hashed and bytes
//! encrypted per second of a CPU at full speed. What an I/O costs beside them, and what the SSD
//! needs, are constants here. The data of a request moves between caches if fio and its kcryptd
//! worker are on different CPUs, and that costs more between last-level caches.

mod crypt;
mod fio;

use crate::affinity_changes::{AffinityChange, AffinityShell};
use crate::latency::Latency;
use crate::ssd::{self, Ssd};
pub use crypt::WRITE_LOCK_SITE;
use fio::{Job, Parent};
use policies::workqueue::{ActivePer, Affinity, Kind, Turn, WorkId, Workqueues, WqId, WqSpec};
use sim_core::{Calls, Ns, Op, PerTask, Program, ProgramCx, Stack, Step, TaskId};
use std::any::Any;
use std::collections::VecDeque;
use topology::{CpuId, PerCpu};

/// Parameters of fio, of dm-crypt's rates and of the SSD.
#[derive(Clone, Debug)]
pub struct Config {
    /// fio's numjobs: processes that issue.
    pub numjobs: u32,
    /// fio's iodepth: requests that each keeps in flight.
    pub iodepth: u32,
    /// fio's bs, KiB.
    pub bs_kib: u32,
    /// Share of reads, percent.
    pub read_pct: f64,
    /// fio's nice: that of its jobs.
    pub nice: i8,
    /// fio hashes what it writes, to verify it later.
    pub hash_writes: bool,
    /// … and what it reads, to verify it now.
    pub hash_reads: bool,
    /// Hashing, 10^6 bytes per second of a CPU at full speed.
    pub hash_mb_s: f64,
    /// Encrypting and decrypting, with all that dm-crypt does for it, likewise.
    pub crypt_mb_s: f64,
    /// Filling a buffer to be written, likewise.
    pub generate_mb_s: f64,
    /// Mean time of the SSD for a read, ns.
    pub ssd_read_ns: Ns,
    /// … and for a write into its cache.
    pub ssd_write_ns: Ns,
    /// Requests that the SSD works on at a time.
    pub ssd_parallel: u32,
    /// Affinity of the workqueue kcryptd.
    pub affinity: Affinity,
    /// kcryptd's `max_active`: items of it that run at a time.
    pub max_active: u32,
    /// Whose items it counts.
    pub active_per: ActivePer,
    /// Changes of its affinity during the run.
    pub changes: Vec<AffinityChange>,
    /// Seed of the run.
    pub seed: u64,
}

/// Memory of a fio process beside its buffers, bytes: unverified.
const FIO_BYTES: u64 = 4 << 20;
/// What dm-crypt encrypts at a time, bytes.
const SECTOR_BYTES: u64 = 512;

impl Config {
    /// Memory that each issuer needs, bytes.
    pub fn bytes_per_job(iodepth: u64, bs_kib: u64) -> u64 {
        FIO_BYTES + iodepth * bs_kib * 1024
    }

    fn bytes(&self) -> u64 {
        u64::from(self.bs_kib) * 1024
    }

    fn sectors(&self) -> u64 {
        self.bytes() / SECTOR_BYTES
    }

    /// Time for a request's bytes at a rate, ns.
    fn time(&self, mb_s: f64) -> Ns {
        (self.bytes() as f64 * 1e3 / mb_s).round() as Ns
    }
}

/// CPU work of an I/O beside its bytes, in ns at 3.8 GHz: unverified, general knowledge of a
/// direct request of some pages by libaio on NVMe. Scaled to the machine's clock.
#[derive(Clone, Copy, Debug)]
struct Costs {
    /// io_submit: pages are pinned, the bio is made and mapped.
    submit: Ns,
    /// The NVMe driver puts a command into its queue.
    to_device: Ns,
    /// Interrupt of the device up to dm-crypt's end of the bio.
    complete: Ns,
    /// End of a request up to fio's ring.
    end_io: Ns,
    /// io_getevents, and fio's own work for a request.
    reap: Ns,
    /// Inserting into the tree of writes, under its lock.
    insert: Ns,
}

impl Costs {
    fn at_clock(mhz: u32) -> Self {
        let at = |ns| ssd::at_clock(ns, mhz);
        Self {
            submit: at(3500),
            to_device: at(ssd::COMMAND_NS),
            complete: at(ssd::COMPLETE_NS),
            end_io: at(1000),
            reap: at(1500),
            insert: at(150),
        }
    }
}

/// What the run's requests cost, at full speed.
#[derive(Clone, Copy, Debug)]
struct Times {
    hash: Ns,
    crypt: Ns,
    generate: Ns,
    costs: Costs,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Dir {
    Read,
    Write,
}

/// A request.
#[derive(Clone, Copy, Debug)]
struct Io {
    job: u32,
    dir: Dir,
    sector: u64,
    /// Time that the SSD needs for it.
    service: Ns,
    issued_at: Ns,
    /// The CPU that submitted it to the SSD, and that the SSD interrupts when it is complete.
    submitter: CpuId,
    /// The CPU whose caches hold its data.
    data: CpuId,
    /// How far its work item is.
    at: crypt::WorkStep,
    /// How many of its two holders have it: the job, and the work item. A worker may still be in
    /// the item when the job has reaped the request.
    holders: u8,
}

/// kcryptd is the first workqueue, kcryptd_io the second.
const KCRYPTD: WqId = WqId(0);

/// The running workload.
pub struct DmCrypt {
    config: Config,
    times: Option<Times>,
    wq: Option<Workqueues>,
    shell: AffinityShell,
    /// fio's first process.
    parent: Option<Parent>,
    jobs: Vec<Job>,
    /// By request; its work item has the same number.
    ios: Vec<Io>,
    /// Requests that neither a job nor a work item holds, to be used again.
    free: Vec<u32>,
    /// By worker's task: the request whose item it has just left.
    returned: PerTask<Option<u32>>,
    ssd: Ssd,
    /// By CPU: requests that have completed, to be handled there.
    completed: PerCpu<VecDeque<u32>>,
    /// By CPU: the request whose completion is being handled.
    handling: PerCpu<Option<u32>>,
    writer: crypt::Writer,
    read_bytes: u64,
    written_bytes: u64,
    latency: Latency,
}

impl DmCrypt {
    /// The workload with these parameters, not started.
    pub fn new(config: Config) -> Self {
        Self {
            shell: AffinityShell::new(config.changes.clone()),
            ios: Vec::new(),
            free: Vec::new(),
            returned: PerTask::new(),
            ssd: Ssd::new(config.ssd_parallel),
            times: None,
            wq: None,
            parent: None,
            jobs: Vec::new(),
            completed: PerCpu::new(),
            handling: PerCpu::new(),
            writer: crypt::Writer::default(),
            read_bytes: 0,
            written_bytes: 0,
            latency: Latency::new(),
            config,
        }
    }

    fn wq(&mut self) -> &mut Workqueues {
        self.wq.as_mut().expect("made at the start")
    }

    fn times(&self) -> Times {
        self.times.expect("known at the start")
    }

    /// CPU work to pull a request's data from the caches of another CPU, ns: its cache lines, so
    /// many at a time as streaming code has misses in flight.
    fn transfer(&self, cx: &ProgramCx<'_>, from: CpuId) -> Ns {
        let machine = cx.machine();
        let lines = self.config.bytes() / 64;
        lines * machine.line_ns(from, cx.cpu()) / u64::from(machine.caches.stream_mlp.max(1))
    }

    /// A free number for a request. The work item of that number is free, too.
    fn allocate(&mut self, request: Io) -> u32 {
        if let Some(io) = self.free.pop() {
            self.wq().init_work(WorkId(io));
            self.ios[io as usize] = request;
            return io;
        }
        self.wq().new_work(KCRYPTD);
        self.ios.push(request);
        self.ios.len() as u32 - 1
    }

    /// One of a request's holders lets go of it.
    fn put(&mut self, io: u32) {
        let request = &mut self.ios[io as usize];
        request.holders -= 1;
        if request.holders == 0 {
            self.free.push(io);
        }
    }

    fn queues(&self) -> Vec<WqSpec> {
        let kcryptd = WqSpec {
            max_active: self.config.max_active,
            active_per: self.config.active_per,
            cpu_intensive: true,
            mem_reclaim: true,
            ..WqSpec::new("kcryptd", Kind::Unbound(self.config.affinity))
        };
        // Only used when a read cannot allocate, which never happens here.
        let io =
            WqSpec { max_active: 1, mem_reclaim: true, ..WqSpec::new("kcryptd_io", Kind::Bound) };
        vec![kcryptd, io]
    }
}

impl Program for DmCrypt {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        self.times = Some(Times {
            hash: self.config.time(self.config.hash_mb_s),
            crypt: self.config.time(self.config.crypt_mb_s),
            generate: self.config.time(self.config.generate_mb_s),
            costs: Costs::at_clock(cx.machine().clock_mhz),
        });
        self.completed = vec![VecDeque::new(); cx.n_cpus()].into();
        self.handling = vec![None; cx.n_cpus()].into();
        self.wq = Some(Workqueues::new(cx, self.queues()));
        self.writer.start(cx);
        self.shell.start(cx);
        for job in 0..self.config.numjobs {
            let job = Job::new(cx, &self.config, job);
            self.jobs.push(job);
        }
        self.parent = Some(Parent::start(cx));
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        if self.wq().is_worker(task) {
            // The worker touches an item for the last time when it takes its next turn.
            if let Some(io) = self.returned.at_mut(task).and_then(Option::take) {
                self.put(io);
            }
            return match self.wq().turn(cx, task) {
                Turn::Op(op) => op,
                Turn::Work(work) => self.work(cx, task, work),
            };
        }
        if self.writer.is(task) {
            return self.write_out(cx);
        }
        if self.shell.is(task) {
            let wq = self.wq.as_mut().expect("made at the start");
            return self.shell.next(cx, wq, KCRYPTD);
        }
        if self.parent.as_ref().is_some_and(|parent| parent.is(task)) {
            return self.make_jobs();
        }
        // The jobs were made in a row.
        let job = (task.0 - self.jobs[0].task.0) as usize;
        self.issue(cx, job)
    }

    fn path(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Step {
        if self.wq().under_way(cx) {
            return self.wq().step(cx);
        }
        self.write_path(cx, task)
    }

    fn device(&mut self, cx: &mut ProgramCx<'_>) {
        let now = cx.now();
        while let Some(io) = self.ssd.complete(now, |io| self.ios[io as usize].service) {
            let cpu = self.ios[io as usize].submitter;
            self.completed[cpu].push_back(io);
            cx.raise(cpu);
        }
        cx.set_device(self.ssd.next());
    }

    fn interrupt(&mut self, cx: &mut ProgramCx<'_>) -> Step {
        self.handle(cx)
    }

    fn is_under_way(&self) -> bool {
        self.parent.as_ref().is_some_and(|parent| parent.started)
    }

    fn measurement_begins(&mut self) {
        (self.read_bytes, self.written_bytes) = (0, 0);
        self.latency = Latency::new();
    }

    fn results(&self, elapsed_ns: Ns) -> Vec<(&'static str, f64)> {
        let per_s = |bytes: u64| bytes as f64 / (elapsed_ns.max(1) as f64 * 1e-9);
        let mib = |bytes| per_s(bytes) / f64::from(1 << 20);
        let mut results =
            vec![("bandwidth", mib(self.read_bytes)), ("bandwidth_write", mib(self.written_bytes))];
        results.extend(self.latency.results(Latency::NAMES));
        results
    }

    fn calls(&self, task: TaskId, op: &Op) -> Calls {
        let is_worker = self.wq.as_ref().is_some_and(|wq| wq.is_worker(task));
        match op {
            Op::Kernel(_) if is_worker => {
                &["ret_from_fork", "kthread", "worker_thread", "process_one_work", "kcryptd_crypt"]
            }
            _ if is_worker => &["ret_from_fork", "kthread", "worker_thread"],
            _ if self.writer.is(task) => &["ret_from_fork", "kthread", "dmcrypt_write"],
            Op::Kernel(_) | Op::Path => {
                &["entry_SYSCALL_64", "do_syscall_64", "__x64_sys_io_submit"]
            }
            Op::Wait => {
                &["entry_SYSCALL_64", "do_syscall_64", "__x64_sys_io_getevents", "read_events"]
            }
            _ => op.calls(),
        }
    }

    fn unwind(&self, cpu: CpuId, task: Option<TaskId>, stack: &mut Stack) {
        if task.is_none() {
            stack.call(&["asm_common_interrupt", "nvme_irq", "blk_mq_end_request_batch"]);
        }
        if let Some(wq) = &self.wq {
            wq.unwind(cpu, stack);
        }
    }

    fn inspect(&self) -> Option<&dyn Any> {
        self.wq.as_ref().map(|wq| wq as &dyn Any)
    }

    fn waits_for(&self, task: TaskId) -> String {
        let worker = self.wq.as_ref().is_some_and(|wq| wq.is_worker(task));
        let what = match worker {
            true => "work",
            false if self.writer.is(task) => "something to write",
            false => "a request to complete",
        };
        what.to_string()
    }
}
