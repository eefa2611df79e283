//! Results that were written as JSON, read again.

use scenario::Better;
use scenario::registry::{METRICS, MetricDef, metric};
use serde_json::Value;

/// The schema that is understood.
const SCHEMA: u64 = 1;

/// Why a text is no result.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is not JSON.
    #[error("{name} is not JSON: {source}")]
    NotJson {
        /// The file.
        name: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// It is JSON of something else.
    #[error(
        "{name} has no results of schedlab: `schedlab SCENARIO --format json` prints them, and \
         --out DIR writes them to DIR/results.json"
    )]
    NotResults {
        /// The file.
        name: String,
    },
    /// It is of a later schema.
    #[error("{name} has schema {schema}, of another version of schedlab; this one knows {SCHEMA}")]
    OtherSchema {
        /// The file.
        name: String,
        /// Its schema.
        schema: u64,
    },
}

/// One file of results.
#[derive(Clone, Debug)]
pub struct Side {
    /// The file's name.
    pub name: String,
    /// The program that wrote it.
    pub tool: String,
    /// What was run, one per scenario and point of a sweep.
    pub results: Vec<ResultOf>,
}

/// The results of one scenario, or of one point of a sweep.
#[derive(Clone, Debug)]
pub struct ResultOf {
    /// The scenario's title, with the point of a sweep.
    pub title: String,
    /// Fingerprint of the scenario and its files.
    pub hash: String,
    /// The machine's name and size.
    pub machine: String,
    /// Kind of the workload, how long it ran, and the fingerprint of what its tasks do.
    pub workload: [String; 3],
    /// The seeds, in the order of the values.
    pub seeds: Vec<u64>,
    /// All variants.
    pub variants: Vec<Variant>,
}

/// The results of one variant.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// What it states of itself: policy, rules, features, each tunable and so on.
    pub stated: Vec<(String, String)>,
    /// Its metrics.
    pub metrics: Vec<Measured>,
}

/// One metric of a variant.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
    /// The good direction.
    pub better: Better,
    /// A value per seed.
    pub values: Vec<f64>,
}

/// Reads what `--format json` printed, of one scenario or of several, or of a sweep.
///
/// # Errors
/// The text is not that.
pub fn read(name: &str, text: &str) -> Result<Side, ReadError> {
    let mut side = Side { name: name.to_string(), tool: String::new(), results: Vec::new() };
    let no_results = || ReadError::NotResults { name: name.to_string() };
    for document in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let document =
            document.map_err(|source| ReadError::NotJson { name: name.to_string(), source })?;
        match document["schema"].as_u64() {
            Some(SCHEMA) => {}
            Some(schema) => return Err(ReadError::OtherSchema { name: name.to_string(), schema }),
            None => return Err(no_results()),
        }
        side.tool = text_of(&document["tool"]);
        match document["points"].as_array() {
            Some(points) => {
                let axes = keys(&document["axes"]);
                for point in points {
                    let at = at(&axes, &point["at"]);
                    side.results.push(result(&point["result"], &at).ok_or_else(no_results)?);
                }
            }
            None => side.results.push(result(&document, "").ok_or_else(no_results)?),
        }
    }
    if side.results.is_empty() { Err(no_results()) } else { Ok(side) }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn keys(axes: &Value) -> Vec<String> {
    list(axes).map(|axis| text_of(&axis["key"])).collect()
}

/// The point of a sweep: `clients=4, machine=zen4`.
fn at(axes: &[String], values: &Value) -> String {
    let parts = axes.iter().zip(list(values));
    parts.map(|(key, value)| format!("{key}={}", text_of(value))).collect::<Vec<_>>().join(", ")
}

fn result(document: &Value, at: &str) -> Option<ResultOf> {
    let machine = &document["machine"];
    let title = text_of(&document["title"]);
    Some(ResultOf {
        title: if at.is_empty() { title } else { format!("{title}, {at}") },
        hash: text_of(&document["scenario_hash"]),
        machine: format!("{}, {} CPUs", text_of(&machine["name"]), machine["cpus"].as_u64()?),
        workload: ["workload", "until", "workload_hash"].map(|key| text_of(&document[key])),
        seeds: list(&document["seeds"]).filter_map(Value::as_u64).collect(),
        variants: document["variants"].as_array()?.iter().map(variant).collect::<Option<_>>()?,
    })
}

fn variant(document: &Value) -> Option<Variant> {
    let metrics = document["metrics"].as_object()?.iter();
    let mut metrics: Vec<Measured> =
        metrics.map(|(name, m)| measured(name, m)).collect::<Option<_>>()?;
    // The document's order is lost: those to look at first come first.
    metrics.sort_by_key(|metric| place(&metric.name));
    Some(Variant {
        name: document["name"].as_str()?.to_string(),
        stated: stated(document),
        metrics,
    })
}

/// Where a metric is among all of them.
fn place(name: &str) -> usize {
    let row = metric(name).map(|row| row.name);
    let is_it = |known: &MetricDef| row == Some(known.name);
    METRICS.iter().position(is_it).unwrap_or(usize::MAX)
}

/// What a variant says of itself, flat: `tunables.migration_cost_ns` and its value.
fn stated(document: &Value) -> Vec<(String, String)> {
    let mut stated = Vec::new();
    for key in ["policy", "rules"] {
        stated.push((key.to_string(), text_of(&document[key])));
    }
    let features: Vec<String> = list(&document["features"]).map(text_of).collect();
    stated.push(("features".to_string(), features.join(" ")));
    for table in ["tunables", "workqueue", "workload"] {
        for (key, value) in document[table].as_object().into_iter().flatten() {
            stated.push((format!("{table}.{key}"), text_of(value)));
        }
    }
    stated
}

fn measured(name: &str, document: &Value) -> Option<Measured> {
    let unit = document["unit"].as_str()?;
    let better = match document["better"].as_str()? {
        "lower" => Better::Lower,
        "higher" => Better::Higher,
        _ => Better::None,
    };
    // The units of a later version may be others: its values are shown without.
    let own = metric(name).map(|row| row.unit).filter(|own| *own == unit);
    let known = || METRICS.iter().map(|row| row.unit).find(|known| *known == unit);
    Some(Measured {
        name: name.to_string(),
        unit: own.or_else(known).unwrap_or_default(),
        better,
        values: document["values"].as_array()?.iter().filter_map(Value::as_f64).collect(),
    })
}
