//! Traces of a run for other tools: the scheduler's tracepoints, in the formats that they read.
//!
//! A [`Tracer`] observes a run and turns what happens into [`Event`]s, which any number of
//! [`Sink`]s write. All of them stream: memory does not grow with the length of the trace.

mod event;
mod out_file;
mod perf_data;
mod perf_script;
pub mod perfetto;
mod sink;
mod ticks;
mod trace_dat;
mod tracepoint;
mod tracer;

pub use event::{Comm, Event, PrevState, What, Who};
pub use out_file::{OutFile, TraceError, abandon_unfinished};
pub use perf_data::PerfData;
pub use perf_script::PerfScript;
pub use perfetto::Perfetto;
pub use sink::{Origin, Sink};
pub use trace_dat::TraceDat;
pub use tracer::{START_NS, Totals, Tracer};
