//! SHARED_RUNQ, versions 2 to 4.

use super::*;
use crate::fair::shared_runq::{SharedRunq, Version};
use crate::fair::sites;
use crate::moves;
use sim_core::{Hook, SchedAttr, Site};

/// The desktop of two LLCs with a version of the patches; one shard per LLC unless said otherwise.
fn rig_of(version: Version, shard_size: u32) -> Rig {
    let swqueue = version == Version::V1;
    let features = Features { swqueue, shared_runq: !swqueue, ..Features::default() };
    let shared_runq = SharedRunq { version, shard_size };
    let tunables = Tunables { shared_runq, ..Tunables::for_cpus(32) };
    Rig::of(machine(2, 8), Fair::new(features, tunables))
}

fn rig(version: Version) -> Rig {
    rig_of(version, 100)
}

/// Carries out what a hook on `cpu` asks for, and what follows.
fn carry_out(rig: &mut Rig, cpu: u32, mut hook: Hook) -> Vec<&'static Site> {
    let mut sites = Vec::new();
    while let Some(nested) = hook {
        sites.push(nested.site);
        hook = rig.fair.nested_done(&mut rig.w, CpuId(cpu), nested);
    }
    sites
}

/// A task that waits on `cpu` and on its shared queue.
fn waiting(rig: &mut Rig, cpu: u32) -> TaskId {
    let p = rig.queued(cpu, 1, MaskId::ALL);
    let flags = EnqueueFlags { wakeup: true, ..EnqueueFlags::default() };
    let hook = rig.fair.swq_enqueue(&rig.w, CpuId(cpu), p, flags);
    assert!(hook.is_some());
    carry_out(rig, cpu, hook);
    p
}

/// Balancing is too dear for `cpu`.
fn close_the_gate(rig: &mut Rig, cpu: u32) {
    rig.fair.rqs[CpuId(cpu)].avg_idle = 0;
    let levels = rig.fair.sds[CpuId(cpu)].iter_mut();
    levels.for_each(|sd| sd.max_newidle_lb_cost = 1_000_000);
}

/// Which tasks are queued, by version: `(wakeup, migrated)` and whether the runqueue was empty.
#[test]
fn the_truth_table_of_enqueue() {
    let stays = (true, false);
    let others = [(true, true), (false, false), (false, true)];
    for (version, others_too, empty_too) in [
        (Version::V1, true, true),
        (Version::V2, true, true),
        (Version::V3, true, true),
        (Version::V4, true, false),
    ] {
        for was_empty in [false, true] {
            let mut rig = rig_of(version, 6);
            if !was_empty {
                rig.running(0, MaskId::ALL);
            }
            let free = rig.queued(0, 1, MaskId::ALL);
            let takes = |rig: &mut Rig, p, (wakeup, migrated)| {
                let flags = EnqueueFlags { wakeup, migrated, initial: false };
                rig.fair.swq_enqueue(&rig.w, CpuId(0), p, flags).is_some()
            };
            let by_size = !was_empty || empty_too;
            assert_eq!(takes(&mut rig, free, stays), by_size, "{version:?} {was_empty}");
            for flags in others {
                let queued = takes(&mut rig, free, flags);
                assert_eq!(queued, others_too && by_size, "{version:?} {flags:?} {was_empty}");
            }
            let one = rig.w.mask(CpuSet::of(32, [CpuId(0)]));
            let pinned = rig.queued(0, 1, one);
            assert!(!takes(&mut rig, pinned, stays), "{version:?}");
        }
    }
}

/// Who is put back is appended before who comes next is unlinked; in version 4 it is never alone.
#[test]
fn a_switch_puts_one_task_on_the_queue_and_takes_the_other_off() {
    for version in [Version::V2, Version::V3, Version::V4] {
        let mut rig = rig(version);
        let prev = rig.running(0, MaskId::ALL);
        let next = waiting(&mut rig, 0);
        let hook = rig.fair.switch_task(&mut rig.w, CpuId(0), prev, next);
        let sites = carry_out(&mut rig, 0, hook);
        assert_eq!(sites, [sites::PUT_PREV_ENQUEUE, sites::PICK_REMOVE], "{version:?}");
        let linked = |p: TaskId| rig.fair.tasks[p].on_swqueue;
        assert!(linked(prev) && !linked(next));
        assert_eq!(rig.fair.swqueues[0].head, prev);
    }
    let mut wakeups_only = rig(Version::V1);
    let prev = wakeups_only.running(0, MaskId::ALL);
    let next = waiting(&mut wakeups_only, 0);
    let hook = wakeups_only.fair.switch_task(&mut wakeups_only.w, CpuId(0), prev, next);
    assert_eq!(carry_out(&mut wakeups_only, 0, hook), [sites::PICK_REMOVE]);
}

/// A change of attributes takes a waiting task off its queues and puts it back, at the tail.
#[test]
fn a_change_of_attributes_queues_anew() {
    let mut rig = rig(Version::V3);
    let curr = rig.running(0, MaskId::ALL);
    let (p, q) = (waiting(&mut rig, 0), waiting(&mut rig, 0));
    let attr = SchedAttr { nice: 5, ..rig.w.tasks[p].attr.sched() };
    let hook = rig.fair.set_scheduler(&mut rig.w, p, attr);
    let sites = carry_out(&mut rig, 0, hook);
    assert_eq!(sites, [sites::DEQUEUE_REMOVE, sites::TTWU_ENQUEUE]);
    assert_eq!((rig.fair.swqueues[0].head, rig.fair.swqueues[0].tail), (q, p));
    let hook = rig.fair.set_scheduler(&mut rig.w, curr, attr);
    let sites = carry_out(&mut rig, 0, hook);
    assert_eq!(sites, [sites::PUT_PREV_ENQUEUE, sites::PICK_REMOVE]);
    assert!(!rig.fair.tasks[curr].on_swqueue);
    // A task that may run on one CPU only from now on leaves, and comes again when it may not.
    let one = rig.w.mask(CpuSet::of(32, [CpuId(0)]));
    let hook = rig.fair.set_cpus_allowed(&mut rig.w, p, one);
    (rig.w.tasks[p].attr.allowed, rig.w.tasks[p].nr_cpus_allowed) = (one, 1);
    assert_eq!(carry_out(&mut rig, 0, hook), [sites::DEQUEUE_REMOVE]);
    let hook = rig.fair.set_cpus_allowed(&mut rig.w, p, MaskId::ALL);
    assert_eq!(carry_out(&mut rig, 0, hook), [sites::TTWU_ENQUEUE]);
}

/// Since version 2 a head that may not run here stays, and hides the tasks behind it; the other
/// shards are looked at.
#[test]
fn a_head_that_may_not_run_here_blocks_its_shard() {
    for version in [Version::V2, Version::V3, Version::V4] {
        let mut rig = rig_of(version, 8);
        rig.fair.overload = true;
        // LLC 0 has 16 CPUs and two shards.
        let shard = |cpu: u32| rig.fair.shared.own(CpuId(cpu));
        let elsewhere = (0..8).find(|c| shard(*c) != shard(2)).expect("another shard");
        rig.running(2, MaskId::ALL);
        let (head, behind) = (waiting(&mut rig, 2), waiting(&mut rig, 2));
        rig.w.tasks[head].attr.allowed = rig.w.mask(CpuSet::of(32, [CpuId(2), CpuId(9)]));
        let puller = (0..8)
            .find(|c| *c != 2 && rig.fair.shared.own(CpuId(*c)) == rig.fair.shared.own(CpuId(2)));
        let puller = puller.expect("a shard has several CPUs");
        close_the_gate(&mut rig, puller);
        rig.newidle(puller, TaskId::IDLE);
        assert_eq!((rig.cpu_of(head), rig.cpu_of(behind)), (2, 2), "{version:?}");
        assert!(rig.fair.tasks[head].on_swqueue);
        assert_eq!(rig.fair.balance.swq.head_forbidden, 1);
        let c = rig.fair.counters;
        assert_eq!((c.pull_attempts, c.pull_empty, c.pull_hits), (1, 1, 0), "{version:?}");
        rig.running(elsewhere, MaskId::ALL);
        let other = waiting(&mut rig, elsewhere);
        rig.newidle(puller, TaskId::IDLE);
        assert_eq!(rig.cpu_of(other), puller, "{version:?}");
    }
}

/// What a pull leaves of `idle_stamp`: version 2 has set it and leaves it, 3 has not set it yet, 4
/// takes it away.
#[test]
fn versions_differ_in_the_stamp_that_a_pull_leaves() {
    for (version, stamp) in [(Version::V2, true), (Version::V3, false), (Version::V4, false)] {
        let mut rig = rig(version);
        rig.fair.overload = true;
        rig.running(0, MaskId::ALL);
        let p = waiting(&mut rig, 0);
        rig.newidle(1, TaskId::IDLE);
        assert_eq!(rig.cpu_of(p), 1);
        assert_eq!(rig.fair.rqs[CpuId(1)].idle_stamp != 0, stamp, "{version:?}");
        assert_eq!(rig.fair.counters.newidle_attempts, 0);
        // It arrives, and is queued again where arrivals are; version 4 has put it on an empty
        // queue.
        assert_eq!(rig.fair.tasks[p].on_swqueue, version != Version::V4, "{version:?}");
    }
}

/// Popped, but running by then: versions 2 and 3 ask once more in the slow pick and then give up;
/// version 4 goes on to balance.
#[test]
fn a_lost_task_costs_a_second_pull_at_most() {
    for (version, pulls) in [(Version::V2, 2), (Version::V3, 2), (Version::V4, 1)] {
        let mut rig = rig(version);
        rig.fair.overload = true;
        let lose = |rig: &mut Rig| {
            let cpu = rig.w.tasks.len() as u32 % 4;
            let p = rig.queued(cpu, 1, MaskId::ALL);
            rig.w.this = CpuId(cpu);
            let hook = Some(rig.fair.swq_nested(CpuId(cpu), p, sites::TTWU_ENQUEUE, 0));
            carry_out(rig, cpu, hook);
            rig.w.cpus[CpuId(cpu)].curr = p;
            rig.w.tasks[p].on_cpu = true;
        };
        let prev = rig.w.new_task(TaskAttr::default());
        rig.fair.tasks.push(new_fair_task(1));
        (0..3).for_each(|_| lose(&mut rig));
        rig.newidle(5, prev);
        let c = rig.fair.counters;
        assert_eq!((c.pull_attempts, c.pull_lost, c.pull_hits), (pulls, pulls, 0), "{version:?}");
        // From the idle task there is no second look.
        rig.fair.overload = true;
        rig.newidle(6, TaskId::IDLE);
        assert_eq!(rig.fair.counters.pull_attempts, pulls + 1, "{version:?}");
    }
}

/// The pull of version 4 does not heed avg_idle, but `rd.overload`; versions 2 and 3 heed
/// neither.
#[test]
fn version_4_asks_the_queue_only_where_the_machine_is_overloaded() {
    for version in [Version::V2, Version::V3, Version::V4] {
        for overload in [false, true] {
            let mut rig = rig(version);
            close_the_gate(&mut rig, 1);
            close_the_gate(&mut rig, 9);
            rig.running(0, MaskId::ALL);
            let p = waiting(&mut rig, 0);
            rig.fair.overload = overload;
            rig.newidle(1, TaskId::IDLE);
            let pulled = overload || version != Version::V4;
            assert_eq!(rig.cpu_of(p) == 1, pulled, "{version:?} {overload}");
            // Where there is nothing to pull, avg_idle ends the search.
            rig.newidle(9, TaskId::IDLE);
            assert_eq!(rig.fair.counters.newidle_attempts, 0, "{version:?}");
        }
    }
}

/// Version 3 compares avg_idle with the cost of the first level above the LLC, version 4 with that
/// of the lowest, and does not balance below the LLC's border.
#[test]
fn balance_goes_on_where_the_queue_ends() {
    for (version, dear_level, goes_on) in
        [(Version::V3, 0, true), (Version::V3, 2, false), (Version::V4, 0, false)]
    {
        let mut rig = rig(version);
        rig.fair.overload = true;
        rig.fair.rqs[CpuId(1)].avg_idle = 1000;
        rig.fair.sds[CpuId(1)][dear_level].max_newidle_lb_cost = 1_000_000;
        rig.newidle(1, TaskId::IDLE);
        let attempts = rig.fair.counters.newidle_attempts;
        assert_eq!(attempts == 1, goes_on, "{version:?}, level {dear_level}");
    }
    let mut rig = rig(Version::V4);
    rig.fair.overload = true;
    // Two that wait on a neighbor, but on no shared queue: they stay; a task of the other LLC
    // comes.
    rig.running(0, MaskId::ALL);
    let near = [rig.queued(0, 1, MaskId::ALL), rig.queued(0, 1, MaskId::ALL)];
    rig.newidle(1, TaskId::IDLE);
    assert_eq!(near.map(|p| rig.cpu_of(p)), [0, 0]);
    assert_eq!(rig.sought(1, 1), "newidle_balance: left to the shared runqueue");
    let steps = rig.newidle(8, TaskId::IDLE);
    assert!(steps.contains(&Step::Lock(LockId(0), sites::NEWIDLE_RQ_LOCK)), "{steps:?}");
}

/// Balancing unlinks what it takes under the source's lock and appends it under the destination's.
#[test]
fn balance_carries_a_task_from_queue_to_queue() {
    let mut rig = rig(Version::V3);
    rig.running(0, MaskId::ALL);
    let p = waiting(&mut rig, 0);
    let (own, theirs) = (rig.fair.swqueues[1].lock, rig.fair.swqueues[0].lock);
    rig.w.now += 10_000_000;
    rig.fair.overload = true;
    rig.fair.rqs[CpuId(0)].avg.util_avg = 1024;
    rig.fair.publish(CpuId(0));
    let steps = rig.newidle(8, TaskId::IDLE);
    assert_eq!(rig.cpu_of(p), 8);
    let locks: Vec<Step> =
        steps.into_iter().filter(|s| matches!(s, Step::Lock(..) | Step::Unlock(_))).collect();
    let at = |step: Step| locks.iter().position(|s| *s == step).unwrap_or(usize::MAX);
    let unlink = at(Step::Lock(theirs, sites::DEQUEUE_REMOVE));
    let append = at(Step::Lock(own, sites::TTWU_ENQUEUE));
    assert!(unlink < at(Step::Unlock(LockId(0))), "{locks:?}");
    assert!(append > at(Step::Lock(LockId(8), sites::NEWIDLE_RQ_LOCK)), "{locks:?}");
    assert!(append < locks.len(), "{locks:?}");
    assert_eq!((rig.fair.swqueues[0].head, rig.fair.swqueues[1].head), (TaskId::NONE, p));
}

/// The stopper's push does the same.
#[test]
fn a_push_carries_a_task_from_queue_to_queue() {
    let mut rig = rig(Version::V2);
    rig.running(0, MaskId::ALL);
    let p = waiting(&mut rig, 0);
    rig.fair.rqs[CpuId(0)].active_balance = true;
    rig.drive(0, |f, w, first| f.stopper(w, CpuId(0), CpuId(8), first));
    assert_eq!(rig.cpu_of(p), 8);
    assert_eq!((rig.fair.swqueues[0].head, rig.fair.swqueues[1].head), (TaskId::NONE, p));
    assert_eq!(rig.w.counters.migrations_by_cause[moves::ACTIVE.index()], 1);
}

/// Somebody is on the way by the wake list: nobody looks for work, nor pulls, nor sets the stamp.
#[test]
fn a_pending_wakeup_ends_the_search_before_the_pull() {
    for version in [Version::V2, Version::V3, Version::V4] {
        let mut rig = rig(version);
        rig.running(0, MaskId::ALL);
        waiting(&mut rig, 0);
        rig.fair.overload = true;
        rig.w.cpus[CpuId(1)].ttwu_pending = true;
        rig.newidle(1, TaskId::IDLE);
        assert_eq!(rig.fair.counters.pull_attempts, 0, "{version:?}");
        assert_eq!(rig.fair.rqs[CpuId(1)].idle_stamp, 0, "{version:?}");
    }
}

/// Version 4 looks again after a pull in vain, which gave wakers time; 2 and 3 do not.
#[test]
fn a_wakeup_during_the_pull_ends_the_search_of_version_4() {
    for (version, goes_on) in [(Version::V2, true), (Version::V3, true), (Version::V4, false)] {
        let mut rig = rig(version);
        rig.running(0, MaskId::ALL);
        let head = waiting(&mut rig, 0);
        rig.w.tasks[head].attr.allowed = rig.w.mask(CpuSet::of(32, [CpuId(0), CpuId(2)]));
        rig.fair.overload = true;
        rig.held = vec![LockId(1)];
        rig.drive(1, |f, w, first| {
            let step = f.before_idle(w, CpuId(1), TaskId::IDLE, first);
            // The look at the head, which must stay, takes its time.
            w.cpus[CpuId(1)].ttwu_pending |= matches!(step, Step::Lock(_, sites::PULL_POP));
            step
        });
        assert_eq!(rig.fair.counters.newidle_attempts == 1, goes_on, "{version:?}");
    }
}

/// Behind the stopper the slow pick asks, once: a lost task is the end of it.
#[test]
fn behind_the_stopper_there_is_one_pull() {
    for version in [Version::V2, Version::V3] {
        let mut rig = rig(version);
        for cpu in [0, 2] {
            let p = waiting(&mut rig, cpu);
            rig.w.cpus[CpuId(cpu)].curr = p;
            rig.w.tasks[p].on_cpu = true;
        }
        rig.newidle(1, TaskId::STOP);
        let c = rig.fair.counters;
        assert_eq!((c.pull_attempts, c.pull_lost), (1, 1), "{version:?}");
    }
}

/// Where nothing is popped, version 3 sets the stamp after the pull, and its walk begins at the
/// bottom all the same.
#[test]
fn version_3_walks_all_levels_after_a_pull_in_vain() {
    let mut rig = rig(Version::V3);
    rig.running(0, MaskId::ALL);
    let near = rig.queued(0, 1, MaskId::ALL);
    rig.w.now += 10_000_000;
    rig.fair.overload = true;
    rig.fair.rqs[CpuId(0)].avg.util_avg = 1024;
    rig.fair.publish(CpuId(0));
    rig.newidle(1, TaskId::IDLE);
    assert_eq!(rig.cpu_of(near), 1, "on no shared queue, but in the same LLC");
    rig.newidle(9, TaskId::IDLE);
    assert_ne!(rig.fair.rqs[CpuId(9)].idle_stamp, 0);
}

/// Neither a task with one CPU that is put back, nor one whose attributes change while it runs, nor
/// (version 4) one that waits alone is queued.
#[test]
fn who_cannot_leave_or_is_alone_is_not_queued() {
    let mut rig = rig(Version::V3);
    let one = rig.w.mask(CpuSet::of(32, [CpuId(0)]));
    let prev = rig.running(0, one);
    rig.w.tasks[prev].nr_cpus_allowed = 1;
    let attr = SchedAttr { nice: 3, ..rig.w.tasks[prev].attr.sched() };
    assert_eq!(rig.fair.set_scheduler(&mut rig.w, prev, attr), None);
    let next = waiting(&mut rig, 0);
    let hook = rig.fair.switch_task(&mut rig.w, CpuId(0), prev, next);
    assert_eq!(carry_out(&mut rig, 0, hook), [sites::PICK_REMOVE]);
    assert!(!rig.fair.tasks[prev].on_swqueue);
    let mut rig = self::rig(Version::V4);
    let alone = rig.queued(0, 1, MaskId::ALL);
    assert_eq!(rig.fair.set_scheduler(&mut rig.w, alone, attr), None);
    rig.queued(0, 1, MaskId::ALL);
    let attr = SchedAttr { nice: 4, ..attr };
    let hook = rig.fair.set_scheduler(&mut rig.w, alone, attr);
    assert_eq!(carry_out(&mut rig, 0, hook), [sites::TTWU_ENQUEUE]);
}
