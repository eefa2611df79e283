//! The simulated machines.
//!
//! Unless a benchmark says otherwise every kernel cost is on, at the values that a machine file
//! without numbers gets.

use std::sync::Arc;
use topology::{CState, KernelCosts, Machine, RegularSpec};

const BERGAMO: &str = include_str!("../../scenarios/machines/bergamo.toml");

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

/// A machine on which nothing costs time, so that what is left is queueing: one socket, no SMT.
pub fn without_costs(cpus: u32) -> Arc<Machine> {
    let mut m = Arc::unwrap_or_clone(one_llc(cpus));
    m.costs = KernelCosts {
        pick_ns: 0,
        dequeue_ns: 0,
        switch_ns: 0,
        mm_switch_ns: 0,
        tick_ns: 0,
        irq_ns: 0,
        ttwu_fixed_ns: 0,
        enqueue_ns: 0,
        enqueue_remote_lines: 0,
        wake_list_lines: 0,
        ipi_send_ns: 0,
        ipi_delivery_ns: 0,
        idle_entry_ns: 0,
        idle_loop_ns: 0,
        scan_cpu_ns: 0,
        lb_domain_ns: 0,
        lb_cpu_ns: [0; 5],
        blocked_ns: 0,
        pull_ns: 0,
        fork_ns: 0,
    };
    m.line.ns = [0; 5];
    m.locks.fast_ns = 0;
    m.cstates = vec![CState { name: "POLL".into(), exit_ns: 0, residency_ns: 0, polling: true }];
    Arc::new(m)
}
