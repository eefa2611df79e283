//! No bytes make a run panic whose scheduler is a BPF object: they are refused, end the run, or
//! schedule.
#![no_main]

use policies::ext::bpf::{Bpf, Object, Scheduler, Settings};
use policies::ext::{Ext, Rules, Tunables};
use sim_core::{Config, NoObserver, Simulation, World};
use std::sync::LazyLock;
use topology::{Machine, RegularSpec};
use workloads::micro::Short;

/// Instructions that one call may execute.
const BUDGET: u64 = 20_000;
const MS: u64 = 1_000_000;

/// Two CPUs of one core.
static MACHINE: LazyLock<Machine> = LazyLock::new(|| {
    Machine::regular(RegularSpec { cores_per_llc: 1, ..RegularSpec::default() })
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(object) = Object::read(bytes) else {
        return;
    };
    for rules in [Rules::V6_12, Rules::V6_18] {
        let n_cpus = MACHINE.n_cpus() as u32;
        let settings = Settings { rules, n_cpus, ps_per_insn: 0, flags: 0 };
        let Ok(scheduler) = Scheduler::load(&object, settings, &[]) else {
            continue;
        };
        let policy = Ext::new(Bpf::with_budget(&scheduler, BUDGET), rules, Tunables::default());
        let w = World::new(MACHINE.clone().into(), Config::default());
        let program = Short::new(4, 300_000, 100_000, 20, 1);
        Simulation::new(w, policy, program, NoObserver).run_until(3 * MS);
    }
});
