//! tbench and its servers.

use super::keys::{SPREAD, count};
use crate::workload::{Excess, Load, SOCKET_PAIR_BYTES, WorkloadDef, fits};
use input::Fallback::{Int, Required};
use input::{KeyDef, Kind};
use sim_core::Program;
use workloads::tbench::{Config, Tbench};

pub(super) const ROW: WorkloadDef = WorkloadDef {
    limits: &[memory],
    ..WorkloadDef::new(
        "tbench",
        "tbench: requests to a file server over loopback TCP; throughput_mb: its `Throughput`",
        KEYS,
        build,
    )
};

const KEYS: &[KeyDef] = &[
    count("clients", 100_000, Int(1), "clients, each with a server process"),
    KeyDef {
        name: "service_ns",
        kind: Kind::Int { min: 1, max: 3_600_000_000_000 },
        unit: "ns",
        default: Required,
        help: "CPU work of one way of a small message at full speed (docs/CALIBRATION.md)",
    },
    SPREAD,
];

fn build(load: &Load<'_>) -> Box<dyn Program> {
    Box::new(Tbench::new(Config {
        clients: load.count("clients"),
        service_ns: load.int("service_ns"),
        spread: load.float("spread"),
        seed: load.seed,
    }))
}

fn memory(load: &Load<'_>) -> Option<Excess> {
    fits(load, "clients", "pairs", SOCKET_PAIR_BYTES)
}
