//! tbench and its servers.

use super::keys::{SPREAD, count, service_ns};
use crate::workload::{Excess, Load, SOCKET_PAIR_BYTES, WorkloadDef, fits};
use input::Fallback::Int;
use input::KeyDef;
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
    service_ns("CPU work of one way of a small message at full speed (docs/CALIBRATION.md)"),
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
