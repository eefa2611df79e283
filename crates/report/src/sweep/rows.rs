//! The cells of a sweep's tables, shared by the text and Markdown.

use super::{SweepAnalysis, SweepPoint};
use crate::agree;
use crate::analysis::{Delta, Metric, SAME_PCT, VariantAnalysis, Verdict};
use crate::number::{Shown, number, percent};
use crate::{stats, view};

/// The machine, workload and so on, as far as all points have them in common.
pub fn facts(sweep: &SweepAnalysis) -> Vec<(&'static str, String)> {
    let mut facts = view::facts(sweep.first());
    for point in &sweep.points {
        let own = view::facts(&point.analysis);
        facts.retain(|fact| own.contains(fact));
    }
    facts
}

/// How the table of a metric shows its values: those of the baseline at all points.
pub fn shown(sweep: &SweepAnalysis, metric: &Metric) -> Shown {
    let baselines = sweep.points.iter().filter_map(|point| point.analysis.baseline());
    let means = baselines.filter_map(|base| Some(base.metric(&metric.name)?.mean));
    Shown::of(&metric.name, metric.unit, means)
}

/// The level of the baseline at a point.
pub fn level(point: &SweepPoint, name: &str, shown: Shown) -> String {
    let metric = point.analysis.baseline().and_then(|base| base.metric(name));
    metric.map_or("-".into(), |m| shown.number(m.mean))
}

/// The level of the baseline as a share of that of the reference point's, if there is one.
pub fn share(sweep: &SweepAnalysis, point: &SweepPoint, name: &str) -> Option<String> {
    let mean = |point: &SweepPoint| Some(point.analysis.baseline()?.metric(name)?.mean);
    let reference = mean(sweep.points.get(point.reference?)?)?;
    let own = mean(point)?;
    (reference != 0.0).then(|| format!("x{}", number(own / reference, "us")))
}

/// True if levels are shown as shares as well.
pub fn has_shares(sweep: &SweepAnalysis) -> bool {
    sweep.points.iter().any(|point| point.reference.is_some())
}

/// A change, half its interval's width, and its verdict.
pub struct Change {
    /// In percent, `=` for the same values, or the value itself where the baseline is 0.
    pub pct: String,
    /// Half the width of the 95 % interval, in points; empty without one.
    pub half: String,
    /// `better`, `worse` and so on.
    pub word: String,
}

impl Change {
    /// The change of a variant at a point; `None` for the baseline, or if it was not measured.
    pub fn of(variant: &VariantAnalysis, name: &str, shown: Shown) -> Option<(Self, Delta)> {
        let (delta, own) = (*variant.delta(name)?, variant.metric(name)?);
        let (pct, ci95, word) = view::change(&delta, own);
        // From a baseline of 0 there is no percentage: the value itself is shown.
        let pct = if delta.pct.is_none() { shown.number(own.mean) } else { pct };
        Some((Self { pct, half: ci95.map_or(String::new(), half), word }, delta))
    }
}

/// Half the width of an interval of percentages.
fn half([low, high]: [f64; 2]) -> String {
    let half = (high - low) / 2.0;
    match half {
        half if half >= 100.0 => format!("\u{b1}{half:.0}"),
        half if half >= 10.0 => format!("\u{b1}{half:.1}"),
        half => format!("\u{b1}{half:.2}"),
    }
}

/// The geometric mean of a variant's changes over all points, as a change; `None` if a value is
/// not positive, or if the points have other seeds each.
///
/// The mean is taken seed by seed, so that its interval is that of paired differences, too.
pub fn geometric_mean(sweep: &SweepAnalysis, variant: usize, metric: &Metric) -> Option<Change> {
    let seeds = &sweep.first().seeds;
    let mut logs = vec![0.0; seeds.len()];
    for point in &sweep.points {
        if point.analysis.seeds != *seeds {
            return None;
        }
        let own = &point.analysis.variants.get(variant)?.metric(&metric.name)?.values;
        let base = &point.analysis.baseline()?.metric(&metric.name)?.values;
        for ((log, own), base) in logs.iter_mut().zip(own).zip(base) {
            if *own <= 0.0 || *base <= 0.0 {
                return None;
            }
            *log += (own / base).ln() / sweep.points.len() as f64;
        }
    }
    let pct = |log: f64| log.exp_m1() * 100.0;
    let mean = pct(stats::mean(&logs));
    let ci95 = stats::ci95(&logs).map(|ends| ends.map(pct)).filter(|[low, high]| low < high);
    let same = match ci95 {
        Some([low, high]) => low <= 0.0 && high >= 0.0,
        None => mean.abs() < SAME_PCT,
    };
    let verdict = if same { Verdict::Same } else { Verdict::of(mean, metric.better) };
    let doubt = if logs.len() > 1 { "" } else { "?" };
    Some(Change {
        pct: percent(mean),
        half: ci95.map_or(String::new(), half),
        word: format!("{}{doubt}", verdict.word()),
    })
}

/// The published rows of a metric, each in a line: where, what, how it compares.
pub fn published(sweep: &SweepAnalysis, name: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for point in &sweep.points {
        for variant in &point.analysis.variants {
            let Some(row) = variant.published(name) else {
                continue;
            };
            let unit = variant.metric(name).map_or("", |metric| metric.unit);
            let values = row.simulated.into_iter().chain([row.value]);
            let shown = Shown::of(name, unit, values);
            let mark = match row.agrees {
                _ if row.calibrated => ", calibrated on it",
                Some(true) => ", agrees",
                Some(false) => ", differs",
                None => "",
            };
            let change = row.delta_pct().map_or(String::new(), |pct| format!(" {}", percent(pct)));
            let simulated = row.simulated.map_or("-".into(), |value| shown.with_unit(value));
            lines.push(format!(
                "published at {}, {}: {}{change}; simulated {simulated}{mark}",
                point.analysis.at,
                variant.name,
                shown.with_unit(row.value)
            ));
        }
    }
    lines
}

/// Remarks below the tables: what their words mean.
pub fn remarks(sweep: &SweepAnalysis) -> Vec<String> {
    let mut remarks = Vec::new();
    let (agree, all) = sweep.agreement();
    if all > 0 {
        remarks.push(format!("agrees ({agree} of {all}): {}", agree::rule()));
        if sweep.points.iter().any(|point| point.analysis.has_errors()) {
            remarks.extend(agree::ERRORS.map(String::from));
        }
    }
    let first = sweep.first();
    let several = first.variants.len() > 1;
    if first.seeds.len() == 1 && several {
        remarks.push("?: one seed gives no interval, --seeds 5 tells chance from effect.".into());
    } else if several {
        remarks.push(
            "\u{b1}: half the 95 % interval over seeds, in points; same: it contains zero.".into(),
        );
    }
    remarks
}
