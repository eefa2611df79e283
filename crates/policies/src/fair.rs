//! The fair class: CFS as of v6.4, with SIS_NODE and the shared wakequeue, and EEVDF of later
//! kernels.
//!
//! The class is a house of rooms. A room uses the rooms above it in this list, never one below:
//!
//! * `state`: what the class keeps, and the arithmetic on it (PELT, weights, load sums). The struct
//!   [`Fair`] is here; the functions that act on it are `impl` blocks of it in the other rooms.
//! * `queue`: which task runs next. CFS and EEVDF behind the trait [`Discipline`], and task groups
//!   for both.
//! * `shared`: the queues of SWQUEUE and SHARED_RUNQ, and how a task moves between runqueues.
//! * `balance`: periodic, nohz-idle and newidle balance, active push, `find_idlest_cpu`.
//! * `wakeup`: record_wakee, wake_affine, select_idle_sibling, SIS_NODE.
//! * `class`: the `Policy` that puts them together; changes of a task's attributes; the names of
//!   the kernel's functions, for profiles.
//!
//! A test (`crates/cli/tests/tidy`) holds the rooms to this order.

mod balance;
mod class;
mod queue;
mod shared;
pub mod state;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod wakeup;

pub use balance::nr_idle_scan;
pub use queue::{Cfs, Discipline, Eevdf};
pub use state::{
    BandwidthStat, CpuMax, FairCounters, GroupSpec, QueueId, QueueKind, Rules, features,
    shared_runq, sites, weights,
};

/// The fair class, with CFS or EEVDF as its queueing discipline (see [`state::Fair`]).
pub type Fair<S = Cfs> = state::Fair<S>;
