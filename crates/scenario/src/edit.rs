//! Changes to the document of a scenario before it is read: `--set`, and the values of a sweep.
//!
//! A change names a key as people do: `clients`, `workload.clients`, `migration_cost_ns`,
//! `variant.SWQUEUE.policy`, `machine.costs.irq_ns`. [`Target`] says which place that is, and
//! [`put`] puts a value there. Whether the value is right is for the parser to say, as if it had
//! stood in the file: the new value carries the place where the user wrote it.

use crate::parse::find;
use crate::registry::{self, TUNABLES, WorkloadDef};
use input::{Fault, Source, Walk, did_you_mean};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value with the place where it was written.
pub(crate) type Placed<'a> = Spanned<DeValue<'a>>;

/// A key that something is changed at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A key of the scenario, by the names of the tables down to it.
    Scenario(Vec<String>),
    /// A key of one variant, or of all.
    Variant(Option<String>, Vec<String>),
    /// A key of the machine, in its table or its file.
    Machine(Vec<String>),
}

impl Target {
    /// True if another machine may come of it.
    pub fn is_of_machine(&self) -> bool {
        match self {
            Target::Machine(_) => true,
            Target::Scenario(path) => path[0] == "machine",
            Target::Variant(..) => false,
        }
    }

    /// True if another file of the workload may come of it.
    pub fn is_of_file(&self) -> bool {
        const NAMES_A_FILE: [&str; 4] = ["kind", "file", "recorded_on", "timed"];
        match self {
            Target::Scenario(path) if path[0] == "workload" => {
                path.get(1).is_none_or(|key| NAMES_A_FILE.contains(&key.as_str()))
            }
            _ => false,
        }
    }

    /// The row of the workload's key that it is, for its unit.
    pub fn workload_key(&self, def: &WorkloadDef) -> Option<&'static registry::KeyDef> {
        match self {
            Target::Scenario(path) if path[0] == "workload" => {
                def.all_keys().find(|key| path.get(1).is_some_and(|name| name == key.name))
            }
            _ => None,
        }
    }
}

/// One value for one key.
#[derive(Clone, Debug)]
pub(crate) struct Edit<'a> {
    /// Which key.
    pub target: Target,
    /// Where its name was written.
    pub key: Range<usize>,
    /// The value.
    pub value: Placed<'a>,
}

impl Edit<'_> {
    /// True if it says what the document searches.
    pub fn is_searched(&self, doc: &DeTable<'_>) -> bool {
        let Target::Scenario(path) = &self.target else {
            return false;
        };
        path[0] == "workload" && find::searched(doc) == path.get(1).map(String::as_str)
    }
}

/// Finds the place that some words name; notes a fault if there is none.
pub(crate) fn target(
    walk: &mut Walk,
    doc: &DeTable<'_>,
    words: &[String],
    place: Range<usize>,
) -> Option<Target> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let owned = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Vec<_>>();
    match words[..] {
        ["variant", name, _, ..] => {
            let known = variant_names(doc);
            if !known.contains(&name) {
                walk.fault(
                    Fault::at(place, format!("no variant is named `{name}`"))
                        .help(did_you_mean(name, known)),
                );
                return None;
            }
            if ["name", "baseline"].contains(&words[2]) {
                walk.fault(
                    Fault::at(place, format!("the `{}` of a variant stays as it is", words[2]))
                        .label("results are told apart and compared by it")
                        .help("change its policy, rules, features or tunables"),
                );
                return None;
            }
            Some(Target::Variant(Some(name.to_string()), owned(&words[2..])))
        }
        ["tunables", _] => Some(Target::Variant(None, owned(&words))),
        ["machine", _, ..] => Some(Target::Machine(owned(&words[1..]))),
        ["run", "seeds"] | ["seeds"] => {
            walk.fault(
                Fault::at(place, "every run has the same seeds")
                    .help("say how many in [run], or with --seeds"),
            );
            None
        }
        ["workload" | "run", _] => Some(Target::Scenario(owned(&words))),
        [word] => short(walk, doc, word, place),
        _ => {
            let fault = Fault::at(place, format!("`{}` is no key of a scenario", words.join(".")))
                .help(
                    "such as workload.KEY, machine.KEY, tunables.KEY, variant.NAME.KEY, run.until",
                );
            walk.fault(fault);
            None
        }
    }
}

/// A key without the table that it is in: one of the scenario, of the workload, or a tunable.
fn short(walk: &mut Walk, doc: &DeTable<'_>, word: &str, place: Range<usize>) -> Option<Target> {
    let path = |words: &[&str]| words.iter().map(|word| word.to_string()).collect();
    if ["machine", "policy", "rules"].contains(&word) {
        return Some(Target::Scenario(path(&[word])));
    }
    if word == "until" {
        return Some(Target::Scenario(path(&["run", word])));
    }
    let of_workload: Vec<&str> =
        workload(doc).map_or_else(Vec::new, |def| def.all_keys().map(|key| key.name).collect());
    if of_workload.contains(&word) {
        return Some(Target::Scenario(path(&["workload", word])));
    }
    if registry::tunable(word).is_some() {
        return Some(Target::Variant(None, path(&["tunables", word])));
    }
    let tunables = TUNABLES.iter().map(|tunable| tunable.key.name);
    let known = of_workload.into_iter().chain(tunables).chain(["machine", "policy", "rules"]);
    let help = match registry::nearest(word, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "name a key of the workload, a tunable, or a place such as machine.KEY".into(),
    };
    walk.fault(
        Fault::at(place, format!("unknown key `{word}`"))
            .label("neither the workload nor a policy has it")
            .help(help),
    );
    None
}

/// The kind of the document's workload, if it is right.
pub(crate) fn workload(doc: &DeTable<'_>) -> Option<&'static WorkloadDef> {
    registry::workload(doc.get("workload")?.get_ref().get("kind")?.get_ref().as_str()?)
}

/// The names of the document's variants.
pub(crate) fn variant_names<'a>(doc: &'a DeTable<'_>) -> Vec<&'a str> {
    let list = doc.get("variant").and_then(|node| node.get_ref().as_array());
    let name = |node: &'a Spanned<DeValue<'_>>| node.get_ref().get("name")?.get_ref().as_str();
    list.map_or_else(Vec::new, |list| list.iter().filter_map(name).collect())
}

/// Makes a change of the scenario; one of a machine's file is made where that is read.
///
/// # Errors
/// The name of what stands in the way: it is no table.
pub(crate) fn apply<'a>(doc: &mut DeTable<'a>, edit: &Edit<'a>) -> Result<(), String> {
    match &edit.target {
        Target::Scenario(path) => put(doc, path, edit),
        Target::Machine(path) => match doc.get_mut("machine").map(Spanned::get_mut) {
            Some(DeValue::Table(table)) => put(table, path, edit),
            _ => Ok(()),
        },
        Target::Variant(name, path) => {
            let Some(DeValue::Array(list)) = doc.get_mut("variant").map(Spanned::get_mut) else {
                return Ok(());
            };
            for node in list.iter_mut() {
                let own = node.get_ref().get("name").and_then(|node| node.get_ref().as_str());
                let is_meant = name.is_none() || own == name.as_deref();
                if let (true, DeValue::Table(table)) = (is_meant, node.get_mut()) {
                    put(table, path, edit)?;
                }
            }
            Ok(())
        }
    }
}

/// Puts the value of a change at the end of a path of tables, which are made if they are missing.
///
/// # Errors
/// The name of what stands in the way: it is no table.
pub(crate) fn put<'a>(
    table: &mut DeTable<'a>,
    path: &[String],
    edit: &Edit<'a>,
) -> Result<(), String> {
    let Some((first, rest)) = path.split_first() else {
        return Ok(());
    };
    let key = || Spanned::new(edit.key.clone(), Cow::Owned(first.clone()));
    if rest.is_empty() {
        // The map keeps the old key with the old place: the new one belongs to the new value.
        table.remove(first.as_str());
        table.insert(key(), edit.value.clone());
        return Ok(());
    }
    if !table.contains_key(first.as_str()) {
        table.insert(key(), Spanned::new(edit.key.clone(), DeValue::Table(DeTable::new())));
    }
    match table.get_mut(first.as_str()).map(Spanned::get_mut) {
        Some(DeValue::Table(inner)) => put(inner, rest, edit),
        _ => Err(first.clone()),
    }
}

/// A value in a few words, as tables show it.
pub(crate) fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(n) => {
            let digits = n.as_str().replace('_', "");
            i64::from_str_radix(&digits, n.radix()).map_or(digits, |n| n.to_string())
        }
        DeValue::Float(x) => x.as_str().replace('_', ""),
        DeValue::Boolean(b) => b.to_string(),
        DeValue::Datetime(time) => time.to_string(),
        DeValue::Array(values) => {
            let each: Vec<String> = values.iter().map(|v| shown(v.get_ref())).collect();
            each.join("+")
        }
        DeValue::Table(table) => {
            let pair = |(key, v): (&Spanned<Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
                format!("{}={}", key.get_ref(), shown(v.get_ref()))
            };
            table.iter().map(pair).collect::<Vec<_>>().join(" ")
        }
    }
}

/// Places from this one on lie in other texts than the one that is being read: text `n` begins
/// at `n` times this. No input file is as long.
const TEXT: usize = 1 << 24;

/// The texts that values may come from besides the one in which they end up.
pub(crate) struct Texts(pub Vec<Arc<Source>>);

impl Texts {
    /// Moves a place of the text with that index to where it is told from those of other texts; one
    /// that is there already stays.
    pub fn place(idx: usize, span: Range<usize>) -> Range<usize> {
        if span.start >= TEXT {
            return span;
        }
        let start = TEXT * (idx + 1);
        start + span.start..start + span.end
    }

    /// A value, and all that is in it, at one place.
    pub fn at<'a>(place: &Range<usize>, value: Placed<'a>) -> Placed<'a> {
        let inner = match value.into_inner() {
            DeValue::Array(values) => {
                DeValue::Array(values.into_iter().map(|value| Self::at(place, value)).collect())
            }
            DeValue::Table(table) => {
                let at = |(key, value): (Spanned<Cow<'a, str>>, Placed<'a>)| {
                    (Spanned::new(place.clone(), key.into_inner()), Self::at(place, value))
                };
                DeValue::Table(table.into_iter().map(at).collect())
            }
            plain => plain,
        };
        Spanned::new(place.clone(), inner)
    }

    /// Gives a fault the text that its place lies in.
    pub fn settle(&self, fault: &mut Fault) {
        let Some(span) = fault.span.as_ref().filter(|span| span.start >= TEXT) else {
            return;
        };
        let start = span.start / TEXT * TEXT;
        if let Some(source) = self.0.get(start / TEXT - 1) {
            fault.span = Some(span.start - start..span.end.max(start) - start);
            fault.source = Some(Arc::clone(source));
        }
    }
}

/// Reads `--set KEY=VALUE`: the words of the key and the value, which is text if it is nothing
/// else in TOML.
///
/// # Errors
/// What is wrong with it, in words.
pub(crate) fn split(text: &str) -> Result<(Vec<String>, &str), String> {
    let (key, value) = text.split_once('=').ok_or("there is no `=` in it")?;
    let probe = format!("{key} = 0");
    let parsed = DeTable::parse(&probe).map_err(|_| format!("`{key}` is no key"))?;
    let (mut words, mut table) = (Vec::new(), parsed.get_ref());
    while let Some((word, node)) = table.iter().next() {
        words.push(word.get_ref().to_string());
        match node.get_ref() {
            DeValue::Table(inner) => table = inner,
            _ => return Ok((words, value.trim())),
        }
    }
    Err(format!("`{key}` is no key"))
}
