//! Kernel paths, locks and devices of programs: no wake-up is lost, locks hold, interrupts come.

use policies::fair::Fair;
use policies::fair::features::{Features, Tunables};
use policies::fcfs::Fcfs;
use policies::workqueue::POOL_LOCK_SITE;
use proptest::prelude::*;
use sim_core::{
    Category, Config, LockId, MaskId, NoObserver, Ns, Op, Policy, Program, ProgramCx, Step,
    StopReason, TaskAttr, TaskId,
};
use test_support::{run_checked, shapes, simulate};
use topology::{CState, CpuId, CpuSet, Machine, RegularSpec};

/// Producers put items on a list under a lock and wake, still under it, the consumer that went to
/// sleep last; consumers take them, as workers of a pool do.
struct Pool {
    producers: u32,
    consumers: u32,
    items_left: Vec<u32>,
    work_ns: Ns,
    lock: Option<LockId>,
    inside: Option<TaskId>,
    queued: u32,
    consumed: u32,
    total: u32,
    idle: Vec<TaskId>,
    at: Vec<TaskStep>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TaskStep {
    Work,
    Enter,
    Locked,
    Held,
    Leave,
    Left,
    /// On the idle list, not yet asleep.
    Idle,
    Sleep,
}

impl Pool {
    fn new(producers: u32, consumers: u32, items: u32, work_ns: Ns) -> Self {
        Self {
            producers,
            consumers,
            items_left: vec![items; producers as usize],
            work_ns,
            lock: None,
            inside: None,
            queued: 0,
            consumed: 0,
            total: producers * items,
            idle: Vec::new(),
            at: vec![TaskStep::Work; (producers + consumers) as usize],
        }
    }

    fn lock(&self) -> LockId {
        self.lock.expect("made at the start")
    }

    fn produces(&self, task: TaskId) -> bool {
        task.0 < self.producers
    }

    /// Inside of the lock, after its hold time.
    fn held(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Step {
        let me = task.idx();
        if self.produces(task) {
            self.queued += 1;
            self.items_left[me] -= 1;
            self.at[me] = TaskStep::Leave;
            // The sleeper stays on the list until it runs, so it may be woken more than once.
            return self
                .idle
                .last()
                .map_or(Step::Spend(0), |t| Step::Wake { task: *t, sync: false });
        }
        self.idle.retain(|t| *t != task);
        self.at[me] = TaskStep::Leave;
        if self.queued > 0 {
            self.queued -= 1;
            self.consumed += 1;
        } else {
            self.idle.push(task);
            cx.prepare_to_wait(task);
            self.at[me] = TaskStep::Idle;
        }
        Step::Spend(0)
    }
}

impl Program for Pool {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        self.lock = Some(cx.new_lock("pool"));
        for _ in 0..self.producers + self.consumers {
            cx.start_task(TaskAttr::default());
        }
    }

    fn next(&mut self, _cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let me = task.idx();
        match self.at[me] {
            TaskStep::Work if self.produces(task) && self.items_left[me] == 0 => Op::Exit,
            TaskStep::Work | TaskStep::Sleep if self.consumed == self.total => Op::Exit,
            TaskStep::Work => {
                self.at[me] = TaskStep::Enter;
                Op::Run(self.work_ns * (1 + u64::from(task.0) % 3))
            }
            TaskStep::Sleep => {
                self.at[me] = TaskStep::Enter;
                Op::Wait
            }
            _ => {
                self.at[me] = TaskStep::Enter;
                Op::Path
            }
        }
    }

    fn path(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Step {
        let me = task.idx();
        match self.at[me] {
            TaskStep::Enter => {
                self.at[me] = TaskStep::Locked;
                Step::Lock(self.lock(), POOL_LOCK_SITE)
            }
            TaskStep::Locked => {
                assert_eq!(self.inside.replace(task), None, "two in the critical section");
                self.at[me] = TaskStep::Held;
                Step::Spend(100)
            }
            TaskStep::Held => self.held(cx, task),
            TaskStep::Leave => {
                self.inside = None;
                self.at[me] = TaskStep::Left;
                Step::Unlock(self.lock())
            }
            TaskStep::Idle if self.inside == Some(task) => {
                self.inside = None;
                Step::Unlock(self.lock())
            }
            TaskStep::Idle => {
                self.at[me] = TaskStep::Sleep;
                Step::Spend(2000)
            }
            TaskStep::Sleep => Step::Done,
            TaskStep::Left | TaskStep::Work => {
                self.at[me] = TaskStep::Work;
                Step::Done
            }
        }
    }

    fn is_done(&self) -> bool {
        self.consumed == self.total
    }
}

fn every_item_is_consumed<P: Policy>(
    machine: Machine,
    policy: P,
    pool: Pool,
) -> Result<(), String> {
    let total = pool.total;
    // Consumers that sleep at the end are not woken any more; the items are what counts.
    let mut sim = simulate(machine, Config::default(), policy, pool, NoObserver);
    let end = run_checked(&mut sim, 10_000_000_000, |_| Ok(()))?;
    let consumed = sim.program.consumed;
    if consumed == total { Ok(()) } else { Err(format!("{consumed} of {total}: {end:?}")) }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_wake_up_is_lost_between_a_look_and_a_sleep(
        shape in shapes(),
        (producers, consumers) in (1u32..6, 1u32..6),
        items in 1u32..40,
        work_ns in 1u64..20_000,
        fifo in any::<bool>(),
    ) {
        let machine = shape.machine();
        let pool = Pool::new(producers, consumers, items, work_ns);
        let fair = Fair::new(Features::default(), Tunables::for_cpus(machine.n_cpus()));
        let outcome = match fifo {
            true => every_item_is_consumed(machine, Fcfs::default(), pool),
            false => every_item_is_consumed(machine, fair, pool),
        };
        prop_assert_eq!(outcome, Ok(()));
    }
}

/// A device completes `left` requests, one every `period`, and interrupts CPU 1, whose handler
/// wakes the only task.
struct Device {
    period: Ns,
    left: u32,
    done: u32,
    handled: u32,
    waking: bool,
    woken: Vec<Ns>,
}

impl Program for Device {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        cx.start_task(TaskAttr::default());
        cx.set_device(self.period);
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, _task: TaskId) -> Op {
        if self.handled > self.woken.len() as u32 {
            self.woken.push(cx.now());
        }
        if self.left == 0 && self.woken.len() as u32 == self.done { Op::Exit } else { Op::Wait }
    }

    fn device(&mut self, cx: &mut ProgramCx<'_>) {
        self.left -= 1;
        self.done += 1;
        cx.raise(CpuId(1));
        if self.left > 0 {
            cx.set_device(cx.now() + self.period);
        }
    }

    fn interrupt(&mut self, cx: &mut ProgramCx<'_>) -> Step {
        assert_eq!(cx.cpu(), CpuId(1));
        if self.handled == self.done {
            return Step::Done;
        }
        self.waking = !self.waking;
        if self.waking {
            return Step::Spend(1000);
        }
        self.handled += 1;
        Step::Wake { task: TaskId(0), sync: false }
    }
}

#[test]
fn a_device_interrupts_the_cpu_it_names_and_its_handler_wakes() {
    let machine = Machine::regular(RegularSpec { threads_per_core: 1, ..RegularSpec::default() });
    let policy = Fair::new(Features::default(), Tunables::for_cpus(machine.n_cpus()));
    let period = 1_000_000;
    let device = Device { period, left: 5, done: 0, handled: 0, waking: false, woken: Vec::new() };
    let mut sim = simulate(machine, Config::default(), policy, device, NoObserver);
    assert_eq!(sim.run_until(u64::MAX), StopReason::Done);
    let late: Vec<Ns> = sim.program.woken.iter().zip(1..).map(|(at, n)| at - n * period).collect();
    assert!(late.iter().all(|ns| (1000..20_000).contains(ns)), "{late:?}");
    let irq_ns = sim.w.cpus[CpuId(1)].time[Category::Irq as usize];
    assert!((5 * 1300..20_000).contains(&irq_ns), "{irq_ns}");
    assert_eq!(sim.w.cpus[CpuId(2)].time[Category::Irq as usize], 0);
}

/// Two tasks that compute on one CPU; the first is watched.
#[derive(Default)]
struct Watched {
    ticks: Vec<(Ns, Ns)>,
}

impl Program for Watched {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        for _ in 0..2 {
            cx.start_task(TaskAttr::default());
        }
        cx.watch_ticks(TaskId(0), true);
    }

    fn next(&mut self, _cx: &mut ProgramCx<'_>, _task: TaskId) -> Op {
        Op::Run(Ns::MAX)
    }

    fn tick(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) {
        assert_eq!(task, TaskId(0));
        self.ticks.push((cx.now(), cx.ran_ns(task)));
    }
}

#[test]
fn the_ticks_of_a_watched_task_are_told_and_its_time_counted() {
    let machine = Machine::regular(RegularSpec {
        cores_per_llc: 1,
        threads_per_core: 1,
        ..RegularSpec::default()
    });
    let policy = Fair::new(Features::default(), Tunables::for_cpus(1));
    let mut sim = simulate(machine, Config::default(), policy, Watched::default(), NoObserver);
    assert_eq!(sim.run_until(1_000_000_000), StopReason::Until);
    let ticks = &sim.program.ticks;
    // 250 ticks in a second, half of which find it current.
    assert!((115..=135).contains(&ticks.len()), "{}", ticks.len());
    assert!(ticks.is_sorted(), "{ticks:?}");
    let (at, ran) = ticks[ticks.len() - 1];
    assert!(ran.abs_diff(at / 2) < 8_000_000, "ran {ran} of {at}");
}

/// Picks CPUs in turn, before anything runs.
struct Turns(Vec<u32>);

impl Program for Turns {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        let odd = cx.mask(CpuSet::of(cx.n_cpus(), [1, 3, 5].map(CpuId)));
        self.0 = (0..3).map(|_| cx.any_distribute(MaskId::ALL).0).collect();
        self.0.extend((0..3).map(|_| cx.any_distribute(odd).0));
    }

    fn next(&mut self, _cx: &mut ProgramCx<'_>, _task: TaskId) -> Op {
        Op::Exit
    }
}

#[test]
fn cpus_are_picked_in_turn_whatever_the_mask_and_cpu_0_not_at_first() {
    let machine = Machine::regular(RegularSpec::default());
    let sim = simulate(machine, Config::default(), Fcfs::default(), Turns(Vec::new()), NoObserver);
    assert_eq!(sim.program.0, [1, 2, 3, 5, 1, 3]);
}

/// A task says that it will sleep, with interrupts off, while another one's timer expires.
#[derive(Default)]
struct Dozer {
    prepared: bool,
    dozes: u32,
    woken_at: Ns,
}

impl Program for Dozer {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        cx.start_task(TaskAttr { nice: -20, ..TaskAttr::default() });
        cx.start_task(TaskAttr::default());
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        if task == TaskId(0) {
            let first = std::mem::replace(&mut self.woken_at, cx.now()) == 0;
            return if first { Op::Sleep(30_000) } else { Op::Run(10_000_000) };
        }
        self.dozes += u32::from(self.prepared);
        if self.prepared { Op::Wait } else { Op::Path }
    }

    fn path(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Step {
        if std::mem::replace(&mut self.prepared, true) {
            return Step::Done;
        }
        cx.prepare_to_wait(task);
        Step::Spend(100_000)
    }
}

/// With interrupts on again the other task preempts it. It stays on its runqueue, gets its turn and
/// sleeps then: `__schedule()` dequeues only a task that it was called by, not a preempted one. In
/// a kernel that is not preemptible it sleeps at once.
#[test]
fn who_is_preempted_before_it_sleeps_stays_queued() {
    for (preemptible_kernel, queued) in [(true, 2), (false, 1)] {
        let machine = Machine::regular(RegularSpec {
            cores_per_llc: 1,
            threads_per_core: 1,
            ..RegularSpec::default()
        });
        let machine = Machine { preemptible_kernel, ..machine };
        let policy = Fair::new(Features::default(), Tunables::for_cpus(1));
        let config = Config { timer_slack_ns: 0, ..Config::default() };
        let mut sim = simulate(machine, config, policy, Dozer::default(), NoObserver);
        assert_eq!(sim.run_until(500_000), StopReason::Until);
        assert!(sim.program.woken_at > 100_000);
        assert_eq!((sim.w.cpus[CpuId(0)].nr_running, sim.program.dozes), (queued, 0));
        assert_eq!(sim.run_until(1_000_000_000), StopReason::Until);
        assert_eq!(
            (sim.w.cpus[CpuId(0)].nr_running, sim.program.dozes),
            (1, u32::from(queued == 2))
        );
    }
}

/// A device interrupts CPU 1 once in a millisecond; nothing follows from it.
#[derive(Default)]
struct Noise {
    spent: bool,
}

impl Program for Noise {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        cx.start_task(TaskAttr::default());
        cx.set_device(1_000_000);
    }

    fn next(&mut self, _cx: &mut ProgramCx<'_>, _task: TaskId) -> Op {
        Op::Sleep(1_000_000_000)
    }

    fn device(&mut self, cx: &mut ProgramCx<'_>) {
        cx.raise(CpuId(1));
        cx.set_device(cx.now() + 1_000_000);
    }

    fn interrupt(&mut self, _cx: &mut ProgramCx<'_>) -> Step {
        self.spent = !self.spent;
        if self.spent { Step::Spend(1000) } else { Step::Done }
    }
}

/// Short idle periods would let the tick go on; but only `schedule()` starts it again, and until
/// then the CPU sleeps as deeply as if nothing were to come.
#[test]
fn an_interrupt_leaves_an_idle_cpu_without_its_tick() {
    let cstate = |exit_ns: Ns, residency_ns| {
        let (name, polling) = (exit_ns.to_string(), true);
        CState { name, exit_ns, core_exit_ns: exit_ns, residency_ns, polling }
    };
    let machine = Machine {
        cstates: vec![cstate(800, 2_000), cstate(25_000, 2_000_000)],
        ..Machine::regular(RegularSpec { threads_per_core: 1, ..RegularSpec::default() })
    };
    let policy = Fair::new(Features::default(), Tunables::for_cpus(machine.n_cpus()));
    let mut sim = simulate(machine, Config::default(), policy, Noise::default(), NoObserver);
    assert_eq!(sim.run_until(100_400_000), StopReason::Until);
    let cpu = &sim.w.cpus[CpuId(1)];
    assert!(cpu.tick_stopped);
    assert_eq!((cpu.ticks, cpu.cstate), (0, 1));
}

/// A device that does nothing, a number of times.
struct Quiet(u32);

impl Program for Quiet {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        cx.start_task(TaskAttr::default());
        self.device(cx);
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, _task: TaskId) -> Op {
        if cx.now() < 1_000_000 { Op::Run(50_000_000) } else { Op::Exit }
    }

    fn device(&mut self, cx: &mut ProgramCx<'_>) {
        if self.0 > 0 {
            self.0 -= 1;
            cx.set_device(cx.now() + 700_000);
        }
    }
}

#[test]
fn an_instant_of_the_devices_is_an_event() {
    let events = |n| {
        let machine = Machine::regular(RegularSpec::default());
        let policy = Fair::new(Features::default(), Tunables::for_cpus(machine.n_cpus()));
        let mut sim = simulate(machine, Config::default(), policy, Quiet(n), NoObserver);
        assert_eq!(sim.run_until(1_000_000_000), StopReason::Done);
        sim.w.counters.events
    };
    assert_eq!(events(20) - events(0), 20);
}
