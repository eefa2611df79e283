//! A search in words.

use super::{Found, TuneReport};
use crate::analysis::{Delta, Verdict, paired};
use crate::number::{Shown, percent, seeds};
use crate::pad;
use scenario::Better;
use scenario::registry::metric;

/// Points of the front that are shown; JSON has all.
const FRONT_MAX: usize = 20;
/// Failed points whose message is shown.
const FAILED_MAX: usize = 5;

/// What was looked for, what is best, what it costs, and how it does with fresh seeds.
pub fn text(report: &TuneReport) -> String {
    let mut text = head(report);
    match report.best {
        Some(best) => text += &winner(report, best),
        None => text += "\nno point keeps the limits\n",
    }
    text += &front(report);
    text + &failed(report)
}

fn head(report: &TuneReport) -> String {
    let tune = &report.tune;
    let goal = |goal: &scenario::tune::Goal| {
        format!("{} {}", if goal.maximize { "maximize" } else { "minimize" }, goal.metric)
    };
    let goals: Vec<String> = tune.goals.iter().map(goal).collect();
    let limits: Vec<&str> = tune.limits.iter().map(|limit| limit.text.as_str()).collect();
    let limits = match limits[..] {
        [] => String::new(),
        _ => format!(" while {}", limits.join(", ")),
    };
    let keys: Vec<&str> = tune.keys.iter().map(|key| key.key.as_str()).collect();
    let of = tune.n_points().map_or(String::new(), |n| format!(" of {n}"));
    let lines = [
        ("tuned", format!("{}: {}{limits}", tune.variant, goals.join(", "))),
        ("keys", keys.join(", ")),
        ("points", format!("{}{of}, in batches of {}", report.looked.len(), report.batch)),
        ("by", format!("{}, its seed {}", report.optimizer, report.search_seed)),
        ("seeds", seeds(&report.seeds)),
        ("runs", format!("{}, {} of them computed now", report.n_runs, report.n_computed)),
    ];
    let lines = lines.iter().map(|(what, said)| format!("  {what:<8} {said}\n"));
    format!("{}: {}\n{}", report.scenario, report.title, lines.collect::<String>())
}

/// The best point, beside the variant as it is; then both with fresh seeds.
fn winner(report: &TuneReport, best: usize) -> String {
    let point = &report.looked[best].point;
    let mut text = format!("\nbest: {}\n", report.words(point).join(", "));
    for set in report.tune.sets(point) {
        // A quote within is closed, escaped and opened again, as shells want it.
        text += &format!("  --set '{}'\n", set.replace('\'', "'\\''"));
    }
    if let Ok(found) = &report.looked[best].found {
        text += &compared(report, &report.as_it_is, found);
    }
    let Some(validation) = &report.validation else {
        return text;
    };
    text += &format!("\nthe same with fresh seeds, {}\n", seeds(&validation.seeds));
    match &validation.best {
        Err(error) => text += &format!("  it fails: {error}\n"),
        Ok(found) => {
            text += &compared(report, &validation.as_it_is, found);
            let goal = delta(report, &validation.as_it_is, found, 0);
            text += match (found.keeps, goal.verdict) {
                (false, _) => "  it does NOT keep the limits there\n",
                (true, Verdict::Same) => "  no better than as it is, as far as seeds can tell\n",
                (true, Verdict::Better) => "",
                (true, _) => "  it is NOT better there\n",
            };
        }
    }
    text
}

/// The change of a metric. What `[tune]` wants of a goal is what is better.
fn delta(report: &TuneReport, base: &Found, found: &Found, place: usize) -> Delta {
    let better = match report.tune.goals.get(place) {
        Some(goal) if goal.maximize => Better::Higher,
        Some(_) => Better::Lower,
        None => metric(&report.metrics[place]).map_or(Better::None, |row| row.better),
    };
    paired(&found.values[place], &base.values[place], better)
}

/// A change with half its interval.
fn change(delta: &Delta) -> String {
    let half = |[low, high]: [f64; 2]| format!(" \u{b1}{:.2}", (high - low) / 2.0);
    let half = delta.ci95.map_or(String::new(), half);
    let doubt = if delta.by_interval { "" } else { "?" };
    match delta.pct {
        _ if delta.identical => "=".to_string(),
        None => format!("- {}{doubt}", delta.verdict.word()),
        Some(pct) => format!("{}{half} {}{doubt}", percent(pct), delta.verdict.word()),
    }
}

/// A row per metric: as it is, the best, the change.
fn compared(report: &TuneReport, base: &Found, found: &Found) -> String {
    let mut rows = vec![["", "as it is", "best", "change"].map(String::from).to_vec()];
    for (place, name) in report.metrics.iter().enumerate() {
        let shown = shown(report, place, [base.mean(place), found.mean(place)]);
        rows.push(vec![
            shown.heading(name),
            shown.number(base.mean(place)),
            shown.number(found.mean(place)),
            change(&delta(report, base, found, place)),
        ]);
    }
    table(&rows, 1)
}

fn shown(report: &TuneReport, place: usize, values: impl IntoIterator<Item = f64>) -> Shown {
    let name = &report.metrics[place];
    Shown::of(name, metric(name).map_or("", |row| row.unit), values)
}

/// A row per point that is better than each other one in something.
fn front(report: &TuneReport) -> String {
    // With one metric it is the best point again.
    if report.metrics.len() < 2 || report.front.is_empty() {
        return String::new();
    }
    let found = |idx: &usize| report.looked[*idx].found.as_ref().ok();
    let means = |place: usize| {
        let found = report.front.iter().filter_map(found);
        found.map(move |found| found.mean(place)).collect::<Vec<f64>>()
    };
    let ways: Vec<Shown> =
        (0..report.metrics.len()).map(|place| shown(report, place, means(place))).collect();
    let mut head: Vec<String> = Vec::new();
    for (way, name) in ways.iter().zip(&report.metrics) {
        head.extend([way.heading(name), "change".to_string()]);
    }
    head.extend(["limits".to_string(), "point".to_string()]);
    let mut rows = vec![head];
    // Those beside the best one: what a little more, or less, of each would cost.
    let best = report.front.iter().position(|idx| Some(*idx) == report.best).unwrap_or(0);
    let begin = best.saturating_sub(FRONT_MAX / 2);
    for idx in report.front.iter().skip(begin).take(FRONT_MAX) {
        let Some(found) = found(idx) else {
            continue;
        };
        let mut row = Vec::new();
        for (place, way) in ways.iter().enumerate() {
            let change = change(&delta(report, &report.as_it_is, found, place));
            row.extend([way.number(found.mean(place)), change]);
        }
        row.push(if found.keeps { "kept" } else { "broken" }.to_string());
        row.push(report.words(&report.looked[*idx].point).join(" "));
        rows.push(row);
    }
    let n_shown = rows.len() - 1;
    let more = match report.front.len() - n_shown {
        0 => String::new(),
        n => format!("  and {n} more: --format json\n"),
    };
    format!("\nPareto front: no point is better in all\n{}{more}", table(&rows, 0))
}

/// Rows of cells: the first `n_left` columns and the last one at the left, others at the right.
fn table(rows: &[Vec<String>], n_left: usize) -> String {
    let n = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| pad::width(&row[column])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..n).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cell = |(column, cell): (usize, &String)| match column {
            _ if column + 1 == n => cell.clone(),
            _ if column < n_left => pad::left(cell, widths[column]),
            _ => pad::right(cell, widths[column]),
        };
        let cells: Vec<String> = row.iter().enumerate().map(cell).collect();
        text += &format!("  {}\n", cells.join("  "));
    }
    text
}

fn failed(report: &TuneReport) -> String {
    let failed = report.looked.iter().filter_map(|looked| {
        let error = looked.found.as_ref().err()?;
        Some(format!("  {}: {error}\n", report.words(&looked.point).join(" ")))
    });
    let failed: Vec<String> = failed.collect();
    if failed.is_empty() {
        return String::new();
    }
    let shown: String = failed.iter().take(FAILED_MAX).cloned().collect();
    let more = failed.len().saturating_sub(FAILED_MAX);
    let more = if more == 0 { String::new() } else { format!("  and {more} more\n") };
    format!("\n{} points cannot run\n{shown}{more}", failed.len())
}
