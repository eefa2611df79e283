//! What comes with the program: scenarios and machines by name, and a scenario to begin with.

use crate::lab::Lab;
use snapbox::str;

#[test]
fn names_work_far_from_the_sources() {
    let lab = Lab::new();
    lab.run(["check", "bergamo", "rt-app/alone", "replay/pipe"]).success().stderr_eq("").stdout_eq(
        str![[r#"
bergamo: ok, 4 variants x 5 seeds of kernel-build on bergamo (176 CPUs)
rt-app/alone: ok, 2 variants x 3 seeds of rt-app on vm-2cpu (2 CPUs)
replay/pipe: ok, 3 variants x 1 seed of perf-script on vm-2cpu (2 CPUs)

"#]],
    );
    let text = lab.output(["rt-app/alone", "--seeds", "1", "--quiet"]);
    assert!(text.starts_with("rt-app: one thread alone\nmachine vm-2cpu"), "{text}");
    lab.edit("machines/small.toml", "zen4");
    let text = lab.output(["small.toml", "--seeds", "1", "--quiet"]);
    assert!(text.contains("machine zen4, 32 CPUs"), "{text}");
    for machine in ["haswell-12c", "machines/small.toml"] {
        let set = format!("machine={machine}");
        let args = ["hackbench", "--seeds", "1", "--quiet", "--variant", "CFS 6.4", "--set", &set];
        let text = lab.output(args.into_iter().chain(["--set", "loops=20"]));
        assert!(!text.contains("machine zen4"), "{text}");
    }
}

#[test]
fn lists_name_what_comes_with_the_program() {
    let lab = Lab::new();
    let line = |what: &str, name: &str| {
        let list = lab.output(["list", what]);
        let found = list.lines().find(|line| line.split_whitespace().next() == Some(name));
        found
            .unwrap_or_else(|| panic!("{list}"))
            .split("  ")
            .map(str::trim)
            .collect::<Vec<_>>()
            .join("|")
    };
    let squeezed = |line: String| {
        let cells: Vec<&str> = line.split('|').filter(|cell| !cell.is_empty()).collect();
        cells.join("|")
    };
    assert_eq!(
        squeezed(line("scenarios", "ice-lake")),
        "ice-lake|ice-lake|netperf|Ice Lake: 128 netperf UDP_RR clients, shared wakequeue"
    );
    assert!(squeezed(line("scenarios", "truncate")).starts_with("truncate|its own|truncate|"));
    assert_eq!(
        squeezed(line("machines", "zen4")),
        "zen4|32 CPUs, 2 LLCs|AMD Ryzen 9 7950X (Zen 4), 16 cores"
    );
}

#[test]
fn a_file_of_the_same_name_wins_and_that_is_said() {
    let lab = Lab::new();
    lab.file("bergamo", crate::lab::SCENARIO);
    lab.run(["check", "bergamo"])
        .success()
        .stderr_eq("note: `bergamo` is the file of that name, not schedlab's own scenario\n")
        .stdout_eq("bergamo: ok, 2 variants x 2 seeds of kernel-build on small (8 CPUs)\n");
    lab.file("bergamo", "title = 3");
    lab.run(["check", "bergamo"]).code(2).stderr_eq(str![[r#"
...
error: the scenario has no `machine`
--> bergamo
...
"#]]);
    lab.file("zen4", crate::lab::MACHINE);
    lab.edit("machines/small.toml", "zen4");
    lab.run(["check", "small.toml"])
        .success()
        .stderr_eq("note: `zen4` is the file of that name, not schedlab's own machine\n")
        .stdout_eq("small.toml: ok, 2 variants x 2 seeds of kernel-build on zen4 (8 CPUs)\n");
    lab.run(["topology", "show", "zen4"])
        .success()
        .stderr_eq("note: `zen4` is the file of that name, not schedlab's own machine\n");
    // A folder hides nothing.
    std::fs::create_dir(lab.path("milan")).unwrap();
    lab.run(["check", "milan"]).success().stderr_eq("");
}

#[test]
fn a_file_of_nearly_the_same_name_is_remarked_on() {
    let lab = Lab::new();
    lab.file("zen4.toml", crate::lab::MACHINE);
    lab.edit("machines/small.toml", "zen4");
    lab.run(["check", "small.toml"])
        .success()
        .stderr_eq(
            "note: `zen4` is the machine that comes with schedlab; zen4.toml is another one\n",
        )
        .stdout_eq("small.toml: ok, 2 variants x 2 seeds of kernel-build on zen4 (32 CPUs)\n");
    lab.run(["small.toml", "--seeds", "1", "--quiet"]).success().stderr_eq("");
}

#[test]
fn what_is_misspelled_has_a_neighbor() {
    let lab = Lab::new();
    lab.run(["bergmo"]).code(2).stderr_eq(str![[r#"
error: `bergmo` is neither a file, nor a scenario of schedlab, nor a command; did you mean `schedlab bergamo`?

"#]]);
    lab.run(["scenarios/bergamo.toml"]).code(2).stderr_eq(str![[r#"
error: cannot read the scenario: no such file
--> scenarios/bergamo.toml
 = help: did you mean `bergamo`? It comes with schedlab: no path, no .toml

error: 1 fault in the input; nothing was run

"#]]);
    lab.edit("machines/small.toml", "mian");
    lab.run(["check", "small.toml"]).code(2).stderr_eq(str![[r#"
error: cannot read the machine file: no such file
 --> small.toml:2:11
  |
2 | machine = "mian"
  |           ^^^^^^ looked at mian
  |
  = help: did you mean `milan`? It comes with schedlab: no path, no .toml

error: 1 fault in the input

"#]]);
}

#[test]
fn init_writes_a_scenario_that_runs() {
    let lab = Lab::new();
    lab.run(["init"])
        .success()
        .stdout_eq("")
        .stderr_eq("note: my.toml is written; `schedlab my.toml` runs it\n");
    let text = lab.output(["my.toml", "--quiet"]);
    assert!(text.starts_with("my: ") && text.contains("SWQUEUE"), "{text}");
    let written = std::fs::read_to_string(lab.path("my.toml")).unwrap();
    for again in ["my", "my.toml"] {
        lab.run(["init", again])
            .code(2)
            .stderr_eq("error: my.toml is there already: choose another name, or remove it\n");
    }
    assert_eq!(std::fs::read_to_string(lab.path("my.toml")).unwrap(), written);
    lab.run(["init", "machines/other"]).success();
    lab.run(["check", "machines/other.toml"]).success();
    lab.run(["init", "no/other"])
        .code(2)
        .stderr_eq("error: cannot write no/other.toml: there is no directory no\n");
    for bad in ["a b", "a\"b", "..", ""] {
        lab.run(["init", bad]).code(2);
    }
    let names: Vec<_> =
        std::fs::read_dir(lab.path("")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
}
