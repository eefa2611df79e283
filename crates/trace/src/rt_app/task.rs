//! Thread objects, their phases and events.

use super::Reader;
use super::object::{Table, fault, integer, span, string, twice, wrong_type};
use input::{Fault, did_you_mean};
use jsonc_parser::ast::{Object, ObjectProp, Value};
use sim_core::SchedPolicy;
use std::ops::Range;
use topology::{CpuId, CpuSet};
use workloads::rt_app::{Attrs, Event, PhaseSpec, TaskSpec};

/// The longest time of an event, us: a day.
const US_MAX: i64 = 86_400_000_000;
const LOOPS_MAX: i64 = 1_000_000_000_000;
const INSTANCES_MAX: i64 = 100_000;

/// Properties of a thread object beside those that a phase has, too.
const TASK_KEYS: [&str; 4] = ["instance", "delay", "phases", TASKGROUP];
const TASKGROUP: &str = "taskgroup";
/// Properties of a phase.
const PHASE_KEYS: [&str; 5] = ["loop", "cpus", "policy", "priority", "dl-runtime"];
/// Properties that rt-app has and the simulator has not.
const UNSUPPORTED_KEYS: [&str; 5] =
    ["dl-period", "dl-deadline", "util_min", "util_max", "nodes_membind"];
/// Events; a name stands before those that it begins with (`runtime` before `run`).
const EVENTS: [&str; 14] = [
    "runtime", "run", "sleep", "timer", "lock", "unlock", "wait", "signal", "broad", "sync",
    "barrier", "suspend", "resume", "yield",
];
const FORK: &str = "fork";
/// Events that rt-app has and the simulator has not.
const UNSUPPORTED_EVENTS: [&str; 5] = ["memrun", "mem", "iorun", "sem_post", "sem_wait"];
/// Scheduling policies by their names.
const POLICIES: [(&str, SchedPolicy); 3] = [
    ("SCHED_OTHER", SchedPolicy::Normal),
    ("SCHED_BATCH", SchedPolicy::Batch),
    ("SCHED_IDLE", SchedPolicy::Idle),
];
const UNSUPPORTED_POLICIES: [&str; 3] = ["SCHED_FIFO", "SCHED_RR", "SCHED_DEADLINE"];

/// What events need to know of the object that they stand in.
struct Within<'a> {
    task: &'a str,
    instances: u32,
}

impl Reader {
    pub(super) fn task(&mut self, name: &str, object: &Object<'_>) -> TaskSpec {
        let what = format!("the task `{name}`");
        let table = Table::new(&what, object);
        let mut int = |key, range| table.int(key, range, &mut self.faults);
        let instances = int("instance", 0..=INSTANCES_MAX).unwrap_or(1) as u32;
        let delay_us = int("delay", 0..=US_MAX).unwrap_or(0) as u64;
        let (loops, attrs) = (self.loops(&table), self.attrs(&table));
        let within = Within { task: name, instances };
        let mut task = TaskSpec {
            name: name.to_owned(),
            instances,
            delay_ns: delay_us * 1000,
            loops: loops.unwrap_or(None),
            taskgroup: self.taskgroup(&table),
            attrs: self.with_defaults(attrs),
            phases: Vec::new(),
        };
        let events = self.events(&within, &what, object, &[&TASK_KEYS[..], &PHASE_KEYS].concat());
        if table.get("phases").is_none() {
            // The object is its only phase; so many rounds of it are as many of the thread.
            task.phases.push(PhaseSpec { loops: Some(1), attrs: Attrs::default(), events });
        } else if let Some(phases) = table.object("phases", &mut self.faults) {
            self.phases(&within, phases, &mut task);
            if !events.is_empty() {
                let beside = Fault::at(span(object), format!("{what} has events and `phases`"));
                self.faults.push(beside.help("rt-app drops the events: put them into a phase"));
            }
        }
        task
    }

    fn phases(&mut self, within: &Within<'_>, phases: &Object<'_>, task: &mut TaskSpec) {
        if phases.properties.is_empty() {
            self.faults.push(Fault::at(span(phases), "`phases` is empty"));
        }
        for prop in &phases.properties {
            let what = format!("the phase `{}`", prop.name.as_str());
            let Value::Object(object) = &prop.value else {
                self.faults.push(fault(&prop.value, format!("{what} is not an object")));
                continue;
            };
            let table = Table::new(&what, object);
            let loops = self.loops(&table).unwrap_or(Some(1));
            let attrs = self.attrs(&table);
            let events = self.events(within, &what, object, &PHASE_KEYS);
            task.phases.push(PhaseSpec { loops, attrs, events });
        }
    }

    /// `taskgroup`: the path of a group below the mount of the cpu controller; `/` is its root.
    fn taskgroup(&mut self, table: &Table<'_>) -> Option<u16> {
        let (path, at) = table.text(TASKGROUP, &mut self.faults)?;
        let names = path.strip_prefix('/').map(|names| names.split('/'));
        let is_good = |name: &str| !name.is_empty() && name != "." && name != "..";
        let is_path = path == "/" || names.is_some_and(|mut names| names.all(is_good));
        if !is_path {
            let bad = Fault::at(at, format!("`{TASKGROUP}` is \"{path}\", which is no path"));
            self.faults.push(bad.help("write it from the root on: \"/a/b\""));
            return None;
        }
        self.tables.taskgroup(path)
    }

    /// `loop`: a number of rounds, or -1 for ever.
    fn loops(&mut self, table: &Table<'_>) -> Option<Option<u64>> {
        let loops = table.int("loop", -1..=LOOPS_MAX, &mut self.faults)?;
        if loops == 0
            && let Some(value) = table.get("loop")
        {
            let never = fault(value, "`loop` is 0");
            self.faults.push(never.help("write -1 to loop for ever, or leave the events out"));
        }
        Some(u64::try_from(loops).ok())
    }

    fn attrs(&mut self, table: &Table<'_>) -> Attrs {
        let policy = table.text("policy", &mut self.faults);
        let nice = table.int("priority", -20..=19, &mut self.faults);
        let slice_us = table.int("dl-runtime", 0..=4_000_000, &mut self.faults);
        Attrs {
            policy: policy.and_then(|(name, at)| self.policy("policy", name, at)),
            nice: nice.map(|n| n as i8),
            slice_ns: slice_us.map(|us| us as u32 * 1000),
            cpus: table.get("cpus").and_then(|value| self.cpus(value)),
        }
    }

    fn with_defaults(&self, attrs: Attrs) -> Attrs {
        Attrs { policy: attrs.policy.or(self.default.policy), ..attrs }
    }

    pub(super) fn policy(
        &mut self,
        key: &str,
        name: &str,
        at: Range<usize>,
    ) -> Option<SchedPolicy> {
        let known = POLICIES.iter().find(|(n, _)| *n == name).map(|(_, policy)| *policy);
        if known.is_none() {
            let names = POLICIES.map(|(n, _)| n);
            let bad = if UNSUPPORTED_POLICIES.contains(&name) {
                let message = format!("`{key}`: {name} is not simulated");
                Fault::at(at, message).help(format!("the fair class is: {}", names.join(", ")))
            } else {
                let bad = Fault::at(at, format!("`{key}`: unknown policy `{name}`"));
                bad.help(did_you_mean(name, names))
            };
            self.faults.push(bad);
        }
        known
    }

    fn cpus(&mut self, value: &Value<'_>) -> Option<CpuSet> {
        let Value::Array(array) = value else {
            self.faults.push(wrong_type("cpus", value, "an array of CPUs"));
            return None;
        };
        let valid = 0..=self.n_cpus as i64 - 1;
        let mut set = CpuSet::empty(self.n_cpus);
        for element in &array.elements {
            match integer("cpus", element, &valid) {
                Ok(cpu) => set.insert(CpuId(cpu as u32)),
                Err(bad) => {
                    self.faults.push(bad.help("the machine of the scenario has these CPUs"));
                }
            }
        }
        if array.elements.is_empty() {
            self.faults.push(fault(value, "`cpus` is empty"));
        }
        (!set.is_empty()).then_some(set)
    }

    /// The events of an object, in order; its other keys are checked to be known.
    fn events(
        &mut self,
        within: &Within<'_>,
        what: &str,
        object: &Object<'_>,
        known: &[&str],
    ) -> Vec<Event> {
        let mut events = Vec::new();
        let mut seen: Vec<&str> = Vec::new();
        for prop in &object.properties {
            let key = prop.name.as_str();
            if known.contains(&key) {
                if seen.contains(&key) {
                    self.faults.push(twice(key, span(&prop.name)));
                }
                seen.push(key);
            } else if let Some(kind) = event_kind(key) {
                match self.event(within, kind, prop) {
                    Ok(event) => events.push(event),
                    Err(bad) => self.faults.push(bad),
                }
            } else {
                self.faults.push(unknown(what, prop, known));
            }
        }
        events
    }

    fn event(
        &mut self,
        within: &Within<'_>,
        kind: &str,
        prop: &ObjectProp<'_>,
    ) -> Result<Event, Fault> {
        let (key, value) = (prop.name.as_str(), &prop.value);
        let time = || integer(key, value, &(0..=US_MAX)).map(|us| us as u64 * 1000);
        let text = || string(key, value).map(|(text, _)| text);
        Ok(match kind {
            "run" => Event::Run(time()?),
            "runtime" => Event::Runtime(time()?),
            "sleep" => Event::Sleep(time()?),
            "timer" => self.timer(key, value)?,
            "lock" => Event::Lock(self.tables.mutex(text()?)),
            "unlock" => Event::Unlock(self.tables.mutex(text()?)),
            "signal" => Event::Signal(self.tables.cond(text()?)),
            "broad" => Event::Broadcast(self.tables.cond(text()?)),
            "wait" => {
                let (cond, mutex) = self.cond_and_mutex(key, value)?;
                Event::Wait(cond, mutex)
            }
            "sync" => {
                let (cond, mutex) = self.cond_and_mutex(key, value)?;
                Event::Sync(cond, mutex)
            }
            "barrier" => Event::Barrier(self.tables.barrier(text()?, within.instances)),
            "suspend" => {
                // Where the name is empty workgen puts the task's.
                let name = Some(text()?).filter(|n| !n.is_empty()).unwrap_or(within.task);
                Event::Suspend(self.tables.cond(name), self.tables.mutex(name))
            }
            "resume" => Event::Resume(self.tables.cond(text()?), self.tables.mutex(text()?)),
            "yield" => text().map(|_| Event::Yield)?,
            _ => Event::Fork(self.task_named(text()?, span(value))),
        })
    }

    fn timer(&mut self, key: &str, value: &Value<'_>) -> Result<Event, Fault> {
        let table = reference(key, value, &["ref", "period", "mode"], &mut self.faults)?;
        let name = table.required_text("ref", &mut self.faults);
        let period = table.int("period", 0..=US_MAX, &mut self.faults);
        if table.get("period").is_none() {
            self.faults.push(fault(value, format!("`{key}` has no `period`")));
        }
        let mode = table.text("mode", &mut self.faults);
        let absolute = match mode {
            None | Some(("relative", _)) => false,
            Some(("absolute", _)) => true,
            Some((other, at)) => {
                let bad = Fault::at(at, format!("`mode` is \"{other}\""));
                self.faults.push(bad.help("write \"relative\" or \"absolute\""));
                false
            }
        };
        let timer = self.tables.timer(name.unwrap_or_default());
        Ok(Event::Timer { timer, period_ns: period.unwrap_or(0) as u64 * 1000, absolute })
    }

    fn cond_and_mutex(&mut self, key: &str, value: &Value<'_>) -> Result<(u32, u32), Fault> {
        let table = reference(key, value, &["ref", "mutex"], &mut self.faults)?;
        let cond = table.required_text("ref", &mut self.faults).unwrap_or_default();
        let mutex = table.required_text("mutex", &mut self.faults).unwrap_or_default();
        Ok((self.tables.cond(cond), self.tables.mutex(mutex)))
    }
}

/// The object that an event with several names has for a value.
fn reference<'a>(
    key: &'a str,
    value: &'a Value<'a>,
    known: &[&str],
    faults: &mut Vec<Fault>,
) -> Result<Table<'a>, Fault> {
    let Value::Object(object) = value else {
        return Err(wrong_type(key, value, "an object"));
    };
    let table = Table::new(key, object);
    table.check_keys(known, faults);
    Ok(table)
}

/// The kind of event that a key stands for: its name, alone or with a suffix that does not go on
/// with the word.
fn event_kind(key: &str) -> Option<&'static str> {
    let names = EVENTS.iter().chain([&FORK]);
    names.copied().find(|name| is_name_with_suffix(key, name))
}

fn is_name_with_suffix(key: &str, name: &str) -> bool {
    let suffix = key.strip_prefix(name);
    suffix.is_some_and(|s| !s.starts_with(|c: char| c.is_alphabetic()))
}

/// The fault of a key that is neither a property nor an event.
fn unknown(what: &str, prop: &ObjectProp<'_>, known: &[&str]) -> Fault {
    let (key, at) = (prop.name.as_str(), span(&prop.name));
    if UNSUPPORTED_EVENTS.iter().any(|name| is_name_with_suffix(key, name)) {
        return Fault::at(at, format!("the event `{key}` is not simulated"));
    }
    if UNSUPPORTED_KEYS.contains(&key) {
        return Fault::at(at, format!("`{key}` is not simulated"));
    }
    if key == TASKGROUP {
        let fault = Fault::at(at, "a thread stays in one `taskgroup` here");
        return fault.help("name it beside `phases`");
    }
    let names = EVENTS.iter().chain([&FORK]).chain(known).copied();
    let fault = Fault::at(at, format!("{what} has neither an event nor a property `{key}`"));
    fault.help(did_you_mean(key, names))
}
