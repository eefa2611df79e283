//! `perf bench sched pipe`.

use super::keys::{SPREAD, count, message_ns, switch};
use crate::workload::{Load, WorkloadDef};
use input::Fallback::Int;
use input::KeyDef;
use sim_core::Program;
use workloads::perf_bench::{Config, SchedPipe};

pub(super) const ROW: WorkloadDef = WorkloadDef {
    ends: |_| true,
    ..WorkloadDef::new(
        "perf-bench-pipe",
        "perf bench sched pipe: two tasks pass a number back and forth; elapsed: `Total time`",
        KEYS,
        build,
    )
};

const KEYS: &[KeyDef] = &[
    count("loops", 1_000_000_000, Int(1_000_000), "round trips, perf's operations (-l)"),
    switch("threads", false, "threads of one process (-T), not processes"),
    message_ns("480 at 3 GHz"),
    SPREAD,
];

fn build(load: &Load<'_>) -> Box<dyn Program> {
    Box::new(SchedPipe::new(Config {
        loops: load.int("loops"),
        threads: load.on("threads"),
        message_ns: load.maybe_int("message_ns"),
        spread: load.float("spread"),
        seed: load.seed,
    }))
}
