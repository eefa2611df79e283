//! How many of what: the keys of a regular machine, or the list of an irregular one.

use super::{MAX_CPUS, MAX_NODES, cpus};
use crate::{CpuPlace, RegularSpec};
use input::{Fault, Kind, Table, Walk};

/// How many parts a machine, or a part of it, may have.
pub(super) const COUNT: Kind = Kind::Int { min: 1, max: MAX_CPUS as i64 };

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
pub(super) fn read(walk: &mut Walk, top: &Table, l3_as_numa: bool) -> Option<Vec<CpuPlace>> {
    let Some(list) = top.tables(walk, "cpu") else {
        let counts = Counts::read(walk, top)?;
        return if top.has("cpu") { None } else { counts.places(walk, top, l3_as_numa) };
    };
    for key in REGULAR_KEYS {
        if top.has(key) {
            let message = format!("`{key}` and [[cpu]] both describe the shape of the machine");
            walk.fault(Fault::at(top.span_of(key), message).help("keep only one of them"));
        }
    }
    for key in ["l3_as_numa", "numa"] {
        if top.has(key) {
            let fault = Fault::at(top.span_of(key), format!("`{key}` needs a regular machine"));
            walk.fault(fault.help("give the `node` of each [[cpu]] instead"));
        }
    }
    cpus::read(walk, top, list)
}

/// The counts of a regular machine; all at least 1 and at most [`MAX_CPUS`].
struct Counts {
    /// False: one node, whatever the counts are.
    numa: bool,
    sockets: u64,
    nodes_per_socket: u64,
    llcs_per_socket: u64,
    llcs_per_ccd: u64,
    cores_per_llc: u64,
    threads_per_core: u64,
}

impl Counts {
    fn read(walk: &mut Walk, top: &Table) -> Option<Self> {
        let numa = top.switch(walk, "numa").unwrap_or(true);
        // All keys are read before the first `?`, so that all faults are found.
        let mut count = |key| {
            let value = top.int::<u64>(walk, key);
            // `Some(None)` if the key is absent, `None` if it is wrong.
            (value.is_some() || !top.has(key)).then_some(value)
        };
        let [sockets, nodes_per_socket, llcs_per_socket, llcs_per_ccd] =
            ["sockets", "nodes_per_socket", "llcs_per_socket", "llcs_per_ccd"]
                .map(|key| count(key).map(|n| n.unwrap_or(1)));
        let [cores_per_llc, threads_per_core, cores, cpus] =
            ["cores_per_llc", "threads_per_core", "cores", "cpus"].map(&mut count);
        let (sockets, llcs_per_socket) = (sockets?, llcs_per_socket?);
        let n_llcs = sockets * llcs_per_socket;
        let cores_per_llc = parts(walk, top, "cores", cores?, "LLCs", n_llcs, cores_per_llc?);
        if cores_per_llc.is_none() && !top.has("cores") {
            top.require(walk, "cores_per_llc");
        }
        let cores_per_llc = cores_per_llc?;
        let n_cores = n_llcs.saturating_mul(cores_per_llc);
        let threads = threads_per_core?;
        let threads_per_core = match cpus? {
            Some(cpus) => parts(walk, top, "cpus", Some(cpus), "cores", n_cores, threads)?,
            None => threads.unwrap_or(1),
        };
        Some(Self {
            numa,
            sockets,
            nodes_per_socket: nodes_per_socket?,
            llcs_per_socket,
            llcs_per_ccd: llcs_per_ccd?,
            cores_per_llc,
            threads_per_core,
        })
    }

    fn places(self, walk: &mut Walk, top: &Table, l3_as_numa: bool) -> Option<Vec<CpuPlace>> {
        let n_llcs = self.sockets * self.llcs_per_socket;
        let n_cores = n_llcs.saturating_mul(self.cores_per_llc);
        let n_cpus = n_cores.saturating_mul(self.threads_per_core);
        if n_cpus > MAX_CPUS {
            let message =
                format!("a machine of {n_cpus} CPUs; at most {MAX_CPUS} can be simulated");
            walk.fault(Fault::at(top.span_of("cores_per_llc"), message));
            return None;
        }
        if !self.nodes_fit(walk, top, l3_as_numa) {
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
            numa: self.numa,
            ..RegularSpec::default()
        };
        Some(spec.places())
    }

    fn nodes_fit(&self, walk: &mut Walk, top: &Table, l3_as_numa: bool) -> bool {
        if !self.numa && (l3_as_numa || self.nodes_per_socket > 1) {
            let key = if l3_as_numa { "l3_as_numa" } else { "nodes_per_socket" };
            let message = format!("`{key}` makes several nodes, `numa = false` one");
            walk.fault(Fault::at(top.span_of(key), message).help("keep one of them"));
            return false;
        }
        let span = top.span_of("nodes_per_socket");
        let (nodes, llcs) = (self.nodes_per_socket, self.llcs_per_socket);
        let n_nodes = match self.numa {
            false => 1,
            true => self.sockets * if l3_as_numa { llcs } else { nodes },
        };
        let message = if !llcs.is_multiple_of(nodes) {
            format!("{llcs} LLCs per socket do not divide into {nodes} nodes")
        } else if l3_as_numa && nodes > 1 {
            "`l3_as_numa` makes every LLC a node; `nodes_per_socket` cannot differ".into()
        } else if n_nodes > MAX_NODES {
            format!("a machine of {n_nodes} nodes; at most {MAX_NODES} are possible")
        } else {
            return true;
        };
        walk.fault(Fault::at(span, message));
        false
    }
}

/// The size of each of `n` equal parts of a total, which may be given as well and must agree.
fn parts(
    walk: &mut Walk,
    top: &Table,
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
    walk.fault(Fault::at(top.span_of(key), message));
    None
}
