//! What balancing keeps beside the runqueues: paths in progress, nohz state, tables of domains.

use super::cpu_stats::{Members, group_cpus, group_llcs};
use super::path::LbPath;
use super::shared_queues::SwqStats;
use super::steals::Steals;
use sim_core::{LockId, NEVER, Ns};
use topology::{ChainLink, CpuId, CpuSet, Domain, DomainId, IdVec, Machine, PerCpu};

/// Lines of a remote runqueue that a pull touches beside the lock's: list head, task, load, tree
/// node.
pub(crate) const PULL_LINES: u64 = 4;

/// The `nohz` structure; times in jiffies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nohz {
    pub idle_cpus_mask: CpuSet,
    pub nr_cpus: u32,
    pub next_balance: u64,
    pub has_blocked: bool,
    pub next_blocked: u64,
    pub needs_update: bool,
    /// When the policy timer is set to fire, ns.
    pub timer_at: Ns,
}

impl Nohz {
    pub(crate) fn new(n_cpus: usize, jiffies: u64) -> Self {
        Self {
            idle_cpus_mask: CpuSet::empty(n_cpus),
            nr_cpus: 0,
            next_balance: jiffies,
            has_blocked: false,
            next_blocked: jiffies,
            needs_update: false,
            timer_at: NEVER,
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
    /// `max_load_balance_interval`, jiffies.
    pub(crate) max_interval: u64,
    /// By domain: all ticks of its CPUs before this instant are replayed.
    pub(crate) caught_up_to: IdVec<DomainId, Ns>,
    /// Outcomes of the shared wakequeue.
    pub swq: SwqStats,
    /// SWQUEUE_STEAL: which queues each CPU looks into.
    pub(crate) steals: Steals,
}

impl BalanceState {
    pub(crate) fn new(machine: &Machine, jiffies: u64, serialize: LockId) -> Self {
        let n = machine.n_cpus();
        let domains = &machine.domains;
        Self {
            paths: (0..n as u32).map(LbPath::new).collect(),
            nohz: Nohz::new(n, jiffies),
            serialize: Some(serialize),
            group_cpus: domains.domains.iter().map(group_cpus).collect(),
            group_llcs: domains.domains.iter().map(|d| group_llcs(machine, d)).collect(),
            cores: domains.domains.iter().map(|d| cores_of(machine, d)).collect(),
            imbalanced: (domains.domains.iter()).map(|d| vec![false; d.groups.len()]).collect(),
            caught_up_to: vec![0; domains.domains.len()].into(),
            max_interval: max_load_balance_interval(machine.hz, n),
            swq: SwqStats::default(),
            steals: Steals::default(),
        }
    }
}

/// How many cores the groups of a domain have CPUs of.
fn cores_of(machine: &Machine, domain: &Domain) -> Vec<u32> {
    let n_cores = |group: &topology::Group| {
        let mut cores: Vec<u32> = group.cpus.iter().map(|c| machine.cpus[*c].core).collect();
        // Siblings are one core.
        cores.sort_unstable();
        cores.dedup();
        cores.len() as u32
    };
    domain.groups.iter().map(n_cores).collect()
}

pub(crate) fn domain_of<'a>(machine: &'a Machine, link: &ChainLink) -> &'a Domain {
    &machine.domains.domains[link.domain]
}

/// `max_load_balance_interval`, jiffies.
pub(crate) fn max_load_balance_interval(hz: u32, n_cpus: usize) -> u64 {
    (u64::from(hz) * n_cpus as u64 / 10).max(1)
}
