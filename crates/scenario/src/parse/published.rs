//! The `[[published]]` tables: measured values, shown beside the simulated ones.

use crate::experiment::{Mechanism, Published};
use crate::registry::{MECHANISM, METRICS, MetricDef, PUBLISHED, RUNS, metric, names};
use input::{Fault, Node, Value, Walk, did_you_mean};
use toml::de::DeTable;

/// Reads all published rows; `variants` are the names that exist.
pub(super) fn published(walk: &mut Walk, doc: &DeTable<'_>, variants: &[String]) -> Vec<Published> {
    let Some(list) = doc.get("published") else {
        return Vec::new();
    };
    let mut rows: Vec<Published> = Vec::new();
    for (node, table) in walk.tables(list, "published").unwrap_or_default() {
        let Some(row) = row(walk, node, table, variants) else {
            continue;
        };
        if rows.iter().any(|r| r.variant == row.variant && r.metric == row.metric) {
            let message = format!("`{}` of `{}` is published twice", row.metric, row.variant);
            walk.fault(Fault::at(node.span(), message).label("the second row"));
        }
        rows.push(row);
    }
    rows
}

fn row<'a>(
    walk: &mut Walk,
    node: Node<'a>,
    table: &'a DeTable<'a>,
    variants: &[String],
) -> Option<Published> {
    let known = names(PUBLISHED);
    walk.check_keys("[[published]]", table, &known);
    let get =
        |walk: &mut Walk, key| walk.required("this published row", node.span(), table, &known, key);
    let variant = get(walk, "variant").and_then(|n| variant(walk, n, variants));
    let metric = get(walk, "metric").and_then(|n| known_metric(walk, n));
    let value = get(walk, "value").and_then(|n| number(walk, n, "value"));
    let sd = table.get("sd").map(|n| number(walk, n, "sd"));
    let runs = table.get("runs").map(|n| runs(walk, n));
    let source = get(walk, "source").and_then(|n| walk.name(n, "source"));
    if let (Some(node), Some((_, def))) = (table.get("unit"), metric) {
        unit(walk, node, def);
    }
    let calibrated = table.get("calibrated").map(|n| walk.switch(n, "calibrated"));
    let mechanism = table.get("mechanism").map(|n| mechanism(walk, n));
    Some(Published {
        variant: variant?,
        metric: metric?.0.to_string(),
        value: value?,
        sd: match sd {
            Some(sd) => Some(sd?),
            None => None,
        },
        runs: runs.unwrap_or(Some(1))?,
        source: source?.to_string(),
        calibrated: calibrated.unwrap_or(Some(false))?,
        mechanism: mechanism.unwrap_or(Some(Mechanism::default()))?,
    })
}

fn runs(walk: &mut Walk, node: Node<'_>) -> Option<u32> {
    walk.value(node, &RUNS)?.int().and_then(|n| u32::try_from(n).ok())
}

fn mechanism(walk: &mut Walk, node: Node<'_>) -> Option<Mechanism> {
    let Value::Word(word) = walk.value(node, &MECHANISM)? else {
        return None;
    };
    Mechanism::WORDS.iter().find(|(known, _)| *known == word).map(|(_, mechanism)| *mechanism)
}

fn variant(walk: &mut Walk, node: Node<'_>, variants: &[String]) -> Option<String> {
    let name = walk.text(node, "variant")?;
    if variants.iter().any(|v| v == name) {
        return Some(name.to_string());
    }
    if !variants.is_empty() {
        walk.fault(
            Fault::at(node.span(), format!("no variant is named `{name}`"))
                .help(did_you_mean(name, variants.iter().map(String::as_str))),
        );
    }
    None
}

/// The name of a metric, and its row.
pub(super) fn known_metric<'a>(
    walk: &mut Walk,
    node: Node<'a>,
) -> Option<(&'a str, &'static MetricDef)> {
    let name = walk.text(node, "metric")?;
    Some((name, metric_named(walk, name, node.span())?))
}

/// The row of a metric with that name, which stands at that place.
pub(super) fn metric_named(
    walk: &mut Walk,
    name: &str,
    place: std::ops::Range<usize>,
) -> Option<&'static MetricDef> {
    let found = metric(name);
    if found.is_none() {
        let names: Vec<String> = METRICS.iter().flat_map(MetricDef::names).collect();
        let near = crate::registry::nearest(name, names.iter().map(String::as_str));
        walk.fault(Fault::at(place, format!("unknown metric `{name}`")).help(match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`schedlab list metrics` prints all of them".to_string(),
        }));
    }
    found
}

fn number(walk: &mut Walk, node: Node<'_>, key: &str) -> Option<f64> {
    let value = walk.number(node, key)?;
    if value < 0.0 {
        walk.fault(
            Fault::at(node.span(), format!("`{key}` must not be negative"))
                .label("give the measured value itself, not its change"),
        );
        return None;
    }
    Some(value)
}

fn unit(walk: &mut Walk, node: Node<'_>, def: &MetricDef) {
    let Some(unit) = walk.text(node, "unit") else {
        return;
    };
    if unit != def.unit {
        let message = match def.unit {
            "" => format!("metric `{}` is a plain count, without a unit", def.name),
            known => format!("metric `{}` is in {known}, not in `{unit}`", def.name),
        };
        walk.fault(Fault::at(node.span(), message).help("convert the value"));
    }
}
