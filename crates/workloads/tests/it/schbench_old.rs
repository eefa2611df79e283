//! schbench of old where its numbers are known: on a machine without costs.

use policies::fair::Fair;
use policies::fair::features::{Features, Tunables};
use policies::fcfs::Fcfs;
use proptest::prelude::*;
use sim_core::{Config, NoObserver, Program, StopReason};
use test_support::{TraceHash, free_machine, run_checked, shapes, simulate};
use workloads::schbench_old::{self, SchbenchOld};

const SECOND: u64 = 1_000_000_000;

fn bench(message_threads: u32, threads: u32) -> SchbenchOld {
    SchbenchOld::new(schbench_old::Config {
        message_threads,
        threads,
        cputime_ns: 1_000_000,
        sleeptime_ns: 1_000_000,
        seed: 1,
    })
}

fn value(results: &[(&'static str, f64)], name: &str) -> f64 {
    results.iter().find(|(known, _)| *known == name).expect("it is measured").1
}

fn measure(cpus: u32, message_threads: u32, threads: u32) -> Vec<(&'static str, f64)> {
    let config = Config { timer_slack_ns: 0, ..Config::default() };
    let program = bench(message_threads, threads);
    let mut sim = simulate(free_machine(cpus), config, Fcfs::default(), program, NoObserver);
    sim.run_until(10 * SECOND);
    sim.program.results(sim.w.now)
}

/// A worker thinks for 1 ms and sleeps for 1 ms and half of a quarter in the mean; nothing costs
/// time, so no worker waits.
#[test]
fn with_a_cpu_for_each_a_worker_thinks_and_sleeps_in_turn_and_never_waits() {
    let results = measure(4, 1, 1);
    let rate = value(&results, "throughput");
    assert!((rate / (1e9 / 2_125_000.0) - 1.0).abs() < 0.01, "{rate}");
    assert!(value(&results, "latency_max") < 0.01, "{results:?}");
}

/// Four workers of one message thread on one CPU, first come first served: all are woken at once,
/// each runs for its millisecond, so the second one waits for one, the fourth for three.
#[test]
fn on_one_cpu_the_percentiles_are_whole_turns_of_the_others() {
    let results = measure(1, 1, 4);
    for (name, ms) in [("latency_p75", 2.0), ("latency_p999", 3.0), ("latency_max", 3.0)] {
        let us = value(&results, name);
        assert!((us / (ms * 1000.0) - 1.0).abs() < 0.07, "{name} {us}");
    }
    let names: Vec<&str> = results.iter().map(|(name, _)| *name).collect();
    let percentiles = ["50", "75", "90", "95", "99", "995", "999"].map(|p| format!("latency_p{p}"));
    assert!(percentiles.iter().all(|name| names.contains(&name.as_str())), "{names:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// However many of them, on whatever machine: workers go on, under all invariants, and the same
    /// seed gives the same run.
    #[test]
    fn workers_go_on_and_do_the_same_again(shape in shapes(), m in 1u32..4, t in 1u32..5) {
        let run = || {
            let machine = shape.machine();
            let policy = Fair::new(Features::default(), Tunables::for_cpus(machine.n_cpus()));
            let program = bench(m, t);
            let observer = TraceHash::default();
            let mut sim = simulate(machine, Config::default(), policy, program, observer);
            let end = run_checked(&mut sim, 100_000_000, |_| Ok(()));
            let rate = value(&sim.program.results(sim.w.now), "throughput");
            (end, rate, sim.observer.hash)
        };
        let first = run();
        prop_assert_eq!(&first.0, &Ok(StopReason::Until));
        prop_assert!(first.1 > 0.0);
        prop_assert_eq!(first, run());
    }
}
