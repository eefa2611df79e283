//! What the fair class keeps, and the arithmetic on it: tasks, runqueues, domains, features, PELT,
//! weights, tables of the topology, paths in progress. Nothing here knows the other rooms.

pub(crate) mod balance;
pub(crate) mod bandwidth;
pub(crate) mod counters;
pub(crate) mod cpu_stats;
pub(crate) mod domain;
pub(crate) mod fair;
pub mod features;
pub(crate) mod groups;
mod idle;
pub(crate) mod lb_env;
mod list;
pub(crate) mod load;
pub(crate) mod path;
pub mod pelt;
pub mod pelt_clock;
mod publish;
pub(crate) mod reasons;
pub(crate) mod rq;
pub(crate) mod rules;
pub(crate) mod shared_queues;
pub mod shared_runq;
pub mod sites;
pub(crate) mod steals;
pub(crate) mod task;
pub mod topo;
mod util_est;
pub mod weights;

pub use bandwidth::{BandwidthStat, CpuMax};
pub use counters::FairCounters;
pub use domain::{LlcShared, SdState};
pub use fair::{Fair, QueueKind};
pub use groups::{GroupSpec, QueueId};
pub use rq::FairRq;
pub use rules::{KernelRules, Protection, Rules};
pub use shared_queues::SwqStats;
pub use task::{FairTask, Wakee};
