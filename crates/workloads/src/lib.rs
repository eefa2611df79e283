//! What tasks do: the programs that the simulated tasks run.
//!
//! Random numbers belong to the workload, by (seed, entity, purpose), and never to the run. So
//! every variant of an experiment meets the same arrivals and service times.

pub mod admin;
pub mod background;
pub mod cyclictest;
pub mod dm_crypt;
pub mod fuse;
pub mod hackbench;
pub mod kernel_build;
mod latency;
pub mod micro;
pub mod netperf;
pub mod perf_bench;
pub mod queue_work;
pub mod random;
pub mod replay;
pub mod rt_app;
pub mod schbench;
pub mod schbench_old;
pub mod speed;
mod spread;
mod ssd;
pub mod stress_ng;
pub mod tbench;
pub mod truncate;
pub mod web;

/// A workload that uses workqueues.
pub trait Queues {
    /// The workqueues; `None` before the start.
    fn workqueues(&self) -> Option<&policies::workqueue::Workqueues>;
}

/// The policy that docs/POLICY.md shows must compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/POLICY.md")]
pub struct PolicyPage;
