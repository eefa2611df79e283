//! Which shared queues there are, and who is put on them: SWQUEUE, which was version 1, and
//! SHARED_RUNQ, its versions 2 to 4 (spec 7.1, 7.3 to 7.5).
//!
//! Version 1 has one queue per LLC, for tasks that wake up on their previous CPU. Later versions
//! split it into shards, each for some of the LLC's CPUs, and queue every task that starts to wait:
//! whatever enters the tree of a runqueue is appended, whatever leaves it is unlinked. How a queue
//! works is the same in all of them (`swqueue`); when a CPU looks there is in `balance::newidle`.

use super::features::{Features, Tunables};
use super::swqueue::{APPEND, PUT_PREV, REQUEUE};
use super::{Discipline, Fair};
use crate::fair::sites;
use sim_core::{EnqueueFlags, Hook, Nested, TaskId, World};
use topology::{CpuId, Machine, PerCpu};

/// A version of the patches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Version {
    /// None: the features are off.
    #[default]
    None,
    /// RFC, 2023-06-13: SWQUEUE.
    V1,
    /// 2023-07-10
    V2,
    /// 2023-08-09
    V3,
    /// 2023-12-11
    V4,
}

/// Which tasks are queued.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum EnqueueRule {
    /// Those that wake up on their previous CPU (version 1, and patch 5 of version 2).
    #[default]
    Wakeup,
    /// All that start to wait (versions 2 and 3).
    Tree,
    /// The same, if the runqueue was not empty (version 4).
    TreeNonempty,
}

/// What the tunables of SHARED_RUNQ say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedRunq {
    /// The version that the feature stands for.
    pub version: Version,
    /// `SHARED_RUNQ_SHARD_SZ`: CPUs of a shard.
    pub shard_size: u32,
}

/// The shared queues of a machine.
#[derive(Clone, Debug, Default)]
pub struct SharedQueues {
    /// Whose rules apply.
    pub version: Version,
    rule: EnqueueRule,
    /// By CPU: its own queue.
    own: PerCpu<u32>,
    /// By CPU: the first queue of its LLC, and how many that has.
    of_llc: PerCpu<(u32, u32)>,
    /// How many there are.
    pub(crate) len: u32,
}

/// How a task comes to wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Arrival {
    /// By an enqueue; the runqueue's count includes it.
    Enqueue(EnqueueFlags),
    /// Its attributes were changed.
    Restore,
    /// It ran until now.
    PutPrev,
}

/// Shards of an LLC of so many CPUs (T7.4).
fn num_shards(version: Version, llc_size: u32, shard_size: u32) -> u32 {
    match version {
        Version::None | Version::V1 => 1,
        Version::V2 => (llc_size / shard_size).max(1),
        Version::V3 | Version::V4 => llc_size.div_ceil(shard_size),
    }
}

/// The shard of a CPU. Since version 3 neighbors by number share one; SMT siblings do only where
/// they are numbered so.
fn shard_of(version: Version, cpu: CpuId, num_shards: u32) -> u32 {
    match version {
        Version::None | Version::V1 | Version::V2 => cpu.0 % num_shards,
        Version::V3 | Version::V4 => (cpu.0 >> 1) % num_shards,
    }
}

impl SharedQueues {
    /// The queues of `machine`: none if the features are off.
    pub(crate) fn new(machine: &Machine, features: &Features, tunables: &Tunables) -> Self {
        let said = tunables.shared_runq;
        let (version, rule) = match (features.swqueue, features.shared_runq) {
            (true, _) => (Version::V1, EnqueueRule::Wakeup),
            (_, true) => (said.version, said.version.rule()),
            _ => return Self::default(),
        };
        let mut first = 0;
        let llcs = machine.llcs.iter().map(|llc| {
            let n = num_shards(version, llc.len() as u32, said.shard_size);
            first += n;
            (first - n, n)
        });
        let by_llc: Vec<_> = llcs.collect();
        let of_llc: Vec<_> = machine.cpus.iter().map(|c| by_llc[c.llc as usize]).collect();
        let cpus = (0..machine.n_cpus() as u32).map(CpuId);
        let own = cpus.zip(&of_llc).map(|(cpu, (first, n))| first + shard_of(version, cpu, *n));
        Self { version, rule, own: own.collect(), of_llc: of_llc.into(), len: first }
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

    /// Tasks are queued whenever they start to wait.
    pub(crate) fn follows_tree(&self) -> bool {
        self.rule != EnqueueRule::Wakeup
    }
}

impl Version {
    /// Who is queued in this version.
    fn rule(self) -> EnqueueRule {
        match self {
            Version::None | Version::V1 => EnqueueRule::Wakeup,
            Version::V2 | Version::V3 => EnqueueRule::Tree,
            Version::V4 => EnqueueRule::TreeNonempty,
        }
    }
}

impl<S: Discipline> Fair<S> {
    /// Whether `p`, which may use `n_allowed` CPUs, is to be queued as it comes to wait on `cpu`
    /// (T7.1).
    fn shared_wants(&self, w: &World, cpu: CpuId, n_allowed: u32, how: Arrival) -> bool {
        if n_allowed == 1 {
            return false;
        }
        match (self.shared.rule, how) {
            (EnqueueRule::Wakeup, Arrival::Enqueue(f)) => f.wakeup && !f.migrated,
            (EnqueueRule::Wakeup, _) => false,
            (EnqueueRule::Tree, _) | (_, Arrival::PutPrev) => true,
            (EnqueueRule::TreeNonempty, _) => w.cpus[cpu].nr_running > 1,
        }
    }

    /// True if `p`, just put on the runqueue of `cpu`, is to be appended to the shared queue.
    #[inline]
    pub(crate) fn shared_takes(&self, w: &World, cpu: CpuId, p: TaskId, f: EnqueueFlags) -> bool {
        let n_allowed = w.tasks[p].nr_cpus_allowed;
        !self.swqueues.is_empty() && self.shared_wants(w, cpu, n_allowed, Arrival::Enqueue(f))
    }

    /// `prev` has been put back among the waiting tasks of `cpu`: it is appended, and then who is
    /// current unlinked.
    #[inline]
    pub(crate) fn shared_put_prev(&mut self, w: &World, cpu: CpuId, prev: TaskId) -> Hook {
        if !prev.is_task() || !self.shared.follows_tree() || !self.tasks[prev].on_rq {
            return None;
        }
        let n_allowed = w.tasks[prev].nr_cpus_allowed;
        let queued = self.shared_wants(w, cpu, n_allowed, Arrival::PutPrev);
        queued.then(|| self.swq_nested(cpu, prev, sites::PUT_PREV_ENQUEUE, PUT_PREV))
    }

    /// `p`, on the runqueue of its CPU, was taken off and put back as its attributes changed; it
    /// may use `n_allowed` CPUs from now on.
    pub(crate) fn shared_changed(&mut self, w: &mut World, p: TaskId, n_allowed: u32) -> Hook {
        let cpu = w.tasks[p].cpu;
        let is_curr = self.rqs[cpu].curr == p;
        if !self.shared.follows_tree() || is_curr && n_allowed == 1 {
            return self.swq_remove(w, cpu, p, sites::DEQUEUE_REMOVE);
        }
        if is_curr {
            return Some(self.swq_nested(cpu, p, sites::PUT_PREV_ENQUEUE, PUT_PREV));
        }
        match self.swq_remove(w, cpu, p, sites::DEQUEUE_REMOVE) {
            Some(unlink) => Some(Nested { op: REQUEUE, ..unlink }),
            None => self.shared_restored(w, cpu, p, n_allowed),
        }
    }

    /// `p` waits on `cpu` again after a change of its attributes.
    pub(crate) fn shared_restored(&self, w: &World, cpu: CpuId, p: TaskId, n: u32) -> Hook {
        let queued = self.shared_wants(w, cpu, n, Arrival::Restore);
        queued.then(|| self.swq_nested(cpu, p, sites::TTWU_ENQUEUE, APPEND))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_support::Shape;

    /// T7.4: shards by size of the LLC.
    #[test]
    fn an_llc_has_as_many_shards_as_the_version_says() {
        let shards = [(12, 2, 2), (16, 2, 3), (36, 6, 6), (40, 6, 7), (52, 8, 9), (64, 10, 11)];
        for (size, v2, later) in shards {
            assert_eq!(num_shards(Version::V1, size, 6), 1);
            assert_eq!(num_shards(Version::V2, size, 6), v2);
            assert_eq!(num_shards(Version::V3, size, 6), later);
            assert_eq!(num_shards(Version::V4, size, 6), later);
        }
        assert_eq!(num_shards(Version::V2, 4, 6), 1);
        assert_eq!(num_shards(Version::V3, 4, 6), 1);
    }

    /// Spec 7.4: of 36 CPUs behind an LLC, 0 and its sibling 18 do not share a shard.
    #[test]
    fn siblings_share_a_shard_only_as_neighbors() {
        assert_eq!(shard_of(Version::V2, CpuId(18), 6), 0);
        assert_eq!(shard_of(Version::V2, CpuId(7), 6), 1);
        assert_eq!(shard_of(Version::V3, CpuId(0), 6), 0);
        assert_eq!(shard_of(Version::V3, CpuId(18), 6), 3);
        assert_eq!(shard_of(Version::V4, CpuId(1), 6), 0);
    }

    #[test]
    fn a_pull_begins_with_its_own_shard_and_stays_in_its_llc() {
        let features = Features { shared_runq: true, ..Features::default() };
        let machine = Shape::new(2, 8, 2).machine();
        let tunables = Tunables::for_cpus(machine.n_cpus());
        let queues = SharedQueues::new(&machine, &features, &tunables);
        assert_eq!(queues.version, Version::V3);
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
