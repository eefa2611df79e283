//! CFS as of Linux v6.4: virtual time, slices, placement, enqueue and dequeue.
//!
//! Every task has a virtual runtime that advances at the inverse of its weight; the task that is
//! furthest behind runs next. `cfs::pick` decides which task runs and which is preempted,
//! `cfs::queue` holds the order.
//!
//! Of a runqueue's two records the mechanism owns one (`rq.nr_running`, `rq.curr`) and this class
//! the other (`cfs.*`). Runtime is measured by the simulated clock, irq time included: the
//! simulator keeps no irq time apart (`clock_task` = `clock`).

mod enqueue;
mod pick;
mod queue;
mod state;
#[cfg(test)]
mod tests;

use super::discipline::Discipline;
use crate::fair::state::features::{Features, Tunables};
use crate::fair::state::weights::{calc_delta, calc_delta_fair, rq_inverse};
use crate::fair::state::{Fair, GroupSpec, QueueId, Rules};
#[cfg(test)]
pub(crate) use queue::CfsQueue;
use sim_core::{DequeueFlags, EnqueueFlags, Ns, TaskId, World};
pub use state::Cfs;
use topology::CpuId;

/// A task that slept longer is placed without regard to its old vruntime.
const LONG_SLEEP_NS: Ns = (1 << 63) / 1024;

impl<const GROUPS: bool> Discipline for Cfs<GROUPS> {
    /// `cfs_rq.nr_running`: a group's entity is one, however many tasks it has.
    #[inline]
    fn nr_entities(f: &Fair<Self>, queue: QueueId) -> u32 {
        if !GROUPS {
            return f.rqs[queue.cpu].h_nr_running;
        }
        let curr = f.curr_of(queue);
        let runs = curr.is_task() && f.entity(curr).on_rq;
        f.queue(queue).queue.tree.len() as u32 + u32::from(runs)
    }

    /// A weight that stays as it is is set anew, too, which charges the current entity and rounds
    /// its load again.
    fn reweight_group(f: &mut Fair<Self>, w: &mut World, queue: QueueId, se: TaskId, weight: u32) {
        // What has run so far was charged with the old weight.
        if f.entity(se).on_rq && f.curr_of(queue) == se {
            f.charge_curr(w, queue);
        }
        f.set_group_weight(queue, se, weight);
    }

    fn enqueue_group(f: &mut Fair<Self>, w: &mut World, queue: QueueId, se: TaskId) {
        f.enqueue_entity(w, queue, se, enqueue::WAKEUP);
    }

    fn dequeue_group(f: &mut Fair<Self>, w: &mut World, queue: QueueId, se: TaskId) {
        f.dequeue_entity(w, queue, se, enqueue::DequeueKind::Sleep);
    }

    fn task_fork(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId) {
        // The parent's, whatever the child's group is.
        let queue = f.queue_of(cpu, f.rqs[cpu].curr);
        w.update_clock_if_unlocked(cpu);
        f.charge_curr(w, queue);
        let curr = f.curr_of(queue);
        if curr.is_task() {
            f.tasks[p].vruntime = f.entity(curr).vruntime;
        }
        f.place_entity(w, queue, p, true);
        // Relative until it is put on the queue that fork balancing chooses.
        f.sub_min_vruntime(queue, p);
    }

    #[inline]
    fn migrate_task(f: &mut Fair<Self>, cpu: CpuId, p: TaskId) {
        f.sub_min_vruntime(f.queue_of(cpu, p), p);
    }

    #[inline]
    fn enqueue_entity(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId, g: EnqueueFlags) {
        f.enqueue(w, cpu, p, g);
    }

    #[inline]
    fn dequeue_entity(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId, g: DequeueFlags) {
        f.dequeue(w, cpu, p, g.sleep);
    }

    fn save_entity(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId) {
        f.save(w, cpu, p);
    }

    fn restore_entity(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId, _old_weight: u32) {
        f.restore(w, cpu, p);
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

    #[inline(always)]
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

    #[inline]
    fn tick(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, curr: TaskId) {
        let mut level = Some((f.queue_of(cpu, curr), curr));
        while let Some((queue, se)) = level {
            f.entity_tick(w, queue, se);
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
        let rq = f.queue(f.queue_of(cpu, p));
        rq.next == p || rq.queue.last == p
    }

    fn queued(f: &Fair<Self>, cpu: CpuId) -> Vec<TaskId> {
        let waiting =
            |f: &Fair<Self>, queue| f.queue(queue).queue.tree.iter().map(|(_, se)| *se).collect();
        let mut tasks = Vec::new();
        f.queued_tasks(QueueId::root(cpu), &waiting, &mut tasks);
        tasks
    }
}

impl Fair<Cfs> {
    /// CFS of v6.4 with these features and tunables; `Policy::init` fits it to a machine.
    pub fn new(features: Features, tunables: Tunables) -> Self {
        Self::with(Cfs::default(), features, tunables, &[])
    }
}

impl Fair<Cfs<true>> {
    /// CFS with task groups: a task whose [`sim_core::TaskAttr::group`] is n is in the nth of
    /// `groups`, counted from 1. `Policy::init` fits it to a machine.
    pub fn with_groups(features: Features, tunables: Tunables, groups: &[GroupSpec]) -> Self {
        Self::with(Cfs::default(), features, tunables, groups)
    }
}

impl<const GROUPS: bool> Fair<Cfs<GROUPS>> {
    /// The same under the rules of another kernel, one that has CFS.
    #[must_use]
    pub fn with_rules(mut self, rules: Rules) -> Self {
        debug_assert!(rules <= Rules::V6_4);
        self.discipline.rules = rules;
        self.discipline.kernel = rules.kernel();
        self
    }

    #[inline]
    pub(crate) fn charge_curr(&mut self, w: &mut World, queue: QueueId) {
        let curr = self.curr_of(queue);
        if !curr.is_task() {
            return;
        }
        let now = w.rq_clock(queue.cpu);
        let (rq, se) = self.queue_and_entity(queue, curr);
        if now <= se.exec_start {
            return;
        }
        let delta = now - se.exec_start;
        se.exec_start = now;
        se.sum_exec_runtime += delta;
        se.vruntime += calc_delta_fair(delta, se.weight, se.inv_weight);
        rq.update_min_vruntime(se.on_rq.then_some(se.vruntime));
        self.account_runtime(w, queue, delta);
    }

    /// The smallest vruntime of the queue, never going back.
    #[inline]
    fn update_min_vruntime(&mut self, queue: QueueId) {
        let curr = self.curr_of(queue);
        let curr = curr.is_task().then(|| self.entity(curr)).filter(|se| se.on_rq);
        let vruntime = curr.map(|se| se.vruntime);
        self.queue_mut(queue).update_min_vruntime(vruntime);
    }

    /// `__sched_period`: the time in which every task should run once.
    #[inline]
    fn sched_period(&self, nr_running: u32) -> Ns {
        if nr_running > self.tunables.nr_latency {
            u64::from(nr_running) * self.tunables.min_granularity_ns
        } else {
            self.tunables.latency_ns
        }
    }

    /// `sched_slice`: the share of the period that `se` may have on its queue, and that has on the
    /// CPU. The queue given is another one for a child of a parent that is in another group.
    pub(crate) fn sched_slice(&self, queue: QueueId, se: TaskId) -> Ns {
        let joins = !self.entity(se).on_rq;
        // ALT_PERIOD: of all tasks of the CPU, wherever they are queued.
        let all = if GROUPS && !self.features.alt_period {
            Cfs::nr_entities(self, queue)
        } else {
            self.rqs[queue.cpu].h_nr_running
        };
        let mut slice = self.sched_period(all + u32::from(joins));
        // A forked child is in its own group, which need not be its parent's.
        let mut level = Some((self.queue_of_entity(queue.cpu, se), se));
        while let Some((queue, se)) = level {
            slice = self.share_of(slice, queue, se);
            level = self.above(queue);
        }
        if !self.features.base_slice {
            return slice;
        }
        slice.max(if self.entity(se).is_idle_policy() && !self.is_all_idle_policy(queue) {
            self.tunables.idle_min_granularity_ns
        } else {
            self.tunables.min_granularity_ns
        })
    }

    /// `sched_idle_cfs_rq`: nothing but SCHED_IDLE tasks are on the queue. A group is none.
    fn is_all_idle_policy(&self, queue: QueueId) -> bool {
        let rq = self.queue(queue);
        let all = rq.h_nr_running == rq.idle_h_nr_running && rq.h_nr_running > 0;
        all && !self.has_group(queue)
    }

    /// The part of a time that `se` gets by its weight, among those that are on its queue.
    #[inline]
    fn share_of(&self, time: Ns, queue: QueueId, se: TaskId) -> Ns {
        let rq = self.queue(queue);
        let se = self.entity(se);
        let load = rq.load_weight + u64::from(!se.on_rq) * u64::from(se.weight);
        calc_delta(time, se.weight, rq_inverse(load))
    }

    /// `sched_vslice`: the slice in the entity's virtual time.
    fn sched_vslice(&self, queue: QueueId, se: TaskId) -> u64 {
        let slice = self.sched_slice(queue, se);
        let se = self.entity(se);
        calc_delta_fair(slice, se.weight, se.inv_weight)
    }

    /// `place_entity`: a new task starts a slice late, a sleeper gets credit of half a latency
    /// (so that it can preempt), and no task gains by sleeping.
    fn place_entity(&mut self, w: &World, queue: QueueId, se: TaskId, initial: bool) {
        let mut vruntime = self.queue(queue).min_vruntime;
        if initial {
            if self.features.start_debit {
                vruntime += self.sched_vslice(queue, se);
            }
        } else {
            let credit = if self.entity(se).is_idle_policy() {
                self.tunables.min_granularity_ns
            } else {
                self.tunables.latency_ns
            };
            vruntime -= credit >> u32::from(self.features.gentle_fair_sleepers);
        }
        let now = w.rq_clock(queue.cpu);
        let se = self.entity_mut(se);
        let long_sleeper = se.exec_start != 0 && now.saturating_sub(se.exec_start) > LONG_SLEEP_NS;
        se.vruntime = if long_sleeper { vruntime } else { se.vruntime.max(vruntime) };
    }
}
