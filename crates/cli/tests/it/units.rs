//! A sweep in units from the outside: it gives the bytes of a local run, whoever does the units.

use crate::lab::{Lab, SCENARIO};
use snapbox::str;
use std::path::{Path, PathBuf};

/// Five points of two variants and two seeds, on a machine in a file.
fn swept() -> Lab {
    let lab = Lab::new();
    let (head, _) = SCENARIO.split_once("[[published]]").unwrap();
    lab.file("swept.toml", format!("{head}[sweep]\njobs = [1, 2, 3, 4, 5]\n"));
    lab
}

/// The highest load at which a queue is short; the second variant differs in its name only.
const FIND: &str = r#"title = "a queue"
policy = "fifo"
machine = "pack:1 l3:1 core:2 pu:1"
workload = { kind = "mm-c", service_ns = 10_000 }
run = { seeds = 2, until = "20ms" }
variant = [{ name = "a" }, { name = "b" }]
[find]
rate = "wakeup_latency_p99 <= 50 us"
range = [10_000, 190_000]
precision_pct = 20
"#;

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

pub fn status(lab: &Lab, dir: &str) -> serde_json::Value {
    json(&lab.output(["sweep", "status", dir, "--format", "json"]))
}

pub fn names(dir: PathBuf) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<_> =
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// All files below a folder but those of units, with their contents.
fn results(dir: &Path) -> Vec<(String, Vec<u8>)> {
    const OF_UNITS: [&str; 5] = ["runs", "failed", "inputs", "sweep.json", "units.csv"];
    let mut found = Vec::new();
    for name in names(dir.to_path_buf()) {
        let path = dir.join(&name);
        if OF_UNITS.contains(&name.as_str()) {
            continue;
        }
        match path.is_dir() {
            true => {
                let inner = results(&path).into_iter();
                found.extend(inner.map(|(file, bytes)| (format!("{name}/{file}"), bytes)));
            }
            false => found.push((name, std::fs::read(path).unwrap())),
        }
    }
    found
}

/// Does a sweep in units, and the same without; both must say the same.
fn both_agree(lab: &Lab, args: &[&str]) {
    let plan = ["sweep", "plan", "--out", "units"];
    lab.output(plan.into_iter().chain(args.iter().copied()));
    lab.output(["sweep", "run", "units"]);
    for format in ["text", "json", "csv", "markdown"] {
        let merged = lab.output(["sweep", "merge", "units", "--format", format]);
        let local = args.iter().copied().chain(["--out", "local", "--format", format]);
        snapbox::assert_data_eq!(merged, lab.output(local));
    }
    let (merged, local) = (results(&lab.path("units")), results(&lab.path("local")));
    let files = |found: &[(String, Vec<u8>)]| -> Vec<String> {
        found.iter().map(|(name, _)| name.clone()).collect()
    };
    assert_eq!(files(&merged), files(&local));
    assert!(merged == local, "{args:?}: the files differ");
    lab.output(["sweep", "merge", "units", "--html", "units.html"]);
    lab.output(["report"].into_iter().chain(args.iter().copied()).chain(["--html", "local.html"]));
    let read = |name: &str| std::fs::read(lab.path(name)).unwrap();
    assert!(read("units.html") == read("local.html"), "{args:?}: the pages differ");
}

#[test]
fn a_sweep_in_units_gives_the_bytes_of_a_local_run() {
    both_agree(&swept(), &["swept.toml"]);
}

#[test]
fn a_single_experiment_in_units_gives_the_bytes_of_a_local_run() {
    both_agree(&Lab::new(), &["small.toml", "--seeds", "3"]);
}

#[test]
fn a_search_in_units_gives_the_bytes_of_a_local_run() {
    let lab = Lab::new();
    lab.file("queue.toml", FIND);
    both_agree(&lab, &["queue.toml"]);
    // Variants that differ in their names only are the same runs.
    assert_eq!(status(&lab, "units")["units"], 2);
}

#[test]
fn files_of_workloads_are_a_part_of_the_plan() {
    let lab = Lab::new();
    let rt_app = r#"{ "tasks": { "t": { "loop": 20, "run": 2000, "sleep": 1000 } } }"#;
    lab.file("tasks.json", rt_app);
    let text = FIND.split_once("[find]").unwrap().0;
    let workload = "workload = { kind = \"rt-app\", file = \"tasks.json\" }";
    let text: String = text.lines().fold(String::new(), |all, line| {
        all + if line.starts_with("workload") { workload } else { line } + "\n"
    });
    lab.file("tasks.toml", text);
    both_agree(&lab, &["tasks.toml"]);
    assert_eq!(names(lab.path("units/inputs")).len(), 2);
    // Another content is another plan, and gives other units.
    let first = std::fs::read(lab.path("units/units.csv")).unwrap();
    lab.file("tasks.json", rt_app.replace("2000", "2001"));
    complaint(&lab, 2, &["sweep", "plan", "tasks.toml", "--out", "units"]);
    lab.output(["sweep", "plan", "tasks.toml", "--out", "others"]);
    assert_ne!(std::fs::read(lab.path("others/units.csv")).unwrap(), first);
}

#[test]
fn changes_of_the_command_line_are_a_part_of_the_plan() {
    let lab = swept();
    lab.file("mine.toml", crate::lab::MACHINE.replace("cores_per_llc = 4", "cores_per_llc = 2"));
    let changes = ["--variant", "SWQUEUE", "--set", "objects=30", "--machine", "milan,mine.toml"];
    let args = ["swept.toml", "small.toml", "--set", "run.until=1s", "--seeds", "1"];
    both_agree(&lab, &[&args[..], &changes].concat());
}

#[test]
fn a_plan_holds_all_that_its_units_need() {
    let lab = swept();
    let local = lab.output(["swept.toml", "--machine", "machines/small.toml"]);
    lab.output(["sweep", "plan", "swept.toml", "--machine", "machines/small.toml", "--out", "a"]);
    let through_a_pipe = std::fs::read(lab.path("swept.toml")).unwrap();
    lab.command(["sweep", "plan", "-", "--out", "b"]).stdin(through_a_pipe).assert().success();
    std::fs::create_dir(lab.path("elsewhere")).unwrap();
    for name in ["a", "b"] {
        std::fs::rename(lab.path(name), lab.path("elsewhere").join(name)).unwrap();
    }
    for file in ["swept.toml", "small.toml", "machines/small.toml"] {
        std::fs::remove_file(lab.path(file)).unwrap();
    }
    let here = |args: &[&str]| {
        let command = lab.command(args.iter().copied()).current_dir(lab.path("elsewhere/a"));
        String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
    };
    here(&["sweep", "run", "."]);
    assert_eq!(here(&["sweep", "merge", "."]), local);
    here(&["sweep", "run", "../b"]);
    assert!(here(&["sweep", "merge", "../b"]).contains("NO_SWQUEUE"));
}

#[test]
fn a_local_run_and_a_sweep_in_units_keep_the_same_runs() {
    let lab = swept();
    lab.output(["sweep", "plan", "swept.toml", "--out", "d"]);
    lab.output(["swept.toml", "--out", "d"]);
    let said = lab.output(["sweep", "run", "d"]);
    assert_eq!(said, "20 units: 0 computed, 20 were there, 0 failed\n");
}

#[test]
fn units_are_chosen_by_name_by_number_and_by_a_list() {
    let lab = swept();
    let said = lab.output(["sweep", "plan", "swept.toml", "--out", "d"]);
    assert!(said.starts_with("d: sweep ") && said.ends_with(" of 20 units\n"), "{said}");
    let missing = || lab.output(["sweep", "status", "d", "--format", "missing"]);
    let names: Vec<String> = missing().lines().map(String::from).collect();
    let n_missing = || missing().lines().count();
    lab.output(["sweep", "unit", "d", &names[0], &names[1][..8]]);
    assert_eq!(n_missing(), 18);
    lab.output(["sweep", "unit", "d", "--index", "2"]);
    assert_eq!(n_missing(), 17);
    lab.output(["sweep", "unit", "d", "--from", "1", "--count", "4"]);
    assert_eq!(n_missing(), 15);
    lab.output(["sweep", "unit", "d", "--from", "18", "--count", "100", "--jobs", "2"]);
    assert_eq!(n_missing(), 13);
    lab.file("list", names[5..9].join("\n"));
    lab.output(["sweep", "unit", "d", "--list", "list", "--from", "3", "--count", "9"]);
    assert_eq!(missing().lines().next(), Some(names[5].as_str()));
    assert!(!missing().contains(&names[8]) && n_missing() == 12);
    lab.output(["sweep", "unit", "d", "--from", "20", "--count", "5"]);
    let first = std::fs::read_to_string(lab.path("d/units.csv")).unwrap();
    let first = first.lines().nth(1).unwrap();
    assert_eq!(first, format!("0,{},swept,0,jobs=1,NO_SWQUEUE,1", names[0]));
}

/// The complaint of a command that ends with that code.
pub fn complaint(lab: &Lab, code: i32, args: &[&str]) -> String {
    let output = lab.run(args.iter().copied()).code(code).get_output().stderr.clone();
    String::from_utf8(output).unwrap()
}

#[test]
fn bad_input_is_told_with_its_place_and_a_hint() {
    let lab = swept();
    let check = |code: i32, args: &[&str], expected: snapbox::data::Inline| {
        snapbox::assert_data_eq!(complaint(&lab, code, args), expected);
    };
    lab.output(["sweep", "plan", "swept.toml", "--out", "d"]);
    check(
        2,
        &["sweep", "run", "machines"],
        str![[r#"
error: machines is no sweep: it has no sweep.json; `schedlab sweep plan SCENARIO --out DIR` makes one

"#]],
    );
    check(
        2,
        &["sweep", "plan", "small.toml", "--out", "d"],
        str![[r#"
error: d is another sweep already, of swept.toml; name another folder, or remove this one

"#]],
    );
    check(
        2,
        &["sweep", "plan", "swept.toml", "--seeds", "3", "--out", "d"],
        str![[r#"
error: d is another sweep already, of swept.toml; name another folder, or remove this one

"#]],
    );
    check(
        2,
        &["sweep", "plan", "small.toml", "small.toml", "--out", "e"],
        str![[r#"
error: two scenarios are named `small`: a sweep cannot keep them apart

"#]],
    );
    check(
        2,
        &["sweep", "unit", "d", "xyz"],
        str![[r#"
error: no unit is named `xyz`; d/units.csv lists them

"#]],
    );
    check(
        2,
        &["sweep", "unit", "d", "--index", "20"],
        str![[r#"
error: there is no unit 20: this sweep has units 0 to 19, as units.csv lists them

"#]],
    );
    check(
        1,
        &["sweep", "merge", "d"],
        str![[r#"
error: 20 of 20 units are missing: `schedlab sweep run d` computes them

"#]],
    );
    assert!(!lab.path("e").exists(), "nothing is left of a plan that failed");
    let plain = ["machines", "small.toml", "swept.toml"];
    assert_eq!(names(lab.path(".")), [&["d"][..], &plain].concat());
    lab.file("d/runs", "");
    check(
        2,
        &["sweep", "run", "d"],
        str![[r#"
error: cannot use d/runs as output directory: not a directory

"#]],
    );
}

#[test]
fn a_faulty_scenario_is_told_as_ever() {
    let lab = Lab::new();
    lab.edit("objects = 40", "objectz = 40");
    let planned = complaint(&lab, 2, &["sweep", "plan", "small.toml", "--out", "d"]);
    assert_eq!(planned, complaint(&lab, 2, &["check", "small.toml"]));
    assert!(planned.contains("did you mean `objects`?"), "{planned}");
    assert!(!lab.path("d").exists());
}

#[test]
fn a_damaged_plan_is_refused() {
    let lab = swept();
    lab.output(["sweep", "plan", "swept.toml", "--out", "d"]);
    let change = |file: &str, from: &str, to: &str, says: &str| {
        let path = lab.path("d").join(file);
        let whole = std::fs::read_to_string(&path).unwrap();
        assert!(whole.contains(from), "{whole}");
        std::fs::write(&path, whole.replacen(from, to, 1)).unwrap();
        let said = complaint(&lab, 2, &["sweep", "run", "d"]);
        assert!(said.contains(says), "{said}");
        std::fs::write(&path, whole).unwrap();
    };
    change("sweep.json", "\"program\": \"", "\"program\": \"0", "planned by another build of");
    change("sweep.json", "{", "", "d/sweep.json is damaged: ");
    change("sweep.json", "\"schema\": 1", "\"schema\": 2", "in another format");
    change("units.csv", "jobs=1", "jobs=7", "d/units.csv is damaged: it is not the list");
    let copy = names(lab.path("d/inputs")).remove(0);
    let is_machine = std::fs::read_to_string(lab.path("d/inputs").join(&copy)).unwrap();
    let word = if is_machine.contains("llc_ns") { "llc_ns" } else { "title" };
    change(&format!("inputs/{copy}"), word, "x", "is damaged");
    lab.output(["sweep", "run", "d"]);
}

#[test]
fn a_damaged_run_is_named_and_computed_again() {
    let lab = swept();
    lab.output(["sweep", "plan", "swept.toml", "--out", "d"]);
    lab.output(["sweep", "run", "d"]);
    let whole = lab.output(["sweep", "merge", "d"]);
    let run = lab.path("d/runs").join(&names(lab.path("d/runs"))[7]);
    let bytes = std::fs::read(&run).unwrap();
    std::fs::write(&run, &bytes[..100]).unwrap();
    let said = complaint(&lab, 1, &["sweep", "merge", "d"]);
    assert!(said.contains(" is damaged: it is not whole; `schedlab sweep run` sets it"), "{said}");
    let done = lab.run(["sweep", "run", "d"]).success().get_output().clone();
    assert!(String::from_utf8(done.stdout).unwrap().contains("1 computed, 19 were there"));
    assert!(String::from_utf8(done.stderr).unwrap().contains(".damaged"));
    assert_eq!(std::fs::read(&run).unwrap(), bytes);
    assert_eq!(lab.output(["sweep", "merge", "d"]), whole);
}

#[test]
fn a_unit_that_fails_is_kept_as_such_and_others_go_on() {
    let lab = Lab::new();
    lab.file("queue.toml", FIND.replace("[10_000, 190_000]", "[1_000, 2_000]"));
    lab.output(["sweep", "plan", "queue.toml", "small.toml", "--out", "d"]);
    let said = complaint(&lab, 1, &["sweep", "run", "d"]);
    assert!(said.starts_with("error: 1 unit failed; --retry-failed tries again"), "{said}");
    assert!(said.contains("queue: variant `a`, seed 1: [find] rate = 2000: the high"), "{said}");
    let state = status(&lab, "d");
    assert_eq!((&state["done"], &state["missing"]), (&5.into(), &0.into()));
    assert_eq!(state["failed"][0]["seed"], 1);
    assert!(lab.output(["sweep", "status", "d"]).contains("failed: queue: variant `a`, seed 1: "));
    let failed = lab.path("d/failed").join(&names(lab.path("d/failed"))[0]);
    let written = |path: &Path| std::fs::metadata(path).unwrap().modified().unwrap();
    let before = written(&failed);
    assert_eq!(complaint(&lab, 1, &["sweep", "run", "d"]), said);
    assert_eq!(written(&failed), before, "it was not tried again");
    assert_eq!(complaint(&lab, 1, &["sweep", "run", "d", "--retry-failed"]), said);
    assert!(written(&failed) > before);
    assert_eq!(complaint(&lab, 1, &["sweep", "merge", "d"]), complaint(&lab, 1, &["queue.toml"]));
}

#[test]
fn another_result_of_a_unit_is_an_alarm() {
    let lab = swept();
    lab.output(["sweep", "plan", "swept.toml", "--out", "d"]);
    lab.output(["sweep", "run", "d"]);
    let runs = names(lab.path("d/runs"));
    let read = |name: &str| std::fs::read_to_string(lab.path("d/runs").join(name)).unwrap();
    let [a, b] = [&runs[0], &runs[1]].map(|name| name.trim_end_matches(".json"));
    // What a faulty computer might have written: whole, and wrong.
    lab.file(&format!("d/runs/{b}.json"), read(&runs[0]).replace(a, b));
    lab.output(["sweep", "unit", "d", b]);
    let said = complaint(&lab, 1, &["sweep", "unit", "d", b, "--again"]);
    assert!(said.starts_with("error: ALARM: one run has two results"), "{said}");
    assert!(said.contains(&format!("d/runs/{b}.json and d/alarms/{b}-")), "{said}");
    for command in ["merge", "status"] {
        let output = lab.run(["sweep", command, "d"]).get_output().clone();
        let told = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert!(told.concat().contains("ALARM"), "{command}: {told:?}");
        assert_eq!(output.status.code(), Some(if command == "merge" { 1 } else { 0 }));
    }
    // The other one was right: it takes the place of the first.
    let alarm = names(lab.path("d/alarms")).remove(0);
    let right = lab.path("d/alarms").join(alarm);
    std::fs::rename(right, lab.path("d/runs").join(format!("{b}.json"))).unwrap();
    assert_eq!(lab.output(["sweep", "merge", "d"]), lab.output(["swept.toml", "--out", "l"]));
}
