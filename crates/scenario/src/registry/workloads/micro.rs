//! Small synthetic loads.

use super::keys::{count, ns};
use crate::workload::{Load, TASKS_MAX, WorkloadDef};
use input::Fallback::{Int, Required};
use input::{KeyDef, Kind};
use sim_core::{Ns, Program};
use workloads::micro::{OpenQueue, PingPong, Short, Spinners};

pub(super) const PING_PONG: WorkloadDef = WorkloadDef::new(
    "ping-pong",
    "pairs of tasks that wake each other in turn",
    &[
        count("pairs", TASKS_MAX / 2, Int(1), "pairs"),
        ns("work_ns", 1000, "CPU time between a wake-up and the reply"),
    ],
    |load| Box::new(PingPong::new(load.count("pairs"), load.int("work_ns"), 0)),
);

pub(super) const SPINNERS: WorkloadDef = WorkloadDef::new(
    "spinners",
    "tasks that never sleep",
    &[count("tasks", TASKS_MAX, Required, "tasks")],
    |load| Box::new(Spinners::new(vec![0; load.int("tasks") as usize], 0)),
);

pub(super) const SHORT: WorkloadDef = WorkloadDef::new(
    "short",
    "tasks that run a little and sleep a little",
    &[
        count("tasks", TASKS_MAX, Required, "tasks"),
        ns("run_ns", 20_000, "CPU time per burst"),
        ns("sleep_ns", 100_000, "sleep after each burst"),
    ],
    |load| {
        let (run_ns, sleep_ns) = (load.int("run_ns"), load.int("sleep_ns"));
        Box::new(Short::new(load.count("tasks"), run_ns, sleep_ns, 0, load.seed))
    },
);

pub(super) const MM_C: WorkloadDef = WorkloadDef::new(
    "mm-c",
    "the M/M/c queue: Poisson arrivals, exponential service, one server per CPU",
    &[
        KeyDef {
            name: "rate",
            kind: Kind::Float { min: 1e-6, max: 1e9 },
            unit: "1/s",
            default: Required,
            help: "arrivals per second, all CPUs together",
        },
        ns("service_ns", 100_000, "mean service time"),
    ],
    open_queue,
);

fn open_queue(load: &Load<'_>) -> Box<dyn Program> {
    let interarrival_ns = ((1e9 / load.float("rate")).round() as Ns).max(1);
    let pool = 64 * load.n_cpus().max(8) as u32;
    Box::new(OpenQueue::new(interarrival_ns, load.int("service_ns"), u64::MAX, pool, load.seed))
}
