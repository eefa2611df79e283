//! One file per command.

pub mod check;
pub mod generate;
pub mod list;
pub mod run;
pub mod topology;

use crate::output::Stop;
use scenario::{Experiment, Faults};
use std::path::PathBuf;

/// Loads all scenarios, or gives the faults of all of them.
fn load_all(paths: &[PathBuf]) -> Result<Vec<Experiment>, Stop> {
    let mut experiments = Vec::new();
    let mut faults = Faults::default();
    for path in paths {
        match scenario::load(path) {
            Ok(experiment) => experiments.push(experiment),
            Err(found) => faults.0.extend(found.0),
        }
    }
    if faults.0.is_empty() {
        Ok(experiments)
    } else {
        Err(Stop::Faults(faults))
    }
}
