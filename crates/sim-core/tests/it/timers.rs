//! Timers with a soft and a hard expiry: which of them wake their tasks in one interrupt.

use policies::fair::Fair;
use policies::fair::features::{Features, Tunables};
use policies::fcfs::Fcfs;
use sim_core::{Config, NoObserver, Ns, Observer, Op, StopReason, TaskAttr, TaskId, World};
use test_support::{Scripts, free_machine, simulate};
use topology::{CpuId, Governor, IDLE_WAKE_TIMES, IdleWake, Machine, RegularSpec};

const US: Ns = 1_000;
const MS: Ns = 1_000_000;

/// When timers began to wake each task, ns, in the order in which they did.
#[derive(Default)]
struct Wakings(Vec<(u32, Ns)>);

impl Observer for Wakings {
    fn waking(&mut self, w: &World, task: TaskId) {
        self.0.push((task.0, w.now));
    }
}

/// A sleep of task `i` until `soft`, with so much slack.
fn sleeper(soft: Ns, slack: Ns) -> (TaskAttr, Vec<Op>) {
    let attr = TaskAttr { timer_slack_ns: Some(slack as u32), ..TaskAttr::default() };
    (attr, vec![Op::SleepUntil(soft), Op::Exit])
}

fn busy() -> (TaskAttr, Vec<Op>) {
    (TaskAttr::default(), vec![])
}

fn wakings_on(machine: Machine, config: Config, tasks: &[(TaskAttr, Vec<Op>)]) -> Vec<(u32, Ns)> {
    let program = Scripts(tasks.to_vec());
    let mut sim = simulate(machine, config, Fcfs::default(), program, Wakings::default());
    while sim.w.now < 20 * MS && sim.step(20 * MS).is_none() {
        sim.w.check_invariants().expect("every invariant holds");
    }
    sim.observer.0
}

/// On one CPU on which nothing costs time: with and without events for ticks.
fn wakings(tasks: &[(TaskAttr, Vec<Op>)]) -> Vec<(u32, Ns)> {
    let run = |simulate_every_tick| {
        let config = Config { simulate_every_tick, ..Config::default() };
        wakings_on(free_machine(1), config, tasks)
    };
    assert_eq!(run(false), run(true));
    run(false)
}

#[test]
fn an_interrupt_wakes_all_whose_soft_expiry_has_passed() {
    // Asked for 1000, 1010, 1049, 1051 us: hard expiries are 50 us later.
    let tasks = [1049, 1000, 1051, 1010].map(|at| sleeper(at * US, 50 * US));
    let at = 1050 * US;
    assert_eq!(wakings(&tasks), [(1, at), (3, at), (0, at), (2, 1101 * US)]);
}

#[test]
fn a_timer_that_may_not_run_yet_holds_up_those_with_later_hard_expiries() {
    // In the order of hard expiries: 1050, 1060, 1090. The second has no slack.
    let tasks = [sleeper(1000 * US, 50 * US), sleeper(1040 * US, 50 * US), sleeper(1060 * US, 0)];
    assert_eq!(wakings(&tasks), [(0, 1050 * US), (2, 1060 * US), (1, 1060 * US)]);
}

#[test]
fn a_tick_runs_timers_too() {
    // The edge at 16 ms lies between soft and hard expiry of the first two.
    let sleepers = [15_960, 15_990, 16_010].map(|at| sleeper(at * US, 50 * US));
    let with_busy = [&sleepers[..], &[busy()]].concat();
    let tick = [(0, 16 * MS), (1, 16 * MS), (2, 16_060 * US)];
    assert_eq!(wakings(&with_busy), tick);
    // A CPU that sleeps has stopped its tick.
    let no_tick = [(0, 16_010 * US), (1, 16_010 * US), (2, 16_010 * US)];
    assert_eq!(wakings(&sleepers), no_tick);
}

#[test]
fn a_guest_with_one_idle_state_keeps_its_tick_until_it_has_come_in_idle() {
    // Ticks come each 4 ms. The first task sleeps from 1 to `until` and may be woken at 8 ms if the
    // tick still goes on; it has come in idle at 4 ms. The second may be woken at 12 ms.
    let wakings = |keeps: bool, states: usize, until: Ns| {
        let mut machine = Machine { governor: Governor::Haltpoll, ..free_machine(1) };
        machine.cstates = vec![machine.cstates[0].clone(); states];
        let config = Config { lone_state_keeps_tick: keeps, ..Config::default() };
        let runs = vec![Op::Run(MS), Op::SleepUntil(until), Op::Exit];
        let tasks = [(sleeper(0, 50 * US).0, runs), sleeper(11_970 * US, 50 * US)];
        wakings_on(machine, config, &tasks)
    };
    let late = 12_020 * US;
    // From 8.02 ms on the tick runs again, and has not come in idle before 12 ms.
    assert_eq!(wakings(true, 1, 7_970 * US), [(0, 8_020 * US), (1, 12 * MS)]);
    // At 12 ms it has come at 4 ms, and the CPU has slept all the time.
    assert_eq!(wakings(true, 1, 15_000 * US), [(1, late), (0, 15_050 * US)]);
    // Where it stops at once it wakes nobody.
    for (keeps, states) in [(false, 1), (true, 2)] {
        assert_eq!(wakings(keeps, states, 7_970 * US), [(0, 8_020 * US), (1, late)]);
    }
}

#[test]
fn the_tick_is_a_timer_that_may_not_run_yet() {
    // At 15990 us the second may run, but the tick comes before its hard expiry.
    let sleepers = [sleeper(15_940 * US, 50 * US), sleeper(15_970 * US, 50 * US)];
    let with_busy = [&sleepers[..], &[busy()]].concat();
    assert_eq!(wakings(&with_busy), [(0, 15_990 * US), (1, 16 * MS)]);
    assert_eq!(wakings(&sleepers), [(0, 15_990 * US), (1, 15_990 * US)]);
}

#[test]
fn long_slack_lasts_until_the_last_tick_or_another_timer() {
    let lazy = [sleeper(MS, 10 * MS), busy()];
    assert_eq!(wakings(&lazy), [(0, 8 * MS)], "at 4 ms the next tick is ahead of it");
    let helped = [sleeper(MS, 10 * MS), sleeper(9 * MS, 0)];
    assert_eq!(wakings(&helped), [(1, 9 * MS), (0, 9 * MS)]);
    let helped = [sleeper(MS, 10 * MS), sleeper(13 * MS, 0), sleeper(10 * MS, 2 * MS)];
    assert_eq!(wakings(&helped), [(0, 11 * MS), (2, 11 * MS), (1, 13 * MS)]);
}

#[test]
fn a_task_that_is_woken_in_time_leaves_its_timer_behind() {
    // Task 1 is woken at 2 ms and sleeps anew; its timer at 3 ms would have brought task 0 along.
    let slack = TaskAttr { timer_slack_ns: Some(0), ..TaskAttr::default() };
    let waker = vec![Op::SleepUntil(2 * MS), Op::Wake { task: TaskId(1), sync: false }, Op::Exit];
    let woken = vec![Op::SleepUntil(3 * MS), Op::SleepUntil(6 * MS), Op::Exit];
    let tasks = [sleeper(2_990 * US, 50 * US), (slack, woken), (slack, waker)];
    let expected = [(2, 2 * MS), (1, 2 * MS), (0, 3_040 * US), (1, 6 * MS)];
    assert_eq!(wakings(&tasks), expected);
}

#[test]
fn the_wake_ups_of_one_interrupt_follow_each_other_before_the_first_wakee_runs() {
    let spec = RegularSpec { cores_per_llc: 1, threads_per_core: 1, ..RegularSpec::default() };
    let machine = Machine::regular(spec);
    assert_eq!(machine.n_cpus(), 1);
    let costs = machine.costs;
    let tasks = [1000, 1010, 1020].map(|at| sleeper(at * US, 50 * US));
    let got = wakings_on(machine, Config::default(), &tasks);
    let order: Vec<u32> = got.iter().map(|(p, _)| *p).collect();
    assert_eq!(order, [0, 1, 2]);
    let gap = got[2].1 - got[1].1;
    assert_eq!(got[1].1 - got[0].1, gap);
    assert!(gap >= costs.ttwu_fixed_ns + costs.enqueue_ns);
    assert!(gap < costs.ttwu_fixed_ns + costs.enqueue_ns + costs.pick_ns, "nobody ran between");
}

#[test]
fn what_falls_due_in_an_interrupt_is_run_in_it() {
    // Each wake-up takes longer than the 100 ns between the hard expiries.
    let tasks: Vec<_> = (0..5).map(|i| sleeper(1000 * US + 100 * i, 0)).collect();
    let mut machine = free_machine(1);
    machine.costs.ttwu_fixed_ns = 1_000;
    machine.costs.irq_ns = 10_000;
    let got: Vec<Ns> =
        wakings_on(machine, Config::default(), &tasks).iter().map(|(_, at)| *at).collect();
    // After the way into the interrupt, which is half of its cost.
    let first = 1005 * US + 1_000;
    assert_eq!(got, [0, 1, 2, 3, 4].map(|i| first + 1_000 * i), "one entry for all");
}

#[test]
fn a_timer_of_centuries_never_comes() {
    let tasks = [sleeper(Ns::MAX - 1, 50), sleeper(MS, 0)];
    let program = Scripts(tasks.to_vec());
    let config = Config::default();
    let mut sim = simulate(free_machine(1), config, Fcfs::default(), program, Wakings::default());
    assert!(matches!(sim.run_until(u64::MAX), StopReason::NoProgress(_)));
    assert_eq!(sim.observer.0, [(1, MS)]);
}

/// A daemon's timers are no reason to go on once all other tasks have ended, or wait for ever.
#[test]
fn daemons_do_not_keep_a_run_going() {
    let end_with = |other: &[Op]| {
        let attr = TaskAttr { daemon: true, ..TaskAttr::default() };
        let daemon = (attr, (1..100).map(|n| Op::SleepUntil(n * MS)).collect());
        let program = Scripts(vec![daemon, (TaskAttr::default(), other.to_vec())]);
        let machine = free_machine(2);
        let mut sim = simulate(machine, Config::default(), Fcfs::default(), program, NoObserver);
        (sim.run_until(90 * MS), sim.w.now / MS)
    };
    assert_eq!(end_with(&[Op::Run(3 * MS), Op::Exit]).0, StopReason::Done);
    assert_eq!(end_with(&[Op::SleepUntil(50 * MS), Op::Exit]), (StopReason::Done, 50));
    let (end, at_ms) = end_with(&[Op::Run(3 * MS), Op::Wait]);
    assert!(matches!(end, StopReason::NoProgress(_)) && at_ms <= 5, "{end:?} at {at_ms} ms");
}

/// Its waker ran ahead; it was not on its way to sleep when it was woken.
const SLEEP_WOKEN: Op = Op::SleepWoken { on_its_way: false };

/// Also a CPU that was idle may come to have the task: its wake list costs as ever, and so does the
/// wake-up after that.
#[test]
fn only_the_wake_up_that_has_come_is_free() {
    let mut machine = free_machine(2);
    let costs = &mut machine.costs;
    (costs.irq_ns, costs.ttwu_fixed_ns, costs.enqueue_ns) = (1_000, 2_000, 4_000);
    let on = |cpu, ops| (TaskAttr { start_cpu: Some(CpuId(cpu)), ..TaskAttr::default() }, ops);
    let sleeps = [Op::Run(MS), SLEEP_WOKEN, Op::Run(MS), Op::Sleep(MS)];
    let program = Scripts(vec![
        on(0, [&sleeps[..], &sleeps, &[Op::Exit]].concat()),
        on(0, vec![Op::Run(20 * MS), Op::Exit]),
        on(1, vec![Op::Run(MS / 2), Op::Exit]),
    ]);
    let policy: Fair = Fair::new(Features::default(), Tunables::for_cpus(2));
    let mut sim = simulate(machine, Config::default(), policy, program, NoObserver);
    while sim.step(100 * MS).is_none() {
        sim.w.check_invariants().expect("every invariant holds");
    }
}

/// When all tasks have ended on one CPU: one sleeps by this operation, others may run beside it.
fn end_after(sleep: Op, wake_up_costs: bool, beside: bool) -> Ns {
    let mut machine = free_machine(1);
    if wake_up_costs {
        let costs = &mut machine.costs;
        (costs.irq_ns, costs.ttwu_fixed_ns, costs.enqueue_ns) = (1_000, 2_000, 4_000);
    }
    let attr = TaskAttr { timer_slack_ns: Some(0), ..TaskAttr::default() };
    let mut tasks = vec![(attr, vec![Op::Run(MS), sleep, Op::Run(MS), Op::Exit])];
    if beside {
        tasks.push((TaskAttr::default(), vec![Op::Run(10 * MS), Op::Exit]));
    }
    let mut sim = simulate(machine, Config::default(), Fcfs::default(), Scripts(tasks), NoObserver);
    assert_eq!(sim.run_until(1000 * MS), StopReason::Done);
    sim.w.now
}

#[test]
fn who_is_awake_before_it_sleeps_costs_others_no_time() {
    assert_eq!(end_after(SLEEP_WOKEN, true, true), end_after(SLEEP_WOKEN, false, true));
    // A timer's interrupt does.
    let timer = end_after(Op::Sleep(0), true, true) - end_after(Op::Sleep(0), false, true);
    assert!(timer >= 7_000, "{timer} ns");
}

/// When a task has ended that does this between two pieces of work and is alone.
fn end_of_sleeper(machine: Machine, config: Config, op: Op) -> Ns {
    let attr = TaskAttr { timer_slack_ns: Some(0), ..TaskAttr::default() };
    let program = Scripts(vec![(attr, vec![Op::Run(MS), op, Op::Run(MS), Op::Exit])]);
    let mut sim = simulate(machine, config, Fcfs::default(), program, NoObserver);
    assert_eq!(sim.run_until(1000 * MS), StopReason::Done);
    sim.w.now
}

/// The waker is taken to have been elsewhere, so an idle CPU has to be told, and to leave idle.
#[test]
fn who_is_awake_before_it_sleeps_comes_by_the_wake_list_of_an_idle_cpu() {
    let late_by = |polling, ttwu_queue| {
        let mut machine = free_machine(1);
        let costs = &mut machine.costs;
        (costs.irq_ns, costs.ttwu_fixed_ns, costs.enqueue_ns) = (1_000, 2_000, 4_000);
        (costs.ipi_send_ns, costs.ipi_delivery_ns, costs.idle_entry_ns) = (300, 9_000, 50);
        let state = &mut machine.cstates[0];
        (state.exit_ns, state.core_exit_ns, state.polling) = (5_000, 5_000, polling);
        machine.cstates.truncate(1);
        machine.idle_wakes = vec![IdleWake { idle_ns: MS, wakes_ns: [90_000; IDLE_WAKE_TIMES] }];
        let config = Config { ttwu_queue, ..Config::default() };
        let end = |sleep| end_of_sleeper(machine.clone(), config, sleep);
        end(SLEEP_WOKEN) - end(Op::Run(0))
    };
    // Way of the interrupt, C-state, interrupt, enqueue.
    assert_eq!(late_by(false, true), 300 + 9_000 + 5_000 + 1_000 + 4_000);
    // By a store.
    assert_eq!(late_by(true, true), 1 + 5_000 + 4_000);
    // Without wake lists it is like a timer.
    assert_eq!(late_by(false, false), 1_000 + 2_000 + 4_000);
}

/// Who was woken on its way to sleep comes back as soon as was recorded: its CPU has been through
/// no idle loop, and reached no C-state. Where no recording tells, it comes as others do.
#[test]
fn who_is_woken_on_its_way_to_sleep_turns_back() {
    let late_by = |on_its_way, polling, turns_back_ns: Option<Ns>| {
        let mut machine = free_machine(1);
        let costs = &mut machine.costs;
        (costs.irq_ns, costs.enqueue_ns, costs.idle_loop_ns) = (1_000, 4_000, 600);
        (costs.ipi_send_ns, costs.ipi_delivery_ns, costs.idle_entry_ns) = (300, 9_000, 50);
        let state = &mut machine.cstates[0];
        (state.exit_ns, state.core_exit_ns, state.polling) = (5_000, 5_000, polling);
        machine.cstates.truncate(1);
        machine.idle_wakes = vec![IdleWake { idle_ns: 0, wakes_ns: [90_000; IDLE_WAKE_TIMES] }];
        machine.turns_back_ns = turns_back_ns.map(|ns| Box::new([ns; IDLE_WAKE_TIMES]));
        let end = |sleep| end_of_sleeper(machine.clone(), Config::default(), sleep);
        end(Op::SleepWoken { on_its_way }) - end(Op::Run(0))
    };
    let told = Some(7_000);
    for polling in [false, true] {
        assert_eq!(late_by(true, polling, told), 1 + 7_000 + 4_000);
        assert_eq!(late_by(true, polling, None), late_by(false, polling, told));
        assert!(late_by(false, polling, told) > 90_000);
    }
}

/// Another timer may expire while the CPU switches to idle.
#[test]
fn a_timer_beside_a_kept_sleep_is_run_in_its_interrupt() {
    for us in 0..40 {
        let mut machine = free_machine(1);
        let costs = &mut machine.costs;
        (costs.pick_ns, costs.dequeue_ns, costs.switch_ns) = (5_000, 2_000, 5_000);
        (costs.ipi_delivery_ns, costs.irq_ns, costs.enqueue_ns) = (9_000, 1_000, 4_000);
        let attr = || TaskAttr { timer_slack_ns: Some(0), ..TaskAttr::default() };
        let program = Scripts(vec![
            (attr(), vec![Op::SleepUntil(MS + us * US), Op::Run(MS), Op::Exit]),
            (attr(), vec![Op::Run(MS), SLEEP_WOKEN, Op::Run(MS), Op::Exit]),
        ]);
        let config = Config::default();
        let mut sim = simulate(machine, config, Fcfs::default(), program, NoObserver);
        while sim.step(100 * MS).is_none() {
            sim.w.check_invariants().expect("every invariant holds");
        }
        assert!(sim.w.now > 3 * MS && sim.w.now < 3 * MS + 100 * US, "{us} us: {} ns", sim.w.now);
    }
}

/// How long a CPU idled, each time.
#[derive(Default)]
struct Idles(Ns, Vec<Ns>);

impl Observer for Idles {
    fn switch(&mut self, w: &World, _: CpuId, prev: TaskId, _: TaskId) {
        if prev == TaskId::IDLE {
            self.1.push(w.now - self.0);
        }
        self.0 = w.now;
    }
}

/// Each of the times comes, and none more often than another.
#[test]
fn who_waits_for_an_idle_cpu_waits_now_longer_now_shorter() {
    const WAKES: u64 = 25_600;
    let mut machine = free_machine(1);
    (machine.costs.ipi_delivery_ns, machine.costs.idle_entry_ns) = (9_000, 50);
    let state = &mut machine.cstates[0];
    (state.exit_ns, state.core_exit_ns, state.polling) = (2_000, 2_000, false);
    machine.cstates.truncate(1);
    let wakes_ns = std::array::from_fn(|time| 20_000 + 100 * time as Ns);
    machine.idle_wakes = vec![IdleWake { idle_ns: 0, wakes_ns }];
    let mut late = [0; IDLE_WAKE_TIMES];
    let attr = TaskAttr { timer_slack_ns: Some(0), ..TaskAttr::default() };
    let turns = (0..WAKES).flat_map(|turn| [Op::Run(100 * US + turn), SLEEP_WOKEN]);
    let program = Scripts(vec![(attr, turns.chain([Op::Exit]).collect())]);
    let mut sim = simulate(machine, Config::default(), Fcfs::default(), program, Idles::default());
    assert_eq!(sim.run_until(100_000 * MS), StopReason::Done);
    for ns in &sim.observer.1[1..] {
        late[((ns - 20_000) / 100) as usize] += 1;
    }
    assert_eq!(late.iter().sum::<u64>(), WAKES);
    assert!(late.iter().all(|times| (60..=140).contains(times)), "{late:?}");
}

/// A host that polls a halted CPU for a while and then sleeps makes long sleeps longer.
#[test]
fn a_long_stay_in_idle_is_left_later() {
    let late_by = |sleep: Ns, idle_wakes: &[IdleWake]| {
        let mut machine = free_machine(1);
        machine.costs.ipi_delivery_ns = 9_000;
        let state = &mut machine.cstates[0];
        (state.exit_ns, state.core_exit_ns, state.polling) = (2_000, 2_000, false);
        machine.cstates.truncate(1);
        machine.idle_wakes = idle_wakes.to_vec();
        let end = |op| end_of_sleeper(machine.clone(), Config::default(), op);
        end(Op::Sleep(sleep)) - end(Op::Run(sleep))
    };
    let wake = |idle_ns, wake_ns| IdleWake { idle_ns, wakes_ns: [wake_ns; IDLE_WAKE_TIMES] };
    let mut wakes = [wake(100 * US, 30_000), wake(MS, 60_000)];
    // A timer's are all alike.
    wakes.iter_mut().for_each(|wake| wake.wakes_ns[0] = 0);
    assert_eq!([50 * US, 100 * US, 2 * MS].map(|ns| late_by(ns, &wakes)), [2_000, 21_000, 51_000]);
    assert_eq!(late_by(2 * MS, &[]), 2_000);
}
