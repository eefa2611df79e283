//! What a variant may say of the workload's workqueue, by the names of its files in sysfs, and what
//! that means for the workqueue.

use crate::units;
use crate::workload::{Load, Values, WorkqueueChange, stated};
use input::Fallback::{Bool, Int, Words};
use input::{KeyDef, Kind, Value};
use policies::fair::Rules;
use policies::workqueue::{ActivePer, Affinity, DEFAULT_SHARD_CORES, Scope};
use workloads::affinity_changes::AffinityChange;

/// The scopes that an unbound workqueue can have.
pub const SCOPES: &[&str] = &["cpu", "smt", "cache", "cache_shard", "numa", "system"];

const SCOPE: KeyDef = KeyDef {
    name: "scope",
    kind: Kind::Word(SCOPES),
    unit: "",
    default: Words("cache"),
    help: "how the machine is cut into pods, each with a worker pool of its own",
};

const STRICT: KeyDef = KeyDef {
    name: "strict",
    kind: Kind::Bool,
    unit: "",
    default: Bool(false),
    help: "workers never leave their pod; else they only start an item there",
};

const LOCALIZE: KeyDef = KeyDef {
    name: "localize",
    kind: Kind::Bool,
    unit: "",
    default: Bool(false),
    help: "items are handed to workers that are sent to the issuing CPU",
};

const SHARD_CORES: KeyDef = KeyDef {
    name: "shard_cores",
    kind: Kind::Int { min: 1, max: 8192 },
    unit: "",
    default: Int(8),
    help: "most cores of a pod, for the scope cache_shard",
};

const MAX_ACTIVE: KeyDef = KeyDef {
    name: "max_active",
    kind: Kind::Int { min: 1, max: 512 },
    unit: "",
    default: Words("the workload's"),
    help: "items in execution at most, of each CPU that queues; of its node since Linux 6.9",
};

/// Keys of `[variant.workqueue]`.
pub const WORKQUEUE: &[KeyDef] = &[SCOPE, STRICT, LOCALIZE, SHARD_CORES, MAX_ACTIVE];

/// The key of `[[workload.change]]` beside those of [`CHANGE`].
pub const CHANGE_AT: KeyDef = KeyDef {
    help: "when, such as \"10s\"",
    ..KeyDef::required("at", Kind::Special(units::schema))
};

/// Keys of `[[workload.change]]` beside its time.
pub const CHANGE: &[KeyDef] = &[SCOPE, STRICT, LOCALIZE, SHARD_CORES];

fn scope(values: &Values) -> Option<Scope> {
    let cores = stated(values, "shard_cores").and_then(Value::int);
    let cores = cores.map_or(DEFAULT_SHARD_CORES, |n| n as u32);
    match stated(values, "scope")? {
        Value::Word(name) => Scope::by_name(name, cores),
        _ => None,
    }
}

/// The affinity that the variant states.
pub(super) fn affinity(load: &Load<'_>) -> Affinity {
    let values = load.workqueue;
    let switch = |name| stated(values, name).and_then(Value::bool).unwrap_or(false);
    Affinity {
        scope: scope(values).unwrap_or(Affinity::default().scope),
        strict: switch("strict"),
        localize: switch("localize"),
    }
}

/// The `max_active` that the variant states, else the workload's.
pub(super) fn max_active(load: &Load<'_>, default: u32) -> u32 {
    stated(load.workqueue, "max_active").and_then(Value::int).map_or(default, |n| n as u32)
}

/// Whose items that limits: the workqueues are those of the kernel whose rules apply.
pub(super) fn active_per(load: &Load<'_>) -> ActivePer {
    match load.rules.and_then(Rules::by_name) {
        Some(rules) if rules >= Rules::V6_12 => ActivePer::Node,
        _ => ActivePer::Cpu,
    }
}

/// What is changed of the workqueue during the run.
pub(super) fn changes(load: &Load<'_>) -> Vec<AffinityChange> {
    let change = |c: &WorkqueueChange| AffinityChange {
        at: c.at,
        scope: scope(&c.values),
        strict: stated(&c.values, "strict").and_then(Value::bool),
        localize: stated(&c.values, "localize").and_then(Value::bool),
    };
    load.spec.changes.iter().map(change).collect()
}
