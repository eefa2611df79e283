//! The topology levels of a machine, before anything is removed.
//! In Linux, v6.4: `arch/x86/kernel/smpboot.c`; `sched_init_numa()` of `kernel/sched/topology.c`.
//!
//! Each level says, for every CPU, which span it has there. Spans are stored once and CPUs refer
//! to them by index, so that a machine of thousands of CPUs costs one small integer per CPU and
//! level. SMT is always there; without hardware threads its spans hold one CPU and degenerate.

use super::{Level, SdFlags};
use crate::{CpuId, CpuPlace, CpuSet, PerCpu};
use std::collections::HashMap;

/// Flags every domain starts with.
const COMMON: u32 = SdFlags::BALANCE_NEWIDLE
    | SdFlags::BALANCE_EXEC
    | SdFlags::BALANCE_FORK
    | SdFlags::WAKE_AFFINE
    | SdFlags::PREFER_SIBLING;

/// Flags a NUMA domain loses when its distance exceeds the reclaim distance.
const NEAR_ONLY: u32 = SdFlags::BALANCE_EXEC | SdFlags::BALANCE_FORK | SdFlags::WAKE_AFFINE;

/// One level: a span for every CPU.
pub(super) struct TopoLevel {
    pub level: Level,
    pub flags: u32,
    /// Per CPU: index into `spans`.
    pub span_of: PerCpu<u32>,
    pub spans: Vec<CpuSet>,
    pub weights: Vec<u32>,
}

impl TopoLevel {
    /// A level whose spans are the classes of CPUs with equal keys.
    fn partition(level: Level, flags: u32, keys: &[u32]) -> Self {
        let n_spans = keys.iter().max().map_or(0, |max| *max as usize + 1);
        let mut spans = vec![CpuSet::empty(keys.len()); n_spans];
        for (cpu, key) in keys.iter().enumerate() {
            spans[*key as usize].insert(CpuId(cpu as u32));
        }
        Self::new(level, flags, PerCpu::from(keys.to_vec()), spans)
    }

    fn new(level: Level, flags: u32, span_of: PerCpu<u32>, spans: Vec<CpuSet>) -> Self {
        let weights = spans.iter().map(|s| s.len() as u32).collect();
        Self { level, flags, span_of, spans, weights }
    }

    /// Number of CPUs in the span of `cpu`.
    pub fn weight(&self, cpu: CpuId) -> u32 {
        self.weights[self.span_of[cpu] as usize]
    }
}

/// All levels of the machine, bottom to top.
pub(super) fn levels(
    cpus: &[CpuPlace],
    numa_distance: &[u32],
    reclaim_distance: u32,
) -> Vec<TopoLevel> {
    let keys = |of: fn(&CpuPlace) -> u32| cpus.iter().map(of).collect::<Vec<u32>>();
    let (core, llc, node) = (keys(|p| p.core), keys(|p| p.llc), keys(|p| p.node));
    let shared = COMMON | SdFlags::SHARE_LLC;
    let smt = shared | SdFlags::SHARE_CPUCAPACITY;
    let mut levels = vec![
        TopoLevel::partition(Level::Smt, smt, &core),
        TopoLevel::partition(Level::Mc, shared, &llc),
    ];
    if !any_socket_holds_several_nodes(cpus) {
        levels.push(TopoLevel::partition(Level::Die, COMMON, &node));
    }
    let n_nodes = node.iter().max().map_or(0, |max| *max as usize + 1);
    if n_nodes > 1 {
        let nodes = TopoLevel::partition(Level::Node, COMMON, &node);
        let numa = numa_levels(&nodes, numa_distance, reclaim_distance);
        levels.push(nodes);
        levels.extend(numa);
    }
    levels
}

/// x86 leaves DIE out of all chains as soon as one package holds more than one node
/// (`x86_has_numa_in_package`, `arch/x86/kernel/smpboot.c`).
fn any_socket_holds_several_nodes(cpus: &[CpuPlace]) -> bool {
    let mut node_of_socket: HashMap<u32, u32> = HashMap::new();
    cpus.iter().any(|p| *node_of_socket.entry(p.socket).or_insert(p.node) != p.node)
}

/// One level per distance beyond the local one.
fn numa_levels(nodes: &TopoLevel, distance: &[u32], reclaim_distance: u32) -> Vec<TopoLevel> {
    let mut distances = distance.to_vec();
    distances.sort_unstable();
    distances.dedup();
    // The smallest distance is the local one, whose level is NODE.
    let beyond_local = distances.iter().skip(1).enumerate();
    beyond_local
        .map(|(i, &limit)| {
            let far = if limit > reclaim_distance { NEAR_ONLY } else { 0 };
            let numa = COMMON & !SdFlags::PREFER_SIBLING | SdFlags::SERIALIZE | SdFlags::NUMA;
            let level = Level::Numa((i + 1).min(255) as u8);
            numa_level(nodes, distance, limit, level, numa & !far)
        })
        .collect()
}

/// The spans of all nodes within `limit`; nodes that see the same CPUs share one span.
fn numa_level(
    nodes: &TopoLevel,
    distance: &[u32],
    limit: u32,
    level: Level,
    flags: u32,
) -> TopoLevel {
    let n_nodes = nodes.spans.len();
    let n_cpus = nodes.span_of.len();
    let mut spans: Vec<CpuSet> = Vec::new();
    let mut known: HashMap<CpuSet, u32> = HashMap::new();
    let span_of_node: Vec<u32> = (0..n_nodes)
        .map(|from| {
            let row = &distance[from * n_nodes..][..n_nodes];
            let mut span = CpuSet::empty(n_cpus);
            let near = row.iter().zip(&nodes.spans).filter(|(d, _)| **d <= limit);
            near.for_each(|(_, node)| span.union_with(node));
            *known.entry(span).or_insert_with_key(|span| {
                spans.push(span.clone());
                spans.len() as u32 - 1
            })
        })
        .collect();
    let span_of = nodes.span_of.iter().map(|n| span_of_node[*n as usize]).collect();
    TopoLevel::new(level, flags, span_of, spans)
}
