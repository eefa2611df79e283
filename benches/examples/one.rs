//! Runs benchmarks once, for a profiler: `cargo run --release -p benches --example one -- NAME...`
//!
//! `--short` before the names: a tenth of the time, for a profiler that is slow.
//! Prints a hash of the accounts at the end, so that two builds can be compared, and (on standard
//! error) how fast it went.

use benches::runs;
use policies::moves;
use sim_core::{MigrationCause, NEVER, Ns, Observer, Policy, Program, Simulation};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Instant;

/// Hash of where every CPU's time went and of what was counted; events are the engine's own affair.
fn hash_of<P: Policy, W: Program, O: Observer>(sim: &Simulation<P, W, O>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for c in &sim.w.cpus {
        (c.time, c.ticks, c.nr_switches).hash(&mut hasher);
    }
    format!("{} {}", counted(sim), sim.w.idle_while_runnable_ns).hash(&mut hasher);
    hasher.finish()
}

/// One of the policy's own counters; 0 if it has no such counter.
fn of_policy(policy: &impl Policy, name: &str) -> u64 {
    policy.results().iter().find(|(known, _)| *known == name).map_or(0, |(_, n)| *n as u64)
}

/// All counters in words and order of the first hashes that were kept.
fn counted<P: Policy, W: Program, O: Observer>(sim: &Simulation<P, W, O>) -> String {
    let c = &sim.w.counters;
    let by = |cause: MigrationCause| c.migrations_by_cause[cause.index()];
    let causes = [
        by(MigrationCause::Wake),
        by(MigrationCause::Fork),
        by(MigrationCause::Exec),
        by(moves::BALANCE),
        by(moves::ACTIVE),
        by(moves::SHARED),
        by(MigrationCause::Affinity),
    ];
    let of_policy: String = POLICY_COUNTERS
        .iter()
        .map(|name| format!("{name}: {}, ", of_policy(&sim.policy, name)))
        .collect();
    format!(
        "Counters {{ switches: {}, wakeups: {}, wakeups_coalesced: {}, migrations: {:?}, \
         migrations_by_cause: {causes:?}, {of_policy}ipis: {}, scanned_cpus: {}, events: 0 }}",
        c.switches,
        c.wakeups,
        c.wakeups_coalesced,
        c.migrations,
        c.ipis,
        sim.w.stat.sis.domain_scanned
    )
}

const POLICY_COUNTERS: [&str; 11] = [
    "newidle_attempts",
    "newidle_pulls",
    "balance_pulls",
    "pull_attempts",
    "pull_hits",
    "pull_lost",
    "pull_empty",
    "steal_attempts",
    "steal_hits",
    "steal_lost",
    "steal_empty",
];

/// What a profiler that can be told a function's name has to look at.
#[inline(never)]
fn window<P: Policy, W: Program, O: Observer>(sim: &mut Simulation<P, W, O>, until: Ns) {
    sim.run_until(until);
}

/// Runs `sim` for so many milliseconds more (0: to its end).
fn run<P: Policy, W: Program, O: Observer>(name: &str, mut sim: Simulation<P, W, O>, ms: u64) {
    let (before, at) = (sim.w.counters, sim.w.now);
    let pulls_before = of_policy(&sim.policy, "pull_attempts");
    let until = if ms == 0 { NEVER - 1 } else { at + ms * 1_000_000 };
    let start = Instant::now();
    window(&mut sim, until);
    let host_s = start.elapsed().as_secs_f64();
    println!("{name}: {:016x} at {} ns", hash_of(&sim), sim.w.now);
    let per_s = |n: u64| n as f64 / host_s / 1e6;
    let switches = sim.w.counters.switches - before.switches;
    let events = sim.w.counters.events - before.events;
    let pulls = of_policy(&sim.policy, "pull_attempts") - pulls_before;
    eprintln!("{name}: {switches} switches, {events} events");
    eprintln!(
        "{name}: {:.2} M switches/s, {:.2} M events/s, {:.2} M pulls/s, {:.1} simulated s/s; \
         {:.2} events per switch",
        per_s(switches),
        per_s(events),
        per_s(pulls),
        (sim.w.now - at) as f64 / 1e9 / host_s,
        events as f64 / switches as f64,
    );
}

fn main() {
    let mut part = 1;
    for name in std::env::args().skip(1) {
        match name.as_str() {
            "--short" => part = 10,
            "ping_pong_8x64" => run(&name, runs::ping_pong_8x64(), 500 / part),
            "short_32x256" => run(&name, runs::short(32), 200 / part),
            "short_128x1024" => run(&name, runs::short_128x1024(), 50 / part),
            "short_128x1024_ext" => run(&name, runs::short_128x1024_ext(), 50 / part),
            "spinners_8x64" => run(&name, runs::spinners_8x64(), 500_000 / part),
            "m_m_8" => run(&name, runs::m_m_8(), 3_000 / part),
            "kernel_build_176" => run(&name, runs::kernel_build_176(), 0),
            "netperf_128x128" => run(&name, runs::netperf_128x128(false), 200 / part),
            "netperf_128x128_swqueue" => run(&name, runs::netperf_128x128(true), 200 / part),
            "contended" => {
                for cpus in [2, 8, 32, 64] {
                    run(&name, runs::contended_pulls(cpus), 1_000 / u64::from(cpus));
                }
            }
            "scaling" => {
                for cpus in [32, 128, 512, 1024] {
                    let sim = if part > 1 {
                        runs::short_after(cpus, 20_000_000)
                    } else {
                        runs::short(cpus)
                    };
                    run(&name, sim, 6_400 / u64::from(cpus));
                }
            }
            _ => eprintln!("no benchmark is called {name}"),
        }
    }
}
