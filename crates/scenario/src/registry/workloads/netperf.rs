//! netperf over loopback.

use super::keys::{SPREAD, count, service_ns};
use crate::workload::{Excess, Load, SOCKET_PAIR_BYTES, WorkloadDef, fits};
use input::Fallback::{Int, Required};
use input::{KeyDef, Kind};
use sim_core::Program;
use workloads::netperf::{Config, Netperf, Test};

pub(super) const ROW: WorkloadDef = WorkloadDef {
    limits: &[memory],
    ..WorkloadDef::new("netperf", "pairs of a client and a server over loopback", KEYS, build)
};

const KEYS: &[KeyDef] = &[
    KeyDef {
        name: "test",
        kind: Kind::Word(&["UDP_RR", "TCP_RR", "TCP_STREAM"]),
        unit: "",
        default: Required,
        help: "netperf's test",
    },
    count("clients", 100_000, Int(1), "pairs that run at once"),
    service_ns("CPU work of one way at this machine's full speed (docs/CALIBRATION.md)"),
    SPREAD,
];

fn build(load: &Load<'_>) -> Box<dyn Program> {
    Box::new(Netperf::new(Config {
        test: Test::by_name(&load.word("test")).expect("the key lists the tests"),
        clients: load.count("clients"),
        service_ns: load.int("service_ns"),
        spread: load.float("spread"),
        seed: load.seed,
    }))
}

fn memory(load: &Load<'_>) -> Option<Excess> {
    fits(load, "clients", "pairs", SOCKET_PAIR_BYTES)
}
