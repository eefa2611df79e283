//! `schedlab check`: reads scenarios and machines, runs nothing.

use super::{show_remarks, stdin_at_most_once};
use crate::output::{Stop, count, print};
use scenario::glue::{Machine, machine_info};
use scenario::{Described, Faults, Study};
use std::path::PathBuf;

/// Checks all files: a line for each that is right, then the faults of the others.
pub fn check(paths: &[PathBuf]) -> Result<(), Stop> {
    stdin_at_most_once(paths)?;
    let (mut right, mut faults) = (String::new(), Faults::default());
    for path in paths {
        match scenario::load_any(path) {
            Ok(found) => {
                right += &format!("{}: ok, {}\n", path.display(), described(&found));
                if let Described::Scenario(study) = &found {
                    show_remarks(study.remarks());
                }
            }
            Err(found) => faults.0.extend(found.0),
        }
    }
    // A closed standard output must not hide the faults, which go to standard error.
    let printed = print(&right);
    if faults.0.is_empty() { printed } else { Err(Stop::Faults(faults)) }
}

fn described(found: &Described) -> String {
    match found {
        Described::Scenario(study) => study_in_short(study),
        Described::Machine(machine) => machine_in_short(machine),
    }
}

fn study_in_short(study: &Study) -> String {
    let experiment = &study.points[0].experiment;
    let machine = machine_info(&experiment.machine);
    let points = match study.points.len() {
        1 => String::new(),
        n => format!("{} x ", count(n, "point")),
    };
    format!(
        "{points}{} x {} of {} on {} ({})",
        count(experiment.variants.len(), "variant"),
        count(experiment.seeds.len(), "seed"),
        experiment.workload.def.kind,
        machine.name,
        count(machine.cpus, "CPU"),
    )
}

fn machine_in_short(machine: &Machine) -> String {
    let machine = machine_info(machine);
    format!("a machine, {} in {}", count(machine.cpus, "CPU"), count(machine.llcs, "LLC"))
}
