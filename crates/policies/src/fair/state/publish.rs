//! Keeps the copies of the runqueues' numbers that balancing reads (`cpu_stats`) up to date.

use super::cpu_stats::{CpuStats, LlcStats};
use super::fair::{Fair, QueueKind};
use topology::CpuId;

impl<S: QueueKind> Fair<S> {
    /// The numbers of `cpu`'s runqueue have changed.
    #[inline]
    pub(crate) fn publish(&mut self, cpu: CpuId) {
        // The LLC's sums change by the difference: no pass over its CPUs.
        let new = self.stats_of(cpu);
        let old = std::mem::replace(&mut self.cpu_stats[cpu], new);
        self.llc_stats[self.topo.llc[cpu] as usize].replace(&old, &new);
    }

    /// The numbers of an LLC's CPUs, as [`Fair::published`].
    #[inline]
    pub(crate) fn published_llc(&self, llc: u32) -> &LlcStats {
        let stats = &self.llc_stats[llc as usize];
        debug_assert_eq!(*stats, self.llc_stats_of(llc), "LLC {llc} is not the sum of its CPUs");
        stats
    }

    /// What [`Fair::publish`] made known last; the same.
    #[inline]
    pub(crate) fn published(&self, cpu: CpuId) -> &CpuStats {
        let stats = &self.cpu_stats[cpu];
        debug_assert_eq!(*stats, self.stats_of(cpu), "{cpu} has changed in silence");
        stats
    }

    #[inline]
    fn stats_of(&self, cpu: CpuId) -> CpuStats {
        let rq = &self.rqs[cpu];
        let without_delayed = self.discipline.kernel().counts_runnable_only;
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
