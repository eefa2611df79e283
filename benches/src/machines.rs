//! The simulated machines.
//!
//! Unless a benchmark says otherwise every kernel cost is on, at the values that a machine file
//! without numbers gets.

use std::sync::Arc;
use topology::{Machine, RegularSpec};

const BERGAMO: &str = include_str!("../../scenarios/machines/bergamo.toml");
const ICE_LAKE: &str = include_str!("../../scenarios/machines/ice-lake.toml");

/// CPUs behind one LLC, in one socket, without SMT, at 3 GHz and 250 Hz.
pub fn one_llc(cpus: u32) -> Arc<Machine> {
    llcs(1, cpus)
}

/// Several LLCs of so many CPUs, in one socket and one NUMA node, without SMT, at 3 GHz and 250 Hz.
pub fn llcs(n_llcs: u32, cpus_per_llc: u32) -> Arc<Machine> {
    Arc::new(Machine::regular(RegularSpec {
        llcs_per_socket: n_llcs,
        cores_per_llc: cpus_per_llc,
        threads_per_core: 1,
        clock_mhz: 3000,
        ..RegularSpec::default()
    }))
}

/// The machine of `scenarios/machines/bergamo.toml`: 176 CPUs, 11 LLCs, SMT.
pub fn bergamo() -> Arc<Machine> {
    let machine = topology::load("bergamo.toml", BERGAMO);
    Arc::new(machine.expect("the machine file is part of the project"))
}

/// The machine of `scenarios/machines/ice-lake.toml`: 128 CPUs, 2 LLCs, SMT.
pub fn ice_lake() -> Arc<Machine> {
    let machine = topology::load("ice-lake.toml", ICE_LAKE);
    Arc::new(machine.expect("the machine file is part of the project"))
}

/// A machine on which nothing costs time, so that what is left is queueing: one socket, no SMT.
pub fn without_costs(cpus: u32) -> Arc<Machine> {
    Arc::new(Arc::unwrap_or_clone(one_llc(cpus)).without_costs())
}
