//! A machine written and read is the same machine, and written again the same text.

use crate::random::VALUES;
use expect_test::expect;
use proptest::prelude::*;
use std::path::PathBuf;
use topology::{Machine, load, write};

/// The machines that come with the project: their names and texts.
fn shipped() -> Vec<(String, String)> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/machines");
    let entries = std::fs::read_dir(dir).expect("the directory is there");
    let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    paths.sort();
    let text = |path: PathBuf| {
        let name = path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        (name, std::fs::read_to_string(path).expect("the file can be read"))
    };
    paths.into_iter().map(text).collect()
}

/// Everything that a machine is.
fn all(machine: &Machine) -> String {
    format!("{machine:?}")
}

fn check(stem: &str, machine: &Machine) {
    let written = write(machine, stem);
    let read = load(stem, &written).unwrap_or_else(|faults| panic!("{faults:#?}\n{written}"));
    assert_eq!(all(&read), all(machine), "{written}");
    assert_eq!(write(&read, stem), written);
}

#[test]
fn the_machines_of_the_project_survive() {
    for (name, text) in shipped() {
        let machine = load(&name, &text).expect("the file is valid");
        check(&name, &machine);
        check("another", &machine);
    }
}

#[test]
fn a_key_is_written_if_a_source_speaks_for_it_or_absence_means_something_else() {
    let text = "
cores = 8
cpus  = 16
nodes_per_socket = 1
[costs]
pick_ns = 150
pull_ns = 7
[[source]]
keys       = ['cores', 'nodes_per_socket', 'costs.pick_ns']
confidence = 'unverified'
text       = 'out of the air, where a number is as good as any other and \"long\" lines are broken'
";
    let machine = load("small", text).expect("the text is valid");
    check("small", &machine);
    expect![[r#"
        # A machine for schedlab. [[source]] says where a number is from, and how sure it is.

        sockets          = 1
        llcs_per_socket  = 1
        cores_per_llc    = 8
        threads_per_core = 2
        nodes_per_socket = 1
        cores            = 8

        clock_mhz = 3000
        hz        = 250

        [caches]
        l1d_kib   = 32
        l2_kib    = 1024
        l3_kib    = 32768
        l3_hit_ns = 15
        mem_ns    = 105
        mlp       = 5

        [latency]
        smt_ns    = 10
        llc_ns    = 25
        node_ns   = 110
        socket_ns = 200

        [[cstate]]
        name         = "C1"
        exit_ns      = 800
        residency_ns = 2000
        polling      = true

        [costs]
        pick_ns = 150
        pull_ns = 7

        [[source]]
        keys       = ["cores", "nodes_per_socket", "costs.pick_ns"]
        confidence = "unverified"
        text       = """
        out of the air, where a number is as good as any other and \"long\" lines are broken"""
    "#]]
    .assert_eq(&write(&machine, "small"));
}

#[test]
fn an_irregular_machine_stays_a_list() {
    let text = "name = 'x'\ntitle = 'a\\tb'\nnuma_distances = [[10, 20], [20, 10]]\ncpu = [
  { cpu = 0, core = 0, llc = 0, ccd = 0, node = 0, socket = 0 },
  { cpu = 2, core = 9, llc = 2, ccd = 0, node = 4, socket = 0 },
  { cpu = 1, core = 0, llc = 0, ccd = 0, node = 0, socket = 0 },
]\n[smt]\nbusy = 1\n";
    let machine = load("small", text).expect("the text is valid");
    check("small", &machine);
    expect![[r#"
        # A machine for schedlab. [[source]] says where a number is from, and how sure it is.

        name  = "x"
        title = "a\\tb"

        cpu = [
          { cpu = 0, core = 0, llc = 0, ccd = 0, node = 0, socket = 0 },
          { cpu = 1, core = 0, llc = 0, ccd = 0, node = 0, socket = 0 },
          { cpu = 2, core = 1, llc = 1, ccd = 0, node = 1, socket = 0 },
        ]
        numa_distances = [[10, 20], [20, 10]]
    "#]]
    .assert_eq(write(&machine, "small").split("\nclock").next().expect("there is a clock"));
}

#[test]
fn what_shares_the_machine_is_written() {
    let text = "cores = 2\n[[background]]\nname = 'k'\nrun_ns = 1\nsleep_ns = 1000\n\
                [[background]]\nname = 'c'\ncpu = 1\nnice = -5\nkthread = false\nrun_ns = 1\n\
                sleep_ns = 1000\nlong_every = 2\nlong_ns = 9\n\
                [variation]\nslowdown = 0.25\nheld = 1\nhold_ns = 1_000_000\n";
    check("small", &load("small", text).expect("the text is valid"));
    let text = "cores = 2\nbackground = []\n[variation]\nslowdown = 0.0\n\
                [[source]]\nkeys = ['variation.slowdown', 'background']\nconfidence = 'inferred'\ntext = 'x'";
    check("small", &load("small", text).expect("the text is valid"));
}

/// A list of CPUs in which cores nest in LLCs, LLCs in nodes, nodes in sockets.
fn cpu_list(parts: &[(u8, u8, u8)]) -> String {
    let mut text = String::from("cpu = [\n");
    for (cpu, (core, llc, node)) in parts.iter().enumerate() {
        let (llc, node) = (llc % 4, node % 2);
        let llc = llc + 10 * node;
        let core = u32::from(core % 3) + 100 * u32::from(llc);
        text += &format!(
            "{{ cpu = {cpu}, core = {core}, llc = {llc}, node = {node}, socket = {node} }},\n"
        );
    }
    text + "]\n"
}

proptest! {
    #[test]
    fn irregular_machines_survive(
        parts in prop::collection::vec((0u8..3, 0u8..4, 0u8..2), 1..24),
    ) {
        check("random", &load("random", &cpu_list(&parts)).expect("parts nest"));
    }

    #[test]
    fn whatever_can_be_read_survives(
        name in any::<prop::sample::Index>(),
        edits in prop::collection::vec((0usize..200, 0usize..VALUES.len() + 3), 0..6),
    ) {
        let shipped = shipped();
        let (_, text) = name.get(&shipped);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for (line, value) in edits {
            let line = line % lines.len();
            let value = VALUES.get(value).copied().unwrap_or(["2", "100", "21_000"][value % 3]);
            if let Some((key, _)) = lines[line].split_once(" = ") {
                lines[line] = format!("{key} = {value}");
            }
        }
        if let Ok(machine) = load("random", &lines.join("\n")) {
            check("random", &machine);
        }
    }
}
