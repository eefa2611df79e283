//! The ledger of `schedlab explain` for all variants: CPU time that passed idle while a task
//! waited, by rule.

use super::Chapter;
use super::markup::{cell, escape, number_cell, plain_number, row, table};
use super::summary::{named, swatch};
use crate::analysis::Analysis;
use crate::number::time;
use scenario::{Explanation, RuleTime, Wait};
use std::fmt::Write;

/// Rules that are shown; further ones are added up.
const RULES_MAX: usize = 16;
/// Pairs of commands that are shown of each variant.
const PAIRS_MAX: usize = 8;
/// Traces begin at 1 s, a page at 0.
const TRACE_START_NS: u64 = 1_000_000_000;

/// The ledgers side by side, then who waited for whom and the longest waits of each.
pub fn html(analysis: &Analysis, chapter: &Chapter<'_>) -> String {
    let runs: Vec<&Explanation> = chapter.recorded.iter().map(|r| &r.explanation).collect();
    if runs.iter().all(|run| run.wasted_ns == 0) {
        return "<p>No CPU idled while a task waited that it may run.</p>\n".to_string();
    }
    let mut out = rules(analysis, &runs);
    for (idx, run) in runs.iter().enumerate().filter(|(_, run)| run.wasted_ns > 0) {
        let open = if idx == 0 { " open" } else { "" };
        let _ = writeln!(
            out,
            "<details{open}><summary>{}: the longest waits, and who waited for whom</summary>\n\
             {}{}</details>",
            named(idx, &analysis.variants[idx]),
            longest(run, idx),
            blame(run)
        );
    }
    out
}

/// A rule is known by its name and by what kind of decision it is.
type Key = (&'static str, scenario::Kind);

fn rules(analysis: &Analysis, runs: &[&Explanation]) -> String {
    let find = |run: &Explanation, key: Key| -> Option<RuleTime> {
        run.rules.iter().find(|r| (r.name, r.kind) == key).cloned()
    };
    let ns = |run: &Explanation, key: Key| find(run, key).map_or(0, |r| r.total_ns());
    let mut keys: Vec<Key> = Vec::new();
    for rule in runs.iter().flat_map(|run| &run.rules) {
        if !keys.contains(&(rule.name, rule.kind)) {
            keys.push((rule.name, rule.kind));
        }
    }
    keys.sort_by_key(|key| std::cmp::Reverse(runs.iter().map(|run| ns(run, *key)).max()));
    let mut head = vec!["rule".to_string(), "decision".to_string()];
    for idx in 0..runs.len() {
        head.extend(["CPU time", "share"].map(|what| format!(">{} {what}", swatch(idx))));
    }
    head.push("features and tunables".to_string());
    let rest = keys.split_off(keys.len().min(RULES_MAX));
    let mut rows = vec![sum(analysis, runs, "all", |run| run.wasted_ns)];
    for key in keys {
        let rule = runs.iter().find_map(|run| find(run, key));
        let text = rule.as_ref().map_or("", |r| r.text);
        let mut cells = vec![cell(key.1.name())];
        for (run, variant) in runs.iter().zip(&analysis.variants) {
            let name = format!("{}/{}/{}/ns", variant.name, key.1.name(), key.0);
            cells.extend(amount(ns(run, key), run.wasted_ns, &name));
        }
        cells.push(cell(rule.as_ref().map_or("", |r| &r.knob)));
        rows.push(row(&format!("{}<small>{}</small>", escape(key.0), escape(text)), &cells));
    }
    if !rest.is_empty() {
        let name = format!("{} more rules", rest.len());
        rows.push(sum(analysis, runs, &name, |run| rest.iter().map(|key| ns(run, *key)).sum()));
    }
    table("rules", "", &head, &rows)
}

/// A row of sums.
fn sum(
    analysis: &Analysis,
    runs: &[&Explanation],
    what: &str,
    of: impl Fn(&Explanation) -> u64,
) -> String {
    let mut cells = vec![cell("")];
    for (run, variant) in runs.iter().zip(&analysis.variants) {
        let name = format!("{}/{what}/ns", variant.name);
        cells.extend(amount(of(run), run.wasted_ns, &name));
    }
    cells.push(cell(""));
    row(&format!("<b>{what}</b>"), &cells)
}

/// CPU time and its share.
fn amount(ns: u64, all: u64, name: &str) -> [String; 2] {
    if ns == 0 {
        return [number_cell("-", name, Some(0.0)), plain_number("")];
    }
    let share = ns as f64 / all.max(1) as f64 * 100.0;
    [number_cell(&time(ns as f64), name, Some(ns as f64)), plain_number(&format!("{share:.1}%"))]
}

fn name(comm: &str) -> &str {
    if comm.is_empty() { "nobody" } else { comm }
}

/// The longest waits, each a way into the timeline.
fn longest(run: &Explanation, variant: usize) -> String {
    let head = ["task", ">from", ">CPU", ">waited", "behind", "rule"].map(String::from);
    let line = |wait: &Wait| {
        let (comm, pid) = &wait.task;
        let from = wait.at_ns - TRACE_START_NS;
        let button = format!(
            "<td class=\"number\"><button type=\"button\" class=\"jump\" \
             data-variant=\"{variant}\" data-cpu=\"{}\" data-from=\"{from}\" data-ns=\"{}\" \
             data-pid=\"{pid}\" title=\"show it in the timeline\">{:.6} s</button></td>",
            wait.cpu,
            wait.ns,
            from as f64 * 1e-9
        );
        let cells = [
            button,
            plain_number(&wait.cpu.to_string()),
            plain_number(&time(wait.ns as f64)),
            cell(name(&wait.runner)),
            cell(wait.rule),
        ];
        row(&escape(&format!("{comm}:{pid}")), &cells)
    };
    let rows: Vec<String> = run.longest.iter().map(line).collect();
    table("block", "longest waits with an idle CPU", &head, &rows)
}

fn blame(run: &Explanation) -> String {
    let head = ["who waited", "behind", ">CPU time", ">share"].map(String::from);
    let line = |b: &scenario::Blame| {
        let share = b.ns as f64 / run.wasted_ns.max(1) as f64 * 100.0;
        let cells = [
            cell(name(&b.runner)),
            plain_number(&time(b.ns as f64)),
            plain_number(&format!("{share:.1}%")),
        ];
        row(&escape(name(&b.waiter)), &cells)
    };
    let rows: Vec<String> = run.blame.iter().take(PAIRS_MAX).map(line).collect();
    table("block", "who waited for whom", &head, &rows)
}
