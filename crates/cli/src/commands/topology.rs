//! `schedlab topology show`: a machine as a tree or as the table of `lscpu -e`.

use crate::args::Topology;
use crate::output::{Stop, print};
use scenario::glue;
use std::path::{Path, PathBuf};

/// Runs the command.
pub fn topology(command: &Topology) -> Result<(), Stop> {
    let Topology::Show { machine, table } = command;
    let machine = scenario::load_machine_file(&find(machine)).map_err(Stop::Faults)?;
    print(&match table {
        true => glue::machine_table(&machine),
        false => glue::machine_tree(&machine),
    })
}

/// The file itself, or the one of that name among the machines that come with the project.
fn find(machine: &Path) -> PathBuf {
    let known = Path::new(super::list::MACHINES)
        .join(machine)
        .with_extension("toml");
    let bare_name = machine.components().count() == 1 && machine.extension().is_none();
    if bare_name && !machine.is_file() && known.is_file() {
        known
    } else {
        machine.to_path_buf()
    }
}
