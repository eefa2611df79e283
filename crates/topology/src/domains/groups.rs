//! The groups of a domain: the spans one level below.
//! In Linux: `build_sched_groups()`, `build_overlap_sched_groups()`, v6.4.
//!
//! Nearly always they are disjoint and the same for every CPU of the domain. On machines whose
//! nodes form a ring or a mesh, NUMA spans overlap: then the groups depend on the CPU from which
//! one starts covering the span, and only some CPUs may balance for a group.

use super::build::Stack;
use super::{Group, Level};
use crate::{CpuId, CpuSet};
use std::collections::HashMap;

/// The groups of a domain, and for each CPU of its list the index of its own group.
pub(super) struct Groups {
    pub groups: Vec<Group>,
    pub own: Vec<u32>,
}

/// The groups of a span if the child spans cut it into disjoint parts, lowest CPU first.
pub(super) fn disjoint_groups(stack: &Stack, level: usize, cpus: &[CpuId]) -> Option<Groups> {
    let mut index: HashMap<u32, u32> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    let mut own = Vec::with_capacity(cpus.len());
    let mut covered = 0;
    for &cpu in cpus {
        // This CPU's chain ends below: it saw the whole machine earlier than the others.
        if stack.top[cpu] < level {
            return None;
        }
        let group = *index.entry(child_idx(stack, level, cpu)).or_insert_with(|| {
            let span = child_span(stack, level, cpu);
            covered += span.len();
            groups.push(group(stack, span.clone(), span));
            groups.len() as u32 - 1
        });
        if covered > cpus.len() {
            return None;
        }
        own.push(group);
    }
    (covered == cpus.len()).then_some(Groups { groups, own })
}

/// The groups of an overlapping NUMA span in the order of a walk that starts at `start_node`:
/// each CPU not yet covered adds its child span. The walker's own group is the first.
pub(super) fn overlapping_groups(
    stack: &Stack,
    level: usize,
    span: &CpuSet,
    start_node: u32,
) -> Groups {
    let mut walk: Vec<CpuId> = span.iter().collect();
    let n_cpus = walk.len();
    let nodes = stack.levels.iter().find(|l| l.level == Level::Node);
    let start = nodes.and_then(|l| l.spans[start_node as usize].first());
    let at = walk.iter().position(|c| Some(*c) == start).unwrap_or(0);
    // All CPUs of a node start at its first one, so that they share one list of groups.
    walk.rotate_left(at);
    let mut covered = CpuSet::empty(stack.n_cpus);
    let mut groups = Vec::new();
    for cpu in walk {
        if covered.contains(cpu) || stack.top[cpu] < level {
            continue;
        }
        let at = descend(stack, level, cpu, span);
        let part = child_span(stack, at, cpu);
        covered.union_with(&part);
        groups.push(group(stack, part.clone(), balance_mask(stack, at, cpu, part)));
    }
    Groups { groups, own: vec![0; n_cpus] }
}

/// The highest level not above `level` whose child span stays inside the domain's span
/// (`find_descended_sibling()`).
fn descend(stack: &Stack, level: usize, cpu: CpuId, span: &CpuSet) -> usize {
    let fits = |l: &usize| child_span(stack, *l, cpu).is_subset(span);
    (0..=level).rev().find(fits).unwrap_or(0)
}

/// CPUs of a group whose own child span is the group's span, and whose chain reaches this level
/// (`build_balance_mask()`).
fn balance_mask(stack: &Stack, level: usize, cpu: CpuId, part: CpuSet) -> CpuSet {
    let child = child_idx(stack, level, cpu);
    let may_balance = |c: &CpuId| stack.top[*c] >= level && child_idx(stack, level, *c) == child;
    CpuSet::of(stack.n_cpus, part.iter().filter(may_balance))
}

/// Which child span a CPU has below `level`; below the lowest level, the CPU itself.
fn child_idx(stack: &Stack, level: usize, cpu: CpuId) -> u32 {
    match level.checked_sub(1) {
        Some(below) => stack.levels[below].span_of[cpu],
        None => cpu.0,
    }
}

fn child_span(stack: &Stack, level: usize, cpu: CpuId) -> CpuSet {
    match level.checked_sub(1) {
        Some(below) => {
            let level = &stack.levels[below];
            level.spans[level.span_of[cpu] as usize].clone()
        }
        None => CpuSet::of(stack.n_cpus, [cpu]),
    }
}

fn group(stack: &Stack, span: CpuSet, balance_mask: CpuSet) -> Group {
    let cpus: Vec<CpuId> = span.iter().collect();
    let core_weight = stack.levels[0].weight(cpus[0]) as usize;
    Group {
        balance_cpu: balance_mask.first().unwrap_or(cpus[0]),
        smt: cpus.len() > 1 && cpus.len() == core_weight,
        span,
        cpus,
        balance_mask,
    }
}
