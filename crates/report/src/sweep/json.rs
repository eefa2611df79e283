//! A sweep as JSON, schema version 1: its axes, and the result of each point as that of a single
//! experiment.

use super::SweepAnalysis;
use crate::TOOL;
use crate::json::{Document, SCHEMA, document};
use serde::ser::{Serialize, Serializer};
use std::io::Write;

/// The sweep as an indented document.
pub fn json(sweep: &SweepAnalysis) -> String {
    let mut text = serde_json::to_string_pretty(&of(sweep)).unwrap_or_default();
    text.push('\n');
    text
}

/// Writes the sweep as an indented document.
pub(crate) fn write(sweep: &SweepAnalysis, to: &mut dyn Write) -> std::io::Result<()> {
    serde_json::to_writer_pretty(&mut *to, &of(sweep))?;
    to.write_all(b"\n")
}

/// The sweep as a document on one line.
pub fn json_line(sweep: &SweepAnalysis) -> String {
    let mut text = serde_json::to_string(&of(sweep)).unwrap_or_default();
    text.push('\n');
    text
}

#[derive(serde::Serialize)]
struct Sweep<'a> {
    schema: u32,
    tool: &'static str,
    scenario: &'a str,
    scenario_hash: &'a str,
    title: &'a str,
    axes: Vec<AxisOut<'a>>,
    points: Points<'a>,
}

/// The points, of which one is put together at a time.
struct Points<'a>(&'a SweepAnalysis);

impl Serialize for Points<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let point = |point| PointOut {
            at: self.0.values(point).map(value).collect(),
            relative_to: point.reference,
            result: document(&point.analysis),
        };
        serializer.collect_seq(self.0.points.iter().map(point))
    }
}

#[derive(serde::Serialize)]
struct AxisOut<'a> {
    key: &'a str,
    unit: &'a str,
    values: Vec<serde_json::Value>,
}

#[derive(serde::Serialize)]
struct PointOut<'a> {
    at: Vec<serde_json::Value>,
    /// Index of the point that levels are shares of.
    #[serde(skip_serializing_if = "Option::is_none")]
    relative_to: Option<usize>,
    result: Document<'a>,
}

fn of(sweep: &SweepAnalysis) -> Sweep<'_> {
    let axis = |axis: &'_ scenario::Axis| axis.values.iter().map(|v| value(v)).collect();
    Sweep {
        schema: SCHEMA,
        tool: TOOL,
        scenario: &sweep.scenario,
        scenario_hash: &sweep.hash,
        title: &sweep.title,
        axes: sweep
            .axes
            .iter()
            .map(|a| AxisOut { key: &a.key, unit: a.unit, values: axis(a) })
            .collect(),
        points: Points(sweep),
    }
}

/// A number if it is one, else the text.
fn value(text: &str) -> serde_json::Value {
    match (text.parse::<i64>(), text.parse::<f64>()) {
        (Ok(n), _) => n.into(),
        (_, Ok(x)) if x.is_finite() => x.into(),
        _ => text.into(),
    }
}
