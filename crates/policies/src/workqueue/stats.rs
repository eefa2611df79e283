//! What the kernel counts, and shows by its wq_monitor and wq_dump scripts.

use super::{Kind, Pwq, WorkerId, Workqueues, WqId, WqSpec};
use sim_core::{Ns, ProgramCx};
use topology::{CpuId, CpuSet};

/// Counters of a workqueue (or of one of its pwqs).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct WqStats {
    /// Items begun.
    pub started: u64,
    /// Items completed.
    pub completed: u64,
    /// CPU time in completed items, ns. The kernel samples it at ticks; this is exact.
    pub cpu_ns: Ns,
    /// Items of bound pools found to hog their CPU.
    pub cpu_intensive: u64,
    /// Workers of bound pools woken because another one blocked, or hogs the CPU.
    pub cm_wakeups: u64,
    /// Workers of unbound pools sent back into their pod.
    pub repatriated: u64,
    /// Items that ran on the CPU that queued them.
    pub cpu_local: u64,
}

impl WqStats {
    fn add(&mut self, other: &WqStats) {
        self.started += other.started;
        self.completed += other.completed;
        self.cpu_ns += other.cpu_ns;
        self.cpu_intensive += other.cpu_intensive;
        self.cm_wakeups += other.cm_wakeups;
        self.repatriated += other.repatriated;
        self.cpu_local += other.cpu_local;
    }

    /// Items in execution.
    pub fn in_flight(&self) -> u64 {
        self.started - self.completed
    }
}

/// A pool, as wq_dump shows it.
#[derive(Clone, PartialEq, Debug)]
pub struct PoolInfo {
    /// Its number.
    pub id: u32,
    /// The CPU of a bound pool.
    pub cpu: Option<CpuId>,
    /// Its pod.
    pub pod: CpuSet,
    /// Its workers never leave the pod.
    pub strict: bool,
    /// Nice level of its workers.
    pub nice: i8,
    /// Pool_workqueues that use it.
    pub refs: u32,
    /// Idle workers.
    pub idle: usize,
    /// All workers.
    pub workers: u32,
}

impl Workqueues {
    /// Number of workqueues.
    pub fn n_wqs(&self) -> u32 {
        self.wqs.len() as u32
    }

    /// What a workqueue is like at present.
    pub fn spec(&self, wq: WqId) -> &WqSpec {
        &self.wqs[wq].spec
    }

    /// True if `wq` is unbound.
    pub fn is_unbound(&self, wq: WqId) -> bool {
        matches!(self.spec(wq).kind, Kind::Unbound(_))
    }

    /// The counters of a workqueue, replaced pwqs included.
    pub fn stats(&self, wq: WqId) -> WqStats {
        let mut sum = WqStats::default();
        let its = self.pwqs.iter().filter(|p: &&Pwq| p.wq == wq);
        its.for_each(|p| sum.add(&p.stats));
        sum
    }

    /// The pools in use, by number.
    pub fn pools(&self) -> Vec<PoolInfo> {
        let used = self.pools.iter().enumerate().filter(|(_, p)| p.refs > 0);
        used.map(|(id, p)| PoolInfo {
            id: id as u32,
            cpu: p.key.cpu,
            pod: p.key.pod.clone(),
            strict: p.key.strict,
            nice: p.key.nice,
            refs: p.refs,
            idle: p.idle.len(),
            workers: p.n_workers,
        })
        .collect()
    }

    /// By CPU: the number of the pool that takes what `wq` is given there.
    pub fn pool_by_cpu(&self, wq: WqId) -> Vec<u32> {
        self.wqs[wq].pwqs.iter().map(|pwq| self.pwqs[*pwq].pool.0).collect()
    }

    /// The CPU time of the worker's item since it was last counted.
    pub(super) fn count_time(&mut self, cx: &ProgramCx<'_>, worker: WorkerId) {
        let w = &mut self.workers[worker];
        let ran = cx.ran_ns(w.task);
        self.pwqs[w.pwq].stats.cpu_ns += ran - std::mem::replace(&mut w.counted_ns, ran);
    }
}
