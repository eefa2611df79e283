//! Queued spinlocks as an event model (spec 11): owner, FIFO of waiting CPUs, hand-over by
//! distance.
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

/// Where in the kernel a CPU waits (spec 11.3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Site {
    /// enqueue_task_fair -> swqueue append
    TtwuEnqueueSwq,
    /// put_prev_task_fair -> shared_runq append
    PutPrevEnqueueSwq,
    /// pick_next_task_fair -> swqueue_remove_task
    PickRemoveSwq,
    /// dequeue_task_fair -> swqueue_remove_task
    DequeueRemoveSwq,
    /// swqueue_pick_next_task -> pop
    PullPopSwq,
    /// swqueue_pick_next_task -> task_rq_lock
    PullTaskRqLock,
    /// try_to_wake_up -> target's runqueue
    TtwuRqLock,
    /// sched_ttwu_pending -> own runqueue
    TtwuPendingRqLock,
    /// schedule -> own runqueue
    ScheduleRqLock,
    /// newidle balance -> a runqueue
    NewidleLbRqLock,
    /// periodic and nohz balance -> a runqueue
    PeriodicLbRqLock,
    /// scheduler_tick -> own runqueue. Never contended here: ticks are computed, so that a tick has
    /// no instant of its own at which it could queue for the lock, and it holds it for a fraction
    /// of its cost. Its time is charged; its wait, and the wait of others for it, are left out.
    TickRqLock,
    /// wake_up_new_task -> the child's runqueue
    ForkRqLock,
    /// stopper -> a runqueue
    StopRqLock,
    /// sched_setscheduler, sched_setaffinity -> a runqueue
    SetAttrRqLock,
    /// inserting into a dispatch queue of sched_ext, or taking from it
    DsqLock,
    /// consume_dispatch_q -> the runqueue of a task elsewhere, and the own one again
    ConsumeRqLock,
    /// the lock that serializes NUMA balancing
    BalanceSerialize,
    /// queue_work, process_one_work and others -> the pool
    WqPoolLock,
    /// kcryptd and dmcrypt_write -> the tree of writes
    DmcryptWriteLock,
    /// truncate_inode_pages_range, __remove_mapping -> mapping->tree_lock
    TreeLock,
    /// waiting for p->on_cpu to clear
    OnCpuWait,
    /// waiting for a migration to end
    MigratingWait,
}

impl Site {
    /// All sites, in discriminant order.
    pub const ALL: [Site; 23] = [
        Site::TtwuEnqueueSwq,
        Site::PutPrevEnqueueSwq,
        Site::PickRemoveSwq,
        Site::DequeueRemoveSwq,
        Site::PullPopSwq,
        Site::PullTaskRqLock,
        Site::TtwuRqLock,
        Site::TtwuPendingRqLock,
        Site::ScheduleRqLock,
        Site::NewidleLbRqLock,
        Site::PeriodicLbRqLock,
        Site::TickRqLock,
        Site::ForkRqLock,
        Site::StopRqLock,
        Site::SetAttrRqLock,
        Site::DsqLock,
        Site::ConsumeRqLock,
        Site::BalanceSerialize,
        Site::WqPoolLock,
        Site::DmcryptWriteLock,
        Site::TreeLock,
        Site::OnCpuWait,
        Site::MigratingWait,
    ];

    /// Name as the metrics show it: `spin_pct.<name>`.
    pub const fn name(self) -> &'static str {
        match self {
            Site::TtwuEnqueueSwq => "ttwu_enqueue_swq",
            Site::PutPrevEnqueueSwq => "put_prev_enqueue_swq",
            Site::PickRemoveSwq => "pick_remove_swq",
            Site::DequeueRemoveSwq => "dequeue_remove_swq",
            Site::PullPopSwq => "pull_pop_swq",
            Site::PullTaskRqLock => "pull_task_rq_lock",
            Site::TtwuRqLock => "ttwu_rq_lock",
            Site::TtwuPendingRqLock => "ttwu_pending_rq_lock",
            Site::ScheduleRqLock => "schedule_rq_lock",
            Site::NewidleLbRqLock => "newidle_lb_rq_lock",
            Site::PeriodicLbRqLock => "periodic_lb_rq_lock",
            Site::TickRqLock => "tick_rq_lock",
            Site::ForkRqLock => "fork_rq_lock",
            Site::StopRqLock => "stop_rq_lock",
            Site::SetAttrRqLock => "set_attr_rq_lock",
            Site::DsqLock => "dsq_lock",
            Site::ConsumeRqLock => "consume_rq_lock",
            Site::BalanceSerialize => "balance_serialize",
            Site::WqPoolLock => "wq_pool_lock",
            Site::DmcryptWriteLock => "dmcrypt_write_lock",
            Site::TreeLock => "tree_lock",
            Site::OnCpuWait => "on_cpu_wait",
            Site::MigratingWait => "migrating_wait",
        }
    }
}

/// What call sites are put together for comparison with published profiles (spec 11.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SiteGroup {
    /// Appending to a shared wakequeue.
    Enqueue,
    /// Unlinking from it.
    Remove,
    /// Popping from it in a pull.
    Pop,
    /// Runqueue locks.
    RqLock,
    /// Other locks.
    Other,
    /// No lock: a task's state.
    NoLock,
}

impl SiteGroup {
    /// All groups.
    pub const ALL: [SiteGroup; 6] = [
        SiteGroup::Enqueue,
        SiteGroup::Remove,
        SiteGroup::Pop,
        SiteGroup::RqLock,
        SiteGroup::Other,
        SiteGroup::NoLock,
    ];

    /// Name as the metrics show it: `spin_pct.<name>`.
    pub const fn name(self) -> &'static str {
        match self {
            SiteGroup::Enqueue => "enqueue",
            SiteGroup::Remove => "remove",
            SiteGroup::Pop => "pop",
            SiteGroup::RqLock => "rq_lock",
            SiteGroup::Other => "other",
            SiteGroup::NoLock => "no_lock",
        }
    }
}

impl Site {
    /// True if metrics tell of it only where it was taken: sites of a single workload that came
    /// after the results of the others had been kept.
    pub const fn only_if_taken(self) -> bool {
        matches!(self, Site::TreeLock)
    }

    /// The group it belongs to.
    pub const fn group(self) -> SiteGroup {
        match self {
            Site::TtwuEnqueueSwq | Site::PutPrevEnqueueSwq => SiteGroup::Enqueue,
            Site::PickRemoveSwq | Site::DequeueRemoveSwq => SiteGroup::Remove,
            Site::PullPopSwq => SiteGroup::Pop,
            Site::PullTaskRqLock
            | Site::TtwuRqLock
            | Site::TtwuPendingRqLock
            | Site::ScheduleRqLock
            | Site::NewidleLbRqLock
            | Site::PeriodicLbRqLock
            | Site::TickRqLock
            | Site::ForkRqLock
            | Site::StopRqLock
            | Site::SetAttrRqLock
            | Site::ConsumeRqLock => SiteGroup::RqLock,
            Site::DsqLock
            | Site::BalanceSerialize
            | Site::WqPoolLock
            | Site::DmcryptWriteLock
            | Site::TreeLock => SiteGroup::Other,
            Site::OnCpuWait | Site::MigratingWait => SiteGroup::NoLock,
        }
    }
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

const NOBODY: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Lock {
    pub owner: u32,
    pub head: u32,
    pub tail: u32,
    pub last: u32,
}

/// All locks of a simulation.
#[derive(Clone, Debug, Default)]
pub struct Locks {
    pub(crate) locks: IdVec<LockId, Lock>,
    /// By lock: the name of its class.
    classes: IdVec<LockId, &'static str>,
    /// By [`Site`].
    pub sites: [SiteStats; Site::ALL.len()],
}

/// What became of an acquisition attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Acquire {
    /// Taken; the previous owner's CPU, whose cache holds the line.
    Taken { last: u32 },
    /// Somebody owns it; `first` if nobody else waits (the pending bit is free).
    Busy { first: bool },
}

impl Locks {
    pub(crate) fn add(&mut self, class: &'static str) -> LockId {
        self.classes.push(class);
        self.locks.push(Lock { owner: NOBODY, head: NOBODY, tail: NOBODY, last: NOBODY });
        LockId(self.locks.len() as u32 - 1)
    }

    /// Number of locks.
    #[allow(clippy::len_without_is_empty, reason = "every machine has runqueue locks")]
    pub fn len(&self) -> u32 {
        self.locks.len() as u32
    }

    /// The CPU that released a lock last: its caches hold what the lock protects.
    #[inline]
    pub fn last_owner(&self, lock: LockId) -> Option<CpuId> {
        let last = self.locks[lock].last;
        (last != NOBODY).then_some(CpuId(last))
    }

    /// The class of a lock, as lockstat would name it.
    pub fn class(&self, lock: LockId) -> &'static str {
        self.classes[lock]
    }

    /// The CPU that owns a lock.
    #[inline]
    pub fn owner(&self, lock: LockId) -> Option<CpuId> {
        let owner = self.locks[lock].owner;
        (owner != NOBODY).then_some(CpuId(owner))
    }

    /// The CPU that waits for a lock at the head of its queue.
    #[inline]
    pub fn first_waiter(&self, lock: LockId) -> Option<CpuId> {
        let head = self.locks[lock].head;
        (head != NOBODY).then_some(CpuId(head))
    }

    /// Takes a free lock and gives it back: who held it before.
    #[inline]
    pub(crate) fn pass(&mut self, lock: LockId, cpu: CpuId, site: Site) -> CpuId {
        let l = &mut self.locks[lock];
        debug_assert!(l.owner == NOBODY, "{lock:?} is not free");
        let last = std::mem::replace(&mut l.last, cpu.0);
        self.sites[site as usize].acquired += 1;
        if last == NOBODY { cpu } else { CpuId(last) }
    }

    #[inline]
    pub(crate) fn try_take(&mut self, lock: LockId, cpu: CpuId, site: Site) -> Acquire {
        let l = &mut self.locks[lock];
        debug_assert!(l.owner != cpu.0, "{cpu} takes {lock:?} twice at {site:?}");
        if l.owner != NOBODY {
            return Acquire::Busy { first: l.head == NOBODY };
        }
        let last = if l.last == NOBODY { cpu.0 } else { l.last };
        l.owner = cpu.0;
        self.sites[site as usize].acquired += 1;
        Acquire::Taken { last }
    }
}
