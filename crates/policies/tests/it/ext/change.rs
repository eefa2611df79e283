//! Tasks that are changed while they are runnable: they leave and come back, as in the kernel.

use super::life::{on, only, ready, run, run_under};
use policies::ext::{Cx, Dsq, DsqId, Insert, Next, Ops, Order, Rules};
use sim_core::{EnqueueFlags, MaskId, Ns, Op, SchedAttr, StopReason, TaskId};
use topology::CpuId;

const MS: Ns = 1_000_000;

/// A queue by arrival that writes down what it is told of one task from 1 ms on.
struct Told {
    of: TaskId,
    shared: DsqId,
    lines: Vec<String>,
}

impl Told {
    fn of(task: u32) -> Self {
        Self { of: TaskId(task), shared: DsqId::default(), lines: Vec::new() }
    }

    fn note(&mut self, cx: &Cx<'_>, p: TaskId, line: &str) {
        if p == self.of && cx.now() >= MS {
            let change = if cx.is_change() { ", change" } else { "" };
            self.lines.push(format!("{} {line}{change}", cx.now() / MS));
        }
    }
}

impl Ops for Told {
    fn init(&mut self, cx: &mut Cx<'_>) {
        self.shared = cx.create_dsq(Order::Fifo);
    }

    fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
        self.note(cx, p, &format!("enqueue, {} CPUs", cx.world().tasks[p].nr_cpus_allowed));
        cx.insert(p, Dsq::User(self.shared), cx.slice_dfl());
    }

    fn dispatch(&mut self, _: &mut Cx<'_>, _: CpuId, _: Option<TaskId>, attempt: u32) -> Next {
        if attempt == 0 { Next::Consume(self.shared) } else { Next::Done }
    }

    fn runnable(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
        self.note(cx, p, "runnable");
    }

    fn running(&mut self, cx: &mut Cx<'_>, p: TaskId) {
        self.note(cx, p, "running");
    }

    fn stopping(&mut self, cx: &mut Cx<'_>, p: TaskId, runnable: bool) {
        self.note(cx, p, &format!("stopping {runnable}"));
    }

    fn quiescent(&mut self, cx: &mut Cx<'_>, p: TaskId) {
        self.note(cx, p, "quiescent");
    }

    fn set_weight(&mut self, cx: &mut Cx<'_>, p: TaskId, weight: u32) {
        self.note(cx, p, &format!("weight {weight}"));
    }

    fn set_cpumask(&mut self, cx: &mut Cx<'_>, p: TaskId, _allowed: MaskId) {
        self.note(cx, p, "cpumask");
    }
}

fn nice(task: u32, nice: i8) -> Op {
    Op::SetScheduler { task: TaskId(task), attr: SchedAttr { nice, ..SchedAttr::default() } }
}

/// `set_user_nice` (v6.12): dequeue with `DEQUEUE_SAVE`, the weight, enqueue with
/// `ENQUEUE_RESTORE`. So who waits goes to the end of the queue.
#[test]
fn who_waits_is_enqueued_anew_after_a_change() {
    let work = || vec![Op::Run(6 * MS), Op::Sleep(1000 * MS)];
    let renices = vec![Op::Run(2 * MS), nice(2, 5), Op::Run(100 * MS)];
    let tasks = vec![(on(0), work()), (on(1), renices), (on(0), work()), (on(0), work())];
    let sim = run(Told::of(2), 2, tasks, 19 * MS);
    assert_eq!(
        sim.policy.ops.lines,
        [
            "2 quiescent, change",
            "2 weight 33",
            "2 runnable, change",
            "2 enqueue, 2 CPUs, change",
            // After task 3.
            "12 running",
            "18 stopping false",
            "18 quiescent",
        ]
    );
}

/// Who runs stops and goes on, and is not asked about.
#[test]
fn who_runs_stops_and_goes_on_after_a_change() {
    let tasks = vec![(on(0), vec![Op::Run(2 * MS), nice(0, -5), Op::Run(50 * MS)])];
    let sim = run(Told::of(0), 1, tasks, 10 * MS);
    assert_eq!(
        sim.policy.ops.lines,
        [
            "2 stopping false, change",
            "2 quiescent, change",
            "2 weight 305",
            "2 runnable, change",
            "2 running, change",
        ]
    );
}

/// `__do_set_cpus_allowed` (v6.12): the scheduler is asked with the new CPUs. (It was asked with
/// the old ones, and could send the task to where it may no longer run.)
#[test]
fn a_new_affinity_is_known_when_the_task_is_enqueued() {
    let work = || vec![Op::Run(6 * MS), Op::Sleep(1000 * MS)];
    // Mask 1 allows CPU 0.
    let binds = Op::SetAffinity { task: TaskId(2), allowed: MaskId(1) };
    let binds = vec![Op::Run(2 * MS), binds, Op::Run(MS), Op::Sleep(1000 * MS)];
    let tasks = vec![(on(0), work()), (on(1), binds), (on(0), work())];
    let sim = run(Told::of(2), 2, tasks, 15 * MS);
    assert_eq!(
        sim.policy.ops.lines,
        [
            "2 quiescent, change",
            "2 cpumask",
            "2 runnable, change",
            "2 enqueue, 1 CPUs, change",
            // CPU 1 is idle from 3 ms on.
            "6 running",
            "12 stopping false",
            "12 quiescent",
        ]
    );
}

/// Who is kept by the scheduler is taken from it, and given back.
#[test]
fn who_is_kept_is_taken_away_before_a_change() {
    #[derive(Default)]
    struct Keeps {
        kept: Vec<TaskId>,
        lines: Vec<String>,
    }
    impl Ops for Keeps {
        fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
            if cx.is_change() {
                self.lines.push(format!("{} back", p.0));
            }
            self.kept.push(p);
        }

        fn dequeue(&mut self, cx: &mut Cx<'_>, p: TaskId) {
            self.lines.push(format!("{} away {}", p.0, cx.is_change()));
            self.kept.retain(|kept| *kept != p);
        }

        fn dispatch(&mut self, cx: &mut Cx<'_>, _: CpuId, _: Option<TaskId>, _: u32) -> Next {
            if !self.kept.is_empty() {
                cx.insert(self.kept.remove(0), Dsq::Local, cx.slice_dfl());
            }
            Next::Done
        }
    }
    let tasks = vec![(on(0), vec![Op::Run(2 * MS), nice(1, 5), Op::Run(9 * MS)]), (on(0), vec![])];
    let sim = run(Keeps::default(), 1, tasks, 5 * MS);
    assert_eq!(sim.policy.ops.lines, ["1 away true", "1 back"]);
}

/// Who waits on the local queue goes to its end.
#[test]
fn who_waits_for_its_cpu_comes_last_after_a_change() {
    struct Local;
    impl Ops for Local {
        fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
            cx.insert(p, Dsq::Local, cx.slice_dfl());
        }
    }
    let work = || vec![Op::Run(3 * MS), Op::Sleep(1000 * MS)];
    let renices = vec![Op::Run(2 * MS), nice(1, 5), Op::Run(MS), Op::Sleep(1000 * MS)];
    let tasks = vec![(on(0), renices), (on(0), work()), (on(0), work())];
    let sim = run(Local, 1, tasks, 6 * MS);
    let ran = [1, 2].map(|task| sim.w.tasks[TaskId(task)].ran_ns);
    assert_eq!(ran, [0, 3 * MS]);
}

/// `local_dsq_post_enq` (v6.12): a CPU that looks for its next task anyway is not preempted, and
/// the previous one keeps the slice that `dispatch` has given it.
#[test]
fn a_cpu_that_balances_is_not_preempted() {
    #[derive(Default)]
    struct Prolongs {
        kept: Vec<TaskId>,
        stopped: Vec<Ns>,
    }
    impl Ops for Prolongs {
        fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
            match p {
                TaskId(0) => cx.insert(p, Dsq::Local, 7 * MS),
                _ => self.kept.push(p),
            }
        }

        fn dispatch(&mut self, cx: &mut Cx<'_>, _: CpuId, prev: Option<TaskId>, _: u32) -> Next {
            if let (Some(prev), Some(p)) = (prev, self.kept.pop()) {
                cx.set_slice(prev, 7 * MS);
                let flags = Insert { preempt: true, ..Insert::default() };
                cx.insert_with(p, Dsq::Local, 20 * MS, flags);
            }
            Next::Done
        }

        fn stopping(&mut self, cx: &mut Cx<'_>, p: TaskId, _: bool) {
            if p == TaskId(0) {
                self.stopped.push(cx.now() / MS);
            }
        }
    }
    let sim = run(Prolongs::default(), 1, vec![(on(0), vec![]), (on(0), vec![])], 30 * MS);
    // The first slice is over at 8 ms, the second one at 16.
    assert_eq!(sim.policy.ops.stopped[0], 16);
}

/// `dispatch_to_local_dsq` (v6.12) asks only if the task has to leave its runqueue: there it may
/// wait until the stopper has moved it.
#[test]
fn a_dispatch_to_where_the_task_is_is_never_forbidden() {
    #[derive(Default)]
    struct Where(Vec<TaskId>);
    impl Ops for Where {
        fn enqueue(&mut self, _: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
            self.0.push(p);
        }

        fn dequeue(&mut self, _: &mut Cx<'_>, p: TaskId) {
            self.0.retain(|kept| *kept != p);
        }

        fn dispatch(&mut self, cx: &mut Cx<'_>, _: CpuId, _: Option<TaskId>, _: u32) -> Next {
            if let Some(p) = self.0.pop() {
                cx.insert(p, Dsq::LocalOn(cx.task_cpu(p)), cx.slice_dfl());
            }
            Next::Done
        }
    }
    // Task 0 runs on CPU 0 and binds itself to CPU 1 (mask 2): the stopper moves it.
    let binds = Op::SetAffinity { task: TaskId(0), allowed: MaskId(2) };
    let tasks = vec![(on(0), vec![Op::Run(2 * MS), binds, Op::Run(3 * MS)])];
    let mut sim = ready(Where::default(), Rules::V6_12, 2, tasks);
    assert_eq!(sim.run_until(20 * MS), StopReason::Until);
    assert_eq!(sim.w.cpus[CpuId(1)].curr, TaskId(0));
}

/// `do_enqueue_task` (v6.12): the scheduler is not asked about a task that exits, unless it wants
/// to be (`SCX_OPS_ENQ_EXITING`).
#[test]
fn who_exits_waits_on_the_local_queue() {
    struct Asked {
        wants_all: bool,
        of_exiting: u32,
    }
    impl Ops for Asked {
        fn enqueues_exiting(&self) -> bool {
            self.wants_all
        }

        fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
            self.of_exiting += u32::from(cx.world().tasks[p].exiting);
            cx.insert(p, Dsq::Global, cx.slice_dfl());
        }
    }
    let of_exiting = |wants_all| {
        let tasks = vec![(on(0), vec![]), (on(0), vec![])];
        let mut sim = run(Asked { wants_all, of_exiting: 0 }, 1, tasks, MS);
        sim.w.tasks[TaskId(0)].exiting = true;
        sim.run_until(30 * MS);
        (sim.policy.ops.of_exiting, sim.policy.events().enq_skip_exiting)
    };
    // Its slice ends, and the other one is there.
    assert_eq!(of_exiting(true), (1, 0));
    assert_eq!(of_exiting(false), (0, 1));
}

/// `local_dsq_post_enq` (v6.12): who is enqueued with PREEMPT where it still is the current task
/// does not take its CPU from itself. (It lost the slice that it had just been given.)
#[test]
fn who_preempts_itself_keeps_its_slice() {
    struct AtHead(Vec<Ns>);
    impl Ops for AtHead {
        fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
            if cx.now() > 0 {
                self.0.push(cx.now() / MS);
            }
            let flags = Insert { preempt: true, ..Insert::default() };
            cx.insert_with(p, Dsq::Local, 50 * MS, flags);
        }
    }
    // The second one is there from the start: slices end though their task goes on.
    let sim = run(AtHead(Vec::new()), 1, vec![(on(0), vec![]), (on(0), vec![])], 170 * MS);
    assert_eq!(sim.policy.ops.0, [52, 104, 156]);
}

/// `dispatch_to_local_dsq` (v6.12): that ends the scheduler.
#[test]
fn a_dispatch_to_where_the_task_may_not_run_ends_the_run() {
    struct Blind(Vec<TaskId>);
    impl Ops for Blind {
        fn enqueue(&mut self, _: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
            self.0.push(p);
        }

        fn dispatch(&mut self, cx: &mut Cx<'_>, _: CpuId, _: Option<TaskId>, _: u32) -> Next {
            if let Some(p) = self.0.pop() {
                cx.insert(p, Dsq::LocalOn(CpuId(1)), cx.slice_dfl());
            }
            Next::Done
        }
    }
    let mut sim = ready(Blind(Vec::new()), Rules::V6_12, 2, vec![(only(0), vec![])]);
    let why = "0 sent to CPU 1, where it may not run".to_string();
    assert_eq!(sim.run_until(MS), StopReason::GivenUp(why));
}

/// `__scx_update_idle`: under 6.12 the scheduler hears of it before the mask changes, under 6.18
/// after that.
#[test]
fn the_mask_of_idle_cpus_changes_before_or_after_the_scheduler_hears_of_it() {
    #[derive(Default)]
    struct Looks(Vec<(bool, bool)>);
    impl Ops for Looks {
        fn update_idle(&mut self, cx: &mut Cx<'_>, cpu: CpuId, idle: bool) {
            self.0.push((idle, cx.idle_cpus().contains(cpu)));
        }
    }
    let seen = |rules| {
        let tasks = vec![(on(0), vec![Op::Run(MS), Op::Sleep(1000 * MS)])];
        run_under(Looks::default(), rules, 1, tasks, 5 * MS).policy.ops.0
    };
    assert_eq!(seen(Rules::V6_12), [(false, true), (true, false)]);
    assert_eq!(seen(Rules::V6_18), [(false, false), (true, true)]);
}

/// `cpumask_any_distribute`: in turn, with the counter that searches for idle CPUs have, too.
#[test]
fn any_cpu_is_the_next_one() {
    #[derive(Default)]
    struct Asks(Vec<CpuId>);
    impl Ops for Asks {
        fn running(&mut self, cx: &mut Cx<'_>, _: TaskId) {
            let all = topology::CpuSet::full(4);
            cx.note_distributed(CpuId(1));
            self.0.extend((0..4).filter_map(|_| cx.any_distribute(&all, None)));
        }
    }
    let sim = run(Asks::default(), 4, vec![(on(0), vec![])], MS);
    assert_eq!(sim.policy.ops.0, [2, 3, 0, 1].map(CpuId));
}

/// `ops.dispatch_max_batch`
#[test]
fn a_scheduler_says_how_much_it_may_dispatch_at_a_time() {
    #[derive(Default)]
    struct Few(Vec<usize>);
    impl Ops for Few {
        fn dispatch_max_batch(&self) -> usize {
            3
        }

        fn dispatch(&mut self, cx: &mut Cx<'_>, _: CpuId, _: Option<TaskId>, _: u32) -> Next {
            self.0.push(cx.dispatch_nr_slots());
            Next::Done
        }
    }
    let sim = run(Few::default(), 1, vec![(on(0), vec![Op::Run(MS), Op::Sleep(MS)])], 3 * MS);
    assert!(!sim.policy.ops.0.is_empty() && sim.policy.ops.0.iter().all(|slots| *slots == 3));
}
