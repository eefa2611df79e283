//! The arithmetic: intervals, costs, classification, imbalance.

use crate::fair::balance::decide::*;
use crate::fair::balance::slow_path::idle_rank;
use crate::fair::balance::softirq::sd_balance_interval;
use crate::fair::balance::stats::*;
use crate::fair::state::Rules;
use crate::fair::state::balance::max_load_balance_interval;
use crate::fair::state::lb_env::*;
use crate::fair::state::load::avg_idle_after;
use proptest::prelude::*;
use sim_core::IdleType;

#[test]
fn intervals_at_250_hz_are_those_of_get_sd_balance_interval() {
    let max = max_load_balance_interval(250, 176);
    assert_eq!(max, 4400);
    let jiffies = |ms, busy| sd_balance_interval(ms, busy, 250, max);
    assert_eq!(jiffies(2, false), 1);
    assert_eq!((jiffies(16, false), jiffies(16, true)), (4, 63));
    assert_eq!((jiffies(176, false), jiffies(176, true)), (44, 703));
}

#[test]
fn avg_idle_follows_the_vectors() {
    let cap = 1_000_000;
    let mut avg = 1_000_000;
    let expected = [887_500, 789_063, 702_931, 1_000_000, 877_500, 770_313];
    let idle = [100_000, 100_000, 100_000, 5_000_000, 20_000, 20_000];
    for (idle, expected) in idle.into_iter().zip(expected) {
        avg = avg_idle_after(avg, idle, cap);
        assert_eq!(avg, expected);
    }
    let after = |n| (0..n).fold(1_000_000, |avg, _| avg_idle_after(avg, 10_000, cap));
    assert!(after(24) >= 50_000);
    assert_eq!(after(25), 45_147);
}

#[test]
fn newidle_costs_decay_by_one_percent_a_second() {
    let mut sd = crate::fair::state::SdState {
        balance_interval: 2,
        max_newidle_lb_cost: 0,
        last_decay_max_lb_cost: 0,
        nr_balance_failed: 0,
        last_balance: 0,
        avg_scan_cost: 0,
        newidle_call: 0,
        newidle_success: 0,
        newidle_ratio: 0,
    };
    assert!(!sd.update_newidle_cost(100_000, 10, 250));
    assert!(!sd.update_newidle_cost(0, 260, 250));
    for i in 1..=5 {
        assert!(sd.update_newidle_cost(0, 10 + 251 * i, 250));
    }
    assert_eq!(sd.max_newidle_lb_cost, 94_274);
    // A cost that is no higher is none that a decay has to wait for.
    assert!(sd.update_newidle_cost(94_274, 10 + 251 * 6, 250));
}

fn group(weight: u32, nr: u32, idle_cpus: u32, util: u64, load: u64) -> GroupStats {
    GroupStats {
        load,
        util,
        runnable: util,
        h_nr: nr,
        nr,
        idle_cpus,
        ..GroupStats::of_weight(weight)
    }
}

#[test]
fn groups_are_classified_as_in_the_table() {
    let kind = |g: GroupStats, flag| g.classify(117, flag);
    let full = 16 * 1024;
    assert_eq!(kind(group(16, 17, 0, full, 0), false), GroupType::Overloaded);
    // 85 %: not yet overloaded, and not short of capacity either.
    assert_eq!(kind(group(16, 17, 0, full * 85 / 100, 0), false), GroupType::HasSpare);
    assert_eq!(kind(group(16, 16, 0, full, 0), false), GroupType::FullyBusy);
    assert_eq!(kind(group(16, 15, 1, full, 0), false), GroupType::HasSpare);
    assert_eq!(kind(group(16, 3, 13, 0, 0), true), GroupType::Imbalanced);
    assert_eq!(kind(group(16, 17, 0, full, 0), true), GroupType::Overloaded);
    // Many waiting tasks show in runnable even where utilization is low.
    let mut waiting = group(16, 17, 0, 0, 0);
    waiting.runnable = full * 2;
    assert_eq!(kind(waiting, false), GroupType::Overloaded);
}

/// The types in the order of `group_classify`, one question after the other.
fn classify_slowly(g: &GroupStats, pct: u64, imbalanced: bool) -> GroupType {
    let starved = g.capacity * pct < g.runnable * 100;
    if g.nr > g.weight && (g.capacity * 100 < g.util * pct || starved) {
        GroupType::Overloaded
    } else if imbalanced {
        GroupType::Imbalanced
    } else if g.smt_balance {
        GroupType::SmtBalance
    } else if g.nr < g.weight || (!starved && g.capacity * 100 > g.util * pct) {
        GroupType::HasSpare
    } else {
        GroupType::FullyBusy
    }
}

/// `update_sd_pick_busiest` as it is written: is `g` a better source than the best so far? The
/// flags say which of the two are groups of siblings: since v6.5 others yield to their equals.
fn is_busier(g: &GroupStats, best: Option<&GroupStats>, best_yields: bool) -> bool {
    if g.h_nr == 0 {
        return false;
    }
    let Some(best) = best else {
        // The initial candidate is an empty has_spare group with endless idle CPUs.
        return true;
    };
    if g.group_type != best.group_type {
        return g.group_type > best.group_type;
    }
    let has_spare =
        g.idle_cpus < best.idle_cpus || (g.idle_cpus == best.idle_cpus && g.nr > best.nr);
    match g.group_type {
        GroupType::Overloaded => g.avg_load > best.avg_load,
        GroupType::FullyBusy => best_yields,
        GroupType::SmtBalance => (g.idle_cpus != 0 || best.idle_cpus != 0) && has_spare,
        GroupType::Imbalanced => false,
        GroupType::HasSpare => has_spare,
    }
}

/// `update_pick_idlest` as it is written: is `g` idler than the best so far?
fn is_idler(g: &GroupStats, best: Option<&GroupStats>) -> bool {
    let Some(best) = best else {
        return true;
    };
    if g.group_type != best.group_type {
        return g.group_type < best.group_type;
    }
    match g.group_type {
        GroupType::Overloaded | GroupType::FullyBusy => g.avg_load < best.avg_load,
        GroupType::Imbalanced | GroupType::SmtBalance => false,
        GroupType::HasSpare => {
            g.idle_cpus > best.idle_cpus || (g.idle_cpus == best.idle_cpus && g.util < best.util)
        }
    }
}

/// The surplus of a source below the average is a difference of unsigned numbers.
#[test]
fn a_source_below_the_average_gives_what_there_is_room_for() {
    let overloaded = |avg_load| GroupStats {
        group_type: GroupType::Overloaded,
        avg_load,
        ..group(6, 8, 0, 6 * 1024, 6 * avg_load)
    };
    let s = DomainStats {
        local: overloaded(200),
        busiest: Some((1, overloaded(300))),
        total_load: 4 * 6 * 400,
        total_capacity: 4 * 6 * 1024,
        sum_util: 0,
        overload: true,
    };
    let d = DomainFacts {
        imbalance_pct: 117,
        share_llc: false,
        prefer_sibling: true,
        numa: false,
        imb_numa_nr: 0,
        kernel: Rules::V6_4.kernel(),
        cores: None,
    };
    let imbalance =
        |busiest| calculate_imbalance(&s, &s.local, &overloaded(busiest), &d, IdleType::NewlyIdle);
    assert_eq!(imbalance(300), (MigrationType::Load, 200 * 6));
    assert_eq!(imbalance(450), (MigrationType::Load, 50 * 6));
}

/// A group of a size, with more or fewer tasks and load.
fn any_group() -> impl Strategy<Value = (GroupStats, bool, bool)> {
    // Only siblings ask for their own kind of balance.
    let flags = ((any::<bool>(), any::<bool>()), any::<bool>());
    let counts = (1u32..4, 0u32..5, 0u32..3, 0u32..4);
    (counts, 0u64..1500, 0u64..2500, 0u64..4, flags).prop_map(
        |((weight, nr, more, idle), util, runnable, load, ((smt, several), imbalanced))| {
            let mut g = group(weight, nr + more, idle.min(weight), util * u64::from(weight), load);
            g.runnable = runnable * u64::from(weight);
            (g.h_nr, g.smt_balance) = (nr, smt && several);
            (g, smt, imbalanced)
        },
    )
}

proptest! {
    /// Type and rank without branches find the group that the rules find one by one.
    #[test]
    fn the_busiest_group_has_the_highest_rank(
        groups in prop::collection::vec(any_group(), 1..12),
        breaks_ties: bool,
    ) {
        let (mut best, mut best_yields, mut highest) = (None::<GroupStats>, false, 0);
        for (i, (mut g, smt, imbalanced)) in groups.into_iter().enumerate() {
            if breaks_ties {
                g.tie = if smt { 12 } else { i as u32 };
            }
            g.group_type = g.classify(117, imbalanced);
            prop_assert_eq!(g.group_type, classify_slowly(&g, 117, imbalanced));
            g.avg_load = if g.group_type == GroupType::Overloaded { g.load } else { 0 };
            let is_busier = is_busier(&g, best.as_ref(), best_yields);
            prop_assert_eq!(g.rank() > highest, is_busier, "{:?} after {:?}", g, best);
            if is_busier {
                (best, best_yields, highest) = (Some(g), breaks_ties && !smt, g.rank());
            }
        }
    }
}

proptest! {
    /// The idlest group is the first of the lowest rank.
    #[test]
    fn the_idlest_group_has_the_lowest_rank(groups in prop::collection::vec(any_group(), 1..12)) {
        let (mut best, mut lowest) = (None::<GroupStats>, u64::MAX);
        for (mut g, _, imbalanced) in groups {
            g.group_type = g.classify(117, imbalanced);
            let is_full = matches!(g.group_type, GroupType::FullyBusy | GroupType::Overloaded);
            g.avg_load = if is_full { g.load } else { 0 };
            let is_idler = is_idler(&g, best.as_ref());
            prop_assert_eq!(idle_rank(&g) < lowest, is_idler, "{:?} after {:?}", g, best);
            if is_idler {
                (best, lowest) = (Some(g), idle_rank(&g));
            }
        }
    }
}

const DIE: DomainFacts = DomainFacts {
    imbalance_pct: 117,
    prefer_sibling: true,
    share_llc: false,
    numa: false,
    imb_numa_nr: 0,
    kernel: Rules::V6_4.kernel(),
    cores: None,
};

fn decide(
    local: GroupStats,
    busiest: GroupStats,
    d: &DomainFacts,
    idle: IdleType,
) -> Option<(MigrationType, i64)> {
    let classify = |mut g: GroupStats| {
        g.group_type = g.classify(d.imbalance_pct, false);
        if g.group_type == GroupType::Overloaded {
            g.avg_load = g.load * 1024 / g.capacity;
        }
        g
    };
    let (local, busiest) = (classify(local), classify(busiest));
    let stats = DomainStats {
        local,
        busiest: (busiest.h_nr > 0).then_some((1, busiest)),
        total_load: local.load + busiest.load,
        total_capacity: local.capacity + busiest.capacity,
        sum_util: 0,
        overload: false,
    };
    find_busiest_group(&stats, d, idle).ok()
}

#[test]
fn three_tasks_against_an_idle_llc_move_one() {
    let (local, busiest) = (group(16, 0, 16, 0, 0), group(16, 3, 13, 3000, 3072));
    let moved = decide(local, busiest, &DIE, IdleType::Idle);
    assert_eq!(moved, Some((MigrationType::Task, 1)));
}

/// `sibling_imbalance` (6.6): each group is to have tasks as it has cores.
#[test]
fn of_six_tasks_eight_cores_obtain_four_and_four_cores_keep_two() {
    let d = DomainFacts { kernel: Rules::V6_6.kernel(), cores: Some((8, 4)), ..DIE };
    let (local, busiest) = (group(16, 0, 16, 0, 0), group(8, 6, 2, 6000, 6144));
    assert_eq!(decide(local, busiest, &d, IdleType::Idle), Some((MigrationType::Task, 4)));
}

#[test]
fn an_overloaded_llc_gives_utilization() {
    let full = 16 * 1024;
    let (local, busiest) = (group(16, 0, 16, 0, 0), group(16, 17, 0, full, 17 * 1024));
    let moved = decide(local, busiest, &DIE, IdleType::NewlyIdle);
    assert_eq!(moved, Some((MigrationType::Util, full as i64)));
}

/// Averages lag: a CPU that idles in a group which looks full obtains a task all the same
/// (`calculate_imbalance()`, v6.4).
#[test]
fn a_group_that_looks_full_gives_its_idle_cpu_one_task() {
    let full = 16 * 1024;
    let (local, busiest) = (group(16, 15, 1, full, full), group(16, 20, 0, full, 20 * 1024));
    let moved = |idle| decide(local, busiest, &DIE, idle);
    assert_eq!(moved(IdleType::NewlyIdle), Some((MigrationType::Task, 1)));
    assert_eq!(moved(IdleType::NotIdle), None);
}

#[test]
fn seventeen_percent_of_imbalance_are_tolerated() {
    let full = 2 * 1024;
    let with = |load| {
        let busiest = group(2, 4, 0, full, load);
        decide(group(2, 3, 0, full, 3072), busiest, &DIE, IdleType::NotIdle)
    };
    assert_eq!(with(3072 * 117 / 100), None);
    // Averages 1536 and 2048, total 1792: both ends are 256 away from it.
    assert_eq!(with(4096), Some((MigrationType::Load, 512)));
}

#[test]
fn a_busy_cpu_leaves_small_differences_alone() {
    let mc = DomainFacts { prefer_sibling: false, share_llc: true, ..DIE };
    let (local, busiest) = (group(2, 1, 1, 100, 0), group(2, 2, 0, 100, 0));
    assert_eq!(decide(local, busiest, &mc, IdleType::NotIdle), None);
    assert_eq!(decide(local, busiest, &mc, IdleType::Idle), None);
    let empty = group(4, 0, 4, 0, 0);
    let busiest = group(4, 4, 0, 4000, 0);
    let moved = decide(empty, busiest, &mc, IdleType::Idle);
    assert_eq!(moved, Some((MigrationType::Task, 2)));
}

#[test]
fn numa_tolerates_a_difference_of_two_while_nearly_empty() {
    let numa = DomainFacts { prefer_sibling: false, numa: true, imb_numa_nr: 5, ..DIE };
    let busiest = |nr, idle| group(40, nr, idle, 0, 0);
    let local = group(40, 0, 40, 0, 0);
    assert_eq!(decide(local, busiest(2, 38), &numa, IdleType::Idle), None);
    let moved = decide(local, busiest(4, 36), &numa, IdleType::Idle);
    assert_eq!(moved, Some((MigrationType::Task, 2)));
    // v5.19 halves the difference first: five are tolerated, six are not.
    let old = DomainFacts { kernel: Rules::V5_19.kernel(), ..numa };
    assert_eq!(decide(local, busiest(5, 35), &old, IdleType::Idle), None);
    let moved = decide(local, busiest(6, 34), &old, IdleType::Idle);
    assert_eq!(moved, Some((MigrationType::Task, 3)));
}
