//! What kernel paths took where a recording was made, as far as it shows that.

use sim_core::Ns;
use topology::{IdleWake, KernelCosts, Machine};

/// Idle lengths from which on a wake-up may take longer, ns: each is several times the one before.
pub const IDLE_LENGTHS_NS: [Ns; 5] = [0, 100_000, 300_000, 1_000_000, 5_000_000];

/// Kernel paths of a recording.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Paths {
    /// The machine's costs as they were.
    pub costs: KernelCosts,
    /// What to multiply the machine's costs of the end of `schedule()` by to have those of the
    /// recording.
    pub factor: f64,
    /// The same of paths that cannot be seen in it: no more than it has room for.
    pub others: f64,
    /// From a wake-up to an idle CPU's first step out of idle, without the paths that CPUs walk,
    /// ns; 0 if the recording does not show it. One for each of [`IDLE_LENGTHS_NS`], none less than
    /// the one before.
    pub idle_wake_ns: [Ns; IDLE_LENGTHS_NS.len()],
    /// True if an interrupt took longer from CPU to CPU than the machine says.
    pub ipi_is_slow: bool,
}

impl Paths {
    /// Gives the machine of the recording these paths. A C-state is left no sooner than was
    /// recorded: the header of a recording does not tell a guest from a host, and its C-states are
    /// a guess.
    pub fn put_into(&self, machine: &mut Machine) {
        let costs = &self.costs;
        for state in &mut machine.cstates {
            let before = if state.polling { 0 } else { costs.ipi_ns() };
            let least = self.idle_wake_ns[0].saturating_sub(before);
            state.exit_ns = state.exit_ns.max(least);
            state.core_exit_ns = state.core_exit_ns.max(least);
        }
        let mut wakes: Vec<IdleWake> = IDLE_LENGTHS_NS
            .into_iter()
            .zip(self.idle_wake_ns)
            .map(|(idle_ns, wake_ns)| IdleWake { idle_ns, wake_ns })
            .collect();
        wakes.dedup_by_key(|wake| wake.wake_ns);
        machine.idle_wakes = wakes.split_off(1);
        machine.costs = self.costs;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use topology::{CState, RegularSpec};

    #[test]
    fn an_idle_cpu_is_awake_no_sooner_than_was_recorded() {
        let mut machine = Machine::regular(RegularSpec::default());
        let state = |name: &str, exit_ns, polling| CState {
            name: name.into(),
            exit_ns,
            core_exit_ns: exit_ns.min(10_000),
            residency_ns: 0,
            polling,
        };
        machine.cstates =
            vec![state("C1", 800, true), state("HLT", 800, false), state("C6", 90_000, true)];
        let mut costs = machine.costs;
        (costs.ipi_send_ns, costs.ipi_delivery_ns, costs.irq_ns) = (200, 9_000, 800);
        let idle_wake_ns = [15_000, 15_000, 40_000, 60_000, 60_000];
        let paths = Paths { costs, factor: 1.0, others: 1.0, idle_wake_ns, ipi_is_slow: true };
        paths.put_into(&mut machine);
        let exits: Vec<Ns> = machine.cstates.iter().map(|state| state.exit_ns).collect();
        assert_eq!(exits, [15_000, 5_000, 90_000]);
        assert_eq!(machine.cstates[2].core_exit_ns, 15_000);
        let lengths = machine.idle_wakes.iter().map(|wake| (wake.idle_ns, wake.wake_ns));
        assert_eq!(lengths.collect::<Vec<_>>(), [(300_000, 40_000), (1_000_000, 60_000)]);
        assert_eq!(machine.costs, costs);
    }
}
