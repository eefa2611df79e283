//! Short items on one workqueue.

use super::keys::{count, ns};
use crate::registry::workqueue::{active_per, affinity, changes, max_active};
use crate::workload::{Excess, Load, WorkloadDef, few_in_flight, fits};
use input::Fallback::{Int, Words};
use input::KeyDef;
use policies::workqueue::DEFAULT_MAX_ACTIVE;
use sim_core::Program;
use workloads::queue_work::{Config, QueueWork};

pub(super) const ROW: WorkloadDef = WorkloadDef {
    workqueue: true,
    kernel_threads: true,
    limits: &[memory, items],
    ..WorkloadDef::new(
        "queue-work",
        "threads that queue short items on one workqueue as fast as they can",
        KEYS,
        build,
    )
};

const KEYS: &[KeyDef] = &[
    count("issuers", 65_536, Words("number of CPUs"), "threads; thread i stays on CPU i"),
    count("outstanding", 4096, Int(1), "items of each thread"),
    ns("work_ns", 1000, "CPU time of an item at full speed"),
];

fn build(load: &Load<'_>) -> Box<dyn Program> {
    Box::new(QueueWork::new(Config {
        issuers: issuers(load) as u32,
        outstanding: load.count("outstanding"),
        work_ns: load.int("work_ns"),
        affinity: affinity(load),
        max_active: max_active(load, DEFAULT_MAX_ACTIVE),
        active_per: active_per(load),
        changes: changes(load),
    }))
}

fn issuers(load: &Load<'_>) -> u64 {
    load.maybe_int("issuers").unwrap_or(load.n_cpus())
}

fn memory(load: &Load<'_>) -> Option<Excess> {
    // A kernel thread: stack, task_struct, the items.
    fits(load, "issuers", "issuers", (32 << 10) + 256 * load.int("outstanding"))
}

fn items(load: &Load<'_>) -> Option<Excess> {
    few_in_flight(load, "outstanding", issuers(load))
}
