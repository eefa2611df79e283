//! Which rows count, and the tables as they look without colors.

use super::*;
use crate::PublishedChange;
use crate::analysis::tests::example;
use expect_test::expect;

/// A published value of the first seed's neighborhood; the made-up runs have about 300.
fn published(metric: &str, value: f64, calibrated: bool) -> PublishedRow {
    PublishedRow {
        metric: metric.to_string(),
        value,
        sd: None,
        runs: 1,
        source: "Someone, somewhere".to_string(),
        calibrated,
        mechanism: Mechanism::Unknown,
        change: None,
        simulated: Some(300.0),
        simulated_delta_pct: None,
        agrees: None,
    }
}

fn change(metric: &str, published_pct: f64, agrees: bool) -> PublishedRow {
    let row = published(metric, 310.0, false);
    let change = PublishedChange { pct: published_pct, error_pct: None };
    PublishedRow { change: Some(change), agrees: Some(agrees), ..row }
}

/// Two scenarios: one with a row of each sort, one with the example's own two rows.
fn fidelity() -> Fidelity {
    let mut all = example(5, &["off", "on"]);
    all.scenario = "all-sorts".to_string();
    let [off, on] = &mut all.variants[..] else { panic!("two variants") };
    off.published[0].calibrated = true;
    off.published.push(published("cpu_pct", 303.0, false));
    on.published.extend([
        PublishedRow { calibrated: true, ..change("cpu_pct", -3.1, true) },
        PublishedRow { mechanism: Mechanism::Built, ..change("spin_pct", 12.5, true) },
        published("latency_p99", 250.0, false),
        PublishedRow { simulated: None, ..published("latency_p50", 250.0, false) },
    ]);
    let mut other = example(1, &["off", "on"]);
    let change = PublishedChange { pct: -0.5, error_pct: Some(0.7) };
    other.variants[1].published[0].change = Some(change);
    other.variants[1].published[0].mechanism = Mechanism::LeftOut;
    Fidelity { scenarios: vec![Compared::new(&all), Compared::new(&other)] }
}

#[test]
fn every_row_counts_once_and_calibrated_ones_for_nothing() {
    let score = fidelity().scenarios[0].score();
    let tally = |right, of| Tally { right, of };
    let expected = Score {
        changes: tally(1, 2),
        clear: tally(1, 1),
        levels: tally(1, 2),
        calibrated: 2,
        unjudged: 1,
    };
    assert_eq!(score, expected);
    let rows = fidelity().scenarios[0].rows.len();
    assert_eq!(score.changes.of + score.levels.of + score.calibrated + score.unjudged, rows);
}

#[test]
fn the_score_of_all_is_the_sum() {
    let fidelity = fidelity();
    let of = |pick: fn(Score) -> usize| {
        let sum: usize = fidelity.scenarios.iter().map(|s| pick(s.score())).sum();
        assert_eq!(pick(fidelity.score()), sum);
    };
    of(|s| s.changes.right);
    of(|s| s.changes.of);
    of(|s| s.clear.of);
    of(|s| s.levels.right);
    of(|s| s.calibrated);
}

#[test]
fn every_judged_row_is_in_one_part_by_mechanism_and_every_change_in_one_by_error() {
    let mut fidelity = fidelity();
    let [all, other] = &mut fidelity.scenarios[..] else { panic!("two scenarios") };
    let errors = [Some(0.4), Some(0.6)];
    for (row, error) in all.rows.iter_mut().filter(|r| r.by == By::Change).zip(errors) {
        row.published.change.as_mut().unwrap().error_pct = error;
    }
    all.rows[0].published.mechanism = Mechanism::Built;
    other.rows[1].published.mechanism = Mechanism::LeftOut;
    let sum = |parts: &[Part], of: fn(Score) -> usize| {
        parts.iter().map(|part| of(fidelity.score_of(*part))).sum::<usize>()
    };
    let (mechanisms, errors) = Part::ALL.split_at(3);
    let all = fidelity.score();
    assert_eq!(sum(mechanisms, |s| s.changes.of), all.changes.of);
    assert_eq!(sum(mechanisms, |s| s.levels.of), all.levels.of);
    assert_eq!(sum(mechanisms, |s| s.calibrated), all.calibrated);
    assert_eq!(sum(errors, |s| s.changes.of), all.changes.of);
    assert_eq!(sum(errors, |s| s.levels.of), 0);
    let of = |part| fidelity.score_of(part);
    assert_eq!(of(Part::Mechanism(Mechanism::Built)).calibrated, 1);
    assert_eq!(of(Part::Mechanism(Mechanism::LeftOut)).changes, Tally { right: 0, of: 1 });
    assert_eq!(of(Part::ToldApart(Some(true))).changes, Tally { right: 0, of: 1 });
}

#[test]
fn a_row_is_settled_if_no_limit_lies_in_its_interval() {
    let settled = |seeds, change: f64, (level, calibrated): (f64, bool)| {
        let mut analysis = example(seeds, &["off", "on"]);
        let [off, on] = &mut analysis.variants[..] else { panic!("two variants") };
        (off.published[0].value, off.published[0].calibrated) = (level, calibrated);
        on.published[0].change = Some(PublishedChange { pct: change, error_pct: None });
        let compared = Compared::new(&analysis);
        let rows: Vec<bool> = compared.rows.iter().map(|row| row.settled).collect();
        assert_eq!(compared.is_settled(), rows == [true, true]);
        [rows[0], rows[1]]
    };
    // The example is 0.42 to 0.59 % slower with five seeds, at 300 s.
    let limit = (300.0 / 1.02, false);
    assert_eq!(settled(5, 1.0, (300.0, false)), [true, true], "all of it is right");
    assert_eq!(settled(5, -1.0, (200.0, false)), [true, true], "none of it is");
    assert_eq!(settled(5, 1.5, (300.0, false)), [true, false], "the limit lies in it");
    assert_eq!(settled(5, 1.0, limit), [false, true]);
    assert_eq!(settled(5, 1.0, (limit.0, true)), [true, true], "it was fitted");
    assert_eq!(settled(1, 1.5, limit), [true, true], "one seed has no interval");
}

#[test]
fn a_level_of_nothing_needs_nothing() {
    let mut analysis = example(1, &["off", "on"]);
    let judged = |analysis: &Analysis| Compared::new(analysis).rows[0].right;
    analysis.variants[0].published[0].value = 0.0;
    assert_eq!(judged(&analysis), Some(false));
    analysis.variants[0].published[0].simulated = Some(0.0);
    assert_eq!(judged(&analysis), Some(true));
}

#[test]
fn text_shows_every_row_and_fits_a_terminal() {
    let fidelity = fidelity();
    let blocks: String = fidelity.scenarios.iter().map(scenario_text).collect();
    let plain = anstream::adapter::strip_str(&(blocks + &score_text(&fidelity))).to_string();
    for line in plain.lines() {
        assert!(line.chars().count() <= 100, "{line}");
        assert!(!line.ends_with(' '), "spaces at the end: `{line}`");
    }
    expect![[r#"
        all-sorts: An example (seeds 1-5)
         elapsed [s]                 published   change  simulated   change  95 % interval
          off                           300.00 baseline     299.96           level -0.01%   calibrated
          on                            298.50   -0.50%     301.47   +0.50%  [+0.42, +0.59] differs unknown
         cpu_pct [%]                 published   change  simulated   change  95 % interval
          off                           303.00 baseline     300.00           level -0.99%   within  unknown
          on                            310.00   -3.10%     300.00        -  [-0.09, +0.12] calibrated
         spin_pct [%]                published   change  simulated   change  95 % interval
          on                            310.00  +12.50%     300.00        -  [-0.12, -0.01] agrees  built
         latency_p99 [us]            published   change  simulated   change  95 % interval
          on                               250        -        300           level +20.00%  beyond  unknown
         latency_p50 [us]            published   change  simulated   change  95 % interval
          on                               250        -          -                          not judged

        example: An example (seeds 1)
         elapsed [s]                 published   change  simulated   change
          off                           300.00 baseline     300.73           level +0.24%   within  unknown
          on                            298.50  ~-0.50%     301.98   +0.42%                 differs left out

        sources
          here
            all-sorts, example
          Someone, somewhere
            all-sorts

        score                            changes  1 % and up      levels  calibrated
          all-sorts                       1 of 2      1 of 1      1 of 2           2
          example                         0 of 1           -      1 of 1           -
          all                             1 of 3      1 of 1      2 of 3           2
          mechanism built                 1 of 1      1 of 1           -           -
          mechanism left out              0 of 1           -           -           -
          mechanism unknown               0 of 1           -      2 of 3           2
          ~ not told apart                0 of 1           -           -           -
          error not published             1 of 2      1 of 1           -           1

        changes that agree: same direction or both under 0.15 %, and within 1 point or 1/4 of the change.
        Below 1 % the direction is nearly all that counts, and chance gets about half of them right.
        A known error of a published change (two standard errors) takes the place of a smaller limit.
        A change below its error was not told apart from zero: it agrees only with one below it, too.
        mechanism (what makes the row so): built into the model, known and left out, or unknown.
        levels within 2 %: values of baselines, and those whose baseline nobody published.
        calibrated: a constant was fitted to this row (docs/CALIBRATION.md), so it counts for nothing.
        not judged (1): the runs have nothing beside it.
        One seed gives no interval (example): --seeds 5 tells chance from effect.
        schedlab 0.1.0.
    "#]].assert_eq(&plain);
}

#[test]
fn many_scenarios_of_one_source_take_several_lines() {
    let mut fidelity = fidelity();
    let one = fidelity.scenarios.swap_remove(1);
    let named = |n: usize| Compared { scenario: format!("a-long-scenario-{n}"), ..one.clone() };
    fidelity.scenarios = (0..12).map(named).collect();
    let text = score_text(&fidelity);
    assert!(text.lines().all(|line| line.chars().count() < 112), "{text}");
}
