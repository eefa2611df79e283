//! Cgroups as programs see them, and the functions of the kernel for them.
//!
//! A cgroup's id is the number of its task group and one: the root's is 1, as the kernel's. Its
//! `kernfs_node` is a part of the same object, and its `self` begins where it begins.

use super::calls::{Outcome, stop};
use super::host::Here;
use super::objects::{Field, KERNFS, What};
use crate::ext::cgroups::CgroupWalk;
use ::bpf::{Answer, Memory};
use sim_core::GroupId;

/// `default_bw_period_us()`
const PERIOD_US: u64 = 100_000;
/// `RUNTIME_INF`
const NO_QUOTA: u64 = u64::MAX;
const EINVAL: i64 = -22;

/// What an iterator's own bytes hold, in words.
mod word {
    /// The cgroup that it begins with, one higher; 0: it has not begun.
    pub const START: u64 = 0;
    /// How many it has told.
    pub const TOLD: u64 = 8;
    pub const FLAGS: u64 = 16;
}

/// The pointer to a cgroup that programs have.
pub(super) fn pointer(cgroup: GroupId) -> u64 {
    What::Cgroup(cgroup).address()
}

fn id(cgroup: GroupId) -> u64 {
    u64::from(cgroup.0) + 1
}

/// `enum bpf_cgroup_iter_order`
fn walk(flags: u64) -> Option<CgroupWalk> {
    match flags as u32 {
        2 => Some(CgroupWalk::Pre),
        3 => Some(CgroupWalk::Post),
        4 => Some(CgroupWalk::Up),
        _ => None,
    }
}

impl Here<'_, '_> {
    pub(super) fn cgroup_field(&self, cgroup: GroupId, field: Field) -> Option<u64> {
        Some(match field {
            Field::Css => pointer(cgroup),
            Field::CssParent => self.cx.cgroup_parent(cgroup).map_or(0, pointer),
            Field::Level => self.cx.cgroup_level(cgroup).into(),
            Field::Kernfs => pointer(cgroup) + u64::from(KERNFS),
            Field::Id => id(cgroup),
            _ => return None,
        })
    }

    /// What `cgroup_init` is told, in microseconds.
    pub(super) fn cgroup_given(&self, cgroup: GroupId, field: Field) -> Option<u64> {
        let given = self.cx.cgroup_given(cgroup)?;
        let max = given.max;
        Some(match field {
            Field::Weight => given.weight.into(),
            Field::Period => max.map_or(PERIOD_US, |max| max.period_ns / 1000),
            Field::Quota => max.map_or(NO_QUOTA, |max| max.quota_ns / 1000),
            Field::Burst => max.map_or(0, |max| max.burst_ns / 1000),
            _ => return None,
        })
    }

    /// `scx_bpf_task_cgroup`: only of the task that the operation is about
    /// (`scx_kf_allowed_on_arg_tasks`).
    pub(super) fn task_cgroup(&self, address: u64) -> Outcome {
        let p = self.task(address)?;
        if self.books.subject != address {
            return stop("scx_bpf_task_cgroup called on a task not being operated on".to_string());
        }
        Ok(pointer(self.cx.task_cgroup(p)))
    }

    pub(super) fn cgroup_of_id(&self, id: u64) -> u64 {
        let number = id.checked_sub(1).and_then(|number| u16::try_from(number).ok());
        let found = number.map(GroupId).filter(|cgroup| self.cx.is_cgroup(*cgroup));
        found.map_or(0, pointer)
    }

    pub(super) fn cgroup_ancestor(&self, address: u64, level: u64) -> Outcome {
        let cgroup = self.cgroup(address)?;
        let level = u32::try_from(level as i32).ok();
        let found = level.and_then(|level| self.cx.cgroup_ancestor(cgroup, level));
        Ok(found.map_or(0, pointer))
    }

    pub(super) fn css_new(&mut self, a: [u64; 5], memory: &mut Memory) -> Outcome {
        let [it, start, flags, ..] = a;
        self.set_word(it, word::START, 0, memory);
        if walk(flags).is_none() {
            return Ok(EINVAL as u64);
        }
        let start = id(self.cgroup(start)?);
        for (at, value) in [(word::START, start), (word::TOLD, 0), (word::FLAGS, flags)] {
            self.set_word(it, at, value, memory);
        }
        Ok(0)
    }

    pub(super) fn css_next(&mut self, it: u64, memory: &mut Memory) -> u64 {
        let start = self.word(it, word::START, memory);
        let flags = self.word(it, word::FLAGS, memory);
        let told = self.word(it, word::TOLD, memory);
        // A program may have written there.
        let (Some((What::Cgroup(start), _)), Some(walk), Ok(n)) =
            (self.at(self.cgroup_of_id(start)), walk(flags), usize::try_from(told))
        else {
            return 0;
        };
        let Some(next) = self.cx.cgroup_nth(start, walk, n) else {
            return 0;
        };
        self.set_word(it, word::TOLD, told + 1, memory);
        pointer(next)
    }

    fn cgroup(&self, address: u64) -> Result<GroupId, Answer> {
        match self.at(address) {
            Some((What::Cgroup(cgroup), 0)) => Ok(cgroup),
            _ => stop(format!("no cgroup is at {address:#x}")),
        }
    }
}
