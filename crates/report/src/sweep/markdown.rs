//! The tables of a sweep as Markdown, ready for a mail or a pull request.

use super::SweepAnalysis;
use super::rows::{self, Change};
use crate::markdown::escape;
use crate::{TOOL, view};
use std::fmt::Write;

/// The sweep as Markdown.
pub fn markdown(sweep: &SweepAnalysis) -> String {
    let mut out = String::new();
    let first = sweep.first();
    let _ = writeln!(out, "## {}\n", escape(&sweep.title));
    let facts: Vec<String> =
        rows::facts(sweep).iter().map(|(what, v)| format!("{what}: {}", escape(v))).collect();
    let _ = writeln!(out, "{}", facts.join("; "));
    for metric in sweep.metrics.iter().filter_map(|name| sweep.metric(name)) {
        let others: Vec<usize> =
            (0..first.variants.len()).filter(|idx| !first.variants[*idx].baseline).collect();
        let shown = rows::shown(sweep, metric);
        let heading = shown.heading(&metric.name);
        let _ = writeln!(out, "\n**{heading}{}**\n", view::direction(metric));
        let mut head: Vec<String> = sweep.axes.iter().map(|axis| escape(&axis.key)).collect();
        head.extend(first.baseline().map(|base| escape(&base.name)));
        head.extend(rows::has_shares(sweep).then(|| "share".to_string()));
        head.extend(others.iter().map(|idx| escape(&first.variants[*idx].name)));
        let _ = writeln!(out, "| {} |", head.join(" | "));
        let _ = writeln!(out, "|{}", " ---: |".repeat(head.len()));
        for point in &sweep.points {
            let mut cells: Vec<String> = sweep.values(point).map(escape).collect();
            cells.push(rows::level(point, &metric.name, shown));
            if rows::has_shares(sweep) {
                cells.push(rows::share(sweep, point, &metric.name).unwrap_or("-".into()));
            }
            cells.extend(others.iter().map(|idx| {
                let change = Change::of(&point.analysis.variants[*idx], &metric.name, shown);
                change.map_or("-".into(), |(change, _)| cell(&change))
            }));
            let _ = writeln!(out, "| {} |", cells.join(" | "));
        }
        let means: Vec<Option<Change>> =
            others.iter().map(|idx| rows::geometric_mean(sweep, *idx, metric)).collect();
        if sweep.points.len() > 1 && means.iter().any(Option::is_some) {
            let blank = head.len() - others.len();
            let cells: Vec<String> =
                means.iter().map(|mean| mean.as_ref().map_or(String::new(), cell)).collect();
            let _ = writeln!(
                out,
                "| geometric mean {}| {} |",
                "| ".repeat(blank - 1),
                cells.join(" | ")
            );
        }
        let published = rows::published(sweep, &metric.name);
        if !published.is_empty() {
            let lines: String =
                published.iter().map(|line| format!("- {}\n", escape(line))).collect();
            let _ = write!(out, "\n{lines}");
        }
    }
    out.push('\n');
    for remark in rows::remarks(sweep) {
        let _ = writeln!(out, "{remark}  ");
    }
    let _ = writeln!(out, "{TOOL}, scenario `{}`", sweep.hash);
    out
}

fn cell(change: &Change) -> String {
    [change.pct.as_str(), &change.half, &change.word].join(" ").replace("  ", " ")
}
