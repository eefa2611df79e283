//! SIS_NODE: where the LLC of a target has no idle CPU, the other LLCs of its node are
//! looked through as well. Never leaves the node.
//!
//! Two variants come from its discussion (LKML, "sched/fair: Multi-LLC select_idle_sibling()", June
//! 2023), for it searched too far on an EPYC with eight LLCs per node:
//! * `sis_node_limit`: no more than so many LLCs, from the target's on (Zijlstra tried 4);
//! * SIS_NODE_TOPOEXT: within a domain of two neighboring LLCs (Nayak's "MMC": LLC numbers without
//!   their last bit). It was posted as a level of the scheduling domains, so that it was balanced
//!   as well; here it bounds the search only. As there, an LLC without a neighbor has no such
//!   domain, and the search takes the next one, the node.

use super::idle::Scan;
use crate::fair::queue::Discipline;
use crate::fair::state::{Fair, reasons};
use sim_core::{TaskId, World};
use std::ops::Range;
use topology::{CpuId, SdFlags};

/// The groups among `n` that a search from group `own` goes through.
fn searched(own: usize, n: usize, pairs: bool) -> Range<usize> {
    let pair = own & !1;
    if pairs && pair + 2 <= n { pair..pair + 2 } else { 0..n }
}

impl<S: Discipline> Fair<S> {
    /// `select_idle_node`: the other LLCs, one by one, each with its own budget.
    pub(super) fn select_idle_node(
        &mut self,
        w: &mut World,
        p: TaskId,
        target: CpuId,
        scan: &mut Scan,
    ) -> Option<CpuId> {
        let domains = &w.machine.domains;
        let level = self.topo.llc_level[target]? as usize;
        let link = *domains.chains[target].get(level + 1)?;
        let parent = &domains.domains[link.domain];
        if parent.flags.has(SdFlags::NUMA) {
            return None;
        }
        let own = link.own_group as usize;
        let n = parent.groups.len();
        let range = searched(own, n, self.features.sis_node_topoext);
        scan.skipped_llc = (range.len() < n).then_some(reasons::NODE_PAIR);
        let place = |i: usize| range.start + (own - range.start + i) % range.len();
        let mut left = self.tunables.sis_node_limit;
        for i in 0..range.len() {
            let group = &w.machine.domains.domains[link.domain].groups[place(i)];
            let first = group.cpus[0];
            // The patch compares domain objects, which every CPU has its own of: the target's
            // group is recognized only from its lowest CPU.
            let is_own = if self.tunables.sis_node_skip_own {
                group.span.contains(target)
            } else {
                first == target
            };
            if is_own {
                continue;
            }
            if left == Some(0) {
                scan.skipped_llc = Some(reasons::NODE_LIMIT);
                return None;
            }
            left = left.map(|n| n - 1);
            scan.read_llc(w, self.topo.llc[first]);
            let idle_cores = self.test_idle_cores(first);
            let found = self.select_idle_cpu(w, p, first, idle_cores, scan);
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighboring_llcs_are_pairs_and_the_odd_one_has_the_node() {
        let from = |own| searched(own, 11, true);
        assert_eq!([from(0), from(1)], [0..2, 0..2]);
        assert_eq!([from(8), from(9)], [8..10, 8..10]);
        assert_eq!(from(10), 0..11);
        assert_eq!(searched(3, 11, false), 0..11);
    }
}
