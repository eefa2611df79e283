//! The cgroups that a workload's tasks are in: what can be said of them, and the groups that a
//! policy is given.
//!
//! A workload has one, perhaps in another, for all its tasks; or its file says which of its threads
//! is in which.

use crate::workload::{Values, WorkloadFile, WorkloadSpec, stated};
use input::{Fallback, KeyDef, Kind, Value};
use policies::fair::{CpuMax, GroupSpec};
use sim_core::GroupId;

const CPU_WEIGHT: KeyDef = KeyDef {
    name: "cpu_weight",
    kind: Kind::Int { min: 1, max: 10_000 },
    unit: "",
    default: Fallback::Words("none: root group"),
    help: "cpu.weight of a cgroup that its user tasks are in; an autogroup: 100 (cfs, eevdf, \
           bpf)",
};

const SLICE_WEIGHT: KeyDef = KeyDef {
    name: "slice_weight",
    kind: Kind::Int { min: 1, max: 10_000 },
    unit: "",
    default: Fallback::Words("none: below the root"),
    help: "cpu.weight of a cgroup around that one, such as a slice of systemd (cfs, eevdf, \
           bpf)",
};

const CPU_MAX: KeyDef = KeyDef {
    name: "cpu_max",
    kind: Kind::Int { min: 1_000, max: 1_000_000_000 },
    unit: "us",
    default: Fallback::Words("max: no limit"),
    help: "cpu.max of the tasks' cgroup: CPU time of all of them in each period (cfs, eevdf; a \
           BPF object is told since 6.18)",
};

const CPU_MAX_PERIOD: KeyDef = KeyDef {
    name: "cpu_max_period",
    kind: Kind::Int { min: 1_000, max: 1_000_000 },
    unit: "us",
    default: Fallback::Int(100_000),
    help: "the period, the second number of cpu.max",
};

const CPU_MAX_BURST: KeyDef = KeyDef {
    name: "cpu_max_burst",
    kind: Kind::Int { min: 0, max: 1_000_000_000 },
    unit: "us",
    default: Fallback::Int(0),
    help: "cpu.max.burst: how much of cpu_max that was left over a later period may use; at \
           most cpu_max",
};

/// Keys of `[workload]` about the cgroup of all its tasks. Any of them says that there is one.
pub const GROUP: &[KeyDef] = &[CPU_WEIGHT, SLICE_WEIGHT, CPU_MAX, CPU_MAX_PERIOD, CPU_MAX_BURST];

/// Keys of `[[workload.cgroup]]`.
pub const CGROUP: &[KeyDef] = &[
    KeyDef {
        help: "its path, as the workload's file names it, such as \"/a/b\"",
        ..KeyDef::required("path", Kind::Line)
    },
    KeyDef {
        default: Fallback::Int(100),
        help: "cpu.weight; a task of nice 0 in the same cgroup weighs 100",
        ..CPU_WEIGHT
    },
    KeyDef { help: "cpu.max: CPU time of all that is in it in each period", ..CPU_MAX },
    CPU_MAX_PERIOD,
    CPU_MAX_BURST,
];

/// What is said of a cgroup that the workload's file names.
#[derive(Clone, Debug, PartialEq)]
pub struct Cgroup {
    /// Its path from the root on.
    pub path: String,
    /// Keys that are said explicitly.
    pub values: Vec<(&'static str, Value)>,
}

/// The cgroups that the workload's file names: paths, an outer one before what is in it.
pub(crate) fn named(file: Option<&WorkloadFile>) -> &[String] {
    match file {
        Some(WorkloadFile::RtApp(file)) => &file.taskgroups,
        _ => &[],
    }
}

/// The task groups of a workload, an outer one before what is in it: those that its file names, or
/// the other sessions of a recording, then the group of its user tasks. None: all tasks are in the
/// root group.
pub(crate) fn groups(workload: &WorkloadSpec) -> Vec<GroupSpec> {
    match named(workload.file.as_ref()) {
        [] => groups_of_all(workload),
        paths => paths.iter().map(|path| group_of(workload, paths, path)).collect(),
    }
}

/// The task group of user tasks that are in none by themselves.
pub(crate) fn user_group(workload: &WorkloadSpec) -> GroupId {
    match named(workload.file.as_ref()) {
        [] => GroupId(groups_of_all(workload).len() as u16),
        _ => GroupId::ROOT,
    }
}

/// The task groups that have a limit, or are in one that has.
pub(crate) fn limited(workload: &WorkloadSpec) -> Vec<GroupId> {
    let mut limited = Vec::new();
    for (idx, group) in groups(workload).iter().enumerate() {
        if group.max.is_some() || limited.contains(&group.parent) {
            limited.push(GroupId(idx as u16 + 1));
        }
    }
    limited
}

/// The group of this path, which is one of `paths`, as that of the one around it is.
fn group_of(workload: &WorkloadSpec, paths: &[String], path: &str) -> GroupSpec {
    let said = workload.cgroups.iter().find(|cgroup| cgroup.path == path);
    let values = said.map_or(&[][..], |cgroup| &cgroup.values);
    let outer = path.rsplit_once('/').and_then(|(outer, _)| paths.iter().position(|p| p == outer));
    let default = GroupSpec::default();
    GroupSpec {
        cpu_weight: int(values, &CPU_WEIGHT).map_or(default.cpu_weight, |weight| weight as u32),
        parent: outer.map_or(GroupId::ROOT, |idx| GroupId(idx as u16 + 1)),
        max: max(values),
        ..default
    }
}

/// The groups of a workload whose user tasks are all in one, the last.
fn groups_of_all(workload: &WorkloadSpec) -> Vec<GroupSpec> {
    let values = &workload.values;
    let default = GroupSpec::default();
    // The other sessions of a recorded machine, before the group of the command.
    let session = GroupSpec { is_autogroup: true, ..default };
    let others = vec![session; workload.other_sessions()];
    let is_cgroup = GROUP.iter().any(|key| stated(values, key.name).is_some());
    if others.is_empty() && !is_cgroup {
        return Vec::new();
    }
    let weight = |key| int(values, key).map(|weight| weight as u32);
    let slice = weight(&SLICE_WEIGHT).map(|cpu_weight| GroupSpec { cpu_weight, ..default });
    let own = GroupSpec {
        cpu_weight: weight(&CPU_WEIGHT).unwrap_or(default.cpu_weight),
        parent: match &slice {
            None => GroupId::ROOT,
            Some(_) => GroupId(1 + others.len() as u16),
        },
        max: max(values),
        is_autogroup: !is_cgroup,
    };
    others.into_iter().chain(slice).chain([own]).collect()
}

/// The limit that is said, if one is.
fn max(values: &Values) -> Option<CpuMax> {
    let ns = |key: &KeyDef| int(values, key).map_or(0, |us| us as u64 * 1000);
    int(values, &CPU_MAX).map(|_| CpuMax {
        quota_ns: ns(&CPU_MAX),
        period_ns: ns(&CPU_MAX_PERIOD),
        burst_ns: ns(&CPU_MAX_BURST),
    })
}

fn int(values: &Values, key: &KeyDef) -> Option<i64> {
    stated(values, key.name).and_then(Value::int).or_else(|| key.default.value()?.int())
}
