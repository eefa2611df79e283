//! Machines from dumps of real ones and as trees for other tools, from the command line.

use crate::lab::Lab;
use snapbox::str;
use std::path::Path;

const TABLE: &str = "\
# CPU,Core,Socket,Node,,L1d,L1i,L2,L3
0,0,0,0,,0,0,0,0
1,1,0,0,,1,1,1,0
2,2,0,0,,2,2,2,1
4,3,0,0,,3,3,3,1
";

#[test]
fn a_machine_survives_the_way_through_a_tree() {
    let lab = Lab::new();
    lab.output(["topology", "export", "machines/small.toml", "--sysfs", "tree"]);
    assert!(lab.path("tree/sys/devices/system/cpu/cpu7/topology/core_id").is_file());
    let again = lab.output(["topology", "import", "--sysfs", "tree"]);
    assert_eq!(again, lab.output(["topology", "show", "machines/small.toml", "--toml"]));
    lab.output(["topology", "import", "--sysfs", "tree/sys", "--out", "again.toml"]);
    let tree = lab.output(["topology", "show", "again.toml"]);
    assert!(tree.contains("8 CPUs, 8 cores, 2 LLCs, 1 NUMA node, 1 socket"), "{tree}");
    assert!(tree.contains("unverified  hz, caches.l3_hit_ns"), "{tree}");
    lab.run(["topology", "export", "machines/small.toml", "--sysfs", "tree"]).code(2).stderr_eq(
        str![[r#"
error: cannot use tree as output directory: [..]

"#]],
    );
}

#[test]
fn what_a_dump_does_not_say_is_told() {
    let lab = Lab::new();
    lab.file("lscpu.txt", TABLE);
    lab.run(["topology", "import", "--lscpu", "lscpu.txt", "--out", "m.toml"]).success();
    let machine = std::fs::read_to_string(lab.path("m.toml")).unwrap();
    assert!(machine.contains("lscpu; its CPUs 0-2,4 are numbered from 0 here"), "{machine}");
    lab.file("lscpu.txt", TABLE.replace("0,0,0,0,,", "0,0,0,0,,,"));
    lab.run(["topology", "import", "--lscpu", "lscpu.txt"]).code(2).stderr_eq(str![[r#"
error: 10 values in 9 columns
 --> lscpu.txt:2:1
  |
2 | 0,0,0,0,,,0,0,0,0
  | ^^^^^^^^^^^^^^^^^

error: 1 fault in the input

"#]]);
}

#[test]
fn a_tree_that_is_none_gets_a_hint() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("dump")).unwrap();
    lab.output(["topology", "export", "machines/small.toml", "--sysfs", "dump/tree"]);
    lab.run(["topology", "import", "--sysfs", "dump"]).code(2).stderr_eq(str![[r#"
error: there is no sys/devices/system/cpu
--> dump
 = help: did you mean `dump/tree`?

error: 1 fault in the input

"#]]);
    lab.run(["topology", "import", "--sysfs", "small.toml"]).code(2).stderr_eq(str![[r#"
error: this is a file, not a directory
--> small.toml
 = help: unpack an archive first: tar xf small.toml

error: 1 fault in the input

"#]]);
    lab.file("dump/tree/sys/devices/system/cpu/cpu3/topology/core_cpus_list", "3-\n");
    std::fs::remove_file(lab.path("dump/tree/sys/devices/system/node/node0/distance")).unwrap();
    lab.run(["topology", "import", "--sysfs", "dump/tree"]).code(2).stderr_eq(str![[r#"
error: `` is no number
 --> dump/tree/sys/devices/system/cpu/cpu3/topology/core_cpus_list:1:1
  |
1 | 3-
  | ^^

error: 1 fault in the input

"#]]);
}

#[test]
fn a_synthetic_description_is_a_machine() {
    let lab = Lab::new();
    let text = "pack:2 [numa] l3:2(size=16MB) core:2 pu:2";
    let tree = lab.output(["topology", "show", text]);
    assert!(tree.contains("16 CPUs, 8 cores, 4 LLCs, 2 NUMA nodes, 2 sockets"), "{tree}");
    lab.edit("machines/small.toml", text);
    let checked = lab.output(["check", "small.toml"]);
    assert!(checked.contains("on synthetic (16 CPUs)"), "{checked}");
    lab.edit("machines/small.toml", "pack:2 l3:2 cor:2 pu:2");
    lab.run(["check", "small.toml"]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: `cor` is no kind of part
 --> small.toml:2:24
  |
2 | machine = "pack:2 l3:2 cor:2 pu:2"
  |                        ^^^
  |
  = help: did you mean `core`?

error: 1 fault in the input

"#]]);
    lab.edit("machines/small.toml", "pack:1 core:4");
    lab.run(["check", "small.toml"]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: the last part must be pu, the hardware thread
 --> small.toml:2:19
  |
2 | machine = "pack:1 core:4"
  |                   ^^^^^^
  |
  = help: end with `pu:1`, or `pu:2` for cores of two threads

error: 1 fault in the input

"#]]);
    lab.run(["topology", "show", "pack:2 pu:x"]).code(2).stderr_eq(str![[r#"
error: a number is missing here
 --> the description:1:11
  |
1 | pack:2 pu:x
  |           ^
  |
  = help: parts with their counts, from the largest to pu: "pack:2 l3:4 core:8 pu:2"; also die, group, numa, l1 to l5

error: 1 fault in the input

"#]]);
}

#[test]
fn a_machine_comes_from_one_place() {
    let lab = Lab::new();
    lab.run(["topology", "import"]).code(2).stdout_eq("");
    lab.run(["topology", "import", "--sysfs", "/sys", "--lscpu", "x"]).code(2).stdout_eq("");
    lab.run(["topology", "import", "--hwloc", "none.xml"]).code(2).stderr_eq(str![[r#"
error: cannot read the dump: no such file
--> none.xml

error: 1 fault in the input

"#]]);
}

#[test]
fn a_scenario_runs_on_the_machine_at_hand() {
    if !Path::new("/sys/devices/system/cpu/cpu0/topology").is_dir() {
        return;
    }
    let lab = Lab::new();
    lab.output(["topology", "import", "--sysfs", "/sys", "--out", "machines/here.toml"]);
    lab.edit("machines/small.toml", "machines/here.toml");
    let results = lab.output(["small.toml", "--seeds", "1", "--quiet"]);
    assert!(results.contains("machine here"), "{results}");
}
