//! The `[workload]` table: a kind, and the keys that this kind has.

use crate::experiment::WorkloadSpec;
use crate::glue::RtAppFile;
use crate::registry::{self, Value, nearest};
use crate::walk::{Node, Walk, did_you_mean};
use std::sync::Arc;
use toml::de::{DeString, DeTable};

/// Reads the workload table.
pub(super) fn workload(
    walk: &mut Walk,
    node: Node<'_>,
    rt_app: Option<Arc<RtAppFile>>,
) -> Option<WorkloadSpec> {
    let table = walk.table(node, "workload")?;
    let Some(kind_node) = table.get("kind") else {
        no_kind(walk, node, table);
        return None;
    };
    let kind = walk.text(kind_node, "kind")?;
    let Some(def) = registry::workload(kind) else {
        let fault = walk
            .at(kind_node.span(), format!("unknown workload kind `{kind}`"))
            .label("no workload has this name")
            .help(did_you_mean(kind, registry::WORKLOADS.iter().map(|w| w.kind)));
        walk.fault(fault);
        return None;
    };
    let mut known: Vec<&str> = def.keys.iter().map(|key| key.name).collect();
    known.push("kind");
    let what = format!("workload `{kind}`");
    walk.check_keys(&what, table, &known);
    for key in def.keys.iter().filter(|key| key.default == registry::Fallback::Required) {
        walk.required(&what, kind_node.span(), table, &known, key.name);
    }
    Some(WorkloadSpec { def, values: values(walk, table, def), rt_app })
}

/// Without a kind nobody knows the other keys, so only a misspelled `kind` is looked for.
fn no_kind(walk: &mut Walk, node: Node<'_>, table: &DeTable<'_>) {
    let near = |key: &&toml::Spanned<_>| nearest(as_str(key), ["kind"]).is_some();
    let fault = match table.keys().find(near) {
        Some(key) => walk
            .at(key.span(), format!("unknown key `{}` in [workload]", as_str(key)))
            .help("did you mean `kind`?"),
        None => walk
            .at(node.span(), "[workload] has no `kind`")
            .help("`schedlab list workloads` prints all kinds and their keys"),
    };
    walk.fault(fault);
}

fn as_str<'a>(key: &'a toml::Spanned<DeString<'_>>) -> &'a str {
    key.get_ref()
}

fn values(
    walk: &mut Walk,
    table: &DeTable<'_>,
    def: &'static registry::WorkloadDef,
) -> Vec<(&'static str, Value)> {
    let mut values = Vec::new();
    for key in def.keys {
        if let Some(node) = table.get(key.name)
            && let Some(value) = walk.value(node, key)
        {
            values.push((key.name, value));
        }
    }
    values
}
