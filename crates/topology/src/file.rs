//! The machine file: a TOML text becomes a [`Machine`], or a list of everything wrong with it.
//!
//! The table is walked by hand instead of being deserialized, because a user wants to hear of all
//! faults at once. The loader notes every key that it asks for. A key of the file that it never
//! asked for is unknown, so the list of valid names cannot go stale.
//!
//! A key that is absent has a documented default ([`RegularSpec`](crate::RegularSpec) and the
//! `Default`s of the parts). A key that is wrong never falls back to it: it is a fault.

mod asked;
mod company;
mod cpus;
mod numa;
mod numbers;
mod schema;
mod section;
mod shape;
mod sources;
#[cfg(test)]
mod tests;
mod write;

pub use schema::schema;
pub(crate) use write::shape_keys;
pub use write::write;

use crate::machine::default_distance;
use crate::{Fault, Governor, KernelCosts, LockCosts, Machine, REFERENCE_MHZ, WorkqueueCosts};
use section::Section;
use std::ops::{Range, RangeInclusive};
use std::path::Path;
use toml::de::DeTable;

/// The largest machine accepted, in logical CPUs.
pub const MAX_CPUS: u64 = 8192;

/// The largest number of NUMA nodes accepted; Linux on x86 has the same limit.
pub const MAX_NODES: u64 = 1024;

/// The largest number of threads of a core accepted; no machine that Linux runs on has more.
pub const MAX_THREADS: u64 = 8;

/// The ticks per second that a file may have; the kernel offers 100 to 1000.
const HZ: RangeInclusive<u64> = 24..=1200;

/// Loads a machine from the text of a machine file; `path` only gives it a name (the file's stem).
///
/// Every key, with its default where it has one:
///
/// ```toml
#[doc = include_str!("file/example.toml")]
/// ```
///
/// An irregular machine has no counts but, for each CPU, a `[[cpu]]` with `cpu`, `core`, `llc`,
/// `node`, `socket` and perhaps `ccd` (the LLC). Ids are machine-wide; those of CPUs may have no
/// gaps.
///
/// # Errors
/// All faults of the text, in its order. A text that is not TOML yields its syntax errors only.
pub fn load(path: impl AsRef<Path>, text: &str) -> Result<Machine, Vec<Fault>> {
    let stem = path.as_ref().file_stem();
    let name = stem.map_or_else(|| "machine".into(), |s| s.to_string_lossy());
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return from_table(&name, table.get_ref(), table.span());
    }
    Err(syntax_faults(text, &errors))
}

/// The first syntax error of each line; the others only follow from it.
fn syntax_faults(text: &str, errors: &[toml::de::Error]) -> Vec<Fault> {
    let start = |f: &Fault| f.span.as_ref().map_or(0, |s| s.start);
    let mut faults: Vec<Fault> = errors
        .iter()
        .map(|e| Fault { span: e.span(), message: e.message().to_owned(), help: None })
        .collect();
    faults.sort_by_key(start);
    let line = |f: &mut Fault| text.bytes().take(start(f)).filter(|b| *b == b'\n').count();
    faults.dedup_by_key(line);
    faults
}

/// Loads a machine from a table of a larger text, such as `[machine]` of a scenario. `name` is
/// used unless the table has its own; `span` is where the table stands.
///
/// # Errors
/// All faults of the table, in the order of the text; spans refer to the larger text.
pub fn from_table(
    name: &str,
    table: &DeTable<'_>,
    span: Range<usize>,
) -> Result<Machine, Vec<Fault>> {
    let mut faults = Vec::new();
    let mut top = Section::new("the machine", table, span);
    let machine = read(name, &mut top, &mut faults);
    top.finish(&mut faults);
    // Else a misspelled key would be told twice: as unknown, and as one whose source is there.
    if faults.is_empty() {
        faults = sources::of_nothing(table);
    }
    faults.sort_by_key(|f| f.span.as_ref().map_or(0, |s| s.start));
    match machine {
        Some(machine) if faults.is_empty() => Ok(machine),
        _ => Err(faults),
    }
}

/// Reads everything; `None` if the CPUs cannot be placed. The faults decide whether it is valid.
fn read(name: &str, top: &mut Section, faults: &mut Vec<Fault>) -> Option<Machine> {
    let clock = top.int("clock_mhz", 100..=10_000);
    let mut machine = Machine::blank(name.to_owned(), REFERENCE_MHZ);
    if let Some(clock) = clock {
        machine.clock_mhz = clock as u32;
        machine.costs = KernelCosts::at_clock(machine.clock_mhz);
        machine.locks = LockCosts::at_clock(machine.clock_mhz);
        machine.workqueue = WorkqueueCosts::at_clock(machine.clock_mhz);
    }
    if let Some(name) = top.string("name") {
        machine.name = name;
    }
    machine.title = top.string("title").unwrap_or_else(|| machine.name.clone());
    read_kernel(top, &mut machine);
    let places = shape::read(top, faults);
    let l3_as_numa = top.bool("l3_as_numa").unwrap_or(false);
    let n_nodes = places.as_ref().map(|p| p.iter().map(|p| p.node + 1).max().unwrap_or(1));
    let distance = numa::read(top, n_nodes, l3_as_numa);
    let reclaim_distance = top.int("reclaim_distance", 10..=255).unwrap_or(30) as u32;
    numbers::latency(top, places.as_deref(), &mut machine.line, faults);
    numbers::caches(top, &mut machine.caches, faults);
    numbers::cstates(top, &mut machine.cstates, faults);
    numbers::costs(top, &mut machine.costs, faults);
    numbers::locks(top, &mut machine.locks, faults);
    numbers::workqueue(top, &mut machine.workqueue, faults);
    numbers::smt(top, &mut machine.smt, faults);
    let n_cpus = places.as_ref().map(Vec::len);
    company::background(top, n_cpus, &mut machine.background, faults);
    company::variation(top, &mut machine.variation, faults);
    sources::read(top, &mut machine.sources, faults);
    if !faults.is_empty() || top.has_faults() {
        return None;
    }
    let places = places?;
    let distance = distance.unwrap_or_else(|| default_distance(&places));
    machine.place(places, distance, reclaim_distance);
    Some(machine)
}

fn read_kernel(top: &mut Section, machine: &mut Machine) {
    let tick_ns_max = 1_000_000_000 / *HZ.start();
    if let Some(hz) = top.int("hz", HZ) {
        machine.hz = hz as u32;
    }
    if let Some(skew) = top.int_within("tick_skew_ns", 0..=machine.tick_ns(), 0..=tick_ns_max) {
        machine.tick_skew_ns = skew;
    }
    if let Some(gib) = top.int("memory_gib", 1..=1024 * 1024) {
        machine.memory_gib = gib as u32;
    }
    if let Some(preemptible) = top.bool("preemptible_kernel") {
        machine.preemptible_kernel = preemptible;
    }
    machine.governor = top.word("governor", &Governor::NAMES).unwrap_or_default();
}
