//! Scheduling domains as Linux builds them (spec 1).
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

/// Domain flags (spec 1.1), as bits.
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

/// One group of a domain (spec 1.4).
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
    /// Level.
    pub level: Level,
    /// CPUs spanned.
    pub span: CpuSet,
    /// The same CPUs as a sorted list.
    pub cpus: Vec<CpuId>,
    /// Flags after degeneration.
    pub flags: SdFlags,
    /// `imbalance_pct` (spec 1.3).
    pub imbalance_pct: u32,
    /// `cache_nice_tries` (spec 1.3).
    pub cache_nice_tries: u32,
    /// `imb_numa_nr` (spec 1.6).
    pub imb_numa_nr: u32,
    /// Groups by increasing lowest CPU; CPU c's ring starts at its own group and wraps.
    /// Overlapping NUMA groups differ by node: such a domain exists once per node, its groups in
    /// the order of that node's ring.
    pub groups: Vec<Group>,
}

impl Domain {
    /// `span_weight`.
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
    /// The domain.
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
    /// Per CPU: level index (into its chain) of `sd_llc`, if any (spec 1.5).
    pub llc_level: Vec<Option<u32>>,
    /// Per CPU: `sd_llc_id`, the lowest CPU of its LLC domain (the CPU itself if none).
    pub llc_id: PerCpu<CpuId>,
    /// Per CPU: `sd_llc_size` (1 if none).
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
