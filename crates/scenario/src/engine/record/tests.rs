//! A recording against the metrics of the same run, and against itself.

use super::*;
use crate::engine::SimulationExecutor;
use crate::engine::tests::spec;
use crate::recorded::{Came, Count, SignalsOverTime, Slice, SliceEnd};
use crate::run::Executor;

const ALL: Keep = Keep { from_ns: 0, to_ns: u64::MAX, slices_max: usize::MAX, signals: true };

fn messages() -> RunSpec {
    spec("eevdf", "", "kind = \"hackbench\"\ngroups = 2")
}

fn builds() -> RunSpec {
    spec("cfs", "features = [\"SWQUEUE\"]", "kind = \"kernel-build\"\nwork_seconds = 1")
}

fn requests() -> RunSpec {
    spec("eevdf", "", "kind = \"schbench\"\nmessage_threads = 1\nthreads = 12")
}

fn record(spec: &RunSpec, keep: Keep) -> Recorded {
    spec.record(keep, &|_| ()).expect("it makes progress")
}

fn metric(recorded: &Recorded, name: &str) -> f64 {
    let found = recorded.output.metrics.iter().find(|m| m.name == name);
    found.unwrap_or_else(|| panic!("no {name}")).value
}

fn n(counts: &[Count]) -> u64 {
    counts.iter().map(|c| c.n).sum()
}

#[test]
fn a_recorded_run_is_the_same_run() {
    for spec in [messages(), builds()] {
        let plain = SimulationExecutor.run(&spec, &|_| ()).unwrap();
        assert_eq!(record(&spec, ALL).output, plain);
    }
}

#[test]
fn turns_follow_each_other_and_are_all_the_busy_time() {
    for spec in [messages(), builds()] {
        let recorded = record(&spec, ALL);
        let (timeline, load) = (&recorded.timeline, &recorded.over_time);
        assert!(timeline.n_slices() > 500 && !timeline.is_full);
        assert_eq!((timeline.from_ns, timeline.to_ns), (0, recorded.end_ns));
        for (turns, busy) in timeline.cpus.iter().zip(&load.busy_ns) {
            for pair in turns.windows(2) {
                assert!(pair[0].at_ns + pair[0].ns <= pair[1].at_ns, "{pair:?}");
            }
            assert_eq!(turns.iter().map(|s| s.ns).sum::<u64>(), busy.iter().sum::<u64>());
        }
    }
}

#[test]
fn waits_of_woken_tasks_are_the_wakeup_latencies() {
    let recorded = record(&messages(), ALL);
    let woken = |s: &&Slice| matches!(s.came, Came::Woken | Came::ByInterrupt);
    let waits: Vec<u64> =
        recorded.timeline.cpus.iter().flatten().filter(woken).map(|s| s.waited_ns).collect();
    let longest = recorded.wakeups.last().map_or(0, |c| c.ns);
    assert_eq!(waits.iter().max(), Some(&longest));
    assert_eq!(longest as f64 * 1e-3, metric(&recorded, "wakeup_latency_max"));
    // The warm-up's are in the timeline, but not among those that are measured.
    let measured = recorded.timeline.cpus.iter().flatten().filter(woken);
    let measured = measured.filter(|s| s.at_ns > recorded.measured_from_ns).count() as u64;
    assert_eq!(n(&recorded.wakeups), measured);
}

#[test]
fn sums_over_time_and_moves_are_those_of_the_metrics() {
    let recorded = record(&builds(), ALL);
    let wasted: u64 = recorded.over_time.wasted_ns.iter().sum();
    assert_eq!(wasted as f64 * 1e-9, metric(&recorded, "idle_while_runnable"));
    assert_eq!(wasted, recorded.explanation.wasted_ns);
    let waiting = recorded.over_time.waiting_ns.iter().zip(&recorded.over_time.wasted_ns);
    assert!(waiting.clone().all(|(all, wasted)| all >= wasted) && wasted > 0);
    let levels = ["smt", "llc", "node", "remote"].map(|l| format!("migrations_{l}"));
    let counted: f64 = levels.iter().map(|name| metric(&recorded, name)).sum();
    assert_eq!(recorded.moves.iter().sum::<u64>() as f64, counted);
    let between = recorded.moves[1] + recorded.moves[2];
    assert_eq!(between as f64, metric(&recorded, "migrations_node"));
}

#[test]
fn a_turn_says_how_the_task_came_to_it() {
    let recorded = record(&builds(), ALL);
    let turns = || recorded.timeline.cpus.iter().flatten();
    for came in [Came::Woken, Came::Forked, Came::Preempted] {
        assert!(turns().any(|s| s.came == came), "{came:?}");
    }
    // A worker of schbench sleeps for a while before it works.
    let timed = record(&requests(), ALL).timeline;
    assert!(timed.cpus.iter().flatten().any(|s| s.came == Came::ByInterrupt));
    for end in [SliceEnd::Sleep, SliceEnd::Preempted, SliceEnd::Exit] {
        assert!(turns().any(|s| s.end == end), "{end:?}");
    }
    let woken = turns().filter(|s| s.came == Came::Woken);
    assert!(woken.clone().all(|s| s.waker.is_some_and(|by| by != s.task)));
    let names: Vec<_> = recorded.timeline.tasks.iter().map(|t| t.comm.as_str()).collect();
    assert!(names.contains(&"make") && names.contains(&"cc1"), "{names:?}");
    assert!(recorded.timeline.rules.len() > 2, "{:?}", recorded.timeline.rules);
}

#[test]
fn a_window_keeps_whole_turns_and_no_more_than_asked() {
    let all = record(&messages(), ALL).timeline;
    let (from_ns, to_ns) = (20_000_000, 30_000_000);
    let window = record(&messages(), Keep { from_ns, to_ns, ..ALL }).timeline;
    let expected = |s: &&Slice| s.at_ns + s.ns >= from_ns && s.at_ns < to_ns;
    for (all, window) in all.cpus.iter().zip(&window.cpus) {
        let expected: Vec<_> = all.iter().filter(expected).map(|s| (s.at_ns, s.ns)).collect();
        assert_eq!(window.iter().map(|s| (s.at_ns, s.ns)).collect::<Vec<_>>(), expected);
    }
    let few = record(&messages(), Keep { slices_max: 100, ..ALL }).timeline;
    assert_eq!((few.n_slices(), few.is_full, few.from_ns), (100, true, 0));
    assert!(few.to_ns < all.to_ns && few.cpus.iter().flatten().all(|s| s.at_ns < few.to_ns));
}

/// A hog keeps one CPU busy: its averages come to 1024 and stay there. The others idle.
#[test]
fn averages_of_the_runqueues_are_recorded_if_the_policy_has_any() {
    let hog = |policy: &str| {
        let mut spec = spec(policy, "", "kind = \"spinners\"\ntasks = 1");
        spec.until = crate::Until::Time(1_000_000_000);
        record(&spec, ALL)
    };
    for policy in ["cfs", "eevdf"] {
        let recorded = hog(policy);
        let SignalsOverTime { bucket_ns, signals } = recorded.signals.unwrap();
        let n_buckets = recorded.end_ns.div_ceil(bucket_ns) as usize;
        for rows in &signals {
            assert_eq!(rows.len(), recorded.timeline.cpus.len());
            assert!(rows.iter().all(|row| row.len() == n_buckets));
            let late: Vec<u64> = rows.iter().map(|row| row[n_buckets - 2]).collect();
            assert_eq!(late.iter().filter(|value| (1020..=1024).contains(*value)).count(), 1);
            assert_eq!(late.iter().filter(|value| **value == 0).count(), late.len() - 1);
        }
    }
    assert_eq!(hog("fifo").signals, None);
    assert_eq!(record(&messages(), Keep { signals: false, ..ALL }).signals, None);
}
