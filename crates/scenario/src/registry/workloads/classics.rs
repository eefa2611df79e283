//! Classic benchmarks by their own names: keys are the options of the tools, in the tools' units.

use super::{SPREAD, TASKS_MAX, WorkloadDef, count, switch};
use crate::registry::Fallback::{Int, Required, Words};
use crate::registry::{KeyDef, Kind};

/// What it takes to write a message, and to read it.
pub(super) const fn message_ns(default: &'static str) -> KeyDef {
    KeyDef {
        name: "message_ns",
        kind: Kind::Int { min: 1, max: 3_600_000_000_000 },
        unit: "ns",
        default: Words(default),
        help: "CPU work to write a message of any size, and to read it, at full speed",
    }
}

pub(super) const PERF_BENCH_PIPE: WorkloadDef = WorkloadDef {
    kind: "perf-bench-pipe",
    ends: true,
    workqueue: false,
    kernel_threads: false,
    help: "perf bench sched pipe: two tasks pass a number back and forth; elapsed: `Total time`",
    keys: &[
        count("loops", 1_000_000_000, Int(1_000_000), "round trips, perf's operations (-l)"),
        switch("threads", false, "threads of one process (-T), not processes"),
        message_ns("480 at 3 GHz"),
        SPREAD,
    ],
    kernel_keys: &[],
};

pub(super) const PERF_BENCH_MESSAGING: WorkloadDef = WorkloadDef {
    kind: "perf-bench-messaging",
    ends: true,
    workqueue: false,
    kernel_threads: false,
    help: "perf bench sched messaging: hackbench in groups of 20 and 20; elapsed: `Total time`",
    keys: &[
        count("groups", TASKS_MAX, Int(10), "groups (-g)"),
        count("loops", 1_000_000_000, Int(100), "messages from each sender to each receiver (-l)"),
        switch("pipe", false, "through pipes (-p) as of Linux 6.14, not pairs of Unix sockets"),
        switch("threads", false, "threads of one process (-t), not processes"),
        message_ns("1400 or 480 (pipes) at 3 GHz"),
        SPREAD,
    ],
    kernel_keys: &[],
};

/// A time in microseconds, as the tools take them; at most an hour.
const fn us(name: &'static str, min: i64, default: i64, help: &'static str) -> KeyDef {
    let kind = Kind::Int { min, max: 3_600_000_000 };
    KeyDef { name, kind, unit: "us", default: Int(default), help }
}

pub(super) const SCHBENCH_OLD: WorkloadDef = WorkloadDef {
    kind: "schbench-old",
    ends: false,
    workqueue: false,
    kernel_threads: false,
    help: "schbench until 2023: message threads wake workers; latency_p99: its `99.0th`",
    keys: &[
        count("message_threads", TASKS_MAX, Int(2), "message threads (-m)"),
        count("threads", TASKS_MAX, Int(16), "workers of each message thread (-t)"),
        us("cputime_us", 0, 30_000, "how long a worker thinks, by the clock (-c)"),
        us("sleeptime_us", 0, 30_000, "a message thread's sleep, and up to a quarter more (-s)"),
    ],
    kernel_keys: &[],
};

pub(super) const TBENCH: WorkloadDef = WorkloadDef {
    kind: "tbench",
    ends: false,
    workqueue: false,
    kernel_threads: false,
    help: "tbench: requests to a file server over loopback TCP; throughput_mb: its `Throughput`",
    keys: &[
        count("clients", 100_000, Int(1), "clients, each with a server process"),
        KeyDef {
            name: "service_ns",
            kind: Kind::Int { min: 1, max: 3_600_000_000_000 },
            unit: "ns",
            default: Required,
            help: "CPU work of one way of a small message at full speed (docs/CALIBRATION.md)",
        },
        SPREAD,
    ],
    kernel_keys: &[],
};

pub(super) const CYCLICTEST: WorkloadDef = WorkloadDef {
    kind: "cyclictest",
    ends: false,
    workqueue: false,
    kernel_threads: false,
    help: "cyclictest (SCHED_OTHER): how late timers are; latency_mean: its `Avg`",
    keys: &[
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
    ],
    kernel_keys: &[],
};

pub(super) const STRESS_NG: WorkloadDef = WorkloadDef {
    kind: "stress-ng",
    ends: false,
    workqueue: false,
    kernel_threads: false,
    help: "stress-ng --cpu and --yield; bogo_ops_cpu, _yield: `bogo ops/s (real time)`",
    keys: &[
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
    ],
    kernel_keys: &[],
};
