//! Classic benchmarks: a workload's keys become a program's parameters.

use super::{float, hackbench_of, int};
use crate::experiment::{RunSpec, WorkloadSpec};
use sim_core::Ns;
use workloads::cyclictest::{self, Cyclictest};
use workloads::hackbench::Hackbench;
use workloads::perf_bench::{self, MESSAGING_BYTES, SchedPipe};
use workloads::schbench_old::{self, SchbenchOld};
use workloads::stress_ng::{self, StressNg};
use workloads::tbench::{self, Tbench};

/// `perf bench sched pipe`.
pub(super) fn pipe(load: &WorkloadSpec, seed: u64) -> SchedPipe {
    SchedPipe::new(perf_bench::Config {
        loops: int(load, "loops"),
        threads: load.bool("threads").unwrap_or(false),
        message_ns: load.int("message_ns"),
        spread: float(load, "spread"),
        seed,
    })
}

/// `perf bench sched messaging`.
pub(super) fn messaging(load: &WorkloadSpec, seed: u64) -> Hackbench {
    hackbench_of(load, MESSAGING_BYTES, seed)
}

/// schbench of old.
pub(super) fn schbench_old(load: &WorkloadSpec, seed: u64) -> SchbenchOld {
    SchbenchOld::new(schbench_old::Config {
        message_threads: int(load, "message_threads") as u32,
        threads: int(load, "threads") as u32,
        cputime_ns: us(load, "cputime_us"),
        sleeptime_ns: us(load, "sleeptime_us"),
        seed,
    })
}

/// tbench and its servers.
pub(super) fn tbench(load: &WorkloadSpec, seed: u64) -> Tbench {
    Tbench::new(tbench::Config {
        clients: int(load, "clients") as u32,
        service_ns: int(load, "service_ns"),
        spread: float(load, "spread"),
        seed,
    })
}

/// cyclictest, and hogs beside it.
pub(super) fn cyclictest(load: &WorkloadSpec, seed: u64) -> Cyclictest {
    Cyclictest::new(cyclictest::Config {
        threads: int(load, "threads") as u32,
        interval_ns: us(load, "interval_us"),
        distance_ns: us(load, "distance_us"),
        hogs: int(load, "hogs") as u32,
        seed,
    })
}

/// stress-ng's stressors.
pub(super) fn stress_ng(spec: &RunSpec) -> StressNg {
    let load = &spec.workload;
    let (cpu, yields) = load.stressors(&spec.machine);
    StressNg::new(stress_ng::Config {
        cpu: cpu as u32,
        cpu_load: int(load, "cpu_load") as u32,
        slice_ns: 1_000_000 * int(load, "cpu_load_slice"),
        op_ns: int(load, "op_ns"),
        yields: yields as u32,
        seed: spec.seed,
    })
}

/// A time that the tool takes in us.
fn us(load: &WorkloadSpec, key: &str) -> Ns {
    1000 * int(load, key)
}
