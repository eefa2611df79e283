//! `schedlab replay`: a recording under policies and on machines, without a scenario file.

use super::run::{choose, run_studies};
use super::show_remarks;
use crate::args::ReplayArgs;
use crate::output::{Stop, remark};
use scenario::Changes;
use scenario::replay::Replay;
use std::path::Path;

/// Replays, or writes the scenario that would.
pub fn replay(args: &ReplayArgs) -> Result<(), Stop> {
    let recording = Replay {
        recording: &args.recording,
        recorded_on: args.recorded_on.as_deref(),
        on: &args.on,
        policies: &args.policies,
        measure: args.measure.as_deref(),
        sessions: args.sessions.as_deref(),
    };
    let place = args.write.as_deref().unwrap_or(Path::new("replay.toml"));
    let text = recording.scenario(place).map_err(Stop::Faults)?;
    if let Some(file) = &args.write {
        report::out::write_new(file, &text).map_err(|e| Stop::BadInput(e.to_string()))?;
        remark(&format!("{0} is written; `schedlab {0}` runs it", file.display()));
        return Ok(());
    }
    let run_args = args.run_args();
    let changes = Changes { sets: &args.sets, machines: &[] };
    let mut study = scenario::load_study_str(place, text, changes).map_err(Stop::Faults)?;
    if !args.how.quiet {
        show_remarks(study.remarks());
    }
    choose(&mut study, &run_args)?;
    run_studies(vec![study], &run_args)
}
