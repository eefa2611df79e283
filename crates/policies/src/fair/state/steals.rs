//! SWQUEUE_STEAL: into which other queues a CPU looks, in which order (see `shared::steal`).

use super::features::Features;
use topology::{CpuId, Machine};

/// The queues that a CPU looks into beside its own, and what it knows of them.
#[derive(Clone, Debug, Default)]
pub struct Steals {
    /// By LLC: the queues of the others of its node, in the order of the looks. Version 1 has one
    /// queue per LLC, of the same number.
    order: Vec<Vec<u32>>,
    /// By CPU and queue: `n_writes` of the queue when the CPU read its list last.
    seen: Vec<u64>,
}

impl Steals {
    /// Of a machine; empty if the feature is off.
    pub(crate) fn new(machine: &Machine, features: &Features) -> Self {
        if !features.swqueue || !features.swqueue_steal {
            return Self::default();
        }
        let n = machine.llcs.len() as u32;
        Self {
            order: (0..n).map(|llc| ring(machine, llc)).collect(),
            seen: vec![0; machine.n_cpus() * machine.llcs.len()],
        }
    }

    /// A CPU of this LLC has other queues to look into.
    pub(crate) fn has_others(&self, llc: u32) -> bool {
        self.nth(llc, 0).is_some()
    }

    /// The queue that a CPU of this LLC looks into as the `i`th.
    pub(crate) fn nth(&self, llc: u32, i: u32) -> Option<usize> {
        let queue = self.order.get(llc as usize)?.get(i as usize)?;
        Some(*queue as usize)
    }

    pub(crate) fn seen(&mut self, cpu: CpuId, q: usize) -> &mut u64 {
        let n = self.order.len();
        &mut self.seen[cpu.idx() * n + q]
    }
}

/// The other LLCs of the node of `llc`, nearest first, and around from the one after it.
fn ring(machine: &Machine, llc: u32) -> Vec<u32> {
    let n = machine.llcs.len() as u32;
    let Some(first) = machine.llcs[llc as usize].first() else {
        return Vec::new();
    };
    let node = machine.cpus[first].node;
    let latency = |k: u32| {
        let cpu = machine.llcs[k as usize].first()?;
        (machine.cpus[cpu].node == node).then(|| machine.line_ns(first, cpu))
    };
    let around = (1..n).map(|i| (llc + i) % n);
    let mut others: Vec<(u64, u32)> = around.filter_map(|k| Some((latency(k)?, k))).collect();
    // A stable sort: LLCs that are as near stay in the ring's order.
    others.sort_by_key(|(ns, _)| *ns);
    others.into_iter().map(|(_, k)| k).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_support::Shape;

    fn order(shape: Shape) -> Vec<Vec<u32>> {
        let features = Features { swqueue: true, swqueue_steal: true, ..Features::default() };
        Steals::new(&shape.machine(), &features).order
    }

    #[test]
    fn a_steal_goes_around_from_the_own_llc() {
        let four = order(Shape::new(4, 2, 2));
        assert_eq!(four, [[1, 2, 3], [2, 3, 0], [3, 0, 1], [0, 1, 2]]);
    }

    #[test]
    fn a_steal_stays_in_its_node() {
        let nodes = order(Shape { sockets: 2, ..Shape::new(3, 1, 1) });
        assert_eq!(nodes, [[1, 2], [2, 0], [0, 1], [4, 5], [5, 3], [3, 4]]);
        let alone = order(Shape { sockets: 2, ..Shape::new(1, 2, 1) });
        assert_eq!(alone, [[0; 0], [0; 0]]);
    }

    #[test]
    fn without_the_feature_or_without_a_queue_nobody_steals() {
        let shape = Shape::new(4, 2, 2);
        for (swqueue, swqueue_steal) in [(true, false), (false, true)] {
            let features = Features { swqueue, swqueue_steal, ..Features::default() };
            let steals = Steals::new(&shape.machine(), &features);
            assert!(!steals.has_others(0));
        }
    }
}
