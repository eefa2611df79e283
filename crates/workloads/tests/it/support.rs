//! Machines and runs for the tests.

use sim_core::{Config, Observer, Policy, Program, Simulation, StopReason, World};
use std::sync::Arc;
use topology::{CState, KernelCosts, Machine, RegularSpec};

/// A machine on which nothing costs time: what is left is queueing.
pub fn free_machine(cpus: u32) -> Machine {
    let spec = RegularSpec {
        cores_per_llc: cpus,
        threads_per_core: 1,
        ..RegularSpec::default()
    };
    let mut m = Machine::regular(spec);
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
    m.cstates = vec![CState {
        name: "POLL".into(),
        exit_ns: 0,
        residency_ns: 0,
        polling: true,
    }];
    m
}

pub fn simulate<P: Policy, W: Program, O: Observer>(
    machine: Machine,
    config: Config,
    policy: P,
    program: W,
    observer: O,
) -> Simulation<P, W, O> {
    Simulation::new(
        World::new(Arc::new(machine), config),
        policy,
        program,
        observer,
    )
}

/// Runs with every invariant checked after every event.
pub fn run_checked<P: Policy, W: Program, O: Observer>(
    sim: &mut Simulation<P, W, O>,
    until: u64,
    mut check: impl FnMut(&Simulation<P, W, O>) -> Result<(), String>,
) -> Result<StopReason, String> {
    loop {
        let before = sim.w.now;
        let end = sim.step(until);
        if sim.w.now < before {
            return Err("I17: time went back".into());
        }
        sim.w
            .check_invariants()
            .map_err(|e| format!("at {} ns: {e}", sim.w.now))?;
        check(sim).map_err(|e| format!("at {} ns: {e}", sim.w.now))?;
        if let Some(reason) = end {
            return Ok(reason);
        }
    }
}
