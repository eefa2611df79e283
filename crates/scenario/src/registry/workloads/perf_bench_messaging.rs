//! `perf bench sched messaging`: hackbench with fixed groups and messages.

use super::hackbench::{group_fits, hackbench};
use super::keys::{SPREAD, count, message_ns, switch};
use crate::workload::{Excess, Load, TASKS_MAX, WorkloadDef, few_tasks};
use input::Fallback::Int;
use input::KeyDef;
use sim_core::Program;
use workloads::perf_bench::{MESSAGING_BYTES, MESSAGING_FDS};

pub(super) const ROW: WorkloadDef = WorkloadDef {
    ends: |_| true,
    limits: &[memory, tasks],
    ..WorkloadDef::new(
        "perf-bench-messaging",
        "perf bench sched messaging: hackbench in groups of 20 and 20; elapsed: `Total time`",
        KEYS,
        build,
    )
};

const KEYS: &[KeyDef] = &[
    count("groups", TASKS_MAX, Int(10), "groups (-g)"),
    count("loops", 1_000_000_000, Int(100), "messages from each sender to each receiver (-l)"),
    switch("pipe", false, "through pipes (-p) as of Linux 6.14, not pairs of Unix sockets"),
    switch("threads", false, "threads of one process (-t), not processes"),
    message_ns("1400 or 480 (pipes) at 3 GHz"),
    SPREAD,
];

fn build(load: &Load<'_>) -> Box<dyn Program> {
    hackbench(load, MESSAGING_FDS, MESSAGING_BYTES)
}

fn memory(load: &Load<'_>) -> Option<Excess> {
    group_fits(load, u64::from(MESSAGING_FDS))
}

fn tasks(load: &Load<'_>) -> Option<Excess> {
    few_tasks(load, "groups", "groups", 2 * u64::from(MESSAGING_FDS))
}
