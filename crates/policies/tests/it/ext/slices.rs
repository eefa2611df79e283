//! Slices: who sets them, when they end, who goes on with what is left.

use super::life::{on, run};
use policies::ext::{Cx, Dsq, Kick, Next, Ops, SLICE_INF, Wake};
use sim_core::{EnqueueFlags, Ns, Op, TaskId};
use topology::CpuId;

const MS: Ns = 1_000_000;

/// Task 1, when it runs, gives task 0 another slice; task 0 begins with `first`.
struct Shortens {
    first: Ns,
    to: Ns,
    /// What task 0 had left, and when it stopped.
    left: Ns,
    stopped_at: Ns,
}

impl Ops for Shortens {
    fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
        let slice = if p == TaskId(0) { self.first } else { cx.slice_dfl() };
        cx.insert(p, Dsq::Local, slice);
    }

    fn running(&mut self, cx: &mut Cx<'_>, p: TaskId) {
        if p == TaskId(1) && cx.now() > 0 {
            self.left = cx.slice(TaskId(0));
            cx.set_slice(TaskId(0), self.to);
        }
    }

    fn stopping(&mut self, cx: &mut Cx<'_>, p: TaskId, _runnable: bool) {
        if p == TaskId(0) && self.stopped_at == 0 {
            self.stopped_at = cx.now();
        }
    }
}

/// HZ 250: the slice counts from the last tick, and ends at a tick, whichever CPU has set it.
#[test]
fn a_slice_set_from_another_cpu_ends_at_the_tick_that_finds_it_used() {
    let run = |first, to| {
        let tasks = vec![
            (on(0), vec![]),
            (on(1), vec![Op::Sleep(18 * MS), Op::Run(MS), Op::Sleep(1000 * MS)]),
            (on(0), vec![]),
        ];
        let ops = Shortens { first, to, left: 0, stopped_at: 0 };
        let sim = run(ops, 2, tasks, 200 * MS);
        (sim.policy.ops.left, sim.policy.ops.stopped_at / MS)
    };
    assert_eq!(run(20 * MS, 5 * MS), (4 * MS, 24), "4 and 1 ms after the ticks at 16 and 20");
    assert_eq!(run(20 * MS, MS), (4 * MS, 20));
    assert_eq!(run(20 * MS, 30 * MS), (4 * MS, 48), "longer than it was");
    assert_eq!(run(SLICE_INF, 5 * MS), (SLICE_INF, 24));
    assert_eq!(run(20 * MS, SLICE_INF), (4 * MS, 0));
}

/// Slices without end; task 1, when it has slept, takes CPU 0 from whoever runs there.
struct Kicks;

impl Ops for Kicks {
    fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
        cx.insert(p, Dsq::Local, SLICE_INF);
    }

    fn running(&mut self, cx: &mut Cx<'_>, p: TaskId) {
        if p == TaskId(1) && cx.now() > 0 {
            cx.kick_cpu(CpuId(0), Kick::Preempt);
        }
    }
}

/// Ticks that have decided nothing for long do not come again when the slice is taken away.
#[test]
fn a_kick_ends_a_slice_without_end_at_once() {
    let tasks = vec![
        (on(0), vec![]),
        (on(1), vec![Op::Sleep(50 * MS), Op::Run(MS), Op::Sleep(1000 * MS)]),
        (on(0), vec![]),
    ];
    let sim = run(Kicks, 2, tasks, 60 * MS);
    assert_eq!(sim.w.tasks[TaskId(0)].ran_ns, 50 * MS);
}

/// Gives the task that would stay a slice of its own, and wants to be asked again.
#[derive(Default)]
struct Prolongs {
    asked_at: Vec<Ns>,
}

impl Ops for Prolongs {
    fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
        // 0: what it has.
        cx.set_slice(p, 3 * MS);
        cx.insert(p, Dsq::Local, 0);
    }

    fn dispatch(&mut self, cx: &mut Cx<'_>, _: CpuId, prev: Option<TaskId>, _: u32) -> Next {
        if let Some(prev) = prev {
            self.asked_at.push(cx.now() / MS);
            cx.set_slice(prev, 7 * MS);
        }
        Next::Done
    }
}

/// Gives all tasks this slice.
struct Slices(Ns);

impl Ops for Slices {
    fn select_cpu(&mut self, _: &mut Cx<'_>, _: TaskId, prev: CpuId, _: Wake) -> CpuId {
        prev
    }

    fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
        cx.insert(p, Dsq::Local, self.0);
    }
}

/// Instants beyond the end of time are no ticks.
#[test]
fn a_slice_of_centuries_is_one_without_end() {
    for slice in [SLICE_INF, SLICE_INF - 1, SLICE_INF - 100 * MS, SLICE_INF / 2] {
        let sim = run(Slices(slice), 1, vec![(on(0), vec![]), (on(0), vec![])], 100 * MS);
        assert_eq!(sim.w.cpus[CpuId(0)].time[0] / MS, 100, "{slice}");
        assert_eq!(sim.w.counters.switches, 1, "{slice}");
    }
}

/// Its `dispatch` gives the current task a slice and its CPU another task.
struct Extends {
    kept: Option<TaskId>,
    n_prolonged: u32,
}

impl Ops for Extends {
    fn select_cpu(&mut self, _: &mut Cx<'_>, _: TaskId, prev: CpuId, _: Wake) -> CpuId {
        prev
    }

    fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
        match p {
            TaskId(1) => self.kept = Some(p),
            _ => cx.insert(p, Dsq::Local, 3 * MS),
        }
    }

    fn dispatch(&mut self, cx: &mut Cx<'_>, _: CpuId, prev: Option<TaskId>, _: u32) -> Next {
        if prev == Some(TaskId(0))
            && let Some(p) = self.kept.take()
        {
            cx.insert(p, Dsq::Local, 3 * MS);
            cx.set_slice(TaskId(0), 7 * MS);
            self.n_prolonged += 1;
        }
        Next::Done
    }
}

/// `balance_one` of 6.12: what `dispatch` has given the current task comes before the local queue.
#[test]
fn a_slice_from_dispatch_keeps_the_current_task_before_others() {
    let tasks = vec![(on(0), vec![Op::Run(100 * MS)]), (on(0), vec![Op::Run(100 * MS)])];
    let mut sim = run(Extends { kept: None, n_prolonged: 0 }, 1, tasks, 11 * MS);
    assert_eq!(sim.policy.ops.n_prolonged, 1);
    // A slice of 3 ms ends at the tick at 4 ms, 7 ms more at that at 12 ms.
    assert_eq!(sim.w.cpus[CpuId(0)].curr, TaskId(0));
    sim.run_until(13 * MS);
    assert_eq!(sim.w.cpus[CpuId(0)].curr, TaskId(1));
}

#[test]
fn the_slice_that_dispatch_gives_to_the_current_task_stays() {
    let sim = run(Prolongs::default(), 1, vec![(on(0), vec![Op::Run(100 * MS)])], 25 * MS);
    // A tick of 4 ms finds 3 ms used up, and then each second one 7 ms.
    assert_eq!(sim.policy.ops.asked_at, [4, 12, 20]);
}
