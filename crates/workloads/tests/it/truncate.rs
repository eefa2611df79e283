//! Truncation: times that can be computed by hand, contention with reclaim, what must hold always.

use policies::fair::Fair;
use policies::fair::features::{Features, Tunables};
use policies::fcfs::Fcfs;
use proptest::prelude::*;
use sim_core::{Config, NoObserver, Ns, Policy, Program, Simulation, StopReason};
use test_support::{TraceHash, free_machine, run_checked, shapes, simulate};
use topology::Machine;
use workloads::truncate::TREE_LOCK_SITE;
use workloads::truncate::{self, Batch, Truncate, VECTOR};

const MS: Ns = 1_000_000;

/// Four files of 28 pages: two of shadows, two of pages.
fn config() -> truncate::Config {
    truncate::Config {
        files: 4,
        pages: 28,
        data_pct: 200.0,
        cache_pct: 100.0,
        batch: Batch::Entry,
        entry_ns: 26.5,
        alone_ns: 0.0,
        page_ns: 140.25,
        page_locked: 0.0,
        page_irqs: 0.0,
        file_ns: 2000.0,
        between_ns: 1000,
        spread: 0.0,
        reclaimers: 0,
        seed: 1,
    }
}

/// Nothing costs time but locks: 6 ns for the locked instruction and 7 for interrupts off and on.
fn machine_of_locks(cpus: u32) -> Machine {
    let mut machine = free_machine(cpus);
    (machine.locks.fast_ns, machine.locks.queue_hold_ns) = (6, 7);
    machine
}

fn run<P: Policy>(
    machine: Machine,
    policy: P,
    config: truncate::Config,
) -> Simulation<P, Truncate, NoObserver> {
    let program = Truncate::new(config);
    let mut sim = simulate(machine, Config::default(), policy, program, NoObserver);
    assert_eq!(sim.run_until(60_000 * MS), StopReason::Done);
    sim
}

fn value(program: &Truncate, elapsed_ns: Ns, name: &str) -> f64 {
    let results = program.results(elapsed_ns);
    results.iter().find(|(known, _)| *known == name).expect("it is measured").1
}

/// How long one file takes from the call to its return, ns: what a second one adds to a run.
fn one_file(cache_pct: f64, batch: Batch, pages: u32) -> f64 {
    let until = |files| {
        let config = truncate::Config { files, cache_pct, batch, pages, ..config() };
        run(machine_of_locks(1), Fcfs::default(), config).w.now
    };
    (until(2) - until(1) - config().between_ns) as f64
}

#[test]
fn an_uncontended_file_takes_the_sum_of_its_parts() {
    let (lock, file) = (6.0 + 7.0, 2000.0);
    for pages in [1u32, 13, 14, 15, 1024] {
        let n = f64::from(pages);
        let vectors = f64::from(pages.div_ceil(VECTOR));
        // No page in memory (a thousandth of one entry is none).
        let shadows = |batch| one_file(1e-9, batch, pages);
        let close = |found: f64, expected: f64| (found - expected).abs() <= 1.0;
        let entry = shadows(Batch::Entry);
        assert!(close(entry, file + n * (26.5 + lock)), "{pages}: {entry}");
        let pagevec = shadows(Batch::Pagevec);
        assert!(close(pagevec, file + n * 26.5 + vectors * lock), "{pages}: {pagevec}");
        for batch in [Batch::Entry, Batch::Pagevec] {
            let found = one_file(200.0, batch, pages);
            assert!(close(found, file + n * 140.25 + vectors * lock), "{pages}: {found}");
        }
    }
}

#[test]
fn locked_instructions_cost_pages_what_the_machine_says_and_lone_entries_their_calls() {
    let of = |config: truncate::Config| {
        let config = truncate::Config { files: 1, pages: 140, ..config };
        run(machine_of_locks(1), Fcfs::default(), config).w.now
    };
    let pages = truncate::Config { cache_pct: 200.0, spread: 0.5, ..config() };
    // 140 pages with 6.5 locked instructions of 6 ns and half a section of 7 ns: no spread in it.
    let more = truncate::Config { page_locked: 6.5, page_irqs: 0.5, alone_ns: 10.0, ..pages };
    assert_eq!(of(more) - of(pages), 140 * 85 / 2);
    for (batch, expected) in [(Batch::Entry, 140 * 10), (Batch::Pagevec, 0)] {
        let shadows = truncate::Config { batch, cache_pct: 1e-9, ..config() };
        let more = truncate::Config { page_locked: 6.5, alone_ns: 10.0, ..shadows };
        assert_eq!(of(more) - of(shadows), expected);
    }
}

#[test]
fn a_vector_of_both_kinds_takes_two_holds_of_the_lock() {
    // One file of 14 entries, half of them pages.
    for (batch, holds) in [(Batch::Entry, 7 + 1), (Batch::Pagevec, 2)] {
        let config = truncate::Config { files: 1, pages: 14, batch, ..config() };
        let sim = run(machine_of_locks(1), Fcfs::default(), config);
        assert_eq!(sim.w.locks.site(TREE_LOCK_SITE).acquired, holds);
    }
}

#[test]
fn batches_take_the_lock_a_fourteenth_of_the_times() {
    let of = |batch| {
        let config = truncate::Config { cache_pct: 1e-9, batch, ..config() };
        let sim = run(machine_of_locks(2), Fcfs::default(), config);
        sim.w.locks.site(TREE_LOCK_SITE).acquired
    };
    assert_eq!(of(Batch::Entry), 4 * 28);
    assert_eq!(of(Batch::Entry), u64::from(VECTOR) * of(Batch::Pagevec));
}

#[test]
fn variants_meet_the_same_work() {
    // With files of different costs the batch saves its locks, and nothing else.
    let of = |batch| {
        let config = truncate::Config { batch, spread: 0.3, files: 50, pages: 140, ..config() };
        run(machine_of_locks(1), Fcfs::default(), config).w.now
    };
    let saved = of(Batch::Entry) - of(Batch::Pagevec);
    assert_eq!(saved, 25 * (140 - 10) * (6 + 7));
}

#[test]
fn times_are_told_of_every_file_in_whole_microseconds() {
    let config = truncate::Config { files: 100, pages: 1024, ..config() };
    let sim = run(machine_of_locks(1), Fcfs::default(), config);
    let of = |name| value(&sim.program, sim.w.now, name);
    // 2 + 1024 x 0.0395 = 42.4 us; 2 + 1024 x 0.14025 + 74 x 0.013 = 146.6 us.
    assert!([42.0, 43.0].contains(&of("time_1st_qrtle")), "{}", of("time_1st_qrtle"));
    assert!([146.0, 147.0].contains(&of("time_3rd_qrtle")), "{}", of("time_3rd_qrtle"));
    let mean = (42.448 + 146.578) / 2.0;
    assert!((of("time_amean") - mean).abs() < 0.2, "{}", of("time_amean"));
    let per_s = 100.0 / (sim.w.now as f64 * 1e-9);
    assert!((of("throughput") - per_s).abs() < 1e-6);
}

#[test]
fn reclaim_beside_it_contends_for_the_locks_and_leaves_shadows() {
    let of = |reclaimers| {
        let config = truncate::Config {
            files: 40,
            pages: 1024,
            cache_pct: 200.0,
            reclaimers,
            batch: Batch::Pagevec,
            ..config()
        };
        let machine = Machine::regular(topology::RegularSpec::default());
        let tunables = Tunables::for_cpus(machine.n_cpus());
        let sim = run(machine, Fair::new(Features::default(), tunables), config);
        (sim.w.now, *sim.w.locks.site(TREE_LOCK_SITE))
    };
    let (alone_ns, alone) = of(0);
    assert_eq!((alone.contended, alone.acquired), (0, 40 * 74));
    let (beside_ns, beside) = of(2);
    assert!(beside.contended > 100, "{beside:?}");
    assert!(beside.wait_ns > 0 && beside.acquired > 2 * alone.acquired, "{beside:?}");
    // Reclaim runs ahead, so the task that deletes finds files of shadows.
    assert!(beside_ns < alone_ns, "{beside_ns} against {alone_ns}");
}

#[test]
fn equal_seeds_give_equal_runs() {
    let hash = |seed| {
        let config = truncate::Config { seed, spread: 0.1, reclaimers: 2, ..config() };
        let machine = Machine::regular(topology::RegularSpec::default());
        let policy = Fair::new(Features::default(), Tunables::for_cpus(machine.n_cpus()));
        let program = Truncate::new(config);
        let mut sim = simulate(machine, Config::default(), policy, program, TraceHash::default());
        assert_eq!(sim.run_until(60_000 * MS), StopReason::Done);
        (sim.observer.hash, sim.program.results(sim.w.now))
    };
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1).0, hash(2).0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// On any machine, with any number of reclaimers, every file is deleted and all invariants
    /// hold at every instant.
    #[test]
    fn every_file_is_deleted(
        shape in shapes(),
        (files, pages) in (1u32..5, 1u32..50),
        cache_pct in 1.0..300.0f64,
        by_entry in any::<bool>(),
        reclaimers in 0u32..4,
        seed in 0u64..100,
    ) {
        let batch = if by_entry { Batch::Entry } else { Batch::Pagevec };
        let config = truncate::Config { files, pages, cache_pct, batch, ..config() };
        let config = truncate::Config { reclaimers, spread: 0.2, seed, ..config };
        let machine = shape.machine();
        let policy = Fair::new(Features::default(), Tunables::for_cpus(machine.n_cpus()));
        let program = Truncate::new(config);
        let mut sim = simulate(machine, Config::default(), policy, program, NoObserver);
        let end = run_checked(&mut sim, 1000 * MS, |_| Ok(())).map_err(TestCaseError::fail)?;
        prop_assert_eq!(end, StopReason::Done);
        prop_assert_eq!(sim.program.deleted(), files as usize);
    }
}
