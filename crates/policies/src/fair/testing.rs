//! For unit tests: regular machines made by hand, and the few verbs that the engine would do.

use super::Fair;
use super::features::{Features, Tunables};
use sim_core::{
    Config, DequeueFlags, EnqueueFlags, MigrationCause, Ns, Policy, TaskAttr, TaskId, TaskState,
    World,
};
use std::sync::Arc;
use topology::*;

/// Shape of a machine: `nodes` x `llcs` x `cores` x `threads`, siblings numbered k and k + C.
#[derive(Clone, Copy)]
pub struct Shape {
    pub nodes: u32,
    pub llcs: u32,
    pub cores: u32,
    pub threads: u32,
}

/// Two LLCs of 8 cores with 2 threads, like a 7950X.
pub const RYZEN: Shape = Shape {
    nodes: 1,
    llcs: 2,
    cores: 8,
    threads: 2,
};

impl Shape {
    fn n_cores(&self) -> u32 {
        self.nodes * self.llcs * self.cores
    }

    fn n_cpus(&self) -> u32 {
        self.n_cores() * self.threads
    }

    fn place(&self, cpu: u32) -> CpuPlace {
        let core = cpu % self.n_cores();
        let (llc, node) = (core / self.cores, core / (self.cores * self.llcs));
        let thread = cpu / self.n_cores();
        CpuPlace {
            core,
            thread,
            llc,
            ccd: llc,
            node,
            socket: node,
        }
    }

    /// The set of each value of `key`.
    fn sets(&self, key: impl Fn(&CpuPlace) -> u32) -> Vec<CpuSet> {
        let n = self.n_cpus();
        let places: Vec<(CpuId, u32)> = (0..n).map(|c| (CpuId(c), key(&self.place(c)))).collect();
        let n_keys = places.iter().map(|(_, k)| k + 1).max().unwrap_or(0);
        let members = |key| {
            places
                .iter()
                .filter(move |(_, k)| *k == key)
                .map(|(cpu, _)| *cpu)
        };
        (0..n_keys)
            .map(|k| CpuSet::of(n as usize, members(k)))
            .collect()
    }
}

/// One level of domains with the given spans and groups.
fn add_level(
    d: &mut SchedDomains,
    level: Level,
    spans: &[CpuSet],
    groups: &[CpuSet],
    (flags, imbalance_pct): (u32, u32),
) {
    if groups.len() == spans.len() {
        return;
    }
    for span in spans {
        let group = |g: &CpuSet| Group {
            span: g.clone(),
            cpus: g.iter().collect(),
            balance_mask: g.clone(),
            balance_cpu: g.first().unwrap(),
            smt: false,
        };
        let groups: Vec<Group> = groups
            .iter()
            .filter(|g| g.is_subset(span))
            .map(group)
            .collect();
        let id = DomainId(d.domains.len() as u32);
        for cpu in span.iter() {
            let own = groups.iter().position(|g| g.span.contains(cpu)).unwrap() as u32;
            d.chains[cpu.idx()].push(ChainLink {
                domain: id,
                own_group: own,
            });
            if flags & SdFlags::SHARE_LLC != 0 {
                d.llc_level[cpu.idx()] = Some(d.chains[cpu.idx()].len() as u32 - 1);
                d.llc_id[cpu.idx()] = span.first().unwrap();
                d.llc_size[cpu.idx()] = span.len() as u32;
            }
        }
        d.domains.push(Domain {
            level,
            span: span.clone(),
            cpus: span.iter().collect(),
            flags: SdFlags(flags),
            imbalance_pct,
            cache_nice_tries: 1,
            imb_numa_nr: 1,
            groups,
        });
    }
}

fn domains(shape: Shape) -> SchedDomains {
    let n = shape.n_cpus() as usize;
    let base = SdFlags::BALANCE_NEWIDLE
        | SdFlags::BALANCE_EXEC
        | SdFlags::BALANCE_FORK
        | SdFlags::WAKE_AFFINE;
    let mut d = SchedDomains {
        chains: vec![Vec::new(); n],
        llc_level: vec![None; n],
        llc_id: (0..n as u32).map(CpuId).collect(),
        llc_size: vec![1; n],
        ..SchedDomains::default()
    };
    let cpus: Vec<CpuSet> = (0..n as u32).map(|c| CpuSet::of(n, [CpuId(c)])).collect();
    let (cores, llcs) = (shape.sets(|p| p.core), shape.sets(|p| p.llc));
    let (nodes, all) = (shape.sets(|p| p.node), [CpuSet::full(n)]);
    let smt = base | SdFlags::SHARE_CPUCAPACITY | SdFlags::SHARE_LLC;
    add_level(&mut d, Level::Smt, &cores, &cpus, (smt, 110));
    add_level(
        &mut d,
        Level::Mc,
        &llcs,
        &cores,
        (base | SdFlags::SHARE_LLC, 117),
    );
    add_level(
        &mut d,
        Level::Die,
        &nodes,
        &llcs,
        (base | SdFlags::PREFER_SIBLING, 117),
    );
    add_level(
        &mut d,
        Level::Numa(1),
        &all,
        &nodes,
        (base | SdFlags::NUMA, 117),
    );
    d
}

fn costs() -> KernelCosts {
    KernelCosts {
        pick_ns: 100,
        dequeue_ns: 100,
        switch_ns: 300,
        mm_switch_ns: 200,
        tick_ns: 1000,
        irq_ns: 300,
        ttwu_fixed_ns: 250,
        enqueue_ns: 200,
        enqueue_remote_lines: 3,
        wake_list_lines: 1,
        ipi_send_ns: 200,
        ipi_delivery_ns: 500,
        idle_entry_ns: 300,
        idle_loop_ns: 200,
        scan_cpu_ns: 8,
        lb_domain_ns: 300,
        lb_cpu_ns: [60, 60, 60, 120, 200],
        blocked_ns: 500,
        pull_ns: 1000,
        fork_ns: 1000,
    }
}

/// A machine of this shape.
pub fn machine(shape: Shape, hz: u32) -> Machine {
    Machine {
        name: "test".into(),
        title: "test".into(),
        cpus: (0..shape.n_cpus()).map(|c| shape.place(c)).collect(),
        llcs: shape.sets(|p| p.llc),
        cores: shape.sets(|p| p.core),
        nodes: shape.sets(|p| p.node),
        sockets: shape.sets(|p| p.socket),
        numa_distance: vec![10; (shape.nodes * shape.nodes) as usize],
        clock_mhz: 3000,
        hz,
        tick_skew_ns: 0,
        preemptible_kernel: false,
        line: LineLatency {
            ns: [0, 10, 24, 80, 200],
        },
        caches: Caches {
            l1d_kib: 32,
            l2_kib: 1024,
            l3_kib: 32768,
            l3_hit_ns: 10,
            mem_ns: 90,
            mlp: 8,
        },
        cstates: vec![CState {
            name: "C1".into(),
            exit_ns: 800,
            residency_ns: 0,
            polling: true,
        }],
        costs: costs(),
        locks: LockCosts {
            fast_ns: 10,
            queue_lines: 5,
            queue_hold_ns: 50,
        },
        smt: SmtFactors {
            busy: 0.6,
            spinning: 0.8,
        },
        domains: domains(shape),
    }
}

/// A class and a world that a test drives by hand.
pub struct Rig {
    pub f: Fair,
    pub w: World,
}

impl Rig {
    pub fn new(shape: Shape, hz: u32) -> Self {
        Self::with(shape, hz, Features::default())
    }

    pub fn with(shape: Shape, hz: u32, features: Features) -> Self {
        let mut w = World::new(Arc::new(machine(shape, hz)), Config::default());
        // As on a machine with 8 CPUs or more, whatever the shape.
        let mut f = Fair::new(features, Tunables::for_cpus(8));
        f.init(&mut w);
        Self { f, w }
    }

    /// A new task on `cpu`, not yet runnable.
    pub fn new_task(&mut self, cpu: u32, nice: i8) -> TaskId {
        let p = self.w.new_task(TaskAttr {
            nice,
            ..TaskAttr::default()
        });
        self.w.set_task_cpu(p, CpuId(cpu), MigrationCause::Fork);
        self.f.task_fork(&mut self.w, p, None);
        p
    }

    /// A new task, queued on `cpu`.
    pub fn fork(&mut self, cpu: u32, nice: i8) -> TaskId {
        let p = self.new_task(cpu, nice);
        let flags = EnqueueFlags {
            initial: true,
            ..EnqueueFlags::default()
        };
        self.enqueue(p, flags);
        p
    }

    pub fn enqueue(&mut self, p: TaskId, flags: EnqueueFlags) {
        let cpu = self.w.tasks[p.idx()].cpu;
        self.w.activate(cpu, p);
        self.w.tasks[p.idx()].state = TaskState::Runnable;
        self.f.enqueue_task(&mut self.w, cpu, p, flags);
        self.f.wakeup_preempt(&mut self.w, cpu, p, flags);
    }

    pub fn dequeue(&mut self, p: TaskId, sleep: bool) {
        let cpu = self.w.tasks[p.idx()].cpu;
        self.f
            .dequeue_task(&mut self.w, cpu, p, DequeueFlags { sleep });
        self.w.deactivate(cpu, p);
    }

    /// `schedule()` without its time.
    pub fn schedule(&mut self, cpu: u32) -> TaskId {
        let cpu = CpuId(cpu);
        let prev = self.w.cpus[cpu.idx()].curr;
        let next = self
            .f
            .pick_next_task(&mut self.w, cpu)
            .unwrap_or(TaskId::IDLE);
        if next != prev {
            self.f.switch_task(&mut self.w, cpu, prev, next);
        }
        let c = &mut self.w.cpus[cpu.idx()];
        let before = (c.idle, c.waiting());
        c.curr = next;
        c.need_resched = false;
        c.idle = next == TaskId::IDLE && c.nr_running == 0;
        self.w.n_idle = self.w.n_idle + u32::from(c.idle) - u32::from(before.0);
        self.w.n_waiting = self.w.n_waiting + c.waiting() - before.1;
        next
    }

    /// The current task of `cpu` sleeps.
    pub fn sleep(&mut self, cpu: u32) {
        let curr = self.w.cpus[cpu as usize].curr;
        self.dequeue(curr, true);
        self.schedule(cpu);
    }

    /// Wakes `p` where it slept.
    pub fn wake(&mut self, p: TaskId) {
        self.enqueue(
            p,
            EnqueueFlags {
                wakeup: true,
                ..EnqueueFlags::default()
            },
        );
    }

    /// Ticks of CPU 0 until `end`; returns when each switch happened, and to whom.
    pub fn run(&mut self, end: Ns) -> Vec<(Ns, TaskId)> {
        let mut switches = Vec::new();
        while self.w.cpus[0].tick_next <= end {
            self.w.now = self.w.cpus[0].tick_next;
            self.w.cpus[0].tick_next = self.w.tick_after(CpuId(0), self.w.now);
            self.f.task_tick(&mut self.w, CpuId(0));
            if self.w.cpus[0].need_resched {
                let prev = self.w.cpus[0].curr;
                let next = self.schedule(0);
                if next != prev {
                    switches.push((self.w.now, next));
                }
            }
        }
        self.w.now = end;
        switches
    }

    /// Makes a CPU look busy (or idle again).
    pub fn set_busy(&mut self, cpu: u32, busy: bool) {
        let c = &mut self.w.cpus[cpu as usize];
        c.nr_running = u32::from(busy);
        c.idle = !busy;
    }

    pub fn vruntime(&self, p: TaskId) -> u64 {
        self.f.tasks[p.idx()].vruntime
    }
}
