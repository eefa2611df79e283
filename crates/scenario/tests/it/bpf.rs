//! Policies that are BPF objects.

use scenario::{Experiment, Faults, MetricValue, RunError, load_str};
use std::path::Path;

/// A scenario with this policy, beside the objects of `policies`.
fn load(policy: &str, rest: &str) -> Result<Experiment, Faults> {
    load_in("", policy, rest)
}

/// The same with more keys of the workload.
fn load_in(workload: &str, policy: &str, rest: &str) -> Result<Experiment, Faults> {
    let objects = concat!(env!("CARGO_MANIFEST_DIR"), "/../policies/tests/objects/x.toml");
    let text = format!(
        r#"
        machine = "pack:1 l3:2 core:4 pu:1"
        run = {{ seeds = 1, until = "done" }}
        [workload]
        kind = "hackbench"
        groups = 1
        loops = 400
        {workload}
        [[variant]]
        name = "x"
        policy = {policy}
        {rest}
        "#
    );
    load_str(Path::new(objects), text)
}

/// What is said of a policy that cannot be.
fn fault(policy: &str, rest: &str) -> String {
    told(load(policy, rest).expect_err(policy))
}

fn told(faults: Faults) -> String {
    let said = |f: &scenario::Fault| format!("{} | {}", f.message, f.help.as_deref().unwrap_or(""));
    faults.0.iter().map(said).collect::<Vec<_>>().join("\n")
}

fn hash(policy: &str, rest: &str) -> [String; 2] {
    let experiment = load(policy, rest).unwrap_or_else(|f| panic!("{}", f.render(false)));
    let spec = experiment.spec(&experiment.variants[0], 1);
    [experiment.hash.clone(), spec.digest(&[])]
}

fn metrics(policy: &str, rest: &str) -> Result<Vec<MetricValue>, RunError> {
    let experiment = load(policy, rest).unwrap_or_else(|f| panic!("{}", f.render(false)));
    let spec = experiment.spec(&experiment.variants[0], 1);
    scenario::engine().run(&spec, &|_| ()).map(|output| output.metrics)
}

/// All metrics of a run but what is counted of programs, which only objects have.
fn run(policy: &str, rest: &str) -> String {
    let mut metrics = metrics(policy, rest);
    let of_programs = |m: &MetricValue| m.name.starts_with("bpf_");
    metrics.iter_mut().for_each(|all| all.retain(|m| !of_programs(m)));
    format!("{metrics:?}")
}

/// The cgroups of `[workload]` are there, and its tasks are in the inner one.
#[test]
fn an_object_meets_the_cgroups_of_the_workload() {
    let said = |stop_at: u32, nth: u32| {
        let policy = format!(
            "{{ bpf = \"cgroups.bpf.o\", rodata = {{ stop_at = {stop_at}, nth = {nth} }} }}"
        );
        let keys = "cpu_weight = 300\nslice_weight = 50\ncpu_max = 20_000";
        let experiment =
            load_in(keys, &policy, "").unwrap_or_else(|f| panic!("{}", f.render(false)));
        let spec = experiment.spec(&experiment.variants[0], 1);
        scenario::engine().run(&spec, &|_| ()).expect_err("it ends itself").to_string()
    };
    assert!(said(1, 1).contains("id 2, level 1, weight 50, in 1"), "{}", said(1, 1));
    assert!(said(1, 2).contains("id 3, level 2, weight 300, in 2"), "{}", said(1, 2));
    assert!(said(2, 2).contains("20000 of 100000 us"), "{}", said(2, 2));
    assert!(said(4, 0).contains(" in 3, tasks "), "{}", said(4, 0));
}

#[test]
fn a_limit_that_nobody_is_told_of_is_refused() {
    let keys = "cpu_max = 20_000";
    let old = "rules = \"6.12\"";
    let fifo = "{ bpf = \"fifo.bpf.o\" }";
    assert_eq!(
        told(load_in(keys, fifo, old).expect_err("6.12 does not tell")),
        "variant `x` would never hear of `cpu_max` | leave `cpu_max` out, or say \
         `rules = \"6.18\"` for that variant"
    );
    assert!(load_in(keys, fifo, "").is_ok());
    assert!(load_in("cpu_weight = 20", fifo, old).is_ok());
    let native = told(load_in("cpu_weight = 20", "\"fifo\"", "").expect_err("it knows none"));
    assert!(native.starts_with("`cpu_weight` needs policy"), "{native}");
    // Beside a scheduler of some tasks the fair class keeps it for the others.
    let some = "sched_ext = [\"make\"]";
    assert!(load_in(keys, fifo, &format!("{old}\n{some}")).is_ok());
    assert!(load_in(keys, "\"fifo\"", some).is_ok());
    // If it has all of them nobody keeps it, as the run shows.
    let all = load_in(keys, "\"fifo\"", "sched_ext = [\"hackbench\"]").unwrap();
    let spec = all.spec(&all.variants[0], 1);
    let end = scenario::engine().run(&spec, &|_| ()).expect_err("it limits nobody").to_string();
    assert!(end.starts_with("`cpu_max` limits nobody"), "{end}");
}

/// `fifo.c` has no loops: `enqueue` inserts once, whatever the task is.
#[test]
fn instructions_of_each_operation_are_counted() {
    let metrics = metrics("{ bpf = \"fifo.bpf.o\" }", "").unwrap();
    let of = |name: &str| metrics.iter().find(|m| m.name == name).map(|m| m.value);
    let calls = of("bpf_calls.select_cpu").unwrap();
    assert!(of("bpf_calls.enqueue").unwrap() > 100.0, "{metrics:?}");
    assert_eq!(calls, of("wakeups").unwrap(), "each wake-up asks once");
    let enqueue = of("bpf_insns.enqueue").unwrap();
    assert!(enqueue.fract() == 0.0 && (4.0..20.0).contains(&enqueue), "{enqueue}");
    assert!(of("bpf_insns.dispatch").unwrap() >= 3.0);
    assert_eq!(of("bpf_calls.init"), Some(0.0), "before the measurement");
    assert_eq!(of("bpf_insns.init"), None);
    let native = self::metrics("\"fifo\"", "").unwrap();
    assert!(native.iter().all(|m| !m.name.starts_with("bpf_")));
}

#[test]
fn an_object_runs_as_the_native_scheduler_does() {
    let native = run("\"fifo\"", "tunables = { recheck = false }");
    assert!(native.starts_with("Ok([") && native.contains("elapsed"), "{native}");
    assert_eq!(run("{ bpf = \"fifo.bpf.o\" }", ""), native);
    let slices = "{ bpf = \"fifo.bpf.o\", rodata = { slice_ns = 100_000 } }";
    assert_ne!(run(slices, ""), native);
    assert_ne!(run("{ bpf = \"fifo.bpf.o\", ns_per_insn = 4 }", ""), native);
}

/// The bytes of the object and all that is said of it decide what a run comes to.
#[test]
fn what_decides_a_run_is_in_its_fingerprint() {
    let all = [
        hash("{ bpf = \"fifo.bpf.o\" }", ""),
        hash("{ bpf = \"vtime.bpf.o\" }", ""),
        hash("{ bpf = \"fifo.bpf.o\", rodata = { slice_ns = 1 } }", ""),
        hash("{ bpf = \"fifo.bpf.o\", ns_per_insn = 0.5 }", ""),
        hash("{ bpf = \"fifo.bpf.o\", flags = [\"SCX_OPS_ENQ_LAST\"] }", ""),
        hash("{ bpf = \"fifo.bpf.o\" }", "rules = \"6.12\""),
    ];
    for (i, one) in all.iter().enumerate() {
        for other in &all[..i] {
            assert!(one[0] != other[0] && one[1] != other[1], "{i}");
        }
    }
    let experiment = load("{ bpf = \"fifo.bpf.o\" }", "").unwrap();
    assert!(experiment.files.iter().any(|file| file.ends_with("fifo.bpf.o")));
}

#[test]
fn faults_have_hints() {
    for (policy, said) in [
        ("\"bpf\"", "the policy `bpf` needs an object | name it"),
        (
            "{ bpf = \"fifi.bpf.o\" }",
            "cannot read the BPF object: no such file | did you mean `fifo.bpf.o`",
        ),
        ("{ bpf = \"fifo.c\" }", "no BPF object is in this file"),
        ("{ bpf = \"\" }", "an empty text names no BPF object"),
        ("{ bfp = \"fifo.bpf.o\" }", "unknown key `bfp` in this policy | did you mean `bpf`"),
        (
            "{ bpf = \"fifo.bpf.o\", rodata = { slice_n = 1 } }",
            "no variable `slice_n` | did you mean `slice_ns`",
        ),
        (
            "{ bpf = \"fifo.bpf.o\", rodata = { slice_ns = 1.5 } }",
            "`slice_ns` must be a whole number",
        ),
        ("{ bpf = \"faults.bpf.o\", rodata = { fault = 5_000_000_000 } }", "`fault` cannot hold"),
        (
            "{ bpf = \"fifo.bpf.o\", resize = { slice_ns = 3 } }",
            "`slice_ns` cannot have another size",
        ),
        ("{ bpf = \"fifo.bpf.o\", flags = [\"SCX_OPS_LAST\"] }", "unknown flag `SCX_OPS_LAST`"),
        ("{ bpf = \"fifo.bpf.o\", ns_per_insn = -1 }", "ns_per_insn"),
        (
            "{ bpf = \"fifo.bpf.o\", bss = { slice_ns = 3 } }",
            "`slice_ns` is only read by its programs | write it under `rodata`",
        ),
        (
            "{ bpf = \"user.bpf.o\", rodata = { n_seen = 3 } }",
            "`n_seen` may be written by its programs | write it under `bss`",
        ),
        (
            "{ bpf = \"fifo.bpf.o\", rodata = { slice_ns = \"cpuz\" } }",
            "`slice_ns` cannot be `cpuz`",
        ),
        (
            "{ bpf = \"fifo.bpf.o\", rodata = { slice_ns = \"near_llcs\" } }",
            "cannot be `near_llcs`",
        ),
        (
            "{ bpf = \"kin.bpf.o\", rodata = { llc_of = [1, 2.5] } }",
            "`llc_of` must be a whole number",
        ),
        (
            "{ bpf = \"user.bpf.o\", user = [\"scx-rust\"] }",
            "no half in user space is called `scx-rust` | did you mean `scx-rusty`",
        ),
        (
            "{ bpf = \"user.bpf.o\", user = [\"scx-arena\"] }",
            "it has no program `arena_topology_init` in a section `syscall`",
        ),
        ("{ bpf = \"unknown.bpf.o\" }", "the kernel has no function scx_bpf_not_there"),
        (
            "{ bpf = \"partial.bpf.o\" }",
            "this scheduler has SCX_OPS_SWITCH_PARTIAL, and no task asks for it | name commands",
        ),
    ] {
        let fault = fault(policy, "");
        assert!(fault.contains(said), "{policy}: {fault}");
    }
}

/// Eight CPUs without siblings, the last four behind the second LLC: 5 + 6 + 7 + 8.
#[test]
fn a_scheduler_is_told_of_the_machine_before_it_starts() {
    let places = "{ call = \"tell\", args = { cpu = \"cpu\", sibling = \"sibling\", \
                  llc = \"llc\", node = \"node\" } }";
    let mode = "{ call = \"set_mode\", args = { number = 5, \"part[1].on\" = true, \
                \"part[1].level\" = -3 } }";
    let with = |llcs: u32, calls: &str| {
        format!("{{ bpf = \"start.bpf.o\", rodata = {{ llcs = {llcs} }}, start = [{calls}] }}")
    };
    let both = format!("{places}, {mode}");
    assert!(run(&with(26, &both), "").starts_with("Ok("), "{}", run(&with(26, &both), ""));
    assert!(run(&with(25, &both), "").contains("and 26 of the LLCs"));
    assert!(run(&with(26, places), "").contains("Init failed with error -1"));
    assert_ne!(hash(&with(26, places), ""), hash(&with(26, &both), ""));
    for (calls, said) in [
        ("{ call = \"tall\" }", "it has no program `tall` in a section `syscall`"),
        ("{ call = \"tell\", args = { cpus = 1 } }", "no variable `cpus` of `tell`"),
        ("{ call = \"tell\", args = { cpu = \"cpus\" } }", "`cpu` cannot be `cpus` | did you mean"),
        ("{ call = \"tell\", args = { cpu = 1.5 } }", "`cpu` must be a whole number"),
        ("{ calls = \"tell\" }", "unknown key `calls` in this call"),
        ("3", "`start` must be a table"),
    ] {
        let fault = fault(&with(26, calls), "");
        assert!(fault.contains(said), "{calls}: {fault}");
    }
}

/// What the object looks at is that of eight CPUs without siblings behind two LLCs.
#[test]
fn words_say_what_a_loader_knows_of_the_machine() {
    let with = |expected: &str, rest: &str| {
        format!(
            "{{ bpf = \"kin.bpf.o\", rodata = {{ n_llcs = \"n_llcs\", n_nodes = \"n_nodes\", \
             \"llc_of[cpu]\" = \"llc\", \"sibling_of[cpu]\" = \"sibling\", \
             \"node_of_llc[llc]\" = \"node\", \"cpus_of_llc[llc]\" = \"cpus\", \
             expected = {expected} }}, bss = {{ \"domains[llc].cpus\" = \"cpus\", \
             \"domains[llc].near\" = \"near_llcs\", \"domains[llc].n_near\" = \"n_near_llcs\" {rest} }} }}"
        )
    };
    let there = ", \"domains[llc].is_there\" = true";
    // 1 + 2 + 3 + 4 and twice 5 + 6 + 7 + 8; four CPUs twice; one near LLC each: 1 and twice 0.
    let right = run(&with("[62, 12, 0, 1]", there), "");
    assert!(right.starts_with("Ok("), "{right}");
    assert!(run(&with("[62, 12, 0, 2]", there), "").contains("fault 23: 1 of 2"));
    assert!(run(&with("[62, 12, 0, 1]", ""), "").contains("fault 15: 0 of 1"));
    assert_ne!(hash(&with("[62, 12, 0, 1]", there), ""), hash(&with("[62, 12, 0]", there), ""));
}

/// A scheduler that ends itself ends the run, and its place in the source is named.
#[test]
fn an_error_of_the_scheduler_is_the_runs() {
    let said = run("{ bpf = \"faults.bpf.o\", rodata = { fault = 1 } }", "");
    assert!(said.starts_with("Err(GivenUp") && said.contains("faults.c:"), "{said}");
}

/// netserver answers and so wakes netperf, which is of the fair class and takes the CPU at once.
#[test]
fn a_scheduler_may_have_some_commands_only() {
    let run = |policy: &str, names: &str| {
        let objects = concat!(env!("CARGO_MANIFEST_DIR"), "/../policies/tests/objects/x.toml");
        let text = format!(
            r#"
            machine = "pack:1 l3:1 core:1 pu:1"
            run = {{ seeds = 1, until = "20 ms" }}
            workload = {{ kind = "netperf", test = "UDP_RR", service_ns = 300 }}
            [[variant]]
            name = "x"
            policy = {policy}
            sched_ext = {names}
            "#
        );
        let experiment = load_str(Path::new(objects), text).unwrap();
        let spec = experiment.spec(&experiment.variants[0], 1);
        let ran = scenario::engine().run(&spec, &|_| ());
        (ran.map(|output| output.metrics.len()).map_err(|e| e.to_string()), spec.digest(&[]))
    };
    let partial = "{ bpf = \"partial.bpf.o\", rodata = { last_loss = 5 } }";
    let (ended, digest) = run(partial, "[\"netserver\"]");
    let why = ended.expect_err("it ends itself");
    assert!(why.contains("1 of ") && why.contains(" tasks, 5 for 1"), "{why}");
    let never = run("{ bpf = \"partial.bpf.o\" }", "[\"netserver\"]");
    assert!(never.0.is_ok() && never.1 != digest, "{never:?}");
    // Under the scheduler both, so that nobody takes a CPU from it; and a native one.
    assert!(run(partial, "[\"netserver\", \"netperf\"]").0.is_ok());
    assert!(run("\"vtime\"", "[\"netserver\"]").0.is_ok());
    let missing = run("\"fifo\"", "[\"netservr\"]").0.expect_err("no such task");
    assert!(
        missing.contains("names `netservr`, and no task has this name; there are: "),
        "{missing}"
    );
    assert!(missing.contains("netserver"), "{missing}");
}

#[test]
fn what_cannot_be_shared_is_told() {
    for (policy, rest, said) in [
        ("\"eevdf\"", "sched_ext = [\"hackbench\"]", "policy `eevdf` is no sched_ext scheduler"),
        ("\"fifo\"", "sched_ext = []", "`sched_ext` names no command | name some"),
        ("\"fifo\"", "sched_ext = \"hackbench\"", "`sched_ext` must be an array"),
        ("\"fifo\"", "sched_ext = [3]", "`sched_ext` must be"),
    ] {
        let fault = fault(policy, rest);
        assert!(fault.contains(said), "{rest}: {fault}");
    }
}
