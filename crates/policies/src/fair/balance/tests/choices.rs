//! Who gives, at which level, and what a move by the stopper costs.

use super::*;
use sim_core::Ns;

const MS: u64 = 1_000_000;

/// Of queues that are alike the first one gives: the comparison is strict
/// (`find_busiest_queue()`, v6.4).
#[test]
fn of_two_siblings_with_as_many_tasks_the_first_gives() {
    let mut rig = Rig::desktop();
    let long_ago = rig.w.now - 5 * MS;
    let waiting = [1, 17].map(|cpu| rig.queued(cpu, long_ago, MaskId::ALL));
    for cpu in [1, 17] {
        rig.running(cpu, MaskId::ALL);
    }
    rig.fair.rqs[CpuId(2)].avg_idle = 200_000;
    rig.newidle(2, TaskId::IDLE);
    assert_eq!(waiting.map(|p| rig.cpu_of(p)), [2, 17]);
}

/// A level that the dice skip is not asked again in the same balance
/// (`sched_balance_newidle()`, v6.18: `continue`).
#[test]
fn a_level_that_the_dice_skip_is_skipped() {
    let mut rig = Rig::desktop();
    rig.fair.features.ni_random = true;
    let waiting = rig.queued(1, rig.w.now - 5 * MS, MaskId::ALL);
    rig.running(1, MaskId::ALL);
    rig.fair.rqs[CpuId(2)].avg_idle = 200_000;
    // One draw of 512 is for a balance, and each level is drawn for once.
    (0..3).for_each(|level| rig.fair.sds[CpuId(2)][level].newidle_ratio = 0);
    rig.newidle(2, TaskId::IDLE);
    assert_eq!(rig.cpu_of(waiting), 1);
    rig.fair.features.ni_random = false;
    rig.newidle(2, TaskId::IDLE);
    assert_eq!(rig.cpu_of(waiting), 2, "nothing else kept it");
}

/// How long the stopper of CPU 0 works to push a task to another CPU.
fn push_ns(to: u32) -> (Ns, World) {
    let mut rig = Rig::desktop();
    rig.running(0, MaskId::ALL);
    let p = rig.queued(0, rig.w.now, MaskId::ALL);
    rig.fair.rqs[CpuId(0)].active_balance = true;
    let steps = rig.drive(0, |f, w, first| f.stopper(w, CpuId(0), CpuId(to), first));
    assert_eq!(rig.cpu_of(p), to);
    let spent = steps.iter().map(|step| if let Step::Spend(ns) = step { *ns } else { 0 });
    (spent.sum(), rig.w)
}

/// A push costs what any move of a task does, and lines that come from the other CPU.
#[test]
fn the_stopper_works_longer_for_a_cpu_that_is_farther_away() {
    let [(near, _), (far, w)] = [1, 8].map(push_ns);
    let line_ns = |to| w.line_ns(CpuId(0), CpuId(to));
    assert!(line_ns(8) > line_ns(1));
    assert!(near >= w.machine.costs.pull_ns + line_ns(1), "{near}");
    assert!(far >= w.machine.costs.pull_ns + line_ns(8), "{far}");
    assert!(far - near >= line_ns(8) - line_ns(1), "{near} {far}");
}

/// Groups are summed by LLC where they consist of whole LLCs: the two of the whole machine do, the
/// cores of an LLC do not.
#[test]
fn groups_of_whole_llcs_are_summed_by_llc() {
    let rig = Rig::desktop();
    let domains = &rig.w.machine.domains.domains;
    for (llcs, d) in rig.fair.balance.group_llcs.iter().zip(domains.iter()) {
        let whole = d.groups.iter().all(|group| group.cpus.len() == 16);
        assert_eq!(llcs.is_some(), whole);
        let of_group = |i| llcs.as_ref().map_or(0, |llcs| llcs.of(i).len());
        assert!((0..d.groups.len()).all(|i| of_group(i) == usize::from(whole)));
    }
    assert!(rig.fair.balance.group_llcs.iter().any(|llcs| llcs.is_some()));
}
