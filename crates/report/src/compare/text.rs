//! A comparison for people: what has changed, and a word about all the rest.

use super::{Change, Comparison, Pair, PairOfVariants};
use crate::analysis::Delta;
use crate::number::{interval, percent, seeds};
use crate::text::{BOLD, DIM, paint, style};
use crate::{TOOL, pad};
use scenario::registry::{Show, metric};
use std::fmt::Write;

/// Width of the column of metrics with their units.
const NAME: usize = 30;

/// The comparison as tables with colors. `chosen` metrics are shown whatever became of them;
/// without any, what has changed is.
pub fn text(comparison: &Comparison, chosen: &[String], all: bool) -> String {
    let mut out = String::new();
    let sides = comparison.names.iter().zip(&comparison.tools);
    for (letter, (name, tool)) in ["A", "B"].iter().zip(sides) {
        let _ = writeln!(out, "{letter} {} {}", paint(BOLD, name), paint(DIM, tool));
    }
    for pair in &comparison.pairs {
        out.push('\n');
        scenario(&mut out, pair, chosen, all);
    }
    let lines = absent(comparison);
    if !lines.is_empty() {
        let _ = writeln!(out, "\n{}", lines.join("\n"));
    }
    let _ = writeln!(out, "\n{}", conclusion(comparison));
    let _ = writeln!(out, "{}", paint(DIM, &format!("{TOOL}. All metrics: --all, --format json.")));
    out
}

fn scenario(out: &mut String, pair: &Pair, chosen: &[String], all: bool) {
    let _ = writeln!(out, "{}", paint(BOLD, &pair.title));
    let _ = writeln!(out, "{}", facts(pair).join("   "));
    for variant in &pair.variants {
        table(out, variant, chosen, all);
    }
    for line in super::text::absent_variants(pair) {
        let _ = writeln!(out, "{line}");
    }
}

/// What the two sides have in common, and how they are compared.
pub(super) fn facts(pair: &Pair) -> Vec<String> {
    let both = |what: &str, [a, b]: [&str; 2]| match a == b {
        true => format!("{what} {a}"),
        false => format!("{what} A: {a}, B: {b}"),
    };
    let [machine_a, machine_b] = &pair.machines;
    let [seeds_a, seeds_b] = [seeds(&pair.seeds[0]), seeds(&pair.seeds[1])];
    let how = match pair.unpaired {
        None => "paired by seed".to_string(),
        Some(why) => format!("not paired (Welch): {why}"),
    };
    let mut facts = vec![
        both("machine", [machine_a.as_str(), machine_b.as_str()]),
        both("seeds", [seeds_a.as_str(), seeds_b.as_str()]),
        how,
    ];
    facts.extend((!pair.same_input).then(|| "input files differ".to_string()));
    facts
}

fn table(out: &mut String, variant: &PairOfVariants, chosen: &[String], all: bool) {
    let shown: Vec<&Change> = shown(variant, chosen, all);
    let head = format!(" {:>9} {:>9}  {:>7}  95 % interval", "A", "B", "change");
    let name = pad::left(&pad::short(&variant.name, NAME), NAME);
    let head = if shown.is_empty() { "" } else { head.as_str() };
    let _ = writeln!(out, "{}{}", paint(BOLD, name.trim_end()), {
        let gap = if head.is_empty() { 0 } else { NAME - pad::width(name.trim_end()) };
        format!("{}{}", " ".repeat(gap), paint(DIM, head))
    });
    for [key, a, b] in &variant.changed {
        let _ = writeln!(out, "  {key}: {} became {}", or_nothing(a), or_nothing(b));
    }
    for change in &shown {
        let _ = writeln!(out, "{}", line(change).trim_end());
    }
    let _ = writeln!(out, "  {}", paint(DIM, &rest(variant, shown.len())));
    for line in absent_metrics(variant) {
        let _ = writeln!(out, "  {line}");
    }
}

/// A value that one side does not state.
pub(super) fn or_nothing(value: &str) -> &str {
    if value.is_empty() { "(nothing stated)" } else { value }
}

/// The metrics that get a line.
pub(super) fn shown<'a>(
    variant: &'a PairOfVariants,
    chosen: &[String],
    all: bool,
) -> Vec<&'a Change> {
    let is_shown = |change: &&Change| match chosen {
        [] => all || is_worth_a_line(change),
        names => names.contains(&change.name),
    };
    variant.metrics.iter().filter(is_shown).collect()
}

/// A change of what tables show, or of a headline.
fn is_worth_a_line(change: &Change) -> bool {
    let shown = metric(&change.name).map_or(Show::Table, |row| row.shown(&change.name));
    !change.is_identical() && change.is_change() && shown != Show::Hidden
}

fn line(change: &Change) -> String {
    let shown = change.shown();
    let name = pad::left(&shown.heading(&change.name), NAME - 2);
    let [a, b] = change.means.map(|mean| shown.number(mean));
    let (pct, ci95, word) = cells(&change.delta);
    let style = style(&change.delta);
    let (pct, word) = (crate::text::paint(style, &format!("{pct:>7}")), paint(style, &word));
    format!("  {name} {a:>9} {b:>9}  {pct}  {ci95:<14} {word}")
}

/// A change, its interval and what it amounts to.
pub(super) fn cells(delta: &Delta) -> (String, String, String) {
    if delta.identical {
        return ("=".to_string(), String::new(), "identical".to_string());
    }
    let pct = delta.pct.map_or("-".to_string(), percent);
    let doubt = if delta.by_interval { "" } else { "?" };
    let word = format!("{}{doubt}", delta.verdict.word());
    (pct, delta.ci95.map_or(String::new(), interval), word)
}

/// A word about the metrics without a line.
pub(super) fn rest(variant: &PairOfVariants, n_shown: usize) -> String {
    let n = variant.metrics.len();
    let identical = variant.metrics.iter().filter(|change| change.is_identical()).count();
    let changed = variant.metrics.iter().filter(|c| !c.is_identical() && c.is_change()).count();
    match (identical, changed) {
        (identical, _) if identical == n => format!("all {n} metrics are the same, value by value"),
        _ => format!(
            "of {n} metrics {changed} changed, {identical} are the same value by value, {} cannot \
             be told apart ({n_shown} shown)",
            n - changed - identical
        ),
    }
}

/// What only one side has, a line each.
pub(super) fn absent(comparison: &Comparison) -> Vec<String> {
    let named = comparison.names.iter().zip(&comparison.only);
    let line = |(name, titles): (&String, &Vec<String>)| {
        titles.iter().map(|title| format!("only in {name}: {title}")).collect::<Vec<_>>()
    };
    named.flat_map(line).collect()
}

/// Variants that only one side has, a line each.
pub(super) fn absent_variants(pair: &Pair) -> Vec<String> {
    only(&pair.only, "variant")
}

/// Metrics that only one side has, a line each.
pub(super) fn absent_metrics(variant: &PairOfVariants) -> Vec<String> {
    only(&variant.only, "metric")
}

fn only(only: &[Vec<String>; 2], what: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for (letter, names) in ["A", "B"].iter().zip(only) {
        let plural = if names.len() == 1 { "" } else { "s" };
        if !names.is_empty() {
            lines.push(format!("only in {letter}: {what}{plural} {}", names.join(", ")));
        }
    }
    lines
}

/// The last line: what it comes to.
pub(super) fn conclusion(comparison: &Comparison) -> String {
    let n = comparison.changes().count();
    let changed = comparison.changes().filter(|c| !c.is_identical() && c.is_change()).count();
    let stated: usize =
        comparison.pairs.iter().flat_map(|pair| &pair.variants).map(|v| v.changed.len()).sum();
    match (n, changed) {
        _ if comparison.is_identical() => format!("No difference: {n} metrics, value by value."),
        (0, _) => "The two have nothing in common: scenarios are matched by title.".to_string(),
        (n, 0) => format!("No change in {n} metrics that the seeds can tell from chance."),
        (n, changed) if stated > 0 => {
            format!("{changed} of {n} metrics changed; settings that differ: {stated}.")
        }
        (n, changed) => format!("{changed} of {n} metrics changed."),
    }
}
