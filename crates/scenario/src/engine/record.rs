//! The observers behind `schedlab report`: a run is recorded once, for all that a page shows.

mod over_time;
mod signals;
mod slices;
mod sums;

use super::ledger::Ledger;
use super::run_watched;
use crate::experiment::Experiment;
use crate::explain::knobs;
use crate::output::{RunError, guarded};
use crate::recorded::{Keep, Recorded};
use crate::run::{Failure, Observer, side_by_side};
use crate::run_spec::RunSpec;
use over_time::LoadWatcher;
use signals::SignalWatcher;
use slices::SliceWatcher;
use sums::SumWatcher;

impl RunSpec {
    /// Runs the simulation and records what it looks like.
    ///
    /// # Errors
    /// The run fails.
    pub fn record(&self, keep: Keep, progress: &dyn Fn(f64)) -> Result<Recorded, RunError> {
        let n_cpus = self.machine.n_cpus();
        let over_time = (LoadWatcher::new(n_cpus), SignalWatcher::new(n_cpus, keep.signals));
        let turns = (SliceWatcher::new(n_cpus, keep), over_time);
        let sums = (SumWatcher::new(&self.machine), Ledger::new(&self.machine));
        let mut watch = (turns, sums);
        let output = guarded(|| run_watched(self, &mut watch, progress))?;
        let ((slices, (load, signals)), (sums, ledger)) = watch;
        let mut explanation = ledger.result;
        for rule in &mut explanation.rules {
            rule.knob = knobs::left(self, &rule.knob);
        }
        Ok(Recorded {
            output,
            measured_from_ns: sums.measured_from_ns,
            end_ns: sums.end_ns,
            timeline: slices.result(),
            over_time: load.result(sums.end_ns),
            wakeups: sums.wakeups(),
            moves: sums.moves,
            sites: sums.sites,
            explanation,
            signals: signals.result(sums.end_ns),
        })
    }
}

impl Experiment {
    /// Records one seed of every variant, on `jobs` threads.
    ///
    /// # Errors
    /// The failure of the first variant that fails.
    pub fn record(
        &self,
        seed: u64,
        keep: Keep,
        jobs: usize,
        observer: &dyn Observer,
    ) -> Result<Vec<Recorded>, Failure> {
        let specs: Vec<RunSpec> = self.variants.iter().map(|v| self.spec(v, seed)).collect();
        side_by_side(&specs, jobs, observer, |spec, progress| spec.record(keep, progress))
    }
}

#[cfg(test)]
mod tests;
