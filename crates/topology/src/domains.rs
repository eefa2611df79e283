//! Scheduling domains as Linux builds them (`build_sched_domains()`, v6.4).
//!
//! The static part only: spans, flags, groups, constants. What changes during a run
//! (`balance_interval`, `max_newidle_lb_cost`, …) belongs to the policy, per CPU and level.

mod build;
mod groups;
mod levels;
#[cfg(test)]
mod tests;

use crate::{CpuId, CpuSet, DenseId, IdVec, PerCpu};

/// The level a domain belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Level {
    /// Hardware threads of a core.
    Smt,
    /// CPUs behind one last-level cache.
    Mc,
    /// CPUs of a node where no package holds several nodes.
    Die,
    /// CPUs of a node where packages hold several nodes.
    Node,
    /// All CPUs within the n-th distance (1-based).
    Numa(u8),
}

/// Flags of a domain, one bit each. The bits are not those of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SdFlags(pub u32);

impl SdFlags {
    /// SD_BALANCE_NEWIDLE
    pub const BALANCE_NEWIDLE: u32 = 1 << 0;
    /// SD_BALANCE_EXEC
    pub const BALANCE_EXEC: u32 = 1 << 1;
    /// SD_BALANCE_FORK
    pub const BALANCE_FORK: u32 = 1 << 2;
    /// SD_WAKE_AFFINE
    pub const WAKE_AFFINE: u32 = 1 << 3;
    /// SD_SHARE_CPUCAPACITY
    pub const SHARE_CPUCAPACITY: u32 = 1 << 4;
    /// SD_SHARE_PKG_RESOURCES (SD_SHARE_LLC)
    pub const SHARE_LLC: u32 = 1 << 5;
    /// SD_SERIALIZE
    pub const SERIALIZE: u32 = 1 << 6;
    /// SD_PREFER_SIBLING
    pub const PREFER_SIBLING: u32 = 1 << 7;
    /// SD_NUMA
    pub const NUMA: u32 = 1 << 8;

    /// True if all bits of `mask` are set.
    #[inline]
    pub const fn has(self, mask: u32) -> bool {
        self.0 & mask == mask
    }
}

/// One group of a domain: the CPUs of one of its child domains, or a single CPU at the bottom.
#[derive(Clone, Debug)]
pub struct Group {
    /// CPUs of the group.
    pub span: CpuSet,
    /// The same CPUs as a sorted list, for iteration.
    pub cpus: Vec<CpuId>,
    /// CPUs that may balance on behalf of the group.
    pub balance_mask: CpuSet,
    /// `group_balance_cpu`: lowest CPU of the balance mask.
    pub balance_cpu: CpuId,
    /// True if the group is built from a child domain that shares CPU capacity (SMT).
    pub smt: bool,
}

/// One domain, shared by all CPUs with the same level and span.
#[derive(Clone, Debug)]
pub struct Domain {
    /// The topology level that the domain was built from.
    pub level: Level,
    /// CPUs spanned.
    pub span: CpuSet,
    /// The same CPUs as a sorted list.
    pub cpus: Vec<CpuId>,
    /// Flags, those handed down by removed parents included.
    pub flags: SdFlags,
    /// `imbalance_pct`, percent: 110 at SMT, 117 elsewhere (`sd_init()`, v6.4).
    pub imbalance_pct: u32,
    /// `cache_nice_tries`: a cache-hot task may move once more balances than this have failed.
    pub cache_nice_tries: u32,
    /// `imb_numa_nr`: an imbalance between NUMA nodes is left alone while a node runs at most so
    /// many tasks. 0 up to the level of the LLC.
    pub imb_numa_nr: u32,
    /// The same before v6.0: of nodes that are one LLC a quarter of the CPUs, not an eighth.
    pub imb_numa_nr_quarter: u32,
    /// Groups by increasing lowest CPU. A CPU's ring starts at its own group and wraps.
    /// Overlapping NUMA groups differ by node: such a domain exists once per node, with its groups
    /// in the order of that node's ring.
    pub groups: Vec<Group>,
}

impl Domain {
    /// `span_weight`: the number of CPUs spanned.
    #[inline]
    pub fn weight(&self) -> u32 {
        self.cpus.len() as u32
    }
}

/// Index into [`SchedDomains::domains`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DomainId(pub u32);

impl DenseId for DomainId {
    #[inline]
    fn index(self) -> usize {
        self.0 as usize
    }

    fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).expect("a machine has fewer domains than 2^32"))
    }
}

/// One level of a CPU's chain.
#[derive(Clone, Copy, Debug)]
pub struct ChainLink {
    /// The domain at this level.
    pub domain: DomainId,
    /// Index of the CPU's own group in `groups`: where its ring starts.
    pub own_group: u32,
}

/// The domains of a machine.
#[derive(Clone, Debug, Default)]
pub struct SchedDomains {
    /// All distinct domains.
    pub domains: IdVec<DomainId, Domain>,
    /// Per CPU, bottom to top, after degeneration. Empty on a one-CPU machine.
    pub chains: PerCpu<Vec<ChainLink>>,
    /// Per CPU: index in its chain of `sd_llc`, the highest domain that shares a last-level cache;
    /// `None` if no domain does (`update_top_cache_domain()`).
    pub llc_level: Vec<Option<u32>>,
    /// Per CPU: `sd_llc_id`, the lowest CPU of its LLC domain (the CPU itself if none).
    pub llc_id: PerCpu<CpuId>,
    /// Per CPU: `sd_llc_size`, the number of CPUs of that domain (1 if none).
    pub llc_size: PerCpu<u32>,
}

impl SchedDomains {
    /// A domain by its id.
    #[inline]
    pub fn domain(&self, id: DomainId) -> &Domain {
        &self.domains[id]
    }

    /// The domains of a CPU, bottom to top.
    pub fn chain(&self, cpu: CpuId) -> impl DoubleEndedIterator<Item = &Domain> {
        let links = self.chains[cpu].iter();
        links.map(|link| self.domain(link.domain))
    }

    /// The groups of one link of a chain in ring order: the CPU's own group first.
    pub fn ring(&self, link: ChainLink) -> impl Iterator<Item = &Group> {
        let groups = &self.domain(link.domain).groups;
        let (before, from_own) = groups.split_at(link.own_group as usize);
        from_own.iter().chain(before)
    }

    /// `cpus_share_cache`: the same CPU, or the same last-level cache.
    #[inline]
    pub fn share_cache(&self, a: CpuId, b: CpuId) -> bool {
        a == b || self.llc_id[a] == self.llc_id[b]
    }
}
