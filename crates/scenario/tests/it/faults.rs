//! What is said about bad scenario files: every fault at once, each with place and hint.

use expect_test::{Expect, expect};
use std::path::Path;

fn check(text: &str, expected: Expect) {
    let seen = match scenario::load_str(Path::new("s.toml"), text.to_string()) {
        Ok(experiment) => format!("{:#?}", experiment.variants),
        Err(faults) => faults.render(false),
    };
    expected.assert_eq(&seen);
}

/// The lines of the right scenario that describe its machine.
const MACHINE: &str = r#"[machine]
llcs_per_socket = 2
cores_per_llc = 4
latency = { llc_ns = 25, node_ns = 110 }
caches = { l1d_kib = 32, l2_kib = 1024, l3_kib = 32768, l3_hit_ns = 15, mem_ns = 105 }"#;

/// A right scenario with one line replaced.
fn with(line: &str, by: &str) -> String {
    let right = super::mutations::RIGHT;
    assert!(right.contains(line), "{line}");
    right.replacen(line, by, 1)
}

/// Only the messages, places and hints, one fault per line.
fn check_brief(text: &str, expected: Expect) {
    expected.assert_eq(&told(text));
}

fn told(text: &str) -> String {
    let seen: Vec<String> = match scenario::load_str(Path::new("s.toml"), text.to_string()) {
        Ok(_) => vec!["right".to_string()],
        Err(faults) => faults.0.iter().map(|d| brief(text, d)).collect(),
    };
    seen.join("\n")
}

/// Reads a scenario for each case of a table. A case is a line of the least indentation, in which
/// `; ` stands for a line break; the lines below it are what is said of the scenario.
fn table(scenario: impl Fn(&str) -> String, expected: Expect) {
    let lines = || expected.data().lines().filter(|line| !line.trim().is_empty());
    let indent = |line: &str| line.len() - line.trim_start().len();
    let least = lines().map(indent).min().expect("the table has cases");
    let cases = lines().filter(|line| indent(line) == least).map(str::trim);
    let rows = cases.map(|case| {
        let said = told(&scenario(&case.replace("; ", "\n")));
        format!("{case}\n    {}\n", said.replace('\n', "\n    "))
    });
    expected.assert_eq(&rows.collect::<String>());
}

/// The right scenario after `LINE -> OTHER`.
fn replaced(case: &str) -> String {
    let (line, by) = case.split_once(" ->").expect("a case has an arrow");
    with(line, by.trim_start_matches(' '))
}

/// A scenario with this `[workload]`, and a run that lasts so long.
fn of_workload(workload: &str, until: &str) -> String {
    format!(
        "title = \"x\"\npolicy = \"cfs\"\n{MACHINE}\n[workload]\n{workload}\n[run]\nuntil = \"{until}\"\n\
         [[variant]]\nname = \"A\"\n"
    )
}

fn brief(text: &str, d: &scenario::Fault) -> String {
    let line = d.span.as_ref().map_or(0, |s| 1 + text[..s.start].matches('\n').count());
    let help = d.help.as_ref().map_or(String::new(), |h| format!("\n    {h}"));
    format!("{line}: {}{help}", d.message)
}

#[test]
fn all_faults_are_shown_at_once() {
    check(
        r#"titel = "x"
machine = { cores_per_llc = 0, sokets = 2, latency = { llc_ns = -3 } }
policy = "cgs"

[workload]
kind = "kernel-build"
work_secs = 10
jobs = -3

[run]
seeds = 0
until = "10x"

[[variant]]
name = "A"
features = ["SWQEUE", "SIS_NODE", "NO_SIS_NODE"]
tunables = { migration_cost_ns = nan, latency = 3 }
"#,
        expect![[r#"
            error: unknown key `titel` in the scenario
             --> s.toml:1:1
              |
            1 | titel = "x"
              | ^^^^^ not a key of this table
              |
              = help: did you mean `title`?

            error: `cores_per_llc` must be at least 1
             --> s.toml:2:29
              |
            2 | machine = { cores_per_llc = 0, sokets = 2, latency = { llc_ns = -3 } }
              |                             ^ allowed: 1 to 8192

            error: unknown key `sokets` in the machine
             --> s.toml:2:32
              |
            2 | machine = { cores_per_llc = 0, sokets = 2, latency = { llc_ns = -3 } }
              |                                ^^^^^^ not a key of this table
              |
              = help: did you mean `sockets`?

            error: `llc_ns` must be at least 1
             --> s.toml:2:65
              |
            2 | machine = { cores_per_llc = 0, sokets = 2, latency = { llc_ns = -3 } }
              |                                                                 ^^ allowed: 1 to 100000

            error: unknown policy `cgs`
             --> s.toml:3:10
              |
            3 | policy = "cgs"
              |          ^^^^^ no policy has this name
              |
              = help: did you mean `cfs`?

            error: unknown key `work_secs` in workload `kernel-build`
             --> s.toml:7:1
              |
            7 | work_secs = 10
              | ^^^^^^^^^ not a key of this table
              |
              = help: did you mean `work_seconds`?

            error: `jobs` must be at least 1
             --> s.toml:8:8
              |
            8 | jobs = -3
              |        ^^ allowed: 1 to 65536

            error: `seeds` must be at least 1
              --> s.toml:11:9
               |
            11 | seeds = 0
               |         ^ allowed: 1 to 10000

            error: `until` is not a time: `10x`
              --> s.toml:12:9
               |
            12 | until = "10x"
               |         ^^^^^ `x` is no unit of time: write ns, us, ms, s or min
               |
               = help: write "done", or a simulated time such as "10s" or "500ms"

            error: unknown feature `SWQEUE`
              --> s.toml:16:13
               |
            16 | features = ["SWQEUE", "SIS_NODE", "NO_SIS_NODE"]
               |             ^^^^^^^^ no feature has this name
               |
               = help: did you mean `SWQUEUE`?

            error: features `SIS_NODE` and `NO_SIS_NODE` contradict each other
              --> s.toml:16:35
               |
            16 | features = ["SWQEUE", "SIS_NODE", "NO_SIS_NODE"]
               |                                   ^^^^^^^^^^^^^
               |
               = help: keep one of the two

            error: `migration_cost_ns` must be a whole number
              --> s.toml:17:34
               |
            17 | tunables = { migration_cost_ns = nan, latency = 3 }
               |                                  ^^^ this is a floating-point number

            error: unknown tunable `latency`
              --> s.toml:17:39
               |
            17 | tunables = { migration_cost_ns = nan, latency = 3 }
               |                                       ^^^^^^^ no tunable has this name
               |
               = help: did you mean `latency_ns`?"#]],
    );
}

#[test]
fn features_and_tunables_are_the_kernels() {
    let feature = |f: &str| with(r#"features = ["SWQUEUE"]"#, &format!("features = [{f}]"));
    table(
        feature,
        expect![[r#"
            "SWQUEUE", "SWQUEUE"
                23: feature `SWQUEUE` is given twice
                    keep one of the two
            "NO_SWQUEUE", "SHARED_RUNQ"
                right
            "SHARED_RUNQ", "SWQUEUE"
                23: features `SHARED_RUNQ` and `SWQUEUE` exclude each other
                    keep one of the two: SWQUEUE is the first version of what became SHARED_RUNQ
            "SWQUEUE_STEAL", "SWQUEUE", "NO_SIS_NODE_TOPOEXT"
                right
            "SWQUEUE_STEAL", "NO_SWQUEUE"
                23: feature `SWQUEUE_STEAL` does nothing without `SWQUEUE`
                    write "SWQUEUE" in place of "NO_SWQUEUE"
            "SIS_NODE_TOPOEXT", "SWQUEUE"
                23: feature `SIS_NODE_TOPOEXT` does nothing without `SIS_NODE`
                    add "SIS_NODE" to the list
            "NO_SIS_NOD"
                23: unknown feature `NO_SIS_NOD`
                    did you mean `NO_SIS_NODE`?
            "no-sis-util", 3
                23: unknown feature `no-sis-util`
                    did you mean `SIS_UTIL`?
                23: a feature is a name in quotes
                    such as "SWQUEUE"
            "WARP_DRIVE"
                23: unknown feature `WARP_DRIVE`
                    `schedlab list features` prints all of them
        "#]],
    );
    let tunable = |t: &str| with("migration_cost_ns = 500000", t);
    table(
        tunable,
        expect![[r#"
            migration_cost_ns = -1
                right
            migration_cost_ns = -2
                24: `migration_cost_ns` must be at least -1 ns
            migration_cost_ns = "500us"
                24: `migration_cost_ns` must be a whole number
                    write the number without quotes and without a unit
            migration_cost_ns = 0.5
                24: `migration_cost_ns` must be a whole number
            hz = 99999999999999999999999
                24: `hz` must be at most 1200 Hz
            shared_runq_version = 1
                24: `shared_runq_version` must be at least 2
            shared_runq_shard_size = 0
                24: `shared_runq_shard_size` must be at least 1
            sis_node_skip_own = 2
                24: `sis_node_skip_own` must be true or false
            sis_node_limit = 0
                right
            sis_node_limit = -1
                24: `sis_node_limit` must not be negative
            sched_latency_ns = 1
                24: unknown tunable `sched_latency_ns`
                    did you mean `latency_ns`?
        "#]],
    );
}

#[test]
fn names_policies_and_baselines() {
    table(
        replaced,
        expect![[r#"
            name = "B" -> name = "A"
                22: two variants are named `A`
                    results are told apart by name: give each variant its own
            name = "B" -> name = "  "
                22: `name` must be one line of text, and not blank
            name = "B" -> nam = "B"
                22: unknown key `nam` in [[variant]]
                    did you mean `name`?
            name = "B" -> name = "B"; baseline = true
                23: more than one variant is the baseline
                    remove one: every variant is compared with a single baseline
            name = "B" -> name = "B"; policy = "fcfs"
                24: policy `fcfs` has no features
                    remove them
                25: policy `fcfs` has no tunables
                    remove them
            name = "B" -> name = "B"; policy = "llc_fifo"
                23: unknown policy `llc_fifo`
                    did you mean `llc-fifo`?
            name = "B" -> name = "B"; policy = "vtime"; rules = "6.6"
                24: policy `vtime` has no rules of kernel `6.6`
                    known: 6.18, 6.12
                25: policy `vtime` has no features
                    remove them
                26: policy `vtime` has no tunable `migration_cost_ns`
                    it has: hz, timer_slack_ns, slice_dfl_ns, recheck
            policy = "cfs" ->
                17: this variant has no policy
                    write `policy = "cfs"` at the top for all variants, or in each of them
            policy = "cfs" -> policy = 4
                2: `policy` must be a string
            policy = "cfs" -> policy = "cfs"; rules = "6.18"
                3: policy `cfs` has no rules of kernel `6.18`
                    known: 6.4, 6.1, 5.19
            name = "B" -> name = "B"; policy = "eevdf"; rules = "6.9"
                24: policy `eevdf` has no rules of kernel `6.9`
                    known: 6.18, 6.12, 6.6
                25: policy `eevdf` with the rules of 6.18 has no feature `SWQUEUE`
                    remove it, or choose other rules: `cfs` is 6.4 and earlier, `eevdf` 6.6 and later
            policy = "cfs" -> policy = "cfs"; rules = 6.4
                3: `rules` must be a string
        "#]],
    );
}

#[test]
fn published_rows_belong_to_variants_and_metrics() {
    table(
        replaced,
        expect![[r#"
            variant = "B" -> variant = "C"
                33: no variant is named `C`
                    known: A, B
            value = 321.54 -> value = inf
                35: `value` must be a finite number
            value = 321.54 -> value = -3
                35: `value` must not be negative
            unit = "s" -> unit = "ms"
                36: metric `elapsed` is in s, not in `ms`
                    convert the value
            metric = "elapsed" -> metric = "elapsd"
                28: unknown metric `elapsd`
                    did you mean `elapsed`?
            source = "here" ->
                26: this published row has no `source`
            variant = "B" -> variant = "A"
                32: `elapsed` of `A` is published twice
            value = 321.54 -> value = 321.54; runs = 0
                36: `runs` must be at least 1
            value = 321.54 -> value = 321.54; mechanism = "build"
                36: unknown value `build` for `mechanism`
                    did you mean `built`?
        "#]],
    );
}

#[test]
fn runs_and_workloads() {
    table(
        replaced,
        expect![[r#"
            seeds = 2 -> seeds = 10001
                15: `seeds` must be at most 10000
            seeds = 2 -> seeds = 2.5
                15: `seeds` must be a whole number
            seeds = 2 -> until = "-1s"
                15: `until` is not a time: `-1s`
                    write "done", or a simulated time such as "10s" or "500ms"
            seeds = 2 -> until = 10
                15: `until` must be a string
                    write "done", or a simulated time such as "10s" or "500ms"
        "#]],
    );
    let workload = |w: &str| with("kind = \"kernel-build\"\nwork_seconds = 10", w);
    table(
        workload,
        expect![[r#"
            kind = "kernel-biuld"; tasks = 3
                11: unknown workload kind `kernel-biuld`
                    did you mean `kernel-build`?
            kind = "kernel-build"
                11: workload `kernel-build` has no `work_seconds`
            kind = "spinners"; tasks = 1000000000
                10: workload `spinners` never ends by itself
                    say how long to run it: `until = "10s"` in [run]
                12: `tasks` must be at most 1000000
            kind = "kernel-build"; work_seconds = inf
                12: `work_seconds` must be a finite number
            kind = "kernel-build"; work_seconds = -1e3
                12: `work_seconds` must be at least 0.001 s
            x = 1
                10: [workload] has no `kind`
                    `schedlab list workloads` prints all kinds and their keys
        "#]],
    );
}

#[test]
fn shapes() {
    check_brief("", expect!["0: the scenario is empty"]);
    check_brief("x", expect!["1: not valid TOML: key with no value, expected `=`"]);
    check_brief(
        "a = 1\na = 2\n[b\nc = \"",
        expect![[r#"
        2: `a` is given twice
        3: not valid TOML: unclosed table, expected `]`"#]],
    );
    check_brief(
        "[variant]\nname = \"x\"",
        expect![[r#"
            0: the scenario has no `machine`
                name one of `schedlab list machines`, or a machine file
            0: the scenario has no `workload`
                `schedlab list workloads` prints all kinds and their keys
            1: `variant` must be an array of tables
                write `[[variant]]`, with two brackets"#]],
    );
    check_brief(
        "variant = []\nworkload = 3\nrun = []\nmachine = 4",
        expect![[r#"
            1: there is no variant to run
            2: `workload` must be a table
            3: `run` must be a table
            4: `machine` must be the path of a machine file, or a table"#]],
    );
    check_brief(
        &with(MACHINE, "machine = \"no.toml\""),
        expect![[r#"
            4: cannot read the machine file: no such file
                `schedlab list machines` prints those that come with schedlab"#]],
    );
    let both = "machine = \"no.toml\"\n[machine]\ncpus = 3";
    check_brief(
        &with(MACHINE, both),
        expect![[r#"
        5: `machine` is given twice
            give the path of a machine file or a [machine] table, not both"#]],
    );
    check_brief(
        &with("[[variant]]", "[[variants]]").replace("[[variant]]", "[[variants]]"),
        expect![[r#"
            17: unknown key `variants` in the scenario
                did you mean `variant`?"#]],
    );
}

#[test]
fn features_and_tunables_of_other_kernels_are_refused() {
    check(
        &with("name = \"B\"", "name = \"B\"\npolicy = \"eevdf\""),
        expect![[r#"
            error: policy `eevdf` with the rules of 6.18 has no feature `SWQUEUE`
              --> s.toml:24:13
               |
            24 | features = ["SWQUEUE"]
               |             ^^^^^^^^^ in kernels: up to 6.4
               |
               = help: remove it, or choose other rules: `cfs` is 6.4 and earlier, `eevdf` 6.6 and later"#]],
    );
    table(
        replaced,
        expect![[r#"
            features = ["SWQUEUE"] -> features = ["NO_DELAY_DEQUEUE", "NI_RANDM", "SIS_UTIL"]
                23: policy `cfs` with the rules of 6.4 has no feature `DELAY_DEQUEUE`
                    remove it, or choose other rules: `cfs` is 6.4 and earlier, `eevdf` 6.6 and later
                23: unknown feature `NI_RANDM`
                    did you mean `NI_RANDOM`?
            tunables = { migration_cost_ns = 500000 } -> policy = "eevdf"; rules = "6.12"; tunables = { base_slice_ns = 1000, latency_ns = 6000000, newidle_ratio = 3 }
                23: policy `eevdf` with the rules of 6.12 has no feature `SWQUEUE`
                    remove it, or choose other rules: `cfs` is 6.4 and earlier, `eevdf` 6.6 and later
                26: `base_slice_ns` must be at least 100000 ns
                26: policy `eevdf` with the rules of 6.12 has no tunable `latency_ns`
                    remove it, or choose other rules: `cfs` is 6.4 and earlier, `eevdf` 6.6 and later
        "#]],
    );
}

#[test]
fn task_groups_are_for_the_fair_class_and_for_user_tasks() {
    let weight = "[workload]\ncpu_weight = 100";
    let right = super::mutations::RIGHT.replacen("[workload]", weight, 1);
    check_brief(&right, expect!["right"]);
    check_brief(
        &right.replace("\"cfs\"", "\"fcfs\""),
        expect![[r#"
        11: `cpu_weight` needs policy `cfs` or `eevdf` or a BPF object, but variant `A` has `fcfs`
            leave `cpu_weight` out, or put such variants into a scenario of their own
        24: policy `fcfs` has no features
            remove them
        25: policy `fcfs` has no tunables
            remove them"#]],
    );
    check_brief(&right.replace("= 100", "= 0"), expect!["11: `cpu_weight` must be at least 1"]);
    let limited = |keys: &str| right.replace("cpu_weight = 100", keys);
    check_brief(&limited("slice_weight = 200\ncpu_max = 50_000"), expect!["right"]);
    check_brief(
        &limited("cpu_max_period = 50_000"),
        expect![[r#"
        11: `cpu_max_period` without `cpu_max`
            say `cpu_max` too: the group's CPU time in each period, us"#]],
    );
    check_brief(
        &limited("cpu_max = 10_000\ncpu_max_burst = 20_000"),
        expect![[r#"
        12: `cpu_max_burst` is more than `cpu_max`
            the kernel takes 10000 at most"#]],
    );
    check_brief(&limited("cpu_max = 10"), expect!["11: `cpu_max` must be at least 1000 us"]);
}

#[test]
fn a_truncation_needs_files_with_pages_that_fit_and_can_be_simulated() {
    let of = |batch: &str, rest: &str| {
        let keys = format!("kind = \"truncate\"\nbatch = \"{batch}\"\ninstruction_ns = 0.1");
        of_workload(&format!("{keys}\n{rest}"), "done")
    };
    table(
        |rest| of("entry", rest),
        expect![[r#"
            files = 10
                right
            files = 0; pages = 0; reclaimers = -1; data_pct = 0
                12: `files` must be at least 1
                13: `pages` must be at least 1
                14: `reclaimers` must not be negative
                15: `data_pct` must be at least 0.1 %
            files = 1_000_001; pages = 2_000_000; reclaimers = 5000
                12: `files` must be at most 1000000
                13: `pages` must be at most 1048576
                14: `reclaimers` must be at most 1024
            files = 1_000_000; pages = 1001; cache_pct = 0.1
                12: 1000000 files of 1001 pages have 1001000000 entries; at most 1000000000 are simulated
            files = 1_000_000; pages = 1000
                12: 1000000 files of 2 MiB each do not fit into 64 GiB of memory
                    the machine's memory is its `memory_gib`
            files = 10; entry_work = 100; page_work = 99
                14: a page takes less than a shadow entry
                    `page_work` must not be less than `entry_work`
            page = 3
                9: workload `truncate` has no `files`
                12: unknown key `page` in workload `truncate`
                    did you mean `pages`?
        "#]],
    );
    check_brief(
        &of("entries", "files = 10"),
        expect![[r#"
        10: unknown value `entries` for `batch`
            known: entry, pagevec"#]],
    );
}

#[test]
fn groups_of_tasks_must_be_few_and_fit() {
    table(
        |workload| of_workload(workload, "1s"),
        expect![[r#"
            kind = "hackbench"; groups = 0; datasize = 5000; loop = 3
                10: `groups` must be at least 1
                11: `datasize` must be at most 4096 bytes
                12: unknown key `loop` in workload `hackbench`
                    did you mean `loops`?
            kind = "hackbench"; groups = 1_000_000; fds = 1_000_000
                10: 1000000 groups of 2062500 MiB each do not fit into 64 GiB of memory
                    the machine's memory is its `memory_gib`
                10: 1000000 groups of 2000000 tasks; at most 1000000 are simulated
            kind = "hackbench"; groups = 20_000; threads = true
                right
            kind = "schbench"; message_threads = 1_000_000
                10: 1000000 message threads of 1 MiB each do not fit into 64 GiB of memory
                    the machine's memory is its `memory_gib`
                10: 1000000 message threads of 2 tasks; at most 1000000 are simulated
            kind = "schbench"; threads = 500_000; message_threads = 2
                11: 2 message threads of 156250 MiB each do not fit into 64 GiB of memory
                    the machine's memory is its `memory_gib`
                11: 2 message threads of 500001 tasks; at most 1000000 are simulated
            kind = "web"; threads = 1_000_000
                10: 1000000 threads of 2 MiB each do not fit into 64 GiB of memory
                    the machine's memory is its `memory_gib`
            kind = "web"; threads = 0; calls = -1; rps = 0; spread = 2
                10: `threads` must be at least 1
                11: `calls` must not be negative
                12: `rps` must be at least 1
                13: `spread` must be at most 1
            kind = "schbench"; threads = 0; rps = -1
                10: `threads` must be at least 1
                11: `rps` must be at least 1
            kind = "schbench"; cache_footprint_kib = 67_000_000
                9: 1 message threads of 523438 MiB each do not fit into 64 GiB of memory
                    the machine's memory is its `memory_gib`
        "#]],
    );
}

#[test]
fn classic_benchmarks_are_bounded_by_tasks_and_memory() {
    table(
        |workload| of_workload(workload, "1s"),
        expect![[r#"
            kind = "tbench"; clients = 100_000
                9: workload `tbench` has no `service_ns`
                10: 100000 pairs of 3 MiB each do not fit into 64 GiB of memory
                    the machine's memory is its `memory_gib`
            kind = "tbench"; clients = 0; service_ns = 0; spread = -1
                10: `clients` must be at least 1
                11: `service_ns` must be at least 1 ns
                12: `spread` must not be negative
            kind = "perf-bench-pipe"; loops = 0; message_ns = 0; thread = true
                10: `loops` must be at least 1
                11: `message_ns` must be at least 1 ns
                12: unknown key `thread` in workload `perf-bench-pipe`
                    did you mean `threads`?
            kind = "perf-bench-messaging"; groups = 100_000; fds = 20
                10: 100000 groups of 42 MiB each do not fit into 64 GiB of memory
                    the machine's memory is its `memory_gib`
                10: 100000 groups of 40 tasks; at most 1000000 are simulated
                11: unknown key `fds` in workload `perf-bench-messaging`
                    known: groups, loops, pipe, threads, message_ns, spread, cpu_weight, slice_weight, cpu_max, cpu_max_period, cpu_max_burst, kind
            kind = "schbench-old"; message_threads = 1_000_000; threads = 1_000_000
                10: 1000000 message threads of 62501 MiB each do not fit into 64 GiB of memory
                    the machine's memory is its `memory_gib`
                10: 1000000 message threads of 1000001 tasks; at most 1000000 are simulated
            kind = "schbench-old"; message_threads = 0; cputime_us = -1; sleeptime_us = 1e3
                10: `message_threads` must be at least 1
                11: `cputime_us` must not be negative
                12: `sleeptime_us` must be a whole number
            kind = "cyclictest"; threads = 0; interval_us = 0; distance_us = -1
                10: `threads` must be at least 1
                11: `interval_us` must be at least 1 us
                12: `distance_us` must not be negative
            kind = "cyclictest"; threads = 1_000_000; hogs = 50_000
                11: 1050000 tasks; at most 1000000 are simulated
            kind = "cyclictest"; hogs = 1_000_000
                10: 1000000 hogs of 2 MiB each do not fit into 64 GiB of memory
                    the machine's memory is its `memory_gib`
                10: 1000001 tasks; at most 1000000 are simulated
            kind = "stress-ng"; cpu = 0; cpu_load = 101; cpu_load_slice = 0
                10: `cpu` must be at least 1
                11: `cpu_load` must be at most 100 %
                12: `cpu_load_slice` must be at least 1 ms
            kind = "stress-ng"; cpu = 40_000; yield = 980_000; switch = 1
                10: 1020000 tasks; at most 1000000 are simulated
                11: 980000 stressors of 2 MiB each do not fit into 64 GiB of memory
                    the machine's memory is its `memory_gib`
                12: unknown key `switch` in workload `stress-ng`
                    known: cpu, cpu_load, cpu_load_slice, op_ns, yield, cpu_weight, slice_weight, cpu_max, cpu_max_period, cpu_max_burst, kind
            kind = "stress-ng"; yield = 900_000
                10: 900000 stressors of 2 MiB each do not fit into 64 GiB of memory
                    the machine's memory is its `memory_gib`
            kind = "stress-ng"; yield = 1
                right
        "#]],
    );
}

#[test]
fn files_need_a_daemon_blocks_and_a_size() {
    let of = |rest: &str, until: &str| of_workload(&format!("kind = \"fuse\"\n{rest}"), until);
    table(
        |rest| of(rest, "1s"),
        expect![[r#"
            op = "read"; daemon_threads = 0; block_kib = 0; readahead_kib = 0; ssd_mb_s = 0
                11: `daemon_threads` must be at least 1
                12: `block_kib` must be at least 1
                13: `readahead_kib` must be at least 1
                14: `ssd_mb_s` must be at least 0.1 MB/s
            op = "red"; numjobs = 1_000_000
                10: unknown value `red` for `op`
                    did you mean `read`?
                11: `numjobs` must be at most 4096
            op = "read"; block_kib = 48
                9: a window of 128 KiB is no number of blocks of 48 KiB
                    make `readahead_kib` a multiple of `block_kib`
        "#]],
    );
    table(
        |rest| of(rest, "done"),
        expect![[r#"
            op = "kernel-build"
                10: `op = "kernel-build"` needs `work_seconds`
                    add it to [workload]; docs/CALIBRATION.md says how to find it
            op = "kernel-build"; work_seconds = 10
                right
        "#]],
    );
}
