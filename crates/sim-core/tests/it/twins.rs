//! Twins: the same run in two ways that must not differ by a nanosecond.

use policies::fair::features::{Features, Tunables};
use policies::fair::{Eevdf, Fair, Rules};
use proptest::prelude::*;
use sim_core::{Op, Program, ProgramCx, TaskAttr, TaskId};
use test_support::{Random, eevdf, eevdfs, fingerprint_of, shapes, small_dm_crypt};
use topology::Machine;
use workloads::dm_crypt::DmCrypt;
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
    let policy = Fair::new(features, Tunables::for_cpus(machine.n_cpus()));
    fingerprint_of(machine, policy, every_tick, program, until)
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
        kind in 0..5,
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
            3 => {
                let config = workloads::dm_crypt::Config { seed, ..small_dm_crypt() };
                fingerprint(&machine, features, every, DmCrypt::new(config), 60_000_000)
            }
            _ => {
                let program = Short::new(2 * n, 900_000, 700_000, 0, seed);
                fingerprint(&machine, features, every, program, 300_000_000)
            }
        };
        prop_assert_eq!(both(false), both(true));
    }

    #[test]
    fn under_eevdf_computed_ticks_equal_simulated_ones(
        shape in shapes(),
        (rules, bits) in eevdfs(),
        kind in 0..5,
        nice in prop::collection::vec(-20i8..20, 1..10),
        seed in 0u64..1000,
    ) {
        let machine = shape.machine();
        let policy = || eevdf(rules, bits, machine.n_cpus());
        let n = machine.n_cpus() as u32;
        let both = |every| match kind {
            0 => fingerprint_of(&machine, policy(), every, build(), u64::MAX),
            1 => fingerprint_of(&machine, policy(), every, PingPong::new(n, 30_000, 0), 60_000_000),
            2 => {
                let nice = nice.clone();
                fingerprint_of(&machine, policy(), every, Spinners::new(nice, 300_000_000), 2_000_000_000)
            }
            3 => fingerprint_of(
                &machine, policy(), every, Scripted::new(nice.clone(), seed), 300_000_000,
            ),
            _ => {
                let program = Short::new(2 * n, 900_000, 700_000, 0, seed);
                fingerprint_of(&machine, policy(), every, program, 300_000_000)
            }
        };
        prop_assert_eq!(both(false), both(true));
    }
}

/// Determinism: the same run twice.
#[test]
fn the_same_seed_gives_the_same_run() {
    let machine = Machine::regular(topology::RegularSpec::default());
    let run = || fingerprint(&machine, Features::default(), false, build(), u64::MAX);
    assert_eq!(run(), run());
}

#[test]
fn under_eevdf_the_same_seed_gives_the_same_run() {
    let machine = Machine::regular(topology::RegularSpec::default());
    for rules in [Rules::V6_6, Rules::V6_12, Rules::V6_18] {
        let policy = || -> Fair<Eevdf> { eevdf(rules, 0, machine.n_cpus()) };
        let run = || fingerprint_of(&machine, policy(), false, build(), u64::MAX);
        assert_eq!(run(), run());
    }
}

/// Tasks of several nice levels and slices that run and sleep as they are told.
struct Scripted {
    nice: Vec<i8>,
    random: Random,
}

impl Scripted {
    fn new(nice: Vec<i8>, seed: u64) -> Self {
        Self { nice, random: Random::new(seed) }
    }
}

impl Program for Scripted {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        for (i, &nice) in self.nice.iter().enumerate() {
            let slice_ns = [0, 1_000_000, 10_000_000][i % 3];
            cx.start_task(TaskAttr { nice, slice_ns, ..TaskAttr::default() });
        }
    }

    fn next(&mut self, _cx: &mut ProgramCx<'_>, _task: TaskId) -> Op {
        let ns = self.random.below(3_000_000);
        if self.random.below(4) == 0 { Op::Sleep(ns) } else { Op::Run(ns * 4) }
    }
}
