//! Classic benchmarks: a workload's keys become a program's parameters.

use super::{float, hackbench_of, int};
use crate::experiment::WorkloadSpec;
use workloads::hackbench::Hackbench;
use workloads::perf_bench::{self, MESSAGING_BYTES, SchedPipe};

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
