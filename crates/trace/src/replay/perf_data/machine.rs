//! The machine of a recording, from the sections that `perf record` writes of its topology
//! (`tools/perf/util/header.c`).
//!
//! They are put where the kernel has them in `/sys`, so that one importer knows what they mean.

use super::bytes::Bytes;
use super::file::{Feature, Header, damaged};
use crate::replay::ReplayError;
use crate::replay::event::CPUS_MAX;
use std::io::{Read, Seek};
use topology::import::{Imported, MemTree};

const CPU: &str = "sys/devices/system/cpu";
const NODE: &str = "sys/devices/system/node";
/// What the importer calls its source.
const OF_SYSFS: &str = "a sysfs tree";
/// Bytes that all that is told of a machine may take: a damaged file may name a CPU again and
/// again.
const TOLD_BYTES_MAX: usize = 1 << 26;

/// The machine of a recording.
pub struct Recorded {
    /// The machine; its CPUs are numbered from 0 without gaps.
    pub imported: Imported,
    /// False if CPUs were offline, so that its events name CPUs by other numbers.
    pub is_numbered_alike: bool,
}

/// What is told of a machine, as files of `/sys`.
#[derive(Default)]
struct Told {
    tree: MemTree,
    bytes: usize,
}

impl Told {
    /// `None` if it is too much.
    fn put(&mut self, path: String, text: &str) -> Option<()> {
        self.bytes += path.len() + text.len();
        (self.bytes <= TOLD_BYTES_MAX).then_some(())?;
        self.tree.files.insert(path, text.into());
        Some(())
    }
}

/// The machine that a recording was made on, under this name; `None` if the recording does not
/// describe it.
///
/// # Errors
/// The file cannot be read, or what it says of the machine contradicts itself.
pub fn machine(name: &str, mut input: impl Read + Seek) -> Result<Option<Recorded>, ReplayError> {
    let header = Header::read(&mut input)?;
    let Some(section) = header.feature(Feature::CpuTopology) else {
        return Ok(None);
    };
    let mut told = Told::default();
    let last =
        cpus(section, &mut told).ok_or_else(|| damaged("its list of CPUs cannot be read"))?;
    if let Some(section) = header.feature(Feature::NumaTopology) {
        nodes(section, &mut told).ok_or_else(|| damaged("its list of nodes cannot be read"))?;
    }
    if let Some(section) = header.feature(Feature::Cache) {
        caches(section, &mut told).ok_or_else(|| damaged("its list of caches cannot be read"))?;
    }
    let info = cpu_info(&header);
    told.put("proc/cpuinfo".into(), &info).ok_or_else(|| damaged("its model is too long"))?;
    let imported = topology::import::sysfs(name, &told.tree);
    let why = |faults: Vec<input::Fault>| {
        let first = faults.first().map_or("", |fault| fault.message.as_str());
        damaged(&format!("its machine contradicts itself: {first}"))
    };
    let mut imported = imported.map_err(why)?;
    for source in imported.machine.sources.iter_mut().filter(|source| source.text == OF_SYSFS) {
        source.text = "the header of a recording by perf".into();
    }
    let is_numbered_alike = imported.machine.n_cpus() as u64 == last + 1;
    Ok(Some(Recorded { imported, is_numbered_alike }))
}

/// `HEADER_CPU_TOPOLOGY`: the siblings of packages and of cores, then each CPU's core and socket.
/// Returns the last CPU.
fn cpus(section: &[u8], told: &mut Told) -> Option<u64> {
    let mut rest = Bytes(section);
    for _ in 0..rest.u32()? {
        rest.header_string()?;
    }
    let mut cores = Vec::new();
    for _ in 0..rest.u32()? {
        cores.push(rest.header_string()?);
    }
    let mut online = Vec::new();
    for siblings in cores {
        for cpu in listed(siblings)? {
            online.push(cpu);
            told.put(format!("{CPU}/cpu{cpu}/topology/core_cpus_list"), siblings)?;
        }
    }
    online.sort_unstable();
    online.dedup();
    let last = *online.last()?;
    for cpu in 0..=last {
        let (_core, socket) = (rest.u32()?, rest.u32()?);
        if online.binary_search(&cpu).is_ok() {
            let path = format!("{CPU}/cpu{cpu}/topology/physical_package_id");
            told.put(path, &socket.to_string())?;
        }
    }
    let online: Vec<String> = online.iter().map(u64::to_string).collect();
    told.put(format!("{CPU}/online"), &online.join(","))?;
    Some(last)
}

/// `HEADER_NUMA_TOPOLOGY`: number, memory and CPUs of each node.
fn nodes(section: &[u8], told: &mut Told) -> Option<()> {
    let mut rest = Bytes(section);
    for _ in 0..rest.u32()? {
        let node = rest.u32()?;
        rest.take(16)?;
        told.put(format!("{NODE}/node{node}/cpulist"), rest.header_string()?)?;
    }
    Some(())
}

/// `HEADER_CACHE`: level, sizes and CPUs of each cache.
fn caches(section: &[u8], told: &mut Told) -> Option<()> {
    let mut rest = Bytes(section);
    let _version = rest.u32()?;
    for index in 0..rest.u32()? {
        let level = rest.u32()?;
        rest.take(12)?;
        let (kind, size) = (rest.header_string()?, rest.header_string()?);
        let shared = rest.header_string()?;
        for cpu in listed(shared)? {
            let cache = format!("{CPU}/cpu{cpu}/cache/index{index}");
            told.put(format!("{cache}/level"), &level.to_string())?;
            told.put(format!("{cache}/type"), kind)?;
            told.put(format!("{cache}/size"), size)?;
            told.put(format!("{cache}/shared_cpu_list"), shared)?;
        }
    }
    Some(())
}

/// Model and maker, as `/proc/cpuinfo` has them.
fn cpu_info(header: &Header) -> String {
    let text = |feature| Bytes(header.feature(feature)?).header_string();
    let model = text(Feature::CpuDesc).unwrap_or_default();
    // `AuthenticAMD,25,1,1`: maker, family, model, stepping.
    let mut id = text(Feature::CpuId).unwrap_or_default().split(',');
    let (maker, family) = (id.next().unwrap_or_default(), id.next().unwrap_or_default());
    format!("vendor_id : {maker}\ncpu family : {family}\nmodel name : {model}\n")
}

/// The CPUs of a list such as `0-3,8`.
fn listed(text: &str) -> Option<Vec<u64>> {
    let mut cpus = Vec::new();
    for range in text.trim().split(',').filter(|range| !range.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        if last >= CPUS_MAX {
            return None;
        }
        cpus.extend(first..=last);
        if cpus.len() as u64 > CPUS_MAX {
            return None;
        }
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;
    fn string(text: &str) -> Vec<u8> {
        let mut padded = text.as_bytes().to_vec();
        padded.resize(padded.len() + 3, 0);
        [&(padded.len() as u32).to_le_bytes()[..], &padded].concat()
    }

    fn numbers(of: &[u32]) -> Vec<u8> {
        of.iter().flat_map(|n| n.to_le_bytes()).collect()
    }

    #[test]
    fn two_cores_with_two_threads_each() {
        let section = [
            numbers(&[1]),
            string("0-3"),
            numbers(&[2]),
            string("0,2"),
            string("1,3"),
            numbers(&[0, 0, 1, 0, 0, 0, 1, 0]),
        ]
        .concat();
        let shared = [&numbers(&[1, 1, 3, 64, 9, 9])[..], &string("Unified"), &string("8192K")];
        let caches_of_all = [&shared.concat()[..], &string("0-3")].concat();
        let mut told = Told::default();
        assert_eq!(cpus(&section, &mut told), Some(3));
        assert_eq!(caches(&caches_of_all, &mut told), Some(()));
        let machine = topology::import::sysfs("recorded", &told.tree).unwrap().machine;
        assert_eq!((machine.n_cpus(), machine.cores.len(), machine.llcs.len()), (4, 2, 1));
        for n in 0..section.len() {
            assert!(cpus(&section[..n], &mut Told::default()).is_none(), "{n}");
        }
    }

    #[test]
    fn what_is_no_list_is_none() {
        assert_eq!(listed("0-2,7"), Some(vec![0, 1, 2, 7]));
        assert_eq!([listed("x"), listed("0-9999999"), listed("-3")], [None, None, None]);
        assert_eq!(listed(&"0-8191,".repeat(9)), None);
    }
}
