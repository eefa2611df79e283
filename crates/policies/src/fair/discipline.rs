//! What CFS and EEVDF do differently: who runs next, for how long, and who gives way.
//!
//! The fair class is generic over its queueing discipline, so the choice is made once, where a
//! simulation is put together, and costs nothing in it. What the two share (PELT, the wake-up path,
//! balancing) calls these functions; each discipline implements them on its own kind of [`Fair`].

use super::Fair;
use super::state::{FairRq, FairTask};
use sim_core::{DequeueFlags, EnqueueFlags, Ns, TaskId, World};
use std::fmt::Debug;
use topology::CpuId;

/// Kernel versions whose rules are modeled, in order of age.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rules {
    /// v6.4, with CFS.
    V6_4,
    /// v6.6, the first with EEVDF.
    V6_6,
    /// v6.12
    V6_12,
    /// v6.18 as its stable tree has it (v6.18.33 and later).
    V6_18,
}

impl Rules {
    /// What scenarios call them, the oldest first.
    pub const NAMES: [&str; 4] = ["6.4", "6.6", "6.12", "6.18"];

    /// The rules of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        let all = [Self::V6_4, Self::V6_6, Self::V6_12, Self::V6_18];
        all.into_iter().find(|rules| Self::NAMES[*rules as usize] == name)
    }
}

/// See the module's documentation. `cpu` always is the CPU of the runqueue concerned, whose lock is
/// held.
pub trait Discipline: Sized {
    /// What a task has besides [`super::state::FairTask`].
    type Entity: Clone + Debug + Default;
    /// The order of a runqueue's waiting tasks.
    type Queue: Clone + Debug + Default;

    /// A task that goes to sleep may stay on its queue for a while.
    const DELAYS: bool = false;

    /// Tasks may be in task groups: then a runqueue's ticks and turns concern others.
    const GROUPS: bool = false;

    /// The kernel whose rules apply to what the disciplines share.
    fn rules(&self) -> Rules;

    /// The runqueues are empty, and no task exists yet.
    fn init(_f: &mut Fair<Self>) {}

    /// The queue that `p` is on when it is on `cpu`, and `p` itself.
    #[inline]
    fn queue_and_task(
        f: &mut Fair<Self>,
        cpu: CpuId,
        p: TaskId,
    ) -> (&mut FairRq<Self::Queue>, &mut FairTask<Self::Entity>) {
        (&mut f.rqs[cpu], &mut f.tasks[p])
    }

    /// `cfs.nr_running` of `cpu`'s root queue: tasks, and groups that have some.
    #[inline]
    fn nr_entities(f: &Fair<Self>, cpu: CpuId) -> u32 {
        f.rqs[cpu].h_nr_running
    }

    /// Averages of `cpu`'s queues alone, up to now (`__update_blocked_fair`).
    #[inline]
    fn update_blocked(f: &mut Fair<Self>, w: &World, cpu: CpuId) {
        f.update_rq_load_avg(w.now, cpu);
    }

    /// How many queues [`Discipline::update_blocked`] looks at beside the root's.
    #[inline]
    fn n_leaf_queues(_f: &Fair<Self>, _cpu: CpuId) -> u64 {
        0
    }

    /// `cfs_rq_has_blocked` of one of these: averages that are not zero yet.
    #[inline]
    fn has_blocked_leaf(_f: &Fair<Self>, _cpu: CpuId) -> bool {
        false
    }

    /// `update_cfs_rq_h_load`, before [`Discipline::task_h_load`] is asked for `p`, or for the idle
    /// task, on `cpu`.
    #[inline]
    fn update_h_load(_f: &mut Fair<Self>, _w: &World, _cpu: CpuId, _p: TaskId) {}

    /// `task_h_load`: what `p` adds to the load of `cpu`, where it is or slept; or the idle task.
    #[inline]
    fn task_h_load(f: &Fair<Self>, _cpu: CpuId, p: TaskId) -> u64 {
        f.task_load(p)
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

    /// The task sleeps on its queue.
    #[inline]
    fn is_delayed(_ext: &Self::Entity) -> bool {
        false
    }

    /// ENQUEUE_DELAYED: `p`, which sleeps on its queue, is woken.
    fn wake_delayed(_f: &mut Fair<Self>, _w: &mut World, _cpu: CpuId, _p: TaskId) {}

    /// DEQUEUE_SAVE: takes `p` off its queue for a moment, in which its attributes change.
    fn save_entity(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId);

    /// ENQUEUE_RESTORE: the reverse. Its weight was `old_weight` before.
    fn restore_entity(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId, old_weight: u32);

    /// `reweight_entity` of a task that is on no queue.
    fn reweight_sleeping(_ext: &mut Self::Entity, _old_weight: u32, _new_weight: u32) {}

    /// `p` gets a slice of its own, ns, or (0) the base slice.
    fn set_slice(_f: &mut Fair<Self>, _p: TaskId, _slice_ns: Ns) {}

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

    /// `set_next_entity`; `prev` was current before.
    fn set_next_entity(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId, prev: TaskId);

    /// `put_prev_entity`; `next` will be current.
    fn put_prev_entity(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId, next: TaskId);

    /// `entity_tick`: charges `curr`, and asks whether it goes on.
    fn tick(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, curr: TaskId);

    /// The first tick edge that may preempt the current task, of several that are queued.
    fn preempting_tick(f: &Fair<Self>, w: &World, cpu: CpuId) -> Ns;

    /// `yield_task_fair`
    fn yield_task(f: &mut Fair<Self>, w: &mut World, cpu: CpuId);

    /// `p`, which waits, is to be picked out of order.
    fn is_buddy(f: &Fair<Self>, cpu: CpuId, p: TaskId) -> bool;

    /// The waiting tasks in the order of the queue, for whoever checks it.
    fn queued(f: &Fair<Self>, cpu: CpuId) -> Vec<TaskId>;

    /// The weight of what is on `cpu`'s root queue, as the tasks say it (T2.2), or what is wrong.
    ///
    /// # Errors
    /// A violation of the discipline's own books, in words.
    fn check(f: &Fair<Self>, w: &World, cpu: CpuId) -> Result<u64, String> {
        let tasks = w.tasks.iter().zip(&f.tasks).filter(|(t, _)| t.on_rq && t.cpu == cpu);
        Ok(tasks.map(|(_, se)| u64::from(se.weight)).sum())
    }
}
