//! The machine as the simulation sees it: dense, validated, immutable.

mod company;
mod regular;

pub use company::{BackgroundThread, Per, Variation};
pub(crate) use regular::{DEFAULT_MEMORY_GIB, HZ_DEFAULT, default_distance};
pub use regular::{REFERENCE_MHZ, RegularSpec};

use crate::{CpuFreq, CpuId, CpuSet, PerCpu, SchedDomains};

/// How far apart two CPUs are, nearest first. The order is meaningful: a larger distance never
/// has a smaller latency class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Distance {
    /// The same CPU.
    Same = 0,
    /// SMT siblings of one core.
    Smt = 1,
    /// Other cores behind the same last-level cache.
    Llc = 2,
    /// Another LLC of the same socket (other CCX or CCD, or another node of the socket).
    Node = 3,
    /// Another socket.
    Socket = 4,
}

impl Distance {
    /// True if some two CPUs are this far apart.
    pub fn occurs(self, places: &[CpuPlace]) -> bool {
        let distinct = |of: fn(&CpuPlace) -> u32| {
            let mut ids: Vec<u32> = places.iter().map(of).collect();
            ids.sort_unstable();
            ids.dedup();
            ids.len()
        };
        // Parts nest and none is empty: more cores than LLCs means that some LLC has two.
        match self {
            Self::Same => !places.is_empty(),
            Self::Smt => places.len() > distinct(|p| p.core),
            Self::Llc => distinct(|p| p.core) > distinct(|p| p.llc),
            Self::Node => distinct(|p| p.llc) > distinct(|p| p.socket),
            Self::Socket => distinct(|p| p.socket) > 1,
        }
    }
}

/// Time to move the ownership of a cache line from one CPU to another, in ns, by distance. Index
/// with `Distance as usize`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineLatency {
    /// `[same, smt, llc, node, socket]`, in ns; `same` is 0.
    pub ns: [u32; 5],
}

/// One C-state of the idle table, as a `cpuidle` driver lists it.
#[derive(Clone, Debug, PartialEq)]
pub struct CState {
    /// Name as cpuidle shows it: `C1`, `C1E`, `C6`, `POLL`.
    pub name: String,
    /// Time from the wake-up to the first instruction, in ns, if the whole package sleeps. The
    /// governor goes by it, as drivers list the worst case.
    pub exit_ns: u64,
    /// The same while another core of the package is awake, in ns; no more than `exit_ns`.
    pub core_exit_ns: u64,
    /// The idle length from which the governor prefers this state, in ns.
    pub residency_ns: u64,
    /// True if the CPU watches its need-resched flag (MWAIT, poll): a waker needs no IPI.
    pub polling: bool,
}

/// Times that tell how an idle CPU's wake-up varies: each is as likely as the others.
pub const IDLE_WAKE_TIMES: usize = 256;

/// How long a CPU is out of reach once it has idled for so long, whatever C-state it asked for.
///
/// The CPU of a guest that halts is polled by its host for a while (`halt_poll_ns` of KVM); then
/// the host lets others run or sleeps itself, and takes longer and longer to come back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdleWake {
    /// From this idle length on, ns.
    pub idle_ns: u64,
    /// From a wake-up by another CPU to the first step out of idle, at least, without the paths
    /// that the two CPUs walk, ns; ascending.
    pub wakes_ns: [u64; IDLE_WAKE_TIMES],
}

impl IdleWake {
    /// What a CPU takes that has idled so long, if nothing else is known: the median, ns.
    pub fn typical_ns(&self) -> u64 {
        self.wakes_ns[IDLE_WAKE_TIMES / 2]
    }
}

/// The cpuidle governor: the rule by which an idle CPU chooses its C-state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Governor {
    /// By the idle lengths of the past; keeps the tick where a short sleep is expected.
    #[default]
    Menu,
    /// A guest's: the CPU halts in the deepest state and stops its tick, however short the sleep
    /// may be. With one state it stands for a guest without a cpuidle driver, whose tick stops
    /// when it has come in idle once, if the kernel has that rule.
    Haltpoll,
}

impl Governor {
    /// All of them with the kernel's names.
    pub const NAMES: [(&'static str, Self); 2] =
        [("menu", Self::Menu), ("haltpoll", Self::Haltpoll)];

    /// The kernel's name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }
}

/// Fixed costs of kernel paths in ns, already scaled to the machine's clock. Time spent waiting for
/// locks comes on top.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelCosts {
    /// Choosing the next task in `schedule()`.
    pub pick_ns: u64,
    /// Taking the previous task off its queue in `schedule()`.
    pub dequeue_ns: u64,
    /// The switch itself and the rest of `schedule()`.
    pub switch_ns: u64,
    /// Added when the next task has another address space.
    pub mm_switch_ns: u64,
    /// One tick interrupt with `scheduler_tick`.
    pub tick_ns: u64,
    /// Entry and exit of an interrupt other than the tick.
    pub irq_ns: u64,
    /// `try_to_wake_up` up to the choice of a CPU, without scanning.
    pub ttwu_fixed_ns: u64,
    /// Enqueue plus preemption test on a warm runqueue.
    pub enqueue_ns: u64,
    /// Of that what passes, with the runqueue's lock held, after the task was appended to a shared
    /// queue.
    pub enqueue_rest_ns: u64,
    /// Line transfers added when the runqueue belongs to another CPU.
    pub enqueue_remote_lines: u32,
    /// Line transfers of a push to a wake list.
    pub wake_list_lines: u32,
    /// Sending an IPI (APIC write).
    pub ipi_send_ns: u64,
    /// From the send to the first instruction of the handler on an awake CPU.
    pub ipi_delivery_ns: u64,
    /// Entering idle, before the C-state: still polling, wakes at once.
    pub idle_entry_ns: u64,
    /// The idle loop between the wake-up and `schedule()`.
    pub idle_loop_ns: u64,
    /// Per CPU looked at by an idle scan, if nobody has written its line since the last look.
    pub scan_cpu_ns: u64,
    /// Newidle or periodic balance, fixed part per domain.
    pub lb_domain_ns: u64,
    /// Balance statistics per CPU, if nobody has written its lines since the last look.
    pub lb_cpu_ns: u64,
    /// `update_blocked_averages` of one runqueue.
    pub blocked_ns: u64,
    /// The same of one task group that has run there lately.
    pub blocked_group_ns: u64,
    /// Moving one task between runqueues, without line transfers.
    pub pull_ns: u64,
    /// `fork` bookkeeping of the scheduler (`sched_fork` + `wake_up_new_task` without the enqueue).
    pub fork_ns: u64,
}

impl KernelCosts {
    /// An interrupt's way from CPU to CPU, with its entry and exit.
    pub fn ipi_ns(&self) -> u64 {
        self.ipi_send_ns + self.ipi_delivery_ns + self.irq_ns
    }

    /// [`Self::enqueue_rest_ns`] for an enqueue that takes so long. Counted in Debian's 6.1, in an
    /// emulator: of 1136 instructions between taking and giving back the lock in
    /// `sched_ttwu_pending()` 75 come after the end of `enqueue_task_fair()`.
    pub fn rest_of_enqueue(enqueue_ns: u64) -> u64 {
        enqueue_ns / 15
    }

    /// What of `enqueue_ns` passes after the task is in its queue's tree, where later versions of
    /// shared queues show it. Counted in Debian's 6.1, in an emulator: of 1205 instructions between
    /// taking and giving back the lock 142 come after `__enqueue_entity()`; the entity of a task
    /// group takes 545 more, all of them after that of its task.
    pub fn enqueue_rest_from_tree_ns(&self, in_group: bool) -> u64 {
        match in_group {
            false => self.enqueue_ns * 142 / 1205,
            true => self.enqueue_ns * (142 + 545) / (1205 + 545),
        }
    }

    /// Of `pick_ns` what passes before `schedule()` takes its runqueue's lock, if an interrupt
    /// brought it there: the rest of the interrupt's way out and of the idle loop's. Counted in
    /// Debian's 6.1, in an emulator: from the end of a wake-up to the lock 2.0 of the 2.8 us to the
    /// switch. The idle loop and the interrupt have their own costs for half of that.
    pub fn pick_before_lock_ns(&self) -> u64 {
        self.pick_ns * 9 / 16
    }

    /// The same of a CPU that polled in its idle loop, which looks at its wake list right before
    /// `schedule_idle()`. Counted in Debian's 6.1, in an emulator: 108 of the 458 instructions of
    /// `schedule_idle()` up to the choice of the next task.
    pub fn pick_before_lock_polled_ns(&self) -> u64 {
        self.pick_ns * 108 / 458
    }

    /// Of `pick_ns` what passes before a CPU that has nothing left to run looks elsewhere, beside
    /// the dequeue of the task that goes to sleep. Counted in Debian's 6.1, in an emulator: 283
    /// instructions from `schedule()` to `newidle_balance()` without the dequeue, 205 from there to
    /// the choice of the idle task.
    pub fn pick_before_look_ns(&self) -> u64 {
        self.pick_ns * 3 / 5
    }

    /// The same with all paths that a CPU walks itself so many times as long. What the hardware
    /// or a hypervisor does, the delivery of an IPI, stays.
    pub fn times(&self, factor: f64) -> Self {
        let times = |ns: u64| (ns as f64 * factor).round() as u64;
        Self {
            pick_ns: times(self.pick_ns),
            dequeue_ns: times(self.dequeue_ns),
            switch_ns: times(self.switch_ns),
            mm_switch_ns: times(self.mm_switch_ns),
            tick_ns: times(self.tick_ns),
            irq_ns: times(self.irq_ns),
            ttwu_fixed_ns: times(self.ttwu_fixed_ns),
            enqueue_ns: times(self.enqueue_ns),
            enqueue_rest_ns: times(self.enqueue_rest_ns),
            idle_entry_ns: times(self.idle_entry_ns),
            idle_loop_ns: times(self.idle_loop_ns),
            scan_cpu_ns: times(self.scan_cpu_ns),
            lb_domain_ns: times(self.lb_domain_ns),
            lb_cpu_ns: times(self.lb_cpu_ns),
            blocked_ns: times(self.blocked_ns),
            blocked_group_ns: times(self.blocked_group_ns),
            pull_ns: times(self.pull_ns),
            fork_ns: times(self.fork_ns),
            ..*self
        }
    }
}

/// Costs of a queued spinlock (`kernel/locking/qspinlock.c`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LockCosts {
    /// Fast path on a hot line, ns.
    pub fast_ns: u64,
    /// How often the owner of a queue's lock pulls back the line of the lock word while others
    /// wait. The list head lies in the same line, and each waiter's attempt takes the line away.
    /// An append writes two nodes, and the hand-over takes two transfers: 1 makes five transfers in
    /// all. The default of 4 is calibrated (docs/CALIBRATION.md).
    pub contended_lines: u32,
    /// Fixed part of the critical section of such a queue's lock, with its lines in the cache, ns.
    pub queue_hold_ns: u64,
}

/// Costs of workqueues (`kernel/workqueue.c`), without the locks and wake-ups in them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkqueueCosts {
    /// `queue_work`: putting an item on the pool's list, under the pool's lock, ns.
    pub queue_ns: u64,
    /// A worker's bookkeeping around one item, under the pool's lock, ns.
    pub work_ns: u64,
    /// Cache lines that each of the two pulls from the CPU that held the lock before: list, item,
    /// worker.
    pub lines: u32,
    /// Making a worker thread, ns.
    pub create_worker_ns: u64,
}

/// The share of full speed that a busy hardware thread gets, 0 to 1; 1 beside an idle sibling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SmtFactors {
    /// Beside a busy sibling.
    pub busy: f64,
    /// Beside a sibling that spins on a lock.
    pub spinning: f64,
}

/// Cache sizes in KiB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Caches {
    /// L1 data cache per core.
    pub l1d_kib: u32,
    /// L2 per core.
    pub l2_kib: u32,
    /// Last-level cache per LLC.
    pub l3_kib: u32,
    /// L3 hit latency, ns.
    pub l3_hit_ns: u32,
    /// Local memory latency, ns.
    pub mem_ns: u32,
    /// Memory-level parallelism of ordinary code: cache misses in flight at a time.
    pub mlp: u32,
    /// The same of code that streams through its data, as a copy or a cipher does.
    pub stream_mlp: u32,
}

/// Where one CPU sits. Ids are dense and machine-wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuPlace {
    /// Physical core.
    pub core: u32,
    /// Thread within the core, 0-based.
    pub thread: u32,
    /// Last-level cache.
    pub llc: u32,
    /// Core complex die. Linux makes no scheduling domain of it.
    pub ccd: u32,
    /// NUMA node.
    pub node: u32,
    /// Socket (package).
    pub socket: u32,
}

/// How far a number can be trusted, best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Confidence {
    /// Measured on this part.
    Measured,
    /// Published by the vendor, a maintainer or the press.
    Published,
    /// Measured on a sibling part.
    Proxy,
    /// Our conclusion from other numbers.
    Inferred,
    /// General knowledge that has not been looked up.
    Unverified,
}

impl Confidence {
    /// All of them with their names in a machine file.
    pub const NAMES: [(&'static str, Self); 5] = [
        ("measured", Self::Measured),
        ("published", Self::Published),
        ("proxy", Self::Proxy),
        ("inferred", Self::Inferred),
        ("unverified", Self::Unverified),
    ];

    /// The name in a machine file.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }
}

/// Where some numbers of a machine come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// The keys of the machine file that it is the source of, e.g. `latency.llc_ns`.
    pub keys: Vec<String>,
    /// The source in words.
    pub text: String,
    /// How sure it is.
    pub confidence: Confidence,
}

/// A validated machine: what is built from a machine file without faults.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Short name: the file's stem, e.g. `bergamo`.
    pub name: String,
    /// Human title, e.g. `AMD EPYC 9D64 (Bergamo), 88 cores`.
    pub title: String,
    /// One entry per logical CPU, by `CpuId`.
    pub cpus: PerCpu<CpuPlace>,
    /// CPUs of each LLC.
    pub llcs: Vec<CpuSet>,
    /// CPUs of each core.
    pub cores: Vec<CpuSet>,
    /// CPUs of each NUMA node.
    pub nodes: Vec<CpuSet>,
    /// CPUs of each socket.
    pub sockets: Vec<CpuSet>,
    /// NUMA distance table as the firmware reports it (10 = local), row-major by node.
    pub numa_distance: Vec<u32>,
    /// `node_reclaim_distance`: farther NUMA domains do not balance on exec, fork and wake-up.
    pub reclaim_distance: u32,
    /// Core clock while running, MHz: that to which all costs belong. It is constant unless
    /// `cpufreq` says how it follows the load.
    pub clock_mhz: u32,
    /// How the clock follows the load.
    pub cpufreq: Option<CpuFreq>,
    /// `arch_scale_freq_capacity()` of all CPUs at that clock, of 1024: what the kernel takes it
    /// for, beside the highest frequency that the firmware tells of. PELT's clocks run so fast.
    pub freq_scale: u32,
    /// Timer interrupt frequency CONFIG_HZ.
    pub hz: u32,
    /// Offset of each CPU's tick against that of the CPU before, ns (boot option `skew_tick`).
    pub tick_skew_ns: u64,
    /// CONFIG_PREEMPTION: the return from an interrupt may preempt the body of a system call, and
    /// newidle balance stops after one task (`detach_tasks()`, v6.4).
    pub preemptible_kernel: bool,
    /// Times of a cache-line transfer, by distance.
    pub line: LineLatency,
    /// Sizes and latencies of the caches, and the latency of memory.
    pub caches: Caches,
    /// Main memory, GiB; bounds how many processes a workload may have.
    pub memory_gib: u32,
    /// Idle states, shallow to deep; never empty.
    pub cstates: Vec<CState>,
    /// What a stay in idle of some length takes to end, if its C-state says less, by ascending
    /// length. Only a recording tells it; in a machine's file there is none.
    pub idle_wakes: Vec<IdleWake>,
    /// From the switch to idle until a CPU is out of it again whose last task was woken on its way
    /// to sleep, without the paths that it walks, ns, ascending. Only a recording tells it; in a
    /// machine's file there is none.
    pub turns_back_ns: Option<Box<[u64; IDLE_WAKE_TIMES]>>,
    /// What it takes longer, as a rule, until another CPU's interrupt preempts a task than until
    /// it reaches an idle CPU, ns: stretches with interrupts off, system calls that have to end.
    /// Only a recording tells it; in a machine's file it is 0.
    pub busy_ipi_ns: u64,
    /// How an idle state is chosen.
    pub governor: Governor,
    /// Costs of kernel paths, scaled to `clock_mhz`.
    pub costs: KernelCosts,
    /// Costs of spinlocks, scaled to `clock_mhz`.
    pub locks: LockCosts,
    /// Costs of workqueues, scaled to `clock_mhz`.
    pub workqueue: WorkqueueCosts,
    /// Speed of a hardware thread beside its sibling.
    pub smt: SmtFactors,
    /// The system's own threads, which run beside the workload.
    pub background: Vec<BackgroundThread>,
    /// How the machine's speed varies; a guest's does.
    pub variation: Variation,
    /// Where the numbers come from.
    pub sources: Vec<Source>,
    /// Scheduling domains, derived from `cpus` and the distances.
    pub domains: SchedDomains,
}

impl Machine {
    /// Number of logical CPUs.
    #[inline]
    pub fn n_cpus(&self) -> usize {
        self.cpus.len()
    }

    /// The distance class of two CPUs.
    #[inline]
    pub fn distance(&self, a: CpuId, b: CpuId) -> Distance {
        if a == b {
            return Distance::Same;
        }
        let (p, q) = (&self.cpus[a], &self.cpus[b]);
        if p.core == q.core {
            Distance::Smt
        } else if p.llc == q.llc {
            Distance::Llc
        } else if p.socket == q.socket {
            Distance::Node
        } else {
            Distance::Socket
        }
    }

    /// Cache-line transfer time between two CPUs, ns.
    #[inline]
    pub fn line_ns(&self, a: CpuId, b: CpuId) -> u64 {
        u64::from(self.line.ns[self.distance(a, b) as usize])
    }

    /// True if how often it ticks may be a guess: it is the default of `kernel/Kconfig.hz`, and no
    /// source stands for it but an unverified one.
    pub fn hz_is_a_guess(&self) -> bool {
        let mut of_hz = self.sources.iter().filter(|s| s.keys.iter().any(|key| key == "hz"));
        self.hz == HZ_DEFAULT && of_hz.all(|source| source.confidence == Confidence::Unverified)
    }

    /// Length of a tick period, ns.
    #[inline]
    pub fn tick_ns(&self) -> u64 {
        1_000_000_000 / u64::from(self.hz)
    }

    /// Puts the CPUs in their places and derives everything that follows from them.
    pub(crate) fn place(
        &mut self,
        cpus: Vec<CpuPlace>,
        numa_distance: Vec<u32>,
        reclaim_distance: u32,
    ) {
        self.cores = classes(&cpus, |p| p.core);
        self.llcs = classes(&cpus, |p| p.llc);
        self.nodes = classes(&cpus, |p| p.node);
        self.sockets = classes(&cpus, |p| p.socket);
        self.domains = SchedDomains::build(&cpus, &numa_distance, reclaim_distance);
        self.cpus = cpus.into();
        self.numa_distance = numa_distance;
        self.reclaim_distance = reclaim_distance;
    }
}

/// The sets of CPUs with equal keys, by key.
fn classes(cpus: &[CpuPlace], key: impl Fn(&CpuPlace) -> u32) -> Vec<CpuSet> {
    let n_classes = cpus.iter().map(|p| key(p) as usize + 1).max().unwrap_or(0);
    let mut sets = vec![CpuSet::empty(cpus.len()); n_classes];
    for (cpu, place) in cpus.iter().enumerate() {
        sets[key(place) as usize].insert(CpuId(cpu as u32));
    }
    sets
}
