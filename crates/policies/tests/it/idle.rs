//! An idle CPU that is told to reschedule and has nothing to run.

use policies::fair::Rules;
use sim_core::{Config, MaskId, NoObserver, Ns, Op, Policy, Simulation, TaskAttr, World};
use test_support::{Scripts, eevdf, free_machine};
use topology::{CpuId, CpuSet};

const MS: Ns = 1_000_000;

/// How often newidle balance searched while two hogs shared CPU 0, which they may not leave, and
/// CPU 1 was asked to balance on behalf of idle CPUs.
fn searches(rules: Rules) -> f64 {
    let machine = free_machine(2);
    let n = machine.n_cpus();
    let mut w = World::new(machine.into(), Config::default());
    let allowed = w.mask(CpuSet::of(n, [CpuId(0)]));
    assert_ne!(allowed, MaskId::ALL);
    let hog = (TaskAttr { allowed, ..TaskAttr::default() }, vec![Op::Run(1000 * MS)]);
    let hogs = Scripts(vec![hog.clone(), hog]);
    let mut sim = Simulation::new(w, eevdf(rules, 0, n), hogs, NoObserver);
    sim.run_until(500 * MS);
    assert!(sim.w.cpus[CpuId(1)].stat.kept > 10, "it was told to");
    let results = sim.policy.results();
    results.iter().find(|(name, _)| *name == "newidle_attempts").expect("a counter").1
}

/// SM_IDLE of v6.12: `schedule_idle()` goes back to the idle task without a pick, so without
/// `sched_balance_newidle()`.
#[test]
fn an_idle_cpu_without_tasks_is_not_newly_idle_again() {
    assert!(searches(Rules::V6_6) > 10.0);
    assert_eq!(searches(Rules::V6_12), 0.0);
    assert_eq!(searches(Rules::V6_18), 0.0);
}
