//! Results as JSON, schema version 1. Other people's scripts depend on it: fields may be added,
//! none renamed or removed without a new version.

use crate::TOOL;
use crate::analysis::{Analysis, Delta, Metric, PublishedRow, VariantAnalysis};
use crate::expected::Expected;
use crate::replayed::{COLUMNS, Recorded};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// Version of the format, the field `schema`.
pub(crate) const SCHEMA: u32 = 1;

/// The analysis as an indented document.
pub fn json(analysis: &Analysis) -> String {
    let mut text = serde_json::to_string_pretty(&document(analysis)).unwrap_or_default();
    text.push('\n');
    text
}

/// The analysis as a document on one line.
pub fn json_line(analysis: &Analysis) -> String {
    let mut text = serde_json::to_string(&document(analysis)).unwrap_or_default();
    text.push('\n');
    text
}

/// A single experiment.
#[derive(serde::Serialize)]
pub(crate) struct Document<'a> {
    schema: u32,
    tool: &'static str,
    scenario: &'a str,
    scenario_hash: &'a str,
    title: &'a str,
    machine: Machine<'a>,
    workload: &'a str,
    workload_hash: &'a str,
    until: &'a str,
    seeds: &'a [u64],
    variants: Vec<Variant<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<RecordedOut>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    expected: Vec<ExpectedOut<'a>>,
}

#[derive(serde::Serialize)]
struct ExpectedOut<'a> {
    expect: &'a str,
    place: &'a str,
    variant: &'a str,
    mean: Option<f64>,
    ci95: Option<[f64; 2]>,
    holds: bool,
}

/// What was recorded, for a replay; its metrics by name, as those of variants.
#[derive(serde::Serialize)]
struct RecordedOut {
    on_this_machine: bool,
    elapsed: f64,
    costs_factor: f64,
    lost_events: u64,
    answers_added: u64,
    metrics: InOrder<f64>,
}

#[derive(serde::Serialize)]
struct Machine<'a> {
    name: &'a str,
    cpus: usize,
    llcs: usize,
}

#[derive(serde::Serialize)]
struct Variant<'a> {
    name: &'a str,
    baseline: bool,
    policy: &'a str,
    rules: Option<&'a str>,
    features: &'a [String],
    tunables: InOrder<serde_json::Value>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    sched_ext: &'a [String],
    #[serde(skip_serializing_if = "InOrder::is_empty")]
    workqueue: InOrder<serde_json::Value>,
    #[serde(skip_serializing_if = "InOrder::is_empty")]
    workload: InOrder<serde_json::Value>,
    #[serde(skip_serializing_if = "is_zero")]
    cut_off: usize,
    metrics: InOrder<MetricOut<'a>>,
    vs_baseline: InOrder<DeltaOut>,
    published: Vec<PublishedOut<'a>>,
}

#[derive(serde::Serialize)]
struct MetricOut<'a> {
    unit: &'a str,
    better: &'a str,
    mean: f64,
    sd: f64,
    ci95: Option<[f64; 2]>,
    values: &'a [f64],
}

#[derive(serde::Serialize)]
struct DeltaOut {
    delta_pct: Option<f64>,
    ci95: Option<[f64; 2]>,
    verdict: &'static str,
}

#[derive(serde::Serialize)]
struct PublishedOut<'a> {
    metric: &'a str,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sd: Option<f64>,
    delta_pct: Option<f64>,
    simulated: Option<f64>,
    simulated_delta_pct: Option<f64>,
    agrees: Option<bool>,
    calibrated: bool,
    source: &'a str,
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// A JSON object whose keys keep their order.
struct InOrder<T>(Vec<(String, T)>);

impl<T> InOrder<T> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Serialize> Serialize for InOrder<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// What is printed of a single experiment.
pub(crate) fn document(analysis: &Analysis) -> Document<'_> {
    let machine = &analysis.machine;
    Document {
        schema: SCHEMA,
        tool: TOOL,
        scenario: &analysis.scenario,
        scenario_hash: &analysis.hash,
        title: &analysis.title,
        machine: Machine { name: &machine.name, cpus: machine.cpus, llcs: machine.llcs },
        workload: analysis.workload,
        workload_hash: &analysis.workload_hash,
        until: &analysis.until,
        seeds: &analysis.seeds,
        variants: analysis.variants.iter().map(variant).collect(),
        recorded: analysis.recorded.as_ref().map(recorded),
        expected: analysis.expected.iter().map(expected).collect(),
    }
}

fn expected(e: &Expected) -> ExpectedOut<'_> {
    ExpectedOut {
        expect: &e.expectation.text,
        place: &e.expectation.place,
        variant: &e.variant,
        mean: e.mean,
        ci95: e.ci95,
        holds: e.holds,
    }
}

fn recorded(recorded: &Recorded) -> RecordedOut {
    let named = |(command, values): &(String, [Option<f64>; 5])| {
        let named = COLUMNS.iter().zip(values);
        let value = |((metric, ..), value): (&(&str, &str, &str), &Option<f64>)| {
            Some((format!("{metric}{command}"), (*value)?))
        };
        named.filter_map(value).collect::<Vec<_>>()
    };
    RecordedOut {
        on_this_machine: recorded.here,
        elapsed: recorded.elapsed_s,
        costs_factor: recorded.costs_factor,
        lost_events: recorded.lost_events,
        answers_added: recorded.answers_added,
        metrics: InOrder(recorded.commands.iter().flat_map(named).collect()),
    }
}

fn variant(v: &VariantAnalysis) -> Variant<'_> {
    Variant {
        name: &v.name,
        baseline: v.baseline,
        policy: v.policy,
        rules: v.rules,
        features: &v.features,
        tunables: values(&v.tunables),
        sched_ext: &v.sched_ext,
        workqueue: values(&v.workqueue),
        workload: values(&v.workload),
        cut_off: v.cut_off,
        metrics: InOrder(v.metrics.iter().map(|m| (m.name.to_string(), metric(m))).collect()),
        vs_baseline: InOrder(v.deltas.iter().map(|(k, d)| (k.to_string(), delta(d))).collect()),
        published: v.published.iter().map(published).collect(),
    }
}

fn values(values: &[(&'static str, scenario::Value)]) -> InOrder<serde_json::Value> {
    InOrder(values.iter().map(|(k, x)| (k.to_string(), value(x))).collect())
}

fn value(value: &scenario::Value) -> serde_json::Value {
    match value {
        scenario::Value::Int(n) => (*n).into(),
        scenario::Value::Float(x) => (*x).into(),
        scenario::Value::Bool(b) => (*b).into(),
        scenario::Value::Word(w) => w.as_str().into(),
    }
}

fn metric(m: &Metric) -> MetricOut<'_> {
    let better = m.better.word();
    MetricOut { unit: m.unit, better, mean: m.mean, sd: m.sd, ci95: m.ci95, values: &m.values }
}

fn delta(d: &Delta) -> DeltaOut {
    DeltaOut { delta_pct: d.pct, ci95: d.ci95, verdict: d.verdict.word() }
}

fn published(row: &PublishedRow) -> PublishedOut<'_> {
    PublishedOut {
        metric: &row.metric,
        value: row.value,
        sd: row.sd,
        delta_pct: row.delta_pct(),
        simulated: row.simulated,
        simulated_delta_pct: row.simulated_delta_pct,
        agrees: row.agrees,
        calibrated: row.calibrated,
        source: &row.source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::example;
    use expect_test::expect;

    /// The document without most of its metrics and digits.
    fn outline(text: &str) -> String {
        let mut doc: serde_json::Value = serde_json::from_str(text).unwrap();
        for variant in doc["variants"].as_array_mut().unwrap() {
            for table in ["metrics", "vs_baseline"] {
                let table = variant[table].as_object_mut().unwrap();
                table.retain(|name, _| name == "elapsed");
            }
        }
        serde_json::to_string_pretty(&doc).unwrap()
    }

    #[test]
    fn the_document_has_schema_version_1() {
        let analysis = example(2, &["off", "on"]);
        expect![[r#"
            {
              "machine": {
                "cpus": 16,
                "llcs": 2,
                "name": "example"
              },
              "scenario": "example",
              "scenario_hash": "ac45046818d5fdca",
              "schema": 1,
              "seeds": [
                1,
                2
              ],
              "title": "An example",
              "tool": "schedlab 0.1.0",
              "until": "done",
              "variants": [
                {
                  "baseline": true,
                  "features": [],
                  "metrics": {
                    "elapsed": {
                      "better": "lower",
                      "ci95": [
                        299.40018800781075,
                        302.2815931529072
                      ],
                      "mean": 300.840890580359,
                      "sd": 0.16035166420213706,
                      "unit": "s",
                      "values": [
                        300.72750483122707,
                        300.9542763294908
                      ]
                    }
                  },
                  "name": "off",
                  "policy": "cfs",
                  "published": [
                    {
                      "agrees": null,
                      "calibrated": false,
                      "delta_pct": null,
                      "metric": "elapsed",
                      "simulated": 300.840890580359,
                      "simulated_delta_pct": null,
                      "source": "here",
                      "value": 300.0
                    }
                  ],
                  "rules": "6.4",
                  "tunables": {},
                  "vs_baseline": {}
                },
                {
                  "baseline": false,
                  "features": [],
                  "metrics": {
                    "elapsed": {
                      "better": "lower",
                      "ci95": [
                        297.98927781343843,
                        306.6542554806615
                      ],
                      "mean": 302.32176664704997,
                      "sd": 0.48221042139044573,
                      "unit": "s",
                      "values": [
                        301.98079238812596,
                        302.662740905974
                      ]
                    }
                  },
                  "name": "on",
                  "policy": "cfs",
                  "published": [
                    {
                      "agrees": false,
                      "calibrated": false,
                      "delta_pct": -0.5000000000000004,
                      "metric": "elapsed",
                      "simulated": 302.32176664704997,
                      "simulated_delta_pct": 0.49224560658434197,
                      "source": "here",
                      "value": 298.5
                    }
                  ],
                  "rules": "6.4",
                  "tunables": {},
                  "vs_baseline": {
                    "elapsed": {
                      "ci95": [
                        -0.4689888371392719,
                        1.4534800503079557
                      ],
                      "delta_pct": 0.49224560658434197,
                      "verdict": "same"
                    }
                  }
                }
              ],
              "workload": "kernel-build",
              "workload_hash": "af0ae95d49e967ed"
            }"#]]
        .assert_eq(&outline(&json(&analysis)));
        assert_eq!(outline(&json_line(&analysis)), outline(&json(&analysis)));
    }
}
