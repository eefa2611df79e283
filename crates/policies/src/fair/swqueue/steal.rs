//! SWQUEUE_STEAL: an idle CPU whose own LLC's queue is empty takes from those of the other LLCs of
//! its node. It is ours: the cover letter of the shared wakequeue names it as an outlook, nobody
//! has posted it.
//!
//! * Order: nearest first by the latency of a line; what is equally near as a ring that begins
//!   after the own LLC. That is how `select_idle_node` walks the groups of the domain above the
//!   LLC, and no queue is everybody's first choice.
//! * Costs: the line of each list's head, unless the CPU has it still; then those of the pull, by
//!   distance: the queue's lock and nodes, the lock of the task's runqueue, the migration.
//! * All of it happens before newidle balance and with the own runqueue lock held, as the pull
//!   does. Nobody asks whether the look is worth it (there is no counterpart of `avg_idle`).
//! * What a pull loses, a steal loses: a head that may not run here is dropped from its queue
//!   (SWQUEUE is version 1), and there is no second look in the same `schedule()`.

use super::super::Discipline;
use super::super::features::Features;
use super::super::state::Fair;
use super::pull::Stage;
use crate::fair::sites;
use sim_core::{Ns, Step, World};
use topology::{CpuId, Machine};

/// Whose queues a CPU looks into, and what it knows of them.
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

    /// There is somebody to steal from for a CPU of this LLC.
    pub(super) fn reaches(&self, llc: u32) -> bool {
        self.nth(llc, 0).is_some()
    }

    /// The queue that a CPU of this LLC looks into as the `i`th.
    pub(super) fn nth(&self, llc: u32, i: u32) -> Option<usize> {
        let queue = self.order.get(llc as usize)?.get(i as usize)?;
        Some(*queue as usize)
    }

    fn seen(&mut self, cpu: CpuId, q: usize) -> &mut u64 {
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
    // A stable sort: who is as near stays in the ring's order.
    others.sort_by_key(|(ns, _)| *ns);
    others.into_iter().map(|(_, k)| k).collect()
}

impl<S: Discipline> Fair<S> {
    /// On to the next LLC: read the head of its list, then look at it.
    pub(super) fn swq_steal(
        &mut self,
        w: &mut World,
        cpu: CpuId,
        stage: Stage,
    ) -> (Option<Step>, Stage) {
        let path = &mut self.balance.paths[cpu].pull;
        if stage == Stage::Reach {
            let Some(q) = self.balance.steals.nth(self.topo.llc[cpu], path.n_reached) else {
                return (None, Stage::Gone);
            };
            path.n_reached += 1;
            path.queue = q as u32;
            let ns = self.swq_head_ns(w, cpu, q);
            return ((ns > 0).then_some(Step::Spend(ns)), Stage::Read);
        }
        let q = path.queue as usize;
        let queue = &self.swqueues[q];
        *self.balance.steals.seen(cpu, q) = queue.n_writes;
        if queue.head.is_task() {
            return (Some(Step::Lock(queue.lock, sites::PULL_POP)), Stage::Hold);
        }
        (None, Stage::Reach)
    }

    /// What reading the head of a queue's list takes, ns. It lies in the line of the lock: with who
    /// holds that, or held it last; or here, if nobody took the lock since the last look.
    fn swq_head_ns(&mut self, w: &World, cpu: CpuId, q: usize) -> Ns {
        let queue = &self.swqueues[q];
        let owner = w.locks.owner(queue.lock);
        if owner.is_none() && *self.balance.steals.seen(cpu, q) == queue.n_writes {
            return 0;
        }
        let at = owner.or_else(|| w.locks.last_owner(queue.lock));
        at.map_or(0, |other| w.line_ns(cpu, other))
    }
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
            assert!(!steals.reaches(0));
        }
    }
}
