//! Curves of a sweep: each metric along one axis, a line per variant.

use crate::sweep::SweepAnalysis;
use crate::sweep::curves::{along, panels};
use crate::view;
use serde::Serialize;

/// One metric along one axis, at fixed values of the others.
#[derive(Serialize)]
pub struct Curves<'a> {
    title: String,
    metric: String,
    unit: &'a str,
    axis: String,
    /// The values of the axis, in words.
    labels: Vec<&'a str>,
    /// The same as numbers, if they are.
    x: Option<Vec<f64>>,
    lines: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    mean: Vec<Option<f64>>,
    low: Vec<Option<f64>>,
    high: Vec<Option<f64>>,
    published: Vec<Option<f64>>,
}

/// The curves of all metrics that get a table.
pub fn of(sweep: &SweepAnalysis) -> Vec<Curves<'_>> {
    let along = along(sweep);
    let axis = &sweep.axes[along];
    let curves = |panel: crate::sweep::curves::Panel<'_>| {
        let values = panel.points.iter().map(|p| p.at[along]);
        let numbers = axis.numbers();
        let line = |variant: usize| line(&panel, variant);
        let of = |f: fn(&crate::Metric) -> String| sweep.metric(panel.metric).map(f);
        let heading = of(view::heading).unwrap_or_default();
        let direction = of(|m| view::direction(m).to_string()).unwrap_or_default();
        let at = if panel.at.is_empty() { String::new() } else { format!(", {}", panel.at) };
        Curves {
            title: format!("{heading}{at}{direction}"),
            metric: panel.metric.to_string(),
            unit: sweep.metric(panel.metric).map_or("", |m| m.unit),
            axis: match axis.unit {
                "" => axis.key.clone(),
                unit => format!("{} [{unit}]", axis.key),
            },
            labels: values.clone().map(|at| axis.values[at].as_str()).collect(),
            x: numbers.map(|numbers| values.map(|at| numbers[at]).collect()),
            lines: (0..sweep.first().variants.len()).map(line).collect(),
        }
    };
    panels(sweep).into_iter().map(curves).collect()
}

fn line(panel: &crate::sweep::curves::Panel<'_>, variant: usize) -> Line {
    let variants = || panel.points.iter().map(|p| &p.analysis.variants[variant]);
    let metrics = || variants().map(|v| v.metric(panel.metric));
    Line {
        mean: metrics().map(|m| Some(m?.mean)).collect(),
        low: metrics().map(|m| Some(m?.ci95?[0])).collect(),
        high: metrics().map(|m| Some(m?.ci95?[1])).collect(),
        published: variants().map(|v| Some(v.published(panel.metric)?.value)).collect(),
    }
}
