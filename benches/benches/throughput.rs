//! How much is simulated per second: context switches, events, transactions, or simulated seconds,
//! as `elem/s`.
//!
//! The machines and programs are described at the functions of `benches::runs`. All but the build
//! go on for ever; an iteration is a window of so many elements in one long run, which is
//! deterministic. `scaling` holds the load per CPU while the number of CPUs grows; its time per
//! element is the cost of an event.

use benches::runs;
use criterion::measurement::WallTime;
use criterion::{
    BatchSize, BenchmarkGroup, Criterion, SamplingMode, Throughput, criterion_group, criterion_main,
};
use sim_core::{NEVER, Ns, Observer, Policy, Program, Simulation};
use workloads::netperf::Netperf;

const SECOND: Ns = 1_000_000_000;

/// Measures windows of `n` of what `count` counts.
fn windows<P: Policy, W: Program, O: Observer>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    make: impl Fn() -> Simulation<P, W, O>,
    n: u64,
    count: impl Fn(&Simulation<P, W, O>) -> u64,
) {
    group.throughput(Throughput::Elements(n));
    let mut sim = None;
    group.bench_function(name, |b| {
        let sim = sim.get_or_insert_with(&make);
        b.iter(|| runs::advance(sim, n, &count));
    });
}

fn switches<P: Policy, W: Program, O: Observer>(sim: &Simulation<P, W, O>) -> u64 {
    sim.w.counters.switches
}

fn events<P: Policy, W: Program, O: Observer>(sim: &Simulation<P, W, O>) -> u64 {
    sim.w.counters.events
}

fn throughput(c: &mut Criterion) {
    let mut group = c.benchmark_group("throughput");
    group.sampling_mode(SamplingMode::Flat).sample_size(20);
    windows(&mut group, "ping_pong_8x64", runs::ping_pong_8x64, 50_000, switches);
    windows(&mut group, "short_128x1024", runs::short_128x1024, 50_000, switches);
    windows(&mut group, "short_128x1024_ext", runs::short_128x1024_ext, 50_000, switches);
    windows(&mut group, "m_m_8", runs::m_m_8, 500_000, events);
    let done = |sim: &Simulation<_, Netperf, _>| sim.program.done();
    windows(&mut group, "netperf_128x128", || runs::netperf_128x128(false), 100_000, done);
    windows(&mut group, "netperf_128x128_swqueue", || runs::netperf_128x128(true), 50_000, done);
    spinners(&mut group);
    kernel_build(&mut group);
    group.finish();
}

/// An element is a simulated second.
fn spinners(group: &mut BenchmarkGroup<'_, WallTime>) {
    const WINDOW_S: u64 = 100;
    group.throughput(Throughput::Elements(WINDOW_S));
    let mut sim = runs::spinners_8x64();
    group.bench_function("spinners_8x64", |b| {
        b.iter(|| sim.run_until(sim.w.now + WINDOW_S * SECOND));
    });
}

/// The whole build; an element is a context switch.
fn kernel_build(group: &mut BenchmarkGroup<'_, WallTime>) {
    let mut sim = runs::kernel_build_176();
    sim.run_until(NEVER - 1);
    group.throughput(Throughput::Elements(sim.w.counters.switches));
    group.bench_function("kernel_build_176", |b| {
        let build = |mut sim: Simulation<_, _, _>| sim.run_until(NEVER - 1);
        b.iter_batched(runs::kernel_build_176, build, BatchSize::PerIteration);
    });
}

fn scaling(c: &mut Criterion) {
    let mut group = c.benchmark_group("scaling");
    group.sampling_mode(SamplingMode::Flat).sample_size(10);
    for cpus in [32, 128, 512, 1024] {
        windows(&mut group, &cpus.to_string(), || runs::short(cpus), 500_000, events);
    }
    group.finish();
}

criterion_group!(benches, throughput, scaling);
criterion_main!(benches);
