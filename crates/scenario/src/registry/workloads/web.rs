//! A web server's threads.

use super::keys::{SPREAD, count, ns};
use crate::workload::{Excess, Load, TASKS_MAX, THREAD_BYTES, WorkloadDef, fits};
use input::Fallback::{Float, Int, Words};
use input::{KeyDef, Kind};
use sim_core::Program;
use workloads::web::{Config, Web};

pub(super) const ROW: WorkloadDef = WorkloadDef {
    limits: &[memory],
    ..WorkloadDef::new(
        "web",
        "a web server's threads: stretches of computing between answers of backends",
        KEYS,
        build,
    )
};

const KEYS: &[KeyDef] = &[
    count("threads", TASKS_MAX, Words("2 per CPU"), "threads that serve requests"),
    count("rps", 1_000_000_000, Words("as many as they can"), "requests per second"),
    ns("work_ns", 30_000_000, "CPU work of a request at this machine's full speed"),
    KeyDef {
        name: "calls",
        kind: Kind::Int { min: 0, max: 100_000 },
        unit: "",
        default: Int(8),
        help: "calls of a backend in the course of it",
    },
    ns("backend_ns", 2_000_000, "mean time of a backend for an answer"),
    ns("message_ns", 5000, "kernel work to send a message, and to take one in"),
    KeyDef {
        name: "cache_footprint_kib",
        kind: Kind::Int { min: 1, max: 1_000_000_000 },
        unit: "KiB",
        default: Int(1024),
        help: "what a thread uses again and again",
    },
    KeyDef { default: Float(0.5), ..SPREAD },
];

fn build(load: &Load<'_>) -> Box<dyn Program> {
    Box::new(Web::new(Config {
        threads: load.maybe_int("threads").unwrap_or(2 * load.n_cpus()) as u32,
        rps: load.maybe_int("rps"),
        work_ns: load.int("work_ns"),
        calls: load.count("calls"),
        backend_ns: load.int("backend_ns"),
        message_ns: load.int("message_ns"),
        footprint_kib: load.count("cache_footprint_kib"),
        spread: load.float("spread"),
        seed: load.seed,
    }))
}

fn memory(load: &Load<'_>) -> Option<Excess> {
    let footprint = load.int("cache_footprint_kib") << 10;
    fits(load, "threads", "threads", THREAD_BYTES + footprint)
}
