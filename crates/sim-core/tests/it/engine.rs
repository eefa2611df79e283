//! Rules of the mechanism, seen from outside: a small program, and what the run shows of it.

use policies::fair::features::{Features, Tunables};
use policies::fair::{Fair, Rules};
use policies::fcfs::Fcfs;
use sim_core::{
    Category, Config, MigrationCause, NoObserver, Ns, Observer, Op, Pid, Program, ProgramCx,
    Simulation, StopReason, TaskAttr, TaskId, TaskState, World,
};
use std::collections::{BTreeMap, BTreeSet};
use test_support::simulate;
use topology::{CpuId, CpuSet, Governor, Machine, RegularSpec};
use workloads::kernel_build::{self, KernelBuild};
use workloads::micro::Short;

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

/// One task that performs these operations, then exits.
struct Script {
    ops: Vec<Op>,
    at: usize,
}

impl Program for Script {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        cx.start_task(TaskAttr::default());
    }

    fn next(&mut self, _cx: &mut ProgramCx<'_>, _task: TaskId) -> Op {
        self.at += 1;
        self.ops.get(self.at - 1).copied().unwrap_or(Op::Exit)
    }
}

fn one_cpu() -> Machine {
    Machine::regular(RegularSpec {
        cores_per_llc: 1,
        threads_per_core: 1,
        ..RegularSpec::default()
    })
}

fn run_script(machine: Machine, ops: Vec<Op>) -> Simulation<Fair, Script, NoObserver> {
    let policy = fair(&machine, Features::default());
    let script = Script { ops, at: 0 };
    let mut sim = simulate(machine, Config::default(), policy, script, NoObserver);
    assert_eq!(sim.run_until(u64::MAX), StopReason::Done);
    sim
}

/// When tasks leave their queue, and when the next one is chosen.
#[derive(Default)]
struct Leaves(Vec<Ns>, Vec<Ns>);

impl Observer for Leaves {
    fn dequeue(&mut self, w: &World, _cpu: CpuId, _task: TaskId) {
        self.0.push(w.now);
    }

    fn switch(&mut self, w: &World, _cpu: CpuId, prev: TaskId, _next: TaskId) {
        if prev.is_task() {
            self.1.push(w.now);
        }
    }
}

/// So many tasks work for a millisecond each; when they have.
struct Brief {
    tasks: u32,
    begun: BTreeSet<TaskId>,
    over: Vec<Ns>,
}

impl Program for Brief {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        for _ in 0..self.tasks {
            cx.start_task(TaskAttr::default());
        }
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        if self.begun.insert(task) {
            return Op::Run(1_000_000);
        }
        self.over.push(cx.now());
        Op::Exit
    }
}

/// `pick_next_task_fair()` goes to look for tasks elsewhere as soon as the last one is off the
/// queue, and not when the pick is over.
#[test]
fn a_cpu_looks_elsewhere_right_after_its_last_task_has_left() {
    let mut machine = one_cpu();
    (machine.costs.pick_ns, machine.costs.dequeue_ns) = (10_000, 3_000);
    let lock_ns = machine.locks.fast_ns;
    let brief = Brief { tasks: 2, begun: BTreeSet::new(), over: Vec::new() };
    let mut sim = simulate(machine, Config::default(), Fcfs::default(), brief, Leaves::default());
    assert_eq!(sim.run_until(Ns::MAX), StopReason::Done);
    let (over, Leaves(left, chosen)) = (&sim.program.over, &sim.observer);
    let after = |times: &[Ns]| [0, 1].map(|task| times[task] - over[task] - lock_ns);
    // The first one leaves another behind, which is picked in one go with the dequeue.
    assert_eq!(after(left), [13_000, 9_000]);
    assert_eq!(after(chosen), [13_000, 13_000]);
}

#[test]
fn a_cpu_that_idles_on_stops_its_tick_although_it_idled_shortly_before() {
    let naps = (0..16).flat_map(|_| [Op::Run(100_000), Op::Sleep(1_000_000)]);
    let ops = naps.chain([Op::Sleep(1_000_000_000)]).collect();
    let sim = run_script(one_cpu(), ops);
    // Some 5 ticks while it naps; a second has 250.
    assert!(sim.w.cpus[CpuId(0)].ticks < 15, "{} ticks", sim.w.cpus[CpuId(0)].ticks);
}

#[test]
fn a_guest_that_halts_stops_its_tick_however_short_its_naps() {
    let naps = || (0..200).flat_map(|_| [Op::Run(100_000), Op::Sleep(5_000_000)]).collect();
    let menu = run_script(one_cpu(), naps());
    let halts = Machine { governor: Governor::Haltpoll, ..one_cpu() };
    let halts = run_script(halts, naps());
    // A second has 250 ticks; the tick of a nap of 5 ms stays on where the governor expects less.
    let (menu, halts) = (menu.w.cpus[CpuId(0)].ticks, halts.w.cpus[CpuId(0)].ticks);
    assert!(halts < 10, "{halts} ticks, {menu} with the other governor");
}

/// Forks children that exit at once.
struct Forks {
    left: u32,
}

impl Program for Forks {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        cx.start_task(TaskAttr::default());
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        if task != TaskId(0) || self.left == 0 {
            return Op::Exit;
        }
        self.left -= 1;
        Op::Fork(cx.new_task(TaskAttr::default()))
    }
}

#[test]
fn ticks_cut_into_the_body_of_a_fork() {
    let mut machine = one_cpu();
    machine.costs.fork_ns = 21_000_000;
    let policy = fair(&machine, Features::default());
    let mut sim = simulate(machine, Config::default(), policy, Forks { left: 1 }, NoObserver);
    assert_eq!(sim.run_until(u64::MAX), StopReason::Done);
    assert_eq!(sim.w.cpus[CpuId(0)].ticks, 5);
    let irq_ns = sim.w.cpus[CpuId(0)].time[Category::Irq as usize];
    assert_eq!(irq_ns, 5 * sim.w.machine.costs.tick_ns);
}

/// Where the observer believes each task to be.
#[derive(Default)]
struct Whereabouts {
    moves: u64,
    by_policy: u64,
    on: BTreeMap<TaskId, CpuId>,
}

impl Observer for Whereabouts {
    fn migrate(&mut self, _w: &World, p: TaskId, from: CpuId, to: CpuId, why: MigrationCause) {
        let before = self.on.insert(p, to);
        assert!(
            why == MigrationCause::Fork || before.is_none_or(|cpu| cpu == from),
            "{p:?} {from} {before:?}"
        );
        self.moves += 1;
        self.by_policy += u64::from(matches!(why, MigrationCause::Policy(_)));
    }

    fn switch(&mut self, _w: &World, cpu: CpuId, _prev: TaskId, next: TaskId) {
        assert!(self.on.get(&next).is_none_or(|on| *on == cpu), "{next:?} runs unmoved on {cpu}");
    }
}

#[test]
fn the_observer_hears_of_every_migration() {
    let machine = Machine::regular(RegularSpec { llcs_per_socket: 2, ..RegularSpec::default() });
    let features = Features { swqueue: true, ..Features::default() };
    let policy = fair(&machine, features);
    let program = Short::new(40, 700_000, 900_000, 50, 7);
    let config = Config::default();
    let mut sim = simulate(machine, config, policy, program, Whereabouts::default());
    assert_eq!(sim.run_until(u64::MAX), StopReason::Done);
    assert!(sim.observer.by_policy > 20, "{}", sim.observer.by_policy);
    assert_eq!(sim.observer.moves, sim.w.counters.migrations.iter().sum::<u64>());
}

/// Under the global FIFO: the longest time that a CPU idled while a task waited.
fn longest_waste(tasks: u32, run_ns: u64, sleep_ns: u64, seed: u64) -> u64 {
    let spec = RegularSpec { sockets: 2, cores_per_llc: 2, ..RegularSpec::default() };
    let program = Short::new(tasks, run_ns, sleep_ns, 10, seed);
    let machine = Machine::regular(spec);
    let mut sim = simulate(machine, Config::default(), Fcfs::default(), program, NoObserver);
    let (mut since, mut longest) = (None, 0);
    while sim.step(u64::MAX).is_none() {
        since = (sim.w.n_idle > 0 && sim.w.n_waiting > 0).then(|| since.unwrap_or(sim.w.now));
        longest = longest.max(since.map_or(0, |start| sim.w.now - start));
    }
    longest
}

#[test]
fn two_tasks_that_wake_up_on_one_idle_cpu_do_not_wait_for_each_other() {
    // At 26.36 ms two timers of one CPU expire in one interrupt, while three CPUs are idle.
    let longest = longest_waste(19, 929_000, 2_468_000, 3739973898918224869);
    assert!(longest < 25_000, "{longest} ns");
}

/// A system call of 20 ms, and a task that sleeps long on its only CPU and wakes up meanwhile.
struct LongCall {
    woke_at: u64,
}

impl Program for LongCall {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        for _ in 0..2 {
            cx.start_task(TaskAttr::default());
        }
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        match (task.0, cx.now()) {
            (0, 0..=40_000_000) => Op::Run(45_000_000),
            (0, 40_000_001..=60_000_000) => Op::Kernel(20_000_000),
            (1, 0..=30_000_000) => Op::Sleep(50_000_000),
            (1, now) => {
                self.woke_at = now;
                Op::Exit
            }
            _ => Op::Exit,
        }
    }
}

#[test]
fn a_preemptible_kernel_gives_way_inside_a_system_call() {
    let woke_at = |preemptible_kernel| {
        let machine = Machine { preemptible_kernel, ..one_cpu() };
        let policy = fair(&machine, Features::default());
        let program = LongCall { woke_at: 0 };
        let mut sim = simulate(machine, Config::default(), policy, program, NoObserver);
        assert_eq!(sim.run_until(u64::MAX), StopReason::Done);
        sim.program.woke_at / 1_000_000
    };
    let (soon, late) = (woke_at(true), woke_at(false));
    assert!(soon + 10 <= late, "{soon} {late} ms");
}

#[test]
fn a_tick_that_falls_into_the_way_to_idle_is_late_and_not_lost() {
    let mut machine = one_cpu();
    machine.costs.switch_ns = 300_000;
    // It runs until 3.8 ms, and the switch to idle spans the edge at 4 ms.
    let sim = run_script(machine, vec![Op::Run(3_500_000), Op::Sleep(1_000_000)]);
    assert_eq!(sim.w.cpus[CpuId(0)].ticks, 1);
}

/// Two tasks on CPUs of their own that wake a third, which is awake: how long each call takes, ns.
#[derive(Default)]
struct Callers {
    began: [Option<u64>; 3],
    took: Vec<u64>,
}

impl Program for Callers {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        for cpu in [2, 1, 0] {
            cx.start_task(TaskAttr { start_cpu: Some(CpuId(cpu)), ..TaskAttr::default() });
        }
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        const MS: u64 = 1_000_000;
        let now = cx.now();
        if task == TaskId(0) {
            return if now < 3 * MS { Op::Run(3 * MS) } else { Op::Exit };
        }
        if let Some(began) = self.began[task.idx()].take() {
            self.took.push(now - began);
        }
        // The first calls twice in a row, then the second once.
        match (task.0, self.took.len()) {
            (1, 0 | 1) => {}
            (2, 0 | 1) => return Op::Run(MS / 2),
            (2, 2) => {}
            _ => return Op::Exit,
        }
        self.began[task.idx()] = Some(now);
        Op::Wake { task: TaskId(0), sync: false }
    }
}

#[test]
fn the_line_of_a_wakees_lock_comes_from_its_last_waker() {
    let machine = Machine::regular(RegularSpec { threads_per_core: 1, ..RegularSpec::default() });
    let policy = fair(&machine, Features::default());
    let program = Callers::default();
    let mut sim = simulate(machine, Config::default(), policy, program, NoObserver);
    assert_eq!(sim.run_until(u64::MAX), StopReason::Done);
    let alone = sim.w.machine.costs.ttwu_fixed_ns;
    let line = sim.w.line_ns(CpuId(0), CpuId(1));
    assert!(line > 0);
    assert_eq!(sim.program.took, [alone + line, alone, alone + line]);
}

/// Tasks 1 and 2 work on CPU 0. Task 0 begins there, works 1 ms, sleeps for 0.1 ms and works on.
struct ShortNap {
    napped: bool,
}

impl Program for ShortNap {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        let start_cpu = Some(CpuId(0));
        cx.start_task(TaskAttr { start_cpu, ..TaskAttr::default() });
        let allowed = cx.mask(CpuSet::of(cx.n_cpus(), [CpuId(0)]));
        for _ in 0..2 {
            cx.start_task(TaskAttr { allowed, ..TaskAttr::default() });
        }
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        match (task.0, cx.now()) {
            (0, 0..1_000_000) => Op::Run(1_000_000),
            (0, _) if !std::mem::replace(&mut self.napped, true) => Op::Sleep(100_000),
            _ => Op::Run(20_000_000),
        }
    }
}

/// A delayed task (it sleeps and is still on its runqueue) that is woken does not choose a CPU
/// (`ttwu_runnable()`, v6.12).
#[test]
fn a_task_woken_while_it_is_delayed_stays_although_another_cpu_is_idle() {
    let after_its_nap = |delay_dequeue| {
        let spec = RegularSpec { cores_per_llc: 2, threads_per_core: 1, ..RegularSpec::default() };
        let rules = Rules::V6_18;
        let features = Features { delay_dequeue, ..Features::for_rules(rules) };
        let policy = Fair::eevdf(rules, features, Tunables::for_rules(rules, 2));
        let (machine, program) = (Machine::regular(spec), ShortNap { napped: false });
        let mut sim = simulate(machine, Config::default(), policy, program, NoObserver);
        sim.run_until(1_080_000);
        assert_eq!(sim.w.tasks[TaskId(0)].state, TaskState::Sleeping);
        assert_eq!(sim.w.tasks[TaskId(0)].sched_delayed, delay_dequeue);
        sim.run_until(1_500_000);
        assert!(sim.w.tasks[TaskId(0)].on_rq && !sim.w.tasks[TaskId(0)].sched_delayed);
        (sim.w.tasks[TaskId(0)].cpu.0, sim.w.cpus[CpuId(1)].idle)
    };
    assert_eq!(after_its_nap(true), (0, true));
    assert_eq!(after_its_nap(false), (1, false));
}

/// Tasks of which one asks for a pid, after pids were reserved.
struct Reserves(Pid);

impl Program for Reserves {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        cx.reserve_pids(Pid(70_000));
        for pid in [None, Some(self.0), None] {
            cx.start_task(TaskAttr { pid, ..TaskAttr::default() });
        }
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, _task: TaskId) -> Op {
        if cx.now() < 1_000_000 { Op::Run(50_000_000) } else { Op::Exit }
    }
}

#[test]
fn a_reserved_pid_is_for_the_task_that_asks_for_it() {
    let machine = Machine::regular(RegularSpec::default());
    let pids = |asked| {
        let policy = fair(&machine, Features::default());
        let program = Reserves(Pid(asked));
        let mut sim = simulate(machine.clone(), Config::default(), policy, program, NoObserver);
        sim.run_until(2_000_000);
        [0, 1, 2].map(|task| sim.w.tasks[TaskId(task)].pid.0)
    };
    assert_eq!(pids(69_000), [70_001, 69_000, 70_002]);
    // Whoever asks for one that is not reserved moves the next ones up.
    assert_eq!(pids(80_000), [70_001, 80_000, 80_001]);
}
