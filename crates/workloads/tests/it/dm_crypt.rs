//! dm-crypt under fio: what must hold at every instant, and rates that can be computed by hand.

use policies::fair::Fair;
use policies::fair::features::{Features, Tunables};
use policies::fcfs::Fcfs;
use policies::workqueue::{ActivePer, Affinity, Scope, Workqueues};
use proptest::prelude::*;
use sim_core::{Config, NoObserver, Program};
use test_support::{free_machine, run_checked, shapes, simulate, small_dm_crypt};
use workloads::affinity_changes::AffinityChange;
use workloads::dm_crypt::{self, DmCrypt};

const MS: u64 = 1_000_000;
/// By then fio has let its jobs go.
const UNDER_WAY: u64 = 130 * MS;

fn value(program: &DmCrypt, elapsed_ns: u64, name: &str) -> f64 {
    let results = program.results(elapsed_ns);
    results.iter().find(|(known, _)| *known == name).expect("it is measured").1
}

#[test]
fn a_writer_alone_is_as_fast_as_it_can_hash() {
    let config = dm_crypt::Config { numjobs: 1, read_pct: 0.0, ..small_dm_crypt() };
    let program = DmCrypt::new(config);
    let machine = free_machine(16);
    let mut sim = simulate(machine, Config::default(), Fcfs::default(), program, NoObserver);
    sim.run_until(UNDER_WAY);
    sim.begin_measurement();
    sim.run_until(UNDER_WAY + 500 * MS);
    // Generate, hash, io_submit, reap; the two latter at 3.8 GHz.
    let us = 10.923 + 65.536 + (3.5 + 1.5) * 3.8 / 3.0;
    let expected = 32.0 / 1024.0 / (us * 1e-6);
    let written = value(&sim.program, 500 * MS, "bandwidth_write");
    assert!((written / expected - 1.0).abs() < 0.01, "{written} against {expected}");
}

#[test]
fn requests_in_flight_are_rate_times_latency() {
    // Little's law, with all queues full: in flight = rate x latency.
    let config = dm_crypt::Config { numjobs: 3, iodepth: 32, ..small_dm_crypt() };
    let in_flight = f64::from(config.numjobs * config.iodepth);
    let machine = topology::Machine::regular(topology::RegularSpec::default());
    let policy = Fair::new(Features::default(), Tunables::for_cpus(machine.n_cpus()));
    let program = DmCrypt::new(config);
    let mut sim = simulate(machine, Config::default(), policy, program, NoObserver);
    sim.run_until(UNDER_WAY);
    sim.begin_measurement();
    sim.run_until(UNDER_WAY + 3000 * MS);
    let of = |name| value(&sim.program, 3000 * MS, name);
    let per_us = (of("bandwidth") + of("bandwidth_write")) * 1024.0 / 32.0 * 1e-6;
    let found = per_us * of("latency_mean");
    assert!((found / in_flight - 1.0).abs() < 0.02, "{found} of {in_flight}");
}

fn affinities() -> impl Strategy<Value = Affinity> {
    let scopes =
        prop_oneof![Just(Scope::Cpu), Just(Scope::Smt), Just(Scope::Cache), Just(Scope::System)];
    (scopes, any::<bool>(), any::<bool>()).prop_map(|(scope, strict, localize)| Affinity {
        scope,
        strict,
        localize,
    })
}

/// Encrypting is kernel work, but a worker offers its CPU after each sector: whether the kernel is
/// preemptible makes no difference to the tasks beside it.
#[test]
fn a_worker_gives_way_between_sectors_in_every_kernel() {
    let switches = |preemptible_kernel| {
        // 33 ms for each item, on the CPU of the issuer and of dmcrypt_write.
        let config = dm_crypt::Config { numjobs: 1, crypt_mb_s: 1.0, ..small_dm_crypt() };
        let mut machine = free_machine(1);
        machine.preemptible_kernel = preemptible_kernel;
        let policy = Fair::new(Features::default(), Tunables::for_cpus(1));
        let program = DmCrypt::new(config);
        let mut sim = simulate(machine, Config::default(), policy, program, NoObserver);
        sim.run_until(UNDER_WAY);
        sim.begin_measurement();
        sim.run_until(UNDER_WAY + 1000 * MS);
        sim.w.counters.switches as f64
    };
    let (yes, no) = (switches(true), switches(false));
    assert!(yes > 200.0 && (no / yes - 1.0).abs() < 0.1, "{yes} {no}");
}

#[test]
fn the_issuers_have_the_nice_level_of_fio() {
    let program = DmCrypt::new(dm_crypt::Config { nice: 9, ..small_dm_crypt() });
    let mut sim =
        simulate(free_machine(2), Config::default(), Fcfs::default(), program, NoObserver);
    sim.run_until(MS);
    assert_eq!(sim.w.tasks.iter().filter(|t| t.attr.nice == 9).count(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_invariant_holds_whatever_the_scope(
        shape in shapes(),
        affinity in affinities(),
        to in affinities(),
        (numjobs, iodepth, max_active) in (1u32..5, 1u32..20, 1u32..20),
        active_per in prop_oneof![Just(ActivePer::Cpu), Just(ActivePer::Node)],
        read_pct in 0.0..100.0f64,
        hash_reads: bool,
        seed in 0u64..1000,
    ) {
        let change = AffinityChange {
            at: UNDER_WAY + 5 * MS,
            scope: Some(to.scope),
            strict: Some(to.strict),
            localize: Some(to.localize),
        };
        let config = dm_crypt::Config {
            numjobs,
            iodepth,
            max_active,
            active_per,
            read_pct,
            hash_reads,
            affinity,
            changes: vec![change],
            seed,
            ..small_dm_crypt()
        };
        let machine = shape.machine();
        let policy = Fair::new(Features::default(), Tunables::for_cpus(machine.n_cpus()));
        let program = DmCrypt::new(config);
        let mut sim = simulate(machine, Config::default(), policy, program, NoObserver);
        let end = run_checked(&mut sim, UNDER_WAY + 15 * MS, |sim| {
            let wq = sim.program.inspect().and_then(|part| part.downcast_ref::<Workqueues>());
            wq.expect("they are made at the start").check(&sim.w)
        });
        prop_assert!(end.is_ok(), "{:?}", end);
        let moved = value(&sim.program, 1, "bandwidth") + value(&sim.program, 1, "bandwidth_write");
        prop_assert!(moved > 0.0);
    }
}
