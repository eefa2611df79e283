//! What the runqueues count, laid out for readers of many of them: `nr_running` of all CPUs side by
//! side, and sums by LLC.

use crate::Cpu;
use topology::{CpuId, Machine, PerCpu};

/// What the CPUs behind one last-level cache count together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LlcCounts {
    /// Sum of [`Cpu::nr_running`].
    pub nr_running: u32,
    /// CPUs for which [`Cpu::idle`] holds.
    pub n_idle: u32,
    /// CPUs with more than one task.
    pub n_crowded: u32,
}

/// Copies of what the runqueues count, by CPU and by LLC.
pub(crate) struct Counts {
    /// By `CpuId`: [`Cpu::nr_running`].
    nr_running: PerCpu<u32>,
    /// By `CpuId`: its LLC.
    llc: PerCpu<u32>,
    llcs: Vec<LlcCounts>,
}

impl Counts {
    /// Of a machine at rest.
    pub fn new(machine: &Machine) -> Self {
        let at_rest = |n: usize| LlcCounts { n_idle: n as u32, ..LlcCounts::default() };
        Self {
            nr_running: vec![0; machine.n_cpus()].into(),
            llc: machine.cpus.iter().map(|c| c.llc).collect(),
            llcs: machine.llcs.iter().map(|span| at_rest(span.len())).collect(),
        }
    }

    #[inline]
    pub fn nr_running(&self, cpu: CpuId) -> u32 {
        self.nr_running[cpu]
    }

    #[inline]
    pub fn llc(&self, llc: u32) -> LlcCounts {
        self.llcs[llc as usize]
    }

    #[inline]
    pub fn set_nr_running(&mut self, cpu: CpuId, nr: u32) {
        let before = std::mem::replace(&mut self.nr_running[cpu], nr);
        let llc = &mut self.llcs[self.llc[cpu] as usize];
        // The sums are unsigned: first added, then subtracted.
        llc.nr_running = llc.nr_running + nr - before;
        llc.n_crowded = llc.n_crowded + u32::from(nr > 1) - u32::from(before > 1);
    }

    /// `cpu` becomes idle, or stops being idle; called at a change only.
    #[inline]
    pub fn set_idle(&mut self, cpu: CpuId, idle: bool) {
        let llc = &mut self.llcs[self.llc[cpu] as usize];
        llc.n_idle = if idle { llc.n_idle + 1 } else { llc.n_idle - 1 };
    }

    /// Fails if the sums are not those over `cpus`.
    pub fn check(&self, cpus: &[Cpu]) -> Result<(), String> {
        let mut llcs = vec![LlcCounts::default(); self.llcs.len()];
        for (c, llc) in cpus.iter().zip(&self.llc) {
            let sum = &mut llcs[*llc as usize];
            sum.nr_running += c.nr_running;
            sum.n_idle += u32::from(c.idle);
            sum.n_crowded += u32::from(c.nr_running > 1);
        }
        match llcs == self.llcs {
            true => Ok(()),
            false => Err(format!("LLCs count {:?} of {llcs:?}", self.llcs)),
        }
    }
}
