//! One run: its policy, its workload and its seed, and what is asked of it.

use crate::bpf_policy::BpfPolicy;
use crate::cgroups;
use crate::find::Find;
use crate::glue::Machine;
use crate::hash::digest;
use crate::output::{RunError, RunOutput};
use crate::registry::features::feature;
use crate::registry::key::Class;
use crate::workload::{Load, WorkloadSpec};
use input::Value;
use policies::fair::GroupSpec;
use sim_core::{Ns, Observer, Program, World};
use std::sync::Arc;

/// One scheduling policy.
#[derive(Clone, Copy, Debug)]
pub struct PolicyDef {
    /// The name in a scenario.
    pub name: &'static str,
    /// Kernel versions whose rules are modeled, the default one first; empty if it has none.
    pub rules: &'static [&'static str],
    /// Whose features and tunables apply.
    pub class: Class,
    /// One line for people.
    pub help: &'static str,
    /// Says how the policy is built: runs a job with it ([`Job::with`]).
    pub(crate) run: fn(Job<'_>) -> Result<RunOutput, RunError>,
}

/// A run to be done, once its policy is there.
pub(crate) struct Job<'a> {
    pub spec: &'a RunSpec,
    pub watch: Watch<'a>,
    /// Is told now and then which share of the run is done.
    pub progress: &'a dyn Fn(f64),
}

/// What looks at a run besides the metrics' own recorder. It changes nothing.
pub(crate) enum Watch<'a> {
    /// Nothing: the metrics are all that is asked for.
    Nobody,
    /// An observer of each event: a trace, a profile.
    Observer(&'a mut dyn Observer),
    /// A look from time to time.
    Sampler(Sampler<'a>),
}

/// Looks at the world and the program at regular instants, the last of which is the end.
pub(crate) struct Sampler<'a> {
    /// From one look to the next, ns.
    pub every_ns: Ns,
    /// The look.
    pub look: &'a mut dyn FnMut(&World, &dyn Program),
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
    /// The scheduler itself, if it is a BPF object.
    pub bpf: Option<Arc<BpfPolicy>>,
    /// Kernel version whose rules apply.
    pub rules: Option<&'static str>,
    /// Feature toggles that the scenario states.
    pub features: Vec<Feature>,
    /// Tunables that the scenario states.
    pub tunables: Vec<(&'static str, Value)>,
    /// Commands that run under SCHED_EXT, beside EEVDF; none: all do, if the policy is such a one.
    pub sched_ext: Vec<String>,
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
    /// The digest of all that decides what the run comes to, but for the program and the machine,
    /// whose digests come as `others`. Names are no part of it.
    pub fn digest(&self, others: &[&str]) -> String {
        let load = &self.workload;
        let policy = (self.policy.name(), self.rules, &self.features, &self.tunables);
        let policy = format!("{policy:?} {:?}", self.workqueue);
        let workload = format!("{} {:?} {:?}", load.def.kind, load.values, load.changes);
        let run = format!("{:?} {:?} {}", self.find, self.until, self.seed);
        let own = [policy.as_str(), &workload, &load.file_hash, &run];
        let bpf = self.bpf.as_ref().map(|bpf| bpf.fingerprint());
        let partial = (!self.sched_ext.is_empty()).then(|| format!("{:?}", self.sched_ext));
        let cgroups = (!load.cgroups.is_empty()).then(|| format!("{:?}", load.cgroups));
        let some = partial.as_deref().into_iter().chain(cgroups.as_deref());
        digest(others.iter().copied().chain(own).chain(bpf).chain(some))
    }

    /// The digest of its machine.
    pub fn machine_digest(&self) -> String {
        digest([format!("{:?}", self.machine).as_str()])
    }

    /// True if a feature is on: as the scenario says, else by the kernel's default.
    pub fn feature(&self, name: &str) -> bool {
        let stated = self.features.iter().find(|f| f.name == name).map(|f| f.on);
        let default = || feature(name)?.default(self.rules);
        stated.or_else(default).unwrap_or(false)
    }

    /// The value of a tunable, if the scenario states it.
    pub fn tunable(&self, name: &str) -> Option<&Value> {
        self.tunables.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// A tunable that is a whole number, if the scenario states it.
    pub(crate) fn tunable_int(&self, name: &str) -> Option<i64> {
        self.tunable(name).and_then(Value::int)
    }

    /// The task groups of the workload, an outer one before what is in it. None: all tasks are in
    /// the root group.
    pub(crate) fn groups(&self) -> Vec<GroupSpec> {
        cgroups::groups(&self.workload)
    }

    /// The workload on the machine.
    pub(crate) fn load(&self) -> Load<'_> {
        let (spec, machine) = (&self.workload, &*self.machine);
        let (workqueue, rules) = (&*self.workqueue, self.rules);
        Load { spec, machine, workqueue, rules, seed: self.seed }
    }
}
