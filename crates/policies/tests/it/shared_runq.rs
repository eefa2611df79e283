//! SHARED_RUNQ, versions 2 to 4 of the shared wakequeue, in whole simulations.

use policies::fair::features::{Features, Tunables};
use policies::fair::shared_runq::{SharedRunq, Version};
use policies::fair::{Cfs, Discipline, Eevdf, Fair, FairCounters, GroupSpec, Rules};
use proptest::prelude::*;
use sim_core::{Config, GroupId, NoObserver, Program, Simulation, StopReason, TaskId, World};
use test_support::{
    EachItsOwn, FairChecks, check_class, fingerprint_of, meddlers, run_checked, shapes, simulate,
    small_build,
};
use topology::{Machine, RegularSpec};
use workloads::micro::{PingPong, Short, Spinners};

const MS: u64 = 1_000_000;

/// A version as it was, with shards of any size.
fn shared() -> impl Strategy<Value = SharedRunq> {
    let version = prop_oneof![Just(Version::V2), Just(Version::V3), Just(Version::V4)];
    let shared = (version, prop_oneof![Just(6), 1u32..5]);
    shared.prop_map(|(version, shard_size)| SharedRunq { version, shard_size })
}

fn cfs(machine: &Machine, shared_runq: SharedRunq) -> Fair {
    let features = Features { shared_runq: true, ..Features::default() };
    Fair::new(features, Tunables { shared_runq, ..Tunables::for_cpus(machine.n_cpus()) })
}

fn grouped(machine: &Machine, shared_runq: SharedRunq) -> Fair<Cfs<true>> {
    let features = Features { shared_runq: true, ..Features::default() };
    let tunables = Tunables { shared_runq, ..Tunables::for_cpus(machine.n_cpus()) };
    Fair::with_groups(features, tunables, &[GroupSpec { cpu_weight: 300, ..GroupSpec::default() }])
}

fn eevdf(machine: &Machine, shared_runq: SharedRunq) -> Fair<Eevdf> {
    let rules = Rules::V6_6;
    let features = Features { shared_runq: true, ..Features::for_rules(rules) };
    let tunables = Tunables { shared_runq, ..Tunables::for_rules(rules, machine.n_cpus()) };
    Fair::eevdf(rules, features, tunables)
}

/// Tasks that wait and could go elsewhere, but are on no shared queue. Only those count whose
/// runqueue's lock is free.
fn waiting_unseen<S: Discipline, W: Program, P>(sim: &Simulation<Fair<S>, W, P>) -> u64
where
    P: sim_core::Observer,
{
    let locked = |cpu| sim.w.locks.owner(sim_core::LockId::rq(cpu)).is_some();
    let tasks = sim.w.tasks.iter().zip(&sim.policy.tasks).enumerate();
    let unseen = tasks.filter(|(id, (t, se))| {
        let is_curr = sim.w.cpus[t.cpu].curr == TaskId(*id as u32);
        let waits = t.on_rq && !t.migrating && !is_curr && t.nr_cpus_allowed > 1;
        waits && !se.on_swqueue && !locked(t.cpu)
    });
    unseen.count() as u64
}

/// Versions 2 and 3: a task that waits is on a shared queue, unless a CPU has just popped it.
fn check_all_seen<S: Discipline, W: Program>(
    sim: &Simulation<Fair<S>, W, NoObserver>,
) -> Result<(), String> {
    let c = &sim.policy.counters;
    let pulls_under_way = c.pull_attempts - c.pull_hits - c.pull_lost - c.pull_empty;
    let allowed = pulls_under_way + sim.policy.balance.swq.popped_otherwise;
    let unseen = waiting_unseen(sim);
    if unseen > allowed {
        return Err(format!("{unseen} tasks wait unseen, {pulls_under_way} pulls are under way"));
    }
    Ok(())
}

/// Drives one of several programs with all invariants checked.
fn check<S: Discipline>(
    machine: &Machine,
    policy: Fair<S>,
    kind: u32,
    seed: u64,
) -> Result<StopReason, String> {
    let machine = machine.clone();
    let n = machine.n_cpus() as u32;
    match kind {
        0 => check_class(machine, policy, true, small_build(1.0), u64::MAX),
        1 => check_class(machine, policy, true, PingPong::new(n, 5_000, 50), u64::MAX),
        2 => check_class(machine, policy, false, Spinners::new(vec![0; 9], 40 * MS), u64::MAX),
        _ => {
            let program = Short::new(2 * n, 400_000, 300_000, 10, seed);
            check_class(machine, policy, true, program, u64::MAX)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_invariant_holds(
        shape in shapes(),
        shared in shared(),
        kind in 0u32..4,
        discipline in 0..3,
        seed: u64,
    ) {
        let machine = shape.machine();
        let end = match discipline {
            0 => check(&machine, cfs(&machine, shared), kind, seed),
            1 => check(&machine, grouped(&machine, shared), kind, seed),
            _ => check(&machine, eevdf(&machine, shared), kind, seed),
        };
        prop_assert_eq!(end, Ok(StopReason::Done));
    }

    #[test]
    fn whatever_is_changed_every_invariant_holds(
        shape in shapes(),
        program in meddlers(),
        shared in shared(),
        ttwu_queue: bool,
    ) {
        let machine = shape.machine();
        let config = Config { ttwu_queue, ..Config::default() };
        let policy = cfs(&machine, shared);
        let mut sim = simulate(machine, config, policy, program, NoObserver);
        let mut checks = FairChecks::default();
        let end = run_checked(&mut sim, 60 * MS, |sim| checks.check(sim));
        prop_assert!(end.is_ok(), "{end:?}");
    }

    #[test]
    fn whoever_waits_is_queued(
        shape in shapes(),
        program in meddlers(),
        version in prop_oneof![Just(Version::V2), Just(Version::V3)],
        shard_size in 1u32..8,
    ) {
        let machine = shape.machine();
        let policy = eevdf(&machine, SharedRunq { version, shard_size });
        let mut sim = simulate(machine, Config::default(), policy, program, NoObserver);
        let mut checks = FairChecks::default();
        let end = run_checked(&mut sim, 60 * MS, |sim| {
            checks.check(sim)?;
            check_all_seen(sim)
        });
        prop_assert!(end.is_ok(), "{end:?}");
    }

    #[test]
    fn computed_ticks_equal_simulated_ones(
        shape in shapes(),
        shared in shared(),
        kind in 0..3,
        seed in 0u64..1000,
    ) {
        let machine = shape.machine();
        let n = machine.n_cpus() as u32;
        let both = |every| match kind {
            0 => fingerprint_of(&machine, cfs(&machine, shared), every, small_build(1.0), u64::MAX),
            1 => {
                let program = Spinners::new(vec![0; n as usize + 3], 300 * MS);
                fingerprint_of(&machine, eevdf(&machine, shared), every, program, 2000 * MS)
            }
            _ => {
                let program = Short::new(2 * n, 900_000, 700_000, 0, seed);
                fingerprint_of(&machine, cfs(&machine, shared), every, program, 300 * MS)
            }
        };
        prop_assert_eq!(both(false), both(true));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_changed_computed_ticks_equal_simulated_ones(
        shape in shapes(),
        program in meddlers(),
        shared in shared(),
        discipline in 0..3,
    ) {
        let machine = shape.machine();
        let program = EachItsOwn::new(program);
        let both = |every| {
            let program = program.clone();
            match discipline {
                0 => fingerprint_of(&machine, cfs(&machine, shared), every, program, 60 * MS),
                1 => fingerprint_of(&machine, grouped(&machine, shared), every, program, 60 * MS),
                _ => fingerprint_of(&machine, eevdf(&machine, shared), every, program, 60 * MS),
            }
        };
        prop_assert_eq!(both(false), both(true));
    }
}

/// The counters of 100 ms of short bursts on an LLC of 16 CPUs.
fn counters(policy: impl FnOnce(&Machine) -> Fair<Eevdf>) -> FairCounters {
    let spec = RegularSpec { cores_per_llc: 16, threads_per_core: 1, ..RegularSpec::default() };
    let machine = Machine::regular(spec);
    let policy = policy(&machine);
    let program = Short::new(48, 300_000, 600_000, 0, 1);
    let config = Config { user_group: GroupId(0), ..Config::default() };
    let world = World::new(std::sync::Arc::new(machine), config);
    let mut sim = Simulation::new(world, policy, program, NoObserver);
    sim.run_until(100 * MS);
    sim.policy.counters
}

/// What the patches are for: CPUs that would idle find work, and newidle balance has less to do.
#[test]
fn a_shared_runqueue_feeds_idle_cpus() {
    for version in [Version::V2, Version::V3, Version::V4] {
        let shared = SharedRunq { version, shard_size: 6 };
        let with = counters(|m| eevdf(m, shared));
        let without = counters(|m| {
            Fair::eevdf(
                Rules::V6_6,
                Features::for_rules(Rules::V6_6),
                Tunables::for_rules(Rules::V6_6, m.n_cpus()),
            )
        });
        assert_eq!(without.pull_attempts, 0);
        assert!(with.pull_hits > 100, "{version:?} {with:?}");
        let (a, b) = (with.newidle_pulls, without.newidle_pulls);
        assert!(a < b, "{version:?}: newidle balance pulled {a}, without the queue {b}");
    }
}
