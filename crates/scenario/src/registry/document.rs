//! The keys of the scenario's own tables. What `[workload]` takes depends on its kind, and is in
//! [`super::WORKLOADS`].

use super::shapes;
use super::workqueue::WORKQUEUE;
use crate::experiment::Mechanism;
use input::schema::{keys, table};
use input::{Fallback, KeyDef, Kind, words};
use serde_json::{Value, json};

/// More seeds than this is taken for a slip.
pub const SEEDS_MAX: i64 = 10_000;

const fn may(name: &'static str, kind: Kind, help: &'static str) -> KeyDef {
    KeyDef { help, ..KeyDef::optional(name, kind) }
}

const fn must(name: &'static str, kind: Kind, help: &'static str) -> KeyDef {
    KeyDef { help, ..KeyDef::required(name, kind) }
}

const POLICY: KeyDef = may(
    "policy",
    Kind::Special(shapes::policy),
    "the scheduling policy; at the top, of all variants without one",
);

/// Keys of a policy that is a BPF object.
pub const BPF_POLICY: &[KeyDef] = &[
    must("bpf", Kind::File, "the object, FILE.bpf.o, relative to the scenario"),
    may("rodata", Kind::Special(shapes::variables), "values of its constants, by name"),
    may("bss", Kind::Special(shapes::variables), "first values of its other variables, by name"),
    may("resize", Kind::Special(shapes::sizes), "elements of its arrays, by name"),
    may("flags", Kind::List(&Kind::Special(shapes::ops_flags)), "flags that its loader sets"),
    may("start", Kind::List(&Kind::Special(shapes::start)), "calls that its loader makes first"),
    may("user", Kind::List(&Kind::Special(shapes::user_halves)), "its halves in user space"),
    may("ns_per_insn", Kind::Special(shapes::amount), "simulated time of an instruction, ns"),
];

const RULES: KeyDef = may(
    "rules",
    Kind::Special(shapes::rules),
    "the kernel whose rules apply; default: the policy's newest",
);

const EXPECT: KeyDef = may(
    "expect",
    Kind::List(&Kind::Special(shapes::expectation)),
    "what the means over the seeds must keep, such as \"wakeup_latency_p99 < 2 ms\", or the exit \
     code is 1; in a variant of that one, else of all",
);

/// Keys of the scenario itself.
pub const SCENARIO: &[KeyDef] = &[
    may("title", Kind::Line, "what people call it; default: the name of the file"),
    must(
        "machine",
        Kind::Special(shapes::machine_of_scenario),
        "one of `schedlab list machines`; a machine file, relative to this one; or a description \
         such as \"pack:2 l3:4 core:8 pu:2\"; or a table",
    ),
    POLICY,
    RULES,
    must(
        "workload",
        Kind::Special(shapes::workload),
        "what the tasks do, the same in all variants",
    ),
    may("run", Kind::Table(RUN), "how often and how long"),
    EXPECT,
    must("variant", Kind::Tables(VARIANT), "what is compared"),
    may(
        "sweep",
        Kind::Special(sweep),
        "keys of the workload, the machine or the policy, each with the values it takes in turn",
    ),
    may(
        "find",
        Kind::Special(find),
        "a key of the workload whose highest value is searched that keeps a condition",
    ),
    may(
        "tune",
        Kind::Special(tune),
        "keys and features whose best values `schedlab sweep tune` looks for",
    ),
    may(
        "published",
        Kind::Tables(PUBLISHED),
        "a measured value, shown beside the simulated one (schedlab fidelity)",
    ),
];

/// Keys of `[run]`.
pub const RUN: &[KeyDef] = &[
    may(
        "seeds",
        Kind::Int { min: 1, max: SEEDS_MAX },
        "runs of each variant, with seeds 1 to this; default 5",
    ),
    may(
        "until",
        Kind::Special(shapes::time_or_done),
        "\"done\" (default), or a simulated time such as \"10s\"",
    ),
    EXPECT,
];

/// Keys of `[[variant]]`.
pub const VARIANT: &[KeyDef] = &[
    must("name", Kind::Line, "its name in results"),
    POLICY,
    RULES,
    may(
        "features",
        Kind::List(&Kind::Special(shapes::features)),
        "scheduler features: NAME turns one on, NO_NAME off",
    ),
    may("tunables", Kind::Special(shapes::tunables), "scheduler tunables"),
    may(
        "sched_ext",
        Kind::List(&Kind::Line),
        "a sched_ext scheduler has only these commands and what they fork \
         (SCX_OPS_SWITCH_PARTIAL), and all others stay under EEVDF; default: it has all tasks",
    ),
    may("workqueue", Kind::Table(WORKQUEUE), "properties of the workload's workqueue"),
    may(
        "workload",
        Kind::Special(shapes::workload_of_variant),
        "how the kernel serves the workload, if it can in several ways",
    ),
    EXPECT,
    may("baseline", Kind::Switch, "the others are compared with it; default: the first variant"),
];

/// Keys of `[[published]]`.
pub const PUBLISHED: &[KeyDef] = &[
    must("variant", Kind::Special(shapes::text), "the variant that was measured"),
    must("metric", METRIC, "what was measured"),
    must("value", Kind::Special(shapes::amount), "the value itself, not its change"),
    may("sd", Kind::Special(shapes::amount), "its standard deviation, or that of one of `runs`"),
    RUNS,
    may("at", Kind::Special(shapes::sweep_point), "the point of the sweep that was measured"),
    may("unit", Kind::Special(shapes::unit), "the metric's unit, to be safe"),
    must("source", Kind::Line, "who published it, where and when"),
    may(
        "calibrated",
        Kind::Switch,
        "a constant of the model was fitted to it, so that agreeing with it proves nothing",
    ),
    MECHANISM,
];

/// Runs that a published value is the mean of.
pub const RUNS: KeyDef = KeyDef {
    default: Fallback::Int(1),
    ..may(
        "runs",
        Kind::Int { min: 1, max: 1_000_000 },
        "the value is the mean of so many runs, and `sd` is that of one of them",
    )
};

/// What is known about the mechanism behind a published value.
pub const MECHANISM: KeyDef = may(
    "mechanism",
    Kind::Word(&words(&Mechanism::WORDS)),
    "what makes it so: in the model, known and not in the model, or not known (default)",
);

const METRIC: Kind = Kind::Special(shapes::metric);

/// Keys of `[sweep]` that are none of the scenario's.
pub const SWEEP: &[KeyDef] = &[
    may("zip", Kind::Switch, "pair the values of the keys instead of combining them"),
    may(
        "relative_to",
        Kind::Line,
        "show levels as shares of the baseline's at this point, such as \"clients=1\"",
    ),
    may("metrics", Kind::List(&METRIC), "metrics that get a table; default: the headlines"),
];

/// Keys of `[find]` beside the one that is searched.
pub const FIND: &[KeyDef] = &[
    must(
        "range",
        Kind::Special(shapes::range),
        "the smallest and the largest value that are looked at",
    ),
    KeyDef { default: Fallback::Elsewhere, ..PRECISION },
];

/// How near `[find]` comes.
pub const PRECISION: KeyDef = KeyDef {
    name: "precision_pct",
    kind: Kind::Float { min: 0.01, max: 50.0 },
    unit: "%",
    default: Fallback::Float(0.5),
    help: "how near the value is found, in percent of it; default 0.5",
};

/// Keys of `[tune]` beside those that are tuned.
pub const TUNE: &[KeyDef] = &[
    may("variant", Kind::Special(shapes::text), "the variant that is tuned; default: the baseline"),
    may("maximize", Kind::Special(shapes::metrics), "a metric that is to be high, or several"),
    may(
        "minimize",
        Kind::Special(shapes::metrics),
        "a metric that is to be low, or several; the first one of both decides what is best",
    ),
    may(
        "while",
        Kind::List(&Kind::Special(shapes::expectation)),
        "what the means over the seeds must keep, such as \"wakeup_latency_p99 < 2 ms\"",
    ),
    may(
        "features",
        Kind::List(&Kind::Special(shapes::features)),
        "scheduler features that may be on or off, each without `NO_`",
    ),
];

/// Keys of a range of `[tune]`.
pub const TUNED_RANGE: &[KeyDef] = &[
    must("range", Kind::Special(shapes::range), "the smallest and the largest value"),
    may("log", Kind::Switch, "values are looked for by their ratios, not their differences"),
];

/// The names of the keys of a table.
pub fn names(keys: &[KeyDef]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name).collect()
}

/// A table that has these keys, and others of that shape.
fn open(defs: &[KeyDef], others: Value) -> Value {
    let mut schema = table(keys(defs));
    schema["additionalProperties"] = others;
    schema
}

/// Keys of the scenario with lists of values, beside a few of its own.
fn sweep() -> Value {
    open(SWEEP, json!({ "type": ["array", "object"], "minItems": 1 }))
}

/// A key of the workload with a condition, beside a few of its own.
fn find() -> Value {
    open(FIND, shapes::text())
}

/// Keys of the scenario with lists or ranges of values, beside a few of its own.
fn tune() -> Value {
    let choices = json!({ "type": "array", "minItems": 1 });
    let deeper = json!({ "type": "object" });
    open(TUNE, json!({ "anyOf": [choices, table(keys(TUNED_RANGE)), deeper] }))
}
