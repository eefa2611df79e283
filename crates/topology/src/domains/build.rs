//! From topology levels to the chains of domains that each CPU owns.
//!
//! Per CPU: walk its levels up, compute `imb_numa_nr` on the full chain, then drop redundant
//! levels. Domains are interned: CPUs with the same level and span share one, so its groups are
//! made once. Overlapping NUMA groups depend on the reading CPU: there each start node has a
//! variant of the domain.
//!
//! Left out: the cluster level and the asymmetric-capacity flags.
//! In Linux: `build_sched_domains()` and `cpu_attach_domain()`, `kernel/sched/topology.c`, v6.4.

use super::groups::{Groups, disjoint_groups, overlapping_groups};
use super::levels::{TopoLevel, levels};
use super::{ChainLink, Domain, DomainId, Level, SchedDomains, SdFlags};
use crate::{CpuId, CpuPlace, IdVec, PerCpu};
use std::collections::HashMap;

/// Flags that mean nothing for a domain of one group.
const NEEDS_GROUPS: u32 = SdFlags::BALANCE_NEWIDLE
    | SdFlags::BALANCE_EXEC
    | SdFlags::BALANCE_FORK
    | SdFlags::SHARE_CPUCAPACITY
    | SdFlags::SHARE_LLC
    | SdFlags::SERIALIZE
    | SdFlags::PREFER_SIBLING
    | SdFlags::NUMA;

impl SchedDomains {
    /// Builds the domains of a machine from the places of its CPUs.
    ///
    /// `numa_distance` is the row-major table over the nodes (10 = local); distances beyond
    /// `reclaim_distance` (Linux: 30, on AMD Zen 32) lose the exec, fork and wake-affine flags.
    ///
    /// Ids must be dense, cores must nest in LLCs and LLCs in nodes: a loaded machine is checked
    /// for this.
    pub fn build(cpus: &[CpuPlace], numa_distance: &[u32], reclaim_distance: u32) -> Self {
        let levels = levels(cpus, numa_distance, reclaim_distance);
        let mut builder = Builder::new(cpus.len(), &levels);
        for cpu in (0..cpus.len() as u32).map(CpuId) {
            builder.attach(cpu);
        }
        builder.out
    }
}

/// The levels of a machine, and how far up each CPU's chain goes.
pub(super) struct Stack<'a> {
    pub levels: &'a [TopoLevel],
    /// Per CPU: its topmost level, the first one that spans the whole machine.
    pub top: PerCpu<usize>,
    pub n_cpus: usize,
}

/// One level of a chain that survives degeneration.
struct Kept {
    level: usize,
    weight: u32,
    flags: u32,
    imb_numa_nr: ImbNumaNr,
}

/// What makes two CPUs share a domain.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    level: usize,
    span: u32,
    flags: u32,
    imb_numa_nr: ImbNumaNr,
    /// Span index of the reader's node, if the groups overlap.
    start_node: Option<u32>,
}

struct Builder<'a> {
    stack: Stack<'a>,
    out: SchedDomains,
    /// Per domain, per CPU in its list: its own group.
    own_group: IdVec<DomainId, Vec<u32>>,
    known: HashMap<Key, DomainId>,
    /// Whether the groups of a NUMA span overlap, by (level, span).
    overlaps: HashMap<(usize, u32), bool>,
}

impl<'a> Builder<'a> {
    fn new(n_cpus: usize, levels: &'a [TopoLevel]) -> Self {
        let top = (0..n_cpus as u32).map(|cpu| {
            let spans_all = |l: &TopoLevel| l.weight(CpuId(cpu)) as usize == n_cpus;
            levels.iter().position(spans_all).unwrap_or(levels.len() - 1)
        });
        Self {
            stack: Stack { levels, top: top.collect(), n_cpus },
            out: SchedDomains::default(),
            own_group: IdVec::new(),
            known: HashMap::new(),
            overlaps: HashMap::new(),
        }
    }

    /// Builds the chain of one CPU and the pointers derived from it.
    fn attach(&mut self, cpu: CpuId) {
        let kept = degenerate(&self.stack, cpu, &imb_numa_nrs(&self.stack, cpu));
        let chain: Vec<ChainLink> = kept.iter().map(|k| self.link(cpu, k)).collect();
        let shares_llc = |link: &ChainLink| {
            let domain = &self.out.domains[link.domain];
            domain.flags.has(SdFlags::SHARE_LLC)
        };
        // From the top: an LLC of a single core has no MC level, and its `sd_llc` is SMT.
        let llc_level = chain.iter().rposition(shares_llc);
        let llc =
            llc_level.map(|l| &self.out.domains[DomainId((chain[l].domain.0 as usize) as u32)]);
        let (llc_id, llc_size) = llc.map_or((cpu, 1), |d| (d.cpus[0], d.weight()));
        self.out.llc_id.push(llc_id);
        self.out.llc_size.push(llc_size);
        self.out.llc_level.push(llc_level.map(|l| l as u32));
        self.out.chains.push(chain);
    }

    fn link(&mut self, cpu: CpuId, kept: &Kept) -> ChainLink {
        let domain = self.intern(cpu, kept);
        let cpus = &self.out.domains[domain].cpus;
        let place = cpus.binary_search(&cpu).expect("a CPU is in its own domain");
        ChainLink { domain, own_group: self.own_group[domain][place] }
    }

    fn intern(&mut self, cpu: CpuId, kept: &Kept) -> DomainId {
        let span = self.stack.levels[kept.level].span_of[cpu];
        let key = Key {
            level: kept.level,
            span,
            flags: kept.flags,
            imb_numa_nr: kept.imb_numa_nr,
            start_node: self.start_node(cpu, kept.level, span),
        };
        if let Some(id) = self.known.get(&key) {
            return *id;
        }
        let id = DomainId(self.out.domains.len() as u32);
        let (domain, own_group) = self.make(&key);
        self.out.domains.push(domain);
        self.own_group.push(own_group);
        self.known.insert(key, id);
        id
    }

    /// The reader's node, if the groups of this span depend on where one starts.
    fn start_node(&mut self, cpu: CpuId, level: usize, span: u32) -> Option<u32> {
        let stack = &self.stack;
        let numa = matches!(stack.levels[level].level, Level::Numa(_));
        let overlaps = numa
            && *self.overlaps.entry((level, span)).or_insert_with(|| {
                let cpus: Vec<CpuId> = stack.levels[level].spans[span as usize].iter().collect();
                disjoint_groups(stack, level, &cpus).is_none()
            });
        let node = |l: &&TopoLevel| l.level == Level::Node;
        overlaps.then(|| stack.levels.iter().find(node)).flatten().map(|l| l.span_of[cpu])
    }

    fn make(&self, key: &Key) -> (Domain, Vec<u32>) {
        let level = &self.stack.levels[key.level];
        let span = level.spans[key.span as usize].clone();
        let cpus: Vec<CpuId> = span.iter().collect();
        let Groups { groups, own } = match key.start_node {
            Some(node) => overlapping_groups(&self.stack, key.level, &span, node),
            None => disjoint_groups(&self.stack, key.level, &cpus)
                .expect("below NUMA, spans nest; NUMA spans were tested for overlap"),
        };
        let smt = key.flags & SdFlags::SHARE_CPUCAPACITY != 0;
        let domain = Domain {
            level: level.level,
            span,
            cpus,
            flags: SdFlags(key.flags),
            imbalance_pct: if smt { 110 } else { 117 },
            cache_nice_tries: match level.level {
                Level::Smt => 0,
                Level::Mc | Level::Die | Level::Node => 1,
                Level::Numa(_) => 2,
            },
            imb_numa_nr: key.imb_numa_nr.eighth,
            imb_numa_nr_quarter: key.imb_numa_nr.quarter,
            groups,
        };
        (domain, own)
    }
}

/// `imb_numa_nr` by the rules of v6.0 and of kernels before it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
struct ImbNumaNr {
    eighth: u32,
    quarter: u32,
}

/// `imb_numa_nr` of each level of a CPU's full chain (end of `build_sched_domains()`, v5.19 and
/// v6.4). Levels that are dropped later still count here.
fn imb_numa_nrs(stack: &Stack, cpu: CpuId) -> Vec<ImbNumaNr> {
    let chain = &stack.levels[..=stack.top[cpu]];
    let shares_llc = |l: &TopoLevel| l.flags & SdFlags::SHARE_LLC != 0;
    let (mut imb, mut imb_span) = (ImbNumaNr::default(), 1);
    let mut nrs = Vec::with_capacity(chain.len());
    for (i, level) in chain.iter().enumerate() {
        let weight = level.weight(cpu);
        let child = i.checked_sub(1).map(|below| &chain[below]);
        let above_llc = child.filter(|c| shares_llc(c) && !shares_llc(level));
        if let Some(child) = above_llc {
            let n_llcs = weight / child.weight(cpu);
            // One LLC: an eighth, a guess of how many tasks share no core and no memory channel.
            // Several: until two tasks would share an LLC.
            imb = match n_llcs {
                1 => ImbNumaNr { eighth: (weight >> 3).max(1), quarter: weight >> 2 },
                _ => ImbNumaNr { eighth: n_llcs, quarter: n_llcs },
            };
            let mut above = chain[i + 1..].iter();
            let first_numa = above.find(|l| l.flags & SdFlags::NUMA != 0);
            imb_span = first_numa.map_or(weight, |l| l.weight(cpu));
            nrs.push(imb);
        } else {
            let factor = (weight / imb_span).max(1);
            nrs.push(ImbNumaNr { eighth: imb.eighth * factor, quarter: imb.quarter * factor });
        }
    }
    nrs
}

/// Drops the levels that add nothing (`sd_parent_degenerate()`), and hands their PREFER_SIBLING
/// down (`cpu_attach_domain()`).
fn degenerate(stack: &Stack, cpu: CpuId, imb_numa_nrs: &[ImbNumaNr]) -> Vec<Kept> {
    let mut kept: Vec<Kept> = Vec::new();
    for (l, level) in stack.levels[..=stack.top[cpu]].iter().enumerate() {
        let parent = Kept {
            level: l,
            weight: level.weight(cpu),
            flags: level.flags,
            imb_numa_nr: imb_numa_nrs[l],
        };
        match kept.last_mut() {
            Some(child) if is_redundant(child, &parent) => {
                // The kernel hands it down even from a parent of one group, where it says nothing.
                child.flags |= parent.flags & SdFlags::PREFER_SIBLING;
            }
            _ => kept.push(parent),
        }
    }
    // The bottom has no child that could absorb it: SMT of one thread goes at the end.
    if kept.first().is_some_and(|bottom| bottom.weight == 1) {
        kept.remove(0);
    }
    kept
}

/// Spans of a chain nest, so equal weights mean equal spans, and then the parent has one group.
fn is_redundant(child: &Kept, parent: &Kept) -> bool {
    let adds_flags = parent.flags & !NEEDS_GROUPS & !child.flags != 0;
    parent.weight == 1 || (parent.weight == child.weight && !adds_flags)
}
