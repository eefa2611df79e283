//! Regular machines from a few numbers, and the default constants that go with them.
//!
//! The defaults describe a generic server part and make no claim about a real one; a machine file
//! overrides them. Costs of kernel paths hold at [`REFERENCE_MHZ`] and scale with the clock.

use super::{
    CState, Caches, Governor, KernelCosts, LineLatency, LockCosts, Machine, SmtFactors,
    WorkqueueCosts,
};
use crate::{CpuPlace, PerCpu, SchedDomains, Variation};

/// Clock at which the default kernel costs hold, MHz.
pub const REFERENCE_MHZ: u32 = 3000;

/// Ticks per second when nobody says: the default of `kernel/Kconfig.hz`.
pub(crate) const HZ_DEFAULT: u32 = 250;

/// Main memory when none is given, GiB: unverified, a small server's.
pub(crate) const DEFAULT_MEMORY_GIB: u32 = 64;
/// Distance of two nodes in one socket when no table is given.
pub(crate) const SAME_SOCKET_DISTANCE: u32 = 12;
/// Distance of two nodes in different sockets when no table is given (2-socket EPYC).
pub(crate) const OTHER_SOCKET_DISTANCE: u32 = 32;

/// The numbers of a regular machine. Start from `RegularSpec::default()` and change what matters:
///
/// ```
/// use topology::{CpuId, Machine, RegularSpec};
///
/// let desktop = Machine::regular(RegularSpec {
///     llcs_per_socket: 2,
///     cores_per_llc: 8,
///     ..RegularSpec::default()
/// });
/// let weights: Vec<u32> = desktop.domains.chain(CpuId(0)).map(|d| d.weight()).collect();
/// assert_eq!(weights, [2, 16, 32]);
/// ```
#[derive(Clone, Debug)]
pub struct RegularSpec {
    /// Short name, as the stem of a machine file.
    pub name: String,
    /// Number of sockets.
    pub sockets: u32,
    /// NUMA nodes per socket; must divide `llcs_per_socket`.
    pub nodes_per_socket: u32,
    /// Last-level caches per socket.
    pub llcs_per_socket: u32,
    /// LLCs on one die; the last die of a socket may hold fewer.
    pub llcs_per_ccd: u32,
    /// Physical cores behind one LLC.
    pub cores_per_llc: u32,
    /// Hardware threads per core.
    pub threads_per_core: u32,
    /// Every LLC is a node of its own ("L3 as NUMA domain").
    pub l3_as_numa: bool,
    /// False: all sockets are one node, as Linux takes them to be with `numa=off`, or in a guest
    /// that was told of no nodes.
    pub numa: bool,
    /// Node distances, row-major; `None`: 10 local, 12 in the socket, 32 across.
    pub numa_distance: Option<Vec<u32>>,
    /// `node_reclaim_distance`: beyond it NUMA domains do not balance on exec, fork and wake-up.
    pub reclaim_distance: u32,
    /// Core clock, MHz.
    pub clock_mhz: u32,
    /// CONFIG_HZ: ticks per second.
    pub hz: u32,
    /// Times of a cache-line transfer, by distance.
    pub line: LineLatency,
    /// Idle states, shallow to deep.
    pub cstates: Vec<CState>,
}

impl Default for RegularSpec {
    /// One socket, one node, one LLC of 4 cores with 2 threads each, 3 GHz, 250 Hz.
    fn default() -> Self {
        Self {
            name: "regular".into(),
            sockets: 1,
            nodes_per_socket: 1,
            llcs_per_socket: 1,
            llcs_per_ccd: 1,
            cores_per_llc: 4,
            threads_per_core: 2,
            l3_as_numa: false,
            numa: true,
            numa_distance: None,
            reclaim_distance: 30,
            clock_mhz: REFERENCE_MHZ,
            hz: HZ_DEFAULT,
            line: LineLatency::default(),
            cstates: CState::defaults(),
        }
    }
}

impl RegularSpec {
    /// The regular shape that has exactly these places, if there is one. Other fields have their
    /// defaults.
    pub(crate) fn of(places: &[CpuPlace]) -> Option<Self> {
        let n = |id: fn(&CpuPlace) -> u32| places.iter().map(|p| id(p) + 1).max();
        let (sockets, nodes, llcs) = (n(|p| p.socket)?, n(|p| p.node)?, n(|p| p.llc)?);
        let (cores, threads_per_core) = (n(|p| p.core)?, n(|p| p.thread)?);
        let numa = nodes > 1 || sockets == 1;
        let spec = Self {
            sockets,
            nodes_per_socket: if numa { nodes / sockets } else { 1 },
            numa,
            llcs_per_socket: llcs / sockets,
            llcs_per_ccd: places.iter().filter(|p| p.ccd == 0).map(|p| p.llc + 1).max()?,
            cores_per_llc: cores / llcs,
            threads_per_core,
            ..Self::default()
        };
        let divides = spec.nodes_per_socket > 0
            && spec.cores_per_llc > 0
            && spec.llcs_per_socket.is_multiple_of(spec.nodes_per_socket);
        // The count comes first: places of a wrong guess could be many.
        let fits = || spec.n_cpus() as usize == places.len() && spec.places() == places;
        (divides && fits()).then_some(spec)
    }

    /// Number of cores.
    pub fn n_cores(&self) -> u32 {
        self.sockets * self.llcs_per_socket * self.cores_per_llc
    }

    /// Number of logical CPUs.
    pub fn n_cpus(&self) -> u32 {
        self.n_cores() * self.threads_per_core
    }

    /// The place of every CPU, numbered as Linux does: thread 0 of all cores, then thread 1.
    pub fn places(&self) -> Vec<CpuPlace> {
        let n_cores = self.n_cores();
        (0..self.n_cpus()).map(|cpu| self.place(cpu % n_cores, cpu / n_cores)).collect()
    }

    fn place(&self, core: u32, thread: u32) -> CpuPlace {
        let llc = core / self.cores_per_llc;
        let socket = llc / self.llcs_per_socket;
        let llc_in_socket = llc % self.llcs_per_socket;
        let llcs_per_node = self.llcs_per_socket / self.nodes_per_socket;
        let ccds_per_socket = self.llcs_per_socket.div_ceil(self.llcs_per_ccd);
        let node = socket * self.nodes_per_socket + llc_in_socket / llcs_per_node;
        CpuPlace {
            core,
            thread,
            llc,
            ccd: socket * ccds_per_socket + llc_in_socket / self.llcs_per_ccd,
            node: match self.numa {
                false => 0,
                true if self.l3_as_numa => llc,
                true => node,
            },
            socket,
        }
    }
}

impl Machine {
    /// A regular machine with default costs at its clock.
    ///
    /// # Panics
    /// If a count is 0 or the numbers do not divide; a machine file reports this instead.
    pub fn regular(spec: RegularSpec) -> Self {
        assert!(spec.n_cpus() > 0, "a machine has at least one CPU");
        assert_eq!(spec.llcs_per_socket % spec.nodes_per_socket, 0);
        let places = spec.places();
        let numa_distance = spec.numa_distance.unwrap_or_else(|| default_distance(&places));
        let mut machine = Self::blank(spec.name, spec.clock_mhz);
        machine.hz = spec.hz;
        machine.line = spec.line;
        machine.cstates = spec.cstates;
        machine.place(places, numa_distance, spec.reclaim_distance);
        machine
    }

    /// The same machine with every kernel path, line transfer and idle exit for free: what is left
    /// is queueing, which closed formulas know.
    pub fn without_costs(mut self) -> Self {
        self.costs = KernelCosts::ZERO;
        self.workqueue = WorkqueueCosts { queue_ns: 0, work_ns: 0, lines: 0, create_worker_ns: 0 };
        self.line.ns = [0; 5];
        self.locks = LockCosts { fast_ns: 0, contended_lines: 0, queue_hold_ns: 0 };
        let poll = CState {
            name: "POLL".into(),
            exit_ns: 0,
            core_exit_ns: 0,
            residency_ns: 0,
            polling: true,
        };
        self.cstates = vec![poll];
        self
    }

    /// A machine without CPUs and with default constants.
    pub(crate) fn blank(name: String, clock_mhz: u32) -> Self {
        Self {
            title: name.clone(),
            name,
            cpus: PerCpu::new(),
            llcs: Vec::new(),
            cores: Vec::new(),
            nodes: Vec::new(),
            sockets: Vec::new(),
            numa_distance: vec![10],
            reclaim_distance: 30,
            clock_mhz,
            cpufreq: None,
            freq_scale: 1024,
            hz: HZ_DEFAULT,
            tick_skew_ns: 0,
            preemptible_kernel: true,
            line: LineLatency::default(),
            caches: Caches::default(),
            memory_gib: DEFAULT_MEMORY_GIB,
            cstates: CState::defaults(),
            idle_wakes: Vec::new(),
            turns_back_ns: None,
            busy_ipi_ns: 0,
            costs: KernelCosts::at_clock(clock_mhz),
            locks: LockCosts::at_clock(clock_mhz),
            workqueue: WorkqueueCosts::at_clock(clock_mhz),
            smt: SmtFactors::default(),
            governor: Governor::default(),
            background: Vec::new(),
            variation: Variation::default(),
            sources: Vec::new(),
            domains: SchedDomains::default(),
        }
    }
}

/// The distance table assumed when none is given.
pub(crate) fn default_distance(places: &[CpuPlace]) -> Vec<u32> {
    let n_nodes = places.iter().map(|p| p.node + 1).max().unwrap_or(1) as usize;
    let mut socket_of = vec![0; n_nodes];
    for place in places {
        socket_of[place.node as usize] = place.socket;
    }
    let pairs = (0..n_nodes).flat_map(|a| (0..n_nodes).map(move |b| (a, b)));
    let distance = pairs.map(|(a, b)| match (a == b, socket_of[a] == socket_of[b]) {
        (true, _) => 10,
        (_, true) => SAME_SOCKET_DISTANCE,
        _ => OTHER_SOCKET_DISTANCE,
    });
    distance.collect()
}

impl Default for LineLatency {
    /// Of the order of a Zen 3 server: 23, 107 and 197 ns were published for an EPYC 7R13.
    fn default() -> Self {
        Self { ns: [0, 10, 25, 110, 200] }
    }
}

impl Default for Caches {
    fn default() -> Self {
        Self {
            l1d_kib: 32,
            l2_kib: 1024,
            l3_kib: 32 * 1024,
            l3_hit_ns: 15,
            mem_ns: 105,
            mlp: 5,
            stream_mlp: 9,
        }
    }
}

impl Default for SmtFactors {
    /// `busy` is for compiling, web and kernel network code: published gains of SMT, 15 to 30 %,
    /// make it 0.58 to 0.65. `spinning` is unverified.
    fn default() -> Self {
        Self { busy: 0.62, spinning: 0.85 }
    }
}

impl CState {
    /// One MWAIT state, C1, which a store ends without an IPI.
    pub fn defaults() -> Vec<Self> {
        vec![Self {
            name: "C1".into(),
            exit_ns: 800,
            core_exit_ns: 800,
            residency_ns: 2_000,
            polling: true,
        }]
    }
}

impl KernelCosts {
    /// No kernel path costs time.
    pub const ZERO: KernelCosts = KernelCosts {
        pick_ns: 0,
        dequeue_ns: 0,
        switch_ns: 0,
        mm_switch_ns: 0,
        tick_ns: 0,
        irq_ns: 0,
        ttwu_fixed_ns: 0,
        enqueue_ns: 0,
        enqueue_rest_ns: 0,
        enqueue_remote_lines: 0,
        wake_list_lines: 0,
        ipi_send_ns: 0,
        ipi_delivery_ns: 0,
        idle_entry_ns: 0,
        idle_loop_ns: 0,
        scan_cpu_ns: 0,
        lb_domain_ns: 0,
        lb_cpu_ns: 0,
        blocked_ns: 0,
        blocked_group_ns: 0,
        pull_ns: 0,
        fork_ns: 0,
    };

    /// The default costs, scaled from [`REFERENCE_MHZ`] to a clock.
    ///
    /// They are of the order of server parts and unverified, but for `blocked_group_ns`: it was
    /// measured on one guest (Zen 5, 4.5 GHz, 40 to 80 ns). Counts of cache lines do not scale.
    pub fn at_clock(clock_mhz: u32) -> Self {
        let at = |ns| scaled(ns, clock_mhz);
        Self {
            pick_ns: at(150),
            dequeue_ns: at(150),
            // 250 ns for the switch itself, 150 ns for the rest of `schedule()`.
            switch_ns: at(250 + 150),
            mm_switch_ns: at(200),
            tick_ns: at(1000),
            irq_ns: at(300),
            ttwu_fixed_ns: at(250),
            enqueue_ns: at(250),
            enqueue_rest_ns: Self::rest_of_enqueue(at(250)),
            enqueue_remote_lines: 6,
            wake_list_lines: 2,
            ipi_send_ns: at(200),
            ipi_delivery_ns: at(500),
            idle_entry_ns: at(600),
            idle_loop_ns: at(300),
            scan_cpu_ns: at(8),
            lb_domain_ns: at(300),
            lb_cpu_ns: at(60),
            blocked_ns: at(500),
            blocked_group_ns: at(90),
            pull_ns: at(1000),
            fork_ns: at(3000),
        }
    }
}

impl LockCosts {
    /// The default costs, with the CPU time in them scaled to a clock; line transfers do not scale.
    pub fn at_clock(clock_mhz: u32) -> Self {
        Self {
            fast_ns: scaled(15, clock_mhz),
            contended_lines: 4,
            queue_hold_ns: scaled(7, clock_mhz),
        }
    }
}

impl WorkqueueCosts {
    /// The defaults, scaled to a clock. A thread takes tens of us to make; the others are
    /// unverified and ours, of the order of an enqueue.
    pub fn at_clock(clock_mhz: u32) -> Self {
        Self {
            queue_ns: scaled(100, clock_mhz),
            work_ns: scaled(150, clock_mhz),
            lines: 3,
            create_worker_ns: scaled(50_000, clock_mhz),
        }
    }
}

/// A time given at [`REFERENCE_MHZ`] on another clock, rounded to the nearest ns.
fn scaled(ns: u64, clock_mhz: u32) -> u64 {
    let clock = u64::from(clock_mhz);
    (ns * u64::from(REFERENCE_MHZ) + clock / 2) / clock
}
