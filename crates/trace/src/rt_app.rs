//! rt-app's JSON files: read, checked, and turned into a [`Spec`].
//!
//! The syntax is what rt-app and workgen accept together: comments, trailing commas, single
//! quotes, and events in the order of their keys. A second event of a kind has the same key again
//! (workgen numbers them) or one with a suffix: `run`, `run1`, `run_b`.
//!
//! rt-app passes over what it does not know. Here whatever could change what the threads do is a
//! fault, with its place: misspelled keys, events that the simulator does not have, numbers out of
//! range. Keys that only concern rt-app's logs are checked and have no effect.

mod object;
mod tables;
mod task;

use input::{Fault, did_you_mean};
use jsonc_parser::ast::{Object, Value};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use object::{Table, fault, integer, span};
use tables::{TASKGROUPS_MAX, Tables};
use workloads::rt_app::{Attrs, Spec};

/// More threads than this are taken for a mistake.
const THREADS_MAX: u64 = 100_000;
/// More kinds of threads than this are taken for a mistake.
const KINDS_MAX: usize = 10_000;
/// The longest duration, s: a day.
const DURATION_MAX_S: i64 = 86_400;

/// Objects of a file.
const OBJECTS: [&str; 3] = ["tasks", "resources", "global"];
/// Keys of `global` that change what the threads do.
const GLOBAL: [&str; 4] = ["duration", "calibration", "default_policy", "pi_enabled"];
/// Keys of `global` about logs, and about what events do that the simulator does not have.
const GLOBAL_WITHOUT_EFFECT: [&str; 10] = [
    "lock_pages",
    "logdir",
    "log_basename",
    "log_size",
    "ftrace",
    "gnuplot",
    "frag",
    "io_device",
    "mem_buffer_size",
    "cumulative_slack",
];

/// What was read so far, and the faults in it.
struct Reader {
    faults: Vec<Fault>,
    tables: Tables,
    /// CPUs of the machine.
    n_cpus: usize,
    /// The policy of threads that do not name one.
    default: Attrs,
}

/// Reads a file for a machine with `n_cpus` CPUs.
///
/// # Errors
/// All faults of the text, in its order. A text that is not JSON yields its first syntax error.
pub fn read(text: &str, n_cpus: usize) -> Result<Spec, Vec<Fault>> {
    let options = ParseOptions {
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        ..ParseOptions::default()
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options).map_err(|e| {
        let range = e.range();
        vec![Fault::at(
            range.start..range.end,
            format!("not JSON as rt-app reads it: {}", e.kind()),
        )]
    })?;
    let Some(value) = parsed.value else {
        let empty = Fault::whole("the file is empty");
        return Err(vec![empty]);
    };
    let mut reader =
        Reader { faults: Vec::new(), tables: Tables::default(), n_cpus, default: Attrs::default() };
    let spec = reader.file(&value);
    let mut faults = reader.faults;
    faults.sort_by_key(|f| f.span.as_ref().map_or(0, |s| s.start));
    if faults.is_empty() { Ok(spec) } else { Err(faults) }
}

impl Reader {
    fn file(&mut self, value: &Value<'_>) -> Spec {
        let mut spec = Spec::default();
        let Value::Object(root) = value else {
            self.faults.push(fault(value, "an rt-app file is an object"));
            return spec;
        };
        let root = Table::new("the file", root);
        root.check_keys(&OBJECTS, &mut self.faults);
        if let Some(global) = root.object("global", &mut self.faults) {
            self.global(global, &mut spec);
        }
        if let Some(resources) = root.object("resources", &mut self.faults) {
            self.resources(resources);
        }
        match root.object("tasks", &mut self.faults) {
            Some(tasks) => self.tasks(tasks, &mut spec),
            None if root.get("tasks").is_none() => {
                let nothing = fault(value, "the file has no `tasks`");
                self.faults.push(nothing.help("`tasks` holds one object per kind of thread"));
            }
            None => {}
        }
        let threads = spec.n_threads();
        if threads > THREADS_MAX {
            let message = format!("{threads} threads; at most {THREADS_MAX} are simulated");
            self.faults.push(fault(value, message));
        }
        self.tables.fill(&mut spec);
        if spec.taskgroups.len() > TASKGROUPS_MAX {
            let message = format!("more than {TASKGROUPS_MAX} task groups are not simulated");
            self.faults.push(fault(value, message));
        }
        spec
    }

    fn global(&mut self, global: &Object<'_>, spec: &mut Spec) {
        let global = Table::new("`global`", global);
        let known: Vec<&str> = GLOBAL.iter().chain(&GLOBAL_WITHOUT_EFFECT).copied().collect();
        global.check_keys(&known, &mut self.faults);
        let duration = global.int("duration", -1..=DURATION_MAX_S, &mut self.faults);
        // rt-app runs without a limit for -1; 0 is taken for the same.
        spec.duration_ns = duration.filter(|s| *s > 0).map(|s| s as u64 * 1_000_000_000);
        if let Some(value) = global.get("calibration") {
            spec.calibration_ns = self.calibration(value);
        }
        if let Some(name) = global.text("default_policy", &mut self.faults) {
            self.default.policy = self.policy("default_policy", name.0, name.1);
        }
        if global.bool("pi_enabled", &mut self.faults) == Some(true)
            && let Some(value) = global.get("pi_enabled")
        {
            let message = "`pi_enabled`: mutexes with priority inheritance are not simulated";
            self.faults.push(fault(value, message).help("set it to false"));
        }
    }

    /// ns per loop; `None` for the name of a CPU, on which rt-app would measure it.
    fn calibration(&mut self, value: &Value<'_>) -> Option<u32> {
        if let Value::StringLit(name) = value {
            let digits = name.value.strip_prefix("CPU").unwrap_or("");
            if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                let bad = fault(value, format!("`calibration` is \"{}\"", name.value));
                self.faults.push(bad.help("write ns per loop, or \"CPU0\""));
            }
            return None;
        }
        match integer("calibration", value, &(1..=1_000_000)) {
            Ok(ns) => Some(ns as u32),
            Err(bad) => {
                self.faults.push(bad);
                None
            }
        }
    }

    /// `resources` only declares names that events use anyway.
    fn resources(&mut self, resources: &Object<'_>) {
        for prop in &resources.properties {
            if !matches!(prop.value, Value::Object(_)) {
                let message = format!("the resource `{}` is not an object", prop.name.as_str());
                self.faults.push(fault(&prop.value, message));
            }
        }
    }

    fn tasks(&mut self, tasks: &Object<'_>, spec: &mut Spec) {
        let names: Vec<&str> = tasks.properties.iter().map(|p| p.name.as_str()).collect();
        self.tables.tasks = names.iter().map(|name| (*name).to_owned()).collect();
        if names.is_empty() {
            let none = Fault::at(span(tasks), "`tasks` is empty");
            self.faults.push(none.help("rt-app would end at once"));
        }
        if names.len() > KINDS_MAX {
            let message =
                format!("{} kinds of threads; at most {KINDS_MAX} are simulated", names.len());
            self.faults.push(Fault::at(span(&tasks.properties[KINDS_MAX].name), message));
            return;
        }
        for (i, prop) in tasks.properties.iter().enumerate() {
            let name = prop.name.as_str();
            if names[..i].contains(&name) {
                let message = format!("the task `{name}` is given twice");
                self.faults.push(Fault::at(span(&prop.name), message));
            }
            if name.trim().is_empty() {
                self.faults.push(Fault::at(span(&prop.name), "a task needs a name"));
            }
            match &prop.value {
                Value::Object(object) => spec.tasks.push(self.task(name, object)),
                other => {
                    let message = format!("the task `{name}` is not an object");
                    self.faults.push(fault(other, message));
                }
            }
        }
    }

    /// The task that `fork` names.
    fn task_named(&mut self, name: &str, at: std::ops::Range<usize>) -> u32 {
        let known = self.tables.tasks.iter().position(|task| task == name);
        known.map(|i| i as u32).unwrap_or_else(|| {
            let help = did_you_mean(name, self.tables.tasks.iter().map(String::as_str));
            self.faults.push(Fault::at(at, format!("there is no task `{name}`")).help(help));
            0
        })
    }
}

#[cfg(test)]
mod tests;
