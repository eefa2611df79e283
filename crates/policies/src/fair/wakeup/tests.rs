//! wake_wide, wake_affine, the idle search and SIS_NODE.

use super::*;
use crate::fair::Rules;
use crate::fair::features::Features;
use crate::fair::nr_idle_scan;
use crate::fair::testing::{RYZEN, Rig};
use sim_core::Reads;
use test_support::{Random, Shape};
use topology::CpuSet;

/// Four LLCs of 2 cores with 2 threads: LLC k is {2k, 2k+1, 8+2k, 9+2k}.
const QUAD: Shape = Shape::new(4, 2, 2);
const ASYNC: SelectKind = SelectKind::Wake { sync: false, in_irq: false };

/// A machine where all CPUs but `idle` are busy.
fn rig_with_idle(shape: Shape, features: Features, idle: &[u32]) -> Rig {
    let mut rig = Rig::with(shape, 250, features);
    (0..rig.w.cpus.len() as u32).for_each(|c| rig.set_busy(c, !idle.contains(&c)));
    rig.f.llcs.iter_mut().for_each(|l| l.has_idle_cores = false);
    rig
}

/// Wakes a task that last ran on `prev`, from CPU `this`; the CPU chosen.
fn wake(rig: &mut Rig, this: u32, prev: u32) -> u32 {
    let p = rig.new_task(prev, 0);
    rig.w.this = CpuId(this);
    woken(rig, p, ASYNC)
}

/// The same without the choice between waker and wakee.
fn search(idle: &[u32], prev: u32, target: u32) -> u32 {
    let mut rig = rig_with_idle(RYZEN, Features::default(), idle);
    search_in(&mut rig, prev, target)
}

fn search_in(rig: &mut Rig, prev: u32, target: u32) -> u32 {
    let p = rig.new_task(prev, 0);
    search_for(rig, p, prev, target)
}

fn search_for(rig: &mut Rig, p: TaskId, prev: u32, target: u32) -> u32 {
    rig.w.tasks[p].wake_cpu = CpuId(prev);
    let choice = rig.f.select_idle_sibling(&mut rig.w, p, CpuId(target), false);
    ended(rig, p, choice).0
}

/// The CPU that a wake-up commits to: a search that takes time decides when it ends.
fn ended(rig: &mut Rig, p: TaskId, choice: Choice) -> CpuId {
    let end = SelectKind::Search { target: choice.cpu };
    if choice.scan_ns == 0 { choice.cpu } else { rig.f.select_task_rq(&mut rig.w, p, end).cpu }
}

fn woken(rig: &mut Rig, p: TaskId, kind: SelectKind) -> u32 {
    let choice = rig.f.select_task_rq(&mut rig.w, p, kind);
    ended(rig, p, choice).0
}

/// Why a task that slept on `prev` is where a wake-up with that target puts it.
fn placed(rig: &mut Rig, prev: u32, target: u32) -> &'static str {
    let p = rig.new_task(prev, 0);
    search_for(rig, p, prev, target);
    rig.w.tasks[p].placed.name
}

#[test]
fn a_search_in_vain_says_which_rule_ended_it() {
    let busy = |features, idle: &[u32]| rig_with_idle(QUAD, features, idle);
    let mut rig = busy(Features::default(), &[6]);
    for n in [4, 2, 0] {
        rig.f.llcs[0].nr_idle_scan = n;
        assert_eq!(placed(&mut rig, 0, 0), "select_idle_sibling: LLC has no idle CPU");
    }
    assert_eq!(placed(&mut rig, 6, 6), "select_task_rq: idle CPU taken meanwhile");

    // CPU 9 is the last that a search from CPU 0 looks at, but for CPU 0.
    let mut rig = busy(Features::default(), &[9]);
    rig.f.llcs[0].nr_idle_scan = 2;
    assert_eq!(placed(&mut rig, 0, 0), "select_idle_cpu: SIS_UTIL, scan ended");
    rig.f.llcs[0].nr_idle_scan = 0;
    assert_eq!(placed(&mut rig, 0, 0), "select_idle_cpu: SIS_UTIL, no look");

    // 5.19 had the other budget; that of its successor may be tried on it.
    let old = Features::for_rules(Rules::V5_19);
    assert!(old.sis_prop && !old.sis_util);
    let mut rig = busy(Features { sis_prop: false, sis_util: true, ..old }, &[9]);
    rig.f.llcs[0].nr_idle_scan = 0;
    assert_eq!(placed(&mut rig, 0, 0), "select_idle_cpu: SIS_UTIL, no look");

    let mut rig = busy(Features { sis_node: true, ..Features::default() }, &[6]);
    rig.f.llcs.iter_mut().for_each(|l| l.nr_idle_scan = 0);
    assert_eq!(placed(&mut rig, 0, 0), "select_idle_node: no idle CPU seen");
    rig.f.llcs[3].nr_idle_scan = 4;
    assert_eq!(placed(&mut rig, 0, 0), "select_task_rq: idle CPU taken meanwhile");
}

#[test]
fn many_wakees_and_many_wakers_are_wide() {
    assert!(is_wide(300, 16, 16));
    assert!(is_wide(16, 300, 16));
    assert!(!is_wide(300, 15, 16));
    assert!(!is_wide(255, 16, 16));
}

#[test]
fn flips_are_counted_and_halved_every_second() {
    let mut rig = Rig::new(RYZEN, 250);
    let [waker, a, b] = [0; 3].map(|_| rig.new_task(0, 0));
    for p in [a, b, a, b, b, b] {
        rig.f.record_wakee(&rig.w, waker, p);
    }
    assert_eq!(rig.f.tasks[waker].wakee.flips, 4);
    rig.w.now = 1_003_999_999; // jiffy 250: not more than a second
    rig.f.record_wakee(&rig.w, waker, b);
    assert_eq!(rig.f.tasks[waker].wakee.flips, 4);
    rig.w.now = 1_004_000_000;
    rig.f.record_wakee(&rig.w, waker, b);
    assert_eq!(rig.f.tasks[waker].wakee.flips, 2);
    let idle = TaskId::IDLE;
    rig.f.record_wakee(&rig.w, idle, a);
    assert_eq!(rig.f.rqs[rig.w.this].idle_wakee.flips, 1);
}

/// wake_affine from CPU 0 to CPU 1 with given loads; true: this CPU.
fn affine(sync: bool, nr_here: u32, load_here: u64, load_prev: u64) -> bool {
    let mut rig = rig_with_idle(RYZEN, Features::default(), &[]);
    let [waker, p] = [0; 2].map(|_| rig.new_task(0, 0));
    rig.w.cpus[CpuId(0)].curr = waker;
    rig.w.set_nr_running(CpuId(0), nr_here);
    rig.f.tasks[waker].avg.load_avg = 1024;
    rig.f.tasks[p].avg.load_avg = 512;
    rig.f.rqs[CpuId(0)].avg.load_avg = load_here;
    rig.f.rqs[CpuId(1)].avg.load_avg = load_prev;
    rig.f.wake_affine(&mut rig.w, p, CpuId(1), sync) == CpuId(0)
}

#[test]
fn wake_affine_compares_effective_loads() {
    assert!(affine(true, 1, 1024, 0), "only the waker runs here");
    assert!(affine(false, 1, 1024, 2048));
    assert!(!affine(false, 1, 1024, 1900));
    assert!(affine(true, 2, 2048, 2048));
    assert!(affine(true, 2, 1000, 0), "the waker is all the load there is");
}

#[test]
fn a_waker_that_exits_does_not_pull_its_parent() {
    let chosen = |exiting| {
        // Only the waker runs on CPU 0; the wakee's CPU in the other LLC is idle.
        let mut rig = rig_with_idle(RYZEN, Features::default(), &[1, 9]);
        let (waker, p) = (rig.new_task(0, 0), rig.new_task(9, 0));
        rig.w.cpus[CpuId(0)].curr = waker;
        rig.w.tasks[waker].exiting = exiting;
        rig.w.this = CpuId(0);
        let sync = SelectKind::Wake { sync: true, in_irq: false };
        woken(&mut rig, p, sync)
    };
    assert_eq!(chosen(false), 1, "near the waker");
    assert_eq!(chosen(true), 9, "where it was");
}

#[test]
fn wake_affine_prefers_an_idle_prev_to_a_busy_waker() {
    let mut rig = rig_with_idle(RYZEN, Features::default(), &[1]);
    assert_eq!(wake(&mut rig, 0, 1), 1);
    // An interrupt on an idle CPU: prev if it is idle too, else where the interrupt is.
    let mut rig = rig_with_idle(RYZEN, Features::default(), &[0, 1]);
    assert_eq!(wake(&mut rig, 0, 1), 1);
    let mut rig = rig_with_idle(RYZEN, Features::default(), &[0, 2]);
    assert_eq!(wake(&mut rig, 0, 1), 0);
}

#[test]
fn the_search_keeps_its_order() {
    assert_eq!(search(&[3, 4], 4, 3), 3, "an idle target");
    assert_eq!(search(&[4, 5], 4, 3), 4, "an idle prev behind the same cache");
    assert_eq!(search(&[8], 8, 3), 3, "prev behind another cache does not count");
    assert_eq!(search(&[2, 20, 5], 4, 3), 20, "the sibling of prev before the scan");
    assert_eq!(search(&[2, 5], 4, 3), 5, "the scan starts after the target");
    assert_eq!(search(&[2], 4, 3), 2, "and wraps");
    assert_eq!(search(&[], 4, 3), 3, "all busy: stack on the target");
}

#[test]
fn a_worker_bound_to_its_cpu_completes_to_the_task_that_slept_there() {
    let chosen = |kthread, pinned, in_irq| {
        // CPU 5 is idle, and the wakee slept on the worker's CPU.
        let mut rig = rig_with_idle(RYZEN, Features::default(), &[5]);
        let (worker, p) = (rig.new_task(3, 0), rig.new_task(3, 0));
        rig.w.tasks[worker].attr.kthread = kthread;
        rig.w.tasks[worker].nr_cpus_allowed = if pinned { 1 } else { 32 };
        rig.w.cpus[CpuId(3)].curr = worker;
        rig.w.this = CpuId(3);
        let kind = SelectKind::Wake { sync: false, in_irq };
        woken(&mut rig, p, kind)
    };
    assert_eq!(chosen(true, true, false), 3);
    assert_eq!(chosen(true, true, true), 5, "an interrupt");
    assert_eq!(chosen(true, false, false), 5, "an unbound worker");
    assert_eq!(chosen(false, true, false), 5, "a pinned user task");
}

#[test]
fn the_recently_used_cpu_comes_before_the_scan() {
    let mut rig = rig_with_idle(RYZEN, Features::default(), &[2, 5]);
    let p = rig.new_task(4, 0);
    rig.f.tasks[p].recent_used_cpu = CpuId(2);
    assert_eq!(search_for(&mut rig, p, 4, 3), 2);
    assert_eq!(rig.f.tasks[p].recent_used_cpu, CpuId(4));
    assert_eq!(search_for(&mut rig, p, 4, 3), 5);
}

#[test]
fn the_scan_wraps_around_the_llc() {
    let rig = Rig::new(RYZEN, 250);
    let order: Vec<u32> = rig.f.scan_order(CpuId(5)).map(|c| c.0).collect();
    let expected: Vec<u32> = [6, 7].into_iter().chain(16..24).chain(0..6).collect();
    assert_eq!(order, expected);
}

/// A scan of the set of idle CPUs finds and costs what a look at one CPU after the other does.
#[test]
fn a_scan_of_the_set_equals_one_of_the_cpus() {
    let many = Shape { sockets: 2, ..Shape::new(1, 40, 2) };
    let mut random = Random::new(1);
    let mut draw = |below| random.below(below);
    for round in 0..3000 {
        let shape = [RYZEN, QUAD, many][round % 3];
        let mut rig = Rig::new(shape, 250);
        let n = rig.w.cpus.len() as u64;
        let share = draw(40);
        for c in 0..n as u32 {
            rig.w.this = CpuId(draw(n) as u32);
            rig.set_busy(c, draw(40) >= share);
        }
        let p = rig.new_task(0, 0);
        (rig.w.this, rig.w.now) = (CpuId(draw(n) as u32), 1);
        let target = CpuId(draw(n) as u32);
        let budget = if draw(2) == 0 { u64::MAX } else { 2 + draw(n) };
        let (mut fast, mut slow) = (idle::Scan::dry(), idle::Scan::dry());
        assert_eq!(
            rig.f.scan_idle_cpus(&mut rig.w, target, budget, &mut fast),
            rig.f.scan_one_by_one(&mut rig.w, p, target, budget, &mut slow),
        );
        assert_eq!(fast, slow, "{target} from {}, budget {budget}", rig.w.this);
        // Once they are read for good, nothing of them is left to be fetched.
        let (mut first, mut again) = (idle::Scan::default(), idle::Scan::default());
        rig.f.scan_idle_cpus(&mut rig.w, target, budget, &mut first);
        assert_eq!(first.reads, fast.reads);
        rig.f.scan_one_by_one(&mut rig.w, p, target, budget, &mut again);
        assert_eq!(again.reads, Reads::default());
    }
}

#[test]
fn a_budget_of_two_looks_at_two_cpus() {
    let mut rig = rig_with_idle(RYZEN, Features::default(), &[8]);
    rig.f.llcs[0].nr_idle_scan = 2;
    rig.f.topo.smt = false; // no look at the sibling of prev
    assert_eq!(search_in(&mut rig, 3, 3), 3);
    assert_eq!(rig.w.stat.sis.domain_scanned, 2);
    rig.f.llcs[0].nr_idle_scan = 0;
    rig.set_busy(4, false);
    assert_eq!(search_in(&mut rig, 3, 3), 3);
    assert_eq!(rig.w.stat.sis.domain_scanned, 2);
}

#[test]
fn an_idle_core_comes_before_an_idle_thread() {
    let mut rig = rig_with_idle(RYZEN, Features::default(), &[4, 6, 22]);
    rig.f.llcs[0].has_idle_cores = true;
    assert_eq!(search_in(&mut rig, 3, 3), 6);
    assert!(rig.f.llcs[0].has_idle_cores);
}

#[test]
fn idle_cores_are_known_from_the_start_if_cores_have_threads() {
    let hints = |threads| {
        let rig = Rig::new(Shape { threads, ..RYZEN }, 250);
        rig.f.llcs.iter().map(|l| l.has_idle_cores).collect::<Vec<_>>()
    };
    assert_eq!((hints(2), hints(1)), (vec![true; 2], vec![false; 2]));
}

#[test]
fn has_idle_cores_is_cleared_in_vain_and_set_by_a_full_core() {
    let mut rig = rig_with_idle(RYZEN, Features::default(), &[4, 6]);
    rig.f.llcs[0].has_idle_cores = true;
    assert_eq!(search_in(&mut rig, 3, 3), 4, "the first idle thread seen");
    assert!(!rig.f.llcs[0].has_idle_cores);
    let idle = TaskId::IDLE;
    rig.f.switch_task(&mut rig.w, CpuId(5), TaskId::STOP, idle);
    assert!(!rig.f.llcs[0].has_idle_cores, "its sibling 21 is busy");
    rig.set_busy(21, false);
    rig.f.switch_task(&mut rig.w, CpuId(5), TaskId::STOP, idle);
    assert!(rig.f.llcs[0].has_idle_cores);
}

#[test]
fn a_search_decides_by_what_it_sees_when_it_ends() {
    let mut rig = rig_with_idle(RYZEN, Features::default(), &[5, 6]);
    rig.w.this = CpuId(4);
    let p = rig.new_task(4, 0);
    let found = |rig: &mut Rig, meanwhile: &dyn Fn(&mut Rig)| {
        let choice = rig.f.select_task_rq(&mut rig.w, p, ASYNC);
        assert!(choice.scan_ns > 0, "{choice:?}");
        meanwhile(rig);
        ended(rig, p, choice).0
    };
    assert_eq!(found(&mut rig, &|_| ()), 5);
    assert_eq!(found(&mut rig, &|rig| rig.set_busy(5, true)), 6, "taken during the search");
    assert_eq!(found(&mut rig, &|rig| rig.set_busy(5, false)), 5, "idle in time");
    rig.set_busy(5, true);
    assert_eq!(found(&mut rig, &|rig| rig.set_busy(6, true)), 4, "the last one is gone");
}

#[test]
fn what_a_search_notes_it_notes_at_its_end() {
    let mut rig = rig_with_idle(RYZEN, Features::default(), &[6]);
    rig.f.llcs[0].has_idle_cores = true;
    rig.w.this = CpuId(4);
    let p = rig.new_task(4, 0);
    let choice = rig.f.select_task_rq(&mut rig.w, p, ASYNC);
    let counts = |rig: &Rig| (rig.w.stat.sis.searches, rig.w.stat.sis.domain_searches);
    // The measurement may begin before it ends: then it is counted as a whole, or not at all.
    assert_eq!((rig.f.llcs[0].has_idle_cores, counts(&rig)), (true, (0, 0)));
    assert_eq!(ended(&mut rig, p, choice), CpuId(6));
    assert_eq!((rig.f.llcs[0].has_idle_cores, counts(&rig)), (false, (1, 1)));
}

#[test]
fn a_fork_keeps_the_cpu_that_it_has_chosen() {
    let mut rig = rig_with_idle(RYZEN, Features::default(), &[9, 25, 10, 26]);
    rig.w.this = CpuId(0);
    let p = rig.new_task(0, 0);
    (0..32).for_each(|c| rig.f.rqs[CpuId(c)].idle_stamp = 1);
    rig.f.rqs[CpuId(9)].idle_stamp = 2;
    let choice = rig.f.select_task_rq(&mut rig.w, p, SelectKind::Fork);
    assert_eq!(choice.cpu, CpuId(9), "the warmest");
    assert!(choice.scan_ns > 0);
}

#[test]
fn the_scan_budget_falls_with_the_square_of_utilization() {
    let percents = [0, 10, 25, 50, 60, 70, 75, 80, 84, 85];
    let rows: [(u64, [u32; 10]); 7] = [
        (16, [16, 15, 14, 10, 8, 5, 3, 2, 0, 0]),
        (64, [64, 63, 58, 42, 32, 21, 14, 8, 2, 0]),
        (2, [2, 1, 1, 1, 1, 0, 0, 0, 0, 0]),
        (6, [6, 5, 5, 3, 3, 1, 1, 0, 0, 0]),
        (12, [12, 11, 10, 7, 6, 3, 2, 1, 0, 0]),
        (24, [24, 23, 21, 15, 12, 7, 5, 3, 0, 0]),
        (36, [36, 35, 32, 23, 18, 11, 8, 4, 1, 0]),
    ];
    for (llc, expected) in rows {
        let got = percents.map(|pct| nr_idle_scan(1024 * llc * pct / 100, llc, 117));
        assert_eq!(got, expected, "LLC {llc}");
    }
}

#[test]
fn sis_prop_looks_at_four_cpus_when_it_expects_no_idle_time() {
    let features = Features { sis_prop: true, sis_util: false, ..Features::default() };
    let mut rig = rig_with_idle(RYZEN, features, &[]);
    rig.f.topo.smt = false;
    rig.f.rqs[CpuId(0)].wake_avg_idle = 0;
    assert_eq!(search_in(&mut rig, 3, 3), 3);
    assert_eq!(rig.w.stat.sis.domain_scanned, 3, "the fourth ends the scan unread");
    rig.f.rqs[CpuId(0)].wake_avg_idle = 1_000_000;
    search_in(&mut rig, 3, 3);
    assert_eq!(rig.w.stat.sis.domain_scanned, 3 + 16);
    assert!(rig.f.rqs[CpuId(0)].wake_avg_idle < 1_000_000);
    assert!(rig.f.sds[CpuId(0)][1].avg_scan_cost > 0);
}

/// `ttwu_do_activate()`, v5.19: an eighth of the way to what the CPU has just idled, and for the
/// scans of wake-ups half of that.
#[test]
fn wake_ups_may_scan_for_half_of_the_idle_time_that_is_expected() {
    let mut rig = rig_with_idle(RYZEN, Features::default(), &[]);
    rig.w.now = 100_000_000;
    let rq = &mut rig.f.rqs[CpuId(0)];
    (rq.avg_idle, rq.idle_stamp, rq.max_idle_balance_cost) = (100_000, 99_600_000, 500_000);
    rig.w.update_rq_clock(CpuId(0));
    rig.f.avg_idle_update(&rig.w, CpuId(0));
    let rq = &rig.f.rqs[CpuId(0)];
    assert_eq!((rq.avg_idle, rq.wake_avg_idle, rq.idle_stamp), (137_500, 68_750, 0));
}

/// SIS_PROP before v6.4: `wake_avg_idle` is halved for each jiffy since the last search.
#[test]
fn a_cpu_that_stays_busy_expects_half_the_idle_time_with_each_jiffy() {
    let features = Features { sis_prop: true, sis_util: false, ..Features::default() };
    let mut rig = rig_with_idle(RYZEN, features, &[]);
    rig.f.topo.smt = false;
    rig.w.now = 100_000_000;
    let jiffies = rig.w.jiffies();
    let rq = &mut rig.f.rqs[CpuId(0)];
    (rq.wake_avg_idle, rq.wake_stamp) = (1_000_000, jiffies - 3);
    search_in(&mut rig, 3, 3);
    // The search itself is taken from it, too.
    assert!((62_501..=125_000).contains(&rig.f.rqs[CpuId(0)].wake_avg_idle));
    assert_eq!(rig.f.rqs[CpuId(0)].wake_stamp, jiffies);
}

fn sis_node() -> Features {
    Features { sis_node: true, ..Features::default() }
}

#[test]
fn sis_node_finds_an_idle_cpu_in_another_llc() {
    let mut rig = rig_with_idle(QUAD, sis_node(), &[13]);
    assert_eq!(search_in(&mut rig, 1, 1), 13);
    let mut off = rig_with_idle(QUAD, Features::default(), &[13]);
    assert_eq!(search_in(&mut off, 1, 1), 1);
}

#[test]
fn sis_node_stays_in_its_node() {
    let two_nodes = Shape { sockets: 2, llcs: 1, ..QUAD };
    let mut rig = rig_with_idle(two_nodes, sis_node(), &[3]);
    assert_eq!(search_in(&mut rig, 1, 1), 1);
}

#[test]
fn sis_node_may_scan_its_own_llc_twice() {
    let scanned = |skip_own, target| {
        let mut rig = rig_with_idle(QUAD, sis_node(), &[]);
        rig.f.tunables.sis_node_skip_own = skip_own;
        search_in(&mut rig, target, target);
        rig.w.stat.sis.domain_scanned
    };
    assert_eq!(scanned(false, 1), scanned(true, 1) + 4);
    assert_eq!(scanned(false, 0), scanned(true, 0), "known by its lowest CPU");
}

/// QUAD's LLCs after the target's, which is the second: {4, ..}, {6, ..}, {0, ..}.
#[test]
fn sis_node_searches_as_many_llcs_as_it_may() {
    let search = |limit, idle: u32| {
        let mut rig = rig_with_idle(QUAD, sis_node(), &[idle]);
        rig.f.tunables.sis_node_limit = limit;
        let found = search_in(&mut rig, 2, 2);
        (found, rig.w.stat.sis.domain_scanned)
    };
    let own = 1 + 4;
    for (limit, others) in [(Some(0), 0), (Some(1), 1), (Some(2), 2), (Some(3), 3), (None, 3)] {
        for (i, cpu) in [13, 15, 9].into_iter().enumerate() {
            let found = i < others;
            let n_llcs = if found { i } else { others } as u64;
            assert_eq!(search(limit, cpu).0, if found { cpu } else { 2 }, "{limit:?}");
            // An idle CPU that is found ends the scan of its LLC.
            let scanned = own + 4 * n_llcs..=own + 4 * (n_llcs + u64::from(found));
            assert!(scanned.contains(&search(limit, cpu).1), "{limit:?} {cpu}");
        }
    }
    assert_eq!(search(Some(100_000), 9), search(None, 9));
}

#[test]
fn sis_node_topoext_searches_the_neighbor_only() {
    let search = |target, idle: u32| {
        let features = Features { sis_node_topoext: true, ..sis_node() };
        let mut rig = rig_with_idle(QUAD, features, &[idle]);
        search_in(&mut rig, target, target)
    };
    // LLCs 0 and 1 are neighbors, and 2 and 3.
    assert_eq!([search(0, 11), search(2, 9)], [11, 9]);
    assert_eq!([search(0, 13), search(2, 13)], [0, 2]);
    assert_eq!([search(4, 15), search(6, 13)], [15, 13]);
}

#[test]
fn a_search_that_left_out_an_llc_says_by_which_rule() {
    let mut rig = rig_with_idle(QUAD, sis_node(), &[15]);
    rig.f.tunables.sis_node_limit = Some(1);
    assert_eq!(placed(&mut rig, 2, 2), "select_idle_node: sis_node_limit");
    rig.f.tunables.sis_node_limit = Some(3);
    assert_eq!(placed(&mut rig, 0, 4), "select_task_rq: idle CPU taken meanwhile");
    let mut rig = rig_with_idle(QUAD, Features { sis_node_topoext: true, ..sis_node() }, &[15]);
    assert_eq!(placed(&mut rig, 0, 0), "select_idle_node: SIS_NODE_TOPOEXT");
}

#[test]
fn the_search_respects_affinity() {
    let mut rig = rig_with_idle(QUAD, sis_node(), &[2, 13]);
    let n = rig.w.cpus.len();
    let mask = rig.w.mask(CpuSet::of(n, [1, 13].map(CpuId)));
    let p = rig.new_task(1, 0);
    rig.w.tasks[p].attr.allowed = mask;
    assert_eq!(search_for(&mut rig, p, 1, 1), 13);
}
