//! The slow, obvious twin of what groups are summed up from: each runqueue read for itself.

use super::*;
use crate::fair::balance::slow_path::Without;
use crate::fair::balance::stats::{GroupStats, GroupType};
use crate::fair::state::lb_env::LoadBalance;
use crate::fair::state::pelt::DETACHED;
use sim_core::IdleType;
use topology::{DomainId, Group};

type Sums = [u64; 7];

fn of(g: &GroupStats) -> Sums {
    let counts = [g.h_nr, g.nr, g.idle_cpus, g.weight].map(u64::from);
    [g.load, g.util, g.runnable, counts[0], counts[1], counts[2], counts[3]]
}

/// The sums over a group, without what `p` contributes.
fn plain(rig: &Rig, group: &Group, p: Option<TaskId>) -> Sums {
    let mut g = GroupStats::of_weight(group.cpus.len() as u32);
    for &cpu in &group.cpus {
        let (c, rq) = (&rig.w.cpus[cpu], &rig.fair.rqs[cpu]);
        let (mut nr, mut h_nr, mut idle) = (c.nr_running, rq.h_nr_running, c.idle);
        let (mut load, mut runnable) = (rq.avg.load_avg, rq.avg.runnable_avg);
        let mut util = rig.fair.cpu_util(cpu);
        if let Some(p) = p.filter(|p| rig.w.tasks[*p].cpu == cpu) {
            let (t, avg) = (&rig.w.tasks[p], &rig.fair.tasks[p].avg);
            if avg.last_update_time != DETACHED {
                load = load.saturating_sub(avg.load_avg);
                util = rig.fair.cpu_util_without(cpu, p, t.on_rq);
                runnable = runnable.saturating_sub(avg.runnable_avg);
            }
            if t.on_rq {
                (nr, h_nr) = (nr.saturating_sub(1), h_nr.saturating_sub(1));
                idle = nr == 0 && !c.ttwu_pending && (c.curr == p || c.curr == TaskId::IDLE);
            }
        }
        (g.load, g.util, g.runnable) = (g.load + load, g.util + util, g.runnable + runnable);
        (g.nr, g.h_nr, g.idle_cpus) = (g.nr + nr, g.h_nr + h_nr, g.idle_cpus + u32::from(idle));
    }
    of(&g)
}

/// Compares all groups of all domains, with `p` and without.
pub(super) fn check(rig: &Rig, p: TaskId) {
    for (id, domain) in rig.w.machine.domains.domains.iter().enumerate() {
        let id = DomainId(id as u32);
        for (i, group) in domain.groups.iter().enumerate() {
            let kept = of(&rig.fair.sum_group(&rig.w, id, i));
            assert_eq!(kept, plain(rig, group, None), "group {i} of {id:?}");
            let only_group = rig.fair.only_group(&rig.w, rig.w.tasks[p].cpu, id);
            let without = Without { task: p, h_load: rig.fair.task_load(p), only_group };
            let without = of(&rig.fair.wakeup_stats(&rig.w, id, i, &without));
            assert_eq!(without, plain(rig, group, Some(p)), "{i} of {id:?} without {p:?}");
        }
    }
}

/// The group that `cpu` takes for the busiest at `level` while a task runs on each CPU.
fn busiest_of_equals<S: Discipline>(mut rig: Rig<S>, cpu: usize, level: usize) -> Option<u32> {
    let link = rig.w.machine.domains.chains[CpuId(cpu as u32)][level];
    for cpu in 0..rig.w.cpus.len() as u32 {
        rig.running(cpu, MaskId::ALL);
        rig.fair.rqs[CpuId(cpu)].avg.util_avg = 1024;
        rig.fair.publish(CpuId(cpu));
    }
    let lb = LoadBalance {
        domain: link.domain,
        own_group: link.own_group,
        idle: IdleType::NotIdle,
        ..LoadBalance::default()
    };
    let stats = rig.fair.update_sd_lb_stats(&rig.w, &lb, &[]);
    let (group, busiest) = stats.busiest?;
    assert_eq!(busiest.group_type, GroupType::FullyBusy);
    Some(group)
}

#[test]
fn of_groups_just_as_full_the_last_is_the_busiest_since_v6_5_but_for_cores() {
    let older = || Rig::new(machine(4, 3), Features::default());
    let newer = || {
        let (features, tunables) =
            (Features::for_rules(Rules::V6_6), Tunables::for_rules(Rules::V6_6, 24));
        Rig::of(machine(4, 3), Fair::eevdf(Rules::V6_6, features, tunables))
    };
    let (llcs, cores) = (2, 1);
    assert_eq!(busiest_of_equals(older(), 0, llcs), Some(1));
    assert_eq!(busiest_of_equals(newer(), 0, llcs), Some(3));
    // The groups are a ring, and CPU 3 is in the second.
    assert_eq!(busiest_of_equals(older(), 3, llcs), Some(2));
    assert_eq!(busiest_of_equals(newer(), 3, llcs), Some(0));
    assert_eq!(busiest_of_equals(older(), 0, cores), Some(1));
    assert_eq!(busiest_of_equals(newer(), 0, cores), Some(1));
}

#[test]
fn who_waits_counts_as_utilization_since_v6_5() {
    let (mut older, mut newer) = (Rig::desktop(), Rig::desktop_with(Rules::V6_6));
    for avg in [&mut older.fair.rqs[CpuId(3)].avg, &mut newer.fair.rqs[CpuId(3)].avg] {
        (avg.util_avg, avg.runnable_avg) = (500, 900);
    }
    assert_eq!(older.fair.util_to_balance(CpuId(3)), 500);
    assert_eq!(newer.fair.util_to_balance(CpuId(3)), 900);
}

/// `smt_balance` (v6.6): an idle CPU takes a task from a core only if that has several.
#[test]
fn a_core_with_one_task_does_not_ask_for_smt_balance() {
    let busiest = |tasks: &[u32]| {
        let mut rig = Rig::desktop_with(Rules::V6_6);
        for cpu in tasks {
            rig.running(*cpu, MaskId::ALL);
            rig.fair.publish(CpuId(*cpu));
        }
        let link = rig.w.machine.domains.chains[CpuId(1)][1];
        let (domain, own_group) = (link.domain, link.own_group);
        let lb = LoadBalance { domain, own_group, idle: IdleType::Idle, ..LoadBalance::default() };
        rig.fair.update_sd_lb_stats(&rig.w, &lb, &[]).busiest.map(|(_, g)| g.group_type)
    };
    assert_eq!(busiest(&[0]), Some(GroupType::HasSpare));
    assert_eq!(busiest(&[0, 16]), Some(GroupType::SmtBalance));
}
