//! A kernel build.

use super::keys::{count, seconds};
use crate::workload::{Load, TASKS_MAX, WorkloadDef};
use input::Fallback::{Float, Int, Required, Words};
use input::{KeyDef, Kind};
use sim_core::Program;
use workloads::kernel_build::{Config, KernelBuild};

pub(super) const ROW: WorkloadDef = WorkloadDef {
    ends: |_| true,
    ..WorkloadDef::new(
        "kernel-build",
        "make -jN built-in.a: a job server, 19 processes per object that fork, wait and pipe",
        KEYS,
        build,
    )
};

const KEYS: &[KeyDef] =
    &[JOBS, KeyDef { default: Required, ..WORK }, OBJECTS, DIRECTORIES, SIGMA, PREPARE, LINK];

pub(super) const JOBS: KeyDef = count("jobs", 65_536, Words("number of CPUs"), "make -jN");
pub(super) const WORK: KeyDef = seconds(
    "work_seconds",
    (1e-3, 1e9),
    Words("none: needed for a build"),
    "CPU work of the whole build at this machine's full speed (docs/CALIBRATION.md)",
);
pub(super) const OBJECTS: KeyDef =
    count("objects", 10_000_000, Int(22_200), "source files compiled");
pub(super) const DIRECTORIES: KeyDef = count(
    "directories",
    TASKS_MAX,
    Int(1785),
    "directories, each with a make and an archive of its own",
);
pub(super) const SIGMA: KeyDef = KeyDef {
    name: "sigma",
    kind: Kind::Float { min: 0.0, max: 3.0 },
    unit: "",
    default: Float(0.62),
    help: "spread of compile times: sigma of their log-normal distribution",
};
pub(super) const PREPARE: KeyDef = seconds(
    "prepare_seconds",
    (0.0, 1e6),
    Float(7.0),
    "serial work before the first job, on the reference machine",
);
pub(super) const LINK: KeyDef = seconds(
    "link_seconds",
    (0.0, 1e6),
    Float(1.2),
    "serial work at the end, on the reference machine",
);

fn build(load: &Load<'_>) -> Box<dyn Program> {
    Box::new(KernelBuild::new(config(load)))
}

/// What the keys of a build say.
pub(crate) fn config(load: &Load<'_>) -> Config {
    Config {
        jobs: load.maybe_int("jobs").unwrap_or(load.n_cpus()) as u32,
        objects: load.count("objects"),
        directories: load.count("directories"),
        work_s: load.float("work_seconds"),
        sigma: load.float("sigma"),
        prepare_s: load.float("prepare_seconds"),
        link_s: load.float("link_seconds"),
        seed: load.seed,
    }
}
