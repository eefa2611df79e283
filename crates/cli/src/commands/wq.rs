//! `schedlab wq`: the workqueues of one run, as wq_dump and wq_monitor show them.

use super::Chosen;
use crate::args::WqArgs;
use crate::output::{Stop, print};
use report::wq::{View, text};
use scenario::Until;

/// Samples of a run unless an interval is given.
const SAMPLES: u64 = 10;
/// Samples at most: all are kept until the end, and more of them are too many to read.
const SAMPLES_MAX: u64 = 10_000;

/// Runs one variant under one seed and prints its workqueues.
pub fn wq(args: &WqArgs) -> Result<(), Stop> {
    let chosen = Chosen::load(&args.run)?;
    let experiment = &chosen.experiment;
    let (name, workload) = (&experiment.name, experiment.workload.def);
    if !workload.workqueue {
        let message =
            format!("scenario `{name}` runs workload `{}`, which uses no workqueue", workload.kind);
        return Err(Stop::BadInput(message));
    }
    let Until::Time(until) = experiment.until else {
        return Err(Stop::BadInput(format!("scenario `{name}` does not say how long it runs")));
    };
    let every = match &args.interval {
        Some(text) => scenario::parse_time(text)
            .map_err(|why| Stop::BadInput(format!("--interval {text}: {why}")))?,
        None => until.div_ceil(SAMPLES),
    };
    let samples = until / every;
    if samples > SAMPLES_MAX {
        let text = args.interval.as_deref().unwrap_or_default();
        let message =
            format!("--interval {text}: {samples} looks in this run; at most {SAMPLES_MAX}");
        return Err(Stop::BadInput(message));
    }
    let found = chosen.run(|spec, progress| spec.workqueues(every, progress));
    let run = &found.map_err(|e| chosen.failed(&e))?;
    print(&text(&View { experiment, variant: &chosen.variant.name, seed: chosen.seed, run }))
}
