//! Latencies of a run, in bounded memory.

use hdrhistogram::Histogram;
use sim_core::Ns;

/// Longest latency told apart, ns; longer ones count as this.
const LONGEST_NS: u64 = 3_600_000_000_000;
/// Significant digits kept.
const DIGITS: u8 = 3;

/// A histogram of latencies.
#[derive(Debug)]
pub struct Latency(Histogram<u64>);

impl Latency {
    /// The metrics of a workload that has one kind of latency, for [`Latency::results`].
    pub const NAMES: [&str; 6] =
        ["latency_mean", "latency_p50", "latency_p90", "latency_p95", "latency_p99", "latency_max"];

    /// An empty one.
    pub fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, DIGITS);
        Self(histogram.expect("the bounds are constant and valid"))
    }

    /// One more latency.
    #[inline]
    pub fn record(&mut self, ns: Ns) {
        self.0.saturating_record(ns.max(1));
    }

    /// Mean, p50, p90, p95, p99 and max in us, under these names; nothing if there is no latency.
    pub fn results(&self, names: [&'static str; 6]) -> Vec<(&'static str, f64)> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let at = |quantile| self.0.value_at_quantile(quantile) as f64;
        let max = self.0.max() as f64;
        let values = [self.0.mean(), at(0.5), at(0.9), at(0.95), at(0.99), max];
        names.into_iter().zip(values.map(|ns| ns * 1e-3)).collect()
    }
}

impl Default for Latency {
    fn default() -> Self {
        Self::new()
    }
}
