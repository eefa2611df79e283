//! Two files of results side by side: two versions of schedlab, two machines, two policies.
//!
//! Results are matched by the scenario's title (and the point of a sweep), the variant's name and
//! the metric. Where both sides ran the same workload with the same seeds, values are compared seed
//! by seed; else by their means, with Welch's interval. Which of the two it was is told.

mod gate;
mod json;
mod markdown;
mod read;
mod text;

pub use gate::{Condition, Verdict as GateVerdict};
pub use json::json;
pub use markdown::markdown;
pub use read::{ReadError, Side, read};
pub use text::text;

use crate::analysis::{Delta, Verdict, paired, unpaired};
use crate::number::Shown;
use crate::stats;
use read::{Measured, ResultOf, Variant};
use scenario::Better;

/// Two files of results and what differs between them; B is looked at from A.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Names of the files.
    pub names: [String; 2],
    /// The programs that wrote them.
    pub tools: [String; 2],
    /// What both have.
    pub pairs: Vec<Pair>,
    /// Titles that only one of the two has.
    pub only: [Vec<String>; 2],
}

/// A scenario, or a point of a sweep, that both sides have.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Its title.
    pub title: String,
    /// The machine of each side.
    pub machines: [String; 2],
    /// The seeds of each side.
    pub seeds: [Vec<u64>; 2],
    /// The input files are the same.
    pub same_input: bool,
    /// Why values are not compared seed by seed; `None` if they are.
    pub unpaired: Option<&'static str>,
    /// The variants that both have.
    pub variants: Vec<PairOfVariants>,
    /// Names of variants that only one of the two has.
    pub only: [Vec<String>; 2],
}

/// A variant that both sides have.
#[derive(Clone, Debug)]
pub struct PairOfVariants {
    /// Its name.
    pub name: String,
    /// What it states of itself that is another one in B: key, A's value, B's value.
    pub changed: Vec<[String; 3]>,
    /// The metrics that both have.
    pub metrics: Vec<Change>,
    /// Names of metrics that only one of the two has.
    pub only: [Vec<String>; 2],
}

/// A metric on both sides.
#[derive(Clone, Debug)]
pub struct Change {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
    /// The good direction.
    pub better: Better,
    /// Mean of A and of B.
    pub means: [f64; 2],
    /// The change from A to B.
    pub delta: Delta,
}

impl Change {
    /// True if B's values are A's, one by one.
    pub fn is_identical(&self) -> bool {
        self.delta.identical
    }

    /// True if there is a change that the seeds can tell from chance.
    pub fn is_change(&self) -> bool {
        self.delta.verdict != Verdict::Same
    }

    /// How its values are shown.
    fn shown(&self) -> Shown {
        Shown::of(&self.name, self.unit, self.means)
    }
}

impl Comparison {
    /// Compares B with A.
    pub fn new(a: &Side, b: &Side) -> Self {
        let mut left: Vec<&ResultOf> = b.results.iter().collect();
        let (mut pairs, mut only_a) = (Vec::new(), Vec::new());
        for one in &a.results {
            match left.iter().position(|other| other.title == one.title) {
                Some(at) => pairs.push(pair(one, left.remove(at))),
                None => only_a.push(one.title.clone()),
            }
        }
        let only_b = left.into_iter().map(|one| one.title.clone()).collect();
        Self {
            names: [a.name.clone(), b.name.clone()],
            tools: [a.tool.clone(), b.tool.clone()],
            pairs,
            only: [only_a, only_b],
        }
    }

    /// All metrics of all variants of all scenarios that both have.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.pairs.iter().flat_map(|pair| &pair.variants).flat_map(|variant| &variant.metrics)
    }

    /// True if nothing differs, not even in what only one side has.
    pub fn is_identical(&self) -> bool {
        let nothing = |only: &[Vec<String>; 2]| only.iter().all(Vec::is_empty);
        let variants = || self.pairs.iter().flat_map(|pair| &pair.variants);
        nothing(&self.only)
            && self.pairs.iter().all(|pair| nothing(&pair.only))
            && variants().all(|v| nothing(&v.only) && v.changed.is_empty())
            && self.changes().all(Change::is_identical)
    }
}

fn pair(a: &ResultOf, b: &ResultOf) -> Pair {
    let unpaired = why_unpaired(a, b);
    let mut left: Vec<&Variant> = b.variants.iter().collect();
    let (mut variants, mut only_a) = (Vec::new(), Vec::new());
    for one in &a.variants {
        match left.iter().position(|other| other.name == one.name) {
            Some(at) => variants.push(variant(one, left.remove(at), unpaired.is_none())),
            None => only_a.push(one.name.clone()),
        }
    }
    Pair {
        title: a.title.clone(),
        machines: [a.machine.clone(), b.machine.clone()],
        seeds: [a.seeds.clone(), b.seeds.clone()],
        same_input: a.hash == b.hash,
        unpaired,
        variants,
        only: [only_a, left.into_iter().map(|one| one.name.clone()).collect()],
    }
}

/// Why the runs of one seed do not belong together, if they do not.
fn why_unpaired(a: &ResultOf, b: &ResultOf) -> Option<&'static str> {
    let [_, _, hash] = &a.workload;
    let same_workload = match hash.is_empty() {
        // Written before results told it: the same files have the same workload.
        true => a.hash == b.hash,
        false => a.workload == b.workload,
    };
    if !same_workload {
        return Some("the workload is another one");
    }
    (a.seeds != b.seeds).then_some("the seeds are others")
}

fn variant(a: &Variant, b: &Variant, is_paired: bool) -> PairOfVariants {
    let mut left: Vec<&Measured> = b.metrics.iter().collect();
    let (mut metrics, mut only_a) = (Vec::new(), Vec::new());
    for one in &a.metrics {
        let same = |other: &&Measured| other.name == one.name && other.unit == one.unit;
        match left.iter().position(same) {
            Some(at) => metrics.push(change(one, left.remove(at), is_paired)),
            None => only_a.push(one.name.clone()),
        }
    }
    PairOfVariants {
        name: a.name.clone(),
        changed: changed(a, b),
        metrics,
        only: [only_a, left.into_iter().map(|one| one.name.clone()).collect()],
    }
}

fn change(a: &Measured, b: &Measured, is_paired: bool) -> Change {
    let delta = match is_paired && a.values.len() == b.values.len() {
        true => paired(&b.values, &a.values, b.better),
        false => unpaired(&b.values, &a.values, b.better),
    };
    let means = [stats::mean(&a.values), stats::mean(&b.values)];
    Change { name: a.name.clone(), unit: a.unit, better: b.better, means, delta }
}

/// What the two say differently of themselves.
fn changed(a: &Variant, b: &Variant) -> Vec<[String; 3]> {
    let of = |variant: &Variant, key: &str| {
        let found = variant.stated.iter().find(|(name, _)| name == key);
        found.map_or(String::new(), |(_, value)| value.clone())
    };
    let mut keys: Vec<&String> = a.stated.iter().map(|(key, _)| key).collect();
    keys.extend(b.stated.iter().map(|(key, _)| key).filter(|key| of(a, key).is_empty()));
    let mut rows: Vec<[String; 3]> = Vec::new();
    for key in keys {
        let row = [key.clone(), of(a, key), of(b, key)];
        if row[1] != row[2] && !rows.contains(&row) {
            rows.push(row);
        }
    }
    rows
}

#[cfg(test)]
mod tests;
