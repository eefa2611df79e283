//! Reading files: a scenario with what it names, or a machine.
//!
//! With `dump`, the only place of this crate that touches the file system.

mod machine;
mod objects;
mod recording;
mod source_files;
mod study;
mod text;
mod workload;

pub use source_files::{Disk, Files};
pub(crate) use text::{open_text, read_text_to};

use crate::experiment::Experiment;
use crate::glue::{self, Machine};
use crate::study::Study;
use crate::tune::{Coordinate, Tune};
use crate::{kind, shipped};
use input::{Fault, Faults, Source};
use machine::{machine_of, recorded_machine};
use recording::is_recording;
pub(crate) use recording::{is_perf_data, open_recording, recording_format};
use std::collections::BTreeSet;
use std::path::Path;
use text::text_of;

/// What is to be other than a scenario says.
#[derive(Clone, Copy, Default, Debug)]
pub struct Changes<'a> {
    /// `KEY=VALUE`: values in place of its own; a key that is swept keeps that value only.
    pub sets: &'a [String],
    /// Machines to run on instead of its own: files, names or descriptions. If there are several,
    /// each is a point of a sweep. Published rows are of the scenario's own machine.
    pub machines: &'a [String],
}

impl<'a> From<&'a [String]> for Changes<'a> {
    fn from(sets: &'a [String]) -> Self {
        Self { sets, machines: &[] }
    }
}

impl<'a> From<&'a Vec<String>> for Changes<'a> {
    fn from(sets: &'a Vec<String>) -> Self {
        Self { sets, machines: &[] }
    }
}

impl<'a, const N: usize> From<&'a [String; N]> for Changes<'a> {
    fn from(sets: &'a [String; N]) -> Self {
        Self { sets, machines: &[] }
    }
}

/// Reads and checks a scenario file and its machine, changed as is asked; so the point of a sweep
/// is chosen, too.
///
/// # Errors
/// All faults of the file and of the changes, or that it is a sweep of several points.
pub fn load<'a>(path: &Path, changes: impl Into<Changes<'a>>) -> Result<Experiment, Faults> {
    let experiment = the_only(path, load_study(path, changes)?)?;
    let Some(find) = &experiment.find else {
        return Ok(experiment);
    };
    let message = format!("this scenario searches `{}`; one value is needed here", find.key);
    let help = format!("choose it: --set {}={}", find.key, find.range[0]);
    Err(Fault::of_file(path.display().to_string(), message).help(help).into())
}

/// What a file describes.
#[derive(Clone, Debug)]
pub enum Described {
    /// An experiment, or a sweep of them.
    Scenario(Box<Study>),
    /// A machine alone.
    Machine(Box<Machine>),
}

/// Reads and checks a file of either kind.
pub fn load_any(path: &Path) -> Result<Described, Faults> {
    let (place, remark) = shipped::find_scenario(&Disk, path);
    let text = scenario_text(&Disk, path, &place, "file")?;
    let is_machine = input::parse(&text).is_ok_and(|doc| kind::is_machine(doc.get_ref()));
    if is_machine {
        let (machine, _) = machine_of(path, text)?;
        return Ok(Described::Machine(Box::new(machine)));
    }
    let study = remarked(load_study_str(&place, text, Changes::default()), remark)?;
    Ok(Described::Scenario(Box::new(study)))
}

/// Checks the text of a scenario; `path` names it in messages and finds the machine file.
///
/// # Errors
/// All faults of the text. A sweep is one, too: it is more than one experiment.
pub fn load_str(path: &Path, text: String) -> Result<Experiment, Faults> {
    the_only(path, load_study_str(path, text, Changes::default())?)
}

/// Reads and checks a scenario file, or the scenario of that name that comes with the program,
/// changed as is asked.
///
/// # Errors
/// All faults of the file and of the changes.
pub fn load_study<'a>(path: &Path, changes: impl Into<Changes<'a>>) -> Result<Study, Faults> {
    load_study_of(&Disk, path, changes.into(), None)
}

/// The same with files from elsewhere. If `points` are named, by their indexes, only these are read
/// and are in the study.
///
/// # Errors
/// All faults of the file and of the changes.
pub fn load_study_of(
    files: &dyn Files,
    path: &Path,
    changes: Changes<'_>,
    points: Option<&BTreeSet<usize>>,
) -> Result<Study, Faults> {
    let (place, remark) = shipped::find_scenario(files, path);
    let text = scenario_text(files, path, &place, "scenario")?;
    let asked = study::Asked { files, path: &place, changes, points, is_tuned: false };
    remarked(study_of_text(&asked, text), remark)
}

/// Reads a scenario for a search: at a point of it, or as it is. It has the variant that is tuned
/// only, and no published rows.
///
/// # Errors
/// The values of the point do not go together; or the file has changed.
pub fn load_tuned(
    path: &Path,
    changes: Changes<'_>,
    tune: &Tune,
    point: Option<&[Coordinate]>,
) -> Result<Experiment, Faults> {
    let (place, _) = shipped::find_scenario(&Disk, path);
    let text = scenario_text(&Disk, path, &place, "scenario")?;
    let mut sets = changes.sets.to_vec();
    sets.extend(point.map_or_else(Vec::new, |point| tune.sets(point)));
    let changes = Changes { sets: &sets, machines: changes.machines };
    let asked = study::Asked { files: &Disk, path: &place, changes, points: None, is_tuned: true };
    let mut experiment = the_only(path, study_of_text(&asked, text)?)?;
    experiment.variants.retain(|variant| variant.name == tune.variant);
    experiment.variants.iter_mut().for_each(|variant| variant.baseline = true);
    experiment.published.clear();
    experiment.expect.clear();
    Ok(experiment)
}

/// The text of a scenario that was asked for by `path` and is at `place`.
fn scenario_text(
    files: &dyn Files,
    path: &Path,
    place: &Path,
    what: &str,
) -> Result<String, Faults> {
    text_of(files, place, what).map_err(|mut faults| {
        let absent = faults.0.first_mut().filter(|fault| fault.help.is_none() && !path.exists());
        if let Some(fault) = absent {
            fault.help = shipped::scenario_hint(path);
        }
        faults
    })
}

/// A study with one more remark; or its faults, of which that may be the cause.
fn remarked(found: Result<Study, Faults>, remark: Option<String>) -> Result<Study, Faults> {
    let add = |mut study: Study| {
        study.points.iter_mut().for_each(|point| point.experiment.remarks.extend(remark.clone()));
        study
    };
    found.map(add).map_err(|mut faults| {
        if let Some(fault) = faults.0.first_mut().filter(|fault| fault.help.is_none()) {
            fault.help = remark.clone();
        }
        faults
    })
}

/// Checks the text of a scenario, as [`load_study`] does a file's.
///
/// # Errors
/// All faults of the text and of the changes.
pub fn load_study_str<'a>(
    path: &Path,
    text: String,
    changes: impl Into<Changes<'a>>,
) -> Result<Study, Faults> {
    let changes = changes.into();
    let is_tuned = false;
    study_of_text(&study::Asked { files: &Disk, path, changes, points: None, is_tuned }, text)
}

fn study_of_text(asked: &study::Asked<'_>, text: String) -> Result<Study, Faults> {
    let source = Source::new(asked.path.display().to_string(), text);
    if source.text.trim().is_empty() {
        return Err(Fault::of_file(&source.path, "the scenario is empty").into());
    }
    let doc =
        input::parse(&source.text).map_err(|faults| Faults::of(with_hints(faults), &source))?;
    if let Some(help) = kind::machine_for_scenario(doc.get_ref(), &source.path) {
        let fault = Fault::of_file(&source.path, "this looks like a machine file");
        return Err(fault.help(help).into());
    }
    study::study(asked, &source, doc.get_ref())
}

/// The experiment of a study that is one.
fn the_only(path: &Path, study: Study) -> Result<Experiment, Faults> {
    let mut points = study.points;
    if let [_] = points[..] {
        return Ok(points.remove(0).experiment);
    }
    let first = points[0].experiment.at.replace(", ", " --set ");
    let message =
        format!("this scenario is a sweep of {} points; one is needed here", points.len());
    let fault = Fault::of_file(path.display().to_string(), message);
    Err(fault.help(format!("choose one, such as --set {first}")).into())
}

/// Reads and checks a machine file by itself, or the machine of that name that comes with the
/// program. What is no path but one of hwloc's synthetic descriptions is a machine, too.
pub fn load_machine_file(path: &Path) -> Result<Machine, Faults> {
    let shown = path.display().to_string();
    if glue::is_synthetic(&shown) && !path.exists() {
        let source = Source::new("the description", shown);
        let machine = glue::synthetic_machine(&source.text);
        return machine.map_err(|faults| Faults::of(faults, &source));
    }
    let (place, _) = shipped::find_machine(&Disk, path, path);
    if is_recording(&Disk, &place) {
        return machine_of(&place, recorded_machine(&Disk, &place)?).map(|(machine, _)| machine);
    }
    let text = text_of(&Disk, &place, "machine").map_err(|mut faults| {
        let absent = faults.0.first_mut().filter(|fault| fault.help.is_none() && !path.exists());
        if let Some(fault) = absent {
            fault.help = shipped::machine_hint(path);
        }
        faults
    })?;
    machine_of(&place, text).map(|(machine, _)| machine)
}

/// The one about `machine` needs to be told what else there is.
fn with_hints(faults: Vec<Fault>) -> Vec<Fault> {
    let hint = "give the path of a machine file or a [machine] table, not both";
    let twice = |fault: &Fault| fault.message == "`machine` is given twice";
    faults.into_iter().map(|f| if twice(&f) { f.help(hint) } else { f }).collect()
}
