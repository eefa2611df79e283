//! What kernel paths took where a recording was made, as far as it shows that.

use sim_core::Ns;
use topology::{IDLE_WAKE_TIMES, IdleWake, KernelCosts, Machine};

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
    /// ns: ascending times, each as likely as the others, for each of [`IDLE_LENGTHS_NS`]. None is
    /// less than that of a shorter length; all are 0 if the recording does not show them.
    pub idle_wakes_ns: [[Ns; IDLE_WAKE_TIMES]; IDLE_LENGTHS_NS.len()],
    /// From the switch to idle until a CPU is out of it again whose last task was woken on its way
    /// to sleep, without the paths that it walks, ns: ascending times, each as likely as the
    /// others.
    pub turns_back_ns: Option<[Ns; IDLE_WAKE_TIMES]>,
    /// What it takes longer until an interrupt preempts a task than until it reaches an idle CPU.
    pub busy_ipi_ns: Ns,
    /// True if an interrupt took longer from CPU to CPU than the machine says.
    pub ipi_is_slow: bool,
    /// Ticks per second; `None` if the recording does not show them.
    pub hz: Option<u32>,
}

impl Paths {
    /// Gives the machine of the recording these paths. Whatever C-state a CPU is in, it is awake no
    /// sooner than was recorded: the header of a recording does not tell a guest from a host, and
    /// its C-states are a guess. (The governor goes by them, as a kernel does by its driver's.)
    pub fn put_into(&self, machine: &mut Machine) {
        let wakes = IDLE_LENGTHS_NS.into_iter().zip(self.idle_wakes_ns);
        machine.idle_wakes =
            wakes.map(|(idle_ns, wakes_ns)| IdleWake { idle_ns, wakes_ns }).collect();
        machine.idle_wakes.dedup_by_key(|wake| wake.wakes_ns);
        machine.turns_back_ns = self.turns_back_ns.map(Box::new);
        machine.costs = self.costs;
        machine.busy_ipi_ns = self.busy_ipi_ns;
        if machine.hz_is_a_guess() {
            machine.hz = self.hz.unwrap_or(machine.hz);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use topology::RegularSpec;

    #[test]
    fn an_idle_cpu_is_awake_when_it_was_recorded_to_be() {
        let mut machine = Machine::regular(RegularSpec::default());
        let mut costs = machine.costs;
        costs.ipi_delivery_ns = 9_000;
        let idle_wakes_ns = [15_000, 15_000, 40_000, 60_000, 60_000].map(|ns| [ns; _]);
        let mut paths = Paths {
            costs,
            factor: 1.0,
            others: 1.0,
            idle_wakes_ns,
            turns_back_ns: Some([700; _]),
            busy_ipi_ns: 2_000,
            ipi_is_slow: true,
            hz: Some(1000),
        };
        paths.put_into(&mut machine);
        assert_eq!(machine.turns_back_ns.as_deref(), Some(&[700; IDLE_WAKE_TIMES]));
        let wakes = machine.idle_wakes.iter().map(|wake| (wake.idle_ns, wake.typical_ns()));
        let lengths = [(0, 15_000), (300_000, 40_000), (1_000_000, 60_000)];
        assert_eq!(wakes.collect::<Vec<_>>(), lengths);
        assert_eq!((machine.costs, machine.busy_ipi_ns, machine.hz), (costs, 2_000, 1000));
        // Of one length some wake-ups may take longer than of the one before, and others not.
        machine.hz = 300;
        paths.idle_wakes_ns[1][IDLE_WAKE_TIMES - 1] = 20_000;
        paths.put_into(&mut machine);
        assert_eq!((machine.idle_wakes.len(), machine.hz), (4, 300));
    }
}
