//! A policy that is a BPF object: `policy = { bpf = "FILE.bpf.o", … }`.

use crate::output::RunError;
use policies::ext::Rules;
pub use policies::ext::bpf::inspect as inspect_object;
pub(crate) use policies::ext::bpf::{DataKind, Object};
use policies::ext::bpf::{
    Fill, FillError, Refused, Scheduler, SetError, Settings, Start, UserHalfDef, is_partial,
};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use topology::Machine;

/// A file with an object, as it was read.
#[derive(Clone, Debug)]
pub(crate) struct ObjectFile {
    /// What is in it.
    pub object: Arc<Object>,
    /// Fingerprint of its bytes.
    pub hash: String,
}

/// Objects by what scenarios call their files.
pub(crate) type ObjectFiles = BTreeMap<String, ObjectFile>;

/// A scheduler that a scenario states: its object, with its variables set.
#[derive(Clone)]
pub struct BpfPolicy {
    object: Object,
    /// Fingerprint of the file, and what the scenario has changed.
    said: String,
    ps_per_insn: u64,
    /// Those that the scenario adds.
    flags: u64,
    /// Calls before the start.
    start: Vec<Start>,
    /// Variables that are set once the machine is known.
    fills: Vec<Fill>,
    /// Its halves in user space.
    user: Vec<&'static UserHalfDef>,
}

impl BpfPolicy {
    /// The object of a file, as it is.
    pub(crate) fn new(file: &ObjectFile) -> Self {
        let (object, said) = (Object::clone(&file.object), file.hash.clone());
        Self {
            object,
            said,
            ps_per_insn: 0,
            flags: 0,
            start: Vec::new(),
            fills: Vec::new(),
            user: Vec::new(),
        }
    }

    /// Names of the object's variables.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &str> {
        self.object.variables().keys().map(String::as_str)
    }

    /// True if the program may write the variable, or the part of it, while it runs.
    pub(crate) fn is_writable(&self, name: &str) -> Option<bool> {
        let end = name.find(['.', '[']).unwrap_or(name.len());
        let variable = self.object.variables().get(&name[..end])?;
        Some(variable.kind != DataKind::ReadOnly)
    }

    /// Sets a variable, or a part of it: now, or as soon as the machine is known.
    pub(crate) fn set(&mut self, fill: Fill, machine: Option<&Machine>) -> Result<(), FillError> {
        if let Some(machine) = machine {
            fill.apply(&mut self.object.clone(), machine)?;
        }
        // Writing to a string does not fail.
        let _ = write!(self.said, " {fill:?}");
        self.fills.push(fill);
        Ok(())
    }

    /// Gives an array at the end of its section so many elements.
    pub(crate) fn resize(&mut self, name: &str, n: u32) -> Result<(), SetError> {
        self.object.resize(name, n)?;
        self.note(name, n.into());
        Ok(())
    }

    /// Has each instruction take simulated time, ns.
    pub(crate) fn set_ns_per_insn(&mut self, ns: f64) {
        self.ps_per_insn = (ns * 1000.0).round() as u64;
        self.note("ns_per_insn", self.ps_per_insn as i64);
    }

    /// Sets flags that the scheduler's loader sets.
    pub(crate) fn set_flags(&mut self, flags: u64) {
        self.flags = flags;
        self.note("flags", flags as i64);
    }

    /// True if it takes only tasks that ask for it (`SCX_OPS_SWITCH_PARTIAL`).
    pub(crate) fn switches_partially(&self) -> bool {
        is_partial(&self.object, self.flags)
    }

    /// Has a program called before the scheduler starts.
    pub(crate) fn add_start(&mut self, start: Start) {
        // Writing to a string does not fail.
        let _ = write!(self.said, " {start:?}");
        self.start.push(start);
    }

    /// Gives it a half in user space.
    pub(crate) fn add_user(&mut self, def: &'static UserHalfDef) {
        // Writing to a string does not fail.
        let _ = write!(self.said, " user {}", def.name);
        self.user.push(def);
    }

    fn note(&mut self, what: &str, value: i64) {
        // Writing to a string does not fail.
        let _ = write!(self.said, " {what}={value}");
    }

    /// What decides the results of its runs, as a text.
    pub(crate) fn fingerprint(&self) -> &str {
        &self.said
    }

    /// Loads it for a machine.
    pub(crate) fn load(
        &self,
        rules: Option<&str>,
        machine: &Machine,
    ) -> Result<Scheduler, Refused> {
        let (ps_per_insn, flags) = (self.ps_per_insn, self.flags);
        let (rules, n_cpus) = (ext_rules(rules), machine.n_cpus() as u32);
        let mut object = self.object.clone();
        self.fills.iter().try_for_each(|fill| fill.apply(&mut object, machine))?;
        let settings = Settings { rules, n_cpus, ps_per_insn, flags };
        Scheduler::load_with_user(&object, settings, &self.start, &self.user)
    }
}

/// The rules of a kernel for sched_ext.
pub(crate) fn ext_rules(rules: Option<&str>) -> Rules {
    match rules {
        Some("6.12") => Rules::V6_12,
        _ => Rules::V6_18,
    }
}

impl std::fmt::Debug for BpfPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("BpfPolicy").field(&self.said).finish()
    }
}

impl From<Refused> for RunError {
    fn from(refused: Refused) -> Self {
        Self::Impossible(format!("the BPF scheduler cannot be loaded: {refused}"))
    }
}
