//! NUMA nodes: their CPUs and their distances.

use super::super::FileTree;
use super::super::found::Distances;
use super::super::runs::{CpuRuns, items, number};
use super::NODE;
use super::reader::{Form, Reader};
use crate::file::MAX_NODES;
use input::{Fault, Source};
use std::collections::BTreeMap;

pub(super) struct Nodes {
    /// Node of each online CPU; empty if there are no nodes.
    of: BTreeMap<u32, u32>,
    pub distances: Option<Distances>,
}

impl Nodes {
    /// The node of an online CPU.
    pub fn node_of(&self, cpu: u32) -> u32 {
        self.of.get(&cpu).copied().unwrap_or(0)
    }
}

/// Reads all nodes; each online CPU must be in one. `None` if the files are faulty.
pub(super) fn read<T: FileTree>(
    reader: &mut Reader<'_, T>,
    online: &CpuRuns,
    remarks: &mut Vec<String>,
) -> Option<Nodes> {
    let numbers = reader.numbered(NODE, "node");
    let mut of = BTreeMap::new();
    if numbers.is_empty() {
        remarks.push("no NUMA nodes: all CPUs are in one".into());
        return Some(Nodes { of, distances: None });
    }
    if numbers.len() as u64 > MAX_NODES {
        let message = format!("{} NUMA nodes; at most {MAX_NODES} can be", numbers.len());
        reader.fault(Fault::of_file(NODE, message));
        return None;
    }
    let mut empty = Vec::new();
    for node in &numbers {
        let files = [
            (format!("{NODE}/node{node}/cpulist"), Form::List),
            (format!("{NODE}/node{node}/cpumap"), Form::Mask),
        ];
        let Some((path, cpus)) = reader.cpus(&files) else {
            let message = format!("the CPUs of node {node} are not here");
            reader.fault(Fault::of_file(files[0].0.clone(), message));
            continue;
        };
        if !cpus.iter().any(|cpu| online.contains(cpu)) {
            empty.push(*node);
        }
        for cpu in cpus.iter().filter(|cpu| online.contains(*cpu)) {
            if let Some(other) = of.insert(cpu, *node) {
                let message = format!("CPU {cpu} is in node {node} and in node {other}");
                reader.fault(Fault::of_file(path, message));
            }
        }
    }
    if let Some(cpu) = online.iter().find(|cpu| !of.contains_key(cpu)) {
        reader.fault(Fault::of_file(NODE, format!("CPU {cpu} is online, but in no node")));
    }
    if !empty.is_empty() {
        let empty = CpuRuns::of(empty);
        remarks.push(format!("nodes without CPUs are left out: {empty}"));
    }
    let distances = distances(reader, numbers);
    reader.faults.is_empty().then_some(Nodes { of, distances })
}

/// The table: each node's row, one distance per node in the order of their numbers.
fn distances<T: FileTree>(reader: &mut Reader<'_, T>, nodes: Vec<u32>) -> Option<Distances> {
    let path = |node: &u32| format!("{NODE}/node{node}/distance");
    let rows: Vec<Option<String>> = nodes.iter().map(|node| reader.text(&path(node))).collect();
    if rows.iter().all(Option::is_none) {
        return None;
    }
    let mut table = Vec::new();
    for (node, row) in nodes.iter().zip(rows) {
        let Some(text) = row else {
            let message = format!("node {node} has no row of distances, while others have one");
            reader.fault(Fault::of_file(path(node), message));
            continue;
        };
        match parse_row(&text, nodes.len()) {
            Ok(row) => table.extend(row),
            Err(fault) => reader.fault(fault.of(&Source::new(path(node), text))),
        }
    }
    reader.faults.is_empty().then_some(Distances { nodes, table })
}

fn parse_row(text: &str, n_nodes: usize) -> Result<Vec<u32>, Fault> {
    let cells = items(text.trim_end(), ' ').into_iter().filter(|(_, cell)| !cell.is_empty());
    let row: Vec<u32> =
        cells.map(|(at, cell)| number(cell, &(at..at + cell.len()))).collect::<Result<_, _>>()?;
    if row.len() != n_nodes {
        let message = format!("{} distances for {n_nodes} nodes", row.len());
        return Err(Fault::at(0..text.trim_end().len(), message));
    }
    Ok(row)
}
