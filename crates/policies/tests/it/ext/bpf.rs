//! Schedulers that are BPF objects, against the same ones in Rust and against what they may not do.
#![expect(clippy::disallowed_methods, reason = "tests read the objects beside them")]

mod cgroups;
mod damage;
mod events;
mod fill;
mod front;
pub mod moves;
mod nodes;
mod start;
mod user;

use policies::ext::bpf::{Bpf, Object, Refused, Scheduler, Settings};
use policies::ext::{Ext, Fifo, Ops, Rules, Tunables, Vtime};
use sim_core::{
    Config, MigrationCause, NoObserver, Ns, Observer, Op, Program, ProgramCx, StopReason, TaskAttr,
    TaskId, World,
};
use test_support::{run_checked, simulate, small_build};
use topology::{CpuId, Machine, RegularSpec};
use workloads::micro::{PingPong, Short, Spinners};

pub const MS: Ns = 1_000_000;

fn object_bytes(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/objects/{name}.bpf.o", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).unwrap()
}

fn object(name: &str) -> Object {
    Object::read(&object_bytes(name)).unwrap()
}

fn load(object: &Object, rules: Rules, machine: &Machine) -> Result<Scheduler, Refused> {
    let settings = Settings { rules, n_cpus: machine.n_cpus() as u32, ps_per_insn: 0, flags: 0 };
    Scheduler::load(object, settings, &[])
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

pub fn events<S: Ops>(
    machine: &Machine,
    ops: S,
    rules: Rules,
    program: impl Program,
) -> Vec<String> {
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
pub fn machines() -> [Machine; 3] {
    let machine = |sockets, llcs_per_socket, cores_per_llc| {
        let rest = RegularSpec::default();
        Machine::regular(RegularSpec { sockets, llcs_per_socket, cores_per_llc, ..rest })
    };
    [machine(1, 1, 4), machine(1, 2, 8), machine(2, 4, 11)]
}

/// Tasks that never sleep, of three weights.
pub fn hogs(n: u32) -> Spinners {
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

/// How a run under a scheduler ended.
fn end(scheduler: &Scheduler, machine: &Machine, program: impl Program) -> String {
    let policy = Ext::new(Bpf::new(scheduler), Rules::V6_12, Tunables::default());
    let mut sim = simulate(machine.clone(), Config::default(), policy, program, NoObserver);
    let end = sim.run_until(400 * MS);
    sim.policy.check(&sim.w).unwrap();
    format!("{end:?}")
}

/// What a scheduler may not do ends the run and says where.
#[test]
fn a_fault_of_the_scheduler_ends_the_run() {
    let machine = &machines()[0];
    for (fault, said) in [
        (1, "scx_bpf_error: task "),
        (2, "non-existent DSQ 0x63"),
        (3, "already direct-dispatched"),
        (4, "invalid CPU 4096"),
        (5, "more instructions than the budget"),
        (6, "cannot use vtime ordering for built-in DSQs"),
        (7, "where nothing may be written"),
        (8, "InitTask failed with error -12"),
        (9, "outside of dispatch"),
        (10, "but trying to direct-dispatch"),
        (11, "runnable task stall: "),
    ] {
        let mut object = object("faults");
        object.set_int("fault", fault).unwrap();
        let scheduler = load(&object, Rules::V6_12, machine).unwrap();
        let end = end(&scheduler, machine, Short::new(12, 300_000, 100_000, 20, 1));
        assert!(end.starts_with("GivenUp") && end.contains(said), "{fault}: {end}");
    }
}

/// Without a fault the same object schedules.
#[test]
fn the_scheduler_of_faults_has_none_of_its_own() {
    let machine = &machines()[0];
    let scheduler = load(&object("faults"), Rules::V6_12, machine).unwrap();
    assert_eq!(end(&scheduler, machine, Short::new(12, 300_000, 100_000, 20, 1)), "Done");
}

/// Two programs and a thread of the kernel, long enough for ticks; fewer than CPUs: some are idle.
struct Threads;

impl Program for Threads {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        for (name, kthread) in [("hog", false), ("kworker/0:1", true), ("hog", false)] {
            let comm = cx.comm(name);
            cx.start_task(TaskAttr { comm, kthread, ..TaskAttr::default() });
        }
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, _task: TaskId) -> Op {
        if cx.now() < MS { Op::Run(80 * MS) } else { Op::Exit }
    }
}

/// What a CPU runs, the idle task too, is where the kernel says that it is (`asks.c`).
#[test]
fn answers_of_the_kernel_agree_with_each_other() {
    for machine in machines() {
        for rules in [Rules::V6_12, Rules::V6_18] {
            let scheduler = load(&object("asks"), rules, &machine).unwrap();
            assert_eq!(end(&scheduler, &machine, Threads), "Done", "{rules:?}");
        }
    }
}

/// Three tasks that exit, and one that outlives them.
struct Survivor;

impl Program for Survivor {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        for name in ["last", "first", "first", "first"] {
            let comm = cx.comm(name);
            cx.start_task(TaskAttr { comm, ..TaskAttr::default() });
        }
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        match (cx.now() < MS, task) {
            (true, TaskId(0)) => Op::Sleep(30 * MS),
            (true, _) => Op::Run(10 * MS),
            (false, _) => Op::Exit,
        }
    }
}

/// `exit_task` and `disable` come once for each task (`scx_disable_task`, `scx_exit_task`, 6.18);
/// an idle CPU is found (`scx_bpf_select_cpu_and`).
#[test]
fn tasks_that_exit_are_taken_from_the_scheduler() {
    for machine in machines() {
        let scheduler = load(&object("lives"), Rules::V6_18, &machine).unwrap();
        let end = end(&scheduler, &machine, Survivor);
        assert!(end.contains("1 tasks, 1 enabled"), "{end}");
    }
}

/// `dispatch` may insert what it likes: of a task that it was not given nothing comes
/// (`finish_dispatch`, 6.12).
#[test]
fn a_task_that_is_not_the_schedulers_is_passed_over() {
    let machine = &machines()[0];
    let events_with = |fault| {
        let mut object = object("faults");
        object.set_int("fault", fault).unwrap();
        let scheduler = load(&object, Rules::V6_12, machine).unwrap();
        let program = Short::new(12, 300_000, 100_000, 20, 1);
        events(machine, Bpf::new(&scheduler), Rules::V6_12, program)
    };
    assert_eq!(events_with(12), events_with(0));
}

/// Tasks are kept in a map by pid, handed out by one CPU for all (`SCX_DSQ_LOCAL_ON`), and a timer
/// wakes that CPU.
#[test]
fn one_cpu_decides_for_all_with_maps_timers_and_other_cpus_queues() {
    for machine in machines() {
        for rules in [Rules::V6_12, Rules::V6_18] {
            let scheduler = load(&object("center"), rules, &machine).unwrap();
            let n = machine.n_cpus() as u32;
            let new = || Ext::new(Bpf::new(&scheduler), rules, Tunables::default());
            let short = Short::new(n * 3 / 2, 300_000, 100_000, 20, 1);
            let mut sim = simulate(machine.clone(), Config::default(), new(), short, NoObserver);
            let end = run_checked(&mut sim, 4000 * MS, |sim| sim.policy.check(&sim.w));
            assert_eq!(end, Ok(StopReason::Done), "{n} CPUs");
            let counts = sim.policy.ops.operations();
            let names: Vec<&str> = counts.iter().map(|count| count.name).collect();
            assert_eq!(names, ["init", "select_cpu", "enqueue", "dispatch", "timer"]);
            assert!(counts.iter().all(|c| c.calls > 0 && c.instructions > c.calls), "{counts:?}");
            let build = small_build(0.6);
            let mut sim = simulate(machine.clone(), Config::default(), new(), build, NoObserver);
            let end = run_checked(&mut sim, 4000 * MS, |sim| sim.policy.check(&sim.w));
            assert_eq!(end, Ok(StopReason::Done), "{n} CPUs");
            let ran: Ns = sim.w.cpus.iter().map(|c| c.time[0]).sum();
            assert!((600 * MS..1200 * MS).contains(&ran), "{ran} ns on {n} CPUs");
        }
    }
}

/// `enqueue` sends each task to the local queue of a CPU that it has chosen itself.
#[test]
fn tasks_are_moved_to_the_cpu_that_enqueue_names() {
    for machine in machines() {
        let scheduler = load(&object("spread"), Rules::V6_12, &machine).unwrap();
        let n = machine.n_cpus() as u32;
        let policy = Ext::new(Bpf::new(&scheduler), Rules::V6_12, Tunables::default());
        let program = Short::new(n, 300_000, 100_000, 20, 1);
        let config = Config::default();
        let mut sim = simulate(machine.clone(), config, policy, program, NoObserver);
        let end = run_checked(&mut sim, 4000 * MS, |sim| sim.policy.check(&sim.w));
        assert_eq!(end, Ok(StopReason::Done), "{n} CPUs");
        let busy = sim.w.cpus.iter().filter(|c| c.time[0] > 0).count();
        assert_eq!(busy as u32, n, "all have got some");
    }
}

/// The moves take runqueue locks, for which CPUs queue, and timers interrupt all the time: a lock
/// that is waited for with interrupts on would lose its place in time.
#[test]
fn moves_to_other_cpus_are_not_interrupted() {
    for machine in machines() {
        let scheduler = load(&object("spread"), Rules::V6_12, &machine).unwrap();
        let n = machine.n_cpus() as u32;
        let policy = Ext::new(Bpf::new(&scheduler), Rules::V6_12, Tunables::default());
        let program = Short::new(3 * n, 20_000, 30_000, 200, 1);
        let mut sim = simulate(machine.clone(), Config::default(), policy, program, NoObserver);
        assert_eq!(sim.run_until(4000 * MS), StopReason::Done, "{n} CPUs");
        let time = |cpu: &sim_core::Cpu| cpu.time.iter().sum::<Ns>();
        assert!(sim.w.cpus.iter().all(|cpu| time(cpu) == sim.w.now), "{n} CPUs");
    }
}

/// `update_idle` without `SCX_OPS_KEEP_BUILTIN_IDLE`: the kernel's masks are not kept.
#[test]
fn a_scheduler_may_track_idle_cpus_itself() {
    for machine in machines() {
        let run = |fault: u64, flags: u64| {
            let mut object = object("idle");
            object.set_int("fault", fault).unwrap();
            let n_cpus = machine.n_cpus() as u32;
            let settings = Settings { rules: Rules::V6_12, n_cpus, ps_per_insn: 0, flags };
            let scheduler = Scheduler::load(&object, settings, &[]).unwrap();
            end(&scheduler, &machine, Short::new(n_cpus * 3 / 2, 300_000, 100_000, 20, 1))
        };
        assert_eq!(run(0, 0), "Done");
        assert!(run(1, 0).contains("built-in idle tracking is disabled"));
        let keeps = 1;
        assert_eq!(run(1, keeps), "Done");
    }
}

/// `bpf_scx_init_member` and `validate_ops` (v6.12): flags that a kernel does not have, and what a
/// flag needs.
#[test]
fn flags_that_the_kernel_does_not_have_are_refused() {
    let load = |name, rules, flags| {
        let settings = Settings { rules, n_cpus: 4, ps_per_insn: 0, flags };
        Scheduler::load(&object(name), settings, &[]).err()
    };
    for (flag, name, since) in [
        (1 << 4, "SCX_OPS_ENQ_MIGRATION_DISABLED", "6.14"),
        (1 << 5, "SCX_OPS_ALLOW_QUEUED_WAKEUP", "6.15"),
    ] {
        assert_eq!(load("fifo", Rules::V6_12, flag), Some(Refused::LaterFlag(name, since)));
        assert_eq!(load("fifo", Rules::V6_18, flag), None);
    }
    assert_eq!(load("fifo", Rules::V6_18, 1 << 7), Some(Refused::UnknownFlags(1 << 7)));
    let enq_last = 2;
    assert_eq!(load("fifo", Rules::V6_12, enq_last), None);
    assert_eq!(load("events", Rules::V6_18, enq_last), Some(Refused::LastWithoutEnqueue));
}

/// What a kernel lacks is refused by its name, before anything runs.
#[test]
fn what_is_unknown_is_refused_by_name() {
    let machine = &machines()[0];
    let why = |name: &str| match load(&object(name), Rules::V6_12, machine) {
        Err(refused) => refused.to_string(),
        Ok(_) => "nothing".to_string(),
    };
    let unknown = why("unknown");
    for name in ["scx_bpf_not_there", "task_struct___other.not_there"] {
        assert!(unknown.contains(name), "{unknown}");
    }
}

/// The objects are what their sources say.
#[test]
fn objects_are_compiled_from_their_sources() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/objects");
    let version = std::process::Command::new("clang-19").arg("--version").output();
    let is_there = version.is_ok_and(|v| String::from_utf8_lossy(&v.stdout).contains("19.1.7"));
    assert!(is_there || std::env::var_os("SCHEDLAB_NEEDS_CLANG").is_none(), "no clang-19 19.1.7");
    if !is_there {
        eprintln!("clang-19 19.1.7 is not there: NOBODY LOOKS WHETHER THE OBJECTS ARE THE SAME");
        return;
    }
    let to = std::env::temp_dir().join(format!("schedlab-objects-{}", std::process::id()));
    std::fs::create_dir_all(&to).unwrap();
    let built = std::process::Command::new(format!("{folder}/build")).arg(&to).status().unwrap();
    assert!(built.success());
    for entry in std::fs::read_dir(&to).unwrap() {
        let path = entry.unwrap().path();
        let kept = std::path::Path::new(folder).join(path.file_name().unwrap());
        assert!(std::fs::read(&kept).unwrap() == std::fs::read(&path).unwrap(), "{path:?}");
    }
    std::fs::remove_dir_all(&to).unwrap();
}
