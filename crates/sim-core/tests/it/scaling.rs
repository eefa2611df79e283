//! Scaling: where all causes take k times as long, all results take k times as long.
//!
//! A time that stands in the engine instead of the machine or the workload would show. Two such
//! times are the kernel's own and left out, PELT's period and those of the menu governor; and cores
//! have one thread, since shares of a sibling's speed are rounded to whole nanoseconds.

use policies::fcfs::Fcfs;
use proptest::prelude::*;
use sim_core::{Config, Ns, Observer, Op, Program, ProgramCx, TaskId, World};
use test_support::simulate;
use topology::{CpuId, Governor, Machine, REFERENCE_MHZ, RegularSpec};
use workloads::micro::{PingPong, Short, Spinners};

/// A program whose tasks work and sleep so many times as long.
struct Slower<W>(W, Ns);

impl<W: Program> Program for Slower<W> {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        self.0.start(cx);
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        match self.0.next(cx, task) {
            Op::Run(ns) => Op::Run(self.1 * ns),
            Op::Kernel(ns) => Op::Kernel(self.1 * ns),
            Op::Sleep(ns) => Op::Sleep(self.1 * ns),
            other => other,
        }
    }
}

/// Every switch and its time.
#[derive(Default)]
struct Switches(Vec<(Ns, CpuId, TaskId, TaskId)>);

impl Observer for Switches {
    fn switch(&mut self, w: &World, cpu: CpuId, prev: TaskId, next: TaskId) {
        self.0.push((w.now, cpu, prev, next));
    }
}

/// A machine with cores of one thread that is `k` (1, 2, 4) times as slow in everything.
fn machine((sockets, llcs, cores): (u32, u32, u32), k: u32) -> Machine {
    let mut machine = Machine::regular(RegularSpec {
        sockets,
        llcs_per_socket: llcs,
        cores_per_llc: cores,
        threads_per_core: 1,
        clock_mhz: REFERENCE_MHZ / k,
        hz: 1000 / k,
        ..RegularSpec::default()
    });
    machine.governor = Governor::Haltpoll;
    // A multiple of what it is divided by.
    machine.costs.pick_ns = u64::from(320 * k);
    machine.line.ns.iter_mut().for_each(|ns| *ns *= k);
    for state in &mut machine.cstates {
        state.exit_ns *= Ns::from(k);
        state.core_exit_ns *= Ns::from(k);
        state.residency_ns *= Ns::from(k);
    }
    machine
}

fn switches(
    shape: (u32, u32, u32),
    k: u32,
    ttwu_queue: bool,
    program: Box<dyn Program>,
) -> Vec<(Ns, CpuId, TaskId, TaskId)> {
    let timer_slack_ns = Ns::from(k) * Config::default().timer_slack_ns;
    let config = Config { ttwu_queue, timer_slack_ns, ..Config::default() };
    let program = Slower(program, Ns::from(k));
    let mut sim =
        simulate(machine(shape, k), config, Fcfs::default(), program, Switches::default());
    sim.run_until(Ns::from(k) * 50_000_000);
    sim.observer.0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn twice_as_slow_is_twice_as_long(
        shape in (1u32..=2, 1u32..=2, 1u32..=3),
        k in prop_oneof![Just(2u32), Just(4)],
        kind in 0..3,
        tasks in 1u32..12,
        work_ns in 1u64..200_000,
        ttwu_queue: bool,
        seed: u64,
    ) {
        let program = || -> Box<dyn Program> {
            match kind {
                0 => Box::new(PingPong::new(tasks, work_ns, 0)),
                1 => Box::new(Short::new(tasks, work_ns, 3 * work_ns, 0, seed)),
                _ => Box::new(Spinners::new(vec![0; tasks as usize], work_ns)),
            }
        };
        let fast = switches(shape, 1, ttwu_queue, program());
        let slow = switches(shape, k, ttwu_queue, program());
        prop_assert!(fast.len() > 1);
        prop_assert_eq!(fast.len(), slow.len());
        for (f, s) in fast.iter().zip(&slow) {
            prop_assert_eq!((f.0 * Ns::from(k), f.1, f.2, f.3), *s);
        }
    }
}
