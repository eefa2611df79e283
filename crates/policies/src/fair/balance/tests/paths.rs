//! Whole paths on hand-made worlds: newidle, periodic, nohz, active push, fork.

use super::*;
use crate::fair::balance::slow_path::Without;
use crate::fair::state::lb_env::BalanceCall;
use sim_core::{IdleType, SchedAttr, SchedPolicy, StopWork};

const MS: u64 = 1_000_000;

#[test]
fn without_overload_newidle_makes_no_step() {
    let mut rig = Rig::desktop();
    for c in 0..3 {
        rig.running(c, MaskId::ALL);
    }
    assert_eq!(rig.newidle(8, TaskId::IDLE), [Step::Done]);
    assert_eq!(rig.fair.counters.newidle_attempts, 0);
    assert_eq!(rig.fair.rqs[CpuId(8)].idle_stamp, rig.w.now);
    assert_eq!(rig.sought(8, 1), "newidle_balance: rd.overload is not set");
}

#[test]
fn active_balance_moves_one_of_three_after_four_failures() {
    let mut rig = Rig::desktop();
    let tasks: Vec<_> = (0..3).map(|c| rig.running(c, MaskId::ALL)).collect();
    for failed in 1..=4 {
        assert_eq!(rig.w.cpus[CpuId(0)].stop_work, None);
        rig.w.now += 200 * MS;
        rig.softirq(8);
        assert_eq!(rig.fair.sds[CpuId(8)][2].nr_balance_failed, failed);
        assert_eq!(rig.fair.sds[CpuId(8)][2].balance_interval, 32);
    }
    assert_eq!(rig.w.cpus[CpuId(0)].stop_work, Some(StopWork::Push(CpuId(8))));
    assert!(rig.fair.rqs[CpuId(0)].active_balance);
    // The mechanism puts the current task back before the stopper's body runs.
    rig.w.cpus[CpuId(0)].curr = TaskId::STOP;
    rig.w.tasks[tasks[0]].on_cpu = false;
    rig.drive(0, |f, w, first| f.stopper(w, CpuId(0), CpuId(8), first));
    assert_eq!(rig.cpu_of(tasks[0]), 8);
    assert_eq!(rig.fair.sds[CpuId(8)][2].nr_balance_failed, 0);
    assert!(!rig.fair.rqs[CpuId(0)].active_balance);
}

/// One CPU with a running and a waiting task; `ran` ns ago the waiting one ran.
fn pair_on_cpu_1(ran: u64) -> (Rig, TaskId) {
    let mut rig = Rig::desktop();
    let waiting = rig.queued(1, rig.w.now - ran, MaskId::ALL);
    rig.running(1, MaskId::ALL);
    rig.fair.rqs[CpuId(2)].avg_idle = 200_000;
    rig.fair.sds[CpuId(2)][1].max_newidle_lb_cost = 20_000;
    assert!(rig.fair.overload);
    (rig, waiting)
}

/// What is noted of the rules that keep a newidle balance from pulling, by the level concerned.
#[test]
fn a_newidle_balance_in_vain_says_which_rule_it_was() {
    let (mut rig, waiting) = pair_on_cpu_1(MS / 2 - 100_000);
    rig.newidle(2, TaskId::IDLE);
    assert_eq!(rig.cpu_of(waiting), 1);
    assert_eq!(rig.sought(2, 1), "can_migrate_task: cache hot");

    let (mut rig, _) = pair_on_cpu_1(5 * MS);
    rig.fair.rqs[CpuId(2)].avg_idle = 10_000;
    rig.newidle(2, TaskId::IDLE);
    assert_eq!(rig.sought(2, 1), "newidle_balance: avg_idle is too short");

    let (mut rig, waiting) = pair_on_cpu_1(5 * MS);
    rig.newidle(2, TaskId::IDLE);
    assert_eq!(rig.cpu_of(waiting), 2);
    assert_eq!(rig.w.tasks[waiting].placed.name, "attach_tasks: moved to a busy queue");
}

#[test]
fn newidle_pulls_the_waiting_task() {
    let (mut rig, waiting) = pair_on_cpu_1(5 * MS);
    let steps = rig.newidle(2, TaskId::IDLE);
    assert_eq!(rig.cpu_of(waiting), 2);
    assert_eq!(rig.fair.counters.newidle_pulls, 1);
    assert_eq!(rig.fair.rqs[CpuId(2)].idle_stamp, 0);
    assert_eq!(rig.fair.tasks[waiting].exec_start, 0);
    assert_eq!(locks_of(&steps, 1), 1);
    // Attach, and the end of the walk.
    assert_eq!(locks_of(&steps, 2), 2);
}

#[test]
fn a_hot_task_stays() {
    let (mut rig, waiting) = pair_on_cpu_1(MS / 5);
    rig.newidle(2, TaskId::IDLE);
    assert_eq!(rig.cpu_of(waiting), 1);
    assert_eq!(rig.fair.counters.newidle_attempts, 1);
    assert_ne!(rig.fair.rqs[CpuId(2)].idle_stamp, 0);
    let (mut rig, waiting) = pair_on_cpu_1(MS / 5);
    rig.fair.sds[CpuId(2)][1].nr_balance_failed = 2;
    rig.newidle(2, TaskId::IDLE);
    assert_eq!(rig.cpu_of(waiting), 2);
}

#[test]
fn a_short_avg_idle_closes_the_gate_of_the_level() {
    let (mut rig, waiting) = pair_on_cpu_1(5 * MS);
    rig.fair.rqs[CpuId(2)].avg_idle = 19_000;
    rig.newidle(2, TaskId::IDLE);
    assert_eq!(rig.cpu_of(waiting), 1);
    rig.fair.features.newidle_avg_idle = false;
    rig.newidle(2, TaskId::IDLE);
    assert_eq!(rig.cpu_of(waiting), 2);
}

#[test]
fn a_pending_wakeup_ends_newidle_before_the_stamp() {
    let (mut rig, _) = pair_on_cpu_1(5 * MS);
    rig.w.cpus[CpuId(2)].ttwu_pending = true;
    assert_eq!(rig.newidle(2, TaskId::IDLE), [Step::Done]);
    assert_eq!(rig.fair.rqs[CpuId(2)].idle_stamp, 0);
}

#[test]
fn a_wakeup_during_the_walk_ends_it() {
    let (mut rig, waiting) = pair_on_cpu_1(5 * MS);
    rig.held = vec![LockId(2)];
    let mut woken = None;
    let mut n = 0;
    loop {
        rig.w.this = CpuId(2);
        let step = rig.fair.before_idle(&mut rig.w, CpuId(2), TaskId::IDLE, n == 0);
        if step == Step::Done {
            break;
        }
        rig.perform(2, step);
        n += 1;
        if woken.is_none() && rig.held.is_empty() {
            woken = Some(rig.queued(2, 1, MaskId::ALL));
        }
    }
    assert_eq!(rig.cpu_of(waiting), 1);
    assert_eq!(rig.fair.rqs[CpuId(2)].idle_stamp, 0);
    assert_eq!(rig.held, [LockId(2)]);
    assert_eq!(rig.fair.counters.newidle_pulls, 0);
}

/// A task is on its way to CPU 2, which looks at the level of its LLC.
#[test]
fn a_pending_wakeup_ends_the_balance_since_v6_0() {
    for (rules, goes_on) in [(Rules::V5_19, true), (Rules::V6_1, false), (Rules::V6_4, false)] {
        let mut rig = Rig::desktop_cfs(rules);
        let call = BalanceCall { cpu: CpuId(2), level: 1, idle: IdleType::NewlyIdle };
        rig.fair.lb_start(&mut rig.w, CpuId(2), call);
        let lb = rig.fair.balance.paths[CpuId(2)].lb;
        assert!(rig.fair.should_we_balance(&rig.w, &lb, &[]));
        rig.w.cpus[CpuId(2)].ttwu_pending = true;
        assert_eq!(rig.fair.should_we_balance(&rig.w, &lb, &[]), goes_on, "{rules:?}");
    }
}

/// 40 tasks on CPU 1 of which none may leave, or one is merely hot; a periodic pass at MC on CPU 2.
/// Returns the number of examinations, read off the rotation of the list, and of lock holds.
fn forty<S: Discipline>(mut rig: Rig<S>, hot_first: bool) -> (usize, usize) {
    let pinned = rig.w.mask(CpuSet::of(32, [CpuId(1)]));
    let first = if hot_first { MaskId::ALL } else { pinned };
    let mut tasks = vec![rig.queued(1, rig.w.now, first)];
    tasks.extend((0..38).map(|_| rig.queued(1, 1, pinned)));
    tasks.push(rig.running(1, pinned));
    rig.w.now += MS / 10;
    rig.fair.sds[CpuId(2)][2].last_balance = 1_000_000;
    rig.fair.sds[CpuId(2)][0].last_balance = 1_000_000;
    rig.fair.sds[CpuId(2)][1].last_balance = 0;
    let steps = rig.softirq(2);
    let tail = rig.fair.list_tail(CpuId(1));
    let at = tasks.iter().position(|p| *p == tail).unwrap();
    (at, locks_of(&steps, 1))
}

#[test]
fn forty_pinned_tasks_take_63_looks_in_two_holds() {
    assert_eq!(forty(Rig::desktop(), false), (63 % 40, 2));
    for rules in [Rules::V5_19, Rules::V6_1] {
        assert_eq!(forty(Rig::desktop_cfs(rules), false), (32, 1), "{rules:?}");
    }
    assert_eq!(forty(Rig::desktop(), true), (32, 1));
    assert_eq!(forty(Rig::desktop_with(Rules::V6_6), false), (63 % 40, 2));
    assert_eq!(forty(Rig::desktop_with(Rules::V6_6), true), (32, 1));
}

#[test]
fn later_kernels_look_at_32_of_forty_pinned_tasks() {
    for rules in [Rules::V6_12, Rules::V6_18] {
        assert_eq!(forty(Rig::desktop_with(rules), false), (32, 1), "{rules:?}");
        assert_eq!(forty(Rig::desktop_with(rules), true), (32, 1), "{rules:?}");
    }
}

#[test]
fn pinned_tasks_mark_the_parent_group_and_raise_the_interval() {
    let mut rig = Rig::desktop();
    let pinned = rig.w.mask(CpuSet::of(32, [CpuId(1)]));
    for _ in 0..3 {
        rig.queued(1, 1, pinned);
    }
    rig.running(1, pinned);
    rig.w.now += 100 * MS;
    let die = rig.w.machine.domains.chains[CpuId(2)][2];
    rig.fair.sds[CpuId(2)][2].last_balance = 1_000_000;
    rig.softirq(2);
    assert!(rig.fair.balance.imbalanced[die.domain][die.own_group as usize]);
    assert_eq!(rig.fair.sds[CpuId(2)][1].balance_interval, 32);
}

/// All that waits on CPU 1 is pinned, so the pass looks again without that CPU, and what it sees
/// then counts. A longer queue is no news: only one that grows from one to two is.
#[test]
fn a_pinned_queue_is_forgotten_until_another_one_grows_to_two() {
    let mut rig = Rig::desktop();
    let pinned = rig.w.mask(CpuSet::of(32, [CpuId(1)]));
    rig.queued(1, 1, pinned);
    rig.running(1, pinned);
    assert!(rig.fair.overload);
    rig.newidle(8, TaskId::IDLE);
    assert!(!rig.fair.overload);
    rig.queued(1, 1, pinned);
    assert!(!rig.fair.overload);
    rig.running(2, MaskId::ALL);
    assert!(!rig.fair.overload);
    rig.queued(2, 1, MaskId::ALL);
    assert!(rig.fair.overload);
}

#[test]
fn intervals_double_up_to_twice_the_weight() {
    let mut rig = Rig::desktop();
    for _ in 0..5 {
        rig.w.now += 1000 * MS;
        rig.softirq(0);
    }
    let intervals: Vec<_> = rig.fair.sds[CpuId(0)].iter().map(|sd| sd.balance_interval).collect();
    assert_eq!(intervals, [4, 32, 64]);
}

#[test]
fn another_cpu_of_the_group_takes_what_this_one_may_not() {
    let mut rig = Rig::desktop();
    // CPU 18 is the sibling of CPU 2.
    let only_18 = rig.w.mask(CpuSet::of(32, [CpuId(1), CpuId(18)]));
    let p = rig.queued(1, 1, only_18);
    rig.running(1, MaskId::ALL);
    rig.fair.sds[CpuId(2)][2].last_balance = 1_000_000;
    rig.w.now += 100 * MS;
    rig.softirq(2);
    assert_eq!(rig.cpu_of(p), 18);
}

#[test]
fn periodic_balance_writes_the_scan_budget() {
    let mut rig = Rig::desktop();
    // Not on CPUs 0 and 9, which bring their own averages up to date.
    for c in (1..8).chain([16]) {
        rig.fair.rqs[CpuId(c)].avg.util_avg = 1024;
        rig.fair.publish(CpuId(c));
    }
    assert_eq!(rig.fair.llcs[0].nr_idle_scan, 16);
    rig.w.now += 1000 * MS;
    rig.softirq(9);
    assert_eq!(rig.fair.llcs[0].nr_idle_scan, 16);
    rig.softirq(0);
    assert_eq!(rig.fair.llcs[0].nr_idle_scan, 10);
}

/// The first two CPUs are busy, a task waits on CPU 0, and CPU 2 was kicked for it.
fn kicked<S: Discipline>(rig: &mut Rig<S>) -> TaskId {
    assert_eq!(rig.fair.balance.nohz.timer_at, sim_core::NEVER);
    let waiting = rig.queued(0, 1, MaskId::ALL);
    for c in 0..2 {
        rig.running(c, MaskId::ALL);
    }
    rig.w.now = 112 * MS;
    (0..2).for_each(|c| rig.fair.balance_tick(&mut rig.w, CpuId(c)));
    assert_eq!(rig.fair.llcs[0].nr_busy_cpus, 2);
    assert_eq!(rig.fair.balance.nohz.timer_at, 112 * MS);
    rig.fair.policy_timer(&mut rig.w);
    assert_eq!(rig.fair.balance.paths[CpuId(2)].ilb.pending & 2, 2);
    rig.fair.nohz_kick(&mut rig.w, CpuId(2));
    rig.w.now = 1000 * MS;
    waiting
}

#[test]
fn two_busy_cpus_of_an_llc_kick_the_lowest_idle_cpu() {
    let mut machine = machine(2, 8);
    machine.cstates[0].polling = false;
    let mut rig = Rig::new(machine, Features::default());
    let waiting = kicked(&mut rig);
    assert_eq!(rig.w.counters.ipis, 1);
    rig.softirq(2);
    assert_ne!(rig.cpu_of(waiting), 0);
    assert!(!rig.fair.balance.nohz.has_blocked || rig.fair.cpu_load(CpuId(3)) != 0);
}

/// The flag that wakes it says "reschedule", and so it refuses to balance for others.
#[test]
fn a_kick_is_lost_on_an_idle_cpu_that_polls() {
    let mut rig = Rig::desktop();
    let waiting = kicked(&mut rig);
    assert_eq!(rig.w.counters.ipis, 0);
    assert!(rig.w.cpus[CpuId(2)].need_resched);
    let ilb = rig.fair.balance.paths[CpuId(2)].ilb;
    assert_eq!((ilb.pending, ilb.granted), (0, 0));
    // It goes idle anew, which finds the task for itself.
    rig.newidle(2, TaskId::IDLE);
    assert_eq!(rig.cpu_of(waiting), 2);
}

/// `pick_next_task_idle` looks at the core, whether or not the idle task was current before; since
/// v6.12 only if it was not.
#[test]
fn an_idle_cpu_that_stays_idle_finds_its_core_idle() {
    fn finds<S: Discipline>(mut rig: Rig<S>, cpu: u32) -> bool {
        rig.running(1, MaskId::ALL);
        rig.fair.llcs[0].has_idle_cores = false;
        rig.newidle(cpu, TaskId::IDLE);
        rig.fair.llcs[0].has_idle_cores
    }
    assert!(!finds(Rig::desktop(), 17), "its sibling works");
    assert!(finds(Rig::desktop(), 2));
    assert!(finds(Rig::desktop_with(Rules::V6_6), 2));
    assert!(!finds(Rig::desktop_with(Rules::V6_12), 2));
}

/// v6.13 and the stable trees of v6.1 and v6.12.
#[test]
fn later_a_polling_cpu_balances_for_all_when_kicked() {
    fn balances<S: Discipline>(mut rig: Rig<S>) {
        let waiting = kicked(&mut rig);
        assert_eq!(rig.w.counters.ipis, 0);
        assert!(rig.w.cpus[CpuId(2)].need_resched);
        rig.softirq(2);
        assert_ne!(rig.cpu_of(waiting), 0);
    }
    balances(Rig::desktop_cfs(Rules::V6_1));
    balances(Rig::desktop_with(Rules::V6_12));
    balances(Rig::desktop_with(Rules::V6_18));
}

#[test]
fn an_idle_machine_sets_no_timer() {
    let mut rig = Rig::desktop();
    rig.running(0, MaskId::ALL);
    rig.w.now = 104 * MS;
    rig.fair.balance_tick(&mut rig.w, CpuId(0));
    assert_eq!(rig.fair.balance.nohz.timer_at, 104 * MS);
    rig.w.cpus[CpuId(0)].curr = TaskId::IDLE;
    rig.fair.balance_idle_enter(&mut rig.w, CpuId(0), true);
    assert_eq!(rig.fair.balance.nohz.timer_at, sim_core::NEVER);
}

#[test]
fn a_lone_task_decides_nothing_until_balance_is_due() {
    let mut rig = Rig::desktop();
    rig.running(0, MaskId::ALL);
    rig.w.cpus[CpuId(0)].tick_next = 104 * MS;
    rig.fair.rqs[CpuId(0)].next_balance = 50;
    assert_eq!(rig.fair.deciding_tick(&rig.w, CpuId(0)), 104 * MS);
    rig.fair.rqs[CpuId(0)].nohz_idle = false;
    assert_eq!(rig.fair.deciding_tick(&rig.w, CpuId(0)), 200 * MS);
    rig.queued(0, 1, MaskId::ALL);
    assert_eq!(rig.fair.next_deciding_tick(&rig.w, CpuId(0)), 104 * MS);
}

#[test]
fn fork_goes_to_the_idle_llc_and_an_idle_core() {
    let mut rig = Rig::desktop();
    for c in 0..4 {
        rig.running(c, MaskId::ALL);
        rig.fair.rqs[CpuId(c)].avg.util_avg = 1024;
        rig.fair.publish(CpuId(c));
    }
    let child = rig.w.new_task(TaskAttr::default());
    rig.fair.tasks.push(new_fair_task(1));
    rig.w.tasks[child].cpu = CpuId(0);
    rig.w.this = CpuId(0);
    let fork = SdFlags::BALANCE_FORK;
    let (here, top) = (CpuId(0), 2);
    let (cpu, ns) = rig.fair.find_idlest_cpu(&mut rig.w, child, here, top, fork);
    assert!((8..16).contains(&cpu.0) || cpu.0 >= 24, "{cpu}");
    assert!(ns > 0);
    let mask = rig.w.mask(CpuSet::of(32, [CpuId(5), CpuId(0)]));
    rig.w.tasks[child].attr.allowed = mask;
    let (cpu, _) = rig.fair.find_idlest_cpu(&mut rig.w, child, here, top, fork);
    assert_eq!(cpu, CpuId(5));
}

#[test]
fn the_slow_path_leaves_out_what_the_task_itself_contributes() {
    let mut rig = Rig::desktop();
    let p = rig.running(0, MaskId::ALL);
    rig.fair.update_load_avg(rig.w.now, CpuId(0), p);
    rig.fair.rqs[CpuId(0)].avg.util_avg = 700;
    rig.fair.tasks[p].avg.util_avg = 700;
    rig.fair.rqs[CpuId(0)].util_est_enqueued = 300;
    rig.fair.tasks[p].util_est_enqueued = 300;
    rig.fair.publish(CpuId(0));
    let smt = rig.w.machine.domains.chains[CpuId(0)][0];
    let stats = |rig: &Rig, p: TaskId| {
        let h_load = rig.fair.task_load(p);
        let without = Without { task: p, h_load, only_group: Some(smt.own_group) };
        let own = smt.own_group as usize;
        let g = rig.fair.wakeup_stats(&rig.w, smt.domain, own, &without);
        (g.load, g.util, g.nr, g.idle_cpus)
    };
    assert_eq!(stats(&rig, p), (0, 0, 0, 1));
    // A child that was never queued is in no average: its parent's CPU is as loaded as it is.
    let child = rig.w.new_task(TaskAttr::default());
    rig.fair.tasks.push(FairTask::new(&TaskAttr::default()));
    rig.w.tasks[child].cpu = CpuId(0);
    assert_eq!(stats(&rig, child), (1024, 700, 1, 0));
}

/// `update_sg_wakeup_stats()` of v6.1.192 and later: of a group's CPUs those count that the task
/// may use. The weight is the group's.
#[test]
fn the_slow_path_counts_the_cpus_of_the_tasks_mask() {
    let idle = |rules| {
        let mut rig = Rig::desktop_cfs(rules);
        let mask = rig.w.mask(CpuSet::of(rig.w.cpus.len(), [CpuId(0), CpuId(1), CpuId(8)]));
        rig.running(1, MaskId::ALL);
        let p = rig.running(0, mask);
        let llc = *rig.w.machine.domains.chains[CpuId(0)].last().expect("two LLCs");
        [0, 1].map(|i| {
            let without = Without { task: p, h_load: 0, only_group: Some(llc.own_group) };
            let g = rig.fair.wakeup_stats(&rig.w, llc.domain, i, &without);
            (g.idle_cpus, g.weight)
        })
    };
    // CPU 1 is busy, and CPU 0 as well, but for the task itself.
    assert_eq!(idle(Rules::V6_4), [(15, 16), (16, 16)]);
    assert_eq!(idle(Rules::V6_1), [(1, 16), (1, 16)]);
}

#[test]
fn a_woken_stopper_overloads_its_cpu_and_ends_a_stale_idle_stamp() {
    let mut rig = Rig::desktop();
    let p = rig.running(0, MaskId::ALL);
    let rq = &mut rig.fair.rqs[CpuId(0)];
    (rq.idle_stamp, rq.avg_idle) = (rig.w.now - 80_000, 400_000);
    assert!(!rig.fair.overload);
    assert!(rig.w.stop_one_cpu(CpuId(0), StopWork::Migrate(p, CpuId(8))));
    rig.fair.stopper_woken(&mut rig.w, CpuId(0));
    assert!(rig.fair.overload);
    assert_eq!((rig.fair.rqs[CpuId(0)].idle_stamp, rig.fair.rqs[CpuId(0)].avg_idle), (0, 360_000));
}

#[test]
fn a_push_waits_for_a_stopper_that_moves_another_task() {
    let mut rig = Rig::desktop();
    let p = rig.running(0, MaskId::ALL);
    assert!(rig.w.stop_one_cpu(CpuId(0), StopWork::Migrate(p, CpuId(8))));
    rig.fair.rqs[CpuId(0)].active_balance = true;
    rig.fair.start_active_balance(&mut rig.w, CpuId(0), CpuId(9));
    assert!(rig.fair.rqs[CpuId(0)].active_balance, "it is still to come");
    assert_eq!(rig.w.cpus[CpuId(0)].nr_running, 2, "one stopper");
}

#[test]
fn a_per_cpu_kthread_does_not_count_as_pinned() {
    let mut rig = Rig::desktop();
    let bound = rig.w.mask(CpuSet::of(32, [CpuId(1)]));
    let p = rig.queued(1, 1, bound);
    rig.w.tasks[p].attr.kthread = true;
    rig.running(1, MaskId::ALL);
    rig.fair.sds[CpuId(2)][2].last_balance = 1_000_000;
    rig.w.now += 100 * MS;
    let die = rig.w.machine.domains.chains[CpuId(2)][2];
    rig.softirq(2);
    assert_eq!(rig.cpu_of(p), 1);
    assert!(!rig.fair.balance.imbalanced[die.domain][die.own_group as usize]);
}

/// Two nodes are balanced by one CPU at a time. Between its try of the lock and its look at the
/// outcome another CPU may have tried in vain.
#[test]
fn the_outcome_of_a_trylock_is_that_of_the_own_try() {
    let spec = topology::RegularSpec { sockets: 2, ..Default::default() };
    let mut rig = Rig::new(Machine::regular(spec), Features::default());
    rig.running(0, MaskId::ALL);
    rig.w.now += 60_000 * MS;
    rig.fair.balance.paths[CpuId(8)].idle_at_tick = true;
    let mut tried = 0;
    rig.drive(8, |f, w, first| {
        let step = f.softirq(w, CpuId(8), first);
        tried += u32::from(matches!(step, Step::TryLock(..)));
        w.cpus[CpuId(9)].trylock_ok = false;
        step
    });
    assert!(tried > 0, "some level is serialized");
    assert!(rig.held.is_empty(), "{:?}", rig.held);
}

#[test]
fn a_cpu_left_with_idle_policy_only_balances_at_once() {
    let mut rig = pair_with_idle_policy();
    rig.fair.rqs[CpuId(1)].next_balance = 1_000_000;
    let pulled = rig.newidle(2, TaskId::IDLE);
    assert!(!pulled.is_empty());
    assert_eq!(rig.w.cpus[CpuId(1)].nr_running, 1);
    assert_eq!(rig.fair.rqs[CpuId(1)].next_balance, rig.w.jiffies());
}

/// `sched_idle_cpu`: all tasks of the CPU are of that policy, and there is one.
#[test]
fn a_cpu_with_idle_policy_only_is_as_good_as_idle() {
    let mut rig = pair_with_idle_policy();
    rig.running(3, MaskId::ALL);
    let is_so = |rig: &Rig| [1, 3, 5].map(|c| rig.fair.sched_idle_cpu(&rig.w, CpuId(c)));
    assert_eq!(is_so(&rig), [false; 3]);
    rig.newidle(2, TaskId::IDLE);
    assert_eq!(is_so(&rig), [true, false, false]);
}

/// CPU 1 runs a SCHED_IDLE task while an ordinary one, which is not hot, waits there.
fn pair_with_idle_policy() -> Rig {
    let (mut rig, _) = pair_on_cpu_1(5 * MS);
    let curr = rig.w.cpus[CpuId(1)].curr;
    let idle = SchedAttr { policy: SchedPolicy::Idle, nice: 0, slice_ns: 0 };
    rig.fair.change_scheduler(&mut rig.w, curr, idle);
    rig
}

#[test]
fn a_cpu_that_obtained_a_sleeper_only_looks_again() {
    let mut rig = Rig::desktop_with(Rules::V6_12);
    rig.fair.features.ni_random = false;
    let long_ago = rig.w.now - 50 * MS;
    let sleeper = rig.queued(1, long_ago, MaskId::ALL);
    rig.fair.tasks[sleeper].ext.sched_delayed = true;
    rig.fair.rqs[CpuId(1)].h_nr_delayed = 1;
    rig.w.set_delayed(sleeper, true);
    let waiting = rig.queued(1, long_ago, MaskId::ALL);
    rig.running(1, MaskId::ALL);
    rig.fair.overload = true;
    rig.fair.rqs[CpuId(2)].avg_idle = 200_000;
    rig.newidle(2, TaskId::IDLE);
    // It takes one task at a time, from the tail of the list.
    assert_eq!((rig.cpu_of(sleeper), rig.cpu_of(waiting)), (2, 2));
    assert!(!rig.fair.tasks[sleeper].on_rq, "it has been picked, and sleeps for good");
    assert_eq!(rig.fair.counters.newidle_attempts, 2);
    assert_eq!(rig.w.cpus[CpuId(2)].nr_running, 1);
}
