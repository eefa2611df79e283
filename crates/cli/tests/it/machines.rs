//! A scenario on other machines: one, or several in a table.

use crate::lab::{Lab, MACHINE};
use snapbox::str;

#[test]
fn a_list_of_machines_has_a_row_for_each() {
    let lab = Lab::new();
    lab.file("big.toml", MACHINE.replace("cores_per_llc = 4", "cores_per_llc = 8"));
    let machines = "machines/small.toml,big.toml,zen4,pack:1 l3:1 core:2 pu:1";
    let args = ["small.toml", "--machine", machines, "--metric", "elapsed", "--quiet"];
    lab.run(args).success().stderr_eq("").stdout_eq(str![[r#"
a small build
workload kernel-build   policy cfs 6.4   seeds 1-2
 A NO_SWQUEUE  baseline
 B SWQUEUE

elapsed [ms], lower is better: mean of A, then changes from it
                 machine         A  B SWQUEUE
                   small    646.80   -0.65% ±8.38  same
                     big    432.50   -0.75% ±5.08  same
                    zen4    439.51   -2.51% ±49.2  same
 pack:1 l3:1 core:2 pu:1   2071.94   +0.01% ±0.01  worse
 geometric mean                      -0.81% ±14.5  same
   published at machine=small, NO_SWQUEUE: 1500.00 ms; simulated 646.80 ms
   published at machine=small, SWQUEUE: 1400.00 ms -6.67%; simulated 642.58 ms, differs

agrees (0 of 1): same direction or both under 0.15 %, and within 1 point or 1/4 of the change.
±: half the 95 % interval over seeds, in points; same: it contains zero.
Other tables: --metric NAME.
schedlab 0.1.0, scenario d945fbd3fa0bab70. All 89 metrics of every run: --format json or csv.

"#]]);
    let json = lab.output(args.into_iter().chain(["--format", "json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["axes"][0]["key"], "machine");
    let names: Vec<_> = json["points"].as_array().unwrap().iter().map(|p| &p["at"][0]).collect();
    assert_eq!(names, ["small", "big", "zen4", "pack:1 l3:1 core:2 pu:1"]);
    // What was published was measured on the machine of the scenario.
    let n_published = |point: &serde_json::Value| {
        let variants = point["result"]["variants"].as_array().unwrap();
        variants.iter().map(|v| v["published"].as_array().unwrap().len()).sum::<usize>()
    };
    let counts: Vec<usize> = json["points"].as_array().unwrap().iter().map(n_published).collect();
    assert_eq!(counts, [2, 0, 0, 0]);
    assert_eq!(lab.output(args.into_iter().chain(["--jobs", "1"])), lab.output(args));
}

#[test]
fn one_machine_is_no_sweep() {
    let lab = Lab::new();
    let text = lab.output(["small.toml", "--machine", "zen4", "--seeds", "1"]);
    assert!(text.contains("machine zen4, 32 CPUs") && !text.contains("published"), "{text}");
    lab.run(["explain", "small.toml", "--variant", "SWQUEUE", "--machine", "zen4"]).success();
    // The same machine by another way keeps what was published of it.
    lab.file("copy.toml", MACHINE);
    let text = lab.output(["small.toml", "--machine", "copy.toml", "--seeds", "1"]);
    assert!(text.contains("machine copy, 8 CPUs") && text.contains("published"), "{text}");
}

#[test]
fn machines_are_found_from_here_and_combined_with_a_sweep() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("deep")).unwrap();
    let text = crate::lab::SCENARIO.replace("machines/", "../machines/");
    let text = text.split("[[published]]").next().unwrap();
    lab.file("deep/s.toml", format!("{text}\n[sweep]\njobs = [1, 2]\nmetrics = [\"elapsed\"]\n"));
    let args = ["deep/s.toml", "--seeds", "1", "--quiet", "--machine", "machines/small.toml,zen4"];
    let text = lab.output(args);
    let rows = text
        .lines()
        .filter(|l| l.starts_with("  "))
        .filter(|l| l.contains(" small ") || l.contains(" zen4 "));
    assert_eq!(rows.count(), 4, "{text}");
    let zip = format!("{text}\n", text = std::fs::read_to_string(lab.path("deep/s.toml")).unwrap());
    lab.file("deep/s.toml", zip + "zip = true\n");
    lab.run(args).code(2).stdout_eq("").stderr_eq(str![[r#"
error: the keys of this sweep have their values side by side (`zip`)
 --> --machine:1:1
  |
1 | machines/small.toml
  | ^^^^^^^^^^^^^^^^^^^
  |
  = help: choose a point with --set, then ask for machines

error: 1 fault in the input; nothing was run

"#]]);
    lab.run(["small.toml", "--machine", "zne4,none"]).code(2).stderr_eq(str![[r#"
error: cannot read the machine file: no such file
 --> --machine:1:1
  |
1 | zne4
  | ^^^^ looked at zne4
  |
  = help: did you mean `zen4`? It comes with schedlab: no path, no .toml

error: 1 fault in the input; nothing was run

"#]]);
}
