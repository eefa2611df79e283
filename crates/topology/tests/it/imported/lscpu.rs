//! Output of lscpu in its three forms.

use super::shown;
use expect_test::{Expect, expect};
use proptest::prelude::*;
use topology::{Machine, RegularSpec, import};

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&shown(text, import::lscpu("test", text)));
}

const PARSABLE: &str = "\
# The following is the parsable format, which can be fed to other
# programs. Each different item in every column has an unique ID
# starting usually from zero.
# CPU,Core,Socket,Node,,L1d,L1i,L2,L3
0,0,0,0,,0,0,0,0
1,1,0,0,,1,1,1,0
2,2,1,1,,2,2,2,1
3,3,1,1,,3,3,3,1
4,0,0,0,,0,0,0,0
5,1,0,0,,1,1,1,0
6,2,1,1,,2,2,2,1
7,3,1,1,,3,3,3,1
";

const TABLE: &str = "\
CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE    MAXMHZ    MINMHZ
  0    0      0    0 0:0:0:0          yes 2300.0000 1200.0000
  1    0      0    1 1:1:1:0          yes 2300.0000 1200.0000
  2    -      -    - -                 no         -         -
  3    0      0    2 2:2:2:1          yes 2300.0000 1200.0000
";

const JSON: &str = r#"{
   "cpus": [
      {
         "cpu": 0,
         "core": 0,
         "socket": 0,
         "node": 0,
         "l1d:l1i:l2:l3": "0:0:0:0",
         "maxmhz": -,
         "online": true
      },{
         "cpu": "1",
         "core": "0",
         "socket": null,
         "node": -,
         "l1d:l1i:l2:l3": "0:0:0:0",
         "maxmhz": 2000.5,
         "online": "yes"
      }
   ]
}
"#;

#[test]
fn the_three_forms_are_read() {
    check(PARSABLE, expect!["8 CPUs, 4 cores, 2 LLCs, 2 nodes, 2 sockets"]);
    check(
        TABLE,
        expect![[r#"
            3 CPUs, 3 cores, 2 LLCs, 1 nodes, 1 sockets
            CPUs 2 are offline and left out"#]],
    );
    check(JSON, expect!["2 CPUs, 1 cores, 1 LLCs, 1 nodes, 1 sockets"]);
    let clock = |text: &str| import::lscpu("test", text).map(|i| i.machine.clock_mhz);
    assert_eq!((clock(TABLE), clock(JSON)), (Ok(2300), Ok(2000)));
}

#[test]
fn bare_lines_and_other_columns_will_do() {
    check(
        "0,0,0,,,0,0,0\n1,1,0,,,1,1,1\n",
        expect!["1 | 0,0,0,,,0,0,0 | 8 values in 9 columns | -"],
    );
    check(
        "0,0,0,,,0,0,0,\n1,1,0,,,1,1,1,\n",
        expect![[r#"
            2 CPUs, 2 cores, 2 LLCs, 1 nodes, 1 sockets
            no NODE column: all CPUs are in one node"#]],
    );
    check(
        "# CPU,Core,,L1d,L1i,L2,L3,Online\n0,0,,0,0,0,0,Y\n1,0,,0,0,0,0,N\n",
        expect![[r#"
            1 CPUs, 1 cores, 1 LLCs, 1 nodes, 1 sockets
            CPUs 1 are offline and left out
            no NODE column: all CPUs are in one node
            no SOCKET column: all CPUs are in one socket"#]],
    );
    // `lscpu -p=CPU`
    let comments: String = PARSABLE.lines().take(3).map(|line| format!("{line}\n")).collect();
    for text in [format!("{comments}# CPU\n0\n1\n"), "CPU\n0\n1\n".to_string()] {
        check(
            &text,
            expect![[r#"
                2 CPUs, 2 cores, 1 LLCs, 1 nodes, 1 sockets
                no NODE column: all CPUs are in one node
                no SOCKET column: all CPUs are in one socket
                no CORE column: each CPU is a core
                nothing about caches: one last-level cache per socket and node is assumed"#]],
        );
    }
}

#[test]
fn faults_have_places() {
    check(
        &PARSABLE.replace("2,2,1,1,,2,2,2,1", "2,2,one,1,,2,2,2,1").replace("7,3,", "6,3,"),
        expect![[r#"
            7 | one | `one` is no number | -
            12 | 6,3,1,1,,3,3,3,1 | CPU 6 is listed twice | -"#]],
    );
    check(
        &PARSABLE.replace("4,0,0,0,,0,0,0,0", "4,0,0,0,,0,0,0,1"),
        expect![
            "9 | 4,0,0,0,,0,0,0,1 | CPUs 0 and 4 are threads of one core in two last-level caches | -"
        ],
    );
    check(
        &PARSABLE.replace("4,0,0,0,,0,0,0,0", "4,0,0,0,,,,,"),
        expect!["9 | 4,0,0,0,,,,, | CPU 4 has no last-level cache, while others have | -"],
    );
    check(
        &TABLE.replace("yes 2300.0000 1200.0000\n  1", "maybe 2300.0000 1200.0000\n  1"),
        expect!["2 | maybe | `maybe` is neither yes nor no | -"],
    );
    check(
        &JSON.replace("\"cpu\": \"1\"", "\"cpu\": \"one\""),
        expect!["12 | one | `one` is no number | -"],
    );
    check(
        &JSON.replace("\"cpu\": 0,", ""),
        expect![[
            r#"3 | { | a line without the number of its CPU | the column CPU is needed: `lscpu -p` has it"#
        ]],
    );
    check("# Core,Socket\n0\n", expect!["2 | 0 | 1 value in 2 columns | -"]);
    check(
        "# Core,Socket\n0,0\n",
        expect![
            "2 | 0,0 | a line without the number of its CPU | the column CPU is needed: `lscpu -p` has it"
        ],
    );
}

#[test]
fn other_texts_are_refused() {
    let summary = r#"{ "lscpu": [ {"field": "CPU(s):", "data": "2"} ] }"#;
    check(
        summary,
        expect![
            "this is lscpu's summary: it does not tell which CPUs share what | write it with `lscpu -J -e`"
        ],
    );
    check("{}", expect!["there is no list `cpus` in it | write it with `lscpu -J -e`"]);
    check("{\"cpus\": 3}", expect!["1 | 3 | `cpus` must be a list of objects | -"]);
    check("{\"cpus\": [3]}", expect!["1 | 3 | a CPU must be an object | -"]);
    check(
        "{\"cpus\": []}",
        expect!["no CPU is on line in it | `lscpu -p` prints a line for each CPU"],
    );
    check("{\"cpus\": [{]}", expect!["1 |  | this is no JSON: key must be a string | -"]);
    check(
        "{\"cpus\": [",
        expect!["1 |  | the file is cut off: a list or an object is still open | -"],
    );
    check("", expect!["there is no line in it | `lscpu -p` prints a line for each CPU"]);
    check(
        "# only\n# comments\n",
        expect!["there is no line in it | `lscpu -p` prints a line for each CPU"],
    );
    check(
        "Architecture:        x86_64\nCPU(s):              2\n",
        expect![
            "1 | Architecture:        x86_64 | this is no list of CPUs that lscpu prints | write it with `lscpu -p`, `lscpu -e` or `lscpu -J -e`"
        ],
    );
    let deep = format!("{{\"cpus\": {}", "[".repeat(100_000));
    check(&deep, expect!["1 |  | the file is cut off: a list or an object is still open | -"]);
}

proptest! {
    #[test]
    fn our_own_table_is_read_as_it_was_printed(
        sockets in 1u32..=3, llcs in 1u32..=3, cores in 1u32..=3, threads in 1u32..=3,
    ) {
        let machine = Machine::regular(RegularSpec {
            sockets,
            llcs_per_socket: llcs,
            cores_per_llc: cores,
            threads_per_core: threads,
            ..RegularSpec::default()
        });
        let table = topology::show::table(&machine);
        let again = import::lscpu("test", &table).expect("the table is sound").machine;
        prop_assert_eq!(again.cpus, machine.cpus);
    }

    #[test]
    fn cut_and_changed_texts_never_panic(
        which in 0usize..3,
        cut in 0usize..600,
        at in 0usize..600,
        with in "[-,:\"{}0-9a-z \\n]{0,3}",
    ) {
        let mut text = [PARSABLE, TABLE, JSON][which].to_owned();
        text.truncate(cut.max(1));
        text.insert_str(at.min(text.len()), &with);
        for fault in import::lscpu("test", &text).err().into_iter().flatten() {
            prop_assert!(text.get(fault.span.unwrap_or(0..0)).is_some());
        }
    }
}
