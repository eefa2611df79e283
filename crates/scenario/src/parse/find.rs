//! `[find]`: a key of the workload, and the condition that its highest value is to keep.
//!
//! ```toml
//! [find]
//! rps           = "latency_p99 <= 50 ms"
//! range         = [1_000, 200_000]
//! precision_pct = 0.5
//! ```

use super::published::metric_named;
use crate::find::{Condition, FOUND, Find};
use crate::registry::{FIND, KeyDef, Kind, PRECISION, WorkloadDef, names};
use input::{Fault, Node, Walk, did_you_mean};
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// Units of time, each with its length in ns.
const TIMES: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];

/// The key of the workload that `[find]` searches, if it names one.
pub(crate) fn searched<'a>(doc: &'a DeTable<'_>) -> Option<&'a str> {
    let table = doc.get("find")?.get_ref().as_table()?;
    let is_own = |name: &str| FIND.iter().any(|own| own.name == name);
    table.keys().map(|key| key.get_ref().as_ref()).find(|name| !is_own(name))
}

/// Reads `[find]`.
pub(super) fn find(
    walk: &mut Walk,
    doc: &DeTable<'_>,
    workload: Option<&'static WorkloadDef>,
) -> Option<Find> {
    let node = doc.get("find")?;
    let table = walk.table(node, "find")?;
    let key = key(walk, node, table, workload?)?;
    let condition = condition(walk, table.get(key.name)?)?;
    let n_faults = walk.faults.len();
    let range = walk.required("[find]", node.span(), table, &names(FIND), "range");
    if let Some(missing) = walk.faults.get_mut(n_faults) {
        missing.help = Some("say where to look, such as range = [1_000, 200_000]".into());
    }
    let range = range.and_then(|node| range_of(walk, node, key));
    let precision = match table.get(PRECISION.name) {
        Some(node) => walk.value(node, &PRECISION)?.float()?,
        None => PRECISION.default.value()?.float()?,
    };
    let whole = matches!(key.kind, Kind::Int { .. });
    Some(Find { key: key.name, whole, condition, range: range?, precision: precision / 100.0 })
}

/// The one key of the workload that is searched.
fn key(
    walk: &mut Walk,
    node: Node<'_>,
    table: &DeTable<'_>,
    workload: &'static WorkloadDef,
) -> Option<&'static KeyDef> {
    let is_number = |key: &&KeyDef| matches!(key.kind, Kind::Int { .. } | Kind::Float { .. });
    let numbers = || workload.keys.iter().filter(is_number);
    let mut found = None;
    let others = |name: &str| !FIND.iter().any(|own| own.name == name);
    for word in table.keys().filter(|key| others(key.get_ref())) {
        let name: &str = word.get_ref();
        let Some(key) = numbers().find(|key| key.name == name) else {
            let known = numbers().map(|key| key.name).chain(FIND.iter().map(|own| own.name));
            walk.fault(
                Fault::at(
                    word.span(),
                    format!("workload `{}` has no load `{name}`", workload.kind),
                )
                .label("a key of the workload that is a number is searched")
                .help(did_you_mean(name, known)),
            );
            return None;
        };
        if found.replace(key).is_some() {
            walk.fault(
                Fault::at(word.span(), "[find] searches one key at a time")
                    .help("put the other one into [workload], or sweep it"),
            );
            return None;
        }
    }
    if found.is_none() {
        walk.fault(
            Fault::at(node.span(), "[find] names no key to search")
                .help("such as rps = \"latency_p99 <= 50 ms\""),
        );
    }
    found
}

/// Reads `METRIC <= VALUE UNIT`.
fn condition(walk: &mut Walk, node: Node<'_>) -> Option<Condition> {
    const HINT: &str = "write METRIC <= VALUE UNIT, such as \"latency_p99 <= 50 ms\"";
    let text = walk.text(node, "condition")?;
    let (at_most, parts) = match text.split_once("<=") {
        Some(parts) => (true, Some(parts)),
        None => (false, text.split_once(">=")),
    };
    let Some((name, limit)) = parts else {
        walk.fault(Fault::at(node.span(), "a condition has `<=` or `>=` in it").help(HINT));
        return None;
    };
    let metric = metric_named(walk, name.trim(), node.span())?;
    if metric.name == FOUND {
        walk.fault(Fault::at(node.span(), format!("`{FOUND}` is what [find] comes to")).help(HINT));
        return None;
    }
    match amount(limit.trim(), metric.unit) {
        Ok(limit) => Some(Condition { metric: name.trim().to_string(), at_most, limit }),
        Err(why) => {
            walk.fault(Fault::at(node.span(), why).help(HINT));
            None
        }
    }
}

/// A number in the unit of a metric, from one in that unit or, for times, another one.
pub(super) fn amount(text: &str, unit: &str) -> Result<f64, String> {
    let digits =
        text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_'))).unwrap_or(text.len());
    let (number, own) = (text[..digits].replace('_', ""), text[digits..].trim());
    let value: f64 = number.parse().map_err(|_| format!("`{text}` is no amount"))?;
    if value <= 0.0 {
        return Err("the limit must be more than 0".to_string());
    }
    let length = |name: &str| TIMES.iter().find(|(unit, _)| *unit == name).map(|(_, ns)| *ns);
    // CPU-ms and CPU-s are as far apart as ms and s.
    let (of_cpus, unit_of_cpus) = (own.strip_prefix("CPU-"), unit.strip_prefix("CPU-"));
    let lengths = match (of_cpus, unit_of_cpus) {
        (Some(own), Some(unit)) => (length(own), length(unit)),
        _ => (length(own), length(unit)),
    };
    match lengths {
        _ if own == unit || own.is_empty() => Ok(value),
        (Some(own), Some(unit)) => Ok(value * own / unit),
        _ if unit.is_empty() => Err(format!("the metric has no unit, `{own}` is one")),
        _ => Err(format!("the metric is in {unit}, not in `{own}`")),
    }
}

/// Two numbers that the key may have, the smaller one first.
fn range_of(walk: &mut Walk, node: Node<'_>, key: &'static KeyDef) -> Option<[f64; 2]> {
    let DeValue::Array(ends) = node.get_ref() else {
        walk.wrong_type(node, "range", "two numbers, such as [1_000, 200_000]");
        return None;
    };
    let mut values = Vec::new();
    for end in ends.iter() {
        values.push(walk.value(end, key)?.float()?);
    }
    match values[..] {
        [low, high] if 0.0 < low && low < high => Some([low, high]),
        _ => {
            let place: Range<usize> = node.span();
            walk.fault(
                Fault::at(place, "`range` must be two numbers above 0, the smaller one first")
                    .help("the search begins at its ends"),
            );
            None
        }
    }
}
