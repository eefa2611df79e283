//! `perf bench sched pipe` where its time is known, and what one of its operations consists of.

use policies::fair::features::{Features, Tunables};
use policies::fair::{Fair, Rules};
use policies::fcfs::Fcfs;
use proptest::prelude::*;
use sim_core::{Config, NoObserver, Program, StopReason};
use test_support::{TraceHash, free_machine, run_checked, shapes, simulate};
use workloads::perf_bench::{self, SchedPipe};

const LONG: u64 = 100_000_000_000;

fn config(loops: u64, message_ns: Option<u64>) -> perf_bench::Config {
    perf_bench::Config { loops, threads: true, message_ns, spread: 0.0, seed: 1 }
}

/// On one CPU on which nothing costs time an operation is two writes and two reads, in two wake-ups
/// and two switches.
#[test]
fn an_operation_is_two_messages_two_wakeups_and_two_switches() {
    let (loops, message_ns) = (1000, 10_000);
    let program = SchedPipe::new(config(loops, Some(message_ns)));
    let mut sim =
        simulate(free_machine(1), Config::default(), Fcfs::default(), program, NoObserver);
    assert_eq!(sim.run_until(LONG), StopReason::Done);
    assert_eq!(sim.program.done(), loops);
    let results = sim.program.results(sim.w.now);
    assert_eq!((results[0].0, results[1].0), ("throughput", "usecs_per_op"));
    let (per_s, us) = (results[0].1, results[1].1);
    assert!((us / 40.0 - 1.0).abs() < 0.01, "{us} us, four times 10");
    assert!((per_s * us * 1e-6 - 1.0).abs() < 1e-9, "one is the inverse of the other");
    // The first message is there before the second task looks for it. The rest of the switches:
    // the first task comes and leaves.
    let counters = &sim.w.counters;
    assert_eq!(counters.wakeups, 2 * loops - 1);
    assert!((2 * loops..=2 * loops + 3).contains(&counters.switches), "{}", counters.switches);
}

/// With costs, on one CPU: two messages, and two times the way of a wake-up and of a switch; none
/// of the rest, as no other task is there.
#[test]
fn threads_and_processes_differ_by_the_address_space_only() {
    let us = |threads| {
        let program = SchedPipe::new(perf_bench::Config { threads, ..config(1000, None) });
        let spec = topology::RegularSpec {
            cores_per_llc: 1,
            threads_per_core: 1,
            ..topology::RegularSpec::default()
        };
        let machine = topology::Machine::regular(spec);
        let switch_ns = machine.costs.mm_switch_ns;
        let policy = Fair::eevdf(
            Rules::V6_18,
            Features::for_rules(Rules::V6_18),
            Tunables::for_rules(Rules::V6_18, 1),
        );
        let mut sim = simulate(machine, Config::default(), policy, program, NoObserver);
        assert_eq!(sim.run_until(LONG), StopReason::Done);
        (sim.program.results(sim.w.now)[1].1, switch_ns as f64 * 1e-3)
    };
    let (threads, mm_switch) = us(true);
    let (processes, _) = us(false);
    let more = processes - threads;
    assert!((more - 2.0 * mm_switch).abs() < 0.05, "{more} us, two switches of {mm_switch}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// However many CPUs: every message arrives, and the same seed gives the same run.
    #[test]
    fn every_round_trip_is_made_and_made_again(
        shape in shapes(),
        loops in 1u64..200,
        threads: bool,
        seed: u64,
    ) {
        let run = || {
            let config = perf_bench::Config { loops, threads, message_ns: None, spread: 0.3, seed };
            let machine = shape.machine();
            let tunables = Tunables::for_cpus(machine.n_cpus());
            let policy = Fair::new(Features::default(), tunables);
            let program = SchedPipe::new(config);
            let observer = TraceHash::default();
            let mut sim = simulate(machine, Config::default(), policy, program, observer);
            let end = run_checked(&mut sim, LONG, |_| Ok(()));
            (end, sim.program.done(), sim.observer.hash)
        };
        let first = run();
        prop_assert_eq!(&first.0, &Ok(StopReason::Done));
        prop_assert_eq!(first.1, loops);
        prop_assert_eq!(first, run());
    }
}
