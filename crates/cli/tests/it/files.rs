//! Files that are none, that are too much, or that must not be overwritten.

use crate::lab::Lab;
use snapbox::str;

/// The message about a scenario that ends where it should not.
fn check(lab: &Lab, file: &str, expected: snapbox::data::Inline) {
    lab.run(["check", file]).code(2).stdout_eq("").stderr_eq(expected);
}

#[test]
#[cfg(unix)]
fn a_fifo_that_nobody_writes_is_refused_at_once() {
    let lab = Lab::new();
    let made = std::process::Command::new("mkfifo").arg(lab.path("pipe")).status();
    assert!(made.unwrap().success());
    check(
        &lab,
        "pipe",
        str![[r#"
error: cannot read the file: it is a device or a FIFO, not a file
--> pipe

error: 1 fault in the input

"#]],
    );
    for (line, by) in [
        ("machines/small.toml", "pipe"),
        ("kind = \"kernel-build\"", "kind = \"rt-app\"\nfile = \"pipe\""),
        ("kind = \"kernel-build\"", "kind = \"perf-script\"\nfile = \"pipe\""),
    ] {
        lab.edit(line, by);
        lab.run(["check", "small.toml"]).code(2);
    }
    lab.run(["topology", "show", "pipe"]).code(2);
    lab.run(["topology", "import", "--hwloc", "pipe"]).code(2);
    lab.run(["topology", "import", "--lscpu", "pipe"]).code(2);
}

#[test]
#[cfg(unix)]
fn a_pipe_from_a_shell_is_a_file_like_any_other() {
    let lab = Lab::new();
    let program = env!("CARGO_BIN_EXE_schedlab");
    for args in ["check /dev/stdin", "check -", "- --quiet"] {
        let line = format!("cat small.toml | '{program}' {args}");
        let mut shell = std::process::Command::new("sh");
        let done = shell.args(["-c", &line]).current_dir(lab.path("")).output().unwrap();
        assert!(done.status.success(), "{args}: {}", String::from_utf8_lossy(&done.stderr));
    }
}

#[test]
fn standard_input_is_read_once() {
    let lab = Lab::new();
    for args in [vec!["check", "-", "-"], vec!["-", "-"]] {
        lab.run(args).code(2).stdout_eq("").stderr_eq(str![[r#"
error: standard input (`-`) is given twice

"#]]);
    }
}

#[test]
fn machines_are_checked_too_and_what_is_right_is_said() {
    let lab = Lab::new();
    lab.run(["check", "machines/small.toml", "none.toml", "small.toml"])
        .code(2)
        .stdout_eq(str![[r#"
machines/small.toml: ok, a machine, 8 CPUs in 2 LLCs
small.toml: ok, 2 variants x 2 seeds of kernel-build on small (8 CPUs)

"#]])
        .stderr_eq(str![[r#"
error: cannot read the file: no such file
--> none.toml

error: 1 fault in the input

"#]]);
}

#[test]
fn a_thousand_faults_are_counted_and_some_are_shown() {
    let lab = Lab::new();
    let keys: String = (0..1000).map(|i| format!("key_{i} = 1\n")).collect();
    lab.edit("policy = \"cfs\"", &format!("policy = \"cfs\"\n{keys}"));
    let done = lab.run(["check", "small.toml"]).code(2);
    let text = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert_eq!(text.matches("unknown key").count(), 50);
    assert!(text.ends_with("error: 1000 faults in the input, of which 50 are shown\n"), "{text}");
    let done = lab.run(["small.toml"]).code(2);
    let text = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert!(text.ends_with("of which 50 are shown; nothing was run\n"), "{text}");
}

#[test]
fn a_misspelled_key_with_a_source_is_one_fault() {
    let lab = Lab::new();
    let text = crate::lab::MACHINE.replace("node_ns", "nodens");
    let source =
        "[[source]]\nkeys = [\"latency.node_ns\"]\nconfidence = \"measured\"\ntext = \"x\"\n";
    lab.file("machines/small.toml", text + source);
    check(
        &lab,
        "small.toml",
        str![[r#"
error: unknown key `nodens` in [latency]
 --> machines/small.toml:6:1
  |
6 | nodens = 110
  | ^^^^^^ not a key of this table
  |
  = help: did you mean `node_ns`?

error: 1 fault in the input

"#]],
    );
}

#[test]
fn what_a_scenario_lacks_comes_with_an_example() {
    let lab = Lab::new();
    lab.file("bare.toml", "title = \"bare\"\n");
    check(
        &lab,
        "bare.toml",
        str![[r#"
error: the scenario has no `machine`
--> bare.toml
 = help: name one of `schedlab list machines`, or a machine file

error: the scenario has no `workload`
--> bare.toml
 = help: `schedlab list workloads` prints all kinds and their keys

error: the scenario has no `variant`
--> bare.toml
 = help: begin one with [[variant]] and a `name`

error: 3 faults in the input

"#]],
    );
}

#[test]
fn a_mistyped_file_has_a_neighbor() {
    let lab = Lab::new();
    check(
        &lab,
        "smal.toml",
        str![[r#"
error: cannot read the file: no such file
--> smal.toml
 = help: did you mean `small.toml`?

error: 1 fault in the input

"#]],
    );
    lab.run(["topology", "show", "machines/smll.toml"]).code(2).stderr_eq(str![[r#"
error: cannot read the machine: no such file
--> machines/smll.toml
 = help: did you mean `machines/small.toml`?

error: 1 fault in the input

"#]]);
}

#[test]
fn a_machine_by_its_name_alone_has_a_neighbor_in_machines() {
    let lab = Lab::new();
    lab.edit("machines/small.toml", "small");
    check(
        &lab,
        "small.toml",
        str![[r#"
error: cannot read the machine file: no such file
 --> small.toml:2:11
  |
2 | machine = "small"
  |           ^^^^^^^ looked at small
  |
  = help: did you mean `machines/small.toml`?

error: 1 fault in the input

"#]],
    );
    for name in ["small.tml", "machine/small.toml", "../small"] {
        lab.edit("machines/small.toml", name);
        let done = lab.run(["check", "small.toml"]).code(2);
        let text = String::from_utf8(done.get_output().stderr.clone()).unwrap();
        assert_eq!(text.matches("= help: did you mean").count(), 1, "{name}: {text}");
    }
}

#[test]
fn a_machine_that_is_not_known() {
    let lab = Lab::new();
    lab.run(["topology", "show", "zne4"]).code(2).stderr_eq(str![[r#"
error: cannot read the machine: no such file
--> zne4
 = help: did you mean `zen4`? It comes with schedlab: no path, no .toml

error: 1 fault in the input

"#]]);
    lab.run(["topology", "show", "sun4v"]).code(2).stderr_eq(str![[r#"
error: cannot read the machine: no such file
--> sun4v
 = help: `schedlab list machines` prints those that come with schedlab

error: 1 fault in the input

"#]]);
}

#[test]
fn a_trace_replaces_neither_its_scenario_nor_another_trace() {
    let lab = Lab::new();
    let trace = ["trace", "small.toml", "--variant", "SWQUEUE", "--perfetto"];
    for (file, expected) in [
        ("small.toml", "error: cannot write small.toml: it is an input of this run\n"),
        (
            "machines/../machines/small.toml",
            "error: cannot write machines/../machines/small.toml: it is an input of this run\n",
        ),
    ] {
        let before = std::fs::read(lab.path(file)).unwrap();
        lab.run(trace.into_iter().chain([file])).code(2).stderr_eq(expected);
        assert_eq!(std::fs::read(lab.path(file)).unwrap(), before);
    }
    let twice = ["a.out", "--perf-data", "./a.out"];
    lab.run(trace.into_iter().chain(twice))
        .code(2)
        .stderr_eq("error: cannot write a.out: it is asked for twice\n");
    assert!(!lab.path("a.out").exists());
}

/// Some editors of other systems begin a file with U+FEFF.
#[test]
fn a_byte_order_mark_is_no_part_of_any_text() {
    let lab = Lab::new();
    let recording = ["--perf-script", "run.txt", "--quiet"];
    lab.run(["trace", "small.toml", "--variant", "SWQUEUE"].into_iter().chain(recording)).success();
    lab.file("app.json", r#"{ "tasks": { "t": { "loop": 1, "run": 900 } } }"#);
    let workload = |kind: &str, file: &str| {
        let (before, rest) = crate::lab::SCENARIO.split_once("[workload]").unwrap();
        let (_, after) = rest.split_once("[run]").unwrap();
        let after = after.split("[[published]]").next().unwrap();
        format!("{before}[workload]\nkind = \"{kind}\"\nfile = \"{file}\"\n[run]{after}")
    };
    lab.file("replay.toml", workload("perf-script", "run.txt"));
    lab.file("app.toml", workload("rt-app", "app.json"));
    lab.file("cpus.txt", "# CPU,Core,Socket,Node\n0,0,0,0\n1,1,0,0\n");
    lab.file(
        "cpus.xml",
        r#"<topology version="2.0">
          <object type="Machine" cpuset="0x1">
            <object type="NUMANode" os_index="0" cpuset="0x1" nodeset="0x1"/>
            <object type="Core" cpuset="0x1"><object type="PU" os_index="0" cpuset="0x1"/></object>
          </object>
        </topology>"#,
    );
    let outputs = || {
        let run = |args: &[&str]| lab.output(args.iter().copied());
        [
            run(&["small.toml", "--seeds", "1", "--quiet"]),
            run(&["replay.toml", "--seeds", "1", "--quiet"]),
            run(&["app.toml", "--seeds", "1", "--quiet"]),
            run(&["topology", "show", "machines/small.toml"]),
            run(&["topology", "import", "--lscpu", "cpus.txt"]),
            run(&["topology", "import", "--hwloc", "cpus.xml"]),
        ]
    };
    let bare = outputs();
    let machine = "machines/small.toml";
    let scenarios = ["small.toml", "replay.toml", "app.toml"];
    for name in [machine, "run.txt", "app.json", "cpus.txt", "cpus.xml"].iter().chain(&scenarios) {
        let text = std::fs::read_to_string(lab.path(name)).unwrap();
        lab.file(name, format!("\u{feff}{text}"));
    }
    for (bare, marked) in bare.iter().zip(outputs()) {
        assert_eq!(*bare, marked);
    }
}
