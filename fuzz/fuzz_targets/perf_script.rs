//! No text makes the reader of recordings panic, every fault lies in its line, and what is read can
//! be simulated for a while.
#![no_main]

use policies::fair::Fair;
use policies::fair::features::{Features, Tunables};
use sim_core::{Config, NoObserver, Simulation, World};
use std::sync::{Arc, LazyLock};
use topology::{Machine, RegularSpec};
use trace::replay::{Asked, ReplayError, read};
use workloads::replay::{Recording, Replay, Timers};

/// Threads beyond this number only take time.
const THREADS_MAX: usize = 100;
const UNTIL_NS: u64 = 20_000_000;

static MACHINE: LazyLock<Arc<Machine>> = LazyLock::new(|| {
    let spec = RegularSpec { cores_per_llc: 2, threads_per_core: 2, ..Default::default() };
    Arc::new(Machine::regular(spec))
});

fn simulate(recording: Recording, timers: Timers) {
    let world = World::new(Arc::clone(&MACHINE), Config::default());
    let policy = Fair::new(Features::default(), Tunables::for_cpus(MACHINE.n_cpus()));
    let program = Replay::new(Arc::new(recording), timers);
    Simulation::new(world, policy, program, NoObserver).run_until(UNTIL_NS);
}

libfuzzer_sys::fuzz_target!(|text: &[u8]| {
    match read(text, &MACHINE, Asked { timed: &["a"], ..Asked::default() }) {
        Err(ReplayError::Line { text, fault, .. }) => {
            let span = fault.span.unwrap_or(0..0);
            assert!(span.start <= span.end && span.end <= text.len());
        }
        Ok(recording) if recording.threads.len() <= THREADS_MAX => {
            let all = [Timers::AsSeen, Timers::Absolute, Timers::Relative];
            simulate(recording, all[text.len() % all.len()]);
        }
        Ok(_) | Err(_) => {}
    }
});
