//! What a scenario means once it is known to be right.

use crate::find::Find;
use crate::glue::{Machine, Recording, RtAppFile};
use crate::hash::fingerprint;
use crate::registry::{Kind, PolicyDef, Value, WorkloadDef};
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
    /// Fingerprint of the scenario and machine files.
    pub hash: String,
    /// The files it was read from: the scenario itself, then those that it names.
    pub files: Vec<PathBuf>,
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
            rules: variant.rules,
            features: variant.features.clone(),
            tunables: variant.tunables.clone(),
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
    /// Kernel version whose rules apply; `None` for policies without.
    pub rules: Option<&'static str>,
    /// Features that differ from their defaults, or are said explicitly, in the file's order.
    pub features: Vec<Feature>,
    /// Tunables that are said explicitly, by name.
    pub tunables: Vec<(&'static str, Value)>,
    /// Properties of the workload's workqueue that are said explicitly, by name.
    pub workqueue: Vec<(&'static str, Value)>,
    /// How the kernel serves the workload, where this variant says it itself, by key.
    pub workload: Vec<(&'static str, Value)>,
}

/// A policy, by its row in the registry.
#[derive(Clone, Copy, Debug)]
pub struct PolicyKind(pub &'static PolicyDef);

impl PolicyKind {
    /// Its name in scenarios.
    pub fn name(self) -> &'static str {
        self.0.name
    }
}

/// A feature toggle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Feature {
    /// The kernel's name, without `NO_`.
    pub name: &'static str,
    /// On, or off (`NO_` in the file).
    pub on: bool,
}

impl std::fmt::Display for Feature {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", if self.on { "" } else { "NO_" }, self.name)
    }
}

/// A workload with its checked keys.
#[derive(Clone, Debug)]
pub struct WorkloadSpec {
    /// Its row in the registry.
    pub def: &'static WorkloadDef,
    /// Keys that are said explicitly.
    pub values: Vec<(&'static str, Value)>,
    /// What the file says that the workload names.
    pub file: Option<WorkloadFile>,
    /// Fingerprint of that file; empty without one.
    pub file_hash: String,
    /// What is changed of its workqueue during the run, in the file's order.
    pub changes: Vec<WorkqueueChange>,
}

/// A change of the workload's workqueue, the same one in all variants.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkqueueChange {
    /// When, ns.
    pub at: u64,
    /// What, by name.
    pub values: Vec<(&'static str, Value)>,
}

/// A file that a workload is made from.
#[derive(Clone, Debug)]
pub enum WorkloadFile {
    /// rt-app's JSON.
    RtApp(Arc<RtAppFile>),
    /// A recording of `perf sched record`.
    Recording(Arc<Recording>),
}

impl WorkloadSpec {
    /// True if it comes to an end by itself, as far as its file, if it has one, could be read.
    pub fn ends(&self) -> bool {
        let has_file = self.def.keys.iter().any(|key| matches!(key.kind, Kind::File));
        match &self.file {
            Some(WorkloadFile::RtApp(file)) => file.ends(),
            Some(WorkloadFile::Recording(_)) => true,
            None => self.def.ends || has_file || self.is_build(),
        }
    }

    /// Takes these values instead of what the scenario says of all variants.
    pub(crate) fn set(&mut self, values: &[(&'static str, Value)]) {
        self.values.retain(|(name, _)| values.iter().all(|(other, _)| other != name));
        self.values.extend_from_slice(values);
    }

    /// True for a kernel build whose files are on a FUSE file system, or could be.
    pub fn is_build(&self) -> bool {
        self.def.kind == "fuse" && self.get("op") == Some(Value::Word("kernel-build".into()))
    }

    /// The value of a key: what the scenario says, else the registry's default; `None` if the
    /// default depends on the machine.
    ///
    /// # Panics
    /// If the registry has no such key for this kind of workload.
    pub fn get(&self, key: &str) -> Option<Value> {
        let def = self.def.all_keys().find(|def| def.name == key);
        let def = def.unwrap_or_else(|| panic!("`{}` has no key `{key}`", self.def.kind));
        let stated = self.values.iter().find(|(name, _)| *name == key);
        stated.map(|(_, value)| value.clone()).or_else(|| def.default.value())
    }

    /// A count or a time in ns, as [`Self::get`].
    pub fn int(&self, key: &str) -> Option<u64> {
        self.get(key).and_then(|value| value.int()).map(|n| n as u64)
    }

    /// Yes or no, as [`Self::get`].
    pub fn bool(&self, key: &str) -> Option<bool> {
        self.get(key).and_then(|value| value.bool())
    }

    /// A number, as [`Self::get`].
    pub fn float(&self, key: &str) -> Option<f64> {
        self.get(key).and_then(|value| value.float())
    }

    /// Senders, and receivers, of a group of a `hackbench` workload and of perf's twin of it.
    pub(crate) fn hackbench_fds(&self) -> u64 {
        match self.def.kind {
            "hackbench" => self.int("fds").expect("the registry has a default"),
            _ => crate::glue::MESSAGING_FDS,
        }
    }

    /// Processes of a `stress-ng` workload: those that compute, and those that yield.
    pub(crate) fn stressors(&self, machine: &Machine) -> (u64, u64) {
        let cpus = machine.n_cpus() as u64;
        let yields = self.int("yield");
        let computes = self.int("cpu").unwrap_or(if yields.is_none() { cpus } else { 0 });
        (computes, crate::glue::yield_processes(yields.unwrap_or(0), cpus))
    }

    /// Workers of each message thread of a `schbench` workload.
    pub(crate) fn schbench_threads(&self, machine: &Machine) -> u64 {
        let message_threads = self.int("message_threads").unwrap_or(1).max(1);
        let a_cpu_each = (machine.n_cpus() as u64).div_ceil(message_threads);
        self.int("threads").unwrap_or(a_cpu_each)
    }
}

/// When a run ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// When the workload is done.
    Done,
    /// After so many simulated nanoseconds.
    Time(u64),
}

impl std::fmt::Display for Until {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Until::Done => f.write_str("done"),
            Until::Time(ns) => f.write_str(&crate::units::show_time(*ns)),
        }
    }
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
    /// Its standard deviation over the published runs, if stated.
    pub sd: Option<f64>,
    /// Where it was published.
    pub source: String,
    /// True if a constant was fitted to it, so that agreeing with it proves nothing.
    pub calibrated: bool,
}

/// One run of one variant with one seed.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// Name of the scenario, for messages.
    pub scenario: String,
    /// The point of a sweep, for messages; empty outside of one.
    pub at: String,
    /// Name of the variant, for messages.
    pub variant: String,
    /// Machine.
    pub machine: Arc<Machine>,
    /// Policy.
    pub policy: PolicyKind,
    /// Kernel version whose rules apply.
    pub rules: Option<&'static str>,
    /// Feature toggles that the scenario states.
    pub features: Vec<Feature>,
    /// Tunables that the scenario states.
    pub tunables: Vec<(&'static str, Value)>,
    /// Properties of the workload's workqueue that the scenario states.
    pub workqueue: Vec<(&'static str, Value)>,
    /// Workload.
    pub workload: WorkloadSpec,
    /// The highest load that is searched, if one is.
    pub find: Option<Find>,
    /// End of the run.
    pub until: Until,
    /// Seed.
    pub seed: u64,
}

impl RunSpec {
    /// The fingerprint of all that decides what the run comes to, but for the program and the
    /// machine, whose fingerprints come as `others`. Names are no part of it.
    pub fn fingerprint(&self, others: &[&str]) -> String {
        let load = &self.workload;
        let policy = (self.policy.name(), self.rules, &self.features, &self.tunables);
        let policy = format!("{policy:?} {:?}", self.workqueue);
        let workload = format!("{} {:?} {:?}", load.def.kind, load.values, load.changes);
        let run = format!("{:?} {:?} {}", self.find, self.until, self.seed);
        let own = [policy.as_str(), &workload, &load.file_hash, &run];
        fingerprint(others.iter().copied().chain(own))
    }

    /// The fingerprint of its machine.
    pub fn machine_fingerprint(&self) -> String {
        fingerprint([format!("{:?}", self.machine).as_str()])
    }

    /// True if a feature is on: as the scenario says, else by the kernel's default.
    pub fn feature(&self, name: &str) -> bool {
        let stated = self.features.iter().find(|f| f.name == name).map(|f| f.on);
        let default = || crate::registry::feature(name)?.default(self.rules);
        stated.or_else(default).unwrap_or(false)
    }

    /// The value of a tunable, if the scenario states it.
    pub fn tunable(&self, name: &str) -> Option<&Value> {
        self.tunables.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}
