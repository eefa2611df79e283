//! An irregular machine: one `[[cpu]]` entry per logical CPU, as an importer writes it.
//!
//! The numbers of CPUs have no gaps. Other ids may have them, as they often do in sysfs; those are
//! renumbered densely in the same order. Cores may have different numbers of threads. Without `ccd`
//! each LLC is a CCD.

use super::{MAX_CPUS, MAX_NODES, MAX_THREADS};
use crate::CpuPlace;
use input::{Fault, KeyDef, Kind, Table, Walk};
use std::collections::BTreeMap;
use std::ops::Range;

const ID: Kind = Kind::Int { min: 0, max: u32::MAX as i64 };

/// The keys of `[[cpu]]`.
pub(super) const CPU: &[KeyDef] = &[
    KeyDef::required("cpu", Kind::Int { min: 0, max: MAX_CPUS as i64 - 1 }),
    KeyDef::required("core", ID),
    KeyDef::required("llc", ID),
    KeyDef::optional("ccd", ID),
    KeyDef::required("node", ID),
    KeyDef::required("socket", ID),
];

/// One entry as it stands in the file.
struct Entry {
    cpu: u64,
    core: u64,
    llc: u64,
    ccd: u64,
    node: u64,
    socket: u64,
    span: Range<usize>,
}

/// The places of all listed CPUs. `None` if the list is faulty.
pub(super) fn read(walk: &mut Walk, top: &Table, list: Vec<Table>) -> Option<Vec<CpuPlace>> {
    let n_cpus = list.len() as u64;
    if n_cpus == 0 || n_cpus > MAX_CPUS {
        let message = format!("{n_cpus} CPUs are listed; it must be 1 to {MAX_CPUS}");
        walk.fault(Fault::at(top.span_of("cpu"), message));
        return None;
    }
    let entries: Vec<Option<Entry>> = list.iter().map(|table| entry(walk, table, n_cpus)).collect();
    let mut entries: Vec<Entry> = entries.into_iter().collect::<Option<_>>()?;
    entries.sort_by_key(|e| e.cpu);
    let n_faults = walk.faults.len();
    check_numbers(walk, &entries);
    check_nesting(walk, &entries);
    let places = (walk.faults.len() == n_faults).then(|| dense(&entries))?;
    if let Some(at) = places.iter().position(|p| u64::from(p.thread) >= MAX_THREADS) {
        let message = format!("a core has more than {MAX_THREADS} threads");
        walk.fault(Fault::at(entries[at].span.clone(), message));
        return None;
    }
    let n_nodes = places.iter().map(|p| u64::from(p.node) + 1).max();
    if n_nodes > Some(MAX_NODES) {
        let message = format!("more than {MAX_NODES} NUMA nodes");
        walk.fault(Fault::at(top.span_of("cpu"), message));
        return None;
    }
    Some(places)
}

fn entry(walk: &mut Walk, table: &Table, n_cpus: u64) -> Option<Entry> {
    let cpu = table.int_within(walk, "cpu", 0..=n_cpus - 1);
    let [core, llc, ccd, node, socket] =
        ["core", "llc", "ccd", "node", "socket"].map(|key| table.int(walk, key));
    Some(Entry {
        cpu: cpu?,
        core: core?,
        llc: llc?,
        ccd: ccd.or(llc)?,
        node: node?,
        socket: socket?,
        span: table.span.clone(),
    })
}

/// Every number below the count is listed; with sorted entries, exactly once.
fn check_numbers(walk: &mut Walk, entries: &[Entry]) {
    for pair in entries.windows(2) {
        if pair[0].cpu == pair[1].cpu {
            let message = format!("CPU {} is listed twice", pair[1].cpu);
            walk.fault(Fault::at(pair[1].span.clone(), message));
        }
    }
}

/// The name of an id, and how to read it.
type Id = (&'static str, fn(&Entry) -> u64);

/// Siblings share an LLC, an LLC lies in one CCD and node, a CCD in one socket.
fn check_nesting(walk: &mut Walk, entries: &[Entry]) {
    let core: Id = ("core", |e| e.core);
    let llc: Id = ("LLC", |e| e.llc);
    let ccd: Id = ("CCD", |e| e.ccd);
    let node: Id = ("node", |e| e.node);
    let socket: Id = ("socket", |e| e.socket);
    let pairs = [(core, llc), (llc, ccd), (llc, node), (llc, socket), (ccd, socket)];
    for ((inner, inner_id), (outer, outer_id)) in pairs {
        let mut first: BTreeMap<u64, &Entry> = BTreeMap::new();
        for entry in entries {
            let known = *first.entry(inner_id(entry)).or_insert(entry);
            if outer_id(known) != outer_id(entry) {
                let message = format!(
                    "CPUs {} and {} share {inner} {} but lie in {outer} {} and {}",
                    known.cpu,
                    entry.cpu,
                    inner_id(entry),
                    outer_id(known),
                    outer_id(entry),
                );
                walk.fault(Fault::at(entry.span.clone(), message));
            }
        }
    }
}

/// The entries with ids renumbered from 0, and threads counted within each core.
fn dense(entries: &[Entry]) -> Vec<CpuPlace> {
    let ranks = |id: fn(&Entry) -> u64| {
        let mut ids: Vec<u64> = entries.iter().map(id).collect();
        ids.sort_unstable();
        ids.dedup();
        move |value: u64| ids.partition_point(|i| *i < value) as u32
    };
    let (core, llc, ccd) = (ranks(|e| e.core), ranks(|e| e.llc), ranks(|e| e.ccd));
    let (node, socket) = (ranks(|e| e.node), ranks(|e| e.socket));
    let mut n_threads: BTreeMap<u64, u32> = BTreeMap::new();
    let places = entries.iter().map(|e| {
        let thread = n_threads.entry(e.core).or_default();
        *thread += 1;
        CpuPlace {
            core: core(e.core),
            thread: *thread - 1,
            llc: llc(e.llc),
            ccd: ccd(e.ccd),
            node: node(e.node),
            socket: socket(e.socket),
        }
    });
    places.collect()
}
