//! What a scenario means once it is known to be right.

use crate::bpf_policy::BpfPolicy;
use crate::expect::Expectation;
use crate::find::Find;
use crate::glue::Machine;
use crate::run_spec::{Feature, PolicyKind, RunSpec, Until};
use crate::workload::WorkloadSpec;
use input::Value;
use std::path::PathBuf;
use std::sync::Arc;

/// A checked scenario: everything needed to run it, nothing left to go wrong but the run itself.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Short name: the file's stem.
    pub name: String,
    /// The point of a sweep that it is, such as `clients=64`; empty outside of one.
    pub at: String,
    /// Human title.
    pub title: String,
    /// The machine that all variants run on.
    pub machine: Arc<Machine>,
    /// The workload that all variants run.
    pub workload: WorkloadSpec,
    /// The highest load that is searched, if one is.
    pub find: Option<Find>,
    /// When a run ends.
    pub until: Until,
    /// The seeds, in order.
    pub seeds: Vec<u64>,
    /// What is compared; never empty.
    pub variants: Vec<Variant>,
    /// Measured values from publications, for comparison only.
    pub published: Vec<Published>,
    /// What the means are to keep.
    pub expect: Vec<Expectation>,
    /// Fingerprint of the scenario and machine files.
    pub hash: String,
    /// The files it was read from: the scenario itself, then those that it names.
    pub files: Vec<PathBuf>,
    /// What people should know of it that is no fault, such as two machines of one name.
    pub remarks: Vec<String>,
}

impl Experiment {
    /// Index of the baseline among the variants.
    pub fn baseline(&self) -> usize {
        self.variants.iter().position(|v| v.baseline).unwrap_or(0)
    }

    /// What one run needs to know.
    pub fn spec(&self, variant: &Variant, seed: u64) -> RunSpec {
        let mut workload = self.workload.clone();
        workload.set(&variant.workload);
        RunSpec {
            scenario: self.name.clone(),
            at: self.at.clone(),
            variant: variant.name.clone(),
            machine: self.machine.clone(),
            policy: variant.policy,
            bpf: variant.bpf.clone(),
            rules: variant.rules,
            features: variant.features.clone(),
            tunables: variant.tunables.clone(),
            sched_ext: variant.sched_ext.clone(),
            workqueue: variant.workqueue.clone(),
            workload,
            find: self.find.clone(),
            until: self.until,
            seed,
        }
    }

    /// Replaces the number of seeds: seeds 1 to `n`.
    pub fn set_seeds(&mut self, n: u64) {
        self.seeds = (1..=n).collect();
    }

    /// Keeps only the named variants, and always the baseline.
    pub fn keep_variants(&mut self, names: &[String]) {
        self.variants.retain(|v| v.baseline || names.contains(&v.name));
        let kept: Vec<&str> = self.variants.iter().map(|v| v.name.as_str()).collect();
        self.published.retain(|p| kept.contains(&p.variant.as_str()));
        let is_kept = |name: &String| kept.contains(&name.as_str());
        self.expect.retain(|e| e.variant.as_ref().is_none_or(is_kept));
    }
}

/// One thing that is compared with the others.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Its name, unique in the scenario.
    pub name: String,
    /// True for exactly one variant.
    pub baseline: bool,
    /// Policy.
    pub policy: PolicyKind,
    /// The scheduler itself, if it is a BPF object.
    pub bpf: Option<Arc<BpfPolicy>>,
    /// Kernel version whose rules apply; `None` for policies without.
    pub rules: Option<&'static str>,
    /// Features that differ from their defaults, or are said explicitly, in the file's order.
    pub features: Vec<Feature>,
    /// Tunables that are said explicitly, by name.
    pub tunables: Vec<(&'static str, Value)>,
    /// Commands that run under SCHED_EXT; none: all tasks are the scheduler's, if it is one.
    pub sched_ext: Vec<String>,
    /// Properties of the workload's workqueue that are said explicitly, by name.
    pub workqueue: Vec<(&'static str, Value)>,
    /// How the kernel serves the workload, where this variant says it itself, by key.
    pub workload: Vec<(&'static str, Value)>,
}

/// A published measurement.
#[derive(Clone, Debug)]
pub struct Published {
    /// The variant it belongs to.
    pub variant: String,
    /// Metric.
    pub metric: String,
    /// Value, in the metric's unit.
    pub value: f64,
    /// Its standard deviation, if known: that of one run if `runs` says how many the value is the
    /// mean of, else the value's own.
    pub sd: Option<f64>,
    /// How many runs the value is the mean of; 1 if nobody says so.
    pub runs: u32,
    /// Where it was published.
    pub source: String,
    /// True if a constant was fitted to it, so that agreeing with it proves nothing.
    pub calibrated: bool,
    /// What is known about the mechanism behind it.
    pub mechanism: Mechanism,
}

/// What is known about the mechanism behind a published value or its change.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Mechanism {
    /// It is known, and the model has it.
    Built,
    /// It is known, and the model does not have it, or not the part that decides.
    LeftOut,
    /// Nobody knows what it is.
    #[default]
    Unknown,
}

impl Mechanism {
    /// The words of scenarios and of JSON, and what they mean.
    pub const WORDS: [(&'static str, Self); 3] =
        [("built", Self::Built), ("left-out", Self::LeftOut), ("unknown", Self::Unknown)];

    /// The word for it.
    pub fn word(self) -> &'static str {
        let [(built, _), (left_out, _), (unknown, _)] = Self::WORDS;
        match self {
            Self::Built => built,
            Self::LeftOut => left_out,
            Self::Unknown => unknown,
        }
    }
}
