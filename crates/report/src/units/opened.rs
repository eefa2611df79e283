//! A sweep whose plan is there.

use super::UnitsError;
use super::inputs::Inputs;
use super::plan::{self, Asked, PLAN, Plan, Unit};
use crate::store::{Names, Store};
use scenario::{RunSpec, Study, digest};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The copies of files within the folder of a plan.
pub(super) const INPUTS: &str = "inputs";

/// A planned sweep in its folder.
pub struct Sweep {
    /// Its finished runs.
    pub store: Store,
    /// How they are named.
    pub names: Names,
    dir: PathBuf,
    plan: Plan,
    inputs: Inputs,
}

/// How far a sweep is.
pub struct Status {
    /// All units.
    pub units: Vec<Unit>,
    /// For each of them, if it is done.
    pub done: Vec<bool>,
    /// Indexes of units that have failed and are not done.
    pub failed: Vec<usize>,
    /// Files of results that differ from others of the same run.
    pub alarms: Vec<PathBuf>,
}

impl Status {
    /// Units that are done.
    pub fn n_done(&self) -> usize {
        self.done.iter().filter(|done| **done).count()
    }

    /// Units that are neither done nor have failed, in order.
    pub fn missing(&self) -> Vec<&Unit> {
        let failed: BTreeSet<usize> = self.failed.iter().copied().collect();
        let is_missing = |unit: &&Unit| !self.done[unit.index] && !failed.contains(&unit.index);
        self.units.iter().filter(is_missing).collect()
    }
}

pub(super) fn opened(dir: &Path, plan: Plan, names: Names) -> Sweep {
    let inputs = Inputs::new(dir.join(INPUTS), plan.inputs.clone());
    Sweep { store: Store::new(dir), names, dir: dir.to_path_buf(), plan, inputs }
}

/// Refuses a plan of another program.
pub(super) fn must_be_of(dir: &Path, plan: &Plan, program: &str) -> Result<(), UnitsError> {
    if plan.program == program {
        return Ok(());
    }
    let short = |digest: &str| digest.chars().take(8).collect();
    let (planned, own) = (short(&plan.program), short(program));
    Err(UnitsError::OtherProgram { dir: dir.to_path_buf(), planned, own })
}

impl Sweep {
    /// Opens the sweep of a folder, for the program with that digest.
    ///
    /// # Errors
    /// There is none, it is damaged, or another program has planned it.
    pub fn open(dir: &Path, program: &str) -> Result<Self, UnitsError> {
        let plan = Plan::read(dir)?;
        must_be_of(dir, &plan, program)?;
        Ok(opened(dir, plan, Names::new(program.to_string())))
    }

    /// Its folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What was asked for.
    pub fn asked(&self) -> &Asked {
        &self.plan.asked
    }

    /// Number of its units.
    pub fn n_units(&self) -> usize {
        self.plan.n_units
    }

    /// What tells it from other sweeps: 16 hexadecimal digits.
    pub fn id(&self) -> String {
        digest([self.plan.text().as_str()])[..16].to_string()
    }

    /// Its units, in order.
    ///
    /// # Errors
    /// The list is damaged.
    pub fn units(&self) -> Result<Vec<Unit>, UnitsError> {
        plan::read_list(&self.dir, &self.plan)
    }

    /// Its scenarios, as they were when it was planned.
    ///
    /// # Errors
    /// A copy is damaged.
    pub fn studies(&self) -> Result<Vec<Study>, UnitsError> {
        self.plan.asked.studies(&self.inputs)
    }

    /// How far it is, by the names in its folders.
    ///
    /// # Errors
    /// The list of units is damaged, or a folder cannot be read.
    pub fn status(&self) -> Result<Status, UnitsError> {
        let units = self.units()?;
        let known = self.store.known()?;
        let done: Vec<bool> = units.iter().map(|unit| known.done.contains(&unit.unit)).collect();
        let has_failed = |unit: &&Unit| !done[unit.index] && known.failed.contains(&unit.unit);
        let failed = units.iter().filter(has_failed).map(|unit| unit.index).collect();
        Ok(Status { units, done, failed, alarms: known.alarms })
    }

    /// Fails unless each unit is done or has failed, and nothing is an alarm.
    ///
    /// # Errors
    /// What is missing, or the alarm.
    pub fn must_be_complete(&self) -> Result<(), UnitsError> {
        let status = self.status()?;
        if let Some(alarm) = status.alarms.first() {
            return Err(self.store.alarm(alarm).into());
        }
        match status.missing().len() {
            0 => Ok(()),
            missing => {
                let (dir, units) = (self.dir.clone(), status.units.len());
                Err(UnitsError::Missing { dir, missing, units })
            }
        }
    }

    /// What it takes to run these units, in their order. Only their points are read.
    ///
    /// # Errors
    /// A copy of a file is damaged, or the units are of another sweep.
    pub fn specs(&self, units: &[&Unit]) -> Result<Vec<RunSpec>, UnitsError> {
        let mut wanted: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for unit in units {
            wanted.entry(&unit.scenario).or_default().insert(unit.point);
        }
        let mut studies = BTreeMap::new();
        for (path, name) in self.plan.asked.scenarios.iter().zip(&self.plan.names) {
            let Some(points) = wanted.get(name.as_str()) else {
                continue;
            };
            let study = self.plan.asked.study(&self.inputs, path, Some(points))?;
            let places: BTreeMap<usize, usize> =
                points.iter().enumerate().map(|(place, point)| (*point, place)).collect();
            studies.insert(name.as_str(), (study, places));
        }
        let spec = |unit: &&Unit| -> Option<RunSpec> {
            let (study, places) = studies.get(unit.scenario.as_str())?;
            let experiment = &study.points.get(*places.get(&unit.point)?)?.experiment;
            let variant = experiment.variants.iter().find(|v| v.name == unit.variant)?;
            let spec = experiment.spec(variant, unit.seed);
            (self.names.name(&spec) == unit.unit).then_some(spec)
        };
        let specs: Option<Vec<RunSpec>> = units.iter().map(spec).collect();
        let what = "its scenarios do not give the units that it lists";
        specs.ok_or_else(|| UnitsError::damaged(self.dir.join(PLAN), what))
    }

    /// The units of these names.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn named<'a>(
        &self,
        units: &'a [Unit],
        names: &[String],
    ) -> Result<Vec<&'a Unit>, UnitsError> {
        let by_name: BTreeMap<&str, &Unit> =
            units.iter().map(|unit| (unit.unit.as_str(), unit)).collect();
        let find = |name: &String| {
            // The first digits are enough, as with commits.
            let mut from = by_name.range(name.as_str()..).map(|(_, unit)| *unit);
            let of_name = |unit: &&Unit| !name.is_empty() && unit.unit.starts_with(name.as_str());
            let hint = match (from.next().filter(of_name), from.next().filter(of_name)) {
                (Some(unit), None) => return Ok(unit),
                (Some(_), Some(_)) => "more than one begins so".to_string(),
                _ => format!("{} lists them", self.dir.join(plan::UNITS).display()),
            };
            Err(UnitsError::NoSuchUnit { name: name.clone(), hint })
        };
        names.iter().map(find).collect()
    }
}
