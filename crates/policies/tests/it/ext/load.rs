//! Random machines and loads: invariants, conservation of work, twins, shares.

use super::bpf::moves::Moves;
use super::life::{GivesUp, Lifo};
use policies::ext::{Ext, Fifo, LlcFifo, Ops, Rules, Tunables, Vtime};
use proptest::prelude::*;
use sim_core::{
    Config, NoObserver, Ns, Op, Program, ProgramCx, Simulation, StopReason, TaskAttr, TaskId,
};
use test_support::{
    TraceHash, free_machine, longest_waste, meddlers, run_checked, shapes, simulate, small_build,
};
use topology::Machine;
use workloads::micro::{PingPong, Short, Spinners};

const MS: Ns = 1_000_000;

fn ext<S: Ops>(ops: S, rules: Rules) -> Ext<S> {
    Ext::new(ops, rules, Tunables::default())
}

fn rules() -> impl Strategy<Value = Rules> {
    prop_oneof![Just(Rules::V6_12), Just(Rules::V6_18)]
}

/// How a run ended, and what it left.
type Ended<S, W> = (StopReason, Simulation<Ext<S>, W, NoObserver>);

/// Runs with everything checked after every event; `Some` CPU that idles beside a queued task is
/// a fault if `conserves`.
fn checked<S: Ops, W: Program>(
    machine: Machine,
    policy: Ext<S>,
    program: W,
    until: Ns,
    conserves: bool,
) -> Result<Ended<S, W>, String> {
    let mut sim = simulate(machine, Config::default(), policy, program, NoObserver);
    let end = run_checked(&mut sim, until, |sim| {
        sim.policy.check(&sim.w)?;
        match sim.policy.waits_beside_idle_cpu(&sim.w) {
            Some((p, cpu)) if conserves => Err(format!("{p:?} waits and {cpu} idles")),
            _ => Ok(()),
        }
    })?;
    Ok((end, sim))
}

/// A scheduler that leaves everything to the kernel's defaults.
struct Nothing;

impl Ops for Nothing {}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// No CPU idles while a task waits in the shared queue, not for one event. And none idles while
    /// a task waits anywhere, beyond leaving its C-state and the way through the scheduler.
    #[test]
    fn fifo_conserves_work(
        shape in shapes(),
        rules in rules(),
        tasks in 1u32..20,
        run_us in 1u64..3000,
        sleep_us in 1u64..3000,
        seed: u64,
    ) {
        let machine = shape.machine();
        let program = || Short::new(tasks, run_us * 1000, sleep_us * 1000, 10, seed);
        let policy = || ext(Fifo::new(true), rules);
        let end = checked(machine.clone(), policy(), program(), Ns::MAX, true).map(|(end, _)| end);
        prop_assert_eq!(end, Ok(StopReason::Done));
        let longest = longest_waste(machine, policy(), program());
        prop_assert!(longest <= 20_000, "idle for {longest} ns");
    }

    #[test]
    fn llc_fifo_keeps_every_invariant(
        shape in shapes(),
        rules in rules(),
        tasks in 1u32..20,
        run_us in 1u64..3000,
        sleep_us in 1u64..3000,
        recheck: bool,
        seed: u64,
    ) {
        let program = Short::new(tasks, run_us * 1000, sleep_us * 1000, 10, seed);
        let policy = ext(LlcFifo::new(recheck), rules);
        let end = checked(shape.machine(), policy, program, Ns::MAX, false);
        prop_assert_eq!(end.map(|(end, _)| end), Ok(StopReason::Done));
    }

    #[test]
    fn no_wake_up_is_lost_between_pairs(
        shape in shapes(),
        rules in rules(),
        pairs in 1u32..9,
        work_ns in 0u64..20_000,
        kind in 0..3,
        recheck: bool,
    ) {
        let (machine, program) = (shape.machine(), PingPong::new(pairs, work_ns, 50));
        let end = match kind {
            0 => checked(machine, ext(Fifo::new(recheck), rules), program, Ns::MAX, recheck)
                .map(|(end, _)| end),
            1 => checked(machine, ext(Vtime::new(recheck), rules), program, Ns::MAX, recheck)
                .map(|(end, _)| end),
            _ => checked(machine, ext(LlcFifo::new(recheck), rules), program, Ns::MAX, false)
                .map(|(end, _)| end),
        };
        prop_assert_eq!(end, Ok(StopReason::Done));
    }

    /// Affinities, weights, SYNC wake-ups and starting CPUs, changed at any moment.
    #[test]
    fn whatever_is_changed_every_invariant_holds(
        shape in shapes(),
        rules in rules(),
        program in meddlers(),
        kind in 0..7,
        recheck: bool,
    ) {
        fn holds<S: Ops>(
            ops: S,
            (machine, rules): (Machine, Rules),
            program: impl Program,
        ) -> Result<(), String> {
            checked(machine, ext(ops, rules), program, 60 * MS, false).map(drop)
        }
        let on = (shape.machine(), rules);
        let end = match kind {
            0 => holds(Fifo::new(recheck), on, program),
            1 => holds(Vtime::new(recheck), on, program),
            2 => holds(LlcFifo::new(recheck), on, program),
            3 => holds(Lifo::default(), on, program),
            4 => holds(GivesUp::default(), on, program),
            5 => holds(Moves::default(), on, program),
            _ => holds(Nothing, on, program),
        };
        prop_assert_eq!(end, Ok(()));
    }

    /// Ticks that are computed decide and account exactly as ticks that are simulated.
    #[test]
    fn computed_ticks_equal_simulated_ones(
        shape in shapes(),
        kind in 0..4,
        tasks in 1u32..20,
        run_us in 1u64..60_000,
        sleep_us in 1u64..3000,
        seed: u64,
    ) {
        let machine = shape.machine();
        let program = || Short::new(tasks, run_us * 1000, sleep_us * 1000, 6, seed);
        let both = |every: bool| match kind {
            0 => fingerprint(&machine, ext(Fifo::new(true), Rules::V6_18), every, program()),
            1 => fingerprint(&machine, ext(Fifo::new(false), Rules::V6_12), every, program()),
            2 => fingerprint(&machine, ext(Vtime::new(true), Rules::V6_18), every, program()),
            _ => fingerprint(&machine, ext(LlcFifo::new(true), Rules::V6_18), every, program()),
        };
        prop_assert_eq!(both(false), both(true));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// The same with forks, pipes and SYNC wake-ups.
    #[test]
    fn fifo_and_vtime_conserve_work_in_a_build(shape in shapes(), rules in rules(), vtime: bool) {
        fn waste<S: Ops>(machine: Machine, new: impl Fn() -> Ext<S>) -> Result<Ns, String> {
            checked(machine.clone(), new(), small_build(0.6), Ns::MAX, true)?;
            Ok(longest_waste(machine, new(), small_build(0.6)))
        }
        let longest = match vtime {
            true => waste(shape.machine(), || ext(Vtime::new(true), rules)),
            false => waste(shape.machine(), || ext(Fifo::new(true), rules)),
        };
        prop_assert!(longest.as_ref().is_ok_and(|ns| *ns <= 20_000), "{longest:?}");
    }
}

fn fingerprint<S: Ops, W: Program>(
    machine: &Machine,
    policy: Ext<S>,
    every_tick: bool,
    program: W,
) -> String {
    let config = Config { simulate_every_tick: every_tick, ..Config::default() };
    let mut sim = simulate(machine.clone(), config, policy, program, TraceHash::default());
    let end = sim.run_until(Ns::MAX);
    let times: Vec<_> = sim.w.cpus.iter().map(|c| (c.time, c.ticks)).collect();
    let counters = sim_core::Counters { events: 0, ..sim.w.counters };
    format!("{end:?} {:x} {times:?} {counters:?}", sim.observer.hash)
}

/// What the second look is for: without it a CPU idles beside a waiting task until another CPU's
/// next dispatch.
#[test]
fn scx_simple_leaves_a_cpu_idle_beside_a_waiting_task() {
    let shape = topology::RegularSpec { cores_per_llc: 4, ..topology::RegularSpec::default() };
    let machine = Machine::regular(topology::RegularSpec { threads_per_core: 1, ..shape });
    let waste = |recheck| {
        let policy = || ext(Fifo::new(recheck), Rules::V6_18);
        let program = |seed| Short::new(9, 300_000, 200_000, 400, seed);
        (1..4).map(|seed| longest_waste(machine.clone(), policy(), program(seed))).max()
    };
    let (simple, ours) = (waste(false), waste(true));
    assert!(simple > Some(40_000) && ours < Some(5_000), "{simple:?} and {ours:?} ns");
}

/// Writers that work on after each write to their pipes, and a reader of each.
struct Pipes {
    steps: Vec<u32>,
}

impl Program for Pipes {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        for _ in &self.steps {
            cx.start_task(TaskAttr::default());
        }
    }

    fn next(&mut self, _cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let step = &mut self.steps[task.idx()];
        *step += 1;
        let ms = 1 + Ns::from(task.0) / 8;
        match (task.0 % 2, *step % 2) {
            _ if *step > 40 => Op::Exit,
            (0, 1) => Op::Run(ms * MS),
            (0, _) => Op::Wake { task: TaskId(task.0 + 1), sync: true },
            (_, 1) => Op::Wait,
            _ => Op::Run(MS),
        }
    }
}

/// A task that is woken by a write to a pipe waits for the writer.
#[test]
fn scx_simple_makes_a_reader_wait_for_its_writer() {
    let shape = topology::RegularSpec { cores_per_llc: 8, ..topology::RegularSpec::default() };
    let machine = Machine::regular(shape);
    let waste = |recheck| {
        let pipes = Pipes { steps: vec![0; 24] };
        longest_waste(machine.clone(), ext(Fifo::new(recheck), Rules::V6_18), pipes)
    };
    let (simple, ours) = (waste(false), waste(true));
    assert!(simple > MS / 2 && ours < 20_000, "{simple} and {ours} ns");
}

#[test]
fn vtime_shares_by_weight() {
    let nice = vec![0, 0, 5, -2];
    let policy = ext(Vtime::new(true), Rules::V6_18);
    let program = Spinners::new(nice, 0);
    let (_, sim) = checked(free_machine(1), policy, program, 60_000 * MS, true).expect("sound");
    let ran: Vec<f64> = sim.w.tasks.iter().map(|t| t.ran_ns as f64).collect();
    // Weights 100, 100, 33 and 155.
    for (p, share) in [1.0, 1.0, 0.33, 1.55].iter().enumerate() {
        let seen = ran[p] / ran[0];
        assert!((seen / share - 1.0).abs() < 0.02, "{p}: {seen} of {share}, {ran:?}");
    }
}

/// As in the kernel: the next task is chosen before the one whose slice is over is back in the
/// queue, so no task runs two slices in a row while others wait.
#[test]
fn vtime_gives_nobody_more_than_every_other_slice() {
    let policy = ext(Vtime::new(true), Rules::V6_18);
    let program = Spinners::new(vec![0, 0, -20], 0);
    let (_, sim) = checked(free_machine(1), policy, program, 60_000 * MS, true).expect("sound");
    assert!(
        sim.w.tasks[TaskId(2)].ran_ns.abs_diff(30_000 * MS) < 100 * MS,
        "{}",
        sim.w.tasks[TaskId(2)].ran_ns
    );
}

#[test]
fn fifo_does_not() {
    let policy = ext(Fifo::new(true), Rules::V6_18);
    let program = Spinners::new(vec![0, 0, 5, -5], 0);
    let (_, sim) = checked(free_machine(1), policy, program, 60_000 * MS, true).expect("sound");
    let ran: Vec<u64> = sim.w.tasks.iter().map(|t| t.ran_ns).collect();
    let (least, most) = (ran.iter().min(), ran.iter().max());
    assert!(most.zip(least).is_some_and(|(m, l)| m - l <= 40 * MS), "{ran:?}");
}
