//! What balancing reads of the runqueues, side by side.
//!
//! A pass reads a handful of numbers of every CPU of a domain, far more often than these change. In
//! the runqueues themselves they would be several cache lines per CPU; here a line holds two CPUs.
//! Whoever changes one of the numbers ends with [`Fair::publish`].

use crate::fair::state::Fair;
use crate::fair::{Discipline, Rules};
use topology::{CpuId, Domain};

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

/// The CPUs of a domain's groups, one group after the other.
#[derive(Clone, Debug)]
pub(crate) struct GroupCpus {
    cpus: Vec<CpuId>,
    /// Where each group begins in `cpus`, and the end of the last.
    starts: Vec<u32>,
}

impl GroupCpus {
    pub(super) fn new(domain: &Domain) -> Self {
        let mut this = Self { cpus: Vec::new(), starts: vec![0] };
        for group in &domain.groups {
            this.cpus.extend(&group.cpus);
            this.starts.push(this.cpus.len() as u32);
        }
        this
    }

    /// By group: its only CPU, if each group has no more.
    #[inline]
    pub(super) fn one_each(&self) -> Option<&[CpuId]> {
        (self.cpus.len() + 1 == self.starts.len()).then_some(&self.cpus)
    }

    /// The CPUs of group `i`.
    #[inline]
    pub(super) fn of(&self, i: usize) -> &[CpuId] {
        &self.cpus[self.starts[i] as usize..self.starts[i + 1] as usize]
    }
}

impl<S: Discipline> Fair<S> {
    /// The numbers of `cpu`'s runqueue have changed.
    #[inline]
    pub(crate) fn publish(&mut self, cpu: CpuId) {
        self.cpu_stats[cpu.idx()] = self.stats_of(cpu);
    }

    /// What [`Fair::publish`] made known last; the same.
    #[inline]
    pub(super) fn published(&self, cpu: CpuId) -> &CpuStats {
        let stats = &self.cpu_stats[cpu.idx()];
        debug_assert_eq!(*stats, self.stats_of(cpu), "{cpu} has changed in silence");
        stats
    }

    #[inline]
    fn stats_of(&self, cpu: CpuId) -> CpuStats {
        let rq = &self.rqs[cpu.idx()];
        let without_delayed = self.discipline.rules() >= Rules::V6_18_2;
        CpuStats {
            load: rq.avg.load_avg,
            runnable: rq.avg.runnable_avg,
            util: self.rq_util(rq) as u32,
            h_nr: if without_delayed { rq.h_nr_runnable() } else { rq.h_nr_running },
        }
    }
}
