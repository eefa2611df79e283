//! `schedlab sweep tune`: a search for the best values of some keys.

use super::super::{load_all, run::kept};
use crate::args::HowToRun;
use crate::args::STDIN;
use crate::args::sweep::{TuneArgs, TuneFormat};
use crate::output::{Stop, print};
use crate::progress::Bar;
use report::tune::{HowToSearch, Python, TuneError, TuneReport, json, search, text};
use scenario::{Changes, Executor, RunError, RunOutput, RunSpec, Study};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Looks for the best values, and prints what was found.
pub fn tune(args: &TuneArgs) -> Result<(), Stop> {
    if args.scenario == Path::new(STDIN) {
        let message = "a search reads its scenario again for each point: name a file, not `-`";
        return Err(Stop::BadInput(message.to_string()));
    }
    let study = load_all(std::slice::from_ref(&args.scenario), &args.set, args.quiet)?.remove(0);
    let report = found(study, args)?;
    print(&match args.format {
        TuneFormat::Text => text(&report),
        TuneFormat::Json => json(&report),
    })?;
    match report.best {
        Some(_) => Ok(()),
        None => Err(Stop::RunFailed("no point keeps the limits of [tune]".to_string())),
    }
}

/// Makes the search.
fn found(mut study: Study, args: &TuneArgs) -> Result<TuneReport, Stop> {
    let name = args.scenario.display();
    let Some(tune) = study.tune.take() else {
        let message = format!("{name} has no [tune], which says what is looked for");
        return Err(Stop::BadInput(message));
    };
    if study.points.len() > 1 {
        let message = format!("{name} would run on several machines; a search needs one");
        return Err(Stop::BadInput(message));
    }
    if let Some(n) = args.seeds {
        study.set_seeds(n);
    }
    report::out::prepare(&args.out).map_err(|e| Stop::BadInput(e.to_string()))?;
    let inner = scenario::engine();
    let engine = Counting { inner: inner.as_ref(), n: AtomicUsize::new(0) };
    let kept = kept(&engine, &args.out)?;
    let machines = args.set.machines();
    let bar = Bar::new("tune", args.quiet);
    let how = HowToRun { seeds: args.seeds, jobs: args.jobs, quiet: args.quiet };
    let how = HowToSearch {
        path: &args.scenario,
        changes: Changes { sets: &args.set.sets, machines: &machines },
        executor: &kept,
        jobs: how.n_jobs(),
        observer: &bar,
        n_points: args.points as usize,
        batch: args.batch as usize,
        search_seed: args.search_seed,
        fresh: args.fresh,
    };
    let mut optimizer = Python::start(&tune, args.search_seed).map_err(stop)?;
    let found = search(&study, &tune, &mut optimizer, &how);
    bar.clear();
    let mut report = found.map_err(stop)?;
    report.n_computed = engine.n.load(Ordering::Relaxed);
    Ok(report)
}

fn stop(error: TuneError) -> Stop {
    match error {
        TuneError::Faults(faults) => Stop::Faults(faults),
        TuneError::NotMeasured(_) | TuneError::Store(_) => Stop::BadInput(error.to_string()),
        _ => Stop::RunFailed(error.to_string()),
    }
}

/// Counts runs that are computed.
struct Counting<'a> {
    inner: &'a dyn Executor,
    n: AtomicUsize,
}

impl Executor for Counting<'_> {
    fn run(&self, spec: &RunSpec, progress: &dyn Fn(f64)) -> Result<RunOutput, RunError> {
        self.n.fetch_add(1, Ordering::Relaxed);
        self.inner.run(spec, progress)
    }
}
