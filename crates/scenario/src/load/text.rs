//! Texts of files: what may be read, and what is said of a file that cannot be.

use super::source_files::Files;
use crate::shipped;
use input::{Fault, Faults, Node, Walk, nearest};
use std::io::{Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};
use toml::de::DeTable;

/// No input file is larger than this.
const BYTES_MAX: u64 = 1 << 20;
/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

pub(super) fn text_of(files: &dyn Files, path: &Path, what: &str) -> Result<String, Faults> {
    let shown = path.display().to_string();
    read_text(files, path).map_err(|why| {
        let fault = Fault::of_file(&shown, format!("cannot read the {what}: {why}"));
        fault.help_if(neighbor(path, &shown)).into()
    })
}

/// The path and the text of a file that the scenario names, relative to itself.
pub(super) fn neighboring_text(
    walk: &mut Walk,
    node: Node<'_>,
    (files, scenario): (&dyn Files, &Path),
    what: &str,
) -> Option<(PathBuf, String)> {
    let file = node.get_ref().as_str()?;
    if names_nothing(walk, node, file, what) {
        return None;
    }
    let path = beside(scenario, file);
    match read_text(files, &path) {
        Ok(text) => Some((path, text)),
        Err(why) => {
            let fault = unreadable(node, &path, what, &why);
            walk.fault(fault);
            None
        }
    }
}

/// True, with a fault, if a scenario gives an empty name of a file.
pub(super) fn names_nothing(walk: &mut Walk, node: Node<'_>, file: &str, what: &str) -> bool {
    let is_empty = file.trim().is_empty();
    if is_empty {
        walk.fault(Fault::at(node.span(), format!("an empty text names no {what}")));
    }
    is_empty
}

/// The fault of a scenario that names a file which cannot be read.
pub(super) fn unreadable(node: Node<'_>, path: &Path, what: &str, why: &str) -> Fault {
    let file = node.get_ref().as_str().unwrap_or_default();
    Fault::at(node.span(), format!("cannot read the {what}: {why}"))
        .label(format!("looked at {}", path.display()))
        .help_if(neighbor(path, file))
}

/// A hint for a file that is not there: the one of its directory with the nearest name.
pub(super) fn neighbor(path: &Path, file: &str) -> Option<String> {
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
pub(super) fn in_machines(scenario: &Path, path: &Path) -> Option<String> {
    let name = Path::new(path.file_stem()?).with_extension("toml");
    let file = Path::new("machines").join(name);
    let is_meant = !path.exists() && beside(scenario, file.to_str()?).is_file();
    is_meant.then(|| format!("did you mean `{}`?", file.display()))
}

/// The file's stem: the short name of what is in it.
pub(super) fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned())
}

/// The text of a file, or why it cannot be read.
pub(super) fn read_text(files: &dyn Files, path: &Path) -> Result<String, String> {
    read_text_to(files, path, BYTES_MAX)
}

/// The text of a file of at most so many bytes, or why it cannot be read.
pub(crate) fn read_text_to(
    files: &dyn Files,
    path: &Path,
    bytes_max: u64,
) -> Result<String, String> {
    let mut bytes = Vec::new();
    let text = open_text(files, path).map_err(why)?;
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
pub(crate) fn open_text(files: &dyn Files, path: &Path) -> std::io::Result<Box<dyn Read>> {
    if let Some(text) = shipped::text(path) {
        return Ok(Box::new(text.as_bytes()));
    }
    let mut file = files.open(path)?;
    let mut start = Vec::new();
    (&mut file).take(BYTE_ORDER_MARK.len() as u64).read_to_end(&mut start)?;
    if start == BYTE_ORDER_MARK {
        start.clear();
    }
    Ok(Box::new(Cursor::new(start).chain(file)))
}

/// The scenario, and what it names by a path.
pub(super) fn files(files: &dyn Files, scenario: &Path, doc: &DeTable<'_>) -> Vec<PathBuf> {
    let workload = doc.get("workload").and_then(|node| node.get_ref().as_table());
    let of_workload = |key| workload.and_then(|table| table.get(key));
    let text = |node: Option<Node<'_>>| node.and_then(|n| n.get_ref().as_str().map(String::from));
    let machines = [text(doc.get("machine")), text(of_workload("recorded_on"))];
    let machines =
        machines.into_iter().flatten().map(|file| machine_place(files, scenario, &file).0);
    let file = text(of_workload("file")).map(|file| beside(scenario, &file));
    let named = machines.chain(file).chain(super::objects::paths(doc, scenario));
    std::iter::once(scenario.to_path_buf()).chain(named).collect()
}

/// The path of a file that a scenario names. A scenario that comes through a pipe (/dev/stdin,
/// /dev/fd/63) stands in the current directory; one that comes with the program, too, for what does
/// not come with it.
pub(super) fn beside(scenario: &Path, file: &str) -> PathBuf {
    let folder = scenario.parent().filter(|folder| !folder.starts_with("/dev"));
    let path = folder.unwrap_or(Path::new("")).join(file);
    match shipped::is_inside(&path) && shipped::text(&path).is_none() {
        true => PathBuf::from(file),
        false => path,
    }
}

/// Where the machine is that a scenario names by a path or by the name of one that comes with the
/// program, and a remark if it might be either.
pub(super) fn machine_place(
    files: &dyn Files,
    scenario: &Path,
    file: &str,
) -> (PathBuf, Option<String>) {
    shipped::find_machine(files, Path::new(file), &beside(scenario, file))
}

/// What the system says, in our words.
pub(super) fn why(e: std::io::Error) -> String {
    match e.kind() {
        ErrorKind::IsADirectory => "it is a directory".to_string(),
        ErrorKind::NotFound => "no such file".to_string(),
        ErrorKind::PermissionDenied => "permission denied".to_string(),
        _ => e.to_string(),
    }
}
