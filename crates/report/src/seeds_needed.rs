//! How many seeds an experiment needs: those that tell a change of a given size from chance.
//!
//! The interval of a paired change narrows with the square root of the number of seeds. The spread
//! of the differences so far tells how many seeds make it as narrow as wanted. That is an estimate
//! from few samples: it is made anew after the further seeds.

use crate::analysis::{Analysis, Metric, VariantAnalysis};
use crate::{stats, view};
use scenario::Better;

/// Seeds below which an estimate of their spread is worth nothing.
const SEEDS_MIN: u64 = 4;
/// More seeds than this are not asked for.
const SEEDS_MAX: u64 = 10_000;

/// The number of seeds that one change needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    /// Name of the variant.
    pub variant: String,
    /// Name of the metric.
    pub metric: String,
    /// Half the width of its 95 % interval, in percent of the baseline; `None` with one seed.
    pub half_pct: Option<f64>,
    /// Seeds with which the interval is as narrow as wanted.
    pub seeds: u64,
}

/// What the changes of the headline metrics need so that each is known to `target_pct` percent of
/// the baseline, with 95 % confidence. Metrics without a good direction are left out unless there
/// are no others.
pub fn needs(analysis: &Analysis, target_pct: f64) -> Vec<Need> {
    let headlines = view::headlines(analysis);
    let judged: Vec<&&Metric> = headlines.iter().filter(|m| m.better != Better::None).collect();
    let Some(metric) = judged.first().copied().or(headlines.first()) else {
        return Vec::new();
    };
    let others = analysis.variants.iter().filter(|v| !v.baseline);
    others.filter_map(|variant| need(analysis, variant, metric, target_pct)).collect()
}

fn need(
    analysis: &Analysis,
    variant: &VariantAnalysis,
    metric: &Metric,
    target_pct: f64,
) -> Option<Need> {
    let own = variant.metric(&metric.name)?;
    let base = analysis.baseline()?.metric(&metric.name)?;
    let differences: Vec<f64> = own.values.iter().zip(&base.values).map(|(a, b)| a - b).collect();
    let to_pct = 100.0 / base.mean.abs();
    if !to_pct.is_finite() {
        return None;
    }
    let sd_pct = stats::sd(&differences) * to_pct;
    let half = stats::ci95(&differences).map(|[low, high]| (high - low) / 2.0 * to_pct);
    let seeds = match differences.len() as u64 {
        n if n < SEEDS_MIN => SEEDS_MIN,
        _ => seeds_for(sd_pct, target_pct),
    };
    let (variant, metric) = (variant.name.clone(), metric.name.clone());
    Some(Need { variant, metric: metric.into_owned(), half_pct: half, seeds })
}

/// The fewest seeds whose interval is at most `target` to each side, where differences spread so.
fn seeds_for(sd: f64, target: f64) -> u64 {
    let is_enough = |n: u64| stats::t975(n as usize - 1) * sd / (n as f64).sqrt() <= target;
    // The half width falls with n: the answer is found by halving.
    let (mut low, mut high) = (1, SEEDS_MAX);
    while low + 1 < high {
        let middle = (low + high) / 2;
        if is_enough(middle) { high = middle } else { low = middle }
    }
    high
}

/// The number of seeds to go on with, at most `bound`; `None` if the intervals are narrow enough or
/// the bound is reached.
pub fn go_on_with(analysis: &Analysis, target_pct: f64, bound: u64) -> Option<u64> {
    let n = analysis.seeds.len() as u64;
    let is_wide = |need: &Need| need.half_pct.is_none_or(|half| half > target_pct);
    let wide = needs(analysis, target_pct).into_iter().filter(is_wide);
    let wanted = wide.map(|need| need.seeds.max(n + 1)).max()?;
    let next = wanted.min(bound);
    (next > n).then_some(next)
}

/// Remarks on how many seeds it took, or would take: one line per change.
pub fn remarks(analysis: &Analysis, target_pct: f64) -> Vec<String> {
    let n = analysis.seeds.len();
    let line = |need: Need| {
        let Need { variant, metric, half_pct, seeds } = need;
        let half = half_pct.map_or("no interval".to_string(), |half| format!("\u{b1}{half:.3} %"));
        match half_pct.is_some_and(|half| half <= target_pct) {
            true => format!("{metric} of {variant}: {half} with {n} seeds."),
            false => format!(
                "{metric} of {variant}: {half} with {n} seeds; \u{b1}{target_pct} % needs about \
                 {seeds}{}.",
                if seeds >= SEEDS_MAX { " or more" } else { "" }
            ),
        }
    };
    needs(analysis, target_pct).into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::example;

    #[test]
    fn seeds_follow_from_the_spread() {
        // With a thousand seeds t is near the normal quantile: n = (1.96 * 1 / 0.1)^2.
        let n = seeds_for(1.0, 0.1);
        assert!((384..=390).contains(&n), "{n}");
        assert_eq!(seeds_for(0.0, 0.1), 2);
        assert_eq!(seeds_for(1e9, 0.1), SEEDS_MAX);
        let t = |n: u64| stats::t975(n as usize - 1) / (n as f64).sqrt();
        assert!(t(n) <= 0.1 && t(n - 1) > 0.1, "the fewest");
    }

    #[test]
    fn one_goes_on_until_the_interval_is_narrow_or_the_bound_is_hit() {
        let analysis = example(5, &["off", "on"]);
        let need = &needs(&analysis, 0.1)[0];
        assert_eq!((need.metric.as_str(), need.variant.as_str()), ("elapsed", "on"));
        let half = need.half_pct.unwrap();
        assert_eq!(go_on_with(&analysis, half * 1.01, 100), None);
        let next = go_on_with(&analysis, half / 3.0, 1000).unwrap();
        assert!(next > 5 * 4, "{next}");
        assert_eq!(go_on_with(&analysis, half / 3.0, 7), Some(7));
        assert_eq!(go_on_with(&analysis, half / 3.0, 5), None);
        assert_eq!(go_on_with(&example(1, &["off", "on"]), 0.1, 100), Some(SEEDS_MIN));
    }
}
