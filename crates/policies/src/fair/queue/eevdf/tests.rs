//! Lag, deadlines, protection, delayed dequeue; traces of several tasks, pick by pick.

mod fairness;
mod groups;

use super::*;
use crate::fair::state::reasons;
use crate::fair::testing::Rig;
use crate::moves;
use sim_core::{GroupId, MigrationCause, Policy, SchedAttr, SchedPolicy, TaskAttr, TaskState};
use test_support::Random;
use topology::PerCpu;

const MS: u64 = 1_000_000;
const CPU0: CpuId = CpuId(0);
const ROOT: QueueId = QueueId { cpu: CPU0, group: GroupId::ROOT };
const ALL_RULES: [Rules; 3] = [Rules::V6_6, Rules::V6_12, Rules::V6_18];

fn rig(rules: Rules, hz: u32) -> Rig<Eevdf> {
    Rig::eevdf(rules, hz, Features::for_rules(rules))
}

/// A CPU with hogs of these nice levels, all at vruntime 0, the first running.
fn hogs(rules: Rules, hz: u32, nices: &[i8]) -> (Rig<Eevdf>, Vec<TaskId>) {
    let mut rig = rig(rules, hz);
    let tasks: Vec<TaskId> = nices.iter().map(|n| rig.fork(0, *n)).collect();
    for p in &tasks {
        // A full slice for all, in every version.
        rig.f.tree_remove(ROOT, *p);
        let se = &mut rig.f.tasks[*p];
        let vslice = calc_delta_fair(se.ext.slice, se.weight, se.inv_weight);
        se.ext.deadline = se.vruntime + vslice;
        rig.f.tree_insert(ROOT, *p);
    }
    rig.schedule(0);
    (rig, tasks)
}

/// Who runs how long, in ms: "A4 B8 …".
fn turns(rules: Rules, hz: u32, nices: &[i8], n: usize) -> String {
    let (mut rig, _) = hogs(rules, hz, nices);
    let mut at = (0, rig.w.cpus[CpuId(0)].curr);
    let mut text = Vec::new();
    for (when, next) in rig.run(200 * MS) {
        let name = (b'A' + at.1.0 as u8) as char;
        text.push(format!("{name}{}", (when - at.0) / MS));
        at = (when, next);
    }
    text[..n].join(" ")
}

#[test]
fn two_equal_hogs_take_turns() {
    assert_eq!(turns(Rules::V6_6, 250, &[0, 0], 4), "A4 B8 A8 B8");
    assert_eq!(turns(Rules::V6_6, 1000, &[0, 0], 4), "A3 B6 A6 B6");
    for rules in [Rules::V6_12, Rules::V6_18] {
        assert_eq!(turns(rules, 250, &[0, 0], 4), "A4 B4 A4 B4");
        assert_eq!(turns(rules, 1000, &[0, 0], 4), "A3 B3 A3 B3");
    }
}

#[test]
fn nice_0_and_nice_5_take_turns_of_their_weights() {
    assert_eq!(turns(Rules::V6_6, 1000, &[0, 5], 7), "A3 B4 A12 B4 A12 B4 A12");
    for rules in [Rules::V6_12, Rules::V6_18] {
        assert_eq!(turns(rules, 1000, &[0, 5], 7), "A3 B4 A10 B4 A12 B4 A12");
    }
}

#[test]
fn after_40_ms_the_vruntimes_are_those_of_the_worked_trace() {
    for rules in ALL_RULES {
        let (mut rig, tasks) = hogs(rules, 1000, &[0, 5]);
        let start = rig.vruntime(tasks[0]);
        rig.run(40 * MS);
        rig.w.update_rq_clock(ROOT.cpu);
        rig.f.charge_curr(&mut rig.w, ROOT);
        let v = tasks.iter().map(|p| rig.vruntime(*p) - start);
        assert_eq!(v.collect::<Vec<_>>(), [28_000_000, 36_680_592], "{rules:?}");
    }
}

#[test]
fn three_equal_hogs_take_turns() {
    assert_eq!(turns(Rules::V6_6, 250, &[0; 3], 10), "A4 B4 C8 A4 B8 C4 A8 B4 C8 A4");
    for rules in [Rules::V6_12, Rules::V6_18] {
        assert_eq!(turns(rules, 250, &[0; 3], 6), "A4 B4 C4 A4 B4 C4", "{rules:?}");
    }
}

/// The largest lag that a task of this nice level may take along.
fn limit(rules: Rules, nice: i8) -> i64 {
    let (mut rig, tasks) = hogs(rules, 250, &[0, nice]);
    let curr = rig.w.cpus[CpuId(0)].curr;
    rig.f.put_prev(&mut rig.w, CPU0, curr, TaskId::NONE);
    rig.w.now = 0;
    rig.f.set_next(&mut rig.w, CPU0, tasks[1], TaskId::NONE);
    rig.f.tasks[tasks[1]].vruntime -= 1_000_000 * MS;
    rig.f.entity_lag(&rig.w, ROOT, tasks[1], rig.f.avg_vruntime(ROOT))
}

#[test]
fn lag_is_limited_to_two_slices() {
    for rules in [Rules::V6_6, Rules::V6_12] {
        let limits = [0, 5, -5].map(|nice| limit(rules, nice));
        assert_eq!(limits, [6_000_000, 18_340_298, 1_968_599], "{rules:?}");
    }
    // The longest slice of all, and a tick.
    assert_eq!(limit(Rules::V6_18, 0), 7_000_000);
}

#[test]
fn lag_is_inflated_so_that_it_is_right_after_joining() {
    let lag = |n: usize, nice: i8, vlag: i64| {
        let (mut rig, _) = hogs(Rules::V6_18, 250, &vec![0; n]);
        let p = rig.new_task(0, nice);
        rig.f.lag_before_joining(ROOT, vlag, rig.f.tasks[p].weight)
    };
    let ms = MS as i64;
    assert_eq!(lag(2, 0, ms), 1_500_000);
    assert_eq!(lag(2, 0, -ms), -1_500_000);
    assert_eq!(lag(2, 0, 3 * ms), 4_500_000);
    assert_eq!(lag(1, 5, ms), 1_327_148);
}

#[test]
fn a_sleeper_comes_back_with_the_lag_it_left_with() {
    for rules in ALL_RULES {
        let (mut rig, tasks) = hogs(rules, 1000, &[0, 0, 3]);
        // The first one leaves when it has just begun to run: it is behind.
        rig.run(7 * MS);
        let p = tasks.iter().copied().find(|p| rig.w.cpus[CpuId(0)].curr != *p).unwrap();
        rig.w.update_rq_clock(ROOT.cpu);
        rig.f.charge_curr(&mut rig.w, ROOT);
        let before = rig.f.avg_vruntime(ROOT) as i64 - rig.vruntime(p) as i64;
        rig.dequeue(p, false);
        assert_eq!(rig.f.tasks[p].ext.vlag, before, "{rules:?}");
        rig.w.now += 5 * MS;
        rig.enqueue(p, EnqueueFlags { wakeup: true, ..EnqueueFlags::default() });
        let after = rig.f.avg_vruntime(ROOT) as i64 - rig.vruntime(p) as i64;
        assert!((after - before).abs() <= 1, "{rules:?}: {before} {after}");
    }
}

#[test]
fn a_forked_task_gets_half_a_slice_since_6_12() {
    for (rules, expected) in
        [(Rules::V6_6, 3 * MS), (Rules::V6_12, 3 * MS / 2), (Rules::V6_18, 3 * MS / 2)]
    {
        let (mut rig, _) = hogs(rules, 250, &[0]);
        let child = rig.fork(0, 0);
        let ext = rig.f.tasks[child].ext;
        assert_eq!(ext.deadline - rig.vruntime(child), expected, "{rules:?}");
    }
}

#[test]
fn a_moved_task_keeps_what_is_left_of_its_slice_since_6_12() {
    for (rules, kept) in [(Rules::V6_6, false), (Rules::V6_12, true), (Rules::V6_18, true)] {
        let (mut rig, tasks) = hogs(rules, 1000, &[0, 0]);
        // The first one has run for 2 ms of its 3; it makes way and is moved.
        rig.w.now = 2 * MS;
        rig.w.update_rq_clock(CPU0);
        rig.f.put_prev(&mut rig.w, CPU0, tasks[0], TaskId::NONE);
        rig.f.set_next(&mut rig.w, CPU0, tasks[1], TaskId::NONE);
        rig.w.cpus[CpuId(0)].curr = tasks[1];
        rig.dequeue(tasks[0], false);
        rig.w.set_task_cpu(tasks[0], CpuId(1), moves::BALANCE);
        rig.enqueue(tasks[0], EnqueueFlags { migrated: true, ..EnqueueFlags::default() });
        let se = &rig.f.tasks[tasks[0]];
        let left = se.ext.deadline - se.vruntime;
        assert_eq!(left, if kept { MS } else { 3 * MS }, "{rules:?}");
        assert_eq!(se.exec_start, 0);
    }
}

/// Two hogs, and a task that has run a little more than they when it goes to sleep.
fn one_asleep_in_debt(rules: Rules) -> (Rig<Eevdf>, TaskId) {
    let (mut rig, tasks) = hogs(rules, 1000, &[0, 0, 0]);
    let p = tasks[0];
    assert_eq!(rig.w.cpus[CpuId(0)].curr, p);
    rig.w.now = MS;
    rig.sleep(0);
    (rig, p)
}

#[test]
fn who_sleeps_in_debt_stays_on_the_queue_until_it_is_picked() {
    for rules in [Rules::V6_12, Rules::V6_18] {
        let (mut rig, p) = one_asleep_in_debt(rules);
        let on_rq = |rig: &Rig<Eevdf>| {
            let (rq, c) = (&rig.f.rqs[CpuId(0)], &rig.w.cpus[CpuId(0)]);
            (rq.h_nr_running, rq.h_nr_delayed, rq.load_weight, c.nr_running, c.nr_delayed)
        };
        assert_eq!(on_rq(&rig), (3, 1, 3 * 1024, 3, 1), "{rules:?}");
        assert!(rig.w.tasks[p].on_rq && rig.w.tasks[p].sched_delayed);
        // Who waits are the one other task that does not run.
        assert_eq!(rig.w.cpus[CpuId(0)].waiting(), 1);
        rig.w.cpus[CpuId(0)].tick_next = 2 * MS;
        rig.run(40 * MS);
        assert_eq!(on_rq(&rig), (2, 0, 2 * 1024, 2, 0), "{rules:?}");
        assert!(!rig.w.tasks[p].on_rq && !rig.w.tasks[p].sched_delayed);
        assert_eq!(rig.f.tasks[p].ext.vlag, 0, "DELAY_ZERO");
    }
}

/// Between the two picks of a schedule() that finds nothing the CPU looks for work elsewhere.
#[test]
fn who_went_to_sleep_is_not_charged_for_the_search() {
    for rules in ALL_RULES {
        let (mut rig, tasks) = hogs(rules, 1000, &[0]);
        let p = tasks[0];
        rig.w.now = MS;
        rig.dequeue(p, true);
        assert_eq!(rig.f.pick_next_task(&mut rig.w, CPU0), None);
        let ran = rig.f.tasks[p].sum_exec_runtime;
        rig.w.now += 5_000;
        assert_eq!(rig.f.pick_next_task(&mut rig.w, CPU0), None);
        assert_eq!(rig.f.tasks[p].sum_exec_runtime, ran, "{rules:?}");
    }
}

#[test]
fn v6_6_knows_no_delay() {
    let (rig, p) = one_asleep_in_debt(Rules::V6_6);
    assert!(!rig.w.tasks[p].on_rq);
    assert!(rig.f.tasks[p].ext.vlag < 0);
}

#[test]
fn who_exits_is_not_delayed() {
    let (mut rig, tasks) = hogs(Rules::V6_18, 1000, &[0, 0]);
    rig.w.now = MS;
    rig.w.tasks[tasks[0]].state = TaskState::Dead;
    rig.f.dequeue(&mut rig.w, CPU0, tasks[0], true);
    assert!(!rig.w.tasks[tasks[0]].sched_delayed);
}

#[test]
fn woken_while_delayed_a_task_keeps_its_place() {
    let (mut rig, p) = one_asleep_in_debt(Rules::V6_18);
    let se = &rig.f.tasks[p];
    let (v, d) = (se.vruntime, se.ext.deadline);
    rig.w.now += MS / 10;
    rig.wake(p);
    let se = &rig.f.tasks[p];
    assert_eq!((se.vruntime, se.ext.deadline, se.ext.sched_delayed), (v, d, false));
    assert_eq!((rig.f.rqs[CpuId(0)].h_nr_delayed, rig.w.cpus[CpuId(0)].nr_delayed), (0, 0));
}

#[test]
fn who_has_more_than_paid_starts_afresh() {
    let (mut rig, p) = one_asleep_in_debt(Rules::V6_18);
    // The other two go on for long without a pick.
    rig.w.now += 50 * MS;
    rig.w.update_rq_clock(ROOT.cpu);
    rig.f.charge_curr(&mut rig.w, ROOT);
    rig.wake(p);
    let se = &rig.f.tasks[p];
    let lag = rig.f.avg_vruntime(ROOT) as i64 - se.vruntime as i64;
    assert!(lag.abs() <= 1, "{lag}");
    assert_eq!(se.ext.deadline, se.vruntime + 3 * MS);
}

#[test]
fn who_sleeps_alone_leaves_at_once() {
    let (mut rig, tasks) = hogs(Rules::V6_18, 1000, &[0]);
    rig.w.now = 10 * MS;
    rig.sleep(0);
    assert!(!rig.w.tasks[tasks[0]].on_rq);
}

/// Does a wakee of this slice (0: the base slice) preempt a hog that has run for `ran`?
fn preempts(rules: Rules, ran: u64, slice_ns: u64) -> bool {
    let (mut rig, tasks) = hogs(rules, 250, &[0, 0]);
    let p = tasks[1];
    rig.dequeue(p, false);
    rig.f.tasks[p].ext.rel_deadline = false;
    Eevdf::set_slice(&mut rig.f, p, slice_ns);
    rig.w.now = ran;
    rig.wake(p);
    rig.w.cpus[CpuId(0)].need_resched
}

#[test]
fn an_equal_wakee_waits_for_an_earlier_deadline() {
    for rules in ALL_RULES {
        // Nobody is on the queue to be ahead of: the hog is charged before the wakee is counted.
        assert!(!preempts(rules, MS, 0), "{rules:?}");
    }
}

/// Does a wakee preempt a hog that has run for 1 ms of its 3, with an earlier deadline than the
/// hog's? Both are eligible: a third task is far ahead of them.
fn owed_preempts(rules: Rules, run_to_parity: bool) -> bool {
    let features = Features { run_to_parity, ..Features::for_rules(rules) };
    let mut rig = Rig::eevdf(rules, 250, features);
    let [hog, p, ahead] = [0; 3].map(|_| rig.fork(0, 0));
    assert_eq!(rig.schedule(0), hog);
    rig.dequeue(p, false);
    rig.f.tree_remove(ROOT, ahead);
    rig.f.tasks[ahead].vruntime += 40 * MS;
    rig.f.tasks[ahead].ext.deadline += 40 * MS;
    rig.f.tree_insert(ROOT, ahead);
    rig.f.tasks[hog].ext.deadline = rig.vruntime(hog) + 3 * MS;
    rig.f.put_prev(&mut rig.w, CPU0, hog, TaskId::NONE);
    rig.w.now = 0;
    rig.f.set_next(&mut rig.w, CPU0, hog, TaskId::NONE);
    // Joining two others inflates its lag by a half: it comes to stand before the hog.
    let behind = rig.f.avg_vruntime(ROOT) - rig.vruntime(hog) + MS;
    rig.f.tasks[p].ext.vlag = behind as i64 * 2 / 3;
    rig.f.tasks[p].ext.rel_deadline = false;
    rig.w.now = MS;
    rig.wake(p);
    assert!([hog, p].iter().all(|p| rig.f.is_eligible(ROOT, *p)), "{rules:?}");
    let deadline = |p: TaskId| rig.f.tasks[p].ext.deadline;
    assert!(deadline(p) < deadline(hog), "{rules:?}");
    rig.w.cpus[CpuId(0)].need_resched
}

#[test]
fn an_equal_wakee_with_an_earlier_deadline_preempts_only_who_is_not_protected() {
    for rules in ALL_RULES {
        assert!(!owed_preempts(rules, true), "{rules:?}");
        assert!(owed_preempts(rules, false), "{rules:?}");
    }
}

#[test]
fn a_shorter_slice_preempts_since_6_12() {
    assert!(!preempts(Rules::V6_6, MS, MS));
    for rules in [Rules::V6_12, Rules::V6_18] {
        assert!(preempts(rules, MS, MS), "{rules:?}");
    }
}

#[test]
fn protection_lasts_for_the_shortest_slice() {
    let (mut rig, tasks) = hogs(Rules::V6_18, 1000, &[0, 0]);
    Eevdf::set_slice(&mut rig.f, tasks[1], MS);
    rig.f.tree_remove(ROOT, tasks[1]);
    rig.f.tree_insert(ROOT, tasks[1]);
    let start = rig.vruntime(tasks[0]);
    rig.f.put_prev(&mut rig.w, CPU0, tasks[0], TaskId::NONE);
    rig.w.now = 0;
    rig.f.set_next(&mut rig.w, CPU0, tasks[0], TaskId::NONE);
    assert_eq!(rig.f.tasks[tasks[0]].ext.protect, start + MS);
    let features = Features { run_to_parity: false, ..Features::for_rules(Rules::V6_18) };
    let mut rig = Rig::eevdf(Rules::V6_18, 1000, features);
    let p = rig.fork(0, 0);
    rig.fork(0, 0);
    rig.schedule(0);
    let se = &rig.f.tasks[p];
    assert_eq!(se.ext.protect - se.vruntime, 700_000);
}

/// `se_is_idle` in `set_next_buddy`.
#[test]
fn a_woken_idle_policy_task_is_no_buddy() {
    let next = |policy| {
        let (mut rig, tasks) = hogs(Rules::V6_6, 1000, &[0, 0]);
        rig.f.features.next_buddy = true;
        rig.f.tasks[tasks[1]].policy = policy;
        rig.f.check_preempt(&mut rig.w, CPU0, tasks[1], EnqueueFlags::default());
        rig.f.rqs[CpuId(0)].next
    };
    assert_eq!(next(SchedPolicy::Normal), TaskId(1));
    assert_eq!(next(SchedPolicy::Idle), TaskId::NONE);
}

#[test]
fn yielding_costs_a_slice() {
    for rules in ALL_RULES {
        let (mut rig, tasks) = hogs(rules, 1000, &[0, 0]);
        let d = rig.f.tasks[tasks[0]].ext.deadline;
        rig.w.now = MS / 10;
        // Ahead of V, since v6.12's stable tree it has nothing to give.
        rig.f.yield_task(&mut rig.w, CPU0);
        let later = rig.f.tasks[tasks[0]].ext.deadline;
        let given = if rules >= Rules::V6_12 { 0 } else { 3 * MS };
        assert_eq!(later - d, given, "{rules:?}");
    }
}

/// `reweight_entity()` of a task that is off its queue for the change: the lag keeps its worth in
/// time of the CPU. What is left of the slice does since v6.13; in v6.12 it stays as long in virtual
/// time, and v6.6 begins a new slice.
#[test]
fn a_renice_keeps_the_lag_in_time_of_the_cpu() {
    for rules in ALL_RULES {
        let (mut rig, tasks) = hogs(rules, 1000, &[0, 0, 0]);
        rig.run(7 * MS);
        rig.w.update_rq_clock(ROOT.cpu);
        rig.f.charge_curr(&mut rig.w, ROOT);
        for p in tasks {
            let state = |rig: &Rig<Eevdf>| {
                let (v, se) = (rig.f.avg_vruntime(ROOT), &rig.f.tasks[p]);
                let weight = i64::from(se.weight);
                let lag = v.wrapping_sub(se.vruntime) as i64 * weight;
                (lag, se.ext.deadline.wrapping_sub(se.vruntime) as i64, weight)
            };
            let before = state(&rig);
            let attr = SchedAttr { nice: 7, ..SchedAttr::default() };
            rig.f.set_scheduler(&mut rig.w, p, attr);
            rig.w.tasks[p].attr.nice = 7;
            let after = state(&rig);
            assert!((before.0 - after.0).abs() < 5_000, "{rules:?} {before:?} {after:?}");
            let left = match rules {
                Rules::V6_18 => before.1 * before.2 / after.2,
                Rules::V6_12 => before.1,
                _ => 3 * MS as i64 * 1024 / after.2,
            };
            assert!((left - after.1).abs() < 10, "{rules:?} {left} {after:?}");
        }
    }
}

/// One random operation on CPUs 0 and 1.
fn random_op(rig: &mut Rig<Eevdf>, tasks: &[TaskId], r: u64) {
    let cpu = (r % 2) as u32;
    let p = tasks[(r >> 1) as usize % tasks.len()];
    let t = &rig.w.tasks[p];
    let (asleep, on_rq, from) = (!t.on_rq || t.sched_delayed, t.on_rq, t.cpu);
    let to = CpuId(1 - from.0);
    match (r >> 8) % 6 {
        0 if rig.w.cpus[CpuId(cpu)].curr.is_task() => rig.sleep(cpu),
        1 if asleep => rig.wake(p),
        2 if !on_rq => {
            rig.f.migrate_task_rq(&mut rig.w, p, from, to);
            rig.w.set_task_cpu(p, to, MigrationCause::Wake);
            let flags = EnqueueFlags { wakeup: true, migrated: true, ..EnqueueFlags::default() };
            rig.enqueue(p, flags);
        }
        3 if on_rq && !rig.w.cpus.iter().any(|c| c.curr == p) => {
            rig.f.detach_task(&mut rig.w, p, from, to, moves::BALANCE);
            rig.f.attach_task(&mut rig.w, p, to, reasons::BALANCED_HERE);
        }
        4 => {
            let (nice, slice_ns) = ((r >> 16) as i8 % 20, (r >> 24) as u32 % 10_000_000);
            let attr = SchedAttr { nice, slice_ns, ..SchedAttr::default() };
            rig.f.set_scheduler(&mut rig.w, p, attr);
        }
        _ => drop(rig.schedule(cpu)),
    }
}

/// The sums of V, the order of the tree, min_vruntime, and the counts of a runqueue.
fn check(rig: &Rig<Eevdf>, tasks: &[TaskId], cpu: CpuId) {
    let rq = &rig.f.rqs[cpu];
    let queued: Vec<_> =
        tasks.iter().filter(|p| rig.f.tasks[**p].on_rq && rig.w.tasks[**p].cpu == cpu).collect();
    let se = |p: &TaskId| &rig.f.tasks[*p];
    let weight: u64 = queued.iter().map(|p| u64::from(se(p).weight)).sum();
    assert_eq!(rq.load_weight, weight);
    assert_eq!(rq.h_nr_running as usize, queued.len());
    assert_eq!(rq.h_nr_running, rig.w.cpus[cpu].nr_running);
    let delayed = queued.iter().filter(|p| se(p).ext.sched_delayed).count();
    assert_eq!(rq.h_nr_delayed as usize, delayed);
    assert_eq!(rq.h_nr_delayed, rig.w.cpus[cpu].nr_delayed);
    let v = rig.f.avg_vruntime(QueueId::root(cpu));
    let lags = queued
        .iter()
        .map(|p| i128::from(v.wrapping_sub(se(p).vruntime) as i64) * i128::from(se(p).weight));
    let sum: i128 = lags.sum();
    assert!(queued.is_empty() || -i128::from(weight) < sum && sum <= 0, "{sum} of {weight}");
    let eligible = queued.iter().any(|p| rig.f.is_eligible(QueueId::root(cpu), **p));
    assert!(eligible || queued.is_empty());
    let mut order = Eevdf::queued(&rig.f, cpu);
    assert!(order.windows(2).all(|p| se(&p[0]).ext.deadline <= se(&p[1]).ext.deadline));
    order.extend(Some(rq.curr).filter(|p| p.is_task() && se(p).on_rq));
    assert_eq!(order.len(), queued.len());
}

#[test]
fn random_operations_keep_the_books() {
    for rules in ALL_RULES {
        let mut rig = rig(rules, 250);
        let tasks: Vec<TaskId> = (0..12).map(|i| rig.fork(i % 2, i as i8 * 2 - 10)).collect();
        let mut random = Random::new(1);
        let mut min = PerCpu::filled(0, 2);
        for _ in 0..20_000 {
            let r = random.draw();
            rig.w.now += r % 3_000_000;
            random_op(&mut rig, &tasks, r >> 4);
            for cpu in [CPU0, CpuId(1)] {
                check(&rig, &tasks, cpu);
                let v = rig.f.rqs[cpu].min_vruntime;
                assert!(v >= min[cpu], "min_vruntime went back");
                min[cpu] = v;
            }
        }
    }
}

/// `task_hot`: balancing spares the next buddy, and nobody else for that reason.
#[test]
fn the_next_buddy_alone_is_a_buddy() {
    for rules in ALL_RULES {
        let (mut rig, tasks) = hogs(rules, 1000, &[0, 0, 0]);
        rig.f.set_next_buddy(ROOT, tasks[2]);
        let buddies: Vec<_> = tasks.iter().map(|p| Eevdf::is_buddy(&rig.f, CPU0, *p)).collect();
        assert_eq!(buddies, [false, false, true]);
    }
}
