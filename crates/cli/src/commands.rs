//! One file per command.

pub mod bpf;
pub mod check;
pub mod compare;
pub mod explain;
pub mod fidelity;
pub mod generate;
pub mod init;
pub mod list;
pub mod profile;
pub mod replay;
pub mod report;
pub mod run;
pub mod schedstat;
pub mod sweep;
pub mod topology;
pub mod trace;
pub mod wq;

use crate::args::{OneRun, STDIN, Sets};
use crate::output::{Stop, remark};
use crate::progress::Bar;
use ::report::OneRun as OneRunReport;
use scenario::{Changes, Experiment, Faults, Observer, RunError, RunSpec, Study, Variant, nearest};
use std::path::{Path, PathBuf};

/// Standard input can be read once only.
fn stdin_at_most_once(paths: &[PathBuf]) -> Result<(), Stop> {
    match paths.iter().filter(|path| *path == Path::new(STDIN)).count() {
        0 | 1 => Ok(()),
        _ => Err(Stop::BadInput("standard input (`-`) is given twice".into())),
    }
}

/// Loads all scenarios, each with these changes, or gives the faults of all of them.
fn load_all(paths: &[PathBuf], set: &Sets, quiet: bool) -> Result<Vec<Study>, Stop> {
    stdin_at_most_once(paths)?;
    let mut studies = Vec::new();
    let mut faults = Faults::default();
    let machines = set.machines();
    let changes = Changes { sets: &set.sets, machines: &machines };
    for path in paths {
        match scenario::load_study(path, changes) {
            Ok(study) => studies.push(study),
            Err(found) => faults.0.extend(found.0),
        }
    }
    if !faults.0.is_empty() {
        return Err(Stop::Faults(faults));
    }
    if !quiet {
        show_remarks(studies.iter().flat_map(Study::remarks));
    }
    Ok(studies)
}

/// Prints what people should know of scenarios, each remark once.
fn show_remarks<'a>(remarks: impl Iterator<Item = &'a String>) {
    let mut said: Vec<&String> = Vec::new();
    for text in remarks {
        if !said.contains(&text) {
            remark(text);
            said.push(text);
        }
    }
}

/// The scenario, variant and seed that one run is made of.
struct Chosen {
    experiment: Experiment,
    variant: Variant,
    seed: u64,
    quiet: bool,
}

impl Chosen {
    fn load(args: &OneRun) -> Result<Self, Stop> {
        let machines = args.set.machines();
        let changes = Changes { sets: &args.set.sets, machines: &machines };
        let experiment = scenario::load(&args.scenario, changes).map_err(Stop::Faults)?;
        if !args.quiet {
            show_remarks(experiment.remarks.iter());
        }
        let variant = choose(&experiment, args.variant.as_deref())?.clone();
        let seed = args.seed.unwrap_or(experiment.seeds[0]);
        Ok(Self { experiment, variant, seed, quiet: args.quiet })
    }

    /// Runs it by a function, with a progress bar.
    fn run<T, E>(&self, run: impl FnOnce(&RunSpec, &dyn Fn(f64)) -> Result<T, E>) -> Result<T, E> {
        let bar = Bar::new(&self.experiment.name, self.quiet);
        let spec = self.experiment.spec(&self.variant, self.seed);
        let done = run(&spec, &|share| bar.progress(share));
        bar.clear();
        done
    }

    /// The run as a report names it.
    fn described(&self) -> OneRunReport<'_> {
        let (experiment, variant, seed) = (&self.experiment, &self.variant.name, self.seed);
        OneRunReport { experiment, variant, seed }
    }

    /// The complaint that the run has failed.
    fn failed(&self, error: &RunError) -> Stop {
        let (name, variant, seed) = (&self.experiment.name, &self.variant.name, self.seed);
        Stop::RunFailed(format!("{name}: variant `{variant}`, seed {seed}: {error}"))
    }
}

/// The variant of that name, or the only one.
fn choose<'a>(experiment: &'a Experiment, name: Option<&str>) -> Result<&'a Variant, Stop> {
    match (name, experiment.variants.as_slice()) {
        (Some(name), variants) => {
            let found = variants.iter().find(|v| v.name == name);
            found.ok_or_else(|| no_such_variant(experiment, name))
        }
        (None, [only]) => Ok(only),
        (None, variants) => {
            let names: Vec<&str> = variants.iter().map(|v| v.name.as_str()).collect();
            let names = names.join(", ");
            Err(Stop::BadInput(format!("which variant? --variant NAME, one of: {names}")))
        }
    }
}

/// The complaint about a variant that a scenario does not have.
fn no_such_variant(experiment: &Experiment, name: &str) -> Stop {
    let known = || experiment.variants.iter().map(|v| v.name.as_str());
    let hint = match nearest(name, known()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("it has: {}", known().collect::<Vec<_>>().join(", ")),
    };
    let scenario = &experiment.name;
    Stop::BadInput(format!("scenario `{scenario}` has no variant `{name}`; {hint}"))
}

/// One name per file, there or not; none for devices, which take any number of writers.
fn place(file: &Path) -> Option<PathBuf> {
    match file.canonicalize() {
        Ok(found) => found.is_file().then_some(found),
        Err(_) => std::path::absolute(file).ok(),
    }
}
