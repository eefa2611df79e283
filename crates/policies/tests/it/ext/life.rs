//! The life of a wake-up under a sched_ext scheduler, step by step.

use policies::ext::{
    Cx, Dsq, DsqId, Ext, Fifo, Insert, Kick, LlcFifo, Next, Ops, Order, Rules, Tunables, Vtime,
    Wake, Why,
};
use sim_core::{
    Config, EnqueueFlags, MaskId, NoObserver, Ns, Op, Simulation, TaskAttr, TaskId, World,
};
use test_support::{Scripts, free_machine, run_checked};
use topology::{CpuId, CpuSet};

const MS: Ns = 1_000_000;

/// scx_simple that writes down what it is asked.
#[derive(Default)]
struct Log {
    shared: DsqId,
    lines: Vec<String>,
    /// Tasks that go to the global queue instead.
    to_global: Vec<TaskId>,
}

impl Log {
    fn note(&mut self, cx: &Cx<'_>, line: String) {
        self.lines.push(format!("{} {line}", cx.now() / 1000));
    }
}

impl Ops for Log {
    fn init(&mut self, cx: &mut Cx<'_>) {
        self.shared = cx.create_dsq(Order::Fifo);
    }

    fn select_cpu(&mut self, cx: &mut Cx<'_>, p: TaskId, prev: CpuId, wake: Wake) -> CpuId {
        let (cpu, why) = cx.select_cpu_dfl(p, prev, wake);
        if why == Why::Idle {
            cx.insert(p, Dsq::Local, cx.slice_dfl());
        }
        self.note(cx, format!("select {} {why:?} {cpu}", p.0));
        cpu
    }

    fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
        self.note(cx, format!("enqueue {}", p.0));
        let to = if self.to_global.contains(&p) { Dsq::Global } else { Dsq::User(self.shared) };
        cx.insert(p, to, cx.slice_dfl());
    }

    fn dispatch(&mut self, cx: &mut Cx<'_>, cpu: CpuId, prev: Option<TaskId>, nth: u32) -> Next {
        self.note(cx, format!("dispatch {cpu} {:?} {nth}", prev.map(|p| p.0)));
        if nth == 0 { Next::Consume(self.shared) } else { Next::Done }
    }

    fn running(&mut self, cx: &mut Cx<'_>, p: TaskId) {
        self.note(cx, format!("running {} on {}", p.0, cx.task_cpu(p)));
    }

    fn stopping(&mut self, cx: &mut Cx<'_>, p: TaskId, runnable: bool) {
        self.note(cx, format!("stopping {} {runnable}", p.0));
    }
}

/// Runs scripts on a machine of that many CPUs without costs; mask 1 + c allows CPU c only.
pub fn run<S: Ops>(ops: S, cpus: u32, tasks: Vec<(TaskAttr, Vec<Op>)>, until: Ns) -> Sim<S> {
    run_under(ops, Rules::V6_12, cpus, tasks, until)
}

/// The same under these rules.
pub fn run_under<S: Ops>(
    ops: S,
    rules: Rules,
    cpus: u32,
    tasks: Vec<(TaskAttr, Vec<Op>)>,
    until: Ns,
) -> Sim<S> {
    let mut sim = ready(ops, rules, cpus, tasks);
    run_checked(&mut sim, until, |sim| sim.policy.check(&sim.w)).expect("every invariant holds");
    sim
}

/// Before it runs.
pub fn ready<S: Ops>(ops: S, rules: Rules, cpus: u32, tasks: Vec<(TaskAttr, Vec<Op>)>) -> Sim<S> {
    let machine = free_machine(cpus);
    let mut w = World::new(machine.into(), Config { timer_slack_ns: 0, ..Config::default() });
    for c in (0..cpus).filter(|_| cpus > 1) {
        w.mask(CpuSet::of(cpus as usize, [CpuId(c)]));
    }
    let policy = Ext::new(ops, rules, Tunables::default());
    Simulation::new(w, policy, Scripts(tasks), NoObserver)
}

pub type Sim<S> = Simulation<Ext<S>, Scripts, NoObserver>;

pub fn on(cpu: u32) -> TaskAttr {
    TaskAttr { start_cpu: Some(CpuId(cpu)), ..TaskAttr::default() }
}

pub fn only(cpu: u32) -> TaskAttr {
    TaskAttr { allowed: sim_core::MaskId(1 + cpu), ..TaskAttr::default() }
}

fn check(sim: &Sim<Log>, expected: &[&str]) {
    assert_eq!(sim.policy.ops.lines, expected);
}

/// A task inserted into the local queue by `select_cpu` is not enqueued again.
#[test]
fn direct_dispatch_skips_enqueue() {
    let nap = vec![Op::Sleep(MS), Op::Run(MS), Op::Sleep(100 * MS)];
    let sim = run(Log::default(), 2, vec![(on(0), nap)], 10 * MS);
    check(
        &sim,
        &[
            "0 enqueue 0",
            "0 dispatch 0 None 0",
            "0 running 0 on 0",
            "0 stopping 0 false",
            "0 dispatch 0 None 0",
            "0 dispatch 0 None 1",
            "1000 select 0 Idle 0",
            "1000 running 0 on 0",
            "2000 stopping 0 false",
            "2000 dispatch 0 None 0",
            "2000 dispatch 0 None 1",
        ],
    );
}

/// A CPU takes the next task from its local queue, then from the global one, then by `dispatch`.
#[test]
fn local_comes_before_global_before_dispatch() {
    // Four tasks at the start: 1 in the shared queue, 2 in the global one, 0 and 3 on the local
    // one.
    struct Order3(Log);
    impl Ops for Order3 {
        fn init(&mut self, cx: &mut Cx<'_>) {
            self.0.init(cx);
        }
        fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
            let to = match p.0 {
                1 => Dsq::User(self.0.shared),
                2 => Dsq::Global,
                _ => Dsq::Local,
            };
            cx.insert(p, to, cx.slice_dfl());
        }
        fn dispatch(&mut self, cx: &mut Cx<'_>, cpu: CpuId, prev: Option<TaskId>, n: u32) -> Next {
            self.0.dispatch(cx, cpu, prev, n)
        }
        fn running(&mut self, cx: &mut Cx<'_>, p: TaskId) {
            self.0.running(cx, p);
        }
    }
    let short = || vec![Op::Run(MS), Op::Sleep(1000 * MS)];
    let tasks = (0..4).map(|_| (on(0), short())).collect();
    let sim = run(Order3(Log::default()), 1, tasks, 10 * MS);
    let lines: Vec<&str> = sim.policy.ops.0.lines.iter().map(String::as_str).collect();
    assert_eq!(
        lines,
        [
            "0 running 0 on 0",
            "1000 running 3 on 0",
            "2000 running 2 on 0",
            "3000 dispatch 0 None 0",
            "3000 running 1 on 0",
            "4000 dispatch 0 None 0",
            "4000 dispatch 0 None 1",
        ]
    );
}

/// A slice ends at a tick, and its task goes to the tail of the queue. A task that is alone keeps
/// the CPU.
#[test]
fn a_slice_ends_at_a_tick_and_a_lone_task_is_kept() {
    let tasks = vec![(on(0), vec![]), (on(0), vec![Op::Run(5 * MS), Op::Sleep(1000 * MS)])];
    let sim = run(Log::default(), 1, tasks, 70 * MS);
    check(
        &sim,
        &[
            "0 enqueue 0",
            "0 enqueue 1",
            "0 dispatch 0 None 0",
            "0 running 0 on 0",
            // HZ 250: the fifth tick.
            "20000 dispatch 0 Some(0) 0",
            "20000 stopping 0 true",
            "20000 enqueue 0",
            "20000 running 1 on 0",
            "25000 stopping 1 false",
            "25000 dispatch 0 None 0",
            "25000 running 0 on 0",
            // 20 ms later is not a tick edge; nothing else waits.
            "48000 dispatch 0 Some(0) 0",
            "48000 dispatch 0 Some(0) 1",
            "68000 dispatch 0 Some(0) 0",
            "68000 dispatch 0 Some(0) 1",
        ],
    );
}

/// The order of arrival holds over the whole machine.
#[test]
fn unpinned_tasks_run_in_the_order_of_their_arrival() {
    let mut tasks: Vec<(TaskAttr, Vec<Op>)> = Vec::new();
    // Three hogs, one per CPU, that end at different times.
    for (cpu, ms) in [(0, 3), (1, 1), (2, 2)] {
        tasks.push((on(cpu), vec![Op::Run(ms * MS), Op::Sleep(1000 * MS)]));
    }
    for cpu in [2, 0, 1, 1] {
        tasks.push((on(cpu), vec![Op::Run(10 * MS), Op::Sleep(1000 * MS)]));
    }
    let sim = run(Log::default(), 3, tasks, 12 * MS);
    let starts = sim.policy.ops.lines.iter().filter(|l| l.contains("running"));
    let starts: Vec<&str> = starts.map(String::as_str).collect();
    assert_eq!(
        starts[3..],
        [
            "1000 running 3 on 1",
            "2000 running 4 on 2",
            "3000 running 5 on 0",
            "11000 running 6 on 1"
        ]
    );
}

/// The pinned task waits for its CPU while the one behind it runs.
#[test]
fn a_pinned_head_is_skipped_and_does_not_block_others() {
    let hog = |ms| vec![Op::Run(ms * MS), Op::Sleep(1000 * MS)];
    let tasks = vec![(on(0), hog(9)), (on(1), hog(1)), (only(0), hog(1)), (on(1), hog(1))];
    let sim = run(Log::default(), 2, tasks, 15 * MS);
    let starts = sim.policy.ops.lines.iter().filter(|l| l.contains("running"));
    let starts: Vec<&str> = starts.map(String::as_str).collect();
    let expected =
        ["0 running 0 on 0", "0 running 1 on 1", "1000 running 3 on 1", "9000 running 2 on 0"];
    assert_eq!(starts, expected);
}

/// Keeps runnable tasks in a stack of its own: the last one first.
#[derive(Default)]
pub struct Lifo {
    stack: Vec<TaskId>,
}

impl Ops for Lifo {
    fn select_cpu(&mut self, _: &mut Cx<'_>, _: TaskId, prev: CpuId, _: Wake) -> CpuId {
        prev
    }

    fn enqueue(&mut self, _: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
        self.stack.push(p);
    }

    fn dequeue(&mut self, _: &mut Cx<'_>, p: TaskId) {
        self.stack.retain(|q| *q != p);
    }

    fn dispatch(&mut self, cx: &mut Cx<'_>, _: CpuId, _: Option<TaskId>, _: u32) -> Next {
        if let Some(p) = self.stack.pop() {
            cx.insert(p, Dsq::Local, cx.slice_dfl());
        }
        Next::Done
    }
}

#[test]
fn a_scheduler_may_keep_tasks_itself_and_they_are_fetched_from_wherever_they_are() {
    let nap = || vec![Op::Run(MS), Op::Sleep(MS), Op::Run(MS), Op::Sleep(1000 * MS)];
    let tasks = (0..8).map(|i| (on(i % 2), nap())).collect();
    let sim = run(Lifo::default(), 2, tasks, 30 * MS);
    let ran: Vec<Ns> = sim.w.tasks.iter().map(|t| t.ran_ns).collect();
    assert_eq!(ran, [2 * MS; 8]);
    assert!(sim.w.counters.migrations.iter().sum::<u64>() > 0);
}

/// The head of the local queue of its CPU, with or without taking the CPU away.
struct Pushy {
    preempt: bool,
}

impl Ops for Pushy {
    fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, flags: EnqueueFlags) {
        let urgent = flags.wakeup;
        let preempt = urgent && self.preempt;
        let flags = Insert { head: urgent, preempt, kick_idle: false };
        cx.insert_with(p, Dsq::Local, cx.slice_dfl(), flags);
    }
}

#[test]
fn an_insertion_may_preempt() {
    let ran_at_7_ms = |preempt| {
        let nap = vec![Op::Sleep(5 * MS), Op::Run(MS), Op::Sleep(1000 * MS)];
        let tasks = vec![(on(0), nap), (on(0), vec![])];
        run(Pushy { preempt }, 1, tasks, 7 * MS).w.tasks[TaskId(0)].ran_ns
    };
    assert_eq!((ran_at_7_ms(true), ran_at_7_ms(false)), (MS, 0));
}

/// Consumes the shared queue while it dispatches tasks of its own.
#[derive(Default)]
struct Both {
    kept: Vec<TaskId>,
    shared: DsqId,
}

impl Ops for Both {
    fn init(&mut self, cx: &mut Cx<'_>) {
        self.shared = cx.create_dsq(Order::Fifo);
    }

    fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
        match p.0 % 2 {
            0 => self.kept.push(p),
            _ => cx.insert(p, Dsq::User(self.shared), cx.slice_dfl()),
        }
    }

    fn dispatch(&mut self, cx: &mut Cx<'_>, _: CpuId, _: Option<TaskId>, attempt: u32) -> Next {
        assert_eq!(cx.dispatch_nr_slots(), 32);
        for p in self.kept.drain(..) {
            cx.insert(p, Dsq::Local, cx.slice_dfl());
        }
        if attempt == 0 { Next::Consume(self.shared) } else { Next::Done }
    }
}

/// As `scx_bpf_consume` does: what was dispatched before is carried out first.
#[test]
fn what_is_inserted_before_a_queue_is_consumed_comes_first() {
    let tasks = (0..4).map(|_| (on(0), vec![Op::Run(MS), Op::Sleep(1000 * MS)])).collect();
    let sim = run(Both::default(), 1, tasks, 3 * MS);
    let ran: Vec<Ns> = sim.w.tasks.iter().map(|t| t.ran_ns).collect();
    assert_eq!(ran, [MS, MS, MS, 0]);
}

/// Puts one task aside each time that it is asked, where no CPU finds it.
#[derive(Default)]
struct Aside {
    kept: Vec<TaskId>,
    aside: DsqId,
    asked: u32,
}

impl Ops for Aside {
    fn init(&mut self, cx: &mut Cx<'_>) {
        self.aside = cx.create_dsq(Order::Fifo);
    }

    fn enqueue(&mut self, _: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
        self.kept.push(p);
    }

    fn dispatch(&mut self, cx: &mut Cx<'_>, _: CpuId, _: Option<TaskId>, _: u32) -> Next {
        self.asked += 1;
        if let Some(p) = self.kept.pop() {
            cx.insert(p, Dsq::User(self.aside), cx.slice_dfl());
        }
        Next::Done
    }
}

/// Who dispatches something, but nothing for this CPU, is asked again, 32 times in all
/// (`balance_one`, 6.12: `SCX_DSP_MAX_LOOPS`).
#[test]
fn a_scheduler_is_asked_again_while_it_dispatches() {
    let asked = |tasks| {
        let tasks = (0..tasks).map(|_| (on(0), vec![Op::Run(MS)])).collect();
        run(Aside::default(), 1, tasks, MS).policy.ops.asked
    };
    // The last time it has nothing.
    assert_eq!([1, 20, 30].map(asked), [2, 21, 31]);
    // After the 32nd time the CPU kicks itself, schedules anew, and asks again.
    assert_eq!([31, 32, 40].map(asked), [33, 33, 41]);
}

#[test]
fn a_yield_gives_up_the_slice() {
    let tasks = vec![
        (on(0), vec![Op::Run(MS), Op::Yield]),
        (on(0), vec![Op::Run(MS), Op::Sleep(1000 * MS)]),
    ];
    let sim = run(Log::default(), 1, tasks, 5 * MS);
    assert_eq!(sim.w.tasks[TaskId(1)].ran_ns, MS);
}

/// One queue for all CPUs: with many of them, its lock shows.
#[test]
fn the_lock_of_the_shared_queue_is_a_lock() {
    let spec = topology::RegularSpec { cores_per_llc: 32, ..topology::RegularSpec::default() };
    let machine = topology::Machine::regular(spec);
    let w = World::new(machine.into(), Config::default());
    let policy = Ext::new(Fifo::new(true), Rules::V6_18, Tunables::default());
    let program = workloads::micro::Short::new(200, 20_000, 10_000, 50, 1);
    let mut sim = Simulation::new(w, policy, program, NoObserver);
    sim.run_until(Ns::MAX);
    let stats = sim.w.locks.site(policies::ext::LOCK_SITES[0]);
    assert!(stats.acquired > 10_000 && stats.contended > 100, "{stats:?}");
}

/// The own LLC's queue, then those of the node, then the others, each from its head.
#[test]
fn an_idle_cpu_steals_from_near_llcs_first() {
    let spec = topology::RegularSpec {
        sockets: 2,
        llcs_per_socket: 2,
        cores_per_llc: 1,
        threads_per_core: 1,
        ..topology::RegularSpec::default()
    };
    let machine = topology::Machine::regular(spec).without_costs();
    let w = World::new(machine.into(), Config { timer_slack_ns: 0, ..Config::default() });
    let work = |ms| vec![Op::Run(ms * MS), Op::Sleep(1000 * MS)];
    // One hog per CPU; that of CPU 3 is the first to end. One waits on each other CPU, two there.
    let mut tasks: Vec<(TaskAttr, Vec<Op>)> =
        (0..4).map(|cpu| (on(cpu), work(if cpu == 3 { 1 } else { 19 }))).collect();
    tasks.extend([0, 1, 2, 3, 3].map(|cpu| (on(cpu), work(1))));
    let policy = Ext::new(LlcFifo::new(true), Rules::V6_18, Tunables::default());
    let mut sim = Simulation::new(w, policy, Scripts(tasks), NoObserver);
    let mut order = Vec::new();
    for ms in 1..6 {
        sim.run_until(ms * MS + MS / 2);
        order.push(sim.w.cpus[CpuId(3)].curr.0);
    }
    // Its own two, that of CPU 2 beside it, then CPU 0's and CPU 1's.
    assert_eq!(order, [7, 8, 6, 4, 5]);
}

/// A task that has slept long is at most one slice ahead of the others.
#[test]
fn a_sleeper_gains_one_slice_under_vtime() {
    let mut tasks = vec![(on(0), vec![Op::Sleep(400 * MS)])];
    tasks.extend((0..3).map(|_| (on(0), vec![])));
    let sim = run(Vtime::new(true), 1, tasks, 800 * MS);
    // A quarter of the rest is 100 ms. Behind by all that it slept, it would run every other slice.
    let ran = sim.w.tasks[TaskId(0)].ran_ns;
    assert!((80 * MS..=150 * MS).contains(&ran), "{ran}");
}

/// Enqueues a task even if it is the last one of its CPU (`SCX_OPS_ENQ_LAST`).
struct Last {
    shared: DsqId,
    local: bool,
    kicks: bool,
    /// How often it was the last one.
    n: u32,
}

impl Ops for Last {
    fn enqueues_last(&self) -> bool {
        true
    }

    fn init(&mut self, cx: &mut Cx<'_>) {
        self.shared = cx.create_dsq(Order::Fifo);
    }

    fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
        self.n += u32::from(cx.is_last());
        let to = if self.local { Dsq::Local } else { Dsq::User(self.shared) };
        cx.insert(p, to, cx.slice_dfl());
        if cx.is_last() && self.kicks {
            cx.kick_cpu(cx.task_cpu(p), Kick::Idle);
        }
    }

    fn dispatch(&mut self, _: &mut Cx<'_>, _: CpuId, _: Option<TaskId>, attempt: u32) -> Next {
        if attempt == 0 { Next::Consume(self.shared) } else { Next::Done }
    }
}

/// On the own local queue it goes on; elsewhere its CPU idles, unless it is kicked.
#[test]
fn the_last_task_is_enqueued_if_the_scheduler_wants_it() {
    let run = |local, kicks| {
        let ops = Last { shared: DsqId::default(), local, kicks, n: 0 };
        let sim = run(ops, 1, vec![(on(0), vec![])], 100 * MS);
        (sim.policy.ops.n, sim.w.cpus[CpuId(0)].time[0] / MS)
    };
    assert_eq!(run(true, false), (5, 100));
    assert_eq!(run(false, true), (5, 100));
    assert_eq!(run(false, false), (1, 20));
}

/// `p->wake_cpu` is where a wake-up looks first, and workqueues write it.
#[test]
fn a_wake_up_begins_at_wake_cpu() {
    let nap = || vec![Op::Sleep(MS), Op::Run(MS), Op::Sleep(100 * MS)];
    let mut sim = run(Log::default(), 2, vec![(on(0), nap())], MS / 2);
    sim.w.tasks[TaskId(0)].wake_cpu = CpuId(1);
    sim.run_until(10 * MS);
    assert!(sim.policy.ops.lines.contains(&"1000 select 0 Idle 1".to_string()));
}

/// All wait on local queues, and give those up that the stopper blocks.
#[derive(Default)]
pub struct GivesUp {
    given_up: u32,
    reenqueued: Vec<TaskId>,
}

impl Ops for GivesUp {
    fn select_cpu(&mut self, _: &mut Cx<'_>, _: TaskId, prev: CpuId, _: Wake) -> CpuId {
        prev
    }

    fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
        if cx.is_reenqueue() {
            self.reenqueued.push(p);
        }
        let to = if cx.is_reenqueue() { Dsq::Global } else { Dsq::Local };
        cx.insert(p, to, 20 * MS);
    }

    fn cpu_release(&mut self, cx: &mut Cx<'_>, _cpu: CpuId, _by: TaskId) {
        self.given_up += cx.reenqueue_local();
    }
}

/// `scx_bpf_reenqueue_local`: CPU 0 loses its task to CPU 1, and all that wait there are asked for
/// again, but for the task that the stopper is to move.
#[test]
fn what_waits_for_a_cpu_that_the_stopper_has_is_enqueued_anew() {
    // Masks 1 and 2 allow CPU 0 and CPU 1.
    let moves = Op::SetAffinity { task: TaskId(0), allowed: MaskId(2) };
    let tasks = vec![
        (on(0), vec![Op::Run(100 * MS)]),
        (on(0), vec![Op::Run(100 * MS)]),
        (on(0), vec![Op::Run(100 * MS)]),
        (on(1), vec![Op::Run(5 * MS), moves, Op::Sleep(1000 * MS)]),
    ];
    let sim = run(GivesUp::default(), 2, tasks, 6 * MS);
    let ops = &sim.policy.ops;
    assert_eq!(ops.given_up as usize, ops.reenqueued.len());
    assert_eq!(ops.reenqueued, [TaskId(1), TaskId(2)]);
    assert_eq!(sim.w.tasks[TaskId(0)].cpu, CpuId(1));
}

/// Notes who becomes runnable and who no longer is, and how long the global queue is.
#[derive(Default)]
struct Counts {
    lines: Vec<String>,
}

impl Ops for Counts {
    fn runnable(&mut self, cx: &mut Cx<'_>, p: TaskId, flags: EnqueueFlags) {
        let why = if flags.wakeup { "woken" } else { "new" };
        self.lines.push(format!("{} {} {why}", cx.now() / MS, p.0));
    }

    fn quiescent(&mut self, cx: &mut Cx<'_>, p: TaskId) {
        self.lines.push(format!("{} {} sleeps", cx.now() / MS, p.0));
    }

    fn stopping(&mut self, cx: &mut Cx<'_>, p: TaskId, _: bool) {
        let queued = cx.global_nr_queued(cx.task_cpu(p));
        self.lines.push(format!("{} {} stops, {queued} wait", cx.now() / MS, p.0));
    }
}

/// `ops.runnable` in `enqueue_task_scx` (v6.12): of new tasks and of woken ones, each once, and not
/// of those that are enqueued again.
#[test]
fn who_becomes_runnable_is_told_and_the_global_queue_is_counted() {
    let nap = |run| vec![Op::Run(run), Op::Sleep(60 * MS), Op::Run(MS / 2), Op::Sleep(1000 * MS)];
    let tasks = vec![(on(0), nap(25 * MS)), (on(0), nap(MS)), (on(0), nap(MS))];
    let sim = run(Counts::default(), 1, tasks, 100 * MS);
    let lines: Vec<&str> = sim.policy.ops.lines.iter().map(String::as_str).collect();
    assert_eq!(
        lines,
        [
            "0 0 new",
            "0 1 new",
            "0 2 new",
            "20 0 stops, 1 wait",
            "21 1 stops, 2 wait",
            "21 1 sleeps",
            "22 2 stops, 1 wait",
            "22 2 sleeps",
            "27 0 stops, 0 wait",
            "27 0 sleeps",
            "81 1 woken",
            "81 1 stops, 0 wait",
            "81 1 sleeps",
            "82 2 woken",
            "82 2 stops, 0 wait",
            "82 2 sleeps",
            "87 0 woken",
            "87 0 stops, 0 wait",
            "87 0 sleeps",
        ]
    );
}
