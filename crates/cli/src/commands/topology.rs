//! `schedlab topology`: machines shown, made from dumps of real ones, and written for other tools.

use crate::args::{ImportFrom, Topology};
use crate::output::{Stop, note, print, remark};
use report::out::OutError;
use scenario::{Dump, glue, shipped};
use std::path::Path;

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
    let ImportFrom { sysfs, hwloc, lscpu, cpuid, perf_data } = from;
    let sysfs = sysfs.as_deref().map(Dump::Sysfs);
    let others = [
        hwloc.as_deref().map(Dump::Hwloc),
        lscpu.as_deref().map(Dump::Lscpu),
        perf_data.as_deref().map(Dump::PerfData),
    ];
    let other = others.into_iter().flatten().next().or(cpuid.as_deref().map(Dump::Cpuid));
    sysfs.or(other).unwrap_or(Dump::Sysfs(Path::new("/sys")))
}

/// A machine and the stem of its file.
fn load(path: &Path) -> Result<(glue::Machine, String), Stop> {
    let machine = scenario::load_machine_file(path).map_err(Stop::Faults)?;
    if let Some(text) = shipped::find_machine(&scenario::Disk, path, path).1 {
        remark(&text);
    }
    let stem = if path.is_file() { stem(path) } else { machine.name.clone() };
    Ok((machine, stem))
}

/// The name of the file without its extension.
fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}
