//! `schedlab compare`: two files of results side by side, and conditions for scripts.

use super::run::must_be_metrics;
use super::stdin_at_most_once;
use crate::args::{CompareArgs, CompareFormat};
use crate::output::{Stop, print};
use report::compare::{Comparison, Side, json, markdown, read, text};
use std::path::{Path, PathBuf};

/// The results in a directory that `--out` wrote.
const RESULTS: &str = "results.json";

/// Prints the comparison; fails if a condition does.
pub fn compare(args: &CompareArgs) -> Result<(), Stop> {
    stdin_at_most_once(&[args.a.clone(), args.b.clone()])?;
    must_be_metrics(&args.metrics)?;
    let comparison = Comparison::new(&side(&args.a)?, &side(&args.b)?);
    let mut verdicts = Vec::new();
    for condition in &args.fail_if {
        verdicts.extend(condition.judge(&comparison).map_err(Stop::BadInput)?);
    }
    print(&match args.format {
        CompareFormat::Text => text(&comparison, &args.metrics, args.all),
        CompareFormat::Markdown => markdown(&comparison, &args.metrics, args.all),
        CompareFormat::Json => json(&comparison, &verdicts),
    })?;
    let failing = verdicts.iter().filter(|verdict| verdict.fails).map(ToString::to_string);
    let failing: Vec<String> = failing.collect();
    match failing[..] {
        [] => Ok(()),
        _ => Err(Stop::RunFailed(failing.join("\nerror: "))),
    }
}

/// Reads one side.
fn side(path: &Path) -> Result<Side, Stop> {
    let file = if path.is_dir() { path.join(RESULTS) } else { PathBuf::from(path) };
    let shown = file.display().to_string();
    let text = std::fs::read_to_string(&file)
        .map_err(|error| Stop::BadInput(format!("cannot read {shown}: {error}")))?;
    read(&shown, &text).map_err(|error| Stop::BadInput(error.to_string()))
}
