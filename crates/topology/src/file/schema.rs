//! A JSON Schema of machine files, made by watching the loader.
//!
//! Two probes are read. `example.toml` has every table and key of a regular machine.
//! `irregular.toml` has a list of CPUs, and as few keys as possible in tables whose required keys
//! depend on others. The keys that the loader asks for become the schema's, with their types and
//! bounds. A key is required if the loader requires it in every table of that name. The comments of
//! the probes become the descriptions. What no schema can tell, such as sums that must agree, is
//! left to the loader.

use super::asked::{Log, Takes, Visit};
use super::read;
use super::section::Section;
use serde_json::{Map, Value, json};
use toml::de::DeTable;

const PROBES: [&str; 2] = [include_str!("example.toml"), include_str!("irregular.toml")];

/// The JSON Schema (2020-12) of a machine file, or of a `[machine]` table.
pub fn schema() -> Value {
    let visits: Vec<Visit> = PROBES.iter().flat_map(|text| visits(text)).collect();
    let comments: Vec<Comment> = PROBES.iter().flat_map(|text| comments(text)).collect();
    let mut schema = table("", &visits, &comments);
    schema["description"] = "The machine: which CPUs share what, and what things cost there".into();
    schema
}

/// What the loader asks of the tables of a text.
fn visits(text: &str) -> Vec<Visit> {
    let (table, _) = DeTable::parse_recoverable(text);
    let log = Log::default();
    let mut top = Section::new("the probe", table.get_ref(), table.span()).logged(&log);
    let mut faults = Vec::new();
    read("probe", &mut top, &mut faults);
    top.finish(&mut faults);
    log.take()
}

/// The schema of all tables of a name.
fn table(name: &'static str, visits: &[Visit], comments: &[Comment]) -> Value {
    let mine = || visits.iter().filter(|visit| visit.table == name);
    let mut properties = Map::new();
    for (key, takes) in mine().flat_map(|visit| &visit.keys) {
        let known = properties.contains_key(*key);
        // A key that was only looked at says what it takes elsewhere.
        if known && *takes == Takes::Anything {
            continue;
        }
        let mut of_key = match takes {
            Takes::Table => table(key, visits, comments),
            Takes::Tables => json!({ "type": "array", "items": table(key, visits, comments) }),
            other => value(other),
        };
        if let Some(comment) = comments.iter().find(|c| c.key == *key && c.table == name) {
            of_key["description"] = comment.text.into();
        }
        properties.insert(key.to_string(), of_key);
    }
    let in_all = |key: &&str| mine().all(|visit| visit.required.contains(key));
    let mut required: Vec<&str> =
        mine().next().into_iter().flat_map(|visit| visit.required.iter().copied()).collect();
    required.retain(|key| in_all(key));
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn value(takes: &Takes) -> Value {
    match takes {
        Takes::Anything => json!({}),
        Takes::Int { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Takes::Float { min, max } => json!({ "type": "number", "minimum": min, "maximum": max }),
        Takes::Bool => json!({ "type": "boolean" }),
        Takes::Text => json!({ "type": "string", "pattern": "\\S" }),
        Takes::Words(words) => json!({ "enum": words }),
        Takes::Array(of) => json!({ "type": "array", "items": value(of) }),
        Takes::Table => json!({ "type": "object" }),
        Takes::Tables => json!({ "type": "array", "items": { "type": "object" } }),
    }
}

/// What a probe says of a key, or of a table.
struct Comment {
    /// The table in which the key stands; empty for the whole file.
    table: &'static str,
    key: &'static str,
    text: &'static str,
}

/// The comments behind keys and headers.
fn comments(text: &'static str) -> Vec<Comment> {
    let mut comments = Vec::new();
    let mut current = "";
    for line in text.lines() {
        let Some((code, text)) = line.split_once('#') else {
            current = header(line).unwrap_or(current);
            continue;
        };
        let text = text.trim();
        match (header(code), code.split_once('=')) {
            (Some(name), _) => {
                current = name;
                comments.push(Comment { table: "", key: name, text });
            }
            (None, Some((key, _))) => {
                comments.push(Comment { table: current, key: key.trim(), text });
            }
            (None, None) => {}
        }
    }
    comments
}

/// The name of the table that a line begins.
fn header(line: &'static str) -> Option<&'static str> {
    let line = line.trim();
    line.starts_with('[').then(|| line.trim_matches(['[', ']']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CState, KernelCosts, LockCosts, SmtFactors, WorkqueueCosts, load};

    #[test]
    fn the_probes_are_machines() {
        let [example, irregular] = PROBES.map(|text| load("m.toml", text).expect("it is valid"));
        assert_eq!((example.n_cpus(), irregular.n_cpus()), (128, 1));
    }

    #[test]
    fn the_example_states_the_defaults() {
        let machine = load("m.toml", PROBES[0]).expect("it is valid");
        assert_eq!(machine.clock_mhz, 3000);
        assert_eq!(machine.costs, KernelCosts::at_clock(3000));
        assert_eq!(machine.locks, LockCosts::at_clock(3000));
        assert_eq!(machine.workqueue, WorkqueueCosts::at_clock(3000));
        assert_eq!(machine.smt, SmtFactors::default());
        assert_eq!(machine.cstates, CState::defaults());
    }

    /// The names and schemas of all keys, with those of the tables.
    fn keys(schema: &Value, of: &str, found: &mut Vec<(String, Value)>) {
        for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{of}{key}");
            keys(inner, &format!("{path}."), found);
            keys(&inner["items"], &format!("{path}."), found);
            found.push((path, inner.clone()));
        }
    }

    #[test]
    fn every_key_is_typed_and_described() {
        let mut found = Vec::new();
        keys(&schema(), "", &mut found);
        assert!(found.len() > 80, "{}", found.len());
        for (path, inner) in found {
            assert!(inner["description"].is_string(), "{path} has no comment in the probes");
            assert!(inner.get("type").or(inner.get("enum")).is_some(), "{path} has no type");
        }
    }

    #[test]
    fn required_is_what_every_table_needs() {
        let schema = schema();
        let required = |table: &Value| table["required"].to_string();
        assert_eq!(required(&schema), "[]");
        assert_eq!(required(&schema["properties"]["latency"]), "[]");
        assert_eq!(required(&schema["properties"]["variation"]), "[\"slowdown\"]");
        let cpu = &schema["properties"]["cpu"]["items"];
        assert_eq!(required(cpu), "[\"cpu\",\"core\",\"llc\",\"node\",\"socket\"]");
    }
}
