//! The main job: run scenarios and print what they say.

use super::{load_all, no_such_variant};
use crate::args::{Cli, Format, HowToRun, RunArgs};
use crate::output::{Stop, print};
use crate::progress::Bar;
use clap::CommandFactory;
use report::Analysis;
use scenario::{Executor, Experiment, glue, nearest};
use std::path::{Path, PathBuf};

/// Runs all scenarios, in the order given.
pub fn run(args: &RunArgs) -> Result<(), Stop> {
    not_a_mistyped_command(&args.scenarios)?;
    let mut experiments = load_all(&args.scenarios)?;
    for experiment in &mut experiments {
        choose(experiment, args)?;
    }
    let dirs = directories(args.out.as_deref(), &experiments)?;
    let engine = glue::engine();
    let mut analyses = Vec::new();
    for (idx, experiment) in experiments.iter().enumerate() {
        let analysis = run_one(experiment, &experiment.name, engine.as_ref(), &args.how)?;
        // Whatever becomes of the files, the results are printed: they took time to compute.
        let written = dirs.get(idx).map(|dir| report::out::write(&analysis, dir));
        print(&shown(&analysis, args.how.format, idx, experiments.len()))?;
        if let Some(Err(error)) = written {
            return Err(Stop::RunFailed(error.to_string()));
        }
        analyses.push(analysis);
    }
    match args.how.format {
        Format::Csv => print(&report::csv(&analyses)),
        _ => Ok(()),
    }
}

/// A single word that is no file was meant as a command.
fn not_a_mistyped_command(scenarios: &[PathBuf]) -> Result<(), Stop> {
    let Some(word) = scenarios.first().filter(|path| !path.exists()).and_then(|p| p.to_str())
    else {
        return Ok(());
    };
    if !word.chars().all(|c| c.is_ascii_alphabetic() || c == '-') {
        return Ok(());
    }
    let cli = Cli::command();
    let hint = match nearest(word, cli.get_subcommands().map(clap::Command::get_name)) {
        Some(command) => format!("did you mean `schedlab {command}`?"),
        None if scenarios.len() > 1 => "scenarios need no command: schedlab SCENARIO.toml".into(),
        None => "`schedlab --help` prints the commands".into(),
    };
    Err(Stop::BadInput(format!("`{word}` is neither a file nor a command; {hint}")))
}

/// Applies `--seeds` and `--variant`.
fn choose(experiment: &mut Experiment, args: &RunArgs) -> Result<(), Stop> {
    if let Some(n) = args.how.seeds {
        experiment.set_seeds(n);
    }
    let known = |name: &String| experiment.variants.iter().any(|v| v.name == *name);
    if let Some(name) = args.variants.iter().find(|name| !known(name)) {
        return Err(no_such_variant(experiment, name));
    }
    if !args.variants.is_empty() {
        experiment.keep_variants(&args.variants);
    }
    Ok(())
}

/// The output directory of each experiment, made and checked before hours are spent running.
fn directories(out: Option<&Path>, experiments: &[Experiment]) -> Result<Vec<PathBuf>, Stop> {
    let Some(out) = out else {
        return Ok(Vec::new());
    };
    let mut dirs: Vec<PathBuf> = Vec::new();
    for experiment in experiments {
        let dir = match experiments {
            [_] => out.to_path_buf(),
            _ => out.join(&experiment.name),
        };
        if dirs.contains(&dir) {
            let name = &experiment.name;
            let message = format!("two scenarios are named `{name}`: --out cannot keep them apart");
            return Err(Stop::BadInput(message));
        }
        dirs.push(dir);
    }
    for dir in &dirs {
        report::out::prepare(dir).map_err(|e| Stop::BadInput(e.to_string()))?;
    }
    Ok(dirs)
}

/// Runs one experiment under a progress bar with that label.
pub(super) fn run_one(
    experiment: &Experiment,
    label: &str,
    engine: &dyn Executor,
    how: &HowToRun,
) -> Result<Analysis, Stop> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = how.jobs.map_or(cores, |n| n as usize);
    let bar = Bar::new(label, how.quiet);
    let results = experiment.run(engine, jobs, &bar);
    bar.clear();
    match results {
        Ok(results) => Ok(Analysis::new(experiment, &results)),
        Err(failure) => Err(Stop::RunFailed(format!("{}: {failure}", experiment.name))),
    }
}

/// What is printed as soon as an experiment is done; CSV waits for all, to have one header.
fn shown(analysis: &Analysis, format: Format, idx: usize, n_experiments: usize) -> String {
    let gap = if idx == 0 { "" } else { "\n" };
    match format {
        Format::Text => format!("{gap}{}", report::text(analysis)),
        Format::Markdown => format!("{gap}{}", report::markdown(analysis)),
        Format::Json if n_experiments == 1 => report::json(analysis),
        Format::Json => report::json_line(analysis),
        Format::Csv => String::new(),
    }
}
