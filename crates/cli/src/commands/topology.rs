//! `schedlab topology`: machines shown, made from dumps of real ones, and written for other tools.

use crate::args::{ImportFrom, Topology};
use crate::output::{Stop, note, print};
use report::out::OutError;
use scenario::{Dump, Fault, glue};
use std::path::{Path, PathBuf};

/// Runs a command of `schedlab topology`.
pub fn topology(command: &Topology) -> Result<(), Stop> {
    match command {
        Topology::Show { machine, table, toml } => show(machine, *table, *toml),
        Topology::Import { from, out } => import(from, out.as_deref()),
        Topology::Export { machine, sysfs } => {
            let (machine, stem) = load(machine)?;
            report::out::write_sysfs(&machine, &stem, sysfs).map_err(|e| match e {
                OutError::File { .. } => Stop::RunFailed(e.to_string()),
                _ => Stop::BadInput(e.to_string()),
            })
        }
    }
}

fn show(machine: &Path, table: bool, toml: bool) -> Result<(), Stop> {
    let (machine, stem) = load(machine)?;
    print(&match (table, toml) {
        (true, _) => glue::machine_table(&machine),
        (_, true) => glue::machine_file(&machine, &stem),
        _ => glue::machine_tree(&machine),
    })
}

fn import(from: &ImportFrom, out: Option<&Path>) -> Result<(), Stop> {
    let name = out.map_or_else(|| "imported".into(), stem);
    let (machine, remarks) = scenario::import_machine(dump(from), &name).map_err(Stop::Faults)?;
    for remark in remarks {
        note("note", anstyle::AnsiColor::BrightCyan.on_default().bold(), &remark);
    }
    let text = glue::machine_file(&machine, &name);
    match out {
        None => print(&text),
        Some(path) if path == Path::new("-") => print(&text),
        Some(path) => {
            report::out::write_file(path, &text).map_err(|e| Stop::RunFailed(e.to_string()))
        }
    }
}

/// The source that was given; clap makes sure that there is exactly one.
fn dump(from: &ImportFrom) -> Dump<'_> {
    let ImportFrom { sysfs, hwloc, lscpu, cpuid } = from;
    let sysfs = sysfs.as_deref().map(Dump::Sysfs);
    let others = [hwloc.as_deref().map(Dump::Hwloc), lscpu.as_deref().map(Dump::Lscpu)];
    let other = others.into_iter().flatten().next().or(cpuid.as_deref().map(Dump::Cpuid));
    sysfs.or(other).unwrap_or(Dump::Sysfs(Path::new("/sys")))
}

/// A machine and the stem of its file.
fn load(machine: &Path) -> Result<(glue::Machine, String), Stop> {
    let path = find(machine);
    let machine = scenario::load_machine_file(&path).map_err(|mut faults| {
        let is_absent = |fault: &&mut Fault| fault.span.is_none() && !path.exists();
        if let Some(first) = faults.0.first_mut().filter(is_absent).filter(|_| is_name(machine)) {
            first.help = Some(super::list::no_such_machine(machine));
        }
        Stop::Faults(faults)
    })?;
    let stem = if path.is_file() { stem(&path) } else { machine.name.clone() };
    Ok((machine, stem))
}

/// The name of the file without its extension.
fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}

/// The file itself, or the one of that name among the machines that come with the project.
fn find(machine: &Path) -> PathBuf {
    let known = Path::new(super::list::MACHINES).join(machine).with_extension("toml");
    let is_known = is_name(machine) && !machine.is_file() && known.is_file();
    if is_known { known } else { machine.to_path_buf() }
}

/// True if it may be the name of a machine that comes with the project.
fn is_name(machine: &Path) -> bool {
    machine.components().count() == 1 && machine.extension().is_none()
}
