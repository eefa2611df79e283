//! What a panel of the plot of changes shows: marks along an axis, each of which has its zero at
//! the same place of the picture.
//!
//! The axis is in percent of the baseline, or a logarithmic one of ratios where an effect is a
//! factor: beside a threefold value a change of 5 % would not be seen on an axis of percents. Of a
//! share of the time, such as spinning, the share itself is shown, and the baseline's beside it:
//! "+3000 %" of nearly nothing says nothing.

use crate::analysis::{Analysis, Metric, PublishedRow, VariantAnalysis, Verdict};
use crate::number::is_tiny;

/// Changes of so many percent, or to such a part of the baseline, are told as ratios.
const FACTOR_PCT: f64 = 100.0;
const FACTOR_PART: f64 = 0.5;
/// A ratio below this is drawn as this: the logarithm of 0 has no place.
const LEAST_RATIO: f64 = 1e-3;
/// Ticks at most on each side of zero.
const TICKS_MAX: f64 = 4.0;

/// What an axis measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Percent of the baseline.
    Percent,
    /// Binary logarithms of ratios to the baseline.
    Ratio,
    /// A share itself, in percent: no change.
    Share,
}

/// What a change amounts to, as far as a mark shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tone {
    /// For the better.
    Better,
    /// For the worse.
    Worse,
    /// Neither, or not told apart from chance.
    Neither,
}

/// A simulated change in the units of its axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// Where the mean is.
    pub at: f64,
    /// The 95 % interval.
    pub ci95: Option<[f64; 2]>,
    /// How it is drawn.
    pub tone: Tone,
}

/// One variant.
pub struct Row<'a> {
    /// Its name.
    pub name: &'a str,
    /// The simulated change, if there is one.
    pub mark: Option<Mark>,
    /// The published change in the units of the axis.
    pub published: Option<f64>,
    /// Where the baseline is, if not at zero.
    pub base: Option<f64>,
}

/// One metric.
pub struct Panel<'a> {
    /// The metric.
    pub metric: &'a Metric,
    /// Its axis.
    pub kind: Kind,
    /// The variants other than the baseline.
    pub rows: Vec<Row<'a>>,
}

impl<'a> Panel<'a> {
    /// The panel of a metric; `None` if it has no mark but simulated zeros.
    pub fn new(
        analysis: &'a Analysis,
        metric: &'a Metric,
        others: &[&'a VariantAnalysis],
    ) -> Option<Self> {
        let kind = kind(metric, others);
        let base = analysis.baseline()?;
        let row = |v: &&'a VariantAnalysis| Row {
            name: &v.name,
            mark: mark(kind, metric, v),
            published: published(kind, metric, v),
            base: base.metric(&metric.name).map(|m| m.mean).filter(|_| kind == Kind::Share),
        };
        let rows: Vec<Row<'_>> = others.iter().map(row).collect();
        let says = |row: &Row<'_>| {
            let moved = |m: Mark| m.at != 0.0 || m.ci95.is_some_and(|ci95| ci95 != [0.0; 2]);
            // A share that everybody prints as nothing.
            let moved = |m: Mark| moved(m) && !(kind == Kind::Share && is_tiny(m.at));
            row.published.is_some() || row.mark.is_some_and(moved)
        };
        rows.iter().any(says).then_some(Self { metric, kind, rows })
    }

    /// How far the marks reach to the left and to the right of zero.
    pub fn reach(&self) -> (f64, f64) {
        let of_row = |row: &Row<'_>| {
            let ends = row.mark.and_then(|m| m.ci95).into_iter().flatten();
            row.mark
                .map(|m| m.at)
                .into_iter()
                .chain(ends)
                .chain(row.published)
                .chain(row.base)
                .collect::<Vec<_>>()
        };
        let marks: Vec<f64> = self.rows.iter().flat_map(of_row).collect();
        let low = marks.iter().copied().fold(0.0, f64::min);
        let high = marks.iter().copied().fold(0.0, f64::max);
        (-low, high)
    }

    /// Places of the axis between two ends with their labels.
    pub fn ticks(&self, low: f64, high: f64) -> Vec<(f64, String)> {
        match self.kind {
            Kind::Ratio => ratio_ticks(low, high),
            kind => {
                let of_change = kind == Kind::Percent;
                let low = if of_change { low } else { low.max(0.0) };
                linear_ticks(low, high, of_change)
            }
        }
    }

    /// What the axis says.
    pub fn title(&self, baseline: &str) -> String {
        match self.kind {
            Kind::Percent => format!("change from {baseline} [%]"),
            Kind::Ratio => format!("ratio to {baseline} (logarithmic)"),
            Kind::Share => format!("share of busy time [%]; the stroke is {baseline}"),
        }
    }
}

/// A share of the busy time, in percent.
fn is_share(metric: &Metric) -> bool {
    metric.name.starts_with("spin_pct")
}

fn kind(metric: &Metric, others: &[&VariantAnalysis]) -> Kind {
    if is_share(metric) {
        return Kind::Share;
    }
    let is_factor = |pct: f64| pct >= FACTOR_PCT || 1.0 + pct / 100.0 <= FACTOR_PART;
    let changes = |v: &&VariantAnalysis| {
        let simulated = v.delta(&metric.name).and_then(|delta| delta.pct);
        let published = v.published(&metric.name).and_then(PublishedRow::delta_pct);
        simulated.into_iter().chain(published).collect::<Vec<_>>()
    };
    match others.iter().flat_map(changes).any(is_factor) {
        true => Kind::Ratio,
        false => Kind::Percent,
    }
}

/// A change in percent, in the units of an axis of changes.
fn place(kind: Kind, pct: f64) -> f64 {
    match kind {
        Kind::Percent | Kind::Share => pct,
        Kind::Ratio => (1.0 + pct / 100.0).max(LEAST_RATIO).log2(),
    }
}

fn mark(kind: Kind, metric: &Metric, variant: &VariantAnalysis) -> Option<Mark> {
    let delta = variant.delta(&metric.name)?;
    let own = variant.metric(&metric.name)?;
    let tone = match delta.verdict {
        _ if !delta.by_interval => Tone::Neither,
        Verdict::Better => Tone::Better,
        Verdict::Worse => Tone::Worse,
        _ => Tone::Neither,
    };
    if kind == Kind::Share {
        return Some(Mark { at: own.mean, ci95: own.ci95, tone });
    }
    let at = place(kind, delta.pct.filter(|pct| pct.is_finite())?);
    let ci95 = delta.ci95.map(|ends| ends.map(|pct| place(kind, pct)));
    Some(Mark { at, ci95, tone })
}

fn published(kind: Kind, metric: &Metric, variant: &VariantAnalysis) -> Option<f64> {
    let row = variant.published(&metric.name)?;
    match kind {
        Kind::Share => Some(row.value),
        kind => row.delta_pct().map(|pct| place(kind, pct)),
    }
}

fn linear_ticks(low: f64, high: f64, of_change: bool) -> Vec<(f64, String)> {
    let rough = (-low).max(high) / TICKS_MAX;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|n| n * power).into_iter().find(|s| *s >= rough);
    let step = step.unwrap_or(rough);
    let digits = (-step.log10().floor()).max(0.0) as usize;
    let label = |n: i32| match n {
        0 => "0".to_string(),
        n if of_change => format!("{:+.digits$}%", f64::from(n) * step),
        n => format!("{:.digits$}%", f64::from(n) * step),
    };
    let range = (low / step).ceil() as i32..=(high / step).floor() as i32;
    range.map(|n| (f64::from(n) * step, label(n))).collect()
}

fn ratio_ticks(low: f64, high: f64) -> Vec<(f64, String)> {
    let sets: [&[f64]; 3] = [&[1.0, 2.0, 5.0], &[1.0, 10.0], &[1.0, 100.0]];
    let of = |set: &[f64]| {
        let decade = if set.len() == 3 { 10.0 } else { set[1] * 10.0 };
        let powers = (-6..=6).map(|n| f64::powi(decade, n));
        let all = powers.flat_map(|power| set.iter().map(move |n| n * power));
        all.filter(|r| (low..=high).contains(&r.log2())).collect::<Vec<f64>>()
    };
    let fine: Vec<f64> =
        [1.0, 1.25, 1.5, 2.0, 3.0].into_iter().flat_map(|r| [r, 1.0 / r]).collect();
    let fine = || fine.iter().copied().filter(|r| (low..=high).contains(&r.log2())).collect();
    let mut ratios: Vec<f64> =
        sets.into_iter().map(of).find(|all| all.len() <= 9).unwrap_or_default();
    if ratios.len() < 3 {
        ratios = fine();
    }
    ratios.sort_by(f64::total_cmp);
    ratios.dedup();
    ratios.into_iter().map(|r| (r.log2(), ratio_label(r))).collect()
}

/// `x2`, `x1/5`, `x1.25`.
fn ratio_label(ratio: f64) -> String {
    let short = |x: f64| format!("{x:.2}").trim_end_matches('0').trim_end_matches('.').to_string();
    let inverse = 1.0 / ratio;
    match ratio {
        r if (r - 1.0).abs() < 1e-9 => "x1".to_string(),
        r if r < 1.0 && (inverse - inverse.round()).abs() < 1e-6 => format!("x1/{inverse:.0}"),
        r => format!("x{}", short(r)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::example;

    /// The panel of the one metric of the one variant that changes by so much.
    fn panel_of(metric: &str, pct: f64, test: impl Fn(Panel<'_>)) {
        let mut analysis = example(3, &["off", "on"]);
        for (name, delta) in &mut analysis.variants[1].deltas {
            if name == metric {
                (delta.pct, delta.ci95) = (Some(pct), None);
            }
        }
        let variant = &analysis.variants[1];
        let metric = variant.metric(metric).unwrap();
        test(Panel::new(&analysis, metric, &[variant]).unwrap());
    }

    #[test]
    fn factors_are_ratios_and_small_changes_percents() {
        panel_of("switches", 3.0, |panel| {
            assert_eq!((panel.kind, panel.rows[0].mark.unwrap().at), (Kind::Percent, 3.0));
        });
        panel_of("switches", 300.0, |panel| {
            assert_eq!((panel.kind, panel.rows[0].mark.unwrap().at), (Kind::Ratio, 2.0));
        });
        panel_of("switches", -75.0, |panel| {
            assert_eq!((panel.kind, panel.rows[0].mark.unwrap().at), (Kind::Ratio, -2.0));
        });
        // Down to nothing: the mark stays in the picture.
        panel_of("switches", -100.0, |panel| {
            assert!(panel.rows[0].mark.unwrap().at.is_finite());
        });
    }

    #[test]
    fn labels_are_those_of_the_axis() {
        let labels = |ticks: Vec<(f64, String)>| {
            ticks.into_iter().map(|(_, label)| label).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(labels(linear_ticks(-1.0, 4.1, true)), "0 +2% +4%");
        assert_eq!(labels(linear_ticks(0.0, 0.04, false)), "0 0.01% 0.02% 0.03% 0.04%");
        assert_eq!(labels(ratio_ticks(-3.4, 3.4)), "x1/10 x1/5 x1/2 x1 x2 x5 x10");
        assert_eq!(
            labels(ratio_ticks(-0.4, 1.1)),
            "x1/1.25 x1 x1.25 x1.5 x2".replace("x1/1.25", "x0.8")
        );
        assert_eq!(labels(ratio_ticks(-1.0, 12.0)), "x1 x10 x100 x1000");
    }
}
