//! Bad input ends with exit code 2, one message per fault, each with place and hint.

use crate::lab::{Lab, MACHINE};
use snapbox::str;

fn check_edit(line: &str, by: &str, expected: snapbox::data::Inline) {
    let lab = Lab::new();
    lab.edit(line, by);
    lab.run(["small.toml"]).code(2).stdout_eq("").stderr_eq(expected);
}

fn check_machine(line: &str, by: &str, expected: snapbox::data::Inline) {
    let lab = Lab::new();
    assert!(MACHINE.contains(line), "{line}");
    lab.file("machines/small.toml", MACHINE.replacen(line, by, 1));
    lab.run(["check", "small.toml"]).code(2).stdout_eq("").stderr_eq(expected);
}

#[test]
fn a_missing_machine_file() {
    check_edit(
        "machines/small.toml",
        "machines/smal.toml",
        str![[r#"
error: cannot read the machine file: no such file
 --> small.toml:2:11
  |
2 | machine = "machines/smal.toml"
  |           ^^^^^^^^^^^^^^^^^^^^ looked at machines/smal.toml
  |
  = help: did you mean `machines/small.toml`?

error: 1 fault in the input; nothing was run

"#]],
    );
}

#[test]
fn an_unknown_key() {
    check_edit(
        "seeds = 2",
        "sedes = 2",
        str![[r#"
error: unknown key `sedes` in [run]
  --> small.toml:14:1
   |
14 | sedes = 2
   | ^^^^^ not a key of this table
   |
   = help: did you mean `seeds`?

error: 1 fault in the input; nothing was run

"#]],
    );
}

#[test]
fn an_unknown_feature() {
    check_edit(
        "\"SWQUEUE\"]",
        "\"SWQEUE\"]",
        str![[r#"
error: unknown feature `SWQEUE`
  --> small.toml:23:13
   |
23 | features = ["SWQEUE"]
   |             ^^^^^^^^ no feature has this name
   |
   = help: did you mean `SWQUEUE`?

error: 1 fault in the input; nothing was run

"#]],
    );
}

#[test]
fn an_unknown_policy() {
    check_edit(
        "policy = \"cfs\"",
        "policy = \"bfs\"",
        str![[r#"
error: unknown policy `bfs`
 --> small.toml:3:10
  |
3 | policy = "bfs"
  |          ^^^^^ no policy has this name
  |
  = help: did you mean `cfs`?

error: 1 fault in the input; nothing was run

"#]],
    );
}

#[test]
fn no_seeds() {
    check_edit(
        "seeds = 2",
        "seeds = 0",
        str![[r#"
error: `seeds` must be at least 1
  --> small.toml:14:9
   |
14 | seeds = 0
   |         ^ allowed: 1 to 10000

error: 1 fault in the input; nothing was run

"#]],
    );
}

#[test]
fn a_billion_tasks() {
    check_edit(
        "objects = 40",
        "objects = 1_000_000_000",
        str![[r#"
error: `objects` must be at most 10000000
 --> small.toml:8:11
  |
8 | objects = 1_000_000_000
  |           ^^^^^^^^^^^^^ allowed: 1 to 10000000

error: 1 fault in the input; nothing was run

"#]],
    );
}

#[test]
fn not_a_number() {
    check_edit(
        "work_seconds = 4",
        "work_seconds = nan",
        str![[r#"
error: `work_seconds` must be a finite number
 --> small.toml:7:16
  |
7 | work_seconds = nan
  |                ^^^

error: 1 fault in the input; nothing was run

"#]],
    );
}

#[test]
fn a_published_row_of_no_variant() {
    check_edit(
        "variant = \"SWQUEUE\"",
        "variant = \"SWQUEU\"",
        str![[r#"
error: no variant is named `SWQUEU`
  --> small.toml:33:11
   |
33 | variant = "SWQUEU"
   |           ^^^^^^^^
   |
   = help: did you mean `SWQUEUE`?

error: 1 fault in the input; nothing was run

"#]],
    );
}

#[test]
fn a_negative_cost() {
    check_machine(
        "node_ns = 110",
        "node_ns = -110",
        str![[r#"
error: `node_ns` must be at least 1
 --> machines/small.toml:6:11
  |
6 | node_ns = -110
  |           ^^^^ allowed: 1 to 100000

error: 1 fault in the input

"#]],
    );
}

#[test]
fn a_machine_without_cpus() {
    check_machine(
        "cores_per_llc = 4",
        "cores_per_llc = 4\ncpus = 0",
        str![[r#"
error: `cpus` must be at least 1
 --> machines/small.toml:3:8
  |
3 | cpus = 0
  |        ^ allowed: 1 to 8192

error: 1 fault in the input

"#]],
    );
}

#[test]
fn a_billion_cpus() {
    check_machine(
        "cores_per_llc = 4",
        "cores_per_llc = 1000000000",
        str![[r#"
error: `cores_per_llc` must be at most 8192
 --> machines/small.toml:2:17
  |
2 | cores_per_llc = 1000000000
  |                 ^^^^^^^^^^ allowed: 1 to 8192

error: 1 fault in the input

"#]],
    );
}

#[test]
fn siblings_that_disagree() {
    let by = "cores_per_llc = 4\nthreads_per_core = 2\ncpus = 15\nsmt = { busy = nan }";
    check_machine(
        "cores_per_llc = 4",
        by,
        str![[r#"
error: `cpus` is 15, but 8 cores of 2 make 16
 --> machines/small.toml:4:8
  |
4 | cpus = 15
  |        ^^

error: `busy` must be a finite number
 --> machines/small.toml:5:16
  |
5 | smt = { busy = nan }
  |                ^^^

error: 2 faults in the input

"#]],
    );
}

#[test]
fn files_that_are_none() {
    let lab = Lab::new();
    lab.file("latin1.toml", b"title = 1\npolicy = \"caf\xe9\"");
    lab.file("empty.toml", "");
    let files = ["check", "latin1.toml", "machines", "empty.toml", "absent.toml"];
    lab.run(files).code(2).stdout_eq("").stderr_eq(str![[r#"
error: cannot read the file: it is not UTF-8 (line 2, byte 23)
--> latin1.toml

error: cannot read the file: it is a directory
--> machines

error: the scenario is empty
--> empty.toml

error: cannot read the file: no such file
--> absent.toml

error: 4 faults in the input

"#]]);
}

#[test]
fn a_machine_file_that_is_none() {
    let lab = Lab::new();
    lab.file("machines/small.toml", b"\xff\xfe");
    lab.run(["small.toml"]).code(2).stderr_eq(str![[r#"
error: cannot read the machine file: it is not UTF-8 (line 1, byte 0)
 --> small.toml:2:11
  |
2 | machine = "machines/small.toml"
  |           ^^^^^^^^^^^^^^^^^^^^^ looked at machines/small.toml

error: 1 fault in the input; nothing was run

"#]]);
    lab.edit("machines/small.toml", "machines");
    lab.run(["small.toml"]).code(2).stderr_eq(str![[r#"
error: cannot read the machine file: it is a directory
 --> small.toml:2:11
  |
2 | machine = "machines"
  |           ^^^^^^^^^^ looked at machines

error: 1 fault in the input; nothing was run

"#]]);
}

#[test]
fn nothing_runs_if_one_of_two_scenarios_is_wrong() {
    let lab = Lab::new();
    lab.file("bad.toml", "");
    lab.run(["small.toml", "bad.toml"]).code(2).stdout_eq("");
}

#[test]
fn arguments_that_make_no_sense() {
    let lab = Lab::new();
    lab.run(["small.toml", "--seeds", "0"]).code(2).stderr_eq(str![[r#"
error: invalid value '0' for '--seeds <N>': 0 is not in 1..=10000

For more information, try '--help'.

"#]]);
    lab.run(["small.toml", "--jobs", "0"]).code(2).stderr_eq(str![[r#"
error: invalid value '0' for '--jobs <N>': 0 is not in 1..=4096

For more information, try '--help'.

"#]]);
    lab.run(["small.toml", "--variant", "SWQUEU"]).code(2).stderr_eq(str![[r#"
error: scenario `small` has no variant `SWQUEU`; did you mean `SWQUEUE`?

"#]]);
    lab.run(["small.toml", "--frobnicate"]).code(2);
    lab.run([]).code(2);
    lab.run(["check"]).code(2);
    lab.run(["list", "polices"]).code(2);
}

#[test]
fn an_output_directory_that_is_a_file() {
    let lab = Lab::new();
    lab.file("out", "precious");
    lab.run(["small.toml", "--out", "out"]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: cannot use out as output directory: not a directory

"#]]);
    assert_eq!(std::fs::read_to_string(lab.path("out")).unwrap(), "precious");
}

#[test]
fn a_negative_number_is_no_option() {
    let lab = Lab::new();
    let done = lab.run(["small.toml", "--seeds", "-1"]).code(2);
    let text = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert!(text.contains("'-1' for '--seeds <N>'") && !text.contains("tip"), "{text}");
}

#[test]
fn two_scenarios_of_one_name_cannot_share_a_directory() {
    let lab = Lab::new();
    lab.run(["small.toml", "small.toml", "--out", "out"]).code(2).stderr_eq(str![[r#"
error: two scenarios are named `small`: --out cannot keep them apart

"#]]);
    assert!(!lab.path("out").exists());
}

#[test]
fn a_machine_where_a_scenario_belongs() {
    let lab = Lab::new();
    lab.run(["machines/small.toml"]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: this looks like a machine file
--> machines/small.toml
 = help: `schedlab topology show machines/small.toml` draws it; a scenario names it with `machine`

error: 1 fault in the input; nothing was run

"#]]);
}

#[test]
fn a_scenario_where_a_machine_belongs() {
    let lab = Lab::new();
    lab.run(["topology", "show", "small.toml"]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: this looks like a scenario, not a machine
--> small.toml
 = help: its machine is `machines/small.toml`

error: 1 fault in the input

"#]]);
}

#[test]
fn a_mistyped_command() {
    let lab = Lab::new();
    lab.run(["lst"]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: `lst` is neither a file, nor a scenario of schedlab, nor a command; did you mean `schedlab list`?

"#]]);
    lab.run(["run", "small.toml"]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: `run` is neither a file, nor a scenario of schedlab, nor a command; scenarios need no command: schedlab SCENARIO

"#]]);
}

/// A netperf workload with one key replaced: the whole message.
fn check_netperf(line: &str, by: &str, expected: snapbox::data::Inline) {
    const NETPERF: &str = "machine = \"machines/small.toml\"
policy = \"cfs\"
[run]
until = \"1ms\"
[[variant]]
name = \"x\"
[workload]
kind = \"netperf\"
test = \"UDP_RR\"
clients = 8
service_ns = 3000
";
    let lab = Lab::new();
    assert!(NETPERF.contains(line), "{line}");
    lab.file("net.toml", NETPERF.replacen(line, by, 1));
    let said = |command: &[&str]| {
        let done = lab.run(command.iter().copied()).code(2).stdout_eq("");
        String::from_utf8(done.get_output().stderr.clone()).unwrap()
    };
    lab.run(["net.toml"]).code(2).stdout_eq("").stderr_eq(expected);
    let run = said(&["net.toml"]);
    assert_eq!(said(&["profile", "net.toml"]), run);
    assert_eq!(said(&["check", "net.toml"]), run.replace("; nothing was run", ""));
}

#[test]
fn no_netperf_clients() {
    check_netperf(
        "clients = 8",
        "clients = 0",
        str![[r#"
error: `clients` must be at least 1
  --> net.toml:10:11
   |
10 | clients = 0
   |           ^ allowed: 1 to 100000

error: 1 fault in the input; nothing was run

"#]],
    );
}

#[test]
fn a_netperf_test_that_does_not_exist() {
    check_netperf(
        "UDP_RR",
        "UPD_RR",
        str![[r#"
error: unknown value `UPD_RR` for `test`
 --> net.toml:9:8
  |
9 | test = "UPD_RR"
  |        ^^^^^^^^
  |
  = help: did you mean `UDP_RR`?

error: 1 fault in the input; nothing was run

"#]],
    );
    check_netperf(
        "UDP_RR",
        "SCTP_RR",
        str![[r#"
error: unknown value `SCTP_RR` for `test`
 --> net.toml:9:8
  |
9 | test = "SCTP_RR"
  |        ^^^^^^^^^
  |
  = help: did you mean `TCP_RR`?

error: 1 fault in the input; nothing was run

"#]],
    );
}

#[test]
fn more_netperf_clients_than_memory_allows() {
    check_netperf(
        "clients = 8",
        "clients = 50_000",
        str![[r#"
error: 50000 pairs of 3 MiB each do not fit into 64 GiB of memory
  --> net.toml:10:11
   |
10 | clients = 50_000
   |           ^^^^^^ there is room for 22795
   |
   = help: the machine's memory is its `memory_gib`

error: 1 fault in the input; nothing was run

"#]],
    );
    check_netperf(
        "clients = 8",
        "clients = 1_000_000",
        str![[r#"
error: `clients` must be at most 100000
  --> net.toml:10:11
   |
10 | clients = 1_000_000
   |           ^^^^^^^^^ allowed: 1 to 100000

error: 1 fault in the input; nothing was run

"#]],
    );
    check_netperf(
        "clients = 8",
        "clients = -1",
        str![[r#"
error: `clients` must be at least 1
  --> net.toml:10:11
   |
10 | clients = -1
   |           ^^ allowed: 1 to 100000

error: 1 fault in the input; nothing was run

"#]],
    );
}
