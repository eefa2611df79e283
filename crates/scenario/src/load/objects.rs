//! BPF objects that policies name.

use super::source_files::Files;
use super::text::{beside, names_nothing, unreadable};
use crate::bpf_policy::{Object, ObjectFile, ObjectFiles};
use crate::hash::digest_of;
use input::{Fault, Node, Walk};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// No object is larger than this.
const BYTES_MAX: u64 = 64 << 20;

/// The nodes that name objects: at the top, and of variants.
pub(super) fn named<'a>(doc: &'a DeTable<'a>) -> Vec<Node<'a>> {
    let tables = match doc.get("variant").map(|node| node.get_ref()) {
        Some(DeValue::Array(list)) => list.iter().filter_map(|v| v.get_ref().as_table()).collect(),
        _ => Vec::new(),
    };
    let all = std::iter::once(doc).chain(tables);
    all.filter_map(|t| t.get("policy")?.get_ref().as_table()?.get("bpf")).collect()
}

/// Reads the objects that a scenario names and that are not read yet.
pub(super) fn read(
    walk: &mut Walk,
    disk: &dyn Files,
    doc: &DeTable<'_>,
    scenario: &Path,
    files: &mut ObjectFiles,
) {
    for node in named(doc) {
        let Some(name) = node.get_ref().as_str().filter(|name| !files.contains_key(*name)) else {
            continue;
        };
        if names_nothing(walk, node, name, "BPF object") {
            continue;
        }
        let path = beside(scenario, name);
        match object(disk, &path) {
            Ok(file) => drop(files.insert(name.to_string(), file)),
            Err(Why::Unreadable(why)) => {
                let fault = unreadable(node, &path, "BPF object", &why);
                walk.fault(fault);
            }
            Err(Why::NoObject(why)) => {
                walk.fault(Fault::at(node.span(), format!("no BPF object is in this file: {why}")));
            }
        }
    }
}

/// The paths of the objects that a scenario names.
pub(super) fn paths(doc: &DeTable<'_>, scenario: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for name in named(doc).into_iter().filter_map(|node| node.get_ref().as_str()) {
        let path = beside(scenario, name);
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

enum Why {
    Unreadable(String),
    NoObject(String),
}

fn object(files: &dyn Files, path: &Path) -> Result<ObjectFile, Why> {
    let unreadable = |e| Why::Unreadable(super::text::why(e));
    let mut bytes = Vec::new();
    let file = files.open(path).map_err(unreadable)?;
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(Why::Unreadable(format!("it is larger than {} MiB", BYTES_MAX >> 20)));
    }
    let object = Object::read(&bytes).map_err(|e| Why::NoObject(e.to_string()))?;
    let hash = digest_of(bytes.as_slice()).map_err(unreadable)?;
    Ok(ObjectFile { object: Arc::new(object), hash })
}
