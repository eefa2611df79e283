//! Reading `[tune]`, and the values that are to be tried to know whether its keys take them.

use super::expect;
use super::published::known_metric;
use super::sweep::SweepAxis;
use crate::edit::{self, Placed, Target};
use crate::registry::{self, Better, FEATURES, TUNE, TUNED_RANGE, names, nearest};
use crate::tune::{Goal, Tune, TunedKey, Values, path};
use input::{Fault, Node, Walk, did_you_mean};
use std::collections::BTreeSet;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

const GOAL_HINT: &str = "such as maximize = \"throughput\", or minimize = \"latency_p99\"";

/// What `[tune]` says.
pub(crate) struct Tuned<'a> {
    /// What is looked for.
    pub tune: Tune,
    /// For each key the values that tell whether it takes all: choices, or the ends of a range.
    pub probes: Vec<SweepAxis<'a>>,
}

/// A key of the scenario, with its value in `[tune]`.
struct Leaf<'n, 'a> {
    words: Vec<String>,
    place: Range<usize>,
    node: &'n Placed<'a>,
}

/// Reads `[tune]`; `doc` is the scenario that its keys are of, `text` the file's.
pub(crate) fn tune<'a>(
    walk: &mut Walk,
    doc: &DeTable<'a>,
    node: &Placed<'a>,
    text: &str,
) -> Option<Tuned<'a>> {
    let DeValue::Table(table) = node.get_ref() else {
        walk.wrong_type(node, "tune", "a table of keys and what they may be");
        return None;
    };
    let variant = variant(walk, doc, table)?;
    let goals = goals(walk, node, table);
    let limits = table.get("while").map_or_else(Vec::new, |node| expect::bounds(walk, node));
    let (mut keys, mut probes) = (Vec::new(), Vec::new());
    let mut seen = Vec::new();
    let mut found = Vec::new();
    leaves(table, &mut Vec::new(), &mut found);
    found.sort_by_key(|leaf| leaf.place.start);
    for leaf in found {
        let Some((key, probe)) = key(walk, doc, &leaf, &variant, text) else {
            continue;
        };
        must_be_new(walk, &mut seen, &probe);
        keys.push(key);
        probes.push(probe);
    }
    if let Some(list) = table.get("features") {
        for (name, place) in features(walk, list) {
            probes.push(probe_of_feature(&variant, name, place));
            let (key, place) = (name.to_string(), String::new());
            keys.push(TunedKey { key, place, values: Values::Feature });
        }
    }
    if keys.is_empty() && walk.faults.is_empty() {
        walk.fault(Fault::at(node.span(), "[tune] names no key").help(
            "such as hz = [250, 1000], migration_cost_ns = { range = [1_000, 1_000_000], log = \
             true }, or features = [\"SIS_UTIL\"]",
        ));
    }
    let other_features = stated_features(doc, &variant, &keys);
    let tune = Tune { variant, goals, limits, keys, other_features };
    walk.faults.is_empty().then_some(Tuned { tune, probes })
}

/// A search looks for one point, a sweep has many.
pub(crate) fn must_be_no_sweep(walk: &mut Walk, doc: &DeTable<'_>) {
    let (Some(tune), true) = (doc.get_key_value("tune"), doc.contains_key("sweep")) else {
        return;
    };
    walk.fault(
        Fault::at(tune.0.span(), "a scenario has either [sweep] or [tune]")
            .help("[sweep] shows all points, [tune] looks for the best one: keep one of them"),
    );
}

/// The variant that is tuned: the one that is named, or the baseline.
fn variant(walk: &mut Walk, doc: &DeTable<'_>, table: &DeTable<'_>) -> Option<String> {
    let known = edit::variant_names(doc);
    if let Some(node) = table.get("variant") {
        let name = walk.text(node, "variant")?;
        if !known.contains(&name) {
            let message = format!("no variant is named `{name}`");
            walk.fault(Fault::at(node.span(), message).help(did_you_mean(name, known)));
            return None;
        }
        return Some(name.to_string());
    }
    let list = doc.get("variant").and_then(|node| node.get_ref().as_array());
    let is_baseline =
        |node: &&Placed<'_>| node.get_ref().get("baseline").and_then(|b| b.get_ref().as_bool());
    let baseline = list.into_iter().flatten().find(|node| is_baseline(node) == Some(true));
    let name = baseline.and_then(|node| node.get_ref().get("name")?.get_ref().as_str());
    // Without variants the scenario itself is at fault.
    name.or(known.first().copied()).map(str::to_string)
}

/// What is to be high or low, in the file's order.
fn goals(walk: &mut Walk, node: Node<'_>, table: &DeTable<'_>) -> Vec<Goal> {
    let mut said: Vec<(Range<usize>, Goal)> = Vec::new();
    for (word, maximize) in [("maximize", true), ("minimize", false)] {
        let Some(node) = table.get(word) else {
            continue;
        };
        let nodes: Vec<Node<'_>> = match node.get_ref() {
            DeValue::Array(list) => list.iter().collect(),
            _ => vec![node],
        };
        for node in nodes {
            if let Some((name, def)) = known_metric(walk, node) {
                must_be_sensible(walk, node, name, maximize, def.better);
                let metric = name.to_string();
                if said.iter().any(|(_, goal)| goal.metric == metric) {
                    let message = format!("`{name}` is a goal already");
                    walk.fault(Fault::at(node.span(), message).help("name it once"));
                }
                said.push((node.span(), Goal { metric, maximize }));
            }
        }
    }
    if said.is_empty() && walk.faults.is_empty() {
        walk.fault(Fault::at(node.span(), "[tune] does not say what is best").help(GOAL_HINT));
    }
    said.sort_by_key(|(place, _)| place.start);
    said.into_iter().map(|(_, goal)| goal).collect()
}

/// Nobody wants the highest latency.
fn must_be_sensible(walk: &mut Walk, node: Node<'_>, name: &str, maximize: bool, better: Better) {
    let (word, other) = match (maximize, better) {
        (true, Better::Lower) => ("lower", "minimize"),
        (false, Better::Higher) => ("higher", "maximize"),
        _ => return,
    };
    let message = format!("of `{name}`, {word} is better");
    walk.fault(Fault::at(node.span(), message).help(format!("write {other} = \"{name}\"")));
}

/// The keys of a table and of the tables in it, which dotted keys make.
fn leaves<'n, 'a>(table: &'n DeTable<'a>, above: &mut Vec<String>, found: &mut Vec<Leaf<'n, 'a>>) {
    for (key, node) in table {
        let word = key.get_ref().to_string();
        if above.is_empty() && TUNE.iter().any(|own| own.name == word) {
            continue;
        }
        above.push(word);
        match node.get_ref() {
            DeValue::Table(inner) if !inner.contains_key("range") && is_deep(above) => {
                leaves(inner, above, found);
            }
            _ => found.push(Leaf { words: above.clone(), place: key.span(), node }),
        }
        above.pop();
    }
}

/// True if such words stand before keys, and are none.
fn is_deep(words: &[String]) -> bool {
    ["workload", "machine", "run", "tunables", "variant"].contains(&words[0].as_str())
}

/// One key with what it may be.
fn key<'a>(
    walk: &mut Walk,
    doc: &DeTable<'a>,
    leaf: &Leaf<'_, 'a>,
    variant: &str,
    text: &str,
) -> Option<(TunedKey, SweepAxis<'a>)> {
    let target = match edit::target(walk, doc, &leaf.words, leaf.place.clone())? {
        Target::Variant(None, path) => Target::Variant(Some(variant.to_string()), path),
        target => target,
    };
    let key = leaf.words.join(".");
    if let Target::Variant(Some(other), _) = &target
        && other != variant
    {
        let message = format!("`{key}` is of `{other}`, and `{variant}` is tuned");
        let help = format!("write variant = \"{other}\" in [tune], or remove the key");
        walk.fault(Fault::at(leaf.place.clone(), message).help(help));
        return None;
    }
    let (values, probes) = match leaf.node.get_ref() {
        DeValue::Array(list) => choices(walk, leaf, &key, list, text)?,
        DeValue::Table(table) => range(walk, leaf, &key, table)?,
        _ => {
            let said = text.get(leaf.node.span()).unwrap_or_default();
            let message = format!("`{key}` has one value here");
            walk.fault(Fault::at(leaf.node.span(), message).help(format!(
                "write a list of choices, [{said}], or {{ range = [{said}, ...] }}"
            )));
            return None;
        }
    };
    let place = path(match &target {
        Target::Scenario(path) => path.iter().map(String::as_str).collect(),
        Target::Machine(path) => [&["machine"], &words(path)[..]].concat(),
        Target::Variant(_, path) => [&["variant", variant], &words(path)[..]].concat(),
    });
    let axis = (key.clone(), leaf.place.clone());
    let axis = SweepAxis { key: axis.0, target, place: axis.1, values: probes, labels: Vec::new() };
    Some((TunedKey { key, place, values }, axis))
}

fn words(path: &[String]) -> Vec<&str> {
    path.iter().map(String::as_str).collect()
}

/// A list of values to choose from, which are taken as they are written.
fn choices<'a>(
    walk: &mut Walk,
    leaf: &Leaf<'_, 'a>,
    key: &str,
    list: &DeArray<'a>,
    text: &str,
) -> Option<(Values, Vec<Placed<'a>>)> {
    let written = |value: &Placed<'_>| text.get(value.span()).unwrap_or_default().to_string();
    if list.len() < 2 {
        let message = format!("`{key}` has nothing to choose from");
        let help = "name at least two values, or put the key where it belongs";
        walk.fault(Fault::at(leaf.node.span(), message).help(help));
        return None;
    }
    let mut seen = BTreeSet::new();
    for value in list.iter() {
        if !seen.insert(edit::shown(value.get_ref())) {
            let message = format!("the value {} of `{key}` is given twice", written(value));
            walk.fault(Fault::at(value.span(), message).help("keep one of them"));
        }
    }
    Some((Values::Choices(list.iter().map(written).collect()), list.iter().cloned().collect()))
}

/// `{ range = [LOW, HIGH], log = true }`
fn range<'a>(
    walk: &mut Walk,
    leaf: &Leaf<'_, 'a>,
    key: &str,
    table: &DeTable<'a>,
) -> Option<(Values, Vec<Placed<'a>>)> {
    let n_faults = walk.faults.len();
    walk.check_keys(&format!("`{key}`"), table, &names(TUNED_RANGE));
    if walk.faults.len() > n_faults {
        return None;
    }
    let log = match table.get("log") {
        Some(node) => walk.switch(node, "log")?,
        None => false,
    };
    let Some(node) = table.get("range") else {
        let help = "such as { range = [1_000, 1_000_000], log = true }";
        walk.fault(Fault::at(leaf.node.span(), format!("`{key}` has no range")).help(help));
        return None;
    };
    let ends: Vec<Placed<'a>> = match node.get_ref() {
        DeValue::Array(ends) => ends.iter().cloned().collect(),
        _ => Vec::new(),
    };
    let [low_end, high_end] = &ends[..] else {
        walk.wrong_type(node, "range", "two numbers, such as [1_000, 1_000_000]");
        return None;
    };
    let (low, high) = (walk.number(low_end, "range")?, walk.number(high_end, "range")?);
    if low >= high {
        let message = "`range` must be two numbers, the smaller one first";
        walk.fault(Fault::at(node.span(), message).help("both ends are values of the key"));
        return None;
    }
    if log && low <= 0.0 {
        let message = format!("`{key}` is looked for by ratios, and its range begins at {low}");
        walk.fault(Fault::at(low_end.span(), message).help("begin above 0, or remove `log`"));
        return None;
    }
    let is_whole = |end: &Placed<'_>| matches!(end.get_ref(), DeValue::Integer(_));
    let values = match ends.iter().all(is_whole) {
        true => Values::Whole { low: low as i64, high: high as i64, log },
        false => Values::Real { low, high, log },
    };
    Some((values, ends))
}

/// One place has one line, however its key is spelled.
fn must_be_new(walk: &mut Walk, seen: &mut Vec<(Target, String)>, probe: &SweepAxis<'_>) {
    if let Some((_, first)) = seen.iter().find(|(target, _)| *target == probe.target) {
        let message = format!("`{}` is `{first}`, which is tuned already", probe.key);
        walk.fault(Fault::at(probe.place.clone(), message).help("keep one of the two"));
    }
    seen.push((probe.target.clone(), probe.key.clone()));
}

/// The names of features that may be on or off.
fn features<'n>(walk: &mut Walk, list: &'n Placed<'_>) -> Vec<(&'static str, Range<usize>)> {
    let mut found: Vec<(&'static str, Range<usize>)> = Vec::new();
    let nodes: Vec<&'n Placed<'_>> = walk.array(list, "features").unwrap_or_default();
    for node in nodes {
        let Some(word) = walk.text(node, "features") else {
            continue;
        };
        let Some(def) = registry::feature(word) else {
            walk.fault(unknown_feature(node, word));
            continue;
        };
        if found.iter().any(|(name, _)| *name == def.name) {
            let message = format!("feature `{word}` is given twice");
            walk.fault(Fault::at(node.span(), message).help("keep one of the two"));
        }
        found.push((def.name, node.span()));
    }
    found
}

fn unknown_feature(node: Node<'_>, word: &str) -> Fault {
    let upper = word.to_ascii_uppercase();
    if let Some(def) = upper.strip_prefix("NO_").and_then(registry::feature) {
        let message = format!("`{word}` is tuned: it may be on or off");
        return Fault::at(node.span(), message).help(format!("write \"{}\"", def.name));
    }
    let help = match nearest(&upper, FEATURES.iter().map(|f| f.name)) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "`schedlab list features` prints all of them".to_string(),
    };
    Fault::at(node.span(), format!("unknown feature `{word}`")).help(help)
}

/// Without the feature a variant is right, if it knows the feature at all.
fn probe_of_feature<'a>(variant: &str, name: &str, place: Range<usize>) -> SweepAxis<'a> {
    let mut list = DeArray::new();
    list.push(Spanned::new(place.clone(), DeValue::String(format!("NO_{name}").into())));
    SweepAxis {
        key: "features".to_string(),
        target: Target::Variant(Some(variant.to_string()), vec!["features".to_string()]),
        place: place.clone(),
        values: vec![Spanned::new(place, DeValue::Array(list))],
        labels: Vec::new(),
    }
}

/// What the variant says of features that are not tuned.
fn stated_features(doc: &DeTable<'_>, variant: &str, keys: &[TunedKey]) -> Vec<String> {
    let list = doc.get("variant").and_then(|node| node.get_ref().as_array());
    let is_it = |node: &&Placed<'_>| {
        node.get_ref().get("name").and_then(|name| name.get_ref().as_str()) == Some(variant)
    };
    let own = list.into_iter().flatten().find(is_it);
    let features = own.and_then(|node| node.get_ref().get("features")?.get_ref().as_array());
    let is_tuned = |word: &&str| {
        let bare = word.strip_prefix("NO_").unwrap_or(word);
        keys.iter().any(|key| key.values == Values::Feature && key.key == bare)
    };
    let words = features.into_iter().flatten().filter_map(|node| node.get_ref().as_str());
    words.filter(|word| !is_tuned(word)).map(str::to_string).collect()
}
