//! Slices, placement, preemption and picking.

use crate::fair::features::Features;
use crate::fair::testing::{RYZEN, Rig};
use crate::fair::{Cfs, Discipline, QueueId, Rules};
use crate::moves;
use sim_core::{EnqueueFlags, MigrationCause, Policy, SchedPolicy, TaskId};
use topology::CpuId;

const MS: u64 = 1_000_000;
const CPU0: CpuId = CpuId(0);

/// A CPU with hogs of these nice levels, the first pick running.
fn hogs(hz: u32, nices: &[i8]) -> (Rig, Vec<TaskId>) {
    let mut rig = Rig::new(RYZEN, hz);
    let tasks = nices.iter().map(|n| rig.fork(0, *n)).collect();
    rig.schedule(0);
    (rig, tasks)
}

fn slices(nices: &[i8]) -> Vec<u64> {
    let (rig, tasks) = hogs(250, nices);
    tasks.iter().map(|p| rig.f.sched_slice(QueueId::root(CPU0), *p)).collect()
}

/// Lengths of the turns after the first switch.
fn turns(hz: u32, n: usize) -> Vec<u64> {
    let (mut rig, _) = hogs(hz, &vec![0; n]);
    let switches = rig.run(1000 * MS);
    switches.windows(2).map(|s| s[1].0 - s[0].0).collect()
}

#[test]
fn slices_share_the_period_by_weight() {
    let equal = [
        (1, 23999994),
        (2, 11999994),
        (3, 7999998),
        (4, 5999994),
        (8, 3000000),
        (9, 3000000),
        (10, 3000000),
        (16, 3000000),
    ];
    for (n, slice) in equal {
        assert_eq!(slices(&vec![0; n]), vec![slice; n], "{n} tasks");
    }
    assert_eq!(slices(&[0, 5]), [18083885, 5916114]);
    assert_eq!(slices(&[-5, 0, 5]), [16719641, 5485713, 3000000]);
}

#[test]
fn two_hogs_take_turns_of_12_ms() {
    assert!(turns(250, 2).iter().all(|t| *t == 12 * MS));
}

#[test]
fn four_hogs_switch_at_the_first_tick_after_6_ms() {
    assert!(turns(250, 4).iter().all(|t| *t == 8 * MS));
    assert!(turns(1000, 4).iter().all(|t| *t == 6 * MS));
}

#[test]
fn ten_hogs_take_turns_of_one_tick() {
    assert!(turns(250, 10).iter().all(|t| *t == 4 * MS));
}

/// A hog of nice -20 beside 15 of nice 0: its slice of 41 ms is longer than the latency of 24 ms,
/// which limits it since v6.3. After it the hog is asked to give way.
#[test]
fn a_long_slice_is_cut_at_the_latency_since_v6_3() {
    for (rules, longest) in [(Rules::V5_19, 41), (Rules::V6_1, 41), (Rules::V6_4, 25)] {
        let mut rig = Rig::new(RYZEN, 1000);
        rig.f = rig.f.with_rules(rules);
        rig.fork(0, -20);
        rig.schedule(0);
        (0..15).for_each(|_| _ = rig.fork(0, 0));
        rig.w.cpus[CPU0].need_resched = false;
        while !rig.w.cpus[CPU0].need_resched {
            rig.w.now += MS;
            rig.f.task_tick(&mut rig.w, CPU0);
        }
        assert_eq!(rig.w.now, longest * MS, "{rules:?}");
    }
}

#[test]
fn cpu_time_follows_weight() {
    let (mut rig, tasks) = hogs(1000, &[0, 5]);
    rig.run(10_000 * MS);
    rig.w.update_rq_clock(CPU0);
    rig.f.charge_curr(&mut rig.w, QueueId::root(CPU0));
    let ran = |p: TaskId| rig.f.tasks[p].sum_exec_runtime;
    let total = ran(tasks[0]) + ran(tasks[1]);
    assert_eq!(total, 10_000 * MS);
    let expected = total * 1024 / (1024 + 335);
    assert!(ran(tasks[0]).abs_diff(expected) <= 24 * MS, "{} {expected}", ran(tasks[0]));
}

#[test]
fn light_ticks_are_those_before_the_minimal_granularity() {
    let (mut rig, _) = hogs(1000, &[0, 0]);
    (rig.f.rqs[CpuId(0)].nohz_idle, rig.f.rqs[CpuId(0)].next_balance) = (false, 1000);
    assert_eq!(rig.f.next_deciding_tick(&rig.w, CPU0), 3 * MS);
    rig.w.now = 12 * MS;
    rig.w.cpus[CpuId(0)].tick_next = 13 * MS;
    rig.f.task_tick(&mut rig.w, CPU0);
    assert_eq!(rig.f.next_deciding_tick(&rig.w, CPU0), 13 * MS);
    assert!(rig.w.cpus[CpuId(0)].need_resched);
}

#[test]
fn a_new_task_starts_a_slice_late() {
    let (mut rig, _) = hogs(250, &[0, 0, 0]);
    let child = rig.new_task(0, 0);
    let late = rig.vruntime(child) as i64;
    assert!(late >= 5_999_994, "{late}");
}

#[test]
fn a_new_task_takes_half_of_what_the_last_update_left() {
    let (mut rig, _) = hogs(250, &[]);
    rig.f.rqs[CpuId(0)].avg.util_avg = 600;
    rig.f.rqs[CpuId(0)].avg.load_avg = 1024;
    // Nobody has looked at the queue for a second.
    rig.w.now = 1000 * MS;
    let p = rig.fork(0, 0);
    assert_eq!(rig.f.tasks[p].avg.util_avg, 212);
}

#[test]
fn a_task_that_slept_for_long_before_the_run_brings_no_load() {
    let loads = |rested: bool| {
        let (mut rig, _) = hogs(250, &[]);
        let p = rig.new_task(0, 0);
        rig.w.tasks[p].attr.rested = rested;
        rig.enqueue(p, EnqueueFlags { initial: true, ..EnqueueFlags::default() });
        let (task, queue) = (rig.f.tasks[p].avg, rig.f.rqs[CpuId(0)].avg);
        [task.load_avg, task.util_avg, queue.load_avg, queue.util_avg]
    };
    assert_eq!(loads(true), [0; 4]);
    assert!(loads(false).iter().all(|load| *load > 0), "{:?}", loads(false));
}

#[test]
fn a_long_sleeper_preempts_and_a_short_one_keeps_its_place() {
    let (mut rig, tasks) = hogs(250, &[0, 0]);
    let sleeper = rig.w.cpus[CpuId(0)].curr;
    rig.sleep(0);
    let other = rig.w.cpus[CpuId(0)].curr;
    assert!(tasks.contains(&other) && other != sleeper);
    rig.w.now = 100 * MS;
    rig.w.update_rq_clock(CPU0);
    rig.f.charge_curr(&mut rig.w, QueueId::root(CPU0));
    let min = rig.f.rqs[CpuId(0)].min_vruntime;
    rig.wake(sleeper);
    assert_eq!(rig.vruntime(sleeper), min - 12 * MS);
    assert!(rig.w.cpus[CpuId(0)].need_resched);
    assert_eq!(rig.schedule(0), sleeper);

    // Gone for a millisecond only: it gains nothing.
    rig.w.now += MS;
    rig.sleep(0);
    let before = rig.vruntime(sleeper);
    rig.w.now += MS;
    rig.wake(sleeper);
    assert_eq!(rig.vruntime(sleeper), before);
}

/// `curr` is ahead of a wakee by `ahead` ns; does it preempt?
fn preempts(ahead: u64, nice: i8) -> bool {
    let (mut rig, _) = hogs(250, &[0]);
    let wakee = rig.new_task(0, nice);
    rig.f.tasks[wakee].vruntime = rig.vruntime(rig.w.cpus[CpuId(0)].curr) - ahead;
    rig.f.check_preempt(&mut rig.w, CPU0, wakee, EnqueueFlags::default());
    rig.w.cpus[CpuId(0)].need_resched
}

#[test]
fn a_wakee_preempts_beyond_its_granularity() {
    let granularities = [(-10, 428990), (-5, 1312399), (0, 4000000), (5, 12226865), (10, 37236363)];
    for (nice, granularity) in granularities {
        assert!(!preempts(granularity, nice), "nice {nice}");
        assert!(preempts(granularity + 1, nice), "nice {nice}");
    }
}

/// A wake-up beside eight tasks that preempts, unless only a task of normal policy may do so: the
/// next and the last buddy after it.
fn buddies(curr: SchedPolicy, wakee: SchedPolicy, next_buddy: bool) -> [TaskId; 2] {
    buddies_with(curr, wakee, Features { next_buddy, ..Features::default() })
}

fn buddies_with(curr: SchedPolicy, wakee: SchedPolicy, features: Features) -> [TaskId; 2] {
    let (mut rig, tasks) = hogs(250, &[0; 8]);
    rig.f.features = features;
    let (running, woken) = (rig.w.cpus[CpuId(0)].curr, tasks[0]);
    rig.f.tasks[running].policy = curr;
    rig.f.tasks[woken].policy = wakee;
    rig.f.tasks[running].vruntime = rig.vruntime(woken) + 20 * MS;
    rig.f.check_preempt(&mut rig.w, CPU0, woken, EnqueueFlags::default());
    assert_eq!(rig.w.cpus[CpuId(0)].need_resched, wakee == SchedPolicy::Normal);
    [rig.f.rqs[CpuId(0)].next, rig.f.rqs[CpuId(0)].queue.last]
}

/// `set_next_buddy` and `set_last_buddy` ask `se_is_idle`.
#[test]
fn an_idle_policy_task_is_no_buddy() {
    use SchedPolicy::{Idle, Normal};
    let (none, running, woken) = (TaskId::NONE, TaskId(7), TaskId(0));
    assert_eq!(buddies(Normal, Normal, false), [woken, running]);
    assert_eq!(buddies(Normal, Normal, true), [woken, running]);
    assert_eq!(buddies(Idle, Normal, false), [none, none]);
    assert_eq!(buddies(Idle, Normal, true), [woken, none]);
    assert_eq!(buddies(Normal, Idle, true), [none, none]);
}

/// `LAST_BUDDY` alone decides it, however many tasks there are (`check_preempt_wakeup()`, v6.4).
#[test]
fn without_the_feature_nobody_is_the_last_buddy() {
    let normal = SchedPolicy::Normal;
    let features = Features { last_buddy: false, ..Features::default() };
    assert_eq!(buddies_with(normal, normal, features), [TaskId(0), TaskId::NONE]);
}

/// `task_h_load`: `h_load` is that of the jiffy's first look, the divisor is the queue's load now.
/// So each task that a pass of balance takes from a queue counts for more than the one before.
#[test]
fn without_groups_too_a_tasks_load_is_its_part_of_its_queues() {
    let (mut rig, tasks) = hogs(250, &[0; 9]);
    let p = tasks[0];
    rig.f.tasks[p].avg.load_avg = 1024;
    let load = |rig: &mut Rig<Cfs>, queue: u64| {
        rig.f.rqs[CpuId(0)].avg.load_avg = queue;
        Cfs::task_h_load(&mut rig.f, &rig.w, CPU0, p)
    };
    assert_eq!(load(&mut rig, 9216), 1023);
    assert_eq!(load(&mut rig, 8192), 1151);
    assert_eq!(load(&mut rig, 4096), 2303);
    rig.w.now += 4 * MS;
    assert_eq!(load(&mut rig, 4096), 1023);
}

/// `pick_next_task_fair` moves what it picks to the head of `cfs_tasks`, also if it runs already,
/// up to v6.11. (Balancing takes from the tail.)
#[test]
fn a_task_that_goes_on_is_put_at_the_head_of_the_list() {
    let (mut rig, _) = hogs(250, &[0]);
    let running = rig.w.cpus[CpuId(0)].curr;
    let woken = rig.new_task(0, 0);
    rig.f.tasks[woken].vruntime = rig.vruntime(running) + 20 * MS;
    rig.enqueue(woken, EnqueueFlags::default());
    assert_eq!(rig.f.list_tail(CPU0), running);
    assert_eq!(rig.schedule(0), running);
    assert_eq!(rig.f.list_tail(CPU0), woken);
}

#[test]
fn two_tasks_that_yield_alternate() {
    let (mut rig, tasks) = hogs(250, &[0, 0]);
    // Both at the same place, so that only the skip buddy decides.
    let v = rig.vruntime(tasks[0]);
    let curr = rig.w.cpus[CpuId(0)].curr;
    rig.f.tasks[curr].vruntime = v;
    let mut prev = curr;
    for _ in 0..10 {
        rig.w.now += 1000;
        rig.f.yield_task(&mut rig.w, CPU0);
        let next = rig.schedule(0);
        assert_ne!(next, prev);
        prev = next;
    }
}

#[test]
fn a_lone_task_does_not_yield() {
    let (mut rig, tasks) = hogs(250, &[0]);
    rig.f.yield_task(&mut rig.w, CPU0);
    assert_eq!(rig.f.rqs[CpuId(0)].queue.skip, TaskId::NONE);
    assert_eq!(rig.schedule(0), tasks[0]);
}

#[test]
fn equal_vruntimes_run_in_order_of_arrival() {
    let (mut rig, _) = hogs(250, &[]);
    let v = rig.f.rqs[CpuId(0)].min_vruntime;
    let rq = &mut rig.f.rqs[CpuId(0)];
    [3, 1, 2].iter().for_each(|i| rq.tree_insert(v, TaskId(*i)));
    rq.tree_insert(v - 1, TaskId(9));
    rq.tree_remove(v, TaskId(1));
    let order: Vec<u32> = rq.queue.tree.iter().map(|(_, p)| p.0).collect();
    assert_eq!(order, [9, 3, 2]);
}

#[test]
fn the_task_list_is_most_recently_run_first() {
    let (mut rig, tasks) = hogs(250, &[0, 0, 0]);
    rig.run(100 * MS);
    assert_eq!(rig.f.rqs[CpuId(0)].list_head, rig.w.cpus[CpuId(0)].curr);
    let tail = rig.f.list_tail(CPU0);
    rig.f.list_rotate_to_head(CPU0, tail);
    assert_eq!(rig.f.rqs[CpuId(0)].list_head, tail);
    let mut seen = vec![];
    let mut p = rig.f.rqs[CpuId(0)].list_head;
    while p.is_task() {
        seen.push(p);
        p = rig.f.tasks[p].list_next;
    }
    seen.sort();
    assert_eq!(seen, tasks);
}

/// A small generator for the random test (xorshift).
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state >> 11
}

/// One random operation on CPUs 0 and 1.
fn random_op(rig: &mut Rig, tasks: &[TaskId], r: u64) {
    let cpu = (r % 2) as u32;
    let p = tasks[(r >> 1) as usize % tasks.len()];
    let on_rq = rig.w.tasks[p].on_rq;
    match (r >> 8) % 4 {
        0 if rig.w.cpus[CpuId(cpu)].curr.is_task() => rig.sleep(cpu),
        1 if !on_rq => rig.wake(p),
        2 if !on_rq => {
            let from = rig.w.tasks[p].cpu;
            let to = CpuId(1 - from.0);
            rig.f.migrate_task_rq(&mut rig.w, p, from, to);
            rig.w.set_task_cpu(p, to, MigrationCause::Wake);
            let flags = EnqueueFlags { wakeup: true, migrated: true, ..EnqueueFlags::default() };
            rig.enqueue(p, flags);
        }
        3 if on_rq && !rig.w.cpus.iter().any(|c| c.curr == p) => {
            let from = rig.w.tasks[p].cpu;
            rig.dequeue(p, false);
            rig.w.set_task_cpu(p, CpuId(1 - from.0), moves::BALANCE);
            rig.enqueue(p, EnqueueFlags { migrated: true, ..EnqueueFlags::default() });
        }
        _ => drop(rig.schedule(cpu)),
    }
}

#[test]
fn random_operations_keep_the_books() {
    let mut rig = Rig::new(RYZEN, 250);
    let tasks: Vec<TaskId> = (0..12).map(|i| rig.fork(i % 2, i as i8 * 2 - 10)).collect();
    let mut state = 88172645463325252;
    let mut min = [0; 2];
    for _ in 0..20_000 {
        let r = next(&mut state);
        rig.w.now += r % 3_000_000;
        random_op(&mut rig, &tasks, r >> 4);
        for (cpu, min) in min.iter_mut().enumerate() {
            let rq = &rig.f.rqs[CpuId(cpu as u32)];
            let queued = || {
                tasks.iter().filter(|p| rig.f.tasks[**p].on_rq && rig.w.tasks[**p].cpu.idx() == cpu)
            };
            let weight: u64 = queued().map(|p| u64::from(rig.f.tasks[*p].weight)).sum();
            assert_eq!(rq.load_weight, weight);
            assert_eq!(rq.h_nr_running as usize, queued().count());
            assert_eq!(rq.h_nr_running, rig.w.cpus[CpuId(cpu as u32)].nr_running);
            assert_eq!(rq.queue.tree.len() + usize::from(rq.curr.is_task()), queued().count());
            assert!(rq.min_vruntime >= *min, "min_vruntime went back");
            assert!(rq.avg.util_avg <= 1024 * 2);
            *min = rq.min_vruntime;
        }
    }
}

#[test]
fn a_lone_task_uses_at_most_its_cpu() {
    let (mut rig, tasks) = hogs(250, &[0]);
    rig.run(2000 * MS);
    assert!((1000..=1024).contains(&rig.f.rqs[CpuId(0)].avg.util_avg));
    assert!(rig.f.tasks[tasks[0]].avg.util_avg <= 1024);
}

#[test]
fn overload_is_set_by_the_second_task() {
    let (mut rig, _) = hogs(250, &[0]);
    assert!(!rig.f.overload);
    rig.fork(0, 0);
    assert!(rig.f.overload);
}

#[test]
fn idle_periods_feed_avg_idle() {
    let (mut rig, tasks) = hogs(250, &[0]);
    let idles = [100_000, 100_000, 100_000, 5 * MS, 20_000, 20_000];
    let expected = [887500, 789063, 702931, 1000000, 877500, 770313];
    for (idle, avg) in idles.into_iter().zip(expected) {
        rig.w.now += MS;
        rig.sleep(0);
        rig.f.rqs[CpuId(0)].idle_stamp = rig.w.now;
        rig.w.now += idle;
        rig.wake(tasks[0]);
        rig.schedule(0);
        assert_eq!(rig.f.rqs[CpuId(0)].avg_idle, avg);
    }
}

/// Nobody holds the lock of the queue that a sleeper leaves: its share goes at the next update
/// there. Its own averages go on in between, if that CPU is idle and its clock may stand still.
/// `migrate_se_pelt_lag()` is not in v5.19: there they stand still.
#[test]
fn a_sleeper_that_wakes_elsewhere_is_missed_at_the_next_update() {
    let (mut rig, tasks) = hogs(250, &[0]);
    rig.run(100 * MS);
    rig.sleep(0);
    let before = rig.f.rqs[CpuId(0)].avg.util_avg;
    rig.w.now += 32 * 1024 * 1024;
    rig.f.migrate_task_rq(&mut rig.w, tasks[0], CpuId(0), CpuId(1));
    assert!(before > 800 && rig.f.rqs[CpuId(0)].avg.util_avg == before);
    assert!(rig.f.tasks[tasks[0]].avg.util_avg.abs_diff(before / 2) < 16);
    let (mut old, tasks) = hogs(250, &[0]);
    old.f = old.f.with_rules(Rules::V5_19);
    old.run(100 * MS);
    old.sleep(0);
    old.w.now += 32 * 1024 * 1024;
    old.f.migrate_task_rq(&mut old.w, tasks[0], CpuId(0), CpuId(1));
    assert!(old.f.tasks[tasks[0]].avg.util_avg.abs_diff(before) < 16);
    rig.w.update_rq_clock(CpuId(0));
    rig.f.update_blocked_averages(&mut rig.w, CpuId(0));
    assert_eq!(rig.f.rqs[CpuId(0)].avg.util_avg, 0);
}

/// `task_hot`: balancing spares the next buddy and the last one, and nobody else for that reason.
#[test]
fn the_next_and_the_last_buddy_are_buddies() {
    let (mut rig, tasks) = hogs(1000, &[0; 4]);
    let root = QueueId::root(CPU0);
    let rq = rig.f.queue_mut(root);
    (rq.next, rq.queue.last) = (tasks[2], tasks[3]);
    let buddies = tasks.iter().map(|p| Cfs::is_buddy(&rig.f, CPU0, *p));
    assert_eq!(buddies.collect::<Vec<_>>(), [false, false, true, true]);
}
