//! netperf where its rate is known: on a machine without costs.

use policies::fair::Fair;
use policies::fair::features::{Features, Tunables};
use policies::fcfs::Fcfs;
use sim_core::{Config, NoObserver, Program};
use test_support::{free_machine, simulate};
use topology::{Machine, RegularSpec};
use workloads::netperf::{self, Netperf, Test};

const MS: u64 = 1_000_000;

fn rate(test: Test, clients: u32, cpus: u32, service_ns: u64) -> f64 {
    let program = Netperf::new(netperf::Config { test, clients, service_ns, spread: 0.0, seed: 1 });
    let config = Config::default();
    let mut sim = simulate(free_machine(cpus), config, Fcfs::default(), program, NoObserver);
    sim.run_until(1_000 * MS);
    sim.program.results(sim.w.now)[0].1
}

/// Two CPUs that poll while they idle, with the usual costs.
fn polling_guest() -> Machine {
    let spec = RegularSpec {
        cores_per_llc: 2,
        threads_per_core: 1,
        clock_mhz: 2600,
        ..RegularSpec::default()
    };
    let mut machine = Machine::regular(spec);
    machine.cstates.truncate(1);
    (machine.cstates[0].exit_ns, machine.cstates[0].polling) = (100, true);
    machine
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

/// One transaction after the other: as many times their mean latency as there were is the time.
#[test]
fn a_transaction_takes_from_one_send_to_the_next() {
    let (test, service_ns) = (Test::UdpRr, 6400);
    let config = netperf::Config { test, clients: 1, service_ns, spread: 0.0, seed: 1 };
    let (policy, program) = (Fcfs::default(), Netperf::new(config));
    let mut sim = simulate(free_machine(2), Config::default(), policy, program, NoObserver);
    sim.run_until(1_000 * MS);
    let results = sim.program.results(sim.w.now);
    for name in ["latency_mean", "latency_p50", "latency_max"] {
        let us = results.iter().find(|(known, _)| *known == name).unwrap().1;
        check(us, 2.0 * service_ns as f64 * 1e-3);
    }
}

/// With a CPU for each task pairs do not disturb each other.
#[test]
fn pairs_with_cpus_of_their_own_add_up() {
    let one = rate(Test::UdpRr, 1, 2, 6400);
    check(rate(Test::UdpRr, 4, 8, 6400), 4.0 * one);
}

/// On one CPU all the work is done one after the other, the way from send to receive too, and each
/// end finds 62/1024 of its 64 KiB, in whole ones, evicted by the other.
#[test]
fn on_one_cpu_a_transaction_takes_all_its_work() {
    let caches = free_machine(1).caches;
    let refill = 3 * 16 * caches.l3_hit_ns / caches.mlp;
    assert_eq!(caches.l2_kib, 1024);
    check(rate(Test::UdpRr, 1, 1, 6400), 1e9 / (2.0 * (6400.0 + 800.0 + f64::from(refill))));
}

/// On one CPU the writer fills the window before the reader comes. Four writes are then a full
/// segment, its acknowledgment by the softirq, which lets the rest of 53 bytes go, and the look at
/// that; and half a read of 128 KiB.
#[test]
fn on_one_cpu_a_stream_takes_all_its_work() {
    let service_ns = 6400.0;
    let writer = (4 * 290 + 2 * 567 + 436 + 316) as f64;
    let reader = (360 / 2 + 4 * 99) as f64;
    let ns = service_ns * (writer + reader) / 1000.0;
    check(rate(Test::TcpStream, 1, 1, 6400), 65_536.0 * 8.0 / ns * 1e3);
}

/// What runs in between evicts cache contents: 2, 4 and 8 pairs on a guest with two CPUs made 212,
/// 189 and 169 thousand round trips per second (docs/CALIBRATION.md).
#[test]
fn with_more_pairs_each_finds_less_in_the_caches() {
    let rate = |clients: u32| {
        let mut machine = polling_guest();
        (machine.caches.l1d_kib, machine.caches.l2_kib) = (48, 1024);
        (machine.caches.l3_hit_ns, machine.caches.mlp) = (15, 5);
        let test = Test::UdpRr;
        let config = netperf::Config { test, clients, service_ns: 2400, spread: 0.1, seed: 1 };
        let policy = Fair::new(Features::default(), Tunables::for_cpus(2));
        let program = Netperf::new(config);
        let mut sim = simulate(machine, Config::default(), policy, program, NoObserver);
        sim.run_until(300 * MS);
        sim.program.results(sim.w.now)[0].1
    };
    let two = rate(2);
    for (clients, recorded) in [(4, 189.0 / 212.0), (8, 169.0 / 212.0)] {
        let share = rate(clients) / two;
        assert!((share / recorded - 1.0).abs() < 0.04, "{clients} pairs: {share} of two");
    }
}

/// With a CPU for each end the writer never sleeps, and a wake-up of the reader stands for some
/// three writes: 0.31 to 0.35 wake-ups per write of 2.9 us were counted on a guest whose idle CPU
/// polls (docs/CALIBRATION.md).
#[test]
fn a_reader_is_woken_every_third_write() {
    let machine = polling_guest();
    let (test, service_ns) = (Test::TcpStream, 3740);
    let config = netperf::Config { test, clients: 1, service_ns, spread: 0.1, seed: 1 };
    let program = Netperf::new(config);
    let mut sim = simulate(machine, Config::default(), Fcfs::default(), program, NoObserver);
    sim.run_until(200 * MS);
    let writes = sim.program.done() / netperf::WRITE_BYTES;
    let per_write = sim.w.counters.wakeups as f64 / writes as f64;
    assert!((0.25..=0.4).contains(&per_write), "{per_write} wake-ups per write");
}
