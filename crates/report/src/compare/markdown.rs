//! A comparison as Markdown, for a pull request.

use super::text::{absent, absent_metrics, absent_variants, cells, conclusion, facts, or_nothing};
use super::text::{rest, shown};
use super::{Comparison, PairOfVariants};
use crate::TOOL;
use crate::markdown::escape;
use std::fmt::Write;

/// The comparison as Markdown; what is shown is chosen as in the text.
pub fn markdown(comparison: &Comparison, chosen: &[String], all: bool) -> String {
    let mut out = String::new();
    let [a, b] = comparison.names.each_ref().map(|name| escape(name));
    let [tool_a, tool_b] = &comparison.tools;
    let _ = writeln!(out, "## {b} ({tool_b}) beside {a} ({tool_a})\n");
    let _ = writeln!(out, "**{}**", conclusion(comparison));
    for pair in &comparison.pairs {
        let _ = writeln!(out, "\n### {}\n", escape(&pair.title));
        let _ = writeln!(out, "{}", escape(&facts(pair).join("; ")));
        for variant in &pair.variants {
            table(&mut out, variant, chosen, all);
        }
        for line in absent_variants(pair) {
            let _ = writeln!(out, "\n{}", escape(&line));
        }
    }
    for line in absent(comparison) {
        let _ = writeln!(out, "\n{}", escape(&line));
    }
    let _ = writeln!(out, "\n{TOOL}");
    out
}

fn table(out: &mut String, variant: &PairOfVariants, chosen: &[String], all: bool) {
    let _ = writeln!(out, "\n#### {}\n", escape(&variant.name));
    for [key, a, b] in &variant.changed {
        let [a, b] = [a, b].map(|value| escape(or_nothing(value)));
        let _ = writeln!(out, "- `{key}`: {a} became {b}");
    }
    let changes = shown(variant, chosen, all);
    if !changes.is_empty() {
        if !variant.changed.is_empty() {
            out.push('\n');
        }
        out.push_str("| metric | A | B | change | 95 % interval | verdict |\n");
        out.push_str("| --- | ---: | ---: | ---: | :---: | --- |\n");
    }
    for change in &changes {
        let shown = change.shown();
        let heading = shown.heading(&change.name);
        let [a, b] = change.means.map(|mean| shown.number(mean));
        let (pct, ci95, word) = cells(&change.delta);
        let _ = writeln!(out, "| {heading} | {a} | {b} | {pct} | {ci95} | {word} |");
    }
    let gap = if changes.is_empty() && variant.changed.is_empty() { "" } else { "\n" };
    let _ = writeln!(out, "{gap}{}", rest(variant, changes.len()));
    for line in absent_metrics(variant) {
        let _ = writeln!(out, "{}", escape(&line));
    }
}
