//! The times of all files, and what mmtests prints of them.
//!
//! sparsetruncate takes `gettimeofday` before and after each unlink and prints the difference, so
//! the times are whole microseconds. mmtests (`MMTests::Stat` at 128f4837a342) sorts them:
//! percentile p of n times is number `floor((n - 1) p / 100 + 0.5)`, counted from 0; "Best p%Amean"
//! is the mean of the first `floor(n p / 100)`, or of all if that is none.

use sim_core::Ns;

/// Times of deletions, us each.
#[derive(Clone, Default, Debug)]
pub(super) struct Times(Vec<u32>);

const PERCENTILES: [(&str, u64); 7] = [
    ("time_1st_qrtle", 25),
    ("time_2nd_qrtle", 50),
    ("time_3rd_qrtle", 75),
    ("time_max_90", 90),
    ("time_max_93", 93),
    ("time_max_95", 95),
    ("time_max_99", 99),
];

const BEST: [(&str, usize); 6] = [
    ("time_best99_amean", 99),
    ("time_best95_amean", 95),
    ("time_best90_amean", 90),
    ("time_best75_amean", 75),
    ("time_best50_amean", 50),
    ("time_best25_amean", 25),
];

/// What `gettimeofday` shows, us.
fn clock_us(now: Ns) -> u64 {
    now / 1000
}

impl Times {
    /// A file was deleted between two instants.
    pub fn record(&mut self, began: Ns, ended: Ns) {
        let us = clock_us(ended) - clock_us(began);
        self.0.push(u32::try_from(us).unwrap_or(u32::MAX));
    }

    /// Number of files that were deleted.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// All statistics, us; nothing without a file.
    pub fn results(&self) -> Vec<(&'static str, f64)> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let (Some(min), Some(max)) = (sorted.first(), sorted.last()) else {
            return Vec::new();
        };
        let mut results = vec![("time_min", f64::from(*min))];
        results.extend(PERCENTILES.map(|(name, p)| (name, f64::from(percentile(&sorted, p)))));
        results.push(("time_max", f64::from(*max)));
        results.push(("time_amean", mean(&sorted)));
        results.push(("time_stddev", deviation(&sorted)));
        results.extend(BEST.map(|(name, p)| (name, mean(best(&sorted, p)))));
        results
    }
}

fn percentile(sorted: &[u32], p: u64) -> u32 {
    let last = sorted.len() as u64 - 1;
    sorted[((last * p + 50) / 100) as usize]
}

fn best(sorted: &[u32], p: usize) -> &[u32] {
    match sorted.len() * p / 100 {
        0 => sorted,
        n => &sorted[..n],
    }
}

fn mean(times: &[u32]) -> f64 {
    let sum: u64 = times.iter().map(|us| u64::from(*us)).sum();
    sum as f64 / times.len() as f64
}

/// Of a sample; 0 for a single time.
fn deviation(times: &[u32]) -> f64 {
    let mean = mean(times);
    let squares: f64 =
        times.iter().map(|us| (f64::from(*us) - mean) * (f64::from(*us) - mean)).sum();
    (squares / (times.len().max(2) - 1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(times: &Times, name: &str) -> f64 {
        times.results().into_iter().find(|(known, _)| *known == name).expect("it is there").1
    }

    #[test]
    fn a_time_is_the_difference_of_two_clocks_that_show_microseconds() {
        let mut times = Times::default();
        times.record(1_900, 40_100);
        times.record(1_100, 39_900);
        assert_eq!(times.0, [39, 38]);
    }

    #[test]
    fn hundred_times_from_1_to_100() {
        let times = Times((1..=100).rev().collect());
        // Number 99 x 0.25 + 0.5 of those that are counted from 0 is the 26th.
        for (name, expected) in [
            ("time_min", 1.0),
            ("time_1st_qrtle", 26.0),
            ("time_2nd_qrtle", 51.0),
            ("time_max_90", 90.0),
            ("time_max_99", 99.0),
            ("time_max", 100.0),
            ("time_amean", 50.5),
            ("time_best50_amean", 25.5),
            ("time_best25_amean", 13.0),
        ] {
            assert_eq!(value(&times, name), expected, "{name}");
        }
        let sd = (100.0 * 101.0 / 12.0_f64).sqrt();
        assert!((value(&times, "time_stddev") - sd).abs() < 1e-9);
        assert!(Times::default().results().is_empty());
    }

    proptest! {
        /// Against mmtests' own arithmetic, in floating point.
        #[test]
        fn percentiles_and_means_are_those_of_mmtests(
            us in prop::collection::vec(0u32..1000, 1..300),
        ) {
            let times = Times(us.clone());
            let mut x = us;
            x.sort_unstable();
            for (name, p) in PERCENTILES {
                let naive = x[((x.len() - 1) as f64 * (p as f64 / 100.0) + 0.5) as usize];
                prop_assert_eq!(value(&times, name), f64::from(naive), "{}", name);
            }
            for (name, p) in BEST {
                let n = (x.len() as f64 * p as f64 / 100.0) as usize;
                let some = if n == 0 { &x[..] } else { &x[..n] };
                let naive = some.iter().map(|us| f64::from(*us)).sum::<f64>() / some.len() as f64;
                prop_assert!((value(&times, name) - naive).abs() < 1e-6, "{}", name);
            }
        }
    }
}
