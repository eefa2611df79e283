//! Topology tables of the hot paths, computed once: the kernel's per-CPU pointers.
//!
//! `sd_llc_id`, `sd_llc_size`, `cpu_smt_mask` and the CPUs behind a last-level cache as sorted
//! lists, so that a scan is a walk over a slice.

use std::ops::Range;
use topology::{CpuId, CpuSet, Machine, PerCpu};

/// See the module's documentation.
#[derive(Clone, Debug, Default)]
pub struct Topo {
    /// `sched_smt_active()`: some core has several threads.
    pub smt: bool,
    /// CONFIG_HZ.
    pub hz: u64,
    /// `arch_scale_freq_capacity()`, of 1024.
    pub freq_scale: u32,
    /// Per CPU: its LLC's number in the machine.
    pub llc: PerCpu<u32>,
    /// Per CPU: `sd_llc_id`.
    pub llc_id: PerCpu<CpuId>,
    /// Per CPU: `sd_llc_size`.
    pub llc_size: PerCpu<u32>,
    /// Per CPU: level of `sd_llc` in its chain.
    pub llc_level: PerCpu<Option<u32>>,
    /// Per CPU: its position in `llc_cpus` of its LLC.
    pub llc_pos: PerCpu<u32>,
    /// Per LLC: CPUs of the `sd_llc` domain, increasing.
    pub llc_cpus: Vec<Vec<CpuId>>,
    /// Per LLC: the words of a [`CpuSet`] that have CPUs of it.
    pub llc_words: Vec<Range<usize>>,
    /// Per CPU: its core.
    pub core: PerCpu<u32>,
    /// Per core: `cpu_smt_mask`, increasing.
    pub core_cpus: Vec<Vec<CpuId>>,
    /// Per core: number of the last core scan that looked at it.
    pub core_seen: Vec<u64>,
    /// Number of the present core scan.
    pub core_scan: u64,
}

impl Topo {
    /// The tables of a machine.
    pub fn new(machine: &Machine) -> Self {
        let n = machine.n_cpus();
        let domains = &machine.domains;
        let llc_cpus: Vec<Vec<CpuId>> = machine.llcs.iter().map(|l| l.iter().collect()).collect();
        let position = |c: usize| {
            let list = &llc_cpus[machine.cpus[CpuId(c as u32)].llc as usize];
            list.partition_point(|cpu| cpu.idx() < c) as u32
        };
        Self {
            smt: machine.cores.iter().any(|core| core.len() > 1),
            hz: u64::from(machine.hz),
            freq_scale: machine.freq_scale,
            llc: machine.cpus.iter().map(|p| p.llc).collect(),
            llc_id: domains.llc_id.clone(),
            llc_size: domains.llc_size.clone(),
            llc_level: domains.llc_level.clone().into(),
            llc_pos: (0..n).map(position).collect(),
            llc_words: machine.llcs.iter().map(words_of).collect(),
            core: machine.cpus.iter().map(|p| p.core).collect(),
            core_cpus: machine.cores.iter().map(|c| c.iter().collect()).collect(),
            core_seen: vec![0; machine.cores.len()],
            core_scan: 0,
            llc_cpus,
        }
    }

    /// `cpus_share_cache`
    #[inline]
    pub fn share_cache(&self, a: CpuId, b: CpuId) -> bool {
        a == b || self.llc_id[a] == self.llc_id[b]
    }

    /// `cpu_smt_mask`: the threads of a CPU's core, itself included.
    #[inline]
    pub fn smt_mask(&self, cpu: CpuId) -> &[CpuId] {
        &self.core_cpus[self.core[cpu] as usize]
    }
}

/// The words from the first to the last that is not zero.
fn words_of(set: &CpuSet) -> Range<usize> {
    let first = set.words().iter().position(|word| *word != 0).unwrap_or(0);
    let end = set.words().iter().rposition(|word| *word != 0).map_or(first, |last| last + 1);
    first..end
}
