//! tbench where its rate is known: on a machine without costs.

use policies::fair::Fair;
use policies::fair::features::{Features, Tunables};
use policies::fcfs::Fcfs;
use proptest::prelude::*;
use sim_core::{Config, NoObserver, Program, StopReason};
use test_support::{TraceHash, free_machine, run_checked, shapes, simulate};
use workloads::tbench::{self, MIX, Tbench};

fn bench(clients: u32, service_ns: u64, seed: u64) -> Tbench {
    Tbench::new(tbench::Config { clients, service_ns, spread: 0.0, seed })
}

/// Requests and MB per second on so many CPUs, and wake-ups per request.
fn measure(clients: u32, cpus: u32, service_ns: u64) -> (f64, f64, f64) {
    let program = bench(clients, service_ns, 1);
    let config = Config::default();
    let mut sim = simulate(free_machine(cpus), config, Fcfs::default(), program, NoObserver);
    sim.run_until(1_000_000_000);
    let results = sim.program.results(sim.w.now);
    assert_eq!((results[0].0, results[1].0), ("throughput", "throughput_mb"));
    let per_request = sim.w.counters.wakeups as f64 / sim.program.done() as f64;
    (results[0].1, results[1].1, per_request)
}

/// The mean over the mix.
fn mean(of: impl Fn(&tbench::Kind) -> u32) -> f64 {
    MIX.iter().map(|kind| f64::from(kind.per_mille) * f64::from(of(kind))).sum::<f64>() / 1000.0
}

/// With two CPUs: the client's 1.6 us, two ways out and two ways in, a second segment now and then,
/// and the bytes.
#[test]
fn a_request_takes_its_thinking_its_two_ways_and_its_bytes() {
    let service_ns = 6400.0;
    let (rate, mb, wakeups) = measure(1, 2, 6400);
    let copied = mean(|k| k.request + k.answer) * 24.0 / 1024.0;
    let ways = mean(|k| k.request.div_ceil(65_483) + k.answer.div_ceil(65_483));
    let ns = 1600.0 + service_ns * (ways * 40.0 + 2.0 * 24.0) / 64.0 + copied;
    assert!((rate * ns * 1e-9 - 1.0).abs() < 0.01, "{rate} against {}", 1e9 / ns);
    assert!((mb / (rate * mean(|k| k.data) * 1e-6) - 1.0).abs() < 0.02, "{mb} MB/s");
    assert!((wakeups - 2.0).abs() < 0.01, "{wakeups} wake-ups per request");
}

/// With CPUs for all, clients do not disturb each other.
#[test]
fn clients_with_cpus_of_their_own_add_up() {
    let one = measure(1, 2, 6400).0;
    let four = measure(4, 8, 6400).0;
    assert!((four / (4.0 * one) - 1.0).abs() < 0.01, "{four} of four, {one} of one");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// However many clients on whatever machine: they go on, under all invariants, and the same
    /// seed gives the same run.
    #[test]
    fn clients_go_on_and_do_the_same_again(shape in shapes(), clients in 1u32..5, seed: u64) {
        let run = || {
            let machine = shape.machine();
            let policy = Fair::new(Features::default(), Tunables::for_cpus(machine.n_cpus()));
            let program = bench(clients, 3000, seed);
            let observer = TraceHash::default();
            let mut sim = simulate(machine, Config::default(), policy, program, observer);
            let end = run_checked(&mut sim, 10_000_000, |_| Ok(()));
            (end, sim.program.done(), sim.observer.hash)
        };
        let first = run();
        prop_assert_eq!(&first.0, &Ok(StopReason::Until));
        prop_assert!(first.1 > 0);
        prop_assert_eq!(first, run());
    }
}
