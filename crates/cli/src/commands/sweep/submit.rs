//! `schedlab sweep submit`: units for a cluster.

use super::{open, stop};
use crate::args::sweep::{Engine, SubmitArgs};
use crate::output::{Stop, count, print, remark};
use report::units::ray::Ray;
use report::units::slurm::{self, MAX_ARRAY_SIZE, Slurm, Submission};
use report::units::{Sweep, Unit};
use std::path::PathBuf;

/// Submits what is missing, or cancels what was submitted.
pub fn submit(args: &SubmitArgs) -> Result<(), Stop> {
    for_that_engine_only(args)?;
    let sweep = open(&args.dir)?;
    if args.cancel {
        slurm::cancel(&sweep).map_err(stop)?;
        return print(&format!("the jobs of sweep {} are canceled\n", sweep.id()));
    }
    let mut status = sweep.status().map_err(stop)?;
    if args.retry_failed && !args.dry_run {
        for index in std::mem::take(&mut status.failed) {
            let name = &status.units[index].unit;
            sweep.store.forget_failure(name).map_err(|e| stop(e.into()))?;
        }
    }
    let missing = status.missing();
    if missing.is_empty() {
        return print("nothing is missing\n");
    }
    let program = std::env::current_exe();
    let program = program.map_err(|e| Stop::RunFailed(format!("where is this program? {e}")))?;
    if args.engine == Engine::Ray {
        return ray(args, &sweep, program);
    }
    let how = Slurm {
        program,
        tasks_max: tasks_max(args)?,
        units_per_task: args.units_per_task as usize,
        partition: args.partition.clone(),
        time: args.time.clone(),
    };
    let submission = how.arrays(&sweep, &missing).map_err(stop)?;
    match args.dry_run {
        true => print(&shown(&submission, &missing)),
        false => {
            let ids = submission.submit().map_err(stop)?;
            let (units, arrays) = (count(missing.len(), "unit"), count(ids.len(), "job array"));
            print(&format!("{units} in {arrays}: {}\n", ids.join(" ")))
        }
    }
}

/// Refuses what the other engine alone knows.
fn for_that_engine_only(args: &SubmitArgs) -> Result<(), Stop> {
    let of_slurm = [
        ("--partition", args.partition.is_some()),
        ("--time", args.time.is_some()),
        ("--array-chunk", args.array_chunk.is_some()),
        ("--cancel", args.cancel),
    ];
    let (engine, others) = match args.engine {
        Engine::Slurm => ("slurm", &[("--address", args.address.is_some())][..]),
        Engine::Ray => ("ray", &of_slurm[..]),
    };
    match others.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(Stop::BadInput(format!("--engine {engine} has no {option}"))),
        None => Ok(()),
    }
}

fn ray(args: &SubmitArgs, sweep: &Sweep, program: PathBuf) -> Result<(), Stop> {
    let (units_per_task, address) = (args.units_per_task as usize, args.address.clone());
    let how = Ray { program, units_per_task, address };
    if args.dry_run {
        let words: Vec<String> =
            how.command(sweep).iter().map(|word| format!("'{}'", word.display())).collect();
        return print(&format!("{}\n", words.join(" ")));
    }
    how.submit(sweep).map_err(stop)
}

/// Tasks of an array: what the cluster allows, or fewer if that is asked for.
fn tasks_max(args: &SubmitArgs) -> Result<usize, Stop> {
    let asked = args.array_chunk.map_or(usize::MAX, |n| n as usize);
    let allowed = match slurm::max_array_size() {
        Err(error) if args.dry_run => {
            remark(&format!("{error}; MaxArraySize is taken to be {MAX_ARRAY_SIZE}"));
            MAX_ARRAY_SIZE
        }
        allowed => allowed.map_err(stop)?,
    };
    Ok(asked.min(allowed))
}

/// What would be submitted.
fn shown(submission: &Submission, missing: &[&Unit]) -> String {
    let list = submission.list.display();
    let mut text = format!("# {} in {list}\n", count(missing.len(), "unit"));
    for array in &submission.arrays {
        let args: Vec<String> = array.args.iter().map(|arg| format!("'{arg}'")).collect();
        text += &format!("sbatch {} << 'SCRIPT'\n{}SCRIPT\n", args.join(" "), array.script);
    }
    text
}
