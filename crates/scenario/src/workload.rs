//! A workload: what the row of a kind says, and what a scenario says of one.
//!
//! Rows are in `registry/workloads`, one file per kind: keys with units and bounds, limits against
//! the machine, and how the keys become a program.

use crate::cgroups::{Cgroup, GROUP};
use crate::glue::service::Spec as Service;
use crate::glue::{Machine, Recording, RtAppFile};
use input::{KeyDef, Value};
use sim_core::Program;
use std::sync::Arc;

/// One kind of workload.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadDef {
    /// The value of `kind`.
    pub kind: &'static str,
    /// True if it comes to an end, so that `until = "done"` makes sense. Of a workload that is made
    /// from a file, the file says so.
    pub(crate) ends: fn(&WorkloadSpec) -> bool,
    /// True if it uses a workqueue, whose properties are the variants' matter.
    pub workqueue: bool,
    /// True if all its tasks are kernel threads, which are in the root group.
    pub kernel_threads: bool,
    /// True if its file names cgroups, of which the scenario says what they are given.
    pub cgroups: bool,
    /// One line for people.
    pub help: &'static str,
    /// Its keys.
    pub keys: &'static [KeyDef],
    /// Keys that say how the kernel serves it: they may differ between variants, where all else
    /// is the same.
    pub kernel_keys: &'static [KeyDef],
    /// What it may not ask for, and not of this machine. Values that are there are right by
    /// themselves; a key that must be given may be missing.
    pub(crate) limits: &'static [Limit],
    /// The program that its tasks run.
    pub(crate) build: Build,
}

/// Looks for values that are too much together, or for the machine.
pub(crate) type Limit = fn(&Load<'_>) -> Option<Excess>;
/// Makes the program of a workload.
pub(crate) type Build = fn(&Load<'_>) -> Box<dyn Program>;

impl WorkloadDef {
    /// A kind of user tasks that never ends and has no limits; rows say what differs.
    pub(crate) const fn new(
        kind: &'static str,
        help: &'static str,
        keys: &'static [KeyDef],
        build: Build,
    ) -> Self {
        Self {
            kind,
            ends: |_| false,
            workqueue: false,
            kernel_threads: false,
            cgroups: false,
            help,
            keys,
            kernel_keys: &[],
            limits: &[],
            build,
        }
    }

    /// All its keys, those that it shares with other kinds included.
    pub fn all_keys(&self) -> impl Iterator<Item = &'static KeyDef> {
        self.keys.iter().chain(self.kernel_keys).chain(COMMON)
    }

    /// The keys that it shares with other kinds.
    pub fn common(&self) -> &'static [KeyDef] {
        if self.kernel_threads { &[] } else { COMMON }
    }
}

/// Keys of every kind of workload that has user tasks.
pub const COMMON: &[KeyDef] = GROUP;

/// Tasks of a workload at most.
pub const TASKS_MAX: i64 = 1_000_000;

/// Values by their keys, as a scenario states them.
pub(crate) type Values = [(&'static str, Value)];

/// The stated value of a key.
pub(crate) fn stated<'a>(values: &'a Values, name: &str) -> Option<&'a Value> {
    values.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
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
    /// Digest of that file; empty without one.
    pub file_hash: String,
    /// What is changed of its workqueue during the run, in the file's order.
    pub changes: Vec<WorkqueueChange>,
    /// What is said of the cgroups that its file names.
    pub cgroups: Vec<Cgroup>,
}

/// A change of the workload's workqueue, the same one in all variants.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkqueueChange {
    /// When, ns.
    pub at: u64,
    /// What, by name.
    pub values: Vec<(&'static str, Value)>,
}

/// A file that a workload is made from, or as much text in the scenario.
#[derive(Clone, Debug)]
pub enum WorkloadFile {
    /// rt-app's JSON.
    RtApp(Arc<RtAppFile>),
    /// A recording by perf, trace-cmd or Perfetto.
    Recording {
        /// What it holds.
        recording: Arc<Recording>,
        /// True if it was made on the scenario's machine.
        recorded_here: bool,
    },
    /// The roles of a service, which the scenario itself tells.
    Service {
        /// Its roles.
        spec: Arc<Service>,
        /// The recording that they were just taken from, on whose machine they run.
        fitted_to: Option<Arc<Recording>>,
    },
}

impl WorkloadSpec {
    /// The fingerprint of what tasks do, the same for all variants: runs of two scenarios with the
    /// same one and the same seed meet the same arrivals and service times.
    pub fn fingerprint(&self) -> String {
        let stated = format!("{} {:?}", self.def.kind, self.values);
        crate::hash::fingerprint([stated.as_str(), &self.file_hash])
    }

    /// True if it comes to an end by itself, as far as its file, if it has one, could be read.
    pub fn ends(&self) -> bool {
        (self.def.ends)(self)
    }

    /// Sessions of a recording or a service beside that of what was measured. Each of them is a
    /// task group, as on a machine with autogroups.
    pub(crate) fn other_sessions(&self) -> usize {
        match &self.file {
            Some(WorkloadFile::Recording { recording, .. }) => recording.other_sessions.into(),
            Some(WorkloadFile::Service { spec, .. }) => {
                spec.roles.iter().map(|role| role.session.into()).max().unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// Names of the commands that are told one by one: a recording's, or a service's.
    pub(crate) fn commands(&self) -> Option<Vec<String>> {
        match self.file.as_ref()? {
            WorkloadFile::Recording { recording, .. } => {
                let name = |(name, _): &(u16, _)| recording.names[usize::from(*name)].clone();
                Some(recording.commands.iter().map(name).collect())
            }
            WorkloadFile::Service { spec, .. } => {
                let mut names: Vec<String> = Vec::new();
                for role in spec.roles.iter().filter(|role| !role.background) {
                    if !names.contains(&role.comm) {
                        names.push(role.comm.clone());
                    }
                }
                Some(names)
            }
            WorkloadFile::RtApp(_) => None,
        }
    }

    /// Takes these values instead of what the scenario says of all variants.
    pub(crate) fn set(&mut self, values: &Values) {
        self.values.retain(|(name, _)| stated(values, name).is_none());
        self.values.extend_from_slice(values);
    }

    /// The value of a key: what the scenario says, else the registry's default; `None` if the
    /// default depends on the machine.
    ///
    /// # Panics
    /// If the registry has no such key for this kind of workload.
    pub fn get(&self, key: &str) -> Option<Value> {
        let def = self.def.all_keys().find(|def| def.name == key);
        let def = def.unwrap_or_else(|| panic!("`{}` has no key `{key}`", self.def.kind));
        stated(&self.values, key).cloned().or_else(|| def.default.value())
    }

    /// A count or a time in ns, as [`Self::get`].
    pub fn int(&self, key: &str) -> Option<u64> {
        self.get(key).and_then(|value| value.int()).map(|n| n as u64)
    }
}

/// A workload on a machine: what a program is built from, and limits are checked against.
pub(crate) struct Load<'a> {
    pub spec: &'a WorkloadSpec,
    pub machine: &'a Machine,
    /// What the variant says of the workload's workqueue.
    pub workqueue: &'a Values,
    /// Kernel version whose rules apply.
    pub rules: Option<&'static str>,
    /// Where the random numbers of the program come from.
    pub seed: u64,
}

const HAS_VALUE: &str = "the key is required or has a default in the registry";

/// Values of keys: what the scenario says, else the registry's default.
impl Load<'_> {
    /// A whole number.
    pub fn int(&self, key: &str) -> u64 {
        self.spec.int(key).expect(HAS_VALUE)
    }

    /// A whole number of things, all of which fit into the simulator's memory.
    pub fn count(&self, key: &str) -> u32 {
        self.int(key) as u32
    }

    /// A whole number, if the scenario says it or its default is the same for all machines.
    pub fn maybe_int(&self, key: &str) -> Option<u64> {
        self.spec.int(key)
    }

    /// A number.
    pub fn float(&self, key: &str) -> f64 {
        self.maybe_float(key).expect(HAS_VALUE)
    }

    /// A number, as [`Self::maybe_int`].
    pub fn maybe_float(&self, key: &str) -> Option<f64> {
        self.spec.get(key).and_then(|value| value.float())
    }

    /// Yes or no.
    pub fn on(&self, key: &str) -> bool {
        self.spec.get(key).and_then(|value| value.bool()).expect(HAS_VALUE)
    }

    /// One of the words that the key takes.
    pub fn word(&self, key: &str) -> String {
        self.spec.get(key).map(|value| value.to_string()).expect(HAS_VALUE)
    }

    /// A time that the tool takes in us, ns.
    pub fn us(&self, key: &str) -> u64 {
        1000 * self.int(key)
    }

    /// CPUs of the machine.
    pub fn n_cpus(&self) -> u64 {
        self.machine.n_cpus() as u64
    }
}

/// What a scenario asks too much of: the key to blame, and what to say about it.
pub(crate) struct Excess {
    pub key: &'static str,
    pub message: String,
    pub label: Option<String>,
    pub help: Option<&'static str>,
}

impl Excess {
    /// A complaint that goes without further words.
    pub fn new(key: &'static str, message: String) -> Self {
        Self { key, message, label: None, help: None }
    }

    /// Says what would be right.
    pub fn label(mut self, label: String) -> Self {
        self.label = Some(label);
        self
    }

    /// Says what to do.
    pub fn help(mut self, help: &'static str) -> Self {
        self.help = Some(help);
        self
    }
}

/// Memory of a thread, with the kernel's part (stack, task_struct), and of a small process, which
/// has a MiB of its own, bytes. General knowledge, unverified.
pub(crate) const THREAD_BYTES: u64 = 64 << 10;
pub(crate) const PROCESS_BYTES: u64 = (1 << 20) + (32 << 10);
/// A pair of a client and a server process, each with the default buffers of a socket for data and
/// one for control, bytes.
pub(crate) const SOCKET_PAIR_BYTES: u64 = 2 * (PROCESS_BYTES + 2 * 212_992);

/// The `key` says how many of `what` there are, with so many bytes each: the memory is enough.
pub(crate) fn fits(
    load: &Load<'_>,
    key: &'static str,
    what: &str,
    bytes_each: u64,
) -> Option<Excess> {
    let n = load.maybe_int(key)?;
    let gib = load.machine.memory_gib;
    let fits = (u64::from(gib) << 30) / bytes_each.max(1);
    let mib = bytes_each.div_ceil(1 << 20);
    (n > fits).then(|| {
        let message = format!("{n} {what} of {mib} MiB each do not fit into {gib} GiB of memory");
        Excess::new(key, message)
            .label(format!("there is room for {fits}"))
            .help("the machine's memory is its `memory_gib`")
    })
}

/// The `key` says how many groups, called `what`, of so many tasks each there are: all together are
/// no more than are simulated.
pub(crate) fn few_tasks(
    load: &Load<'_>,
    key: &'static str,
    what: &str,
    tasks_each: u64,
) -> Option<Excess> {
    let groups = load.maybe_int(key)?;
    let all = TASKS_MAX as u64;
    let most = all / tasks_each;
    (groups > most).then(|| {
        let message = format!("{groups} {what} of {tasks_each} tasks; at most {all} are simulated");
        Excess::new(key, message).label(format!("of this size: at most {most}"))
    })
}

/// So many tasks of a `key` beside so many others are no more than are simulated.
pub(crate) fn few_in_all(key: &'static str, tasks: u64, others: u64) -> Option<Excess> {
    (tasks + others > TASKS_MAX as u64).then(|| {
        let message = format!("{} tasks; at most {TASKS_MAX} are simulated", tasks + others);
        Excess::new(key, message).label(format!("beside {others} others"))
    })
}

/// Requests or items of all issuers that are simulated at most: 1 GiB.
const IN_FLIGHT_MAX: u64 = 10_000_000;

/// What so many issuers have in flight, each as much as `key` says, fits into the simulator's
/// memory.
pub(crate) fn few_in_flight(load: &Load<'_>, key: &'static str, issuers: u64) -> Option<Excess> {
    let each = load.maybe_int(key)?;
    let most = IN_FLIGHT_MAX / issuers.max(1);
    (each > most).then(|| {
        let message = format!(
            "{issuers} issuers have {} in flight; at most {IN_FLIGHT_MAX} are simulated",
            issuers * each
        );
        Excess::new(key, message).label(format!("so many issuers: at most {most}"))
    })
}
