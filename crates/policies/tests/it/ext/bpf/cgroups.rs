//! Cgroups: what an object is told of them, and what it can do with that (`cgroups.c`, `shares.c`).

use super::{MS, load, machines, object};
use policies::ext::bpf::Bpf;
use policies::ext::{Ext, Rules, Tunables};
use policies::fair::{CpuMax, GroupSpec};
use sim_core::{
    Config, GroupId, NoObserver, Ns, Op, Simulation, StopReason, TaskAttr, TaskId, World,
};
use test_support::Scripts;
use topology::Machine;

const NONE: u64 = 0;
const CGROUP: u64 = 1;
const LIMIT: u64 = 2;
const TASK: u64 = 3;
const STORED: u64 = 4;
const ANCESTORS: u64 = 5;
const WALK: u64 = 6;
const FOREIGN: u64 = 7;
const UNLOCKED: u64 = 8;
const ERROR: u64 = 9;
const IN_USE: u64 = 10;

fn spec(parent: u16, cpu_weight: u32) -> GroupSpec {
    GroupSpec { parent: GroupId(parent), cpu_weight, ..GroupSpec::default() }
}

/// ```text
/// root, 1 (weight 50),  3 (200), 4 (7)
///       2 (an autogroup)
///       5 (10000)
/// ```
fn groups() -> Vec<GroupSpec> {
    let autogroup = GroupSpec { is_autogroup: true, ..GroupSpec::default() };
    vec![spec(0, 50), autogroup, spec(1, 200), spec(3, 7), spec(0, 10_000)]
}

type Sim = Simulation<Ext<Bpf>, Scripts, NoObserver>;

/// A run on these task groups with tasks that never sleep, one in each of `of`.
fn simulate(
    (name, set): (&str, &[(&str, u64)]),
    rules: Rules,
    machine: &Machine,
    groups: &[GroupSpec],
    of: &[u16],
) -> Sim {
    let mut object = object(name);
    for (name, value) in set {
        object.set_int(name, *value).unwrap();
    }
    let scheduler = load(&object, rules, machine).unwrap();
    let policy = Ext::new(Bpf::new(&scheduler), rules, Tunables::default()).with_groups(groups);
    let w = World::new(machine.clone().into(), Config::default());
    let attr = |group: &u16| TaskAttr { group: GroupId(*group), ..TaskAttr::default() };
    let tasks = of.iter().map(|group| (attr(group), vec![Op::Run(Ns::MAX)])).collect();
    Simulation::new(w, policy, Scripts(tasks), NoObserver)
}

/// What the object says when it is told to stop there, with tasks in these groups.
fn said(stop_at: u64, set: &[(&str, u64)], rules: Rules, of: &[u16]) -> String {
    let set: Vec<_> = [("stop_at", stop_at)].into_iter().chain(set.iter().copied()).collect();
    let mut sim = simulate(("cgroups", &set), rules, &machines()[0], &groups(), of);
    let end = format!("{:?}", sim.run_until(50 * MS));
    // Before what it says stands where it says so.
    let text = end.strip_prefix("GivenUp(\"").and_then(|end| end.strip_suffix("\")"));
    let text = text.and_then(|text| text.rsplit("): ").next()).map(str::to_string);
    text.map_or(end, |text| text.replace("scx_bpf_error: ", ""))
}

fn nth(stop_at: u64, n: u64) -> String {
    said(stop_at, &[("nth", n)], Rules::V6_12, &[1, 4, 2, 4])
}

#[test]
fn a_scheduler_is_told_of_each_cgroup_before_what_it_holds() {
    let all: Vec<String> = (0..6).map(|n| nth(CGROUP, n)).collect();
    assert_eq!(
        all,
        [
            "id 1, level 0, weight 100, in 0",
            "id 2, level 1, weight 50, in 1",
            "id 4, level 2, weight 200, in 2",
            "id 5, level 3, weight 7, in 4",
            "id 6, level 1, weight 10000, in 1",
            "Until",
        ]
    );
}

/// One in an autogroup is in the root.
#[test]
fn a_task_comes_with_its_cgroup_when_all_cgroups_are_known() {
    let all: Vec<String> = (0..5).map(|n| nth(TASK, n)).collect();
    assert_eq!(
        all,
        [
            "pid 1000 in 2, tasks 1, cgroups 5",
            "pid 1001 in 5, tasks 1, cgroups 5",
            "pid 1002 in 1, tasks 1, cgroups 5",
            "pid 1003 in 5, tasks 2, cgroups 5",
            "Until",
        ]
    );
}

#[test]
fn what_is_kept_for_a_cgroup_is_found_by_its_tasks() {
    assert_eq!(said(STORED, &[], Rules::V6_12, &[4, 2, 2]), "pid 1000 in 5, tasks 1, cgroups 5");
    assert_eq!(said(STORED, &[], Rules::V6_12, &[0, 2]), "Until", "they are the root's");
}

#[test]
fn ancestors_are_found_by_their_level() {
    assert_eq!(said(ANCESTORS, &[], Rules::V6_12, &[4]), "5421");
    assert_eq!(said(ANCESTORS, &[], Rules::V6_12, &[5]), "61");
    assert_eq!(said(ANCESTORS, &[], Rules::V6_12, &[2]), "1");
}

#[test]
fn an_iterator_goes_down_in_both_orders_and_up() {
    let walk = |start, way| said(WALK, &[("start", start), ("way", way)], Rules::V6_12, &[0]);
    assert_eq!(walk(1, 2), "12456");
    assert_eq!(walk(2, 2), "245");
    assert_eq!(walk(1, 3), "54261");
    assert_eq!(walk(5, 4), "5421");
    let none = "ffffffffffffffff";
    assert_eq!(walk(3, 2), none, "an autogroup");
    assert_eq!(walk(7, 2), none, "no cgroup has this id");
    assert_eq!(walk(1, 1), none, "no such way");
}

/// `cpu.max` is the scheduler's to keep, and later kernels tell it.
#[test]
fn limits_are_told_by_kernels_that_have_them() {
    let told = |rules, n| said(LIMIT, &[("nth", n)], rules, &[0]);
    assert_eq!(told(Rules::V6_12, 1), "Until");
    let no_limit = format!("{} of 100000 us, burst 0", u64::MAX);
    assert_eq!(told(Rules::V6_18, 1), no_limit);
    let max = CpuMax { quota_ns: 30 * MS, period_ns: 50 * MS, burst_ns: 2 * MS };
    let set = [("stop_at", LIMIT), ("nth", 1)];
    let groups = [GroupSpec { max: Some(max), ..spec(0, 100) }];
    let mut sim = simulate(("cgroups", &set), Rules::V6_18, &machines()[0], &groups, &[0]);
    let end = format!("{:?}", sim.run_until(MS));
    assert!(end.contains("30000 of 50000 us, burst 2000"), "{end}");
}

#[test]
fn faults_with_cgroups_end_the_run() {
    let said = |fault| said(fault, &[("nth", 2)], Rules::V6_12, &[1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    let foreign = "scx_bpf_task_cgroup called on a task not being operated on";
    assert!(said(FOREIGN).starts_with(foreign), "{}", said(FOREIGN));
    assert!(said(UNLOCKED).starts_with(foreign), "{}", said(UNLOCKED));
    assert_eq!(said(ERROR), "CgroupInit failed with error -28");
    let in_use = said(IN_USE);
    assert!(in_use.starts_with("attempting to destroy in-use dsq 0x2 (nr="), "{in_use}");
    assert_eq!(said(NONE), "Until");
}

/// Two groups that never sleep, of weights 100 and 300: one has a quarter of the CPUs' time,
/// however many tasks each has. Run time is charged when a task stops, so what they have may
/// differ from that by one slice on every CPU: two ticks of 4 ms, 0.4 % of 2 s, which is 1.6 % of
/// a quarter and 0.5 % of the rest.
#[test]
fn saturated_cgroups_share_by_their_weights() {
    for machine in machines() {
        for rules in [Rules::V6_12, Rules::V6_18] {
            let n = machine.n_cpus();
            // Each group has tasks for all CPUs, else it could not use what it is given.
            let of: Vec<u16> = [vec![1; n + n / 4], vec![2; 2 * n]].concat();
            let groups = [spec(0, 100), spec(0, 300)];
            let mut sim = simulate(("shares", &[]), rules, &machine, &groups, &of);
            assert_eq!(sim.run_until(2000 * MS), StopReason::Until);
            sim.policy.check(&sim.w).unwrap();
            let ran = |group| {
                let of_group = of.iter().zip(0..).filter(|(own, _)| **own == group);
                of_group.map(|(_, p)| sim.w.ran_ns(TaskId(p)) as f64).sum::<f64>()
            };
            let ratio = ran(2) / ran(1);
            assert!((ratio / 3.0 - 1.0).abs() < 0.03, "{n} CPUs, {rules:?}: {ratio}");
        }
    }
}
