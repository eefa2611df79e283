//! Traces of a run for other tools: the scheduler's tracepoints, in the formats that they read.

mod event;

pub use event::{Comm, Event, PrevState, What, Who};
