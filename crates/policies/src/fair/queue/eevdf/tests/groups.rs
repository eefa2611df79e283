//! Task groups under EEVDF, by hand calculation: weights, slices, delayed groups, buddies.

use super::*;

type Groups = Rig<Eevdf<true>>;

const FIRST: QueueId = QueueId { cpu: CPU0, group: GroupId(1) };

/// CPU 0 with tasks of nice 0 in these groups (0: the root), the first pick running.
fn hogs(rules: Rules, cpu_weights: &[u32], groups: &[u16]) -> (Groups, Vec<TaskId>) {
    let mut rig = Rig::eevdf_grouped(rules, 1000, cpu_weights);
    let tasks = groups.iter().map(|group| rig.fork_in(*group, 0, 0)).collect();
    rig.schedule(0);
    (rig, tasks)
}

fn ran(rig: &Groups, p: TaskId) -> u64 {
    rig.f.tasks[p].sum_exec_runtime
}

/// The entity of the first group.
fn first(rig: &Groups) -> TaskId {
    rig.f.group_entity(FIRST).unwrap()
}

#[test]
fn a_group_has_its_share_of_a_cpu_whatever_it_runs() {
    for rules in ALL_RULES {
        for (cpu_weight, n, share) in [(100, 1, 0.5), (100, 5, 0.5), (200, 3, 2.0 / 3.0)] {
            let mut groups = vec![1; n];
            groups.push(0);
            let (mut rig, tasks) = hogs(rules, &[cpu_weight], &groups);
            rig.run(20_000 * MS);
            let group: u64 = tasks[..n].iter().map(|p| ran(&rig, *p)).sum();
            let got = group as f64 / (group + ran(&rig, tasks[n])) as f64;
            assert!((got - share).abs() < 0.005, "{rules:?} {cpu_weight}, {n}: {got} of {share}");
        }
    }
}

#[test]
fn a_queue_counts_its_entities_and_a_cpu_its_tasks() {
    let (rig, _) = hogs(Rules::V6_12, &[100], &[1, 1, 1, 0]);
    let (root, group) = (&rig.f.rqs[CPU0], rig.f.queue(FIRST));
    assert_eq!((root.h_nr_running, rig.f.nr_on(ROOT), root.load_weight), (4, 2, 2048));
    assert_eq!((group.h_nr_running, rig.f.nr_on(FIRST), group.load_weight), (3, 3, 3072));
}

/// The weight of the entity is halved when the group's other half runs elsewhere.
fn halve(rig: &mut Groups) {
    rig.f.groups.groups[0].load_avg += 1024;
    let on_cpu = rig.f.on_cpu_mut(FIRST);
    on_cpu.rq.avg.load_avg = 1024;
    let se = first(rig);
    rig.f.update_group(&mut rig.w, se);
    assert_eq!(rig.f.entity(se).weight, 512);
}

#[test]
fn a_new_weight_keeps_v_and_the_lag_in_time_of_the_cpu() {
    for rules in ALL_RULES {
        let (mut rig, tasks) = hogs(rules, &[100], &[1, 0]);
        let group = first(&rig);
        while rig.f.curr_of(ROOT) == group {
            rig.run(rig.w.now + MS);
        }
        let v = rig.f.avg_vruntime(ROOT);
        let (before, deadline) = (rig.f.entity(group).vruntime, rig.f.entity(group).ext.deadline);
        halve(&mut rig);
        let lag = |v: u64, vruntime: u64| v as i64 - vruntime as i64;
        let se = rig.f.entity(group);
        // Half the weight: twice the virtual lag, and V is where it was.
        assert!(rig.f.avg_vruntime(ROOT).abs_diff(v) <= 1, "{rules:?}");
        let (old, new) = (lag(v, before), lag(v, se.vruntime));
        assert!((2 * old - new).abs() <= 4, "{rules:?}: {old} {new}");
        if rules < Rules::V6_18 {
            // The distance of the deadline from V doubles, too.
            assert!((2 * lag(deadline, v) - lag(se.ext.deadline, v)).abs() <= 4, "{rules:?}");
        } else {
            // What is left of the slice does.
            let (left, now) = (deadline - before, se.ext.deadline - se.vruntime);
            assert!((2 * left).abs_diff(now) <= 4, "{left} {now}");
        }
        assert!(rig.f.tasks[tasks[1]].on_rq);
    }
}

#[test]
fn a_group_asks_for_the_shortest_slice_of_its_tasks_since_6_12() {
    for rules in ALL_RULES {
        let (mut rig, _) = hogs(rules, &[100], &[1, 0]);
        let slice = |rig: &Groups| rig.f.entity(first(rig)).ext.slice;
        let attr = TaskAttr { group: GroupId(1), slice_ns: 1_000_000, ..TaskAttr::default() };
        let p = rig.w.new_task(attr);
        rig.w.set_task_cpu(p, CPU0, MigrationCause::Fork);
        rig.f.task_fork(&mut rig.w, p, None);
        rig.enqueue(p, EnqueueFlags { initial: true, ..EnqueueFlags::default() });
        let handed_up = rules >= Rules::V6_12;
        assert_eq!(slice(&rig), if handed_up { MS } else { 3 * MS }, "{rules:?}");
        rig.dequeue(p, false);
        assert_eq!(slice(&rig), 3 * MS, "{rules:?}");
    }
}

#[test]
fn a_group_that_owes_time_stays_when_its_last_task_sleeps() {
    for rules in [Rules::V6_12, Rules::V6_18] {
        let (mut rig, tasks) = hogs(rules, &[100], &[1, 0]);
        let group = first(&rig);
        while rig.f.curr_of(ROOT) != group {
            rig.run(rig.w.now + MS);
        }
        rig.w.now += 8 * MS;
        // Alone on its queue it has no lag there and leaves at once; its group does not.
        rig.sleep(0);
        assert!(!rig.w.tasks[tasks[0]].on_rq);
        let se = rig.f.entity(group);
        assert!(se.on_rq && se.ext.sched_delayed, "{rules:?}: {se:?}");
        let root = &rig.f.rqs[CPU0];
        assert_eq!((root.h_nr_running, root.h_nr_delayed, rig.f.nr_on(ROOT)), (1, 0, 2));
        assert_eq!((se.weight, root.load_weight), (1024, 2048), "it competes as before");
        assert_eq!(rig.w.cpus[CPU0].curr, tasks[1]);
        rig.wake(tasks[0]);
        let se = rig.f.entity(group);
        assert!(se.on_rq && !se.ext.sched_delayed && rig.f.rqs[CPU0].h_nr_running == 2);
    }
}

/// Its debt is paid while others run; then a pick takes it away, with nothing else to run or not.
#[test]
fn a_delayed_group_leaves_when_it_is_picked() {
    for rules in [Rules::V6_12, Rules::V6_18] {
        for other_sleeps in [false, true] {
            let (mut rig, _) = hogs(rules, &[100], &[1, 0]);
            let group = first(&rig);
            while rig.f.curr_of(ROOT) != group {
                rig.run(rig.w.now + MS);
            }
            rig.w.now += 8 * MS;
            rig.sleep(0);
            assert!(rig.f.entity(group).ext.sched_delayed);
            if other_sleeps {
                rig.w.now += MS / 10;
                rig.sleep(0);
                assert_eq!(rig.w.cpus[CPU0].curr, TaskId::IDLE);
            } else {
                rig.run(rig.w.now + 20 * MS);
            }
            assert!(!rig.f.entity(group).on_rq, "{rules:?}");
            assert_eq!(rig.f.nr_on(ROOT), u32::from(!other_sleeps));
        }
    }
}

#[test]
fn levels_that_go_on_keep_their_protection() {
    for rules in ALL_RULES {
        let (mut rig, tasks) = hogs(rules, &[100], &[1, 1]);
        let group = first(&rig);
        let before = rig.f.entity(group).prev_sum_exec_runtime;
        let switches = rig.run(100 * MS);
        assert!(switches.len() > 4);
        let se = rig.f.entity(group);
        assert_eq!((se.prev_sum_exec_runtime, se.on_rq), (before, true));
        let sum: u64 = tasks.iter().map(|p| ran(&rig, *p)).sum();
        // What runs since the last tick is charged to the level that changed.
        assert!(se.sum_exec_runtime.abs_diff(sum) <= MS, "{rules:?}");
    }
}

#[test]
fn a_wake_up_competes_on_the_level_where_both_meet() {
    for rules in ALL_RULES {
        let (mut rig, tasks) = hogs(rules, &[100], &[0, 1]);
        while rig.w.cpus[CPU0].curr != tasks[1] {
            rig.run(rig.w.now + MS);
        }
        rig.sleep(0);
        rig.run(rig.w.now + 40 * MS);
        assert_eq!(rig.w.cpus[CPU0].curr, tasks[0]);
        let (queue, rival, woken) = rig.f.matching(CPU0, tasks[0], tasks[1]);
        assert_eq!((queue, rival, woken), (ROOT, tasks[0], first(&rig)));
        let before = rig.f.tasks[tasks[0]].sum_exec_runtime;
        rig.w.now += MS / 2;
        rig.wake(tasks[1]);
        assert_eq!(rig.f.tasks[tasks[0]].sum_exec_runtime, before + MS / 2, "the root is charged");
    }
}

#[test]
fn a_group_is_the_next_buddy_when_one_of_its_tasks_sleeps() {
    for rules in ALL_RULES {
        let (mut rig, tasks) = hogs(rules, &[100], &[1, 1, 0]);
        while rig.w.cpus[CPU0].curr == tasks[2] {
            rig.run(rig.w.now + MS);
        }
        let curr = rig.w.cpus[CPU0].curr;
        rig.f.features.delay_dequeue = false;
        rig.dequeue(curr, true);
        assert_eq!(rig.f.rqs[CPU0].next, first(&rig), "{rules:?}");
    }
}

#[test]
fn a_queue_tells_its_group_at_once_and_since_6_7_once_per_ms() {
    for (rules, limited) in [(Rules::V6_6, false), (Rules::V6_12, true), (Rules::V6_18, true)] {
        let (mut rig, _) = hogs(rules, &[100], &[1]);
        // The load that the group knows of, if the queue had so much at that time.
        let mut told = |load: u64, now: u64| {
            rig.w.now = now;
            rig.f.on_cpu_mut(FIRST).rq.avg.load_avg = load;
            rig.f.update_tg_load_avg(&mut rig.w, FIRST);
            rig.f.groups.groups[0].load_avg
        };
        let at = 100 * MS;
        assert_eq!(told(640, at), 640, "{rules:?}");
        assert_eq!(told(650, at + 2 * MS), 640, "{rules:?}: less than a 64th more");
        assert_eq!(told(700, at + 2 * MS), 700, "{rules:?}: nothing was told since 2 ms");
        let soon = told(800, at + 3 * MS - 1);
        assert_eq!(soon, if limited { 700 } else { 800 }, "{rules:?}");
        assert_eq!(told(900, at + 3 * MS), 900, "{rules:?}");
    }
}
