//! How far a sweep is, in words and as JSON.

use super::UnitsError;
use super::opened::{Status, Sweep};
use super::plan::Unit;
use std::path::PathBuf;

/// Failed units that are named in the text.
const SHOWN_MAX: usize = 20;

/// A status with the messages of what failed.
pub struct StatusReport<'a> {
    sweep: &'a Sweep,
    status: &'a Status,
    failed: Vec<(&'a Unit, String)>,
}

#[derive(serde::Serialize)]
struct Document<'a> {
    schema: u32,
    sweep: String,
    scenarios: &'a [String],
    units: usize,
    done: usize,
    missing: usize,
    failed: Vec<FailedUnit<'a>>,
    alarms: &'a [PathBuf],
}

#[derive(serde::Serialize)]
struct FailedUnit<'a> {
    #[serde(flatten)]
    unit: &'a Unit,
    error: &'a str,
}

impl<'a> StatusReport<'a> {
    /// Reads the messages of failed units.
    ///
    /// # Errors
    /// One cannot be read.
    pub fn new(sweep: &'a Sweep, status: &'a Status) -> Result<Self, UnitsError> {
        let mut failed = Vec::new();
        for index in &status.failed {
            let unit = &status.units[*index];
            failed.extend(sweep.failure(unit)?.map(|message| (unit, message)));
        }
        Ok(Self { sweep, status, failed })
    }

    fn n_missing(&self) -> usize {
        self.status.units.len() - self.status.n_done() - self.status.failed.len()
    }

    /// Lines for people.
    pub fn text(&self) -> String {
        let (sweep, status) = (self.sweep, self.status);
        let (n, done, failed) = (status.units.len(), status.n_done(), status.failed.len());
        let of = sweep.asked().scenarios.join(", ");
        let mut text = format!("sweep {} of {of}\n", sweep.id());
        text += &format!("{n} units: {done} done, {failed} failed, {} missing\n", self.n_missing());
        for (unit, message) in self.failed.iter().take(SHOWN_MAX) {
            text += &format!("failed: {}: {message}\n", unit.words());
        }
        if failed > SHOWN_MAX {
            text += &format!("and {} more; --format json names all\n", failed - SHOWN_MAX);
        }
        for file in &status.alarms {
            text += &format!("{}\n", sweep.store.alarm(file));
        }
        text
    }

    /// Everything, schema version 1.
    pub fn json(&self) -> String {
        let document = Document {
            schema: 1,
            sweep: self.sweep.id(),
            scenarios: &self.sweep.asked().scenarios,
            units: self.status.units.len(),
            done: self.status.n_done(),
            missing: self.n_missing(),
            failed: self.failed.iter().map(|(unit, error)| FailedUnit { unit, error }).collect(),
            alarms: &self.status.alarms,
        };
        serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
    }
}
