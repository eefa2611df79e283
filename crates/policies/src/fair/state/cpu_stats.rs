//! What balancing reads of the runqueues, side by side.
//!
//! A pass reads a handful of numbers of every CPU of a domain, far more often than these change. In
//! the runqueues themselves they would be several cache lines per CPU; here a line holds two CPUs.
//! Code that changes one of the numbers ends with `Fair::publish`, which also keeps their sums by
//! LLC: the groups of the great domains are whole LLCs.

use topology::{CpuId, Domain, Group, Machine};

/// A runqueue's part of `struct sg_lb_stats`, as of its last update.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct CpuStats {
    /// `cpu_load`
    pub load: u64,
    /// `cpu_runnable`
    pub runnable: u64,
    /// `cpu_util_cfs`
    pub util: u32,
    /// The tasks that statistics count: since v6.18 without those that sleep there.
    pub h_nr: u32,
}

/// [`CpuStats`] of the CPUs of an LLC, summed up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LlcStats {
    pub load: u64,
    pub runnable: u64,
    pub util: u64,
    pub h_nr: u32,
    /// Number of CPUs.
    pub weight: u32,
}

impl LlcStats {
    /// A CPU's part has changed.
    #[inline]
    pub(crate) fn replace(&mut self, old: &CpuStats, new: &CpuStats) {
        self.load = self.load + new.load - old.load;
        self.runnable = self.runnable + new.runnable - old.runnable;
        self.util = self.util + u64::from(new.util) - u64::from(old.util);
        self.h_nr = self.h_nr + new.h_nr - old.h_nr;
    }
}

/// What a domain's groups consist of (CPUs, or LLCs), one group after the other.
#[derive(Clone, Debug)]
pub(crate) struct Members<T> {
    members: Vec<T>,
    /// Where each group begins in `members`, and the end of the last.
    starts: Vec<u32>,
}

impl<T> Members<T> {
    fn new(groups: impl IntoIterator<Item = Vec<T>>) -> Self {
        let mut this = Self { members: Vec::new(), starts: vec![0] };
        for group in groups {
            this.members.extend(group);
            this.starts.push(this.members.len() as u32);
        }
        this
    }

    /// The members of all groups.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// By group: its only member, if each group has no more.
    #[inline]
    pub(crate) fn one_each(&self) -> Option<&[T]> {
        (self.members.len() + 1 == self.starts.len()).then_some(&self.members)
    }

    /// The members of group `i`.
    #[inline]
    pub(crate) fn of(&self, i: usize) -> &[T] {
        &self.members[self.starts[i] as usize..self.starts[i + 1] as usize]
    }
}

/// The CPUs of each group.
pub(crate) fn group_cpus(domain: &Domain) -> Members<CpuId> {
    Members::new(domain.groups.iter().map(|g| g.cpus.clone()))
}

/// The LLCs of each group, if the groups consist of whole LLCs, of which there are fewer than CPUs.
pub(crate) fn group_llcs(machine: &Machine, domain: &Domain) -> Option<Members<u32>> {
    let span = |llc: &u32| &machine.llcs[*llc as usize];
    let llcs_in = |group: &Group| {
        let mut llcs: Vec<u32> = group.cpus.iter().map(|c| machine.cpus[*c].llc).collect();
        llcs.sort_unstable();
        llcs.dedup();
        llcs.retain(|llc| span(llc).is_subset(&group.span));
        llcs
    };
    let llcs = Members::new(domain.groups.iter().map(llcs_in));
    let n_cpus = |i| llcs.of(i).iter().map(|llc| span(llc).len()).sum::<usize>();
    let whole = domain.groups.iter().enumerate().all(|(i, g)| n_cpus(i) == g.cpus.len());
    let fewer = llcs.members.len() < group_cpus(domain).members.len();
    (whole && fewer).then_some(llcs)
}
