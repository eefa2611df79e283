//! What a variant may say of the workload's workqueue, by the names of its files in sysfs.

use super::Fallback::{Bool, Int, Words};
use super::{KeyDef, Kind};

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
    help: "items in execution at most, per CPU that queues them",
};

/// Keys of `[variant.workqueue]`.
pub const WORKQUEUE: &[KeyDef] = &[SCOPE, STRICT, LOCALIZE, SHARD_CORES, MAX_ACTIVE];

/// Keys of `[[workload.change]]` beside its time.
pub const CHANGE: &[KeyDef] = &[SCOPE, STRICT, LOCALIZE, SHARD_CORES];
