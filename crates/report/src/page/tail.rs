//! What one recorded run of each variant adds up to: percentiles, moves between LLCs, lock waits.

use super::markup::{escape, number_cell, plain_number, row, table};
use super::summary::{named, swatch};
use crate::analysis::Analysis;
use crate::number::{number, time};
use scenario::recorded::{Count, Recorded};
use std::fmt::Write;

/// Percentiles that are told.
const SHARES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)];

/// The time that a share of all is at most as long as.
fn quantile(counts: &[Count], share: f64) -> Option<u64> {
    let all: u64 = counts.iter().map(|c| c.n).sum();
    // As many as that must be at most as long, and one at least.
    let wanted = ((share * all as f64).ceil() as u64).max(1);
    let mut seen = 0;
    let reached = counts.iter().find(|count| {
        seen += count.n;
        seen >= wanted
    });
    reached.map(|count| count.ns)
}

/// Percentiles of the wake-up latency.
pub fn wakeups(analysis: &Analysis, recorded: &[Recorded]) -> String {
    let mut head = vec!["variant".to_string(), ">wake-ups".to_string()];
    head.extend(SHARES.map(|(name, _)| format!(">{name}")));
    let line = |((idx, variant), run): ((usize, &crate::VariantAnalysis), &Recorded)| {
        let n: u64 = run.wakeups.iter().map(|c| c.n).sum();
        let mut cells = vec![plain_number(&n.to_string())];
        for (name, share) in SHARES {
            let ns = quantile(&run.wakeups, share);
            let shown = ns.map_or("-".into(), |ns| time(ns as f64));
            let name = format!("{}/wakeup_latency/{name}/ns", variant.name);
            cells.push(number_cell(&shown, &name, ns.map(|ns| ns as f64)));
        }
        row(&named(idx, variant), &cells)
    };
    let rows: Vec<String> = analysis.variants.iter().enumerate().zip(recorded).map(line).collect();
    table("block", "", &head, &rows)
}

/// Tails of families of latencies that the workload measures.
const FAMILIES: [&str; 2] = ["latency_", "queue_latency_"];
const TAILS: [&str; 6] = ["p50", "p90", "p95", "p99", "p999", "max"];

/// Percentiles of all waits for a CPU.
pub fn waits(analysis: &Analysis) -> String {
    tails(analysis, "runqueue_wait_")
}

/// Percentiles that the workload measured.
pub fn workload(analysis: &Analysis) -> String {
    FAMILIES.iter().map(|family| tails(analysis, family)).collect()
}

fn tails(analysis: &Analysis, family: &str) -> String {
    let name = |tail: &&str| format!("{family}{tail}");
    let measured = |tail: &&str| analysis.variants.iter().any(|v| v.metric(&name(tail)).is_some());
    let tails: Vec<&str> = TAILS.into_iter().filter(measured).collect();
    if tails.is_empty() {
        return String::new();
    }
    let mut head = vec!["variant".to_string()];
    head.extend(tails.iter().map(|tail| format!(">{}", tail.replace("p999", "p99.9"))));
    let mut rows = Vec::new();
    for (idx, variant) in analysis.variants.iter().enumerate() {
        let cell = |tail: &&str| {
            let metric = variant.metric(&name(tail));
            let shown = metric.map_or("-".into(), |m| number(m.mean, m.unit));
            let key = format!("{}/{}/mean", variant.name, name(tail));
            number_cell(&shown, &key, metric.map(|m| m.mean))
        };
        let cells: Vec<String> = tails.iter().map(cell).collect();
        rows.push(row(&named(idx, variant), &cells));
    }
    table("block", &format!("<b>{}</b> [us]", family.trim_end_matches('_')), &head, &rows)
}

/// Cells of a matrix in which numbers have room.
const NUMBERED_MAX: usize = 16;

/// Moves of tasks between LLCs, a matrix per variant. All share one scale of color.
pub fn moves(analysis: &Analysis, recorded: &[Recorded]) -> String {
    let most = recorded.iter().flat_map(|r| &r.moves).copied().max().unwrap_or(0);
    if most == 0 {
        return String::new();
    }
    let mut out = "<div class=\"matrices\">\n".to_string();
    for (idx, run) in recorded.iter().enumerate() {
        let n = run.moves.len().isqrt();
        let sum: u64 = run.moves.iter().sum();
        let across: u64 = sum - (0..n).map(|llc| run.moves[llc * n + llc]).sum::<u64>();
        let name = escape(&analysis.variants[idx].name);
        let _ = writeln!(
            out,
            "<figure class=\"matrix-of-moves\"><figcaption>{} {name}: {sum} moves, {across} \
             between LLCs</figcaption>{}</figure>",
            swatch(idx),
            matrix(&run.moves, n, most)
        );
    }
    let _ = writeln!(
        out,
        "</div><p class=\"remark\">Color: <span class=\"ramp\"></span> 0 to {most} moves, by the \
         square root.</p>"
    );
    out
}

fn matrix(moves: &[u64], n: usize, most: u64) -> String {
    let mut html = "<table class=\"cells\"><thead><tr><th></th>".to_string();
    let is_numbered = n <= NUMBERED_MAX;
    let head = |llc: usize| {
        if is_numbered || llc.is_multiple_of(8) { llc.to_string() } else { String::new() }
    };
    for llc in 0..n {
        let _ = write!(html, "<th scope=\"col\">{}</th>", head(llc));
    }
    html += "</tr></thead><tbody>";
    for (from, row) in moves.chunks(n.max(1)).enumerate() {
        let _ = write!(html, "<tr><th scope=\"row\">{}</th>", head(from));
        for (to, count) in row.iter().enumerate() {
            let part = (*count as f64 / most as f64).sqrt();
            let dark = if part > 0.55 { " class=\"dark\"" } else { "" };
            let shown = if is_numbered { number(*count as f64, "") } else { String::new() };
            let _ = write!(
                html,
                "<td{dark} style=\"--part:{part:.3}\" title=\"LLC {from} to LLC {to}: \
                 {count}\">{shown}</td>"
            );
        }
        html += "</tr>";
    }
    html + "</tbody></table>"
}

/// Waits by call site, those of all variants side by side.
pub fn locks(analysis: &Analysis, recorded: &[Recorded]) -> String {
    let mut names: Vec<&'static str> = Vec::new();
    for site in recorded.iter().flat_map(|r| &r.sites).filter(|s| s.wait.n > 0) {
        if !names.contains(&site.name) {
            names.push(site.name);
        }
    }
    let total = |run: &Recorded, name: &str| {
        run.sites.iter().find(|s| s.name == name).map_or(0, |s| s.wait.total_ns)
    };
    names.sort_by_key(|name| std::cmp::Reverse(recorded.iter().map(|r| total(r, name)).max()));
    let mut head = vec!["call site".to_string()];
    for idx in 0..recorded.len() {
        let letter = swatch(idx);
        head.extend(["waited", "waits", "p95", "longest"].map(|what| format!(">{letter} {what}")));
    }
    let line = |name: &&'static str| {
        let mut cells = Vec::new();
        for (run, variant) in recorded.iter().zip(&analysis.variants) {
            let site = run.sites.iter().find(|s| s.name == *name && s.wait.n > 0);
            let Some(site) = site else {
                cells.extend([
                    plain_number("-"),
                    plain_number(""),
                    plain_number(""),
                    plain_number(""),
                ]);
                continue;
            };
            let key = format!("{}/{name}/wait/ns", variant.name);
            let ns = site.wait.total_ns as f64;
            cells.push(number_cell(&time(ns), &key, Some(ns)));
            cells.push(plain_number(&site.wait.n.to_string()));
            cells.push(plain_number(&time(site.wait.p95_ns as f64)));
            cells.push(plain_number(&time(site.wait.max_ns as f64)));
        }
        row(&escape(name), &cells)
    };
    let rows: Vec<String> = names.iter().map(line).collect();
    match rows[..] {
        [] => "<p>No CPU had to wait for a lock.</p>\n".to_string(),
        _ => table("block", "", &head, &rows),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_the_least_time_that_is_long_enough() {
        let counts: Vec<Count> = (1..=100).map(|ns| Count { ns, n: 10 }).collect();
        let found = SHARES.map(|(_, share)| quantile(&counts, share));
        assert_eq!(found, [50, 90, 99, 100, 100].map(Some));
        assert_eq!(quantile(&counts, 0.0), Some(1));
        assert_eq!(quantile(&[], 0.5), None);
    }
}
