//! hackbench: every message arrives, in whatever order tasks run; and the costs of a run where
//! nothing else costs time.

use policies::fair::features::{Features, Tunables};
use policies::fair::{Fair, Rules};
use policies::fcfs::Fcfs;
use proptest::prelude::*;
use sim_core::{Category, Config, NoObserver, Policy, Program, StopReason};
use test_support::{free_machine, run_checked, shapes, simulate};
use topology::{CpuId, Machine};
use workloads::hackbench::{self, Hackbench, Medium};

fn config() -> impl Strategy<Value = hackbench::Config> {
    let medium = prop_oneof![Just(Medium::Socket), Just(Medium::Pipe)];
    let datasize = prop_oneof![Just(1u32), Just(100), Just(1000), Just(4096)];
    // Up to 300 messages for a channel that holds 16 (pipes) or 44 (sockets) of a page each.
    let size = (1u32..=3, 1u32..=4, 1u32..=75);
    (size, medium, datasize, any::<bool>(), any::<u64>()).prop_map(
        |((groups, fds, loops), medium, datasize, threads, seed)| hackbench::Config {
            groups,
            fds,
            loops,
            datasize,
            medium,
            threads,
            message_ns: None,
            spread: 0.3,
            seed,
        },
    )
}

/// Runs to the end under all invariants; the messages that were read.
fn messages<P: Policy>(machine: Machine, policy: P, config: hackbench::Config) -> f64 {
    let program = Hackbench::new(config);
    let mut sim = simulate(machine, Config::default(), policy, program, NoObserver);
    assert_eq!(run_checked(&mut sim, 100_000_000_000, |_| Ok(())), Ok(StopReason::Done));
    let ns = sim.w.now;
    (sim.program.results(ns)[0].1 * ns as f64 * 1e-9).round()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_message_arrives(shape in shapes(), config in config(), policy in 0..3) {
        let machine = shape.machine();
        let (rules, cpus) = (Rules::V6_18, machine.n_cpus());
        let read = match policy {
            0 => messages(machine, Fcfs::default(), config),
            1 => {
                let tunables = Tunables::for_cpus(cpus);
                messages(machine, Fair::new(Features::default(), tunables), config)
            }
            _ => {
                let (features, tunables) = (Features::for_rules(rules), Tunables::for_rules(rules, cpus));
                messages(machine, Fair::eevdf(rules, features, tunables), config)
            }
        };
        let sent = f64::from(config.groups * config.fds * config.fds * config.loops);
        prop_assert_eq!(read, sent);
    }
}

/// On one CPU on which nothing costs time a message takes what its write and its read take.
#[test]
fn a_message_takes_a_write_and_a_read() {
    let (message_ns, loops) = (10_000, 1000);
    let config = hackbench::Config {
        groups: 1,
        fds: 2,
        loops,
        datasize: 100,
        medium: Medium::Pipe,
        threads: true,
        message_ns: Some(message_ns),
        spread: 0.0,
        seed: 1,
    };
    let program = Hackbench::new(config);
    let machine = free_machine(1);
    let mut sim = simulate(machine, Config::default(), Fcfs::default(), program, NoObserver);
    assert_eq!(sim.run_until(100_000_000_000), StopReason::Done);
    let kernel_ns = sim.w.cpus[CpuId(0)].time[Category::Kernel as usize] as f64;
    let expected = 4.0 * f64::from(loops) * 2.0 * message_ns as f64;
    assert!((kernel_ns / expected - 1.0).abs() < 0.01, "{kernel_ns} against {expected}");
}
