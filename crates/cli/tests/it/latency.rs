//! `schedlab explain --latency`, and tasks that have stalled.

use crate::lab::Lab;
use serde_json::Value;
use snapbox::str;
use std::collections::BTreeMap;

/// More tasks than CPUs, in two LLCs.
const SHORT: &str = r#"title    = "two LLCs"
policy   = "cfs"
workload = { kind = "short", tasks = 6, run_ns = 20000, sleep_ns = 30000 }
run      = { seeds = 1, until = "50ms" }
variant  = [{ name = "as it is" }]

[machine]
llcs_per_socket = 2
cores_per_llc   = 2
latency = { llc_ns = 25, node_ns = 110 }
caches  = { l1d_kib = 32, l2_kib = 1024, l3_kib = 32768, l3_hit_ns = 15, mem_ns = 105 }
"#;

fn lab() -> Lab {
    let lab = Lab::new();
    lab.file("short.toml", SHORT);
    lab.file(
        "stall.toml",
        SHORT.replace("policy   = \"cfs\"", "policy   = \"fcfs\"").replace(
            "\"short\", tasks = 6, run_ns = 20000, sleep_ns = 30000",
            "\"spinners\", tasks = 5",
        ),
    );
    lab
}

fn json(lab: &Lab, more: &[&str]) -> Value {
    let args = [&["explain", "short.toml", "--latency", "--format", "json", "--quiet"], more];
    serde_json::from_str(&lab.output(args.concat())).unwrap()
}

/// A line of the trace: when, ns, the tracepoint and its fields.
struct Line<'a> {
    at: u64,
    what: &'a str,
    fields: &'a str,
}

impl<'a> Line<'a> {
    fn read(line: &'a str) -> Self {
        let (_, rest) = line.split_once("] ").unwrap();
        let (at, rest) = rest.trim_start().split_once(':').unwrap();
        let (what, fields) = rest.trim_start().split_once(": ").unwrap();
        let what = what.strip_prefix("sched:").unwrap_or(what);
        Self { at: at.replace('.', "").parse().unwrap(), what, fields }
    }

    fn number(&self, key: &str) -> u64 {
        let (_, value) = self.fields.split_once(key).unwrap();
        value.split_whitespace().next().unwrap().parse().unwrap()
    }
}

/// The twin: every wake-up of a trace, and for how long each task ran on each CPU.
#[derive(Default)]
struct Walk {
    /// Pid, instant of the wake-up, and of the first run after it.
    wakeups: Vec<(u64, u64, u64)>,
    /// Pid, CPU, from, to.
    turns: Vec<(u64, u64, u64, u64)>,
}

impl Walk {
    fn through(trace: &str) -> Self {
        let mut walk = Self::default();
        let mut woken: BTreeMap<u64, u64> = BTreeMap::new();
        let mut running: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for text in trace.lines() {
            let line = Line::read(text);
            match line.what {
                "sched_waking" => {
                    woken.insert(line.number(" pid="), line.at);
                }
                "sched_switch" => {
                    let cpu = text.split_once('[').unwrap().1.split_once(']').unwrap().0;
                    let cpu: u64 = cpu.parse().unwrap();
                    let pid = line.number("next_pid=");
                    if let Some((before, since)) = running.insert(cpu, (pid, line.at)) {
                        walk.turns.push((before, cpu, since, line.at));
                    }
                    if let Some(at) = woken.remove(&pid) {
                        walk.wakeups.push((pid, at, line.at));
                    }
                }
                _ => {}
            }
        }
        walk
    }

    /// For how long a task had a CPU within a time.
    fn ran(&self, (pid, cpu): (u64, u64), from: u64, to: u64) -> u64 {
        let its = self.turns.iter().filter(|turn| (turn.0, turn.1) == (pid, cpu));
        its.map(|turn| turn.3.min(to).saturating_sub(turn.2.max(from))).sum()
    }
}

#[test]
fn all_wake_ups_together_take_as_long_as_in_the_trace() {
    let lab = lab();
    let trace = lab.output(["trace", "short.toml", "--quiet"]);
    let walk = Walk::through(&trace);
    let found = json(&lab, &["--beyond", "0"]);
    let sum: u64 = walk.wakeups.iter().map(|(_, at, ran)| ran - at).sum();
    assert_eq!(found["waits"]["woken"]["n"], walk.wakeups.len());
    assert_eq!(found["waits"]["woken"]["ns"], sum);
    assert_eq!(found["slow"]["ns"], sum);
    let rows = found["held"].as_array().unwrap().iter().map(|row| row["ns"].as_u64().unwrap());
    assert_eq!(rows.sum::<u64>(), sum);
}

#[test]
fn stories_are_those_of_the_trace_to_the_nanosecond() {
    let lab = lab();
    let trace = lab.output(["trace", "short.toml", "--quiet"]);
    let walk = Walk::through(&trace);
    let found = json(&lab, &[]);
    let mut longest: Vec<u64> = walk.wakeups.iter().map(|(_, at, ran)| ran - at).collect();
    longest.sort_unstable_by(|a, b| b.cmp(a));
    let stories = found["slowest"].as_array().unwrap();
    assert_eq!(stories.len(), 10);
    for (story, longest) in stories.iter().zip(longest) {
        let number = |key: &str| story[key].as_u64().unwrap();
        let (pid, at, ns) = (number("pid"), number("at_ns"), number("ns"));
        assert_eq!(ns, longest);
        assert!(walk.wakeups.contains(&(pid, at, at + ns)), "{story}");
        let stays = story["stays"].as_array().unwrap();
        for behind in story["behind"].as_array().unwrap() {
            let of = |key: &str| behind[key].as_u64().unwrap();
            // Of a task that moved meanwhile, the time on each runqueue.
            let ran: u64 = (0..stays.len())
                .filter(|i| stays[*i]["cpu"] == behind["cpu"])
                .map(|i| {
                    let from = stays[i]["at_ns"].as_u64().unwrap();
                    let next = stays.get(i + 1).map(|stay| stay["at_ns"].as_u64().unwrap());
                    walk.ran((of("pid"), of("cpu")), from, next.unwrap_or(at + ns))
                })
                .sum();
            assert_eq!(ran, of("ns"), "{behind} in {story}");
        }
    }
}

#[test]
fn the_same_in_words() {
    let lab = lab();
    let text = || lab.output(["explain", "short.toml", "--latency", "--beyond", "100 us", "-q"]);
    assert_eq!(text(), text());
    snapbox::assert_data_eq!(
        text(),
        str![[r#"
two LLCs
machine short, 4 CPUs in 2 LLCs   workload short   variant as it is   seed 1

waits for a CPU   runnable to running; wake-ups: from sched_waking
                   waits    in all      mean       p50       p90       p99     p99.9       max
  woken             2895   22.6 ms   7.82 us    990 ns   26.0 us   87.3 us    169 us    188 us
  forked               6   10.6 us   1.76 us   1.38 us   3.10 us   3.10 us   3.10 us   3.10 us
  preempted           51   1.50 ms   29.4 us   20.8 us   73.4 us    149 us    149 us    149 us

18 wake-ups took longer than 100 us: 2.38 ms, 10.5 % of the time of all wake-ups

what held them up   and the rule to blame; n: slow wake-ups with a part of it
                                                  time   share        n  longest
on the way to a runqueue                       4.77 us    0.2%       18   265 ns
no CPU idled for it; put there by              64.1 us    2.7%
  select_idle_cpu: SIS_UTIL, no look           57.9 us    2.4%        8  19.1 us
  select_task_rq: idle CPU taken meanwhile     6.21 us    0.3%        5  2.03 us
a CPU idled that might have run it             2.31 ms   97.1%
  can_migrate_task: cache hot                  1.14 ms   48.0%       16   114 us
  select_idle_cpu: SIS_UTIL, no look           1.01 ms   42.6%       15   107 us
  select_idle_sibling: LLC has no idle CPU      107 us    4.5%        5  36.6 us
  find_busiest_group: busiest not overloaded   34.7 us    1.5%        2  34.2 us
  idle exit: its CPU is waking up              13.0 us    0.5%        8  1.65 us

who ran meanwhile   where they waited; nobody: the CPU was leaving idle
  short behind short                           2.35 ms   99.0%
  short behind nobody                          19.0 us    0.8%

who was preempted by whom   until they ran again, if that took longer than 100 us
  short by short                                257 us

the slowest   by the clock of schedlab trace, same variant and seed
  1. short:1002 waited 188 us for CPU 0
        1.035692538 s  woken by an interrupt on CPU 0
        1.035692803 s  on the runqueue of CPU 0: select_idle_cpu: SIS_UTIL, no look
        1.035880361 s  runs on CPU 0
       behind short:1004 109 us, short:1005 78.0 us, nobody 615 ns
       CPU 1 (llc) idled for 64.9 us of it: can_migrate_task: cache hot
       CPU 1 (llc) idled for 57.5 us of it: select_idle_cpu: SIS_UTIL, no look
       CPU 2 (node) idled for 24.3 us of it: select_idle_cpu: SIS_UTIL, no look
       3 more idle CPUs or rules: 23.3 us
  2. short:1002 waited 184 us for CPU 0
        1.038611674 s  woken by an interrupt on CPU 0
        1.038611939 s  on the runqueue of CPU 0: select_idle_cpu: SIS_UTIL, no look
        1.038796129 s  runs on CPU 0
       behind short:1004 117 us, short:1005 67.1 us, nobody 615 ns
       CPU 2 (node) idled for 90.6 us of it: can_migrate_task: cache hot
       CPU 1 (llc) idled for 57.7 us of it: select_idle_cpu: SIS_UTIL, no look
       CPU 2 (node) idled for 23.2 us of it: select_idle_cpu: SIS_UTIL, no look
       2 more idle CPUs or rules: 11.3 us
  3. short:1002 waited 169 us for CPU 0
        1.004146563 s  woken by an interrupt on CPU 0, where short:1005 ran
        1.004146828 s  on the runqueue of CPU 0: select_idle_cpu: SIS_UTIL, no look
        1.004315978 s  runs on CPU 0
       behind short:1004 107 us, short:1005 61.7 us
       CPU 1 (llc) idled for 47.7 us of it: can_migrate_task: cache hot
       CPU 1 (llc) idled for 46.0 us of it: select_idle_cpu: SIS_UTIL, no look
       CPU 2 (node) idled for 21.2 us of it: can_migrate_task: cache hot
       3 more idle CPUs or rules: 53.7 us
  4. short:1002 waited 153 us for CPU 0
        1.013847500 s  woken by an interrupt on CPU 0
        1.013847765 s  on the runqueue of CPU 0: select_idle_cpu: SIS_UTIL, no look
        1.014000016 s  runs on CPU 0
       behind short:1004 117 us, short:1005 34.3 us, nobody 615 ns
       CPU 2 (node) idled for 59.8 us of it: can_migrate_task: cache hot
       CPU 3 (node) idled for 37.4 us of it: select_idle_cpu: SIS_UTIL, no look
       CPU 1 (llc) idled for 28.4 us of it: can_migrate_task: cache hot
       2 more idle CPUs or rules: 7.51 us
  5. short:1002 waited 147 us for CPU 0
        1.032547346 s  woken by an interrupt on CPU 0
        1.032547611 s  on the runqueue of CPU 0: select_task_rq: idle CPU taken meanwhile
        1.032694839 s  runs on CPU 0
       behind short:1004 82.6 us, short:1005 63.0 us, nobody 1.65 us
       CPU 1 (llc) idled for 75.2 us of it: can_migrate_task: cache hot
       CPU 1 (llc) idled for 37.4 us of it: select_idle_cpu: SIS_UTIL, no look
       CPU 2 (node) idled for 19.0 us of it: can_migrate_task: cache hot
       2 more idle CPUs or rules: 14.4 us
  6. short:1002 waited 139 us for CPU 0
        1.024869810 s  woken by an interrupt on CPU 0
        1.024870075 s  on the runqueue of CPU 0: select_task_rq: idle CPU taken meanwhile
        1.025008404 s  runs on CPU 0
       behind short:1004 72.6 us, short:1005 64.1 us, nobody 1.65 us
       CPU 1 (llc) idled for 98.6 us of it: can_migrate_task: cache hot
       CPU 2 (node) idled for 21.7 us of it: select_idle_sibling: LLC has no idle CPU
       CPU 2 (node) idled for 15.1 us of it: can_migrate_task: cache hot
       2 more idle CPUs or rules: 2.37 us
  7. short:1002 waited 135 us for CPU 0
        1.033215221 s  woken by an interrupt on CPU 0
        1.033215486 s  on the runqueue of CPU 0: select_idle_cpu: SIS_UTIL, no look
        1.033350464 s  runs on CPU 0
       behind short:1004 120 us, short:1005 13.9 us, nobody 615 ns
       CPU 1 (llc) idled for 83.5 us of it: can_migrate_task: cache hot
       CPU 1 (llc) idled for 35.3 us of it: select_idle_cpu: SIS_UTIL, no look
       CPU 2 (node) idled for 15.6 us of it: select_idle_cpu: SIS_UTIL, no look
       1 more idle CPUs or rules: 615 ns
  8. short:1002 waited 134 us for CPU 0
        1.039109290 s  woken by an interrupt on CPU 0
        1.039109555 s  on the runqueue of CPU 0: select_task_rq: idle CPU taken meanwhile
        1.039243231 s  runs on CPU 0
       behind short:1005 76.2 us, short:1004 55.8 us, nobody 1.65 us
       CPU 1 (llc) idled for 60.1 us of it: can_migrate_task: cache hot
       CPU 2 (node) idled for 34.2 us of it: find_busiest_group: busiest not overloaded
       CPU 2 (node) idled for 17.2 us of it: select_idle_sibling: LLC has no idle CPU
       3 more idle CPUs or rules: 20.2 us
  9. short:1002 waited 133 us for CPU 0
        1.007864975 s  woken by an interrupt on CPU 0
        1.007865240 s  on the runqueue of CPU 0: select_task_rq: idle CPU taken meanwhile
        1.007998276 s  runs on CPU 0
       behind short:1004 97.2 us, short:1005 34.2 us, nobody 1.65 us
       CPU 1 (llc) idled for 85.0 us of it: select_idle_cpu: SIS_UTIL, no look
       CPU 1 (llc) idled for 40.7 us of it: can_migrate_task: cache hot
       CPU 2 (node) idled for 4.00 us of it: can_migrate_task: cache hot
       1 more idle CPUs or rules: 1.65 us
 10. short:1005 waited 122 us for CPU 0
        1.014308511 s  woken by an interrupt on CPU 0
        1.014308776 s  on the runqueue of CPU 0: select_idle_cpu: SIS_UTIL, no look
        1.014430838 s  runs on CPU 0
       behind short:1004 121 us, nobody 615 ns
       CPU 1 (llc) idled for 56.0 us of it: can_migrate_task: cache hot
       CPU 1 (llc) idled for 48.8 us of it: select_idle_cpu: SIS_UTIL, no look
       CPU 3 (node) idled for 2.74 us of it: can_migrate_task: cache hot
       1 more idle CPUs or rules: 2.31 us

what the rules mean   beside them: features and tunables that change them
  can_migrate_task: cache hot                  migration_cost_ns
      the tasks on the busiest queue ran there less than migration_cost ago
  select_idle_cpu: SIS_UTIL, no look           NO_SIS_UTIL
      an idle CPU was there, but by the LLC's utilization (nr_idle_scan is 0) nobody looks
  select_idle_sibling: LLC has no idle CPU     SIS_NODE
      a wake-up looks behind the LLC of its target only, where no CPU that it may use was idle
  find_busiest_group: busiest not overloaded
      the group that ranks as busiest has as many idle CPUs, or one task; others may have more
  idle exit: its CPU is waking up
      the task has an idle CPU of its own, which is on its way: interrupt, exit latency, switch
  select_task_rq: idle CPU taken meanwhile
      the CPU chosen was idle, and somebody else was there first

schedlab 0.1.0, scenario 1fdab8b03e20e86d.

"#]]
    );
}

#[test]
fn a_task_that_has_stalled_is_named_and_can_be_a_failure() {
    let lab = lab();
    lab.run(["stall.toml", "--stall", "10ms", "--format", "csv"]).success().stderr_eq(str![[r#"
note: stall: variant `as it is`, seed 1: task spinner:1004 waits for CPU 0 since 1.000000000 s: 50.0 ms, behind spinner:1000

"#]]);
    lab.run(["stall.toml", "--stall", "10ms", "--format", "csv", "--fail-on-stall", "--quiet"])
        .code(1)
        .stderr_eq(str![[r#"
error: tasks have stalled
  stall: variant `as it is`, seed 1: task spinner:1004 waits for CPU 0 since 1.000000000 s: 50.0 ms, behind spinner:1000

"#]]);
    lab.run(["stall.toml", "--fail-on-stall", "--quiet"]).success().stderr_eq("");
    let explain = ["explain", "stall.toml", "--latency", "--stall", "10ms", "--quiet"];
    lab.run(explain.into_iter().chain(["--fail-on-stall"]))
        .code(1)
        .stdout_eq(str![[r#"
two LLCs
machine stall, 4 CPUs in 2 LLCs   workload spinners   variant as it is   seed 1

waits for a CPU   runnable to running; wake-ups: from sched_waking
                   waits    in all      mean       p50       p90       p99     p99.9       max
  forked               4   5.31 us   1.33 us   1.29 us   1.38 us   1.38 us   1.38 us   1.38 us

1 wait longer than 10.0 ms   a task that may run did not; whatever the wait began with
  !  spinner:1004 waited 50.0 ms for CPU 0, and still waits
        1.000000000 s  started
        1.000000000 s  on the runqueue of CPU 0: untold
       behind spinner:1000 50.0 ms, nobody 1.27 us

no task was woken

schedlab 0.1.0, scenario f62b8ff6c45f7df7.

"#]])
        .stderr_eq(str![[r#"
error: 1 wait for a CPU took longer than --stall

"#]]);
    lab.run(explain).success().stderr_eq("");
    lab.run(["explain", "stall.toml", "--fail-on-stall"]).code(2).stderr_eq(str![[r#"
error: --fail-on-stall needs --latency here

"#]]);
}

#[test]
fn what_cannot_be_beyond_is_told() {
    let lab = lab();
    lab.run(["explain", "short.toml", "--latency", "--beyond", "p42"])
        .code(2)
        .stderr_eq(str![[r#"
error: invalid value 'p42' for '--beyond <P|TIME>': write p50, p90, p95, p99 or p99.9, or a time such as "2 ms"

For more information, try '--help'.

"#]]);
}
