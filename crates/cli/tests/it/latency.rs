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
  woken             2914   21.1 ms   7.22 us    990 ns   23.8 us   81.2 us    134 us    169 us
  forked               6   10.6 us   1.76 us   1.38 us   3.10 us   3.10 us   3.10 us   3.10 us
  preempted           38   1.08 ms   28.4 us   18.6 us   73.4 us    149 us    149 us    149 us

16 wake-ups took longer than 100 us: 1.92 ms, 9.1 % of the time of all wake-ups

what held them up   and the rule to blame; n: slow wake-ups with a part of it
                                                  time   share        n  longest
on the way to a runqueue                       4.27 us    0.2%       16   298 ns
no CPU idled for it; put there by               146 us    7.6%
  select_idle_cpu: SIS_UTIL, no look            138 us    7.2%        9  66.8 us
  select_task_rq: idle CPU taken meanwhile     6.37 us    0.3%        2  4.13 us
  1 more, each below 0.1 %                     1.45 us    0.1%
a CPU idled that might have run it             1.77 ms   92.2%
  can_migrate_task: cache hot                   895 us   46.7%       15   112 us
  select_idle_cpu: SIS_UTIL, no look            753 us   39.3%       12   108 us
  select_idle_sibling: LLC has no idle CPU     78.9 us    4.1%        3  36.6 us
  find_busiest_queue: another queue            21.2 us    1.1%        1  21.2 us
  select_task_rq: idle CPU taken meanwhile     12.4 us    0.6%        1  12.4 us
  idle exit: its CPU is waking up              4.25 us    0.2%        3  1.65 us
  1 more, each below 0.1 %                      324 ns    0.0%

who ran meanwhile   where they waited; nobody: the CPU was leaving idle
  short behind short                           1.90 ms   99.1%
  short behind nobody                          13.7 us    0.7%

who was preempted by whom   until they ran again, if that took longer than 100 us
  short by short                                149 us

the slowest   by the clock of schedlab trace, same variant and seed
  1. short:1002 waited 169 us for CPU 0
        1.004146563 s  woken by an interrupt on CPU 0, where short:1005 ran
        1.004146828 s  on the runqueue of CPU 0: select_idle_cpu: SIS_UTIL, no look
        1.004316003 s  runs on CPU 0
       behind short:1004 107 us, short:1005 61.7 us
       CPU 1 (llc) idled for 47.7 us of it: can_migrate_task: cache hot
       CPU 1 (llc) idled for 46.0 us of it: select_idle_cpu: SIS_UTIL, no look
       CPU 2 (node) idled for 21.2 us of it: can_migrate_task: cache hot
       3 more idle CPUs or rules: 53.7 us
  2. short:1002 waited 152 us for CPU 0
        1.013830405 s  woken by an interrupt on CPU 0
        1.013830670 s  on the runqueue of CPU 0: select_idle_cpu: SIS_UTIL, no look
        1.013982836 s  runs on CPU 0
       behind short:1004 117 us, short:1005 34.2 us, nobody 615 ns
       CPU 2 (node) idled for 46.9 us of it: can_migrate_task: cache hot
       CPU 3 (node) idled for 36.5 us of it: can_migrate_task: cache hot
       CPU 1 (llc) idled for 28.4 us of it: can_migrate_task: cache hot
       3 more idle CPUs or rules: 24.3 us
  3. short:1002 waited 134 us for CPU 0
        1.007844849 s  woken by an interrupt on CPU 0
        1.007845114 s  on the runqueue of CPU 0: select_task_rq: idle CPU taken meanwhile
        1.007978725 s  runs on CPU 0
       behind short:1004 97.4 us, short:1005 34.6 us, nobody 1.65 us
       CPU 1 (llc) idled for 106 us of it: select_idle_cpu: SIS_UTIL, no look
       CPU 1 (llc) idled for 20.6 us of it: can_migrate_task: cache hot
       CPU 2 (node) idled for 3.39 us of it: can_migrate_task: cache hot
       1 more idle CPUs or rules: 1.65 us
  4. short:1000 waited 126 us for CPU 3
        1.044232023 s  woken by an interrupt on CPU 3
        1.044232288 s  on the runqueue of CPU 3: select_idle_cpu: SIS_UTIL, no look
        1.044357574 s  runs on CPU 3
       behind short:1001 125 us, nobody 615 ns
       CPU 2 (llc) idled for 63.6 us of it: can_migrate_task: cache hot
       CPU 0 (node) idled for 21.2 us of it: find_busiest_queue: another queue
       CPU 2 (llc) idled for 6.59 us of it: select_idle_cpu: SIS_UTIL, no look
       3 more idle CPUs or rules: 10.3 us
  5. short:1003 waited 124 us for CPU 2
        1.046892963 s  woken by an interrupt on CPU 2
        1.046893228 s  on the runqueue of CPU 2: select_idle_sibling: LLC has no idle CPU
        1.047017197 s  runs on CPU 2
       behind short:1005 123 us, nobody 615 ns
       CPU 3 (llc) idled for 96.9 us of it: can_migrate_task: cache hot
       CPU 0 (node) idled for 12.5 us of it: select_idle_sibling: LLC has no idle CPU
       CPU 0 (node) idled for 9.14 us of it: can_migrate_task: cache hot
       1 more idle CPUs or rules: 4.73 us
  6. short:1005 waited 123 us for CPU 0
        1.014291416 s  woken by an interrupt on CPU 0
        1.014291681 s  on the runqueue of CPU 0: select_idle_cpu: SIS_UTIL, no look
        1.014413963 s  runs on CPU 0
       behind short:1004 122 us, nobody 615 ns
       CPU 1 (llc) idled for 65.8 us of it: select_idle_cpu: SIS_UTIL, no look
       CPU 1 (llc) idled for 39.2 us of it: can_migrate_task: cache hot
       CPU 3 (node) idled for 2.80 us of it: can_migrate_task: cache hot
       2 more idle CPUs or rules: 2.51 us
  7. short:1005 waited 119 us for CPU 0
        1.013829890 s  woken by an interrupt on CPU 0
        1.013830155 s  on the runqueue of CPU 0: select_idle_cpu: SIS_UTIL, no look
        1.013948603 s  runs on CPU 0
       behind short:1004 117 us, nobody 1.13 us
       CPU 1 (llc) idled for 85.1 us of it: select_idle_cpu: SIS_UTIL, no look
       CPU 1 (llc) idled for 23.8 us of it: can_migrate_task: cache hot
       CPU 2 (node) idled for 8.42 us of it: can_migrate_task: cache hot
       1 more idle CPUs or rules: 1.13 us
  8. short:1002 waited 118 us for CPU 0
        1.009355871 s  woken by an interrupt on CPU 0
        1.009356136 s  on the runqueue of CPU 0: select_idle_cpu: SIS_UTIL, no look
        1.009474030 s  runs on CPU 0
       behind short:1004 78.3 us, short:1005 39.0 us, nobody 615 ns
       CPU 1 (llc) idled for 71.9 us of it: can_migrate_task: cache hot
       CPU 2 (node) idled for 20.2 us of it: select_idle_cpu: SIS_UTIL, no look
       CPU 2 (node) idled for 9.28 us of it: can_migrate_task: cache hot
       2 more idle CPUs or rules: 15.9 us
  9. short:1000 waited 112 us for CPU 1
        1.027095980 s  woken by an interrupt on CPU 1
        1.027096278 s  on the runqueue of CPU 1: select_idle_sibling: LLC has no idle CPU
        1.027208110 s  runs on CPU 1
       behind short:1005 69.2 us, short:1002 41.5 us, nobody 1.10 us
       CPU 0 (llc) idled for 61.9 us of it: can_migrate_task: cache hot
       CPU 2 (node) idled for 35.7 us of it: can_migrate_task: cache hot
       CPU 3 (node) idled for 12.4 us of it: select_task_rq: idle CPU taken meanwhile
       1 more idle CPUs or rules: 1.10 us
 10. short:1002 waited 109 us for CPU 0
        1.020326780 s  woken by an interrupt on CPU 0
        1.020327045 s  on the runqueue of CPU 0: select_idle_cpu: SIS_UTIL, no look
        1.020435340 s  runs on CPU 0
       behind short:1005 84.7 us, short:1004 23.0 us, nobody 615 ns
       CPU 1 (llc) idled for 108 us of it: select_idle_cpu: SIS_UTIL, no look
       CPU 2 (node) idled for 615 ns of it: select_idle_cpu: SIS_UTIL, no look

what the rules mean   beside them: features and tunables that change them
  can_migrate_task: cache hot                  migration_cost_ns
      the tasks on the busiest queue ran there less than migration_cost ago
  select_idle_cpu: SIS_UTIL, no look           NO_SIS_UTIL
      an idle CPU was there, but by the LLC's utilization (nr_idle_scan is 0) nobody looks
  select_idle_sibling: LLC has no idle CPU     SIS_NODE
      a wake-up looks behind the LLC of its target only, where no CPU that it may use was idle
  find_busiest_queue: another queue
      the search chose another queue to pull from than the one where the task waits
  select_task_rq: idle CPU taken meanwhile
      the CPU chosen was idle, and somebody else was there first
  idle exit: its CPU is waking up
      the task has an idle CPU of its own, which is on its way: interrupt, exit latency, switch

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
