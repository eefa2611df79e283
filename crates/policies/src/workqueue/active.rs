//! `max_active`: how many items of a workqueue may be in execution, and which one is next.
//!
//! Up to Linux 6.8 each pwq counts for itself: an unbound workqueue may have `max_active` items for
//! each CPU that queues. Since 6.9 (`struct wq_node_nr_active`) its pwqs share one count per NUMA
//! node, and those that wait for it take turns. A pool whose pod is larger than a node belongs to
//! no node, and has a count of its own.

use super::{Kind, PoolId, Pwq, PwqId, WorkId, Workqueues, WqId, WqSpec};
use std::collections::VecDeque;
use topology::{CpuSet, Machine};

/// Whose items `max_active` limits, in an unbound workqueue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ActivePer {
    /// Those that one CPU has queued (Linux 6.6 to 6.8).
    #[default]
    Cpu,
    /// Those of a NUMA node, which has a share of it by its CPUs (since Linux 6.9).
    Node,
}

/// `WQ_DFL_MIN_ACTIVE`: what a node may always have, unless `max_active` is less.
const MIN_ACTIVE: u32 = 8;

/// `wq_node_nr_active`
#[derive(Debug)]
pub(super) struct NodeActive {
    pub max: u32,
    pub nr: u32,
    /// Pwqs with items that wait, the next one first.
    pub pending: VecDeque<PwqId>,
}

/// What an item that has ended leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// No other item waits, or there is no room.
    Nothing,
    /// An item of the locked pool is active now.
    Active,
    /// The next item is one of this pool, whose lock is needed.
    Of(PoolId),
}

/// `wq_update_node_max_active`: the counts of a new workqueue, of each node and of no node; none
/// if its pwqs count for themselves.
pub(super) fn node_counts(machine: &Machine, spec: &WqSpec) -> Vec<NodeActive> {
    if spec.kind == Kind::Bound || spec.active_per == ActivePer::Cpu {
        return Vec::new();
    }
    let (n_cpus, most) = (machine.n_cpus() as u32, spec.max_active);
    let of_node = |node| machine.cpus.iter().filter(|place| place.node == node).count() as u32;
    let share = |node| (most * of_node(node)).div_ceil(n_cpus).clamp(MIN_ACTIVE.min(most), most);
    let counts = (0..n_nodes(machine)).map(share).chain([most]);
    counts.map(|max| NodeActive { max, nr: 0, pending: VecDeque::new() }).collect()
}

/// The place of a pool's count: that of the node that its pod is in.
pub(super) fn node_of(machine: &Machine, pod: &CpuSet) -> usize {
    let mut nodes = pod.iter().map(|cpu| machine.cpus[cpu].node);
    let first = nodes.next().expect("a pod has a CPU");
    let node = if nodes.all(|node| node == first) { first } else { n_nodes(machine) };
    node as usize
}

fn n_nodes(machine: &Machine) -> u32 {
    machine.cpus.iter().map(|place| place.node + 1).max().unwrap_or(1)
}

impl Pwq {
    /// `__pwq_activate_work`: its first item that waits is active, and goes to its pool.
    fn activate(&mut self) -> WorkId {
        self.nr_active += 1;
        self.inactive.pop_front().expect("an item waits")
    }
}

impl Workqueues {
    /// The count that `pwq` shares with others, if it does.
    fn count_of(&mut self, pwq: PwqId) -> Option<&mut NodeActive> {
        let p = &self.pwqs[pwq];
        let node = self.pools[p.pool].node;
        self.wqs[p.wq].nodes.get_mut(node)
    }

    /// `pwq_tryinc_nr_active`: true if one more item of `pwq` may be active; it is counted then.
    /// Else the pwq stands in its node's line.
    pub(super) fn may_activate(&mut self, pwq: PwqId) -> bool {
        let stands = !self.pwqs[pwq].inactive.is_empty();
        let max_active = self.wqs[self.pwqs[pwq].wq].spec.max_active;
        let nr_active = self.pwqs[pwq].nr_active;
        let may = match self.count_of(pwq) {
            None => nr_active < max_active,
            Some(_) if stands => false,
            Some(node) if node.nr < node.max => {
                node.nr += 1;
                true
            }
            Some(node) => {
                node.pending.push_back(pwq);
                false
            }
        };
        self.pwqs[pwq].nr_active += u32::from(may);
        may
    }

    /// `pwq_dec_nr_active`: an item of `pwq` has ended, so another one may become active. No worker
    /// is woken for an item of this pool: the worker that asks finds it, or its next kick does.
    pub(super) fn dec_active(&mut self, pwq: PwqId) -> Next {
        let p = &mut self.pwqs[pwq];
        p.nr_active -= 1;
        p.nr_in_flight -= 1;
        let (wq, pool) = (p.wq, p.pool);
        let next = match self.count_of(pwq) {
            None => self.activate_own(pwq),
            Some(node) => {
                node.nr -= 1;
                self.activate_pending(wq, pool, pool)
            }
        };
        self.put_pwq(pwq);
        next
    }

    fn activate_own(&mut self, pwq: PwqId) -> Next {
        let p = &mut self.pwqs[pwq];
        if p.inactive.is_empty() {
            return Next::Nothing;
        }
        let (work, pool) = (p.activate(), p.pool);
        self.pools[pool].worklist.push_back(work);
        Next::Active
    }

    /// `node_activate_pending_pwq`, for the node of `pool`, with `locked` locked: the first pwq in
    /// the line has its first item activated and goes to the line's end, if it has more.
    pub(super) fn activate_pending(&mut self, wq: WqId, pool: PoolId, locked: PoolId) -> Next {
        let node = &mut self.wqs[wq].nodes[self.pools[pool].node];
        let Some(&pwq) = node.pending.front().filter(|_| node.nr < node.max) else {
            return Next::Nothing;
        };
        let p = &mut self.pwqs[pwq];
        if p.pool != locked {
            return Next::Of(p.pool);
        }
        let work = p.activate();
        node.nr += 1;
        node.pending.pop_front();
        if !p.inactive.is_empty() {
            node.pending.push_back(pwq);
        }
        self.pools[locked].worklist.push_back(work);
        Next::Active
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workqueue::{Affinity, Scope};
    use topology::{CpuId, RegularSpec};

    fn shares(max_active: u32, active_per: ActivePer, kind: Kind) -> Vec<u32> {
        let spec = RegularSpec { sockets: 2, cores_per_llc: 8, ..RegularSpec::default() };
        let spec_of_wq = WqSpec { max_active, active_per, ..WqSpec::new("wq", kind) };
        node_counts(&Machine::regular(spec), &spec_of_wq).iter().map(|node| node.max).collect()
    }

    /// `wq_update_node_max_active`, Linux 6.12.
    #[test]
    fn a_node_has_its_share_and_at_least_eight() {
        let unbound = Kind::Unbound(Affinity::default());
        assert_eq!(shares(32, ActivePer::Node, unbound), [16, 16, 32]);
        assert_eq!(shares(33, ActivePer::Node, unbound), [17, 17, 33]);
        assert_eq!(shares(12, ActivePer::Node, unbound), [8, 8, 12]);
        assert_eq!(shares(4, ActivePer::Node, unbound), [4, 4, 4]);
        assert_eq!(shares(32, ActivePer::Cpu, unbound), [0u32; 0]);
        assert_eq!(shares(32, ActivePer::Node, Kind::Bound), [0u32; 0]);
    }

    #[test]
    fn a_pool_that_spans_nodes_belongs_to_none() {
        let spec = RegularSpec { sockets: 2, cores_per_llc: 8, ..RegularSpec::default() };
        let machine = Machine::regular(spec);
        let node = |scope, cpu| {
            let pods = crate::workqueue::Pods::new(&machine, scope);
            node_of(&machine, pods.pod_of(CpuId(cpu)))
        };
        assert_eq!((node(Scope::Cache, 0), node(Scope::Cache, 8)), (0, 1));
        assert_eq!((node(Scope::System, 0), node(Scope::Numa, 8)), (2, 1));
    }
}
