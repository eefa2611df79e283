//! Two runs side by side, and conditions that scripts can rely on.

use crate::lab::{Lab, SCENARIO};
use snapbox::str;

/// Runs the scenario of the lab and keeps its results.
fn keep(lab: &Lab, out: &str) {
    lab.run(["small.toml", "--quiet", "--out", out]).success();
}

#[test]
fn a_run_beside_itself_has_no_difference() {
    let lab = Lab::new();
    keep(&lab, "a");
    keep(&lab, "b");
    lab.run(["compare", "a", "b/results.json"]).success().stderr_eq("").stdout_eq(str![[r#"
A a/results.json schedlab 0.1.0
B b/results.json schedlab 0.1.0

a small build
machine small, 8 CPUs   seeds 1-2   paired by seed
NO_SWQUEUE
  all 89 metrics are the same, value by value
SWQUEUE
  all 89 metrics are the same, value by value

No difference: 178 metrics, value by value.
schedlab 0.1.0. All metrics: --all, --format json.

"#]]);
    let json = lab.output(["compare", "a", "b", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["identical"], true);
    let conditions = ["elapsed > 0%", "elapsed < 0%", "SWQUEUE: wakeup_latency_p99 > 0%"];
    let flags = conditions.iter().flat_map(|condition| ["--fail-if", condition]);
    lab.run(["compare", "a", "b"].into_iter().chain(flags)).success().stderr_eq("");
}

#[test]
fn a_changed_tunable_is_that_change_and_no_other() {
    let lab = Lab::new();
    keep(&lab, "a");
    let cold = "features = [\"SWQUEUE\"]\ntunables = { migration_cost_ns = 50_000_000 }";
    lab.edit("features = [\"SWQUEUE\"]", cold);
    keep(&lab, "b");
    let json = lab.output(["compare", "a", "b", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let scenario = &json["scenarios"][0];
    assert_eq!((&scenario["paired"], &scenario["same_input"]), (&true.into(), &false.into()));
    let [off, on] = &scenario["variants"].as_array().unwrap()[..] else { panic!("{scenario}") };
    assert_eq!(off["changed"].as_array().unwrap().len(), 0);
    assert!(off["metrics"].as_object().unwrap().values().all(|m| m["identical"] == true));
    let [changed] = &on["changed"].as_array().unwrap()[..] else { panic!("{on}") };
    assert_eq!(changed["key"], "tunables.migration_cost_ns");
    assert!(on["metrics"].as_object().unwrap().values().any(|m| m["identical"] == false));
}

#[test]
fn another_machine_is_told_and_paired() {
    let lab = Lab::new();
    keep(&lab, "a");
    lab.edit("machines/small.toml", "zen4");
    keep(&lab, "b");
    let text = lab.output(["compare", "a", "b", "--metric", "elapsed"]);
    let facts = "machine A: small, 8 CPUs, B: zen4, 32 CPUs   seeds 1-2   paired by seed";
    assert!(text.contains(facts) && text.contains("elapsed ["), "{text}");
    lab.run(["small.toml", "--quiet", "--seeds", "3", "--out", "c"]).success();
    let text = lab.output(["compare", "b", "c"]);
    assert!(text.contains("not paired (Welch): the seeds are others"), "{text}");
}

#[test]
fn a_condition_that_fails_says_its_line() {
    let lab = Lab::new();
    keep(&lab, "a");
    lab.edit("work_seconds = 4", "work_seconds = 8");
    keep(&lab, "b");
    let fails = ["compare", "a", "b", "--fail-if", "elapsed > 10%", "--fail-if", "elapsed > 900%"];
    lab.run(fails).code(1).stderr_eq(str![[r#"
error: `elapsed > 10%`: a small build, NO_SWQUEUE: 646.80 ms became 1287.31 ms, +99.03% [+15.3, +183]
error: `elapsed > 10%`: a small build, SWQUEUE: 642.58 ms became 1279.49 ms, +99.12% [+20.1, +178]

"#]]);
    for (condition, message) in [
        (
            "elasped > 1%",
            "error: --fail-if 'elasped > 1%': no metric `elasped` is in both files; did you mean `elapsed`?\n",
        ),
        (
            "SWQEUE: elapsed > 1%",
            "error: --fail-if 'SWQEUE: elapsed > 1%': no variant `SWQEUE` is in both files; did you mean `SWQUEUE`?\n",
        ),
    ] {
        lab.run(["compare", "a", "b", "--fail-if", condition]).code(2).stderr_eq(message);
    }
    lab.run(["compare", "a", "b", "--fail-if", "elapsed > 1"]).code(2);
    lab.run(["compare", "a", "none"]).code(2);
    lab.file("x.json", SCENARIO);
    lab.run(["compare", "a", "x.json"]).code(2);
}
