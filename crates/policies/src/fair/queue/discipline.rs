//! What CFS and EEVDF do differently: which task runs next, for how long, and when it is preempted.
//!
//! The fair class is generic over its queueing discipline, so the choice is made once, where a
//! simulation is put together, and costs nothing in it. What the two share (PELT, the wake-up path,
//! balancing) calls these functions; each discipline implements them on its own kind of [`Fair`].

use crate::fair::state::pelt::SchedAvg;
use crate::fair::state::{Fair, FairRq, FairTask, QueueId, QueueKind};
use sim_core::{DequeueFlags, EnqueueFlags, Ns, TaskId, World};
use topology::CpuId;

/// See the module's documentation. `cpu` always is the CPU of the runqueue concerned, whose lock is
/// held.
pub trait Discipline: QueueKind {
    /// The runqueues are empty, and no task exists yet.
    fn init(_f: &mut Fair<Self>) {}

    /// `reweight_entity`: the weight of a group's entity, which is on this queue or off it, is
    /// looked at anew.
    fn reweight_group(f: &mut Fair<Self>, w: &mut World, queue: QueueId, se: TaskId, weight: u32);

    /// The queue that `p` is on when it is on `cpu`, and `p` itself.
    #[inline]
    fn queue_and_task(
        f: &mut Fair<Self>,
        cpu: CpuId,
        p: TaskId,
    ) -> (&mut FairRq<Self::Queue>, &mut FairTask<Self::Entity>) {
        f.queue_and_entity(f.queue_of(cpu, p), p)
    }

    /// `cfs_rq.nr_running`: the entities on a queue, tasks and groups, the current one included.
    fn nr_entities(f: &Fair<Self>, queue: QueueId) -> u32;

    /// Averages of `cpu`'s queues alone, up to now (`__update_blocked_fair`).
    #[inline]
    fn update_blocked(f: &mut Fair<Self>, w: &mut World, cpu: CpuId) {
        f.update_blocked_queues(w, cpu);
    }

    /// The averages of the queues that [`Discipline::update_blocked`] looks at beside the root's.
    #[inline]
    fn leaf_averages(f: &Fair<Self>, cpu: CpuId) -> impl Iterator<Item = &SchedAvg> {
        let leaves = Self::GROUPS.then(|| f.groups.leaves(cpu));
        leaves.into_iter().flatten().map(|leaf| &leaf.rq.avg)
    }

    /// `task_h_load`, up to date: what `p`, or the idle task, adds to the load of `cpu`, where it
    /// is or slept.
    #[inline]
    fn task_h_load(f: &mut Fair<Self>, w: &World, cpu: CpuId, p: TaskId) -> u64 {
        f.update_cfs_rq_h_load(w, f.queue_of(cpu, p));
        f.group_task_h_load(cpu, p)
    }

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

    /// ENQUEUE_DELAYED: `p`, which sleeps on its queue, is woken.
    fn wake_delayed(_f: &mut Fair<Self>, _w: &mut World, _cpu: CpuId, _p: TaskId) {}

    /// DEQUEUE_SAVE: takes `p` off its queue for a moment, in which its attributes change.
    fn save_entity(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId);

    /// ENQUEUE_RESTORE: the reverse. Its weight was `old_weight` before.
    fn restore_entity(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId, old_weight: u32);

    /// `reweight_entity` of a task that is on no queue.
    fn reweight_sleeping(_ext: &mut Self::Entity, _old_weight: u32, _new_weight: u32) {}

    /// `enqueue_entity` of a group's entity, whose queue may go on.
    fn enqueue_group(f: &mut Fair<Self>, w: &mut World, queue: QueueId, se: TaskId);

    /// `dequeue_entity` of a group's entity, whose queue is throttled: it leaves at once.
    fn dequeue_group(f: &mut Fair<Self>, w: &mut World, queue: QueueId, se: TaskId);

    /// `p` gets a slice of its own, ns, or (0) the base slice.
    fn set_slice(_f: &mut Fair<Self>, _p: TaskId, _slice_ns: Ns) {}

    /// `check_preempt_wakeup`: `p` was put beside the current task, a fair one too; calls
    /// [`World::resched_curr`] if `p` should run at once.
    fn check_preempt_wakeup(
        f: &mut Fair<Self>,
        w: &mut World,
        cpu: CpuId,
        p: TaskId,
        flags: EnqueueFlags,
    );

    /// `pick_next_entity`, with the current task as a candidate if it is still runnable.
    fn pick_next_entity(f: &mut Fair<Self>, w: &mut World, cpu: CpuId) -> Option<TaskId>;

    /// `set_next_entity`; `prev` was current before.
    fn set_next_entity(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId, prev: TaskId);

    /// `update_curr`: charges the current entity of a queue for the time that it has run.
    fn charge_curr(f: &mut Fair<Self>, w: &mut World, queue: QueueId);

    /// `__enqueue_entity`: puts the entity that was current among those that wait.
    fn insert(f: &mut Fair<Self>, queue: QueueId, se: TaskId);

    /// `entity_tick`: charges `curr`, and asks whether it goes on.
    fn tick(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, curr: TaskId);

    /// The first tick edge that may preempt the current task, of several that are queued.
    fn preempting_tick(f: &Fair<Self>, w: &World, cpu: CpuId) -> Ns;

    /// `yield_task_fair`
    fn yield_task(f: &mut Fair<Self>, w: &mut World, cpu: CpuId);

    /// `p`, which waits, is to be picked out of order.
    fn is_buddy(f: &Fair<Self>, cpu: CpuId, p: TaskId) -> bool;

    /// The waiting tasks, each group's in its place, for tests.
    fn queued(f: &Fair<Self>, cpu: CpuId) -> Vec<TaskId>;

    /// The weight of what is on `cpu`'s root queue, as the tasks say it, or what is wrong.
    ///
    /// # Errors
    /// A violation of the books of task groups, in words.
    fn check(f: &Fair<Self>, w: &World, cpu: CpuId) -> Result<u64, String> {
        f.check_groups(w, cpu)
    }
}
