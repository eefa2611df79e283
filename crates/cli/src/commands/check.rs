//! `schedlab check`: reads scenarios, runs nothing.

use super::load_all;
use crate::output::{Stop, count, print};
use scenario::glue::machine_info;
use std::path::PathBuf;

/// Checks all files; one line for each if all are right.
pub fn check(paths: &[PathBuf]) -> Result<(), Stop> {
    for (path, experiment) in paths.iter().zip(load_all(paths)?) {
        let machine = machine_info(&experiment.machine);
        print(&format!(
            "{}: ok, {} x {} of {} on {} ({})\n",
            path.display(),
            count(experiment.variants.len(), "variant"),
            count(experiment.seeds.len(), "seed"),
            experiment.workload.def.kind,
            machine.name,
            count(machine.cpus, "CPU"),
        ))?;
    }
    Ok(())
}
