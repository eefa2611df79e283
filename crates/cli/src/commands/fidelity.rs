//! `schedlab fidelity`: all that was published beside what is simulated, and a score.

use super::{load_all, run::run_once};
use crate::args::{FidelityArgs, FidelityFormat, HowToRun, Sets};
use crate::output::{Stop, print, remark};
use report::fidelity::{Compared, Fidelity, json, scenario_text, score_text};
use scenario::{Executor, Remembering, Study, shipped};

/// With fewer seeds an interval says little.
const SEEDS_FIRST: usize = 3;

/// Runs all scenarios that have published rows. Text appears scenario by scenario, as they end.
pub fn fidelity(args: &FidelityArgs) -> Result<(), Stop> {
    let studies = studies(args)?;
    let engine = scenario::engine();
    let mut fidelity = Fidelity::default();
    for (n, study) in (1..).zip(&studies) {
        let label = format!("{n}/{} {}", studies.len(), study.name);
        for compared in compare(study, &label, engine.as_ref(), &args.how)? {
            if args.format == FidelityFormat::Text {
                print(&scenario_text(&compared))?;
            }
            fidelity.scenarios.push(compared);
        }
    }
    print(&match args.format {
        FidelityFormat::Text => score_text(&fidelity),
        FidelityFormat::Json => json(&fidelity),
    })
}

/// Runs a scenario. Where nobody says how many seeds, it ends after the first few if these settle
/// what is right.
fn compare(
    study: &Study,
    label: &str,
    engine: &dyn Executor,
    how: &HowToRun,
) -> Result<Vec<Compared>, Stop> {
    let engine = Remembering::new(engine);
    let run = |study: &Study| -> Result<Vec<Compared>, Stop> {
        let outcome = run_once(study, label, &engine, how, &[])?;
        Ok(outcome.analyses().into_iter().map(Compared::new).collect())
    };
    let has_more = study.points.iter().any(|p| p.experiment.seeds.len() > SEEDS_FIRST);
    if how.seeds.is_none() && has_more {
        let mut few = study.clone();
        few.keep_seeds(SEEDS_FIRST);
        let compared = run(&few)?;
        if compared.iter().all(Compared::is_settled) {
            return Ok(compared);
        }
    }
    run(study)
}

/// The scenarios that have published rows, with the points and variants that these rows are about.
fn studies(args: &FidelityArgs) -> Result<Vec<Study>, Stop> {
    let chosen = !args.scenarios.is_empty();
    let shipped = || shipped::scenarios().map(shipped::scenario_path).collect();
    let paths = if chosen { args.scenarios.clone() } else { shipped() };
    // One file may have several names.
    let places: Vec<_> =
        paths.iter().map(|p| p.canonicalize().unwrap_or_else(|_| p.clone())).collect();
    if let Some(n) = (0..places.len()).find(|n| places[..*n].contains(&places[*n])) {
        return Err(Stop::BadInput(format!("{} is given twice", paths[n].display())));
    }
    let (mut with, without): (Vec<Study>, Vec<Study>) =
        load_all(&paths, &Sets::default(), args.how.quiet)?
            .into_iter()
            .partition(Study::is_published);
    if with.is_empty() {
        return Err(Stop::BadInput(nothing_published(&without)));
    }
    for study in without.iter().filter(|_| chosen && !args.how.quiet) {
        remark(&format!("{} has no published row: it is left out", study.name));
    }
    for study in &mut with {
        study.keep_published();
        if let Some(n) = args.how.seeds {
            study.set_seeds(n);
        }
    }
    Ok(with)
}

fn nothing_published(scenarios: &[Study]) -> String {
    let names: Vec<&str> = scenarios.iter().map(|e| e.name.as_str()).collect();
    let (names, has) = (names.join(", "), if names.len() == 1 { "has" } else { "have" });
    format!(
        "{names} {has} no published row to compare with; a [[published]] table in a scenario \
         gives one: variant, metric, value, source"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;

    #[test]
    fn without_arguments_all_scenarios_of_the_project_are_compared() {
        let cli = Cli::try_parse_from(["schedlab", "fidelity"]).unwrap();
        let Some(Command::Fidelity(args)) = cli.command else { panic!("not the command") };
        let Ok(studies) = studies(&args) else { panic!("faults in scenarios of the project") };
        let names: Vec<&str> = studies.iter().map(|study| study.name.as_str()).collect();
        assert!(names.contains(&"bergamo") && names.contains(&"truncate"), "{names:?}");
        // Nothing was published for these.
        assert!(!names.contains(&"hackbench") && !names.contains(&"alone"), "{names:?}");
    }
}
