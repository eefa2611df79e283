//! Times in a histogram, for the observers that tell count, mean, 95th percentile and maximum.

use crate::profile::Spread;
use hdrhistogram::Histogram;
use sim_core::Ns;

/// Significant digits of the histograms, and what counts as the longest time.
const DIGITS: u8 = 2;
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Times in a histogram.
pub(super) struct Times {
    histogram: Histogram<u64>,
    total_ns: u64,
    max_ns: u64,
}

impl Times {
    pub fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, DIGITS);
        let histogram = histogram.expect("the bounds are constant and valid");
        Self { histogram, total_ns: 0, max_ns: 0 }
    }

    pub fn add(&mut self, ns: Ns) {
        self.histogram.saturating_record(ns.max(1));
        self.total_ns += ns;
        self.max_ns = self.max_ns.max(ns);
    }

    pub fn spread(&self) -> Spread {
        let p95 = self.histogram.value_at_quantile(0.95);
        Spread {
            n: self.histogram.len(),
            total_ns: self.total_ns,
            p95_ns: p95.min(self.max_ns),
            max_ns: self.max_ns,
        }
    }
}
