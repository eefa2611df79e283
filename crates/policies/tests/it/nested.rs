//! Task groups in task groups, under CFS and EEVDF of every kernel: shares, the books after every
//! event, and twins.

use crate::groups::Crowd;
use policies::fair::features::{Features, Tunables};
use policies::fair::{CpuMax, Discipline, Fair, GroupSpec, Rules};
use proptest::prelude::*;
use sim_core::{Config, GroupId, NoObserver, Ns, Op, Program, ProgramCx, TaskAttr, TaskId};
use test_support::{
    FairChecks, Random, eevdf, eevdfs, fingerprint_of, free_machine, grouped_eevdf, run_checked,
    shapes, simulate,
};
use topology::Machine;

pub(crate) const MS: Ns = 1_000_000;

/// CFS, or EEVDF of these rules with these features turned around.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kernel {
    Cfs,
    Eevdf(Rules, u16),
}

/// Something to do with a policy, whichever it is.
pub(crate) trait With {
    type Out;
    fn with<S: Discipline>(self, policy: Fair<S>) -> Self::Out;
}

impl Kernel {
    pub(crate) fn run<T: With>(self, n_cpus: usize, groups: &[GroupSpec], job: T) -> T::Out {
        match self {
            Self::Cfs => {
                job.with(Fair::with_groups(Features::default(), Tunables::for_cpus(n_cpus), groups))
            }
            Self::Eevdf(rules, bits) => job.with(grouped_eevdf((rules, bits), n_cpus, groups)),
        }
    }
}

pub(crate) fn kernels() -> impl Strategy<Value = Kernel> {
    let eevdf = eevdfs().prop_map(|(rules, bits)| Kernel::Eevdf(rules, bits));
    prop_oneof![1 => Just(Kernel::Cfs), 3 => eevdf]
}

/// Up to four groups, each in the root or in one before it, and in which of them each of some tasks
/// is (0: the root).
fn hierarchies() -> impl Strategy<Value = (Vec<GroupSpec>, Vec<u16>)> {
    let group = (10u32..=1000, any::<u16>());
    prop::collection::vec(group, 1..5).prop_flat_map(|groups| {
        let spec = |(i, (cpu_weight, parent)): (usize, &(u32, u16))| GroupSpec {
            cpu_weight: *cpu_weight,
            parent: GroupId(parent % (i as u16 + 1)),
            ..GroupSpec::default()
        };
        let specs: Vec<_> = groups.iter().enumerate().map(spec).collect();
        let n = specs.len() as u16;
        (Just(specs), prop::collection::vec(0..=n, 2..20))
    })
}

/// The same, some of them with a limit of CPU time that they feel within a short run.
fn limited() -> impl Strategy<Value = (Vec<GroupSpec>, Vec<u16>)> {
    let max = (1u64..20, 1u64..5, 0u64..2).prop_map(|(period, part, burst)| CpuMax {
        quota_ns: period * part * MS / 4 + MS / 10,
        period_ns: period * MS,
        burst_ns: burst * period * MS / 8,
    });
    let maxes = prop::collection::vec(prop::option::of(max), 4);
    (hierarchies(), maxes).prop_map(|((mut specs, tasks), maxes)| {
        specs.iter_mut().zip(maxes).for_each(|(spec, max)| spec.max = max);
        (specs, tasks)
    })
}

/// Hogs in these groups.
#[derive(Clone, Debug)]
pub(crate) struct Hogs(pub Vec<u16>);

impl Program for Hogs {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        for group in self.0.clone() {
            cx.start_task(TaskAttr { group: GroupId(group), ..TaskAttr::default() });
        }
    }

    fn next(&mut self, _cx: &mut ProgramCx<'_>, _task: TaskId) -> Op {
        Op::Run(Ns::MAX)
    }
}

/// CPU time of each hog on a machine of one CPU.
struct Shares {
    groups: Vec<u16>,
    until: Ns,
}

impl With for Shares {
    type Out = Vec<f64>;

    fn with<S: Discipline>(self, policy: Fair<S>) -> Vec<f64> {
        let program = Hogs(self.groups);
        let mut sim = simulate(free_machine(1), Config::default(), policy, program, NoObserver);
        sim.run_until(self.until);
        sim.policy.tasks.iter().map(|se| se.sum_exec_runtime as f64).collect()
    }
}

/// What part of a CPU each hog has by the weights: of its group's part, and so on.
fn closed_form(specs: &[GroupSpec], hogs: &[u16]) -> Vec<f64> {
    let busy = |group: u16| {
        let below = |mut at: u16| loop {
            if at == group {
                return true;
            } else if at == 0 {
                return false;
            }
            at = specs[usize::from(at) - 1].parent.0;
        };
        hogs.iter().any(|g| below(*g))
    };
    // The weight on the queue of a group: its tasks, and the groups in it that have some.
    let total = |group: u16| {
        let tasks = 1024.0 * hogs.iter().filter(|g| **g == group).count() as f64;
        let children = (1..=specs.len() as u16)
            .filter(|c| specs[usize::from(*c) - 1].parent.0 == group && busy(*c));
        tasks + children.map(|c| f64::from(specs[usize::from(c) - 1].weight())).sum::<f64>()
    };
    let part_of = |group: u16| {
        let (mut part, mut at) = (1.0, group);
        while at != 0 {
            let spec = specs[usize::from(at) - 1];
            part *= f64::from(spec.weight()) / total(spec.parent.0);
            at = spec.parent.0;
        }
        part
    };
    hogs.iter().map(|g| part_of(*g) * 1024.0 / total(*g)).collect()
}

#[test]
fn groups_of_groups_divide_a_cpu_as_their_weights_say() {
    let spec = |cpu_weight, parent| GroupSpec {
        cpu_weight,
        parent: GroupId(parent),
        ..GroupSpec::default()
    };
    // A user's slice with a session of three and a service beside it, and a system's slice.
    let specs = [spec(100, 0), spec(300, 1), spec(100, 1), spec(200, 0)];
    let hogs = [2, 2, 2, 3, 4, 0];
    let expected = closed_form(&specs, &hogs);
    assert_eq!(expected[4], 0.5);
    for kernel in [
        Kernel::Cfs,
        Kernel::Eevdf(Rules::V6_6, 0),
        Kernel::Eevdf(Rules::V6_12, 0),
        Kernel::Eevdf(Rules::V6_18, 0),
    ] {
        let until = 40_000 * MS;
        let ran = kernel.run(1, &specs, Shares { groups: hogs.to_vec(), until });
        for (got, part) in ran.iter().zip(&expected) {
            let got = got / until as f64;
            assert!((got - part).abs() < 0.005, "{kernel:?}: {ran:?} of {expected:?}");
        }
    }
}

/// Runs a crowd and checks every invariant after every event.
struct Check {
    machine: Machine,
    crowd: Crowd,
}

impl With for Check {
    type Out = Result<(), String>;

    fn with<S: Discipline>(self, policy: Fair<S>) -> Result<(), String> {
        let config = Config { user_group: GroupId(1), ..Config::default() };
        let mut sim = simulate(self.machine, config, policy, self.crowd, NoObserver);
        let mut checks = FairChecks::default();
        run_checked(&mut sim, 150 * MS, |sim| checks.check(sim)).map(|_| ())
    }
}

struct Fingerprint<'a> {
    machine: &'a Machine,
    crowd: Crowd,
    every_tick: bool,
}

impl With for Fingerprint<'_> {
    type Out = String;

    fn with<S: Discipline>(self, policy: Fair<S>) -> String {
        fingerprint_of(self.machine, policy, self.every_tick, self.crowd, 300 * MS)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn hogs_share_a_cpu_as_the_weights_of_all_levels_say(
        (specs, hogs) in hierarchies(),
        kernel in prop_oneof![
            Just(Kernel::Cfs),
            Just(Kernel::Eevdf(Rules::V6_6, 0)),
            Just(Kernel::Eevdf(Rules::V6_12, 0)),
            Just(Kernel::Eevdf(Rules::V6_18, 0)),
        ],
    ) {
        let until = 40_000 * MS;
        let ran = kernel.run(1, &specs, Shares { groups: hogs.clone(), until });
        // A turn too many or too few, on each level.
        let most_off = 8.0 * (24.0_f64.max(3.0 * hogs.len() as f64) + 4.0) * MS as f64;
        for (got, part) in ran.iter().zip(closed_form(&specs, &hogs)) {
            let off = (got - part * until as f64).abs();
            prop_assert!(off <= most_off, "{} ms off: {:?}", off / MS as f64, ran);
        }
    }

    #[test]
    fn books_of_nested_groups_are_in_order(
        shape in shapes(),
        (specs, groups) in hierarchies(),
        kernel in kernels(),
        seed in 1u64..1 << 60,
    ) {
        let machine = shape.machine();
        let n_cpus = machine.n_cpus();
        let crowd = Crowd { groups, random: Random::new(seed) };
        let end = kernel.run(n_cpus, &specs, Check { machine, crowd });
        prop_assert!(end.is_ok(), "{:?}", end);
    }

    #[test]
    fn books_of_throttled_groups_are_in_order(
        shape in shapes(),
        (specs, groups) in limited(),
        kernel in kernels(),
        seed in 1u64..1 << 60,
    ) {
        let machine = shape.machine();
        let n_cpus = machine.n_cpus();
        let crowd = Crowd { groups, random: Random::new(seed) };
        let end = kernel.run(n_cpus, &specs, Check { machine, crowd });
        prop_assert!(end.is_ok(), "{:?}", end);
    }

    #[test]
    fn computed_ticks_equal_simulated_ones_in_nested_groups(
        shape in shapes(),
        (specs, groups) in prop_oneof![hierarchies(), limited()],
        kernel in kernels(),
        seed in 1u64..1 << 60,
    ) {
        let machine = shape.machine();
        let crowd = Crowd { groups, random: Random::new(seed) };
        let both = [false, true].map(|every_tick| {
            let job = Fingerprint { machine: &machine, crowd: crowd.clone(), every_tick };
            kernel.run(machine.n_cpus(), &specs, job)
        });
        prop_assert_eq!(&both[0], &both[1]);
    }

    /// On one CPU, where no decision needs a task's load, groups without tasks change nothing.
    #[test]
    fn a_root_group_alone_is_flat_eevdf(
        (rules, bits) in eevdfs(),
        n in 1usize..12,
        seed in 1u64..1 << 60,
    ) {
        let machine = Machine::regular(topology::RegularSpec {
            cores_per_llc: 1,
            threads_per_core: 1,
            ..topology::RegularSpec::default()
        });
        let crowd = Crowd { groups: vec![0; n], random: Random::new(seed) };
        let flat = fingerprint_of(&machine, eevdf(rules, bits, 8), false, crowd.clone(), 500 * MS);
        let grouped = grouped_eevdf((rules, bits), 8, &[GroupSpec::default()]);
        prop_assert_eq!(flat, fingerprint_of(&machine, grouped, false, crowd, 500 * MS));
    }
}
