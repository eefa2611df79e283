//! Tests of balancing on hand-made worlds: a rig performs the steps of one path and checks that no
//! two runqueue locks are ever held.

mod paths;
mod pure;
mod shared_runq;
mod steal;
mod storm;
mod sums;
mod swq;

use crate::fair::features::{Features, Tunables};
use crate::fair::state::{Fair, FairTask};
use crate::fair::{Cfs, Discipline, Eevdf, Rules};
use sim_core::{Config, EnqueueFlags, LockId, MaskId, Policy, Step, TaskAttr, TaskId, World};
use std::sync::Arc;
use topology::*;

/// A machine of `n_llcs` LLCs of `cores` cores with two threads each; sibling of core k is k + C.
pub(super) fn machine(n_llcs: u32, cores: u32) -> Machine {
    let n_cores = n_llcs * cores;
    let n = 2 * n_cores as usize;
    let core_of = |c: u32| c % n_cores;
    let place = |c: u32| CpuPlace {
        core: core_of(c),
        thread: c / n_cores,
        llc: core_of(c) / cores,
        ccd: core_of(c) / cores,
        node: 0,
        socket: 0,
    };
    let cpus: Vec<_> = (0..n as u32).map(place).collect();
    let set = |f: &dyn Fn(&CpuPlace) -> bool| {
        let found = (0..n as u32).filter(|c| f(&cpus[*c as usize]));
        CpuSet::of(n, found.map(CpuId))
    };
    let cores_sets: Vec<_> = (0..n_cores).map(|k| set(&|p| p.core == k)).collect();
    let llcs: Vec<_> = (0..n_llcs).map(|k| set(&|p| p.llc == k)).collect();
    let domains = domains(n, &cpus, &cores_sets, &llcs);
    Machine {
        name: "hand".into(),
        title: "hand-made".into(),
        llcs,
        cores: cores_sets,
        nodes: vec![CpuSet::full(n)],
        sockets: vec![CpuSet::full(n)],
        numa_distance: vec![10],
        reclaim_distance: 30,
        governor: topology::Governor::Menu,
        background: Vec::new(),
        variation: topology::Variation::default(),
        sources: Vec::new(),
        clock_mhz: 4500,
        hz: 250,
        tick_skew_ns: 0,
        preemptible_kernel: true,
        memory_gib: 64,
        workqueue: WorkqueueCosts::at_clock(4500),
        line: LineLatency { ns: [0, 5, 17, 79, 79] },
        caches: Caches {
            l1d_kib: 32,
            l2_kib: 1024,
            l3_kib: 32768,
            l3_hit_ns: 12,
            mem_ns: 75,
            mlp: 5,
            stream_mlp: 9,
        },
        cstates: vec![CState { name: "C1".into(), exit_ns: 800, residency_ns: 0, polling: true }],
        costs: KernelCosts {
            pick_ns: 150,
            dequeue_ns: 150,
            switch_ns: 400,
            mm_switch_ns: 200,
            tick_ns: 1000,
            irq_ns: 300,
            ttwu_fixed_ns: 250,
            enqueue_ns: 250,
            enqueue_remote_lines: 6,
            wake_list_lines: 2,
            ipi_send_ns: 200,
            ipi_delivery_ns: 500,
            idle_entry_ns: 500,
            idle_loop_ns: 300,
            scan_cpu_ns: 8,
            lb_domain_ns: 300,
            lb_cpu_ns: [60, 60, 60, 120, 200],
            blocked_ns: 500,
            blocked_group_ns: 60,
            pull_ns: 1000,
            fork_ns: 2000,
        },
        locks: LockCosts { fast_ns: 15, contended_lines: 1, queue_hold_ns: 30 },
        smt: SmtFactors { busy: 0.62, spinning: 0.85 },
        cpus: cpus.into(),
        domains,
    }
}

fn domains(n: usize, cpus: &[CpuPlace], cores: &[CpuSet], llcs: &[CpuSet]) -> SchedDomains {
    let base = SdFlags::BALANCE_NEWIDLE
        | SdFlags::BALANCE_EXEC
        | SdFlags::BALANCE_FORK
        | SdFlags::WAKE_AFFINE
        | SdFlags::PREFER_SIBLING;
    let threads: Vec<_> = (0..n as u32).map(|c| CpuSet::of(n, [CpuId(c)])).collect();
    let domain = |level, span: &CpuSet, flags: u32, children: &[CpuSet]| Domain {
        level,
        span: span.clone(),
        cpus: span.iter().collect(),
        flags: SdFlags(base | flags),
        imbalance_pct: if level == Level::Smt { 110 } else { 117 },
        cache_nice_tries: u32::from(level != Level::Smt),
        imb_numa_nr: 0,
        groups: (children.iter().filter(|c| c.is_subset(span)))
            .map(|c| Group {
                span: c.clone(),
                cpus: c.iter().collect(),
                balance_mask: c.clone(),
                balance_cpu: c.first().unwrap(),
                smt: level == Level::Mc,
            })
            .collect(),
    };
    let smt = SdFlags::SHARE_CPUCAPACITY | SdFlags::SHARE_LLC;
    let mut all: Vec<Domain> =
        (cores.iter()).map(|c| domain(Level::Smt, c, smt, &threads)).collect();
    all.extend((llcs.iter()).map(|l| domain(Level::Mc, l, SdFlags::SHARE_LLC, cores)));
    if llcs.len() > 1 {
        all.push(domain(Level::Die, &CpuSet::full(n), 0, llcs));
    }
    let link = |domain: usize, cpu: usize| ChainLink {
        domain: DomainId(domain as u32),
        own_group: (all[domain].groups.iter())
            .position(|g| g.span.contains(CpuId(cpu as u32)))
            .unwrap() as u32,
    };
    let chain = |c: usize| {
        let (core, llc) = (cpus[c].core as usize, cpus[c].llc as usize);
        let mut chain = vec![link(core, c), link(cores.len() + llc, c)];
        if llcs.len() > 1 {
            chain.push(link(cores.len() + llcs.len(), c));
        }
        chain
    };
    SchedDomains {
        chains: (0..n).map(chain).collect(),
        llc_level: vec![Some(1); n],
        llc_id: (0..n).map(|c| llcs[cpus[c].llc as usize].first().unwrap()).collect(),
        llc_size: (0..n).map(|c| llcs[cpus[c].llc as usize].len() as u32).collect(),
        domains: all.into(),
    }
}

/// An ordinary task that last ran at `ran`.
fn new_fair_task(ran: u64) -> FairTask {
    let mut se = FairTask::new(&TaskAttr::default());
    se.exec_start = ran;
    se
}

/// A world, the fair class, and a record of the locks held by the path being driven.
pub(super) struct Rig<S: Discipline = Cfs> {
    pub w: World,
    pub fair: Fair<S>,
    pub held: Vec<LockId>,
}

impl Rig {
    pub fn new(machine: Machine, features: Features) -> Self {
        let fair = Fair::new(features, Tunables::for_cpus(machine.n_cpus()));
        Self::of(machine, fair)
    }

    /// The 32-CPU desktop of the examples: CCX 0 is CPUs 0-7 and 16-23.
    pub fn desktop() -> Self {
        Self::new(machine(2, 8), Features::default())
    }
}

impl Rig<Eevdf> {
    /// The desktop with a later kernel.
    pub fn desktop_with(rules: Rules) -> Self {
        let (features, tunables) = (Features::for_rules(rules), Tunables::for_rules(rules, 32));
        Self::of(machine(2, 8), Fair::eevdf(rules, features, tunables))
    }
}

impl<S: Discipline> Rig<S> {
    fn of(machine: Machine, mut fair: Fair<S>) -> Self {
        let mut w = World::new(Arc::new(machine), Config::default());
        w.now = 100_000_000;
        fair.init(&mut w);
        Self { w, fair, held: Vec::new() }
    }

    /// A task that waits on `cpu`'s queue; `ran` is when it last ran.
    pub fn queued(&mut self, cpu: u32, ran: u64, allowed: MaskId) -> TaskId {
        let attr = TaskAttr { allowed, ..TaskAttr::default() };
        let p = self.w.new_task(attr);
        (self.w.tasks[p].cpu, self.w.tasks[p].wake_cpu) = (CpuId(cpu), CpuId(cpu));
        self.fair.task_fork(&mut self.w, p, None);
        self.fair.tasks[p].exec_start = ran;
        self.w.activate(CpuId(cpu), p);
        let flags = EnqueueFlags::default();
        S::enqueue_entity(&mut self.fair, &mut self.w, CpuId(cpu), p, flags);
        p
    }

    /// A task that runs on `cpu`.
    pub fn running(&mut self, cpu: u32, allowed: MaskId) -> TaskId {
        let p = self.queued(cpu, self.w.now, allowed);
        S::set_next_entity(&mut self.fair, &mut self.w, CpuId(cpu), p, TaskId::IDLE);
        self.w.set_curr(CpuId(cpu), p);
        self.w.tasks[p].on_cpu = true;
        p
    }

    /// Performs one step of a path on `cpu`.
    pub fn perform(&mut self, cpu: u32, step: Step) {
        match step {
            Step::Spend(ns) => self.w.now += ns,
            Step::Lock(lock, _) | Step::TryLock(lock, _) => {
                assert!(!self.held.contains(&lock), "{lock:?} taken twice by {cpu}");
                self.held.push(lock);
                self.w.cpus[CpuId((cpu as usize) as u32)].trylock_ok = true;
                let n_cpus = self.w.cpus.len() as u32;
                let n_rqs = self.held.iter().filter(|l| l.0 < n_cpus).count();
                assert!(n_rqs <= 1, "two runqueue locks: {:?}", self.held);
            }
            Step::Unlock(lock) => {
                let at = self.held.iter().position(|l| *l == lock);
                self.held.remove(at.expect("unlock of a lock that is held"));
            }
            Step::WaitTask(..) | Step::Wake { .. } | Step::IrqOff | Step::IrqOn | Step::Done => {}
        }
    }

    /// Performs a path to its end.
    pub fn drive(
        &mut self,
        cpu: u32,
        mut path: impl FnMut(&mut Fair<S>, &mut World, bool) -> Step,
    ) -> Vec<Step> {
        let mut steps = Vec::new();
        loop {
            self.w.this = CpuId(cpu);
            let step = path(&mut self.fair, &mut self.w, steps.is_empty());
            steps.push(step);
            if step == Step::Done {
                return steps;
            }
            assert!(steps.len() < 10_000, "the path does not end");
            self.perform(cpu, step);
        }
    }

    /// `before_idle` on `cpu`, which holds its runqueue lock.
    pub fn newidle(&mut self, cpu: u32, prev: TaskId) -> Vec<Step> {
        self.held = vec![LockId(cpu)];
        let steps = self.drive(cpu, |f, w, first| f.before_idle(w, CpuId(cpu), prev, first));
        assert_eq!(self.held, [LockId(cpu)]);
        self.held.clear();
        steps
    }

    /// What `cpu` last failed by at this level.
    pub fn sought(&self, cpu: u32, level: usize) -> &'static str {
        self.w.sought[CpuId((cpu as usize) as u32)].at_level(level).reason.name
    }

    /// A softirq on `cpu`, idle or not at the tick.
    pub fn softirq(&mut self, cpu: u32) -> Vec<Step> {
        self.fair.balance.paths[CpuId((cpu as usize) as u32)].idle_at_tick =
            self.w.cpus[CpuId((cpu as usize) as u32)].idle;
        let steps = self.drive(cpu, |f, w, first| f.softirq(w, CpuId(cpu), first));
        assert!(self.held.is_empty(), "{:?}", self.held);
        let off = steps.iter().filter(|s| **s == Step::IrqOff).count();
        let on = steps.iter().filter(|s| **s == Step::IrqOn).count();
        assert_eq!(off, on);
        steps
    }

    pub fn cpu_of(&self, p: TaskId) -> u32 {
        self.w.tasks[p].cpu.0
    }
}

fn locks_of(steps: &[Step], cpu: u32) -> usize {
    let wanted = |s: &&Step| matches!(s, Step::Lock(l, _) if l.0 == cpu);
    steps.iter().filter(wanted).count()
}
