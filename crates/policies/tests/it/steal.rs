//! SWQUEUE_STEAL and the variants of SIS_NODE in whole simulations.

use policies::fair::features::{Features, Tunables};
use policies::fair::{Fair, FairCounters};
use policies::moves;
use proptest::prelude::*;
use sim_core::{
    Config, MigrationCause, NoObserver, Ns, Observer, Op, Program, ProgramCx, StopReason, TaskAttr,
    TaskId, World,
};
use test_support::{
    check_class, fingerprint_of, run_checked, shapes, shapes_of_many_llcs, simulate, small_build,
};
use topology::{CpuId, CpuSet, Machine, RegularSpec};
use workloads::micro::{PingPong, Short};

const MS: Ns = 1_000_000;

#[derive(Clone, Copy, Debug)]
struct Knobs {
    features: Features,
    sis_node_limit: Option<u32>,
}

impl Knobs {
    fn fair(self, machine: &Machine) -> Fair {
        let Self { features, sis_node_limit } = self;
        Fair::new(features, Tunables { sis_node_limit, ..Tunables::for_cpus(machine.n_cpus()) })
    }
}

fn swqueue(swqueue_steal: bool) -> Knobs {
    let features = Features { swqueue: true, swqueue_steal, ..Features::default() };
    Knobs { features, sis_node_limit: None }
}

fn sis_node(sis_node: bool, sis_node_topoext: bool, sis_node_limit: Option<u32>) -> Knobs {
    let features = Features { sis_node, sis_node_topoext, ..Features::default() };
    Knobs { features, sis_node_limit }
}

fn knobs() -> impl Strategy<Value = Knobs> {
    let bools = any::<(bool, bool, bool, bool)>();
    let limit = prop_oneof![Just(None), (0u32..4).prop_map(Some)];
    (bools, limit).prop_map(|((swqueue, sis_node, sis_node_topoext, wakeup_preemption), limit)| {
        let features = Features {
            swqueue,
            swqueue_steal: true,
            sis_node,
            sis_node_topoext,
            wakeup_preemption,
            ..Features::default()
        };
        Knobs { features, sis_node_limit: limit }
    })
}

/// The trace and all counters of one of three programs.
fn fingerprint(machine: &Machine, knobs: Knobs, every_tick: bool, kind: u32) -> String {
    let (n, fair) = (machine.n_cpus() as u32, knobs.fair(machine));
    match kind {
        0 => fingerprint_of(machine, fair, every_tick, small_build(1.0), u64::MAX),
        1 => fingerprint_of(machine, fair, every_tick, PingPong::new(n, 30_000, 0), 60 * MS),
        _ => {
            let program = Short::new(2 * n, 900_000, 700_000, 0, u64::from(kind));
            fingerprint_of(machine, fair, every_tick, program, 200 * MS)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn with_many_llcs_every_invariant_holds(
        shape in shapes_of_many_llcs(),
        knobs in knobs(),
        kind in 0u32..3,
        ttwu_queue: bool,
        seed: u64,
    ) {
        let machine = shape.machine();
        let (n, fair) = (machine.n_cpus() as u32, knobs.fair(&machine));
        let end = match kind {
            0 => check_class(machine, fair, ttwu_queue, small_build(1.0), u64::MAX),
            1 => check_class(machine, fair, ttwu_queue, PingPong::new(n, 5_000, 50), u64::MAX),
            _ => {
                let program = Short::new(2 * n, 400_000, 300_000, 10, seed);
                check_class(machine, fair, ttwu_queue, program, u64::MAX)
            }
        };
        prop_assert_eq!(end, Ok(StopReason::Done));
    }

    #[test]
    fn computed_ticks_equal_simulated_ones(
        shape in shapes_of_many_llcs(),
        knobs in knobs(),
        kind in 0u32..9,
    ) {
        let machine = shape.machine();
        let both = |every| fingerprint(&machine, knobs, every, kind);
        prop_assert_eq!(both(false), both(true));
    }

    /// Without another LLC in the node, or without a queue, the feature is not there.
    #[test]
    fn who_has_nobody_to_steal_from_runs_as_without_the_feature(
        shape in shapes(),
        kind in 0u32..9,
    ) {
        let alone = shape.with_llcs(1).machine();
        let both = |knobs| fingerprint(&alone, knobs, false, kind);
        prop_assert_eq!(both(swqueue(false)), both(swqueue(true)));

        let machine = shape.machine();
        let features = Features { swqueue_steal: true, ..Features::default() };
        let without = Knobs { features: Features::default(), sis_node_limit: None };
        let both = |knobs| fingerprint(&machine, knobs, false, kind);
        prop_assert_eq!(both(without), both(Knobs { features, ..without }));
    }

    /// A limit that no node reaches is none; of 0, and SIS_NODE is off; two LLCs are one pair.
    #[test]
    fn a_variant_of_sis_node_that_leaves_out_nothing_or_all_is_known(
        (shape, many) in (shapes(), shapes_of_many_llcs()),
        topoext: bool,
        kind in 0u32..9,
    ) {
        let machine = many.machine();
        let run = |knobs| fingerprint(&machine, knobs, false, kind);
        prop_assert_eq!(run(sis_node(true, topoext, None)), run(sis_node(true, topoext, Some(3))));
        prop_assert_eq!(run(sis_node(false, false, None)), run(sis_node(true, topoext, Some(0))));
        prop_assert_eq!(run(sis_node(false, topoext, Some(1))), run(sis_node(false, false, None)));

        let pairs = shape.machine();
        let run = |knobs| fingerprint(&pairs, knobs, false, kind);
        prop_assert_eq!(run(sis_node(true, false, None)), run(sis_node(true, true, None)));
    }
}

/// CPU 0 computes; at 1 ms a second task wakes up there and has to wait; at 2 ms CPU 1, behind
/// another LLC, has nothing left to do.
struct OneWaits;

const HOG: usize = 0;
const WAITS: usize = 1;
const LEAVES: usize = 2;

impl Program for OneWaits {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        for (id, cpu) in [(HOG, 0), (WAITS, 0), (LEAVES, 1)] {
            let only = cx.mask(CpuSet::of(cx.n_cpus(), [CpuId(cpu)]));
            let free = TaskAttr {
                start_cpu: Some(CpuId(cpu)),
                timer_slack_ns: Some(0),
                ..TaskAttr::default()
            };
            let pinned = TaskAttr { allowed: only, ..free };
            let p = cx.start_task(if id == WAITS { free } else { pinned });
            assert_eq!(p.idx(), id);
        }
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        match task.idx() {
            HOG => Op::Run(10 * MS),
            WAITS if cx.now() < MS => Op::SleepUntil(MS),
            WAITS => Op::Run(10 * MS),
            _ if cx.now() < 2 * MS => Op::Run(2 * MS - cx.now()),
            _ => Op::Wait,
        }
    }
}

/// When the task that waits was moved, from where and to where.
#[derive(Default)]
struct Moved(Vec<(Ns, CpuId, CpuId)>);

impl Observer for Moved {
    fn migrate(&mut self, w: &World, task: TaskId, from: CpuId, to: CpuId, why: MigrationCause) {
        if why == moves::SHARED {
            assert_eq!(task.idx(), WAITS);
            self.0.push((w.now, from, to));
        }
    }
}

fn one_waits(steal: bool, line_ns: u32) -> (Vec<(Ns, CpuId, CpuId)>, FairCounters) {
    let spec = RegularSpec {
        llcs_per_socket: 2,
        cores_per_llc: 1,
        threads_per_core: 1,
        ..RegularSpec::default()
    };
    let mut machine = Machine::regular(spec).without_costs();
    machine.line.ns = [0, 0, 0, line_ns, line_ns];
    (machine.locks.fast_ns, machine.locks.queue_hold_ns) = (7, 30);
    machine.costs.pull_ns = 1000;
    let mut knobs = swqueue(steal);
    knobs.features.wakeup_preemption = false;
    let fair = knobs.fair(&machine);
    let mut sim = simulate(machine, Config::default(), fair, OneWaits, Moved::default());
    sim.run_until(3 * MS);
    (sim.observer.0, sim.policy.counters)
}

/// By hand: the own runqueue lock (7 ns, its line is here); the list's head (a line); the queue's
/// lock (7 and a line); the unlinking (30, and the line of the task's node); `pi_lock` (a line);
/// the lock of the task's runqueue (7 and a line); the move (1000 and four lines).
#[test]
fn a_steal_takes_as_long_as_its_lines_and_locks() {
    for line in [0, 80, 125] {
        let (moved, c) = one_waits(true, line);
        let at = 2 * MS + 3 * 7 + 30 + 1000 + 9 * u64::from(line);
        assert_eq!(moved, [(at, CpuId(0), CpuId(1))], "{line}");
        assert_eq!((c.pull_empty, c.steal_attempts, c.steal_hits), (1, 1, 1));
    }
    let (moved, c) = one_waits(false, 125);
    assert_eq!((moved, c.pull_hits, c.steal_attempts), (Vec::new(), 0, 0));
}

#[derive(Debug)]
struct Bursts {
    fair: FairCounters,
    /// By distance.
    migrations: [u64; 5],
    wasted_ns: u128,
}

fn bursts(knobs: Knobs) -> Bursts {
    let spec = RegularSpec {
        llcs_per_socket: 4,
        cores_per_llc: 4,
        threads_per_core: 1,
        ..RegularSpec::default()
    };
    let machine = Machine::regular(spec);
    let fair = knobs.fair(&machine);
    let program = Short::new(40, 300_000, 500_000, 0, 1);
    let mut sim = simulate(machine, Config::default(), fair, program, NoObserver);
    let end = run_checked(&mut sim, 100 * MS, |_| Ok(()));
    assert_eq!(end, Ok(StopReason::Until));
    let wasted_ns = sim.w.idle_while_runnable_ns;
    Bursts { fair: sim.policy.counters, migrations: sim.w.counters.migrations, wasted_ns }
}

/// What it is for: less idle time beside tasks that wait, as long as these are on a queue.
#[test]
fn stealing_feeds_cpus_whose_own_llc_has_nothing() {
    let without = bursts(swqueue(false));
    let with = bursts(swqueue(true));
    assert_eq!((without.fair.steal_attempts, without.fair.steal_hits), (0, 0));
    let c = with.fair;
    assert!(c.steal_attempts <= c.pull_empty && c.steal_hits > 100, "{c:?}");
    assert!(with.migrations[3] > without.migrations[3], "{with:?} {without:?}");
    assert!(with.wasted_ns < without.wasted_ns, "{with:?} {without:?}");
}
