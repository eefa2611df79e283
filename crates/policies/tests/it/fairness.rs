//! Turns and shares of CPU-bound tasks on one CPU under CFS. The machine has no costs, so that
//! ticks fall exactly where the arithmetic puts them.

use policies::fair::Fair;
use policies::fair::features::{Features, Tunables};
use proptest::prelude::*;
use sim_core::{Config, NoObserver, Ns, Observer, TaskId, World};
use test_support::{free_machine, simulate};
use topology::CpuId;
use workloads::micro::Spinners;

const MS: Ns = 1_000_000;

#[derive(Default)]
struct Switches(Vec<Ns>);

impl Observer for Switches {
    fn switch(&mut self, w: &World, _cpu: CpuId, _prev: TaskId, _next: TaskId) {
        self.0.push(w.now);
    }
}

fn hogs(n_tasks: usize, hz: u32) -> Vec<Ns> {
    let mut machine = free_machine(1);
    machine.hz = hz;
    // The tunables of a machine with eight CPUs: latency 24 ms, minimum granularity 3 ms.
    let policy = Fair::new(Features::default(), Tunables::for_cpus(8));
    let program = Spinners::new(vec![0; n_tasks], 0);
    let mut sim = simulate(machine, Config::default(), policy, program, Switches::default());
    sim.run_until(2_000 * MS);
    sim.observer.0
}

/// Lengths of turns after the start, in ms, without repetitions.
fn turns(n_tasks: usize, hz: u32) -> Vec<Ns> {
    let switches = hogs(n_tasks, hz);
    let settled = &switches[switches.len() / 2..];
    let mut lengths: Vec<Ns> = settled.windows(2).map(|w| (w[1] - w[0]) / MS).collect();
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

#[test]
fn two_hogs_switch_every_12_ms() {
    assert_eq!(turns(2, 250), [12]);
}

#[test]
fn four_hogs_switch_at_the_first_tick_after_their_slice() {
    assert_eq!(turns(4, 250), [8]);
    assert_eq!(turns(4, 1000), [6]);
}

#[test]
fn ten_hogs_take_turns_of_one_tick() {
    assert_eq!(turns(10, 250), [4]);
}

fn runtimes(nice: &[i8], until: Ns) -> Vec<Ns> {
    let policy = Fair::new(Features::default(), Tunables::for_cpus(8));
    let program = Spinners::new(nice.to_vec(), 0);
    let mut sim = simulate(free_machine(1), Config::default(), policy, program, NoObserver);
    sim.run_until(until);
    let curr = sim.w.cpus[CpuId(0)].curr;
    let running = |p: usize| TaskId(p as u32) == curr;
    let tasks = sim.policy.tasks.iter().enumerate();
    let since = |se: &policies::fair::state::FairTask| until - se.exec_start;
    tasks.map(|(p, se)| se.sum_exec_runtime + if running(p) { since(se) } else { 0 }).collect()
}

#[test]
fn nice_0_and_nice_5_share_as_their_weights() {
    let ran = runtimes(&[0, 5], 10_000 * MS);
    let share = ran[0] as f64 / ran[1] as f64;
    assert!((share / (1024.0 / 335.0) - 1.0).abs() < 0.01, "{ran:?}");
}

/// Weights of nice levels (sched(7)).
fn weight(nice: i8) -> f64 {
    policies::fair::weights::weight_of(nice, sim_core::SchedPolicy::Normal).0.into()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Over a long window every task has had its share, up to two turns of the longest kind.
    #[test]
    fn hogs_share_in_proportion(nice in prop::collection::vec(-5i8..=5, 2..8)) {
        let until = 30_000 * MS;
        let ran = runtimes(&nice, until);
        prop_assert_eq!(ran.iter().sum::<Ns>(), until);
        let total: f64 = nice.iter().map(|n| weight(*n)).sum();
        let period = 24.0_f64.max(3.0 * nice.len() as f64) + 4.0;
        for (n, ns) in nice.iter().zip(&ran) {
            let fair_ms = until as f64 / MS as f64 * weight(*n) / total;
            let off_ms = (*ns as f64 / MS as f64 - fair_ms).abs();
            prop_assert!(off_ms <= 2.0 * period, "{} ms off: {:?} {:?}", off_ms, nice, ran);
        }
    }
}
