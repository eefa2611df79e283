//! cyclictest, and hogs beside it.

use super::keys::{count, us};
use crate::workload::{
    Excess, Load, PROCESS_BYTES, TASKS_MAX, THREAD_BYTES, WorkloadDef, few_in_all, fits,
};
use input::Fallback::Int;
use input::{KeyDef, Kind};
use sim_core::Program;
use workloads::cyclictest::{Config, Cyclictest};

pub(super) const ROW: WorkloadDef = WorkloadDef {
    limits: &[memory, tasks],
    ..WorkloadDef::new(
        "cyclictest",
        "cyclictest (SCHED_OTHER): how late timers are; latency_mean: its `Avg`",
        KEYS,
        build,
    )
};

const KEYS: &[KeyDef] = &[
    count("threads", TASKS_MAX, Int(1), "threads that measure (-t)"),
    us("interval_us", 1, 1000, "interval of the first thread (-i)"),
    us("distance_us", 0, 500, "how much longer the next thread's interval is (-d)"),
    KeyDef {
        name: "hogs",
        kind: Kind::Int { min: 0, max: TASKS_MAX },
        unit: "",
        default: Int(0),
        help: "processes beside it that never sleep",
    },
];

fn build(load: &Load<'_>) -> Box<dyn Program> {
    Box::new(Cyclictest::new(Config {
        threads: load.count("threads"),
        interval_ns: load.us("interval_us"),
        distance_ns: load.us("distance_us"),
        hogs: load.count("hogs"),
        seed: load.seed,
    }))
}

/// Of the two kinds of tasks, those that there are more of are told of.
fn memory(load: &Load<'_>) -> Option<Excess> {
    match load.int("hogs") > load.int("threads") {
        true => fits(load, "hogs", "hogs", PROCESS_BYTES),
        false => fits(load, "threads", "threads", THREAD_BYTES),
    }
}

fn tasks(load: &Load<'_>) -> Option<Excess> {
    few_in_all("hogs", load.int("hogs"), load.int("threads"))
}
