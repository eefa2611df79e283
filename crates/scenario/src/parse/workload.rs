//! The `[workload]` table: a kind, and the keys that this kind has.

use super::{cgroups, service, workqueue};
use crate::glue::Machine;
use crate::hash::digest;
use crate::registry::{self, Value, nearest};
use crate::workload::{Load, WorkloadFile, WorkloadSpec, stated};
use input::{Fault, Node, Walk, did_you_mean};
use std::sync::Arc;
use toml::de::{DeString, DeTable};

/// Reads the workload table.
pub(super) fn workload(
    walk: &mut Walk,
    node: Node<'_>,
    file: Option<WorkloadFile>,
) -> Option<WorkloadSpec> {
    let table = walk.table(node, "workload")?;
    let Some(kind_node) = table.get("kind") else {
        no_kind(walk, node, table);
        return None;
    };
    let kind = walk.text(kind_node, "kind")?;
    let Some(def) = registry::workload(kind) else {
        walk.fault(
            Fault::at(kind_node.span(), format!("unknown workload kind `{kind}`"))
                .label("no workload has this name")
                .help(did_you_mean(kind, registry::WORKLOADS.iter().map(|w| w.kind))),
        );
        return None;
    };
    let mut known: Vec<&str> = def.all_keys().map(|key| key.name).collect();
    known.push("kind");
    if def.workqueue {
        known.push("change");
    }
    if def.cgroups {
        known.push("cgroup");
    }
    let what = format!("workload `{kind}`");
    walk.check_keys(&what, table, &known);
    for key in def.keys.iter().filter(|key| key.default == registry::Fallback::Required) {
        walk.required(&what, kind_node.span(), table, &known, key.name);
    }
    let changes = table.get("change").filter(|_| def.workqueue);
    let changes = changes.map_or_else(Vec::new, |node| workqueue::changes(walk, node));
    let cgroups = table.get("cgroup").filter(|_| def.cgroups);
    let cgroups = cgroups.map_or_else(Vec::new, |node| cgroups::cgroups(walk, node, file.as_ref()));
    let values = values(walk, table, def.all_keys());
    let mut spec = WorkloadSpec { def, values, file, file_hash: String::new(), changes, cgroups };
    if def.kind == "service" {
        let service = Arc::new(service::roles(walk, table)?);
        spec.file_hash = digest([format!("{service:?}").as_str()]);
        spec.file = Some(WorkloadFile::Service { spec: service, fitted_to: None });
    }
    Some(spec)
}

/// Reads what a variant says of the workload: how the kernel serves it, and nothing else.
pub(super) fn of_variant(
    walk: &mut Walk,
    node: Node<'_>,
    def: Option<&'static registry::WorkloadDef>,
) -> Vec<(&'static str, Value)> {
    let (Some(table), Some(def)) = (walk.table(node, "workload"), def) else {
        return Vec::new();
    };
    let known: Vec<&str> = def.kernel_keys.iter().map(|key| key.name).collect();
    for key in table.keys().filter(|key| !known.contains(&as_str(key))) {
        let (name, kind) = (as_str(key), def.kind);
        let fault = match def.all_keys().any(|def| def.name == name) || name == "kind" {
            true => Fault::at(key.span(), format!("`{name}` is the same for all variants"))
                .label("a variant changes how the kernel works, not what it has to do")
                .help("say it in [workload], or compare its values with [sweep]"),
            false => {
                Fault::at(key.span(), format!("a variant says no `{name}` of workload `{kind}`"))
                    .help(did_you_mean(name, known.iter().copied()))
            }
        };
        walk.fault(fault);
    }
    values(walk, table, def.kernel_keys.iter())
}

/// Without a kind nobody knows the other keys, so only a misspelled `kind` is looked for.
fn no_kind(walk: &mut Walk, node: Node<'_>, table: &DeTable<'_>) {
    let near = |key: &&toml::Spanned<_>| nearest(as_str(key), ["kind"]).is_some();
    let fault = match table.keys().find(near) {
        Some(key) => Fault::at(key.span(), format!("unknown key `{}` in [workload]", as_str(key)))
            .help("did you mean `kind`?"),
        None => Fault::at(node.span(), "[workload] has no `kind`")
            .help("`schedlab list workloads` prints all kinds and their keys"),
    };
    walk.fault(fault);
}

fn as_str<'a>(key: &'a toml::Spanned<DeString<'_>>) -> &'a str {
    key.get_ref()
}

pub(super) fn values(
    walk: &mut Walk,
    table: &DeTable<'_>,
    keys: impl Iterator<Item = &'static registry::KeyDef>,
) -> Vec<(&'static str, Value)> {
    let mut values = Vec::new();
    for key in keys {
        if let Some(node) = table.get(key.name)
            && let Some(value) = walk.value(node, key)
        {
            values.push((key.name, value));
        }
    }
    values
}

fn is_said(doc: &DeTable<'_>, key: &str) -> bool {
    let table = doc.get("workload").and_then(|node| node.get_ref().as_table());
    table.is_some_and(|table| table.contains_key(key))
}

/// Where a key of the workload stands, or else its kind.
pub(super) fn place<'a>(doc: &'a DeTable<'a>, key: &str) -> Option<Node<'a>> {
    let table = doc.get("workload")?.get_ref().as_table()?;
    table.get(key).or_else(|| table.get("kind"))
}

/// A workload may ask for no more than its kind and the machine can give.
pub(super) fn must_keep_limits(
    walk: &mut Walk,
    doc: &DeTable<'_>,
    workload: &WorkloadSpec,
    machine: &Machine,
) {
    // A value that is wrong by itself is not taken for its default.
    let mut keys = workload.def.all_keys();
    if keys.any(|key| is_said(doc, key.name) && stated(&workload.values, key.name).is_none()) {
        return;
    }
    let load = Load { spec: workload, machine, workqueue: &[], rules: None, seed: 0 };
    for excess in workload.def.limits.iter().filter_map(|limit| limit(&load)) {
        let Some(node) = place(doc, excess.key) else {
            continue;
        };
        let fault = Fault::at(node.span(), excess.message);
        let fault = fault.help_if(excess.help.map(str::to_string));
        walk.fault(match excess.label {
            Some(label) => fault.label(label),
            None => fault,
        });
    }
}
