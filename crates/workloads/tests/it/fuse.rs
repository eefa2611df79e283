//! Files on FUSE: switches and wake-ups of a request, and times that can be summed by hand.

use policies::fair::Fair;
use policies::fair::features::{Features, Tunables};
use policies::fcfs::Fcfs;
use proptest::prelude::*;
use sim_core::{Config, NoObserver, Ns, Observer, Program, Simulation, StopReason, TaskId, World};
use test_support::{TraceHash, free_machine, run_checked, shapes, simulate};
use topology::{BackgroundThread, CState, CpuId, Machine, Per, RegularSpec};
use workloads::background::WithBackground;
use workloads::fuse::{self, File, Fuse, Mode};
use workloads::kernel_build::{self, Files, KernelBuild};

const MS: Ns = 1_000_000;
/// By then what was dirty at the start has been written.
const WARM: Ns = 50 * MS;
const LONG: Ns = 2000 * MS;
/// An SSD that takes no time to speak of.
const FAST: f64 = 1e6;

fn config(mode: Mode, file: File) -> fuse::Config {
    fuse::Config {
        mode,
        file,
        block_kib: 4,
        readahead_kib: 128,
        numjobs: 1,
        daemon_threads: 10,
        splice: true,
        xattr: true,
        ssd_mb_s: FAST,
        spread: 0.0,
        seed: 1,
    }
}

/// Counts what the scheduler does.
#[derive(Default)]
struct Count {
    wakeups: u64,
    /// Switches away from a task.
    switches: u64,
}

impl Observer for Count {
    fn wakeup(&mut self, _w: &World, _cpu: CpuId, _task: TaskId, new: bool) {
        self.wakeups += u64::from(!new);
    }

    fn switch(&mut self, w: &World, _cpu: CpuId, prev: TaskId, _next: TaskId) {
        self.switches += u64::from(prev.idx() < w.tasks.len());
    }
}

/// What has been read and written in `elapsed`, KiB.
fn kib(program: &Fuse, elapsed: Ns) -> f64 {
    let results = program.results(elapsed);
    let found = results.iter().find(|(name, _)| name.starts_with("bandwidth"));
    found.expect("it is measured").1 * 1024.0 * elapsed as f64 * 1e-9
}

/// A machine with the clock of the one that the costs were measured on. Nothing is refilled: a
/// thread of the daemon may take the CPU of a program, which then finds its caches cold elsewhere.
fn machine() -> Machine {
    let mut machine = free_machine(8);
    machine.clock_mhz = 3900;
    (machine.caches.l3_hit_ns, machine.caches.mem_ns) = (0, 0);
    machine
}

/// While the SSD works all others may sleep without a timer. Only the kernel's threads wake up then,
/// and that is no end.
#[test]
fn a_run_that_waits_for_the_ssd_is_not_stuck() {
    let mut machine = machine();
    machine.background = vec![BackgroundThread {
        name: "kworker/{}:1".to_string(),
        per: Per::Cpu,
        cpu: None,
        nice: 0,
        kthread: true,
        run_ns: 1_000,
        sleep_ns: MS,
        long_every: 0,
        long_ns: 1,
    }];
    let slow = fuse::Config { ssd_mb_s: 20.0, ..config(Mode::Daemon, File::Read) };
    let program = WithBackground::new(Fuse::new(slow), &machine, 1);
    let mut sim = simulate(machine, Config::default(), Fcfs::default(), program, NoObserver);
    assert_eq!(sim.run_until(LONG), StopReason::Until);
}

/// ns per block, and per block: wake-ups and switches, on a machine where only work takes time.
fn per_block(config: fuse::Config) -> (f64, f64, f64) {
    per_block_on(machine(), config)
}

fn per_block_on(machine: Machine, config: fuse::Config) -> (f64, f64, f64) {
    let program = Fuse::new(config);
    let mut sim = simulate(machine, Config::default(), Fcfs::default(), program, Count::default());
    sim.run_until(WARM);
    sim.begin_measurement();
    sim.observer = Count::default();
    sim.run_until(WARM + LONG);
    let blocks = kib(&sim.program, LONG) / config.block_kib as f64;
    let per = |n: u64| n as f64 / blocks;
    (LONG as f64 / blocks, per(sim.observer.wakeups), per(sim.observer.switches))
}

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance * expected, "{found}, expected {expected}");
}

#[test]
fn a_write_takes_the_sum_of_its_parts() {
    let of = |mode, xattr| per_block(fuse::Config { xattr, ..config(mode, File::Write) }).0;
    let (raw, redirect) = (1360.0 + 240.0, 500.0);
    near(of(Mode::Raw, true), raw, 0.002);
    near(of(Mode::Passthrough, true), raw + redirect, 0.002);
    let (program, daemon) = (1090.0 + 4.0 * 308.0, 3590.0 + 800.0);
    near(of(Mode::Daemon, false), program + daemon, 0.002);
    near(of(Mode::Daemon, true), program + daemon + 1340.0 + 3400.0, 0.002);
}

#[test]
fn a_random_read_takes_the_sum_of_its_parts() {
    // 4 KiB in 100 us.
    let slow = |mode| fuse::Config { ssd_mb_s: 40.96, ..config(mode, File::RandRead) };
    // The commands and interrupts of the SSD hold for 3.8 GHz.
    let (command, complete) = (974.0, 1461.0);
    let raw = 1160.0 + 132.0 + 1000.0 + 70.0 + command + complete;
    // The mean of 19 000 service times, each within a third of 100 us: 0.14 % is one deviation.
    near(per_block(slow(Mode::Raw)).0, 1e5 + raw, 0.005);
    let served = 1230.0 + 892.0 + 2200.0 + 664.0;
    let more = per_block(slow(Mode::Daemon)).0 - per_block(slow(Mode::Raw)).0;
    // The SSD draws the same times for both, but for the last 900 of raw: 30 ns.
    near(more, served, 0.03);
}

#[test]
fn a_request_is_two_wakeups_and_two_switches() {
    for (xattr, requests) in [(true, 2.0), (false, 1.0)] {
        let config = fuse::Config { xattr, ..config(Mode::Daemon, File::Write) };
        let (_, wakeups, switches) = per_block(config);
        // The flusher and the SSD: one per 128 blocks.
        near(wakeups, 2.0 * requests, 0.01);
        near(switches, 2.0 * requests, 0.01);
    }
    for mode in [Mode::Raw, Mode::Passthrough] {
        let (_, wakeups, switches) = per_block(config(mode, File::Write));
        assert!(wakeups < 0.05 && switches < 0.05, "{wakeups} {switches}");
    }
}

#[test]
fn a_random_read_sleeps_once_below_and_twice_with_the_daemon() {
    let of = |mode| per_block(fuse::Config { ssd_mb_s: 40.96, ..config(mode, File::RandRead) });
    near(of(Mode::Raw).1, 1.0, 0.01);
    near(of(Mode::Passthrough).1, 1.0, 0.01);
    // The daemon by the request, the daemon by the SSD, the program by the reply.
    near(of(Mode::Daemon).1, 3.0, 0.01);
}

/// The governor of idle states knows of `io_schedule()`: see `ProgramCx::set_io_wait`.
#[test]
fn the_ssd_does_not_find_the_cpu_of_who_waits_for_it_in_a_deep_state() {
    let mut deep = machine();
    let state = |name: &str, exit_ns, residency_ns| CState {
        name: name.to_string(),
        exit_ns,
        core_exit_ns: exit_ns,
        residency_ns,
        polling: true,
    };
    deep.cstates = vec![state("C1", 2_000, 2_000), state("C3", 33_000, 40_000)];
    // A period that a tick cuts counts as one of 45 ms, after which C3 may be taken: no ticks here.
    deep.hz = 1;
    let longer = |ssd_mb_s| {
        let config = fuse::Config { ssd_mb_s, ..config(Mode::Raw, File::RandRead) };
        per_block_on(deep.clone(), config).0 - per_block(config).0
    };
    // 53 to 107 us lie so close together that they have a typical length. They are less than eleven
    // times C3's exit, though longer than its target residency; 400 to 800 us are more.
    near(longer(51.2), 2_000.0, 0.1);
    near(longer(6.826_667), 33_000.0, 0.05);
}

#[test]
fn nobody_is_faster_than_the_ssd_and_sequential_files_keep_it_busy() {
    for file in [File::Read, File::Write, File::RandWrite] {
        for mode in [Mode::Raw, Mode::Passthrough, Mode::Daemon] {
            // 4 KiB in 40.96 us: more than a request takes.
            let (ns, ..) = per_block(fuse::Config { ssd_mb_s: 100.0, ..config(mode, file) });
            // 400 requests of 512 KiB are written, each within a third of its mean: 1 % is one
            // deviation.
            near(ns, 40_960.0, 0.03);
        }
    }
}

#[test]
fn splicing_saves_the_daemon_the_copy() {
    let of = |splice| per_block(fuse::Config { splice, ..config(Mode::Daemon, File::RandRead) }).0;
    let (spliced, copied) = (2200.0 + 664.0, 150.0 + 2840.0);
    near(of(false) - of(true), copied - spliced, 0.01);
}

#[test]
fn one_thread_serves_one_job_and_more_come_when_it_is_busy() {
    let threads = |numjobs, daemon_threads| {
        let config =
            fuse::Config { numjobs, daemon_threads, ..config(Mode::Daemon, File::RandRead) };
        let config = fuse::Config { ssd_mb_s: 10.0, ..config };
        let machine = free_machine(16);
        let mut sim =
            simulate(machine, Config::default(), Fcfs::default(), Fuse::new(config), NoObserver);
        sim.run_until(WARM);
        sim.program.daemon_threads()
    };
    // libfuse starts a thread when it has no free one, so there is one more than is busy.
    assert_eq!(threads(1, 10), 2);
    assert_eq!(threads(4, 10), 5);
    assert_eq!(threads(40, 10), 10);
    assert_eq!(threads(4, 1), 1);
}

/// How long a build of 20 objects by one job takes, ns.
fn build_ns(mode: Option<Mode>) -> f64 {
    let build = KernelBuild::new(kernel_build::Config {
        jobs: 1,
        objects: 20,
        directories: 3,
        work_s: 10.0,
        ..kernel_build::Config::default()
    });
    let files =
        |mode| Files { mode, daemon_threads: 10, splice: true, xattr: true, keep_cache: true };
    let build = match mode {
        Some(mode) => build.with_files(files(mode)),
        None => build,
    };
    let mut sim = simulate(machine(), Config::default(), Fcfs::default(), build, NoObserver);
    assert_eq!(sim.run_until(Ns::MAX), StopReason::Done);
    sim.w.now as f64
}

#[test]
fn a_build_takes_longer_by_the_requests_that_it_waits_for() {
    let raw = build_ns(None);
    let bare = 1340.0 + 3400.0;
    // No program waits for a release, but to ask for it takes half of a program's time.
    let names = 20.0 * (1347.0 * (2.0 * bare + 670.0) + 38.0 * bare);
    near(build_ns(Some(Mode::Passthrough)) - raw, names, 0.001);
    let read = 1230.0 + 16.0 * 223.0 + 2200.0 + 16.0 * 166.0;
    let write = bare + 1090.0 + 4.0 * 308.0 + 3590.0 + 800.0;
    near(build_ns(Some(Mode::Daemon)) - raw, names + 20.0 * (29.0 * read + 119.0 * write), 0.001);
    assert_eq!(build_ns(Some(Mode::Raw)), raw);
}

fn configs() -> impl Strategy<Value = fuse::Config> {
    let modes = prop::sample::select(vec![Mode::Daemon, Mode::Passthrough, Mode::Raw]);
    let files = vec![File::Read, File::RandRead, File::Write, File::RandWrite];
    let sizes = (1u64..=8, 1u64..=8, 1u32..=4, 1u32..=12);
    let flags = (any::<bool>(), any::<bool>(), 1.0..2000.0, any::<u64>());
    (modes, prop::sample::select(files), sizes, flags).prop_map(
        |(
            mode,
            file,
            (block_kib, blocks, numjobs, daemon_threads),
            (splice, xattr, mb_s, seed),
        )| {
            fuse::Config {
                block_kib,
                readahead_kib: block_kib * blocks,
                numjobs,
                daemon_threads,
                splice,
                xattr,
                ssd_mb_s: mb_s,
                spread: 0.1,
                seed,
                ..config(mode, file)
            }
        },
    )
}

fn fair(machine: Machine, config: fuse::Config) -> Simulation<Fair, Fuse, TraceHash> {
    let policy = Fair::new(Features::default(), Tunables::for_cpus(machine.n_cpus()));
    simulate(machine, Config::default(), policy, Fuse::new(config), TraceHash::default())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_invariant_holds_and_runs_are_repeated(shape in shapes(), config in configs()) {
        let mut once = fair(shape.machine(), config);
        run_checked(&mut once, 20 * MS, |_| Ok(())).map_err(TestCaseError::fail)?;
        let mut again = fair(shape.machine(), config);
        again.run_until(20 * MS);
        prop_assert_eq!(once.observer.hash, again.observer.hash);
        // Whatever the mode, the SSD is not outrun for longer than dirty data lasts.
        let (machine, long) = (Machine::regular(RegularSpec::default()), 300 * MS);
        let mut sim = fair(machine, config);
        sim.run_until(long);
        let most = config.ssd_mb_s * 1e6 / 1024.0 * long as f64 * 1e-9 + 64.0 * 1024.0;
        prop_assert!(kib(&sim.program, long) <= 1.4 * most);
    }
}
