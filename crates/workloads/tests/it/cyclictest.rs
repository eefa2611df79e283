//! cyclictest where its figures are known: the way from a timer to the task, part by part.

use policies::fair::features::{Features, Tunables};
use policies::fair::{Fair, Rules};
use policies::fcfs::Fcfs;
use sim_core::{Config, NoObserver, Program};
use test_support::{free_machine, simulate};
use topology::{Machine, RegularSpec};
use workloads::cyclictest::{self, Cyclictest};

const SECOND: u64 = 1_000_000_000;

fn bench(threads: u32, hogs: u32) -> Cyclictest {
    let (interval_ns, distance_ns) = (1_000_000, 500_000);
    Cyclictest::new(cyclictest::Config { threads, interval_ns, distance_ns, hogs, seed: 1 })
}

/// Rounds per second, and Min, Avg, Max and the median in us, over a second.
fn measure(machine: Machine, slack_ns: u64, program: Cyclictest) -> [f64; 5] {
    let config = Config { timer_slack_ns: slack_ns, ..Config::default() };
    let (rules, cpus) = (Rules::V6_18, machine.n_cpus());
    let (features, tunables) = (Features::for_rules(rules), Tunables::for_rules(rules, cpus));
    let policy = Fair::eevdf(rules, features, tunables);
    let mut sim = simulate(machine, config, policy, program, NoObserver);
    sim.run_until(SECOND);
    figures(&sim.program.results(sim.w.now))
}

fn figures(results: &[(&'static str, f64)]) -> [f64; 5] {
    let names = ["throughput", "latency_min", "latency_mean", "latency_max", "latency_p50"];
    assert_eq!(results[..5].iter().map(|r| r.0).collect::<Vec<_>>(), names);
    std::array::from_fn(|i| results[i].1)
}

/// One CPU with one idle state, and the usual costs.
fn one_cpu(exit_ns: u64) -> Machine {
    let spec = RegularSpec { cores_per_llc: 1, threads_per_core: 1, ..RegularSpec::default() };
    let mut machine = Machine::regular(spec);
    machine.cstates.truncate(1);
    (machine.cstates[0].exit_ns, machine.cstates[0].polling) = (exit_ns, false);
    machine
}

/// Where nothing costs time a timer is late by its slack, and nothing else.
#[test]
fn without_costs_the_latency_is_the_timers_slack() {
    for slack_ns in [0, 50_000] {
        let config = Config { timer_slack_ns: slack_ns, ..Config::default() };
        let mut sim = simulate(free_machine(2), config, Fcfs::default(), bench(1, 0), NoObserver);
        sim.run_until(SECOND);
        let [rate, min, avg, max, _] = figures(&sim.program.results(sim.w.now));
        assert!((rate - 1000.0).abs() < 6.0, "{rate}");
        let slack_us = slack_ns as f64 * 1e-3;
        for us in [min, avg, max] {
            assert!((us - slack_us).abs() <= 0.1 + slack_us * 0.001, "{us} against {slack_us}");
        }
    }
}

/// Idle, the way is: the slack, the interrupt, out of the idle state, the wake-up, the switch. Each
/// part comes on top to the nanosecond (the histogram keeps three digits).
#[test]
fn on_an_idle_machine_each_part_of_the_way_comes_on_top() {
    let of = |machine| measure(machine, 10_000, bench(1, 0))[4];
    let free = || {
        let mut machine = free_machine(1);
        machine.cstates.truncate(1);
        (machine.cstates[0].exit_ns, machine.cstates[0].polling) = (0, false);
        machine
    };
    assert!((of(free()) - 10.0).abs() < 0.02, "{}", of(free()));
    type Set = fn(&mut Machine);
    let parts: [(&str, Set); 7] = [
        ("exit", |m| m.cstates[0].exit_ns = 3000),
        ("irq", |m| m.costs.irq_ns = 3000),
        ("idle loop", |m| m.costs.idle_loop_ns = 3000),
        ("ttwu", |m| m.costs.ttwu_fixed_ns = 3000),
        ("enqueue", |m| m.costs.enqueue_ns = 3000),
        ("pick", |m| m.costs.pick_ns = 3000),
        ("switch", |m| m.costs.switch_ns = 3000),
    ];
    for (name, set) in parts {
        let mut machine = free();
        set(&mut machine);
        let us = of(machine);
        assert!((us - 13.0).abs() < 0.03, "{name}: {us}");
    }
}

/// The interval of the second thread is half as long again.
#[test]
fn threads_have_intervals_of_their_own() {
    let [rate, ..] = measure(one_cpu(1_000), 0, bench(2, 0));
    assert!((rate - (1000.0 + 1000.0 / 1.5)).abs() < 9.0, "{rate}");
}

/// A thread that sleeps most of the time is eligible and has the earlier deadline: it preempts a
/// hog at once, and there is no idle state to leave, so it is even earlier than on an idle CPU.
#[test]
fn beside_a_hog_a_timer_thread_preempts_and_need_not_leave_an_idle_state() {
    let [_, _, _, _, idle] = measure(one_cpu(10_000), 0, bench(1, 0));
    let [rate, _, _, max, busy] = measure(one_cpu(10_000), 0, bench(1, 1));
    // It begins when the hog has had its first slice.
    assert!((985.0..1000.0).contains(&rate), "{rate}");
    assert!((8.0..13.0).contains(&(idle - busy)), "{busy} beside a hog, {idle} alone");
    assert!(max < 20.0, "{max}");
}
