//! The files of the tree, one after another.
//!
//! The set of files is what lscpu 2.38, hwloc 2.9 and scx_utils 1.1 read, under the names that
//! kernels since 5.10 use and the older ones. In Linux: `drivers/base/{topology,cacheinfo,node}.c`.

use super::{Entry, HINT};
use crate::{CState, CpuId, CpuSet, Machine};
use std::fmt::{Display, Write};

const CPU: &str = "sys/devices/system/cpu";
const NODE: &str = "sys/devices/system/node";

/// Memory of a node, KiB: tools want to show one, and the machine file does not have it by node.
const NODE_MEM_KB: u64 = 64 << 20;

/// Hands all entries of the tree to `put`; `stem` is the name of the machine file in it.
///
/// # Errors
/// The first error of `put`.
pub fn sysfs<E>(
    machine: &Machine,
    stem: &str,
    put: impl FnMut(&str, Entry<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let all = CpuSet::full(machine.n_cpus());
    let mut tree = Tree { machine, put, path: String::new() };
    tree.file(HINT, crate::write(machine, stem))?;
    for name in ["online", "possible", "present"] {
        tree.file(format_args!("{CPU}/{name}"), &all)?;
    }
    tree.file(format_args!("{CPU}/offline"), "")?;
    tree.file(format_args!("{CPU}/kernel_max"), crate::MAX_CPUS - 1)?;
    let has_smt = machine.cores.iter().any(|core| core.len() > 1);
    tree.file(format_args!("{CPU}/smt/active"), u8::from(has_smt))?;
    for cpu in all.iter() {
        tree.cpu(cpu)?;
    }
    tree.nodes()?;
    tree.proc()
}

struct Tree<'a, F> {
    machine: &'a Machine,
    put: F,
    /// The path of the entry at hand; kept to reuse its memory.
    path: String,
}

impl<F, E> Tree<'_, F>
where
    F: FnMut(&str, Entry<'_>) -> Result<(), E>,
{
    fn entry(&mut self, path: impl Display, entry: Entry<'_>) -> Result<(), E> {
        self.path.clear();
        write!(self.path, "{path}").expect("a String takes all text");
        (self.put)(&self.path, entry)
    }

    /// A file of one value, with a newline as the kernel puts it.
    fn file(&mut self, path: impl Display, value: impl Display) -> Result<(), E> {
        let mut text = value.to_string();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        self.entry(path, Entry::File(&text))
    }

    /// A set of CPUs as a mask and as a list, whose names end differently.
    fn set(&mut self, path: impl Display, ends: [&str; 2], cpus: &CpuSet) -> Result<(), E> {
        let n_cpus = self.machine.n_cpus();
        self.file(format_args!("{path}{}", ends[0]), mask(cpus, n_cpus))?;
        self.file(format_args!("{path}{}", ends[1]), cpus)
    }

    fn cpu(&mut self, cpu: CpuId) -> Result<(), E> {
        let machine = self.machine;
        let dir = format!("{CPU}/cpu{cpu}");
        let place = machine.cpus[cpu];
        self.topology(cpu)?;
        self.caches(cpu)?;
        for (i, state) in machine.cstates.iter().enumerate() {
            self.idle_state(&format!("{dir}/cpuidle/state{i}"), state)?;
        }
        let khz = u64::from(machine.clock_mhz) * 1000;
        for name in [
            "base_frequency",
            "cpuinfo_max_freq",
            "cpuinfo_min_freq",
            "scaling_max_freq",
            "scaling_min_freq",
        ] {
            self.file(format_args!("{dir}/cpufreq/{name}"), khz)?;
        }
        // Linux cannot take CPU 0 off line and has no file for it.
        if cpu != CpuId(0) {
            self.file(format_args!("{dir}/online"), 1)?;
        }
        let node = place.node;
        let link = format!("../../node/node{node}");
        self.entry(format_args!("{dir}/node{node}"), Entry::Link(&link))
    }

    fn topology(&mut self, cpu: CpuId) -> Result<(), E> {
        let machine = self.machine;
        let place = machine.cpus[cpu];
        let dir = format!("{CPU}/cpu{cpu}/topology");
        let package = &machine.sockets[place.socket as usize];
        self.file(format_args!("{dir}/core_id"), place.core)?;
        self.file(format_args!("{dir}/physical_package_id"), place.socket)?;
        // Linux does not see the dies of a machine file; 65535 is the kernel's "no cluster".
        self.file(format_args!("{dir}/die_id"), 0)?;
        self.file(format_args!("{dir}/cluster_id"), 65535)?;
        for name in ["core_cpus", "thread_siblings"] {
            self.set(
                format_args!("{dir}/{name}"),
                ["", "_list"],
                &machine.cores[place.core as usize],
            )?;
        }
        for name in ["package_cpus", "core_siblings", "die_cpus"] {
            self.set(format_args!("{dir}/{name}"), ["", "_list"], package)?;
        }
        Ok(())
    }

    fn caches(&mut self, cpu: CpuId) -> Result<(), E> {
        let machine = self.machine;
        let place = machine.cpus[cpu];
        let (core, llc) = (place.core as usize, place.llc as usize);
        let sizes = &machine.caches;
        let caches = [
            (1, "Data", sizes.l1d_kib, &machine.cores[core], place.core),
            // A machine file does not have the instruction cache; tools expect one.
            (1, "Instruction", sizes.l1d_kib, &machine.cores[core], place.core),
            (2, "Unified", sizes.l2_kib, &machine.cores[core], place.core),
            (3, "Unified", sizes.l3_kib, &machine.llcs[llc], place.llc),
        ];
        for (i, (level, kind, kib, cpus, id)) in caches.into_iter().enumerate() {
            let dir = format!("{CPU}/cpu{cpu}/cache/index{i}");
            self.file(format_args!("{dir}/level"), level)?;
            self.file(format_args!("{dir}/type"), kind)?;
            self.file(format_args!("{dir}/size"), format_args!("{kib}K"))?;
            self.file(format_args!("{dir}/id"), id)?;
            self.set(format_args!("{dir}/shared_cpu"), ["_map", "_list"], cpus)?;
            let lines = u64::from(kib) * 1024 / 64;
            // Unknown, too: any number of ways that leaves a whole number of sets.
            let ways = [16, 8, 12, 1].into_iter().find(|w| lines.is_multiple_of(*w)).unwrap_or(1);
            self.file(format_args!("{dir}/coherency_line_size"), 64)?;
            self.file(format_args!("{dir}/physical_line_partition"), 1)?;
            self.file(format_args!("{dir}/ways_of_associativity"), ways)?;
            self.file(format_args!("{dir}/number_of_sets"), lines / ways)?;
        }
        Ok(())
    }

    fn idle_state(&mut self, dir: &str, state: &CState) -> Result<(), E> {
        // The kernel counts microseconds.
        let us = |ns: u64| ns.div_ceil(1000);
        self.file(format_args!("{dir}/name"), state.name.escape_default())?;
        // `import::sysfs` reads from this word, as drivers write it, whether a store wakes the CPU.
        self.file(format_args!("{dir}/desc"), if state.polling { "MWAIT" } else { "HLT" })?;
        self.file(format_args!("{dir}/latency"), us(state.exit_ns))?;
        self.file(format_args!("{dir}/residency"), us(state.residency_ns))?;
        self.file(format_args!("{dir}/disable"), 0)
    }

    fn nodes(&mut self) -> Result<(), E> {
        let machine = self.machine;
        let n_nodes = machine.nodes.len();
        let all = CpuSet::full(n_nodes);
        for name in ["online", "possible", "has_cpu", "has_memory", "has_normal_memory"] {
            self.file(format_args!("{NODE}/{name}"), &all)?;
        }
        for (node, cpus) in machine.nodes.iter().enumerate() {
            let dir = format!("{NODE}/node{node}");
            self.file(format_args!("{dir}/cpulist"), cpus)?;
            self.file(format_args!("{dir}/cpumap"), mask(cpus, machine.n_cpus()))?;
            let row = &machine.numa_distance[node * n_nodes..][..n_nodes];
            let row: Vec<String> = row.iter().map(u32::to_string).collect();
            self.file(format_args!("{dir}/distance"), row.join(" "))?;
            let memory = ["MemTotal", "MemFree"]
                .map(|name| format!("Node {node} {name}: {NODE_MEM_KB:>14} kB\n"));
            self.file(format_args!("{dir}/meminfo"), memory.concat())?;
            for cpu in cpus.iter() {
                let link = format!("../../cpu/cpu{cpu}");
                self.entry(format_args!("{dir}/cpu{cpu}"), Entry::Link(&link))?;
            }
        }
        Ok(())
    }

    fn proc(&mut self) -> Result<(), E> {
        let machine = self.machine;
        // The title becomes one line. Colons in it do no harm.
        let model = machine.title.replace(|c: char| c.is_control(), " ");
        let mut info = String::new();
        let n_cores = |socket: &CpuSet| {
            let mut cores: Vec<u32> = socket.iter().map(|c| machine.cpus[c].core).collect();
            cores.sort_unstable();
            cores.dedup();
            cores.len()
        };
        let n_cores: Vec<usize> = machine.sockets.iter().map(n_cores).collect();
        for (cpu, place) in machine.cpus.iter().enumerate() {
            let socket = place.socket as usize;
            let lines = [
                ("processor", cpu.to_string()),
                ("vendor_id", "schedlab".into()),
                ("cpu family", "0".into()),
                ("model", "0".into()),
                ("model name", model.clone()),
                ("cpu MHz", format!("{}.000", machine.clock_mhz)),
                ("physical id", place.socket.to_string()),
                ("siblings", machine.sockets[socket].len().to_string()),
                ("core id", place.core.to_string()),
                ("cpu cores", n_cores[socket].to_string()),
                ("flags", "fpu".into()),
            ];
            for (key, value) in lines {
                writeln!(info, "{key:<15} : {value}").expect("a String takes all text");
            }
            info.push('\n');
        }
        self.file("proc/cpuinfo", info)?;
        let total = NODE_MEM_KB * machine.nodes.len() as u64;
        self.file("proc/meminfo", format_args!("MemTotal: {total:>14} kB"))
    }
}

/// The kernel's mask format: words of 32 bits in hexadecimal, highest first.
fn mask(cpus: &CpuSet, n_cpus: usize) -> String {
    let halves = cpus.words().iter().flat_map(|word| [*word as u32, (*word >> 32) as u32]);
    let words: Vec<String> = halves.take(n_cpus.div_ceil(32)).map(|w| format!("{w:08x}")).collect();
    words.into_iter().rev().collect::<Vec<_>>().join(",")
}
