//! netperf where its rate is known: on a machine without costs.

use crate::support::{free_machine, simulate};
use policies::fcfs::Fcfs;
use sim_core::{Config, NoObserver, Program};
use workloads::netperf::{self, Netperf, Test};

const MS: u64 = 1_000_000;

fn rate(test: Test, clients: u32, cpus: u32, service_ns: u64) -> f64 {
    let program = Netperf::new(netperf::Config { test, clients, service_ns, spread: 0.0, seed: 1 });
    let config = Config::default();
    let mut sim = simulate(free_machine(cpus), config, Fcfs::default(), program, NoObserver);
    sim.run_until(200 * MS);
    sim.program.results(sim.w.now)[0].1
}

fn check(rate: f64, expected: f64) {
    assert!((rate / expected - 1.0).abs() < 0.01, "{rate} against {expected}");
}

/// A round trip is two sends and two receives of 40/64 and 24/64 of the service; what a sender does
/// after its send passes while the peer works.
#[test]
fn a_round_trip_is_two_sends_and_two_receives() {
    let service_ns = 6400;
    check(rate(Test::UdpRr, 1, 2, service_ns), 1e9 / (2.0 * service_ns as f64));
}

/// With a CPU for each task pairs do not disturb each other.
#[test]
fn pairs_with_cpus_of_their_own_add_up() {
    let one = rate(Test::UdpRr, 1, 2, 6400);
    check(rate(Test::UdpRr, 4, 8, 6400), 4.0 * one);
}

/// On one CPU all the work is done one after the other, the way from send to receive too.
#[test]
fn on_one_cpu_a_transaction_takes_all_its_work() {
    check(rate(Test::UdpRr, 1, 1, 6400), 1e9 / (2.0 * (6400.0 + 800.0)));
}

/// A stream is as fast as its slower end: the writer, with 40/64 of the service per 16 KiB.
#[test]
fn a_stream_is_as_fast_as_its_writer() {
    let mbit = rate(Test::TcpStream, 1, 2, 6400);
    check(mbit, (netperf::WRITE_BYTES * 8) as f64 / (6400.0 * 40.0 / 64.0) * 1e3);
}
