//! Simulations as a whole: closed forms, invariants, twins.

mod alone;
mod attr;
mod build;
mod closed_forms;
mod conservation;
mod dm_crypt;
mod engine;
mod ext;
mod fairness;
mod groups;
mod hackbench;
mod invariants;
mod limits;
mod locks;
mod netperf;
mod observers;
mod paths;
mod profile;
mod rt_app;
mod scaling;
mod schbench;
mod shared_runq;
mod support;
mod twins;
mod wakers;
mod web;
