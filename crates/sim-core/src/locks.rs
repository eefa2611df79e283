//! Queued spinlocks (kernel/locking/qspinlock.c) as an event model: an owner, a FIFO of waiting
//! CPUs, and a hand-over that takes as long as the distance of the two CPUs asks.
//!
//! A waiting CPU has no event; a release grants the lock to the next one after the hand-over time.
//! The FIFO is threaded through the CPUs (a CPU waits for at most one thing), so nothing allocates.

use crate::Ns;
use topology::{CpuId, DenseId, IdVec};

/// A lock. The runqueue lock of CPU c is number c.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LockId(pub u32);

impl LockId {
    /// The runqueue lock of a CPU.
    #[inline]
    pub const fn rq(cpu: CpuId) -> LockId {
        LockId(cpu.0)
    }
}

impl DenseId for LockId {
    #[inline]
    fn index(self) -> usize {
        self.0 as usize
    }

    fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).expect("a run has fewer locks than 2^32"))
    }
}

/// A place in the kernel where a CPU takes a lock or waits for a task: a constant of the code that
/// takes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site {
    /// Where statistics of it are kept, below [`Site::SLOTS`]: no other site of a run has this one.
    pub slot: u8,
    /// Name as the metrics show it: `spin_pct.<name>`.
    pub name: &'static str,
    /// The sites that profiles add up with this one: `spin_pct.<group>`.
    pub group: &'static str,
    /// Metrics show it only if it was taken: it belongs to a single workload.
    pub only_if_taken: bool,
}

impl Site {
    /// How many sites there may be.
    pub const SLOTS: usize = 32;
    /// Group of the runqueue locks.
    pub const RQ_LOCKS: &'static str = "rq_lock";
    /// Group of locks that belong to no other group.
    pub const OTHER_LOCKS: &'static str = "other";
    /// Group of waits for a task's state, where no lock is taken.
    pub const NO_LOCK: &'static str = "no_lock";

    /// A site that metrics always show.
    pub const fn new(slot: u8, name: &'static str, group: &'static str) -> Self {
        assert!((slot as usize) < Self::SLOTS, "there are no more slots");
        Self { slot, name, group, only_if_taken: false }
    }

    /// Index into [`Locks::sites`]. The remainder changes nothing: it saves a check of bounds at
    /// every acquisition.
    #[inline]
    const fn index(&self) -> usize {
        self.slot as usize % Self::SLOTS
    }

    /// `try_to_wake_up()`: the target's runqueue.
    pub const TTWU_RQ_LOCK: &'static Self = &Self::new(6, "ttwu_rq_lock", Self::RQ_LOCKS);
    /// `sched_ttwu_pending()`: the own runqueue.
    pub const TTWU_PENDING_RQ_LOCK: &'static Self =
        &Self::new(7, "ttwu_pending_rq_lock", Self::RQ_LOCKS);
    /// `schedule()`: the own runqueue.
    pub const SCHEDULE_RQ_LOCK: &'static Self = &Self::new(8, "schedule_rq_lock", Self::RQ_LOCKS);
    /// `scheduler_tick()`: the own runqueue. Never contended here: ticks are computed, so that a
    /// tick has no instant of its own at which it could queue for the lock, and it holds it for a
    /// fraction of its cost. Its time is charged; its wait, and the wait of others for it, are left
    /// out.
    pub const TICK_RQ_LOCK: &'static Self = &Self::new(11, "tick_rq_lock", Self::RQ_LOCKS);
    /// `wake_up_new_task()`: the child's runqueue.
    pub const FORK_RQ_LOCK: &'static Self = &Self::new(12, "fork_rq_lock", Self::RQ_LOCKS);
    /// The stopper: a runqueue.
    pub const STOP_RQ_LOCK: &'static Self = &Self::new(13, "stop_rq_lock", Self::RQ_LOCKS);
    /// `sched_setscheduler()`, `sched_setaffinity()`: a runqueue.
    pub const SET_ATTR_RQ_LOCK: &'static Self = &Self::new(14, "set_attr_rq_lock", Self::RQ_LOCKS);
    /// `try_to_wake_up()` waits for `p->on_cpu` to clear.
    pub const ON_CPU_WAIT: &'static Self = &Self::new(21, "on_cpu_wait", Self::NO_LOCK);
    /// `task_rq_lock()` waits for a migration to end.
    pub const MIGRATING_WAIT: &'static Self = &Self::new(22, "migrating_wait", Self::NO_LOCK);

    /// The sites of the mechanism.
    pub const MECHANISM: [&'static Self; 9] = [
        Self::TTWU_RQ_LOCK,
        Self::TTWU_PENDING_RQ_LOCK,
        Self::SCHEDULE_RQ_LOCK,
        Self::TICK_RQ_LOCK,
        Self::FORK_RQ_LOCK,
        Self::STOP_RQ_LOCK,
        Self::SET_ATTR_RQ_LOCK,
        Self::ON_CPU_WAIT,
        Self::MIGRATING_WAIT,
    ];
}

/// Statistics of one call site.
#[derive(Clone, Copy, Default, Debug)]
pub struct SiteStats {
    /// Acquisitions, contended or not.
    pub acquired: u64,
    /// Acquisitions that had to wait.
    pub contended: u64,
    /// Total waiting time, ns.
    pub wait_ns: Ns,
}

const NO_CPU: u32 = u32::MAX;

/// CPUs by number, or [`NO_CPU`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lock {
    pub owner: u32,
    /// The CPUs that wait, the first and the last; [`crate::Cpu`] has the links between them.
    pub head: u32,
    pub tail: u32,
    /// The owner before: its cache holds the lock's line.
    pub last: u32,
}

/// All locks of a simulation.
#[derive(Clone, Debug, Default)]
pub struct Locks {
    pub(crate) locks: IdVec<LockId, Lock>,
    /// By lock: the name of its class.
    classes: IdVec<LockId, &'static str>,
    /// By [`Site::slot`].
    pub sites: [SiteStats; Site::SLOTS],
}

/// What became of an acquisition attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Acquire {
    /// Taken; the previous owner's CPU, whose cache holds the line.
    Taken { last: u32 },
    /// Another CPU owns it. `first`: no other CPU waits, so the pending bit is free.
    Busy { first: bool },
}

impl Locks {
    pub(crate) fn add(&mut self, class: &'static str) -> LockId {
        self.classes.push(class);
        self.locks.push(Lock { owner: NO_CPU, head: NO_CPU, tail: NO_CPU, last: NO_CPU });
        LockId(self.locks.len() as u32 - 1)
    }

    /// What was counted at a site.
    #[inline]
    pub fn site(&self, site: &Site) -> &SiteStats {
        &self.sites[site.index()]
    }

    #[inline]
    pub(crate) fn site_mut(&mut self, site: &Site) -> &mut SiteStats {
        &mut self.sites[site.index()]
    }

    /// Number of locks, those of the runqueues included.
    #[allow(clippy::len_without_is_empty, reason = "every machine has runqueue locks")]
    pub fn len(&self) -> u32 {
        self.locks.len() as u32
    }

    /// The CPU that released a lock last: its caches hold what the lock protects.
    #[inline]
    pub fn last_owner(&self, lock: LockId) -> Option<CpuId> {
        let last = self.locks[lock].last;
        (last != NO_CPU).then_some(CpuId(last))
    }

    /// The class of a lock, as lockstat would name it.
    pub fn class(&self, lock: LockId) -> &'static str {
        self.classes[lock]
    }

    /// The CPU that owns a lock.
    #[inline]
    pub fn owner(&self, lock: LockId) -> Option<CpuId> {
        let owner = self.locks[lock].owner;
        (owner != NO_CPU).then_some(CpuId(owner))
    }

    /// The CPU that waits for a lock at the head of its queue.
    #[inline]
    pub fn first_waiter(&self, lock: LockId) -> Option<CpuId> {
        let head = self.locks[lock].head;
        (head != NO_CPU).then_some(CpuId(head))
    }

    /// Takes a free lock and gives it back. Returns the CPU that held it before.
    #[inline]
    pub(crate) fn pass(&mut self, lock: LockId, cpu: CpuId, site: &Site) -> CpuId {
        let l = &mut self.locks[lock];
        debug_assert!(l.owner == NO_CPU, "{lock:?} is not free");
        let last = std::mem::replace(&mut l.last, cpu.0);
        self.sites[site.index()].acquired += 1;
        // A lock that was never taken costs no transfer.
        if last == NO_CPU { cpu } else { CpuId(last) }
    }

    #[inline]
    pub(crate) fn try_take(&mut self, lock: LockId, cpu: CpuId, site: &Site) -> Acquire {
        let l = &mut self.locks[lock];
        debug_assert!(l.owner != cpu.0, "{cpu} takes {lock:?} twice at {}", site.name);
        if l.owner != NO_CPU {
            return Acquire::Busy { first: l.head == NO_CPU };
        }
        let last = if l.last == NO_CPU { cpu.0 } else { l.last };
        l.owner = cpu.0;
        self.sites[site.index()].acquired += 1;
        Acquire::Taken { last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_at_the_head_of_a_lock_is_known() {
        let mut locks = Locks::default();
        let lock = locks.add("a lock");
        assert_eq!(locks.first_waiter(lock), None);
        (locks.locks[lock].head, locks.locks[lock].tail) = (3, 5);
        assert_eq!(locks.first_waiter(lock), Some(CpuId(3)));
    }
}
