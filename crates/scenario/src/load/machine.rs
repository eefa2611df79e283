//! The machine of a scenario: a file, a table, or one of hwloc's descriptions.

use super::recording::is_recording;
use super::source_files::Files;
use super::text::{in_machines, machine_place, names_nothing, read_text, stem, unreadable};
use crate::dump::{self, IN_A_PIPE, NO_MACHINE};
use crate::edit::{self, Edit, Target};
use crate::glue::{self, Machine};
use crate::{kind, parse, shipped};
use input::{Fault, Faults, Node, Source, Walk};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

pub(super) fn machine_of(path: &Path, text: String) -> Result<(Machine, String), Faults> {
    let source = Source::new(path.display().to_string(), text);
    if let Some(help) = kind::scenario_for_machine(&source.text, path) {
        let fault = Fault::of_file(&source.path, "this looks like a scenario, not a machine");
        return Err(fault.help(help).into());
    }
    match glue::load_machine(path, &source.text) {
        Ok(machine) => Ok((machine, source.text.clone())),
        Err(faults) => Err(Faults::of(faults, &source)),
    }
}

/// The machine of a recording in a format of binary files, as the text of a machine file.
pub(super) fn recorded_machine(files: &dyn Files, path: &Path) -> Result<String, Faults> {
    let name = stem(path);
    let fault = |message| Fault::of_file(path.display().to_string(), message);
    match dump::perf_data(files, path, &name)? {
        None => Err(fault(NO_MACHINE).help(IN_A_PIPE).into()),
        Some(recorded) if !recorded.is_numbered_alike => {
            let message = "CPUs were offline: its events number CPUs otherwise than its machine";
            let help = "name a machine file with all CPUs";
            Err(fault(message).help(help).into())
        }
        Some(recorded) => Ok(glue::machine_file(&recorded.imported.machine, &name)),
    }
}

/// Where the machine of a scenario is asked for.
pub(super) struct MachinePlace<'a> {
    pub files: &'a dyn Files,
    pub scenario: &'a Path,
    /// The scenario's text.
    pub source: &'a Source,
    /// The name of an inline machine.
    pub name: &'a str,
    /// What is changed of the machine's file; an inline table is changed already.
    pub changes: &'a [Edit<'a>],
}

/// The machine of the scenario and the text of its file (empty for an inline table).
pub(super) fn find_machine(
    walk: &mut Walk,
    doc: &DeTable<'_>,
    place: &MachinePlace<'_>,
) -> Option<(Arc<Machine>, String)> {
    let node = parse::required(walk, doc, "machine")?;
    let (machine, text) = match node.get_ref() {
        DeValue::String(text) if glue::is_synthetic(text) => {
            if has_no_keys(walk, place.changes) {
                return None;
            }
            (synthetic(walk, node, place, text)?, String::new())
        }
        DeValue::String(file) => machine_file(walk, node, place, file)?,
        DeValue::Table(table) => {
            let machine = glue::inline_machine(place.name, table, node.span());
            (walk.keep(machine.map_err(Faults))?, String::new())
        }
        _ => {
            walk.wrong_type(node, "machine", "the path of a machine file, or a table");
            return None;
        }
    };
    Some((Arc::new(machine), text))
}

/// The machine of a synthetic description in a scenario.
pub(super) fn synthetic(
    walk: &mut Walk,
    node: Node<'_>,
    place: &MachinePlace<'_>,
    text: &str,
) -> Option<Machine> {
    // A place in the string is one in the file if it stands there as it is, between quotes.
    let start = node.span().start + 1;
    let raw = place.source.text.get(start..start + text.len());
    let in_file = |mut fault: Fault| {
        let inside = |span: Range<usize>| start + span.start..start + span.end;
        let moved = |span| if raw == Some(text) { inside(span) } else { node.span() };
        fault.span = fault.span.map(moved);
        fault
    };
    let machine = glue::synthetic_machine(text);
    walk.keep(machine.map_err(|faults| Faults(faults.into_iter().map(in_file).collect())))
}

/// A description in one line has no keys that could be changed.
fn has_no_keys(walk: &mut Walk, changes: &[Edit<'_>]) -> bool {
    let Some(change) = changes.first() else {
        return false;
    };
    walk.fault(
        Fault::at(change.key.clone(), "the machine is a description in one line, without keys")
            .help("`schedlab topology show --toml` prints it as a machine file, which has them"),
    );
    true
}

pub(super) fn machine_file(
    walk: &mut Walk,
    node: Node<'_>,
    place: &MachinePlace<'_>,
    file: &str,
) -> Option<(Machine, String)> {
    if names_nothing(walk, node, file, "machine file") {
        return None;
    }
    let (path, _) = machine_place(place.files, place.scenario, file);
    if is_recording(place.files, &path) {
        let text = walk.keep(recorded_machine(place.files, &path))?;
        return changed_machine(walk, &path, text, place.changes);
    }
    match read_text(place.files, &path) {
        Ok(text) if place.changes.is_empty() => walk.keep(machine_of(&path, text)),
        Ok(text) => changed_machine(walk, &path, text, place.changes),
        Err(why) => {
            let mut fault = unreadable(node, &path, "machine file", &why);
            let is_absent = !path.exists();
            let known = || shipped::machine_hint(Path::new(file)).filter(|_| is_absent);
            fault.help = fault.help.or_else(|| in_machines(place.scenario, &path)).or_else(known);
            walk.fault(fault);
            None
        }
    }
}

/// The machine of a file in which some keys are changed.
fn changed_machine(
    walk: &mut Walk,
    path: &Path,
    text: String,
    changes: &[Edit<'_>],
) -> Option<(Machine, String)> {
    let Ok(doc) = input::parse(&text) else {
        // What is wrong with the file is told in the same words as ever.
        return walk.keep(machine_of(path, text));
    };
    let span = doc.span();
    let mut doc = doc.into_inner();
    for change in changes {
        let Target::Machine(keys) = &change.target else {
            continue;
        };
        if let Err(name) = edit::put(&mut doc, keys, change) {
            walk.fault(Fault::at(change.key.clone(), format!("`{name}` is not a table")));
            return None;
        }
    }
    let machine = glue::inline_machine(&stem(path), &doc, span).map_err(|faults| {
        let source = Source::new(path.display().to_string(), text.clone());
        Faults::of(faults, &source)
    });
    drop(doc);
    Some((walk.keep(machine)?, text))
}
