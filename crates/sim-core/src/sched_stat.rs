//! What /proc/schedstat counts: per runqueue (`struct rq`, kernel/sched/sched.h), and per CPU and
//! scheduling domain (`struct sched_domain`).
//!
//! The counters lie in dense arrays and are incremented where the thing happens: the runqueue's by
//! the engine, the domains' by the class that balances. What follows from other counters is not
//! counted but calculated on demand: each switch is a call of `schedule()`, and each switch to a
//! task begins a time slice. The names are the kernel's (kernel/sched/stats.c, version 17 of the
//! file).
//!
//! The kernel counts a task that is preempted on its way to sleep neither as waiting nor as a new
//! time slice; here it waits as any other.

use crate::{Cpu, Ns, TaskId, World};
use topology::{CpuId, Machine, PerCpu};

/// `enum cpu_idle_type`: what the CPU on whose behalf a balance pass is made does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IdleType {
    /// It runs a task.
    #[default]
    NotIdle,
    /// It is idle.
    Idle,
    /// It is about to idle.
    NewlyIdle,
}

/// Number of [`IdleType`]'s values.
pub const N_IDLE_TYPES: usize = 3;

/// What one runqueue counts, beside [`Cpu::nr_switches`].
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct RqStat {
    /// `yld_count`
    pub yields: u64,
    /// Calls of `schedule()` that left the current task where it was.
    pub kept: u64,
    /// `sched_goidle`: switches to the idle task.
    pub goidle: u64,
    /// `rq_cpu_time`: stays of tasks and the stopper on the CPU, those that have ended, ns.
    pub cpu_time_ns: Ns,
    /// `run_delay`: time that tasks and the stopper waited here, counted as they run or go, ns.
    pub run_delay_ns: Ns,
    /// Wake-ups of tasks to the CPU that executed them, by [`WokenHere`].
    local: [u64; 3],
    /// [`Cpu::nr_switches`] when this count began.
    switches_before: u64,
}

/// Why a wake-up put a task on the CPU that executed it.
#[derive(Clone, Copy)]
enum WokenHere {
    /// It was there before.
    Prev,
    /// It was moved there.
    Moved,
    /// It was still on that runqueue, or is the stopper.
    OnRq,
}

/// Which CPU a wake-up put a task on, if not on the one that executed it.
#[derive(Clone, Copy)]
enum WokenThere {
    /// Where it was before.
    Prev,
    /// Another one, behind the LLC of the CPU where it was before.
    SameLlc,
    /// Behind another LLC.
    OtherLlc,
    /// It was still on that runqueue, or is the stopper.
    OnRq,
}

/// `load_balance` (`sched_balance_rq` since 6.10) of one domain for CPUs of one [`IdleType`].
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the kernel's names, without lb_")]
pub struct LbStat {
    pub count: u64,
    pub balanced: u64,
    pub failed: u64,
    pub imbalance_load: u64,
    pub imbalance_util: u64,
    pub imbalance_task: u64,
    pub gained: u64,
    pub hot_gained: u64,
    pub nobusyq: u64,
    pub nobusyg: u64,
}

/// What one CPU counts for one of its domains.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct SdStat {
    /// By [`IdleType`].
    pub lb: [LbStat; N_IDLE_TYPES],
    /// `alb_failed`: active pushes that moved nothing.
    pub alb_failed: u64,
    /// `alb_pushed`: active pushes that moved a task.
    pub alb_pushed: u64,
    /// `ttwu_move_affine`: wake-ups that `wake_affine` turned to the waker's CPU.
    pub ttwu_move_affine: u64,
    /// Wake-ups to another CPU of this domain and of none below, by [`WokenThere`].
    remote: [u64; 4],
}

impl SdStat {
    /// `alb_count`: active pushes.
    pub fn alb_count(&self) -> u64 {
        self.alb_failed + self.alb_pushed
    }

    /// `ttwu_wake_remote`: wake-ups executed by the CPU that put a task on another CPU of this
    /// domain and of none below.
    pub fn ttwu_wake_remote(&self) -> u64 {
        self.remote.iter().sum()
    }
}

/// Searches of `select_idle_sibling`, as "sched/fair: Track efficiency of select_idle_sibling"
/// (Mel Gorman, 2021) counts them.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct SisStat {
    /// Searches. One whose CPU was taken before it ended is made again and counts twice.
    pub searches: u64,
    /// Those that looked beyond the target, the previous and the recently used CPU.
    pub domain_searches: u64,
    /// Those that found no idle CPU.
    pub failed: u64,
    /// Those that found the recently used CPU.
    pub recent_hits: u64,
    /// CPUs that searches of domains read.
    pub domain_scanned: u64,
}

/// Wake-ups by where they put the task.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct WakeTargets {
    /// The CPU that it was on before.
    pub prev: u64,
    /// The waker's CPU, if that is another.
    pub waker: u64,
    /// A third one, behind the LLC of the one before.
    pub same_llc: u64,
    /// One behind another LLC.
    pub other_llc: u64,
}

/// All that is counted but is not in the runqueues ([`Cpu::stat`]).
#[derive(Clone, Debug)]
pub struct SchedStat {
    /// By CPU and level of its chain of domains; at least one per CPU.
    sds: Vec<SdStat>,
    /// By CPU: where its part of `sds` begins.
    first: PerCpu<u32>,
    /// Idle searches of wake-ups.
    pub sis: SisStat,
    /// The policy searches and balances as the fair class does, and so counts.
    pub is_fair: bool,
}

impl SchedStat {
    pub(crate) fn new(machine: &Machine) -> Self {
        let mut first = Vec::with_capacity(machine.n_cpus());
        let mut sds = Vec::new();
        for chain in &machine.domains.chains {
            first.push(sds.len() as u32);
            sds.resize(sds.len() + chain.len().max(1), SdStat::default());
        }
        Self { sds, first: first.into(), sis: SisStat::default(), is_fair: false }
    }

    /// What `cpu` counts for the domain at `level` of its chain.
    #[inline]
    pub fn sd(&self, cpu: CpuId, level: usize) -> &SdStat {
        &self.sds[self.first[cpu] as usize + level]
    }

    /// The same, to count.
    #[inline]
    pub fn sd_mut(&mut self, cpu: CpuId, level: usize) -> &mut SdStat {
        &mut self.sds[self.first[cpu] as usize + level]
    }

    fn begin_measurement(&mut self) {
        self.sds.fill(SdStat::default());
        self.sis = SisStat::default();
    }
}

impl Cpu {
    /// `sched_count`: calls of `schedule()`.
    pub fn sched_count(&self) -> u64 {
        self.nr_switches - self.stat.switches_before + self.stat.kept
    }

    /// `pcount`: time slices of tasks and the stopper.
    pub fn pcount(&self) -> u64 {
        self.nr_switches - self.stat.switches_before - self.stat.goidle
    }

    /// `ttwu_local`: wake-ups executed here that put the task here.
    pub fn ttwu_local(&self) -> u64 {
        self.stat.local.iter().sum()
    }
}

impl World {
    /// `ttwu_count`: wake-ups that `cpu` executed.
    pub fn ttwu_count(&self, cpu: CpuId) -> u64 {
        let first = self.stat.first[cpu] as usize;
        let end = self.stat.first.get(cpu.idx() + 1).map_or(self.stat.sds.len(), |n| *n as usize);
        let remote = self.stat.sds[first..end].iter().map(SdStat::ttwu_wake_remote);
        self.cpus[cpu].ttwu_local() + remote.sum::<u64>()
    }

    /// Where wake-ups put tasks; those of tasks that were still on a runqueue, and of stoppers, are
    /// not among them.
    pub fn wake_targets(&self) -> WakeTargets {
        let local = |why| self.cpus.iter().map(|c| c.stat.local[why as usize]).sum::<u64>();
        let remote = |why| self.stat.sds.iter().map(|sd| sd.remote[why as usize]).sum::<u64>();
        WakeTargets {
            prev: local(WokenHere::Prev) + remote(WokenThere::Prev),
            waker: local(WokenHere::Moved),
            same_llc: remote(WokenThere::SameLlc),
            other_llc: remote(WokenThere::OtherLlc),
        }
    }

    /// `ttwu_stat`: the executing CPU has chosen `to` for a task that was on `from`. Not inlined,
    /// and neither is what follows: it would keep parts of frequent paths from being inlined.
    #[inline(never)]
    pub(crate) fn count_wakeup(&mut self, from: CpuId, to: CpuId) {
        if to == self.this {
            let why = if from == to { WokenHere::Prev } else { WokenHere::Moved };
            self.cpus[to].stat.local[why as usize] += 1;
            return;
        }
        let cpus = &self.machine.cpus;
        let why = match from == to {
            true => WokenThere::Prev,
            false if cpus[from].llc == cpus[to].llc => WokenThere::SameLlc,
            false => WokenThere::OtherLlc,
        };
        self.count_remote(to, why);
    }

    /// `do_sched_yield` on `cpu`.
    #[inline(never)]
    pub(crate) fn count_yield(&mut self, cpu: CpuId) {
        self.cpus[cpu].stat.yields += 1;
    }

    /// The same for a task that was still on the runqueue of `at`, or for its stopper.
    #[inline(never)]
    pub(crate) fn count_wakeup_on_rq(&mut self, at: CpuId) {
        if at == self.this {
            self.cpus[at].stat.local[WokenHere::OnRq as usize] += 1;
        } else {
            self.count_remote(at, WokenThere::OnRq);
        }
    }

    /// Counts in the lowest domain of the executing CPU that spans `to`.
    fn count_remote(&mut self, to: CpuId, why: WokenThere) {
        let domains = &self.machine.domains;
        let chain = &domains.chains[self.this];
        // `ttwu_stat()` walks up from the lowest domain as well.
        let spans = |link: &topology::ChainLink| domains.domain(link.domain).span.contains(to);
        let level = chain.iter().position(spans).unwrap_or(chain.len().saturating_sub(1));
        self.stat.sd_mut(self.this, level).remote[why as usize] += 1;
    }

    /// `cpu` goes over to the idle task or its stopper.
    #[inline(never)]
    pub(crate) fn count_other(&mut self, cpu: CpuId, next: TaskId) {
        let c = &mut self.cpus[cpu];
        if next == TaskId::IDLE {
            c.stat.goidle += 1;
        } else {
            c.stat.run_delay_ns += self.now - c.stop_queued_at;
        }
    }

    /// The counters start again.
    pub(crate) fn restart_sched_stat(&mut self) {
        self.stat.begin_measurement();
        for c in &mut self.cpus {
            c.stat = RqStat { switches_before: c.nr_switches, ..RqStat::default() };
        }
    }
}
