//! The table for people: 100 to 120 columns, plain words, color only as a second voice.
//!
//! ```text
//! elapsed [s], lower is better    simulated   change        95 % interval          published
//!   A NO_SWQUEUE + NO_SIS_NODE       322.41  baseline                               322.44
//!   B SWQUEUE + NO_SIS_NODE          321.52   -0.28%   [-0.31%, -0.25%]  better     321.54 ...
//! ```
//!
//! Every mark is a word or a sign as well as a color, so that the table survives a pipe, a mail
//! and a color-blind reader. Cells are padded before they are painted.

use crate::TOOL;
use crate::analysis::{Analysis, Delta, Metric, PublishedRow, VariantAnalysis, Verdict};
use crate::number::{Shown, interval, percent};
use crate::{pad, replayed, view};
use anstyle::{AnsiColor, Style};
use std::fmt::Write;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
const PLAIN: Style = Style::new();

/// Width of the names of variants; longer ones are cut.
const NAME: usize = 28;
/// Width of a block's first column: a letter and a name.
const INDENT: usize = NAME + 3;

/// Columns of the terminal that a table may count on.
pub const COLUMNS_MIN: usize = 100;
/// Columns that a table takes at most: longer lines are hard to follow with the eye.
pub const COLUMNS_MAX: usize = 120;
/// Columns of the matrix before its changes: metric, unit, the baseline's value.
const MATRIX_LEFT: usize = 39;
/// Columns of one change of the matrix.
const MATRIX_CHANGE: usize = 11;

/// The analysis as a table with colors, for a terminal of so many columns.
pub fn text(analysis: &Analysis, columns: usize) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", paint(BOLD, &analysis.title));
    let facts: Vec<String> = view::facts(analysis)
        .iter()
        .map(|(what, value)| format!("{} {value}", paint(DIM, what)))
        .collect();
    let _ = writeln!(out, "{}", facts.join("   "));
    for metric in view::headlines(analysis) {
        out.push('\n');
        block(&mut out, analysis, metric);
    }
    let commands = replayed::text(analysis);
    if !commands.is_empty() {
        let _ = write!(out, "\n{commands}");
    }
    matrix(&mut out, analysis, columns);
    out.push('\n');
    let without_direction = |m: &&Metric| direction(m, view::in_block(analysis, m)).is_empty();
    let without: Vec<&Metric> =
        view::headlines(analysis).into_iter().filter(without_direction).collect();
    for remark in view::directions(&without).into_iter().chain(view::remarks(analysis)) {
        let _ = writeln!(out, "{remark}");
    }
    let n_metrics = analysis.baseline().map_or(0, |b| b.metrics.len());
    let source = format!(
        "{TOOL}, scenario {}. All {n_metrics} metrics of every run: --format json or csv.",
        analysis.hash
    );
    let _ = writeln!(out, "{}", paint(DIM, &source));
    out
}

/// A headline metric: one row per variant.
fn block(out: &mut String, analysis: &Analysis, metric: &Metric) {
    let compares = analysis.variants.len() > 1;
    let published = analysis.variants.iter().any(|v| v.published(&metric.name).is_some());
    let shown = view::in_block(analysis, metric);
    let (heading, direction) = (shown.heading(&metric.name), direction(metric, shown));
    let mut head = format!("{:>9}", "simulated");
    if compares {
        let title = if analysis.seeds.len() > 1 { "95 % interval" } else { "" };
        let _ = write!(head, "  {:>7}  {title:<14} {:<7}", "change", "");
    }
    if published {
        let _ = write!(head, " {:>9}  {:>7}", "published", if compares { "change" } else { "" });
    }
    let gap = INDENT.saturating_sub(heading.chars().count() + direction.len());
    let title = format!("{}{}", paint(BOLD, &heading), paint(DIM, direction));
    let _ = writeln!(out, "{title}{}{}", " ".repeat(gap), paint(DIM, head.trim_end()));
    for (idx, variant) in analysis.variants.iter().enumerate() {
        let name = pad::left(&pad::short(&variant.name, NAME), NAME);
        let mut row = format!("{:>2} {name}", view::letter(idx));
        row.push_str(&simulated(variant, metric, shown));
        if compares {
            row.push_str(&change(variant, metric));
        }
        if let Some(row_published) = variant.published(&metric.name) {
            row.push_str(&beside(row_published, shown));
        }
        let _ = writeln!(out, "{}", row.trim_end());
    }
}

/// The good direction, if the heading has room for it.
fn direction(metric: &Metric, shown: Shown) -> &'static str {
    let heading = shown.heading(&metric.name);
    let fits = |words: &&str| heading.chars().count() + words.len() < INDENT;
    Some(view::direction(metric)).filter(fits).unwrap_or("")
}

fn simulated(variant: &VariantAnalysis, metric: &Metric, shown: Shown) -> String {
    let mean = variant.metric(&metric.name).map_or("-".into(), |m| shown.number(m.mean));
    format!(" {mean:>8}")
}

/// Change, interval and verdict: 33 columns.
fn change(variant: &VariantAnalysis, metric: &Metric) -> String {
    if variant.baseline {
        return format!("  {}{}", paint(DIM, "baseline"), " ".repeat(23));
    }
    let Some(delta) = variant.delta(&metric.name) else {
        return " ".repeat(33);
    };
    let (pct, ci95, word) = view::change(delta, metric);
    let interval = ci95.map_or(String::new(), interval);
    let style = style(delta);
    // The spaces after the word are not painted, so that they can be cut off at the line's end.
    let (pct, gap) = (paint(style, &format!("{pct:>7}")), 7 - word.len().min(7));
    format!("  {pct}  {interval:<14} {}{:gap$}", paint(style, &word), "")
}

fn beside(row: &PublishedRow, shown: Shown) -> String {
    let value = shown.number(row.value);
    let change = row.delta_pct().map_or(String::new(), percent);
    let mark = match row.agrees {
        Some(true) => paint(GOOD, "agrees"),
        Some(false) => paint(BAD, "differs"),
        None => String::new(),
    };
    let sd = row.sd.map_or(String::new(), |sd| format!(" \u{b1}{}", shown.deviation(sd)));
    format!("  {value:>8}  {change:>7} {mark}{sd}")
}

/// All other metrics: the baseline's value, and the change of each variant.
fn matrix(out: &mut String, analysis: &Analysis, columns: usize) {
    let details = view::details(analysis);
    let others: Vec<(usize, &VariantAnalysis)> =
        analysis.variants.iter().enumerate().filter(|(_, v)| !v.baseline).collect();
    let Some(base) = analysis.variants.iter().position(|v| v.baseline) else {
        return;
    };
    if details.is_empty() {
        return;
    }
    // What does not fit continues below.
    let columns = columns.clamp(COLUMNS_MIN, COLUMNS_MAX);
    let changes = (columns - MATRIX_LEFT) / MATRIX_CHANGE;
    for chunk in others.chunks(changes).chain(others.is_empty().then_some(&[][..])) {
        let letters: String =
            chunk.iter().map(|(idx, _)| format!("  {:>9}", view::letter(*idx))).collect();
        let base = view::letter(base);
        let what = match chunk {
            [] => "mean".to_string(),
            _ => format!("mean of {base}, then changes from it"),
        };
        let head = format!("   {what:<33}{base:>3}{letters}");
        let _ = write!(out, "\n{}\n", paint(DIM, &head));
        for metric in &details {
            let shown = view::in_matrix(analysis, metric);
            let unit = paint(DIM, &format!("{:<6}", shown.unit));
            let value = shown.number(metric.mean);
            let _ = write!(out, "   {:<20} {unit}{value:>9}", metric.name);
            for (_, variant) in chunk {
                out.push_str(&cell(variant, metric, shown));
            }
            out.push('\n');
        }
    }
    if let Some(notes) = view::notes(analysis, &view::letter(base)) {
        let _ = writeln!(out, "{}", paint(DIM, &format!("   ({notes})")));
    }
}

/// One change of the matrix: [`MATRIX_CHANGE`] columns.
fn cell(variant: &VariantAnalysis, metric: &Metric, shown: Shown) -> String {
    let Some(delta) = variant.delta(&metric.name) else {
        return format!("  {:>9}", "-");
    };
    let text = view::relative(variant, metric, shown);
    format!("  {}", paint(style(delta), &format!("{text:>9}")))
}

pub(crate) fn style(delta: &Delta) -> Style {
    match delta.verdict {
        _ if !delta.by_interval => PLAIN,
        Verdict::Better => GOOD,
        Verdict::Worse => BAD,
        Verdict::Same => DIM,
        Verdict::Higher | Verdict::Lower => PLAIN,
    }
}

pub(crate) fn paint(style: Style, text: &str) -> String {
    match style == PLAIN {
        true => text.to_string(),
        false => format!("{style}{text}{style:#}"),
    }
}

#[cfg(test)]
mod tests;
