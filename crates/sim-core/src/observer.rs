//! What happened, told to whoever wants to know: metrics, traces, the ledger.

use crate::{MigrationCause, Ns, Site, TaskId, World};
use topology::CpuId;

/// Hears of events at the instant when they happen. An observer that is not there costs nothing:
/// all methods are empty by default and calls are resolved at compile time.
pub trait Observer {
    /// `cpu` goes over from `prev` to `next` (IDLE and STOP included); the switch starts now.
    #[inline]
    fn switch(&mut self, _w: &World, _cpu: CpuId, _prev: TaskId, _next: TaskId) {}

    /// `task` became runnable on `cpu` by a wake-up (`sched_wakeup`), or for the first time.
    #[inline]
    fn wakeup(&mut self, _w: &World, _cpu: CpuId, _task: TaskId, _new: bool) {}

    /// `task` waited this long from its wake-up to its first run.
    #[inline]
    fn sched_delay(&mut self, _w: &World, _task: TaskId, _ns: Ns) {}

    /// `task` moves to another CPU.
    #[inline]
    fn migrate(
        &mut self,
        _w: &World,
        _task: TaskId,
        _from: CpuId,
        _to: CpuId,
        _why: MigrationCause,
    ) {
    }

    /// A CPU had to wait for a lock or a task's state and has it now.
    #[inline]
    fn waited(&mut self, _w: &World, _cpu: CpuId, _site: Site, _ns: Ns) {}

    /// An event has been handled completely (for invariants).
    #[inline]
    fn after_event(&mut self, _w: &World) {}
}

/// Nobody is watching.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoObserver;

impl Observer for NoObserver {}
