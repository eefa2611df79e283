//! The file that a workload is made from: rt-app's JSON, or a recording.

use super::machine::{MachinePlace, machine_file, synthetic};
use super::recording::open_recording;
use super::source_files::Files;
use super::text::{beside, neighboring_text, unreadable, why};
use crate::glue::{self, Asked, Machine, RecordingError};
use crate::workload::WorkloadFile;
use input::{Fault, Faults, Node, Source, Walk, did_you_mean};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use toml::de::DeTable;

/// Where a workload's file is asked for.
pub(super) struct Place<'a> {
    pub doc: &'a DeTable<'a>,
    pub files: &'a dyn Files,
    pub scenario: &'a Path,
    /// The scenario's text.
    pub source: &'a Source,
    /// What the workload is to run on; without it CPUs are not checked, and recordings not read.
    pub machine: Option<&'a Machine>,
}

/// The file that the workload names, and a text for the fingerprint; nothing if the workload needs
/// none, or if it is wrong.
pub(super) fn file(walk: &mut Walk, place: &Place<'_>) -> Option<(WorkloadFile, String)> {
    let table = place.doc.get("workload")?.get_ref().as_table()?;
    let kind = table.get("kind")?.get_ref().as_str()?;
    let node = table.get("file")?;
    match kind {
        "rt-app" => rt_app(walk, place, node),
        "perf-script" => recording(walk, place, table, node),
        _ => None,
    }
}

fn rt_app(walk: &mut Walk, place: &Place<'_>, node: Node<'_>) -> Option<(WorkloadFile, String)> {
    let beside = (place.files, place.scenario);
    let (path, text) = neighboring_text(walk, node, beside, "rt-app file")?;
    let source = Source::new(path.display().to_string(), text);
    let n_cpus = place.machine.map_or(glue::CPUS_MAX, Machine::n_cpus);
    let spec = glue::load_rt_app(&source.text, n_cpus);
    let spec = walk.keep(spec.map_err(|faults| Faults::of(faults, &source)))?;
    Some((WorkloadFile::RtApp(Arc::new(spec)), source.text.clone()))
}

/// Recordings may be long: they are read line by line.
fn recording(
    walk: &mut Walk,
    place: &Place<'_>,
    table: &DeTable<'_>,
    node: Node<'_>,
) -> Option<(WorkloadFile, String)> {
    let file = node.get_ref().as_str()?;
    let path = beside(place.scenario, file);
    let (machine, machine_text) = recorded_on(walk, place, table)?;
    let timed = names(table.get("timed"));
    let measure = names(table.get("measure"));
    let sessions = sessions(walk, place, table.get("sessions"))?;
    let asked = Asked { timed: &timed, measure: &measure, sessions: &sessions };
    let text = |machine: &Machine| glue::machine_file(machine, "machine");
    let recorded_here = place.machine.is_some_and(|here| text(here) == text(&machine));
    let file = open_recording(place.files, &path).map_err(RecordingError::Io);
    match file.and_then(|file| glue::load_recording(file, &machine, asked)) {
        Ok((recording, hash)) => {
            are_known(walk, table.get("timed"), &timed, &recording.names);
            are_known(walk, table.get("measure"), &measure, &recording.names);
            let recording = Arc::new(recording);
            let listed: String =
                sessions.iter().map(|(tid, sid)| format!(" {tid}:{sid}")).collect();
            let hash = machine_text + &hash + &listed;
            Some((WorkloadFile::Recording { recording, recorded_here }, hash))
        }
        Err(error) => {
            cannot_replay(walk, node, &path, error);
            None
        }
    }
}

/// The machine that a recording was made on, and the text of its file: it is the scenario's if
/// nothing else is said.
fn recorded_on<'a>(
    walk: &mut Walk,
    place: &Place<'a>,
    table: &DeTable<'_>,
) -> Option<(Cow<'a, Machine>, String)> {
    let Some(node) = table.get("recorded_on") else {
        return Some((Cow::Borrowed(place.machine?), String::new()));
    };
    let text = node.get_ref().as_str()?;
    let Place { files, scenario, source, .. } = *place;
    let place = MachinePlace { files, scenario, source, name: "", changes: &[] };
    let (machine, text) = match glue::is_synthetic(text) {
        true => (synthetic(walk, node, &place, text)?, String::new()),
        false => machine_file(walk, node, &place, text)?,
    };
    Some((Cow::Owned(machine), text))
}

/// Tid and session of each thread, as `ps -eLo tid=,sid=` prints them.
fn sessions(walk: &mut Walk, place: &Place<'_>, node: Option<Node<'_>>) -> Option<Vec<(u32, u32)>> {
    let Some(node) = node else {
        return Some(Vec::new());
    };
    let beside = (place.files, place.scenario);
    let (path, text) = neighboring_text(walk, node, beside, "list of sessions")?;
    let mut sessions = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let words: Vec<_> = line.split_ascii_whitespace().map(str::parse).collect();
        match words[..] {
            [Ok(tid), Ok(sid)] => sessions.push((tid, sid)),
            [] => {}
            _ => {
                let shown = path.display();
                let message = format!("{shown}, line {}: these are not a tid and a session", i + 1);
                let help = "`ps -eLo tid=,sid=` prints a line for each thread";
                walk.fault(Fault::at(node.span(), message).help(help));
                return None;
            }
        }
    }
    Some(sessions)
}

/// Names that are separated by commas.
fn names<'a>(node: Option<Node<'a>>) -> Vec<&'a str> {
    let text = node.and_then(|node| node.get_ref().as_str()).unwrap_or_default();
    text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()
}

/// A name that no thread has is a fault of the scenario.
fn are_known(walk: &mut Walk, node: Option<Node<'_>>, wanted: &[&str], known: &[String]) {
    let known = || known.iter().map(String::as_str);
    let unknown = wanted.iter().find(|name| !known().any(|known| known == **name));
    if let (Some(name), Some(node)) = (unknown, node) {
        walk.fault(
            Fault::at(node.span(), format!("no thread of the recording is named `{name}`"))
                .help(did_you_mean(name, known())),
        );
    }
}

fn cannot_replay(walk: &mut Walk, node: Node<'_>, path: &Path, error: RecordingError) {
    let shown = path.display().to_string();
    match error {
        RecordingError::Io(error) => {
            let fault = unreadable(node, path, "recording", &why(error));
            walk.fault(fault);
        }
        RecordingError::Line { line, text, fault } => {
            walk.fault(fault.of(&Source::part(shown, text, line as usize)));
        }
        RecordingError::Event { event, mut fault } => {
            fault.message = format!("event {event}: {}", fault.message);
            walk.fault(fault.of(&Source::new(shown, "")));
        }
        RecordingError::Whole(message) => walk.fault(Fault::of_file(shown, message)),
    }
}
