//! `schedlab fidelity`: published rows beside simulated ones, a score, and bad input.

use crate::lab::{Lab, SCENARIO};
use crate::results::{RESULTS_MD, names};
use snapbox::str;

/// A lab whose published rows are of all sorts.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.edit("value = 1.5\n", "value = 1.5\ncalibrated = true\n");
    lab
}

/// A scenario without published rows.
fn without_rows() -> &'static str {
    SCENARIO.split("\n[[published]]").next().unwrap()
}

#[test]
fn every_row_stands_beside_the_simulated_one() {
    lab().run(["fidelity", "small.toml"]).success().stderr_eq("").stdout_eq(str![[r#"
small: a small build (seeds 1-2)
 elapsed [ms]                published   change  simulated   change  95 % interval
  NO_SWQUEUE                   1500.00 baseline     646.80           level -56.88%  calibrated
  SWQUEUE                      1400.00   -6.67%     642.58   -0.65%  [-9.04, +7.73] differs unknown

sources
  made up
    small

score                            changes  1 % and up      levels  calibrated
  small                           0 of 1      0 of 1           -           1
  mechanism unknown               0 of 1      0 of 1           -           1
  error not published             0 of 1      0 of 1           -           -

changes that agree: same direction or both under 0.15 %, and within 1 point or 1/4 of the change.
Below 1 % the direction is nearly all that counts, and chance gets about half of them right.
mechanism (what makes the row so): built into the model, known and left out, or unknown.
levels within 2 %: values of baselines, and those whose baseline nobody published.
calibrated: a constant was fitted to this row (docs/CALIBRATION.md), so it counts for nothing.
schedlab 0.1.0.

"#]]);
}

#[test]
fn a_scenario_with_nothing_published_is_named_and_left_out() {
    let lab = lab();
    lab.file("bare.toml", without_rows());
    let both = ["fidelity", "bare.toml", "small.toml", "--format", "json"];
    let done = lab.run(both).success();
    let done = done.stderr_eq(str![[r#"
note: bare has no published row: it is left out

"#]]);
    let doc: serde_json::Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    let [compared] = &doc["scenarios"].as_array().unwrap()[..] else { panic!("{doc}") };
    assert_eq!(compared["rows"].as_array().unwrap().len(), 2);
    lab.run(both.into_iter().chain(["--quiet"])).success().stderr_eq("");
    lab.run(["fidelity", "bare.toml"]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: bare has no published row to compare with; a [[published]] table in a scenario gives one: variant, metric, value, source

"#]]);
}

#[test]
fn only_variants_with_rows_run() {
    let lab = lab();
    let more = "\n[[variant]]\nname = \"no row\"\ntunables = { migration_cost_ns = 0 }\n";
    let text = lab.output(["fidelity", "small.toml", "--quiet"]);
    let scenario = std::fs::read_to_string(lab.path("small.toml")).unwrap();
    lab.file("small.toml", scenario + more);
    assert_eq!(lab.output(["fidelity", "small.toml", "--quiet"]), text);
}

#[test]
fn every_format_is_the_same_whatever_the_jobs() {
    let lab = lab();
    for format in ["text", "json"] {
        let run = |jobs| lab.output(["fidelity", "small.toml", "--format", format, "--jobs", jobs]);
        let one = run("1");
        assert_eq!(one, run("2"), "{format}");
        assert!(!one.contains('\u{1b}'), "{format} has colors in a pipe");
    }
}

#[test]
fn a_scenario_ends_when_its_seeds_leave_no_doubt() {
    let seeds = |published: &str, more: &[&str]| {
        let lab = Lab::new();
        let scenario = SCENARIO.replace("seeds = 2", "seeds = 5");
        let baseline = "value = 1.5\ncalibrated = true\n";
        let scenario = scenario.replace("value = 1.5\n", baseline);
        lab.file("small.toml", scenario.replace("value = 1.4", &format!("value = {published}")));
        let args = ["fidelity", "small.toml", "--format", "json", "--quiet"];
        let text = lab.output(args.iter().chain(more).copied());
        let doc: serde_json::Value = serde_json::from_str(&text).unwrap();
        doc["scenarios"][0]["seeds"].to_string()
    };
    assert_eq!(seeds("0.1", &[]), "[1,2,3]", "far from all that was simulated");
    assert_eq!(seeds("0.1", &["--seeds", "4"]), "[1,2,3,4]", "as many as were asked for");
    assert_eq!(seeds("1.5", &[]), "[1,2,3,4,5]", "no change was published, and the seeds differ");
}

#[test]
fn json_has_the_documented_shape() {
    let text = lab().output(["fidelity", "small.toml", "--format", "json", "--seeds", "3"]);
    let doc: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(doc["schema"], 1);
    assert_eq!(doc["score"]["changes"]["of"], 1);
    assert_eq!(doc["score"]["calibrated"], 1);
    let row = &doc["scenarios"][0]["rows"][1];
    assert_eq!(row["judged_by"], "change");
    assert_eq!(row["mechanism"], "unknown");
    assert_eq!(doc["mechanisms"]["unknown"], doc["score"]);
    assert_eq!(doc["errors"]["unknown"]["changes"], doc["score"]["changes"]);
    assert!(row["right"].is_boolean() && row["ci95"][1].is_number());
    let mut fields = Vec::new();
    names(&doc, "", &mut fields);
    let unknown: Vec<&String> =
        fields.iter().filter(|field| !RESULTS_MD.contains(&format!("`{field}`"))).collect();
    assert!(unknown.is_empty(), "docs/RESULTS.md does not name {unknown:?}");
}

#[test]
fn one_seed_has_no_interval_and_says_so() {
    let lab = lab();
    lab.run(["fidelity", "small.toml", "--seeds", "1"]).success().stdout_eq(str![[r#"
small: a small build (seeds 1)
 elapsed [ms]                published   change  simulated   change
  NO_SWQUEUE                   1500.00 baseline     669.08           level -55.39%  calibrated
  SWQUEUE                      1400.00   -6.67%     660.59   -1.27%                 differs unknown

sources
  made up
    small

score                            changes  1 % and up      levels  calibrated
  small                           0 of 1      0 of 1           -           1
  mechanism unknown               0 of 1      0 of 1           -           1
  error not published             0 of 1      0 of 1           -           -

changes that agree: same direction or both under 0.15 %, and within 1 point or 1/4 of the change.
Below 1 % the direction is nearly all that counts, and chance gets about half of them right.
mechanism (what makes the row so): built into the model, known and left out, or unknown.
levels within 2 %: values of baselines, and those whose baseline nobody published.
calibrated: a constant was fitted to this row (docs/CALIBRATION.md), so it counts for nothing.
One seed gives no interval: --seeds 5 tells chance from effect.
schedlab 0.1.0.

"#]]);
    let text = lab.output(["fidelity", "small.toml", "--seeds", "1", "--format", "json"]);
    let doc: serde_json::Value = serde_json::from_str(&text).unwrap();
    let row = &doc["scenarios"][0]["rows"][1];
    assert_eq!(row["ci95"], serde_json::Value::Null);
    assert!(row["simulated_delta_pct"].is_number() && row["right"].is_boolean(), "{row}");
    assert_eq!((&row["calibrated"], &row["judged_by"]), (&false.into(), &"change".into()));
    // Of two scenarios, the one that it is about is named.
    lab.file("one.toml", SCENARIO.replace("seeds = 2", "seeds = 1"));
    let text = lab.output(["fidelity", "small.toml", "one.toml", "--quiet"]);
    assert!(text.contains("\nOne seed gives no interval (one): --seeds 5 "), "{text}");
}

#[test]
fn bad_input_is_refused_before_anything_runs() {
    let lab = lab();
    lab.run(["fidelity", "small.toml", "small.toml"]).code(2).stderr_eq(str![[r#"
error: small.toml is given twice

"#]]);
    lab.run(["fidelity", "absent.toml"]).code(2).stdout_eq("");
    lab.run(["fidelity", "small.toml", "--seeds", "0"]).code(2).stdout_eq("");
    lab.edit("value = 1.5\n", "value = 1.5\ncalibrated = \"yes\"\ncalibrate = true\n");
    lab.run(["fidelity", "small.toml"]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: `calibrated` must be true or false
  --> small.toml:29:14
   |
29 | calibrated = "yes"
   |              ^^^^^ this is a string

error: unknown key `calibrate` in [[published]]
  --> small.toml:30:1
   |
30 | calibrate = true
   | ^^^^^^^^^ not a key of this table
   |
   = help: did you mean `calibrated`?

error: 2 faults in the input; nothing was run

"#]]);
}
