//! Reading files: the scenario, and the machine file that it names.
//!
//! With `dump`, the only place of this crate that touches the file system.

mod study;
mod workload;

use crate::edit::{self, Edit, Target};
use crate::experiment::Experiment;
use crate::glue::{self, Machine};
use crate::kind;
use crate::parse;
use crate::study::Study;
use input::{Fault, Faults, Node, Source, Walk, nearest};
use std::fs::File;
use std::io::{Cursor, ErrorKind, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// No input file is larger than this.
const BYTES_MAX: u64 = 1 << 20;
/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads and checks a scenario file and its machine; `sets` (`KEY=VALUE`) chooses the point of a
/// sweep, or changes other keys.
///
/// # Errors
/// All faults of the file and of `sets`, or that it is a sweep of several points.
pub fn load(path: &Path, sets: &[String]) -> Result<Experiment, Faults> {
    let experiment = the_only(path, load_study(path, sets)?)?;
    let Some(find) = &experiment.find else {
        return Ok(experiment);
    };
    let message = format!("this scenario searches `{}`; one value is needed here", find.key);
    let help = format!("choose it: --set {}={}", find.key, find.range[0]);
    Err(Fault::of_file(path.display().to_string(), message).help(help).into())
}

/// What a file describes.
#[derive(Clone, Debug)]
pub enum Described {
    /// An experiment, or a sweep of them.
    Scenario(Box<Study>),
    /// A machine alone.
    Machine(Box<Machine>),
}

/// Reads and checks a file of either kind.
pub fn load_any(path: &Path) -> Result<Described, Faults> {
    let text = text_of(path, "file")?;
    let is_machine = input::parse(&text).is_ok_and(|doc| kind::is_machine(doc.get_ref()));
    if is_machine {
        let (machine, _) = machine_of(path, text)?;
        return Ok(Described::Machine(Box::new(machine)));
    }
    Ok(Described::Scenario(Box::new(load_study_str(path, text, &[])?)))
}

fn text_of(path: &Path, what: &str) -> Result<String, Faults> {
    let shown = path.display().to_string();
    read_text(path).map_err(|why| {
        let fault = Fault::of_file(&shown, format!("cannot read the {what}: {why}"));
        fault.help_if(neighbor(path, &shown)).into()
    })
}

/// Checks the text of a scenario; `path` names it in messages and finds the machine file.
///
/// # Errors
/// All faults of the text. A sweep is one, too: it is more than one experiment.
pub fn load_str(path: &Path, text: String) -> Result<Experiment, Faults> {
    the_only(path, load_study_str(path, text, &[])?)
}

/// Reads and checks a scenario file, with the values of `sets` (`KEY=VALUE`) in place of what it
/// says. A key that the scenario sweeps keeps that value only.
///
/// # Errors
/// All faults of the file and of `sets`.
pub fn load_study(path: &Path, sets: &[String]) -> Result<Study, Faults> {
    load_study_str(path, text_of(path, "scenario")?, sets)
}

/// Checks the text of a scenario, as [`load_study`] does a file's.
///
/// # Errors
/// All faults of the text and of `sets`.
pub fn load_study_str(path: &Path, text: String, sets: &[String]) -> Result<Study, Faults> {
    let source = Source::new(path.display().to_string(), text);
    if source.text.trim().is_empty() {
        return Err(Fault::of_file(&source.path, "the scenario is empty").into());
    }
    let doc =
        input::parse(&source.text).map_err(|faults| Faults::of(with_hints(faults), &source))?;
    if let Some(help) = kind::machine_for_scenario(doc.get_ref(), &source.path) {
        let fault = Fault::of_file(&source.path, "this looks like a machine file");
        return Err(fault.help(help).into());
    }
    study::study(path, &source, doc.get_ref(), sets)
}

/// The experiment of a study that is one.
fn the_only(path: &Path, study: Study) -> Result<Experiment, Faults> {
    let mut points = study.points;
    if let [_] = points[..] {
        return Ok(points.remove(0).experiment);
    }
    let first = points[0].experiment.at.replace(", ", " --set ");
    let message =
        format!("this scenario is a sweep of {} points; one is needed here", points.len());
    let fault = Fault::of_file(path.display().to_string(), message);
    Err(fault.help(format!("choose one, such as --set {first}")).into())
}

/// Reads and checks a machine file by itself. What is no path but one of hwloc's synthetic
/// descriptions is a machine, too.
pub fn load_machine_file(path: &Path) -> Result<Machine, Faults> {
    let shown = path.display().to_string();
    if glue::is_synthetic(&shown) && !path.exists() {
        let source = Source::new("the description", shown);
        let machine = glue::synthetic_machine(&source.text);
        return machine.map_err(|faults| Faults::of(faults, &source));
    }
    let text = text_of(path, "machine")?;
    machine_of(path, text).map(|(machine, _)| machine)
}

fn machine_of(path: &Path, text: String) -> Result<(Machine, String), Faults> {
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

/// The one about `machine` needs to be told what else there is.
fn with_hints(faults: Vec<Fault>) -> Vec<Fault> {
    let hint = "give the path of a machine file or a [machine] table, not both";
    let twice = |fault: &Fault| fault.message == "`machine` is given twice";
    faults.into_iter().map(|f| if twice(&f) { f.help(hint) } else { f }).collect()
}

/// Where the machine of a scenario is asked for.
struct MachinePlace<'a> {
    scenario: &'a Path,
    /// The scenario's text.
    source: &'a Source,
    /// The name of an inline machine.
    name: &'a str,
    /// What is changed of the machine's file; an inline table is changed already.
    changes: &'a [Edit<'a>],
}

/// The machine of the scenario and the text of its file (empty for an inline table).
fn find_machine(
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
fn synthetic(
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

fn machine_file(
    walk: &mut Walk,
    node: Node<'_>,
    place: &MachinePlace<'_>,
    file: &str,
) -> Option<(Machine, String)> {
    if names_nothing(walk, node, file, "machine file") {
        return None;
    }
    let path = beside(place.scenario, file);
    match read_text(&path) {
        Ok(text) if place.changes.is_empty() => walk.keep(machine_of(&path, text)),
        Ok(text) => changed_machine(walk, &path, text, place.changes),
        Err(why) => {
            let mut fault = unreadable(node, &path, "machine file", &why);
            fault.help = fault.help.or_else(|| in_machines(place.scenario, &path));
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

/// The path and the text of a file that the scenario names, relative to itself.
fn neighboring_text(
    walk: &mut Walk,
    node: Node<'_>,
    scenario: &Path,
    file: &str,
    what: &str,
) -> Option<(PathBuf, String)> {
    if names_nothing(walk, node, file, what) {
        return None;
    }
    let path = beside(scenario, file);
    match read_text(&path) {
        Ok(text) => Some((path, text)),
        Err(why) => {
            let fault = unreadable(node, &path, what, &why);
            walk.fault(fault);
            None
        }
    }
}

/// True, with a fault, if a scenario gives an empty name of a file.
fn names_nothing(walk: &mut Walk, node: Node<'_>, file: &str, what: &str) -> bool {
    let is_empty = file.trim().is_empty();
    if is_empty {
        walk.fault(Fault::at(node.span(), format!("an empty text names no {what}")));
    }
    is_empty
}

/// The fault of a scenario that names a file which cannot be read.
fn unreadable(node: Node<'_>, path: &Path, what: &str, why: &str) -> Fault {
    let file = node.get_ref().as_str().unwrap_or_default();
    Fault::at(node.span(), format!("cannot read the {what}: {why}"))
        .label(format!("looked at {}", path.display()))
        .help_if(neighbor(path, file))
}

/// A hint for a file that is not there: the one of its directory with the nearest name.
fn neighbor(path: &Path, file: &str) -> Option<String> {
    if path.exists() {
        return None;
    }
    let wanted = path.file_name()?.to_str()?;
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name != wanted && Path::new(name).extension() == path.extension())
        .collect();
    names.sort();
    let near = nearest(wanted, names.iter().map(String::as_str))?;
    let hint = Path::new(file).with_file_name(near);
    Some(format!("did you mean `{}`?", hint.display()))
}

/// A hint for a machine that is not there: the one of that name in the directory of machines beside
/// the scenario.
fn in_machines(scenario: &Path, path: &Path) -> Option<String> {
    let name = Path::new(path.file_stem()?).with_extension("toml");
    let file = Path::new("machines").join(name);
    let is_meant = !path.exists() && beside(scenario, file.to_str()?).is_file();
    is_meant.then(|| format!("did you mean `{}`?", file.display()))
}

/// The file's stem: the short name of what is in it.
fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned())
}

/// The text of a file, or why it cannot be read.
fn read_text(path: &Path) -> Result<String, String> {
    read_text_to(path, BYTES_MAX)
}

/// The text of a file of at most so many bytes, or why it cannot be read.
pub(crate) fn read_text_to(path: &Path, bytes_max: u64) -> Result<String, String> {
    let mut bytes = Vec::new();
    let text = open_text(path).map_err(why)?;
    text.take(bytes_max + 1).read_to_end(&mut bytes).map_err(why)?;
    if bytes.len() as u64 > bytes_max {
        return Err(format!("it is larger than {} MiB", bytes_max >> 20));
    }
    String::from_utf8(bytes).map_err(|e| {
        let valid = e.utf8_error().valid_up_to();
        let line = 1 + e.as_bytes()[..valid].iter().filter(|b| **b == b'\n').count();
        format!("it is not UTF-8 (line {line}, byte {valid})")
    })
}

/// Opens a text behind its byte order mark, if it begins with one as some editors of other systems
/// have it.
pub(crate) fn open_text(path: &Path) -> std::io::Result<impl Read> {
    let mut file = open(path)?;
    let mut start = Vec::new();
    (&mut file).take(BYTE_ORDER_MARK.len() as u64).read_to_end(&mut start)?;
    if start == BYTE_ORDER_MARK {
        start.clear();
    }
    Ok(Cursor::new(start).chain(file))
}

/// Opens an input file. A FIFO in a directory is refused, since nobody may ever write to it, and
/// so are devices; a pipe that is there already, as /dev/stdin or a shell's `<(...)`, has no such
/// name.
fn open(path: &Path) -> std::io::Result<File> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() && std::fs::canonicalize(path).is_ok() {
        return Err(std::io::Error::other("it is a device or a FIFO, not a file"));
    }
    File::open(path)
}

/// The scenario, and what it names by a path.
fn files(scenario: &Path, doc: &DeTable<'_>) -> Vec<PathBuf> {
    let workload = doc.get("workload").and_then(|node| node.get_ref().as_table());
    let of_workload = |key| workload.and_then(|table| table.get(key));
    let named = [doc.get("machine"), of_workload("file"), of_workload("recorded_on")];
    let named = named.into_iter().flatten().filter_map(|node| node.get_ref().as_str());
    let named = named.map(|file| beside(scenario, file));
    std::iter::once(scenario.to_path_buf()).chain(named).collect()
}

/// The path of a file that a scenario names. A scenario that comes through a pipe (/dev/stdin,
/// /dev/fd/63) stands in the current directory.
fn beside(scenario: &Path, file: &str) -> PathBuf {
    let folder = scenario.parent().filter(|folder| !folder.starts_with("/dev"));
    folder.unwrap_or(Path::new("")).join(file)
}

/// What the system says, in our words.
fn why(e: std::io::Error) -> String {
    match e.kind() {
        ErrorKind::IsADirectory => "it is a directory".to_string(),
        ErrorKind::NotFound => "no such file".to_string(),
        ErrorKind::PermissionDenied => "permission denied".to_string(),
        _ => e.to_string(),
    }
}
