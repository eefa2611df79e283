//! fio, or a kernel build, on a file system in user space.

use super::kernel_build::{self, DIRECTORIES, JOBS, LINK, OBJECTS, PREPARE, SIGMA, WORK};
use super::keys::{SPREAD, count, rate, switch};
use crate::workload::{Excess, Load, TASKS_MAX, WorkloadDef, WorkloadSpec, fits};
use input::Fallback::{Float, Int, Required, Word};
use input::{KeyDef, Kind};
use sim_core::Program;
use workloads::dm_crypt;
use workloads::fuse::{Config, File, Fuse, Mode};
use workloads::kernel_build::{Files, KernelBuild};

pub(super) const ROW: WorkloadDef = WorkloadDef {
    ends: is_build,
    limits: &[memory, work, whole_window],
    kernel_keys: KERNEL_KEYS,
    ..WorkloadDef::new(
        "fuse",
        "fio, or a kernel build, on a file system in user space or on the one below",
        KEYS,
        build,
    )
};

const KEYS: &[KeyDef] = &[
    KeyDef {
        name: "op",
        kind: Kind::Word(&["read", "randread", "write", "randwrite", "kernel-build"]),
        unit: "",
        default: Required,
        help: "what is done with files: fio's rw, or a kernel build",
    },
    count("block_kib", 1024, Int(4), "fio's block size, KiB"),
    count("readahead_kib", 65_536, Int(128), "window of readahead, KiB: a number of blocks"),
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
];

const KERNEL_KEYS: &[KeyDef] = &[
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
];

/// True for a kernel build whose files are on a FUSE file system, or could be.
fn is_build(spec: &WorkloadSpec) -> bool {
    spec.get("op").is_some_and(|op| op.to_string() == "kernel-build")
}

fn build(load: &Load<'_>) -> Box<dyn Program> {
    let mode = Mode::by_name(&load.word("mode")).expect("the key lists the modes");
    if is_build(load.spec) {
        return Box::new(kernel_build(load, mode));
    }
    Box::new(Fuse::new(Config {
        mode,
        file: File::by_name(&load.word("op")).expect("the key lists the operations"),
        block_kib: load.int("block_kib"),
        readahead_kib: load.int("readahead_kib"),
        numjobs: load.count("numjobs"),
        daemon_threads: load.count("daemon_threads"),
        splice: load.on("splice"),
        xattr: load.on("xattr"),
        ssd_mb_s: load.float("ssd_mb_s"),
        spread: load.float("spread"),
        seed: load.seed,
    }))
}

fn kernel_build(load: &Load<'_>, mode: Mode) -> KernelBuild {
    let build = KernelBuild::new(kernel_build::config(load));
    if mode == Mode::Raw {
        return build;
    }
    build.with_files(Files {
        mode,
        daemon_threads: load.count("daemon_threads"),
        splice: load.on("splice"),
        xattr: load.on("xattr"),
        keep_cache: load.on("keep_cache"),
    })
}

fn memory(load: &Load<'_>) -> Option<Excess> {
    let bytes_each = dm_crypt::Config::bytes_per_job(1, load.int("block_kib"));
    if is_build(load.spec) {
        return None;
    }
    fits(load, "numjobs", "processes of fio", bytes_each)
}

/// A build needs to know its work.
fn work(load: &Load<'_>) -> Option<Excess> {
    let lacks_work = is_build(load.spec) && load.maybe_float("work_seconds").is_none();
    lacks_work.then(|| {
        Excess::new("op", "`op = \"kernel-build\"` needs `work_seconds`".to_string())
            .help("add it to [workload]; docs/CALIBRATION.md says how to find it")
    })
}

fn whole_window(load: &Load<'_>) -> Option<Excess> {
    let (window, block) = (load.int("readahead_kib"), load.int("block_kib"));
    (!window.is_multiple_of(block)).then(|| {
        let message = format!("a window of {window} KiB is no number of blocks of {block} KiB");
        Excess::new("readahead_kib", message).help("make `readahead_kib` a multiple of `block_kib`")
    })
}
