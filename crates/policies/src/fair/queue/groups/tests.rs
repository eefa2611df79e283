//! Shares, slices, preemption and averages of task groups, by hand calculation.

use crate::fair::queue::cfs::CfsQueue;
use crate::fair::state::groups::{Group, GroupOnCpu};
use crate::fair::state::pelt::{LOAD_AVG_MAX, SchedAvg};
use crate::fair::testing::{RYZEN, Rig};
use crate::fair::{Cfs, Discipline, GroupSpec, QueueId};
use crate::moves;
use sim_core::{EnqueueFlags, GroupId, Policy, SchedAttr, TaskAttr, TaskId};
use topology::{CpuId, SdFlags};

const MS: u64 = 1_000_000;
const CPU0: CpuId = CpuId(0);
const ROOT: QueueId = QueueId { cpu: CPU0, group: GroupId::ROOT };
const FIRST: QueueId = QueueId { cpu: CPU0, group: GroupId(1) };

type Groups = Rig<Cfs<true>>;

/// CPU 0 with tasks of nice 0 in these groups (0: the root), the first pick running.
fn hogs(cpu_weights: &[u32], groups: &[u16]) -> (Groups, Vec<TaskId>) {
    let mut rig = Rig::grouped(RYZEN, 1000, cpu_weights);
    let tasks = groups.iter().map(|group| rig.fork_in(*group, 0, 0)).collect();
    rig.schedule(0);
    (rig, tasks)
}

fn weight(rig: &Groups, queue: QueueId) -> u32 {
    rig.f.on_cpu(queue).se.weight
}

fn ran(rig: &Groups, p: TaskId) -> u64 {
    rig.f.tasks[p].sum_exec_runtime
}

#[test]
fn cpu_weight_100_is_nice_0() {
    let weights = [1, 50, 100, 200, 10_000]
        .map(|w| GroupSpec { cpu_weight: w, ..GroupSpec::default() }.weight());
    assert_eq!(weights, [10, 512, 1024, 2048, 102_400]);
}

/// `calc_group_shares` with the queue's weight and load, what it has told, and the group's load.
fn shares(weight: u64, load: u64, told: u64, group_load: u64) -> u64 {
    let group = Group { load_avg: group_load, ..Group::new(&GroupSpec::default()) };
    let mut on_cpu = GroupOnCpu::<(), CfsQueue>::new(&group);
    (on_cpu.rq.load_weight, on_cpu.rq.avg.load_avg) = (weight, load);
    on_cpu.tg_load_avg_contrib = told;
    on_cpu.calc_group_shares(&group)
}

#[test]
fn shares_go_where_the_load_is() {
    // All of it here; one of three CPUs; one of eight.
    assert_eq!(shares(1024, 1024, 1024, 1024), 1 << 20);
    assert_eq!(shares(1024, 1024, 1024, 3 * 1024), (1 << 20) / 3);
    assert_eq!(shares(1024, 1024, 1024, 8 * 1024), 1 << 17);
    // A task has come that the average does not know yet: 1048576 * 2048 / 5048.
    assert_eq!(shares(2048, 1000, 990, 3990), 425_412);
    // All have gone to sleep: what they have left on average counts.
    assert_eq!(shares(0, 512, 512, 1536), (1 << 20) / 3);
    // Nothing here: MIN_SHARES, not nothing.
    assert_eq!(shares(0, 0, 0, 3000), 2);
    assert_eq!(shares(0, 0, 0, 0), 2);
}

#[test]
fn a_group_on_one_cpu_weighs_as_one_task_however_many_it_has() {
    let (rig, _) = hogs(&[100], &[1, 1, 1, 0]);
    assert_eq!(weight(&rig, FIRST), 1024);
    assert_eq!((rig.f.rqs[CpuId(0)].load_weight, rig.f.rqs[CpuId(0)].h_nr_running), (2048, 4));
    assert_eq!(rig.f.queue(FIRST).load_weight, 3 * 1024);
    assert_eq!(Cfs::nr_entities(&rig.f, ROOT), 2);
}

#[test]
fn a_group_that_is_busy_on_four_cpus_weighs_a_quarter_on_each() {
    let mut rig = Rig::grouped(RYZEN, 1000, &[100]);
    for cpu in 0..4 {
        rig.fork_in(1, cpu, 0);
        rig.schedule(cpu);
    }
    for ms in 1..2000 {
        rig.w.now = ms * MS;
        (0..4).for_each(|cpu| rig.f.task_tick(&mut rig.w, CpuId(cpu)));
    }
    for cpu in 0..4 {
        let on_cpu = QueueId { cpu: CpuId(cpu), ..FIRST };
        // A load that has just changed may be a 64th off.
        assert!(weight(&rig, on_cpu).abs_diff(256) <= 4, "{}", weight(&rig, on_cpu));
        assert_eq!(rig.f.rqs[CpuId(cpu)].load_weight, u64::from(weight(&rig, on_cpu)));
    }
}

#[test]
fn a_slice_is_a_part_of_the_groups_slice() {
    // Of three tasks in 24 ms: half of a half, and half. In units of weight, rounded down twice.
    let (rig, tasks) = hogs(&[100], &[1, 1, 0]);
    assert_eq!(rig.f.sched_slice(FIRST, tasks[0]), 5_999_994);
    assert_eq!(rig.f.sched_slice(ROOT, tasks[2]), 11_999_994);
    // The last of three groups' tasks has what its group has: 24 ms * 1024 / 3072.
    let (rig, tasks) = hogs(&[100, 100, 100], &[1, 2, 3]);
    let last = QueueId { group: GroupId(3), ..ROOT };
    assert!(rig.f.sched_slice(last, tasks[2]).abs_diff(8 * MS) < 10);
}

fn half_and_half(cpu_weight: u32, n: usize) -> [u64; 2] {
    let mut groups = vec![1; n];
    groups.push(0);
    let (mut rig, tasks) = hogs(&[cpu_weight], &groups);
    rig.run(20_000 * MS);
    let group = tasks[..n].iter().map(|p| ran(&rig, *p)).sum();
    [group, ran(&rig, tasks[n])]
}

#[test]
fn a_group_has_its_share_of_a_cpu_whatever_it_runs() {
    for (cpu_weight, n, share) in
        [(100, 1, 0.5), (100, 5, 0.5), (200, 3, 2.0 / 3.0), (50, 2, 1.0 / 3.0)]
    {
        let [group, task] = half_and_half(cpu_weight, n);
        let got = group as f64 / (group + task) as f64;
        assert!((got - share).abs() < 0.005, "{cpu_weight}, {n}: {got} of {share}");
    }
}

#[test]
fn tasks_of_a_group_share_it_evenly() {
    let (mut rig, tasks) = hogs(&[100], &[1, 1, 1, 0]);
    rig.run(20_000 * MS);
    for p in &tasks[..3] {
        let got = ran(&rig, *p) as f64 / 20_000e6;
        assert!((got - 1.0 / 6.0).abs() < 0.005, "{got}");
    }
}

#[test]
fn a_switch_within_a_group_leaves_its_entity_where_it_is() {
    let (mut rig, tasks) = hogs(&[100], &[1, 1]);
    let before = rig.f.on_cpu(FIRST).se.prev_sum_exec_runtime;
    let switches = rig.run(100 * MS);
    assert!(switches.len() > 4);
    let se = &rig.f.on_cpu(FIRST).se;
    assert_eq!((se.prev_sum_exec_runtime, se.on_rq), (before, true));
    assert_eq!(se.sum_exec_runtime, tasks.iter().map(|p| ran(&rig, *p)).sum::<u64>());
    assert!(rig.f.rqs[CpuId(0)].queue.tree.is_empty());
}

#[test]
fn a_forked_task_starts_by_its_parents_queue_whatever_its_group() {
    let forked = |parent: u16, child: u16, lead| {
        let (mut rig, tasks) = hogs(&[100], &[parent]);
        let child = rig.w.new_task(TaskAttr { group: GroupId(child), ..TaskAttr::default() });
        let queue = QueueId { group: GroupId(parent), ..ROOT };
        rig.f.tasks[tasks[0]].vruntime = rig.f.queue(queue).min_vruntime + lead;
        rig.f.task_fork(&mut rig.w, child, Some(tasks[0]));
        rig.vruntime(child)
    };
    // As far on as its parent is on the parent's queue.
    assert_eq!(forked(1, 0, 20 * MS), 20 * MS);
    assert_eq!(forked(0, 1, 20 * MS), 20 * MS);
    // Or a slice late, by its own group: half of 24 ms beside the parent's group, half of its
    // group's 24 ms, and all of its group's half. The latter two are rounded down twice.
    assert_eq!(forked(1, 0, 0), 11_999_994);
    assert_eq!(forked(1, 1, 0), 11_999_991);
    assert_eq!(forked(0, 1, 0), 11_999_991);
}

#[test]
fn a_wake_up_competes_as_its_group() {
    // A group with load elsewhere weighs little here, so what is woken in it has to be far behind.
    let preempts = |weight: u32, ahead: u64| {
        let (mut rig, tasks) = hogs(&[100], &[0, 1]);
        let (hog, sleeper) = (tasks[0], tasks[1]);
        while rig.w.cpus[CpuId(0)].curr != sleeper {
            rig.run(rig.w.now + 20 * MS);
        }
        rig.sleep(0);
        assert_eq!(rig.w.cpus[CpuId(0)].curr, hog);
        // As heavy as if the group had the rest of its load elsewhere.
        let load = u64::from(1024 * (1024 - weight) / weight);
        rig.f.groups.groups[0].load_avg += load;
        rig.f.update_averages(&mut rig.w, FIRST, sleeper);
        rig.w.cpus[CpuId(0)].need_resched = false;
        let min = rig.f.rqs[CpuId(0)].min_vruntime;
        rig.f.tasks[hog].vruntime = min + ahead - 12 * MS;
        rig.wake(sleeper);
        rig.w.cpus[CpuId(0)].need_resched
    };
    // 4 ms of wakeup_granularity at a weight of 1024; 32 ms at an eighth of it.
    assert!(preempts(1024, 17 * MS));
    assert!(!preempts(1024, 3 * MS));
    assert!(!preempts(128, 17 * MS));
}

#[test]
fn a_wake_up_in_the_group_that_runs_charges_its_entity() {
    let (mut rig, tasks) = hogs(&[100], &[1, 1]);
    let curr = rig.w.cpus[CpuId(0)].curr;
    let sleeper = tasks.into_iter().find(|p| *p != curr).unwrap();
    rig.dequeue(sleeper, true);
    let before = rig.f.rqs[CpuId(0)].min_vruntime;
    rig.w.now += 15 * MS;
    rig.wake(sleeper);
    // The group is on no other CPU, so its entity weighs 1024 as before. It began as a sleeper,
    // with a credit of 12 ms.
    let se = &rig.f.on_cpu(FIRST).se;
    assert_eq!((se.exec_start, se.sum_exec_runtime), (15 * MS, 15 * MS));
    assert_eq!(rig.f.rqs[CpuId(0)].min_vruntime, before + 3 * MS);
}

/// Each group that gets another weight is charged with the old one first, up to the clock: what an
/// enqueue takes after its lock is nobody's yet.
#[test]
fn a_group_that_gets_another_weight_is_charged_up_to_the_clock() {
    let (mut rig, tasks) = hogs(&[100], &[1, 1]);
    let (curr, other) = (rig.w.cpus[CPU0].curr, tasks[1]);
    rig.w.now = 2 * MS;
    rig.dequeue(other, true);
    rig.w.now = 3 * MS;
    rig.w.update_rq_clock(CPU0);
    rig.w.now += 2000;
    rig.w.activate(CPU0, other);
    rig.f.enqueue_task(&mut rig.w, CPU0, other, EnqueueFlags::default());
    assert_eq!((ran(&rig, curr), rig.f.on_cpu(FIRST).se.sum_exec_runtime), (3 * MS, 3 * MS));
}

#[test]
fn the_load_of_an_entity_is_rounded_anew_though_its_weight_stays() {
    let (mut rig, tasks) = hogs(&[100], &[1]);
    let group = rig.f.entity_on(ROOT, tasks[0]).unwrap();
    // Half a period past the last one that has been averaged: a divider of 46718 + 512.
    let half = SchedAvg { load_sum: 30_000, load_avg: 640, period_contrib: 512, ..full(0, 0) };
    rig.f.on_cpu_mut(FIRST).se.avg = half;
    rig.f.rqs[CpuId(0)].avg = SchedAvg { load_sum: 60_000_000, load_avg: 1664, ..half };
    rig.f.update_group(&mut rig.w, group);
    assert_eq!(weight(&rig, FIRST), 1024);
    // 1024 * 30000 / 47230, and the root's queue has the ten that it is more.
    assert_eq!(rig.f.on_cpu(FIRST).se.avg.load_avg, 650);
    assert_eq!(rig.f.rqs[CpuId(0)].avg.load_avg, 1674);
    // 60000000 - 1024 * 30000, but no less than 1024 * 46718, and back.
    assert_eq!(rig.f.rqs[CpuId(0)].avg.load_sum, 1024 * 46_718 + 1024 * 30_000);
}

/// DEQUEUE_SAVE goes up with the dequeue: nobody's min_vruntime moves while a group's only task is
/// off its queue for a moment.
#[test]
fn a_renice_of_a_groups_only_task_leaves_its_group_where_it_is() {
    let (mut rig, tasks) = hogs(&[100], &[0, 1]);
    let (hog, other) = (tasks[0], tasks[1]);
    while rig.w.cpus[CpuId(0)].curr != hog {
        rig.run(rig.w.now + MS);
    }
    rig.w.now += 5 * MS;
    let group = rig.f.entity_on(ROOT, other).unwrap();
    // It waits, and holds the root's min_vruntime back.
    let waits = rig.f.entity(group).vruntime;
    assert_eq!(rig.f.rqs[CpuId(0)].leftmost(), Some(group));
    rig.w.update_rq_clock(CPU0);
    rig.f.set_scheduler(&mut rig.w, other, SchedAttr { nice: 5, ..SchedAttr::default() });
    assert!(rig.vruntime(hog) > waits + 4 * MS, "the hog is further on");
    assert_eq!((rig.f.rqs[CpuId(0)].min_vruntime, rig.f.entity(group).vruntime), (waits, waits));
}

#[test]
fn a_group_that_still_has_tasks_is_picked_again_when_one_sleeps() {
    let (mut rig, tasks) = hogs(&[100], &[1, 1, 0]);
    let group = rig.f.entity_on(ROOT, tasks[0]).unwrap();
    while rig.w.cpus[CpuId(0)].curr == tasks[2] {
        rig.run(rig.w.now + MS);
    }
    let curr = rig.w.cpus[CpuId(0)].curr;
    rig.dequeue(curr, true);
    assert_eq!(rig.f.rqs[CpuId(0)].next, group);
    let next = rig.schedule(0);
    assert!(next != curr && next != tasks[2]);
    assert_eq!(rig.f.rqs[CpuId(0)].next, group, "its entity was not picked anew");
    rig.wake(curr);
    assert_eq!(rig.f.queue(FIRST).h_nr_running, 2);
}

#[test]
fn a_task_takes_its_load_along_and_the_groups_entities_follow() {
    let (mut rig, tasks) = hogs(&[100], &[1, 1]);
    rig.run(1000 * MS);
    let moved = tasks.into_iter().find(|p| *p != rig.w.cpus[CpuId(0)].curr).unwrap();
    let util = |rig: &Groups, cpu: u32| {
        let on_cpu = rig.f.on_cpu(QueueId { cpu: CpuId(cpu), ..FIRST });
        (on_cpu.rq.avg.util_avg, on_cpu.se.avg.util_avg, rig.f.rqs[CpuId(cpu)].avg.util_avg)
    };
    let before = util(&rig, 0);
    assert!(before.0 > 1000 && before.1.abs_diff(before.0) < 5, "{before:?}");
    rig.dequeue(moved, false);
    let own = rig.f.tasks[moved].avg.util_avg;
    rig.w.set_task_cpu(moved, CpuId(1), moves::BALANCE);
    rig.enqueue(moved, EnqueueFlags { migrated: true, ..EnqueueFlags::default() });
    let (left, moved) = (util(&rig, 0), util(&rig, 1));
    assert_eq!(moved, (own, own, own));
    for (left, before) in [(left.0, before.0), (left.1, before.0), (left.2, before.2)] {
        assert!(left.abs_diff(before - own) <= 5, "{left} of {before} less {own}");
    }
    // One task on each of two CPUs: half of the group on each. Its load was half of the CPU's.
    rig.f.task_tick(&mut rig.w, CPU0);
    assert!(weight(&rig, FIRST).abs_diff(512) < 20, "{}", weight(&rig, FIRST));
}

#[test]
fn what_was_taken_away_in_sleep_leaves_the_entity_too() {
    let (mut rig, tasks) = hogs(&[100], &[1]);
    rig.run(1000 * MS);
    rig.sleep(0);
    rig.f.migrate_task_rq(&mut rig.w, tasks[0], CPU0, CpuId(1));
    rig.w.now += 2 * MS;
    rig.w.update_rq_clock(CPU0);
    rig.f.update_blocked_averages(&mut rig.w, CPU0);
    let on_cpu = rig.f.on_cpu(FIRST);
    assert!(on_cpu.rq.avg.util_avg < 5 && on_cpu.se.avg.util_avg < 5, "{:?}", on_cpu.se.avg);
    assert!(rig.f.rqs[CpuId(0)].avg.util_avg < 5, "{:?}", rig.f.rqs[CpuId(0)].avg);
    assert!(rig.f.groups.groups[0].load_avg < 40);
}

#[test]
fn a_group_is_looked_at_until_its_averages_are_gone() {
    let (mut rig, _) = hogs(&[100, 100], &[1]);
    let n = |rig: &Groups| Cfs::<true>::leaf_averages(&rig.f, CPU0).count();
    assert_eq!(n(&rig), 1);
    rig.sleep(0);
    for _ in 0..3 {
        rig.w.now += 10 * MS;
        rig.w.update_rq_clock(CPU0);
        rig.f.update_blocked_averages(&mut rig.w, CPU0);
        assert_eq!(n(&rig), 1);
    }
    rig.w.now += 10_000 * MS;
    rig.w.update_rq_clock(CPU0);
    rig.f.update_blocked_averages(&mut rig.w, CPU0);
    assert_eq!(n(&rig), 0);
    assert_eq!(rig.f.groups.groups[0].load_avg, 0);
}

/// `cfs_rq_has_blocked` of every queue on the leaf list.
#[test]
fn blocked_load_of_a_group_counts_though_the_root_has_none() {
    let (mut rig, _) = hogs(&[1], &[1]);
    rig.sleep(0);
    let set = |rig: &mut Groups, load, util, on_leaf_list| {
        rig.f.rqs[CpuId(0)].avg = SchedAvg::default();
        let on_cpu = rig.f.on_cpu_mut(FIRST);
        on_cpu.rq.avg = full(load, util);
        on_cpu.on_leaf_list = on_leaf_list;
        rig.f.has_blocked_load(CPU0)
    };
    assert!(set(&mut rig, 60, 0, true));
    assert!(set(&mut rig, 0, 1, true));
    assert!(!set(&mut rig, 0, 0, true));
    assert!(!set(&mut rig, 60, 0, false));
}

#[test]
fn a_tasks_load_is_its_part_of_its_groups() {
    let (mut rig, tasks) = hogs(&[100], &[1, 1, 0]);
    rig.run(2000 * MS);
    let mut load = |p: TaskId| Cfs::task_h_load(&mut rig.f, &rig.w, CPU0, p);
    let loads = [load(tasks[0]), load(tasks[1]), load(tasks[2])];
    for (load, expected) in loads.into_iter().zip([512, 512, 1024]) {
        assert!(load.abs_diff(expected) < 20, "{loads:?}");
    }
    // The idle task's share of a queue of twice a task's load: its own.
    let idle = load(TaskId::IDLE);
    assert!(idle.abs_diff(1024) < 20, "{idle}");
}

/// `cpu_load_without` asks for the load of a task that has one there, and that of a new task is in
/// no queue: a fork leaves the loads of this jiffy to who asks for one.
#[test]
fn an_exec_asks_for_its_tasks_load_and_a_fork_does_not() {
    let averages = |rig: &mut Groups, p: TaskId, root, group| {
        rig.f.rqs[CpuId(0)].avg.load_avg = root;
        let on_cpu = rig.f.on_cpu_mut(FIRST);
        (on_cpu.se.avg.load_avg, on_cpu.rq.avg.load_avg) = (group, 1023);
        rig.f.tasks[p].avg.load_avg = 512;
        rig.f.publish(CPU0);
    };
    let load_after = |flag| {
        let (mut rig, tasks) = hogs(&[100], &[1]);
        let p = tasks[0];
        let child = rig.w.new_task(TaskAttr { group: GroupId(1), ..TaskAttr::default() });
        rig.f.task_fork(&mut rig.w, child, Some(p));
        averages(&mut rig, p, 1023, 512);
        let placed = if flag == SdFlags::BALANCE_FORK { child } else { p };
        rig.f.find_idlest_cpu(&mut rig.w, placed, CPU0, 2, flag);
        averages(&mut rig, p, 2047, 1024);
        Cfs::task_h_load(&mut rig.f, &rig.w, CPU0, p)
    };
    // The group's load is 2047 * 1024 / 2048, the task's 512 * 1023 / 1024 of it.
    assert_eq!(load_after(SdFlags::BALANCE_FORK), 511);
    // When the exec asked it was 1023 * 512 / 1024, and 512 * 511 / 1024.
    assert_eq!(load_after(SdFlags::BALANCE_EXEC), 255);
}

/// An average that has been active since ever, at the end of a period.
fn full(load: u64, util: u64) -> SchedAvg {
    let max = u64::from(LOAD_AVG_MAX - 1024);
    SchedAvg {
        load_sum: load * max,
        util_sum: util * max,
        runnable_sum: util * max,
        load_avg: load,
        util_avg: util,
        runnable_avg: util,
        ..SchedAvg::default()
    }
}

#[test]
fn an_entity_follows_its_queue_and_the_root_the_entity() {
    let (mut root, mut se) = (full(1024, 700), full(1, 300));
    se.load_avg = 512;
    root.update_tg_cfs_util(&mut se, &full(2048, 400));
    assert_eq!((se.util_avg, root.util_avg, root.runnable_avg), (400, 800, 800));
    let max = u64::from(LOAD_AVG_MAX - 1024);
    assert_eq!((se.util_sum, root.util_sum), (400 * max, 800 * max));
    // Runnable half of the time, a quarter more: 512 * 3 / 4, and the root has the difference.
    se.load_sum = max / 2;
    se.load_avg = 512 * se.load_sum / max;
    root.update_tg_cfs_load(&mut se, 512, (max / 4) as i64, 0);
    assert_eq!((se.load_sum, se.load_avg), (max / 2 + max / 4, 383));
    assert_eq!(root.load_avg, 1024 + 383 - 256);
    // All but what ran is gone: no less than the utilization says.
    root.update_tg_cfs_load(&mut se, 512, -(max as i64), 0);
    assert_eq!(se.load_sum, (400 * max) >> 10);
}
