//! `[variant.workqueue]`, and `[[workload.change]]`: what becomes of it during a run.

use crate::registry::{CHANGE, CHANGE_AT, KeyDef, Value, WORKQUEUE, WorkloadDef, names};
use crate::run_spec::Until;
use crate::units::{parse_time, show_time};
use crate::workload::WorkqueueChange;
use input::{Fault, Node, Walk};
use toml::de::{DeTable, DeValue};

/// Reads a variant's table.
pub(super) fn workqueue(
    walk: &mut Walk,
    node: Node<'_>,
    workload: Option<&'static WorkloadDef>,
) -> Vec<(&'static str, Value)> {
    let Some(table) = walk.table(node, "workqueue") else {
        return Vec::new();
    };
    if let Some(workload) = workload.filter(|w| !w.workqueue) {
        let message = format!("workload `{}` uses no workqueue", workload.kind);
        walk.fault(Fault::at(node.span(), message).help("remove the table"));
        return Vec::new();
    }
    walk.check_keys("[variant.workqueue]", table, &names(WORKQUEUE));
    let read = values(walk, table, WORKQUEUE);
    shards_need_their_scope(walk, table, &read);
    read
}

fn values(
    walk: &mut Walk,
    table: &DeTable<'_>,
    keys: &'static [KeyDef],
) -> Vec<(&'static str, Value)> {
    let mut values = Vec::new();
    for key in keys {
        let Some(node) = table.get(key.name) else {
            continue;
        };
        let faults = walk.faults.len();
        match walk.value(node, key) {
            Some(value) => values.push((key.name, value)),
            None if key.name == "max_active"
                && walk.faults.len() > faults
                && is_not_positive(node) =>
            {
                let last = &mut walk.faults[faults];
                last.help = last.help.take().or(Some(
                    "a workqueue that may run nothing hangs; leave the key out for the default"
                        .into(),
                ));
            }
            None => {}
        }
    }
    values
}

/// True for zero and below.
fn is_not_positive(node: Node<'_>) -> bool {
    match node.get_ref() {
        DeValue::Integer(n) => n.as_str().parse::<i64>().is_ok_and(|n| n <= 0),
        _ => false,
    }
}

fn shards_need_their_scope(walk: &mut Walk, table: &DeTable<'_>, values: &[(&'static str, Value)]) {
    let sharded = values.contains(&("scope", Value::Word("cache_shard".into())));
    if let Some(node) = table.get("shard_cores").filter(|_| !sharded) {
        walk.fault(
            Fault::at(node.span(), "`shard_cores` means nothing here")
                .help("it belongs to `scope = \"cache_shard\"`"),
        );
    }
}

/// Reads the changes of a workload.
pub(super) fn changes(walk: &mut Walk, node: Node<'_>) -> Vec<WorkqueueChange> {
    let tables = walk.tables(node, "change").unwrap_or_default();
    tables.into_iter().filter_map(|(node, table)| change(walk, node, table)).collect()
}

fn change<'a>(walk: &mut Walk, node: Node<'a>, table: &'a DeTable<'a>) -> Option<WorkqueueChange> {
    let mut known = names(CHANGE);
    known.push(CHANGE_AT.name);
    walk.check_keys("[[workload.change]]", table, &known);
    let at = walk.required("this change", node.span(), table, &known, "at");
    let at = at.and_then(|node| time(walk, node));
    let values = values(walk, table, CHANGE);
    shards_need_their_scope(walk, table, &values);
    if values.is_empty() && table.keys().all(|k| k.get_ref() == "at") {
        let fault =
            Fault::at(node.span(), "this change changes nothing").help("such as strict = true");
        walk.fault(fault);
    }
    Some(WorkqueueChange { at: at?, values })
}

fn time(walk: &mut Walk, node: Node<'_>) -> Option<u64> {
    let DeValue::String(text) = node.get_ref() else {
        walk.wrong_type(node, "at", "a time in quotes, such as \"10s\"");
        return None;
    };
    match parse_time(text) {
        Ok(ns) => Some(ns),
        Err(why) => {
            walk.fault(
                Fault::at(node.span(), format!("`at` is not a time: `{text}`"))
                    .label(why)
                    .help("write a simulated time such as \"10s\" or \"500ms\""),
            );
            None
        }
    }
}

/// A change after the end would never be seen.
pub(super) fn must_come_in_time(walk: &mut Walk, doc: &DeTable<'_>, until: Until) {
    let Until::Time(end) = until else {
        return;
    };
    let changes = doc.get("workload").and_then(|node| node.get_ref().get("change"));
    let changes = changes.and_then(|node| node.get_ref().as_array());
    for node in changes.into_iter().flatten().filter_map(|change| change.get_ref().get("at")) {
        let at = node.get_ref().as_str().and_then(|text| parse_time(text).ok());
        if let Some(at) = at.filter(|at| *at >= end) {
            let message = format!("a change at {} comes after the end", show_time(at));
            walk.fault(
                Fault::at(node.span(), message)
                    .help(format!("the run ends at {until}: see `until` in [run]")),
            );
        }
    }
}
