//! The cgroups of a run, as a scheduler of the sched_ext shape knows them.
//!
//! They are the scenario's task groups that are cgroups, and the root. An autogroup is a task group
//! without a cgroup: its tasks count as the root's (`tg_cgrp()`, `ext.c` v6.12). Who is in which
//! cgroup, and what a cgroup is given, does not change during a run.

use crate::fair::{CpuMax, GroupSpec};
use sim_core::GroupId;

/// `CGROUP_WEIGHT_DFL`, which the root has too (`scx_tg_init`).
const WEIGHT_DEFAULT: u32 = 100;

/// What a scheduler is told of a cgroup (`struct scx_cgroup_init_args`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CgroupInit {
    /// `cpu.weight`, 1 to 10000.
    pub weight: u32,
    /// `cpu.max`, if there is a limit. Nobody but the scheduler keeps it (told since 6.17).
    pub max: Option<CpuMax>,
}

/// The ways of `bpf_iter_css` through cgroups, from one of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CgroupWalk {
    /// It and all that is in it, each before what it holds (`css_next_descendant_pre`).
    Pre,
    /// The same, each after what it holds (`css_next_descendant_post`).
    Post,
    /// It, and what it is in, up to the root.
    Up,
}

/// One cgroup.
#[derive(Clone, Copy, Debug)]
struct Cgroup {
    parent: Option<GroupId>,
    level: u32,
    /// Cgroups that are in it, and itself.
    n_below: usize,
    init: CgroupInit,
}

/// All cgroups of a run.
#[derive(Debug)]
pub(super) struct Cgroups {
    /// By number of the task group; an autogroup has none.
    all: Vec<Option<Cgroup>>,
    pre_order: Vec<GroupId>,
    post_order: Vec<GroupId>,
}

impl Default for Cgroups {
    fn default() -> Self {
        Self::new(&[])
    }
}

impl Cgroups {
    /// The cgroups among these task groups, the first of which is number 1.
    pub fn new(groups: &[GroupSpec]) -> Self {
        let root = CgroupInit { weight: WEIGHT_DEFAULT, max: None };
        let mut cgroups = Self {
            all: vec![Some(Cgroup { parent: None, level: 0, n_below: 1, init: root })],
            pre_order: Vec::new(),
            post_order: Vec::new(),
        };
        for spec in groups {
            let parent = cgroups.of_group(spec.parent);
            let init = CgroupInit { weight: spec.cpu_weight, max: spec.max };
            let level = cgroups.level(parent) + 1;
            let own = Cgroup { parent: Some(parent), level, n_below: 1, init };
            cgroups.all.push((!spec.is_autogroup).then_some(own));
        }
        cgroups.visit(GroupId::ROOT);
        cgroups
    }

    /// Puts a cgroup and what is in it into both orders. Its children come as they were made.
    fn visit(&mut self, at: GroupId) {
        self.pre_order.push(at);
        for child in (1..self.all.len()).map(|number| GroupId(number as u16)) {
            if self.get(child).is_some_and(|own| own.parent == Some(at)) {
                self.visit(child);
                let n = self.get(child).map_or(0, |own| own.n_below);
                if let Some(own) = &mut self.all[usize::from(at.0)] {
                    own.n_below += n;
                }
            }
        }
        self.post_order.push(at);
    }

    fn get(&self, cgroup: GroupId) -> Option<&Cgroup> {
        self.all.get(usize::from(cgroup.0))?.as_ref()
    }

    /// True if the number is a cgroup's.
    pub fn has(&self, cgroup: GroupId) -> bool {
        self.get(cgroup).is_some()
    }

    /// `tg_cgrp`: the cgroup that the tasks of a task group count as being in.
    pub fn of_group(&self, group: GroupId) -> GroupId {
        if self.has(group) { group } else { GroupId::ROOT }
    }

    /// All of them, each before what it holds: the order of `scx_cgroup_init`.
    pub fn pre_order(&self) -> &[GroupId] {
        &self.pre_order
    }

    pub fn init(&self, cgroup: GroupId) -> Option<CgroupInit> {
        self.get(cgroup).map(|own| own.init)
    }

    pub fn parent(&self, cgroup: GroupId) -> Option<GroupId> {
        self.get(cgroup)?.parent
    }

    pub fn level(&self, cgroup: GroupId) -> u32 {
        self.get(cgroup).map_or(0, |own| own.level)
    }

    /// `bpf_cgroup_ancestor`: what the cgroup is in at this level; at its own, itself.
    pub fn ancestor(&self, cgroup: GroupId, level: u32) -> Option<GroupId> {
        let mut at = Some(cgroup).filter(|cgroup| level <= self.level(*cgroup))?;
        while self.level(at) > level {
            at = self.parent(at)?;
        }
        self.has(at).then_some(at)
    }

    /// The `n`th cgroup, from 0, on a way from this one.
    pub fn nth(&self, start: GroupId, walk: CgroupWalk, n: usize) -> Option<GroupId> {
        let n_below = self.get(start)?.n_below;
        let place = |order: &[GroupId]| order.iter().position(|own| *own == start);
        match walk {
            CgroupWalk::Pre if n < n_below => Some(self.pre_order[place(&self.pre_order)? + n]),
            CgroupWalk::Post if n < n_below => {
                // What is in a cgroup stands right before it.
                Some(self.post_order[place(&self.post_order)? + 1 + n - n_below])
            }
            CgroupWalk::Up => {
                let level = self.level(start).checked_sub(u32::try_from(n).ok()?)?;
                self.ancestor(start, level)
            }
            CgroupWalk::Pre | CgroupWalk::Post => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ```text
    /// root, 1, 3, 4
    ///       2 (autogroup)
    ///       5, 6
    /// ```
    fn tree() -> Cgroups {
        let spec = |parent, cpu_weight| GroupSpec {
            parent: GroupId(parent),
            cpu_weight,
            ..GroupSpec::default()
        };
        let autogroup = GroupSpec { is_autogroup: true, ..GroupSpec::default() };
        Cgroups::new(&[spec(0, 50), autogroup, spec(1, 200), spec(3, 7), spec(0, 9), spec(5, 1)])
    }

    fn walk(start: u16, walk: CgroupWalk) -> Vec<u16> {
        let tree = tree();
        (0..).map_while(|n| tree.nth(GroupId(start), walk, n)).map(|cgroup| cgroup.0).collect()
    }

    #[test]
    fn each_comes_before_what_it_holds_and_autogroups_do_not_come() {
        assert_eq!(tree().pre_order(), [0, 1, 3, 4, 5, 6].map(GroupId));
    }

    #[test]
    fn tasks_of_an_autogroup_are_the_roots() {
        let of = |group| tree().of_group(GroupId(group)).0;
        assert_eq!([0, 1, 2, 3, 7, 99].map(of), [0, 1, 0, 3, 0, 0]);
    }

    #[test]
    fn ways_begin_at_a_cgroup_and_leave_it_only_upwards() {
        assert_eq!(walk(0, CgroupWalk::Pre), [0, 1, 3, 4, 5, 6]);
        assert_eq!(walk(1, CgroupWalk::Pre), [1, 3, 4]);
        assert_eq!(walk(0, CgroupWalk::Post), [4, 3, 1, 6, 5, 0]);
        assert_eq!(walk(5, CgroupWalk::Post), [6, 5]);
        assert_eq!(walk(4, CgroupWalk::Up), [4, 3, 1, 0]);
        for way in [CgroupWalk::Pre, CgroupWalk::Post, CgroupWalk::Up] {
            assert!(walk(2, way).is_empty(), "an autogroup is no cgroup");
        }
    }

    #[test]
    fn a_cgroup_has_one_ancestor_at_each_level_down_to_its_own() {
        let tree = tree();
        let at = |level| tree.ancestor(GroupId(4), level).map(|cgroup| cgroup.0);
        assert_eq!([0, 1, 2, 3, 4].map(at), [Some(0), Some(1), Some(3), Some(4), None]);
        assert_eq!(tree.level(GroupId(6)), 2);
    }

    #[test]
    fn a_cgroup_has_its_weight_and_the_root_the_default() {
        let tree = tree();
        let of = |group| tree.init(GroupId(group)).map(|init| init.weight);
        assert_eq!([0, 1, 2, 4].map(of), [Some(100), Some(50), None, Some(7)]);
    }
}
