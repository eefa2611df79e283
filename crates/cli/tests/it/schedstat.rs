//! `schedlab schedstat`: the kernel's format, and the numbers of the same run's trace.
//!
//! The trace is counted here from its text alone, as a script over `perf script` would do it.

use crate::lab::Lab;
use snapbox::str;
use std::collections::HashMap;

/// More tasks than CPUs on cores with two threads, behind two LLCs; the policy is filled in.
const SHORT: &str = r#"title    = "two LLCs"
policy   = "POLICY"
workload = { kind = "short", tasks = 11, run_ns = 60000, sleep_ns = 40000 }
run      = { seeds = 1, until = "202ms" }

[[variant]]
name     = "as it is"
baseline = true

[[variant]]
name     = "NO_TTWU_QUEUE"
features = ["NO_TTWU_QUEUE"]

[machine]
llcs_per_socket  = 2
cores_per_llc    = 2
threads_per_core = THREADS
latency = { smt_ns = 11, llc_ns = 25, node_ns = 110 }
caches  = { l1d_kib = 32, l2_kib = 1024, l3_kib = 32768, l3_hit_ns = 15, mem_ns = 105 }
"#;

fn lab(policy: &str, threads: &str) -> Lab {
    let lab = Lab::new();
    lab.file("short.toml", SHORT.replace("POLICY", policy).replace("THREADS", threads));
    lab
}

/// The numbers of each `cpu` line, and the name, mask and numbers of each of its domains.
struct Stat {
    cpus: Vec<Vec<u64>>,
    domains: Vec<Vec<(String, String, Vec<u64>)>>,
}

fn parse(text: &str) -> Stat {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("version 17"));
    assert!(lines.next().unwrap().starts_with("timestamp "));
    let mut stat = Stat { cpus: Vec::new(), domains: Vec::new() };
    let numbers = |words: &mut dyn Iterator<Item = &str>| -> Vec<u64> {
        words.map(|n| n.parse().unwrap()).collect()
    };
    for line in lines {
        let mut words = line.split(' ');
        let head = words.next().unwrap();
        if let Some(n) = head.strip_prefix("cpu") {
            assert_eq!(n.parse(), Ok(stat.cpus.len()));
            stat.cpus.push(numbers(&mut words));
            stat.domains.push(Vec::new());
        } else {
            let of_cpu = stat.domains.last_mut().unwrap();
            assert_eq!(head, format!("domain{}", of_cpu.len()));
            let (name, mask) = (words.next().unwrap(), words.next().unwrap());
            of_cpu.push((name.into(), mask.into(), numbers(&mut words)));
        }
    }
    stat
}

/// What a task does, by the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Is {
    Asleep,
    Queued,
    Running,
}

/// A wake-up under way.
#[derive(Clone, Copy)]
struct Waking {
    at: u64,
    by: usize,
    prev: usize,
}

/// What can be counted in a trace.
#[derive(Default)]
struct Counted {
    /// By CPU, in the order of the file; run_delay and what it has not are 0.
    cpus: Vec<[u64; 9]>,
    /// Wake-ups by waker and CPU put on, if those differ.
    remote: HashMap<(usize, usize), u64>,
    /// Wake-ups to the previous CPU, the waker's, the same LLC, another.
    targets: [u64; 4],
    /// From waking to running, ns.
    delays: Vec<u64>,
    wakeups: u64,
}

fn field<'a>(line: &'a str, key: &str) -> &'a str {
    let (_, rest) = line.split_once(&format!(" {key}=")).unwrap_or_else(|| panic!("{key}: {line}"));
    rest.split(' ').next().unwrap()
}

fn number(line: &str, key: &str) -> usize {
    field(line, key).parse().unwrap_or_else(|_| panic!("{key}: {line}"))
}

/// The LLC of a CPU: as many CPUs behind each, but the second threads come after all first ones.
fn llc(cpu: usize) -> usize {
    cpu % 4 / 2
}

fn count(trace: &str, n_cpus: usize) -> Counted {
    let mut c = Counted { cpus: vec![[0; 9]; n_cpus], ..Counted::default() };
    let mut since = vec![0; n_cpus];
    let mut tasks: HashMap<usize, Is> = HashMap::new();
    let mut waking: HashMap<usize, Waking> = HashMap::new();
    let mut woken: HashMap<usize, u64> = HashMap::new();
    for line in trace.lines() {
        let (head, rest) = line.split_once(": ").unwrap();
        let (cpu, at) = head.split_once("] ").unwrap();
        let cpu: usize = cpu.rsplit_once('[').unwrap().1.parse().unwrap();
        let at: u64 = at.trim().replace('.', "").parse().unwrap();
        let stopper = rest.contains("comm=migration/");
        if rest.contains("sched_switch") {
            let (prev, next) = (number(line, "prev_pid"), number(line, "next_pid"));
            let mine = &mut c.cpus[cpu];
            mine[2] += 1;
            if prev != 0 {
                mine[6] += at - since[cpu];
                let queued = field(line, "prev_state").starts_with('R');
                tasks.insert(prev, if queued { Is::Queued } else { Is::Asleep });
            }
            since[cpu] = at;
            mine[if next == 0 { 3 } else { 8 }] += 1;
            tasks.insert(next, Is::Running);
            if let Some(from) = woken.remove(&next) {
                c.delays.push(at - from);
            }
        } else if rest.contains("sched_waking") {
            let (pid, prev) = (number(line, "pid"), number(line, "target_cpu"));
            waking.insert(pid, Waking { at, by: cpu, prev });
        } else if rest.contains("sched_wakeup:") {
            let (pid, to) = (number(line, "pid"), number(line, "target_cpu"));
            let w = waking.remove(&pid).unwrap();
            c.cpus[w.by][4] += 1;
            if w.by == to {
                c.cpus[w.by][5] += 1;
            } else {
                *c.remote.entry((w.by, to)).or_default() += 1;
            }
            let was = tasks.get(&pid).copied().unwrap_or(Is::Asleep);
            if was == Is::Asleep && !stopper {
                let kind = match () {
                    () if to == w.prev => 0,
                    () if to == w.by => 1,
                    () if llc(to) == llc(w.prev) => 2,
                    () => 3,
                };
                c.targets[kind] += 1;
                c.wakeups += 1;
                woken.insert(pid, w.at);
                tasks.insert(pid, Is::Queued);
            }
        } else if rest.contains("sched_wakeup_new") {
            tasks.insert(number(line, "pid"), Is::Queued);
        }
    }
    assert!(waking.is_empty(), "wake-ups under way at the end would be counted or not");
    c
}

fn run(lab: &Lab, variant: &str) -> (Stat, Counted, HashMap<String, f64>) {
    let one = ["short.toml", "--variant", variant, "--quiet"];
    let with = |command: &'static str| lab.output([command].into_iter().chain(one));
    let stat = parse(&with("schedstat"));
    let counted = count(&with("trace"), stat.cpus.len());
    let json = lab.output(one.into_iter().chain(["--format", "json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let all = json["variants"].as_array().unwrap();
    let run = all.iter().find(|v| v["name"] == variant).unwrap();
    let metrics = run["metrics"].as_object().unwrap().iter();
    let metrics = metrics.map(|(name, m)| (name.clone(), m["mean"].as_f64().unwrap()));
    (stat, counted, metrics.collect())
}

fn in_mask(mask: &str, cpu: usize) -> bool {
    u64::from_str_radix(mask, 16).unwrap() >> cpu & 1 == 1
}

fn check(policy: &str, threads: &str, variant: &str) {
    let lab = lab(policy, threads);
    let (stat, counted, metrics) = run(&lab, variant);
    let case = format!("{policy}, {threads} threads, {variant}");
    for (cpu, line) in stat.cpus.iter().enumerate() {
        let [yields, array, calls, idle, woke, local, ran, waited, slices] = line[..] else {
            panic!("{case}: {line:?}");
        };
        let mine = counted.cpus[cpu];
        assert_eq!((yields, array), (0, 0), "{case}");
        assert!(calls >= mine[2] && waited > 0, "{case}: {line:?}");
        assert_eq!([idle, woke, local, ran, slices], [3, 4, 5, 6, 8].map(|i| mine[i]), "{case}");
        let names: Vec<&str> = stat.domains[cpu].iter().map(|(name, ..)| name.as_str()).collect();
        let smt = if threads == "2" { &["SMT", "MC", "PKG"][..] } else { &["MC", "PKG"][..] };
        assert_eq!(names, smt, "{case}");
        let mut inside = vec![cpu];
        for (name, mask, numbers) in &stat.domains[cpu] {
            assert_eq!(numbers.len(), 45, "{case}");
            let here = |(by, to): &(usize, usize)| {
                *by == cpu && in_mask(mask, *to) && !inside.contains(to)
            };
            let woken = counted.remote.iter().filter(|(key, _)| here(key));
            assert_eq!(numbers[42], woken.map(|(_, n)| n).sum::<u64>(), "{case}: cpu{cpu} {name}");
            inside.extend((0..counted.cpus.len()).filter(|c| in_mask(mask, *c)));
        }
    }
    let sum = |i: usize| counted.cpus.iter().map(|c| c[i]).sum::<u64>() as f64;
    assert_eq!(metrics["switches"], sum(2), "{case}");
    assert_eq!(metrics["wakeups"], counted.wakeups as f64, "{case}");
    let names = ["wakeups_to_prev", "wakeups_to_waker", "wakeups_same_llc", "wakeups_other_llc"];
    assert_eq!(names.map(|n| metrics[n]), counted.targets.map(|n| n as f64), "{case}");
    percentile(counted.delays, metrics["wakeup_latency_p999"], &case);
    domain_sums(&stat, &metrics, &case);
}

/// The histogram keeps three digits.
fn percentile(mut delays: Vec<u64>, found_us: f64, case: &str) {
    delays.sort_unstable();
    let rank = (delays.len() * 999).div_ceil(1000);
    let expected_us = delays[rank - 1] as f64 / 1e3;
    assert!((found_us / expected_us - 1.0).abs() < 2e-3, "{case}: {found_us} {expected_us}");
}

/// The metrics are sums over the file's lines.
fn domain_sums(stat: &Stat, metrics: &HashMap<String, f64>, case: &str) {
    for level in ["SMT", "MC", "PKG"] {
        let lines = stat.domains.iter().flatten().filter(|(name, ..)| name == level);
        let lines: Vec<&Vec<u64>> = lines.map(|(_, _, numbers)| numbers).collect();
        let sum = |i: usize| lines.iter().map(|line| line[i]).sum::<u64>() as f64;
        let expected = [
            ("lb_count", sum(0) + sum(11)),
            ("lb_failed", sum(2) + sum(13)),
            ("lb_gained", sum(7) + sum(18)),
            ("lb_newidle_count", sum(22)),
            ("lb_newidle_failed", sum(24)),
            ("lb_newidle_gained", sum(29)),
        ];
        for (name, n) in expected {
            let found = metrics.get(&format!("{name}.{}", level.to_lowercase()));
            assert_eq!(found.copied(), (!lines.is_empty()).then_some(n), "{case}: {name} {level}");
        }
    }
}

#[test]
fn the_numbers_are_those_of_a_trace_of_the_same_run() {
    for policy in ["cfs", "eevdf"] {
        for threads in ["1", "2"] {
            for variant in ["as it is", "NO_TTWU_QUEUE"] {
                check(policy, threads, variant);
            }
        }
    }
}

#[test]
fn a_scheduler_that_does_not_balance_has_no_such_metrics() {
    let lab = lab("fifo", "2");
    lab.file(
        "fifo.toml",
        SHORT.replace("POLICY", "fifo").replace("THREADS", "2").replace(
            "[[variant]]\nname     = \"NO_TTWU_QUEUE\"\nfeatures = [\"NO_TTWU_QUEUE\"]\n",
            "",
        ),
    );
    let json = lab.output(["fifo.toml", "--quiet", "--format", "json"]);
    assert!(json.contains("\"wakeups_to_prev\"") && json.contains("\"wakeup_latency_p999\""));
    assert!(!json.contains("\"sis_") && !json.contains("\"lb_"), "{json}");
    let stat = parse(&lab.output(["schedstat", "fifo.toml", "--quiet"]));
    assert!(stat.domains.iter().flatten().all(|(_, _, n)| n[..42].iter().all(|n| *n == 0)));
    assert!(stat.cpus.iter().all(|cpu| cpu[2] > 0 && cpu[6] > 0));
}

#[test]
fn bad_input_is_told_as_by_the_other_commands() {
    let lab = Lab::new();
    let wrong = ["schedstat", "small.toml", "--variant", "SWQEUE"];
    lab.run(wrong).code(2).stdout_eq("").stderr_eq(str![[r#"
error: scenario `small` has no variant `SWQEUE`; did you mean `SWQUEUE`?

"#]]);
    lab.run(["schedstat", "small.toml"]).code(2).stderr_eq(str![[r#"
error: which variant? --variant NAME, one of: NO_SWQUEUE, SWQUEUE

"#]]);
}

#[test]
fn the_text_is_the_kernels_and_nothing_else() {
    let lab = lab("eevdf", "1");
    let text = lab.output(["schedstat", "short.toml", "--variant", "as it is", "--quiet"]);
    // Of each domain its name, its mask and what it counts for a busy CPU.
    let heads = text.lines().map(|line| line.split(' ').take(14).collect::<Vec<_>>().join(" "));
    snapbox::assert_data_eq!(
        heads.collect::<Vec<_>>().join("\n"),
        str![[r#"
version 17
timestamp 50
cpu0 0 0 4028 730 2834 2828 173943632 188702686 3298
domain0 MC 3 8 8 0 0 0 0 0 0 0 0 8
domain1 PKG f 4 4 0 0 0 0 0 0 0 0 4
cpu1 0 0 3984 740 2816 2810 173626331 186729800 3244
domain0 MC 3 8 7 1 709 0 0 0 0 0 0 7
domain1 PKG f 4 4 0 0 0 0 0 0 0 0 0
cpu2 0 0 3802 966 2513 2507 156282865 129139862 2836
domain0 MC c 7 7 0 0 0 0 0 0 0 0 7
domain1 PKG f 2 1 1 488 0 0 0 0 0 0 1
cpu3 0 0 3904 842 2698 2693 168370551 161708844 3062
domain0 MC c 7 6 1 343 0 0 0 0 0 0 6
domain1 PKG f 3 3 0 0 0 0 0 0 0 0 0
"#]]
    );
}
