//! A search against runs of which it is known what comes of them.

use super::*;
use scenario::tune::Coordinate;
use scenario::{
    Better, Changes, Executor, MetricValue, RunError, RunOutput, RunSpec, Silent, Study,
};
use std::path::PathBuf;
use std::sync::Mutex;

const SCENARIO: &str = r#"title = "closed form"
policy = "cfs"
workload = { kind = "mm-c", service_ns = 1000, rate = 1000 }
run = { seeds = 3, until = "1ms" }
machine = "pack:1 l3:1 core:2 pu:1"
variant = [{ name = "a" }]
[tune]
maximize = "throughput"
while = ["wakeup_latency_p99 < 45 us"]
rate = { range = [1, 60] }
hz = [100, 250]
"#;

/// `throughput` is rate - hz / 100 + what the seed adds, `wakeup_latency_p99` the rate. A rate of
/// 13 cannot run.
#[derive(Default)]
struct ClosedForm(Mutex<Vec<(i64, u64)>>);

impl Executor for ClosedForm {
    fn run(&self, spec: &RunSpec, _: &dyn Fn(f64)) -> Result<RunOutput, RunError> {
        let rate = spec.workload.get("rate").and_then(|rate| rate.float()).unwrap();
        let hz = spec.tunables.first().map_or(0, |(_, hz)| hz.int().unwrap());
        self.0.lock().unwrap().push((rate as i64, spec.seed));
        if rate == 13.0 {
            return Err(RunError::Impossible("13 is bad luck".into()));
        }
        let value = |name: &str, unit, value| MetricValue {
            name: name.into(),
            unit,
            better: Better::None,
            value,
        };
        let throughput = rate - hz as f64 / 100.0 + spec.seed as f64;
        let metrics =
            vec![value("throughput", "1/s", throughput), value("wakeup_latency_p99", "us", rate)];
        Ok(RunOutput { metrics, finished: true, ..RunOutput::default() })
    }
}

/// Asks for rates one after the other, each with the low and the high `hz`; notes what it is told.
struct InTurn {
    next: i64,
    told: Vec<Told>,
}

impl Optimizer for InTurn {
    fn name(&self) -> &str {
        "in turn"
    }

    fn ask(&mut self, n: usize) -> Result<Vec<Point>, TuneError> {
        let point =
            |n: i64| vec![Coordinate::Whole(1 + n / 2 % 60), Coordinate::Choice(n as usize % 2)];
        let points = (self.next..).take(n).map(point).collect();
        self.next += n as i64;
        Ok(points)
    }

    fn tell(&mut self, told: &[Told]) -> Result<(), TuneError> {
        self.told.extend_from_slice(told);
        Ok(())
    }
}

/// A folder with the scenario, and the scenario.
fn example(text: &str) -> (tempfile::TempDir, PathBuf, Study) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("closed.toml");
    std::fs::write(&path, text).unwrap();
    let study = scenario::load_study(&path, Changes::default());
    (folder, path, study.unwrap_or_else(|f| panic!("{}", f.render(false))))
}

fn searched(text: &str, batch: usize, jobs: usize, n_points: usize) -> (TuneReport, Vec<Told>) {
    let (_folder, path, study) = example(text);
    let tune = study.tune.clone().unwrap();
    let executor = ClosedForm::default();
    let how = HowToSearch {
        path: &path,
        changes: Changes::default(),
        executor: &executor,
        jobs,
        observer: &Silent,
        n_points,
        batch,
        search_seed: 1,
        fresh: 2,
    };
    let mut optimizer = InTurn { next: 0, told: Vec::new() };
    let report = search(&study, &tune, &mut optimizer, &how).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(report.n_runs, executor.0.lock().unwrap().len(), "each point is run once");
    (report, optimizer.told)
}

#[test]
fn the_best_point_that_keeps_the_limit_is_found_whatever_the_jobs() {
    let (report, told) = searched(SCENARIO, 8, 1, 1000);
    assert_eq!(report.looked.len(), 120, "there are no more points");
    let best = &report.looked[report.best.unwrap()];
    assert_eq!(best.point, [Coordinate::Whole(44), Coordinate::Choice(0)]);
    assert_eq!(report.words(&best.point), ["rate=44", "hz=100"]);
    assert_eq!(told[0], Some(Outcome { values: vec![1.0 - 1.0 + 2.0], excess: vec![1.0 - 45.0] }));
    assert_eq!(told[2 * 12], None, "13 is bad luck");
    let validation = report.validation.as_ref().unwrap();
    assert_eq!(validation.seeds, [4, 5]);
    assert_eq!(validation.best.as_ref().unwrap().values[0], [47.0, 48.0]);
    let (other, _) = searched(SCENARIO, 8, 4, 1000);
    assert_eq!(text(&report), text(&other));
    assert_eq!(json(&report), json(&other));
}

#[test]
fn at_the_limit_a_strict_sign_is_broken() {
    let (_, told) = searched(SCENARIO, 8, 2, 1000);
    let excess = |rate: usize| told[2 * (rate - 1)].as_ref().unwrap().excess[0];
    assert!(excess(44) <= 0.0 && excess(45) > 0.0 && excess(46) == 1.0);
}

#[test]
fn the_search_ends_with_the_points_that_were_asked_for() {
    let (report, _) = searched(SCENARIO, 8, 2, 30);
    assert_eq!(report.looked.len(), 30);
    assert_eq!(report.n_runs, 3 * (1 + 30) + 2 * 2);
}

/// Always the same point.
struct Stubborn;

impl Optimizer for Stubborn {
    fn name(&self) -> &str {
        "stubborn"
    }

    fn ask(&mut self, n: usize) -> Result<Vec<Point>, TuneError> {
        Ok(vec![vec![Coordinate::Whole(1), Coordinate::Choice(0)]; n])
    }

    fn tell(&mut self, _: &[Told]) -> Result<(), TuneError> {
        Ok(())
    }
}

#[test]
fn an_optimizer_with_nothing_new_ends_the_search() {
    let (_folder, path, study) = example(SCENARIO);
    let tune = study.tune.clone().unwrap();
    let executor = ClosedForm::default();
    let how = HowToSearch {
        path: &path,
        changes: Changes::default(),
        executor: &executor,
        jobs: 1,
        observer: &Silent,
        n_points: 50,
        batch: 4,
        search_seed: 1,
        fresh: 0,
    };
    let report = search(&study, &tune, &mut Stubborn, &how).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((report.looked.len(), report.n_runs), (1, 2 * 3));
}

#[test]
fn what_is_not_measured_is_told_at_once() {
    let (_folder, path, study) =
        example(&SCENARIO.replace("maximize = \"throughput\"", "minimize = \"elapsed\""));
    let tune = study.tune.clone().unwrap();
    let executor = ClosedForm::default();
    let how = HowToSearch {
        path: &path,
        changes: Changes::default(),
        executor: &executor,
        jobs: 1,
        observer: &Silent,
        n_points: 50,
        batch: 4,
        search_seed: 1,
        fresh: 0,
    };
    let error = search(&study, &tune, &mut Stubborn, &how).map(drop).unwrap_err();
    assert_eq!(error.to_string(), "the runs do not measure `elapsed`, which [tune] names");
}

#[test]
fn people_see_the_winner_and_what_the_limit_costs() {
    let (report, _) = searched(SCENARIO, 8, 2, 1000);
    let text = text(&report);
    let begin: String = text.lines().take(24).map(|line| line.to_string() + "\n").collect();
    expect_test::expect![[r#"
        closed: closed form
          tuned    a: maximize throughput while wakeup_latency_p99 < 45 us
          keys     rate, hz
          points   120 of 120, in batches of 8
          by       in turn, its seed 1
          seeds    1-3
          runs     367, 0 of them computed now

        best: rate=44, hz=100
          --set 'workload.rate=44'
          --set 'variant.a.tunables.hz=100'
                                   as it is   best  change
          throughput [1/s]          1002.00  45.00  -95.51% ±0.00 worse
          wakeup_latency_p99 [us]      1000   44.0  -95.60% better?

        the same with fresh seeds, 4-5
                                   as it is   best  change
          throughput [1/s]          1004.50  47.50  -95.27% ±0.00 worse
          wakeup_latency_p99 [us]      1000   44.0  -95.60% better?
          it is NOT better there

        Pareto front: no point is better in all
          throughput [1/s]               change  wakeup_latency_p99 [us]           change  limits  point
                     55.00  -94.51% ±0.00 worse                     54.0  -94.60% better?  broken  rate=54 hz=100
    "#]].assert_eq(&begin);
}
