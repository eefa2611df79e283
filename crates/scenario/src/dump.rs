//! Dumps of real machines on the disk, read for `topology`'s importers.

use crate::glue::{
    self, FileTree, Imported, Machine, RecordedMachine, RecordingError, RecordingFormat,
};
use crate::load::{Disk, Files, open_recording, open_text, read_text_to, recording_format};
use input::{Fault, Faults, Source};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// No dump is larger: a machine of 8192 CPUs has some 20 MB of hwloc XML.
const BYTES_MAX: u64 = 64 << 20;

/// What is said of a recording without a description of its machine.
pub(crate) const NO_MACHINE: &str = "the recording does not describe its machine";
const BY_TRACE_CMD: &str = "a trace.dat does not describe its machine";
const BY_PERFETTO: &str = "a Perfetto trace does not describe its machine";
pub(crate) const IN_A_PIPE: &str = "`perf record` writes it unless it writes into a pipe";

/// What describes a real machine.
#[derive(Clone, Copy, Debug)]
pub enum Dump<'a> {
    /// A live `/sys`, or a directory with a `sys` in it.
    Sysfs(&'a Path),
    /// XML of hwloc.
    Hwloc(&'a Path),
    /// Output of `lscpu -p`, `-e` or `-J -e`.
    Lscpu(&'a Path),
    /// A directory that `hwloc-gather-cpuid` wrote.
    Cpuid(&'a Path),
    /// A recording in perf's own format.
    PerfData(&'a Path),
}

/// Makes a machine of that name from a dump, with remarks on what the machine does not say.
///
/// # Errors
/// The faults of the dump, each with its file and place.
pub fn import_machine(dump: Dump<'_>, name: &str) -> Result<(Machine, Vec<String>), Faults> {
    let imported = match dump {
        Dump::Hwloc(path) => text(path, |text| glue::import_hwloc(name, text)),
        Dump::Lscpu(path) => text(path, |text| glue::import_lscpu(name, text)),
        Dump::PerfData(path) => {
            let none = || Fault::of_file(path.display().to_string(), NO_MACHINE).help(IN_A_PIPE);
            Ok(perf_data(&Disk, path, name)?.ok_or_else(none)?.imported)
        }
        Dump::Sysfs(dir) => tree(&sysfs(dir)?, |tree| glue::import_sysfs(name, tree)),
        Dump::Cpuid(dir) => {
            let dir = directory(dir)?.to_path_buf();
            let files = DiskTree { sys: None, proc: None, root: Some(dir) };
            tree(&files, |tree| glue::import_cpuid(name, tree))
        }
    };
    imported.map(|Imported { machine, remarks }| (machine, remarks))
}

/// The machine in the header of a recording; `None` if it does not tell.
pub(crate) fn perf_data(
    files: &dyn Files,
    path: &Path,
    name: &str,
) -> Result<Option<RecordedMachine>, Faults> {
    let shown = path.display().to_string();
    if !files.is_regular(path) {
        return Err(Fault::of_file(&shown, "there is no such file").into());
    }
    let undescribed = match recording_format(files, path) {
        RecordingFormat::TraceDat => Some(BY_TRACE_CMD),
        RecordingFormat::Perfetto => Some(BY_PERFETTO),
        RecordingFormat::PerfData | RecordingFormat::Text => None,
    };
    if let Some(message) = undescribed {
        let help = "name a machine file; `schedlab topology import` on that machine writes one";
        return Err(Fault::of_file(&shown, message).help(help).into());
    }
    let recorded = open_recording(files, path)
        .map_err(RecordingError::Io)
        .and_then(|file| glue::import_perf_data(name, file.into_whole()?))
        .map_err(|error| Fault::of_file(&shown, error.to_string()));
    Ok(recorded?)
}

fn text(
    path: &Path,
    import: impl FnOnce(&str) -> Result<Imported, Vec<Fault>>,
) -> Result<Imported, Faults> {
    let shown = path.display().to_string();
    let text = read_text_to(&Disk, path, BYTES_MAX)
        .map_err(|why| Fault::of_file(&shown, format!("cannot read the dump: {why}")))?;
    let source = Source::new(shown, text);
    import(&source.text).map_err(|faults| Faults::of(faults, &source))
}

fn tree(
    files: &DiskTree,
    import: impl FnOnce(&DiskTree) -> Result<Imported, Vec<Fault>>,
) -> Result<Imported, Faults> {
    // Faults know the path in the tree; people know the one on the disk.
    let on_disk = |mut fault: Fault| {
        if let Some(source) = fault.source.as_mut()
            && let Some(path) = files.path(&source.path)
        {
            Arc::make_mut(source).path = path.display().to_string();
        }
        fault
    };
    import(files).map_err(|faults| Faults(faults.into_iter().map(on_disk).collect()))
}

/// A tree of files on the disk, whose `sys` and `proc` may lie apart.
struct DiskTree {
    sys: Option<PathBuf>,
    proc: Option<PathBuf>,
    /// Where everything else is.
    root: Option<PathBuf>,
}

impl DiskTree {
    fn path(&self, path: &str) -> Option<PathBuf> {
        let roots = [("sys/", &self.sys), ("proc/", &self.proc)];
        match roots.iter().find_map(|(prefix, root)| Some((path.strip_prefix(prefix)?, root))) {
            Some((rest, root)) => Some(root.as_ref()?.join(rest)),
            None => Some(self.root.as_ref()?.join(path)),
        }
    }
}

impl FileTree for DiskTree {
    fn text(&self, path: &str) -> Result<Option<String>, String> {
        let Some(path) = self.path(path) else {
            return Ok(None);
        };
        let file = match open_text(&Disk, &path) {
            Ok(file) => file,
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(e) => return Err(e.to_string()),
        };
        let mut text = String::new();
        let read = file.take(BYTES_MAX + 1).read_to_string(&mut text);
        read.map_err(|e| e.to_string())?;
        if text.len() as u64 > BYTES_MAX {
            return Err(format!("it is larger than {} MiB", BYTES_MAX >> 20));
        }
        Ok(Some(text))
    }

    fn names(&self, path: &str) -> Vec<String> {
        let entries = self.path(path).and_then(|path| std::fs::read_dir(path).ok());
        let entries = entries.into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }
}

/// Where the CPUs are, below a `sys`.
const CPUS: &str = "devices/system/cpu";

/// The tree that a user means by a directory.
fn sysfs(dir: &Path) -> Result<DiskTree, Faults> {
    let dir = directory(dir)?;
    if dir.join("sys").join(CPUS).is_dir() {
        let (sys, proc) = (dir.join("sys"), dir.join("proc"));
        return Ok(DiskTree { sys: Some(sys), proc: Some(proc), root: Some(dir.to_path_buf()) });
    }
    if dir.join(CPUS).is_dir() {
        // The /proc that belongs to a /sys stands beside it.
        let real = std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_path_buf());
        let beside = real.parent().filter(|_| real.ends_with("sys"));
        let proc = beside.map(|parent| parent.join("proc"));
        return Ok(DiskTree { sys: Some(dir.to_path_buf()), proc, root: None });
    }
    let fault = Fault::of_file(dir.display().to_string(), "there is no sys/devices/system/cpu");
    let inside = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut trees: Vec<PathBuf> =
        inside.filter(|path| path.join("sys").join(CPUS).is_dir()).collect();
    trees.sort();
    let help = match trees.first() {
        Some(tree) => format!("did you mean `{}`?", tree.display()),
        None => "give /sys, or the directory of an unpacked dump with sys in it".into(),
    };
    Err(fault.help(help).into())
}

/// The path itself if it is a directory.
fn directory(dir: &Path) -> Result<&Path, Faults> {
    let fault = |message: &str| Fault::of_file(dir.display().to_string(), message);
    match std::fs::metadata(dir) {
        Ok(meta) if meta.is_dir() => Ok(dir),
        Ok(_) => {
            let is_xml = dir.extension().is_some_and(|ext| ext.eq_ignore_ascii_case("xml"));
            let help = match is_xml {
                true => format!("XML of hwloc is read by --hwloc {}", dir.display()),
                false => format!("unpack an archive first: tar xf {}", dir.display()),
            };
            Err(fault("this is a file, not a directory").help(help).into())
        }
        Err(e) if e.kind() == ErrorKind::NotFound => Err(fault("no such directory").into()),
        Err(e) => Err(fault(&format!("cannot read the directory: {e}")).into()),
    }
}
