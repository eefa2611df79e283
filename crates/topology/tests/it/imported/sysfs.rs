//! Trees like `/sys`, made from machines of our own and then damaged.

use super::{counts, shown_tree};
use expect_test::{Expect, expect};
use proptest::prelude::*;
use topology::export::{Entry, HINT};
use topology::import::{self, MemTree};
use topology::{CpuId, Machine, RegularSpec};

const CPU: &str = "sys/devices/system/cpu";
const NODE: &str = "sys/devices/system/node";

/// The tree of a machine; links are left out, as archives often do.
fn exported(machine: &Machine) -> MemTree {
    let mut tree = MemTree::default();
    let put = |path: &str, entry: Entry<'_>| {
        if let Entry::File(text) = entry {
            tree.files.insert(path.to_owned(), text.to_owned());
        }
        Ok::<(), ()>(())
    };
    topology::export::sysfs(machine, &machine.name, put).expect("nothing fails in memory");
    tree
}

/// The tree of a machine without the file that only we write.
fn bare(machine: &Machine) -> MemTree {
    let mut tree = exported(machine);
    tree.files.remove(HINT);
    tree
}

/// Two sockets of two LLCs of two cores with two threads.
fn small() -> Machine {
    Machine::regular(RegularSpec {
        sockets: 2,
        llcs_per_socket: 2,
        cores_per_llc: 2,
        threads_per_core: 2,
        numa_distance: Some(vec![10, 21, 21, 10]),
        ..RegularSpec::default()
    })
}

fn set(tree: &mut MemTree, path: String, text: &str) {
    tree.files.insert(path, text.to_owned());
}

fn remove(tree: &mut MemTree, part: &str) {
    let n_files = tree.files.len();
    tree.files.retain(|path, _| !path.contains(part));
    assert!(tree.files.len() < n_files, "{part}");
}

fn check(damage: impl FnOnce(&mut MemTree), expected: Expect) {
    let mut tree = bare(&small());
    damage(&mut tree);
    expected.assert_eq(&shown_tree(import::sysfs("test", &tree)));
}

#[test]
fn a_tree_is_read_as_it_was_written() {
    check(|_| {}, expect!["16 CPUs, 8 cores, 4 LLCs, 2 nodes, 2 sockets"]);
    let imported = import::sysfs("test", &bare(&small())).expect("the tree is sound").machine;
    assert_eq!(imported.cpus, small().cpus);
    assert_eq!(imported.numa_distance, [10, 21, 21, 10]);
    assert_eq!(imported.clock_mhz, 3000);
    assert_eq!(imported.caches.l3_kib, small().caches.l3_kib);
}

#[test]
fn what_sysfs_cannot_say_comes_back_from_the_hint() {
    let text = "title = 'T'\nsockets = 2\ncores_per_llc = 2\nllcs_per_socket = 4\n\
                llcs_per_ccd = 2\n[costs]\npick_ns = 7\n[latency]\nllc_ns = 9\nnode_ns = 10\n\
                socket_ns = 11";
    let machine = topology::load("a.toml", text).expect("the text is valid");
    let again = import::sysfs("tree", &exported(&machine)).expect("the tree is sound");
    assert_eq!(topology::write(&again.machine, "tree"), topology::write(&machine, "a"));
    assert!(again.remarks.is_empty());
}

#[test]
fn a_name_with_a_dot_comes_back_from_the_hint() {
    let machine = Machine { name: "rack.seven".into(), ..small() };
    let again = import::sysfs("rack.seven", &exported(&machine)).expect("the tree is sound");
    assert_eq!(again.machine.name, "rack.seven");
}

#[test]
fn a_hint_for_another_shape_is_not_used() {
    let mut tree = exported(&small());
    set(&mut tree, format!("{CPU}/online"), "0-7,12-15");
    let shown = shown_tree(import::sysfs("test", &tree));
    expect![[r#"
        12 CPUs, 8 cores, 4 LLCs, 2 nodes, 2 sockets
        CPUs 8-11 are offline and left out
        schedlab.toml describes a machine of another shape and is not used"#]]
    .assert_eq(&shown);
    set(&mut tree, HINT.into(), "cores_per_llc = 4\nhz = 0\n");
    let shown = shown_tree(import::sysfs("test", &tree));
    expect!["schedlab.toml: 2 | 0 | `hz` must be at least 24 | -"].assert_eq(&shown);
}

#[test]
fn offline_cpus_and_gaps_are_left_out() {
    check(
        |tree| set(tree, format!("{CPU}/online"), "0,2-3,6-15\n"),
        expect![[r#"
            13 CPUs, 8 cores, 4 LLCs, 2 nodes, 2 sockets
            CPUs 1,4-5 are offline and left out"#]],
    );
    check(
        |tree| {
            set(tree, format!("{CPU}/online"), "0-2,7\n");
            for gone in [3, 4, 5, 6] {
                remove(tree, &format!("/cpu{gone}/"));
            }
            for offline in 8..16 {
                remove(tree, &format!("/cpu{offline}/topology/"));
                remove(tree, &format!("/cpu{offline}/cache/"));
            }
        },
        expect![[r#"
            4 CPUs, 4 cores, 3 LLCs, 2 nodes, 2 sockets
            CPUs 8-15 are offline and left out"#]],
    );
    let mut tree = bare(&small());
    set(&mut tree, format!("{CPU}/online"), "1-3,8-15\n");
    let machine = import::sysfs("test", &tree).expect("the tree is sound").machine;
    assert!(machine.sources[0].text.contains("its CPUs 1-3,8-15 are numbered from 0 here"));
}

#[test]
fn without_the_list_of_online_cpus_each_one_tells() {
    check(
        |tree| {
            remove(tree, "cpu/online");
            set(tree, format!("{CPU}/cpu3/online"), "0\n");
        },
        expect![[r#"
            15 CPUs, 8 cores, 4 LLCs, 2 nodes, 2 sockets
            CPUs 3 are offline and left out"#]],
    );
}

#[test]
fn without_caches_each_socket_has_one() {
    check(
        |tree| remove(tree, "/cache/"),
        expect![[r#"
            16 CPUs, 8 cores, 2 LLCs, 2 nodes, 2 sockets
            nothing about caches: one last-level cache per socket and node is assumed"#]],
    );
    check(
        |tree| remove(tree, "cpu3/cache/"),
        expect![[
            r#"sys/devices/system/cpu/cpu3/cache: CPU 3 tells nothing about its caches, while others do | -"#
        ]],
    );
    // Some guests see no L3: then the L2 is the last level.
    check(|tree| remove(tree, "/index3/"), expect!["16 CPUs, 8 cores, 8 LLCs, 2 nodes, 2 sockets"]);
}

#[test]
fn without_nodes_there_is_one() {
    check(
        |tree| remove(tree, NODE),
        expect![[r#"
            16 CPUs, 8 cores, 4 LLCs, 1 nodes, 2 sockets
            no NUMA nodes: all CPUs are in one"#]],
    );
    check(
        |tree| remove(tree, "/distance"),
        expect!["16 CPUs, 8 cores, 4 LLCs, 2 nodes, 2 sockets"],
    );
}

#[test]
fn nodes_without_cpus_are_left_out() {
    check(
        |tree| {
            set(tree, format!("{NODE}/node5/cpulist"), "\n");
            set(tree, format!("{NODE}/node5/distance"), "30 31 10\n");
            set(tree, format!("{NODE}/node0/distance"), "10 21 30\n");
            set(tree, format!("{NODE}/node1/distance"), "21 10 31\n");
        },
        expect![[r#"
            16 CPUs, 8 cores, 4 LLCs, 2 nodes, 2 sockets
            nodes without CPUs are left out: 5"#]],
    );
}

#[test]
fn an_odd_distance_table_is_not_used() {
    check(
        |tree| set(tree, format!("{NODE}/node0/distance"), "10 10\n"),
        expect![[r#"
            16 CPUs, 8 cores, 4 LLCs, 2 nodes, 2 sockets
            the table of node distances is not one (10 from a node to itself, more and equal both ways to others); defaults up to 32 are assumed"#]],
    );
}

#[test]
fn an_llc_across_nodes_is_split() {
    check(
        |tree| {
            set(tree, format!("{NODE}/node0/cpulist"), "0,8");
            set(tree, format!("{NODE}/node1/cpulist"), "1-7,9-15");
        },
        expect![[r#"
            16 CPUs, 8 cores, 5 LLCs, 2 nodes, 2 sockets
            1 last-level caches span nodes or sockets and are split there, as the scheduler's cache domains are: 5 in all"#]],
    );
}

#[test]
fn old_and_short_trees_will_do() {
    check(
        |tree| {
            remove(tree, "core_cpus");
            remove(tree, "package_cpus");
            remove(tree, "die_cpus");
            remove(tree, "_list");
            remove(tree, "cpulist");
            remove(tree, "proc/");
            remove(tree, "cpuidle");
            remove(tree, "cpufreq");
        },
        expect!["16 CPUs, 8 cores, 4 LLCs, 2 nodes, 2 sockets"],
    );
    // A firmware that tells no package.
    check(
        |tree| {
            for cpu in 0..16 {
                set(tree, format!("{CPU}/cpu{cpu}/topology/physical_package_id"), "-1\n");
            }
        },
        expect!["16 CPUs, 8 cores, 4 LLCs, 2 nodes, 2 sockets"],
    );
}

#[test]
fn faults_name_the_file_and_the_place() {
    check(
        |tree| set(tree, format!("{CPU}/online"), "0-3,x\n"),
        expect![[r#"sys/devices/system/cpu/online: 1 | x | `x` is no number | -"#]],
    );
    check(
        |tree| set(tree, format!("{CPU}/online"), "0-16\n"),
        expect![[
            r#"sys/devices/system/cpu/cpu16: sys/devices/system/cpu/online lists CPU 16, which has no directory | -"#
        ]],
    );
    check(
        |tree| remove(tree, "cpu2/topology"),
        expect![[
            r#"sys/devices/system/cpu/cpu2/topology/thread_siblings_list: CPU 2 is online, but its list of siblings is not here | -"#
        ]],
    );
    check(
        |tree| set(tree, format!("{CPU}/cpu1/topology/core_cpus_list"), "3,11\n"),
        expect![[
            r#"sys/devices/system/cpu/cpu1/topology/core_cpus_list: CPU 1 is not among its own siblings 3,11 | -"#
        ]],
    );
    check(
        |tree| set(tree, format!("{CPU}/cpu9/topology/core_cpus_list"), "1-2,9\n"),
        expect![[
            r#"sys/devices/system/cpu/cpu9/topology/core_cpus_list: the siblings 1-2,9 of CPU 9 are 1,9 in sys/devices/system/cpu/cpu1/topology/core_cpus_list | -"#
        ]],
    );
    check(
        |tree| set(tree, format!("{CPU}/cpu1/cache/index3/shared_cpu_list"), "1,9\n"),
        expect![
            "sys/devices/system/cpu/cpu9: CPUs 1 and 9 are threads of one core in two last-level caches | -"
        ],
    );
    check(
        |tree| set(tree, format!("{NODE}/node1/cpulist"), "3-7,12-15\n"),
        expect![[r#"sys/devices/system/node/node1/cpulist: CPU 3 is in node 1 and in node 0 | -"#]],
    );
    check(
        |tree| set(tree, format!("{NODE}/node1/cpulist"), "5-7,12-15\n"),
        expect![[r#"sys/devices/system/node: CPU 4 is online, but in no node | -"#]],
    );
    check(
        |tree| set(tree, format!("{NODE}/node1/distance"), "21 10 3\n"),
        expect![[
            r#"sys/devices/system/node/node1/distance: 1 | 21 10 3 | 3 distances for 2 nodes | -"#
        ]],
    );
    check(
        |tree| set(tree, format!("{CPU}/cpu4/topology/physical_package_id"), "many\n"),
        expect![[
            r#"sys/devices/system/cpu/cpu4/topology/physical_package_id: 1 | many | `many` is no number | -"#
        ]],
    );
    check(
        |tree| tree.files.clear(),
        expect![[
            r#"sys/devices/system/cpu: no CPU is online here | give a directory with sys/devices/system/cpu in it, or /sys itself"#
        ]],
    );
}

#[test]
fn idle_states_and_clocks_come_from_the_first_cpu() {
    let mut tree = bare(&small());
    remove(&mut tree, "cpu0/cpuidle");
    let states = [("POLL", "", 0, 0), ("C1", "MWAIT 0x00", 2, 2), ("C1E", "MWAIT 0x01", 1, 20)];
    for (i, (name, desc, latency, residency)) in states.iter().enumerate() {
        let dir = format!("{CPU}/cpu0/cpuidle/state{i}");
        set(&mut tree, format!("{dir}/name"), name);
        set(&mut tree, format!("{dir}/desc"), desc);
        set(&mut tree, format!("{dir}/latency"), &latency.to_string());
        set(&mut tree, format!("{dir}/residency"), &residency.to_string());
    }
    remove(&mut tree, "cpufreq");
    let info = "vendor_id : GenuineIntel\nmodel name : Xeon @ 2.10GHz\nflags : fpu\n\nx";
    set(&mut tree, "proc/cpuinfo".into(), info);
    let imported = import::sysfs("test", &tree).expect("the tree is sound");
    let machine = imported.machine;
    assert_eq!((machine.clock_mhz, machine.title.as_str()), (2100, "2 x Xeon @ 2.10GHz"));
    assert_eq!((machine.cstates.len(), machine.cstates[0].exit_ns), (1, 2000));
    assert!(machine.cstates[0].polling);
    expect![[r#"
        [
            "the idle state C1E has no times or is not deeper than the one above: left out",
        ]
    "#]]
    .assert_debug_eq(&imported.remarks);
}

fn spec() -> impl Strategy<Value = RegularSpec> {
    let counts = (1u32..=3, 1u32..=2, 1u32..=3, 1u32..=4, 1u32..=3);
    counts.prop_map(|(sockets, nodes, llcs, cores, threads)| RegularSpec {
        sockets,
        nodes_per_socket: nodes,
        llcs_per_socket: nodes * llcs,
        cores_per_llc: cores,
        threads_per_core: threads,
        ..RegularSpec::default()
    })
}

proptest! {
    #[test]
    fn shapes_survive_the_way_through_sysfs(spec in spec()) {
        let machine = Machine::regular(spec);
        let again = import::sysfs("regular", &bare(&machine)).expect("the tree is sound").machine;
        prop_assert_eq!(&again.cpus, &machine.cpus);
        prop_assert_eq!(&again.numa_distance, &machine.numa_distance);
        // Imported, exported and imported, a machine is the same to the byte.
        let once = topology::write(&again, "regular");
        let twice = import::sysfs("regular", &exported(&again)).expect("the tree is sound");
        prop_assert_eq!(topology::write(&twice.machine, "regular"), once);
    }

    #[test]
    fn offline_cpus_never_change_what_the_others_share(
        spec in spec(),
        online in prop::collection::vec(any::<bool>(), 216),
    ) {
        let machine = Machine::regular(spec);
        let on: Vec<usize> = (0..machine.n_cpus()).filter(|cpu| online[*cpu]).collect();
        prop_assume!(!on.is_empty());
        let mut tree = bare(&machine);
        let list: Vec<String> = on.iter().map(usize::to_string).collect();
        set(&mut tree, format!("{CPU}/online"), &list.join(","));
        let again = import::sysfs("test", &tree).expect("the tree is sound").machine;
        prop_assert_eq!(again.n_cpus(), on.len());
        for (a, x) in on.iter().enumerate() {
            for (b, y) in on.iter().enumerate() {
                let (p, q) = (&machine.cpus[CpuId(*x as u32)], &machine.cpus[CpuId(*y as u32)]);
                let (r, s) = (&again.cpus[CpuId(a as u32)], &again.cpus[CpuId(b as u32)]);
                prop_assert_eq!(p.core == q.core, r.core == s.core);
                prop_assert_eq!(p.llc == q.llc, r.llc == s.llc);
                prop_assert_eq!(p.node == q.node, r.node == s.node);
                prop_assert_eq!(p.socket == q.socket, r.socket == s.socket);
            }
        }
    }

    #[test]
    fn a_damaged_tree_has_faults_with_places_and_never_panics(
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0usize..DAMAGE.len()), 1..6),
    ) {
        let mut tree = exported(&small());
        let files: Vec<String> = tree.files.keys().cloned().collect();
        for (file, what) in damage {
            let file = file.get(&files);
            match DAMAGE[what] {
                "" => drop(tree.files.remove(file)),
                text => drop(tree.files.insert(file.clone(), text.to_owned())),
            }
        }
        match import::sysfs("test", &tree) {
            Ok(imported) => drop(counts(&imported.machine)),
            Err(faults) => {
                prop_assert!(!faults.is_empty());
                for fault in faults {
                    let source = fault.source.expect("its file is known");
                    let span = fault.span.unwrap_or(0..0);
                    prop_assert!(source.text.get(span).is_some() && !source.path.is_empty());
                }
            }
        }
    }
}

/// Files that are gone (the first) or say something else.
const DAMAGE: [&str; 12] = [
    "",
    "\n",
    "0",
    "0-15\n",
    "0-7",
    "1,3,5\n",
    "-1\n",
    "65535",
    "99999999999999999999",
    "ffffffff,ffffffff\n",
    "é\u{0}",
    "10 20 30\n",
];
