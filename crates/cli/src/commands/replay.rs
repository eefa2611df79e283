//! `schedlab replay` and `schedlab fit`: a recording under policies and on machines, as it was or
//! as a model, without a scenario file.

use super::run::{choose, run_studies};
use super::show_remarks;
use crate::args::RecordingArgs;
use crate::output::{Stop, remark};
use scenario::fit::Fit;
use scenario::replay::Replay;
use scenario::{Changes, Study};
use std::path::Path;

/// Replays, or writes the scenario that would.
pub fn replay(args: &RecordingArgs) -> Result<(), Stop> {
    let place = args.write.as_deref().unwrap_or(Path::new("replay.toml"));
    let text = recording(args).scenario(place).map_err(Stop::Faults)?;
    match &args.write {
        Some(file) => write(file, &text),
        None => run(args, place, text, |_| ()),
    }
}

/// Runs a model of the recording beside it, or writes the scenario that is the model.
pub fn fit(args: &RecordingArgs) -> Result<(), Stop> {
    let place = args.write.as_deref().unwrap_or(Path::new("fit.toml"));
    let fit = Fit::of(&recording(args), place).map_err(Stop::Faults)?;
    match &args.write {
        Some(file) => write(file, &fit.scenario),
        None => run(args, place, fit.scenario.clone(), |study| fit.compare(study)),
    }
}

fn recording(args: &RecordingArgs) -> Replay<'_> {
    Replay {
        recording: &args.recording,
        recorded_on: args.recorded_on.as_deref(),
        on: &args.on,
        policies: &args.policies,
        measure: args.measure.as_deref(),
        sessions: args.sessions.as_deref(),
    }
}

fn write(file: &Path, text: &str) -> Result<(), Stop> {
    report::out::write_new(file, text).map_err(|e| Stop::BadInput(e.to_string()))?;
    remark(&format!("{0} is written; `schedlab {0}` runs it", file.display()));
    Ok(())
}

fn run(
    args: &RecordingArgs,
    place: &Path,
    text: String,
    change: impl FnOnce(&mut Study),
) -> Result<(), Stop> {
    let run_args = args.run_args();
    let changes = Changes { sets: &args.sets, machines: &[] };
    let mut study = scenario::load_study_str(place, text, changes).map_err(Stop::Faults)?;
    change(&mut study);
    if !args.how.quiet {
        show_remarks(study.remarks());
    }
    choose(&mut study, &run_args)?;
    run_studies(vec![study], &run_args)
}
