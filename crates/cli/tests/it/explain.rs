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
CPUs idled for 32.0 ms while a task waited that they may run, 8.00 % of all CPU time

by rule   the later of two decisions; right: how far off the idle CPU was
                                              CPU time   share    waits  longest   llc  node
where the task was put                         21.2 ms   66.3%
  select_idle_cpu: SIS_UTIL, no look           12.0 ms   37.4%      772   107 us   68%   32%
  select_idle_sibling: LLC has no idle CPU     6.00 ms   18.7%      634  63.9 us    2%   98%
  idle exit: its CPU is waking up              3.07 ms    9.6%     4297  3.78 us   61%   39%
  select_task_rq: idle CPU taken meanwhile      182 us    0.6%       21  25.4 us        100%
what the idle CPU looked for                   10.8 ms   33.7%
  can_migrate_task: cache hot                  10.5 ms   32.9%      495   114 us   74%   26%
  find_busiest_queue: another queue             182 us    0.6%        8  58.0 us        100%
  find_busiest_group: busiest not overloaded   99.3 us    0.3%       16  34.2 us        100%

who waited for whom   commands; nobody: the CPU was switching, or not awake yet
  short behind short                           28.5 ms   89.0%
  short behind nobody                          3.53 ms   11.0%

longest waits   to be looked at with schedlab trace, same variant and seed
  task                              at   CPU   waited  behind          rule
  short:1002                1.038612 s     0   183 us  short           can_migrate_task: cache hot
  short:1002                1.035693 s     0   170 us  short           select_idle_cpu: SIS_UTIL, no look
  short:1002                1.004147 s     0   169 us  short           select_idle_cpu: SIS_UTIL, no look
  short:1002                1.032548 s     0   146 us  short           can_migrate_task: cache hot
  short:1002                1.016251 s     0   142 us  short           select_idle_cpu: SIS_UTIL, no look
  short:1002                1.024870 s     0   138 us  short           can_migrate_task: cache hot
  short:1000                1.055108 s     3   136 us  short           can_migrate_task: cache hot
  short:1002                1.033215 s     0   135 us  short           can_migrate_task: cache hot

what the rules mean   beside them: features and tunables that change them
  select_idle_cpu: SIS_UTIL, no look           NO_SIS_UTIL
      an idle CPU was there, but by the LLC's utilization (nr_idle_scan is 0) nobody looks
  can_migrate_task: cache hot                  migration_cost_ns
      the tasks on the busiest queue ran there less than migration_cost ago
  select_idle_sibling: LLC has no idle CPU     SIS_NODE
      a wake-up looks behind the LLC of its target only, where no CPU that it may use was idle
  idle exit: its CPU is waking up
      the task has an idle CPU of its own, which is on its way: interrupt, exit latency, switch
  select_task_rq: idle CPU taken meanwhile
      the CPU chosen was idle, and somebody else was there first
  find_busiest_queue: another queue
      the search chose another queue to pull from than the one where the task waits
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
