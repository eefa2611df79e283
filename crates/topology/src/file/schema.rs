//! A JSON Schema of machine files, made from the rows of their keys.
//!
//! The comments of two examples are the descriptions: `example.toml` has every table and key of a
//! regular machine, `irregular.toml` a list of CPUs. What no schema can tell, such as sums that
//! must agree, is left to the loader.

use super::MACHINE;
use input::schema::{keys, table};
use serde_json::Value;

const EXAMPLES: [&str; 2] = [include_str!("example.toml"), include_str!("irregular.toml")];

/// The JSON Schema (2020-12) of a machine file, or of a `[machine]` table.
pub fn schema() -> Value {
    let mut schema = table(keys(MACHINE));
    for Comment { table, key, text } in EXAMPLES.into_iter().flat_map(comments) {
        let pointer = match table {
            "" => format!("/properties/{key}"),
            _ if schema["properties"][table].get("items").is_some() => {
                format!("/properties/{table}/items/properties/{key}")
            }
            _ => format!("/properties/{table}/properties/{key}"),
        };
        if let Some(of_key) = schema.pointer_mut(&pointer) {
            of_key["description"] = text.into();
        }
    }
    schema["description"] = "The machine: which CPUs share what, and what things cost there".into();
    schema
}

/// What an example says of a key, or of a table.
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
    fn the_examples_are_machines() {
        let [example, irregular] = EXAMPLES.map(|text| load("m.toml", text).expect("it is valid"));
        assert_eq!((example.n_cpus(), irregular.n_cpus()), (128, 1));
    }

    #[test]
    fn the_example_states_the_defaults() {
        let machine = load("m.toml", EXAMPLES[0]).expect("it is valid");
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
            assert!(inner["description"].is_string(), "{path} has no comment in the examples");
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
