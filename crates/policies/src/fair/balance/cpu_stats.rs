//! What balancing reads of the runqueues, side by side.
//!
//! A pass reads a handful of numbers of every CPU of a domain, far more often than these change. In
//! the runqueues themselves they would be several cache lines per CPU; here a line holds two CPUs.
//! Whoever changes one of the numbers ends with [`Fair::publish`], which also keeps their sums by
//! LLC: the groups of the great domains are whole LLCs.

use crate::fair::state::Fair;
use crate::fair::{Discipline, Rules};
use topology::{CpuId, Domain, Group, Machine};

/// A runqueue's part of `struct sg_lb_stats`, as of its last update (spec 2.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct CpuStats {
    /// `cpu_load`
    pub load: u64,
    /// `cpu_runnable`
    pub runnable: u64,
    /// `cpu_util_cfs`
    pub util: u32,
    /// The tasks that statistics count (spec 4.6): since v6.18 without those that sleep there.
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
    fn replace(&mut self, old: &CpuStats, new: &CpuStats) {
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

    /// By group: its only member, if each group has no more.
    #[inline]
    pub(super) fn one_each(&self) -> Option<&[T]> {
        (self.members.len() + 1 == self.starts.len()).then_some(&self.members)
    }

    /// The members of group `i`.
    #[inline]
    pub(super) fn of(&self, i: usize) -> &[T] {
        &self.members[self.starts[i] as usize..self.starts[i + 1] as usize]
    }
}

/// The CPUs of each group.
pub(super) fn group_cpus(domain: &Domain) -> Members<CpuId> {
    Members::new(domain.groups.iter().map(|g| g.cpus.clone()))
}

/// The LLCs of each group, if the groups consist of whole LLCs, of which there are fewer than CPUs.
pub(super) fn group_llcs(machine: &Machine, domain: &Domain) -> Option<Members<u32>> {
    let span = |llc: &u32| &machine.llcs[*llc as usize];
    let llcs_in = |group: &Group| {
        let all = 0..machine.llcs.len() as u32;
        all.filter(|llc| span(llc).is_subset(&group.span)).collect()
    };
    let llcs = Members::new(domain.groups.iter().map(llcs_in));
    let n_cpus = |i| llcs.of(i).iter().map(|llc| span(llc).len()).sum::<usize>();
    let whole = domain.groups.iter().enumerate().all(|(i, g)| n_cpus(i) == g.cpus.len());
    let fewer = llcs.members.len() < group_cpus(domain).members.len();
    (whole && fewer).then_some(llcs)
}

impl<S: Discipline> Fair<S> {
    /// The numbers of `cpu`'s runqueue have changed.
    #[inline]
    pub(crate) fn publish(&mut self, cpu: CpuId) {
        let new = self.stats_of(cpu);
        let old = std::mem::replace(&mut self.cpu_stats[cpu], new);
        self.llc_stats[self.topo.llc[cpu] as usize].replace(&old, &new);
    }

    /// The numbers of an LLC's CPUs, as [`Fair::published`].
    #[inline]
    pub(super) fn published_llc(&self, llc: u32) -> &LlcStats {
        let stats = &self.llc_stats[llc as usize];
        debug_assert_eq!(*stats, self.llc_stats_of(llc), "LLC {llc} is not the sum of its CPUs");
        stats
    }

    /// What [`Fair::publish`] made known last; the same.
    #[inline]
    pub(super) fn published(&self, cpu: CpuId) -> &CpuStats {
        let stats = &self.cpu_stats[cpu];
        debug_assert_eq!(*stats, self.stats_of(cpu), "{cpu} has changed in silence");
        stats
    }

    #[inline]
    fn stats_of(&self, cpu: CpuId) -> CpuStats {
        let rq = &self.rqs[cpu];
        let without_delayed = self.discipline.rules() >= Rules::V6_18;
        CpuStats {
            load: rq.avg.load_avg,
            runnable: rq.avg.runnable_avg,
            util: self.rq_util(rq) as u32,
            h_nr: if without_delayed { rq.h_nr_runnable() } else { rq.h_nr_running },
        }
    }

    /// The sums that [`Fair::publish`] keeps, made anew.
    pub(crate) fn llc_stats_of(&self, llc: u32) -> LlcStats {
        let cpus = &self.topo.llc_cpus[llc as usize];
        let mut sum = LlcStats { weight: cpus.len() as u32, ..LlcStats::default() };
        for &cpu in cpus {
            sum.replace(&CpuStats::default(), self.published(cpu));
        }
        sum
    }
}
