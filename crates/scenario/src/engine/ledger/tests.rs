//! The ledger adds up, whatever runs; and what a rule is blamed for goes away with the rule.

use super::super::tests::spec;
use super::super::{RunSpec, SimulationExecutor};
use crate::run::Executor;
use crate::{Explanation, Until};

/// More make jobs than CPUs.
const BUILD: &str = "kind = \"kernel-build\"\nwork_seconds = 3\nobjects = 300\njobs = 12";
/// More tasks that sleep and wake than CPUs.
const SHORT: &str = "kind = \"short\"\ntasks = 24\nrun_ns = 20000\nsleep_ns = 50000";
/// Idle times that are not worth a balance.
const NET: &str = "kind = \"netperf\"\ntest = \"UDP_RR\"\nclients = 7\nservice_ns = 2000";
/// Workers that may not leave their LLC, and those that wait for them.
const CRYPT: &str = "kind = \"dm-crypt\"\nnumjobs = 2\nhash_mb_s = 590\ncrypt_mb_s = 234";

fn explain(spec: &RunSpec) -> Explanation {
    spec.explain(&|_| ()).unwrap()
}

/// The ledger of a run, which must add up to what the same run measures unwatched.
fn checked(spec: &RunSpec) -> Explanation {
    let x = explain(spec);
    let rules: u64 = x.rules.iter().map(|r| r.total_ns()).sum();
    let blame: u64 = x.blame.iter().map(|b| b.ns).sum();
    assert_eq!((rules, blame), (x.wasted_ns, x.wasted_ns));
    let output = SimulationExecutor.run(spec, &|_| ()).unwrap();
    let metric = output.metrics.iter().find(|m| m.name == "idle_while_runnable").unwrap();
    assert_eq!(metric.value, x.wasted_ns as f64 * 1e-9);
    assert!(x.longest.is_sorted_by(|a, b| a.ns >= b.ns), "{:?}", x.longest);
    assert_eq!(x.longest.is_empty(), x.wasted_ns == 0);
    for wait in &x.longest {
        assert!(wait.ns <= x.wasted_ns && x.rules.iter().any(|r| r.name == wait.rule), "{wait:?}");
    }
    for r in &x.rules {
        // A stopper is no task, whose waits are told one by one.
        let in_waits = if r.name.starts_with("migration") { 0 } else { r.total_ns() };
        assert_eq!(r.waits.total_ns, in_waits, "{r:?}");
        assert!(r.waits.max_ns <= x.longest[0].ns, "{r:?}");
    }
    x
}

/// Time that a rule, chosen by what its name contains, is to blame for, ns.
fn of(x: &Explanation, rule: &str) -> u64 {
    x.rules.iter().filter(|r| r.name.contains(rule)).map(|r| r.total_ns()).sum()
}

#[test]
fn the_ledger_adds_up_and_the_fair_class_says_why() {
    for policy in ["cfs", "eevdf", "fifo", "llc-fifo", "fcfs"] {
        for load in [BUILD, SHORT, NET] {
            let x = checked(&spec(policy, "", load));
            assert!(x.wasted_ns > 0, "{policy} {load}");
            if policy != "fcfs" {
                assert_eq!(of(&x, "untold"), 0, "{policy} {load}: {x:#?}");
            }
        }
    }
}

#[test]
fn with_a_shared_wakequeue_too() {
    for load in [BUILD, SHORT, NET] {
        let x = checked(&spec("cfs", "features = [\"SWQUEUE\"]", load));
        assert_eq!(of(&x, "untold"), 0, "{load}: {x:#?}");
    }
}

#[test]
fn pinned_tasks_are_paired_with_cpus_that_they_may_use() {
    for scope in ["cache", "cpu"] {
        let variant = format!("workqueue = {{ scope = \"{scope}\", strict = true }}");
        let x = checked(&spec("cfs", &variant, CRYPT));
        assert!(x.wasted_ns > 0, "{scope}");
        assert_eq!(of(&x, "untold"), 0, "{scope}: {x:#?}");
    }
}

#[test]
fn a_rule_that_is_switched_off_is_blamed_no_more() {
    let with = |features: &str, load| {
        let mut spec = spec("cfs", &format!("features = [{features}]"), load);
        spec.until = Until::Time(500_000_000);
        explain(&spec)
    };
    let x = with("", SHORT);
    assert!(of(&x, "SIS_UTIL") > 0, "{x:?}");
    assert_eq!(of(&with("\"NO_SIS_UTIL\"", SHORT), "SIS_UTIL"), 0);
    let x = with("", NET);
    assert!(of(&x, "avg_idle") > 0, "{x:?}");
    assert_eq!(of(&with("\"NO_NEWIDLE_AVG_IDLE\"", NET), "avg_idle"), 0);
    let x = with("\"NO_SIS_UTIL\"", BUILD);
    assert!(of(&x, "LLC has no idle CPU") > 0, "{x:?}");
    let x = with("\"NO_SIS_UTIL\", \"SIS_NODE\"", BUILD);
    assert_eq!(of(&x, "LLC has no idle CPU"), 0, "{x:?}");
}

#[test]
fn a_task_alone_waits_for_its_own_cpu_only() {
    let x = checked(&spec("cfs", "", "kind = \"spinners\"\ntasks = 1"));
    assert_eq!(of(&x, "idle exit"), x.wasted_ns, "{x:?}");
}

/// Three hogs in a group of half a CPU: three CPUs idle most of the time, and wait for nobody.
#[test]
fn a_cpu_whose_tasks_are_throttled_says_so() {
    let load = "kind = \"spinners\"\ntasks = 3\ncpu_max = 10_000\ncpu_max_period = 20_000";
    let found = checked(&spec("eevdf", "", load));
    let expected = 3.0 * 200e6 - 0.5 * 200e6;
    assert!((found.throttled_ns as f64 - expected).abs() < 0.1 * expected, "{found:?}");
    assert_eq!(checked(&spec("eevdf", "", "kind = \"spinners\"\ntasks = 3")).throttled_ns, 0);
}
