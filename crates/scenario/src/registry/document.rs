//! The keys of the scenario's own tables. What `[workload]` takes depends on its kind, and is in
//! [`super::WORKLOADS`].

use super::{Fallback, KeyDef, Kind};

/// One key of a table of the scenario.
#[derive(Clone, Copy, Debug)]
pub struct FieldDef {
    /// The key.
    pub name: &'static str,
    /// What stands there.
    pub holds: Holds,
    /// True if it must be there.
    pub required: bool,
    /// One line for people.
    pub help: &'static str,
}

/// What stands at a key of the scenario.
#[derive(Clone, Copy, Debug)]
pub enum Holds {
    /// One line of text, not blank.
    Line,
    /// The name of a variant.
    VariantName,
    /// `true` or `false`.
    Switch,
    /// A value as those of workloads.
    Value(Kind),
    /// A number that is not negative.
    Amount,
    /// A time such as `10s`.
    Time,
    /// A time, or `done`.
    TimeOrDone,
    /// The name of a policy.
    Policy,
    /// A kernel version whose rules a policy has.
    Rules,
    /// Names of features, with or without `NO_`.
    Features,
    /// A table of tunables.
    Tunables,
    /// The name of a metric.
    Metric,
    /// Names of metrics.
    Metrics,
    /// Two numbers, the smaller one first.
    Range,
    /// The unit of a metric.
    Unit,
    /// A machine: its file, a description, or a table.
    Machine,
    /// The table of a workload.
    Workload,
    /// The keys of workloads that say how the kernel serves them.
    KernelKeys,
    /// The properties of a workqueue.
    Workqueue,
    /// Keys of the scenario with lists of values, beside a few of its own.
    Sweep,
    /// A key of the workload with a condition, beside a few of its own.
    Find,
    /// Values of the keys of a sweep.
    SweepPoint,
    /// A table with these keys.
    Table(&'static [FieldDef]),
    /// Tables with these keys; at least one if the key is required.
    Tables(&'static [FieldDef]),
}

/// More seeds than this is taken for a slip.
pub const SEEDS_MAX: i64 = 10_000;

const fn may(name: &'static str, holds: Holds, help: &'static str) -> FieldDef {
    FieldDef { name, holds, required: false, help }
}

const fn must(name: &'static str, holds: Holds, help: &'static str) -> FieldDef {
    FieldDef { name, holds, required: true, help }
}

const POLICY: FieldDef =
    may("policy", Holds::Policy, "the scheduling policy; at the top, of all variants without one");

const RULES: FieldDef =
    may("rules", Holds::Rules, "the kernel whose rules apply; default: the policy's newest");

/// Keys of the scenario itself.
pub const SCENARIO: &[FieldDef] = &[
    may("title", Holds::Line, "what people call it; default: the name of the file"),
    must(
        "machine",
        Holds::Machine,
        "a machine file, relative to this one; or a description such as \"pack:2 l3:4 core:8 \
         pu:2\"; or a table",
    ),
    POLICY,
    RULES,
    must("workload", Holds::Workload, "what the tasks do, the same in all variants"),
    may("run", Holds::Table(RUN), "how often and how long"),
    must("variant", Holds::Tables(VARIANT), "what is compared"),
    may(
        "sweep",
        Holds::Sweep,
        "keys of the workload, the machine or the policy, each with the values it takes in turn",
    ),
    may(
        "find",
        Holds::Find,
        "a key of the workload whose highest value is searched that keeps a condition",
    ),
    may(
        "published",
        Holds::Tables(PUBLISHED),
        "a measured value, shown beside the simulated one (schedlab fidelity)",
    ),
];

/// Keys of `[run]`.
pub const RUN: &[FieldDef] = &[
    may(
        "seeds",
        Holds::Value(Kind::Int { min: 1, max: SEEDS_MAX }),
        "runs of each variant, with seeds 1 to this; default 5",
    ),
    may("until", Holds::TimeOrDone, "\"done\" (default), or a simulated time such as \"10s\""),
];

/// Keys of `[[variant]]`.
pub const VARIANT: &[FieldDef] = &[
    must("name", Holds::Line, "its name in results"),
    POLICY,
    RULES,
    may("features", Holds::Features, "scheduler features: NAME turns one on, NO_NAME off"),
    may("tunables", Holds::Tunables, "scheduler tunables"),
    may("workqueue", Holds::Workqueue, "properties of the workload's workqueue"),
    may(
        "workload",
        Holds::KernelKeys,
        "how the kernel serves the workload, if it can in several ways",
    ),
    may("baseline", Holds::Switch, "the others are compared with it; default: the first variant"),
];

/// Keys of `[[published]]`.
pub const PUBLISHED: &[FieldDef] = &[
    must("variant", Holds::VariantName, "the variant that was measured"),
    must("metric", Holds::Metric, "what was measured"),
    must("value", Holds::Amount, "the value itself, not its change"),
    may("sd", Holds::Amount, "its standard deviation"),
    may("at", Holds::SweepPoint, "the point of the sweep that was measured"),
    may("unit", Holds::Unit, "the metric's unit, to be safe"),
    must("source", Holds::Line, "who published it, where and when"),
    may(
        "calibrated",
        Holds::Switch,
        "a constant of the model was fitted to it, so that agreeing with it proves nothing",
    ),
];

/// Keys of `[sweep]` that are none of the scenario's.
pub const SWEEP: &[FieldDef] = &[
    may("zip", Holds::Switch, "pair the values of the keys instead of combining them"),
    may(
        "relative_to",
        Holds::Line,
        "show levels as shares of the baseline's at this point, such as \"clients=1\"",
    ),
    may("metrics", Holds::Metrics, "metrics that get a table; default: the headlines"),
];

/// Keys of `[find]` beside the one that is searched.
pub const FIND: &[FieldDef] = &[
    must("range", Holds::Range, "the smallest and the largest value that are looked at"),
    may(PRECISION.name, Holds::Value(PRECISION.kind), PRECISION.help),
];

/// How near `[find]` comes.
pub const PRECISION: KeyDef = KeyDef {
    name: "precision_pct",
    kind: Kind::Float { min: 0.01, max: 50.0 },
    unit: "%",
    default: Fallback::Float(0.5),
    help: "how near the value is found, in percent of it; default 0.5",
};

/// The key of `[[workload.change]]` beside those of [`super::CHANGE`].
pub const CHANGE_AT: FieldDef = must("at", Holds::Time, "when, such as \"10s\"");

/// The names of the keys of a table.
pub fn names(fields: &[FieldDef]) -> Vec<&'static str> {
    fields.iter().map(|field| field.name).collect()
}
