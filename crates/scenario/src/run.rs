//! Running an experiment: variants x seeds, in parallel, with one result whatever the order.
//!
//! Parallel between runs, never inside one. Results are stored by (variant, seed), so neither the
//! number of workers nor the order of completion can show. If runs fail, the failure reported is
//! the first one by (variant, seed): runs after it may be skipped, runs before it never.

use crate::experiment::{Experiment, RunSpec};
use crate::registry::Better;
use crate::study;
use rayon::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One measured number of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricValue {
    /// Name, as in the registry or of one of its families.
    pub name: String,
    /// Unit; empty for plain counts.
    pub unit: &'static str,
    /// The good direction.
    pub better: Better,
    /// The number.
    pub value: f64,
}

/// CPU use over time, per last-level cache.
#[derive(Clone, Debug, PartialEq)]
pub struct LlcUtilization {
    /// Length of one time bucket, ns.
    pub bucket_ns: u64,
    /// For each LLC, the share of its CPUs' time that was used, bucket by bucket (0 to 1).
    pub shares: Vec<Vec<f32>>,
}

/// What one run measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunOutput {
    /// All metrics, in the order they should be shown.
    pub metrics: Vec<MetricValue>,
    /// CPU use over time, if it was recorded.
    pub utilization: Option<LlcUtilization>,
    /// True if the workload came to its end; false if the run was cut off at a prescribed time.
    pub finished: bool,
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// All tasks wait for something that no one will do.
    #[error("no progress since {at_s:.6} s: every task waits forever{}", list(.waiting))]
    NoProgress {
        /// Simulated time at which the last event happened, in seconds.
        at_s: f64,
        /// Who waits for what, one line each.
        waiting: Vec<String>,
    },
    /// The machine and the workload do not fit together.
    #[error("{0}")]
    Impossible(String),
    /// Whoever watched the run has seen enough.
    #[error("stopped before its end")]
    Stopped,
    /// An invariant is broken: a bug of the simulator, which this run shows.
    #[error("the simulator itself is at fault, please report it: {0}")]
    Broken(String),
    /// The result of a run cannot be kept.
    #[error("{0}")]
    NotKept(String),
    /// The worker threads could not be started.
    #[error("cannot start the worker threads: {0}")]
    Threads(String),
}

fn list(waiting: &[String]) -> String {
    const SHOWN: usize = 20;
    let mut text: String = waiting.iter().take(SHOWN).map(|w| format!("\n  {w}")).collect();
    if waiting.len() > SHOWN {
        text += &format!("\n  and {} more", waiting.len() - SHOWN);
    }
    text
}

/// A failed run, and which one it was.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}variant `{variant}`, seed {seed}: {error}", point(.at))]
pub struct Failure {
    /// The point of the sweep, such as `clients=64`; empty outside of one.
    pub at: String,
    /// Name of the variant.
    pub variant: String,
    /// Seed.
    pub seed: u64,
    /// What happened.
    pub error: RunError,
}

fn point(at: &str) -> String {
    if at.is_empty() { String::new() } else { format!("{at}, ") }
}

/// Something that can run one variant with one seed.
pub trait Executor: Sync {
    /// Runs it. `progress` may be told, now and then, which share of the run is done (0 to 1).
    fn run(&self, spec: &RunSpec, progress: &dyn Fn(f64)) -> Result<RunOutput, RunError>;
}

/// Someone who wants to know how far an experiment is.
pub trait Observer: Sync {
    /// The share of all runs that is done, 0 to 1. Called from many threads, never decreasing by
    /// more than the threads' disorder.
    fn progress(&self, done: f64);
}

/// An observer that does not look.
pub struct Silent;

impl Observer for Silent {
    fn progress(&self, _done: f64) {}
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
        let mut results = study::run_all(&[self], executor, jobs, observer)?;
        Ok(results.remove(0))
    }

    /// All runs, in the order of variants and seeds.
    pub(crate) fn specs(&self) -> Vec<RunSpec> {
        let of_variant = |v| self.seeds.iter().map(move |seed| self.spec(v, *seed));
        self.variants.iter().flat_map(of_variant).collect()
    }
}

/// Runs all of these on `jobs` threads; the outputs are in their order, whichever ends first.
pub(crate) fn run_specs(
    specs: &[RunSpec],
    executor: &dyn Executor,
    jobs: usize,
    observer: &dyn Observer,
) -> Result<Vec<RunOutput>, Failure> {
    let jobs = jobs.clamp(1, specs.len().max(1));
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(jobs)
        .build()
        .map_err(|e| specs[0].failed(RunError::Threads(e.to_string())))?;
    pool.install(|| run_all(specs, executor, observer))
}

impl RunSpec {
    /// The failure of this run.
    fn failed(&self, error: RunError) -> Failure {
        let (at, variant, seed) = (self.at.clone(), self.variant.clone(), self.seed);
        Failure { at, variant, seed, error }
    }
}

fn run_all(
    specs: &[RunSpec],
    executor: &dyn Executor,
    observer: &dyn Observer,
) -> Result<Vec<RunOutput>, Failure> {
    let first_failed = AtomicUsize::new(usize::MAX);
    let shares = Mutex::new(vec![0.0; specs.len()]);
    let report = |idx: usize, share: f64| {
        if let Ok(mut shares) = shares.lock() {
            shares[idx] = share.clamp(0.0, 1.0);
            observer.progress(shares.iter().sum::<f64>() / shares.len() as f64);
        }
    };
    let outputs: Vec<Option<Result<RunOutput, Failure>>> = specs
        .par_iter()
        .enumerate()
        .map(|(idx, spec)| {
            if idx > first_failed.load(Ordering::Relaxed) {
                return None;
            }
            let result = run_one(spec, executor, &|share| report(idx, share));
            report(idx, 1.0);
            if result.is_err() {
                first_failed.fetch_min(idx, Ordering::Relaxed);
            }
            Some(result.map_err(|error| spec.failed(error)))
        })
        .collect();
    outputs.into_iter().flatten().collect()
}

/// A broken invariant panics; the message then names the run, and other runs are not lost.
fn run_one(
    spec: &RunSpec,
    executor: &dyn Executor,
    progress: &dyn Fn(f64),
) -> Result<RunOutput, RunError> {
    guarded(|| executor.run(spec, progress))
}

/// Turns a broken invariant's panic into an error.
pub(crate) fn guarded<T>(run: impl FnOnce() -> Result<T, RunError>) -> Result<T, RunError> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or(payload.downcast_ref::<&str>().copied());
        Err(RunError::Broken(text.unwrap_or("a panic without words").to_string()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MockExecutor, load_str};
    use std::path::Path;

    const TEXT: &str = r#"
        policy = "cfs"
        workload = { kind = "kernel-build", work_seconds = 10 }
        run = { seeds = 7 }
        variant = [{ name = "a" }, { name = "b" }, { name = "c" }]
        [machine]
        llcs_per_socket = 2
        cores_per_llc = 4
        latency = { llc_ns = 25, node_ns = 110 }
        caches = { l1d_kib = 32, l2_kib = 1024, l3_kib = 32768, l3_hit_ns = 15, mem_ns = 105 }
    "#;

    fn experiment() -> Experiment {
        load_str(Path::new("t.toml"), TEXT.to_string())
            .unwrap_or_else(|f| panic!("{}", f.render(false)))
    }

    #[test]
    fn results_do_not_depend_on_jobs() {
        let run = |jobs| experiment().run(&MockExecutor, jobs, &Silent).unwrap();
        assert_eq!(run(1), run(2));
        assert_eq!(run(1), run(64));
    }

    struct Fails;

    impl Executor for Fails {
        fn run(&self, spec: &RunSpec, _: &dyn Fn(f64)) -> Result<RunOutput, RunError> {
            match (spec.variant.as_str(), spec.seed) {
                ("b", 3) | ("b", 5) | ("c", _) => Err(RunError::NoProgress {
                    at_s: 1.5,
                    waiting: vec!["make/0 waits for the pipe".into()],
                }),
                _ => Ok(RunOutput::default()),
            }
        }
    }

    #[test]
    fn the_first_failure_by_variant_and_seed_wins() {
        for jobs in [1, 2, 5] {
            let failure = experiment().run(&Fails, jobs, &Silent).unwrap_err();
            assert_eq!(
                failure.to_string(),
                "variant `b`, seed 3: no progress since 1.500000 s: every task waits forever\n  \
                 make/0 waits for the pipe"
            );
        }
    }

    struct Panics;

    impl Executor for Panics {
        fn run(&self, spec: &RunSpec, _: &dyn Fn(f64)) -> Result<RunOutput, RunError> {
            assert!(spec.seed < 4, "cpu 3 holds two locks");
            Ok(RunOutput::default())
        }
    }

    #[test]
    fn a_broken_invariant_names_its_run() {
        let failure = experiment().run(&Panics, 2, &Silent).unwrap_err();
        assert_eq!((failure.variant.as_str(), failure.seed), ("a", 4));
        assert_eq!(failure.error, RunError::Broken("cpu 3 holds two locks".into()));
    }
}
