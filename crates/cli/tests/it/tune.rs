//! `schedlab sweep tune` without Optuna: what it says of its input, and of optimizers that fail.
//! A search with Optuna is in python/tests.

use crate::lab::Lab;

/// The small scenario, with a search.
fn lab() -> Lab {
    let lab = Lab::new();
    let scenario = std::fs::read_to_string(lab.path("small.toml")).unwrap();
    let scenario = scenario.split("[[published]]").next().unwrap();
    let tune = "[tune]\nminimize = \"elapsed\"\nfeatures = [\"SIS_UTIL\"]\nobjects = [20, 40]\n";
    lab.file("tuned.toml", format!("{scenario}\n{tune}"));
    lab
}

/// What the command says with that optimizer, and the code that it ends with.
fn said(lab: &Lab, optimizer: &str, code: i32, args: &[&str]) -> String {
    lab.file("optimizer", format!("#!/bin/sh\n{optimizer}\n"));
    let program = lab.path("optimizer");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, executable).unwrap();
    let command =
        ["sweep", "tune", "--out", "out", "--quiet"].into_iter().chain(args.iter().copied());
    let command = lab.command(command).env("SCHEDLAB_PYTHON", program);
    let output = command.assert().code(code).get_output().clone();
    let text = if code == 0 { output.stdout } else { output.stderr };
    String::from_utf8(text).unwrap()
}

/// An optimizer that has two points to offer.
const TWO: &str = r#"read line; echo '{"optimizer": "two"}'
read line; echo '{"points": [[1, 0], [0, 0]]}'
read line; echo '{}'"#;

#[test]
fn a_search_is_what_the_scenario_says_it_is() {
    let lab = lab();
    let small = said(&lab, "exit 1", 2, &["small.toml"]);
    assert!(small.contains("small.toml has no [tune]"), "{small}");
    let stdin = said(&lab, "exit 1", 2, &["-"]);
    assert!(stdin.contains("name a file, not `-`"), "{stdin}");
    let machines = said(&lab, "exit 1", 2, &["tuned.toml", "--machine", "milan,zen4"]);
    assert!(machines.contains("would run on several machines"), "{machines}");
}

#[test]
fn an_optimizer_that_does_not_work_is_named() {
    let lab = lab();
    let ended = said(&lab, "exit 1", 1, &["tuned.toml"]);
    assert!(ended.contains("pip install './python[tune]'"), "{ended}");
    let rubbish = said(&lab, "echo hello", 1, &["tuned.toml"]);
    assert!(rubbish.contains("the optimizer has said `hello`"), "{rubbish}");
    let outside = r#"echo '{"optimizer": "x"}'; echo '{"points": [[2, 0]]}'"#;
    let outside = said(&lab, outside, 1, &["tuned.toml", "--batch", "1"]);
    assert!(outside.contains("was asked for 1 points, and said"), "{outside}");
    let command = lab.command(["sweep", "tune", "tuned.toml", "--out", "out"]);
    let none = command.env("SCHEDLAB_PYTHON", "no-such-python").assert().code(1);
    let none = String::from_utf8(none.get_output().stderr.clone()).unwrap();
    assert!(none.contains("cannot run no-such-python: "), "{none}");
}

#[test]
fn points_are_run_once_and_told_in_both_formats() {
    let lab = lab();
    let args = ["tuned.toml", "--points", "2", "--batch", "2", "--fresh", "1"];
    let text = said(&lab, TWO, 0, &args);
    assert!(text.contains("points   2 of 4, in batches of 2"), "{text}");
    assert!(text.contains("runs     8, 8 of them computed now"), "{text}");
    let again = said(&lab, TWO, 0, &args);
    assert_eq!(again, text.replace("8, 8 of them", "8, 0 of them"));
    let json = said(&lab, TWO, 0, &[&args[..], &["--format", "json"]].concat());
    let found: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&found["optimizer"], &found["points"][1]["at"]["objects"]),
        (&"two".into(), &"20".into())
    );
    let set = "variant.NO_SWQUEUE.features=[\"NO_SWQUEUE\", \"NO_SIS_UTIL\"]";
    assert_eq!(found["points"][1]["set"][1], set);
    // What it says can be run.
    let chosen = found["points"][0]["set"].as_array().unwrap();
    let sets: Vec<&str> = chosen.iter().flat_map(|set| ["--set", set.as_str().unwrap()]).collect();
    let run = ["tuned.toml", "--variant", "NO_SWQUEUE", "--format", "json", "--quiet"];
    let run: serde_json::Value =
        serde_json::from_str(&lab.output(run.iter().chain(&sets).copied())).unwrap();
    assert!(run.to_string().contains("\"elapsed\""));
}

#[test]
fn limits_that_no_point_keeps_are_a_failure() {
    let lab = lab();
    let scenario = std::fs::read_to_string(lab.path("tuned.toml")).unwrap();
    lab.file("tight.toml", scenario + "while = [\"wakeup_latency_max < 1 ns\"]\n");
    let args = ["tight.toml", "--points", "2", "--batch", "2", "--fresh", "1"];
    assert!(said(&lab, TWO, 1, &args).contains("no point keeps the limits of [tune]"));
}
