//! The tree of parts: socket, node, CCD, LLC. Levels that say nothing new are joined.

use super::counted;
use crate::{CpuPlace, CpuSet, Machine};

/// Runs of equal siblings longer than this are folded.
const MAX_RUN: usize = 12;

/// A part with what is inside it.
struct Part {
    /// `socket 0`, or `socket 0, node 0` if both are the same CPUs.
    name: String,
    cpus: CpuSet,
    detail: String,
    inside: Vec<Part>,
}

/// A kind of part, and the id a CPU has there.
type Kind = (&'static str, fn(&CpuPlace) -> u32);

const KINDS: [Kind; 4] =
    [("socket", |p| p.socket), ("node", |p| p.node), ("CCD", |p| p.ccd), ("LLC", |p| p.llc)];

pub(super) fn tree(machine: &Machine) -> String {
    let mut kinds = KINDS.to_vec();
    if machine.cpus.iter().all(|p| p.ccd == p.llc) {
        kinds.retain(|(kind, _)| *kind != "CCD");
    }
    let parts = split(machine, &CpuSet::full(machine.n_cpus()), &kinds);
    let mut lines = Vec::new();
    print_all(&parts, 0, &mut lines);
    let width = lines.iter().map(|l| l.0.len()).max().unwrap_or(0);
    let lines = lines.iter().map(|(name, text)| {
        let line = format!("{name:<width$}  {text}");
        line.trim_end().to_owned() + "\n"
    });
    lines.collect()
}

/// The parts of one kind within a set of CPUs, by their lowest CPU.
fn split(machine: &Machine, within: &CpuSet, kinds: &[Kind]) -> Vec<Part> {
    let Some(((kind, id), deeper)) = kinds.split_first() else {
        return Vec::new();
    };
    let mut spans: Vec<(u32, CpuSet)> = Vec::new();
    for cpu in within.iter() {
        let id = id(&machine.cpus[cpu]);
        match spans.iter_mut().find(|(known, _)| *known == id) {
            Some((_, span)) => span.insert(cpu),
            None => spans.push((id, CpuSet::of(machine.n_cpus(), [cpu]))),
        }
    }
    let parts = spans.into_iter().map(|(id, cpus)| {
        let detail = detail(machine, &cpus, deeper.is_empty());
        Part::new(format!("{kind} {id}"), split(machine, &cpus, deeper), cpus, detail)
    });
    parts.collect()
}

/// What an LLC consists of.
fn detail(machine: &Machine, cpus: &CpuSet, is_llc: bool) -> String {
    if !is_llc {
        return String::new();
    }
    let mut cores: Vec<u32> = cpus.iter().map(|c| machine.cpus[c].core).collect();
    cores.sort_unstable();
    cores.dedup();
    let l3 = machine.caches.l3_kib;
    let size = match (l3 % 1024, l3 / 1024) {
        (0, mib) => format!("{mib} MiB"),
        _ => format!("{l3} KiB"),
    };
    let cpus_per_core = cpus.len() / cores.len();
    let threads = match (cpus.len() % cores.len(), cpus_per_core) {
        (0, 1) => String::new(),
        (0, n) => format!(" x {n} threads"),
        _ => ", mixed threads".into(),
    };
    format!("{size}, {}{threads}", counted(cores.len(), "core"))
}

impl Part {
    /// A part; a single part inside that is the same CPUs is joined with it.
    fn new(name: String, mut inside: Vec<Part>, cpus: CpuSet, detail: String) -> Self {
        if inside.len() == 1 && inside[0].cpus == cpus {
            let only = inside.remove(0);
            return Self { name: format!("{name}, {}", only.name), ..only };
        }
        Self { name, cpus, detail, inside }
    }

    /// True if both consist of the same numbers of the same things.
    fn is_like(&self, other: &Self) -> bool {
        self.detail == other.detail
            && self.cpus.len() == other.cpus.len()
            && self.inside.len() == other.inside.len()
            && self.inside.iter().zip(&other.inside).all(|(a, b)| a.is_like(b))
    }

    fn print(&self, depth: usize, lines: &mut Vec<(String, String)>) {
        let name = format!("{}{}", "  ".repeat(depth), self.name);
        let text = match &*self.detail {
            "" => format!("CPUs {}", self.cpus),
            detail => format!("CPUs {} ({detail})", self.cpus),
        };
        lines.push((name, text));
        print_all(&self.inside, depth + 1, lines);
    }
}

/// Prints siblings; of a long run of equal ones only the first two and the last.
fn print_all(parts: &[Part], depth: usize, lines: &mut Vec<(String, String)>) {
    for run in parts.chunk_by(Part::is_like) {
        let folded = if run.len() > MAX_RUN { run.len() - 3 } else { 0 };
        let (first, last) = run.split_at(if folded > 0 { 2 } else { run.len() });
        first.iter().for_each(|part| part.print(depth, lines));
        if folded > 0 {
            lines.push((format!("{}... {folded} more", "  ".repeat(depth)), String::new()));
            last[folded..].iter().for_each(|part| part.print(depth, lines));
        }
    }
}
