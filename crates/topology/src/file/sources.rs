//! `[[source]]`: where the numbers of the file come from, and how sure they are.

use super::asked::Takes;
use super::section::{Section, wrong_type};
use crate::fault::did_you_mean;
use crate::{Confidence, Fault, Source};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Reads all sources. What is faulty in one is noted and left out.
pub(super) fn read(top: &mut Section, sources: &mut Vec<Source>, faults: &mut Vec<Fault>) {
    for mut section in top.sections("source").unwrap_or_default() {
        for key in ["keys", "text", "confidence"] {
            section.require(key);
        }
        let keys = section.array("keys", Takes::Text).unwrap_or_default();
        let checked = keys.iter().map(|key| section.check(name(key)));
        let keys: Vec<String> = checked.collect::<Vec<_>>().into_iter().flatten().collect();
        let text = section.string("text");
        let confidence = section.word("confidence", &Confidence::NAMES);
        section.finish(faults);
        if let (Some(text), Some(confidence)) = (text, confidence) {
            sources.push(Source { keys, text, confidence });
        }
    }
}

/// The key that an element of `keys` names: `latency.llc_ns`.
fn name(key: &Spanned<DeValue<'_>>) -> Result<String, Fault> {
    let name = key.get_ref().as_str().map(str::to_owned);
    name.ok_or_else(|| wrong_type("keys", key, "a list of keys of this file"))
}

/// Faults of keys that have a source but do not stand in the file. The file must have no other
/// faults.
pub(super) fn of_nothing(root: &DeTable<'_>) -> Vec<Fault> {
    let all = paths(root);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let sources = root.get("source").and_then(|node| node.get_ref().as_array());
    let lists = sources.into_iter().flatten().filter_map(|source| source.get_ref().get("keys"));
    let keys = lists.filter_map(|list| list.get_ref().as_array()).flatten();
    let fault = |key: &Spanned<DeValue<'_>>| {
        let path = key.get_ref().as_str().filter(|path| !all.contains(path))?;
        let message = format!("a source for `{path}`, which the file does not give");
        Some(Fault::at(key.span(), message).help(did_you_mean(path, &all)))
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
