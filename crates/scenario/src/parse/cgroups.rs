//! The cgroups of a workload: `[[workload.cgroup]]`, and what must be true of all of them.

use super::workload::{place, values};
use crate::cgroups::{CGROUP, Cgroup, GROUP, limited, named};
use crate::experiment::Variant;
use crate::registry::{GROUP_POLICIES, OF_OBJECTS, names};
use crate::workload::{Values, WorkloadFile, WorkloadSpec, stated};
use input::{Fault, Node, Value, Walk, did_you_mean};
use toml::de::DeTable;

/// Reads what is said of the cgroups that the workload's file names. A file that could not be read
/// has faults enough.
pub(super) fn cgroups(walk: &mut Walk, node: Node<'_>, file: Option<&WorkloadFile>) -> Vec<Cgroup> {
    let mut cgroups: Vec<Cgroup> = Vec::new();
    for (node, table) in walk.tables(node, "cgroup").unwrap_or_default() {
        let known = names(CGROUP);
        walk.check_keys("[[workload.cgroup]]", table, &known);
        let path = walk.required("this cgroup", node.span(), table, &known, "path");
        let values = values(walk, table, CGROUP.iter().filter(|key| !key.is_required()));
        limit_is_whole(walk, table, &values);
        let Some((at, path)) = path.and_then(|node| Some((node, walk.name(node, "path")?))) else {
            continue;
        };
        let known = named(file);
        if file.is_some() && !known.iter().any(|known| known == path) {
            let fault = Fault::at(at.span(), format!("no thread of the file is in `{path}`"));
            walk.fault(fault.help(match known {
                [] => "the thread objects of the file name no `taskgroup`".to_string(),
                _ => did_you_mean(path, known.iter().map(String::as_str)),
            }));
        }
        if cgroups.iter().any(|cgroup| cgroup.path == path) {
            let fault = Fault::at(at.span(), format!("the cgroup `{path}` was told before"));
            walk.fault(fault.help("say all of it in one place"));
        }
        cgroups.push(Cgroup { path: path.to_string(), values });
    }
    cgroups
}

/// Task groups are modeled for some policies, and hold user tasks.
pub(super) fn must_be_known(
    walk: &mut Walk,
    doc: &DeTable<'_>,
    workload: &WorkloadSpec,
    variants: &[Variant],
) {
    let paths = named(workload.file.as_ref());
    let said = GROUP.iter().map(|key| key.name).find(|key| stated(&workload.values, key).is_some());
    let (what, node) = match (said, paths) {
        (Some(key), _) => (key, place(doc, key)),
        (None, [_, ..]) => ("taskgroup", place(doc, "file")),
        (None, []) => return,
    };
    let Some(node) = node else {
        return;
    };
    if let (Some(key), [path, ..]) = (said, paths) {
        let message = format!("`{key}` beside the task groups of the file, such as `{path}`");
        walk.fault(
            Fault::at(node.span(), message)
                .label("threads that name no group are in the root group")
                .help(format!("say it in [[workload.cgroup]] with `path = \"{path}\"`")),
        );
    }
    if workload.def.kernel_threads {
        let kind = workload.def.kind;
        walk.fault(
            Fault::at(node.span(), format!("all tasks of workload `{kind}` are kernel threads"))
                .label("they are in the root group")
                .help(format!("leave `{what}` out")),
        );
    }
    must_have_groups(walk, node, what, variants);
    must_tell_of_a_limit(walk, doc, workload, variants);
    if let Some(table) = doc.get("workload").and_then(|node| node.get_ref().as_table()) {
        limit_is_whole(walk, table, &workload.values);
    }
}

/// Beside a sched_ext scheduler that has some tasks only, EEVDF has groups.
fn must_have_groups(walk: &mut Walk, node: Node<'_>, what: &str, variants: &[Variant]) {
    let knows = |v: &Variant| {
        let name = v.policy.name();
        name == OF_OBJECTS || GROUP_POLICIES.contains(&name) || !v.sched_ext.is_empty()
    };
    let Some(v) = variants.iter().find(|v| !knows(v)) else {
        return;
    };
    let policies = GROUP_POLICIES.join("` or `");
    let (name, policy) = (&v.name, v.policy.name());
    let message = format!(
        "`{what}` needs policy `{policies}` or a BPF object, but variant `{name}` has `{policy}`"
    );
    walk.fault(
        Fault::at(node.span(), message)
            .label("task groups are modeled for these only")
            .help(format!("leave `{what}` out, or put such variants into a scenario of their own")),
    );
}

/// Under sched_ext a limit is kept by the scheduler if by anyone, so that it has to be told.
fn must_tell_of_a_limit(
    walk: &mut Walk,
    doc: &DeTable<'_>,
    workload: &WorkloadSpec,
    variants: &[Variant],
) {
    let is_untold = |v: &&Variant| {
        v.policy.name() == OF_OBJECTS && v.sched_ext.is_empty() && v.rules == Some("6.12")
    };
    if limited(workload).is_empty() {
        return;
    }
    let of_all = stated(&workload.values, "cpu_max").is_some();
    let place = place(doc, if of_all { "cpu_max" } else { "cgroup" });
    if let (Some(v), Some(node)) = (variants.iter().find(is_untold), place) {
        let name = &v.name;
        walk.fault(
            Fault::at(node.span(), format!("variant `{name}` would never hear of `cpu_max`"))
                .label("sched_ext of 6.12 does not keep it, nor tell its scheduler")
                .help("leave `cpu_max` out, or say `rules = \"6.18\"` for that variant"),
        );
    }
}

/// A period and a burst say something of a limit, and a burst is no more than that.
fn limit_is_whole(walk: &mut Walk, table: &DeTable<'_>, values: &Values) {
    for key in ["cpu_max_period", "cpu_max_burst"] {
        let Some(node) = table.get(key) else {
            continue;
        };
        let of = |key| stated(values, key).and_then(Value::int);
        let fault = match of("cpu_max") {
            // It is there, and wrong by itself.
            None if table.contains_key("cpu_max") => continue,
            None => Fault::at(node.span(), format!("`{key}` without `cpu_max`"))
                .label("there is no limit that it belongs to")
                .help("say `cpu_max` too: the group's CPU time in each period, us"),
            Some(max) if key == "cpu_max_burst" && of(key) > Some(max) => {
                Fault::at(node.span(), format!("`{key}` is more than `cpu_max`"))
                    .help(format!("the kernel takes {max} at most"))
            }
            Some(_) => continue,
        };
        walk.fault(fault);
    }
}
