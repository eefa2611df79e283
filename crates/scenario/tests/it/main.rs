//! Scenario files, good and bad, as people write them.

mod bpf;
mod cgroups;
mod faults;
mod mutations;
mod random;
mod schema;
mod sweeps;
mod tunes;
mod workqueues;
