//! Lists as pages of the reference in docs/.

use super::{Rows, inner, key_row, rows};
use crate::args::Listed;
use scenario::cgroups::CGROUP;
use scenario::registry::{COMMON, KeyDef, WORKLOADS, WORKQUEUE};
use std::fmt::Write;

/// Heads of a key's table.
const KEYS: [&str; 4] = ["key", "values", "default", "what it is"];

/// One list as a page.
pub fn page(what: Listed, title: &str) -> String {
    let mut out = format!("# Reference: {title}\n\n{}\n\n", about(what));
    let _ = writeln!(out, "Printed by `schedlab list {title} --format markdown`.\n");
    match what {
        Listed::Workloads => out += &workloads(),
        _ => out += &table(heads(what), &rows(what)),
    }
    out
}

/// What a list is of.
fn about(what: Listed) -> &'static str {
    match what {
        Listed::Scenarios => "Scenarios that come with schedlab: `schedlab NAME` runs one.",
        Listed::Machines => "Machines that come with schedlab, for `machine` and `--machine`.",
        Listed::Policies => "Who runs where, and who runs next: `policy`, and `rules`.",
        Listed::Features => {
            "Scheduler features by their kernel names, for `features`; `NO_NAME` turns one off."
        }
        Listed::Tunables => "Scheduler tunables by their kernel names, for `tunables`.",
        Listed::Workloads => "What tasks do: `kind` in `[workload]`, with its keys.",
        Listed::Metrics => "What is measured; a `*` stands for several endings.",
    }
}

fn heads(what: Listed) -> &'static [&'static str] {
    match what {
        Listed::Scenarios => &["name", "machine", "workload", "title"],
        Listed::Machines => &["name", "size", "what it is"],
        Listed::Policies => &["name", "rules", "what it is"],
        Listed::Features => &["name", "default", "kernels", "what it does"],
        Listed::Tunables => &["name", "values", "default", "policies", "what it is"],
        Listed::Metrics => &["name", "unit", "good direction", "what it is"],
        Listed::Workloads => &KEYS,
    }
}

/// A table whose first column has names.
fn table(heads: &[&str], rows: &Rows) -> String {
    let mut out = format!("| {} |\n|{}\n", heads.join(" | "), " --- |".repeat(heads.len()));
    for row in rows {
        let (name, rest) = row.split_first().map_or(("", &[][..]), |(n, rest)| (n.as_str(), rest));
        let bare = |(cell, head): (&String, &&str)| match *head {
            "default" => escape(cell.trim_start_matches("default ")),
            _ => escape(cell),
        };
        let cells: Vec<String> = rest.iter().zip(&heads[1..]).map(bare).collect();
        let _ = writeln!(out, "| `{name}` | {} |", cells.join(" | "));
    }
    out
}

/// What stands in a cell must neither end it nor be taken for HTML or emphasis.
fn escape(cell: &str) -> String {
    cell.replace('|', "\\|").replace('<', "\\<").replace('*', "\\*")
}

fn workloads() -> String {
    let keys = |keys: &[KeyDef]| table(&KEYS, &keys.iter().map(key_row).collect());
    let mut out = String::new();
    for def in WORKLOADS {
        let _ = writeln!(out, "## {}\n\n{}.\n", def.kind, escape(def.help));
        if !def.keys.is_empty() {
            let _ = writeln!(out, "{}", keys(def.keys));
        }
        for (name, inner) in inner(def.keys, "workload") {
            let _ = writeln!(out, "### `{name}`\n\n{}", keys(inner));
        }
        if !def.kernel_keys.is_empty() {
            let _ = writeln!(out, "Here, or in the `workload` of a variant:\n");
            let _ = writeln!(out, "{}", keys(def.kernel_keys));
        }
    }
    let names = |which: fn(&&scenario::registry::WorkloadDef) -> bool| {
        let found: Vec<&str> = WORKLOADS.iter().filter(which).map(|def| def.kind).collect();
        found.join(" and ")
    };
    let _ =
        writeln!(out, "## Every workload but {}\n\n{}", names(|d| d.kernel_threads), keys(COMMON));
    let queues = names(|def| def.workqueue);
    let _ = writeln!(out, "## [variant.workqueue], for {queues}\n\n{}", keys(WORKQUEUE));
    let cgroups = names(|def| def.cgroups);
    let _ = write!(out, "## [[workload.cgroup]], for {cgroups}\n\n{}", keys(CGROUP));
    out
}
