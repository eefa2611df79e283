//! `schedlab trace`: one run, written down event by event for other tools.

use super::{Chosen, place};
use crate::args::TraceArgs;
use crate::output::{Stop, remark, warn_if_closed};
use scenario::glue::TraceError;
use scenario::{Experiment, TraceFailure, TraceFiles, Traced};
use std::path::{Path, PathBuf};

/// Runs one seed of one variant and writes its trace.
pub fn trace(args: &TraceArgs) -> Result<(), Stop> {
    let chosen = Chosen::load(&args.run)?;
    let files = files(args);
    must_differ(&files, &chosen.experiment)?;
    if files.named().next().is_none() || files.named().any(|file| file == Path::new("-")) {
        warn_if_closed();
    }
    let traced = chosen.run(|spec, progress| {
        if files.signals && !spec.has_signals() && !args.run.quiet {
            let policy = spec.policy.name();
            remark(&format!("policy `{policy}` keeps no averages: the trace has no signals"));
        }
        spec.trace(&files, progress)
    });
    let traced = traced.map_err(|failure| stop(&chosen, failure))?;
    if !args.run.quiet {
        remark(&sums(&traced));
    }
    Ok(())
}

fn files(args: &TraceArgs) -> TraceFiles {
    TraceFiles {
        perf_script: args.perf_script.clone(),
        perf_data: args.perf_data.clone(),
        trace_dat: args.trace_dat.clone(),
        perfetto: args.perfetto.clone(),
        signals: args.signals,
    }
}

/// A trace must replace neither what it is made from nor another trace.
fn must_differ(files: &TraceFiles, experiment: &Experiment) -> Result<(), Stop> {
    let mut taken: Vec<PathBuf> = experiment.files.iter().filter_map(|file| place(file)).collect();
    let inputs = taken.len();
    for file in files.named() {
        let Some(place) = place(file) else { continue };
        if let Some(at) = taken.iter().position(|other| *other == place) {
            let what = if at < inputs { "is an input of this run" } else { "is asked for twice" };
            return Err(Stop::BadInput(format!("cannot write {}: it {what}", file.display())));
        }
        taken.push(place);
    }
    Ok(())
}

fn stop(chosen: &Chosen, failure: TraceFailure) -> Stop {
    match failure {
        TraceFailure::Output(TraceError::ReaderGone) => Stop::ReaderGone,
        TraceFailure::Target(error) => Stop::BadInput(error.to_string()),
        TraceFailure::Output(error) => Stop::RunFailed(error.to_string()),
        TraceFailure::Run(error) => chosen.failed(&error),
    }
}

/// The sums of the trace, with which those of the tools must agree.
fn sums(traced: &Traced) -> String {
    let (t, metrics) = (&traced.totals, &traced.output.metrics);
    let elapsed = metrics.iter().find(|m| m.name == "elapsed").map_or(0.0, |m| m.value);
    format!(
        "{} events in {elapsed:.6} s: {} switches, {:.6} s of run time",
        t.events,
        t.switches,
        t.run_time_ns as f64 * 1e-9
    )
}
