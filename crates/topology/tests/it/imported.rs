//! Dumps become machines: own small ones, damaged ones, and those that we write ourselves.

mod cpuid;
mod hwloc;
mod lscpu;
mod sysfs;

use input::Fault;
use topology::Machine;
use topology::import::Imported;

/// `16 CPUs, 8 cores, 4 LLCs, 2 nodes, 1 sockets`.
fn counts(machine: &Machine) -> String {
    format!(
        "{} CPUs, {} cores, {} LLCs, {} nodes, {} sockets",
        machine.n_cpus(),
        machine.cores.len(),
        machine.llcs.len(),
        machine.nodes.len(),
        machine.sockets.len(),
    )
}

/// The counts and the remarks, or the faults as `line | text | message | help`.
fn shown(text: &str, imported: Result<Imported, Vec<Fault>>) -> String {
    match imported {
        Ok(imported) => told(&imported),
        Err(faults) => {
            let lines: Vec<String> = faults.iter().map(|fault| place(text, fault)).collect();
            lines.join("\n")
        }
    }
}

/// The same for a tree, with the file of each fault.
fn shown_tree(imported: Result<Imported, Vec<Fault>>) -> String {
    match imported {
        Ok(imported) => told(&imported),
        Err(faults) => {
            let line = |f: &Fault| {
                let source = f.source.as_ref().expect("its file is known");
                format!("{}: {}", source.path, place(&source.text, f))
            };
            faults.iter().map(line).collect::<Vec<_>>().join("\n")
        }
    }
}

fn told(imported: &Imported) -> String {
    // A machine that was made can be written and read.
    let written = topology::write(&imported.machine, &imported.machine.name);
    let read = topology::load(&imported.machine.name, &written);
    let read = read.unwrap_or_else(|faults| panic!("{faults:?}\n{written}"));
    assert_eq!(format!("{read:?}"), format!("{:?}", imported.machine));
    let lines = std::iter::once(counts(&imported.machine)).chain(imported.remarks.clone());
    lines.collect::<Vec<_>>().join("\n")
}

fn place(text: &str, fault: &Fault) -> String {
    let help = fault.help.as_deref().unwrap_or("-");
    let Some(span) = fault.span.clone() else {
        return format!("{} | {help}", fault.message);
    };
    let line = 1 + text[..span.start].matches('\n').count();
    let what: String = text[span].lines().next().unwrap_or_default().chars().take(40).collect();
    format!("{line} | {what} | {} | {help}", fault.message)
}
