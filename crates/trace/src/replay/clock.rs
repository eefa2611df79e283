//! How much a CPU can compute in a span of time: less beside a busy SMT sibling.

use sim_core::Ns;
use topology::{CpuId, Machine, PerCpu};

/// Shares of full speed are in 1/65536.
const ONE: u64 = 1 << 16;

/// One CPU of the recording.
#[derive(Clone, Copy, Default)]
struct Cpu {
    busy: bool,
    /// Time that it was busy beside a busy sibling, up to `settled`.
    shared: Ns,
    settled: Ns,
}

/// An instant of a CPU: the time, and how much of it so far was beside a busy sibling.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Mark {
    pub at: Ns,
    shared: Ns,
}

/// The clocks of all CPUs.
pub(super) struct Clocks {
    cpus: PerCpu<Cpu>,
    /// By CPU of the machine.
    siblings: PerCpu<Vec<CpuId>>,
    /// Speed beside a busy sibling.
    beside: u64,
}

impl Clocks {
    pub(super) fn new(machine: &Machine) -> Self {
        let siblings = |cpu: usize| {
            let core = &machine.cores[machine.cpus[CpuId(cpu as u32)].core as usize];
            core.iter().filter(|s| s.idx() != cpu).collect::<Vec<_>>()
        };
        Self {
            cpus: vec![Cpu::default(); machine.n_cpus()].into(),
            siblings: (0..machine.n_cpus()).map(siblings).collect(),
            beside: (machine.smt.busy * ONE as f64) as u64,
        }
    }

    /// The clocks of a CPU at an instant.
    pub(super) fn mark(&mut self, cpu: CpuId, at: Ns) -> Mark {
        self.settle(cpu, at);
        Mark { at, shared: self.cpus[cpu].shared }
    }

    /// Work at full speed that was possible since a mark on the same CPU.
    pub(super) fn work_since(&mut self, cpu: CpuId, mark: Mark, at: Ns) -> Ns {
        let now = self.mark(cpu, at);
        let all = now.at.saturating_sub(mark.at);
        let shared = now.shared.saturating_sub(mark.shared).min(all);
        let beside = u128::from(shared) * u128::from(self.beside) / u128::from(ONE);
        all - shared + beside as Ns
    }

    /// The CPU runs something from now on, or nothing.
    pub(super) fn set_busy(&mut self, cpu: CpuId, at: Ns, busy: bool) {
        if self.cpus[cpu].busy == busy {
            return;
        }
        for i in 0..self.siblings[cpu].len() {
            self.settle(self.siblings[cpu][i], at);
        }
        self.settle(cpu, at);
        self.cpus[cpu].busy = busy;
    }

    fn settle(&mut self, cpu: CpuId, at: Ns) {
        let beside = self.siblings[cpu].iter().any(|s| self.cpus[*s].busy);
        let c = &mut self.cpus[cpu];
        if c.busy && beside {
            c.shared += at.saturating_sub(c.settled);
        }
        c.settled = c.settled.max(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use topology::RegularSpec;

    #[test]
    fn time_beside_a_busy_sibling_counts_less() {
        let mut machine =
            Machine::regular(RegularSpec { threads_per_core: 2, ..RegularSpec::default() });
        machine.smt.busy = 0.5;
        let sibling = machine.cores[0].iter().find(|c| c.0 != 0).unwrap();
        let mut clocks = Clocks::new(&machine);
        clocks.set_busy(CpuId(0), 100, true);
        let mark = clocks.mark(CpuId(0), 100);
        clocks.set_busy(sibling, 300, true);
        clocks.set_busy(sibling, 500, false);
        assert_eq!(clocks.work_since(CpuId(0), mark, 600), 200 + 100 + 100);
    }
}
