//! schbench as it is since 2023.

use super::keys::{SPREAD, count, ns};
use crate::workload::{Excess, Load, TASKS_MAX, THREAD_BYTES, WorkloadDef, few_tasks, fits};
use input::Fallback::{Int, Words};
use input::{KeyDef, Kind};
use sim_core::Program;
use workloads::schbench::{Config, Schbench};

pub(super) const ROW: WorkloadDef = WorkloadDef {
    limits: &[memory, tasks],
    ..WorkloadDef::new(
        "schbench",
        "schbench -L, from memory of it: workers get requests by asking, or at a rate",
        KEYS,
        build,
    )
};

const KEYS: &[KeyDef] = &[
    count("message_threads", TASKS_MAX, Int(1), "message threads (-m)"),
    count(
        "threads",
        TASKS_MAX,
        Words("CPUs / message_threads"),
        "workers of each message thread (-t)",
    ),
    count("rps", 1_000_000_000, Words("as many as they can"), "requests per second (-R)"),
    ns("work_ns", 5_000_000, "CPU work of a request at this machine's full speed"),
    ns("sleep_ns", 100_000, "a worker's sleep before that work"),
    KeyDef {
        name: "cache_footprint_kib",
        kind: Kind::Int { min: 1, max: 1_000_000_000 },
        unit: "KiB",
        default: Int(256),
        help: "what a worker uses again and again (-F)",
    },
    SPREAD,
];

fn build(load: &Load<'_>) -> Box<dyn Program> {
    Box::new(Schbench::new(Config {
        message_threads: load.count("message_threads"),
        threads: threads(load) as u32,
        work_ns: load.int("work_ns"),
        sleep_ns: load.int("sleep_ns"),
        rps: load.maybe_int("rps"),
        footprint_kib: load.count("cache_footprint_kib"),
        spread: load.float("spread"),
        seed: load.seed,
    }))
}

/// Workers of each message thread.
fn threads(load: &Load<'_>) -> u64 {
    let a_cpu_each = load.n_cpus().div_ceil(load.int("message_threads"));
    load.maybe_int("threads").unwrap_or(a_cpu_each)
}

fn memory(load: &Load<'_>) -> Option<Excess> {
    let footprint = load.int("cache_footprint_kib") << 10;
    let each = threads(load) * (THREAD_BYTES + footprint);
    fits(load, "message_threads", "message threads", each)
}

fn tasks(load: &Load<'_>) -> Option<Excess> {
    few_tasks(load, "message_threads", "message threads", 1 + threads(load))
}
