//! A comparison as JSON, schema version 1.

use super::{Change, Comparison, GateVerdict, Pair, PairOfVariants};
use crate::TOOL;
use serde_json::{Map, Value, json};

/// The comparison, and what the conditions came to, as an indented document.
pub fn json(comparison: &Comparison, verdicts: &[GateVerdict]) -> String {
    let [a, b] = &comparison.names;
    let [tool_a, tool_b] = &comparison.tools;
    let document = json!({
        "schema": 1,
        "tool": TOOL,
        "a": { "file": a, "tool": tool_a },
        "b": { "file": b, "tool": tool_b },
        "identical": comparison.is_identical(),
        "scenarios": comparison.pairs.iter().map(pair).collect::<Vec<_>>(),
        "only_in_a": comparison.only[0],
        "only_in_b": comparison.only[1],
        "fail_if": verdicts.iter().map(verdict).collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}

fn pair(pair: &Pair) -> Value {
    let [machine_a, machine_b] = &pair.machines;
    let [seeds_a, seeds_b] = &pair.seeds;
    json!({
        "title": pair.title,
        "a": { "machine": machine_a, "seeds": seeds_a },
        "b": { "machine": machine_b, "seeds": seeds_b },
        "same_input": pair.same_input,
        "paired": pair.unpaired.is_none(),
        "why_not_paired": pair.unpaired,
        "variants": pair.variants.iter().map(variant).collect::<Vec<_>>(),
        "only_in_a": pair.only[0],
        "only_in_b": pair.only[1],
    })
}

fn variant(variant: &PairOfVariants) -> Value {
    let changed = variant.changed.iter().map(|[key, a, b]| json!({"key": key, "a": a, "b": b}));
    let metrics: Map<String, Value> =
        variant.metrics.iter().map(|change| (change.name.clone(), metric(change))).collect();
    json!({
        "name": variant.name,
        "changed": changed.collect::<Vec<_>>(),
        "metrics": metrics,
        "only_in_a": variant.only[0],
        "only_in_b": variant.only[1],
    })
}

fn metric(change: &Change) -> Value {
    let [a, b] = change.means;
    json!({
        "unit": change.unit,
        "better": change.better.word(),
        "a": a,
        "b": b,
        "delta_pct": change.delta.pct,
        "ci95": change.delta.ci95,
        "verdict": change.delta.verdict.word(),
        "identical": change.is_identical(),
    })
}

fn verdict(verdict: &GateVerdict) -> Value {
    json!({
        "condition": verdict.condition.text,
        "title": verdict.title,
        "variant": verdict.variant,
        "metric": verdict.change.name,
        "delta_pct": verdict.change.delta.pct,
        "fails": verdict.fails,
    })
}
