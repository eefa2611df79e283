//! EEVDF, Linux v6.6 and later: lag, eligibility, virtual deadlines.
//!
//! V, the weighted mean of the vruntimes on a runqueue, is where every task would be if the CPU
//! could be shared in infinitely small parts. A task's *lag* is how far it is behind V; a task that
//! is not ahead of V is *eligible*, and of these the one with the earliest virtual deadline runs:
//! its vruntime plus a slice in its own virtual time. A task that leaves takes its lag along and is
//! placed by it on the next queue. Since v6.12 a task that would sleep while it is ahead of V stays
//! on its queue and pays its debt first (delayed dequeue).
//!
//! `eevdf::virtual_time` has V and lag, `eevdf::enqueue` how a task joins its queue and leaves it,
//! with the groups that it is in, `eevdf::pick` which task runs and when it gives way,
//! `eevdf::tree` the order. Runtime is measured as in CFS, irq time included.

mod enqueue;
mod pick;
mod state;
#[cfg(test)]
mod tests;
mod tree;
mod virtual_time;

use super::discipline::Discipline;
use crate::fair::state::features::{Features, Tunables};
use crate::fair::state::weights::calc_delta_fair;
use crate::fair::state::{Fair, GroupSpec, QueueId, Rules};
use sim_core::{DequeueFlags, EnqueueFlags, Ns, TaskId, World};
pub use state::Eevdf;
use state::EevdfTask;
use topology::CpuId;
use tree::{Trees, Waiting};

/// Bounds of a custom slice, ns.
const SLICES: std::ops::RangeInclusive<Ns> = 100_000..=100_000_000;

impl Fair<Eevdf> {
    /// EEVDF as in the kernel whose rules are given (not before [`Rules::V6_6`]), with these
    /// features and tunables; `Policy::init` fits it to a machine.
    pub fn eevdf(rules: Rules, features: Features, tunables: Tunables) -> Self {
        Self::with(Eevdf::new(rules), features, tunables, &[])
    }
}

impl Fair<Eevdf<true>> {
    /// The same with task groups: a task whose [`sim_core::TaskAttr::group`] is n is in the nth of
    /// `groups`, counted from 1.
    pub fn eevdf_with_groups(
        rules: Rules,
        features: Features,
        tunables: Tunables,
        groups: &[GroupSpec],
    ) -> Self {
        Self::with(Eevdf::new(rules), features, tunables, groups)
    }
}

impl<const GROUPS: bool> Eevdf<GROUPS> {
    fn new(rules: Rules) -> Self {
        debug_assert!(rules >= Rules::V6_6);
        Self { rules, kernel: rules.kernel(), trees: Trees::default() }
    }
}

impl<const GROUPS: bool> Fair<Eevdf<GROUPS>> {
    /// `place_entity`: where `se`, which is not counted in V, joins a queue.
    fn place(&mut self, queue: QueueId, se: TaskId, initial: bool) {
        let base_slice = self.tunables.base_slice_ns;
        let entity = self.entity_mut(se);
        if !entity.ext.custom_slice {
            entity.ext.slice = base_slice;
        }
        let mut vslice = calc_delta_fair(entity.ext.slice, entity.weight, entity.inv_weight);
        let vlag = entity.ext.vlag;
        let weight = entity.weight;
        // On an empty queue V is wherever the task is.
        let lag = if self.features.place_lag && self.nr_on(queue) > 0 {
            self.lag_before_joining(queue, vlag, weight)
        } else {
            0
        };
        let vruntime = self.avg_vruntime(queue).wrapping_sub(lag as u64);
        let half = initial && self.features.place_deadline_initial;
        let keeps = self.features.place_rel_deadline;
        let se = self.entity_mut(se);
        se.vruntime = vruntime;
        if keeps && std::mem::take(&mut se.ext.rel_deadline) {
            se.ext.deadline = se.ext.deadline.wrapping_add(vruntime);
            return;
        }
        if half {
            vslice /= 2;
        }
        se.ext.deadline = vruntime + vslice;
    }

    /// `cfs_rq.nr_running`, delayed entities included.
    #[inline]
    fn nr_on(&self, queue: QueueId) -> u32 {
        let rq = self.queue(queue);
        if GROUPS { rq.queue.nr } else { rq.h_nr_running }
    }

    /// The same, to be changed.
    #[inline]
    fn nr_on_mut(&mut self, queue: QueueId) -> &mut u32 {
        let rq = self.queue_mut(queue);
        if GROUPS { &mut rq.queue.nr } else { &mut rq.h_nr_running }
    }

    /// `__enqueue_entity`
    #[inline]
    fn tree_insert(&mut self, queue: QueueId, p: TaskId) {
        let (rq, se) = self.queue_and_entity(queue, p);
        let own = Waiting { deadline: se.ext.deadline, vruntime: se.vruntime, slice: se.ext.slice };
        rq.queue.sum += virtual_time::product(se.vruntime, rq.min_vruntime, se.weight.into());
        rq.queue.load += u64::from(se.weight);
        let root = rq.queue.root;
        self.queue_mut(queue).queue.root = self.discipline.trees.insert(root, p, own);
    }

    /// `__dequeue_entity`
    #[inline]
    fn tree_remove(&mut self, queue: QueueId, p: TaskId) {
        let (rq, se) = self.queue_and_entity(queue, p);
        rq.queue.sum -= virtual_time::product(se.vruntime, rq.min_vruntime, se.weight.into());
        rq.queue.load -= u64::from(se.weight);
        let root = rq.queue.root;
        self.queue_mut(queue).queue.root = self.discipline.trees.remove(root, p);
    }

    /// `clear_buddies`: nor are its groups' entities, where they were for the sake of `se`.
    #[inline]
    fn clear_buddies(&mut self, queue: QueueId, se: TaskId) {
        let mut level = Some((queue, se));
        while let Some((queue, se)) = level {
            let next = &mut self.queue_mut(queue).next;
            if *next != se {
                return;
            }
            *next = TaskId::NONE;
            level = self.above(queue);
        }
    }

    /// `set_next_buddy`, but for the test of `se_is_idle`.
    fn set_next_buddy(&mut self, queue: QueueId, se: TaskId) {
        let mut level = Some((queue, se));
        while let Some((queue, se)) = level {
            self.queue_mut(queue).next = se;
            level = self.above(queue);
        }
    }

    /// `reweight_eevdf()`: the entity, which is off the tree, keeps its lag as time of the CPU, and
    /// its deadline the distance from V. That is so far as V does not move with its weight.
    fn keep_lag(&mut self, w: &World, queue: QueueId, se: TaskId, v: u64, weight: u32) {
        let vlag = self.entity_lag(w, queue, se, v);
        let entity = self.entity_mut(se);
        let old = entity.weight;
        if v != entity.vruntime {
            entity.vruntime = v.wrapping_sub(rescale(vlag, old, weight) as u64);
        }
        let left = entity.ext.deadline.wrapping_sub(v) as i64;
        entity.ext.deadline = v.wrapping_add_signed(rescale(left, old, weight));
    }

    /// `reweight_entity` of an entity on its queue.
    fn reweight_queued(&mut self, w: &mut World, queue: QueueId, se: TaskId, weight: u32) {
        // What has run so far was charged with the old weight.
        self.charge_curr(w, queue);
        let is_curr = self.curr_of(queue) == se;
        let v = self.avg_vruntime(queue);
        let lag = self.entity_lag(w, queue, se, v);
        if !is_curr {
            self.tree_remove(queue, se);
        }
        if !self.discipline.kernel.places_after_reweight {
            self.keep_lag(w, queue, se, v, weight);
            self.set_group_weight(queue, se, weight);
        } else {
            let entity = self.entity_mut(se);
            let left = entity.ext.deadline.wrapping_sub(entity.vruntime) as i64;
            entity.ext.vlag = rescale(lag, entity.weight, weight);
            entity.ext.deadline = rescale(left, entity.weight, weight) as u64;
            entity.ext.rel_deadline = true;
            self.set_group_weight(queue, se, weight);
            *self.nr_on_mut(queue) -= 1;
            self.place(queue, se, false);
            *self.nr_on_mut(queue) += 1;
        }
        if !is_curr {
            self.tree_insert(queue, se);
        }
        self.update_min_vruntime(queue);
    }
}

/// A length of virtual time, in that of another weight.
fn rescale(x: i64, old_weight: u32, new_weight: u32) -> i64 {
    (i128::from(x) * i128::from(old_weight) / i128::from(new_weight)) as i64
}

impl<const GROUPS: bool> Discipline for Eevdf<GROUPS> {
    fn init(f: &mut Fair<Self>) {
        f.discipline.trees.make_room_for_groups(f.groups.on_cpus.len());
    }

    #[inline]
    fn nr_entities(f: &Fair<Self>, queue: QueueId) -> u32 {
        f.nr_on(queue)
    }

    fn reweight_group(f: &mut Fair<Self>, w: &mut World, queue: QueueId, se: TaskId, weight: u32) {
        let below = f.group_queue(se).expect("it is a group's");
        // A delayed group competes with the weight that it had.
        let keeps = f.discipline.kernel.keeps_weight_of_empty_group;
        let is_empty = keeps && f.queue(below).load_weight == 0;
        let old = f.entity(se).weight;
        if is_empty || old == weight {
            return;
        }
        if f.entity(se).on_rq {
            return f.reweight_queued(w, queue, se, weight);
        }
        let ext = &mut f.entity_mut(se).ext;
        ext.vlag = rescale(ext.vlag, old, weight);
        f.set_group_weight(queue, se, weight);
    }

    fn enqueue_group(f: &mut Fair<Self>, w: &mut World, queue: QueueId, se: TaskId) {
        f.enqueue_group(w, queue, se);
    }

    fn dequeue_group(f: &mut Fair<Self>, w: &mut World, queue: QueueId, se: TaskId) {
        f.dequeue_group(w, queue, se);
    }

    fn task_fork(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId) {
        // The place that v6.6 gives the child here is forgotten at its enqueue.
        if f.discipline.kernel.charges_parent_at_fork {
            let queue = f.queue_of(cpu, f.rqs[cpu].curr);
            w.update_clock_if_unlocked(cpu);
            f.charge_curr(w, queue);
        }
        f.discipline.trees.make_room(p);
        Self::set_slice(f, p, w.tasks[p].attr.slice_ns.into());
    }

    #[inline]
    fn migrate_task(_f: &mut Fair<Self>, _cpu: CpuId, _p: TaskId) {}

    #[inline]
    fn enqueue_entity(
        f: &mut Fair<Self>,
        w: &mut World,
        cpu: CpuId,
        p: TaskId,
        flags: EnqueueFlags,
    ) {
        f.enqueue(w, cpu, p, flags);
    }

    #[inline]
    fn dequeue_entity(
        f: &mut Fair<Self>,
        w: &mut World,
        cpu: CpuId,
        p: TaskId,
        flags: DequeueFlags,
    ) {
        f.dequeue(w, cpu, p, flags.sleep);
    }

    fn wake_delayed(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId) {
        f.wake_delayed(w, cpu, p);
    }

    fn save_entity(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId) {
        f.save(w, cpu, p);
    }

    fn restore_entity(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId, old_weight: u32) {
        f.restore(w, cpu, p, old_weight);
    }

    fn reweight_sleeping(ext: &mut EevdfTask, old_weight: u32, new_weight: u32) {
        ext.vlag = rescale(ext.vlag, old_weight, new_weight);
    }

    fn set_slice(f: &mut Fair<Self>, p: TaskId, slice_ns: Ns) {
        let ext = &mut f.tasks[p].ext;
        ext.custom_slice = slice_ns != 0 && f.discipline.kernel.has_custom_slices;
        ext.slice = if ext.custom_slice {
            slice_ns.clamp(*SLICES.start(), *SLICES.end())
        } else {
            f.tunables.base_slice_ns
        };
    }

    #[inline]
    fn check_preempt_wakeup(
        f: &mut Fair<Self>,
        w: &mut World,
        cpu: CpuId,
        p: TaskId,
        flags: EnqueueFlags,
    ) {
        f.check_preempt_wakeup(w, cpu, p, flags.initial);
    }

    #[inline]
    fn pick_next_entity(f: &mut Fair<Self>, w: &mut World, cpu: CpuId) -> Option<TaskId> {
        f.pick(w, cpu)
    }

    #[inline]
    fn set_next_entity(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId, prev: TaskId) {
        f.set_next(w, cpu, p, prev);
    }

    #[inline(always)]
    fn charge_curr(f: &mut Fair<Self>, w: &mut World, queue: QueueId) {
        f.charge_curr(w, queue);
    }

    #[inline(always)]
    fn insert(f: &mut Fair<Self>, queue: QueueId, se: TaskId) {
        f.tree_insert(queue, se);
    }

    /// `update_curr` asks everything.
    #[inline]
    fn tick(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, curr: TaskId) {
        let mut level = Some((f.queue_of(cpu, curr), curr));
        while let Some((queue, se)) = level {
            f.charge_curr(w, queue);
            f.update_averages(w, queue, se);
            f.update_group(w, se);
            level = f.above(queue);
        }
    }

    #[inline]
    fn preempting_tick(f: &Fair<Self>, w: &World, cpu: CpuId) -> Ns {
        f.preempting_tick(w, cpu)
    }

    fn yield_task(f: &mut Fair<Self>, w: &mut World, cpu: CpuId) {
        f.yield_curr(w, cpu);
    }

    #[inline]
    fn is_buddy(f: &Fair<Self>, cpu: CpuId, p: TaskId) -> bool {
        f.queue(f.queue_of(cpu, p)).next == p
    }

    fn queued(f: &Fair<Self>, cpu: CpuId) -> Vec<TaskId> {
        let waiting = |f: &Fair<Self>, queue| {
            let mut order = Vec::new();
            f.discipline.trees.in_order(f.queue(queue).queue.root, &mut order);
            order
        };
        let mut tasks = Vec::new();
        f.queued_tasks(QueueId::root(cpu), &waiting, &mut tasks);
        tasks
    }
}
