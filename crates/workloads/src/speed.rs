//! How the speed of a machine that is not alone varies: a guest, whose host has other work.
//!
//! Two parts, both slowdowns with an exponential logarithm: one drifts, the same for all that runs
//! on a CPU for some time; one is drawn anew for every piece of work. The drift is a function of
//! (seed, CPU, time), so all variants meet the same.

use crate::random::{self, Purpose, Stream};
use sim_core::Ns;
use topology::{CpuId, Variation};

/// No piece of work gets slower than this.
const SLOWDOWN_MAX: f64 = 8.0;

/// The speed of one run's machine.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    variation: Variation,
    seed: u64,
}

impl Speed {
    /// Of a machine whose speed varies so.
    pub fn new(variation: Variation, seed: u64) -> Self {
        Self { variation, seed }
    }

    /// How many times longer a piece of work takes that begins now on `cpu`; `jitter` is the task's
    /// own stream. A machine that does not vary draws no numbers.
    pub fn slowdown(&self, now: Ns, cpu: CpuId, jitter: &mut Stream) -> f64 {
        let v = &self.variation;
        let mut log = 0.0;
        if v.drift > 0.0 {
            let window = now / v.drift_ns.max(1);
            let place = u64::from(cpu.0) << 48 ^ window;
            log += v.drift * exponential(&mut random::stream(self.seed, place, Purpose::Drift));
        }
        if v.jitter > 0.0 {
            log += v.jitter * exponential(jitter);
        }
        libm::exp(log).min(SLOWDOWN_MAX)
    }
}

/// A standard exponential.
fn exponential(rng: &mut Stream) -> f64 {
    -libm::log(random::unit(rng))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_log(variation: Variation, at: impl Fn(u64) -> (Ns, CpuId)) -> f64 {
        let speed = Speed::new(variation, 7);
        let mut jitter = random::stream(7, 0, Purpose::Service);
        let n = 20_000;
        let sum: f64 = (0..n)
            .map(|i| {
                let (now, cpu) = at(i);
                libm::log(speed.slowdown(now, cpu, &mut jitter))
            })
            .sum();
        sum / n as f64
    }

    #[test]
    fn slowdowns_have_the_stated_means_and_drift_holds_for_its_time() {
        let none = Variation::default();
        assert_eq!(mean_log(none, |i| (i, CpuId(0))), 0.0);
        let jitter = Variation { jitter: 0.05, ..none };
        assert!((mean_log(jitter, |_| (0, CpuId(0))) - 0.05).abs() < 0.002);
        let drift = Variation { drift: 0.1, drift_ns: 1000, ..none };
        assert!((mean_log(drift, |i| (i * 1000, CpuId(1))) - 0.1).abs() < 0.004);
        let speed = Speed::new(drift, 7);
        let mut rng = random::stream(7, 0, Purpose::Service);
        let mut at = |now, cpu| speed.slowdown(now, CpuId(cpu), &mut rng);
        assert_eq!(at(0, 0), at(999, 0));
        assert_ne!(at(0, 0), at(1000, 0));
        assert_ne!(at(0, 0), at(0, 1));
    }
}
