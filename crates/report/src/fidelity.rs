//! How far to trust the simulator: every published row beside the simulated one, and a score.
//!
//! A row is judged once. If the baseline's value was published too, its *change* from there is
//! compared, by the rule of [`PublishedChange`]; else its *level*, the value itself. A row that a
//! constant was fitted to is shown and counts for nothing: agreeing with it proves nothing.
//!
//! The score is given in parts besides: by what is known about the mechanism behind a row, since a
//! row that agrees without its mechanism agrees by chance, and by whether a change was told apart
//! from zero, since only then there was something to predict.
//!
//! [`PublishedChange`]: crate::PublishedChange

mod json;
mod text;
mod view;

pub use json::json;
pub use text::{scenario_text, score_text};

use crate::analysis::{Analysis, Delta, PublishedRow, VariantAnalysis};
use crate::{agree, stats};
use scenario::{Mechanism, registry};

/// A level is right if it is this near to the published one, in percent of it.
pub const LEVEL_PCT: f64 = 2.0;

/// Changes of at least this size are counted apart, in percent: below it little more than the
/// direction decides whether two changes agree, which chance gets right every second time.
pub const CLEAR_PCT: f64 = 1.0;

/// All scenarios that were compared.
#[derive(Clone, Debug, Default)]
pub struct Fidelity {
    /// In the order in which they ran.
    pub scenarios: Vec<Compared>,
}

/// The rows of one scenario.
#[derive(Clone, Debug)]
pub struct Compared {
    /// Short name of the scenario, and the point if it is a sweep.
    pub scenario: String,
    /// The scenario's title.
    pub title: String,
    /// Fingerprint of the input files.
    pub hash: String,
    /// Name of the machine that was simulated.
    pub machine: String,
    /// The seeds that were run.
    pub seeds: Vec<u64>,
    /// Its rows, those of one metric together.
    pub rows: Vec<Row>,
}

/// One published row beside the simulated one.
#[derive(Clone, Debug)]
pub struct Row {
    /// Name of the variant.
    pub variant: String,
    /// True for the variant that the others are compared with.
    pub baseline: bool,
    /// The published value, the simulated mean and what the two changes amount to.
    pub published: PublishedRow,
    /// Unit of both values; empty for counts.
    pub unit: &'static str,
    /// Simulated change from the baseline.
    pub delta: Option<Delta>,
    /// How far the simulated value is from the published one, in percent of it.
    pub off_pct: Option<f64>,
    /// By which of its values it is judged.
    pub by: By,
    /// Whether it is right by that; `None` if the simulation has nothing to compare.
    pub right: Option<bool>,
    /// No value in the 95 % interval of what it is judged by would change that.
    pub settled: bool,
}

/// The value by which a row is judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// Its change from the published baseline.
    Change,
    /// Its value, as that of a baseline, or of a row whose baseline was not published.
    Level,
}

impl By {
    /// The word used in JSON and CSV.
    pub fn word(self) -> &'static str {
        match self {
            By::Change => "change",
            By::Level => "level",
        }
    }
}

/// A count of rows that are right, and of all that were judged.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tally {
    /// Rows that are right.
    pub right: usize,
    /// All rows that were judged.
    pub of: usize,
}

impl Tally {
    fn of<'a>(rows: impl Iterator<Item = &'a Row>) -> Self {
        let judged = rows.filter(|row| !row.published.calibrated).filter_map(|row| row.right);
        judged.fold(Self::default(), |Self { right, of }, is_right| Self {
            right: right + usize::from(is_right),
            of: of + 1,
        })
    }
}

/// The score of some rows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Score {
    /// Changes that agree.
    pub changes: Tally,
    /// Of these, the ones whose published size is at least [`CLEAR_PCT`].
    pub clear: Tally,
    /// Levels within [`LEVEL_PCT`] of the published one.
    pub levels: Tally,
    /// Rows that count for nothing, since a constant was fitted to them.
    pub calibrated: usize,
    /// Rows that the simulation has nothing to compare with.
    pub unjudged: usize,
}

impl Score {
    fn of<'a>(rows: impl Iterator<Item = &'a Row> + Clone) -> Self {
        let changes = rows.clone().filter(|row| row.by == By::Change);
        let levels = rows.clone().filter(|row| row.by == By::Level);
        let is_clear =
            |row: &&Row| row.published.delta_pct().is_some_and(|pct| pct.abs() >= CLEAR_PCT);
        Self {
            changes: Tally::of(changes.clone()),
            clear: Tally::of(changes.filter(is_clear)),
            levels: Tally::of(levels),
            calibrated: rows.clone().filter(|row| row.published.calibrated).count(),
            unjudged: rows.filter(|r| !r.published.calibrated && r.right.is_none()).count(),
        }
    }
}

/// A part of all rows, of which each belongs to one by its mechanism, and each change to one by
/// its error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// What is known about the mechanism.
    Mechanism(Mechanism),
    /// Whether the published change was told apart from zero; `None` if its error is not known.
    ToldApart(Option<bool>),
}

impl Part {
    /// All parts.
    pub const ALL: [Self; 6] = [
        Self::Mechanism(Mechanism::Built),
        Self::Mechanism(Mechanism::LeftOut),
        Self::Mechanism(Mechanism::Unknown),
        Self::ToldApart(Some(true)),
        Self::ToldApart(Some(false)),
        Self::ToldApart(None),
    ];

    fn has(self, row: &Row) -> bool {
        match self {
            Self::Mechanism(mechanism) => row.published.mechanism == mechanism,
            Self::ToldApart(told) => row.by == By::Change && row.published.told_apart() == told,
        }
    }
}

impl Fidelity {
    /// The score of all scenarios together.
    pub fn score(&self) -> Score {
        Score::of(self.rows())
    }

    /// The score of a part of the rows.
    pub fn score_of(&self, part: Part) -> Score {
        Score::of(self.rows().filter(|row| part.has(row)))
    }

    fn rows(&self) -> impl Iterator<Item = &Row> + Clone {
        self.scenarios.iter().flat_map(|s| &s.rows)
    }

    /// Where the rows were published, and the scenarios that have rows from there.
    pub fn sources(&self) -> Vec<(&str, Vec<&str>)> {
        let mut sources: Vec<(&str, Vec<&str>)> = Vec::new();
        for compared in &self.scenarios {
            for row in &compared.rows {
                let (source, name) = (row.published.source.as_str(), compared.scenario.as_str());
                match sources.iter_mut().find(|(known, _)| *known == source) {
                    Some((_, names)) if names.last() == Some(&name) => {}
                    Some((_, names)) => names.push(name),
                    None => sources.push((source, vec![name])),
                }
            }
        }
        sources
    }
}

impl Compared {
    /// Takes from an analysis what was published.
    pub fn new(analysis: &Analysis) -> Self {
        let of_variant = |v: &VariantAnalysis| v.published.iter().map(|p| row(v, p)).collect();
        let mut rows: Vec<Row> =
            analysis.variants.iter().flat_map::<Vec<_>, _>(of_variant).collect();
        let mut metrics: Vec<String> = Vec::new();
        for row in &rows {
            if !metrics.contains(&row.published.metric) {
                metrics.push(row.published.metric.clone());
            }
        }
        rows.sort_by_key(|row| metrics.iter().position(|m| *m == row.published.metric));
        Self {
            scenario: match analysis.at.as_str() {
                "" => analysis.scenario.clone(),
                at => format!("{} at {at}", analysis.scenario),
            },
            title: analysis.title.clone(),
            hash: analysis.hash.clone(),
            machine: analysis.machine.name.clone(),
            seeds: analysis.seeds.clone(),
            rows,
        }
    }

    /// True if its changes come with intervals, for which it takes two seeds.
    pub fn has_intervals(&self) -> bool {
        self.seeds.len() > 1
    }

    /// True if further seeds would hardly change what is right: no interval has a limit in it.
    pub fn is_settled(&self) -> bool {
        self.rows.iter().all(|row| row.settled)
    }

    /// The score of this scenario.
    pub fn score(&self) -> Score {
        Score::of(self.rows.iter())
    }
}

fn row(variant: &VariantAnalysis, published: &PublishedRow) -> Row {
    let by = if published.change.is_some() { By::Change } else { By::Level };
    let off_pct = published
        .simulated
        .filter(|_| published.value != 0.0)
        .map(|simulated| (simulated / published.value - 1.0) * 100.0);
    let right = match by {
        By::Change => published.agrees,
        By::Level => published.simulated.map(|level| level_is_right(level, published.value)),
    };
    let settled = published.calibrated || right.is_none() || is_settled(variant, published);
    Row {
        variant: variant.name.clone(),
        baseline: variant.baseline,
        published: published.clone(),
        unit: registry::metric(&published.metric).map_or("", |m| m.unit),
        delta: variant.delta(&published.metric).copied(),
        off_pct,
        by,
        right,
        settled,
    }
}

/// Whether the interval of what a row is judged by lies within limits, or beyond them. What has no
/// interval is the same with every seed, or there is but one.
fn is_settled(variant: &VariantAnalysis, published: &PublishedRow) -> bool {
    if let Some(change) = published.change {
        let interval = variant.delta(&published.metric).and_then(|delta| delta.ci95);
        return interval.is_none_or(|interval| change.is_settled(interval));
    }
    let interval = variant.metric(&published.metric).and_then(|m| stats::ci95(&m.values));
    let is_right = |level| level_is_right(level, published.value);
    interval.is_none_or(|interval| agree::is_settled(interval, published.value, is_right))
}

/// 0 where 0 was published is right, though no percentage says so.
fn level_is_right(simulated: f64, published: f64) -> bool {
    simulated == published || (simulated / published - 1.0).abs() * 100.0 <= LEVEL_PCT
}

impl Row {
    /// How it was judged, in a word or two.
    pub fn mark(&self) -> &'static str {
        match (self.published.calibrated, self.by, self.right) {
            (true, ..) => "calibrated",
            (_, By::Change, Some(true)) => "agrees",
            (_, By::Change, Some(false)) => "differs",
            (_, By::Level, Some(true)) => "within",
            (_, By::Level, Some(false)) => "beyond",
            (_, _, None) => "not judged",
        }
    }
}

#[cfg(test)]
mod tests;
