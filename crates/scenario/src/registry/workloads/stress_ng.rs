//! stress-ng's stressors that compute, and those that yield.

use super::keys::count;
use crate::workload::{Excess, Load, PROCESS_BYTES, TASKS_MAX, WorkloadDef, few_in_all, fits};
use input::Fallback::{Int, Words};
use input::{KeyDef, Kind};
use sim_core::Program;
use workloads::stress_ng::{Config, StressNg, yield_processes};

pub(super) const ROW: WorkloadDef = WorkloadDef {
    limits: &[memory, tasks],
    ..WorkloadDef::new(
        "stress-ng",
        "stress-ng --cpu and --yield; bogo_ops_cpu, _yield: `bogo ops/s (real time)`",
        KEYS,
        build,
    )
};

const KEYS: &[KeyDef] = &[
    count(
        "cpu",
        TASKS_MAX,
        Words("one per CPU; none beside `yield`"),
        "processes that compute (--cpu)",
    ),
    KeyDef {
        name: "cpu_load",
        kind: Kind::Int { min: 1, max: 100 },
        unit: "%",
        default: Int(100),
        help: "… for so much of the time (--cpu-load)",
    },
    KeyDef {
        name: "cpu_load_slice",
        kind: Kind::Int { min: 1, max: 3_600_000 },
        unit: "ms",
        default: Int(1),
        help: "… so long at a stretch (--cpu-load-slice; the tool's default is no time)",
    },
    KeyDef {
        name: "op_ns",
        kind: Kind::Int { min: 1, max: 3_600_000_000_000 },
        unit: "ns",
        default: Int(1_000_000),
        help: "CPU work of a bogo op of theirs at this machine's full speed",
    },
    count("yield", TASKS_MAX, Words("none"), "yielding stressors (--yield), two tasks per CPU"),
];

fn build(load: &Load<'_>) -> Box<dyn Program> {
    Box::new(StressNg::new(Config {
        cpu: computing(load) as u32,
        cpu_load: load.count("cpu_load"),
        slice_ns: 1_000_000 * load.int("cpu_load_slice"),
        op_ns: load.int("op_ns"),
        yields: yielding(load) as u32,
        seed: load.seed,
    }))
}

/// Processes that compute.
fn computing(load: &Load<'_>) -> u64 {
    let alone = load.maybe_int("yield").is_none();
    load.maybe_int("cpu").unwrap_or(if alone { load.n_cpus() } else { 0 })
}

/// Processes that yield.
fn yielding(load: &Load<'_>) -> u64 {
    yield_processes(load.maybe_int("yield").unwrap_or(0), load.n_cpus())
}

/// Of the two kinds of stressors, those that there are more of are told of.
fn memory(load: &Load<'_>) -> Option<Excess> {
    let more_yield = load.maybe_int("yield") > load.maybe_int("cpu");
    fits(load, if more_yield { "yield" } else { "cpu" }, "stressors", PROCESS_BYTES)
}

fn tasks(load: &Load<'_>) -> Option<Excess> {
    few_in_all("cpu", computing(load), yielding(load))
}
