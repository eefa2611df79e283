//! What a plan says: what was asked for, of which program, with which inputs; and its units.

use super::UnitsError;
use super::inputs::Inputs;
use scenario::{Changes, Study, digest};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Version of the format.
pub(super) const SCHEMA: u32 = 1;
/// The plan within its folder.
pub(super) const PLAN: &str = "sweep.json";
/// The list of units within the folder.
pub(super) const UNITS: &str = "units.csv";

/// What is to be run, as a command line says it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Asked {
    /// Scenarios: files, or names.
    pub scenarios: Vec<String>,
    /// `--set`.
    pub sets: Vec<String>,
    /// `--machine`.
    pub machines: Vec<String>,
    /// The same, with paths that are right in every directory.
    #[serde(default)]
    pub machine_files: Vec<String>,
    /// `--seeds`.
    pub seeds: Option<u64>,
    /// `--variant`.
    pub variants: Vec<String>,
}

impl Asked {
    /// All of its scenarios, with their files from the folder of a plan.
    pub(super) fn studies(&self, inputs: &Inputs) -> Result<Vec<Study>, UnitsError> {
        let load = |path: &String| self.study(inputs, path, None);
        self.scenarios.iter().map(load).collect()
    }

    /// One of its scenarios; only with these points, if some are named.
    pub(super) fn study(
        &self,
        inputs: &Inputs,
        path: &str,
        points: Option<&std::collections::BTreeSet<usize>>,
    ) -> Result<Study, UnitsError> {
        let study = scenario::load_study_of(inputs, Path::new(path), self.changes(), points);
        let mut study = study.map_err(UnitsError::Faults)?;
        if let Some(n) = self.seeds {
            study.set_seeds(n);
        }
        if !self.variants.is_empty() {
            study.keep_variants(&self.variants);
        }
        Ok(study)
    }

    /// What is other than the scenarios say.
    pub(super) fn changes(&self) -> Changes<'_> {
        Changes { sets: &self.sets, machines: &self.machine_files }
    }
}

/// The plan, as it is written.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Plan {
    pub schema: u32,
    pub tool: String,
    /// Digest of the program.
    pub program: String,
    pub asked: Asked,
    /// The names of its scenarios, in their order.
    pub names: Vec<String>,
    /// The files that the scenarios name, and the scenarios, by their paths: digests of their
    /// copies.
    pub inputs: BTreeMap<String, String>,
    pub n_units: usize,
    /// Digest of the list of units.
    pub units: String,
}

impl Plan {
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("its keys are text") + "\n"
    }

    /// Reads the plan of a folder.
    pub fn read(dir: &Path) -> Result<Self, UnitsError> {
        let path = dir.join(PLAN);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return Err(UnitsError::NoPlan(dir.to_path_buf()));
            }
            Err(e) => return Err(UnitsError::read(path, e)),
        };
        match serde_json::from_slice(&bytes) {
            Ok(Self { schema, tool, .. }) if schema != SCHEMA => {
                Err(UnitsError::damaged(path, format!("{tool} wrote it, in another format")))
            }
            Ok(plan) => Ok(plan),
            Err(e) => Err(UnitsError::damaged(path, e.to_string())),
        }
    }
}

/// A unit of work, as the list has it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Unit {
    /// Its place in the list, from 0.
    pub index: usize,
    /// Its name: the digest of all that decides its bytes.
    pub unit: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Which of the scenario's points, from 0.
    pub point: usize,
    /// That point in words; empty if there is only one.
    pub at: String,
    /// Name of the variant.
    pub variant: String,
    /// Seed.
    pub seed: u64,
}

impl Unit {
    /// Which run it is, in words.
    pub fn words(&self) -> String {
        let Self { scenario, at, variant, seed, .. } = self;
        let at = if at.is_empty() { String::new() } else { format!("{at}, ") };
        format!("{scenario}: {at}variant `{variant}`, seed {seed}")
    }
}

/// The list of units as text.
pub(super) fn list(units: &[Unit]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory cannot fail.
    units.iter().for_each(|unit| drop(writer.serialize(unit)));
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// Reads the list of units of a plan.
pub(super) fn read_list(dir: &Path, plan: &Plan) -> Result<Vec<Unit>, UnitsError> {
    let path: PathBuf = dir.join(UNITS);
    let text = std::fs::read_to_string(&path).map_err(|e| UnitsError::read(&path, e))?;
    if digest([text.as_str()]) != plan.units {
        return Err(UnitsError::damaged(path, "it is not the list that the plan was made with"));
    }
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let units: Result<Vec<Unit>, _> = reader.deserialize().collect();
    units.map_err(|e| UnitsError::damaged(path, e.to_string()))
}
