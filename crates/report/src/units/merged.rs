//! Merging: an executor that runs nothing and reads what is done.

use super::opened::Sweep;
use scenario::{Executor, RunError, RunOutput, RunSpec};

/// Gives what the store of a sweep has.
pub struct Merged<'a>(pub &'a Sweep);

impl Executor for Merged<'_> {
    fn run(&self, spec: &RunSpec, _: &dyn Fn(f64)) -> Result<RunOutput, RunError> {
        let Sweep { store, names, .. } = self.0;
        let name = names.name(spec);
        let not_kept = |error: crate::store::StoreError| RunError::NotKept(error.to_string());
        if let Some(output) = store.get(&name).map_err(not_kept)? {
            return Ok(output);
        }
        Err(match store.failure(&name).map_err(not_kept)? {
            // In the words that the run itself would have failed with.
            Some(message) => RunError::Impossible(message),
            None => RunError::NotKept(format!("unit {name} is not done")),
        })
    }
}
