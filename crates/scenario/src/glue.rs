//! What the floors above may use of the floors below: machines and the engine.
//!
//! `report` and `cli` know those floors through this file only. Inside this crate, `topology`'s
//! loader is called here and nowhere else, and `engine` alone knows policies, workloads and the
//! simulator.

use crate::hash::{HashingReader, digest_of};
use input::Fault;
use std::io::{BufReader, Read, Seek};
use std::ops::Range;
use std::path::Path;
use toml::de::DeTable;

pub use topology::Machine;
pub use topology::export::Entry;
pub use topology::import::{FileTree, Imported};
pub use trace::export::{TraceError, abandon_unfinished as abandon_unfinished_traces};
pub use trace::replay::perf_data::Recorded as RecordedMachine;
pub use trace::replay::{
    Asked, Format as RecordingFormat, ReadSeek, RecordingFile, ReplayError as RecordingError,
};
pub use workloads::replay::{Command, Recording};
pub use workloads::rt_app::Spec as RtAppFile;
pub use workloads::service;

/// No machine has more CPUs.
pub const CPUS_MAX: usize = topology::MAX_CPUS as usize;
/// Bytes of a recording's text that are read at once.
const BUFFER_BYTES: usize = 1 << 18;

/// What reports say about a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineInfo {
    /// Short name.
    pub name: String,
    /// Human title.
    pub title: String,
    /// Logical CPUs.
    pub cpus: usize,
    /// Last-level caches.
    pub llcs: usize,
}

/// The few facts about a machine that reports show.
pub fn machine_info(machine: &Machine) -> MachineInfo {
    MachineInfo {
        name: machine.name.clone(),
        title: machine.title.clone(),
        cpus: machine.n_cpus(),
        llcs: machine.llcs.len(),
    }
}

/// Where each CPU of a machine sits: its socket, node, LLC and core.
pub fn places(machine: &Machine) -> Vec<[u32; 4]> {
    machine.cpus.iter().map(|c| [c.socket, c.node, c.llc, c.core]).collect()
}

/// Reads the text of a machine file; `path` names it.
pub fn load_machine(path: &Path, text: &str) -> Result<Machine, Vec<Fault>> {
    topology::load(path, text)
}

/// Reads the inline `[machine]` table of a scenario, which lies at `span` of its text.
pub fn inline_machine(
    name: &str,
    table: &DeTable<'_>,
    span: Range<usize>,
) -> Result<Machine, Vec<Fault>> {
    topology::from_table(name, table, span)
}

/// Reads the text of an rt-app file, for a machine with `n_cpus` CPUs.
pub fn load_rt_app(text: &str, n_cpus: usize) -> Result<RtAppFile, Vec<Fault>> {
    trace::rt_app::read(text, n_cpus)
}

/// True if a text is one of hwloc's synthetic descriptions rather than the name of a file.
pub fn is_synthetic(text: &str) -> bool {
    topology::import::is_synthetic(text)
}

/// The machine of one of hwloc's synthetic descriptions. What it does not tell is told by the
/// machine's sources.
pub fn synthetic_machine(text: &str) -> Result<Machine, Vec<Fault>> {
    topology::import::synthetic(text).map(|imported| imported.machine)
}

/// A machine from hwloc's XML.
pub fn import_hwloc(name: &str, text: &str) -> Result<Imported, Vec<Fault>> {
    topology::import::hwloc(name, text)
}

/// A machine from the output of lscpu.
pub fn import_lscpu(name: &str, text: &str) -> Result<Imported, Vec<Fault>> {
    topology::import::lscpu(name, text)
}

/// A machine from a tree with `sys` and perhaps `proc`.
pub fn import_sysfs(name: &str, tree: &impl FileTree) -> Result<Imported, Vec<Fault>> {
    topology::import::sysfs(name, tree)
}

/// A machine from the files of `hwloc-gather-cpuid`.
pub fn import_cpuid(name: &str, tree: &impl FileTree) -> Result<Imported, Vec<Fault>> {
    topology::import::cpuid(name, tree)
}

/// Hands the entries of a tree like `/sys` to `put`; `stem` names the machine file in it.
pub fn export_sysfs<E>(
    machine: &Machine,
    stem: &str,
    put: impl FnMut(&str, Entry<'_>) -> Result<(), E>,
) -> Result<(), E> {
    topology::export::sysfs(machine, stem, put)
}

/// Reads a recording, for the machine that it was made on or that is like it, and takes the digest
/// of its content.
pub fn load_recording(
    file: RecordingFile<impl Read + Seek>,
    machine: &Machine,
    asked: Asked<'_>,
) -> Result<(Recording, String), RecordingError> {
    match file.format() {
        RecordingFormat::Text => {
            let mut text = HashingReader::new(buffered(file.into_stream()));
            let recording = trace::replay::read(&mut text, machine, asked)?;
            Ok((recording, text.digest()))
        }
        RecordingFormat::PerfData => {
            with_digest(file, |whole| trace::replay::perf_data::read(whole, machine, asked))
        }
        RecordingFormat::TraceDat => {
            with_digest(file, |whole| trace::replay::trace_dat::read(whole, machine, asked))
        }
        RecordingFormat::Perfetto => {
            with_digest(file, |whole| trace::replay::perfetto::read(whole, machine, asked))
        }
    }
}

/// What `read` makes of a recorder's own format, and the digest of the content.
fn with_digest(
    file: RecordingFile<impl Read + Seek>,
    read: impl FnOnce(&mut dyn ReadSeek) -> Result<Recording, RecordingError>,
) -> Result<(Recording, String), RecordingError> {
    let mut whole = file.into_whole()?;
    let recording = read(&mut whole)?;
    whole.rewind()?;
    Ok((recording, digest_of(whole)?))
}

/// The machine that a recording in perf's own format was made on; `None` if it does not tell.
pub fn import_perf_data(
    name: &str,
    input: impl Read + Seek,
) -> Result<Option<RecordedMachine>, RecordingError> {
    trace::replay::perf_data::machine(name, input)
}

/// How many CPUs a recording names.
pub fn recorded_cpus(file: RecordingFile<impl Read + Seek>) -> Result<u32, RecordingError> {
    match file.format() {
        RecordingFormat::Text => Ok(trace::replay::cpus(buffered(file.into_stream()))?),
        RecordingFormat::PerfData => trace::replay::perf_data::cpus(file.into_whole()?),
        RecordingFormat::TraceDat => trace::replay::trace_dat::cpus(file.into_whole()?),
        RecordingFormat::Perfetto => trace::replay::perfetto::cpus(file.into_whole()?),
    }
}

/// A text is read in large pieces.
fn buffered<R: Read>(input: R) -> BufReader<R> {
    BufReader::with_capacity(BUFFER_BYTES, input)
}

/// The machine as a tree for people.
pub fn machine_tree(machine: &Machine) -> String {
    topology::show::tree(machine)
}

/// The machine as the table that `lscpu -e` prints.
pub fn machine_table(machine: &Machine) -> String {
    topology::show::table(machine)
}

/// The machine as the text of a machine file; `stem` is the stem of the file's name.
pub fn machine_file(machine: &Machine, stem: &str) -> String {
    topology::write(machine, stem)
}
