//! The threads of an rt-app file.

use crate::workload::{Load, WorkloadDef, WorkloadFile, WorkloadSpec};
use input::Fallback::{Required, Words};
use input::{KeyDef, Kind};
use sim_core::Program;
use std::sync::Arc;
use workloads::rt_app::{Config, RtApp};
use workloads::speed::Speed;

pub(super) const ROW: WorkloadDef = WorkloadDef {
    ends,
    cgroups: true,
    ..WorkloadDef::new(
        "rt-app",
        "the threads of an rt-app file; runs for the file's duration",
        KEYS,
        build,
    )
};

const KEYS: &[KeyDef] = &[
    KeyDef {
        name: "file",
        kind: Kind::File,
        unit: "",
        default: Required,
        help: "rt-app's JSON, as it runs on Linux",
    },
    KeyDef {
        name: "loop_ns",
        kind: Kind::Float { min: 0.01, max: 1e6 },
        unit: "ns",
        default: Words("the file's calibration"),
        help: "time of one of rt-app's loops at this machine's full speed",
    },
    KeyDef {
        name: "round_ns",
        kind: Kind::Int { min: 1, max: 3_600_000_000_000 },
        unit: "ns",
        default: Words("900 at 2600 MHz, 3080 after a sleep"),
        help: "rt-app's own work per round of a phase: clocks and its log",
    },
];

fn build(load: &Load<'_>) -> Box<dyn Program> {
    let Some(WorkloadFile::RtApp(file)) = &load.spec.file else {
        unreachable!("a scenario with an rt-app workload has read its file");
    };
    Box::new(RtApp::new(Config {
        spec: Arc::clone(file),
        loop_ns: load.maybe_float("loop_ns"),
        round_ns: load.maybe_int("round_ns"),
        speed: Speed::new(load.machine.variation, load.seed),
        seed: load.seed,
    }))
}

/// The file says it. One that could not be read has faults enough.
fn ends(spec: &WorkloadSpec) -> bool {
    match &spec.file {
        Some(WorkloadFile::RtApp(file)) => file.ends(),
        _ => true,
    }
}
