//! `[tune]`: what is looked for, and what is said about bad ones.

use expect_test::{Expect, expect};
use scenario::tune::{Coordinate, Goal, Values};
use scenario::{Changes, Faults, Study, Tune, load_tuned};
use std::path::Path;

/// A right scenario but for what follows.
const HEAD: &str = r#"policy = "cfs"
workload = { kind = "short", tasks = 24, run_ns = 200_000, sleep_ns = 100_000 }
run = { seeds = 2, until = "10ms" }
variant = [{ name = "off" }, { name = "on", features = ["SWQUEUE", "NO_SIS_UTIL"] }]
[machine]
llcs_per_socket = 2
cores_per_llc = 4
latency = { llc_ns = 25, node_ns = 110 }
caches = { l1d_kib = 32, l2_kib = 1024, l3_kib = 32768, l3_hit_ns = 15, mem_ns = 105 }
[tune]
"#;

fn load(rest: &str, sets: &[&str]) -> Result<Study, Faults> {
    let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
    scenario::load_study_str(Path::new("s.toml"), HEAD.to_string() + rest, &sets)
}

fn right(rest: &str) -> Tune {
    let study = load(rest, &[]).unwrap_or_else(|faults| panic!("{}", faults.render(false)));
    study.tune.expect("there is a [tune]")
}

fn wrong(rest: &str, expected: &Expect) {
    let faults = load(rest, &[]).expect_err("it is wrong");
    expected.assert_eq(&(faults.render(false).trim_end().to_string() + "\n"));
}

#[test]
fn what_is_looked_for_is_read() {
    let tune = right(
        "variant = \"on\"\nminimize = \"wakeup_latency_p99\"\nmaximize = [\"cpu_pct\"]\n\
         while = [\"wakeup_latency_max < 2 ms\"]\nmachine.hz = [100, 1_000]\n\
         migration_cost_ns = { range = [1_000, 1_000_000], log = true }\ntasks = { range = [8, 24] }\n\
         features = [\"SIS_UTIL\", \"TTWU_QUEUE\"]",
    );
    assert_eq!(tune.variant, "on");
    let goal = |metric: &str, maximize| Goal { metric: metric.into(), maximize };
    assert_eq!(tune.goals, [goal("wakeup_latency_p99", false), goal("cpu_pct", true)]);
    assert_eq!((tune.limits[0].limit, tune.limits[0].unit()), (2000.0, "us"));
    let keys: Vec<&str> = tune.keys.iter().map(|key| key.key.as_str()).collect();
    assert_eq!(keys, ["machine.hz", "migration_cost_ns", "tasks", "SIS_UTIL", "TTWU_QUEUE"]);
    assert_eq!(tune.keys[1].values, Values::Whole { low: 1000, high: 1_000_000, log: true });
    let point = [1.0, 5000.0, 9.0, 1.0, 0.0];
    let point: Vec<Coordinate> =
        tune.keys.iter().zip(point).map(|(key, x)| key.coordinate(x).unwrap()).collect();
    assert_eq!(
        tune.sets(&point),
        [
            "machine.hz=1_000",
            "variant.on.tunables.migration_cost_ns=5000",
            "workload.tasks=9",
            "variant.on.features=[\"SWQUEUE\", \"SIS_UTIL\", \"NO_TTWU_QUEUE\"]",
        ]
    );
}

#[test]
fn a_point_is_a_scenario_with_the_tuned_variant_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.toml");
    let rest = "maximize = \"cpu_pct\"\ntasks = [1, 2]\nfeatures = [\"SWQUEUE\", \"SWQ_FLAGS\"]";
    std::fs::write(&file, HEAD.to_string() + rest).unwrap();
    let tune = right(rest);
    let [one, zero] = [1, 0].map(Coordinate::Choice);
    let at = |point: &[Coordinate]| load_tuned(&file, Changes::default(), &tune, Some(point));
    let experiment = at(&[one, one, zero]).unwrap();
    assert_eq!(experiment.workload.get("tasks").and_then(|v| v.int()), Some(2));
    let [variant] = &experiment.variants[..] else {
        panic!("{} variants", experiment.variants.len());
    };
    let features: Vec<String> = variant.features.iter().map(ToString::to_string).collect();
    assert_eq!((variant.name.as_str(), variant.baseline), ("off", true));
    assert_eq!(features, ["SWQUEUE", "NO_SWQ_FLAGS"]);
    let faults = at(&[one, zero, one]).unwrap_err();
    assert!(faults.render(false).contains("`SWQ_FLAGS` does nothing without `SWQUEUE`"));
    let as_it_is = load_tuned(&file, Changes::default(), &tune, None).unwrap();
    assert_eq!(as_it_is.workload.get("tasks").and_then(|v| v.int()), Some(24));
}

#[test]
fn a_run_of_the_scenario_does_not_mind_it() {
    let study = load("maximize = \"cpu_pct\"\ntasks = [1, 2]", &["tasks=3"]).unwrap();
    assert_eq!((study.n_runs(), study.points.len()), (4, 1));
}

#[test]
fn what_is_best_is_to_be_said() {
    wrong(
        "tasks = [1, 2]",
        &expect![[r#"
        error: [tune] does not say what is best
          --> s.toml:10:1
           |
        10 | [tune]
           | ^^^^^^
           |
           = help: such as maximize = "throughput", or minimize = "latency_p99"
    "#]],
    );
    wrong(
        "maximize = \"wakeup_latency_p99\"\ntasks = [1, 2]",
        &expect![[r#"
        error: of `wakeup_latency_p99`, lower is better
          --> s.toml:11:12
           |
        11 | maximize = "wakeup_latency_p99"
           |            ^^^^^^^^^^^^^^^^^^^^
           |
           = help: write minimize = "wakeup_latency_p99"
    "#]],
    );
    wrong(
        "maximize = \"througput\"\ntasks = [1, 2]",
        &expect![[r#"
        error: unknown metric `througput`
          --> s.toml:11:12
           |
        11 | maximize = "througput"
           |            ^^^^^^^^^^^
           |
           = help: did you mean `throughput`?
    "#]],
    );
    wrong(
        "maximize = \"cpu_pct\"\nwhile = [\"wakeup_latency_p99 < 2\"]\ntasks = [1, 2]",
        &expect![[r#"
            error: the limit needs a unit: the metric is in us
              --> s.toml:12:10
               |
            12 | while = ["wakeup_latency_p99 < 2"]
               |          ^^^^^^^^^^^^^^^^^^^^^^^^
               |
               = help: write METRIC < VALUE UNIT, such as "wakeup_latency_p99 < 2 ms"
        "#]],
    );
}

#[test]
fn keys_have_something_to_choose_from() {
    wrong(
        "maximize = \"cpu_pct\"",
        &expect![[r#"
        error: [tune] names no key
          --> s.toml:10:1
           |
        10 | [tune]
           | ^^^^^^
           |
           = help: such as hz = [250, 1000], migration_cost_ns = { range = [1_000, 1_000_000], log = true }, or features = ["SIS_UTIL"]
    "#]],
    );
    wrong(
        "maximize = \"cpu_pct\"\ntasks = 3",
        &expect![[r#"
        error: `tasks` has one value here
          --> s.toml:12:9
           |
        12 | tasks = 3
           |         ^
           |
           = help: write a list of choices, [3], or { range = [3, ...] }
    "#]],
    );
    wrong(
        "maximize = \"cpu_pct\"\ntasks = [3]",
        &expect![[r#"
        error: `tasks` has nothing to choose from
          --> s.toml:12:9
           |
        12 | tasks = [3]
           |         ^^^
           |
           = help: name at least two values, or put the key where it belongs
    "#]],
    );
    wrong(
        "maximize = \"cpu_pct\"\ntasks = [3, 3]",
        &expect![[r#"
        error: the value 3 of `tasks` is given twice
          --> s.toml:12:13
           |
        12 | tasks = [3, 3]
           |             ^
           |
           = help: keep one of them
    "#]],
    );
    wrong(
        "maximize = \"cpu_pct\"\ntsaks = [1, 2]",
        &expect![[r#"
        error: unknown key `tsaks`
          --> s.toml:12:1
           |
        12 | tsaks = [1, 2]
           | ^^^^^ neither the workload nor a policy has it
           |
           = help: did you mean `tasks`?
    "#]],
    );
    wrong(
        "maximize = \"cpu_pct\"\ntasks = [1, 2]\nworkload.tasks = [1, 2]",
        &expect![[r#"
        error: `workload.tasks` is `tasks`, which is tuned already
          --> s.toml:13:10
           |
        13 | workload.tasks = [1, 2]
           |          ^^^^^
           |
           = help: keep one of the two
    "#]],
    );
    wrong(
        "maximize = \"cpu_pct\"\nvariant = \"no\"\ntasks = [1, 2]",
        &expect![[r#"
        error: no variant is named `no`
          --> s.toml:12:11
           |
        12 | variant = "no"
           |           ^^^^
           |
           = help: did you mean `on`?
    "#]],
    );
}

#[test]
fn ranges_have_two_ends_that_the_key_takes() {
    wrong(
        "maximize = \"cpu_pct\"\ntasks = { range = [24, 1] }",
        &expect![[r#"
        error: `range` must be two numbers, the smaller one first
          --> s.toml:12:19
           |
        12 | tasks = { range = [24, 1] }
           |                   ^^^^^^^
           |
           = help: both ends are values of the key
    "#]],
    );
    wrong(
        "maximize = \"cpu_pct\"\ntasks = { range = [1] }",
        &expect![[r#"
        error: `range` must be two numbers, such as [1_000, 1_000_000]
          --> s.toml:12:19
           |
        12 | tasks = { range = [1] }
           |                   ^^^ this is an array
    "#]],
    );
    wrong(
        "maximize = \"cpu_pct\"\ntasks = { rnge = [1, 2] }",
        &expect![[r#"
            error: unknown key `rnge` in `tasks`
              --> s.toml:12:11
               |
            12 | tasks = { rnge = [1, 2] }
               |           ^^^^ not a key of this table
               |
               = help: did you mean `range`?
        "#]],
    );
    wrong(
        "maximize = \"cpu_pct\"\ntasks = { range = [0, 24], log = true }",
        &expect![[r#"
        error: `tasks` is looked for by ratios, and its range begins at 0
          --> s.toml:12:20
           |
        12 | tasks = { range = [0, 24], log = true }
           |                    ^
           |
           = help: begin above 0, or remove `log`
    "#]],
    );
    wrong(
        "maximize = \"cpu_pct\"\ntasks = { range = [0, 24] }",
        &expect![[r#"
        error: `tasks` must be at least 1
          --> s.toml:12:20
           |
        12 | tasks = { range = [0, 24] }
           |                    ^ allowed: 1 to 1000000
    "#]],
    );
    wrong(
        "maximize = \"cpu_pct\"\ntasks = [\"many\", 2]",
        &expect![[r#"
        error: `tasks` must be a whole number
          --> s.toml:12:10
           |
        12 | tasks = ["many", 2]
           |          ^^^^^^ this is a string
    "#]],
    );
}

#[test]
fn features_are_names_that_the_kernel_has() {
    wrong(
        "maximize = \"cpu_pct\"\nfeatures = [\"SWQEUE\"]",
        &expect![[r#"
        error: unknown feature `SWQEUE`
          --> s.toml:12:13
           |
        12 | features = ["SWQEUE"]
           |             ^^^^^^^^
           |
           = help: did you mean `SWQUEUE`?
    "#]],
    );
    wrong(
        "maximize = \"cpu_pct\"\nfeatures = [\"NO_SWQUEUE\"]",
        &expect![[r#"
        error: `NO_SWQUEUE` is tuned: it may be on or off
          --> s.toml:12:13
           |
        12 | features = ["NO_SWQUEUE"]
           |             ^^^^^^^^^^^^
           |
           = help: write "SWQUEUE"
    "#]],
    );
    wrong(
        "maximize = \"cpu_pct\"\nfeatures = [\"RUN_TO_PARITY\"]",
        &expect![[r#"
        error: policy `cfs` with the rules of 6.4 has no feature `RUN_TO_PARITY`
          --> s.toml:12:13
           |
        12 | features = ["RUN_TO_PARITY"]
           |             ^^^^^^^^^^^^^^^ in kernels: since 6.6
           |
           = help: remove it, or choose other rules: `cfs` is 6.4 and earlier, `eevdf` 6.6 and later
    "#]],
    );
}

#[test]
fn a_sweep_is_no_search() {
    wrong(
        "maximize = \"cpu_pct\"\ntasks = [1, 2]\n[sweep]\ntasks = [1, 2]",
        &expect![[r#"
        error: a scenario has either [sweep] or [tune]
          --> s.toml:10:2
           |
        10 | [tune]
           |  ^^^^
           |
           = help: [sweep] shows all points, [tune] looks for the best one: keep one of them
    "#]],
    );
}
