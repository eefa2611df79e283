//! `expect`: bounds that the means over the seeds are to keep.
//!
//! ```toml
//! expect = ["wakeup_latency_p99 < 2 ms", "throughput >= 12_000_000 1/s"]
//! ```

use super::find::amount;
use super::published::metric_named;
use crate::expect::{Expectation, Sign};
use input::{Fault, Node, Walk};
use toml::de::DeTable;

/// Reads all of them: those at the top and in `[run]`, which are about all variants, and those of
/// variants.
pub(super) fn expectations(walk: &mut Walk, doc: &DeTable<'_>) -> Vec<Expectation> {
    let of_run = doc.get("run").and_then(|node| node.get_ref().get("expect"));
    let mut found = Vec::new();
    for list in [doc.get("expect"), of_run].into_iter().flatten() {
        read(walk, list, None, &mut found);
    }
    let variants = doc.get("variant").and_then(|node| node.get_ref().as_array());
    for table in variants.into_iter().flatten().filter_map(|node| node.get_ref().as_table()) {
        let name = table.get("name").and_then(|node| node.get_ref().as_str());
        if let (Some(name), Some(list)) = (name, table.get("expect")) {
            read(walk, list, Some(name), &mut found);
        }
    }
    found
}

fn read(walk: &mut Walk, list: Node<'_>, variant: Option<&str>, found: &mut Vec<Expectation>) {
    for node in walk.array(list, "expect").unwrap_or_default() {
        found.extend(one(walk, node, variant));
    }
}

/// Reads a list of bounds that stands elsewhere.
pub(super) fn bounds(walk: &mut Walk, list: Node<'_>) -> Vec<Expectation> {
    let mut found = Vec::new();
    for node in walk.array(list, "while").unwrap_or_default() {
        found.extend(one(walk, node, None));
    }
    found
}

/// Reads `METRIC < VALUE UNIT`.
fn one(walk: &mut Walk, node: Node<'_>, variant: Option<&str>) -> Option<Expectation> {
    const HINT: &str = "write METRIC < VALUE UNIT, such as \"wakeup_latency_p99 < 2 ms\"";
    let text = walk.text(node, "expect")?;
    let parts = Sign::ALL.iter().find_map(|(sign, meaning)| {
        let (name, limit) = text.split_once(sign)?;
        Some((name.trim(), *meaning, limit.trim()))
    });
    let Some((name, sign, limit)) = parts else {
        let message = "an expectation has `<`, `<=`, `>` or `>=` in it";
        walk.fault(Fault::at(node.span(), message).help(HINT));
        return None;
    };
    let metric = metric_named(walk, name, node.span())?;
    match bound(limit, metric.unit) {
        Ok(limit) => Some(Expectation {
            text: text.trim().to_string(),
            place: String::new(),
            span: node.span(),
            variant: variant.map(str::to_string),
            metric: name.to_string(),
            sign,
            limit,
        }),
        Err(why) => {
            walk.fault(Fault::at(node.span(), why).help(HINT));
            None
        }
    }
}

/// A limit in the unit of a metric: with its unit, if the metric has one, so that nobody takes
/// microseconds for milliseconds.
fn bound(text: &str, unit: &str) -> Result<f64, String> {
    let digits =
        text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_'))).unwrap_or(text.len());
    let (number, own) = (&text[..digits], text[digits..].trim());
    if own.is_empty() && !unit.is_empty() {
        return Err(format!("the limit needs a unit: the metric is in {unit}"));
    }
    // From 0 on the unit does not matter, but it has to be one.
    match number.replace('_', "").parse() {
        Ok(0.0) => amount(&format!("1 {own}"), unit).map(|_| 0.0),
        _ => amount(text, unit),
    }
}
