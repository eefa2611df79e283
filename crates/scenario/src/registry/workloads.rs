//! Workload kinds and their keys.
//!
//! Defaults are stated here and nowhere else: [`crate::WorkloadSpec`] applies them.

mod classics;

use super::Fallback::{Bool, Float, Int, Required, Word, Words};
use super::{Fallback, KeyDef, Kind};

/// One kind of workload.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadDef {
    /// The value of `kind`.
    pub kind: &'static str,
    /// True if it comes to an end, so that `until = "done"` makes sense.
    pub ends: bool,
    /// True if it uses a workqueue, whose properties are the variants' matter.
    pub workqueue: bool,
    /// True if all its tasks are kernel threads, which are in the root group.
    pub kernel_threads: bool,
    /// One line for people.
    pub help: &'static str,
    /// Its keys.
    pub keys: &'static [KeyDef],
    /// Keys that say how the kernel serves it: they may differ between variants, where all else
    /// is the same.
    pub kernel_keys: &'static [KeyDef],
}

/// Tasks of a workload at most.
pub const TASKS_MAX: i64 = 1_000_000;

const fn count(name: &'static str, max: i64, default: Fallback, help: &'static str) -> KeyDef {
    KeyDef { name, kind: Kind::Int { min: 1, max }, unit: "", default, help }
}

const fn ns(name: &'static str, default: i64, help: &'static str) -> KeyDef {
    let kind = Kind::Int { min: 1, max: 3_600_000_000_000 };
    KeyDef { name, kind, unit: "ns", default: Int(default), help }
}

const fn seconds(
    name: &'static str,
    (min, max): (f64, f64),
    default: Fallback,
    help: &'static str,
) -> KeyDef {
    KeyDef { name, kind: Kind::Float { min, max }, unit: "s", default, help }
}

const fn switch(name: &'static str, on: bool, help: &'static str) -> KeyDef {
    KeyDef { name, kind: Kind::Bool, unit: "", default: Bool(on), help }
}

const fn rate(name: &'static str, default: Fallback, help: &'static str) -> KeyDef {
    KeyDef { name, kind: Kind::Float { min: 0.1, max: 1e6 }, unit: "MB/s", default, help }
}

const SPREAD: KeyDef = KeyDef {
    name: "spread",
    kind: Kind::Float { min: 0.0, max: 1.0 },
    unit: "",
    default: Float(0.1),
    help: "coefficient of variation of each piece of that work",
};

const fn percent(name: &'static str, default: Fallback, help: &'static str) -> KeyDef {
    KeyDef { name, kind: Kind::Float { min: 0.1, max: 1e6 }, unit: "%", default, help }
}

/// Work that was counted on Linux 6.1 (docs/CALIBRATION.md).
const fn work(name: &'static str, default: f64, help: &'static str) -> KeyDef {
    let kind = Kind::Float { min: 0.1, max: 1e9 };
    KeyDef { name, kind, unit: "instructions", default: Float(default), help }
}
// The keys of a kernel build.
const JOBS: KeyDef = count("jobs", 65_536, Words("number of CPUs"), "make -jN");
const WORK: KeyDef = seconds(
    "work_seconds",
    (1e-3, 1e9),
    Words("none: needed for a build"),
    "CPU work of the whole build at this machine's full speed (docs/CALIBRATION.md)",
);
const OBJECTS: KeyDef = count("objects", 10_000_000, Int(22_200), "source files compiled");
const DIRECTORIES: KeyDef = count(
    "directories",
    TASKS_MAX,
    Int(1785),
    "directories, each with a make and an archive of its own",
);
const SIGMA: KeyDef = KeyDef {
    name: "sigma",
    kind: Kind::Float { min: 0.0, max: 3.0 },
    unit: "",
    default: Float(0.62),
    help: "spread of compile times: sigma of their log-normal distribution",
};
const PREPARE: KeyDef = seconds(
    "prepare_seconds",
    (0.0, 1e6),
    Float(7.0),
    "serial work before the first job, on the reference machine",
);
const LINK: KeyDef = seconds(
    "link_seconds",
    (0.0, 1e6),
    Float(1.2),
    "serial work at the end, on the reference machine",
);

impl WorkloadDef {
    /// All its keys, those that it shares with other kinds included.
    pub fn all_keys(&self) -> impl Iterator<Item = &'static KeyDef> {
        self.keys.iter().chain(self.kernel_keys).chain(COMMON)
    }

    /// The keys that it shares with other kinds.
    pub fn common(&self) -> &'static [KeyDef] {
        if self.kernel_threads { &[] } else { COMMON }
    }
}

/// Keys of every kind of workload that has user tasks.
pub const COMMON: &[KeyDef] = &[KeyDef {
    name: "cpu_weight",
    kind: Kind::Int { min: 1, max: 10_000 },
    unit: "",
    default: Words("none: root group"),
    help: "cpu.weight of a cgroup that its user tasks are in; an autogroup: 100 (policy cfs)",
}];

/// All workload kinds.
pub const WORKLOADS: &[WorkloadDef] = &[
    WorkloadDef {
        kind: "kernel-build",
        ends: true,
        workqueue: false,
        kernel_threads: false,
        help: "make -jN built-in.a: a job server, 19 processes per object that fork, wait and pipe",
        keys: &[
            JOBS,
            KeyDef { default: Required, ..WORK },
            OBJECTS,
            DIRECTORIES,
            SIGMA,
            PREPARE,
            LINK,
        ],
        kernel_keys: &[],
    },
    WorkloadDef {
        kind: "netperf",
        ends: false,
        workqueue: false,
        kernel_threads: false,
        help: "pairs of a client and a server over loopback",
        keys: &[
            KeyDef {
                name: "test",
                kind: Kind::Word(&["UDP_RR", "TCP_RR", "TCP_STREAM"]),
                unit: "",
                default: Required,
                help: "netperf's test",
            },
            count("clients", 100_000, Int(1), "pairs that run at once"),
            KeyDef {
                name: "service_ns",
                kind: Kind::Int { min: 1, max: 3_600_000_000_000 },
                unit: "ns",
                default: Required,
                help: "CPU work of one way at this machine's full speed (docs/CALIBRATION.md)",
            },
            SPREAD,
        ],
        kernel_keys: &[],
    },
    WorkloadDef {
        kind: "hackbench",
        ends: true,
        workqueue: false,
        kernel_threads: false,
        help: "groups in which each sender writes to each receiver, until all is read",
        keys: &[
            count("groups", TASKS_MAX, Int(10), "groups (-g)"),
            count("fds", TASKS_MAX, Int(20), "senders of a group, and receivers (-f)"),
            count(
                "loops",
                1_000_000_000,
                Int(100),
                "messages from each sender to each receiver (-l)",
            ),
            KeyDef {
                name: "datasize",
                kind: Kind::Int { min: 1, max: 4096 },
                unit: "bytes",
                default: Int(100),
                help: "size of a message (-s)",
            },
            switch("pipe", false, "through pipes (-p) as of Linux 6.14, not pairs of Unix sockets"),
            switch("threads", false, "threads of one process (-T), not processes (-P)"),
            classics::message_ns("1400 or 480 (pipes) at 3 GHz"),
            SPREAD,
        ],
        kernel_keys: &[],
    },
    WorkloadDef {
        kind: "schbench",
        ends: false,
        workqueue: false,
        kernel_threads: false,
        help: "schbench -L, from memory of it: workers get requests by asking, or at a rate",
        keys: &[
            count("message_threads", TASKS_MAX, Int(1), "message threads (-m)"),
            count(
                "threads",
                TASKS_MAX,
                Words("CPUs / message_threads"),
                "workers of each message thread (-t)",
            ),
            count("rps", 1_000_000_000, Words("as many as they can"), "requests per second (-R)"),
            ns("work_ns", 5_000_000, "CPU work of a request at this machine's full speed"),
            ns("sleep_ns", 100_000, "a worker's sleep before that work"),
            KeyDef {
                name: "cache_footprint_kib",
                kind: Kind::Int { min: 1, max: 1_000_000_000 },
                unit: "KiB",
                default: Int(256),
                help: "what a worker uses again and again (-F)",
            },
            SPREAD,
        ],
        kernel_keys: &[],
    },
    classics::PERF_BENCH_PIPE,
    classics::PERF_BENCH_MESSAGING,
    classics::SCHBENCH_OLD,
    classics::TBENCH,
    classics::CYCLICTEST,
    classics::STRESS_NG,
    WorkloadDef {
        kind: "web",
        ends: false,
        workqueue: false,
        kernel_threads: false,
        help: "a web server's threads: stretches of computing between answers of backends",
        keys: &[
            count("threads", TASKS_MAX, Words("2 per CPU"), "threads that serve requests"),
            count("rps", 1_000_000_000, Words("as many as they can"), "requests per second"),
            ns("work_ns", 30_000_000, "CPU work of a request at this machine's full speed"),
            KeyDef {
                name: "calls",
                kind: Kind::Int { min: 0, max: 100_000 },
                unit: "",
                default: Int(8),
                help: "calls of a backend in the course of it",
            },
            ns("backend_ns", 2_000_000, "mean time of a backend for an answer"),
            ns("message_ns", 5000, "kernel work to send a message, and to take one in"),
            KeyDef {
                name: "cache_footprint_kib",
                kind: Kind::Int { min: 1, max: 1_000_000_000 },
                unit: "KiB",
                default: Int(1024),
                help: "what a thread uses again and again",
            },
            KeyDef { default: Float(0.5), ..SPREAD },
        ],
        kernel_keys: &[],
    },
    WorkloadDef {
        kind: "rt-app",
        ends: false,
        workqueue: false,
        kernel_threads: false,
        help: "the threads of an rt-app file; runs for the file's duration",
        keys: &[
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
            ns("round_ns", 900, "rt-app's own work per round of a phase: clocks and its log"),
        ],
        kernel_keys: &[],
    },
    WorkloadDef {
        kind: "dm-crypt",
        ends: false,
        workqueue: true,
        kernel_threads: false,
        help: "fio on an encrypted SSD: issuers, kcryptd's workqueue, one thread that writes",
        keys: &[
            count("numjobs", 65_536, Required, "processes that issue"),
            count("iodepth", 4096, Int(64), "requests that each keeps in flight"),
            count("bs_kib", 1024, Int(32), "size of a request, KiB"),
            KeyDef {
                name: "read_pct",
                kind: Kind::Float { min: 0.0, max: 100.0 },
                unit: "%",
                default: Float(50.0),
                help: "share of reads",
            },
            KeyDef {
                name: "nice",
                kind: Kind::Int { min: -20, max: 19 },
                unit: "",
                default: Int(0),
                help: "fio's nice level of the issuers",
            },
            switch("hash_writes", true, "what is written is hashed (verify=sha512)"),
            switch("hash_reads", true, "… and what is read; fio does not if it also writes"),
            rate("hash_mb_s", Required, "hashing, per CPU at full speed (docs/CALIBRATION.md)"),
            rate("crypt_mb_s", Required, "en- and decrypting, likewise, dm-crypt's work included"),
            rate("generate_mb_s", Float(3000.0), "filling a buffer to be written"),
            ns("ssd_read_ns", 90_000, "mean time of the SSD for a read"),
            ns("ssd_write_ns", 30_000, "mean time of the SSD for a write into its cache"),
            count("ssd_parallel", 65_536, Int(16), "requests that the SSD works on at a time"),
        ],
        kernel_keys: &[],
    },
    WorkloadDef {
        kind: "fuse",
        ends: false,
        workqueue: false,
        kernel_threads: false,
        help: "fio, or a kernel build, on a file system in user space or on the one below",
        keys: &[
            KeyDef {
                name: "op",
                kind: Kind::Word(&["read", "randread", "write", "randwrite", "kernel-build"]),
                unit: "",
                default: Required,
                help: "what is done with files: fio's rw, or a kernel build",
            },
            count("block_kib", 1024, Int(4), "fio's block size, KiB"),
            count(
                "readahead_kib",
                65_536,
                Int(128),
                "window of readahead, KiB: a number of blocks",
            ),
            count("numjobs", 4096, Int(1), "fio's processes, each with a file of its own"),
            rate("ssd_mb_s", Float(500.0), "what the SSD serves of such (docs/CALIBRATION.md)"),
            SPREAD,
            JOBS,
            WORK,
            OBJECTS,
            DIRECTORIES,
            SIGMA,
            PREPARE,
            LINK,
        ],
        kernel_keys: &[
            KeyDef {
                name: "mode",
                kind: Kind::Word(&["daemon", "passthrough", "raw"]),
                unit: "",
                default: Word("daemon"),
                help: "who serves reads and writes: the daemon, FUSE passthrough; raw: no FUSE",
            },
            count("daemon_threads", TASKS_MAX, Int(10), "threads of the daemon at most"),
            switch("splice", true, "the daemon moves the pages of a read, and does not copy them"),
            switch("xattr", true, "the daemon answers GETXATTR, so it is asked before each write"),
            switch("keep_cache", true, "what a build has read once stays in the page cache"),
        ],
    },
    WorkloadDef {
        kind: "queue-work",
        ends: false,
        workqueue: true,
        kernel_threads: true,
        help: "threads that queue short items on one workqueue as fast as they can",
        keys: &[
            count("issuers", 65_536, Words("number of CPUs"), "threads; thread i stays on CPU i"),
            count("outstanding", 4096, Int(1), "items of each thread"),
            ns("work_ns", 1000, "CPU time of an item at full speed"),
        ],
        kernel_keys: &[],
    },
    WorkloadDef {
        kind: "truncate",
        ends: true,
        workqueue: false,
        kernel_threads: false,
        help: "mmtests' sparsetruncate: files are deleted, the oldest have lost their pages",
        keys: &[
            count("files", 1_000_000, Required, "files that are deleted"),
            count("pages", 1_048_576, Int(1024), "pages of each, all read once"),
            percent("data_pct", Float(200.0), "data of all files, share of the machine's memory"),
            percent("cache_pct", Float(97.0), "what the page cache holds, share of that memory"),
            work("entry_work", 450.0, "removing a shadow entry, without the lock"),
            work("page_work", 1638.0, "removing a page, without the lock"),
            work("file_work", 13_323.0, "the rest of deleting a file"),
            KeyDef {
                name: "instruction_ns",
                kind: Kind::Float { min: 1e-3, max: 1e3 },
                unit: "ns",
                default: Required,
                help: "time of an instruction of these on this machine (docs/CALIBRATION.md)",
            },
            ns("between_ns", 1000, "user time between two files"),
            KeyDef {
                default: Float(0.015),
                help: "coefficient of variation of a file's costs",
                ..SPREAD
            },
            KeyDef {
                name: "reclaimers",
                kind: Kind::Int { min: 0, max: 1024 },
                unit: "",
                default: Int(0),
                help: "kernel threads that reclaim beside it until no page is left",
            },
        ],
        kernel_keys: &[KeyDef {
            name: "batch",
            kind: Kind::Word(&["entry", "pagevec"]),
            unit: "",
            default: Word("pagevec"),
            help: "one tree_lock for each shadow entry (up to 4.14), or for each 14 (4.15)",
        }],
    },
    WorkloadDef {
        kind: "perf-script",
        ends: true,
        workqueue: false,
        kernel_threads: false,
        help: "what the threads of a recording did, done again (docs/TRACE.md)",
        keys: &[
            KeyDef {
                name: "file",
                kind: Kind::File,
                unit: "",
                default: Required,
                help: "the text that `perf script --ns` prints of a `perf sched record`",
            },
            KeyDef {
                name: "recorded_on",
                kind: Kind::File,
                unit: "",
                default: Words("the scenario's machine"),
                help: "the machine it was recorded on: its costs are not the threads' own work",
            },
            KeyDef {
                name: "timed",
                kind: Kind::Names,
                unit: "",
                default: Word(""),
                help: "names, with commas between: threads that only timers and devices wake",
            },
            KeyDef {
                name: "timers",
                kind: Kind::Word(&["as_seen", "absolute", "relative"]),
                unit: "",
                default: Word("as_seen"),
                help: "sleeps that no thread ended: until then, or as long (as_seen: if usual)",
            },
        ],
        kernel_keys: &[],
    },
    WorkloadDef {
        kind: "ping-pong",
        ends: false,
        workqueue: false,
        kernel_threads: false,
        help: "pairs of tasks that wake each other in turn",
        keys: &[
            count("pairs", TASKS_MAX / 2, Int(1), "pairs"),
            ns("work_ns", 1000, "CPU time between a wake-up and the reply"),
        ],
        kernel_keys: &[],
    },
    WorkloadDef {
        kind: "spinners",
        ends: false,
        workqueue: false,
        kernel_threads: false,
        help: "tasks that never sleep",
        keys: &[count("tasks", TASKS_MAX, Required, "tasks")],
        kernel_keys: &[],
    },
    WorkloadDef {
        kind: "short",
        ends: false,
        workqueue: false,
        kernel_threads: false,
        help: "tasks that run a little and sleep a little",
        keys: &[
            count("tasks", TASKS_MAX, Required, "tasks"),
            ns("run_ns", 20_000, "CPU time per burst"),
            ns("sleep_ns", 100_000, "sleep after each burst"),
        ],
        kernel_keys: &[],
    },
    WorkloadDef {
        kind: "mm-c",
        ends: false,
        workqueue: false,
        kernel_threads: false,
        help: "the M/M/c queue: Poisson arrivals, exponential service, one server per CPU",
        keys: &[
            KeyDef {
                name: "rate",
                kind: Kind::Float { min: 1e-6, max: 1e9 },
                unit: "1/s",
                default: Required,
                help: "arrivals per second, all CPUs together",
            },
            ns("service_ns", 100_000, "mean service time"),
        ],
        kernel_keys: &[],
    },
];
