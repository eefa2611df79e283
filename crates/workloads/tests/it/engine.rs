//! Rules of the mechanism, seen from outside: a small program, and what the run shows of it.

use crate::support::simulate;
use policies::fair::Fair;
use policies::fair::features::{Features, Tunables};
use sim_core::{Config, NoObserver, StopReason};
use topology::{Machine, RegularSpec};
use workloads::kernel_build::{self, KernelBuild};

fn fair(machine: &Machine, features: Features) -> Fair {
    Fair::new(features, Tunables::for_cpus(machine.n_cpus()))
}

#[test]
fn whoever_tells_its_parent_of_its_end_is_exiting() {
    let machine = Machine::regular(RegularSpec::default());
    let policy = fair(&machine, Features::default());
    let build = KernelBuild::new(kernel_build::Config {
        objects: 4,
        directories: 2,
        work_s: 0.5,
        ..kernel_build::Config::default()
    });
    let mut sim = simulate(machine, Config::default(), policy, build, NoObserver);
    assert_eq!(sim.run_until(u64::MAX), StopReason::Done);
    assert!(sim.w.tasks.iter().all(|t| t.exiting));
}
