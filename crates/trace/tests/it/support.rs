//! Runs that are traced into a directory.

use policies::ext::{Ext, Fifo, LlcFifo, Ops, Rules, Vtime};
use policies::fair::Fair;
use policies::fair::features::{Features, Tunables};
use sim_core::{Config, Counters, Ns, Observer, Pid, Policy, Program, Simulation, TaskId, World};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use topology::{CpuId, Machine, RegularSpec};
use trace::export::{
    Origin, OutFile, PerfData, PerfScript, Perfetto, Sink, Totals, TraceDat, Tracer,
};
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
    small_build_of(1)
}

/// The same with other compile times, at about the reference machine's speed.
pub fn small_build_of(seed: u64) -> KernelBuild {
    let config = kernel_build::Config {
        objects: 60,
        directories: 6,
        work_s: 24.6,
        link_s: 0.1,
        prepare_s: 0.1,
        seed,
        ..Default::default()
    };
    KernelBuild::new(config)
}

/// What each process did, as another observer saw it.
#[derive(Default)]
pub struct Witness {
    since: BTreeMap<u32, Ns>,
    /// Tasks that still run at the end, and for how long.
    open: Vec<(Pid, Ns)>,
    /// Completed stays on CPUs by pid: how many, and how long in all.
    pub stays: BTreeMap<Pid, (u64, Ns)>,
    /// Wake-ups that found the task still queued, and those of stoppers.
    pub other_wakeups: u64,
}

impl Witness {
    /// Stays that the end has cut off included.
    pub fn all_stays(&self) -> BTreeMap<Pid, (u64, Ns)> {
        let mut all = self.stays.clone();
        for (pid, ns) in &self.open {
            let stay = all.entry(*pid).or_default();
            *stay = (stay.0 + 1, stay.1 + ns);
        }
        all
    }
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

    fn end(&mut self, w: &World) {
        for cpu in (0..w.cpus.len() as u32).map(CpuId) {
            let curr = w.cpus[cpu].curr;
            if curr != TaskId::IDLE {
                self.open.push((w.pid(cpu, curr), w.now - self.since[&cpu.0]));
            }
        }
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
    pub idle_while_runnable_ns: u128,
}

impl Traced {
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn text(&self) -> String {
        std::fs::read_to_string(self.path("perf.txt")).unwrap()
    }
}

fn sinks(dir: &Path, machine: &Machine) -> Vec<Box<dyn Sink>> {
    let origin = Origin {
        machine: "small".into(),
        n_cpus: machine.n_cpus() as u32,
        release: "6.4.0-schedlab".into(),
        tool: "schedlab 0".into(),
        command: ["schedlab", "trace", "small.toml"].map(String::from).to_vec(),
    };
    let file = |name: &str| OutFile::create_seekable(&dir.join(name)).unwrap();
    vec![
        Box::new(PerfScript::new(file("perf.txt"))),
        Box::new(PerfData::new(file("perf.data"), origin.clone()).unwrap()),
        Box::new(Perfetto::new(file("perfetto"), &origin).unwrap()),
        Box::new(TraceDat::new(file("trace.dat"), origin).unwrap()),
    ]
}

/// CFS with the shared wakequeue.
pub fn fair(machine: &Machine) -> Fair {
    let features = Features { swqueue: true, ..Features::default() };
    Fair::new(features, Tunables::for_cpus(machine.n_cpus()))
}

/// Runs a program under CFS, and writes its trace in every format.
pub fn trace<W: Program>(machine: Machine, program: W, until: Ns) -> Traced {
    let policy = fair(&machine);
    trace_under(policy, machine, program, until)
}

/// A small build under each of the schedulers of the sched_ext shape.
pub fn trace_ext() -> impl Iterator<Item = Traced> {
    let all = [
        || trace_ops(Fifo::new(false)),
        || trace_ops(Vtime::new(true)),
        || trace_ops(LlcFifo::new(true)),
    ];
    all.into_iter().map(|trace| trace())
}

fn trace_ops<S: Ops>(ops: S) -> Traced {
    let policy = Ext::new(ops, Rules::V6_18, Default::default());
    trace_under(policy, machine(), small_build(), u64::MAX)
}

fn trace_under<P: Policy, W: Program>(
    policy: P,
    machine: Machine,
    program: W,
    until: Ns,
) -> Traced {
    let dir = tempfile::tempdir().unwrap();
    let observer = (Tracer::new(&machine, sinks(dir.path(), &machine)), Witness::default());
    let world = World::new(Arc::new(machine), Config::default());
    let mut sim = Simulation::new(world, policy, program, observer);
    sim.run_until(until);
    let counters = sim.w.counters;
    let idle_while_runnable_ns = sim.w.idle_while_runnable_ns;
    let (tracer, witness) = sim.observer;
    Traced { dir, totals: tracer.finish().unwrap(), counters, witness, idle_while_runnable_ns }
}

/// Sums over a trace, read from nothing but its file.
#[derive(Default, Debug)]
pub struct Sums {
    pub switches: u64,
    pub wakeups: u64,
    pub migrations: u64,
    pub charged: u64,
    stays: BTreeMap<Pid, (u64, u64)>,
    since: BTreeMap<u32, (u64, u32)>,
    last: u64,
}

impl Sums {
    /// An event at this time, in order.
    pub fn passes(&mut self, now: u64) {
        assert!(now >= self.last, "time went back from {} to {now}", self.last);
        self.last = now;
    }

    /// A switch between pids.
    pub fn switch(&mut self, cpu: u32, now: u64, prev: u32, next: u32) {
        self.switches += 1;
        if let Some((start, who)) = self.since.insert(cpu, (now, next)) {
            assert_eq!(who, prev, "another task leaves than came to {cpu} at {now}");
            let stay = self.stays.entry(Pid(prev)).or_default();
            *stay = (stay.0 + 1, stay.1 + now - start);
        }
    }

    /// Compares with what the run itself counted.
    pub fn must_be_those_of(mut self, traced: &Traced) {
        self.stays.remove(&Pid(0));
        assert_eq!(self.stays, traced.witness.stays);
        assert_eq!(self.switches, traced.counters.switches);
        assert_eq!(self.switches, traced.totals.switches);
        assert_eq!(self.wakeups, traced.counters.wakeups + traced.witness.other_wakeups);
        let [wake, _fork, others @ ..] = traced.counters.migrations_by_cause;
        assert_eq!(self.migrations, wake + others.iter().sum::<u64>());
        let run_time: u64 = self.stays.values().map(|s| s.1).sum();
        assert_eq!(run_time, traced.totals.run_time_ns);
        assert_eq!(self.charged, traced.totals.charged_ns);
    }
}

/// The output of a tool, or nothing if it is not installed here.
pub fn output_of(program: &str, args: &[&str], dir: &Path) -> Option<(String, String)> {
    let output = std::process::Command::new(program).args(args).current_dir(dir).output().ok()?;
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (out, err) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{program}: {err}");
    Some((out, err))
}
