//! How many of what: the keys of a regular machine, or the list of an irregular one.

use super::section::Section;
use super::{MAX_CPUS, MAX_NODES, MAX_THREADS, cpus};
use crate::{CpuPlace, Fault, RegularSpec};

/// Keys that only a regular machine has.
const REGULAR_KEYS: [&str; 8] = [
    "sockets",
    "nodes_per_socket",
    "llcs_per_socket",
    "llcs_per_ccd",
    "cores_per_llc",
    "threads_per_core",
    "cores",
    "cpus",
];

/// The place of every CPU. `None` if that cannot be known; the faults say why.
pub(super) fn read(top: &mut Section, faults: &mut Vec<Fault>) -> Option<Vec<CpuPlace>> {
    let Some(list) = top.sections("cpu") else {
        // A faulty list is no reason to call the counts beside it unknown keys: they are asked for.
        let listed = top.table().contains_key("cpu");
        let counts = Counts::read(top)?;
        return if listed { None } else { counts.places(top) };
    };
    for key in REGULAR_KEYS {
        if top.value(key).is_some() {
            let message = format!("`{key}` and [[cpu]] both describe the shape of the machine");
            top.fault(Fault::at(top.span_of(key), message).help("keep only one of them"));
        }
    }
    if top.value("l3_as_numa").is_some() {
        let fault = Fault::at(top.span_of("l3_as_numa"), "`l3_as_numa` needs a regular machine");
        top.fault(fault.help("give the `node` of each [[cpu]] instead"));
    }
    cpus::read(top, list, faults)
}

/// The counts of a regular machine; all at least 1 and at most [`MAX_CPUS`].
struct Counts {
    sockets: u64,
    nodes_per_socket: u64,
    llcs_per_socket: u64,
    llcs_per_ccd: u64,
    cores_per_llc: u64,
    threads_per_core: u64,
}

impl Counts {
    fn read(top: &mut Section) -> Option<Self> {
        // All keys are asked for before the first `?`, so that all faults are found.
        let [sockets, nodes_per_socket, llcs_per_socket, llcs_per_ccd] =
            ["sockets", "nodes_per_socket", "llcs_per_socket", "llcs_per_ccd"]
                .map(|key| count(top, key, MAX_CPUS).map(|n| n.unwrap_or(1)));
        let cores_per_llc = count(top, "cores_per_llc", MAX_CPUS);
        let threads_per_core = count(top, "threads_per_core", MAX_THREADS);
        let cores = count(top, "cores", MAX_CPUS);
        let cpus = count(top, "cpus", MAX_CPUS);
        let (sockets, llcs_per_socket) = (sockets?, llcs_per_socket?);
        let n_llcs = sockets * llcs_per_socket;
        let cores_per_llc = parts(top, "cores", cores?, "LLCs", n_llcs, cores_per_llc?);
        if cores_per_llc.is_none() && !top.table().contains_key("cores") {
            top.require("cores_per_llc");
        }
        let cores_per_llc = cores_per_llc?;
        let n_cores = n_llcs.saturating_mul(cores_per_llc);
        let threads = threads_per_core?;
        let threads_per_core = match cpus? {
            Some(cpus) => parts(top, "cpus", Some(cpus), "cores", n_cores, threads)?,
            None => threads.unwrap_or(1),
        };
        Some(Self {
            sockets,
            nodes_per_socket: nodes_per_socket?,
            llcs_per_socket,
            llcs_per_ccd: llcs_per_ccd?,
            cores_per_llc,
            threads_per_core,
        })
    }

    fn places(self, top: &mut Section) -> Option<Vec<CpuPlace>> {
        let n_llcs = self.sockets * self.llcs_per_socket;
        let n_cores = n_llcs.saturating_mul(self.cores_per_llc);
        let n_cpus = n_cores.saturating_mul(self.threads_per_core);
        if n_cpus > MAX_CPUS {
            let message =
                format!("a machine of {n_cpus} CPUs; at most {MAX_CPUS} can be simulated");
            top.fault(Fault::at(top.span_of("cores_per_llc"), message));
            return None;
        }
        let l3_as_numa = matches!(top.table().get("l3_as_numa"),
            Some(value) if value.get_ref().as_bool() == Some(true));
        if !self.nodes_fit(top, l3_as_numa) {
            return None;
        }
        let spec = RegularSpec {
            sockets: self.sockets as u32,
            nodes_per_socket: self.nodes_per_socket as u32,
            llcs_per_socket: self.llcs_per_socket as u32,
            llcs_per_ccd: self.llcs_per_ccd as u32,
            cores_per_llc: self.cores_per_llc as u32,
            threads_per_core: self.threads_per_core as u32,
            l3_as_numa,
            ..RegularSpec::default()
        };
        Some(spec.places())
    }

    fn nodes_fit(&self, top: &mut Section, l3_as_numa: bool) -> bool {
        let span = top.span_of("nodes_per_socket");
        let (nodes, llcs) = (self.nodes_per_socket, self.llcs_per_socket);
        let n_nodes = self.sockets * if l3_as_numa { llcs } else { nodes };
        let message = if !llcs.is_multiple_of(nodes) {
            format!("{llcs} LLCs per socket do not divide into {nodes} nodes")
        } else if l3_as_numa && nodes > 1 {
            "`l3_as_numa` makes every LLC a node; `nodes_per_socket` cannot differ".into()
        } else if n_nodes > MAX_NODES {
            format!("a machine of {n_nodes} nodes; at most {MAX_NODES} are possible")
        } else {
            return true;
        };
        top.fault(Fault::at(span, message));
        false
    }
}

/// `Some(None)` if the key is absent, `None` if it is wrong.
fn count(top: &mut Section, key: &'static str, max: u64) -> Option<Option<u64>> {
    let value = top.int(key, 1..=max);
    (value.is_some() || !top.table().contains_key(key)).then_some(value)
}

/// The size of each of `n` equal parts of a total, which may be given as well and must agree.
fn parts(
    top: &mut Section,
    key: &str,
    total: Option<u64>,
    into: &str,
    n: u64,
    given: Option<u64>,
) -> Option<u64> {
    let Some(total) = total else {
        return given;
    };
    let message = match given {
        Some(size) if n.saturating_mul(size) != total => {
            format!("`{key}` is {total}, but {n} {into} of {size} make {}", n.saturating_mul(size))
        }
        None if !total.is_multiple_of(n) => {
            format!("`{key}` is {total}, which does not divide into {n} {into}")
        }
        _ => return Some(total / n),
    };
    top.fault(Fault::at(top.span_of(key), message));
    None
}
