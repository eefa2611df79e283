//! What tasks do: the programs that the simulated tasks run.
//!
//! Random numbers belong to the workload, by (seed, entity, purpose), and never to the run: every
//! variant of an experiment meets the same arrivals and service times.

pub mod background;
pub mod kernel_build;
pub mod micro;
pub mod netperf;
pub mod random;
pub mod rt_app;
pub mod speed;
