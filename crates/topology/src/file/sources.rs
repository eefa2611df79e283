//! `[[source]]`: where the numbers of the file come from, and how sure they are.

use crate::{Confidence, Source};
use input::{Fault, KeyDef, Kind, Node, Table, Walk, did_you_mean, words};
use toml::de::DeTable;

/// The keys of `[[source]]`.
pub(super) const SOURCE: &[KeyDef] = &[
    KeyDef::required("keys", Kind::List(&Kind::Text)),
    KeyDef::required("text", Kind::Text),
    KeyDef::required("confidence", Kind::Word(&words(&Confidence::NAMES))),
];

/// An element of `keys`, which names a key of the file: `latency.llc_ns`.
const KEY: KeyDef = KeyDef::required("keys", Kind::Text);

/// Reads all sources. What is faulty in one is noted and left out.
pub(super) fn read(walk: &mut Walk, top: &Table, sources: &mut Vec<Source>) {
    for table in top.tables(walk, "source").unwrap_or_default() {
        let keys = table.list(walk, "keys").unwrap_or_default();
        let keys = keys.into_iter().filter_map(|key| Some(walk.value(key, &KEY)?.to_string()));
        let keys = keys.collect();
        let text = table.text(walk, "text");
        let confidence = table.word(walk, "confidence", &Confidence::NAMES);
        if let (Some(text), Some(confidence)) = (text, confidence) {
            sources.push(Source { keys, text, confidence });
        }
    }
}

/// Faults of keys that have a source but do not stand in the file. The file must have no other
/// faults.
pub(super) fn of_nothing(root: &DeTable<'_>) -> Vec<Fault> {
    let all = paths(root);
    let all = || all.iter().map(String::as_str);
    let sources = root.get("source").and_then(|node| node.get_ref().as_array());
    let lists = sources.into_iter().flatten().filter_map(|source| source.get_ref().get("keys"));
    let keys = lists.filter_map(|list| list.get_ref().as_array()).flatten();
    let fault = |key: Node<'_>| {
        let path = key.get_ref().as_str().filter(|path| !all().any(|known| known == *path))?;
        let message = format!("a source for `{path}`, which the file does not give");
        Some(Fault::at(key.span(), message).help(did_you_mean(path, all())))
    };
    keys.filter_map(fault).collect()
}

/// The keys of the file and of its tables, dotted.
fn paths(root: &DeTable<'_>) -> Vec<String> {
    let mut paths = Vec::new();
    for (key, value) in root {
        let key = key.get_ref();
        paths.push(key.to_string());
        let inner = value.get_ref().as_table();
        paths.extend(
            inner.into_iter().flat_map(|t| t.keys()).map(|k| format!("{key}.{}", k.get_ref())),
        );
    }
    paths
}
