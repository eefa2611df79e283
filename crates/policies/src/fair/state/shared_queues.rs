//! The shared queues of a machine: which there are, which CPUs use them, and what became of their
//! tasks.

use super::features::{Features, Tunables};
use super::shared_runq::{EnqueueRule, Version, VersionRules};
use sim_core::{Appends, LockId, TaskId};
use topology::{CpuId, IdVec, Machine, PerCpu};

/// One shared queue: a FIFO list threaded through the tasks, and its lock.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "obvious")]
pub struct Swqueue {
    pub head: TaskId,
    pub tail: TaskId,
    pub lock: LockId,
    /// How often its lock was taken to change it: a CPU that read the head at the same count still
    /// has the line.
    pub n_writes: u64,
}

impl Swqueue {
    /// An empty queue.
    pub fn new(lock: LockId) -> Self {
        Self { head: TaskId::NONE, tail: TaskId::NONE, lock, n_writes: 0 }
    }
}

/// What became of queued tasks, and how often a CPU lost a race for one.
#[derive(Clone, Debug, Default)]
pub struct SwqStats {
    /// Appended as they came to wait.
    pub appended: u64,
    /// Unlinked by the CPU that picked it.
    pub picked_by_own_cpu: u64,
    /// Popped and moved by another CPU.
    pub stolen_and_moved: u64,
    /// Popped, but running by then.
    pub popped_but_running: u64,
    /// Popped, but asleep, forbidden here, or here already.
    pub popped_otherwise: u64,
    /// The owner took the lock to unlink and found that a puller had been faster.
    pub unlinked_nothing: u64,
    /// The list looked non-empty and was empty under the lock.
    pub empty_under_lock: u64,
    /// The head may not run here and was left in its place (since version 2).
    pub head_forbidden: u64,
}

/// The shared queues of a machine.
#[derive(Clone, Debug)]
pub struct SharedQueues {
    /// What the version does.
    pub(crate) rules: VersionRules,
    /// By CPU: its own queue.
    own: PerCpu<u32>,
    /// By CPU: the first queue of its LLC, and how many that has.
    of_llc: PerCpu<(u32, u32)>,
    /// How many there are.
    pub(crate) len: u32,
}

/// None.
impl Default for SharedQueues {
    fn default() -> Self {
        let rules = Version::None.rules();
        Self { rules, own: IdVec::new(), of_llc: IdVec::new(), len: 0 }
    }
}

impl SharedQueues {
    /// The queues of `machine`: none if the features are off.
    pub(crate) fn new(machine: &Machine, features: &Features, tunables: &Tunables) -> Self {
        let said = tunables.shared_runq;
        let v1 = Version::V1.rules();
        let rules = match (features.swqueue, features.shared_runq) {
            (true, _) if features.swq_flags => v1.with_enqueue(EnqueueRule::Wakeup),
            (true, _) => v1,
            (_, true) => said.version.rules(),
            _ => return Self::default(),
        };
        let mut first = 0;
        let llcs = machine.llcs.iter().map(|llc| {
            let n = rules.num_shards(llc.len() as u32, said.shard_size);
            first += n;
            (first - n, n)
        });
        let by_llc: Vec<_> = llcs.collect();
        let of_llc: Vec<_> = machine.cpus.iter().map(|c| by_llc[c.llc as usize]).collect();
        let cpus = (0..machine.n_cpus() as u32).map(CpuId);
        let own = cpus.zip(&of_llc).map(|(cpu, (first, n))| first + rules.shard_of(cpu, *n));
        Self { rules, own: own.collect(), of_llc: of_llc.into(), len: first }
    }

    /// The queue that the tasks of `cpu` are on.
    #[inline]
    pub fn own(&self, cpu: CpuId) -> usize {
        self.own[cpu] as usize
    }

    /// The `i`th queue that a pull by `cpu` looks at, its own first; `None` after the last one of
    /// its LLC.
    pub(crate) fn nth(&self, cpu: CpuId, i: u32) -> Option<usize> {
        let (first, n) = self.of_llc[cpu];
        let start = self.own[cpu] - first;
        (i < n).then(|| (first + (start + i) % n) as usize)
    }

    /// Where an enqueue appends its task.
    pub(crate) fn appends(&self) -> Appends {
        match self.rules.enqueue {
            _ if self.len == 0 => Appends::Never,
            EnqueueRule::Enqueue | EnqueueRule::Wakeup => Appends::AtEnd,
            EnqueueRule::Tree | EnqueueRule::TreeNonempty => Appends::InTree,
        }
    }

    /// Tasks are queued whenever they start to wait.
    pub(crate) fn follows_tree(&self) -> bool {
        matches!(self.rules.enqueue, EnqueueRule::Tree | EnqueueRule::TreeNonempty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_support::Shape;

    #[test]
    fn a_pull_begins_with_its_own_shard_and_stays_in_its_llc() {
        let features = Features { shared_runq: true, ..Features::default() };
        let machine = Shape::new(2, 8, 2).machine();
        let tunables = Tunables::for_cpus(machine.n_cpus());
        let queues = SharedQueues::new(&machine, &features, &tunables);
        assert_eq!(queues.rules, Version::V3.rules());
        for cpu in (0..machine.n_cpus() as u32).map(CpuId) {
            let visits: Vec<usize> = (0..9).map_while(|i| queues.nth(cpu, i)).collect();
            let llc = machine.cpus[cpu].llc as usize;
            let n = queues.len as usize / 2;
            assert_eq!(visits[0], queues.own(cpu));
            let mut sorted = visits.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (llc * n..(llc + 1) * n).collect::<Vec<_>>());
        }
    }
}
