//! A machine as the text of a machine file, in one form only.
//!
//! What [`load`](super::load) reads from that text is the same machine, and written again it is
//! the same text. A key is written if its value is not the one that its absence would mean, or if
//! a `[[source]]` speaks for it; sizes, latencies and idle states are always written. A regular
//! shape is written as counts, another one as a list of CPUs. Comments of a file are not kept.

mod text;

use super::company::DAY_NS;
use super::numbers::{LATENCY_KEYS, line_fields, time_fields};
use crate::machine::{DEFAULT_MEMORY_GIB, default_distance};
use crate::{
    BackgroundThread, CState, Caches, CpuFreq, CpuPlace, Distance, Governor, KernelCosts,
    LockCosts, Machine, RegularSpec, SmtFactors, Variation, WorkqueueCosts,
};
use text::{Block, quoted, wrapped};

/// The first line of the text.
const HEAD: &str = "# A machine for schedlab. [[source]] says where a number is from, and how sure \
                    it is.\n";

/// The text of a machine file. `stem` is the stem of the file's name; a machine of that name needs
/// no `name` in the text.
///
/// ```
/// let text = "cores_per_llc = 4\nhz = 1000\nclock_mhz = 3000\n";
/// let machine = topology::load("small.toml", text).expect("the text is valid");
/// let written = topology::write(&machine, "small");
/// let again = topology::load("small.toml", &written).expect("what is written is valid");
/// assert_eq!(topology::write(&again, "small"), written);
/// ```
pub fn write(machine: &Machine, stem: &str) -> String {
    let writer = Writer { machine, stem };
    let mut blocks = vec![writer.names(), writer.shape(), writer.kernel()];
    blocks.extend(machine.cpufreq.as_ref().map(cpufreq));
    blocks.extend([writer.caches(), writer.latency()]);
    blocks.extend(machine.cstates.iter().map(cstate));
    blocks.extend([writer.costs(), writer.locks(), writer.workqueue(), writer.smt()]);
    blocks.extend(machine.background.iter().map(background));
    blocks.push(writer.variation());
    blocks.extend(machine.sources.iter().map(source));
    blocks.retain(|block| !block.is_empty());
    let texts: Vec<String> = blocks.iter().map(Block::to_string).collect();
    format!("{HEAD}\n{}", texts.join("\n"))
}

/// The keys that describe the shape of a machine when it is written.
pub(crate) fn shape_keys(places: &[CpuPlace]) -> Vec<&'static str> {
    match RegularSpec::of(places) {
        None => vec!["cpu"],
        Some(spec) => counts(&spec).into_iter().map(|(key, _)| key).collect(),
    }
}

/// The counts of a regular machine that have to be written.
fn counts(spec: &RegularSpec) -> Vec<(&'static str, u32)> {
    let mut counts = vec![("sockets", spec.sockets)];
    if spec.nodes_per_socket != 1 {
        counts.push(("nodes_per_socket", spec.nodes_per_socket));
    }
    counts.push(("llcs_per_socket", spec.llcs_per_socket));
    if spec.llcs_per_ccd != 1 {
        counts.push(("llcs_per_ccd", spec.llcs_per_ccd));
    }
    counts.extend([
        ("cores_per_llc", spec.cores_per_llc),
        ("threads_per_core", spec.threads_per_core),
    ]);
    counts
}

struct Writer<'a> {
    machine: &'a Machine,
    stem: &'a str,
}

impl Writer<'_> {
    /// True if a source speaks for the key, which must then be there.
    fn named(&self, key: &str) -> bool {
        self.machine.sources.iter().flat_map(|s| &s.keys).any(|k| k == key)
    }

    fn names(&self) -> Block {
        let Machine { name, title, .. } = self.machine;
        let mut block = Block::new("");
        if self.named("name") || name != self.stem {
            block.key("name", quoted(name));
        }
        if self.named("title") || title != name {
            block.key("title", quoted(title));
        }
        block
    }

    fn shape(&self) -> Block {
        let mut block = Block::new("");
        match RegularSpec::of(&self.machine.cpus) {
            Some(spec) if !self.named("cpu") => self.counts(&spec, &mut block),
            _ => block.key("cpu", cpu_list(&self.machine.cpus)),
        }
        self.numa_distances(&mut block);
        block
    }

    fn counts(&self, spec: &RegularSpec, block: &mut Block) {
        // Two ways to say the same; the one that a source speaks for is taken.
        let l3_as_numa = self.named("l3_as_numa")
            && !self.named("nodes_per_socket")
            && spec.nodes_per_socket == spec.llcs_per_socket;
        let mut counts = counts(spec);
        counts.retain(|(key, _)| !(l3_as_numa && *key == "nodes_per_socket"));
        for (key, value) in
            [("nodes_per_socket", spec.nodes_per_socket), ("llcs_per_ccd", spec.llcs_per_ccd)]
        {
            if self.named(key) && !counts.iter().any(|(k, _)| *k == key) {
                counts.push((key, value));
            }
        }
        for (key, value) in [("cores", spec.n_cores()), ("cpus", spec.n_cpus())] {
            if self.named(key) {
                counts.push((key, value));
            }
        }
        for (key, value) in counts {
            block.key(key, value.to_string());
        }
        if !spec.numa || self.named("numa") {
            block.key("numa", spec.numa.to_string());
        }
        if self.named("l3_as_numa") {
            block.key("l3_as_numa", l3_as_numa.to_string());
        }
    }

    fn numa_distances(&self, block: &mut Block) {
        let Machine { cpus, numa_distance, nodes, .. } = self.machine;
        if !self.named("numa_distances") && *numa_distance == default_distance(cpus) {
            return;
        }
        let rows = numa_distance.chunks(nodes.len().max(1)).map(numbers);
        let rows: Vec<String> = rows.collect();
        block.key("numa_distances", list(&rows));
    }

    fn kernel(&self) -> Block {
        let m = self.machine;
        let mut block = Block::new("");
        block.key("clock_mhz", m.clock_mhz.to_string());
        block.key("hz", m.hz.to_string());
        let keys = [
            ("reclaim_distance", m.reclaim_distance.to_string(), m.reclaim_distance == 30),
            ("freq_scale", m.freq_scale.to_string(), m.freq_scale == 1024),
            ("tick_skew_ns", m.tick_skew_ns.to_string(), m.tick_skew_ns == 0),
            ("preemptible_kernel", m.preemptible_kernel.to_string(), m.preemptible_kernel),
            ("memory_gib", m.memory_gib.to_string(), m.memory_gib == DEFAULT_MEMORY_GIB),
            ("governor", quoted(m.governor.name()), m.governor == Governor::default()),
        ];
        self.unless_default("", keys, &mut block);
        if m.background.is_empty() && self.named("background") {
            block.key("background", "[]".into());
        }
        block
    }

    fn caches(&self) -> Block {
        let Caches { l1d_kib, l2_kib, l3_kib, l3_hit_ns, mem_ns, mlp, stream_mlp } =
            self.machine.caches;
        let mut block = Block::new("[caches]");
        for (key, value) in [
            ("l1d_kib", l1d_kib),
            ("l2_kib", l2_kib),
            ("l3_kib", l3_kib),
            ("l3_hit_ns", l3_hit_ns),
            ("mem_ns", mem_ns),
            ("mlp", mlp),
        ] {
            block.key(key, value.to_string());
        }
        let absent = Caches::default().stream_mlp;
        if stream_mlp != absent || self.named("caches.stream_mlp") {
            block.key("stream_mlp", stream_mlp.to_string());
        }
        block
    }

    /// A distance that the machine lacks is written only if its time differs from the one below.
    fn latency(&self) -> Block {
        let ns = &self.machine.line.ns;
        let mut block = Block::new("[latency]");
        for (key, distance) in LATENCY_KEYS {
            let class = distance as usize;
            let below = if distance == Distance::Smt { 0 } else { ns[class - 1] };
            let named = self.named(&format!("latency.{key}"));
            if named || distance.occurs(&self.machine.cpus) || ns[class] != below {
                block.key(key, ns[class].to_string());
            }
        }
        block
    }

    fn costs(&self) -> Block {
        let mut costs = self.machine.costs;
        let mut default = KernelCosts::at_clock(self.machine.clock_mhz);
        let times = time_fields(&mut costs).into_iter().zip(time_fields(&mut default));
        let times = times.map(|((key, ns), (_, absent))| (key, ns.to_string(), ns == absent));
        let mut keys: Vec<_> = times.collect();
        let lines = line_fields(&mut costs).into_iter().zip(line_fields(&mut default));
        keys.extend(lines.map(|((key, n), (_, absent))| (key, n.to_string(), n == absent)));
        self.section("costs", keys)
    }

    fn locks(&self) -> Block {
        let LockCosts { fast_ns, contended_lines, queue_hold_ns } = self.machine.locks;
        let absent = LockCosts::at_clock(self.machine.clock_mhz);
        let keys = [
            ("fast_ns", fast_ns.to_string(), fast_ns == absent.fast_ns),
            (
                "contended_lines",
                contended_lines.to_string(),
                contended_lines == absent.contended_lines,
            ),
            ("queue_hold_ns", queue_hold_ns.to_string(), queue_hold_ns == absent.queue_hold_ns),
        ];
        self.section("locks", keys)
    }

    fn workqueue(&self) -> Block {
        let WorkqueueCosts { queue_ns, work_ns, lines, create_worker_ns } = self.machine.workqueue;
        let absent = WorkqueueCosts::at_clock(self.machine.clock_mhz);
        let keys = [
            ("queue_ns", queue_ns.to_string(), queue_ns == absent.queue_ns),
            ("work_ns", work_ns.to_string(), work_ns == absent.work_ns),
            ("lines", lines.to_string(), lines == absent.lines),
            (
                "create_worker_ns",
                create_worker_ns.to_string(),
                create_worker_ns == absent.create_worker_ns,
            ),
        ];
        self.section("workqueue", keys)
    }

    fn smt(&self) -> Block {
        let SmtFactors { busy, spinning } = self.machine.smt;
        let absent = SmtFactors::default();
        let keys = [
            ("busy", format!("{busy:?}"), busy == absent.busy),
            ("spinning", format!("{spinning:?}"), spinning == absent.spinning),
        ];
        self.section("smt", keys)
    }

    /// Without the table the speed does not vary. A table without `held` and `hold_ns` means their
    /// defaults, so these may be left out, but `slowdown` never.
    fn variation(&self) -> Block {
        let Variation { slowdown, held, hold_ns } = self.machine.variation;
        if self.machine.variation == Variation::default() && !self.named("variation") {
            return Block::new("");
        }
        let keys = [
            ("slowdown", format!("{slowdown:?}"), false),
            ("held", format!("{held:?}"), held == 0.0),
            ("hold_ns", hold_ns.to_string(), hold_ns == DAY_NS),
        ];
        self.section("variation", keys)
    }

    /// A table of which only some keys are written; empty and unnamed, it is left out.
    fn section(
        &self,
        name: &str,
        keys: impl IntoIterator<Item = (&'static str, String, bool)>,
    ) -> Block {
        let mut block = Block::new(format!("[{name}]"));
        self.unless_default(name, keys, &mut block);
        if block.has_keys() || self.named(name) { block } else { Block::new("") }
    }

    /// Writes each key, with its value and whether absence would mean the same.
    fn unless_default(
        &self,
        table: &str,
        keys: impl IntoIterator<Item = (&'static str, String, bool)>,
        block: &mut Block,
    ) {
        let dot = if table.is_empty() { "" } else { "." };
        for (key, value, is_default) in keys {
            if !is_default || self.named(&format!("{table}{dot}{key}")) {
                block.key(key, value);
            }
        }
    }
}

fn cpufreq(freq: &CpuFreq) -> Block {
    let CpuFreq { governor, min_mhz, max_mhz, sampling_us, io_is_busy } = freq;
    let mut block = Block::new("[cpufreq]");
    block.key("governor", quoted(governor.name()));
    block.key("min_mhz", min_mhz.to_string());
    block.key("max_mhz", max_mhz.to_string());
    block.key("sampling_us", sampling_us.to_string());
    block.key("io_is_busy", io_is_busy.to_string());
    block
}

fn cstate(state: &CState) -> Block {
    let CState { name, exit_ns, core_exit_ns, residency_ns, polling } = state;
    let mut block = Block::new("[[cstate]]");
    block.key("name", quoted(name));
    block.key("exit_ns", exit_ns.to_string());
    if core_exit_ns != exit_ns {
        block.key("core_exit_ns", core_exit_ns.to_string());
    }
    block.key("residency_ns", residency_ns.to_string());
    block.key("polling", polling.to_string());
    block
}

fn background(thread: &BackgroundThread) -> Block {
    let BackgroundThread { name, per, cpu, nice, kthread, .. } = thread;
    let BackgroundThread { run_ns, sleep_ns, long_every, long_ns, .. } = thread;
    let mut block = Block::new("[[background]]");
    block.key("name", quoted(name));
    block.key("per", quoted(per.name()));
    if let Some(cpu) = cpu {
        block.key("cpu", cpu.to_string());
    }
    block.key("nice", nice.to_string());
    block.key("kthread", kthread.to_string());
    block.key("run_ns", run_ns.to_string());
    block.key("sleep_ns", sleep_ns.to_string());
    block.key("long_every", long_every.to_string());
    block.key("long_ns", long_ns.to_string());
    block
}

fn source(source: &crate::Source) -> Block {
    let keys: Vec<String> = source.keys.iter().map(|key| quoted(key)).collect();
    let mut block = Block::new("[[source]]");
    block.key("keys", list(&keys));
    block.key("confidence", quoted(source.confidence.name()));
    block.key("text", wrapped(&source.text));
    block
}

/// `[1, 2]`.
fn numbers(numbers: &[impl ToString]) -> String {
    let each: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    format!("[{}]", each.join(", "))
}

/// `[a, b]`, on one line if it fits.
fn list(elements: &[String]) -> String {
    let line = format!("[{}]", elements.join(", "));
    if line.len() <= 80 {
        return line;
    }
    let lines: String = elements.iter().map(|e| format!("  {e},\n")).collect();
    format!("[\n{lines}]")
}

/// One line per CPU. The LLC stands for the CCD if they are the same everywhere.
fn cpu_list(places: &[CpuPlace]) -> String {
    let has_ccds = places.iter().any(|p| p.ccd != p.llc);
    let line = |(cpu, p): (usize, &CpuPlace)| {
        let CpuPlace { core, thread: _, llc, ccd, node, socket } = p;
        let ccd = if has_ccds { format!("ccd = {ccd}, ") } else { String::new() };
        let outer = format!("{ccd}node = {node}, socket = {socket}");
        format!("  {{ cpu = {cpu}, core = {core}, llc = {llc}, {outer} }},\n")
    };
    let lines: String = places.iter().enumerate().map(line).collect();
    format!("[\n{lines}]")
}
