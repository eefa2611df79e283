//! Task groups with a limit of CPU time (`cpu.max`): what they use, what they are told, and what it
//! costs where the limit is not felt.

use crate::nested::{Hogs, Kernel, MS, With, kernels};
use policies::fair::{BandwidthStat, CpuMax, Discipline, Fair, GroupSpec, Rules};
use proptest::prelude::*;
use sim_core::{Config, NoObserver, Ns, Policy};
use test_support::{free_machine, simulate};
use topology::CpuId;

const ALL: [Kernel; 4] = [
    Kernel::Cfs,
    Kernel::Eevdf(Rules::V6_6, 0),
    Kernel::Eevdf(Rules::V6_12, 0),
    Kernel::Eevdf(Rules::V6_18, 0),
];

/// Hogs in these groups on so many CPUs.
struct Run {
    groups: Vec<u16>,
    n_cpus: u32,
    until: Ns,
}

/// What came of it.
struct Out {
    /// CPU time of each hog, ns.
    ran: Vec<Ns>,
    stat: BandwidthStat,
    idle: Ns,
}

impl With for Run {
    type Out = Out;

    fn with<S: Discipline>(self, policy: Fair<S>) -> Out {
        let program = Hogs(self.groups);
        let machine = free_machine(self.n_cpus);
        let mut sim = simulate(machine, Config::default(), policy, program, NoObserver);
        sim.run_until(self.until);
        let results = sim.policy.results();
        let of = |name| results.iter().find(|(known, _)| *known == name).map_or(0.0, |(_, n)| *n);
        let stat = BandwidthStat {
            nr_periods: of("nr_periods") as u64,
            nr_throttled: of("nr_throttled") as u64,
            throttled_ns: (of("throttled_usec") * 1000.0) as Ns,
        };
        let ran: Vec<Ns> = sim.policy.tasks.iter().map(|se| se.sum_exec_runtime).collect();
        let idle = Ns::from(self.n_cpus) * self.until - ran.iter().sum::<Ns>();
        Out { ran, stat, idle }
    }
}

fn run(kernel: Kernel, n_cpus: u32, max: Option<CpuMax>, groups: &[u16], until: Ns) -> Out {
    let specs = [GroupSpec { max, ..GroupSpec::default() }];
    kernel.run(n_cpus as usize, &specs, Run { groups: groups.to_vec(), n_cpus, until })
}

#[test]
fn a_hog_has_its_quota_of_each_period_and_no_more() {
    for kernel in ALL {
        let max = Some(CpuMax::of_100_ms(30 * MS));
        let out = run(kernel, 1, max, &[1], 10_000 * MS);
        let part = out.ran[0] as f64 / 1e10;
        assert!((part - 0.3).abs() < 0.003, "{kernel:?}: {part}");
        // It is throttled in each period, for the rest of it.
        let BandwidthStat { nr_periods, nr_throttled, throttled_ns } = out.stat;
        assert!(nr_periods >= 99 && nr_throttled + 1 >= nr_periods, "{kernel:?}: {:?}", out.stat);
        assert!(throttled_ns.abs_diff(nr_throttled * 70 * MS) < 80 * MS, "{:?}", out.stat);
    }
}

#[test]
fn others_have_what_a_group_may_not_use() {
    for kernel in ALL {
        let max = Some(CpuMax::of_100_ms(20 * MS));
        let out = run(kernel, 1, max, &[1, 1, 0], 10_000 * MS);
        let group = (out.ran[0] + out.ran[1]) as f64 / 1e10;
        assert!((group - 0.2).abs() < 0.005, "{kernel:?}: {group}");
        assert!(out.idle < MS, "{kernel:?}: {} ns idle", out.idle);
    }
}

#[test]
fn a_limit_of_several_cpus_is_shared_by_their_queues() {
    for kernel in ALL {
        let max = Some(CpuMax::of_100_ms(150 * MS));
        let out = run(kernel, 4, max, &[1; 4], 10_000 * MS);
        let cpus = out.ran.iter().sum::<Ns>() as f64 / 1e10;
        assert!((cpus - 1.5).abs() < 0.02, "{kernel:?}: {cpus}");
    }
}

#[test]
fn a_limit_that_is_not_felt_changes_nothing() {
    for kernel in ALL {
        let max = Some(CpuMax::of_100_ms(450 * MS));
        let free = run(kernel, 4, None, &[1; 4], 2_000 * MS);
        let limited = run(kernel, 4, max, &[1; 4], 2_000 * MS);
        assert_eq!((free.ran, free.idle), (limited.ran, limited.idle), "{kernel:?}");
        assert_eq!(limited.stat.nr_throttled, 0);
    }
}

#[test]
fn a_limit_of_the_parent_holds_for_its_children_together() {
    for kernel in ALL {
        let specs = [
            GroupSpec { max: Some(CpuMax::of_100_ms(50 * MS)), ..GroupSpec::default() },
            GroupSpec { parent: sim_core::GroupId(1), cpu_weight: 300, ..GroupSpec::default() },
            GroupSpec { parent: sim_core::GroupId(1), ..GroupSpec::default() },
        ];
        let groups = vec![2, 3];
        let out = kernel.run(1, &specs, Run { groups, n_cpus: 1, until: 20_000 * MS });
        let parts = [0, 1].map(|i| out.ran[i] as f64 / 2e10);
        assert!((parts[0] - 0.375).abs() < 0.01, "{kernel:?}: {parts:?}");
        assert!((parts[1] - 0.125).abs() < 0.01, "{kernel:?}: {parts:?}");
    }
}

/// A group that may run again joins a parent that has been running meanwhile.
#[test]
fn a_limit_of_a_child_leaves_the_rest_to_its_sibling() {
    for kernel in ALL {
        let child = GroupSpec { parent: sim_core::GroupId(1), ..GroupSpec::default() };
        let max = Some(CpuMax::of_100_ms(20 * MS));
        let specs = [GroupSpec::default(), GroupSpec { max, ..child }, child];
        let out =
            kernel.run(1, &specs, Run { groups: vec![2, 3, 0], n_cpus: 1, until: 20_000 * MS });
        let parts = [0, 1, 2].map(|i| out.ran[i] as f64 / 2e10);
        // Half is the parent's, and the limit is below a quarter.
        for (part, expected) in parts.iter().zip([0.2, 0.3, 0.5]) {
            assert!((part - expected).abs() < 0.02, "{kernel:?}: {parts:?}");
        }
    }
}

/// Weight and number of tasks of CPU 0's own queue, 10 ms before and after each period's beginning.
struct RootQueue(Vec<u16>);

impl With for RootQueue {
    type Out = Vec<(u64, u32)>;

    fn with<S: Discipline>(self, policy: Fair<S>) -> Self::Out {
        let program = Hogs(self.0);
        let mut sim = simulate(free_machine(1), Config::default(), policy, program, NoObserver);
        let at =
            (1..10).flat_map(|period| [period * 100 * MS - 10 * MS, period * 100 * MS + 10 * MS]);
        at.map(|until| {
            sim.run_until(until);
            let rq = &sim.policy.rqs[CpuId(0)];
            (rq.load_weight, rq.h_nr_running)
        })
        .collect()
    }
}

/// A child of a group comes back while the group is queued for its sibling: the group is not queued
/// a second time (`unthrottle_cfs_rq`: `if (se->on_rq) break`, v6.4).
#[test]
fn a_group_that_is_queued_is_not_queued_anew_when_its_child_comes_back() {
    for kernel in ALL {
        let child = GroupSpec { parent: sim_core::GroupId(1), ..GroupSpec::default() };
        let max = Some(CpuMax::of_100_ms(20 * MS));
        let specs = [GroupSpec::default(), GroupSpec { max, ..child }, child];
        let seen = kernel.run(1, &specs, RootQueue(vec![2, 3, 0]));
        // A group and a hog weigh as two tasks, whether the child has time left or not.
        assert!(seen.iter().all(|(weight, _)| *weight == 2048), "{kernel:?}: {seen:?}");
        assert!([2, 3].iter().all(|n| seen.iter().any(|(_, tasks)| tasks == n)), "{kernel:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// In any time a group uses no more than the quotas of the periods that it touches, what it has
    /// saved up, and on each CPU a slice and what runs until the tick that finds it out.
    #[test]
    fn no_group_uses_more_than_its_quota(
        kernel in kernels(),
        n_cpus in 1u32..=4,
        n_hogs in 1usize..8,
        (period, part, burst) in (5u64..50, 1u64..8, 0u64..2),
        until in 200u64..1500,
    ) {
        let max = CpuMax {
            quota_ns: period * part * MS / 4,
            period_ns: period * MS,
            burst_ns: burst * period * part * MS / 8,
        };
        let out = run(kernel, n_cpus, Some(max), &vec![1; n_hogs], until * MS);
        let used: Ns = out.ran.iter().sum();
        let quotas = (until / period + 1) * max.quota_ns + max.burst_ns;
        let slack = Ns::from(n_cpus) * (5 + 4) * MS;
        prop_assert!(used <= quotas + slack, "{} of {}", used, quotas);
        // Nor less, if it could use it: a slice per CPU and period may be left over at its end.
        let could = (until * MS * Ns::from(n_cpus).min(n_hogs as Ns)).min(until / period * max.quota_ns);
        let lost = (until / period + 1) * Ns::from(n_cpus) * MS + slack;
        prop_assert!(used + lost >= could, "{} of {}", used, could);
    }
}
