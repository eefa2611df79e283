//! schbench where its numbers are known: on a machine without costs.

use policies::fcfs::Fcfs;
use sim_core::{Config, NoObserver, Program};
use test_support::{free_machine, simulate};
use workloads::schbench::{self, Schbench};

const SECOND: u64 = 1_000_000_000;

/// Throughput in 1/s and mean latency in us of two message threads with two workers each, on so
/// many CPUs, over ten seconds.
fn measure(cpus: u32, rps: Option<u64>) -> (f64, f64) {
    let program = Schbench::new(schbench::Config {
        message_threads: 2,
        threads: 2,
        work_ns: 900_000,
        sleep_ns: 100_000,
        rps,
        footprint_kib: 1,
        spread: 0.0,
        seed: 1,
    });
    let config = Config { timer_slack_ns: 0, ..Config::default() };
    let mut sim = simulate(free_machine(cpus), config, Fcfs::default(), program, NoObserver);
    sim.run_until(10 * SECOND);
    let results = sim.program.results(sim.w.now);
    assert_eq!((results[0].0, results[1].0), ("throughput", "latency_mean"));
    (results[0].1, results[1].1)
}

fn check((value, latency): (f64, f64), expected: (f64, f64)) {
    assert!((value / expected.0 - 1.0).abs() < 0.01, "{value} against {expected:?}");
    assert!((latency / expected.1 - 1.0).abs() < 0.01, "{latency} against {expected:?}");
}

/// A millisecond of each worker, one after the other.
#[test]
fn with_a_cpu_for_each_a_request_takes_its_sleep_and_its_work() {
    check(measure(6, None), (4000.0, 1000.0));
}

/// While one sleeps another one works, and finds some of its cache contents evicted.
#[test]
fn one_cpu_does_what_it_can() {
    let (rate, _) = measure(1, None);
    assert!((0.96..1.0).contains(&(rate * 900e-6)), "{rate}");
}

/// Eight requests come at once to two workers, four for each; one takes 1 ms after the other.
#[test]
fn requests_at_a_rate_come_in_batches_of_eight() {
    check(measure(6, Some(1000)), (1000.0, (1.0 + 2.0 + 3.0 + 4.0) / 4.0 * 1000.0));
}
