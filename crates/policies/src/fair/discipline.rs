//! What CFS and EEVDF do differently: who runs next, for how long, and who gives way.
//!
//! The fair class is generic over its queueing discipline, so the choice is made once, where a
//! simulation is put together, and costs nothing in it. What the two share (PELT, the wake-up path,
//! balancing) calls these functions; each discipline implements them on its own kind of [`Fair`].

use super::Fair;
use sim_core::{DequeueFlags, EnqueueFlags, Ns, TaskId, World};
use std::fmt::Debug;
use topology::CpuId;

/// Kernel versions whose rules are modeled, in order of age.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rules {
    /// v6.4, the last but one with CFS.
    V6_4,
}

/// See the module's documentation. `cpu` always is the CPU of the runqueue concerned, whose lock is
/// held.
pub trait Discipline: Sized {
    /// What a task has besides [`super::state::FairTask`].
    type Entity: Clone + Debug + Default;
    /// The order of a runqueue's waiting tasks.
    type Queue: Clone + Debug + Default;

    /// The kernel whose rules apply to what the disciplines share.
    fn rules(&self) -> Rules;

    /// `update_curr`: charges the current task for the time up to now.
    fn update_curr(f: &mut Fair<Self>, w: &mut World, cpu: CpuId);

    /// `task_fork_fair`: a first place for the new task `p`, on the CPU of its parent.
    fn task_fork(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId);

    /// `migrate_task_rq_fair`: the sleeping `p` will wake up on another CPU than this.
    fn migrate_task(f: &mut Fair<Self>, cpu: CpuId, p: TaskId);

    /// `enqueue_entity`
    fn enqueue_entity(
        f: &mut Fair<Self>,
        w: &mut World,
        cpu: CpuId,
        p: TaskId,
        flags: EnqueueFlags,
    );

    /// `dequeue_entity`
    fn dequeue_entity(
        f: &mut Fair<Self>,
        w: &mut World,
        cpu: CpuId,
        p: TaskId,
        flags: DequeueFlags,
    );

    /// DEQUEUE_SAVE: takes `p` off its queue for a moment, in which its attributes change.
    fn save_entity(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId);

    /// ENQUEUE_RESTORE: the reverse. Its weight was `old_weight` before.
    fn restore_entity(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId, old_weight: u32);

    /// `check_preempt_wakeup`: `p` was put beside `curr`, a fair task too; calls
    /// [`World::resched_curr`] if `p` should run at once.
    fn check_preempt_wakeup(
        f: &mut Fair<Self>,
        w: &mut World,
        cpu: CpuId,
        curr_and_p: (TaskId, TaskId),
        flags: EnqueueFlags,
    );

    /// `pick_next_entity`, with the current task as a candidate if it is still runnable.
    fn pick_next_entity(f: &mut Fair<Self>, w: &mut World, cpu: CpuId) -> Option<TaskId>;

    /// `set_next_entity`
    fn set_next_entity(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId);

    /// `put_prev_entity`
    fn put_prev_entity(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId);

    /// What a tick asks after it has charged `curr`.
    fn check_preempt_tick(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, curr: TaskId);

    /// The first tick edge that may preempt the current task, of several that are queued.
    fn preempting_tick(f: &Fair<Self>, w: &World, cpu: CpuId) -> Ns;

    /// `yield_task_fair`
    fn yield_task(f: &mut Fair<Self>, w: &mut World, cpu: CpuId);

    /// `p`, which waits, is to be picked out of order.
    fn is_buddy(f: &Fair<Self>, cpu: CpuId, p: TaskId) -> bool;

    /// The waiting tasks in the order of the queue, for whoever checks it.
    fn queued(f: &Fair<Self>, cpu: CpuId) -> Vec<TaskId>;
}
