//! Runs that are done are remembered: an experiment that goes on with more seeds runs only these.

use crate::output::{RunError, RunOutput};
use crate::run::Executor;
use crate::run_spec::RunSpec;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The point, the variant and the seed of a run, which tell it from others of its study.
type Key = (String, String, u64);

/// Runs each run of one study once.
pub struct Remembering<'a> {
    inner: &'a dyn Executor,
    known: Mutex<BTreeMap<Key, RunOutput>>,
}

impl<'a> Remembering<'a> {
    /// Nothing is remembered yet.
    pub fn new(inner: &'a dyn Executor) -> Self {
        Self { inner, known: Mutex::default() }
    }
}

impl Executor for Remembering<'_> {
    fn run(&self, spec: &RunSpec, progress: &dyn Fn(f64)) -> Result<RunOutput, RunError> {
        let key = (spec.at.clone(), spec.variant.clone(), spec.seed);
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(output) = known().get(&key) {
            return Ok(output.clone());
        }
        let output = self.inner.run(spec, progress)?;
        known().insert(key, output.clone());
        Ok(output)
    }
}
