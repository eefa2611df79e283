//! A scheduler that has the tasks of SCHED_EXT only, below the fair class.

use policies::ext::{
    Cx, Dsq, DsqId, Ext, Fifo, LlcFifo, Next, Ops, Order, Partial, Rules, Tunables, Vtime, Wake,
};
use policies::fair::{Discipline, Eevdf, Fair};
use proptest::prelude::*;
use sim_core::{
    Config, EnqueueFlags, NoObserver, Ns, Op, Policy, Program, ProgramCx, SchedPolicy, Simulation,
    StopReason, TaskAttr, TaskId,
};
use test_support::{
    Scripts, TraceHash, eevdf, free_machine, meddlers_of, run_checked, shapes, simulate,
    small_build,
};
use topology::{CpuId, CpuSet, Machine};
use workloads::micro::Short;

const MS: Ns = 1_000_000;

type Both<S> = Partial<Eevdf, S>;

/// The scheduler, and EEVDF of its kernel, on a machine of so many CPUs.
fn beside_eevdf<S: Ops>(ops: S, rules: Rules, n_cpus: usize) -> Both<S> {
    let ext = Ext::new(ops, rules, Tunables::default());
    Partial::new(fair(rules, n_cpus), ext, Vec::new())
}

fn fair(rules: Rules, n_cpus: usize) -> Fair<Eevdf> {
    let rules = match rules {
        Rules::V6_12 => policies::fair::Rules::V6_12,
        Rules::V6_18 => policies::fair::Rules::V6_18,
    };
    eevdf(rules, 0, n_cpus)
}

/// How a run ended, and what it left.
type Ended<S, W> = (StopReason, Simulation<Both<S>, W, NoObserver>);

/// Runs until an instant, with both classes checked after every event.
fn checked<S: Ops, W: Program>(
    machine: Machine,
    policy: Both<S>,
    program: W,
    until: Ns,
) -> Result<Ended<S, W>, String> {
    let mut sim = simulate(machine, Config::default(), policy, program, NoObserver);
    let end = run_checked(&mut sim, until, |sim| {
        sim.policy.ext.check(&sim.w)?;
        for cpu in 0..sim.w.cpus.len() as u32 {
            Eevdf::check(&sim.policy.fair, &sim.w, CpuId(cpu))?;
        }
        Ok(())
    })?;
    Ok((end, sim))
}

#[test]
fn the_results_are_those_of_both_classes() {
    let policy = beside_eevdf(Fifo::new(false), Rules::V6_12, 4);
    let names = |results: Vec<(&'static str, f64)>| -> Vec<_> {
        results.into_iter().map(|(name, _)| name).collect()
    };
    let (fair, ext) = (names(policy.fair.results()), names(policy.ext.results()));
    assert!(!fair.is_empty());
    assert_eq!(names(policy.results()), [fair, ext].concat());
}

/// Averages are those of the fair class: a CPU that it keeps busy has all of its capacity in use.
#[test]
fn the_signals_of_a_cpu_are_those_of_the_fair_class() {
    let policy = beside_eevdf(Fifo::new(false), Rules::V6_12, 2);
    let program = workloads::micro::Spinners::new(vec![0], 0);
    let mut sim = simulate(free_machine(2), Config::default(), policy, program, NoObserver);
    sim.run_until(1000 * MS);
    let utils = [0, 1].map(|cpu| sim.policy.cpu_signals(CpuId(cpu)).unwrap().util_avg);
    assert!(utils[0].max(utils[1]) > 1000 && utils[0].min(utils[1]) < 100, "{utils:?}");
}

/// One queue, and a list of what it is told of higher classes.
#[derive(Default)]
struct Hears {
    shared: DsqId,
    lines: Vec<String>,
    tasks: Vec<u32>,
    enabled: Vec<u32>,
    /// When CPUs went idle.
    idled: Vec<Ns>,
}

impl Ops for Hears {
    fn init(&mut self, cx: &mut Cx<'_>) {
        self.shared = cx.create_dsq(Order::Fifo);
    }

    fn init_task(&mut self, _: &mut Cx<'_>, p: TaskId, _parent: Option<TaskId>) {
        self.tasks.push(p.0);
    }

    fn enable(&mut self, _: &mut Cx<'_>, p: TaskId) {
        self.enabled.push(p.0);
    }

    fn select_cpu(&mut self, _: &mut Cx<'_>, _: TaskId, prev: CpuId, _: Wake) -> CpuId {
        prev
    }

    fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
        cx.insert(p, Dsq::User(self.shared), cx.slice_dfl());
    }

    fn dispatch(&mut self, _: &mut Cx<'_>, _: CpuId, _prev: Option<TaskId>, nth: u32) -> Next {
        if nth == 0 { Next::Consume(self.shared) } else { Next::Done }
    }

    fn running(&mut self, cx: &mut Cx<'_>, p: TaskId) {
        self.lines.push(format!("{} run {}", cx.now() / MS, p.0));
    }

    fn stopping(&mut self, cx: &mut Cx<'_>, p: TaskId, runnable: bool) {
        self.lines.push(format!("{} stop {} {runnable}", cx.now() / MS, p.0));
    }

    fn update_idle(&mut self, cx: &mut Cx<'_>, _cpu: CpuId, idle: bool) {
        if idle {
            self.idled.push(cx.now());
        }
    }

    fn cpu_release(&mut self, cx: &mut Cx<'_>, cpu: CpuId, by: TaskId) {
        self.lines.push(format!("{} lose {cpu} to {}", cx.now() / MS, by.0));
    }

    fn cpu_acquire(&mut self, cx: &mut Cx<'_>, cpu: CpuId) {
        self.lines.push(format!("{} have {cpu}", cx.now() / MS));
    }
}

fn of(policy: SchedPolicy) -> TaskAttr {
    TaskAttr { policy, ..TaskAttr::default() }
}

/// Tasks that stay on CPU 0.
struct OnCpu0(Scripts);

impl Program for OnCpu0 {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        let cpu = CpuId(0);
        let allowed = cx.mask(CpuSet::of(cx.n_cpus(), [cpu]));
        for (attr, _) in &mut self.0.0 {
            (attr.allowed, attr.start_cpu) = (allowed, Some(cpu));
        }
        self.0.start(cx);
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        self.0.next(cx, task)
    }
}

fn life(
    tasks: Vec<(TaskAttr, Vec<Op>)>,
    until: Ns,
) -> Simulation<Both<Hears>, Scripts, NoObserver> {
    let policy = beside_eevdf(Hears::default(), Rules::V6_12, 1);
    checked(free_machine(1), policy, Scripts(tasks), until).expect("all is kept").1
}

/// The fair task that wakes takes the CPU at once; the other one keeps what it has of its slice.
#[test]
fn a_fair_task_takes_the_cpu_and_the_scheduler_is_told() {
    let tasks = vec![
        (of(SchedPolicy::Ext), vec![Op::Run(100 * MS)]),
        (of(SchedPolicy::Normal), vec![Op::Sleep(5 * MS), Op::Run(30 * MS), Op::Sleep(500 * MS)]),
    ];
    let sim = life(tasks, 60 * MS);
    let ops = &sim.policy.ext.ops;
    // It had 20 ms, and has run 5 of them: nobody else is there, so it goes on without a stop.
    let told = ["0 run 0", "5 stop 0 true", "5 lose 0 to 1", "35 have 0", "35 run 0"];
    assert_eq!(ops.lines, told);
    assert_eq!((ops.tasks.as_slice(), ops.enabled.as_slice()), (&[0, 1][..], &[0][..]));
    assert_eq!(sim.w.tasks[TaskId(1)].ran_ns, 30 * MS);
}

/// With another CPU to look at, newidle balance sees the task that waits, and says that there is
/// something to run: the scheduler hears that the CPU is its own when it is asked again.
#[test]
fn a_scheduler_is_not_asked_if_newidle_balance_has_seen_its_task() {
    let fair = vec![Op::Sleep(5 * MS), Op::Run(30 * MS), Op::Sleep(500 * MS)];
    let program = OnCpu0(Scripts(vec![
        (of(SchedPolicy::Ext), vec![Op::Run(100 * MS)]),
        (of(SchedPolicy::Normal), fair),
    ]));
    let policy = beside_eevdf(Hears::default(), Rules::V6_12, 2);
    let (_, sim) = checked(free_machine(2), policy, program, 60 * MS).expect("all is kept");
    let told = ["0 run 0", "5 stop 0 true", "5 lose 0 to 1", "35 run 0", "52 have 0"];
    assert_eq!(sim.policy.ext.ops.lines, told);
}

/// The first task has run more than its share when it falls asleep, so it stays on the queue. When
/// the second one sleeps, too, the fair class claims to have something to run, so that the
/// scheduler is not asked. The pick finds out; the CPU goes idle, and kicks itself.
#[test]
fn behind_fair_tasks_that_all_sleep_the_cpu_idles_for_an_instant() {
    let tasks = vec![
        (of(SchedPolicy::Normal), vec![Op::Sleep(MS), Op::Run(2 * MS), Op::Sleep(500 * MS)]),
        (of(SchedPolicy::Normal), vec![Op::Sleep(MS), Op::Run(MS), Op::Sleep(500 * MS)]),
        (of(SchedPolicy::Ext), vec![Op::Sleep(2 * MS), Op::Run(5 * MS), Op::Sleep(500 * MS)]),
    ];
    let sim = life(tasks, 60 * MS);
    let ops = &sim.policy.ext.ops;
    assert_eq!(ops.lines[2..], ["4 run 2", "9 stop 2 false"]);
    assert_eq!(ops.idled.iter().map(|at| at / MS).collect::<Vec<_>>(), [0, 4, 9]);
}

/// While fair tasks compute, a task of the scheduler waits, until the watchdog has enough.
#[test]
fn hogs_of_the_fair_class_starve_the_scheduler_and_the_watchdog_names_its_task() {
    let tasks = vec![(of(SchedPolicy::Normal), vec![]), (of(SchedPolicy::Ext), vec![Op::Run(MS)])];
    let sim = simulate(
        free_machine(1),
        Config::default(),
        beside_eevdf(Fifo::new(false), Rules::V6_18, 1),
        Scripts(tasks),
        NoObserver,
    );
    let mut sim = sim;
    let StopReason::GivenUp(why) = sim.run_until(100_000 * MS) else { panic!("it goes on") };
    assert!(why.starts_with("runnable task stall: "), "{why}");
    assert_eq!(sim.w.tasks[TaskId(1)].ran_ns, 0);
}

/// Two hogs of each class on four CPUs. The scheduler's come last: it sees which CPUs idle.
#[test]
fn each_class_has_cpus_of_its_own_if_there_are_enough() {
    let hogs = |policy| {
        let late = if policy == SchedPolicy::Ext { MS } else { 0 };
        (of(policy), vec![Op::Sleep(late), Op::Run(200 * MS), Op::Sleep(1000 * MS)])
    };
    let all = [SchedPolicy::Normal, SchedPolicy::Ext, SchedPolicy::Normal, SchedPolicy::Ext];
    let policy = beside_eevdf(Vtime::new(false), Rules::V6_12, 4);
    let program = Scripts(all.map(hogs).to_vec());
    let (_, sim) = checked(free_machine(4), policy, program, 210 * MS).unwrap();
    let ran: Vec<Ns> = sim.w.tasks.iter().map(|task| task.ran_ns / MS).collect();
    assert_eq!(ran, [200; 4]);
}

/// `chrt --ext 0 make`: what it forks is the scheduler's, whatever its name becomes.
#[test]
fn a_command_and_all_that_it_forks_are_the_schedulers() {
    let machine = Machine::regular(topology::RegularSpec::default());
    let n = machine.n_cpus();
    let ext = Ext::new(Fifo::new(false), Rules::V6_18, Tunables::default());
    let policy = Partial::new(fair(Rules::V6_18, n), ext, vec!["make".to_string()]);
    let (end, sim) = checked(machine, policy, small_build(0.6), Ns::MAX).unwrap();
    assert_eq!(end, StopReason::Done);
    assert!(sim.w.tasks.len() > 4 && sim.w.comms.iter().any(|name| name == "cc1"));
    assert!(sim.w.tasks.iter().all(|task| task.attr.policy == SchedPolicy::Ext));
    assert!(sim.w.counters.switches > 100);
}

fn kept<S: Ops>(
    machine: Machine,
    ops: S,
    rules: Rules,
    program: impl Program,
) -> Result<(), String> {
    let policy = beside_eevdf(ops, rules, machine.n_cpus());
    checked(machine, policy, program, 40 * MS).map(|_| ())
}

const POLICIES: &[SchedPolicy] =
    &[SchedPolicy::Normal, SchedPolicy::Ext, SchedPolicy::Idle, SchedPolicy::Ext];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Tasks of both classes that wake each other and change each other.
    #[test]
    fn both_classes_keep_their_invariants(
        shape in shapes(),
        is_new: bool,
        which in 0..3,
        program in meddlers_of(POLICIES),
    ) {
        let machine = shape.machine();
        let rules = if is_new { Rules::V6_18 } else { Rules::V6_12 };
        let end = match which {
            0 => kept(machine, Fifo::new(true), rules, program),
            1 => kept(machine, Vtime::new(false), rules, program),
            _ => kept(machine, LlcFifo::new(true), rules, program),
        };
        prop_assert!(end.is_ok(), "{end:?}");
    }

    /// Where nothing costs time, a fair class without tasks is as if it were not there.
    #[test]
    fn without_fair_tasks_it_is_the_scheduler_alone(
        n_cpus in 1u32..9,
        is_new: bool,
        tasks in 1u32..20,
        run_us in 1u64..3000,
        sleep_us in 1u64..3000,
        seed: u64,
    ) {
        let rules = if is_new { Rules::V6_18 } else { Rules::V6_12 };
        // With both classes each tick is an event, alone only those that decide something: ticks
        // of two CPUs at one instant may then come in another order.
        let machine = || Machine { tick_skew_ns: 1_000, ..free_machine(n_cpus) };
        let program = || Short::new(tasks, run_us * 1000, sleep_us * 1000, 10, seed);
        // No slack: the fair class sends interrupts for idle CPUs' averages, and a timer that has
        // slack fires at any interrupt.
        let config = Config { ttwu_queue: false, timer_slack_ns: 0, ..Config::default() };
        let alone = Ext::new(Fifo::new(true), rules, Tunables::default());
        let mut a = simulate(machine(), config, alone, program(), TraceHash::default());
        let ext = Ext::new(Fifo::new(true), rules, Tunables::default());
        let both = Partial::new(fair(rules, n_cpus as usize), ext, vec!["short".to_string()]);
        let mut b = simulate(machine(), config, both, program(), TraceHash::default());
        prop_assert_eq!(a.run_until(Ns::MAX), b.run_until(Ns::MAX));
        prop_assert_eq!(a.observer.hash, b.observer.hash);
    }
}
