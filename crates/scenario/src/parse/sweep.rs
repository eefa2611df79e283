//! `[sweep]`: keys and the values that they take in turn; and the point that a published row is of.

use super::published::known_metric;
use crate::edit::{self, Edit, Placed, Target, Texts, shown};
use crate::registry::SWEEP;
use crate::study::Axis;
use crate::workload::WorkloadSpec;
use input::{Fault, Node, Walk};
use std::collections::BTreeSet;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// What `[sweep]` says.
#[derive(Default)]
pub(crate) struct Sweep<'a> {
    /// The keys, in the file's order.
    pub axes: Vec<SweepAxis<'a>>,
    /// The first values of all keys make one point, the second ones the next.
    pub zip: bool,
    /// The point that levels are relative to: some axes and their values.
    pub relative_to: Vec<(usize, String)>,
    /// The metrics that get a table.
    pub metrics: Vec<String>,
    /// Where it stands.
    pub place: Range<usize>,
}

/// One key of a sweep.
pub(crate) struct SweepAxis<'a> {
    /// The key as the file has it.
    pub key: String,
    /// Which place of the scenario it is.
    pub target: Target,
    /// Where the key stands.
    pub place: Range<usize>,
    /// Its values, in order.
    pub values: Vec<Placed<'a>>,
    /// What tables show instead of the values; empty if these are shown themselves.
    pub labels: Vec<String>,
}

impl<'a> Sweep<'a> {
    /// For each point, which value each axis has; the last axis runs fastest. `None` if there are
    /// more points than can be counted.
    pub fn points(&self) -> Option<usize> {
        match self.zip {
            true => Some(self.axes.first().map_or(1, |axis| axis.values.len())),
            false => self.axes.iter().try_fold(1_usize, |n, axis| n.checked_mul(axis.values.len())),
        }
    }

    /// The values of a point.
    pub fn at(&self, mut point: usize) -> Vec<usize> {
        if self.zip {
            return vec![point; self.axes.len()];
        }
        let mut at = vec![0; self.axes.len()];
        for (idx, axis) in self.axes.iter().enumerate().rev() {
            at[idx] = point % axis.values.len();
            point /= axis.values.len();
        }
        at
    }

    /// The changes that make a point of the scenario, whose text is the one with that index.
    pub fn edits(&self, at: &[usize], text: usize) -> Vec<Edit<'a>> {
        let edit = |(axis, idx): (&SweepAxis<'a>, &usize)| {
            let (target, key) = (axis.target.clone(), axis.place.clone());
            let value = axis.values[*idx].clone();
            match target {
                // It may end up in the machine's file, where a place in this text is another.
                Target::Machine(_) => {
                    let place = Texts::place(text, value.span());
                    let value = Texts::at(&place, value);
                    Edit { target, key: Texts::place(text, key), value }
                }
                _ => Edit { target, key, value },
            }
        };
        self.axes.iter().zip(at).map(edit).collect()
    }

    /// The values of a point, as tables show them.
    pub fn values(&self, at: &[usize]) -> Vec<String> {
        let value = |(axis, idx): (&SweepAxis<'_>, &usize)| axis.label(*idx);
        self.axes.iter().zip(at).map(value).collect()
    }

    /// A point in words: `clients=64`, one for each axis.
    pub fn words(&self, at: &[usize]) -> Vec<String> {
        let word = |(axis, value): (&SweepAxis<'_>, String)| format!("{}={value}", axis.key);
        self.axes.iter().zip(self.values(at)).map(word).collect()
    }

    /// The point that the levels of another one are shares of.
    pub fn reference(&self, at: &[usize]) -> Option<usize> {
        if self.relative_to.is_empty() {
            return None;
        }
        let mut wanted = at.to_vec();
        for (axis, value) in &self.relative_to {
            let is_it = |known: &Placed<'_>| shown(known.get_ref()) == *value;
            wanted[*axis] = self.axes[*axis].values.iter().position(is_it)?;
        }
        if self.zip {
            // Whichever key names the point, the others have their values of the same place.
            return self.relative_to.first().map(|(axis, _)| wanted[*axis]);
        }
        let mut point = 0;
        for (axis, idx) in self.axes.iter().zip(&wanted) {
            point = point * axis.values.len() + idx;
        }
        Some(point)
    }

    /// Has machines that were asked for, each with its label, in place of those that the sweep
    /// has.
    pub fn on_machines(&mut self, walk: &mut Walk, machines: Vec<(String, Placed<'a>)>) {
        let target = Target::Scenario(vec!["machine".to_string()]);
        self.axes.retain(|axis| axis.target != target);
        let Some((_, first)) = machines.first() else {
            return;
        };
        let place = first.span();
        if self.zip && !self.axes.is_empty() {
            walk.fault(
                Fault::at(place, "the keys of this sweep have their values side by side (`zip`)")
                    .help("choose a point with --set, then ask for machines"),
            );
            return;
        }
        let (labels, values) = machines.into_iter().unzip();
        self.axes.push(SweepAxis { key: "machine".to_string(), target, place, values, labels });
    }

    /// Chooses a value of a key that is swept; false if it is not.
    pub fn choose(&mut self, walk: &mut Walk, edit: &Edit<'a>) -> bool {
        let Some(idx) = self.axis_of(&edit.target) else {
            return false;
        };
        if !self.zip {
            self.axes[idx].values = vec![edit.value.clone()];
            return true;
        }
        // The values of the other keys come with it.
        let value = shown(edit.value.get_ref());
        if let Some((_, pair)) = value_of(walk, self, &edit.target, &value, edit.key.clone()) {
            for axis in &mut self.axes {
                axis.values = vec![axis.values.swap_remove(pair)];
            }
        }
        true
    }

    /// The axis of a key.
    fn axis_of(&self, target: &Target) -> Option<usize> {
        self.axes.iter().position(|axis| axis.target == *target)
    }
}

impl SweepAxis<'_> {
    /// A value as tables show it.
    fn label(&self, idx: usize) -> String {
        let own = || shown(self.values[idx].get_ref());
        self.labels.get(idx).cloned().unwrap_or_else(own)
    }

    /// What people see of it.
    pub fn described(&self, workload: &WorkloadSpec) -> Axis {
        let unit = self.target.workload_key(workload.def).map_or("", |key| key.unit);
        let values = (0..self.values.len()).map(|idx| self.label(idx)).collect();
        Axis { key: self.key.clone(), unit, values }
    }
}

/// Reads `[sweep]`; `doc` is the scenario that its keys are of.
pub(crate) fn sweep<'a>(walk: &mut Walk, doc: &DeTable<'a>, node: &Placed<'a>) -> Sweep<'a> {
    let mut sweep = Sweep { place: node.span(), ..Sweep::default() };
    let DeValue::Table(table) = node.get_ref() else {
        walk.wrong_type(node, "sweep", "a table of keys and their values");
        return sweep;
    };
    axes(walk, doc, table, &mut Vec::new(), &mut sweep.axes);
    sweep.axes.sort_by_key(|axis| axis.place.start);
    must_differ(walk, &sweep.axes);
    if !walk.faults.is_empty() {
        // Whoever names a key that is at fault would be said to be at fault, too.
        return sweep;
    }
    if sweep.axes.is_empty() {
        walk.fault(
            Fault::at(node.span(), "[sweep] names no key")
                .help("such as clients = [1, 2, 4, 8]: a key of the workload, or a tunable"),
        );
    }
    if let Some(node) = table.get("zip") {
        sweep.zip = walk.switch(node, "zip").unwrap_or(false);
    }
    if sweep.zip {
        must_pair(walk, &sweep);
    }
    if let Some(node) = table.get("relative_to") {
        sweep.relative_to = relative_to(walk, doc, node, &sweep);
    }
    if let Some(node) = table.get("metrics") {
        sweep.metrics = metrics(walk, node);
    }
    sweep
}

/// Collects the keys of a table and of the tables in it, which dotted keys make.
fn axes<'a>(
    walk: &mut Walk,
    doc: &DeTable<'a>,
    table: &DeTable<'a>,
    above: &mut Vec<String>,
    axes_found: &mut Vec<SweepAxis<'a>>,
) {
    for (key, node) in table {
        let word = key.get_ref().to_string();
        if above.is_empty() && SWEEP.iter().any(|own| own.name == word) {
            continue;
        }
        above.push(word);
        match node.get_ref() {
            DeValue::Table(inner) => axes(walk, doc, inner, above, axes_found),
            DeValue::Array(values) => {
                let key = (above.as_slice(), key.span());
                axes_found.extend(axis(walk, doc, key, node.span(), values.iter().cloned()));
            }
            _ => {
                walk.fault(
                    Fault::at(node.span(), format!("`{}` has one value here", above.join(".")))
                        .label("a sweep needs a list of them")
                        .help(format!(
                            "write [{}], or put the key where it belongs",
                            shown(node.get_ref())
                        )),
                );
            }
        }
        above.pop();
    }
}

fn axis<'a>(
    walk: &mut Walk,
    doc: &DeTable<'a>,
    (words, place): (&[String], Range<usize>),
    list: Range<usize>,
    values: impl Iterator<Item = Placed<'a>>,
) -> Option<SweepAxis<'a>> {
    let values: Vec<Placed<'a>> = values.collect();
    let key = words.join(".");
    if values.is_empty() {
        walk.fault(
            Fault::at(list, format!("the list of values of `{key}` is empty"))
                .help("a sweep needs at least one value of each key"),
        );
        return None;
    }
    let mut seen = BTreeSet::new();
    for value in &values {
        let text = shown(value.get_ref());
        if seen.contains(&text) {
            let message = format!("the value {text} of `{key}` is given twice");
            walk.fault(Fault::at(value.span(), message));
        }
        seen.insert(text);
    }
    let target = edit::target(walk, doc, words, place.clone())?;
    Some(SweepAxis { key, target, place, values, labels: Vec::new() })
}

/// One place has one list of values, however its key is spelled.
fn must_differ(walk: &mut Walk, axes: &[SweepAxis<'_>]) {
    for (idx, axis) in axes.iter().enumerate() {
        if let Some(first) = axes[..idx].iter().find(|other| other.target == axis.target) {
            let message = format!("`{}` is `{}`, which is swept already", axis.key, first.key);
            walk.fault(Fault::at(axis.place.clone(), message).help("keep one of the two lists"));
        }
    }
}

/// Keys that take their values side by side have as many of them.
fn must_pair(walk: &mut Walk, sweep: &Sweep<'_>) {
    let Some(first) = sweep.axes.first() else {
        return;
    };
    for axis in sweep.axes.iter().filter(|axis| axis.values.len() != first.values.len()) {
        let (n, wanted) = (axis.values.len(), first.values.len());
        let message = format!("`{}` has {n} values, `{}` {wanted}", axis.key, first.key);
        walk.fault(Fault::at(axis.place.clone(), message).help(
            "with `zip` all keys have the same number of values; without it they are combined",
        ));
    }
}

/// Reads `relative_to = "clients=1"`, or several keys separated by commas.
fn relative_to(
    walk: &mut Walk,
    doc: &DeTable<'_>,
    node: Node<'_>,
    sweep: &Sweep<'_>,
) -> Vec<(usize, String)> {
    let Some(text) = walk.text(node, "relative_to") else {
        return Vec::new();
    };
    let mut chosen = Vec::new();
    for part in text.split(',') {
        let Some((key, value)) = part.split_once('=') else {
            walk.fault(
                Fault::at(node.span(), "`relative_to` names no point")
                    .help("write KEY=VALUE, such as \"clients=1\""),
            );
            return Vec::new();
        };
        let words: Vec<String> = key.trim().split('.').map(str::to_string).collect();
        let Some(target) = edit::target(walk, doc, &words, node.span()) else {
            return Vec::new();
        };
        let value = value.trim();
        let found = value_of(walk, sweep, &target, value, node.span());
        if let Some((axis, _)) = found
            && chosen.iter().any(|(known, _)| *known == axis)
        {
            let message = format!("`relative_to` names `{}` twice", sweep.axes[axis].key);
            walk.fault(Fault::at(node.span(), message).help("a point has one value of each key"));
            return Vec::new();
        }
        chosen.extend(found.map(|(axis, _)| (axis, value.to_string())));
    }
    chosen
}

/// The axis of a key and the index of a value there; a fault if the sweep has none of them.
fn value_of(
    walk: &mut Walk,
    sweep: &Sweep<'_>,
    target: &Target,
    value: &str,
    place: Range<usize>,
) -> Option<(usize, usize)> {
    let Some(idx) = sweep.axis_of(target) else {
        let known = sweep.axes.iter().map(|axis| axis.key.as_str());
        let help = format!("it sweeps {}", known.collect::<Vec<_>>().join(", "));
        walk.fault(Fault::at(place, "[sweep] has no values of this key").help(help));
        return None;
    };
    let axis = &sweep.axes[idx];
    let values: Vec<String> = axis.values.iter().map(|v| shown(v.get_ref())).collect();
    let found = values.iter().position(|known| known == value);
    if found.is_none() {
        walk.fault(
            Fault::at(place, format!("no point of the sweep has `{}` = {value}", axis.key))
                .help(format!("its values: {}", values.join(", "))),
        );
    }
    Some((idx, found?))
}

fn metrics(walk: &mut Walk, node: Node<'_>) -> Vec<String> {
    let nodes = walk.array(node, "metrics").unwrap_or_default();
    let mut names: Vec<String> = Vec::new();
    for (name, _) in nodes.into_iter().filter_map(|node| known_metric(walk, node)) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_string());
        }
    }
    names
}

/// For each published row, the point that it belongs to: the values of all axes. Faults of rows
/// that fit none, or more than one.
pub(crate) fn published_at(
    walk: &mut Walk,
    doc: &DeTable<'_>,
    sweep: &Sweep<'_>,
) -> Vec<Option<Vec<String>>> {
    let list = doc.get("published").and_then(|node| node.get_ref().as_array());
    let rows: Vec<Node<'_>> = list.map_or_else(Vec::new, |list| list.iter().collect());
    rows.into_iter().map(|row| row_at(walk, doc, sweep, row)).collect()
}

fn row_at(
    walk: &mut Walk,
    doc: &DeTable<'_>,
    sweep: &Sweep<'_>,
    row: Node<'_>,
) -> Option<Vec<String>> {
    let mut at: Vec<Option<usize>> = vec![None; sweep.axes.len()];
    let node = row.get_ref().as_table()?.get("at");
    let table = node.and_then(|node| node.get_ref().as_table());
    if let (Some(node), None) = (node, table) {
        walk.wrong_type(node, "at", "a table such as { clients = 64 }");
        return None;
    }
    let mut said = Vec::new();
    if let Some(table) = table {
        leaves(table, &mut Vec::new(), &mut said);
    }
    for (words, place, node) in said {
        let target = edit::target(walk, doc, &words, place.clone())?;
        let (axis, value) = value_of(walk, sweep, &target, &shown(node.get_ref()), node.span())?;
        if at[axis].replace(value).is_some() {
            let message = format!("`{}` is given twice here", sweep.axes[axis].key);
            walk.fault(Fault::at(place, message).help("a row belongs to one point"));
            return None;
        }
    }
    for (axis, value) in sweep.axes.iter().zip(&mut at) {
        // With one value there is no choice.
        if value.is_none() && axis.values.len() == 1 {
            *value = Some(0);
        }
        if value.is_none() {
            let values: Vec<String> = axis.values.iter().map(|v| shown(v.get_ref())).collect();
            walk.fault(
                Fault::at(
                    row.span(),
                    format!("this published row does not say its `{}`", axis.key),
                )
                .label("which point of the sweep was measured?")
                .help(format!("write at = {{ {} = {} }}", axis.key, values[0])),
            );
        }
    }
    let at: Vec<usize> = at.into_iter().collect::<Option<_>>()?;
    if sweep.zip && at.windows(2).any(|pair| pair[0] != pair[1]) {
        walk.fault(
            Fault::at(row.span(), "no point of the sweep has these values together")
                .help("with `zip` the first values belong together, then the second ones"),
        );
        return None;
    }
    Some(sweep.values(&at))
}

/// A key, by the names of the tables down to it, where it stands, and its value.
type Leaf<'a> = (Vec<String>, Range<usize>, Node<'a>);

/// The keys of a table and of the tables in it, which dotted keys make.
fn leaves<'a>(table: &'a DeTable<'a>, above: &mut Vec<String>, found: &mut Vec<Leaf<'a>>) {
    for (key, node) in table {
        let n_above = above.len();
        above.extend(key.get_ref().split('.').map(str::to_string));
        match node.get_ref() {
            DeValue::Table(inner) => leaves(inner, above, found),
            _ => found.push((above.clone(), key.span(), node)),
        }
        above.truncate(n_above);
    }
}

/// A published row without a sweep has no point to name.
pub(crate) fn no_points(walk: &mut Walk, doc: &DeTable<'_>) {
    let list = doc.get("published").and_then(|node| node.get_ref().as_array());
    for row in list.into_iter().flatten() {
        if let Some(node) = row.get_ref().get("at") {
            walk.fault(
                Fault::at(node.span(), "this scenario has no [sweep] whose point this could be")
                    .help("remove it"),
            );
        }
    }
}
