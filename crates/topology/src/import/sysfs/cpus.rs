//! Which CPUs are online, and what each shares with others.

use super::super::FileTree;
use super::super::runs::{CpuRuns, OS_CPU_MAX};
use super::CPU;
use super::reader::{Form, Reader, siblings};
use input::Fault;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What one CPU is part of.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub core: u64,
    pub llc: Option<u64>,
    pub die: Option<u64>,
    pub socket: u64,
}

/// The CPUs that are online.
pub(super) fn online<T: FileTree>(
    reader: &mut Reader<'_, T>,
    remarks: &mut Vec<String>,
) -> Option<CpuRuns> {
    let here = reader.numbered(CPU, "cpu");
    if let Some(far) = here.iter().find(|cpu| **cpu > OS_CPU_MAX) {
        let message = format!("a CPU beyond {OS_CPU_MAX}");
        reader.fault(Fault::of_file(format!("{CPU}/cpu{far}"), message));
        return None;
    }
    let here = CpuRuns::of(here);
    let files = [(format!("{CPU}/online"), Form::List)];
    let online = match reader.cpus(&files) {
        Some((_, online)) => (*online).clone(),
        None if !reader.faults.is_empty() => return None,
        // No list: each CPU's own file tells. CPU 0 often has none and counts as online.
        None => {
            let is_on = |cpu: &u32| reader.number(&format!("{CPU}/cpu{cpu}/online")) != Some(0);
            CpuRuns::of(here.iter().filter(is_on))
        }
    };
    if online.is_empty() {
        reader.fault(
            Fault::of_file(CPU, "no CPU is online here")
                .help("give a directory with sys/devices/system/cpu in it, or /sys itself"),
        );
        return None;
    }
    for cpu in online.iter().filter(|cpu| !here.contains(*cpu)) {
        let message = format!("{CPU}/online lists CPU {cpu}, which has no directory");
        reader.fault(Fault::of_file(format!("{CPU}/cpu{cpu}"), message));
    }
    let offline = CpuRuns::of(here.iter().filter(|cpu| !online.contains(*cpu)));
    if !offline.is_empty() {
        remarks.push(format!("CPUs {offline} are offline and left out"));
    }
    reader.faults.is_empty().then_some(online)
}

/// The places of all online CPUs, in their order.
pub(super) fn places<T: FileTree>(
    reader: &mut Reader<'_, T>,
    online: &CpuRuns,
    remarks: &mut Vec<String>,
) -> Option<Vec<Place>> {
    let mut parts = Parts { online, kinds: Default::default() };
    let places: Vec<Option<Place>> =
        online.iter().map(|cpu| place(reader, &mut parts, cpu)).collect();
    let places: Vec<Place> = places.into_iter().collect::<Option<_>>()?;
    let with_llc = places.iter().filter(|p| p.llc.is_some()).count();
    if with_llc > 0
        && with_llc < places.len()
        && let Some((cpu, _)) = online.iter().zip(&places).find(|(_, p)| p.llc.is_none())
    {
        let message = format!("CPU {cpu} tells nothing about its caches, while others do");
        reader.fault(Fault::of_file(format!("{CPU}/cpu{cpu}/cache"), message));
    }
    capacity(reader, online, remarks);
    reader.faults.is_empty().then_some(places)
}

fn place<T: FileTree>(
    reader: &mut Reader<'_, T>,
    parts: &mut Parts<'_>,
    cpu: u32,
) -> Option<Place> {
    let dir = format!("{CPU}/cpu{cpu}/topology");
    // An id of -1 means that the firmware told none.
    let id = |reader: &mut Reader<'_, T>, name: &str| {
        reader.number(&format!("{dir}/{name}")).filter(|n| *n >= 0).map(|n| n as u64)
    };
    let package = siblings(&dir, &["package_cpus", "core_siblings"]);
    let socket = match id(reader, "physical_package_id") {
        Some(package) => package,
        None => parts.part_of(reader, Kind::Package, cpu, &package).unwrap_or(0),
    };
    let threads = siblings(&dir, &["core_cpus", "thread_siblings"]);
    let core = parts.part_of(reader, Kind::Core, cpu, &threads);
    if core.is_none() && reader.faults.is_empty() {
        let message = format!("CPU {cpu} is online, but its list of siblings is not here");
        reader.fault(Fault::of_file(format!("{dir}/thread_siblings_list"), message));
    }
    let die = parts.part_of(reader, Kind::Die, cpu, &siblings(&dir, &["die_cpus"]));
    let llc = last_level_cache(reader, parts, cpu);
    Some(Place { core: core?, llc, die, socket })
}

/// The highest level that holds data.
fn last_level_cache<T: FileTree>(
    reader: &mut Reader<'_, T>,
    parts: &mut Parts<'_>,
    cpu: u32,
) -> Option<u64> {
    let dir = format!("{CPU}/cpu{cpu}/cache");
    let mut best: Option<(i64, u32)> = None;
    for index in reader.numbered(&dir, "index") {
        let level = reader.number(&format!("{dir}/index{index}/level"));
        let kind = reader.text(&format!("{dir}/index{index}/type")).unwrap_or_default();
        let holds_data = kind.trim() != "Instruction";
        if let Some(level) = level.filter(|level| *level >= 2 && holds_data)
            && best.is_none_or(|(highest, _)| level > highest)
        {
            best = Some((level, index));
        }
    }
    let (_, index) = best?;
    let files = [
        (format!("{dir}/index{index}/shared_cpu_list"), Form::List),
        (format!("{dir}/index{index}/shared_cpu_map"), Form::Mask),
    ];
    let llc = parts.part_of(reader, Kind::Llc, cpu, &files);
    if llc.is_none() && reader.faults.is_empty() {
        let message = "the last-level cache does not tell which CPUs share it";
        reader.fault(Fault::of_file(files[0].0.clone(), message));
    }
    llc
}

fn capacity<T: FileTree>(reader: &Reader<'_, T>, online: &CpuRuns, remarks: &mut Vec<String>) {
    let capacities =
        online.iter().map(|cpu| reader.number_if_any(&format!("{CPU}/cpu{cpu}/cpu_capacity")));
    let mut capacities: Vec<i64> = capacities.flatten().collect();
    capacities.sort_unstable();
    capacities.dedup();
    if let [low, .., high] = capacities[..] {
        remarks.push(format!(
            "CPUs differ in capacity ({low} to {high}); the machine's are all alike"
        ));
    }
}

/// Kinds of parts that a tree describes as sets of CPUs.
#[derive(Clone, Copy)]
enum Kind {
    Core,
    Llc,
    Die,
    Package,
}

/// A part as the first of its CPUs describes it.
struct Part {
    by: String,
    cpus: Rc<CpuRuns>,
}

/// The parts met so far, each named by its lowest online CPU.
struct Parts<'a> {
    online: &'a CpuRuns,
    kinds: [BTreeMap<u32, Part>; 4],
}

impl Parts<'_> {
    /// The part of a CPU. `None` if no file tells, or if it is wrong.
    fn part_of<T: FileTree>(
        &mut self,
        reader: &mut Reader<'_, T>,
        kind: Kind,
        cpu: u32,
        files: &[(String, Form)],
    ) -> Option<u64> {
        let (path, cpus) = reader.cpus(files)?;
        if !cpus.contains(cpu) {
            let message = format!("CPU {cpu} is not among its own siblings {cpus}");
            reader.fault(Fault::of_file(path, message));
            return None;
        }
        let first = cpus.iter().find(|c| self.online.contains(*c)).unwrap_or(cpu);
        let known = self.kinds[kind as usize].entry(first);
        // Siblings that are offline may be missing from one file and stand in another: only those
        // that are online must agree.
        let part = known.or_insert_with(|| Part { by: path.to_owned(), cpus: cpus.clone() });
        if part.cpus != cpus && self.only_online(&cpus) != self.only_online_of(kind, first) {
            let part = &self.kinds[kind as usize][&first];
            let message =
                format!("the siblings {cpus} of CPU {cpu} are {} in {}", part.cpus, part.by);
            reader.fault(Fault::of_file(path, message));
            return None;
        }
        Some(u64::from(first))
    }

    fn only_online(&self, cpus: &CpuRuns) -> CpuRuns {
        CpuRuns::of(cpus.iter().filter(|cpu| self.online.contains(*cpu)))
    }

    fn only_online_of(&self, kind: Kind, first: u32) -> CpuRuns {
        self.only_online(&self.kinds[kind as usize][&first].cpus)
    }
}
