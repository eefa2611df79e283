//! The tree below `/sys/devices/system`, of a live kernel or unpacked from an archive.
//!
//! Read are `cpu/online`, each online CPU's `topology/` and `cache/`, the nodes' CPU lists and
//! distances, and of one CPU `cpuidle/`, `cpufreq/` and `/proc/cpuinfo`. Lists are taken where
//! there are some, else masks; the new names of siblings, else the old ones. What is not there at
//! all has a default and a remark; what is there for some CPUs only, or wrong, is a fault.
//!
//! In Linux: `Documentation/ABI/stable/sysfs-devices-system-cpu`, `drivers/base/topology.c`.

mod constants;
mod cpus;
mod nodes;
mod reader;

use super::found::{Conflict, Found, FoundCpu};
use super::{FileTree, Imported};
use crate::Machine;
use crate::export::HINT;
use input::{Fault, Faults, Source};
use reader::Reader;

const CPU: &str = "sys/devices/system/cpu";
const NODE: &str = "sys/devices/system/node";

/// Makes a machine from a tree with `sys/` and perhaps `proc/`.
///
/// A tree that [`export`](crate::export::sysfs) wrote has a file with the constants for which
/// `/sys` has no place; they are used as long as the tree still has that machine's shape.
///
/// # Errors
/// The faults of the tree's files, in the order in which they were met.
pub fn sysfs(name: &str, tree: &impl FileTree) -> Result<Imported, Vec<Fault>> {
    let mut reader = Reader::new(tree);
    let found = read(&mut reader);
    let (Some(found), true) = (found, reader.faults.is_empty()) else {
        return Err(reader.faults);
    };
    let mut imported = found.machine(name).map_err(|conflict| vec![fault(&conflict)])?;
    if let Some(hint) = reader.text(HINT) {
        use_hint(&mut imported, name, hint)?;
    }
    if reader.faults.is_empty() { Ok(imported) } else { Err(reader.faults) }
}

fn fault(Conflict { cpu, message }: &Conflict) -> Fault {
    Fault::of_file(format!("{CPU}/cpu{cpu}"), message.clone())
}

fn read<T: FileTree>(reader: &mut Reader<'_, T>) -> Option<Found> {
    let mut found = Found { what: "a sysfs tree", ..Found::default() };
    let online = cpus::online(reader, &mut found.remarks)?;
    let places = cpus::places(reader, &online, &mut found.remarks);
    let nodes = nodes::read(reader, &online, &mut found.remarks);
    let (places, nodes) = (places?, nodes?);
    for (cpu, place) in online.iter().zip(places) {
        let node = nodes.node_of(cpu);
        let cpus::Place { core, llc, die, socket } = place;
        found.cpus.push(FoundCpu { os: cpu, core, llc, die, node, socket });
    }
    found.distances = nodes.distances;
    constants::read(reader, &online, &mut found);
    Some(found)
}

/// Takes the exported machine if the tree still describes it.
fn use_hint(imported: &mut Imported, name: &str, text: String) -> Result<(), Vec<Fault>> {
    // The extension goes, and a name may have a dot.
    let path = format!("{name}.toml");
    let machine = crate::load(&path, &text)
        .map_err(|faults| Faults::of(faults, &Source::new(HINT, text)).0)?;
    let shape = |m: &Machine| {
        let places = m.cpus.iter().map(|p| (p.core, p.thread, p.llc, p.node, p.socket));
        (places.collect::<Vec<_>>(), m.numa_distance.clone())
    };
    if shape(&machine) == shape(&imported.machine) {
        *imported = Imported { machine, remarks: Vec::new() };
    } else {
        let remark = format!("{HINT} describes a machine of another shape and is not used");
        imported.remarks.push(remark);
    }
    Ok(())
}
