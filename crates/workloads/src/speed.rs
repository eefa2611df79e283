//! How the speed of a machine that is not alone varies: a guest, whose host has other work.
//!
//! Some pieces of work are slowed down by a factor that holds for a time, the same for all on that
//! CPU; the rest draw one of their own. The factor that holds is a function of (seed, CPU, time),
//! so all variants meet the same one.

use crate::random::{self, Purpose, Stream, exponential};
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
    /// The speed of a machine that varies like this.
    pub fn new(variation: Variation, seed: u64) -> Self {
        Self { variation, seed }
    }

    /// How many times longer a piece of work takes that begins now on `cpu`; `jitter` is the task's
    /// own stream. A machine that does not vary draws no numbers.
    pub fn slowdown(&self, now: Ns, cpu: CpuId, jitter: &mut Stream) -> f64 {
        let v = &self.variation;
        if v.slowdown == 0.0 {
            return 1.0;
        }
        let held = v.held > 0.0 && random::unit(jitter) <= v.held;
        let log = v.slowdown * if held { self.held(now, cpu) } else { exponential(jitter) };
        libm::exp(log).min(SLOWDOWN_MAX)
    }

    /// The number that holds now on `cpu`.
    fn held(&self, now: Ns, cpu: CpuId) -> f64 {
        let place = u64::from(cpu.0) << 48 ^ (now / self.variation.hold_ns.max(1));
        exponential(&mut random::stream(self.seed, place, Purpose::Drift))
    }
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
    fn slowdowns_have_the_stated_mean_and_some_hold_for_their_time() {
        let none = Variation::default();
        assert_eq!(mean_log(none, |i| (i, CpuId(0))), 0.0);
        let own = Variation { slowdown: 0.05, ..none };
        assert!((mean_log(own, |_| (0, CpuId(0))) - 0.05).abs() < 0.002);
        let held = Variation { slowdown: 0.1, held: 1.0, hold_ns: 1000 };
        assert!((mean_log(held, |i| (i * 1000, CpuId(1))) - 0.1).abs() < 0.004);
        let speed = Speed::new(held, 7);
        let mut rng = random::stream(7, 0, Purpose::Service);
        let mut at = |now, cpu| speed.slowdown(now, CpuId(cpu), &mut rng);
        assert_eq!(at(0, 0), at(999, 0));
        assert_ne!(at(0, 0), at(1000, 0));
        assert_ne!(at(0, 0), at(0, 1));
    }
}
