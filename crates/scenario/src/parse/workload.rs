//! The `[workload]` table: a kind, and the keys that this kind has.

use super::workqueue;
use crate::experiment::{Variant, WorkloadFile, WorkloadSpec};
use crate::glue::{self, Machine};
use crate::registry::{self, GROUP_POLICY, TASKS_MAX, Value, nearest};
use crate::walk::{Node, Walk, did_you_mean};
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
        let fault = walk
            .at(kind_node.span(), format!("unknown workload kind `{kind}`"))
            .label("no workload has this name")
            .help(did_you_mean(kind, registry::WORKLOADS.iter().map(|w| w.kind)));
        walk.fault(fault);
        return None;
    };
    let mut known: Vec<&str> = def.all_keys().map(|key| key.name).collect();
    known.push("kind");
    if def.workqueue {
        known.push("change");
    }
    let what = format!("workload `{kind}`");
    walk.check_keys(&what, table, &known);
    for key in def.keys.iter().filter(|key| key.default == registry::Fallback::Required) {
        walk.required(&what, kind_node.span(), table, &known, key.name);
    }
    let changes = table.get("change").filter(|_| def.workqueue);
    let changes = changes.map_or_else(Vec::new, |node| workqueue::changes(walk, node));
    let values = values(walk, table, def.all_keys());
    Some(WorkloadSpec { def, values, file, file_hash: String::new(), changes })
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
            true => walk
                .at(key.span(), format!("`{name}` is the same for all variants"))
                .label("a variant changes how the kernel works, not what it has to do")
                .help("say it in [workload], or compare its values with [sweep]"),
            false => walk
                .at(key.span(), format!("a variant says no `{name}` of workload `{kind}`"))
                .help(did_you_mean(name, known.iter().copied())),
        };
        walk.fault(fault);
    }
    values(walk, table, def.kernel_keys.iter())
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

/// The processes of a workload must fit into the machine's memory.
pub(super) fn must_fit(
    walk: &mut Walk,
    doc: &DeTable<'_>,
    workload: &WorkloadSpec,
    machine: &Machine,
) {
    let Some((key, what, bytes_each)) = memory(workload, machine) else {
        return;
    };
    let Some(n) = workload.int(key) else {
        return;
    };
    let memory = u64::from(machine.memory_gib) << 30;
    let fits = memory / bytes_each.max(1);
    if let Some(node) = place(doc, key).filter(|_| n > fits) {
        let (mib, gib) = (bytes_each.div_ceil(1 << 20), machine.memory_gib);
        let message = format!("{n} {what} of {mib} MiB each do not fit into {gib} GiB of memory");
        let fault = walk
            .at(node.span(), message)
            .label(format!("there is room for {fits}"))
            .help("the machine's memory is its `memory_gib`");
        walk.fault(fault);
    }
}

/// Task groups are modeled for one policy, and hold user tasks.
pub(super) fn must_know_groups(
    walk: &mut Walk,
    doc: &DeTable<'_>,
    workload: &WorkloadSpec,
    variants: &[Variant],
) {
    let Some(node) = place(doc, "cpu_weight").filter(|_| workload.int("cpu_weight").is_some())
    else {
        return;
    };
    if workload.def.kernel_threads {
        let kind = workload.def.kind;
        let fault = walk
            .at(node.span(), format!("all tasks of workload `{kind}` are kernel threads"))
            .label("they are in the root group")
            .help("leave `cpu_weight` out");
        walk.fault(fault);
    }
    if let Some(v) = variants.iter().find(|v| v.policy.name() != GROUP_POLICY) {
        let message = format!(
            "`cpu_weight` needs policy `{GROUP_POLICY}`, but variant `{}` has `{}`",
            v.name,
            v.policy.name()
        );
        let fault = walk
            .at(node.span(), message)
            .label(format!("task groups are modeled for `{GROUP_POLICY}` only"))
            .help("leave `cpu_weight` out, or put such variants into a scenario of their own");
        walk.fault(fault);
    }
}

/// A build needs to know its work; a window of fio's is a number of blocks.
pub(super) fn must_be_whole(walk: &mut Walk, doc: &DeTable<'_>, workload: &WorkloadSpec) {
    if workload.def.kind != "fuse" {
        return;
    }
    let lacks_work = workload.is_build() && !is_said(doc, "work_seconds");
    if let Some(node) = place(doc, "op").filter(|_| lacks_work) {
        let fault = walk
            .at(node.span(), "`op = \"kernel-build\"` needs `work_seconds`")
            .help("add it to [workload]; docs/CALIBRATION.md says how to find it");
        walk.fault(fault);
    }
    let (Some(window), Some(block)) = (workload.int("readahead_kib"), workload.int("block_kib"))
    else {
        return;
    };
    if let Some(node) = place(doc, "readahead_kib").filter(|_| !window.is_multiple_of(block)) {
        let fault = walk
            .at(
                node.span(),
                format!("a window of {window} KiB is no number of blocks of {block} KiB"),
            )
            .help("make `readahead_kib` a multiple of `block_kib`");
        walk.fault(fault);
    }
}

fn is_said(doc: &DeTable<'_>, key: &str) -> bool {
    let table = doc.get("workload").and_then(|node| node.get_ref().as_table());
    table.is_some_and(|table| table.contains_key(key))
}

/// Where a key of the workload stands, or else its kind.
fn place<'a>(doc: &'a DeTable<'a>, key: &str) -> Option<Node<'a>> {
    let table = doc.get("workload")?.get_ref().as_table()?;
    table.get(key).or_else(|| table.get("kind"))
}

/// The tasks of all groups must be no more than are simulated.
pub(super) fn must_be_few_tasks(
    walk: &mut Walk,
    doc: &DeTable<'_>,
    workload: &WorkloadSpec,
    machine: &Machine,
) {
    let Some((key, what, each)) = group_of_tasks(workload, machine) else {
        return;
    };
    let Some(groups) = workload.int(key) else {
        return;
    };
    let all = TASKS_MAX as u64;
    let most = all / each;
    if let Some(node) = place(doc, key).filter(|_| groups > most) {
        let message = format!("{groups} {what} of {each} tasks; at most {all} are simulated");
        let fault = walk.at(node.span(), message).label(format!("of this size: at most {most}"));
        walk.fault(fault);
    }
}

/// The key that says how many groups of tasks there are, what they are, and the tasks of each.
fn group_of_tasks(
    workload: &WorkloadSpec,
    machine: &Machine,
) -> Option<(&'static str, &'static str, u64)> {
    match workload.def.kind {
        "hackbench" | "perf-bench-messaging" => {
            Some(("groups", "groups", 2 * workload.hackbench_fds()))
        }
        "schbench" => {
            Some(("message_threads", "message threads", 1 + workload.schbench_threads(machine)))
        }
        "schbench-old" => {
            Some(("message_threads", "message threads", 1 + workload.int("threads")?))
        }
        _ => None,
    }
}

/// Tasks of several keys must together be no more than are simulated.
pub(super) fn must_be_few_in_all(
    walk: &mut Walk,
    doc: &DeTable<'_>,
    workload: &WorkloadSpec,
    machine: &Machine,
) {
    let (key, tasks) = match workload.def.kind {
        "cyclictest" => ("hogs", workload.int("hogs").zip(workload.int("threads"))),
        "stress-ng" => ("cpu", Some(workload.stressors(machine))),
        _ => return,
    };
    let Some((some, others)) = tasks.filter(|(a, b)| a + b > TASKS_MAX as u64) else {
        return;
    };
    if let Some(node) = place(doc, key) {
        let message = format!("{} tasks; at most {TASKS_MAX} are simulated", some + others);
        walk.fault(walk.at(node.span(), message).label(format!("beside {others} others")));
    }
}

/// Requests or items of all issuers that are simulated at most: 1 GiB.
const IN_FLIGHT_MAX: u64 = 10_000_000;

/// What the issuers of a workload have in flight must fit into the simulator's memory.
pub(super) fn must_be_few(
    walk: &mut Walk,
    doc: &DeTable<'_>,
    workload: &WorkloadSpec,
    machine: &Machine,
) {
    let (key, issuers) = match workload.def.kind {
        "dm-crypt" => ("iodepth", workload.int("numjobs")),
        "queue-work" => ("outstanding", workload.int("issuers").or(Some(machine.n_cpus() as u64))),
        _ => return,
    };
    let (Some(issuers), Some(each)) = (issuers, workload.int(key)) else {
        return;
    };
    let most = IN_FLIGHT_MAX / issuers.max(1);
    if let Some(node) = place(doc, key).filter(|_| each > most) {
        let message = format!(
            "{issuers} issuers have {} in flight; at most {IN_FLIGHT_MAX} are simulated",
            issuers * each
        );
        let fault = walk.at(node.span(), message).label(format!("so many issuers: at most {most}"));
        walk.fault(fault);
    }
}

/// Entries of all files that are simulated at most: some minutes.
const ENTRIES_MAX: u64 = 1_000_000_000;

/// The entries of a truncation must be removed in a reasonable time, and a page costs what a
/// shadow entry costs, and more.
pub(super) fn must_be_short(walk: &mut Walk, doc: &DeTable<'_>, workload: &WorkloadSpec) {
    if workload.def.kind != "truncate" {
        return;
    }
    let (Some(files), Some(pages)) = (workload.int("files"), workload.int("pages")) else {
        return;
    };
    let most = ENTRIES_MAX / pages.max(1);
    if let Some(node) = place(doc, "files").filter(|_| files > most) {
        let message = format!(
            "{files} files of {pages} pages have {} entries; at most {ENTRIES_MAX} are simulated",
            files * pages
        );
        let fault = walk.at(node.span(), message).label(format!("of this size: at most {most}"));
        walk.fault(fault);
    }
    let (entry, page) = (workload.float("entry_work"), workload.float("page_work"));
    if let Some(node) = place(doc, "page_work").filter(|_| entry > page) {
        let fault = walk
            .at(node.span(), "a page takes less than a shadow entry")
            .label("it is removed in the same way, and freed besides")
            .help("`page_work` must not be less than `entry_work`");
        walk.fault(fault);
    }
}

/// Memory of a thread, with the kernel's part (stack, task_struct), and of a small process, which
/// has a MiB of its own, bytes. General knowledge, unverified.
const THREAD: u64 = 64 << 10;
const PROCESS: u64 = (1 << 20) + (32 << 10);
/// A pair of netperf and netserver, with the default buffers of a socket for data and one for
/// control.
const NETPERF_PAIR: u64 = 2 * (PROCESS + 2 * 212_992);

/// The key that says how many there are, what they are, and the memory of each, bytes.
fn memory(workload: &WorkloadSpec, machine: &Machine) -> Option<(&'static str, &'static str, u64)> {
    match workload.def.kind {
        "dm-crypt" => {
            let (depth, kib) = (workload.int("iodepth")?, workload.int("bs_kib")?);
            Some(("numjobs", "issuers", glue::fio_bytes(depth, kib)))
        }
        // A kernel thread: stack, task_struct, the items.
        "queue-work" => {
            Some(("issuers", "issuers", (32 << 10) + 256 * workload.int("outstanding")?))
        }
        "fuse" if !workload.is_build() => {
            Some(("numjobs", "processes of fio", glue::fio_bytes(1, workload.int("block_kib")?)))
        }
        "netperf" => Some(("clients", "pairs", NETPERF_PAIR)),
        "hackbench" | "perf-bench-messaging" => {
            let threads = workload.bool("threads").unwrap_or(false);
            let each = if threads { THREAD } else { PROCESS };
            Some(("groups", "groups", 2 * workload.hackbench_fds() * each))
        }
        "tbench" => Some(("clients", "pairs", NETPERF_PAIR)),
        "schbench-old" => {
            Some(("message_threads", "message threads", (1 + workload.int("threads")?) * THREAD))
        }
        "cyclictest" if workload.int("hogs") > workload.int("threads") => {
            Some(("hogs", "hogs", PROCESS))
        }
        "cyclictest" => Some(("threads", "threads", THREAD)),
        "stress-ng" if workload.int("yield") > workload.int("cpu") => {
            Some(("yield", "stressors", PROCESS))
        }
        "stress-ng" => Some(("cpu", "stressors", PROCESS)),
        "web" => {
            let footprint = workload.int("cache_footprint_kib")? << 10;
            Some(("threads", "threads", THREAD + footprint))
        }
        // The part of each file that the page cache is to hold.
        "truncate" => {
            let share = workload.float("cache_pct")? / workload.float("data_pct")?;
            let bytes = glue::PAGE_BYTES * workload.int("pages")?;
            Some(("files", "files", (bytes as f64 * share.min(1.0)).round() as u64))
        }
        "schbench" => {
            let footprint = workload.int("cache_footprint_kib")? << 10;
            let each = workload.schbench_threads(machine) * (THREAD + footprint);
            Some(("message_threads", "message threads", each))
        }
        _ => None,
    }
}
