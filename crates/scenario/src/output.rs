//! What one run gives: its metrics, or why it failed.

use crate::registry::key::Better;
use crate::waits::LongWait;
use std::panic::{AssertUnwindSafe, catch_unwind};

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
    /// The longest waits for a CPU, the longest first; at most [`N_LONGEST_WAITS`].
    ///
    /// [`N_LONGEST_WAITS`]: crate::N_LONGEST_WAITS
    pub longest_waits: Vec<LongWait>,
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
    /// The scheduler itself has ended the run.
    #[error("the scheduler gave up at {at_s:.6} s: {why}")]
    GivenUp {
        /// When, in seconds of simulated time.
        at_s: f64,
        /// What it said, or what was wrong with it.
        why: String,
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

/// Turns a broken invariant's panic into an error.
pub(crate) fn guarded<T>(run: impl FnOnce() -> Result<T, RunError>) -> Result<T, RunError> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or(payload.downcast_ref::<&str>().copied());
        Err(RunError::Broken(text.unwrap_or("a panic without words").to_string()))
    })
}
