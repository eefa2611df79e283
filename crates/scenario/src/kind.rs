//! Files of the wrong kind: a machine where a scenario belongs, and the other way round.
//!
//! One word about the mix-up helps more than a fault for each key.

use std::path::Path;
use toml::de::{DeTable, DeValue};

/// Keys that only scenarios have.
const SCENARIO: &[&str] =
    &["machine", "workload", "run", "variant", "published", "policy", "sweep", "tune"];

/// Keys that only machines have.
const MACHINE: &[&str] = &[
    "sockets",
    "llcs_per_socket",
    "cores_per_llc",
    "cores",
    "cpus",
    "cpu",
    "latency",
    "caches",
    "cstate",
    "costs",
];

/// True if a document describes a machine.
pub(crate) fn is_machine(doc: &DeTable<'_>) -> bool {
    has(doc, MACHINE) && !has(doc, SCENARIO)
}

/// What to do, if a document that should be a scenario is a machine.
pub(crate) fn machine_for_scenario(doc: &DeTable<'_>, path: &str) -> Option<String> {
    is_machine(doc).then(|| {
        format!("`schedlab topology show {path}` draws it; a scenario names it with `machine`")
    })
}

/// What to do, if a text that should be a machine is a scenario.
pub(crate) fn scenario_for_machine(text: &str, path: &Path) -> Option<String> {
    let doc = input::parse(text).ok()?.into_inner();
    if !has(&doc, SCENARIO) || has(&doc, MACHINE) {
        return None;
    }
    Some(match doc.get("machine").map(|node| node.get_ref()) {
        Some(DeValue::String(file)) => {
            let machine = path.parent().unwrap_or(Path::new("")).join(&**file);
            format!("its machine is `{}`", machine.display())
        }
        Some(DeValue::Table(_)) => "its machine is the table [machine] in it".to_string(),
        _ => "a machine file has `cores_per_llc`, [latency], [caches] and so on".to_string(),
    })
}

fn has(doc: &DeTable<'_>, keys: &[&str]) -> bool {
    keys.iter().any(|key| doc.contains_key(*key))
}
