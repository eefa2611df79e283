//! stress-ng where its bogo ops are known.

use policies::fair::features::{Features, Tunables};
use policies::fair::{Fair, Rules};
use sim_core::{Config, NoObserver, Program};
use test_support::{free_machine, simulate};
use workloads::stress_ng::{self, StressNg};

const SECOND: f64 = 1e9;
const OP_NS: u64 = 100_000;

/// What is measured over so many seconds on so many CPUs without costs, and the switches.
fn measure(cpus: u32, seconds: f64, config: stress_ng::Config) -> (Vec<(&'static str, f64)>, u64) {
    let rules = Rules::V6_18;
    let tunables = Tunables::for_rules(rules, cpus as usize);
    let policy = Fair::eevdf(rules, Features::for_rules(rules), tunables);
    let times = Config { timer_slack_ns: 50_000, ..Config::default() };
    let program = StressNg::new(config);
    let mut sim = simulate(free_machine(cpus), times, policy, program, NoObserver);
    sim.run_until((seconds * SECOND) as u64);
    (sim.program.results(sim.w.now), sim.w.counters.switches)
}

fn cpu(cpu: u32, cpu_load: u32) -> stress_ng::Config {
    stress_ng::Config { cpu, cpu_load, slice_ns: 10_000_000, op_ns: OP_NS, yields: 0, seed: 1 }
}

/// The hogs share what CPUs there are: 1e9 / `OP_NS` bogo ops per second of a CPU.
#[test]
fn hogs_do_what_the_cpus_can() {
    let of_a_cpu = 1e9 / OP_NS as f64;
    for (hogs, cpus) in [(1, 2), (2, 2), (3, 2), (5, 4)] {
        let (results, _) = measure(cpus, 2.0, cpu(hogs, 100));
        assert_eq!(results.len(), 1);
        let expected = f64::from(hogs.min(cpus)) * of_a_cpu;
        let ops = results[0].1;
        assert!((ops / expected - 1.0).abs() < 0.01, "{hogs} on {cpus}: {ops}, {expected}");
    }
}

/// What a timer's slack adds to one sleep is taken off the next one, so the share comes out.
#[test]
fn a_load_is_kept_although_timers_are_late() {
    for load in [10, 50, 90] {
        let (results, _) = measure(2, 2.0, cpu(2, load));
        let expected = 2.0 * 1e9 / OP_NS as f64 * f64::from(load) / 100.0;
        let ops = results[0].1;
        assert!((ops / expected - 1.0).abs() < 0.02, "{load} %: {ops} against {expected}");
    }
}

/// A process that yields beside another one that yields is switched away from: there are as many
/// switches as calls.
#[test]
fn two_that_yield_on_one_cpu_take_turns() {
    let config = stress_ng::Config { yields: 2, cpu: 0, ..cpu(0, 100) };
    let (results, switches) = measure(1, 0.1, config);
    assert_eq!(results[0].0, "bogo_ops_yield");
    let calls = 0.1 * results[0].1;
    assert!(calls >= switches as f64 * 0.99 && calls > 1e4, "{calls} calls, {switches} switches");
}
