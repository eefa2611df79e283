//! A JSON Schema of scenario files and of machine files, for editors that complete and check keys.
//!
//! That of scenarios is the registry in another form: the same names, types, bounds and help that
//! the parser uses. What depends on several keys (which kernel has which feature, a run that must
//! end) is left to `schedlab check`. A file that the parser accepts, the schema accepts.

use crate::cgroups::GROUP;
use crate::registry::{GROUP_POLICIES, SCENARIO};
use input::KeyDef;
use input::schema::{keys, table};
use serde_json::{Value, json};

/// The dialect.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The schema of scenario files.
pub fn scenario() -> String {
    let mut schema = table(keys(SCENARIO));
    groups(&mut schema);
    finished(schema, "schedlab scenario")
}

/// Where there is a task group, all variants have a policy that it is modeled for: their own, that
/// at the top, or the fair class beside a scheduler that has some commands only.
fn groups(schema: &mut Value) {
    let of = |key: &KeyDef| json!({ "required": [key.name] });
    let some: Vec<Value> = GROUP.iter().map(of).collect();
    let workload = json!({ "type": "object", "anyOf": some });
    // A table is a BPF object.
    let known = json!({ "anyOf": [{ "enum": GROUP_POLICIES }, { "type": "object" }] });
    let policy = json!({ "properties": { "policy": known } });
    let is_partial = json!({ "required": ["sched_ext"] });
    let has_own = json!({ "anyOf": [{ "required": ["policy"] }, is_partial] });
    let of_their_own = json!({ "variant": { "items": has_own } });
    schema["if"] = json!({ "required": ["workload"], "properties": { "workload": workload } });
    schema["then"] = json!({
        "properties": { "variant": { "items": { "anyOf": [policy, is_partial] } } },
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
