//! The engine in whole simulations: exact results, twins, what observers are told.

mod attr;
mod closed_forms;
mod cpufreq;
mod defaults;
mod engine;
mod limits;
mod locks;
mod observers;
mod paths;
mod profile;
mod run_ahead;
mod scaling;
mod timers;
mod twins;
