//! What is known of idle CPUs and cores.

use super::fair::{Fair, QueueKind};
use sim_core::World;
use topology::CpuId;

impl<S: QueueKind> Fair<S> {
    /// `is_core_idle`: all SMT siblings of `cpu` are idle; the CPU itself is not asked.
    pub(crate) fn is_idle_core(&self, w: &World, cpu: CpuId) -> bool {
        let mut siblings = self.topo.smt_mask(cpu).iter();
        siblings.all(|s| *s == cpu || w.cpus[*s].idle)
    }

    /// `__update_idle_core`: `cpu` goes idle, and perhaps its whole core with it.
    pub(crate) fn update_idle_core(&mut self, w: &mut World, cpu: CpuId) {
        let llc = self.topo.llc[cpu] as usize;
        // The flag is set here and cleared by a scan that found no idle core.
        if self.topo.smt && !self.llcs[llc].has_idle_cores && self.is_idle_core(w, cpu) {
            self.llcs[llc].has_idle_cores = true;
            w.write_llc_line(llc as u32);
        }
    }

    /// `sched_idle_cpu`: only SCHED_IDLE tasks are there.
    #[inline]
    pub(crate) fn sched_idle_cpu(&self, w: &World, cpu: CpuId) -> bool {
        // Without SCHED_IDLE tasks, as in most runs, the runqueue's line is not read.
        if !self.sched_idle_used {
            return false;
        }
        let nr_running = w.cpus[cpu].nr_running;
        nr_running > 0 && nr_running == self.rqs[cpu].idle_h_nr_running
    }

    /// `test_idle_cores`: some core behind the CPU's LLC may be idle.
    #[inline]
    pub(crate) fn test_idle_cores(&self, cpu: CpuId) -> bool {
        self.topo.smt && self.llcs[self.topo.llc[cpu] as usize].has_idle_cores
    }
}
