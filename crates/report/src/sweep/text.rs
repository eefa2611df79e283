//! The tables of a sweep for people: 100 to 120 columns.
//!
//! ```text
//! throughput [1/s], higher is better: mean of A, then changes from it
//!  clients         A  B SWQUEUE              C SIS_NODE
//!        1     84123   +0.12% ±0.21 same      -1.02% ±0.20 worse
//! ```

use super::SweepAnalysis;
use super::rows::{self, Change};
use crate::analysis::{Delta, Metric};
use crate::text::{BOLD, COLUMNS_MAX, COLUMNS_MIN, DIM, paint, style};
use crate::{TOOL, pad, view};
use std::fmt::Write;

/// Columns of the change of one variant, with the gap before it.
const CHANGE: usize = 25;

/// The sweep as tables with colors.
pub fn text(sweep: &SweepAnalysis, columns: usize) -> String {
    let mut out = String::new();
    let first = sweep.first();
    let _ = writeln!(out, "{}", paint(BOLD, &sweep.title));
    let facts: Vec<String> = rows::facts(sweep)
        .iter()
        .map(|(what, value)| format!("{} {value}", paint(DIM, what)))
        .collect();
    let _ = writeln!(out, "{}", facts.join("   "));
    for (idx, variant) in first.variants.iter().enumerate() {
        let baseline = if variant.baseline { paint(DIM, "  baseline") } else { String::new() };
        let _ = writeln!(out, "{:>2} {}{baseline}", view::letter(idx), variant.name);
    }
    for name in &sweep.metrics {
        out.push('\n');
        match sweep.metric(name) {
            Some(metric) => table(&mut out, sweep, metric, columns),
            None => {
                let _ = writeln!(out, "{}: no run measures it", paint(BOLD, name));
            }
        }
    }
    out.push('\n');
    for remark in rows::remarks(sweep) {
        let _ = writeln!(out, "{remark}");
    }
    let n_metrics = first.baseline().map_or(0, |b| b.metrics.len());
    let _ = writeln!(out, "Other tables: --metric NAME.");
    let source = format!(
        "{TOOL}, scenario {}. All {n_metrics} metrics of every run: --format json or csv.",
        sweep.hash
    );
    let _ = writeln!(out, "{}", paint(DIM, &source));
    out
}

/// One metric: a row per point. Variants that do not fit into a line follow in another block.
fn table(out: &mut String, sweep: &SweepAnalysis, metric: &Metric, columns: usize) {
    let first = sweep.first();
    let others: Vec<usize> =
        (0..first.variants.len()).filter(|idx| !first.variants[*idx].baseline).collect();
    let base = first.variants.iter().position(|v| v.baseline).map_or(String::new(), view::letter);
    let shown = rows::shown(sweep, metric);
    let (heading, direction) = (shown.heading(&metric.name), view::direction(metric));
    let what = match others[..] {
        [] => "mean".to_string(),
        _ => format!("mean of {base}, then changes from it"),
    };
    let title = paint(DIM, &format!("{direction}: {what}"));
    let _ = writeln!(out, "{}{title}", paint(BOLD, &heading));
    let widths = widths(sweep);
    let left: usize = widths.iter().map(|width| width + 1).sum::<usize>() + 10;
    let left = left + if rows::has_shares(sweep) { 9 } else { 0 };
    let per_block = (columns.clamp(COLUMNS_MIN, COLUMNS_MAX).saturating_sub(left) / CHANGE).max(1);
    for (block, chunk) in others.chunks(per_block).enumerate() {
        if block > 0 {
            out.push('\n');
        }
        head(out, sweep, &widths, chunk);
        for point in &sweep.points {
            let mut row = places(&widths, sweep.values(point));
            let _ = write!(row, " {:>9}", rows::level(point, &metric.name, shown));
            if rows::has_shares(sweep) {
                let share = rows::share(sweep, point, &metric.name).unwrap_or("-".into());
                let _ = write!(row, " {share:>8}");
            }
            for idx in chunk {
                let variant = &point.analysis.variants[*idx];
                row += &Change::of(variant, &metric.name, shown).map_or_else(
                    || format!("  {:>7}{}", "-", " ".repeat(CHANGE - 9)),
                    |(change, delta)| cell(&change, Some(&delta)),
                );
            }
            let _ = writeln!(out, "{}", row.trim_end());
        }
        geometric_mean(out, sweep, metric, chunk, left);
    }
    if others.is_empty() {
        head(out, sweep, &widths, &[]);
        for point in &sweep.points {
            let row = places(&widths, sweep.values(point));
            let _ = writeln!(out, "{row} {:>9}", rows::level(point, &metric.name, shown));
        }
    }
    for line in rows::published(sweep, &metric.name) {
        let _ = writeln!(out, "   {}", paint(DIM, &line));
    }
}

/// The last row: the geometric mean of the changes over all points.
fn geometric_mean(
    out: &mut String,
    sweep: &SweepAnalysis,
    metric: &Metric,
    chunk: &[usize],
    left: usize,
) {
    if sweep.points.len() < 2 {
        return;
    }
    let means: Vec<Option<Change>> =
        chunk.iter().map(|idx| rows::geometric_mean(sweep, *idx, metric)).collect();
    if means.iter().all(Option::is_none) {
        return;
    }
    let mut row = paint(DIM, &pad::left(" geometric mean", left));
    for mean in means {
        row += &mean.map_or_else(|| " ".repeat(CHANGE), |mean| cell(&mean, None));
    }
    let _ = writeln!(out, "{}", row.trim_end());
}

/// Width of the column of each axis.
fn widths(sweep: &SweepAnalysis) -> Vec<usize> {
    let width = |axis: &scenario::Axis| {
        let values = axis.values.iter().map(|value| pad::width(value));
        values.chain([pad::width(&label(axis))]).max().unwrap_or(0)
    };
    sweep.axes.iter().map(width).collect()
}

/// The heading of an axis.
fn label(axis: &scenario::Axis) -> String {
    match axis.unit {
        "" => axis.key.clone(),
        unit => format!("{} [{unit}]", axis.key),
    }
}

/// The values of a point, each in its column.
fn places<'a>(widths: &[usize], values: impl Iterator<Item = &'a str>) -> String {
    widths
        .iter()
        .zip(values)
        .map(|(width, value)| format!(" {}", pad::right(value, *width)))
        .collect()
}

fn head(out: &mut String, sweep: &SweepAnalysis, widths: &[usize], chunk: &[usize]) {
    let labels: Vec<String> = sweep.axes.iter().map(label).collect();
    let first = sweep.first();
    let base = first.variants.iter().position(|v| v.baseline).map_or(String::new(), view::letter);
    let mut row = places(widths, labels.iter().map(String::as_str));
    let _ = write!(row, " {base:>9}");
    if rows::has_shares(sweep) {
        let _ = write!(row, " {:>8}", "share");
    }
    for idx in chunk {
        let name = pad::short(&first.variants[*idx].name, CHANGE - 5);
        row += &format!("  {}", pad::left(&format!("{} {name}", view::letter(*idx)), CHANGE - 2));
    }
    let _ = writeln!(out, "{}", paint(DIM, row.trim_end()));
}

/// One change: [`CHANGE`] columns.
fn cell(change: &Change, delta: Option<&Delta>) -> String {
    let painted = |text: &str| delta.map_or_else(|| text.to_string(), |d| paint(style(d), text));
    let pct = painted(&format!("{:>7}", change.pct));
    let gap = " ".repeat(7_usize.saturating_sub(change.word.len()));
    format!("  {pct} {:<7}{}{gap} ", change.half, painted(&change.word))
}
