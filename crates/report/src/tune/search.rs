//! The search: asks for points, has them run, tells what came of them, and tries the winner again.

use super::{Found, Looked, Optimizer, Outcome, Point, Told, TuneError, TuneReport, Validation};
use super::{found, front, metrics};
use scenario::tune::Coordinate;
use scenario::{
    Changes, Executor, Experiment, Failure, Observer, RunError, RunOutput, RunSpec, Sign, Study,
    Tune, VariantRuns, attempt, for_each_run, load_tuned,
};
use std::path::Path;
use std::sync::Mutex;

/// Batches without a new point after which nothing new is to be expected.
const STALE_MAX: usize = 20;

/// How a search is made.
pub struct HowToSearch<'a> {
    /// The scenario's file.
    pub path: &'a Path,
    /// What is to be other than it says.
    pub changes: Changes<'a>,
    /// Who runs.
    pub executor: &'a dyn Executor,
    /// Runs at a time; the result does not depend on it.
    pub jobs: usize,
    /// Who is told how far a batch is.
    pub observer: &'a dyn Observer,
    /// Different points that are looked at, at most.
    pub n_points: usize,
    /// Points that the optimizer is asked for at a time: the result does depend on it.
    pub batch: usize,
    /// Its seed.
    pub search_seed: u64,
    /// Seeds that the winner is tried with again; none if 0.
    pub fresh: u64,
}

/// Looks for the best point.
///
/// # Errors
/// The optimizer does not do what it should, the variant as it is cannot run, or results cannot
/// be kept. A point that fails is no error.
pub fn search(
    study: &Study,
    tune: &Tune,
    optimizer: &mut dyn Optimizer,
    how: &HowToSearch<'_>,
) -> Result<TuneReport, TuneError> {
    let names = metrics(tune);
    let seeds = study.points[0].experiment.seeds.clone();
    let mut search = Search { tune, how, metrics: &names, seeds: &seeds, n_runs: 0 };
    let as_it_is = search.as_it_is(&seeds)?;
    let looked = search.look(optimizer)?;
    let of: Vec<Option<&Found>> = looked.iter().map(|point| point.found.as_ref().ok()).collect();
    let (best, front) = (front::best(tune, &of), front::front(tune, &of));
    let winner = best.map(|best| looked[best].point.clone());
    let validation = match winner.filter(|_| how.fresh > 0) {
        Some(point) => Some(search.validate(&point)?),
        None => None,
    };
    let n_runs = search.n_runs;
    Ok(TuneReport {
        scenario: study.name.clone(),
        title: study.title.clone(),
        hash: study.hash.clone(),
        tune: tune.clone(),
        optimizer: optimizer.name().to_string(),
        search_seed: how.search_seed,
        batch: how.batch,
        seeds,
        metrics: names,
        as_it_is,
        looked,
        best,
        front,
        validation,
        n_runs,
        n_computed: 0,
    })
}

struct Search<'a> {
    tune: &'a Tune,
    how: &'a HowToSearch<'a>,
    metrics: &'a [String],
    seeds: &'a [u64],
    n_runs: usize,
}

impl Search<'_> {
    /// The variant as it is: it has to run, and to measure what is looked for.
    fn as_it_is(&mut self, seeds: &[u64]) -> Result<Found, TuneError> {
        let experiment = self.experiment(None).map_err(TuneError::Faults)?;
        let runs = self.run(&[experiment], seeds)?.remove(0)?;
        found(self.tune, self.metrics, &runs).map_err(TuneError::NotMeasured)
    }

    /// Looks at points until there are as many as asked for, or none is new.
    fn look(&mut self, optimizer: &mut dyn Optimizer) -> Result<Vec<Looked>, TuneError> {
        let all = self.tune.n_points().and_then(|n| usize::try_from(n).ok());
        let wanted = all.map_or(self.how.n_points, |all| all.min(self.how.n_points));
        let (mut looked, mut n_stale) = (Vec::<Looked>::new(), 0);
        while looked.len() < wanted && n_stale < STALE_MAX {
            let asked = optimizer.ask(self.how.batch.min(wanted - looked.len()))?;
            let n_before = looked.len();
            let mut new: Vec<&Point> = Vec::new();
            for point in &asked {
                if !looked.iter().any(|known| known.point == *point) && !new.contains(&point) {
                    new.push(point);
                }
            }
            looked.extend(self.look_at(&new)?);
            let of = |point: &Point| looked.iter().find(|known| known.point == *point);
            let told = |point| of(point).and_then(|known| self.told(known));
            optimizer.tell(&asked.iter().map(told).collect::<Vec<Told>>())?;
            n_stale = if looked.len() == n_before { n_stale + 1 } else { 0 };
        }
        Ok(looked)
    }

    /// Runs some points, all of them side by side.
    fn look_at(&mut self, points: &[&Point]) -> Result<Vec<Looked>, TuneError> {
        let loaded: Vec<Result<Experiment, String>> = points
            .iter()
            .map(|point| self.experiment(Some(point)).map_err(|faults| first(&faults)))
            .collect();
        let right: Vec<Experiment> =
            loaded.iter().filter_map(|loaded| loaded.as_ref().ok().cloned()).collect();
        let mut runs = self.run(&right, self.seeds)?.into_iter();
        let looked = |(point, loaded): (&&Point, Result<Experiment, String>)| {
            let runs = loaded.map(|_| runs.next());
            let found = runs.and_then(|runs| match runs {
                Some(Ok(runs)) => found(self.tune, self.metrics, &runs)
                    .map_err(|name| format!("its runs do not measure `{name}`")),
                Some(Err(failure)) => Err(failure.to_string()),
                None => Err("it did not run".to_string()),
            });
            Looked { point: (*point).clone(), found }
        };
        Ok(points.iter().zip(loaded).map(looked).collect())
    }

    /// What the optimizer is told of a point.
    fn told(&self, looked: &Looked) -> Told {
        let found = looked.found.as_ref().ok()?;
        let mean = |name: &String| {
            let place = self.metrics.iter().position(|known| known == name);
            place.map_or(f64::NAN, |place| found.mean(place))
        };
        // Of nothing there is no mean, and nothing to learn.
        if (0..self.metrics.len()).any(|place| !found.mean(place).is_finite()) {
            return None;
        }
        let values = self.tune.goals.iter().map(|goal| mean(&goal.metric)).collect();
        let excess = |limit: &scenario::Expectation| {
            let over = mean(&limit.metric) - limit.limit;
            let over = match limit.sign {
                Sign::Less | Sign::AtMost => over,
                Sign::Greater | Sign::AtLeast => -over,
            };
            // At the limit itself a strict sign is broken.
            if limit.holds(mean(&limit.metric)) { over } else { over.max(f64::MIN_POSITIVE) }
        };
        Some(Outcome { values, excess: self.tune.limits.iter().map(excess).collect() })
    }

    /// The winner and the variant as it is with seeds that nobody has looked at.
    fn validate(&mut self, point: &[Coordinate]) -> Result<Validation, TuneError> {
        let last = self.seeds.iter().copied().max().unwrap_or(0);
        let seeds: Vec<u64> = (last + 1..=last + self.how.fresh).collect();
        let as_it_is = self.as_it_is(&seeds)?;
        let experiment = self.experiment(Some(point)).map_err(TuneError::Faults)?;
        let best = match self.run(&[experiment], &seeds)?.remove(0) {
            Ok(runs) => found(self.tune, self.metrics, &runs),
            Err(failure) => Err(failure.to_string()),
        };
        Ok(Validation { seeds, as_it_is, best })
    }

    fn experiment(&self, point: Option<&[Coordinate]>) -> Result<Experiment, scenario::Faults> {
        load_tuned(self.how.path, self.how.changes, self.tune, point)
    }

    /// Runs the one variant of each with these seeds; what came of each.
    fn run(
        &mut self,
        experiments: &[Experiment],
        seeds: &[u64],
    ) -> Result<Vec<Result<VariantRuns, Failure>>, TuneError> {
        let of = |experiment: &Experiment| {
            let spec = |seed: &u64| experiment.spec(&experiment.variants[0], *seed);
            seeds.iter().map(spec).collect::<Vec<RunSpec>>()
        };
        let specs: Vec<RunSpec> = experiments.iter().flat_map(of).collect();
        if specs.is_empty() {
            return Ok(Vec::new());
        }
        self.n_runs += specs.len();
        let outputs = self.outputs(&specs)?;
        let mut outputs = specs.iter().zip(outputs).map(|(spec, output)| {
            output.map_err(|error| Failure {
                at: String::new(),
                variant: spec.variant.clone(),
                seed: spec.seed,
                error,
            })
        });
        let runs = |_| outputs.by_ref().take(seeds.len()).collect::<Vec<_>>();
        let each: Vec<Vec<Result<RunOutput, Failure>>> = experiments.iter().map(runs).collect();
        let runs = |outputs: Vec<Result<RunOutput, Failure>>| {
            Ok(VariantRuns { runs: outputs.into_iter().collect::<Result<_, _>>()? })
        };
        Ok(each.into_iter().map(runs).collect())
    }

    /// The output of each run, whichever ends first. One that fails does not keep others from
    /// running.
    fn outputs(&self, specs: &[RunSpec]) -> Result<Vec<Result<RunOutput, RunError>>, TuneError> {
        let done: Vec<Mutex<Option<Result<RunOutput, RunError>>>> =
            specs.iter().map(|_| Mutex::new(None)).collect();
        let each = |spec: &RunSpec, progress: &dyn Fn(f64)| {
            let output = attempt(self.how.executor, spec, progress);
            if let Err(RunError::NotKept(_)) = output {
                return output.map(drop);
            }
            let place = specs.iter().position(|known| std::ptr::eq(known, spec));
            if let Some(Ok(mut done)) = place.map(|place| done[place].lock()) {
                *done = Some(output);
            }
            Ok(())
        };
        let ran = for_each_run(specs, self.how.jobs, self.how.observer, each);
        ran.map_err(|failure| TuneError::NotKept(failure.error))?;
        let output = |done: Mutex<Option<Result<RunOutput, RunError>>>| {
            let lost = || Err(RunError::NotKept("a run was lost".to_string()));
            done.into_inner().ok().flatten().unwrap_or_else(lost)
        };
        Ok(done.into_iter().map(output).collect())
    }
}

/// The first fault in a line.
fn first(faults: &scenario::Faults) -> String {
    faults.0.first().map_or_else(String::new, |fault| fault.message.clone())
}
