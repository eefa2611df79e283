//! `schedlab report`: everything about some scenarios as one HTML page.

use super::run::{Engine, choose, directories, must_be_expected, run_study, tell_stalls};
use super::{load_all, place};
use crate::args::{Format, ReportArgs, RunArgs, SLICES};
use crate::output::{Stop, remark};
use crate::progress::Bar;
use report::Outcome;
use report::page::{Chapter, page, pictures};
use report::stalls::Stalls;
use scenario::Study;
use scenario::recorded::{Keep, Recorded};
use std::path::{Path, PathBuf};

/// The page's name in an output directory.
const PAGE: &str = "report.html";

/// What a chapter is made of.
struct Done {
    study: Study,
    outcome: Outcome,
    seed: u64,
    recorded: Vec<Recorded>,
}

/// Runs all scenarios and writes the page.
pub fn report(args: &ReportArgs) -> Result<(), Stop> {
    let run_args = run_args(args);
    let mut studies = load_all(&args.scenarios, &args.set, args.how.quiet)?;
    for study in &mut studies {
        choose(study, &run_args)?;
    }
    let engine = scenario::engine();
    write_page(studies, args, Engine::Simulating(engine.as_ref()))
}

/// Writes the page of what was loaded and chosen.
pub(super) fn write_page(
    studies: Vec<Study>,
    args: &ReportArgs,
    engine: Engine<'_>,
) -> Result<(), Stop> {
    let run_args = run_args(args);
    let target = target(args);
    must_be_new(&target, &studies)?;
    let dirs = directories(args.out.as_deref(), &studies)?;
    ::report::out::check_file(&target).map_err(|e| Stop::BadInput(e.to_string()))?;
    let keep = keep(args, &studies);
    let stalls = Stalls::new(run_args.stall.stall);
    let mut done = Vec::new();
    for (idx, study) in studies.into_iter().enumerate() {
        let dir = dirs.get(idx).map(PathBuf::as_path);
        done.push(run(study, engine, (&run_args, &stalls), (args.seed, keep), dir)?);
    }
    let chapters: Vec<Chapter<'_>> = done.iter().map(Done::chapter).collect();
    for (dir, chapter) in dirs.iter().zip(&chapters) {
        for (name, svg) in pictures(chapter) {
            let written = ::report::out::write_file(&dir.join(name), &svg);
            written.map_err(|e| Stop::RunFailed(e.to_string()))?;
        }
    }
    let text = page(&chapters, &command(args));
    ::report::out::write_file(&target, &text).map_err(|e| Stop::RunFailed(e.to_string()))?;
    if !args.how.quiet {
        remark(&format!("{}: {:.1} MB", target.display(), text.len() as f64 * 1e-6));
    }
    tell_stalls(&stalls, &run_args)?;
    must_be_expected(done.iter().map(|done| &done.outcome))
}

/// The arguments of the main job, which a report begins with.
fn run_args(args: &ReportArgs) -> RunArgs {
    RunArgs {
        scenarios: args.scenarios.clone(),
        how: args.how.clone(),
        format: Format::Text,
        variants: args.variants.clone(),
        set: args.set.clone(),
        metrics: Vec::new(),
        until_significant: None,
        max_seeds: 1,
        out: args.out.clone(),
        stall: args.stall,
    }
}

fn target(args: &ReportArgs) -> PathBuf {
    match (&args.html, &args.out) {
        (Some(html), _) => html.clone(),
        (None, Some(dir)) => dir.join(PAGE),
        (None, None) => PathBuf::from(PAGE),
    }
}

/// The page must not replace what it is made from.
fn must_be_new(target: &Path, studies: &[Study]) -> Result<(), Stop> {
    let mut inputs = studies.iter().flat_map(|study| &study.files);
    let here = place(target);
    if here.is_some() && inputs.any(|file| place(file) == here) {
        let message = format!("cannot write {}: it is an input of this run", target.display());
        return Err(Stop::BadInput(message));
    }
    Ok(())
}

/// Which turns are kept: the timelines of the page share what is allowed.
fn keep(args: &ReportArgs, studies: &[Study]) -> Keep {
    let (from_ns, to_ns) = args.window.unwrap_or((0, u64::MAX));
    let timelines: usize = studies.iter().filter_map(Study::only).map(|e| e.variants.len()).sum();
    let slices_max = (args.slices as usize / timelines.max(1)).max(1);
    Keep { from_ns, to_ns, slices_max, signals: args.signals }
}

/// Runs a study, then one seed of each variant again with everything recorded.
fn run(
    mut study: Study,
    engine: Engine<'_>,
    (args, stalls): (&RunArgs, &Stalls),
    (seed, keep): (Option<u64>, Keep),
    dir: Option<&Path>,
) -> Result<Done, Stop> {
    let outcome = run_study(&mut study, engine, args, dir, stalls)?;
    if let Some(dir) = dir {
        outcome.write(dir).map_err(|error| Stop::RunFailed(error.to_string()))?;
    }
    // A search runs each variant at loads of its own, so there is no one run to look at.
    let experiment = study.only().filter(|e| e.find.is_none());
    let seed = seed.or(experiment.map(|e| e.seeds[0])).unwrap_or(1);
    let recorded = match experiment {
        Some(experiment) => {
            let bar = Bar::new(&format!("{}: timelines", study.name), args.how.quiet);
            let recorded = experiment.record(seed, keep, args.how.n_jobs(), &bar);
            bar.clear();
            recorded.map_err(|failure| Stop::RunFailed(format!("{}: {failure}", study.name)))?
        }
        None => Vec::new(),
    };
    Ok(Done { study, outcome, seed, recorded })
}

impl Done {
    fn chapter(&self) -> Chapter<'_> {
        let experiment = self.study.only();
        Chapter { outcome: &self.outcome, experiment, seed: self.seed, recorded: &self.recorded }
    }
}

/// The command that makes this page. Where it is written and how many jobs ran is no part of it:
/// the same experiment gives the same page.
fn command(args: &ReportArgs) -> String {
    let mut words = vec!["schedlab".to_string(), "report".to_string()];
    words.extend(args.scenarios.iter().map(|path| path.display().to_string()));
    let mut option = |name: &str, value: Option<String>| {
        words.extend(value.map(|value| format!("--{name} {value}")));
    };
    option("seeds", args.how.seeds.map(|n| n.to_string()));
    option("seed", args.seed.map(|n| n.to_string()));
    for variant in &args.variants {
        option("variant", Some(format!("\"{variant}\"")));
    }
    for set in &args.set.sets {
        option("set", Some(set.clone()));
    }
    for machine in args.set.machines() {
        option("machine", Some(format!("\"{machine}\"")));
    }
    let time = |ns: u64| if ns == 0 || ns == u64::MAX { String::new() } else { format!("{ns}ns") };
    option("window", args.window.map(|(from, to)| format!("{}..{}", time(from), time(to))));
    option("slices", (args.slices != SLICES).then(|| args.slices.to_string()));
    if args.signals {
        words.push("--signals".into());
    }
    words.join(" ") + " --html FILE"
}
