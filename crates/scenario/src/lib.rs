//! A TOML file becomes an experiment: machine x variants x workload x seeds.
//!
//! Three steps, each usable alone:
//!
//! 1. [`load()`] reads a scenario file and the machine that it names, and gives either an
//!    [`Experiment`] or *every* fault found, each with its place and a hint ([`Faults`]).
//! 2. [`Experiment::run`] runs each variant with each seed, in parallel, on an [`Executor`].
//! 3. [`Results`] hold the numbers of every run. What they mean is the `report` crate's matter.
//!
//! ```
//! use scenario::{Silent, load_str};
//!
//! let text = r#"
//! policy   = "fifo"
//! workload = { kind = "ping-pong", pairs = 2 }
//! run      = { seeds = 2, until = "1ms" }
//! variant  = [{ name = "one queue" }]
//!
//! [machine]
//! cores_per_llc = 4
//! latency = { llc_ns = 25 }
//! caches  = { l1d_kib = 32, l2_kib = 1024, l3_kib = 32768, l3_hit_ns = 15, mem_ns = 105 }
//! "#;
//! let experiment = load_str("example.toml".as_ref(), text.to_string()).expect("it is right");
//! let engine = scenario::engine();
//! let results = experiment.run(engine.as_ref(), 2, &Silent).expect("it makes progress");
//! let switches = results.variants[0].values("switches").expect("every run counts them");
//! assert!(switches[0] > 100.0 && switches.len() == 2);
//! ```
//!
//! What names exist (policies, features, tunables, workloads, metrics) is data: [`registry`].
//! What the floors above may use of machines is in [`glue`].

pub mod glue;
pub mod registry;
pub mod schema;
pub mod shipped;

mod bpf_policy;
pub mod cgroups;
mod commands;
mod dump;
mod edit;
mod engine;
mod expect;
mod experiment;
mod explain;
mod find;
pub mod fit;
mod hash;
mod kind;
pub mod latency;
mod load;
mod measured;
mod mock;
mod output;
mod parse;
mod profile;
pub mod recorded;
mod remember;
pub mod replay;
mod run;
mod run_spec;
pub mod schedstat;
mod search;
mod study;
mod trace_run;
pub mod tune;
mod units;
mod waits;
mod workload;
pub mod wq;

pub use bpf_policy::{BpfPolicy, inspect_object};
pub use dump::{Dump, import_machine};
pub use expect::{Expectation, Sign};
pub use experiment::{Experiment, Mechanism, Published, Variant};
pub use explain::{Blame, Explanation, Kind, N_NEAR, Near, RuleTime, Wait};
pub use find::{Condition, Find};
pub use hash::{digest, digest_of_file, fingerprint};
pub use input::{Fault, Faults, Source, Value, nearest};
pub use load::{
    Changes, Described, Disk, Files, load, load_any, load_machine_file, load_str, load_study,
    load_study_of, load_study_str, load_tuned,
};
pub use mock::MockExecutor;
pub use output::{LlcUtilization, MetricValue, RunError, RunOutput};
pub use profile::{LockClass, Profile, SiteTime, Spread, StackTime};
pub use registry::Better;
pub use remember::Remembering;
pub use run::{Executor, Failure, Observer, Silent, attempt, for_each_run};
pub use run_spec::{Feature, PolicyKind, RunSpec, Until};
pub use search::engine;
pub use study::{Axis, Point, RUNS_MAX, Results, Study, VariantRuns};
pub use trace_run::{TraceFailure, TraceFiles, Traced};
pub use tune::Tune;
pub use units::parse_time;
pub use waits::{LongWait, N_LONGEST_WAITS};
pub use workload::{WorkloadFile, WorkloadSpec, WorkqueueChange};
