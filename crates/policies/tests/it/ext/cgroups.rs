//! Cgroups as a scheduler in Rust meets them.

use policies::ext::{CgroupInit, Cx, Ext, Ops, Rules, Tunables};
use policies::fair::GroupSpec;
use sim_core::{Config, GroupId, NoObserver, Op, Simulation, TaskAttr, TaskId, World};
use test_support::{Scripts, free_machine};

/// Writes down what it is told.
#[derive(Default)]
struct Log(Vec<String>);

impl Ops for Log {
    fn init(&mut self, cx: &mut Cx<'_>) {
        self.0.push(format!("init with {} cgroups", cx.cgroups().len()));
    }

    fn cgroup_init(&mut self, cx: &mut Cx<'_>, cgroup: GroupId, args: CgroupInit) {
        let (level, parent) = (cx.cgroup_level(cgroup), cx.cgroup_parent(cgroup));
        let parent = parent.map_or("nothing".to_string(), |parent| parent.0.to_string());
        let weight = args.weight;
        self.0.push(format!("{} at level {level} in {parent}, weight {weight}", cgroup.0));
    }

    fn init_task(&mut self, cx: &mut Cx<'_>, p: TaskId, _parent: Option<TaskId>) {
        self.0.push(format!("task {} in {}", p.0, cx.task_cgroup(p).0));
    }
}

fn run(groups: &[GroupSpec], of: &[u16]) -> Vec<String> {
    let attr = |group: &u16| TaskAttr { group: GroupId(*group), ..TaskAttr::default() };
    let tasks = of.iter().map(|group| (attr(group), vec![Op::Exit])).collect();
    let w = World::new(free_machine(2).into(), Config::default());
    let policy = Ext::new(Log::default(), Rules::V6_18, Tunables::default()).with_groups(groups);
    let mut sim = Simulation::new(w, policy, Scripts(tasks), NoObserver);
    sim.run_until(1_000_000);
    sim.policy.ops.0
}

#[test]
fn cgroups_are_there_before_tasks_and_parents_before_children() {
    let outer = GroupSpec { cpu_weight: 40, ..GroupSpec::default() };
    let inner = GroupSpec { parent: GroupId(1), cpu_weight: 300, ..outer };
    let autogroup = GroupSpec { is_autogroup: true, ..GroupSpec::default() };
    assert_eq!(
        run(&[outer, autogroup, outer, inner], &[4, 2, 0]),
        [
            "init with 4 cgroups",
            "0 at level 0 in nothing, weight 100",
            "1 at level 1 in 0, weight 40",
            "4 at level 2 in 1, weight 300",
            "3 at level 1 in 0, weight 40",
            "task 0 in 4",
            "task 1 in 0",
            "task 2 in 0",
        ]
    );
}

#[test]
fn without_task_groups_there_is_the_root() {
    assert_eq!(
        run(&[], &[0]),
        ["init with 1 cgroups", "0 at level 0 in nothing, weight 100", "task 0 in 0"]
    );
}
