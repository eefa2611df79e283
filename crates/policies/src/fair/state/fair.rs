//! The fair class: everything that it keeps, as one struct.

use super::balance::BalanceState;
use super::counters::FairCounters;
use super::cpu_stats::{CpuStats, LlcStats};
use super::domain::{LlcShared, SdState};
use super::features::{Features, Tunables};
use super::groups::{GroupSpec, Groups};
use super::rq::FairRq;
use super::rules::{KernelRules, Rules};
use super::shared_queues::{SharedQueues, Swqueue};
use super::task::FairTask;
use super::topo::Topo;
use sim_core::{Ns, PerTask, World};
use std::fmt::Debug;
use topology::{IdVec, PerCpu};

/// What a queueing discipline keeps, and the constants that say what it can do.
///
/// The functions of a discipline are those of `queue::Discipline`.
pub trait QueueKind: Sized {
    /// What a task has besides [`FairTask`].
    type Entity: Clone + Debug + Default;
    /// The order of a runqueue's waiting tasks.
    type Queue: Clone + Debug + Default;

    /// A task that goes to sleep may stay on its queue for a while.
    const DELAYS: bool = false;

    /// Tasks may be in task groups: then a runqueue's ticks and turns concern others.
    const GROUPS: bool = false;

    /// The kernel whose rules apply to what the disciplines share.
    fn rules(&self) -> Rules;

    /// The same, rule by rule.
    fn kernel(&self) -> &'static KernelRules;

    /// The task sleeps on its queue.
    #[inline]
    fn is_delayed(_ext: &Self::Entity) -> bool {
        false
    }
}

/// The fair class, with CFS or EEVDF as its queueing discipline.
pub struct Fair<S: QueueKind> {
    /// The discipline.
    pub discipline: S,
    /// Features.
    pub features: Features,
    /// Tunables.
    pub tunables: Tunables,
    /// Task groups.
    pub(crate) groups: Groups<S::Entity, S::Queue>,
    /// By `TaskId`.
    pub tasks: PerTask<FairTask<S::Entity>>,
    /// By `CpuId`.
    pub rqs: PerCpu<FairRq<S::Queue>>,
    /// By `CpuId`: what balancing reads of `rqs`.
    pub(crate) cpu_stats: PerCpu<CpuStats>,
    /// By LLC number: the sums of `cpu_stats`.
    pub(crate) llc_stats: Vec<LlcStats>,
    /// By `CpuId`, then level in the CPU's domain chain.
    pub sds: PerCpu<Vec<SdState>>,
    /// By LLC number.
    pub llcs: Vec<LlcShared>,
    /// Which CPUs use which shared queue.
    pub shared: SharedQueues,
    /// The shared queues; none without SWQUEUE and SHARED_RUNQ.
    pub swqueues: Vec<Swqueue>,
    /// `rd.overload`.
    pub overload: bool,
    /// A SCHED_IDLE task exists or existed: `sched_idle_cpu` needs to be asked.
    pub sched_idle_used: bool,
    /// Precomputed topology.
    pub topo: Topo,
    /// Balance paths in progress and nohz state.
    pub balance: BalanceState,
    /// What it has counted.
    pub counters: FairCounters,
}

impl<S: QueueKind> Fair<S> {
    /// When [`sim_core::Policy::policy_timer`] is due.
    #[inline]
    pub(crate) fn timer_at(&self) -> Ns {
        self.balance.nohz.timer_at.min(self.groups.timer_at)
    }

    /// Sets the policy's timer to the first of those that share it.
    #[inline]
    pub(crate) fn set_policy_timer(&self, w: &mut World) {
        w.set_policy_timer(0, self.timer_at());
    }

    pub(crate) fn with(
        discipline: S,
        features: Features,
        tunables: Tunables,
        groups: &[GroupSpec],
    ) -> Self {
        Self {
            discipline,
            features,
            tunables,
            groups: Groups::new(groups),
            tasks: IdVec::new(),
            rqs: IdVec::new(),
            cpu_stats: IdVec::new(),
            llc_stats: Vec::new(),
            sds: IdVec::new(),
            llcs: Vec::new(),
            shared: SharedQueues::default(),
            swqueues: Vec::new(),
            overload: false,
            sched_idle_used: false,
            topo: Topo::default(),
            balance: BalanceState::default(),
            counters: FairCounters::default(),
        }
    }
}
