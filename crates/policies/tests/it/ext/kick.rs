//! What happens between a kick and the look of the CPU that was kicked.

use policies::ext::{
    Cx, Dsq, DsqId, Ext, Kick, Next, Ops, Order, Rules, SLICE_INF, Tunables, Wake,
};
use sim_core::{Config, EnqueueFlags, NoObserver, Ns, Op, Simulation, TaskAttr, TaskId, World};
use test_support::{Scripts, run_checked};
use topology::{CpuId, CpuSet, Machine, RegularSpec};

const MS: Ns = 1_000_000;
const US: Ns = 1_000;

/// Each CPU has a queue; what is enqueued on CPU 0 goes into that of CPU 1, which is kicked.
struct Passes {
    queues: Vec<DsqId>,
    /// Before the insertion, as the order of the two calls in `enqueue` must not matter.
    kicks_first: bool,
    kick: Kick,
    enqueued_at: Vec<Ns>,
    ran_elsewhere_at: Vec<Ns>,
}

impl Ops for Passes {
    fn init(&mut self, cx: &mut Cx<'_>) {
        self.queues = (0..2).map(|_| cx.create_dsq(Order::Fifo)).collect();
    }

    fn select_cpu(&mut self, _: &mut Cx<'_>, _: TaskId, prev: CpuId, _: Wake) -> CpuId {
        prev
    }

    fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
        if cx.now() < MS {
            return cx.insert(p, Dsq::Local, cx.slice_dfl());
        }
        if self.kicks_first {
            cx.kick_cpu(CpuId(1), self.kick);
        }
        self.enqueued_at.push(cx.now());
        cx.insert(p, Dsq::User(self.queues[1]), cx.slice_dfl());
        if !self.kicks_first {
            cx.kick_cpu(CpuId(1), self.kick);
        }
    }

    fn dispatch(&mut self, _: &mut Cx<'_>, cpu: CpuId, _: Option<TaskId>, attempt: u32) -> Next {
        if attempt == 0 { Next::Consume(self.queues[cpu.0 as usize]) } else { Next::Done }
    }

    fn running(&mut self, cx: &mut Cx<'_>, p: TaskId) {
        if cx.task_cpu(p) == CpuId(1) {
            self.ran_elsewhere_at.push(cx.now());
        }
    }
}

fn passed_on(kicks_first: bool, kick: Kick) -> Ns {
    let spec = RegularSpec { cores_per_llc: 2, ..RegularSpec::default() };
    let mut machine = Machine::regular(spec);
    // An insertion takes longer than a CPU needs to wake up, look, and go back to sleep.
    machine.locks.queue_hold_ns = 50 * US;
    let w = World::new(machine.into(), Config::default());
    let queues = Vec::new();
    let ops =
        Passes { queues, kicks_first, kick, enqueued_at: Vec::new(), ran_elsewhere_at: Vec::new() };
    let policy = Ext::new(ops, Rules::V6_12, Tunables::default());
    let hog = || (TaskAttr { start_cpu: Some(CpuId(0)), ..TaskAttr::default() }, vec![]);
    let tasks: Vec<(TaskAttr, Vec<Op>)> = vec![hog(), hog()];
    let mut sim = Simulation::new(w, policy, Scripts(tasks), NoObserver);
    run_checked(&mut sim, 100 * MS, |sim| sim.policy.check(&sim.w)).expect("every invariant holds");
    let ops = sim.policy.ops;
    ops.ran_elsewhere_at[0] - ops.enqueued_at[0]
}

/// The task that CPU 0 preempts, while another one waits there, is inserted before CPU 1 looks.
#[test]
fn a_cpu_that_is_kicked_in_enqueue_finds_the_task() {
    for kicks_first in [false, true] {
        for kick in [Kick::Idle, Kick::Resched, Kick::Preempt] {
            let waited = passed_on(kicks_first, kick);
            assert!(waited > 50 * US && waited < 150 * US, "{kick:?} {kicks_first}: {waited} ns");
        }
    }
}

/// Looks into a queue whose one task may not run on CPU 1, which takes long.
struct Looks {
    queue: DsqId,
    kicked_at: Ns,
    looked_at: Vec<Ns>,
}

impl Ops for Looks {
    fn init(&mut self, cx: &mut Cx<'_>) {
        self.queue = cx.create_dsq(Order::Fifo);
    }

    fn select_cpu(&mut self, _: &mut Cx<'_>, _: TaskId, prev: CpuId, _: Wake) -> CpuId {
        prev
    }

    fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
        let to = if p == TaskId(2) { Dsq::User(self.queue) } else { Dsq::Local };
        cx.insert(p, to, cx.slice_dfl());
        if p == TaskId(0) && cx.now() > 0 {
            self.kicked_at = cx.now();
            cx.kick_cpu(CpuId(1), Kick::Resched);
        }
    }

    fn dispatch(&mut self, cx: &mut Cx<'_>, cpu: CpuId, _: Option<TaskId>, attempt: u32) -> Next {
        if cpu != CpuId(1) || attempt > 0 {
            return Next::Done;
        }
        self.looked_at.push(cx.now());
        Next::Consume(self.queue)
    }
}

/// The lock of its runqueue keeps the flag from being cleared by the `schedule()` that it hits.
#[test]
fn a_kick_is_not_lost_in_a_schedule_that_is_under_way() {
    let spec = RegularSpec { cores_per_llc: 2, ..RegularSpec::default() };
    let mut machine = Machine::regular(spec);
    machine.locks.queue_hold_ns = 200 * US;
    let mut w = World::new(machine.into(), Config { timer_slack_ns: 0, ..Config::default() });
    let only_0 = w.mask(CpuSet::of(2, [CpuId(0)]));
    let ops = Looks { queue: DsqId::default(), kicked_at: 0, looked_at: Vec::new() };
    let policy = Ext::new(ops, Rules::V6_12, Tunables::default());
    let on = |cpu| TaskAttr { start_cpu: Some(CpuId(cpu)), ..TaskAttr::default() };
    let pinned = TaskAttr { allowed: only_0, ..on(0) };
    let tasks: Vec<(TaskAttr, Vec<Op>)> = vec![
        (on(0), vec![Op::SleepUntil(5 * MS + 100 * US), Op::Run(US), Op::Sleep(100 * MS)]),
        (on(1), vec![Op::Run(5 * MS), Op::Sleep(100 * MS)]),
        (pinned, vec![]),
        (on(0), vec![]),
    ];
    let mut sim = Simulation::new(w, policy, Scripts(tasks), NoObserver);
    run_checked(&mut sim, 10 * MS, |sim| sim.policy.check(&sim.w)).expect("every invariant holds");
    let ops = sim.policy.ops;
    let before: Vec<Ns> = ops.looked_at.iter().copied().filter(|&at| at < ops.kicked_at).collect();
    let last = *before.last().expect("CPU 1 has looked");
    assert!(
        last + 200 * US > ops.kicked_at,
        "the kick falls into a look: {last} {}",
        ops.kicked_at
    );
    assert!(ops.looked_at.iter().any(|&at| at > last + 200 * US), "{:?}", ops.looked_at);
}

/// Sends tasks to the local queue of CPU 1, whose task has a slice without end and gives way.
#[derive(Default)]
struct Sends {
    sent_at: Vec<Ns>,
    arrived_at: Vec<Ns>,
}

impl Ops for Sends {
    fn select_cpu(&mut self, _: &mut Cx<'_>, _: TaskId, prev: CpuId, _: Wake) -> CpuId {
        prev
    }

    fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
        if cx.task_cpu(p) == CpuId(1) {
            return cx.insert(p, Dsq::Local, SLICE_INF);
        }
        if cx.now() < MS {
            return cx.insert(p, Dsq::Local, cx.slice_dfl());
        }
        self.sent_at.push(cx.now());
        cx.insert(p, Dsq::LocalOn(CpuId(1)), cx.slice_dfl());
        cx.kick_cpu(CpuId(1), Kick::Preempt);
    }

    fn running(&mut self, cx: &mut Cx<'_>, p: TaskId) {
        if p != TaskId(0) && cx.task_cpu(p) == CpuId(1) {
            self.arrived_at.push(cx.now());
        }
    }
}

/// Else the preempted task, enqueued anew with another slice without end, would come first.
#[test]
fn a_task_sent_to_a_cpu_is_there_before_the_kick() {
    let spec = RegularSpec { cores_per_llc: 2, ..RegularSpec::default() };
    let w = World::new(Machine::regular(spec).into(), Config::default());
    let policy = Ext::new(Sends::default(), Rules::V6_12, Tunables::default());
    let hog = |cpu| (TaskAttr { start_cpu: Some(CpuId(cpu)), ..TaskAttr::default() }, vec![]);
    let tasks: Vec<(TaskAttr, Vec<Op>)> = vec![hog(1), hog(0), hog(0)];
    let mut sim = Simulation::new(w, policy, Scripts(tasks), NoObserver);
    run_checked(&mut sim, 30 * MS, |sim| sim.policy.check(&sim.w)).expect("every invariant holds");
    let ops = sim.policy.ops;
    let waited = ops.arrived_at[0] - ops.sent_at[0];
    assert!(waited < 50 * US, "{waited} ns");
}

/// Puts all tasks into a queue from which CPU 2 takes them.
#[derive(Default)]
struct Starts {
    queue: DsqId,
}

impl Ops for Starts {
    fn init(&mut self, cx: &mut Cx<'_>) {
        self.queue = cx.create_dsq(Order::Fifo);
    }

    fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
        cx.insert(p, Dsq::User(self.queue), cx.slice_dfl());
        cx.kick_cpu(CpuId(2), Kick::Idle);
    }

    fn dispatch(&mut self, _: &mut Cx<'_>, cpu: CpuId, _: Option<TaskId>, attempt: u32) -> Next {
        if cpu == CpuId(2) && attempt == 0 { Next::Consume(self.queue) } else { Next::Done }
    }
}

/// A task that is there from the start is placed before any CPU executes anything.
#[test]
fn a_kick_before_the_first_instant_is_carried_out() {
    let spec = RegularSpec { cores_per_llc: 3, threads_per_core: 1, ..RegularSpec::default() };
    let w = World::new(Machine::regular(spec).into(), Config::default());
    let policy = Ext::new(Starts::default(), Rules::V6_12, Tunables::default());
    let on_1 = TaskAttr { start_cpu: Some(CpuId(1)), ..TaskAttr::default() };
    let mut sim = Simulation::new(w, policy, Scripts(vec![(on_1, vec![])]), NoObserver);
    run_checked(&mut sim, 10 * MS, |sim| sim.policy.check(&sim.w)).expect("every invariant holds");
    let busy = sim.w.cpus[CpuId(2)].time[0];
    assert!(busy > 9 * MS, "{busy} ns");
}
