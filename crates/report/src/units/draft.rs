//! Planning: scenarios are read, with all their files copied; then their units are listed.

use super::inputs::{Copying, Inputs};
use super::opened::{INPUTS, Sweep};
use super::plan::{self, Asked, PLAN, Plan, UNITS, Unit};
use super::{UnitsError, opened};
use crate::store::{Names, Published, StoreError, publish};
use crate::{TOOL, out};
use scenario::{Faults, Study, digest};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::RwLockReadGuard;

/// Scenarios that were read for a plan, which is not written yet.
pub struct Draft {
    /// The scenarios as they are without `seeds` and `variants`.
    pub studies: Vec<Study>,
    dir: PathBuf,
    asked: Asked,
    inputs: BTreeMap<String, String>,
    /// The copies, until they are moved.
    copies: tempfile::TempDir,
    _folder: Folder,
    /// The copies are removed before the program is ended.
    _guard: RwLockReadGuard<'static, ()>,
}

/// A folder that vanishes again if nothing has come into it.
struct Folder {
    dir: PathBuf,
    was_there: bool,
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.was_there {
            let _ = std::fs::remove_dir(&self.dir);
        }
    }
}

impl Draft {
    /// Reads scenarios for a plan that is to be in `dir`, which gets a temporary folder until then.
    ///
    /// # Errors
    /// All faults of the scenarios, or no place for the copies.
    pub fn read(dir: &Path, mut asked: Asked) -> Result<Self, UnitsError> {
        let _folder = Folder { dir: dir.to_path_buf(), was_there: dir.exists() };
        out::prepare(dir)?;
        let _guard = out::writing();
        let copies = tempfile::Builder::new().prefix(out::TEMPORARY).tempdir_in(dir);
        let copies = copies.map_err(|e| UnitsError::write(dir, e.kind().into()))?;
        asked.machine_files = asked.machines.iter().map(|name| from_anywhere(name)).collect();
        let copying = Copying::to(copies.path());
        let (mut studies, mut faults) = (Vec::new(), Faults::default());
        for path in &asked.scenarios {
            match scenario::load_study_of(&copying, Path::new(path), asked.changes(), None) {
                Ok(study) => studies.push(study),
                Err(found) => faults.0.extend(found.0),
            }
        }
        if !faults.0.is_empty() {
            return Err(UnitsError::Faults(faults));
        }
        let mut names = HashSet::new();
        if let Some(twice) = studies.iter().find(|study| !names.insert(study.name.as_str())) {
            return Err(UnitsError::SameName(twice.name.clone()));
        }
        let named = |(path, digest): (PathBuf, String)| match path.to_str() {
            Some(text) => Ok((text.to_string(), digest)),
            None => Err(UnitsError::NotText(path)),
        };
        let inputs = copying.copied().into_iter().map(named).collect::<Result<_, _>>()?;
        Ok(Self { studies, dir: dir.to_path_buf(), asked, inputs, copies, _folder, _guard })
    }

    /// Writes the plan, for the program with that digest; true if the same one was there.
    ///
    /// # Errors
    /// The folder has another plan, or cannot be written to.
    pub fn write(mut self, program: &str) -> Result<(Sweep, bool), UnitsError> {
        // Before anything is computed: the folder may be in use.
        let there = self.there(program)?;
        let names = Names::new(program.to_string());
        let inputs = Inputs::new(self.copies.path().to_path_buf(), self.inputs.clone());
        // Read anew, from nothing but the copies: so it will be read by whoever does a unit.
        self.studies = self.asked.studies(&inputs)?;
        let units = units(&self.studies, &names);
        let list = plan::list(&units);
        let plan = Plan {
            schema: plan::SCHEMA,
            tool: TOOL.to_string(),
            program: program.to_string(),
            asked: self.asked.clone(),
            names: self.studies.iter().map(|study| study.name.clone()).collect(),
            inputs: self.inputs.clone(),
            n_units: units.len(),
            units: digest([list.as_str()]),
        };
        match there {
            Some(there) if there != plan => return Err(self.other(&there)),
            Some(_) => {}
            None => self.write_new(&plan, &list)?,
        }
        Ok((opened::opened(&self.dir, plan, names), there.is_some()))
    }

    /// The plan that is there.
    fn there(&self, program: &str) -> Result<Option<Plan>, UnitsError> {
        let plan = match Plan::read(&self.dir) {
            Err(UnitsError::NoPlan(_)) => return Ok(None),
            plan => plan?,
        };
        match plan.asked == self.asked && plan.inputs == self.inputs {
            false => Err(self.other(&plan)),
            true => opened::must_be_of(&self.dir, &plan, program).map(|()| Some(plan)),
        }
    }

    fn other(&self, there: &Plan) -> UnitsError {
        let scenarios = there.asked.scenarios.join(", ");
        UnitsError::OtherPlan { dir: self.dir.clone(), scenarios }
    }

    fn write_new(&self, plan: &Plan, list: &str) -> Result<(), UnitsError> {
        let inputs = self.dir.join(INPUTS);
        std::fs::create_dir_all(&inputs).map_err(|e| UnitsError::write(&inputs, e))?;
        for name in plan.inputs.values() {
            let (from, to) = (self.copies.path().join(name), inputs.join(name));
            // Two paths may lead to the same content; and another planner may have been here.
            if !to.exists() {
                std::fs::rename(&from, &to).map_err(|e| UnitsError::write(&to, e))?;
            }
        }
        // Without a plan beside it a list is what a killed planner has left.
        let list_path = self.dir.join(UNITS);
        let staged = out::stage(&self.dir, list.as_bytes());
        let written = staged.and_then(|file| file.persist(&list_path).map_err(|e| e.error));
        written.map_err(|e| UnitsError::write(&list_path, e))?;
        let path = self.dir.join(PLAN);
        match publish(&path, plan.text().as_bytes()) {
            Ok(Published::First | Published::Same) => Ok(()),
            Ok(Published::Other(_)) => Err(self.other(&Plan::read(&self.dir)?)),
            Err(source) => Err(StoreError::Write { path, source }.into()),
        }
    }
}

/// The units of scenarios, each once: runs that differ in nothing but names are one unit.
fn units(studies: &[Study], names: &Names) -> Vec<Unit> {
    let (mut units, mut known) = (Vec::new(), HashSet::new());
    for study in studies {
        for (point, experiment) in study.points.iter().map(|p| &p.experiment).enumerate() {
            for variant in &experiment.variants {
                for &seed in &experiment.seeds {
                    let unit = names.name(&experiment.spec(variant, seed));
                    if !known.insert(unit.clone()) {
                        continue;
                    }
                    let index = units.len();
                    let (scenario, at) = (study.name.clone(), experiment.at.clone());
                    let variant = variant.name.clone();
                    units.push(Unit { index, unit, scenario, point, at, variant, seed });
                }
            }
        }
    }
    units
}

/// A machine's file by a path that is right in every directory.
fn from_anywhere(name: &str) -> String {
    match std::path::absolute(name) {
        Ok(path) if path.is_file() => path.to_str().map_or(name.to_string(), String::from),
        _ => name.to_string(),
    }
}
