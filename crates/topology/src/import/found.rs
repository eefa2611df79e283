//! What a dump says, whatever its format, and the machine that follows.
//!
//! Numbers of a dump may have gaps; the machine's are dense. Nodes keep the order of their numbers
//! (the distance table refers to them), other parts that of their lowest CPU. An LLC that spans
//! several nodes or sockets is split there: the scheduler's cache domain ends at the node, too
//! (x86: `match_llc` in `arch/x86/kernel/smpboot.c`).

use super::Imported;
use super::defaults::{self, Maker};
use super::runs::CpuRuns;
use crate::file::{MAX_CPUS, MAX_NODES, MAX_THREADS, shape_keys};
use crate::machine::default_distance;
use crate::{CState, Confidence, CpuPlace, Machine, REFERENCE_MHZ, Source};
use std::collections::{BTreeMap, BTreeSet};

/// What was read from a dump, before numbers are made dense.
#[derive(Default)]
pub(super) struct Found {
    /// What was read, as sources call it: `a sysfs tree`.
    pub what: &'static str,
    /// The model, if it is known.
    pub model: Option<String>,
    pub maker: Maker,
    /// True if it is known to be a virtual machine.
    pub is_guest: bool,
    /// The CPUs that are online, each once.
    pub cpus: Vec<FoundCpu>,
    pub distances: Option<Distances>,
    /// Core clock in MHz and what it is.
    pub clock: Option<(u32, &'static str)>,
    pub l1d_kib: Option<u32>,
    pub l2_kib: Option<u32>,
    pub llc_kib: Option<u32>,
    /// Idle states, shallow to deep; `None` if the dump is silent about them.
    pub cstates: Option<Vec<CState>>,
    pub remarks: Vec<String>,
}

/// One CPU. An id means nothing but this: CPUs that share a part have the same one.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundCpu {
    /// The number that the operating system gives it.
    pub os: u32,
    pub core: u64,
    /// `None` if the dump says nothing about caches.
    pub llc: Option<u64>,
    /// The die; `None` if the dump says nothing about dies.
    pub die: Option<u64>,
    /// The operating system's number of its node.
    pub node: u32,
    pub socket: u64,
}

/// The distance table as the firmware reports it.
pub(super) struct Distances {
    /// Numbers of the nodes, also of those without CPUs.
    pub nodes: Vec<u32>,
    /// Row-major.
    pub table: Vec<u32>,
}

/// Why the parts of a dump do not fit together.
#[derive(Debug)]
pub(super) struct Conflict {
    /// The number of a CPU concerned.
    pub cpu: u32,
    pub message: String,
}

impl Found {
    /// Makes the machine: dense numbers, defaults where the dump is silent, and a source for each.
    ///
    /// # Errors
    /// Parts that do not fit together. `cpus` must not be empty.
    pub fn machine(mut self, name: &str) -> Result<Imported, Conflict> {
        self.cpus.sort_unstable_by_key(|c| c.os);
        self.check()?;
        let places = self.places();
        let distance = self.distance(&places);
        let clock = self.clock.map_or(REFERENCE_MHZ, |(mhz, _)| mhz);
        let mut machine = Machine::blank(name.to_owned(), clock);
        machine.title = self.title(&places);
        machine.line = self.latency(&places);
        machine.caches = self.maker.caches();
        for (field, found) in [
            (&mut machine.caches.l1d_kib, self.l1d_kib),
            (&mut machine.caches.l2_kib, self.l2_kib),
            (&mut machine.caches.l3_kib, self.llc_kib),
        ] {
            *field = found.unwrap_or(*field);
        }
        let (cstates, _) = defaults::cstates(self.is_guest);
        machine.cstates = self.cstates.clone().unwrap_or(cstates);
        let has_distance = distance.is_some();
        let distance = distance.unwrap_or_else(|| default_distance(&places));
        machine.place(places, distance, self.maker.reclaim_distance());
        machine.sources = self.sources(&machine, has_distance);
        Ok(Imported { machine, remarks: self.remarks })
    }

    /// Threads of a core share everything, and the machine is not too large.
    fn check(&self) -> Result<(), Conflict> {
        let conflict = |cpu: u32, message: String| Err(Conflict { cpu, message });
        let first = self.cpus.first().map_or(0, |c| c.os);
        let n_nodes = self.cpus.iter().map(|c| c.node).collect::<BTreeSet<_>>().len() as u64;
        if self.cpus.len() as u64 > MAX_CPUS {
            let n = self.cpus.len();
            return conflict(first, format!("{n} CPUs; at most {MAX_CPUS} can be simulated"));
        }
        if n_nodes > MAX_NODES {
            return conflict(first, format!("{n_nodes} NUMA nodes; at most {MAX_NODES} can be"));
        }
        let mut firsts: BTreeMap<u64, FoundCpu> = BTreeMap::new();
        let mut n_threads: BTreeMap<u64, u64> = BTreeMap::new();
        for cpu in &self.cpus {
            let n = n_threads.entry(cpu.core).or_default();
            *n += 1;
            if *n > MAX_THREADS {
                let message = format!("a core has more than {MAX_THREADS} threads");
                return conflict(cpu.os, message);
            }
            let known = *firsts.entry(cpu.core).or_insert(*cpu);
            let apart = [
                (known.llc != cpu.llc, "last-level caches"),
                (known.node != cpu.node, "NUMA nodes"),
                (known.socket != cpu.socket, "sockets"),
            ];
            if let Some((_, what)) = apart.iter().find(|(differs, _)| *differs) {
                let (a, b) = (known.os, cpu.os);
                let message = format!("CPUs {a} and {b} are threads of one core in two {what}");
                return conflict(b, message);
            }
        }
        Ok(())
    }

    /// The places of all CPUs, in the order of their numbers.
    fn places(&mut self) -> Vec<CpuPlace> {
        // Node and socket are part of the key: an LLC that spans several of them is cut there.
        let keys: Vec<(u64, u32, u64)> =
            self.cpus.iter().map(|c| (c.llc.unwrap_or(c.socket), c.node, c.socket)).collect();
        self.remark_on_llcs(&keys);
        let llc = ranks(&keys);
        let core = ranks(&self.cpus.iter().map(|c| c.core).collect::<Vec<_>>());
        let socket = ranks(&self.cpus.iter().map(|c| c.socket).collect::<Vec<_>>());
        let nodes: BTreeSet<u32> = self.cpus.iter().map(|c| c.node).collect();
        let nodes: Vec<u32> = nodes.into_iter().collect();
        let ccd = self.ccds(&llc);
        let mut threads: BTreeMap<u32, u32> = BTreeMap::new();
        let places = self.cpus.iter().enumerate().map(|(i, cpu)| {
            let thread = threads.entry(core[i]).or_default();
            *thread += 1;
            CpuPlace {
                core: core[i],
                thread: *thread - 1,
                llc: llc[i],
                ccd: ccd[i],
                node: nodes.partition_point(|n| *n < cpu.node) as u32,
                socket: socket[i],
            }
        });
        places.collect()
    }

    fn remark_on_llcs(&mut self, keys: &[(u64, u32, u64)]) {
        if self.cpus.iter().all(|c| c.llc.is_none()) {
            let remark =
                "nothing about caches: one last-level cache per socket and node is assumed";
            self.remarks.push(remark.into());
            return;
        }
        let whole: BTreeSet<u64> = keys.iter().map(|k| k.0).collect();
        let parts: BTreeSet<&(u64, u32, u64)> = keys.iter().collect();
        if parts.len() > whole.len() {
            self.remarks.push(format!(
                "{} last-level caches span nodes or sockets and are split there, as the \
                 scheduler's cache domains are: {} in all",
                parts.len() - whole.len(),
                parts.len(),
            ));
        }
    }

    /// The CCD of each CPU: its die, if dies hold whole LLCs and are smaller than sockets.
    /// Otherwise each LLC is a CCD.
    fn ccds(&self, llc: &[u32]) -> Vec<u32> {
        let dies: Option<Vec<(u64, u64)>> =
            self.cpus.iter().map(|c| c.die.map(|die| (c.socket, die))).collect();
        let Some(dies) = dies else {
            return llc.to_vec();
        };
        let n = |set: BTreeSet<(u64, u64)>| set.len();
        let n_dies = n(dies.iter().copied().collect());
        let n_sockets = n(self.cpus.iter().map(|c| (c.socket, 0)).collect());
        let pairs: BTreeSet<(u32, (u64, u64))> =
            llc.iter().copied().zip(dies.iter().copied()).collect();
        let llcs: BTreeSet<u32> = llc.iter().copied().collect();
        let holds_whole_llcs = pairs.len() == llcs.len();
        // One die per socket is what the kernel shows where it knows of none.
        if holds_whole_llcs && n_dies > n_sockets { ranks(&dies) } else { llc.to_vec() }
    }

    /// The table of the nodes that have CPUs, if it is one that a machine can have.
    fn distance(&mut self, places: &[CpuPlace]) -> Option<Vec<u32>> {
        let Distances { nodes, table } = self.distances.as_ref()?;
        if places.iter().all(|p| p.node == 0) {
            return None;
        }
        let with_cpus: BTreeSet<u32> = self.cpus.iter().map(|c| c.node).collect();
        let rows: Option<Vec<usize>> =
            with_cpus.iter().map(|node| nodes.iter().position(|n| n == node)).collect();
        let at = |a: usize, b: usize| table.get(a * nodes.len() + b).copied();
        let cells = rows.and_then(|rows| {
            rows.iter()
                .flat_map(|a| rows.iter().map(move |b| at(*a, *b)))
                .collect::<Option<Vec<_>>>()
        });
        let n = with_cpus.len();
        let sound = |cells: &Vec<u32>| {
            let mut pairs = (0..n).flat_map(|a| (0..n).map(move |b| (a, b)));
            pairs.all(|(a, b)| {
                let there = cells[a * n + b];
                (there == 10) == (a == b)
                    && (10..=254).contains(&there)
                    && there == cells[b * n + a]
            })
        };
        let usable = cells.filter(sound);
        if usable.is_none() {
            let assumed = default_distance(places);
            let far = assumed.iter().max().copied().unwrap_or(10);
            self.remarks.push(format!(
                "the table of node distances is not one (10 from a node to itself, more and equal \
                 both ways to others); defaults up to {far} are assumed"
            ));
        }
        usable
    }

    /// The default transfer times of the distances that occur; others repeat the one below.
    fn latency(&self, places: &[CpuPlace]) -> crate::LineLatency {
        use crate::Distance::{Llc, Node, Smt, Socket};
        let (mut line, _) = self.maker.latency();
        for distance in [Smt, Llc, Node, Socket] {
            if !distance.occurs(places) {
                line.ns[distance as usize] = line.ns[distance as usize - 1];
            }
        }
        line
    }

    fn title(&self, places: &[CpuPlace]) -> String {
        let sockets = places.iter().map(|p| p.socket + 1).max().unwrap_or(1);
        match &self.model {
            // An exported tree has the title as its model.
            Some(model) if sockets > 1 && !model.starts_with(&format!("{sockets} x ")) => {
                format!("{sockets} x {model}")
            }
            Some(model) => model.clone(),
            None => format!("{} CPUs of {}", self.cpus.len(), self.what),
        }
    }

    /// One `[[source]]` for each group of keys, also for unverified defaults.
    fn sources(&self, machine: &Machine, has_distance: bool) -> Vec<Source> {
        use Confidence::{Inferred, Measured, Published, Unverified};
        let mut sources = Vec::new();
        let mut add = |keys: &[&str], confidence, text: String| {
            if !keys.is_empty() {
                let keys = keys.iter().map(|key| (*key).to_owned()).collect();
                sources.push(Source { keys, text, confidence });
            }
        };
        add(&shape_keys(&machine.cpus), Measured, format!("{}{}", self.what, self.renumbered()));
        if has_distance {
            add(&["numa_distances"], Measured, format!("{}: the firmware's table", self.what));
        } else if machine.nodes.len() > 1 {
            add(&["numa_distances"], Unverified, "a default: nothing usable was found".into());
        }
        match self.clock {
            Some((_, text)) => add(&["clock_mhz"], Inferred, text.into()),
            None => add(&["clock_mhz"], Unverified, "a default".into()),
        }
        add(&["hz"], Unverified, "the default of kernel/Kconfig.hz, a guess".into());
        if machine.reclaim_distance != 30 {
            add(&["reclaim_distance"], Published, "Linux arch/x86/kernel/cpu/amd.c, v6.4".into());
        }
        let sizes = [
            ("caches.l1d_kib", self.l1d_kib),
            ("caches.l2_kib", self.l2_kib),
            ("caches.l3_kib", self.llc_kib),
        ];
        let keys = |found: bool| -> Vec<&str> {
            sizes.iter().filter(|(_, kib)| kib.is_some() == found).map(|(key, _)| *key).collect()
        };
        add(&keys(true), Measured, self.what.into());
        let guessed = [keys(false), vec!["caches.l3_hit_ns", "caches.mem_ns"]].concat();
        add(&guessed, Unverified, "a default of a server part of this maker".into());
        add(&["caches.mlp"], Inferred, MLP.into());
        add(&["latency"], Unverified, self.maker.latency().1.into());
        match &self.cstates {
            Some(_) if self.is_guest => add(&["cstate"], Unverified, GUEST_CPUIDLE.into()),
            Some(_) => add(&["cstate"], Inferred, format!("{}: {CPUIDLE}", self.what)),
            None => add(&["cstate"], Unverified, defaults::cstates(self.is_guest).1.into()),
        }
        sources
    }

    /// Which numbers the CPUs had in the dump, if the machine's are others.
    fn renumbered(&self) -> String {
        let last = self.cpus.last().map_or(0, |c| c.os as usize + 1);
        if last == self.cpus.len() {
            return String::new();
        }
        let cpus = CpuRuns::of(self.cpus.iter().map(|c| c.os));
        format!("; its CPUs {cpus} are numbered from 0 here")
    }
}

const MLP: &str = "the model's default for code that is neither streaming nor pointer chasing";

const CPUIDLE: &str = "the kernel's table of idle states; real exits may be faster than it says";

const GUEST_CPUIDLE: &str =
    "the guest's table of idle states; a wake-up through the hypervisor takes longer than it says";

/// For each element, the rank of its key by first occurrence.
fn ranks<K: Ord>(keys: &[K]) -> Vec<u32> {
    let mut known: BTreeMap<&K, u32> = BTreeMap::new();
    let ranks = keys.iter().map(|key| {
        let next = known.len() as u32;
        *known.entry(key).or_insert(next)
    });
    ranks.collect()
}
