//! schbench as it was until 2023.

use super::keys::{count, us};
use crate::workload::{Excess, Load, TASKS_MAX, THREAD_BYTES, WorkloadDef, few_tasks, fits};
use input::Fallback::Int;
use input::KeyDef;
use sim_core::Program;
use workloads::schbench_old::{Config, SchbenchOld};

pub(super) const ROW: WorkloadDef = WorkloadDef {
    limits: &[memory, tasks],
    ..WorkloadDef::new(
        "schbench-old",
        "schbench until 2023: message threads wake workers; latency_p99: its `99.0th`",
        KEYS,
        build,
    )
};

const KEYS: &[KeyDef] = &[
    count("message_threads", TASKS_MAX, Int(2), "message threads (-m)"),
    count("threads", TASKS_MAX, Int(16), "workers of each message thread (-t)"),
    us("cputime_us", 0, 30_000, "how long a worker thinks, by the clock (-c)"),
    us("sleeptime_us", 0, 30_000, "a message thread's sleep, and up to a quarter more (-s)"),
];

fn build(load: &Load<'_>) -> Box<dyn Program> {
    Box::new(SchbenchOld::new(Config {
        message_threads: load.count("message_threads"),
        threads: load.count("threads"),
        cputime_ns: load.us("cputime_us"),
        sleeptime_ns: load.us("sleeptime_us"),
        seed: load.seed,
    }))
}

fn memory(load: &Load<'_>) -> Option<Excess> {
    let each = (1 + load.int("threads")) * THREAD_BYTES;
    fits(load, "message_threads", "message threads", each)
}

fn tasks(load: &Load<'_>) -> Option<Excess> {
    few_tasks(load, "message_threads", "message threads", 1 + load.int("threads"))
}
