//! `schedlab explain`: the ledger of one run, as text and as JSON.

use crate::lab::Lab;
use snapbox::str;

/// More tasks than CPUs, in two LLCs.
const SHORT: &str = r#"title    = "two LLCs"
policy   = "cfs"
workload = { kind = "short", tasks = 6, run_ns = 20000, sleep_ns = 30000 }
run      = { seeds = 1, until = "100ms" }

[[variant]]
name     = "as it is"
baseline = true

[[variant]]
name     = "NO_SIS_UTIL"
features = ["NO_SIS_UTIL"]

[machine]
llcs_per_socket = 2
cores_per_llc   = 2
latency = { llc_ns = 25, node_ns = 110 }
caches  = { l1d_kib = 32, l2_kib = 1024, l3_kib = 32768, l3_hit_ns = 15, mem_ns = 105 }
"#;

fn lab() -> Lab {
    let lab = Lab::new();
    lab.file("short.toml", SHORT);
    lab
}

#[test]
fn rules_commands_and_meanings_are_printed() {
    let lab = lab();
    let text = || lab.output(["explain", "short.toml", "--variant", "as it is", "--quiet"]);
    assert_eq!(text(), text());
    snapbox::assert_data_eq!(
        text(),
        str![[r#"
two LLCs
machine short, 4 CPUs in 2 LLCs   workload short   variant as it is   seed 1
CPUs idled for 34.5 ms while a task waited that they may run, 8.63 % of all CPU time

by rule   the later of two decisions; right: how far off the idle CPU was
                                              CPU time   share    waits  longest   llc  node
where the task was put                         23.5 ms   68.0%
  select_idle_cpu: SIS_UTIL, no look           11.7 ms   33.8%      781   108 us   70%   30%
  select_idle_sibling: LLC has no idle CPU     8.44 ms   24.4%      921  69.1 us    1%   99%
  idle exit: its CPU is waking up              3.18 ms    9.2%     4153  3.39 us   61%   39%
  select_task_rq: idle CPU taken meanwhile      181 us    0.5%       25  30.5 us        100%
what the idle CPU looked for                   11.1 ms   32.0%
  can_migrate_task: cache hot                  10.8 ms   31.3%      574   145 us   75%   25%
  find_busiest_queue: another queue             192 us    0.6%       21  21.2 us        100%
  find_busiest_group: busiest not overloaded   55.9 us    0.2%       13  15.0 us        100%

who waited for whom   commands; nobody: the CPU was switching, or not awake yet
  short behind short                           30.8 ms   89.3%
  short behind nobody                          3.71 ms   10.7%

longest waits   to be looked at with schedlab trace, same variant and seed
  task                              at   CPU   waited  behind          rule
  short:1002                1.004147 s     0   169 us  short           select_idle_cpu: SIS_UTIL, no look
  short:1003                1.070711 s     2   145 us  short           can_migrate_task: cache hot
  short:1002                1.016228 s     0   142 us  short           can_migrate_task: cache hot
  short:1002                1.013831 s     0   136 us  short           can_migrate_task: cache hot
  short:1002                1.007845 s     0   131 us  short           select_idle_cpu: SIS_UTIL, no look
  short:1003                1.046893 s     2   123 us  short           can_migrate_task: cache hot
  short:1003                1.094371 s     2   121 us  short           can_migrate_task: cache hot
  short:1005                1.013830 s     0   118 us  short           select_idle_cpu: SIS_UTIL, no look

what the rules mean   beside them: features and tunables that change them
  select_idle_cpu: SIS_UTIL, no look           NO_SIS_UTIL
      an idle CPU was there, but by the LLC's utilization (nr_idle_scan is 0) nobody looks
  can_migrate_task: cache hot                  migration_cost_ns
      the tasks on the busiest queue ran there less than migration_cost ago
  select_idle_sibling: LLC has no idle CPU     SIS_NODE
      a wake-up looks behind the LLC of its target only, where no CPU that it may use was idle
  idle exit: its CPU is waking up
      the task has an idle CPU of its own, which is on its way: interrupt, exit latency, switch
  find_busiest_queue: another queue
      the search chose another queue to pull from than the one where the task waits
  select_task_rq: idle CPU taken meanwhile
      the CPU chosen was idle, and somebody else was there first
  find_busiest_group: busiest not overloaded
      the group that ranks as busiest has as many idle CPUs, or one task; others may have more

schedlab 0.1.0, scenario 6cafb4a79b7ca735.

"#]]
    );
}

#[test]
fn the_rules_of_the_json_add_up() {
    let lab = lab();
    let text =
        lab.output(["explain", "short.toml", "--variant", "NO_SIS_UTIL", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&json["schema"], &json["variant"]), (&1.into(), &"NO_SIS_UTIL".into()));
    let all = json["idle_while_runnable_ns"].as_u64().unwrap();
    assert!(all > 1_000_000, "{all}");
    let ns = |list: &str| -> u64 {
        json[list].as_array().unwrap().iter().map(|row| row["ns"].as_u64().unwrap()).sum()
    };
    assert_eq!((ns("rules"), ns("blame")), (all, all));
    for rule in json["rules"].as_array().unwrap() {
        let parts = rule["ns_by_distance"].as_object().unwrap().values();
        assert_eq!(parts.map(|ns| ns.as_u64().unwrap()).sum::<u64>(), rule["ns"].as_u64().unwrap());
        assert!(["placed", "sought"].contains(&rule["kind"].as_str().unwrap()), "{rule}");
        assert!(!rule["rule"].as_str().unwrap().contains("SIS_UTIL"), "{rule}");
    }
}

/// When this task was switched to, ns, by the trace.
fn switches_to(trace: &str, pid: u64) -> Vec<u64> {
    let wanted = format!("next_pid={pid} ");
    let lines = trace.lines().filter(|l| l.contains("sched_switch") && l.contains(&wanted));
    let ns = |line: &str| {
        let (_, rest) = line.split_once("] ").unwrap();
        let (at, _) = rest.trim_start().split_once(':').unwrap();
        at.replace('.', "").parse().unwrap()
    };
    lines.map(ns).collect()
}

#[test]
fn the_longest_waits_are_in_the_trace() {
    let lab = lab();
    let one = ["short.toml", "--variant", "as it is", "--quiet"];
    let text = lab.output(["explain", "--format", "json"].into_iter().chain(one));
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let trace = lab.output(["trace"].into_iter().chain(one));
    for wait in json["longest"].as_array().unwrap() {
        let [at, ns, pid] = ["at_ns", "ns", "pid"].map(|key| wait[key].as_u64().unwrap());
        let ran = switches_to(&trace, pid).into_iter().find(|t| *t > at).unwrap();
        assert!(ran >= at + ns, "{wait}: {ran}");
    }
}

#[test]
fn a_run_that_wastes_nothing_says_so() {
    let lab = Lab::new();
    let idle = SHORT.replace(
        "\"short\", tasks = 6, run_ns = 20000, sleep_ns = 30000",
        "\"spinners\", tasks = 9",
    );
    lab.file("busy.toml", &idle);
    let text = lab.output(["explain", "busy.toml", "--variant", "as it is", "--quiet"]);
    snapbox::assert_data_eq!(
        text,
        str![[r#"
two LLCs
machine busy, 4 CPUs in 2 LLCs   workload spinners   variant as it is   seed 1
no CPU idled while a task that it may run waited

schedlab 0.1.0, scenario e6649d1a6446cba3.

"#]]
    );
}
