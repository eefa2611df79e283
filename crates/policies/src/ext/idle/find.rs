//! Which CPU of several sets is the next one.

use sim_core::{TaskId, World};
use std::ops::Range;
use topology::{CpuId, CpuSet};

/// The CPUs that a search may find.
#[derive(Clone, Copy)]
pub(in crate::ext) enum Allowed<'a> {
    /// Those that this task may use.
    Task(TaskId),
    /// These.
    Set(&'a CpuSet),
}

impl Allowed<'_> {
    pub fn cpus<'a>(&'a self, w: &'a World) -> &'a CpuSet {
        match self {
            Self::Task(p) => w.allowed_set(*p),
            Self::Set(cpus) => cpus,
        }
    }
}

/// A part of the machine around a CPU.
#[derive(Clone, Copy)]
pub(super) enum Near {
    Llc(u32),
    Node(u32),
}

impl Near {
    pub fn llc(w: &World, cpu: CpuId) -> Self {
        Self::Llc(w.machine.cpus[cpu].llc)
    }

    pub fn node(w: &World, cpu: CpuId) -> Self {
        Self::Node(w.machine.cpus[cpu].node)
    }

    pub fn cpus(self, w: &World) -> &CpuSet {
        match self {
            Self::Llc(llc) => &w.machine.llcs[llc as usize],
            Self::Node(node) => &w.machine.nodes[node as usize],
        }
    }
}

/// All CPUs once, from the one behind `after`.
pub(super) fn around(after: CpuId, n_cpus: usize) -> [Range<usize>; 2] {
    [after.idx() + 1..n_cpus, 0..after.idx() + 1]
}

/// The first CPU of all sets behind `after`, or from the start.
pub(in crate::ext) fn next_common(
    sets: [&CpuSet; 3],
    n_cpus: usize,
    after: CpuId,
) -> Option<CpuId> {
    around(after, n_cpus).into_iter().find_map(|range| first_in(sets, range))
}

/// The first CPU of all sets in a range of numbers.
pub(super) fn first_in(sets: [&CpuSet; 3], range: Range<usize>) -> Option<CpuId> {
    if range.is_empty() {
        return None;
    }
    let [a, b, c] = sets.map(CpuSet::words);
    let (first, last) = (range.start / 64, (range.end - 1) / 64);
    (first..=last).find_map(|i| {
        let mut word = a[i] & b[i] & c[i];
        if i == first {
            word &= u64::MAX << (range.start % 64);
        }
        if i == last {
            word &= u64::MAX >> (63 - (range.end - 1) % 64);
        }
        (word != 0).then(|| CpuId(i as u32 * 64 + word.trailing_zeros()))
    })
}
