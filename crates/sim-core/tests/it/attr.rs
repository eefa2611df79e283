//! Properties of tasks, at their start and changed later: nice levels, policies, affinity masks,
//! starting CPUs, timer slack.

use policies::fair::features::{Features, Tunables};
use policies::fair::{Discipline, Fair, Rules};
use proptest::prelude::*;
use sim_core::{
    Config, MigrationCause, NoObserver, Ns, Op, SchedAttr, SchedPolicy, Simulation, TaskAttr,
    TaskId,
};
use test_support::{
    EachItsOwn, FairChecks, Scripts, eevdf, eevdfs, fingerprint_of, free_machine, meddlers,
    run_checked, shapes, simulate,
};
use topology::{CpuId, CpuSet, Machine};

const MS: Ns = 1_000_000;

type Sim<S> = Simulation<Fair<S>, Scripts, NoObserver>;

/// What makes the fair class of a kernel for so many CPUs.
type Class<S> = fn(usize) -> Fair<S>;

/// A machine of `cpus` CPUs; mask 1 + c allows CPU c only.
fn run<S: Discipline>(
    class: Class<S>,
    cpus: u32,
    tasks: Vec<(TaskAttr, Vec<Op>)>,
    until: Ns,
) -> Sim<S> {
    let machine = free_machine(cpus);
    let n = machine.n_cpus();
    let policy = class(n);
    let mut w = sim_core::World::new(machine.into(), Config::default());
    // On a machine of one CPU the mask of CPU 0 is the one of all.
    for c in (0..cpus).filter(|_| cpus > 1) {
        assert_eq!(w.mask(CpuSet::of(n, [CpuId(c)])), only(c));
    }
    let mut sim = Simulation::new(w, policy, Scripts(tasks), NoObserver);
    run_checked(&mut sim, until, |_| Ok(())).expect("every invariant holds");
    sim
}

fn only(cpu: u32) -> sim_core::MaskId {
    sim_core::MaskId(1 + cpu)
}

fn attr() -> TaskAttr {
    TaskAttr::default()
}

fn ran<S: Discipline>(sim: &Sim<S>, p: usize) -> Ns {
    let se = &sim.policy.tasks[TaskId(p as u32)];
    let running = sim.w.cpus[sim.w.tasks[TaskId(p as u32)].cpu].curr == TaskId(p as u32);
    se.sum_exec_runtime + if running { sim.w.now - se.exec_start } else { 0 }
}

fn nice(nice: i8) -> SchedAttr {
    SchedAttr { nice, ..SchedAttr::default() }
}

fn a_task_starts_where_it_is_told<S: Discipline>(class: Class<S>) {
    let at = |start| (TaskAttr { start_cpu: Some(CpuId(start)), ..attr() }, vec![]);
    let sim = run(class, 4, vec![at(3), at(3), at(1)], 1);
    let cpus: Vec<u32> = sim.w.tasks.iter().map(|t| t.cpu.0).collect();
    assert_eq!(cpus, [3, 3, 1]);
}

fn a_start_that_is_not_allowed_is_not_taken<S: Discipline>(class: Class<S>) {
    let task = TaskAttr { start_cpu: Some(CpuId(3)), allowed: only(2), ..attr() };
    assert_eq!(run(class, 4, vec![(task, vec![])], MS).w.tasks[TaskId(0)].cpu, CpuId(2));
}

fn a_renice_changes_the_shares_from_then_on<S: Discipline>(class: Class<S>) {
    let renice = Op::SetScheduler { task: TaskId(1), attr: nice(5) };
    // Task 0 renices task 1 at once: whichever runs first.
    let sim = run(class, 1, vec![(attr(), vec![renice]), (attr(), vec![])], 20_000 * MS);
    let share = ran(&sim, 0) as f64 / ran(&sim, 1) as f64;
    assert!((share / (1024.0 / 335.0) - 1.0).abs() < 0.01, "{share}");
    assert_eq!(sim.policy.rqs[CpuId(0)].load_weight, 1024 + 335);
}

fn the_load_follows_the_weight_at_once<S: Discipline>(class: Class<S>) {
    let renice = Op::SetScheduler { task: TaskId(0), attr: nice(-5) };
    let sim = run(class, 1, vec![(attr(), vec![Op::Run(2_000 * MS), renice])], 2_001 * MS);
    let load = sim.policy.rqs[CpuId(0)].avg.load_avg;
    assert!(load.abs_diff(3121) < 20, "{load}");
}

fn a_task_that_becomes_idle_policy_gives_way<S: Discipline>(class: Class<S>) {
    let idle = SchedAttr { policy: SchedPolicy::Idle, ..SchedAttr::default() };
    let change = |p| Op::SetScheduler { task: TaskId(p), attr: idle };
    let sim = run(class, 1, vec![(attr(), vec![change(0)]), (attr(), vec![])], 10_000 * MS);
    assert!(ran(&sim, 0) * 200 < ran(&sim, 1), "{} {}", ran(&sim, 0), ran(&sim, 1));
    assert_eq!(sim.policy.rqs[CpuId(0)].idle_h_nr_running, 1);
}

fn a_running_task_moves_itself<S: Discipline>(class: Class<S>) {
    let mv = |to| Op::SetAffinity { task: TaskId(0), allowed: only(to) };
    let ops = vec![Op::Run(MS), mv(1), Op::Run(MS), mv(0), Op::Run(MS), mv(1)];
    let start = TaskAttr { start_cpu: Some(CpuId(0)), ..attr() };
    let sim = run(class, 2, vec![(start, ops)], 100 * MS);
    assert_eq!(sim.w.tasks[TaskId(0)].cpu, CpuId(1));
    assert_eq!(sim.w.counters.migrations_by_cause[MigrationCause::Affinity.index()], 3);
    assert!(!sim.w.tasks[TaskId(0)].misplaced);
}

/// Who changes an affinity chooses a CPU, by a counter of the CPU that it runs on
/// (`cpumask_any_and_distribute`): of four threads that each confine themselves, from CPU 0, two go
/// to each of two CPUs.
#[test]
fn threads_that_confine_themselves_are_dealt_out() {
    let machine = free_machine(4);
    let n = machine.n_cpus();
    let mut w = sim_core::World::new(machine.into(), Config::default());
    let pair = w.mask(CpuSet::of(n, [CpuId(2), CpuId(3)]));
    let start = TaskAttr { start_cpu: Some(CpuId(0)), ..attr() };
    let confines = |p| Op::SetAffinity { task: TaskId(p), allowed: pair };
    // One after the other, so that none is moved before it has confined itself.
    let ops = |p| vec![Op::SleepUntil(u64::from(p + 1) * 10 * MS), confines(p), Op::Run(900 * MS)];
    let pinned = TaskAttr { allowed: w.mask(CpuSet::of(n, [CpuId(0)])), ..start };
    let tasks = (0..4).map(|p| (pinned, ops(p))).collect();
    let class = Fair::new(Features::default(), Tunables::for_cpus(n));
    let mut sim = Simulation::new(w, class, Scripts(tasks), NoObserver);
    run_checked(&mut sim, 45 * MS, |_| Ok(())).expect("every invariant holds");
    let cpus: Vec<u32> = sim.w.tasks.iter().map(|t| t.cpu.0).collect();
    assert_eq!(cpus, [2, 3, 2, 3]);
}

/// Twelve threads, each on a CPU of its own, confine themselves to four other CPUs: how many go to
/// each of these.
fn confined_from_twelve_cpus<S: Discipline>(class: Class<S>) -> [usize; 4] {
    let n = 16;
    let mut w = sim_core::World::new(free_machine(n as u32).into(), Config::default());
    let four = w.mask(CpuSet::of(n, (0..4).map(CpuId)));
    let mut thread = |c| {
        let allowed = w.mask(CpuSet::of(n, [CpuId(c)]));
        let start = TaskAttr { start_cpu: Some(CpuId(c)), allowed, ..attr() };
        (start, vec![Op::SetAffinity { task: TaskId(c - 4), allowed: four }, Op::Run(900 * MS)])
    };
    let tasks = (4..16).map(&mut thread).collect();
    let mut sim = Simulation::new(w, class(n), Scripts(tasks), NoObserver);
    run_checked(&mut sim, MS, |_| Ok(())).expect("every invariant holds");
    std::array::from_fn(|c| sim.w.tasks.iter().filter(|t| t.cpu.0 == c as u32).count())
}

/// On 6.1 the counters were seen at CPU 0, even long after boot. Since 6.6 more of the kernel uses
/// them, and where they stand is not known.
#[test]
fn threads_that_confine_themselves_elsewhere_do_not_all_go_to_one_cpu() {
    let before = |n| Fair::new(Features::default(), Tunables::for_cpus(n));
    assert_eq!(confined_from_twelve_cpus(before), [0, 12, 0, 0]);
    let since: [Class<_>; 3] = [
        |n| eevdf(Rules::V6_6, 0, n),
        |n| eevdf(Rules::V6_12, 0, n),
        |n| eevdf(Rules::V6_18, 0, n),
    ];
    for since in since.map(confined_from_twelve_cpus) {
        assert!(since.iter().all(|n| (2..=4).contains(n)), "{since:?}");
    }
}

/// `__set_cpus_allowed_ptr_locked()` ends if the mask is the same: the turn goes on.
#[test]
fn the_same_affinity_again_changes_nothing() {
    let class = |n| Fair::new(Features::default(), Tunables::for_cpus(n));
    let same = Op::SetAffinity { task: TaskId(0), allowed: only(1) };
    let on = TaskAttr { allowed: only(1), ..attr() };
    let ops = vec![Op::Run(MS), same, Op::Run(MS)];
    let sim = run(class, 2, vec![(on, ops)], MS + MS / 2);
    assert_eq!(sim.policy.tasks[TaskId(0)].prev_sum_exec_runtime, 0);
}

fn a_waiting_a_sleeping_and_a_running_task_are_moved_by_another<S: Discipline>(class: Class<S>) {
    let on = |c| TaskAttr { start_cpu: Some(CpuId(c)), allowed: only(c), ..attr() };
    let mv = |p| Op::SetAffinity { task: TaskId(p), allowed: only(2) };
    let mover = vec![Op::Run(MS), mv(1), mv(2), mv(3)];
    // Task 1 sleeps, task 2 runs on CPU 1, task 3 waits on CPU 0 behind the mover.
    let sleeper = vec![Op::Sleep(5 * MS)];
    let tasks = vec![(on(0), mover), (on(1), sleeper), (on(1), vec![]), (on(0), vec![])];
    let sim = run(class, 3, tasks, 50 * MS);
    let cpus: Vec<u32> = sim.w.tasks.iter().map(|t| t.cpu.0).collect();
    assert_eq!(cpus, [0, 2, 2, 2]);
}

fn timer_slack_belongs_to_the_task<S: Discipline>(class: Class<S>) {
    let woke = |slack| {
        let task = TaskAttr { timer_slack_ns: slack, ..attr() };
        let sim = run(class, 1, vec![(task, vec![Op::Sleep(MS)])], 10 * MS);
        10 * MS - ran(&sim, 0)
    };
    assert_eq!(woke(None), woke(Some(50_000)));
    assert_eq!(woke(None) - woke(Some(0)), 50_000);
}

/// Each of these holds whatever the discipline.
macro_rules! in_every_kernel {
    ($($test:ident)*) => {
        mod in_every_kernel {
            use super::{Rules, Tunables, Features, Fair, eevdf};

            $(#[test]
            fn $test() {
                super::$test(|n| Fair::new(Features::default(), Tunables::for_cpus(n)));
                super::$test(|n| eevdf(Rules::V6_6, 0, n));
                super::$test(|n| eevdf(Rules::V6_12, 0, n));
                super::$test(|n| eevdf(Rules::V6_18, 0, n));
            })*
        }
    };
}

in_every_kernel! {
    a_task_starts_where_it_is_told
    a_start_that_is_not_allowed_is_not_taken
    a_renice_changes_the_shares_from_then_on
    the_load_follows_the_weight_at_once
    a_task_that_becomes_idle_policy_gives_way
    a_running_task_moves_itself
    a_waiting_a_sleeping_and_a_running_task_are_moved_by_another
    timer_slack_belongs_to_the_task
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn whatever_is_changed_every_invariant_holds(
        shape in shapes(),
        program in meddlers(),
        swqueue: bool,
        ttwu_queue: bool,
    ) {
        let machine: Machine = shape.machine();
        let features = Features { swqueue, ..Features::default() };
        let policy = Fair::new(features, Tunables::for_cpus(machine.n_cpus()));
        let config = Config { ttwu_queue, ..Config::default() };
        let mut sim = simulate(machine, config, policy, program, NoObserver);
        let mut checks = FairChecks::default();
        let end = run_checked(&mut sim, 60 * MS, |sim| checks.check(sim));
        prop_assert!(end.is_ok(), "{end:?}");
    }

    #[test]
    fn whatever_is_changed_every_invariant_holds_under_eevdf(
        shape in shapes(),
        program in meddlers(),
        (rules, bits) in eevdfs(),
        ttwu_queue: bool,
    ) {
        let machine: Machine = shape.machine();
        let policy = eevdf(rules, bits, machine.n_cpus());
        let config = Config { ttwu_queue, ..Config::default() };
        let mut sim = simulate(machine, config, policy, program, NoObserver);
        let mut checks = FairChecks::default();
        let end = run_checked(&mut sim, 60 * MS, |sim| checks.check(sim));
        prop_assert!(end.is_ok(), "{end:?}");
    }

    /// Ticks that are computed decide and account exactly as ticks that are simulated.
    #[test]
    fn whatever_is_changed_computed_ticks_equal_simulated_ones(
        shape in shapes(),
        program in meddlers(),
        rules in prop::option::of(eevdfs()),
    ) {
        let machine: Machine = shape.machine();
        let program = EachItsOwn::new(program);
        let n = machine.n_cpus();
        let both = |every| match rules {
            Some((rules, bits)) => {
                let policy = eevdf(rules, bits, n);
                fingerprint_of(&machine, policy, every, program.clone(), 60 * MS)
            }
            None => {
                let policy = Fair::new(Features::default(), Tunables::for_cpus(n));
                fingerprint_of(&machine, policy, every, program.clone(), 60 * MS)
            }
        };
        prop_assert_eq!(both(false), both(true));
    }
}
