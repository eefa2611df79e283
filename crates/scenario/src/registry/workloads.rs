//! All kinds of workloads: a file each, with the row and how it becomes a program.
//!
//! Defaults are stated in the rows and nowhere else: [`crate::WorkloadSpec`] applies them.

mod cyclictest;
mod dm_crypt;
mod fuse;
mod hackbench;
pub(crate) mod kernel_build;
mod keys;
mod micro;
mod netperf;
mod perf_bench_messaging;
mod perf_bench_pipe;
mod perf_script;
mod queue_work;
mod rt_app;
mod schbench;
mod schbench_old;
mod service;
mod stress_ng;
mod tbench;
mod truncate;
mod web;

pub use service::{ROLE, WAKES};

use crate::workload::WorkloadDef;

/// All kinds, in the order of `schedlab list`.
pub const WORKLOADS: &[WorkloadDef] = &[
    kernel_build::ROW,
    netperf::ROW,
    hackbench::ROW,
    schbench::ROW,
    perf_bench_pipe::ROW,
    perf_bench_messaging::ROW,
    schbench_old::ROW,
    tbench::ROW,
    cyclictest::ROW,
    stress_ng::ROW,
    web::ROW,
    service::ROW,
    rt_app::ROW,
    dm_crypt::ROW,
    fuse::ROW,
    queue_work::ROW,
    truncate::ROW,
    perf_script::ROW,
    micro::PING_PONG,
    micro::SPINNERS,
    micro::SHORT,
    micro::MM_C,
];

/// The row of a kind.
pub fn workload(kind: &str) -> Option<&'static WorkloadDef> {
    WORKLOADS.iter().find(|w| w.kind == kind)
}
