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
    pub const NAMES: [&str; 7] = [
        "latency_mean",
        "latency_p50",
        "latency_p90",
        "latency_p95",
        "latency_p99",
        "latency_p999",
        "latency_max",
    ];

    /// A histogram without latencies.
    pub fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, DIGITS);
        Self(histogram.expect("the bounds are constant and valid"))
    }

    /// Adds one latency; 0 counts as 1 ns.
    #[inline]
    pub fn record(&mut self, ns: Ns) {
        self.0.saturating_record(ns.max(1));
    }

    /// Shortest, mean and longest in us, under these names; nothing if there is no latency.
    pub fn extremes(&self, names: [&'static str; 3]) -> Vec<(&'static str, f64)> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let values = [self.0.min() as f64, self.0.mean(), self.0.max() as f64];
        names.into_iter().zip(values.map(|ns| ns * 1e-3)).collect()
    }

    /// Percentiles by nearest rank in us, each under its name; nothing if there is no latency.
    pub fn percentiles(&self, of: &[(&'static str, f64)]) -> Vec<(&'static str, f64)> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let max = self.0.max();
        // The histogram answers with the upper end of a bucket, which may lie beyond the maximum.
        let at = |quantile| self.0.value_at_quantile(quantile).min(max) as f64 * 1e-3;
        of.iter().map(|&(name, quantile)| (name, at(quantile))).collect()
    }

    /// Mean, p50, p90, p95, p99, p99.9 and max in us, under these names; nothing if there is no
    /// latency.
    pub fn results(&self, names: [&'static str; 7]) -> Vec<(&'static str, f64)> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let at = |quantile| self.0.value_at_quantile(quantile) as f64;
        let max = self.0.max() as f64;
        let values = [self.0.mean(), at(0.5), at(0.9), at(0.95), at(0.99), at(0.999), max];
        names.into_iter().zip(values.map(|ns| ns * 1e-3)).collect()
    }
}

impl Default for Latency {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// schbench's definition: the least value with at least so many of the latencies up to it.
    #[test]
    fn percentiles_are_by_nearest_rank() {
        let mut latency = Latency::new();
        assert!(latency.percentiles(&[("p50", 0.5)]).is_empty());
        (1..=1000).rev().for_each(|us| latency.record(us * 1000));
        for (name, quantile, us) in [
            ("p50", 0.5, 500.0),
            ("p75", 0.75, 750.0),
            ("p995", 0.995, 995.0),
            ("p999", 0.999, 999.0),
        ] {
            let found = latency.percentiles(&[(name, quantile)])[0].1;
            assert!((found / us - 1.0).abs() < 0.002, "{name}: {found}");
        }
        let extremes = latency.extremes(["min", "mean", "max"]);
        for ((_, found), us) in extremes.iter().zip([1.0, 500.5, 1000.0]) {
            assert!((found / us - 1.0).abs() < 0.002, "{extremes:?}");
        }
    }
}
