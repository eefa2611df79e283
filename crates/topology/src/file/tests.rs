//! One vector per kind of fault, as a reader of the file sees it.

use crate::{CpuId, Distance, Machine, from_table, load};
use expect_test::{Expect, expect};
use input::Fault;

/// Each fault as `line | the text it points at | message (label) | help`.
fn check(text: &str, expected: Expect) {
    let faults = load("test.toml", text).map(|m| m.n_cpus()).expect_err("the text is faulty");
    let shown: Vec<String> = faults.iter().map(|f| show(text, f)).collect();
    expected.assert_eq(&shown.join("\n"));
}

fn show(text: &str, fault: &Fault) -> String {
    let span = fault.span.clone().unwrap_or(0..0);
    let line = text[..span.start].lines().count().max(1);
    let line = line + usize::from(text[..span.start].ends_with('\n'));
    let what = text[span].lines().next().unwrap_or_default();
    let help = fault.help.as_deref().unwrap_or("-");
    let label = if fault.label.is_empty() { "" } else { &format!(" ({})", fault.label) };
    format!("{line} | {what} | {}{label} | {help}", fault.message)
}

fn ok(text: &str) -> Machine {
    load("dir/small.toml", text).expect("the text is valid")
}

#[test]
fn absent_keys_have_defaults() {
    let machine = ok("cores_per_llc = 4");
    assert_eq!((machine.n_cpus(), machine.hz, machine.clock_mhz), (4, 250, 3000));
    assert_eq!((&*machine.name, &*machine.title), ("small", "small"));
    assert_eq!(machine.costs.switch_ns, 400);
}

#[test]
fn costs_scale_with_the_clock_unless_given() {
    let text =
        "cores = 4\nclock_mhz = 1500\n[costs]\npick_ns = 7\nlb_cpu_ns = 5\nenqueue_ns = 1500";
    let machine = ok(text);
    assert_eq!(machine.costs.enqueue_rest_ns, 100);
    assert_eq!((machine.costs.pick_ns, machine.costs.dequeue_ns), (7, 300));
    assert_eq!(machine.costs.enqueue_remote_lines, 6);
    assert_eq!(machine.costs.lb_cpu_ns, 5);
    assert_eq!(machine.locks.fast_ns, 30);
}

#[test]
fn what_follows_the_append_is_a_part_of_the_enqueue() {
    check(
        "cores = 1\n[costs]\nenqueue_ns = 90\nenqueue_rest_ns = 91",
        expect![
            "4 | 91 | `enqueue_ns` is 90, less than `enqueue_rest_ns` 91 | it is the part of the enqueue that comes after the append"
        ],
    );
}

#[test]
fn totals_stand_for_the_sizes_of_equal_parts() {
    let machine = ok("cpus = 72\ncores = 36\nllcs_per_socket = 6");
    assert_eq!((machine.n_cpus(), machine.llcs.len()), (72, 6));
    assert_eq!(machine.cores[1].to_string(), "1,37");
}

#[test]
fn all_unknown_keys_are_reported() {
    check(
        "cores_per_lcl = 8\nclok_mhz = 3000\n[latency]\nsmtns = 5\n[costs]\nfoo = 1",
        expect![[r#"
            1 | cores_per_lcl | unknown key `cores_per_lcl` in the machine (not a key of this table) | did you mean `cores_per_llc`?
            2 | clok_mhz | unknown key `clok_mhz` in the machine (not a key of this table) | did you mean `clock_mhz`?
            4 | smtns | unknown key `smtns` in [latency] (not a key of this table) | did you mean `smt_ns`?
            6 | foo | unknown key `foo` in [costs] (not a key of this table) | known: pick_ns, dequeue_ns, switch_ns, mm_switch_ns, tick_ns, irq_ns, ttwu_fixed_ns, enqueue_ns, enqueue_rest_ns, enqueue_remote_lines, wake_list_lines, ipi_send_ns, ipi_delivery_ns, idle_entry_ns, idle_loop_ns, scan_cpu_ns, lb_domain_ns, lb_cpu_ns, blocked_ns, blocked_group_ns, pull_ns, fork_ns"#]],
    );
}

#[test]
fn a_misspelled_key_is_not_missing_as_well() {
    check(
        "cores_per_llc = 4
[latency]
lcc_ns = 25
[[cstate]]
nmae = \"C1\"
exit_ns = 1
residency_ns = 1",
        expect![[r#"
            3 | lcc_ns | unknown key `lcc_ns` in [latency] (not a key of this table) | did you mean `llc_ns`?
            4 | [[cstate]] | [[cstate]] has no `polling` (`polling` is missing) | -
            5 | nmae | unknown key `nmae` in [[cstate]] (not a key of this table) | did you mean `name`?"#]],
    );
}

#[test]
fn wrong_numbers_are_reported_not_replaced() {
    check(
        "cores_per_llc = 4\nhz = 0\nclock_mhz = 0\ntick_skew_ns = -1\npreemptible_kernel = 1
[smt]\nbusy = nan\nspinning = inf
[costs]\npick_ns = 1e9\ntick_ns = 99999999999999999999999999\nlb_cpu_ns = -2",
        expect![[r#"
            2 | 0 | `hz` must be at least 24 (allowed: 24 to 1200) | -
            3 | 0 | `clock_mhz` must be at least 100 (allowed: 100 to 10000) | -
            4 | -1 | `tick_skew_ns` must not be negative (allowed: 0 to 4000000) | -
            5 | 1 | `preemptible_kernel` must be true or false (this is a whole number) | -
            7 | nan | `busy` must be a finite number | -
            8 | inf | `spinning` must be a finite number | -
            10 | 1e9 | `pick_ns` must be a whole number (this is a floating-point number) | -
            11 | 99999999999999999999999999 | `tick_ns` must be at most 50000 (allowed: 0 to 50000) | -
            12 | -2 | `lb_cpu_ns` must not be negative (allowed: 0 to 10000000) | -"#]],
    );
}

#[test]
fn too_many_or_no_cpus_are_rejected() {
    check(
        "sockets = 8192\nllcs_per_socket = 8192\ncores_per_llc = 8192\nthreads_per_core = 8",
        expect!["3 | 8192 | a machine of 4398046511104 CPUs; at most 8192 can be simulated | -"],
    );
    check(
        "sockets = 0\ncores_per_llc = 1_000_000_000",
        expect![[r#"
            1 | 0 | `sockets` must be at least 1 (allowed: 1 to 8192) | -
            2 | 1_000_000_000 | `cores_per_llc` must be at most 8192 (allowed: 1 to 8192) | -"#]],
    );
    check("cpu = []", expect!["1 | [] | 0 CPUs are listed; it must be 1 to 8192 | -"]);
}

#[test]
fn shapes_must_divide() {
    check(
        "cores = 36\nllcs_per_socket = 5",
        expect!["1 | 36 | `cores` is 36, which does not divide into 5 LLCs | -"],
    );
    check(
        "cores_per_llc = 8\ncpus = 13",
        expect!["2 | 13 | `cpus` is 13, which does not divide into 8 cores | -"],
    );
    check(
        "cores_per_llc = 8\nthreads_per_core = 2\ncpus = 8",
        expect!["3 | 8 | `cpus` is 8, but 8 cores of 2 make 16 | -"],
    );
    check(
        "cores_per_llc = 8\nllcs_per_socket = 6\nnodes_per_socket = 4",
        expect!["3 | 4 | 6 LLCs per socket do not divide into 4 nodes | -"],
    );
}

#[test]
fn latencies_grow_with_distance_and_are_complete() {
    check(
        "sockets = 2\nllcs_per_socket = 2\ncores_per_llc = 2\nthreads_per_core = 2
[latency]\nsmt_ns = 50\nllc_ns = 20\nnode_ns = 0",
        expect![[r#"
            5 | [latency] | [latency] has no `socket_ns` (`socket_ns` is missing) | -
            7 | 20 | `llc_ns` is 20, less than `smt_ns` = 50 | a transfer does not get faster with distance
            8 | 0 | `node_ns` must be at least 1 (allowed: 1 to 100000) | -"#]],
    );
    let machine = ok("cores_per_llc = 2\n[latency]\nllc_ns = 40");
    assert_eq!(machine.line.ns, [0, 0, 40, 40, 40]);
    assert_eq!(machine.distance(CpuId(0), CpuId(1)), Distance::Llc);
}

#[test]
fn idle_states_go_from_shallow_to_deep() {
    check(
        "cores = 1\ncstate = []",
        expect![
            "2 | [] | the list of C-states is empty | a CPU must idle somehow; leave the key out for a plain C1"
        ],
    );
    check(
        "cores = 1
[[cstate]]\nname = 'C6'\nexit_ns = 90\nresidency_ns = 900\npolling = true
[[cstate]]\nname = 'C1'\nexit_ns = 10\nresidency_ns = 900\npolling = true
[[cstate]]\nname = ''\nexit_ns = -5\npoling = true",
        expect![[r#"
            9 | 10 | C1 has `exit_ns` 10, less than C6 before it | list C-states from shallow to deep
            12 | [[cstate]] | [[cstate]] has no `residency_ns` (`residency_ns` is missing) | -
            13 | '' | `name` must not be blank | -
            14 | -5 | `exit_ns` must not be negative (allowed: 0 to 10000000) | -
            15 | poling | unknown key `poling` in [[cstate]] (not a key of this table) | did you mean `polling`?"#]],
    );
    check(
        "cores = 1
[[cstate]]\nname = 'C6'\nexit_ns = 90\ncore_exit_ns = 91\nresidency_ns = 900\npolling = true",
        expect![
            "5 | 91 | C6 has `exit_ns` 90, less than `core_exit_ns` 91 | it is the exit while another core of the package is awake"
        ],
    );
}

#[test]
fn distance_tables_are_square_symmetric_and_10_on_the_diagonal() {
    check(
        "sockets = 2\ncores_per_llc = 1\nnuma_distances = [[10, 21, 1], [20, 10], [10, 20, 9]]",
        expect![[r#"
            3 | [[10, 21, 1], [20, 10], [10, 20, 9]] | `numa_distances` has 3 rows; it must have 2, one per node | -
            3 | 1 | `distance` must be at least 10 (allowed: 10 to 254) | -
            3 | [20, 10] | a row of 2 distances in a table of 3 rows | -
            3 | 9 | `distance` must be at least 10 (allowed: 10 to 254) | -"#]],
    );
    check(
        "sockets = 2\ncores_per_llc = 1\nnuma_distances = [[11, 21], [20, 10]]",
        expect![[r#"
            3 | 11 | node 0 is 11 from itself; it must be 10 | -
            3 | 20 | node 1 to 0 is 20, but 0 to 1 is 21 | -"#]],
    );
    check(
        "llcs_per_socket = 3\nl3_as_numa = true\ncores_per_llc = 1\nnuma_distances = [[10]]",
        expect![
            "4 | [[10]] | `numa_distances` has 1 rows; it must have 3, one per node (every LLC) | -"
        ],
    );
}

#[test]
fn without_numa_all_sockets_are_one_node() {
    let text = |numa: &str| {
        format!(
            "{numa}sockets = 2\nllcs_per_socket = 2\ncores_per_llc = 2\nclock_mhz = 3000\n\
             [latency]\nllc_ns = 25\nnode_ns = 110\nsocket_ns = 200\n\
             [caches]\nl1d_kib = 32\nl2_kib = 1024\nl3_kib = 32768\nl3_hit_ns = 15\n\
             mem_ns = 105\n"
        )
    };
    let machine = load("m.toml", &text("numa = false\n")).expect("a machine");
    let weights = |m: &Machine| m.domains.chain(CpuId(0)).map(|d| d.weight()).collect::<Vec<_>>();
    // The domain over a node spans both packages.
    assert_eq!((machine.nodes.len(), weights(&machine)), (1, vec![2, 8]));
    let with_nodes = load("m.toml", &text("")).expect("a machine");
    assert_eq!((with_nodes.nodes.len(), weights(&with_nodes)), (2, vec![2, 4, 8]));
    // Lines between packages are as slow as they are.
    assert_eq!(machine.line_ns(CpuId(0), CpuId(4)), 200);
    let again = super::write(&machine, "m");
    assert!(again.lines().any(|l| l.starts_with("numa ") && l.ends_with(" false")), "{again}");
    assert_eq!(load("m.toml", &again).expect("a machine").cpus, machine.cpus);
    check(
        "numa = false\nnodes_per_socket = 2\nllcs_per_socket = 2\ncores_per_llc = 1",
        expect![[r#"
            2 | 2 | `nodes_per_socket` makes several nodes, `numa = false` one | keep one of them"#]],
    );
}

#[test]
fn a_core_of_a_list_has_eight_threads_at_most() {
    let cpu = |n: u32| format!("[[cpu]]\ncpu = {n}\ncore = 0\nllc = 0\nnode = 0\nsocket = 0\n");
    let tables = "[latency]\nsmt_ns = 5\n[caches]\nl1d_kib = 32\nl2_kib = 1024\nl3_kib = 32768\n\
                  l3_hit_ns = 15\nmem_ns = 105\n";
    let machine = |n| load("m.toml", &((0..n).map(cpu).collect::<String>() + tables));
    let messages = |n| machine(n).map(|_| ()).map_err(|f| f[0].message.clone());
    assert_eq!(messages(8), Ok(()));
    assert_eq!(messages(9), Err("a core has more than 8 threads".to_string()));
}

#[test]
fn an_irregular_machine_is_a_list() {
    let text = "cpu = [
  { cpu = 0, core = 0, llc = 0, node = 0, socket = 0 },
  { cpu = 1, core = 4, llc = 7, node = 0, socket = 0 },
  { cpu = 2, core = 0, llc = 0, node = 0, socket = 0 },
]";
    let machine = ok(text);
    assert_eq!(machine.cores[0].to_string(), "0,2");
    assert_eq!((machine.cpus[CpuId(2)].thread, machine.cpus[CpuId(1)].llc), (1, 1));
}

#[test]
fn siblings_must_agree() {
    check(
        "sockets = 1\ncpu = [
  { cpu = 0, core = 0, llc = 0, node = 0, socket = 0 },
  { cpu = 1, core = 0, llc = 1, node = 0, socket = 0 },
  { cpu = 1, core = 1, llc = 1, node = 1, socket = 0, die = 1 },
]",
        expect![[r#"
            1 | 1 | `sockets` and [[cpu]] both describe the shape of the machine | keep only one of them
            4 | { cpu = 1, core = 0, llc = 1, node = 0, socket = 0 } | CPUs 0 and 1 share core 0 but lie in LLC 0 and 1 | -
            5 | { cpu = 1, core = 1, llc = 1, node = 1, socket = 0, die = 1 } | CPU 1 is listed twice | -
            5 | { cpu = 1, core = 1, llc = 1, node = 1, socket = 0, die = 1 } | CPUs 1 and 1 share LLC 1 but lie in node 0 and 1 | -
            5 | die | unknown key `die` in [[cpu]] (not a key of this table) | known: cpu, core, llc, ccd, node, socket"#]],
    );
}

#[test]
fn sources_speak_for_keys_of_the_file() {
    check(
        "cores = 1\n[latency]\nllc_ns = 3
[[source]]\nkeys = ['latency.lc_ns', 7]\ntext = 'x'\nconfidence = 'sure'",
        expect![[r#"
            5 | 7 | `keys` must be a string (this is a whole number) | -
            7 | 'sure' | unknown value `sure` for `confidence` | did you mean `measured`?"#]],
    );
    // Of a file with other faults it is not said: a misspelled key would be two.
    check(
        "cores = 1\n[latency]\nllc_ns = 3
[[source]]\nkeys = ['latency.lc_ns']\ntext = 'x'\nconfidence = 'measured'",
        expect![[r#"
            5 | 'latency.lc_ns' | a source for `latency.lc_ns`, which the file does not give | did you mean `latency.llc_ns`?"#]],
    );
}

#[test]
fn text_that_is_not_toml_shows_its_syntax_errors() {
    check(
        "cores = \nhz = = 3",
        expect![[r#"
            1 |  | not valid TOML: string values must be quoted, expected literal string | -
            2 | = | not valid TOML: extra `=`, expected nothing | -"#]],
    );
}

#[test]
fn an_inline_machine_has_places_in_the_outer_text() {
    let text = "title = 'outer'\n[machine]\ncores = 4\nhz = 9\n";
    let outer = toml::de::DeTable::parse(text).expect("the text is TOML");
    let inner = &outer.get_ref()["machine"];
    let table = inner.get_ref().as_table().expect("a table");
    let faults = from_table("inline", table, inner.span()).expect_err("9 Hz is no tick");
    assert_eq!(
        show(text, &faults[0]),
        "4 | 9 | `hz` must be at least 24 (allowed: 24 to 1200) | -"
    );
}

#[test]
fn a_machine_does_more_than_tick() {
    check(
        "cores_per_llc = 4\n[costs]\ntick_ns = 50_001",
        expect!["3 | 50_001 | `tick_ns` must be at most 50000 (allowed: 0 to 50000) | -"],
    );
    assert_eq!(ok("cores_per_llc = 4\n[costs]\ntick_ns = 50_000").costs.tick_ns, 50_000);
    assert!(ok("cores_per_llc = 4\nclock_mhz = 100").costs.tick_ns <= 50_000, "the default, too");
}
