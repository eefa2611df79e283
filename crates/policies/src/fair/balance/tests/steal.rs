//! SWQUEUE_STEAL: a CPU with nothing to do, neither of its own nor on its LLC's queue, takes from
//! those of the other LLCs. Four LLCs of two cores, two threads each: LLC k is {2k, 2k+1, 8+2k,
//! 9+2k}.

use super::*;
use crate::fair::sites;

const WAKEUP: EnqueueFlags = EnqueueFlags { wakeup: true, migrated: false, initial: false };

fn rig() -> Rig {
    rig_where(false)
}

fn rig_where(swq_flags: bool) -> Rig {
    let features =
        Features { swqueue: true, swqueue_steal: true, swq_flags, ..Features::default() };
    let mut rig = Rig::new(machine(4, 2), features);
    for cpu in 0..16 {
        rig.running(cpu, MaskId::ALL);
    }
    rig.fair.overload = false;
    rig
}

/// A task that was woken on `cpu`, with its append done.
fn woken(rig: &mut Rig, cpu: u32) -> TaskId {
    let p = rig.queued(cpu, 1, MaskId::ALL);
    let hook = rig.fair.swq_enqueue(&rig.w, CpuId(cpu), p, WAKEUP);
    rig.fair.nested_done(&mut rig.w, CpuId(cpu), hook.expect("it qualifies"));
    p
}

/// The queues that a path has locked, in order.
fn locked(rig: &Rig, steps: &[Step]) -> Vec<usize> {
    let queue = |s: &Step| match s {
        Step::Lock(l, sites::PULL_POP) => rig.fair.swqueues.iter().position(|q| q.lock == *l),
        _ => None,
    };
    steps.iter().filter_map(queue).collect()
}

#[test]
fn the_own_llc_comes_first_and_then_the_others_around_from_it() {
    // A pulled task is not queued anew, so that each look finds the next LLC's.
    let mut rig = rig_where(true);
    let tasks = [0, 2, 4, 6].map(|cpu| woken(&mut rig, cpu));
    let mut order = Vec::new();
    for _ in 0..4 {
        let steps = rig.newidle(5, TaskId::IDLE);
        order.extend(locked(&rig, &steps));
    }
    assert_eq!(order, [2, 3, 0, 1]);
    assert!(tasks.iter().all(|p| rig.cpu_of(*p) == 5));
    let c = rig.fair.counters;
    assert_eq!((c.pull_attempts, c.pull_hits, c.pull_empty), (4, 1, 3));
    assert_eq!((c.steal_attempts, c.steal_hits, c.steal_empty), (3, 3, 0));
}

#[test]
fn a_stolen_task_costs_the_locks_of_a_pulled_one() {
    let mut rig = rig();
    woken(&mut rig, 6);
    let steps = rig.newidle(0, TaskId::IDLE);
    assert_eq!((locks_of(&steps, 6), locks_of(&steps, 0)), (1, 1));
    assert_eq!(locked(&rig, &steps), [3], "empty lists are seen without their locks");
    assert_eq!(rig.fair.rqs[CpuId(0)].idle_stamp, 0, "there was no newidle balance");
}

#[test]
fn where_all_queues_are_empty_newidle_balance_follows() {
    let mut rig = rig();
    rig.newidle(0, TaskId::IDLE);
    let c = rig.fair.counters;
    assert_eq!((c.pull_empty, c.steal_attempts, c.steal_empty), (1, 1, 1));
    assert_ne!(rig.fair.rqs[CpuId(0)].idle_stamp, 0);
}

/// As a pull: the popped task is not put back, and nobody looks at the next LLC.
#[test]
fn a_task_that_runs_by_then_is_lost_and_no_other_llc_is_asked() {
    let mut rig = rig();
    let (p, q) = (woken(&mut rig, 2), woken(&mut rig, 4));
    rig.w.tasks[p].on_cpu = true;
    let steps = rig.newidle(0, TaskId::IDLE);
    assert_eq!(locked(&rig, &steps), [1]);
    assert!(!rig.fair.tasks[p].on_swqueue && rig.fair.tasks[q].on_swqueue);
    let c = rig.fair.counters;
    assert_eq!((c.steal_attempts, c.steal_lost, c.pull_lost), (1, 1, 0));
    assert_eq!(rig.fair.balance.swq.popped_but_running, 1);
}

/// The list looked as if it had a task, which somebody else popped before the lock was granted.
#[test]
fn a_queue_emptied_under_the_own_eyes_sends_to_the_next_one() {
    let mut rig = rig();
    let (p, q) = (woken(&mut rig, 2), woken(&mut rig, 4));
    rig.held = vec![LockId(0)];
    let mut first = true;
    loop {
        rig.w.this = CpuId(0);
        let step = rig.fair.before_idle(&mut rig.w, CpuId(0), TaskId::IDLE, first);
        first = false;
        rig.perform(0, step);
        match step {
            Step::Lock(l, _) if l == rig.fair.swqueues[1].lock => {
                rig.fair.swq_unlink(&rig.w, 1, p);
            }
            Step::Done => break,
            _ => {}
        }
    }
    assert_eq!((rig.cpu_of(p), rig.cpu_of(q)), (2, 0));
    let c = rig.fair.counters;
    assert_eq!((c.steal_attempts, c.steal_hits, c.steal_empty), (1, 1, 0));
    assert_eq!(rig.fair.balance.swq.empty_under_lock, 1);
}

#[test]
fn without_the_feature_no_other_llc_is_asked() {
    let features = Features { swqueue: true, ..Features::default() };
    let mut rig = Rig::new(machine(4, 2), features);
    rig.running(2, MaskId::ALL);
    let p = woken(&mut rig, 2);
    rig.fair.overload = false;
    rig.newidle(0, TaskId::IDLE);
    assert_eq!((rig.cpu_of(p), rig.fair.counters.steal_attempts), (2, 0));
}
