//! A machine as text: a tree for people, and the table that `lscpu -e` prints.
//!
//! The tree answers, top to bottom: what shares what, which domains the scheduler sees, how far
//! apart CPUs are, how deep they sleep, and which of the numbers are unverified. Long runs of equal
//! parts are folded.

mod columns;
mod parts;
#[cfg(test)]
mod tests;

use crate::{Confidence, CpuId, CpuSet, Distance, Domain, Level, Machine, SdFlags};
use columns::{Align, Columns};
use std::fmt::Write;

const FLAG_NAMES: [(u32, &str); 9] = [
    (SdFlags::BALANCE_NEWIDLE, "BALANCE_NEWIDLE"),
    (SdFlags::BALANCE_EXEC, "BALANCE_EXEC"),
    (SdFlags::BALANCE_FORK, "BALANCE_FORK"),
    (SdFlags::WAKE_AFFINE, "WAKE_AFFINE"),
    (SdFlags::SHARE_CPUCAPACITY, "SHARE_CPUCAPACITY"),
    (SdFlags::SHARE_LLC, "SHARE_LLC"),
    (SdFlags::SERIALIZE, "SERIALIZE"),
    (SdFlags::PREFER_SIBLING, "PREFER_SIBLING"),
    (SdFlags::NUMA, "NUMA"),
];

/// The machine as a compact text: its parts, domains, latencies, idle states, open questions.
pub fn tree(machine: &Machine) -> String {
    let mut out = head(machine);
    out += "\n";
    out += &parts::tree(machine);
    out += &domains(machine);
    out += &numa_distances(machine);
    out += &latencies(machine);
    out += &cstates(machine);
    out += &doubts(machine);
    out
}

/// One line per CPU, as `lscpu -e` prints it. The clock is constant, so both limits are equal.
pub fn table(machine: &Machine) -> String {
    use Align::{Left, Right};
    let names = "CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE MAXMHZ MINMHZ";
    let align = [Right, Right, Right, Right, Left, Right, Right, Right];
    let mut columns = Columns::new(names.split(' '), &align);
    for (cpu, place) in machine.cpus.iter().enumerate() {
        let core = place.core;
        let mhz = format!("{}.0000", machine.clock_mhz);
        columns.row([
            cpu.to_string(),
            place.node.to_string(),
            place.socket.to_string(),
            core.to_string(),
            format!("{core}:{core}:{core}:{}", place.llc),
            "yes".into(),
            mhz.clone(),
            mhz,
        ]);
    }
    columns.to_string()
}

fn head(machine: &Machine) -> String {
    let counts = [
        counted(machine.n_cpus(), "CPU"),
        counted(machine.cores.len(), "core"),
        counted(machine.llcs.len(), "LLC"),
        counted(machine.nodes.len(), "NUMA node"),
        counted(machine.sockets.len(), "socket"),
    ];
    let Machine { name, title, clock_mhz, hz, .. } = machine;
    let follows = machine.cpufreq.map_or_else(String::new, |f| {
        format!(" ({}: {} to {} MHz)", f.governor.name(), f.min_mhz, f.max_mhz)
    });
    let title = if title == name { String::new() } else { format!(": {title}") };
    let counts = counts.join(", ");
    format!("{name}{title}\n{counts}; {clock_mhz} MHz{follows}, {hz} Hz\n")
}

/// `1 core`, `2 cores`.
fn counted(n: usize, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {what}{plural}")
}

/// The chains, once for each different sequence of levels and weights.
fn domains(machine: &Machine) -> String {
    let mut kinds: Vec<(Vec<(Level, u32)>, CpuSet)> = Vec::new();
    for cpu in (0..machine.n_cpus() as u32).map(CpuId) {
        let chain = machine.domains.chain(cpu);
        let kind: Vec<(Level, u32)> = chain.map(|d| (d.level, d.weight())).collect();
        if let Some((_, cpus)) = kinds.iter_mut().find(|(k, _)| *k == kind) {
            cpus.insert(cpu);
        } else {
            kinds.push((kind, CpuSet::of(machine.n_cpus(), [cpu])));
        }
    }
    kinds.iter().fold(String::new(), |mut out, (_, cpus)| {
        let of = if kinds.len() == 1 { "any CPU".into() } else { format!("CPUs {cpus}") };
        write!(out, "\nscheduling domains of {of}").expect("a String takes all text");
        let first = cpus.first().expect("a kind has a CPU");
        let chain: Vec<&Domain> = machine.domains.chain(first).collect();
        out + &chain_table(&chain)
    })
}

fn chain_table(chain: &[&Domain]) -> String {
    use Align::{Left, Right};
    let Some(first) = chain.first() else {
        return ": none\n".into();
    };
    let common = chain.iter().fold(first.flags.0, |all, d| all & d.flags.0);
    let align = [Left, Right, Left, Right, Right, Left];
    let header = ["level", "weight", "groups", "imbalance_pct", "imb_numa_nr", "flags"];
    let mut columns = Columns::new(header, &align).indented();
    for domain in chain {
        columns.row([
            level_name(domain.level),
            domain.weight().to_string(),
            groups(domain),
            domain.imbalance_pct.to_string(),
            domain.imb_numa_nr.to_string(),
            flag_names(domain.flags.0 & !common),
        ]);
    }
    format!(", all with {}\n{columns}", flag_names(common))
}

fn level_name(level: Level) -> String {
    match level {
        Level::Smt => "SMT".into(),
        Level::Mc => "MC".into(),
        Level::Die => "DIE".into(),
        Level::Node => "NODE".into(),
        Level::Numa(n) => format!("NUMA{n}"),
    }
}

fn flag_names(flags: u32) -> String {
    let set = FLAG_NAMES.iter().filter(|(bit, _)| flags & bit != 0);
    set.map(|(_, name)| *name).collect::<Vec<_>>().join(" ")
}

/// `8 x 2 CPUs`; with groups of several sizes, their range.
fn groups(domain: &Domain) -> String {
    let sizes = || domain.groups.iter().map(|g| g.cpus.len());
    let (min, max) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
    let n = domain.groups.len();
    if min == max {
        format!("{n} x {}", counted(max, "CPU"))
    } else {
        format!("{n} x {min}-{max} CPUs")
    }
}

/// The distance table of up to 16 nodes.
fn numa_distances(machine: &Machine) -> String {
    let n = machine.nodes.len();
    if !(2..=16).contains(&n) {
        return String::new();
    }
    let node = |i: usize| format!("node{i}");
    let header = std::iter::once(String::new()).chain((0..n).map(node));
    let mut columns = Columns::new(header, &vec![Align::Right; n + 1]).indented();
    for (i, row) in machine.numa_distance.chunks(n).enumerate() {
        let distances = row.iter().map(u32::to_string);
        columns.row(std::iter::once(node(i)).chain(distances));
    }
    format!("\nNUMA distances\n{columns}")
}

fn latencies(machine: &Machine) -> String {
    let mut columns = Columns::new(["between", "ns"], &[Align::Left, Align::Right]).indented();
    let classes = [
        (Distance::Smt, "SMT siblings"),
        (Distance::Llc, "cores of an LLC"),
        (Distance::Node, "LLCs of a socket"),
        (Distance::Socket, "sockets"),
    ];
    for (distance, name) in classes {
        if distance.occurs(&machine.cpus) {
            columns.row([name.to_owned(), machine.line.ns[distance as usize].to_string()]);
        }
    }
    columns.row(["memory".to_owned(), machine.caches.mem_ns.to_string()]);
    format!("\ncache-line transfer\n{columns}")
}

fn cstates(machine: &Machine) -> String {
    use Align::{Left, Right};
    let header = ["C-state", "exit us", "residency us", "woken by"];
    let mut columns = Columns::new(header, &[Left, Right, Right, Left]).indented();
    for state in &machine.cstates {
        let woken_by = if state.polling { "a store" } else { "an IPI" };
        let exit = match us(state.exit_ns) {
            exit if state.core_exit_ns < state.exit_ns => {
                format!("{} to {exit}", us(state.core_exit_ns))
            }
            exit => exit,
        };
        columns.row([state.name.clone(), exit, us(state.residency_ns), woken_by.into()]);
    }
    format!("\nidle states\n{columns}")
}

/// Nanoseconds in microseconds, with as many digits as it takes.
fn us(ns: u64) -> String {
    let text = format!("{}.{:03}", ns / 1000, ns % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The keys that rest on less than a measurement or a publication, least sure first.
fn doubts(machine: &Machine) -> String {
    let doubtful = [Confidence::Unverified, Confidence::Inferred, Confidence::Proxy];
    let lines = doubtful.iter().filter_map(|confidence| {
        let sources = machine.sources.iter().filter(|s| s.confidence == *confidence);
        let keys: Vec<&str> = sources.flat_map(|s| &s.keys).map(String::as_str).collect();
        let name = confidence.name();
        (!keys.is_empty()).then(|| format!("  {name:<10}  {}\n", keys.join(", ")))
    });
    let lines: String = lines.collect();
    if lines.is_empty() {
        return lines;
    }
    format!("\nhow sure (proxy: measured on a sibling part)\n{lines}")
}
