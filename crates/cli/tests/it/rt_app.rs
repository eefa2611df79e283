//! A scenario whose workload is an rt-app file.

use crate::lab::{Lab, SCENARIO};
use snapbox::str;

/// A directory with a scenario that names `load.json`, and that file.
fn lab(json: &str) -> Lab {
    let lab = Lab::new();
    let (before, rest) = SCENARIO.split_once("[workload]").unwrap();
    let (_, after) = rest.split_once("[run]").unwrap();
    let after = after.split("[[published]]").next().unwrap();
    let workload = "[workload]\nkind = \"rt-app\"\nfile = \"load.json\"\n\n[run]";
    lab.file("small.toml", format!("{before}{workload}{after}"));
    lab.file("load.json", json);
    lab
}

#[test]
fn a_file_runs_for_its_duration() {
    let lab = lab(r#"{ "tasks": { "t": { "loop": -1, "run": 900, "sleep": 100 } },
        "global": { "duration": 1, "calibration": 8 } }"#);
    let csv = lab.output(["small.toml", "--format", "csv", "--quiet"]);
    let elapsed: Vec<&str> = csv.lines().filter(|l| l.contains(",elapsed,")).collect();
    // 0.1 s and a little come before the threads.
    assert!(!elapsed.is_empty() && elapsed.iter().all(|l| l.contains(",1.1")), "{csv}");
}

#[test]
fn a_file_that_ends_has_a_time_unless_it_is_cut_off() {
    let lab = lab(r#"{ "tasks": { "t": { "loop": 50, "run": 900, "sleep": 100 } },
        "global": { "calibration": 8 } }"#);
    let text = lab.output(["small.toml", "--quiet"]);
    assert!(text.contains("elapsed [ms]") && !text.contains("cut off"), "{text}");
    lab.edit("seeds = 2", "seeds = 2\nuntil = \"102ms\"");
    let text = lab.output(["small.toml", "--quiet"]);
    assert!(!text.contains("elapsed ["), "{text}");
    assert!(text.contains("4 of 4 runs were cut off at 102ms"), "{text}");
}

#[test]
fn faults_of_the_file_are_shown_in_the_file() {
    let json = "{ \"tasks\": {\n  \"t\": { \"loop\": -1, \"run\": 900, \"slep\": 100,\n    \
        \"cpus\": [0, 64], \"mem\": 5 }\n} }\n";
    lab(json).run(["check", "small.toml"]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: the task `t` has neither an event nor a property `slep`
 --> load.json:2:34
  |
2 |   "t": { "loop": -1, "run": 900, "slep": 100,
  |                                  ^^^^^^
  |
  = help: did you mean `sleep`?

error: `cpus` must be at most 7
 --> load.json:3:17
  |
3 |     "cpus": [0, 64], "mem": 5 }
  |                 ^^ allowed: 0 to 7
  |
  = help: the machine of the scenario has these CPUs

error: the event `mem` is not simulated
 --> load.json:3:22
  |
3 |     "cpus": [0, 64], "mem": 5 }
  |                      ^^^^^

error: 3 faults in the input

"#]]);
}

#[test]
fn a_file_without_an_end_needs_one_in_the_scenario() {
    let json = r#"{ "tasks": { "t": { "loop": -1, "run": 900 } } }"#;
    lab(json).run(["check", "small.toml"]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: workload `rt-app` never ends by itself
 --> small.toml:5:1
  |
5 | [workload]
  | ^^^^^^^^^^
  |
  = help: say how long to run it: `until = "10s"` in [run]

error: 1 fault in the input

"#]]);
}

#[test]
fn a_missing_file_is_looked_for_among_its_neighbors() {
    let lab = lab("{}");
    lab.file(
        "small.toml",
        std::fs::read_to_string(lab.path("small.toml")).unwrap().replace("load.json", "laod.json"),
    );
    lab.run(["check", "small.toml"]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: cannot read the rt-app file: no such file
 --> small.toml:7:8
  |
7 | file = "laod.json"
  |        ^^^^^^^^^^^ looked at laod.json
  |
  = help: did you mean `load.json`?

error: 1 fault in the input

"#]]);
}

#[test]
fn threads_that_fork_in_a_circle_need_an_end_in_the_scenario() {
    let json = r#"{ "tasks": { "t": { "loop": 1, "fork": "t", "run": 900 } } }"#;
    lab(json).run(["check", "small.toml"]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: workload `rt-app` never ends by itself
...
"#]]);
}
