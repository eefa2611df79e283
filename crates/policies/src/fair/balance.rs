//! Load balancing (spec 8): periodic, nohz-idle and newidle balance, active push, the fork/exec
//! path.
//!
//! A balance pass takes time and locks, so each is a small state machine that the mechanism
//! resumes: every call reads the world anew and answers with the next [`Step`]. The machines nest
//! as the kernel's functions do: `newidle` and `periodic` (which `nohz` runs on behalf of others)
//! walk the domains and run `load_balance` (in `pass`, with `stats`, `decide` and `detach`). The
//! stages of each live in the path of the CPU that *executes* the pass; no path ever holds two
//! runqueue locks.
//!
//! Left out: misfit tasks, asymmetric packing and capacity, NUMA locality of memory (spec 14.1).
//! Follows kernel/sched/fair.c of v6.4.

mod active;
mod cpu_stats;
mod decide;
mod detach;
mod newidle;
mod nohz;
mod pass;
mod periodic;
mod slow_path;
mod stats;
#[cfg(test)]
mod tests;

use super::Discipline;
use super::shared_runq::SharedQueues;
use super::state::{Fair, LlcShared, SdState, Swqueue};
use super::swqueue::{Links, PullPath, Steals, SwqStats};
use crate::fair::sites;
pub(crate) use cpu_stats::{CpuStats, LlcStats};
use cpu_stats::{Members, group_cpus, group_llcs};
use newidle::NewidlePath;
use nohz::{IlbPath, Nohz};
use pass::LoadBalance;
use periodic::RebalancePath;
pub(crate) use sim_core::IdleType;
use sim_core::{LockId, Ns, Policy, Step, TaskId, World};
use std::ops::ControlFlow;
use topology::{ChainLink, CpuId, CpuSet, Domain, DomainId, IdVec, Machine, PerCpu};

/// A path that either has a next step for the mechanism or is finished with a result.
pub(crate) type Flow<T> = ControlFlow<Step, T>;

/// Lines of a remote runqueue that a pull touches beside the lock's: list head, task, load, tree
/// node.
pub(crate) const PULL_LINES: u64 = 4;

/// Work of the softirq path of a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Soft {
    #[default]
    Blocked,
    Rebalance,
    Ilb,
}

/// Stages of `update_blocked_averages` of one runqueue, from a softirq.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum BlockedStage {
    #[default]
    IrqOff,
    Lock,
    Spend,
    Update,
    IrqOn,
    Done,
}

/// What one CPU's balance code is in the middle of. A CPU runs at most one of newidle and softirq
/// balance at a time; the stopper has a state of its own, because softirqs may interrupt it.
#[derive(Clone, Debug)]
pub(crate) struct LbPath {
    pub pull: PullPath,
    pub newidle: NewidlePath,
    pub soft: Soft,
    pub blocked: BlockedStage,
    pub rebalance: RebalancePath,
    pub ilb: IlbPath,
    pub lb: LoadBalance,
    pub stop: active::StopPath,
    /// Tasks that join or leave a shared queue.
    pub links: Links,
    /// Tasks in transit, in the order of detaching.
    pub detached: Vec<TaskId>,
    /// CPUs struck off `env.cpus`.
    pub removed: Vec<CpuId>,
    /// `rq->idle_balance`: idle at the last tick or kick.
    pub idle_at_tick: bool,
    /// State of the draws of NI_RANDOM on this CPU.
    pub draws: u32,
    /// `rq->last_blocked_load_update_tick`, jiffies.
    pub blocked_tick: u64,
}

impl LbPath {
    fn new(cpu: u32) -> Self {
        Self {
            pull: PullPath::default(),
            newidle: NewidlePath::default(),
            soft: Soft::default(),
            blocked: BlockedStage::default(),
            rebalance: RebalancePath::default(),
            ilb: IlbPath::default(),
            lb: LoadBalance::default(),
            stop: active::StopPath::default(),
            links: Links::default(),
            detached: Vec::with_capacity(64),
            removed: Vec::with_capacity(16),
            idle_at_tick: false,
            draws: (cpu + 1).wrapping_mul(0x9e37_79b9),
            blocked_tick: 0,
        }
    }
}

/// Balance paths in progress and nohz state.
#[derive(Clone, Debug, Default)]
pub struct BalanceState {
    pub(crate) paths: PerCpu<LbPath>,
    pub(crate) nohz: Nohz,
    /// The lock that lets one CPU at a time balance a SERIALIZE domain.
    pub(crate) serialize: Option<LockId>,
    /// `sgc->imbalance` by domain and group.
    pub(crate) imbalanced: IdVec<DomainId, Vec<bool>>,
    /// By domain.
    pub(crate) group_cpus: IdVec<DomainId, Members<CpuId>>,
    /// By domain, if its groups consist of whole LLCs.
    pub(crate) group_llcs: IdVec<DomainId, Option<Members<u32>>>,
    /// Cores of a group, by domain and group.
    pub(crate) cores: IdVec<DomainId, Vec<u32>>,
    /// Time to read a domain's statistics, by CPU and level, ns.
    pub(crate) scan_cost: PerCpu<Vec<Ns>>,
    /// `max_load_balance_interval`, jiffies.
    pub(crate) max_interval: u64,
    /// By domain: all ticks of its CPUs before this instant are replayed.
    pub(crate) caught_up_to: IdVec<DomainId, Ns>,
    /// Outcomes of the shared wakequeue.
    pub swq: SwqStats,
    /// SWQUEUE_STEAL: who takes from whom.
    pub(crate) steals: Steals,
}

impl BalanceState {
    fn new(machine: &Machine, jiffies: u64, serialize: LockId) -> Self {
        let n = machine.n_cpus();
        let read = |cpu, other| machine.costs.lb_cpu_ns[machine.distance(cpu, other) as usize];
        let cost = |cpu: CpuId, link: &ChainLink| {
            let cpus = &domain_of(machine, link).cpus;
            machine.costs.lb_domain_ns + cpus.iter().map(|c| read(cpu, *c)).sum::<Ns>()
        };
        let costs = |(cpu, chain): (usize, &Vec<ChainLink>)| {
            let cpu = CpuId(cpu as u32);
            chain.iter().map(|link| cost(cpu, link)).collect()
        };
        let domains = &machine.domains;
        Self {
            paths: (0..n as u32).map(LbPath::new).collect(),
            nohz: Nohz::new(n, jiffies),
            serialize: Some(serialize),
            group_cpus: domains.domains.iter().map(group_cpus).collect(),
            group_llcs: domains.domains.iter().map(|d| group_llcs(machine, d)).collect(),
            cores: domains.domains.iter().map(|d| cores_of(machine, d)).collect(),
            imbalanced: (domains.domains.iter()).map(|d| vec![false; d.groups.len()]).collect(),
            scan_cost: domains.chains.iter().enumerate().map(costs).collect(),
            caught_up_to: vec![0; domains.domains.len()].into(),
            max_interval: max_load_balance_interval(machine.hz, n),
            swq: SwqStats::default(),
            steals: Steals::default(),
        }
    }
}

impl<S: Discipline> Fair<S> {
    /// Fills `sds`, `llcs`, `swqueues` and the balance state (spec 1.3, 1.5). Call it after `rqs`
    /// was filled; CPUs whose tick is stopped at boot enter the nohz mask.
    pub(crate) fn init_balance(&mut self, w: &mut World) {
        let machine = w.machine.clone();
        let now = w.jiffies();
        let sd_state = |link: &ChainLink| SdState {
            balance_interval: u64::from(domain_of(&machine, link).weight()),
            max_newidle_lb_cost: 0,
            last_decay_max_lb_cost: now,
            nr_balance_failed: 0,
            last_balance: now,
            avg_scan_cost: 0,
            newidle_call: 512,
            newidle_success: self.tunables.newidle_ratio / 2,
            newidle_ratio: self.tunables.newidle_ratio,
        };
        self.sds = (machine.domains.chains.iter())
            .map(|chain| chain.iter().map(sd_state).collect())
            .collect();
        // Every core is idle at boot: its CPUs have entered the idle task (spec 1.5).
        let has_idle_cores = self.topo.smt;
        // nr_idle_scan is 0 in the kernel until the first periodic balance; spec 1.5 skips that.
        let llc = |span: &CpuSet| LlcShared {
            nr_busy_cpus: span.len() as u32,
            has_idle_cores,
            nr_idle_scan: span.first().map_or(0, |c| machine.domains.llc_size[c]),
        };
        self.llcs = machine.llcs.iter().map(llc).collect();
        self.shared = SharedQueues::new(&machine, &self.features, &self.tunables);
        let class = if self.features.swqueue { "swqueue" } else { "shard" };
        self.swqueues = (0..self.shared.len).map(|_| Swqueue::new(w.new_lock(class))).collect();
        self.balance = BalanceState::new(&machine, now, w.new_lock("balancing"));
        self.balance.steals = Steals::new(&machine, &self.features);
        for cpu in (0..machine.n_cpus() as u32).map(CpuId) {
            let stopped = w.cpus[cpu].tick_stopped;
            self.balance_idle_enter(w, cpu, stopped);
        }
    }

    /// The part of `scheduler_tick` that belongs to balancing (spec 8.4, 8.6): raises the softirq
    /// if balance is due; at the first busy tick the CPU leaves the nohz mask.
    #[inline]
    pub(crate) fn balance_tick(&mut self, w: &mut World, cpu: CpuId) {
        let idle = w.cpus[cpu].idle;
        self.balance.paths[cpu].idle_at_tick = idle;
        let rq = &self.rqs[cpu];
        if w.jiffies() >= rq.next_balance {
            w.raise_softirq(cpu);
        }
        if rq.nohz_idle && !idle {
            self.nohz_exit_idle(w, cpu);
        }
    }

    /// The earliest tick edge of `cpu` at which balancing may do something (see
    /// `Policy::next_deciding_tick`).
    #[inline]
    pub(crate) fn deciding_tick(&self, w: &World, cpu: CpuId) -> Ns {
        let (c, rq) = (&w.cpus[cpu], &self.rqs[cpu]);
        if rq.nohz_idle {
            return c.tick_next;
        }
        let due = rq.next_balance.saturating_mul(w.tick_ns());
        let skew = match w.machine.tick_skew_ns {
            0 => 0,
            skew => skew * u64::from(cpu.0) % w.tick_ns(),
        };
        c.tick_next.max(due.saturating_add(skew))
    }

    /// Sets `rd.overload` when `cpu`'s queue grows from one to two (spec 8.2); to be called once
    /// for each task that joins. A longer queue does not set it again: a pass that had to leave
    /// out a CPU with nothing but pinned tasks may have cleared it.
    #[inline]
    pub(crate) fn note_nr_running(&mut self, w: &World, cpu: CpuId) {
        if w.cpus[cpu].nr_running == 2 {
            self.overload = true;
        }
    }

    /// The avg_idle part of a wake-up's activation (spec 8.3.1): measures from `idle_stamp`.
    #[inline]
    pub(crate) fn avg_idle_update(&mut self, w: &World, cpu: CpuId) {
        let jiffies = w.jiffies();
        let rq = &mut self.rqs[cpu];
        if rq.idle_stamp == 0 {
            return;
        }
        let cap = 2 * rq.max_idle_balance_cost;
        rq.avg_idle = avg_idle_after(rq.avg_idle, w.now - rq.idle_stamp, cap);
        rq.wake_stamp = jiffies;
        rq.wake_avg_idle = rq.avg_idle / 2;
        rq.idle_stamp = 0;
    }

    /// The scheduler softirq of `cpu` (spec 8.4): a nohz request comes first and, if served, is
    /// all.
    pub(crate) fn softirq_step(&mut self, w: &mut World, cpu: CpuId, first: bool) -> Step {
        if first {
            let path = &mut self.balance.paths[cpu];
            let idle = path.idle_at_tick;
            let request = std::mem::take(&mut path.ilb.granted);
            path.blocked = BlockedStage::default();
            path.soft = Soft::Blocked;
            if request != 0 && idle {
                path.soft = Soft::Ilb;
                self.ilb_begin(w, cpu, request);
            }
        }
        match self.softirq_run(w, cpu) {
            ControlFlow::Break(step) => step,
            ControlFlow::Continue(()) => Step::Done,
        }
    }

    fn softirq_run(&mut self, w: &mut World, cpu: CpuId) -> Flow<()> {
        if self.balance.paths[cpu].soft == Soft::Blocked {
            self.update_blocked(w, cpu, cpu)?;
            let path = &mut self.balance.paths[cpu];
            path.soft = Soft::Rebalance;
            let idle = if path.idle_at_tick { IdleType::Idle } else { IdleType::NotIdle };
            self.rebalance_begin(w, cpu, cpu, idle);
        }
        match self.balance.paths[cpu].soft {
            Soft::Ilb => self.nohz_idle_balance(w, cpu),
            _ => self.rebalance_domains(w, cpu),
        }
    }

    /// `update_blocked_averages` of `target` by `exec`, in a softirq: interrupts are off while the
    /// runqueue lock is held, or a tick of this CPU would wait for itself.
    pub(crate) fn update_blocked(&mut self, w: &mut World, exec: CpuId, target: CpuId) -> Flow<()> {
        use BlockedStage as S;
        let stage = self.balance.paths[exec].blocked;
        let site = sites::PERIODIC_RQ_LOCK;
        let (step, next) = match stage {
            S::IrqOff => (Step::IrqOff, S::Lock),
            S::Lock => (Step::Lock(LockId::rq(target), site), S::Spend),
            S::Spend => (Step::Spend(self.blocked_ns(w, target)), S::Update),
            S::Update => {
                self.catch_up(w, target);
                self.update_blocked_averages(w, target);
                self.balance.paths[target].blocked_tick = w.jiffies();
                (Step::Unlock(LockId::rq(target)), S::IrqOn)
            }
            S::IrqOn => (Step::IrqOn, S::Done),
            S::Done => {
                self.balance.paths[exec].blocked = S::IrqOff;
                return ControlFlow::Continue(());
            }
        };
        self.balance.paths[exec].blocked = next;
        ControlFlow::Break(step)
    }

    /// `get_sd_balance_interval` of one of a CPU's domains, jiffies.
    #[inline]
    pub(crate) fn sd_interval(&self, w: &World, cpu: CpuId, level: usize, busy: bool) -> u64 {
        let ms = self.sds[cpu][level].balance_interval;
        sd_balance_interval(ms, busy, w.machine.hz, self.balance.max_interval)
    }
}

/// How many cores the groups of a domain have CPUs of.
fn cores_of(machine: &Machine, domain: &Domain) -> Vec<u32> {
    let n_cores = |group: &topology::Group| {
        let mut cores: Vec<u32> = group.cpus.iter().map(|c| machine.cpus[*c].core).collect();
        cores.sort_unstable();
        cores.dedup();
        cores.len() as u32
    };
    domain.groups.iter().map(n_cores).collect()
}

fn domain_of<'a>(machine: &'a Machine, link: &ChainLink) -> &'a Domain {
    &machine.domains.domains[link.domain]
}

/// The domain at `level` of `cpu`'s chain, and the index of the CPU's own group in it.
#[inline]
pub(crate) fn domain_at(w: &World, cpu: CpuId, level: usize) -> Option<(&Domain, ChainLink)> {
    let domains = &w.machine.domains;
    let link = *domains.chains[cpu].get(level)?;
    Some((&domains.domains[link.domain], link))
}

/// `max_load_balance_interval`, jiffies.
fn max_load_balance_interval(hz: u32, n_cpus: usize) -> u64 {
    (u64::from(hz) * n_cpus as u64 / 10).max(1)
}

/// `get_sd_balance_interval` (spec 8.4): milliseconds to jiffies, times 16 while busy.
pub(crate) fn sd_balance_interval(ms: u64, busy: bool, hz: u32, max: u64) -> u64 {
    const BUSY_FACTOR: u64 = 16;
    let to_jiffies = |ms: u64| (ms * u64::from(hz)).div_ceil(1000);
    let interval =
        if busy { to_jiffies(ms * BUSY_FACTOR).saturating_sub(1) } else { to_jiffies(ms) };
    interval.clamp(1, max)
}

/// `update_newidle_cost` (spec 8.3.1): true if the cost was decayed.
pub(crate) fn update_newidle_cost(sd: &mut SdState, cost: Ns, jiffies: u64, hz: u32) -> bool {
    if cost > sd.max_newidle_lb_cost {
        sd.max_newidle_lb_cost = cost;
        sd.last_decay_max_lb_cost = jiffies;
    } else if jiffies > sd.last_decay_max_lb_cost + u64::from(hz) {
        sd.max_newidle_lb_cost = sd.max_newidle_lb_cost * 253 / 256;
        sd.last_decay_max_lb_cost = jiffies;
        return true;
    }
    false
}

/// `update_avg` on avg_idle with its cap (spec 8.3.1); the eighth is truncated toward zero.
pub(crate) fn avg_idle_after(avg: Ns, idle: Ns, cap: Ns) -> Ns {
    let next = if idle >= avg { avg + (idle - avg) / 8 } else { avg - (avg - idle) / 8 };
    next.min(cap)
}
