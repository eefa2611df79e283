//! The workload `fuse` from a scenario: fio, or a kernel build with its files.

use super::{build_config, float, int};
use crate::experiment::{RunSpec, WorkloadSpec};
use workloads::fuse::{Config, File, Fuse, Mode};
use workloads::kernel_build::{Files, KernelBuild};

fn word(load: &WorkloadSpec, key: &str) -> String {
    load.get(key).map(|v| v.to_string()).unwrap_or_default()
}

fn mode(load: &WorkloadSpec) -> Mode {
    Mode::by_name(&word(load, "mode")).expect("the registry lists the modes")
}

fn switch(load: &WorkloadSpec, key: &str) -> bool {
    load.bool(key).unwrap_or(true)
}

/// fio on files.
pub(super) fn fio(spec: &RunSpec) -> Fuse {
    let load = &spec.workload;
    Fuse::new(Config {
        mode: mode(load),
        file: File::by_name(&word(load, "op")).expect("the registry lists the operations"),
        block_kib: int(load, "block_kib"),
        readahead_kib: int(load, "readahead_kib"),
        numjobs: int(load, "numjobs") as u32,
        daemon_threads: int(load, "daemon_threads") as u32,
        splice: switch(load, "splice"),
        xattr: switch(load, "xattr"),
        ssd_mb_s: float(load, "ssd_mb_s"),
        spread: float(load, "spread"),
        seed: spec.seed,
    })
}

/// A kernel build in a tree on that file system.
pub(super) fn build(spec: &RunSpec) -> KernelBuild {
    let load = &spec.workload;
    let build = KernelBuild::new(build_config(spec));
    match mode(load) {
        Mode::Raw => build,
        mode => build.with_files(Files {
            mode,
            daemon_threads: int(load, "daemon_threads") as u32,
            splice: switch(load, "splice"),
            xattr: switch(load, "xattr"),
            keep_cache: switch(load, "keep_cache"),
        }),
    }
}
