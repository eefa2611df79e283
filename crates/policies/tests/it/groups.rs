//! Task groups: the shares of CPU time, the books after every event, and twins.

use policies::fair::features::{Features, Tunables};
use policies::fair::weights::weight_of;
use policies::fair::{Cfs, Fair, GroupSpec};
use proptest::prelude::*;
use sim_core::{
    Config, GroupId, MaskId, NoObserver, Ns, Op, Program, ProgramCx, SchedAttr, SchedPolicy,
    Simulation, StopReason, TaskAttr, TaskId,
};
use test_support::{
    FairChecks, Random, TraceHash, free_machine, run_checked, shapes, simulate, small_dm_crypt,
};
use topology::{CpuId, CpuSet, Machine};
use workloads::dm_crypt::DmCrypt;
use workloads::kernel_build::{self, KernelBuild};
use workloads::micro::{PingPong, Short};

const MS: Ns = 1_000_000;

fn spec(cpu_weight: u32) -> GroupSpec {
    GroupSpec { cpu_weight, ..GroupSpec::default() }
}

fn grouped(cpu_weights: &[u32], features: Features, n_cpus: usize) -> Fair<Cfs<true>> {
    let groups: Vec<_> = cpu_weights.iter().map(|w| spec(*w)).collect();
    Fair::with_groups(features, Tunables::for_cpus(n_cpus), &groups)
}

/// Hogs, each in a group and, if so, bound to a CPU.
struct Hogs(Vec<(u16, Option<u32>)>);

/// Hogs of nice levels, each in a group.
struct NiceHogs(Vec<(u16, i8)>);

impl Program for NiceHogs {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        for (group, nice) in self.0.clone() {
            cx.start_task(TaskAttr { group: GroupId(group), nice, ..TaskAttr::default() });
        }
    }

    fn next(&mut self, _cx: &mut ProgramCx<'_>, _task: TaskId) -> Op {
        Op::Run(Ns::MAX)
    }
}

impl Program for Hogs {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        for (group, cpu) in self.0.clone() {
            let n = cx.n_cpus();
            let allowed = cpu.map_or(MaskId::ALL, |c| cx.mask(CpuSet::of(n, [CpuId(c)])));
            let group = GroupId(group);
            cx.start_task(TaskAttr { group, allowed, ..TaskAttr::default() });
        }
    }

    fn next(&mut self, _cx: &mut ProgramCx<'_>, _task: TaskId) -> Op {
        Op::Run(Ns::MAX)
    }
}

/// CPU time of each hog, in parts of a CPU.
fn parts(hogs: &[(u16, Option<u32>)], cpu_weights: &[u32], cpus: u32) -> Vec<f64> {
    let policy = grouped(cpu_weights, Features::default(), 8);
    let hogs = Hogs(hogs.to_vec());
    let mut sim = simulate(free_machine(cpus), Config::default(), policy, hogs, NoObserver);
    let until = 40_000 * MS;
    sim.run_until(until);
    sim.policy.tasks.iter().map(|se| se.sum_exec_runtime as f64 / until as f64).collect()
}

#[test]
fn a_group_competes_as_one_task_of_its_weight() {
    for (cpu_weight, share) in [(100, 1.0 / 2.0), (200, 2.0 / 3.0), (50, 1.0 / 3.0)] {
        for k in [1, 2, 5] {
            let mut hogs = vec![(1, Some(0)); k];
            hogs.push((0, Some(0)));
            let ran = parts(&hogs, &[cpu_weight], 1);
            let group: f64 = ran[..k].iter().sum();
            assert!((group - share).abs() < 0.005, "{cpu_weight}, {k} tasks: {ran:?}");
            let each = ran[..k].iter().all(|r| (r - share / k as f64).abs() < 0.005);
            assert!(each, "{cpu_weight}, {k} tasks: {ran:?}");
        }
    }
}

#[test]
fn two_groups_share_as_their_weights() {
    let hogs = [(1, None), (1, None), (2, None), (0, None)];
    let ran = parts(&hogs, &[100, 200], 1);
    for (got, share) in [(ran[0] + ran[1], 0.25), (ran[2], 0.5), (ran[3], 0.25)] {
        assert!((got - share).abs() < 0.005, "{ran:?}");
    }
}

/// A group that is busy on four CPUs weighs a quarter of a task on each: 256 against 1024.
#[test]
fn a_group_that_is_everywhere_has_a_fifth_of_each_cpu() {
    let mut hogs: Vec<_> = (0..4).map(|cpu| (1, Some(cpu))).collect();
    hogs.extend((0..4).map(|cpu| (0, Some(cpu))));
    let ran = parts(&hogs, &[100], 4);
    for (i, got) in ran.iter().enumerate() {
        let share = if i < 4 { 0.2 } else { 0.8 };
        assert!((got - share).abs() < 0.01, "{ran:?}");
    }
}

/// Tasks in groups that run, sleep, fork, wake each other and change their nice level.
#[derive(Clone, Debug)]
pub(crate) struct Crowd {
    /// By task.
    pub groups: Vec<u16>,
    pub random: Random,
}

impl Crowd {
    fn attr(&mut self, group: u16) -> TaskAttr {
        let nice = self.random.below(11) as i8 - 5;
        let policies = [SchedPolicy::Normal, SchedPolicy::Batch, SchedPolicy::Idle];
        let policy = policies[(self.random.below(8) as usize).saturating_sub(5)];
        TaskAttr { nice, policy, group: GroupId(group), ..TaskAttr::default() }
    }
}

impl Program for Crowd {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        for group in self.groups.clone() {
            let attr = self.attr(group);
            cx.start_task(attr);
        }
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let n = self.groups.len() as u64;
        let other = TaskId(self.random.below(n) as u32);
        match self.random.below(24) {
            0..6 => Op::Sleep(self.random.below(8 * MS)),
            6..9 => Op::Wake { task: other, sync: self.random.below(2) == 0 },
            9 => Op::Wait,
            10 => Op::Yield,
            11 => Op::Exec,
            12 if task.0 >= n as u32 => Op::Exit,
            13 => {
                let group = self.groups[other.idx()];
                let attr = self.attr(group);
                Op::Fork(cx.new_task(attr))
            }
            14 => {
                let attr =
                    SchedAttr { nice: self.random.below(11) as i8 - 5, ..SchedAttr::default() };
                Op::SetScheduler { task: other, attr }
            }
            15 => Op::Kernel(self.random.below(MS)),
            _ => Op::Run(self.random.below(6 * MS)),
        }
    }
}

fn features() -> impl Strategy<Value = Features> {
    any::<u8>().prop_map(|bits| {
        let on = |bit: u8| bits >> bit & 1 == 1;
        Features {
            next_buddy: on(0),
            last_buddy: on(1),
            util_est: on(2),
            base_slice: on(3),
            alt_period: on(4),
            gentle_fair_sleepers: on(5),
            swqueue: on(6),
            ..Features::default()
        }
    })
}

/// Up to three groups, and which of them (0: the root) each of some tasks is in.
fn groups() -> impl Strategy<Value = (Vec<u32>, Vec<u16>)> {
    prop::collection::vec(1u32..=1000, 1..4).prop_flat_map(|weights| {
        let n = weights.len() as u16;
        (Just(weights), prop::collection::vec(0..=n, 2..24))
    })
}

/// Everything that one run shows.
fn fingerprint<W: Program>(
    machine: &Machine,
    policy: Fair<Cfs<true>>,
    config: Config,
    program: W,
    until: Ns,
) -> String {
    let mut sim = simulate(machine.clone(), config, policy, program, TraceHash::default());
    let end = sim.run_until(until);
    let times: Vec<_> = sim.w.cpus.iter().map(|c| (c.time, c.ticks)).collect();
    let counters = sim_core::Counters { events: 0, ..sim.w.counters };
    let averages: Vec<_> = sim.policy.rqs.iter().map(|rq| (rq.avg, rq.min_vruntime)).collect();
    let tasks: Vec<_> = sim.policy.tasks.iter().map(|se| (se.vruntime, se.avg)).collect();
    format!("{end:?} {:x} {times:?} {counters:?} {averages:?} {tasks:?}", sim.observer.hash)
}

fn build() -> KernelBuild {
    KernelBuild::new(kernel_build::Config {
        jobs: 8,
        objects: 40,
        directories: 6,
        work_s: 4.0,
        prepare_s: 0.05,
        link_s: 0.1,
        ..kernel_build::Config::default()
    })
}

fn all_users(every_tick: bool) -> Config {
    Config { simulate_every_tick: every_tick, user_group: GroupId(1), ..Config::default() }
}

fn check<W: Program>(
    machine: Machine,
    policy: Fair<Cfs<true>>,
    program: W,
    until: Ns,
) -> Result<StopReason, String> {
    let mut sim: Simulation<_, _, NoObserver> =
        simulate(machine, all_users(false), policy, program, NoObserver);
    let mut checks = FairChecks::default();
    run_checked(&mut sim, until, |sim| checks.check(sim))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Shares on two levels: a group has its part of the CPU by its weight, a task its part of the
    /// group's by its own.
    #[test]
    fn hogs_share_in_proportion_within_groups_and_between_them(
        cpu_weights in prop::collection::vec(50u32..=400, 2),
        hogs in prop::collection::vec((0u16..=2, -3i8..=3), 2..9),
    ) {
        let weight = |nice| f64::from(weight_of(nice, SchedPolicy::Normal).0);
        let policy = grouped(&cpu_weights, Features::default(), 8);
        let program = NiceHogs(hogs.clone());
        let mut sim = simulate(free_machine(1), Config::default(), policy, program, NoObserver);
        let until = 40_000 * MS;
        sim.run_until(until);
        let of = |group: u16| hogs.iter().filter(move |(g, _)| *g == group);
        let sum = |group| of(group).map(|(_, nice)| weight(*nice)).sum::<f64>();
        let shares = |group: u16| match of(group).count() {
            0 => 0.0,
            _ => f64::from(spec(cpu_weights[usize::from(group) - 1]).weight()),
        };
        let total = sum(0) + shares(1) + shares(2);
        // A turn too many or too few, on each level.
        let most_off = 4.0 * (24.0_f64.max(3.0 * hogs.len() as f64) + 4.0);
        for (se, (group, nice)) in sim.policy.tasks.iter().zip(&hogs) {
            let part = match group {
                0 => weight(*nice) / total,
                _ => shares(*group) / total * weight(*nice) / sum(*group),
            };
            let off_ms = (se.sum_exec_runtime as f64 - part * until as f64).abs() / MS as f64;
            prop_assert!(off_ms <= most_off, "{} ms off: {:?} {:?}", off_ms, cpu_weights, hogs);
        }
    }

    #[test]
    fn books_of_groups_are_in_order(
        shape in shapes(),
        (weights, groups) in groups(),
        features in features(),
        seed in 1u64..1 << 60,
    ) {
        let machine = shape.machine();
        let policy = grouped(&weights, features, machine.n_cpus());
        let end = check(machine, policy, Crowd { groups, random: Random::new(seed) }, 150 * MS);
        prop_assert!(end.is_ok(), "{:?}", end);
    }

    #[test]
    fn a_group_of_all_users_keeps_every_invariant(
        shape in shapes(),
        weight in 1u32..=10_000,
        kind in 0..3,
        features in features(),
        seed in 0u64..1000,
    ) {
        let machine = shape.machine();
        let policy = grouped(&[weight], features, machine.n_cpus());
        let end = match kind {
            0 => check(machine, policy, Short::new(12, 900_000, 700_000, 8, seed), Ns::MAX),
            1 => check(machine, policy, PingPong::new(4, 20_000, 40), Ns::MAX),
            _ => {
                let config = workloads::dm_crypt::Config { seed, ..small_dm_crypt() };
                check(machine, policy, DmCrypt::new(config), 40 * MS)
            }
        };
        prop_assert!(end.is_ok(), "{:?}", end);
    }

    /// Ticks that are computed decide and account exactly as ticks that are simulated.
    #[test]
    fn with_groups_computed_ticks_equal_simulated_ones(
        shape in shapes(),
        (weights, groups) in groups(),
        features in features(),
        kind in 0..4,
        seed in 1u64..1 << 60,
    ) {
        let machine = shape.machine();
        let n = machine.n_cpus();
        let both = |every| {
            let policy = grouped(&weights, features, n);
            let free = Config { simulate_every_tick: every, ..Config::default() };
            match kind {
                0 => fingerprint(&machine, policy, all_users(every), build(), Ns::MAX),
                1 => {
                    let config = workloads::dm_crypt::Config { seed, ..small_dm_crypt() };
                    fingerprint(&machine, policy, all_users(every), DmCrypt::new(config), 60 * MS)
                }
                2 => {
                    let groups = groups.iter().map(|g| (*g, None)).collect();
                    fingerprint(&machine, policy, free, Hogs(groups), 1500 * MS)
                }
                _ => {
                    let crowd = Crowd { groups: groups.clone(), random: Random::new(seed) };
                    fingerprint(&machine, policy, free, crowd, 300 * MS)
                }
            }
        };
        prop_assert_eq!(both(false), both(true));
    }

    /// On one CPU, where no decision needs a task's load, groups without tasks change nothing.
    #[test]
    fn a_root_group_alone_is_flat_cfs(
        nice in prop::collection::vec(-10i8..10, 1..12),
        features in features(),
        seed in 1u64..1 << 60,
    ) {
        let machine = topology::Machine::regular(topology::RegularSpec {
            cores_per_llc: 1,
            threads_per_core: 1,
            ..topology::RegularSpec::default()
        });
        let crowd = Crowd { groups: vec![0; nice.len()], random: Random::new(seed) };
        let config = Config::default;
        let flat = {
            let policy = Fair::new(features, Tunables::for_cpus(8));
            let hash = TraceHash::default();
            let mut sim = simulate(machine.clone(), config(), policy, crowd.clone(), hash);
            sim.run_until(1000 * MS);
            let averages: Vec<_> = sim.policy.rqs.iter().map(|rq| rq.avg).collect();
            (sim.observer.hash, averages)
        };
        let policy = grouped(&[100], features, 8);
        let mut sim = simulate(machine, config(), policy, crowd, TraceHash::default());
        sim.run_until(1000 * MS);
        let averages: Vec<_> = sim.policy.rqs.iter().map(|rq| rq.avg).collect();
        prop_assert_eq!(flat, (sim.observer.hash, averages));
    }
}

#[test]
fn the_same_seed_gives_the_same_run_with_groups() {
    let machine = Machine::regular(topology::RegularSpec::default());
    let run = || {
        let policy = grouped(&[100], Features::default(), machine.n_cpus());
        fingerprint(&machine, policy, all_users(false), build(), Ns::MAX)
    };
    assert_eq!(run(), run());
}
