//! Machines and loads beyond what anyone has. How long the first may take, `.ci/run` says: what
//! grows with the square of their size would show there.

use policies::fair::Fair;
use policies::fair::features::{Features, Tunables};
use sim_core::{Config, NoObserver, Ns, Program, StopReason};
use test_support::simulate;
use topology::{Machine, RegularSpec};
use workloads::micro::{Short, Spinners};

const MS: Ns = 1_000_000;

fn run(spec: RegularSpec, program: impl Program, until: Ns) -> u64 {
    let machine = Machine::regular(RegularSpec { threads_per_core: 1, ..spec });
    let policy = Fair::new(Features::default(), Tunables::for_cpus(machine.n_cpus()));
    let mut sim = simulate(machine, Config::default(), policy, program, NoObserver);
    assert_eq!(sim.run_until(until), StopReason::Until);
    sim.w.counters.switches
}

#[test]
fn four_tasks_run_on_8192_llcs() {
    let spec = RegularSpec { llcs_per_socket: 8192, cores_per_llc: 1, ..RegularSpec::default() };
    let switches = run(spec, Spinners::new(vec![0; 4], 0), MS);
    assert!(switches >= 4, "{switches}");
}

#[test]
fn a_hundred_thousand_tasks_run_on_4096_cpus() {
    let spec = RegularSpec {
        sockets: 4,
        llcs_per_socket: 64,
        cores_per_llc: 16,
        ..RegularSpec::default()
    };
    let tasks = 100_000;
    let switches = run(spec, Short::new(tasks, 20_000, 700_000, 0, 1), 2 * MS);
    assert!(switches > u64::from(tasks), "{switches}");
}
