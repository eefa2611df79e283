//! Services where their numbers are known: on a machine without costs.

use policies::fcfs::Fcfs;
use proptest::prelude::*;
use sim_core::{Config, NoObserver, Program};
use std::sync::Arc;
use test_support::{free_machine, run_checked, simulate};
use workloads::service::{self, Gaps, Lengths, Pause, Role, Service, Spec, Wakes};

const SECOND: u64 = 1_000_000_000;
const MS: f64 = 1e6;

/// Threads that only work, for so long a turn.
fn role(name: &str, threads: u32, work_ms: f64) -> Role {
    Role { threads, ..Role::new(name, Lengths::constant(work_ms * MS)) }
}

fn wakes(role: u32, per_turn: f64) -> Wakes {
    Wakes { role, per_turn, at: 1.0, sync: false, own: false }
}

/// The program after so long, ns, on so many CPUs.
fn run(cpus: u32, load: f64, roles: Vec<Role>, ns: u64) -> impl Fn(&str) -> f64 {
    let config = Config { timer_slack_ns: 0, ..Config::default() };
    let spec = Arc::new(Spec { roles });
    let program = Service::new(service::Config { spec, load, seed: 1 });
    let mut sim = simulate(free_machine(cpus), config, Fcfs::default(), program, NoObserver);
    sim.run_until(ns);
    let results = sim.program.results(sim.w.now);
    move |name| results.iter().find(|result| result.0 == name).map_or(0.0, |result| result.1)
}

/// Throughput in 1/s and mean latency in ms on so many CPUs, over 100 seconds.
fn measure(cpus: u32, load: f64, roles: Vec<Role>) -> (f64, f64) {
    let value = run(cpus, load, roles, 100 * SECOND);
    assert_eq!(value("refused"), 0.0);
    (value("throughput"), value("latency_mean") / 1000.0)
}

fn check((value, latency): (f64, f64), expected: (f64, f64), within: f64) {
    assert!((value / expected.0 - 1.0).abs() < within, "{value} against {expected:?}");
    assert!((latency / expected.1 - 1.0).abs() < within, "{latency} against {expected:?}");
}

/// One thread is an M/D/1 queue: the wait is the load's part of half a turn.
#[test]
fn twice_the_load_is_twice_the_arrivals() {
    let queue = || {
        let gaps = Some(Gaps::Poisson { per_s: 400.0 });
        vec![Role { gaps, ..role("server", 1, 1.0) }]
    };
    for (load, per_s) in [(1.0, 400.0), (2.0, 800.0)] {
        let busy = per_s / 1000.0;
        let latency = 1.0 + busy / (2.0 * (1.0 - busy));
        check(measure(1, load, queue()), (per_s, latency), 0.03);
    }
}

/// A request ends with the last of the turns that it led to.
#[test]
fn latency_is_from_the_arrival_to_the_last_turn() {
    let gaps = Some(Gaps::Seen(Lengths::constant(10.0 * MS)));
    let front = Role { gaps, wakes: vec![wakes(1, 2.0)], ..role("front", 4, 1.0) };
    let logs = Role { background: true, ..role("logs", 1, 30.0) };
    let back = Role { wakes: vec![wakes(2, 0.1)], ..role("back", 4, 2.0) };
    check(measure(8, 1.0, vec![front, back, logs]), (100.0, 3.0), 0.01);
}

/// Three messages circle, each for four milliseconds.
#[test]
fn a_closed_loop_goes_on() {
    let there = Role { wakes: vec![wakes(1, 1.0)], busy: 1.0, ..role("there", 4, 1.0) };
    let back = Role { wakes: vec![wakes(0, 1.0)], ..role("back", 4, 3.0) };
    check(measure(8, 3.0, vec![there, back]), (3.0 * 2.0 / 4e-3, 2.0), 0.01);
}

/// Of ten turns three turn to the other role. A part of a message is owed now and then, by two
/// roles, so the ten that circle are up to two more.
#[test]
fn parts_of_messages_are_neither_lost_nor_won() {
    let both = vec![wakes(0, 0.7), wakes(1, 0.3)];
    let often = Role { wakes: both, busy: 10.0, ..role("often", 20, 1.0) };
    let seldom = Role { wakes: vec![wakes(0, 1.0)], ..role("seldom", 20, 3.0) };
    let (throughput, _) = measure(40, 1.0, vec![often, seldom]);
    let of = |circling: f64| circling * 1.3 / 1.9e-3;
    assert!((of(9.99)..of(12.01)).contains(&throughput), "{throughput}");
}

/// One message circles, although a turn of its loop also wakes others now and then.
#[test]
fn what_circles_does_not_end_in_a_leaf() {
    let a = Role { wakes: vec![wakes(1, 0.5), wakes(2, 0.5)], busy: 1.0, ..role("a", 4, 1.0) };
    let b = Role { wakes: vec![wakes(0, 2.0)], ..role("b", 4, 1.0) };
    let (throughput, _) = measure(12, 1.0, vec![a, b, role("leaf", 4, 1.0)]);
    // Two of three turns are of a, which wakes a leaf with every second one.
    let of = |circling: f64| circling * 4.0 / 3.0 * 1000.0;
    assert!((of(0.99)..of(3.01)).contains(&throughput), "{throughput}");
}

/// Half a message does not circle, and none does not either.
#[test]
fn at_a_low_load_one_message_circles() {
    let pair = || {
        let there = Role { wakes: vec![wakes(1, 1.0)], busy: 0.7, ..role("there", 1, 1.0) };
        let back = Role { wakes: vec![wakes(0, 1.0)], busy: 0.3, ..role("back", 1, 1.0) };
        vec![there, back]
    };
    for (load, circling) in [(0.01, 1.0), (1.4, 1.0), (1.6, 2.0)] {
        check(measure(2, load, pair()), (circling * 1000.0, 1.0), 0.01);
    }
}

/// Each of those whom it wakes gets to know both threads of the other role.
#[test]
fn partners_take_turns_for_each_that_wakes_them() {
    let own = |role| Wakes { own: true, ..wakes(role, 1.0) };
    let gaps = Some(Gaps::Seen(Lengths::constant(10.0 * MS)));
    let asks = Role { gaps, wakes: vec![own(1), own(2)], ..role("asks", 1, 1.0) };
    // One thread alone could not do it: 15 of 10 ms.
    let roles = vec![asks, role("x", 2, 15.0), role("y", 2, 15.0)];
    check(measure(8, 1.0, roles), (100.0, 16.0), 0.01);
}

#[test]
fn a_timer_begins_a_turn_unless_a_message_does() {
    let timer = Some(Pause { per_turn: 1.0, length: Lengths::constant(4.0 * MS) });
    let alone = || Role { timer: timer.clone(), busy: 3.0, ..role("clock", 3, 1.0) };
    check(measure(4, 1.0, vec![alone()]), (600.0, 1.0), 0.01);
    let gaps = Some(Gaps::Seen(Lengths::constant(2.0 * MS)));
    let woken = Role { gaps, busy: 1.0, timer: timer.clone(), ..role("clock", 1, 1.0) };
    check(measure(4, 1.0, vec![woken]), (500.0, 1.0), 0.01);
}

/// Disks take as long whatever the CPUs do; with a CPU for each nobody else waits.
#[test]
fn disks_and_yields_are_within_the_turn() {
    let disk = Some(Pause { per_turn: 1.5, length: Lengths::constant(2.0 * MS) });
    let gaps = Some(Gaps::Seen(Lengths::constant(20.0 * MS)));
    let reads = Role { disk, gaps, yields_per_ms: 3.0, ..role("reads", 2, 1.0) };
    check(measure(2, 1.0, vec![reads]), (50.0, 4.0), 0.01);
}

/// Of 200 000 messages the one thread has two, and 65 536 wait for it.
#[test]
fn messages_to_a_full_queue_are_refused_and_counted() {
    let gaps = || Some(Gaps::Seen(Lengths::constant(1e3)));
    let server = Role { gaps: gaps(), ..role("server", 1, 150.0) };
    let value = run(1, 1.0, vec![server], 200 * 1_000_000);
    assert_eq!(value("refused"), 200_000.0 - 2.0 - 65_536.0);
    assert_eq!(value("throughput"), 1.0 / 0.2);
    // The queue of a thread of its own is as long, and what is lost on the way ends its request.
    let own = vec![Wakes { own: true, ..wakes(1, 1.0) }];
    let front = Role { gaps: gaps(), wakes: own, ..role("front", 1, 0.0) };
    let value = run(2, 1.0, vec![front, role("back", 1, 150.0)], 200 * 1_000_000);
    let lost = 200_000.0 - 2.0 - 65_536.0;
    assert!((lost - 2.0..=lost).contains(&value("refused")), "{}", value("refused"));
    assert_eq!(value("throughput"), (value("refused") + 1.0) / 0.2);
}

/// More calls than can be counted: the turn goes on, in pieces of less than three microseconds.
#[test]
fn calls_of_a_turn_may_be_countless() {
    let gaps = Some(Gaps::Seen(Lengths::constant(MS)));
    let hog = Role { gaps, yields_per_ms: 1e6, ..role("hog", 1, 1e7) };
    let value = run(1, 1.0, vec![hog], 100 * 1_000_000);
    assert_eq!((value("throughput"), value("refused")), (0.0, 0.0));
}

#[test]
fn the_background_has_a_load_of_its_own() {
    let gaps = || Some(Gaps::Seen(Lengths::constant(100.0 * MS)));
    let own = Role { gaps: gaps(), ..role("own", 1, 1.0) };
    let other = Role { gaps: gaps(), background: true, ..role("other", 1, 70.0) };
    // On the one CPU the other's turns are in the way, as often at any load.
    let alone = measure(1, 4.0, vec![own.clone()]);
    let beside = measure(1, 4.0, vec![own, other]);
    check(alone, (40.0, 1.0), 0.01);
    assert!((beside.0 / 40.0 - 1.0).abs() < 0.01 && beside.1 > 10.0, "{beside:?}");
}

prop_compose! {
    fn any_role(n: u32)(
        threads in 1u32..5,
        work_us in 0.0..200.0,
        busy in 0u32..6,
        gap_us in prop::option::of(50.0..500.0),
        sleep_us in prop::option::of(1.0..300.0),
        disk_us in prop::option::of(1.0..300.0),
        yields_per_ms in 0.0..20.0,
        to in prop::collection::vec((0..n, 0.0..0.6, 0.0..=1.0, any::<[bool; 2]>()), 0..3),
    ) -> Role {
        let us = |us| Lengths::constant(us * 1e3);
        let wakes = |(role, per_turn, at, [sync, own]): (u32, f64, f64, [bool; 2])| {
            Wakes { role, per_turn, at, sync, own }
        };
        Role {
            busy: busy.into(),
            gaps: gap_us.map(|gap| Gaps::Seen(us(gap))),
            timer: sleep_us.map(|sleep| Pause { per_turn: 0.6, length: us(sleep) }),
            disk: disk_us.map(|disk| Pause { per_turn: 0.7, length: us(disk) }),
            yields_per_ms,
            wakes: to.into_iter().map(wakes).collect(),
            ..role("any", threads, work_us * 1e-3)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_service_runs(roles in prop::collection::vec(any_role(3), 3), cpus in 1u32..4) {
        let spec = Arc::new(Spec { roles });
        let program = Service::new(service::Config { spec, load: 1.5, seed: 7 });
        let machine = free_machine(cpus);
        let mut sim =
            simulate(machine, Config::default(), Fcfs::default(), program, NoObserver);
        let reason = run_checked(&mut sim, 5_000_000, |_| Ok(()));
        prop_assert!(reason.is_ok(), "{reason:?}");
    }
}
