//! The keys of the scenario's own tables. What `[workload]` takes depends on its kind, and is in
//! [`super::WORKLOADS`].

use super::Kind;

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
    /// The unit of a metric.
    Unit,
    /// A machine: its file, a description, or a table.
    Machine,
    /// The table of a workload.
    Workload,
    /// The properties of a workqueue.
    Workqueue,
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
    may("baseline", Holds::Switch, "the others are compared with it; default: the first variant"),
];

/// Keys of `[[published]]`.
pub const PUBLISHED: &[FieldDef] = &[
    must("variant", Holds::VariantName, "the variant that was measured"),
    must("metric", Holds::Metric, "what was measured"),
    must("value", Holds::Amount, "the value itself, not its change"),
    may("sd", Holds::Amount, "its standard deviation"),
    may("unit", Holds::Unit, "the metric's unit, to be safe"),
    must("source", Holds::Line, "who published it, where and when"),
    may(
        "calibrated",
        Holds::Switch,
        "a constant of the model was fitted to it, so that agreeing with it proves nothing",
    ),
];

/// The key of `[[workload.change]]` beside those of [`super::CHANGE`].
pub const CHANGE_AT: FieldDef = must("at", Holds::Time, "when, such as \"10s\"");

/// The names of the keys of a table.
pub fn names(fields: &[FieldDef]) -> Vec<&'static str> {
    fields.iter().map(|field| field.name).collect()
}
