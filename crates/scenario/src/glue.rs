//! The joints to the floors below: the machine loader and the engine.
//!
//! Nothing else of this crate, of `report` or of `cli` names those floors' loaders, policies or
//! workloads, so this is the one file to change when they do.
//!
//! PROVISIONAL: the machine loader below knows `cpus`, `llcs` and `hz` only, and the engine is the
//! [`MockExecutor`](crate::MockExecutor), until the real ones are plugged in.

use crate::run::Executor;
use std::ops::Range;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// What is wrong with a machine, with its place in the machine's own text.
#[derive(Clone, Debug)]
pub struct MachineFault {
    /// Byte range in the text.
    pub span: Option<Range<usize>>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

/// PROVISIONAL: stands for `topology::Machine`.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Short name.
    pub name: String,
    /// Logical CPUs.
    pub cpus: usize,
    /// Last-level caches.
    pub llcs: usize,
}

/// What reports say about a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineInfo {
    /// Short name.
    pub name: String,
    /// Logical CPUs.
    pub cpus: usize,
    /// Last-level caches.
    pub llcs: usize,
}

/// The few facts about a machine that reports show.
pub fn machine_info(machine: &Machine) -> MachineInfo {
    MachineInfo {
        name: machine.name.clone(),
        cpus: machine.cpus,
        llcs: machine.llcs,
    }
}

/// Reads a machine file.
pub fn load_machine(path: &Path, text: &str) -> Result<Machine, Vec<MachineFault>> {
    let name = path
        .file_stem()
        .map_or_else(String::new, |s| s.to_string_lossy().into_owned());
    let (doc, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        let fault = |e: &toml::de::Error| MachineFault {
            span: e.span(),
            message: format!("not valid TOML: {}", e.message()),
            help: None,
        };
        return Err(errors.iter().map(fault).collect());
    }
    provisional(&name, doc.get_ref())
}

/// Reads the inline `[machine]` table of a scenario whose whole text is `_text`.
pub fn inline_machine(
    name: &str,
    _text: &str,
    table: &DeTable<'_>,
) -> Result<Machine, Vec<MachineFault>> {
    provisional(name, table)
}

/// The machine as a tree for people.
pub fn machine_tree(machine: &Machine) -> String {
    format!(
        "{}: {} CPUs, {} LLCs\n",
        machine.name, machine.cpus, machine.llcs
    )
}

/// The machine as the table that `lscpu -e` prints.
pub fn machine_table(machine: &Machine) -> String {
    format!(
        "{}: {} CPUs, {} LLCs\n",
        machine.name, machine.cpus, machine.llcs
    )
}

/// The engine that runs experiments.
pub fn engine() -> Box<dyn Executor> {
    Box::new(crate::MockExecutor)
}

/// A remark that must stand beside every result, as long as there is one to make.
pub fn engine_remark() -> Option<&'static str> {
    Some("the engine is not plugged in yet: these numbers are made up")
}

/// PROVISIONAL
fn provisional(name: &str, table: &DeTable<'_>) -> Result<Machine, Vec<MachineFault>> {
    let mut faults = Vec::new();
    let mut get = |key: &str, default: usize| match table.get(key) {
        None => default,
        Some(node) => match node.get_ref() {
            DeValue::Integer(i) if (1..=4096).contains(&i.as_str().parse::<i64>().unwrap_or(0)) => {
                i.as_str().parse().unwrap_or(default)
            }
            _ => {
                let message = format!("`{key}` must be a whole number from 1 to 4096");
                faults.push(MachineFault {
                    span: Some(node.span()),
                    message,
                    help: None,
                });
                default
            }
        },
    };
    let machine = Machine {
        name: name.to_string(),
        cpus: get("cpus", 8),
        llcs: get("llcs", 1),
    };
    if faults.is_empty() {
        Ok(machine)
    } else {
        Err(faults)
    }
}
