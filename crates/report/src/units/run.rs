//! Doing units: what is not there is computed and published, whatever becomes of others.

use super::UnitsError;
use super::opened::Sweep;
use super::plan::Unit;
use crate::store::StoreError;
use scenario::{Executor, Observer, RunError, RunSpec, attempt, for_each_run};
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How units are done.
pub struct HowToRun<'a> {
    /// Who computes.
    pub executor: &'a dyn Executor,
    /// Computed at a time.
    pub jobs: usize,
    /// Who is told how far it is.
    pub observer: &'a dyn Observer,
    /// Units that have failed are tried again.
    pub retry_failed: bool,
    /// Units that are there are computed, too, and compared.
    pub again: bool,
}

/// What doing units came to.
#[derive(Debug, Default)]
pub struct Ran {
    /// Units that were computed here.
    pub computed: usize,
    /// Units that somebody had done.
    pub there: usize,
    /// Units that have failed, here or before.
    pub failed: Vec<(Unit, String)>,
    /// Damaged files that were set aside.
    pub damaged: Vec<PathBuf>,
}

impl Sweep {
    /// Does some units. One that fails is kept as such, and others go on.
    ///
    /// # Errors
    /// Results cannot be written, or differ from others of the same unit.
    pub fn run(&self, units: &[&Unit], how: &HowToRun<'_>) -> Result<Ran, UnitsError> {
        self.store.prepare()?;
        let mut ran = Ran::default();
        let mut missing = Vec::new();
        for unit in units {
            if self.is_to_be_done(unit, how, &mut ran)? {
                missing.push(*unit);
            }
        }
        // Others may be doing the same units: each begins elsewhere.
        let order = RandomState::new();
        missing.sort_by_cached_key(|unit| order.hash_one(&unit.unit));
        let counts = self.compute(&missing, how)?;
        ran.computed += counts.computed.into_inner();
        ran.there += counts.there.into_inner();
        for unit in units {
            if let Some(message) = self.failure(unit)? {
                ran.failed.push(((*unit).clone(), message));
            }
        }
        Ok(ran)
    }

    /// True if a unit is neither there nor known to fail.
    fn is_to_be_done(
        &self,
        unit: &Unit,
        how: &HowToRun<'_>,
        ran: &mut Ran,
    ) -> Result<bool, UnitsError> {
        if how.again {
            return Ok(true);
        }
        match self.store.get(&unit.unit) {
            Ok(Some(_)) => {
                ran.there += 1;
                return Ok(false);
            }
            Ok(None) => {}
            Err(StoreError::Damaged { .. }) => {
                ran.damaged.push(self.store.set_aside(&unit.unit)?);
            }
            Err(error) => return Err(error.into()),
        }
        if how.retry_failed {
            self.store.forget_failure(&unit.unit)?;
            return Ok(true);
        }
        Ok(self.store.failure(&unit.unit)?.is_none())
    }

    fn compute(&self, units: &[&Unit], how: &HowToRun<'_>) -> Result<Counts, UnitsError> {
        let counts = Counts::default();
        // An alarm is told as itself, and not as that of a run.
        let alarm = Mutex::new(None);
        let each = |spec: &RunSpec, progress: &dyn Fn(f64)| {
            let name = self.names.name(spec);
            if !how.again && self.store.has(&name) {
                counts.there.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            }
            let kept = match attempt(how.executor, spec, progress) {
                Ok(output) => {
                    counts.computed.fetch_add(1, Ordering::Relaxed);
                    self.store.put(&name, &output)
                }
                // Not the unit's fault: another attempt may succeed.
                Err(error @ (RunError::NotKept(_) | RunError::Threads(_))) => return Err(error),
                Err(error) => self.store.put_failed(&name, &error.to_string()),
            };
            kept.map_err(|error| {
                let words = error.to_string();
                alarm.lock().map(|mut alarm| *alarm = Some(error)).unwrap_or_default();
                RunError::NotKept(words)
            })
        };
        let done = for_each_run(&self.specs(units)?, how.jobs, how.observer, each);
        let alarm = alarm.into_inner().ok().flatten();
        match (done, alarm) {
            (Ok(()), _) => Ok(counts),
            (Err(_), Some(error)) => Err(error.into()),
            (Err(failure), None) => Err(UnitsError::Stopped(failure.error.to_string())),
        }
    }

    /// Why a unit has failed; `None` if it is done, or nobody knows.
    ///
    /// # Errors
    /// Its message cannot be read.
    pub fn failure(&self, unit: &Unit) -> Result<Option<String>, UnitsError> {
        match self.store.has(&unit.unit) {
            true => Ok(None),
            false => Ok(self.store.failure(&unit.unit)?),
        }
    }
}

#[derive(Default)]
struct Counts {
    computed: AtomicUsize,
    there: AtomicUsize,
}
