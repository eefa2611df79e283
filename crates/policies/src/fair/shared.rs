//! The shared queues of SWQUEUE and SHARED_RUNQ: FIFOs of waiting tasks, each for an LLC
//! or a part of one.
//!
//! A task is appended under its runqueue's lock (which, and when: `hooks`); it leaves when it is
//! picked, dequeued, or popped by a CPU of the LLC that goes idle. The list hangs together through
//! the tasks. Appending and unlinking are nested critical sections (`Nested`) that the mechanism
//! carries out, or steps of a path that moves tasks; the pull (`pull`) is a path of its own, which
//! drops the own runqueue lock on the way. `steal` lets it go on to the queues of other LLCs.

pub(crate) mod hooks;
pub(crate) mod list;
pub(crate) mod migrate;
mod pull;
mod steal;

pub(crate) use list::{APPEND, UNLINK};
pub(crate) use pull::Pulled;
