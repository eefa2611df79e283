//! A study: one experiment, or the same one at each point of a sweep.
//!
//! ```toml
//! [sweep]
//! clients           = [1, 2, 4, 8]          # a key of the workload, or a tunable
//! machine.hz        = [250, 1000]           # or any place of the scenario
//! relative_to       = "clients=1"           # levels as shares of that point's baseline
//! metrics           = ["throughput"]        # what gets a table
//! # zip             = true                  # first with first, second with second
//! ```
//!
//! A point is a scenario like any other, checked as one: its values were put where the file has
//! none or others.

use crate::experiment::Experiment;
use crate::output::RunOutput;
use crate::run::{Executor, Failure, Observer, run_specs};
use crate::run_spec::RunSpec;
use crate::tune::Tune;
use std::path::PathBuf;

/// Runs of one study at most: points x variants x seeds.
pub const RUNS_MAX: usize = 100_000;

/// One experiment, or several that differ in the values of a sweep.
#[derive(Clone, Debug)]
pub struct Study {
    /// Short name: the file's stem.
    pub name: String,
    /// Human title.
    pub title: String,
    /// Fingerprint of the scenario, of the files that it names and of what was set.
    pub hash: String,
    /// What the points differ in; empty for a single experiment.
    pub axes: Vec<Axis>,
    /// The experiments, the last axis running fastest; never empty.
    pub points: Vec<Point>,
    /// Metrics that the scenario asks tables for; if it names none, the headlines get one.
    pub metrics: Vec<String>,
    /// What `schedlab sweep tune` looks for; nothing else minds it.
    pub tune: Option<Tune>,
    /// Published rows are left out: `--set` changed what was measured.
    pub published_dropped: bool,
    /// The files it was read from: the scenario itself, then those that it names.
    pub files: Vec<PathBuf>,
}

/// A key and the values that it takes in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The key, as the scenario has it.
    pub key: String,
    /// Unit of its values; empty for counts and words.
    pub unit: &'static str,
    /// The values, as tables show them.
    pub values: Vec<String>,
}

impl Axis {
    /// The values as numbers, if all are.
    pub fn numbers(&self) -> Option<Vec<f64>> {
        let number = |value: &String| value.parse().ok().filter(|x: &f64| x.is_finite());
        self.values.iter().map(number).collect()
    }
}

/// One point of a sweep.
#[derive(Clone, Debug)]
pub struct Point {
    /// For each axis, which of its values.
    pub at: Vec<usize>,
    /// The point whose baseline the levels of this one are shares of.
    pub reference: Option<usize>,
    /// The experiment there.
    pub experiment: Experiment,
}

impl Study {
    /// The only experiment of a study that is no sweep.
    pub fn only(&self) -> Option<&Experiment> {
        match &self.points[..] {
            [point] => Some(&point.experiment),
            _ => None,
        }
    }

    /// What people should know of it that is no fault; the same may be there several times.
    pub fn remarks(&self) -> impl Iterator<Item = &String> {
        self.points.iter().flat_map(|point| &point.experiment.remarks)
    }

    /// Number of runs: points x variants x seeds.
    pub fn n_runs(&self) -> usize {
        let runs = |p: &Point| p.experiment.variants.len() * p.experiment.seeds.len();
        self.points.iter().map(runs).sum()
    }

    /// Replaces the number of seeds of every point: seeds 1 to `n`.
    pub fn set_seeds(&mut self, n: u64) {
        self.points.iter_mut().for_each(|point| point.experiment.set_seeds(n));
    }

    /// Keeps the first `n` seeds of every point.
    pub fn keep_seeds(&mut self, n: usize) {
        self.points.iter_mut().for_each(|point| point.experiment.seeds.truncate(n));
    }

    /// Keeps only the named variants, and always the baseline.
    pub fn keep_variants(&mut self, names: &[String]) {
        self.points.iter_mut().for_each(|point| point.experiment.keep_variants(names));
    }

    /// Keeps the points that have published rows, and the variants that these are about.
    pub fn keep_published(&mut self) {
        self.points.retain(|point| !point.experiment.published.is_empty());
        for point in &mut self.points {
            // Points that shares are taken of may be gone.
            point.reference = None;
            let rows = &point.experiment.published;
            let measured: Vec<String> = rows.iter().map(|row| row.variant.clone()).collect();
            point.experiment.keep_variants(&measured);
        }
    }

    /// True if some point has a published row.
    pub fn is_published(&self) -> bool {
        self.points.iter().any(|point| !point.experiment.published.is_empty())
    }

    /// Runs every point with every variant and seed on `jobs` threads; one result per point.
    ///
    /// # Errors
    /// The failure of the first run by point, variant and seed.
    pub fn run(
        &self,
        executor: &dyn Executor,
        jobs: usize,
        observer: &dyn Observer,
    ) -> Result<Vec<Results>, Failure> {
        let experiments: Vec<&Experiment> = self.points.iter().map(|p| &p.experiment).collect();
        run_all(&experiments, executor, jobs, observer)
    }
}

/// All runs of one variant, in the order of the seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantRuns {
    /// One output per seed.
    pub runs: Vec<RunOutput>,
}

impl VariantRuns {
    /// The values of a metric, one per seed; `None` if a run did not measure it.
    pub fn values(&self, metric: &str) -> Option<Vec<f64>> {
        let value =
            |run: &RunOutput| run.metrics.iter().find(|m| m.name == metric).map(|m| m.value);
        self.runs.iter().map(value).collect()
    }
}

/// All runs of an experiment, in the order of its variants.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// One entry per variant.
    pub variants: Vec<VariantRuns>,
}

impl Experiment {
    /// Runs every variant with every seed on `jobs` threads.
    pub fn run(
        &self,
        executor: &dyn Executor,
        jobs: usize,
        observer: &dyn Observer,
    ) -> Result<Results, Failure> {
        let mut results = run_all(&[self], executor, jobs, observer)?;
        Ok(results.remove(0))
    }

    /// The same on this thread, for runs that are done and only read.
    ///
    /// # Errors
    /// The failure of the first run by variant and seed.
    pub fn run_here(&self, executor: &dyn Executor) -> Result<Results, Failure> {
        let run = |variant, seed| {
            let spec = self.spec(variant, seed);
            executor.run(&spec, &|_| {}).map_err(|error| spec.failed(error))
        };
        let runs = |variant| {
            let runs = self.seeds.iter().map(|seed| run(variant, *seed));
            Ok(VariantRuns { runs: runs.collect::<Result<_, _>>()? })
        };
        Ok(Results { variants: self.variants.iter().map(runs).collect::<Result<_, _>>()? })
    }

    /// All runs, in the order of variants and seeds.
    pub(crate) fn specs(&self) -> Vec<RunSpec> {
        let of_variant = |v| self.seeds.iter().map(move |seed| self.spec(v, *seed));
        self.variants.iter().flat_map(of_variant).collect()
    }
}

/// Runs experiments, each variant with each seed, side by side; their results in order.
pub(crate) fn run_all(
    experiments: &[&Experiment],
    executor: &dyn Executor,
    jobs: usize,
    observer: &dyn Observer,
) -> Result<Vec<Results>, Failure> {
    let specs: Vec<RunSpec> = experiments.iter().flat_map(|e| e.specs()).collect();
    let mut outputs = run_specs(&specs, executor, jobs, observer)?.into_iter();
    let results = |e: &&Experiment| {
        let runs = |_| VariantRuns { runs: outputs.by_ref().take(e.seeds.len()).collect() };
        Results { variants: e.variants.iter().map(runs).collect() }
    };
    Ok(experiments.iter().map(results).collect())
}
