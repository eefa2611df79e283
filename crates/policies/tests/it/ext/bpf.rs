//! Schedulers that are BPF objects, against the same ones in Rust and against what they may not do.

use policies::ext::bpf::{Bpf, Object, Refused, Scheduler, Settings};
use policies::ext::{Ext, Fifo, Ops, Rules, Tunables, Vtime};
use sim_core::{Config, MigrationCause, Ns, Observer, Program, TaskId, World};
use test_support::{simulate, small_build};
use topology::{CpuId, Machine, RegularSpec};
use workloads::micro::{PingPong, Short, Spinners};

const MS: Ns = 1_000_000;

fn object(name: &str) -> Object {
    let path = format!("{}/tests/objects/{name}.bpf.o", env!("CARGO_MANIFEST_DIR"));
    Object::read(&std::fs::read(path).unwrap()).unwrap()
}

fn load(object: &Object, rules: Rules, machine: &Machine) -> Result<Scheduler, Refused> {
    let settings = Settings { rules, n_cpus: machine.n_cpus() as u32, ps_per_insn: 0 };
    Scheduler::load(object, settings)
}

/// Everything that happens, in order.
#[derive(Default)]
struct Events(Vec<String>);

impl Observer for Events {
    fn switch(&mut self, w: &World, cpu: CpuId, prev: TaskId, next: TaskId) {
        self.0.push(format!("{} switch {cpu} {} {}", w.now, prev.0, next.0));
    }

    fn wakeup(&mut self, w: &World, cpu: CpuId, task: TaskId, new: bool) {
        self.0.push(format!("{} wakeup {cpu} {} {new}", w.now, task.0));
    }

    fn sched_delay(&mut self, w: &World, task: TaskId, ns: Ns) {
        self.0.push(format!("{} delay {} {ns}", w.now, task.0));
    }

    fn migrate(&mut self, w: &World, task: TaskId, from: CpuId, to: CpuId, why: MigrationCause) {
        self.0.push(format!("{} migrate {} {from} {to} {why:?}", w.now, task.0));
    }
}

fn events<S: Ops>(machine: &Machine, ops: S, rules: Rules, program: impl Program) -> Vec<String> {
    let policy = Ext::new(ops, rules, Tunables::default());
    let events = Events::default();
    let mut sim = simulate(machine.clone(), Config::default(), policy, program, events);
    let end = sim.run_until(400 * MS);
    let counters = format!("{end:?} {:?} {:?}", sim.w.counters, sim.w.locks);
    let mut all = std::mem::take(&mut sim.observer.0);
    all.push(counters);
    all
}

/// 8, 32 and 176 CPUs.
fn machines() -> [Machine; 3] {
    let machine = |sockets, llcs_per_socket, cores_per_llc| {
        let rest = RegularSpec::default();
        Machine::regular(RegularSpec { sockets, llcs_per_socket, cores_per_llc, ..rest })
    };
    [machine(1, 1, 4), machine(1, 2, 8), machine(2, 4, 11)]
}

/// Tasks that never sleep, of three weights.
fn hogs(n: u32) -> Spinners {
    Spinners::new((0..n).map(|i| (i % 3) as i8).collect(), 80 * MS)
}

/// Runs a workload of each kind under both, and compares event by event.
fn same<S: Ops>(name: &str, native: impl Fn() -> S) {
    for machine in machines() {
        let n = machine.n_cpus() as u32;
        for rules in [Rules::V6_12, Rules::V6_18] {
            let scheduler = load(&object(name), rules, &machine).unwrap();
            let compare = |kind: &str, a: Vec<String>, b: Vec<String>| {
                assert!(a.len() > 40, "{kind} on {n} CPUs does something: {}", a.len());
                let first = a.iter().zip(&b).position(|(a, b)| a != b);
                if let Some(i) = first {
                    panic!("{kind} on {n} CPUs, event {i}:\n{}\n{}", a[i], b[i]);
                }
                assert_eq!(a.len(), b.len());
            };
            let bpf = || Bpf::new(&scheduler);
            macro_rules! both {
                ($kind:literal, $program:expr) => {
                    compare(
                        $kind,
                        events(&machine, native(), rules, $program),
                        events(&machine, bpf(), rules, $program),
                    )
                };
            }
            both!("short", Short::new(n * 3 / 2, 300_000, 100_000, 200, 1));
            both!("pairs", PingPong::new(n, 5_000, 60));
            both!("hogs", hogs(n + n / 4));
            both!("build", small_build(0.6));
        }
    }
}

#[test]
fn the_fifo_of_an_object_is_that_of_rust_event_by_event() {
    same("fifo", || Fifo::new(false));
}

#[test]
fn the_vtime_of_an_object_is_that_of_rust_event_by_event() {
    same("vtime", || Vtime::new(false));
}

/// The trace tells schedulers apart, so that the tests above can fail.
#[test]
fn another_slice_is_another_trace() {
    let machine = &machines()[0];
    let run = |slice_ns: u64| {
        let mut object = object("fifo");
        object.set_int("slice_ns", slice_ns).unwrap();
        let scheduler = load(&object, Rules::V6_12, machine).unwrap();
        events(machine, Bpf::new(&scheduler), Rules::V6_12, hogs(12))
    };
    assert!(run(20 * MS) != run(5 * MS));
}
