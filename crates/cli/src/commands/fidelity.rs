//! `schedlab fidelity`: all that was published beside what is simulated, and a score.

use super::list::{SCENARIOS, scenario_files};
use super::{load_all, run::run_one};
use crate::args::{FidelityArgs, Format};
use crate::output::{Stop, print, remark};
use report::fidelity::{Compared, Fidelity, csv, json, markdown, scenario_text, score_text};
use scenario::{Experiment, glue};
use std::path::PathBuf;

/// Runs all scenarios that have published rows. Text appears scenario by scenario, as they end.
pub fn fidelity(args: &FidelityArgs) -> Result<(), Stop> {
    let experiments = experiments(args)?;
    let engine = glue::engine();
    let mut fidelity = Fidelity::default();
    for (n, experiment) in (1..).zip(&experiments) {
        let label = format!("{n}/{} {}", experiments.len(), experiment.name);
        let analysis = run_one(experiment, &label, engine.as_ref(), &args.how)?;
        let compared = Compared::new(&analysis);
        if args.how.format == Format::Text {
            print(&scenario_text(&compared))?;
        }
        fidelity.scenarios.push(compared);
    }
    print(&match args.how.format {
        Format::Text => score_text(&fidelity),
        Format::Json => json(&fidelity),
        Format::Csv => csv(&fidelity),
        Format::Markdown => markdown(&fidelity),
    })
}

/// The experiments that have published rows, with the variants that these rows are about.
fn experiments(args: &FidelityArgs) -> Result<Vec<Experiment>, Stop> {
    let chosen = !args.scenarios.is_empty();
    let paths = if chosen { args.scenarios.clone() } else { shipped()? };
    // One file may have several names.
    let places: Vec<_> =
        paths.iter().map(|p| p.canonicalize().unwrap_or_else(|_| p.clone())).collect();
    if let Some(n) = (0..places.len()).find(|n| places[..*n].contains(&places[*n])) {
        return Err(Stop::BadInput(format!("{} is given twice", paths[n].display())));
    }
    let (mut with, without): (Vec<Experiment>, Vec<Experiment>) =
        load_all(&paths)?.into_iter().partition(|e| !e.published.is_empty());
    if with.is_empty() {
        return Err(Stop::BadInput(nothing_published(&without)));
    }
    for experiment in without.iter().filter(|_| chosen && !args.how.quiet) {
        remark(&format!("{} has no published row: it is left out", experiment.name));
    }
    for experiment in &mut with {
        let rows = &experiment.published;
        let measured: Vec<String> = rows.iter().map(|row| row.variant.clone()).collect();
        experiment.keep_variants(&measured);
        if let Some(n) = args.how.seeds {
            experiment.set_seeds(n);
        }
    }
    Ok(with)
}

/// The scenarios that come with schedlab.
fn shipped() -> Result<Vec<PathBuf>, Stop> {
    let files = scenario_files();
    if files.is_empty() {
        let message = format!(
            "no scenario files in {SCENARIOS} here: go to schedlab's sources, or name scenarios"
        );
        return Err(Stop::BadInput(message));
    }
    Ok(files)
}

fn nothing_published(scenarios: &[Experiment]) -> String {
    let names: Vec<&str> = scenarios.iter().map(|e| e.name.as_str()).collect();
    let (names, has) = (names.join(", "), if names.len() == 1 { "has" } else { "have" });
    format!(
        "{names} {has} no published row to compare with; a [[published]] table in a scenario \
         gives one: variant, metric, value, source"
    )
}
