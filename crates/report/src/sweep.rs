//! A sweep: the same comparison at each of its points, one table per metric.
//!
//! Each point is an [`Analysis`] like any other, with paired changes, intervals and the published
//! values of that point. A sweep adds the view along its axes: a row per point, a column per
//! variant, the geometric mean of the changes over all points, and levels as shares of a reference
//! point.

pub mod curves;
mod json;
mod markdown;
pub(crate) mod rows;
mod text;

pub(crate) use json::write as write_json;
pub use json::{json, json_line};
pub use markdown::markdown;
pub use text::text;

use crate::analysis::{Analysis, Metric};
use crate::view;
use scenario::{Axis, Results, Study};

/// Everything there is to say about a sweep.
#[derive(Clone, Debug)]
pub struct SweepAnalysis {
    /// Short name of the scenario.
    pub scenario: String,
    /// The scenario's title.
    pub title: String,
    /// Fingerprint of the input files and of what was set.
    pub hash: String,
    /// The axes: the keys in which the points differ, with their values.
    pub axes: Vec<Axis>,
    /// The points, the last axis running fastest; never empty.
    pub points: Vec<SweepPoint>,
    /// The metrics that get a table.
    pub metrics: Vec<String>,
}

/// One point of a sweep.
#[derive(Clone, Debug)]
pub struct SweepPoint {
    /// For each axis, the index of the point's value.
    pub at: Vec<usize>,
    /// Index of the reference point: levels of this one are shares of its baseline's.
    pub reference: Option<usize>,
    /// The analysis of the runs at this point.
    pub analysis: Analysis,
}

impl SweepAnalysis {
    /// Analyzes the results of a sweep, one per point. `wanted` names the metrics that get a
    /// table; if it is empty, the scenario chooses them, or else they are the headlines.
    /// The results of a point are gone before those of the next one are asked for.
    ///
    /// # Errors
    /// The first one of the results.
    pub fn try_new<E>(
        study: &Study,
        results: impl Iterator<Item = Result<Results, E>>,
        wanted: &[String],
    ) -> Result<Self, E> {
        let point = |(point, results): (&scenario::Point, Result<Results, E>)| {
            Ok(SweepPoint {
                at: point.at.clone(),
                reference: point.reference,
                analysis: Analysis::new(&point.experiment, &results?),
            })
        };
        let points = study.points.iter().zip(results).map(point);
        let points: Vec<SweepPoint> = points.collect::<Result<_, E>>()?;
        let chosen = if wanted.is_empty() { &study.metrics } else { wanted };
        let metrics = if chosen.is_empty() { headlines(&points) } else { chosen.to_vec() };
        Ok(Self {
            scenario: study.name.clone(),
            title: study.title.clone(),
            hash: study.hash.clone(),
            axes: study.axes.clone(),
            points,
            metrics,
        })
    }

    /// The analysis of the first point, for what all points have in common.
    pub fn first(&self) -> &Analysis {
        &self.points[0].analysis
    }

    /// The metric of that name, from the first point that measured it.
    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.points.iter().find_map(|point| point.analysis.baseline()?.metric(name))
    }

    /// The values of the axes at a point.
    pub fn values<'a>(&'a self, point: &'a SweepPoint) -> impl Iterator<Item = &'a str> {
        self.axes.iter().zip(&point.at).map(|(axis, idx)| axis.values[*idx].as_str())
    }

    /// Published changes that agree, and all that can be compared and were not calibrated on.
    pub fn agreement(&self) -> (usize, usize) {
        let each = self.points.iter().map(|point| point.analysis.agreement());
        each.fold((0, 0), |(yes, all), (y, a)| (yes + y, all + a))
    }
}

/// The headline metrics of all points, each once.
fn headlines(points: &[SweepPoint]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for metric in points.iter().flat_map(|point| view::headlines(&point.analysis)) {
        if !names.iter().any(|name| *name == metric.name) {
            names.push(metric.name.to_string());
        }
    }
    names
}

#[cfg(test)]
mod tests;
