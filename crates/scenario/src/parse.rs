//! From the TOML document of a scenario to an [`Experiment`].
//!
//! Each part is read on its own and notes its own faults, so one look shows all of them. A part
//! that could not be read is `None`; the experiment is put together only if there is no fault.

pub(crate) mod bpf;
mod cgroups;
mod expect;
pub(crate) mod find;
mod partial;
mod policy;
mod published;
pub(crate) mod service;
pub(crate) mod sweep;
pub(crate) mod tune;
mod variants;
mod workload;
mod workqueue;

use crate::bpf_policy::ObjectFiles;
use crate::experiment::Experiment;
use crate::glue::Machine;
use crate::registry::{RUN, SCENARIO, SEEDS_MAX, names};
use crate::run_spec::Until;
use crate::units::parse_time;
use crate::workload::{WorkloadFile, WorkloadSpec};
use bpf::Objects;
use input::{Fault, Node, Walk};
use policy::{PolicyChoice, policy_choice};
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// Number of seeds if the scenario does not say.
const SEEDS_DEFAULT: u64 = 5;

/// Reads the document. The machine is found by the caller, who knows about files.
pub(crate) fn experiment(
    walk: &mut Walk,
    doc: &DeTable<'_>,
    name: &str,
    machine: Option<Arc<Machine>>,
    file: Option<WorkloadFile>,
    objects: &ObjectFiles,
) -> Option<Experiment> {
    walk.check_keys("the scenario", doc, &names(SCENARIO));
    let title = match doc.get("title") {
        Some(node) => walk.name(node, "title").map(str::to_string),
        None => Some(name.to_string()),
    };
    let mut objects = Objects { files: objects, machine: machine.clone(), policies: Vec::new() };
    let policy = policy_choice(walk, doc, PolicyChoice::default(), &mut objects);
    let workload = required(walk, doc, "workload").and_then(|n| workload::workload(walk, n, file));
    let run = run(walk, doc, workload.as_ref());
    let def = workload.as_ref().map(|w| w.def);
    let list = required(walk, doc, "variant");
    let (variants, known) = variants::variants(walk, list, policy, def, &mut objects);
    let published = published::published(walk, doc, &known);
    let find = find::find(walk, doc, def);
    let expect = expect::expectations(walk, doc);
    if let Some((until, _)) = run {
        workqueue::must_come_in_time(walk, doc, until);
    }
    if let Some(workload) = &workload {
        cgroups::must_be_known(walk, doc, workload, &variants);
    }
    if let (Some(workload), Some(machine)) = (&workload, &machine) {
        workload::must_keep_limits(walk, doc, workload, machine);
    }
    if !walk.faults.is_empty() {
        return None;
    }
    let (until, seeds) = run?;
    Some(Experiment {
        name: name.to_string(),
        at: String::new(),
        title: title?,
        machine: machine?,
        workload: workload?,
        find,
        until,
        seeds: (1..=seeds).collect(),
        variants,
        published,
        expect,
        hash: String::new(),
        files: Vec::new(),
        remarks: Vec::new(),
    })
}

/// A key that the document must have.
pub(crate) fn required<'a>(walk: &mut Walk, doc: &'a DeTable<'a>, key: &str) -> Option<Node<'a>> {
    let faults = walk.faults.len();
    let found = walk.required("the scenario", 0..0, doc, &names(SCENARIO), key);
    if let Some(missing) = walk.faults.get_mut(faults) {
        missing.help = Some(match key {
            "machine" => "name one of `schedlab list machines`, or a machine file".into(),
            "workload" => "`schedlab list workloads` prints all kinds and their keys".into(),
            _ => format!("begin one with [[{key}]] and a `name`"),
        });
    }
    found
}

/// Reads `[run]`: when a run ends, and how many seeds.
fn run(
    walk: &mut Walk,
    doc: &DeTable<'_>,
    workload: Option<&WorkloadSpec>,
) -> Option<(Until, u64)> {
    let empty = DeTable::new();
    let table = match doc.get("run") {
        Some(node) => walk.table(node, "run")?,
        None => &empty,
    };
    walk.check_keys("[run]", table, &names(RUN));
    let seeds = match table.get("seeds") {
        Some(node) => walk.int(node, "seeds", 1..=SEEDS_MAX, "").map(|n| n as u64),
        None => Some(SEEDS_DEFAULT),
    };
    let until = match table.get("until") {
        Some(node) => until(walk, node),
        None => Some(Until::Done),
    };
    if let (Some(Until::Done), Some(workload)) = (until, workload)
        && !workload.ends()
    {
        let place = table.get("until").or_else(|| doc.get("workload"));
        let fault = must_end(place, workload);
        walk.fault(fault);
    }
    Some((until?, seeds?))
}

fn must_end(place: Option<Node<'_>>, workload: &WorkloadSpec) -> Fault {
    let span = place.map_or(0..0, |node| node.span());
    Fault::at(span, format!("workload `{}` never ends by itself", workload.def.kind))
        .help("say how long to run it: `until = \"10s\"` in [run]")
}

fn until(walk: &mut Walk, node: Node<'_>) -> Option<Until> {
    let DeValue::String(text) = node.get_ref() else {
        walk.fault(
            Fault::at(node.span(), "`until` must be a string")
                .help("write \"done\", or a simulated time such as \"10s\" or \"500ms\""),
        );
        return None;
    };
    if text == "done" {
        return Some(Until::Done);
    }
    match parse_time(text) {
        Ok(ns) => Some(Until::Time(ns)),
        Err(why) => {
            walk.fault(
                Fault::at(node.span(), format!("`until` is not a time: `{text}`"))
                    .label(why)
                    .help("write \"done\", or a simulated time such as \"10s\" or \"500ms\""),
            );
            None
        }
    }
}
