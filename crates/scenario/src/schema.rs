//! A JSON Schema of scenario files and of machine files, for editors that complete and check keys.
//!
//! That of scenarios is the registry in another form: the same names, types, bounds and help that
//! the parser uses. What depends on several keys (which kernel has which feature, a run that must
//! end) is left to `schedlab check`. A file that the parser accepts, the schema accepts.

use crate::registry::{
    CHANGE, CHANGE_AT, COMMON, FEATURES, FIND, FieldDef, GROUP_POLICY, Holds, METRICS, MetricDef,
    POLICIES, SCENARIO, SWEEP, TUNABLES, WORKLOADS, WORKQUEUE, WorkloadDef,
};
use crate::units;
use input::schema::{Property, key_of, keys, table, value, words};
use serde_json::{Map, Value, json};

/// The dialect.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The schema of scenario files.
pub fn scenario() -> String {
    let mut schema = table(SCENARIO.iter().map(field).collect());
    groups(&mut schema);
    finished(schema, "schedlab scenario")
}

/// Where there is a task group, all variants have the policy that it is modeled for: their own, or
/// that at the top.
fn groups(schema: &mut Value) {
    let workload = json!({ "type": "object", "required": ["cpu_weight"] });
    let policy = json!({ "properties": { "policy": { "const": GROUP_POLICY } } });
    let of_their_own = json!({ "variant": { "items": { "required": ["policy"] } } });
    schema["if"] = json!({ "required": ["workload"], "properties": { "workload": workload } });
    schema["then"] = json!({
        "properties": { "variant": { "items": policy } },
        "anyOf": [policy, { "properties": of_their_own }],
    });
}

/// The schema of machine files.
pub fn machine() -> String {
    finished(topology::schema(), "schedlab machine")
}

fn finished(mut schema: Value, title: &str) -> String {
    schema["$schema"] = DIALECT.into();
    schema["title"] = title.into();
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

/// A table that has these keys, and others of that shape.
fn open(defs: &[FieldDef], others: Value) -> Value {
    let mut schema = table(defs.iter().map(field).collect());
    schema["additionalProperties"] = others;
    schema
}

fn field(def: &FieldDef) -> Property {
    let mut schema = holds(def.holds);
    schema["description"] = def.help.into();
    if let (Holds::Tables(_), true) = (def.holds, def.required) {
        schema["minItems"] = 1.into();
    }
    (def.name, schema, def.required)
}

fn holds(holds: Holds) -> Value {
    let fields = |defs: &[FieldDef]| table(defs.iter().map(field).collect());
    match holds {
        Holds::Line => json!({ "type": "string", "pattern": "\\S" }),
        Holds::VariantName => json!({ "type": "string" }),
        Holds::Switch => json!({ "type": "boolean" }),
        Holds::Value(kind) => value(kind),
        Holds::Amount => json!({ "type": "number", "minimum": 0 }),
        Holds::Time => json!({ "type": "string", "pattern": units::pattern() }),
        Holds::TimeOrDone => {
            json!({ "type": "string", "pattern": format!("^done$|{}", units::pattern()) })
        }
        Holds::Policy => words(POLICIES.iter().map(|p| (p.name.to_string(), p.help.to_string()))),
        Holds::Rules => rules(),
        Holds::Features => json!({ "type": "array", "items": features() }),
        Holds::Tunables => table(TUNABLES.iter().map(|t| key_of(&t.key, &t.owners())).collect()),
        Holds::Metric => metric(),
        Holds::Metrics => json!({ "type": "array", "items": metric() }),
        Holds::Range => {
            json!({ "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 })
        }
        Holds::Sweep => open(SWEEP, json!({ "type": ["array", "object"], "minItems": 1 })),
        Holds::Find => open(FIND, json!({ "type": "string" })),
        Holds::SweepPoint => json!({ "type": "object" }),
        Holds::Unit => unit(),
        Holds::Machine => {
            let mut schema = topology::schema();
            // What is said of keys binds tables only.
            schema["type"] = json!(["string", "object"]);
            schema["pattern"] = json!("\\S");
            schema
        }
        Holds::Workload => workload(),
        Holds::KernelKeys => table(kernel_keys()),
        Holds::Workqueue => table(keys(WORKQUEUE)),
        Holds::Table(defs) => fields(defs),
        Holds::Tables(defs) => json!({ "type": "array", "items": fields(defs) }),
    }
}

fn rules() -> Value {
    let mut known: Vec<&str> = POLICIES.iter().flat_map(|p| p.rules).copied().collect();
    known.sort_unstable();
    known.dedup();
    let policies = |rules: &str| {
        let have = POLICIES.iter().filter(|p| p.rules.contains(&rules)).map(|p| p.name);
        have.collect::<Vec<_>>().join(", ")
    };
    words(known.into_iter().map(|rules| (rules.to_string(), policies(rules))))
}

fn features() -> Value {
    words(FEATURES.iter().flat_map(|f| {
        let kernels = f.kernels();
        let gap = if kernels.is_empty() { "" } else { "; " };
        let help = format!("{}{gap}{kernels}", f.help);
        [(f.name.to_string(), help.clone()), (format!("NO_{}", f.name), format!("off: {help}"))]
    }))
}

/// A metric, or a member of a family of them.
fn metric() -> Value {
    let named =
        |m: &'static MetricDef| m.names().into_iter().map(|name| (name, m.help.to_string()));
    words(METRICS.iter().flat_map(named))
}

fn unit() -> Value {
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
fn workload() -> Value {
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
        let mut of_change = vec![field(&CHANGE_AT)];
        of_change.extend(keys(CHANGE));
        let help = "a change of the workqueue during the run";
        let items = table(of_change);
        let change = json!({ "type": "array", "items": items, "description": help });
        properties.push(("change", change, false));
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
    let description = format!("{}\n\n{}", text(known), text(&other));
    if let (Some(known), Value::Object(mut other)) = (known.as_object_mut(), other) {
        known.retain(|what, said| other.remove(what).as_ref() == Some(said));
        known.insert("description".into(), description.into());
    }
}

fn text(schema: &Value) -> &str {
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
