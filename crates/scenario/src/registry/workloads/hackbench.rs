//! hackbench.

use super::keys::{SPREAD, count, message_ns, switch};
use crate::workload::{
    Excess, Load, PROCESS_BYTES, TASKS_MAX, THREAD_BYTES, WorkloadDef, few_tasks, fits,
};
use input::Fallback::Int;
use input::{KeyDef, Kind};
use sim_core::Program;
use workloads::hackbench::{Config, Hackbench, Medium};

pub(super) const ROW: WorkloadDef = WorkloadDef {
    ends: |_| true,
    limits: &[memory, tasks],
    ..WorkloadDef::new(
        "hackbench",
        "groups in which each sender writes to each receiver, until all is read",
        KEYS,
        build,
    )
};

const KEYS: &[KeyDef] = &[
    count("groups", TASKS_MAX, Int(10), "groups (-g)"),
    count("fds", TASKS_MAX, Int(20), "senders of a group, and receivers (-f)"),
    count("loops", 1_000_000_000, Int(100), "messages from each sender to each receiver (-l)"),
    KeyDef {
        name: "datasize",
        kind: Kind::Int { min: 1, max: 4096 },
        unit: "bytes",
        default: Int(100),
        help: "size of a message (-s)",
    },
    switch("pipe", false, "through pipes (-p) as of Linux 6.14, not pairs of Unix sockets"),
    switch("threads", false, "threads of one process (-T), not processes (-P)"),
    message_ns("1400 or 480 (pipes) at 3 GHz"),
    SPREAD,
];

fn build(load: &Load<'_>) -> Box<dyn Program> {
    hackbench(load, load.count("fds"), load.count("datasize"))
}

/// hackbench with so many senders, and receivers, in a group, and messages of so many bytes.
pub(super) fn hackbench(load: &Load<'_>, fds: u32, datasize: u32) -> Box<dyn Program> {
    Box::new(Hackbench::new(Config {
        groups: load.count("groups"),
        fds,
        loops: load.count("loops"),
        datasize,
        medium: if load.on("pipe") { Medium::Pipe } else { Medium::Socket },
        threads: load.on("threads"),
        message_ns: load.maybe_int("message_ns"),
        spread: load.float("spread"),
        seed: load.seed,
    }))
}

fn memory(load: &Load<'_>) -> Option<Excess> {
    group_fits(load, load.int("fds"))
}

fn tasks(load: &Load<'_>) -> Option<Excess> {
    few_tasks(load, "groups", "groups", 2 * load.int("fds"))
}

/// The machine has the memory for groups of so many senders, and receivers.
pub(super) fn group_fits(load: &Load<'_>, fds: u64) -> Option<Excess> {
    let each = if load.on("threads") { THREAD_BYTES } else { PROCESS_BYTES };
    fits(load, "groups", "groups", 2 * fds * each)
}
