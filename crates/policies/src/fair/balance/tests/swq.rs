//! The shared wakequeue.

use super::*;
use crate::fair::state::{reasons, sites};
use crate::moves;
use sim_core::Site;

fn rig() -> Rig {
    let features = Features { swqueue: true, ..Features::default() };
    Rig::new(machine(2, 8), features)
}

const WAKEUP: EnqueueFlags = EnqueueFlags { wakeup: true, migrated: false, initial: false };

/// A task that was woken on `cpu`, with its append done.
fn woken(rig: &mut Rig, cpu: u32) -> TaskId {
    let p = rig.queued(cpu, 1, MaskId::ALL);
    let hook = rig.fair.swq_enqueue(&rig.w, CpuId(cpu), p, WAKEUP);
    rig.fair.nested_done(&mut rig.w, CpuId(cpu), hook.expect("it qualifies"));
    p
}

#[test]
fn every_enqueue_of_a_free_task_is_queued_and_with_swq_flags_a_wakeup_on_its_previous_cpu() {
    let features = Features { swqueue: true, swq_flags: true, ..Features::default() };
    for (mut rig, as_meant) in [(rig(), false), (Rig::new(machine(2, 8), features), true)] {
        let free = rig.queued(0, 1, MaskId::ALL);
        let one = rig.w.mask(CpuSet::of(32, [CpuId(0)]));
        let pinned = rig.queued(0, 1, one);
        for (wakeup, migrated, p, queued) in [
            (true, false, free, true),
            (true, true, free, !as_meant),
            (false, false, free, !as_meant),
            (false, true, free, !as_meant),
            (true, false, pinned, false),
        ] {
            let flags = EnqueueFlags { wakeup, migrated, initial: false };
            let hook = rig.fair.swq_enqueue(&rig.w, CpuId(0), p, flags);
            assert_eq!(hook.is_some(), queued, "{flags:?} {p:?} {as_meant}");
        }
    }
    let mut off = Rig::desktop();
    let p = off.queued(0, 1, MaskId::ALL);
    assert_eq!(off.fair.swq_enqueue(&off.w, CpuId(0), p, WAKEUP), None);
    // Nor does anybody look at its node, whose line would have to come.
    off.w.this = CpuId(1);
    let attr = off.w.tasks[p].attr.sched();
    assert_eq!(off.fair.change_scheduler(&mut off.w, p, attr), None);
    assert_eq!(off.fair.tasks[p].swq_cpu, CpuId(0));
    off.newidle(1, TaskId::IDLE);
    assert_eq!(off.fair.counters.pull_attempts, 0);
}

#[test]
fn a_cpu_going_idle_steals_the_head_of_its_llc() {
    let mut rig = rig();
    rig.running(0, MaskId::ALL);
    let (p, q) = (woken(&mut rig, 0), woken(&mut rig, 0));
    rig.fair.overload = false;
    rig.newidle(8, TaskId::IDLE);
    assert_eq!(rig.fair.counters.pull_empty, 1);
    let steps = rig.newidle(1, TaskId::IDLE);
    assert_eq!((rig.cpu_of(p), rig.cpu_of(q)), (1, 0));
    // It is appended anew as it arrives.
    assert!(rig.fair.tasks[p].on_swqueue);
    assert_eq!((rig.fair.swqueues[0].head, rig.fair.swqueues[0].tail), (q, p));
    assert_eq!(rig.fair.rqs[CpuId(1)].idle_stamp, 0);
    assert_eq!((locks_of(&steps, 0), locks_of(&steps, 1)), (1, 1));
    let c = rig.fair.counters;
    assert_eq!((c.pull_attempts, c.pull_hits, c.pull_lost), (2, 1, 0));
}

#[test]
fn a_task_that_runs_by_then_is_lost_from_the_queue() {
    let mut rig = rig();
    let p = woken(&mut rig, 0);
    rig.w.cpus[CpuId(0)].curr = p;
    rig.w.tasks[p].on_cpu = true;
    let prev = rig.w.new_task(TaskAttr::default());
    rig.fair.tasks.push(new_fair_task(1));
    rig.newidle(1, prev);
    assert_eq!(rig.cpu_of(p), 0);
    assert!(!rig.fair.swqueues[0].head.is_task());
    assert_eq!(rig.fair.balance.swq.popped_but_running, 1);
    assert_eq!(rig.fair.counters.pull_lost, 1);
    // The slow pick asked newidle balance once: it set the stamp.
    assert_ne!(rig.fair.rqs[CpuId(1)].idle_stamp, 0);
    // Its owner unlinks nothing, without a lock.
    let site = sites::PICK_REMOVE;
    rig.w.this = CpuId(0);
    assert_eq!(rig.fair.swq_remove(&mut rig.w, CpuId(0), p, site), None);
    // But it had to look at the node that CPU 1 has written: the line is here now.
    assert_eq!(rig.fair.tasks[p].swq_cpu, CpuId(0));
}

/// Version 1: the popped task is neither moved nor put back, and there is no second
/// look at the queue.
#[test]
fn a_head_that_may_not_run_here_is_dropped() {
    let mut rig = rig();
    rig.running(0, MaskId::ALL);
    let p = woken(&mut rig, 0);
    let q = woken(&mut rig, 0);
    rig.w.tasks[p].attr.allowed = rig.w.mask(CpuSet::of(32, [CpuId(0), CpuId(2)]));
    rig.newidle(1, TaskId::IDLE);
    assert_eq!(rig.cpu_of(p), 0);
    let c = rig.fair.counters;
    assert_eq!((c.pull_attempts, c.pull_hits, c.pull_lost), (1, 0, 1));
    assert!(!rig.fair.tasks[p].on_swqueue);
    assert_eq!(rig.fair.swqueues[0].head, q);
}

#[test]
fn a_puller_waits_for_a_task_in_transit() {
    let mut rig = rig();
    rig.running(0, MaskId::ALL);
    let p = woken(&mut rig, 0);
    rig.held = vec![LockId(1)];
    let mut waited = false;
    let mut first = true;
    loop {
        rig.w.this = CpuId(1);
        let step = rig.fair.before_idle(&mut rig.w, CpuId(1), TaskId::IDLE, first);
        first = false;
        rig.perform(1, step);
        match step {
            Step::Done => break,
            // As soon as the task is popped, somebody else detaches it …
            Step::Unlock(LockId(1)) if !waited => {
                let why = moves::BALANCE;
                rig.fair.detach_task(&mut rig.w, p, CpuId(0), CpuId(9), why);
            }
            // … and attaches it elsewhere while the puller spins.
            Step::WaitTask(task, Site::MIGRATING_WAIT) => {
                assert_eq!(task, p);
                waited = true;
                rig.fair.attach_task(&mut rig.w, p, CpuId(9), reasons::BALANCED_HERE);
            }
            _ => {}
        }
    }
    assert!(waited);
    assert_eq!(rig.cpu_of(p), 1);
    assert_eq!(rig.held, [LockId(1)]);
    assert_eq!(rig.fair.counters.pull_hits, 1);
}

#[test]
fn balance_takes_a_queued_task_to_the_wakequeue_of_the_other_llc() {
    let mut rig = rig();
    rig.running(0, MaskId::ALL);
    let p = woken(&mut rig, 0);
    rig.w.now += 10_000_000;
    rig.fair.overload = true;
    // The other LLC's queue is empty, so CPU 8 goes on to newidle balance.
    rig.fair.rqs[CpuId(0)].avg.util_avg = 1024;
    rig.fair.publish(CpuId(0));
    rig.newidle(8, TaskId::IDLE);
    assert_eq!(rig.cpu_of(p), 8);
    assert!(rig.fair.tasks[p].on_swqueue && !rig.fair.swqueues[0].head.is_task());
    assert_eq!(rig.fair.swqueues[1].head, p);
}

#[test]
fn a_critical_section_pulls_the_nodes_that_it_writes() {
    for line in [51, 17, 45] {
        let line_ns = LineLatency { ns: [0, 5, line, 100, 100] };
        let spec = RegularSpec { line: line_ns, ..RegularSpec::default() };
        let features = Features { swqueue: true, ..Features::default() };
        let mut rig = Rig::new(Machine::regular(spec), features);
        rig.running(0, MaskId::ALL);
        let (p, q) = (woken(&mut rig, 0), woken(&mut rig, 0));
        // CPU 0 has written both nodes; CPU 1 is another core.
        let section = |rig: &mut Rig, cpu, task| {
            rig.w.this = CpuId(cpu);
            rig.fair.swq_unlink_ns(&rig.w, 0, task) - rig.w.machine.locks.queue_hold_ns
        };
        assert_eq!(section(&mut rig, 0, p), 0, "all lines are here");
        assert_eq!(section(&mut rig, 1, p), 2 * u64::from(line), "its node and its neighbor's");
        rig.fair.swq_unlink(&rig.w, 0, p);
        assert_eq!(section(&mut rig, 1, q), 0, "CPU 1 has just written the neighbor");
        assert_eq!(section(&mut rig, 0, q), u64::from(line), "now CPU 0 has lost its line");
    }
}

/// Between the pop and the lock its CPU has run it, and it sleeps.
#[test]
fn a_task_that_sleeps_by_then_is_lost_too() {
    let mut rig = rig();
    let p = woken(&mut rig, 0);
    rig.w.tasks[p].on_rq = false;
    rig.newidle(1, TaskId::IDLE);
    let swq = &rig.fair.balance.swq;
    assert_eq!((swq.popped_but_running, swq.popped_otherwise), (0, 1));
    assert_eq!((rig.fair.counters.pull_lost, rig.cpu_of(p)), (1, 0));
}

/// Other CPUs take at any time what waits on its queue.
#[test]
fn with_a_shared_queue_no_cpu_runs_ahead() {
    let until = |mut rig: Rig| {
        let p = rig.running(0, MaskId::ALL);
        let t = &mut rig.w.tasks[p];
        (t.state, t.work_left) = (TaskState::Runnable, 1 << 50);
        rig.fair.rqs[CpuId(0)].nohz_idle = false;
        rig.fair.only_ticks_until(&rig.w, CpuId(0))
    };
    assert!(until(Rig::desktop()) > 0);
    assert_eq!(until(rig()), 0);
}
