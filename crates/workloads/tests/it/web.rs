//! The web server where its numbers are known: on a machine without costs.

use policies::fcfs::Fcfs;
use sim_core::{Config, NoObserver, Program};
use test_support::{free_machine, simulate};
use workloads::web::{self, Web};

const SECOND: u64 = 1_000_000_000;

/// Three calls of 1 ms beside 4 ms of work; nothing else takes time.
fn config(threads: u32, rps: Option<u64>) -> web::Config {
    web::Config {
        threads,
        rps,
        work_ns: 4_000_000,
        calls: 3,
        backend_ns: 1_000_000,
        message_ns: 1,
        footprint_kib: 1,
        spread: 0.0,
        seed: 1,
    }
}

/// Throughput in 1/s and mean latency in ms on so many CPUs, over 100 seconds.
fn measure(cpus: u32, config: web::Config) -> (f64, f64) {
    let sim_config = Config { timer_slack_ns: 0, ..Config::default() };
    let program = Web::new(config);
    let mut sim = simulate(free_machine(cpus), sim_config, Fcfs::default(), program, NoObserver);
    sim.run_until(100 * SECOND);
    let results = sim.program.results(sim.w.now);
    assert_eq!((results[0].0, results[1].0), ("throughput", "latency_mean"));
    (results[0].1, results[1].1 / 1000.0)
}

fn check((value, latency): (f64, f64), expected: (f64, f64), within: f64) {
    assert!((value / expected.0 - 1.0).abs() < within, "{value} against {expected:?}");
    assert!((latency / expected.1 - 1.0).abs() < within, "{latency} against {expected:?}");
}

/// 4 ms of work and three times 1 ms in the mean.
#[test]
fn with_a_cpu_for_each_a_request_takes_its_work_and_its_waits() {
    check(measure(5, config(5, None)), (5.0 / 7e-3, 7.0), 0.01);
}

/// The CPU is what there is too little of: Little's law says the rest.
#[test]
fn more_threads_than_cpus_share_them() {
    check(measure(1, config(20, None)), (1.0 / 4e-3, 20.0 * 4.0), 0.01);
}

/// Far below saturation requests do not meet.
#[test]
fn at_a_low_rate_each_request_is_alone() {
    check(measure(8, config(64, Some(100))), (100.0, 7.0), 0.02);
}

/// One thread without calls is an M/D/1 queue: the wait is the load's part of half a service.
#[test]
fn one_thread_without_calls_is_an_m_d_1_queue() {
    let config = web::Config { calls: 0, ..config(1, Some(125)) };
    let load: f64 = 125.0 * 4e-3;
    check(measure(1, config), (125.0, 4.0 * (1.0 + load / (2.0 * (1.0 - load)))), 0.03);
}

/// Above it the backlog fills up, and what comes then is refused.
#[test]
fn overload_is_refused() {
    let (rate, latency) = measure(1, web::Config { calls: 0, ..config(1, Some(1000)) });
    assert!((rate / 250.0 - 1.0).abs() < 0.01, "{rate}");
    // 4096 wait, each for 4 ms, once the backlog is full (after 5 s).
    assert!((14_000.0..17_000.0).contains(&latency), "{latency} ms");
}

/// Paired: a request takes the same, whichever thread serves it.
#[test]
fn more_cpus_change_no_request() {
    let few = measure(4, config(4, None));
    let many = measure(16, config(4, None));
    check(few, many, 1e-6);
}
