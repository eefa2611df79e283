//! `schedlab sweep tune`: a search for the best values of some keys.
//!
//! An optimizer is asked for points, a batch at a time, and told what came of them. It is of
//! others, and speaks Python ([`Python`]); all that it does not know is here: what a point is, how
//! it runs, what is best, and how well that is known. Runs are kept in the one store of finished
//! runs, so a search that was stopped is begun anew, asks for the same points, and finds their runs
//! done.

mod front;
mod json;
mod python;
mod search;
mod text;

#[cfg(test)]
mod tests;

pub use json::json;
pub use python::Python;
pub use search::{HowToSearch, search};
pub use text::text;

use crate::store::StoreError;
use scenario::tune::{Coordinate, TunedKey};
use scenario::{Failure, Faults, RunError, Tune, VariantRuns};

/// Why a search ends without a result.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// The scenario itself cannot be read again.
    #[error("the scenario is wrong")]
    Faults(Faults),
    /// A run of the variant as it is has failed.
    #[error(transparent)]
    Failure(#[from] Failure),
    /// The optimizer does not do what it should.
    #[error("{0}")]
    Optimizer(String),
    /// The runs do not measure what is looked for.
    #[error("the runs do not measure `{0}`, which [tune] names")]
    NotMeasured(String),
    /// Results cannot be kept.
    #[error("{0}")]
    NotKept(RunError),
    /// The store of runs.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A value for each key.
pub type Point = Vec<Coordinate>;

/// Someone who knows where to look next.
pub trait Optimizer {
    /// Its name and version.
    fn name(&self) -> &str;

    /// The next points.
    ///
    /// # Errors
    /// It does not answer, or not with points of the search.
    fn ask(&mut self, n: usize) -> Result<Vec<Point>, TuneError>;

    /// What came of the points that it was asked for last, in their order.
    ///
    /// # Errors
    /// It does not listen.
    fn tell(&mut self, told: &[Told]) -> Result<(), TuneError>;
}

/// What came of a point; `None` if it cannot run, or does not measure what is looked for.
pub type Told = Option<Outcome>;

/// The means of a point.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Outcome {
    /// Of the goals, in their order.
    pub values: Vec<f64>,
    /// How far each limit is exceeded; not more than 0 if it is kept.
    pub excess: Vec<f64>,
}

/// A point that was looked at.
pub struct Looked {
    /// Its values.
    pub point: Point,
    /// The means of the metrics that are looked at, or why there are none.
    pub found: Result<Found, String>,
}

/// What the runs of a point measured.
pub struct Found {
    /// For each metric of [`TuneReport::metrics`], a value per seed.
    pub values: Vec<Vec<f64>>,
    /// It keeps all limits.
    pub keeps: bool,
}

/// The winner and the variant as it is, with seeds that the search has not seen.
pub struct Validation {
    /// Those seeds.
    pub seeds: Vec<u64>,
    /// The variant as it is.
    pub as_it_is: Found,
    /// The winner; why it failed if it did.
    pub best: Result<Found, String>,
}

/// All that a search has found.
pub struct TuneReport {
    /// Short name of the scenario.
    pub scenario: String,
    /// Its title.
    pub title: String,
    /// Fingerprint of the scenario and of what was set.
    pub hash: String,
    /// What was looked for.
    pub tune: Tune,
    /// Who has said where to look.
    pub optimizer: String,
    /// Its seed.
    pub search_seed: u64,
    /// Points that it was asked for at a time.
    pub batch: usize,
    /// The seeds of the runs.
    pub seeds: Vec<u64>,
    /// The metrics that are looked at: those of the goals, then those of the limits.
    pub metrics: Vec<String>,
    /// The variant as it is.
    pub as_it_is: Found,
    /// The points that were looked at, in the order in which they were asked for first.
    pub looked: Vec<Looked>,
    /// Index of the best point that keeps the limits, if there is one.
    pub best: Option<usize>,
    /// Indexes of points that are better than each other one in something; the best ones first.
    pub front: Vec<usize>,
    /// The winner again.
    pub validation: Option<Validation>,
    /// Runs that the result took.
    pub n_runs: usize,
    /// Those that were computed now; the others were there.
    pub n_computed: usize,
}

impl TuneReport {
    /// A point in words, one per key.
    pub fn words(&self, point: &Point) -> Vec<String> {
        let word = |(key, value): (&TunedKey, &Coordinate)| match key.values {
            scenario::tune::Values::Feature => key.shown(*value),
            _ => format!("{}={}", key.key, key.shown(*value)),
        };
        self.tune.keys.iter().zip(point).map(word).collect()
    }
}

/// The metrics that are looked at: those of the goals, then those of the limits.
fn metrics(tune: &Tune) -> Vec<String> {
    let mut names: Vec<String> = tune.goals.iter().map(|goal| goal.metric.clone()).collect();
    for limit in &tune.limits {
        if !names.contains(&limit.metric) {
            names.push(limit.metric.clone());
        }
    }
    names
}

/// What the runs of a variant measured of these metrics; an error names one that they did not.
fn found(tune: &Tune, metrics: &[String], runs: &VariantRuns) -> Result<Found, String> {
    let of = |metric: &String| runs.values(metric).ok_or_else(|| metric.clone());
    let values: Vec<Vec<f64>> = metrics.iter().map(of).collect::<Result<_, _>>()?;
    let mut found = Found { values, keeps: true };
    found.keeps = tune.limits.iter().all(|limit| {
        let place = metrics.iter().position(|name| *name == limit.metric);
        place.is_some_and(|place| limit.holds(found.mean(place)))
    });
    Ok(found)
}

impl Found {
    /// The mean of a metric over the seeds.
    pub fn mean(&self, metric: usize) -> f64 {
        crate::stats::mean(&self.values[metric])
    }
}
