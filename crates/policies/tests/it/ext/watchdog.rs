//! A task that its scheduler never runs ends the run; waiting for less changes nothing.

use policies::ext::{Cx, Dsq, DsqId, Ext, Next, Ops, Order, Rules, Tunables};
use sim_core::{
    Config, EnqueueFlags, NoObserver, Ns, Observer, Op, StopReason, TaskAttr, TaskId, World,
};
use test_support::{Scripts, free_machine, run_checked, simulate};
use topology::CpuId;

const MS: Ns = 1_000_000;

/// One queue, in which these tasks never come.
struct Loses {
    shared: DsqId,
    timeout_ns: Ns,
    lost: Option<TaskId>,
}

impl Loses {
    fn new(timeout_ns: Ns, lost: Option<u32>) -> Self {
        Self { shared: DsqId::default(), timeout_ns, lost: lost.map(TaskId) }
    }
}

impl Ops for Loses {
    fn timeout_ns(&self) -> Ns {
        self.timeout_ns
    }

    fn init(&mut self, cx: &mut Cx<'_>) {
        self.shared = cx.create_dsq(Order::Fifo);
    }

    fn select_cpu(
        &mut self,
        _cx: &mut Cx<'_>,
        _p: TaskId,
        prev: CpuId,
        _wake: policies::ext::Wake,
    ) -> CpuId {
        prev
    }

    fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
        if self.lost != Some(p) {
            cx.insert(p, Dsq::User(self.shared), 5 * MS);
        }
    }

    fn dispatch(&mut self, _cx: &mut Cx<'_>, _cpu: CpuId, _prev: Option<TaskId>, n: u32) -> Next {
        if n == 0 { Next::Consume(self.shared) } else { Next::Done }
    }
}

/// Three hogs of 400 ms on two CPUs.
fn hogs() -> Scripts {
    Scripts(vec![(TaskAttr::default(), vec![Op::Run(400 * MS)]); 3])
}

fn end(ops: Loses, program: Scripts) -> (StopReason, Ns) {
    let policy = Ext::new(ops, Rules::V6_12, Tunables::default());
    let mut sim = simulate(free_machine(2), Config::default(), policy, program, NoObserver);
    let end = run_checked(&mut sim, 100_000 * MS, |sim| sim.policy.check(&sim.w)).unwrap();
    (end, sim.w.now)
}

/// `check_rq_for_timeouts` looks each half of the timeout.
#[test]
fn a_task_that_is_never_run_is_named() {
    let (end, at) = end(Loses::new(100 * MS, Some(1)), hogs());
    let StopReason::GivenUp(why) = end else { panic!("{end:?}") };
    assert!(why.starts_with("runnable task stall: "), "{why}");
    assert!(why.ends_with("] failed to run for 0.150s"), "{why}");
    assert_eq!(at, 150 * MS);
}

/// Nothing else goes on, and the run still does not end as if all were done.
#[test]
fn a_lost_task_alone_on_the_machine_is_named_after_half_a_minute() {
    let patience = Loses::new(30_000 * MS, Some(0));
    let (end, at) = end(patience, Scripts(vec![(TaskAttr::default(), vec![Op::Run(MS)])]));
    assert!(matches!(&end, StopReason::GivenUp(why) if why.contains("stall")), "{end:?}");
    assert_eq!(at, 45_000 * MS);
}

struct Switches(Vec<(Ns, u32, TaskId)>);

impl Observer for Switches {
    fn switch(&mut self, w: &World, cpu: CpuId, _prev: TaskId, next: TaskId) {
        self.0.push((w.now, cpu.0, next));
    }
}

/// The watchdog that finds nothing leaves no trace in a run.
#[test]
fn a_watchdog_that_finds_nothing_changes_nothing() {
    let run = |timeout_ns| {
        let policy = Ext::new(Loses::new(timeout_ns, None), Rules::V6_12, Tunables::default());
        let observer = Switches(Vec::new());
        let mut sim = simulate(free_machine(2), Config::default(), policy, hogs(), observer);
        assert_eq!(sim.run_until(1000 * MS), StopReason::Until);
        (format!("{:?} {:?}", sim.w.now, sim.w.counters), sim.observer.0)
    };
    let often = run(20 * MS);
    assert!(often.1.len() > 100, "{}", often.1.len());
    assert_eq!(often, run(30_000 * MS));
}
