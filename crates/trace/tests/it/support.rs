//! Runs that are traced into a directory.

use policies::fair::Fair;
use policies::fair::features::{Features, Tunables};
use sim_core::{Config, Counters, Ns, Observer, Pid, Program, Simulation, TaskId, World};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use topology::{CpuId, Machine, RegularSpec};
use trace::export::{OutFile, PerfScript, Sink, Totals, Tracer};
use workloads::kernel_build::{self, KernelBuild};

/// Two cores with two threads each.
pub fn small_machine() -> Machine {
    Machine::regular(RegularSpec { cores_per_llc: 2, threads_per_core: 2, ..Default::default() })
}

/// Two LLCs of eight CPUs.
pub fn machine() -> Machine {
    Machine::regular(RegularSpec { llcs_per_socket: 2, ..Default::default() })
}

/// A build of some hundred processes.
pub fn small_build() -> KernelBuild {
    let config = kernel_build::Config {
        objects: 60,
        directories: 6,
        work_s: 3.0,
        link_s: 0.1,
        prepare_s: 0.1,
        ..Default::default()
    };
    KernelBuild::new(config)
}

/// What each process did, as another observer saw it.
#[derive(Default)]
pub struct Witness {
    since: BTreeMap<u32, Ns>,
    /// Completed stays on CPUs by pid: how many, and how long in all.
    pub stays: BTreeMap<Pid, (u64, Ns)>,
    /// Wake-ups that found the task still queued, and those of stoppers.
    pub other_wakeups: u64,
}

impl Observer for Witness {
    fn switch(&mut self, w: &World, cpu: CpuId, prev: TaskId, next: TaskId) {
        if prev != TaskId::IDLE {
            let stay = self.stays.entry(w.pid(cpu, prev)).or_default();
            *stay = (stay.0 + 1, stay.1 + w.now - self.since[&cpu.0]);
        }
        if next != TaskId::IDLE {
            self.since.insert(cpu.0, w.now);
        }
    }

    fn wakeup_on_rq(&mut self, _w: &World, _cpu: CpuId, _task: TaskId) {
        self.other_wakeups += 1;
    }

    fn stopper_woken(&mut self, _w: &World, _cpu: CpuId) {
        self.other_wakeups += 1;
    }
}

/// A traced run.
pub struct Traced {
    pub dir: TempDir,
    pub totals: Totals,
    pub counters: Counters,
    pub witness: Witness,
}

impl Traced {
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn text(&self) -> String {
        std::fs::read_to_string(self.path("perf.txt")).unwrap()
    }
}

fn sinks(dir: &Path) -> Vec<Box<dyn Sink>> {
    vec![Box::new(PerfScript::new(OutFile::create(&dir.join("perf.txt")).unwrap()))]
}

/// Runs a program under CFS, and writes its trace in every format.
pub fn trace<W: Program>(machine: Machine, program: W, until: Ns) -> Traced {
    let dir = tempfile::tempdir().unwrap();
    let features = Features { swqueue: true, ..Features::default() };
    let policy = Fair::new(features, Tunables::for_cpus(machine.n_cpus()));
    let observer = (Tracer::new(&machine, sinks(dir.path())), Witness::default());
    let world = World::new(Arc::new(machine), Config::default());
    let mut sim = Simulation::new(world, policy, program, observer);
    sim.run_until(until);
    let counters = sim.w.counters;
    let (tracer, witness) = sim.observer;
    Traced { dir, totals: tracer.finish().unwrap(), counters, witness }
}
