//! Set-ups of the benchmarks: machines, and runs whose work is the same every time.
//!
//! A run is deterministic, so the number of context switches (or events, or pulls) in it is a
//! constant; the benchmarks divide it by the time that the run takes. `cargo run --release -p
//! benches --example one -- NAME` runs one of them once, for a profiler.

pub mod bare;
pub mod machines;
pub mod runs;
