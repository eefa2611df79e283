//! Running an experiment: variants x seeds, in parallel, with one result whatever the order.
//!
//! Parallel between runs, never inside one. Results are stored by (variant, seed), so neither the
//! number of workers nor the order of completion can show. If runs fail, the failure reported is
//! the first one by (variant, seed): runs after it may be skipped, runs before it never.

use crate::output::{RunError, RunOutput, guarded};
use crate::run_spec::RunSpec;
use rayon::prelude::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

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

/// Runs all of these on `jobs` threads; the outputs are in their order, whichever ends first.
pub(crate) fn run_specs(
    specs: &[RunSpec],
    executor: &dyn Executor,
    jobs: usize,
    observer: &dyn Observer,
) -> Result<Vec<RunOutput>, Failure> {
    side_by_side(specs, jobs, observer, |spec, progress| executor.run(spec, progress))
}

/// Has each of these seen to on `jobs` threads. What `each` is given beside the run wants to be
/// told which share of it is done (0 to 1). If `each` fails, runs that have not begun are left out.
///
/// # Errors
/// The first failure, by the order of the runs; or that there are no threads.
pub fn for_each_run(
    specs: &[RunSpec],
    jobs: usize,
    observer: &dyn Observer,
    each: impl Fn(&RunSpec, &dyn Fn(f64)) -> Result<(), RunError> + Sync,
) -> Result<(), Failure> {
    side_by_side(specs, jobs, observer, each).map(drop)
}

/// Runs one; a broken invariant is an error like others.
///
/// # Errors
/// Why it failed.
pub fn attempt(
    executor: &dyn Executor,
    spec: &RunSpec,
    progress: &dyn Fn(f64),
) -> Result<RunOutput, RunError> {
    guarded(|| executor.run(spec, progress))
}

/// The same for runs that give something else.
pub(crate) fn side_by_side<T: Send>(
    specs: &[RunSpec],
    jobs: usize,
    observer: &dyn Observer,
    run: impl Fn(&RunSpec, &dyn Fn(f64)) -> Result<T, RunError> + Sync,
) -> Result<Vec<T>, Failure> {
    let jobs = jobs.clamp(1, specs.len().max(1));
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(jobs)
        .build()
        .map_err(|e| specs[0].failed(RunError::Threads(e.to_string())))?;
    pool.install(|| run_all(specs, &run, observer))
}

impl RunSpec {
    /// The failure of this run.
    pub(crate) fn failed(&self, error: RunError) -> Failure {
        let (at, variant, seed) = (self.at.clone(), self.variant.clone(), self.seed);
        Failure { at, variant, seed, error }
    }
}

fn run_all<T: Send>(
    specs: &[RunSpec],
    run: &(impl Fn(&RunSpec, &dyn Fn(f64)) -> Result<T, RunError> + Sync),
    observer: &dyn Observer,
) -> Result<Vec<T>, Failure> {
    let first_failed = AtomicUsize::new(usize::MAX);
    // The share of each run that is done, and their sum: there may be very many runs.
    let shares = Mutex::new((vec![0.0; specs.len()], 0.0));
    let report = |idx: usize, share: f64| {
        if let Ok(mut shares) = shares.lock() {
            let (of_run, sum) = &mut *shares;
            let share = share.clamp(0.0, 1.0);
            *sum += share - of_run[idx];
            of_run[idx] = share;
            observer.progress(*sum / specs.len() as f64);
        }
    };
    let outputs: Vec<Option<Result<T, Failure>>> = specs
        .par_iter()
        .enumerate()
        .map(|(idx, spec)| {
            if idx > first_failed.load(Ordering::Relaxed) {
                return None;
            }
            // A broken invariant panics; the message then names the run, and others are not lost.
            let result = guarded(|| run(spec, &|share| report(idx, share)));
            report(idx, 1.0);
            if result.is_err() {
                first_failed.fetch_min(idx, Ordering::Relaxed);
            }
            Some(result.map_err(|error| spec.failed(error)))
        })
        .collect();
    outputs.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Experiment, MockExecutor, load_str};
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

    #[test]
    fn each_run_is_seen_to_although_others_fail() {
        let specs = experiment().specs();
        for jobs in [1, 3] {
            let told = Mutex::new(Vec::new());
            let each = |spec: &RunSpec, progress: &dyn Fn(f64)| {
                told.lock().unwrap().push(attempt(&Fails, spec, progress).is_ok());
                Ok(())
            };
            for_each_run(&specs, jobs, &Silent, each).unwrap();
            let told = told.into_inner().unwrap();
            assert_eq!(told.len(), 21);
            assert_eq!(told.iter().filter(|is_ok| **is_ok).count(), 7 + 5);
        }
        let full = |_: &RunSpec, _: &dyn Fn(f64)| Err(RunError::NotKept("the disk is full".into()));
        let failure = for_each_run(&specs, 2, &Silent, full).unwrap_err();
        assert_eq!((failure.variant.as_str(), failure.seed), ("a", 1));
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
