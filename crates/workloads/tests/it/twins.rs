//! Twins: the same run in two ways that must not differ by a nanosecond.

use crate::support::{TraceHash, shapes, simulate};
use policies::fair::Fair;
use policies::fair::features::{Features, Tunables};
use proptest::prelude::*;
use sim_core::{Config, Program};
use topology::Machine;
use workloads::kernel_build::{self, KernelBuild};
use workloads::micro::{PingPong, Short, Spinners};

/// Everything that one run shows: its trace, its times, its counters.
fn fingerprint<W: Program>(
    machine: &Machine,
    features: Features,
    every_tick: bool,
    program: W,
    until: u64,
) -> String {
    let config = Config {
        simulate_every_tick: every_tick,
        ..Config::default()
    };
    let policy = Fair::new(features, Tunables::for_cpus(machine.n_cpus()));
    let mut sim = simulate(
        machine.clone(),
        config,
        policy,
        program,
        TraceHash::default(),
    );
    let end = sim.run_until(until);
    let times: Vec<_> = sim.w.cpus.iter().map(|c| (c.time, c.ticks)).collect();
    let counters = sim_core::Counters {
        events: 0,
        ..sim.w.counters
    };
    let averages: Vec<_> = sim
        .policy
        .rqs
        .iter()
        .map(|rq| (rq.avg, rq.min_vruntime))
        .collect();
    format!(
        "{end:?} {:x} {times:?} {counters:?} {averages:?}",
        sim.observer.hash
    )
}

fn build() -> KernelBuild {
    KernelBuild::new(kernel_build::Config {
        jobs: 8,
        objects: 60,
        directories: 9,
        work_s: 6.0,
        prepare_s: 0.05,
        link_s: 0.1,
        ..kernel_build::Config::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Ticks that are computed decide and account exactly as ticks that are simulated.
    #[test]
    fn computed_ticks_equal_simulated_ones(
        shape in shapes(),
        swqueue: bool,
        sis_node: bool,
        kind in 0..4,
        seed in 0u64..1000,
    ) {
        let machine = shape.machine();
        let features = Features { swqueue, sis_node, ..Features::default() };
        let n = machine.n_cpus() as u32;
        let both = |every| match kind {
            0 => fingerprint(&machine, features, every, build(), u64::MAX),
            1 => fingerprint(&machine, features, every, PingPong::new(n, 30_000, 0), 60_000_000),
            2 => {
                let nice = (0..n + 3).map(|i| (i % 7) as i8 - 3).collect();
                fingerprint(&machine, features, every, Spinners::new(nice, 300_000_000), 2_000_000_000)
            }
            _ => {
                let program = Short::new(2 * n, 900_000, 700_000, 0, seed);
                fingerprint(&machine, features, every, program, 300_000_000)
            }
        };
        prop_assert_eq!(both(false), both(true));
    }
}

/// I16: the same run twice.
#[test]
fn the_same_seed_gives_the_same_run() {
    let machine = Machine::regular(topology::RegularSpec::default());
    let run = || fingerprint(&machine, Features::default(), false, build(), u64::MAX);
    assert_eq!(run(), run());
}
