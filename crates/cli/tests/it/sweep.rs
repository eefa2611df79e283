//! Sweeps from the outside: tables, files, a run that is killed and goes on, choices by `--set`.

use crate::lab::{Lab, SCENARIO};
use std::process::{Command, Stdio};

/// Forty points of two variants and one seed.
fn forty() -> Lab {
    let lab = Lab::new();
    let (head, rows) = SCENARIO.split_once("[[published]]").unwrap();
    let values: Vec<String> = (1..=40).map(|n| n.to_string()).collect();
    let sweep = format!("[sweep]\njobs = [{}]\nmetrics = [\"elapsed\"]\n", values.join(", "));
    let rows =
        format!("[[published]]{rows}").replace("[[published]]", "[[published]]\nat = { jobs = 4 }");
    lab.file("small.toml", format!("{head}{sweep}{rows}").replace("seeds = 2", "seeds = 1"));
    lab
}

fn n_kept(lab: &Lab, out: &str) -> usize {
    std::fs::read_dir(lab.path(out).join("runs")).map_or(0, |entries| entries.count())
}

#[cfg(unix)]
#[test]
fn a_sweep_that_was_killed_goes_on_where_it_was() {
    let lab = forty();
    let whole = lab.output(["small.toml", "--out", "whole"]);
    assert_eq!(n_kept(&lab, "whole"), 80);
    // Killed without a warning, as soon as some of its runs are kept.
    let mut child = Command::new(env!("CARGO_BIN_EXE_schedlab"));
    let child = child.args(["small.toml", "--out", "cut", "--jobs", "1"]);
    let mut child = child.current_dir(lab.path(".")).stdout(Stdio::null()).spawn().unwrap();
    while n_kept(&lab, "cut") < 3 {
        std::thread::sleep(std::time::Duration::from_millis(1));
        if let Some(status) = child.try_wait().unwrap() {
            panic!("it ended before it was killed: {status}");
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = n_kept(&lab, "cut");
    assert!(!lab.path("cut/results.json").exists() && before < 80, "{before}");
    assert_eq!(lab.output(["small.toml", "--out", "cut"]), whole);
    for file in ["results.json", "results.csv", "curves.svg"] {
        let read = |out: &str| std::fs::read(lab.path(out).join(file)).unwrap();
        assert_eq!(read("cut"), read("whole"), "{file}");
    }
}

#[test]
fn every_point_has_a_row_and_the_published_one_is_compared_there() {
    let lab = forty();
    let text = lab.output(["small.toml"]);
    let rows = text.lines().filter(|line| line.starts_with("   ") && !line.contains("jobs"));
    assert_eq!(rows.count(), 40, "{text}");
    assert!(text.contains("published at jobs=4, SWQUEUE: 1.40 s -6.67%; simulated"), "{text}");
    assert_eq!(text.matches("published at").count(), 2);
    assert_eq!(text, lab.output(["small.toml", "--jobs", "1"]));
}

#[test]
fn a_point_is_chosen_for_what_needs_one() {
    let lab = forty();
    let args = ["explain", "small.toml", "--variant", "SWQUEUE"];
    let refused = lab.run(args).code(2).get_output().stderr.clone();
    let refused = String::from_utf8(refused).unwrap();
    assert!(refused.contains("this scenario is a sweep of 40 points"), "{refused}");
    assert!(refused.contains("choose one, such as --set jobs=1"), "{refused}");
    lab.output(args.into_iter().chain(["--set", "jobs=3"]));
    let one = lab.output(["small.toml", "--set", "jobs=4"]);
    assert!(one.contains("at jobs=4") && one.contains("published"), "{one}");
}

#[test]
fn seeds_are_added_until_the_change_is_known() {
    let lab = Lab::new();
    let text = lab.output(["small.toml", "--until-significant", "5%", "--max-seeds", "12"]);
    let seeds = |text: &str| {
        text.lines().find(|line| line.contains("elapsed of SWQUEUE:")).map(str::to_string)
    };
    let line = seeds(&text).unwrap_or_else(|| panic!("{text}"));
    assert!(line.contains(" with "), "{line}");
    let bound = lab.output(["small.toml", "--until-significant", "0.0001", "--max-seeds", "5"]);
    let line = seeds(&bound).unwrap();
    assert!(line.contains("with 5 seeds; \u{b1}0.0001 % needs about"), "{line}");
    assert!(bound.contains("seeds 1-5"), "{bound}");
    lab.run(["small.toml", "--until-significant", "-1"]).code(2);
    lab.run(["small.toml", "--max-seeds", "3"]).code(2);
}
