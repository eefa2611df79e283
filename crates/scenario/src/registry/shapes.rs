//! What values look like that have readers of their own, as JSON Schemas: names of rows, times,
//! the table of a workload.

use super::document::BPF_POLICY;
use super::features::{FEATURES, TUNABLES};
use super::metrics::{METRICS, MetricDef};
use super::policies::{OF_OBJECTS, POLICIES};
use super::workloads::WORKLOADS;
use super::workqueue::{CHANGE, CHANGE_AT};
use crate::cgroups::CGROUP;
use crate::units;
use crate::workload::{COMMON, WorkloadDef};
use input::schema::{Property, key, key_of, keys, table, words};
use serde_json::{Map, Value, json};

pub(super) fn text() -> Value {
    json!({ "type": "string" })
}

pub(super) fn amount() -> Value {
    json!({ "type": "number", "minimum": 0 })
}

/// A length in us, or the means of the classes of lengths.
pub(super) fn lengths() -> Value {
    let n = workloads::service::N_CLASSES;
    let length = json!({ "type": "number", "minimum": 0 });
    let means = json!({ "type": "array", "items": length, "minItems": n, "maxItems": n });
    json!({ "anyOf": [length, means] })
}

pub(super) fn time_or_done() -> Value {
    json!({ "type": "string", "pattern": format!("^done$|{}", units::pattern()) })
}

/// A metric, a sign, and a value with its unit.
pub(super) fn expectation() -> Value {
    json!({ "type": "string", "pattern": r"^\s*[^\s<>=]+\s*(<|<=|>|>=)\s*[0-9._]+\s*\S*\s*$" })
}

/// Two numbers, the smaller one first.
pub(super) fn range() -> Value {
    json!({ "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 })
}

/// Values of the keys of a sweep.
pub(super) fn sweep_point() -> Value {
    json!({ "type": "object" })
}

/// A machine's file, a description, or a table.
pub(super) fn machine_of_scenario() -> Value {
    let mut schema = topology::schema();
    // What is said of keys binds tables only.
    schema["type"] = json!(["string", "object"]);
    schema["pattern"] = json!("\\S");
    schema
}

/// A name, or a table with a BPF object.
pub(super) fn policy() -> Value {
    let named = POLICIES.iter().filter(|p| p.name != OF_OBJECTS);
    let named = words(named.map(|p| (p.name.to_string(), p.help.to_string())));
    json!({ "anyOf": [named, table(keys(BPF_POLICY))] })
}

/// Variables with whole numbers, or `true` and `false`.
pub(super) fn variables() -> Value {
    let words = policies::ext::bpf::Word::ALL.map(|(word, _)| json!({ "const": word }));
    let value = [
        json!({ "type": ["integer", "boolean"] }),
        json!({ "type": "array", "items": { "type": "integer" } }),
    ];
    let value: Vec<Value> = value.into_iter().chain(words).collect();
    json!({ "type": "object", "additionalProperties": { "anyOf": value } })
}

/// A flag of a scheduler.
pub(super) fn ops_flags() -> Value {
    words(policies::ext::bpf::flags().map(|(name, _)| (name.to_string(), String::new())))
}

/// A half of a scheduler in user space.
pub(super) fn user_halves() -> Value {
    let all = policies::ext::bpf::USER_HALVES.iter();
    words(all.map(|def| (def.name.to_string(), def.help.to_string())))
}

/// A call of a program before the scheduler starts.
pub(super) fn start() -> Value {
    let fields = policies::ext::bpf::Arg::WORDS.map(|(word, _)| json!({ "const": word }));
    let number = [json!({ "type": ["integer", "boolean"] })];
    let value: Vec<Value> = number.into_iter().chain(fields).collect();
    json!({
        "type": "object",
        "required": ["call"],
        "additionalProperties": false,
        "properties": {
            "call": { "type": "string" },
            "args": { "type": "object", "additionalProperties": { "anyOf": value } },
        },
    })
}

pub(super) fn sizes() -> Value {
    json!({ "type": "object", "additionalProperties": { "type": "integer", "minimum": 1 } })
}

pub(super) fn tunables() -> Value {
    table(TUNABLES.iter().map(|t| key_of(&t.key, &t.owners())).collect())
}

/// The keys of workloads that say how the kernel serves them.
pub(super) fn workload_of_variant() -> Value {
    table(kernel_keys())
}

/// A kernel version whose rules a policy has.
pub(super) fn rules() -> Value {
    let mut known: Vec<&str> = POLICIES.iter().flat_map(|p| p.rules).copied().collect();
    known.sort_unstable();
    known.dedup();
    let policies = |rules: &str| {
        let have = POLICIES.iter().filter(|p| p.rules.contains(&rules)).map(|p| p.name);
        have.collect::<Vec<_>>().join(", ")
    };
    words(known.into_iter().map(|rules| (rules.to_string(), policies(rules))))
}

/// A feature, with or without `NO_`.
pub(super) fn features() -> Value {
    words(FEATURES.iter().flat_map(|f| {
        let kernels = f.kernels();
        let gap = if kernels.is_empty() { "" } else { "; " };
        let help = format!("{}{gap}{kernels}", f.help);
        [(f.name.to_string(), help.clone()), (format!("NO_{}", f.name), format!("off: {help}"))]
    }))
}

/// A metric, or a member of a family of them.
pub(super) fn metric() -> Value {
    let named =
        |m: &'static MetricDef| m.names().into_iter().map(|name| (name, m.help.to_string()));
    words(METRICS.iter().flat_map(named))
}

/// A metric, or a list of them.
pub(super) fn metrics() -> Value {
    json!({ "anyOf": [metric(), { "type": "array", "items": metric(), "minItems": 1 }] })
}

/// The unit of a metric.
pub(super) fn unit() -> Value {
    let mut units: Vec<&str> = METRICS.iter().map(|m| m.unit).collect();
    units.sort_unstable();
    units.dedup();
    json!({ "enum": units })
}

/// A kind, and the keys that this kind has.
///
/// Taplo completes and explains what stands under `properties` unless an `allOf` stands beside it,
/// and takes no notice of conditions. So the keys of all kinds stand there, and under the condition
/// which of them a kind has. (`oneOf` would do for completing, but no message would name the key.)
pub(super) fn workload() -> Value {
    let kinds = words(WORKLOADS.iter().map(|w| (w.kind.to_string(), w.help.to_string())));
    let mut all = Map::from_iter([("kind".to_string(), kinds)]);
    all.extend(keys(COMMON).into_iter().map(|(name, schema, _)| (name.to_string(), schema)));
    for def in WORKLOADS {
        for (name, schema, _) in keys_of(def) {
            match all.get_mut(name) {
                Some(known) => join(known, schema),
                None => drop(all.insert(name.to_string(), schema)),
            }
        }
    }
    json!({
        "type": "object",
        "required": ["kind"],
        "if": { "required": ["kind"] },
        "then": { "allOf": WORKLOADS.iter().map(|w| workload_of(w, &all)).collect::<Vec<_>>() },
        "properties": all,
    })
}

/// The keys of a kind of its own, each described as this kind's.
fn keys_of(def: &WorkloadDef) -> Vec<Property> {
    let mut properties = keys(def.keys.iter().chain(def.kernel_keys));
    if def.workqueue {
        let mut of_change = vec![key(&CHANGE_AT)];
        of_change.extend(keys(CHANGE));
        let help = "a change of the workqueue during the run";
        let items = table(of_change);
        let change = json!({ "type": "array", "items": items, "description": help });
        properties.push(("change", change, false));
    }
    if def.cgroups {
        let help = "what a cgroup is given that its file names; others have the defaults";
        let items = table(keys(CGROUP));
        let cgroup = json!({ "type": "array", "items": items, "description": help });
        properties.push(("cgroup", cgroup, false));
    }
    for (_, schema, _) in &mut properties {
        let help = schema["description"].as_str().unwrap_or_default();
        schema["description"] = format!("{}: {help}", def.kind).into();
    }
    properties
}

/// What a variant may say of a workload, whatever its kind.
fn kernel_keys() -> Vec<Property> {
    let mut all: Vec<Property> = Vec::new();
    for (name, schema, required) in WORKLOADS.iter().flat_map(|w| keys(w.kernel_keys)) {
        match all.iter_mut().find(|(known, ..)| *known == name) {
            Some((_, known, _)) => join(known, schema),
            None => all.push((name, schema, required)),
        }
    }
    all
}

/// What two kinds say of a key of the same name: both descriptions, and all else they agree in.
fn join(known: &mut Value, other: Value) {
    let both = format!("{}\n\n{}", description(known), description(&other));
    if let (Some(known), Value::Object(mut other)) = (known.as_object_mut(), other) {
        known.retain(|what, said| other.remove(what).as_ref() == Some(said));
        known.insert("description".into(), both.into());
    }
}

fn description(schema: &Value) -> &str {
    schema["description"].as_str().unwrap_or_default()
}

/// If it is this kind: the keys it has, and what they take as far as `all` does not say it.
fn workload_of(def: &WorkloadDef, all: &Map<String, Value>) -> Value {
    let mut properties = vec![("kind", json!(true), true)];
    properties.extend(keys(def.common()));
    properties.extend(keys_of(def));
    for (name, schema, _) in &mut properties {
        let own = constraints(schema);
        *schema = match all.get(*name).map(constraints) == Some(own.clone()) {
            true => json!(true),
            false => own,
        };
    }
    json!({
        "if": { "properties": { "kind": { "const": def.kind } }, "required": ["kind"] },
        "then": table(properties),
    })
}

/// A schema without what is for people only.
fn constraints(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("description");
        schema.remove("default");
    }
    schema
}
