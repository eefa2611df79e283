//! The fair class: CFS as of v6.4 (spec 2, 3, 5, 8), with SIS_NODE and the shared wakequeue, and
//! EEVDF of later kernels (spec 4).
//!
//! * `state`: what the class keeps per task, runqueue, domain level and LLC.
//! * `features`: features and tunables under the kernel's names.
//! * `weights`, `pelt`: pure arithmetic; `util_est`: what PELT forgets of a sleeper.
//! * `discipline`: what differs between CFS and EEVDF.
//! * `cfs`: vruntime, slices, placement, preemption, picking; in `cfs::groups`, task groups.
//! * `eevdf`: lag, eligibility, virtual deadlines.
//! * `load`, `list`: a runqueue's sums and averages, and its tasks by how recently they ran.
//! * `attr`: another policy, nice level or affinity for a task.
//! * `wakeup`: record_wakee, wake_affine, select_idle_sibling, SIS_NODE.
//! * `balance`: periodic, nohz-idle and newidle balance, find_idlest_cpu.
//! * `swqueue`: the shared wakequeue, later the shared runqueue; `shared_runq`: its versions.
//! * `calls`: the kernel's function names, for profiles.
//! * `class`: the `Policy` that puts them together; `topo`: its precomputed topology.

mod attr;
pub mod balance;
mod calls;
mod cfs;
mod class;
mod counters;
mod discipline;
mod eevdf;
pub mod features;
mod list;
mod load;
pub mod pelt;
mod reasons;
pub mod shared_runq;
pub mod sites;
pub mod state;
pub mod swqueue;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
pub mod topo;
mod util_est;
mod wakeup;
pub mod weights;

pub use cfs::Cfs;
pub use cfs::groups::GroupSpec;
pub use counters::FairCounters;
pub use discipline::{Discipline, Rules};
pub use eevdf::Eevdf;
pub use state::Fair;
pub use wakeup::nr_idle_scan;
