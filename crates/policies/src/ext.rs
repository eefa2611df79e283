//! Schedulers of the sched_ext shape: operations, dispatch queues, slices.
//!
//! [`Ext`] is a scheduling class as `kernel/sched/ext.c` is one: it owns the local queues of the
//! CPUs, the dispatch queues with their locks, slices, and the masks of idle CPUs, and asks a
//! scheduler that implements [`Ops`] what to do. So a scheduler can be sketched here before it is
//! written in BPF. [`Fifo`], [`Vtime`] and [`LlcFifo`] come with it.
//!
//! One that is written in BPF runs as it is: [`bpf`]. One that has only a part of the tasks runs
//! beside the fair class: [`Partial`].
//!
//! Left out: a part of the flags of a scheduler, core scheduling, the bypass mode, and the time
//! that a scheduler's own code takes.
//! Rules: Linux 6.12 or 6.18.

pub mod bpf;
mod cgroups;
mod check;
mod class;
mod cx;
mod deferred;
mod dispatch;
mod events;
mod fifo;
mod idle;
mod kicks;
mod later;
mod llc_fifo;
mod ops;
mod partial;
mod path;
mod queue;
mod reasons;
mod state;
mod types;
mod vtime;
mod watchdog;

pub use cgroups::{CgroupInit, CgroupWalk};
pub use cx::Cx;
pub use events::Events;
pub use fifo::Fifo;
pub use llc_fifo::LlcFifo;
pub use ops::Ops;
pub use partial::Partial;
pub use queue::Order;
pub use state::{Ext, SLICE_INF};
pub use types::{Dsq, DsqId, Insert, Kick, Move, Next, Pick, Rules, Tunables, Wake, Why};
pub use vtime::Vtime;

/// Where this class takes locks (see [`sim_core::Site`]).
pub const LOCK_SITES: [&sim_core::Site; 3] =
    [dispatch::DSQ_LOCK, dispatch::CONSUME_RQ_LOCK, kicks::KICK_RQ_LOCK];
