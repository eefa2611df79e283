//! Spec 13 over random machines and workloads, after every event.

use crate::support::{run_checked, simulate};
use policies::fifo::Fifo;
use proptest::prelude::*;
use sim_core::{Config, NoObserver, StopReason};
use topology::{Machine, RegularSpec};
use workloads::micro::{PingPong, Short};

fn machines() -> impl Strategy<Value = Machine> {
    (
        1u32..=2,
        1u32..=2,
        1u32..=3,
        1u32..=2,
        prop_oneof![Just(100u32), Just(250), Just(1000)],
    )
        .prop_map(
            |(sockets, llcs_per_socket, cores_per_llc, threads_per_core, hz)| {
                let spec = RegularSpec {
                    sockets,
                    llcs_per_socket,
                    cores_per_llc,
                    threads_per_core,
                    hz,
                    ..RegularSpec::default()
                };
                Machine::regular(spec)
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_fifo_keeps_every_invariant(
        machine in machines(),
        tasks in 1u32..20,
        run_us in 1u64..3000,
        sleep_us in 1u64..3000,
        ttwu_queue: bool,
        seed: u64,
    ) {
        let config = Config { ttwu_queue, ..Config::default() };
        let program = Short::new(tasks, run_us * 1000, sleep_us * 1000, 10, seed);
        let mut sim = simulate(machine, config, Fifo::default(), program, NoObserver);
        let end = run_checked(&mut sim, u64::MAX, |_| Ok(()));
        prop_assert_eq!(end, Ok(StopReason::Done));
    }

    #[test]
    fn no_wake_up_is_lost_between_pairs(machine in machines(), pairs in 1u32..9, work_ns in 0u64..20_000) {
        let program = PingPong::new(pairs, work_ns, 50);
        let mut sim = simulate(machine, Config::default(), Fifo::default(), program, NoObserver);
        let end = run_checked(&mut sim, u64::MAX, |_| Ok(()));
        prop_assert_eq!(end, Ok(StopReason::Done));
    }
}
