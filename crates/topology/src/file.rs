//! The machine file: a TOML text becomes a [`Machine`], or a list of everything wrong with it.
//!
//! The table is walked by hand instead of being deserialized, because a user wants to hear of all
//! faults at once. The keys of each table are rows; the reader knows no other keys, and the schema
//! is made from the same rows.
//!
//! A key that is absent has a documented default ([`RegularSpec`](crate::RegularSpec) and the
//! `Default`s of the parts). A key that is wrong never falls back to it: it is a fault.

mod company;
mod cpufreq;
mod cpus;
mod numa;
mod numbers;
mod schema;
mod shape;
mod sources;
#[cfg(test)]
mod tests;
mod write;

pub use schema::schema;
pub(crate) use write::shape_keys;
pub use write::write;

use crate::machine::default_distance;
use crate::{Governor, KernelCosts, LockCosts, Machine, REFERENCE_MHZ, WorkqueueCosts};
use input::{Fault, KeyDef, Kind, Table, Walk, parse, words};
use std::ops::Range;
use std::path::Path;
use toml::de::DeTable;

/// The largest machine accepted, in logical CPUs.
pub const MAX_CPUS: u64 = 8192;

/// The largest number of NUMA nodes accepted; Linux on x86 has the same limit.
pub const MAX_NODES: u64 = 1024;

/// The largest number of threads of a core accepted; no machine that Linux runs on has more.
pub const MAX_THREADS: u64 = 8;

/// The least ticks per second that a file may have; the kernel offers 100 to 1000.
const HZ_MIN: i64 = 24;

/// The keys of a machine.
const MACHINE: &[KeyDef] = &[
    KeyDef::optional("name", Kind::Text),
    KeyDef::optional("title", Kind::Text),
    KeyDef::optional("sockets", shape::COUNT),
    KeyDef::optional("nodes_per_socket", shape::COUNT),
    KeyDef::optional("llcs_per_socket", shape::COUNT),
    KeyDef::optional("llcs_per_ccd", shape::COUNT),
    KeyDef::optional("cores_per_llc", shape::COUNT),
    KeyDef::optional("threads_per_core", Kind::Int { min: 1, max: MAX_THREADS as i64 }),
    KeyDef::optional("cores", shape::COUNT),
    KeyDef::optional("cpus", shape::COUNT),
    KeyDef::optional("cpu", Kind::Tables(cpus::CPU)),
    KeyDef::optional("l3_as_numa", Kind::Switch),
    KeyDef::optional("numa", Kind::Switch),
    KeyDef::optional("numa_distances", Kind::List(&Kind::List(&numa::DISTANCE.kind))),
    KeyDef::optional("reclaim_distance", Kind::Int { min: 10, max: 255 }),
    KeyDef::optional("clock_mhz", Kind::Int { min: 100, max: 10_000 }),
    KeyDef::optional("freq_scale", Kind::Int { min: 1, max: 1024 }),
    KeyDef::optional("hz", Kind::Int { min: HZ_MIN, max: 1200 }),
    KeyDef::optional("tick_skew_ns", Kind::Int { min: 0, max: 1_000_000_000 / HZ_MIN }),
    KeyDef::optional("preemptible_kernel", Kind::Switch),
    KeyDef::optional("memory_gib", Kind::Int { min: 1, max: 1024 * 1024 }),
    KeyDef::optional("governor", Kind::Word(&words(&Governor::NAMES))),
    KeyDef::optional("cpufreq", Kind::Table(cpufreq::CPUFREQ)),
    KeyDef::optional("latency", Kind::Table(numbers::LATENCY)),
    KeyDef::optional("caches", Kind::Table(numbers::CACHES)),
    KeyDef::optional("cstate", Kind::Tables(numbers::CSTATE)),
    KeyDef::optional("costs", Kind::Table(numbers::COSTS)),
    KeyDef::optional("locks", Kind::Table(numbers::LOCKS)),
    KeyDef::optional("workqueue", Kind::Table(numbers::WORKQUEUE)),
    KeyDef::optional("smt", Kind::Table(numbers::SMT)),
    KeyDef::optional("background", Kind::Tables(company::BACKGROUND)),
    KeyDef::optional("variation", Kind::Table(company::VARIATION)),
    KeyDef::optional("source", Kind::Tables(sources::SOURCE)),
];

/// Sets a field to the value of a key that is there.
fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

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
    let document = parse(text)?;
    from_table(&name, document.get_ref(), document.span())
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
    let mut walk = Walk::default();
    let machine = read(name, &mut walk, table, span);
    // Else a misspelled key would be told twice: as unknown, and as one whose source is there.
    if walk.faults.is_empty() {
        walk.faults = sources::of_nothing(table);
    }
    walk.faults.sort_by_key(Fault::start);
    match machine {
        Some(machine) if walk.faults.is_empty() => Ok(machine),
        _ => Err(walk.faults),
    }
}

/// Reads everything; `None` if the CPUs cannot be placed. The faults decide whether it is valid.
fn read(name: &str, walk: &mut Walk, table: &DeTable<'_>, span: Range<usize>) -> Option<Machine> {
    let top = &walk.open("the machine".to_string(), span, table, MACHINE);
    let mut machine = Machine::blank(name.to_owned(), REFERENCE_MHZ);
    if let Some(clock_mhz) = top.int(walk, "clock_mhz") {
        machine.clock_mhz = clock_mhz;
        machine.costs = KernelCosts::at_clock(clock_mhz);
        machine.locks = LockCosts::at_clock(clock_mhz);
        machine.workqueue = WorkqueueCosts::at_clock(clock_mhz);
    }
    set(&mut machine.name, top.text(walk, "name"));
    machine.title = top.text(walk, "title").unwrap_or_else(|| machine.name.clone());
    read_kernel(walk, top, &mut machine);
    machine.cpufreq = cpufreq::read(walk, top);
    let l3_as_numa = top.switch(walk, "l3_as_numa").unwrap_or(false);
    let places = shape::read(walk, top, l3_as_numa);
    let n_nodes = places.as_ref().map(|p| p.iter().map(|p| p.node + 1).max().unwrap_or(1));
    let distance = numa::read(walk, top, n_nodes, l3_as_numa);
    let reclaim_distance = top.int(walk, "reclaim_distance").unwrap_or(30);
    numbers::latency(walk, top, places.as_deref(), &mut machine.line);
    numbers::caches(walk, top, &mut machine.caches);
    numbers::cstates(walk, top, &mut machine.cstates);
    numbers::costs(walk, top, &mut machine.costs);
    numbers::locks(walk, top, &mut machine.locks);
    numbers::workqueue(walk, top, &mut machine.workqueue);
    numbers::smt(walk, top, &mut machine.smt);
    let n_cpus = places.as_ref().map(Vec::len);
    company::background(walk, top, n_cpus, &mut machine.background);
    company::variation(walk, top, &mut machine.variation);
    sources::read(walk, top, &mut machine.sources);
    let places = places.filter(|_| walk.faults.is_empty())?;
    let distance = distance.unwrap_or_else(|| default_distance(&places));
    machine.place(places, distance, reclaim_distance);
    Some(machine)
}

fn read_kernel(walk: &mut Walk, top: &Table, machine: &mut Machine) {
    set(&mut machine.hz, top.int(walk, "hz"));
    let within_a_tick = 0..=machine.tick_ns();
    set(&mut machine.freq_scale, top.int(walk, "freq_scale"));
    set(&mut machine.tick_skew_ns, top.int_within(walk, "tick_skew_ns", within_a_tick));
    set(&mut machine.memory_gib, top.int(walk, "memory_gib"));
    set(&mut machine.preemptible_kernel, top.switch(walk, "preemptible_kernel"));
    set(&mut machine.governor, top.word(walk, "governor", &Governor::NAMES));
}
