//! What a scenario expects: read before the run, checked after it.

use crate::lab::Lab;
use snapbox::str;

/// The small scenario with expectations of all variants, and of the second one.
fn lab(of_all: &str, of_one: &str) -> Lab {
    let lab = Lab::new();
    lab.edit("policy = \"cfs\"", &format!("policy = \"cfs\"\nexpect = {of_all}"));
    let text = std::fs::read_to_string(lab.path("small.toml")).unwrap();
    let on = "name = \"SWQUEUE\"\nfeatures";
    lab.file(
        "small.toml",
        text.replace(on, &format!("name = \"SWQUEUE\"\nexpect = {of_one}\nfeatures")),
    );
    lab
}

#[test]
fn what_holds_is_said_and_the_exit_code_is_0() {
    let lab = lab(r#"["elapsed < 2 s", "elapsed >= 1_000 us"]"#, r#"["pull_lost >= 0"]"#);
    let text = lab.output(["small.toml"]);
    assert!(text.contains("\nexpected: 5 of 5 hold.\n"), "{text}");
    let json = lab.output(["small.toml", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let first = &json["expected"][0];
    assert_eq!((&first["expect"], &first["holds"]), (&"elapsed < 2 s".into(), &true.into()));
    assert_eq!(first["place"], "small.toml:4");
}

#[test]
fn what_does_not_hold_is_told_with_its_line_and_its_interval() {
    let lab = lab(r#"["elapsed < 645 ms", "throughput > 1 1/s"]"#, r#"["elapsed < 2 ms"]"#);
    let done = lab.run(["small.toml", "--out", "o"]).code(1).stderr_eq(str![[r#"
error: small.toml:4: expected elapsed < 645 ms; NO_SWQUEUE has 646.80 ms [363.75, 929.86]
error: small.toml:4: expected throughput > 1 1/s; NO_SWQUEUE does not measure it
error: small.toml:4: expected throughput > 1 1/s; SWQUEUE does not measure it
error: small.toml:24: expected elapsed < 2 ms; SWQUEUE has 642.58 ms [413.75, 871.41]

"#]]);
    let text = String::from_utf8(done.get_output().stdout.clone()).unwrap();
    assert!(
        text.contains("\nexpected: 1 of 5 hold; not elapsed < 645 ms (NO_SWQUEUE), "),
        "{text}"
    );
    assert!(lab.path("o/results.json").exists());
    lab.run(["report", "small.toml", "--quiet", "--html", "x.html"]).code(1);
    assert!(lab.path("x.html").exists());
    // Other commands look at one run, and expect nothing.
    lab.run(["explain", "small.toml", "--variant", "SWQUEUE"]).success();
    // Nothing is expected of a variant that does not run.
    lab.edit("features = [\"SWQUEUE\"]", "features = [\"SWQUEUE\"]\nexpect = [\"elapsed < 2 ms\"]");
    lab.run(["small.toml", "--variant", "NO_SWQUEUE"]).success();
}

#[test]
fn what_cannot_be_expected_is_told_before_the_run() {
    let lab = lab(
        r#"["elasped < 2 s", "elapsed = 2 s", "elapsed < 2", "elapsed < 2 us/s"]"#,
        r#"["switches < 2 s", 3, "elapsed < -1 s", "idle_while_runnable < 5 s", "elapsed < 0 m"]"#,
    );
    lab.run(["small.toml"]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: unknown metric `elasped`
 --> small.toml:4:11
  |
4 | expect = ["elasped < 2 s", "elapsed = 2 s", "elapsed < 2", "elapsed < 2 us/s"]
  |           ^^^^^^^^^^^^^^^
  |
  = help: did you mean `elapsed`?

error: an expectation has `<`, `<=`, `>` or `>=` in it
 --> small.toml:4:28
  |
4 | expect = ["elasped < 2 s", "elapsed = 2 s", "elapsed < 2", "elapsed < 2 us/s"]
  |                            ^^^^^^^^^^^^^^^
  |
  = help: write METRIC < VALUE UNIT, such as "wakeup_latency_p99 < 2 ms"

error: the limit needs a unit: the metric is in s
 --> small.toml:4:45
  |
4 | expect = ["elasped < 2 s", "elapsed = 2 s", "elapsed < 2", "elapsed < 2 us/s"]
  |                                             ^^^^^^^^^^^^^
  |
  = help: write METRIC < VALUE UNIT, such as "wakeup_latency_p99 < 2 ms"

error: the metric is in s, not in `us/s`
 --> small.toml:4:60
  |
4 | expect = ["elasped < 2 s", "elapsed = 2 s", "elapsed < 2", "elapsed < 2 us/s"]
  |                                                            ^^^^^^^^^^^^^^^^^^
  |
  = help: write METRIC < VALUE UNIT, such as "wakeup_latency_p99 < 2 ms"

error: the metric has no unit, `s` is one
  --> small.toml:24:11
   |
24 | expect = ["switches < 2 s", 3, "elapsed < -1 s", "idle_while_runnable < 5 s", "elapsed < 0 m"]
   |           ^^^^^^^^^^^^^^^^
   |
   = help: write METRIC < VALUE UNIT, such as "wakeup_latency_p99 < 2 ms"

error: `expect` must be a string
  --> small.toml:24:29
   |
24 | expect = ["switches < 2 s", 3, "elapsed < -1 s", "idle_while_runnable < 5 s", "elapsed < 0 m"]
   |                             ^ this is a whole number

error: `-1 s` is no amount
  --> small.toml:24:32
   |
24 | expect = ["switches < 2 s", 3, "elapsed < -1 s", "idle_while_runnable < 5 s", "elapsed < 0 m"]
   |                                ^^^^^^^^^^^^^^^^
   |
   = help: write METRIC < VALUE UNIT, such as "wakeup_latency_p99 < 2 ms"

error: the metric is in CPU-s, not in `s`
  --> small.toml:24:50
   |
24 | expect = ["switches < 2 s", 3, "elapsed < -1 s", "idle_while_runnable < 5 s", "elapsed < 0 m"]
   |                                                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^
   |
   = help: write METRIC < VALUE UNIT, such as "wakeup_latency_p99 < 2 ms"

error: the metric is in s, not in `m`
  --> small.toml:24:79
   |
24 | expect = ["switches < 2 s", 3, "elapsed < -1 s", "idle_while_runnable < 5 s", "elapsed < 0 m"]
   |                                                                               ^^^^^^^^^^^^^^^
   |
   = help: write METRIC < VALUE UNIT, such as "wakeup_latency_p99 < 2 ms"

error: 9 faults in the input; nothing was run

"#]]);
    lab.edit("policy = \"cfs\"", "policy = \"cfs\"\nexpect = \"elapsed < 2 s\"");
    lab.run(["check", "small.toml"]).code(2);
    lab.edit("seeds = 2", "seeds = 2\nexpect = [\"idle_while_runnable < 9000 CPU-ms\"]");
    lab.run(["check", "small.toml"]).success();
    lab.run(["small.toml", "--quiet"]).success();
}

#[test]
fn every_point_of_a_sweep_is_looked_at() {
    let lab = Lab::new();
    let sweep = "[sweep]\njobs = [1, 8]\n\n[[variant]]\nname = \"NO_SWQUEUE\"";
    lab.edit("[[variant]]\nname = \"NO_SWQUEUE\"", sweep);
    let text = std::fs::read_to_string(lab.path("small.toml")).unwrap();
    let text = text.split("[[published]]").next().unwrap();
    lab.file("small.toml", text.replace("seeds = 2", "seeds = 2\nexpect = [\"elapsed < 2 s\"]"));
    lab.run(["small.toml", "--quiet"]).code(1).stderr_eq(str![[r#"
error: small.toml:15: expected elapsed < 2 s; NO_SWQUEUE at jobs=1 has 4.08 s [4.08, 4.08]
error: small.toml:15: expected elapsed < 2 s; SWQUEUE at jobs=1 has 4.08 s [4.08, 4.08]

"#]]);
}
