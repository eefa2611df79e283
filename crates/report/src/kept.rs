//! Finished runs, kept beside the results: if a sweep was stopped, running it again goes on where
//! it was.
//!
//! The runs are in a [`Store`], as those of `schedlab sweep` are. After a new value in a sweep,
//! another title or more seeds only the new runs are made; after a change of the program, all.

use crate::store::{Names, Store, StoreError};
use scenario::{Executor, RunError, RunOutput, RunSpec};
use std::path::Path;

/// An executor that runs only what is not kept yet, and keeps it.
pub struct Kept<'a> {
    inner: &'a dyn Executor,
    store: Store,
    names: Names,
}

impl<'a> Kept<'a> {
    /// Keeps runs in the store of `dir`, which is made if it is missing. `program` is the digest of
    /// the program that runs them.
    ///
    /// # Errors
    /// The directory cannot be made or written to.
    pub fn new(inner: &'a dyn Executor, dir: &Path, program: String) -> Result<Self, StoreError> {
        let store = Store::new(dir);
        store.prepare()?;
        store.remove_remains();
        Ok(Self { inner, store, names: Names::new(program) })
    }
}

impl Executor for Kept<'_> {
    fn run(&self, spec: &RunSpec, progress: &dyn Fn(f64)) -> Result<RunOutput, RunError> {
        let name = self.names.name(spec);
        // What cannot be read is computed again: a disk may lose what was written to it.
        if let Ok(Some(output)) = self.store.get(&name) {
            return Ok(output);
        }
        let output = self.inner.run(spec, progress)?;
        let kept = self.store.put(&name, &output);
        kept.map_err(|error| RunError::NotKept(error.to_string()))?;
        Ok(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::experiment;
    use scenario::{MockExecutor, Silent};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Variants that differ by more than their names.
    fn two(seeds: u64) -> scenario::Experiment {
        let mut two = experiment(seeds, &["off", "on"]);
        two.variants[1].features.push(scenario::Feature { name: "SWQUEUE", on: true });
        two
    }

    #[derive(Default)]
    struct Counting(AtomicUsize);

    impl Executor for Counting {
        fn run(&self, spec: &RunSpec, progress: &dyn Fn(f64)) -> Result<RunOutput, RunError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            MockExecutor.run(spec, progress)
        }
    }

    #[test]
    fn a_run_that_is_kept_is_not_computed_again() {
        let dir = tempfile::tempdir().unwrap();
        let counting = Counting::default();
        let run = |seeds: u64, program: &str| {
            let kept = Kept::new(&counting, dir.path(), program.into()).unwrap();
            let results = two(seeds).run(&kept, 2, &Silent).unwrap();
            (results, counting.0.swap(0, Ordering::Relaxed))
        };
        let fresh = two(3).run(&MockExecutor, 1, &Silent).unwrap();
        assert_eq!(run(3, "a"), (fresh.clone(), 6));
        assert_eq!(run(3, "a"), (fresh.clone(), 0), "all kept");
        assert_eq!(run(5, "a").1, 4, "two more seeds");
        assert_eq!(run(3, "b"), (fresh.clone(), 6), "another program");
        let one = std::fs::read_dir(dir.path().join("runs")).unwrap().next().unwrap().unwrap();
        let text = std::fs::read_to_string(one.path()).unwrap();
        std::fs::write(one.path(), &text[..text.len() / 2]).unwrap();
        let (a, b) = (run(5, "a"), run(3, "b"));
        assert_eq!(a.1 + b.1, 1, "the one that was cut");
        assert_eq!(b.0, fresh);
    }
}
