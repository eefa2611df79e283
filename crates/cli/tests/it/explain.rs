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
CPUs idled for 31.3 ms while a task waited that they may run, 7.83 % of all CPU time

by rule   the later of two decisions; right: how far off the idle CPU was
                                              CPU time   share    waits  longest   llc  node
where the task was put                         20.7 ms   66.1%
  select_idle_cpu: SIS_UTIL, no look           10.2 ms   32.5%      667   108 us   70%   30%
  select_idle_sibling: LLC has no idle CPU     7.33 ms   23.4%      767  68.3 us    1%   99%
  idle exit: its CPU is waking up              2.98 ms    9.5%     4304  3.04 us   59%   41%
  select_task_rq: idle CPU taken meanwhile      216 us    0.7%       25  40.5 us        100%
what the idle CPU looked for                   10.6 ms   33.9%
  can_migrate_task: cache hot                  10.3 ms   33.0%      535   147 us   75%   25%
  find_busiest_queue: another queue             165 us    0.5%       20  34.7 us        100%
  find_busiest_group: busiest not overloaded    111 us    0.4%       11  31.2 us        100%

who waited for whom   commands; nobody: the CPU was switching, or not awake yet
  short behind short                           27.9 ms   89.0%
  short behind nobody                          3.43 ms   11.0%

longest waits   to be looked at with schedlab trace, same variant and seed
  task                              at   CPU   waited  behind          rule
  short:1002                1.004147 s     0   166 us  short           select_idle_cpu: SIS_UTIL, no look
  short:1003                1.052228 s     2   150 us  short           can_migrate_task: cache hot
  short:1000                1.055119 s     2   144 us  short           can_migrate_task: cache hot
  short:1002                1.016227 s     0   141 us  short           can_migrate_task: cache hot
  short:1002                1.099273 s     3   139 us  short           can_migrate_task: cache hot
  short:1002                1.013825 s     0   138 us  short           can_migrate_task: cache hot
  short:1002                1.007842 s     0   132 us  short           select_idle_cpu: SIS_UTIL, no look
  short:1003                1.061738 s     2   124 us  short           can_migrate_task: cache hot

what the rules mean   beside them: features and tunables that change them
  can_migrate_task: cache hot                  migration_cost_ns
      the tasks on the busiest queue ran there less than migration_cost ago
  select_idle_cpu: SIS_UTIL, no look           NO_SIS_UTIL
      an idle CPU was there, but by the LLC's utilization (nr_idle_scan is 0) nobody looks
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
