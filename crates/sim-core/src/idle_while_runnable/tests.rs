//! The count of wasted CPUs against a search for the largest matching.

use super::*;
use crate::{Config, TaskAttr};
use proptest::prelude::*;
use topology::{CpuId, CpuSet, Machine, RegularSpec};

const CPUS: u32 = 8;

/// The whole machine, its halves, pairs and CPUs: of two sets that share a CPU one contains the
/// other.
fn nested() -> Vec<Vec<u32>> {
    let sets = [8, 4, 2, 1].map(|size| (0..CPUS / size).map(move |i| i * size..(i + 1) * size));
    sets.into_iter().flatten().map(Iterator::collect).collect()
}

/// A world where these CPUs idle and on the first of the others one task waits for each set.
fn world(idle: &[u32], waiting: &[Vec<u32>]) -> World {
    let spec = RegularSpec { cores_per_llc: CPUS, threads_per_core: 1, ..RegularSpec::default() };
    let mut w = World::new(Machine::regular(spec).into(), Config::default());
    for cpu in (0..CPUS).filter(|c| !idle.contains(c)) {
        w.idle_cpus.remove(CpuId(cpu));
        w.n_idle -= 1;
    }
    for set in waiting {
        let allowed = w.mask(CpuSet::of(CPUS as usize, set.iter().copied().map(CpuId)));
        let task = w.new_task(TaskAttr { allowed, ..TaskAttr::default() });
        w.tasks[task].on_rq = true;
        w.n_waiting += 1;
        w.recount(task, false);
    }
    w.check_pinned().unwrap();
    w
}

/// Gives each task in turn a CPU. A task that has one already takes another where that helps.
fn largest_matching(idle: &[u32], waiting: &[Vec<u32>]) -> usize {
    fn give(task: usize, waiting: &[Vec<u32>], of: &mut [(u32, Option<usize>)], seen: u32) -> bool {
        (0..of.len()).any(|i| {
            let (cpu, owner) = of[i];
            let fits = waiting[task].contains(&cpu) && seen >> i & 1 == 0;
            let free = fits && owner.is_none_or(|o| give(o, waiting, of, seen | 1 << i));
            if free {
                of[i].1 = Some(task);
            }
            free
        })
    }
    let mut of: Vec<_> = idle.iter().map(|cpu| (*cpu, None)).collect();
    (0..waiting.len()).filter(|task| give(*task, waiting, &mut of, 0)).count()
}

#[test]
fn an_idle_cpu_is_not_wasted_by_a_task_that_may_not_run_there() {
    let n = |idle: &[u32], waiting: &[&[u32]]| {
        let waiting: Vec<Vec<u32>> = waiting.iter().map(|set| set.to_vec()).collect();
        world(idle, &waiting).n_idle_while_runnable()
    };
    let all = [0, 1, 2, 3, 4, 5, 6, 7];
    assert_eq!(n(&[0, 1], &[&all]), 1);
    assert_eq!(n(&[0, 1], &[&all, &all, &all]), 2);
    assert_eq!(n(&[0, 1], &[&[2, 3]]), 0);
    assert_eq!(n(&[0, 4], &[&[0, 1], &[0, 1]]), 1, "one CPU for two tasks");
    assert_eq!(n(&[0, 4], &[&[0, 1], &all]), 2, "the free one takes the other CPU");
    assert_eq!(n(&[0, 4], &[&[5]]), 0);
}

proptest! {
    #[test]
    fn of_nested_sets_the_largest_matching_is_found(
        idle in prop::sample::subsequence((0..CPUS).collect::<Vec<_>>(), 0..=CPUS as usize),
        waiting in prop::collection::vec(prop::sample::select(nested()), 0..12),
    ) {
        // A task that may use a single CPU waits on that CPU.
        let waits_at_idle = |set: &Vec<u32>| set.len() == 1 && idle.contains(&set[0]);
        let waiting: Vec<_> = waiting.into_iter().filter(|set| !waits_at_idle(set)).collect();
        let n = world(&idle, &waiting).n_idle_while_runnable() as usize;
        prop_assert_eq!(n, largest_matching(&idle, &waiting));
    }
}
