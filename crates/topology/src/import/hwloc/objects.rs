//! The tree of objects while it streams by: what is above each PU, and which CPUs nodes have.

use super::super::runs::{CpuRuns, number};
use super::cpuset;
use super::xml::Element;
use crate::file::MAX_NODES;
use input::Fault;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

#[derive(Default)]
pub(super) struct Objects {
    pub pus: Vec<Pu>,
    /// Numbers of the PUs.
    known: BTreeSet<u32>,
    nodes: Vec<Node>,
    complete: CpuRuns,
    pub l1d_kib: Option<u32>,
    pub l2_kib: Option<u32>,
    /// Size of the caches of the first PU, by level.
    sizes: BTreeMap<u32, u32>,
    /// What surrounds the next object: one entry per open object.
    above: Vec<Above>,
    n_objects: u64,
}

/// A hardware thread and what it is in.
pub(super) struct Pu {
    pub os: u32,
    pub core: u64,
    pub package: u64,
    pub die: Option<u64>,
    /// The highest cache above L1, and its level.
    pub llc: Option<(u64, u32)>,
    span: Range<usize>,
}

struct Node {
    os: u32,
    cpus: CpuRuns,
}

#[derive(Clone, Copy, Default)]
struct Above {
    core: Option<u64>,
    package: u64,
    die: Option<u64>,
    llc: Option<(u64, u32)>,
}

impl Objects {
    pub fn open(&mut self, element: &Element<'_>) -> Result<(), Fault> {
        self.n_objects += 1;
        let id = self.n_objects;
        let mut above = self.above.last().copied().unwrap_or_default();
        let Some(kind) = element.attribute("type") else {
            return Err(Fault::at(element.span.clone(), "an object without a type"));
        };
        match kind.value() {
            "Machine" => self.complete = cpuset(element, "complete_cpuset")?.unwrap_or_default(),
            "Package" => above.package = id,
            "Die" => above.die = Some(id),
            "Core" => above.core = Some(id),
            "PU" => self.pu(element, &above, id)?,
            "NUMANode" => self.node(element)?,
            kind => {
                if let Some(level) = cache_level(kind) {
                    self.cache(element, level)?;
                    // The outermost is the last level.
                    if level >= 2 && above.llc.is_none_or(|(_, known)| known < level) {
                        above.llc = Some((id, level));
                    }
                }
            }
        }
        self.above.push(above);
        Ok(())
    }

    pub fn close(&mut self) {
        self.above.pop();
    }

    fn pu(&mut self, element: &Element<'_>, above: &Above, id: u64) -> Result<(), Fault> {
        let os = os_index(element)?;
        if !self.known.insert(os) {
            return Err(Fault::at(element.span.clone(), format!("PU {os} is there twice")));
        }
        self.pus.push(Pu {
            os,
            // An XML without core objects: each PU is a core of its own.
            core: above.core.unwrap_or(id),
            package: above.package,
            die: above.die,
            llc: above.llc,
            span: element.span.clone(),
        });
        Ok(())
    }

    fn node(&mut self, element: &Element<'_>) -> Result<(), Fault> {
        let os = os_index(element)?;
        if self.nodes.len() as u64 >= MAX_NODES {
            let message = format!("more than {MAX_NODES} NUMA nodes");
            return Err(Fault::at(element.span.clone(), message));
        }
        let cpus = cpuset(element, "cpuset")?.unwrap_or_default();
        self.nodes.push(Node { os, cpus });
        self.nodes.sort_by_key(|node| node.os);
        Ok(())
    }

    fn cache(&mut self, element: &Element<'_>, level: u32) -> Result<(), Fault> {
        let Some(size) = element.attribute("cache_size") else {
            return Ok(());
        };
        let Ok(bytes) = size.value().parse::<u64>() else {
            let message = format!("`{}` is no size in bytes", size.value());
            return Err(Fault::at(size.span(), message));
        };
        let kib = u32::try_from(bytes / 1024).ok();
        if let Some(kib) = kib.filter(|kib| (1..=16 * 1024 * 1024).contains(kib)) {
            self.sizes.entry(level).or_insert(kib);
            match level {
                1 => self.l1d_kib.get_or_insert(kib),
                2 => self.l2_kib.get_or_insert(kib),
                _ => return Ok(()),
            };
        }
        Ok(())
    }

    /// Size of the last level.
    pub fn llc_kib(&self) -> Option<u32> {
        let (_, level) = self.pus.first()?.llc?;
        self.sizes.get(&level).copied()
    }

    /// The node near a CPU: of several (memory of two kinds) the first, as Linux has it.
    pub fn node_of(&self, cpu: u32) -> u32 {
        self.nodes.iter().find(|node| node.cpus.contains(cpu)).map_or(0, |node| node.os)
    }

    /// Where each PU stands in the text.
    pub fn places(&self) -> Vec<(u32, Range<usize>)> {
        self.pus.iter().map(|pu| (pu.os, pu.span.clone())).collect()
    }

    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let here = CpuRuns::of(self.known.iter().copied());
        let offline = CpuRuns::of(self.complete.iter().filter(|cpu| !here.contains(*cpu)));
        if !offline.is_empty() {
            remarks.push(format!("CPUs {offline} are offline or not allowed and left out"));
        }
        let used: BTreeSet<u32> = here.iter().map(|cpu| self.node_of(cpu)).collect();
        let unused = self.nodes.iter().map(|node| node.os).filter(|os| !used.contains(os));
        let unused = CpuRuns::of(unused);
        if self.nodes.is_empty() {
            remarks.push("no NUMA nodes: all CPUs are in one".into());
        } else if !unused.is_empty() {
            remarks.push(format!("nodes without CPUs of their own are left out: {unused}"));
        }
        remarks
    }
}

/// Level of `L3Cache`; `None` for instruction caches and everything else.
fn cache_level(kind: &str) -> Option<u32> {
    kind.strip_prefix('L')?.strip_suffix("Cache")?.parse().ok()
}

fn os_index(element: &Element<'_>) -> Result<u32, Fault> {
    let Some(index) = element.attribute("os_index") else {
        return Err(Fault::at(element.span.clone(), "an object without os_index"));
    };
    number(index.value(), &index.span())
}
