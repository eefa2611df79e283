//! What threads of one name did: in a recording, and in the simulation of it.

use hdrhistogram::Histogram;
use sim_core::Ns;

/// Significant digits of waits that are kept: a recording may have thousands of names.
const DIGITS: u8 = 2;

/// What the threads of one name did together, while they had that name.
#[derive(Clone, PartialEq, Debug)]
pub struct Command {
    /// Time on CPUs, ns.
    pub run_ns: Ns,
    /// Times that one of them left a CPU.
    pub switches: u64,
    /// From being woken to running, ns.
    waits: Histogram<u64>,
}

impl Default for Command {
    fn default() -> Self {
        let waits = Histogram::new(DIGITS).expect("the number of digits is valid");
        Self { run_ns: 0, switches: 0, waits }
    }
}

impl Command {
    /// One of them leaves a CPU after so long.
    pub fn left(&mut self, ran_ns: Ns) {
        self.run_ns += ran_ns;
        self.switches += 1;
    }

    /// One of them runs, so long after it was woken; 0 counts as 1 ns.
    pub fn waited(&mut self, ns: Ns) {
        // The histogram grows as far as a u64 goes: this cannot fail.
        let _ = self.waits.record(ns.max(1));
    }

    /// A percentile of the times from being woken to running, us; `None` if none was woken.
    pub fn wait_us(&self, percentile: f64) -> Option<f64> {
        let waits = &self.waits;
        (!waits.is_empty()).then(|| waits.value_at_percentile(percentile) as f64 * 1e-3)
    }

    /// Bytes of memory that it takes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.waits.distinct_values() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_in_microseconds_and_within_a_percent() {
        let mut command = Command::default();
        assert_eq!(command.wait_us(50.0), None);
        (1..=1000).for_each(|us| command.waited(us * 1000));
        for (percentile, us) in [(50.0, 500.0), (99.0, 990.0), (100.0, 1000.0)] {
            let seen = command.wait_us(percentile).unwrap();
            assert!((seen / us - 1.0).abs() < 0.01, "{percentile}: {seen}");
        }
        command.waited(u64::MAX);
        assert!(command.wait_us(100.0).unwrap() > 1e16);
    }
}
