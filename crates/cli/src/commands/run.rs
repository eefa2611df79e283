//! The main job: run scenarios and print their results.

use super::{load_all, no_such_variant};
use crate::args::{Cli, Format, HowToRun, RunArgs};
use crate::output::{Stop, print, remark};
use crate::progress::Bar;
use crate::terminal;
use clap::CommandFactory;
use report::seeds_needed::{self, go_on_with};
use report::stalls::Stalls;
use report::{Kept, Outcome};
use scenario::registry::{METRICS, MetricDef, metric};
use scenario::{Executor, Failure, RUNS_MAX, Remembering, Study, nearest, shipped};
use std::path::{Path, PathBuf};

/// Runs all scenarios, in the order given.
pub fn run(args: &RunArgs) -> Result<(), Stop> {
    not_a_mistyped_command(&args.scenarios)?;
    must_be_metrics(&args.metrics)?;
    let mut studies = load_all(&args.scenarios, &args.set, args.how.quiet)?;
    for study in &mut studies {
        choose(study, args)?;
    }
    run_studies(studies, args)
}

/// Where the output of runs comes from.
#[derive(Clone, Copy)]
pub(super) enum Engine<'a> {
    /// They are simulated; those that take long are kept in the output directory.
    Simulating(&'a dyn Executor),
    /// They are done, and are read.
    Reading(&'a dyn Executor),
}

/// Runs what was loaded and chosen, in this order.
pub(super) fn run_studies(studies: Vec<Study>, args: &RunArgs) -> Result<(), Stop> {
    let engine = scenario::engine();
    report_studies(studies, args, Engine::Simulating(engine.as_ref()))
}

/// Prints the results of what was loaded and chosen, in this order.
pub(super) fn report_studies(
    studies: Vec<Study>,
    args: &RunArgs,
    engine: Engine<'_>,
) -> Result<(), Stop> {
    let dirs = directories(args.out.as_deref(), &studies)?;
    let stalls = Stalls::new(args.stall.stall);
    let mut outcomes = Vec::new();
    let n_studies = studies.len();
    for (idx, mut study) in studies.into_iter().enumerate() {
        let dir = dirs.get(idx).map(PathBuf::as_path);
        let outcome = run_study(&mut study, engine, args, dir, &stalls)?;
        // Results took time to compute: they are printed even if the files cannot be written.
        let written = dir.map(|dir| outcome.write(dir));
        print(&shown(&outcome, args, idx, n_studies))?;
        if let Some(Err(error)) = written {
            return Err(Stop::RunFailed(error.to_string()));
        }
        outcomes.push(outcome);
    }
    if args.format == Format::Csv {
        print(&report::csv(&outcomes))?;
    }
    tell_stalls(&stalls, args)?;
    must_be_expected(&outcomes)
}

/// Fails if a scenario expects what its runs did not come to.
pub(super) fn must_be_expected<'a>(
    outcomes: impl IntoIterator<Item = &'a Outcome>,
) -> Result<(), Stop> {
    let unexpected: Vec<String> = outcomes.into_iter().flat_map(Outcome::unexpected).collect();
    match unexpected[..] {
        [] => Ok(()),
        _ => Err(Stop::RunFailed(unexpected.join("\nerror: "))),
    }
}

/// Names the tasks that have stalled, if there are any, and fails if that was asked for.
pub(super) fn tell_stalls(stalls: &Stalls, args: &RunArgs) -> Result<(), Stop> {
    let lines = stalls.lines();
    if lines.is_empty() {
        return Ok(());
    }
    if args.stall.fail_on_stall {
        return Err(Stop::RunFailed(format!("tasks have stalled\n  {}", lines.join("\n  "))));
    }
    if !args.how.quiet {
        lines.iter().for_each(|line| remark(line));
    }
    Ok(())
}

/// A single word that is neither a file nor a shipped scenario was meant as one, or as a command.
fn not_a_mistyped_command(scenarios: &[PathBuf]) -> Result<(), Stop> {
    let is_known =
        |path: &Path| path.exists() || shipped::scenarios().any(|s| path == Path::new(s));
    let Some(word) = scenarios.first().filter(|path| !is_known(path)).and_then(|p| p.to_str())
    else {
        return Ok(());
    };
    if !word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        return Ok(());
    }
    let cli = Cli::command();
    let commands = cli.get_subcommands().map(|command| command.get_name().to_string());
    let known: Vec<String> = commands.chain(shipped::scenarios().map(String::from)).collect();
    let hint = match nearest(word, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `schedlab {near}`?"),
        None if scenarios.len() > 1 => "scenarios need no command: schedlab SCENARIO".into(),
        None => "see `schedlab --help` and `schedlab list scenarios`".into(),
    };
    let message = format!("`{word}` is neither a file, nor a scenario of schedlab, nor a command");
    Err(Stop::BadInput(format!("{message}; {hint}")))
}

/// The complaint about a metric that does not exist.
pub(super) fn must_be_metrics(names: &[String]) -> Result<(), Stop> {
    let Some(name) = names.iter().find(|name| metric(name).is_none()) else {
        return Ok(());
    };
    let known: Vec<String> = METRICS.iter().flat_map(MetricDef::names).collect();
    let hint = match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`schedlab list metrics` prints all of them".to_string(),
    };
    Err(Stop::BadInput(format!("unknown metric `{name}`; {hint}")))
}

/// Applies `--seeds` and `--variant`.
pub(super) fn choose(study: &mut Study, args: &RunArgs) -> Result<(), Stop> {
    if let Some(n) = args.how.seeds {
        study.set_seeds(n);
    }
    let experiment = &study.points[0].experiment;
    let known = |name: &String| experiment.variants.iter().any(|v| v.name == *name);
    if let Some(name) = args.variants.iter().find(|name| !known(name)) {
        return Err(no_such_variant(experiment, name));
    }
    if !args.variants.is_empty() {
        study.keep_variants(&args.variants);
    }
    if study.points.len() > 1 && study.n_runs() > RUNS_MAX {
        let (name, n) = (&study.name, study.n_runs());
        let message = format!("`{name}` has {n} runs with --seeds; at most {RUNS_MAX} are run");
        return Err(Stop::BadInput(message));
    }
    if study.published_dropped && !args.how.quiet {
        let name = &study.name;
        remark(&format!("{name}: published rows are left out, they were not measured with --set"));
    }
    Ok(())
}

/// The output directory of each experiment, made and checked before hours are spent running.
pub(super) fn directories(out: Option<&Path>, studies: &[Study]) -> Result<Vec<PathBuf>, Stop> {
    let Some(out) = out else {
        return Ok(Vec::new());
    };
    let mut dirs: Vec<PathBuf> = Vec::new();
    for study in studies {
        let dir = match studies {
            [_] => out.to_path_buf(),
            _ => out.join(&study.name),
        };
        if dirs.contains(&dir) {
            let name = &study.name;
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

/// Runs a study. A sweep or a search keeps its finished runs in `dir`; with `--until-significant` a
/// point gets more seeds until its intervals are narrow enough.
pub(super) fn run_study(
    study: &mut Study,
    engine: Engine<'_>,
    args: &RunArgs,
    dir: Option<&Path>,
    stalls: &Stalls,
) -> Result<Outcome, Stop> {
    let takes_long = study.points.len() > 1
        || args.until_significant.is_some()
        || study.points[0].experiment.find.is_some();
    let engine = match engine {
        Engine::Reading(engine) => return read(study, &stalls.watch(engine), &args.metrics),
        Engine::Simulating(engine) => engine,
    };
    let kept = match dir.filter(|_| takes_long) {
        Some(dir) => Some(kept(engine, dir)?),
        None => None,
    };
    let engine = kept.as_ref().map_or(engine, |kept| kept as &dyn Executor);
    let watching = stalls.watch(engine);
    let engine: &dyn Executor = &watching;
    let remembering = Remembering::new(engine);
    let engine: &dyn Executor =
        if args.until_significant.is_some() { &remembering } else { engine };
    loop {
        let name = study.name.clone();
        let outcome = run_once(study, &name, engine, &args.how, &args.metrics)?;
        let Some(target_pct) = args.until_significant else {
            return Ok(outcome);
        };
        let mut narrow = true;
        for (point, analysis) in study.points.iter_mut().zip(outcome.analyses()) {
            if let Some(n) = go_on_with(analysis, target_pct, args.max_seeds) {
                point.experiment.set_seeds(n);
                narrow = false;
            }
        }
        if narrow {
            return Ok(outcome);
        }
    }
}

/// Reads the runs of a study, a point after the other: there may be very many.
fn read(study: &Study, engine: &dyn Executor, metrics: &[String]) -> Result<Outcome, Stop> {
    let results = study.points.iter().map(|point| point.experiment.run_here(engine));
    Outcome::try_new(study, results, metrics).map_err(|failure| failed(study, &failure))
}

fn failed(study: &Study, failure: &Failure) -> Stop {
    Stop::RunFailed(format!("{}: {failure}", study.name))
}

/// Keeps finished runs in a directory, for this very program.
pub(super) fn kept<'a>(engine: &'a dyn Executor, dir: &Path) -> Result<Kept<'a>, Stop> {
    let program = report::store::program()
        .map_err(|e| Stop::RunFailed(format!("cannot read this program: {e}")))?;
    Kept::new(engine, dir, program).map_err(|e| Stop::BadInput(e.to_string()))
}

/// Runs a study under a progress bar with that label.
pub(super) fn run_once(
    study: &Study,
    label: &str,
    engine: &dyn Executor,
    how: &HowToRun,
    metrics: &[String],
) -> Result<Outcome, Stop> {
    let jobs = how.n_jobs();
    let bar = Bar::new(label, how.quiet);
    let results = study.run(engine, jobs, &bar);
    bar.clear();
    match results {
        Ok(results) => Ok(Outcome::new(study, results, metrics)),
        Err(failure) => Err(failed(study, &failure)),
    }
}

/// What is printed as soon as a study is done; CSV waits for all, to have one header.
fn shown(outcome: &Outcome, args: &RunArgs, idx: usize, n_studies: usize) -> String {
    let gap = if idx == 0 { "" } else { "\n" };
    match args.format {
        Format::Text => {
            format!("{gap}{}{}", outcome.text(terminal::columns()), seeds_needed(outcome, args))
        }
        Format::Markdown => format!("{gap}{}", outcome.markdown()),
        Format::Json if n_studies == 1 => outcome.json(),
        Format::Json => outcome.json_line(),
        Format::Csv => String::new(),
    }
}

/// How many seeds it took, or would take, to know each change well enough.
fn seeds_needed(outcome: &Outcome, args: &RunArgs) -> String {
    let Some(target_pct) = args.until_significant else {
        return String::new();
    };
    let mut text = String::new();
    for analysis in outcome.analyses() {
        let at = if analysis.at.is_empty() { String::new() } else { format!("{}: ", analysis.at) };
        for line in seeds_needed::remarks(analysis, target_pct) {
            text += &format!("{at}{line}\n");
        }
    }
    text
}
