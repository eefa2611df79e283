//! An irregular machine: one `[[cpu]]` entry per logical CPU, as an importer writes it.
//!
//! The numbers of CPUs have no gaps. Other ids may have them, as they often do in sysfs; those are
//! renumbered densely in the same order. Cores may have different numbers of threads. Without `ccd`
//! each LLC is a CCD.

use super::section::Section;
use super::{MAX_CPUS, MAX_NODES, MAX_THREADS};
use crate::{CpuPlace, Fault};
use std::collections::BTreeMap;
use std::ops::Range;

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
pub(super) fn read(
    top: &mut Section,
    list: Vec<Section>,
    faults: &mut Vec<Fault>,
) -> Option<Vec<CpuPlace>> {
    let n_cpus = list.len() as u64;
    if n_cpus == 0 || n_cpus > MAX_CPUS {
        let message = format!("{n_cpus} CPUs are listed; it must be 1 to {MAX_CPUS}");
        top.fault(Fault::at(top.span_of("cpu"), message));
        return None;
    }
    let entries: Vec<Option<Entry>> = list.into_iter().map(|s| entry(s, n_cpus, faults)).collect();
    let mut entries: Vec<Entry> = entries.into_iter().collect::<Option<_>>()?;
    entries.sort_by_key(|e| e.cpu);
    let n_faults = faults.len();
    check_numbers(&entries, faults);
    check_nesting(&entries, faults);
    let places = (faults.len() == n_faults).then(|| dense(&entries))?;
    if let Some(at) = places.iter().position(|p| u64::from(p.thread) >= MAX_THREADS) {
        let message = format!("a core has more than {MAX_THREADS} threads");
        faults.push(Fault::at(entries[at].span.clone(), message));
        return None;
    }
    let n_nodes = places.iter().map(|p| u64::from(p.node) + 1).max();
    if n_nodes > Some(MAX_NODES) {
        let message = format!("more than {MAX_NODES} NUMA nodes");
        faults.push(Fault::at(top.span_of("cpu"), message));
        return None;
    }
    Some(places)
}

fn entry(mut section: Section, n_cpus: u64, faults: &mut Vec<Fault>) -> Option<Entry> {
    let span = section.span();
    let id = 0..=u64::from(u32::MAX);
    let cpu = section.int_within("cpu", 0..=n_cpus - 1, 0..=MAX_CPUS - 1);
    let [core, llc, ccd, node, socket] =
        ["core", "llc", "ccd", "node", "socket"].map(|key| section.int(key, id.clone()));
    for key in ["cpu", "core", "llc", "node", "socket"] {
        section.require(key);
    }
    section.finish(faults);
    Some(Entry {
        cpu: cpu?,
        core: core?,
        llc: llc?,
        ccd: ccd.or(llc)?,
        node: node?,
        socket: socket?,
        span,
    })
}

/// Every number below the count is listed; with sorted entries, exactly once.
fn check_numbers(entries: &[Entry], faults: &mut Vec<Fault>) {
    for pair in entries.windows(2) {
        if pair[0].cpu == pair[1].cpu {
            let message = format!("CPU {} is listed twice", pair[1].cpu);
            faults.push(Fault::at(pair[1].span.clone(), message));
        }
    }
}

/// The name of an id, and how to read it.
type Id = (&'static str, fn(&Entry) -> u64);

/// Siblings share an LLC, an LLC lies in one CCD and node, a CCD in one socket.
fn check_nesting(entries: &[Entry], faults: &mut Vec<Fault>) {
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
                faults.push(Fault::at(entry.span.clone(), message));
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
