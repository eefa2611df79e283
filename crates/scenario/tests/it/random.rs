//! Whole scenarios drawn at random: any machine, policy, features, tunables and workload. Whatever
//! they are, no invariant of the engine breaks, a run is the same each time, looking at it changes
//! nothing, and what the looking finds adds up.
//!
//! A few are run with each `cargo test`. `SCHEDLAB_RANDOM=1000..2000` names others, by their seeds,
//! and `scripts/fuzz-all` goes on until its time is over.

use scenario::registry::{
    Class, FEATURES, Fallback, KERNELS, KeyDef, Kind, POLICIES, PolicyDef, TUNABLES, WORKLOADS,
};
use scenario::{
    Changes, Experiment, RunError, RunSpec, attempt, engine,
    latency::{Beyond, Hold, LatencyQuestion},
    load_study_str,
};
use std::fmt::Write;
use std::path::Path;
use test_support::Random;

/// Scenarios of each `cargo test`.
const N: u64 = 60;

/// A list of tasks is as long at most: a run is short because of it.
const COUNT_MAX: u64 = 40;

/// True with that probability in percent.
fn chance(random: &mut Random, pct: u64) -> bool {
    random.below(100) < pct
}

/// Between both, as often near the one as near the other by ratio.
fn by_ratio(random: &mut Random, low: f64, high: f64) -> f64 {
    let (low, high) = (low.max(1e-3), high.max(1e-3));
    low * (high / low).powf(random.below(1 << 20) as f64 / f64::from(1 << 20))
}

/// What keys of a unit may be without a run taking long.
fn usual(unit: &str) -> (f64, f64) {
    match unit {
        "ns" => (1e3, 5e6),
        "us" => (1.0, 5e3),
        "ms" => (1.0, 20.0),
        "s" => (0.001, 2.0),
        "1/s" => (100.0, 200_000.0),
        "%" => (1.0, 100.0),
        _ => (1.0, COUNT_MAX as f64),
    }
}

/// A value of a key in TOML; `None` if it is to be left to its default.
fn value(random: &mut Random, key: &KeyDef) -> Option<String> {
    if !matches!(key.default, Fallback::Required) && chance(random, 60) {
        return None;
    }
    let (low, high) = usual(key.unit);
    match key.kind {
        Kind::Int { min, max } => {
            let (low, high) = (low.max(min as f64), high.min(max as f64).max(min as f64));
            Some((by_ratio(random, low, high) as i64).clamp(min, max).to_string())
        }
        Kind::Float { min, max } => {
            let (low, high) = (low.max(min), high.min(max).max(min));
            Some(format!("{:.3}", by_ratio(random, low, high).clamp(min, max)))
        }
        Kind::Switch | Kind::Bool => Some(chance(random, 50).to_string()),
        Kind::Word(words) => {
            Some(format!("\"{}\"", words[random.below(words.len() as u64) as usize]))
        }
        _ => None,
    }
}

/// A policy with its rules, features and tunables, as lines of a variant; and its class.
fn policy(random: &mut Random) -> (String, Class) {
    let known: Vec<&PolicyDef> = POLICIES.iter().filter(|policy| policy.name != "bpf").collect();
    let policy = known[random.below(known.len() as u64) as usize];
    let mut text = format!("policy = \"{}\"\n", policy.name);
    let rules = policy.rules.get(random.below(policy.rules.len().max(1) as u64) as usize);
    if let Some(rules) = rules {
        let _ = writeln!(text, "rules = \"{rules}\"");
    }
    if policy.class == Class::Fair {
        let exists =
            |name: &str| scenario::registry::feature(name).and_then(|f| f.default(rules.copied()));
        let mut list = Vec::new();
        for feature in FEATURES {
            if exists(feature.name).is_some() && chance(random, 30) {
                let no = if chance(random, 50) { "NO_" } else { "" };
                list.push(format!("\"{no}{}\"", feature.name));
            }
        }
        let _ = writeln!(text, "features = [{}]", list.join(", "));
    }
    let mut tunables = Vec::new();
    for tunable in TUNABLES {
        let is_there = match policy.class {
            Class::Fair => tunable.exists(rules.copied()),
            class => tunable.belongs_to(class),
        };
        if is_there && chance(random, 30) {
            let said =
                value(random, &tunable.key).map(|said| format!("{} = {said}", tunable.key.name));
            tunables.extend(said);
        }
    }
    let _ = writeln!(text, "tunables = {{ {} }}", tunables.join(", "));
    (text, policy.class)
}

/// A command of a workload that a scheduler may have for itself.
fn command(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "fuse" => "passthrough_hp",
        "hackbench" => "hackbench",
        "kernel-build" => "make",
        "netperf" => "netserver",
        "schbench" | "schbench-old" => "schbench",
        "stress-ng" => "stress-ng-cpu",
        "tbench" => "tbench_srv",
        "web" => "web",
        _ => return None,
    })
}

/// A scenario.
fn scenario(seed: u64) -> String {
    let mut random = Random::new(seed);
    let random = &mut random;
    let [packs, llcs, cores, pus] = [2, 3, 4, 2].map(|n| 1 + random.below(n));
    let workloads: Vec<_> =
        WORKLOADS.iter().filter(|def| !["rt-app", "perf-script"].contains(&def.kind)).collect();
    let def = workloads[random.below(workloads.len() as u64) as usize];
    let (mut policy, class) = policy(random);
    // Task groups are the fair class's.
    let of_group = if class == Class::Fair && chance(random, 50) { def.common() } else { &[] };
    let mut keys = String::new();
    for key in def.keys.iter().chain(def.kernel_keys).chain(of_group) {
        let is_part = key.name.starts_with("cpu_max_") && !keys.contains("cpu_max =");
        if let (Some(value), false) = (value(random, key), is_part) {
            let _ = writeln!(keys, "{} = {value}", key.name);
        }
    }
    let until_us = 200 + random.below(4000);
    if class == Class::Ext
        && let Some(command) = command(def.kind)
        && chance(random, 50)
    {
        let _ = writeln!(policy, "sched_ext = [\"{command}\"]");
    }
    format!(
        "machine = \"pack:{packs} [numa] l3:{llcs} core:{cores} pu:{pus}\"\n[workload]\nkind = \
         \"{}\"\n{keys}[run]\nseeds = 1\nuntil = \"{until_us}us\"\n[[variant]]\nname = \"a\"\n{policy}",
        def.kind
    )
}

/// What is wrong with a run, if anything is.
fn wrong(spec: &RunSpec) -> Result<(), String> {
    let engine = engine();
    let run = || attempt(engine.as_ref(), spec, &|_| {});
    let output = match run() {
        Err(RunError::Broken(why)) => return Err(why),
        // A scenario may wait for what never comes; that is said, too.
        Err(_) => return Ok(()),
        Ok(output) => output,
    };
    if run().as_ref() != Ok(&output) {
        return Err("two runs differ".to_string());
    }
    let metric = |name: &str| output.metrics.iter().find(|m| m.name == name).map(|m| m.value);
    if let Some(odd) = output.metrics.iter().find(|m| !m.value.is_finite()) {
        return Err(format!("{} is {}", odd.name, odd.value));
    }
    let cpus = spec.machine.n_cpus() as f64;
    if metric("cpu_pct").is_some_and(|pct| !(0.0..=100.0 * cpus + 1e-6).contains(&pct)) {
        return Err(format!("cpu_pct is {:?} of {cpus} CPUs", metric("cpu_pct")));
    }
    explained(spec, metric("idle_while_runnable"))?;
    profiled(spec)?;
    counted(spec)
}

/// The ledgers of idle CPUs and of slow wake-ups add up.
fn explained(spec: &RunSpec, wasted_s: Option<f64>) -> Result<(), String> {
    let failed = |error: RunError| error.to_string();
    let found = spec.explain(&|_| {}).map_err(failed)?;
    let sum: u64 = found.rules.iter().map(scenario::RuleTime::total_ns).sum();
    if sum != found.wasted_ns {
        return Err(format!("rules have {sum} ns of {} ns", found.wasted_ns));
    }
    if let Some(s) = wasted_s
        && (s * 1e9 - found.wasted_ns as f64).abs() > 1.0 + s
    {
        return Err(format!("idle_while_runnable is {s} s, the ledger has {} ns", found.wasted_ns));
    }
    let question = LatencyQuestion { beyond: Beyond::Time(10_000), stall_ns: 1_000_000 };
    let found = spec.explain_latency(&question, &|_| {}).map_err(failed)?;
    let held: u64 = found.held.iter().map(|row| row.ns).sum();
    let on_cpus = |row: &&scenario::latency::HeldTime| matches!(row.hold, Hold::Busy | Hold::Idled);
    let held_by_cpus: u64 = found.held.iter().filter(on_cpus).map(|row| row.ns).sum();
    let pairs: u64 = found.pairs.iter().map(|pair| pair.ns).sum();
    if (held, pairs) != (found.slow_ns, held_by_cpus) {
        return Err(format!(
            "slow wake-ups took {} ns, {held} ns of it are told; {pairs} ns behind others of \
             {held_by_cpus} ns",
            found.slow_ns
        ));
    }
    Ok(())
}

/// The profile is all of the busy time, and no CPU is busy twice.
fn profiled(spec: &RunSpec) -> Result<(), String> {
    let profile = spec.profile(&|_| {}).map_err(|error| error.to_string())?;
    let (sum, most) = (profile.time(|_| true), profile.elapsed_ns * profile.cpus as u64);
    match sum == profile.busy_ns && sum <= most {
        true => Ok(()),
        false => Err(format!("the profile has {sum} ns of {} ns, of {most} ns", profile.busy_ns)),
    }
}

/// Numbers of /proc/schedstat that are parts of others are no larger.
fn counted(spec: &RunSpec) -> Result<(), String> {
    let stat = spec.schedstat(&|_| {}).map_err(|error| error.to_string())?;
    for (cpu, stat) in stat.cpus.iter().enumerate() {
        let [_, _, sched, goidle, ttwu, local, ..] = stat.fields;
        if goidle > sched + 1 || local > ttwu + 1 {
            return Err(format!("cpu{cpu}: {:?}", stat.fields));
        }
        for domain in &stat.domains {
            for [count, balanced, failed, ..] in domain.lb {
                // A pass may have begun before the measurement did, and end in it.
                if balanced + failed > count + 1 {
                    return Err(format!("cpu{cpu} {}: {:?}", domain.name, domain.lb));
                }
            }
        }
    }
    Ok(())
}

/// The experiment of a text; `None` if its parts do not go together, which is said.
fn experiment(text: &str) -> Option<Experiment> {
    let study = load_study_str(Path::new("random.toml"), text.to_string(), Changes::default());
    study.ok().map(|mut study| study.points.remove(0).experiment)
}

/// The seeds that are asked for.
fn seeds() -> std::ops::Range<u64> {
    let Ok(asked) = std::env::var("SCHEDLAB_RANDOM") else {
        return 0..N;
    };
    let ends = asked.split_once("..").map(|(a, b)| (a.parse(), b.parse()));
    match ends {
        Some((Ok(begin), Ok(end))) => begin..end,
        _ => panic!("SCHEDLAB_RANDOM is {asked}, and not such as 1000..2000"),
    }
}

#[test]
fn no_scenario_breaks_the_engine() {
    let seeds = seeds();
    let n = seeds.end - seeds.start;
    let mut n_right = 0;
    for seed in seeds {
        let text = scenario(seed);
        let Some(experiment) = experiment(&text) else {
            continue;
        };
        n_right += 1;
        let spec = experiment.spec(&experiment.variants[0], seed);
        if let Err(why) = wrong(&spec) {
            panic!("SCHEDLAB_RANDOM={seed}..{}: {why}\n{text}", seed + 1);
        }
    }
    println!("{n_right} of {n} scenarios ran");
    assert!(n < 20 || n_right * 2 > n, "only {n_right} of {n} scenarios are right");
    // Each kernel is drawn sooner or later.
    assert!(KERNELS.iter().all(|kernel| {
        (0..2000).any(|seed| scenario(seed).contains(&format!("rules = \"{kernel}\"")))
    }));
}
