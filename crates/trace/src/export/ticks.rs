//! When the ticks of all CPUs are due, in order.
//!
//! The engine computes most ticks instead of simulating them, and only when their effects are
//! looked at. Here all of them are enumerated: edge k of CPU c is at k * tick + c * skew.

use sim_core::{Ns, World};
use topology::CpuId;

/// All tick edges of a machine, in order of time.
#[derive(Default)]
pub(super) struct TickEdges {
    tick_ns: Ns,
    /// Offset of each CPU's edges, ascending; empty until the machine is seen.
    phases: Vec<(Ns, CpuId)>,
    /// The next edge is this one's …
    at: usize,
    /// … after this multiple of the period.
    base: Ns,
}

impl TickEdges {
    /// The next edge, if it is due by now.
    #[inline]
    pub(super) fn next_until(&mut self, w: &World) -> Option<(Ns, CpuId)> {
        if self.phases.is_empty() {
            self.learn(w);
        }
        let (phase, cpu) = self.phases[self.at];
        let edge = self.base + phase;
        if edge > w.now {
            return None;
        }
        self.at += 1;
        if self.at == self.phases.len() {
            (self.at, self.base) = (0, self.base + self.tick_ns);
        }
        Some((edge, cpu))
    }

    #[cold]
    fn learn(&mut self, w: &World) {
        self.tick_ns = w.tick_ns();
        let phase = |c: u32| (w.machine.tick_skew_ns * Ns::from(c) % self.tick_ns, CpuId(c));
        self.phases = (0..w.cpus.len() as u32).map(phase).collect();
        self.phases.sort_by_key(|(offset, cpu)| (*offset, cpu.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_core::Config;
    use std::sync::Arc;
    use topology::{Machine, RegularSpec};

    #[test]
    fn edges_come_in_order_of_time_then_cpu() {
        let edges = |tick_skew_ns| {
            let three = RegularSpec { cores_per_llc: 3, threads_per_core: 1, ..Default::default() };
            let machine =
                Machine { tick_skew_ns, ..Machine::regular(RegularSpec { hz: 1000, ..three }) };
            let mut w = World::new(Arc::new(machine), Config::default());
            w.now = 1_000_000;
            let mut edges = TickEdges::default();
            let all = std::iter::from_fn(|| edges.next_until(&w));
            all.map(|(at, cpu)| (at / 1000, cpu.0)).collect::<Vec<_>>()
        };
        assert_eq!(edges(0), [(0, 0), (0, 1), (0, 2), (1000, 0), (1000, 1), (1000, 2)]);
        assert_eq!(edges(600_000), [(0, 0), (200, 2), (600, 1), (1000, 0)]);
    }
}
