//! Frequency invariance: utilization on a machine that does not run at its highest frequency.

use policies::fair::Fair;
use policies::fair::features::{Features, Tunables};
use sim_core::{Config, NoObserver, Ns};
use test_support::{free_machine, simulate};
use topology::CpuId;
use workloads::micro::{Short, Spinners};

const MS: Ns = 1_000_000;

/// The mean `util_avg` of a CPU with a task that runs and sleeps so long in the mean.
fn util_of(run_ns: Ns, sleep_ns: Ns, freq_scale: u32) -> u64 {
    let mut machine = free_machine(1);
    machine.freq_scale = freq_scale;
    let policy = Fair::new(Features::default(), Tunables::for_cpus(8));
    let program = Short::new(1, run_ns, sleep_ns, u64::MAX, 1);
    let mut sim = simulate(machine, Config::default(), policy, program, NoObserver);
    let samples = (500..2500).map(|ms| {
        sim.run_until(ms * MS);
        sim.policy.rqs[CpuId(0)].avg.util_avg
    });
    samples.sum::<u64>() / 2000
}

#[test]
fn a_cpu_with_idle_time_looks_as_busy_as_its_frequency_makes_it() {
    let (full, half) = (util_of(MS, MS, 1024), util_of(MS, MS, 512));
    assert!((460..=560).contains(&full), "{full}");
    assert!(half.abs_diff(full / 2) < 20, "{half} of {full}");
}

/// After so many ms of a hog.
fn util_after(ms: Ns, freq_scale: u32) -> u64 {
    let mut machine = free_machine(1);
    machine.freq_scale = freq_scale;
    let policy = Fair::new(Features::default(), Tunables::for_cpus(8));
    let program = Spinners::new(vec![0], 0);
    let mut sim = simulate(machine, Config::default(), policy, program, NoObserver);
    sim.run_until(ms * MS);
    sim.policy.rqs[CpuId(0)].avg.util_avg
}

#[test]
fn a_cpu_without_idle_time_looks_full_in_the_end_but_later() {
    assert!(util_after(1000, 512) > 1000);
    // Half as fast: what a full clock sees after 100 ms, this one sees after 200.
    assert!(util_after(200, 512).abs_diff(util_after(100, 1024)) < 20);
    assert!(util_after(100, 512) + 50 < util_after(100, 1024));
}
