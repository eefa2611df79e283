//! `schedlab sweep`: a sweep in units, which several processes and computers may do.

mod submit;
mod tune;

use super::report::write_page;
use super::run::{Engine, choose, must_be_metrics, report_studies};
use super::{show_remarks, stdin_at_most_once};
use crate::args::sweep::{
    MergeArgs, PlanArgs, StatusArgs, StatusFormat, Sweep as Command, SweepRunArgs, UnitArgs,
};
use crate::args::{HowToRun, ReportArgs, RunArgs};
use crate::output::{Stop, count, print, remark};
use crate::progress::Bar;
use report::store::program;
use report::units::{self, Asked, Draft, Merged, Ran, StatusReport, Sweep, Unit, UnitsError};
use scenario::Study;
use std::path::Path;

/// Failed units that are named at most.
const FAILED_SHOWN_MAX: usize = 20;

/// Does what was asked for.
pub fn sweep(command: &Command) -> Result<(), Stop> {
    match command {
        Command::Plan(args) => plan(args),
        Command::Run(args) => run(args),
        Command::Unit(args) => unit(args),
        Command::Submit(args) => submit::submit(args),
        Command::Tune(args) => tune::tune(args),
        Command::Status(args) => status(args),
        Command::Merge(args) => merge(args),
    }
}

/// What stops a command: bad input, or a run.
fn stop(error: UnitsError) -> Stop {
    use report::store::StoreError;
    match error {
        UnitsError::Faults(faults) => Stop::Faults(faults),
        // The input is right, and what came of it is not.
        UnitsError::Stopped(_)
        | UnitsError::Engine(_)
        | UnitsError::Missing { .. }
        | UnitsError::Store(
            StoreError::Differs { .. } | StoreError::Write { .. } | StoreError::Damaged { .. },
        ) => Stop::RunFailed(error.to_string()),
        _ => Stop::BadInput(error.to_string()),
    }
}

fn own_program() -> Result<String, Stop> {
    program().map_err(|e| Stop::RunFailed(format!("cannot read this program: {e}")))
}

fn open(dir: &Path) -> Result<Sweep, Stop> {
    Sweep::open(dir, &own_program()?).map_err(stop)
}

fn text(path: &Path) -> Result<String, Stop> {
    let text = path.to_str().map(String::from);
    text.ok_or_else(|| stop(UnitsError::NotText(path.to_path_buf())))
}

fn plan(args: &PlanArgs) -> Result<(), Stop> {
    stdin_at_most_once(&args.scenarios)?;
    let asked = Asked {
        scenarios: args.scenarios.iter().map(|path| text(path)).collect::<Result<_, _>>()?,
        sets: args.set.sets.clone(),
        machines: args.set.machines(),
        seeds: args.seeds,
        variants: args.variants.clone(),
        ..Asked::default()
    };
    let how = HowToRun { seeds: args.seeds, jobs: None, quiet: args.quiet };
    let run_args = RunArgs::of_sweep(&asked, how);
    let mut draft = Draft::read(&args.out, asked).map_err(stop)?;
    if !args.quiet {
        show_remarks(draft.studies.iter().flat_map(Study::remarks));
    }
    for study in &mut draft.studies {
        choose(study, &run_args)?;
    }
    let (sweep, was_there) = draft.write(&own_program()?).map_err(stop)?;
    let there = if was_there { " (was there already)" } else { "" };
    let dir = sweep.dir().display();
    print(&format!("{dir}: sweep {} of {}{there}\n", sweep.id(), count(sweep.n_units(), "unit")))
}

fn run(args: &SweepRunArgs) -> Result<(), Stop> {
    let sweep = open(&args.dir)?;
    sweep.store.remove_remains();
    let units = sweep.units().map_err(stop)?;
    let all: Vec<&Unit> = units.iter().collect();
    let how = HowToRun { seeds: None, jobs: args.jobs, quiet: args.quiet };
    let ran = do_units(&sweep, &all, &how, args.retry_failed, false)?;
    print(&format!(
        "{}: {} computed, {} were there, {} failed\n",
        count(all.len(), "unit"),
        ran.computed,
        ran.there,
        ran.failed.len()
    ))?;
    none_has_failed(&ran)
}

fn unit(args: &UnitArgs) -> Result<(), Stop> {
    let sweep = open(&args.dir)?;
    let units = sweep.units().map_err(stop)?;
    let wanted = wanted(&sweep, &units, args)?;
    let how = HowToRun { seeds: None, jobs: Some(args.jobs), quiet: args.quiet };
    none_has_failed(&do_units(&sweep, &wanted, &how, args.retry_failed, args.again)?)
}

/// The units that were asked for.
fn wanted<'a>(sweep: &Sweep, units: &'a [Unit], args: &UnitArgs) -> Result<Vec<&'a Unit>, Stop> {
    let last = units.len().saturating_sub(1);
    if let Some(index) = args.index {
        let unit = units.get(index).ok_or(UnitsError::NoSuchIndex { index, last });
        return Ok(vec![unit.map_err(stop)?]);
    }
    let Some(from) = args.from else {
        return sweep.named(units, &args.units).map_err(stop);
    };
    let Some(list) = &args.list else {
        return Ok(units.iter().skip(from).take(args.count).collect());
    };
    let text = std::fs::read_to_string(list);
    let text = text.map_err(|e| Stop::BadInput(format!("cannot read {}: {e}", list.display())))?;
    let names: Vec<String> =
        text.split_whitespace().skip(from).take(args.count).map(String::from).collect();
    sweep.named(units, &names).map_err(stop)
}

fn do_units(
    sweep: &Sweep,
    wanted: &[&Unit],
    how: &HowToRun,
    retry_failed: bool,
    again: bool,
) -> Result<Ran, Stop> {
    let engine = scenario::engine();
    let bar = Bar::new("sweep", how.quiet);
    let (executor, jobs) = (engine.as_ref(), how.n_jobs());
    let how_to_run = units::HowToRun { executor, jobs, observer: &bar, retry_failed, again };
    let ran = sweep.run(wanted, &how_to_run);
    bar.clear();
    let ran = ran.map_err(stop)?;
    if !how.quiet {
        for path in &ran.damaged {
            remark(&format!("a damaged file was set aside: {}", path.display()));
        }
    }
    Ok(ran)
}

/// Fails if units have failed, now or before.
fn none_has_failed(ran: &Ran) -> Result<(), Stop> {
    if ran.failed.is_empty() {
        return Ok(());
    }
    let mut text =
        format!("{} failed; --retry-failed tries again", count(ran.failed.len(), "unit"));
    for (unit, message) in ran.failed.iter().take(FAILED_SHOWN_MAX) {
        text += &format!("\n  {}: {message}", unit.words());
    }
    Err(Stop::RunFailed(text))
}

fn status(args: &StatusArgs) -> Result<(), Stop> {
    let sweep = open(&args.dir)?;
    let status = sweep.status().map_err(stop)?;
    if args.format == StatusFormat::Missing {
        let names = status.missing().into_iter().map(|unit| format!("{}\n", unit.unit));
        return print(&names.collect::<String>());
    }
    let report = StatusReport::new(&sweep, &status).map_err(stop)?;
    match args.format {
        StatusFormat::Json => print(&report.json()),
        _ => print(&report.text()),
    }
}

fn merge(args: &MergeArgs) -> Result<(), Stop> {
    must_be_metrics(&args.metrics)?;
    let sweep = open(&args.dir)?;
    sweep.must_be_complete().map_err(stop)?;
    let studies = sweep.studies().map_err(stop)?;
    if !args.quiet {
        show_remarks(studies.iter().flat_map(Study::remarks));
    }
    let asked = sweep.asked();
    let how = HowToRun { seeds: asked.seeds, jobs: args.jobs, quiet: args.quiet };
    let run_args = RunArgs {
        format: args.format,
        metrics: args.metrics.clone(),
        stall: args.stall,
        out: Some(args.out.clone().unwrap_or_else(|| args.dir.clone())),
        ..RunArgs::of_sweep(asked, how)
    };
    let merged = Merged(&sweep);
    if let Some(html) = &args.html {
        let report_args = ReportArgs::of(&run_args, html.clone());
        write_page(studies.clone(), &report_args, Engine::Reading(&merged))?;
    }
    report_studies(studies, &run_args, Engine::Reading(&merged))
}
