//! Averages with groups: an entity has those of its group's queue, and its parent's queue those of
//! its entities (`propagate_entity_load_avg`).
//!
//! Utilization and the number of the runnable go up the hierarchy as they are, loads by weight. As
//! long as tasks only run and wait, PELT does that by itself, since an entity runs whenever one of
//! its tasks does; tasks that come with averages of their own, or take them along, have to be told
//! upwards. What a group has on all CPUs is kept in one sum, which its queues update when they have
//! changed by a 64th (`update_tg_load_avg`).

use crate::fair::queue::discipline::Discipline;
use crate::fair::state::Fair;
use crate::fair::state::groups::{QueueId, is_group};
use crate::fair::state::pelt::{Activity, DETACHED, PELT_MIN_DIVIDER, SchedAvg};
use sim_core::{GroupId, Ns, TaskId, World};
use topology::CpuId;

impl<S: Discipline> Fair<S> {
    /// `update_load_avg`: the averages of `se` (unless detached) and of its queue, up to
    /// its clock.
    #[inline]
    pub(in crate::fair::queue) fn update_averages(
        &mut self,
        w: &mut World,
        queue: QueueId,
        se: TaskId,
    ) {
        if self.update_averages_no_tg(w, queue, se) {
            self.update_tg_load_avg(w, queue);
        }
    }

    /// The same without UPDATE_TG; true if the queue's averages have changed.
    #[inline]
    pub(in crate::fair::queue) fn update_averages_no_tg(
        &mut self,
        w: &World,
        queue: QueueId,
        se: TaskId,
    ) -> bool {
        let now = w.rq_clock(queue.cpu);
        if !S::GROUPS {
            self.update_load_avg(now, queue.cpu, se);
            return false;
        }
        let running = self.curr_of(queue) == se;
        let clock = self.cfs_rq_clock_pelt(queue, now);
        let below = self.group_queue(se);
        let n_tasks = below.map(|queue| self.on_cpu(queue).runnable_weight);
        let entity = self.entity_mut(se);
        if entity.avg.last_update_time != DETACHED {
            let mut activity = Activity::task(entity.on_rq, running);
            // A group's entity is as runnable as it has tasks.
            if let Some(n) = n_tasks {
                activity.runnable = n.into();
            }
            // What sleeps on its queue has load, but is not runnable.
            if S::DELAYS && S::is_delayed(&entity.ext) {
                activity.runnable = 0;
            }
            if entity.avg.update(clock, activity, u64::from(entity.weight)) {
                entity.util_avg_unchanged = false;
            }
        }
        let changed = self.update_queue(now, queue);
        changed | below.is_some_and(|below| self.propagate_entity_load_avg(queue, se, below))
    }

    /// The averages of `se`, which joins the queue, and of the queue; those that it brings along
    /// join, too.
    #[inline]
    pub(in crate::fair::queue) fn join_averages(
        &mut self,
        w: &mut World,
        queue: QueueId,
        se: TaskId,
    ) {
        let changed = self.update_averages_no_tg(w, queue, se);
        let (rq, entity) = self.queue_and_entity(queue, se);
        if entity.avg.last_update_time == DETACHED {
            // It comes with averages of its own, which the levels above do not know yet.
            rq.avg.attach(&mut entity.avg, u64::from(entity.weight));
            let sum = entity.avg.load_sum as i64;
            self.add_tg_cfs_propagate(queue, sum);
            self.update_tg_load_avg(w, queue);
        } else if changed {
            self.update_tg_load_avg(w, queue);
        }
    }

    /// The averages of `se`, which leaves the queue, and of the queue; unless it sleeps, it takes
    /// its own along.
    #[inline]
    pub(in crate::fair::queue) fn leave_averages(
        &mut self,
        w: &mut World,
        queue: QueueId,
        se: TaskId,
        sleep: bool,
    ) {
        let changed = self.update_averages_no_tg(w, queue, se);
        if !sleep {
            let (rq, entity) = self.queue_and_entity(queue, se);
            let sum = entity.avg.load_sum as i64;
            rq.avg.detach(&mut entity.avg, u64::from(entity.weight));
            self.add_tg_cfs_propagate(queue, -sum);
            self.update_tg_load_avg(w, queue);
        } else if changed {
            self.update_tg_load_avg(w, queue);
        }
    }

    /// `update_cfs_rq_load_avg`; true if the averages have changed.
    fn update_queue(&mut self, now: Ns, queue: QueueId) -> bool {
        let running = self.curr_of(queue).is_task();
        let clock = self.cfs_rq_clock_pelt(queue, now);
        let rq = self.queue_mut(queue);
        let runnable = u64::from(rq.h_nr_runnable());
        let activity = Activity { load: rq.load_weight, runnable, running };
        let removed = std::mem::take(&mut rq.removed);
        let some_left = removed.n_tasks > 0;
        // What is runnable stands for what the tasks weigh.
        let gone = (removed.runnable_avg * rq.avg.divider()) as i64;
        if some_left {
            rq.avg.take_out(removed);
        }
        let changed = rq.avg.update(clock, activity, 1) || some_left;
        if some_left {
            self.add_tg_cfs_propagate(queue, -gone >> 10);
        }
        if changed && queue.group == GroupId::ROOT {
            self.publish(queue.cpu);
        }
        changed
    }

    /// Averages with this `load_sum` have joined the queue, or left it: its entity is to follow.
    #[inline]
    fn add_tg_cfs_propagate(&mut self, queue: QueueId, load_sum: i64) {
        if S::GROUPS && queue.group != GroupId::ROOT {
            let on_cpu = self.on_cpu_mut(queue);
            on_cpu.propagate = true;
            on_cpu.prop_runnable_sum += load_sum;
        }
    }

    /// `update_tg_load_avg`: tells the group what it has on this CPU, if that is news, and, since
    /// v6.7, if the last news were some time ago. In the kernel all CPUs write this one variable.
    #[inline]
    pub(in crate::fair::queue) fn update_tg_load_avg(&mut self, w: &mut World, queue: QueueId) {
        if !S::GROUPS || queue.group == GroupId::ROOT {
            return;
        }
        let period_ns = self.tunables.tg_load_avg_period_ns;
        let on_cpu = self.on_cpu_mut(queue);
        let (old, new) = (on_cpu.tg_load_avg_contrib, on_cpu.rq.avg.load_avg);
        if new.abs_diff(old) <= old / 64 || w.now < on_cpu.tg_load_avg_from {
            return;
        }
        on_cpu.tg_load_avg_contrib = new;
        on_cpu.tg_load_avg_from = w.now + period_ns;
        let group = &mut self.groups.groups[usize::from(queue.group.0) - 1];
        group.load_avg = group.load_avg + new - old;
        if let Some(line) = group.load_line {
            w.add_to_line(line);
        }
    }

    /// `propagate_entity_load_avg`: the entity `se`, on this queue, follows the queue below it;
    /// true if that had changed.
    fn propagate_entity_load_avg(&mut self, queue: QueueId, se: TaskId, below: QueueId) -> bool {
        debug_assert!(is_group(se));
        let on_cpu = self.on_cpu_mut(below);
        if !std::mem::take(&mut on_cpu.propagate) {
            return false;
        }
        let sum = std::mem::take(&mut on_cpu.prop_runnable_sum);
        let avg = on_cpu.rq.avg;
        let weight = on_cpu.rq.load_weight;
        self.add_tg_cfs_propagate(queue, sum);
        let (rq, entity) = self.queue_and_entity(queue, se);
        rq.avg.update_tg_cfs_util(&mut entity.avg, &avg);
        // The average load of a task there, for those that have left.
        let mean = avg.load_sum.checked_div(weight).unwrap_or(0);
        rq.avg.update_tg_cfs_load(&mut entity.avg, u64::from(entity.weight), sum, mean);
        self.publish(queue.cpu);
        true
    }

    /// `__update_blocked_fair`: the averages of all queues of `cpu`.
    pub(in crate::fair::queue) fn update_blocked_queues(&mut self, w: &mut World, cpu: CpuId) {
        let now = w.rq_clock(cpu);
        if !S::GROUPS {
            return self.update_rq_load_avg(now, cpu);
        }
        // Children come before their parents, which follow them.
        for queue in self.groups.queues(cpu).rev() {
            // Queues without load are off the list until a task joins.
            if !self.on_cpu(queue).on_leaf_list {
                continue;
            }
            if self.update_queue(now, queue) {
                self.update_tg_load_avg(w, queue);
            }
            let on_cpu = self.on_cpu(queue);
            let avg = &on_cpu.se.avg;
            if (avg.load_avg | avg.util_avg) != 0 || on_cpu.propagate {
                let (parent, se) = self.above(queue).expect("it is a group's queue");
                self.update_averages(w, parent, se);
            }
            self.on_cpu_mut(queue).on_leaf_list = !self.is_decayed(queue);
        }
        self.update_queue(now, QueueId::root(cpu));
    }

    /// `cfs_rq_is_decayed`: nothing is left to be updated.
    pub(super) fn is_decayed(&self, queue: QueueId) -> bool {
        let rq = self.queue(queue);
        let avg = &rq.avg;
        let is_zero = avg.load_sum | avg.util_sum | avg.runnable_sum == 0;
        let mut children = self.groups.children(queue);
        rq.load_weight == 0 && is_zero && !children.any(|child| self.on_cpu(child).on_leaf_list)
    }

    /// `update_cfs_rq_h_load`: the load of a queue as the root sees it. The kernel updates it once
    /// per jiffy, so all of a jiffy see the same value.
    pub(in crate::fair::queue) fn update_cfs_rq_h_load(&mut self, w: &World, queue: QueueId) {
        self.h_load(w.jiffies(), queue);
    }

    fn h_load(&mut self, jiffy: u64, queue: QueueId) -> u64 {
        if queue.group == GroupId::ROOT {
            let load = self.rqs[queue.cpu].avg.load_avg;
            let (h_load, at) = &mut self.groups.h_load[queue.cpu];
            if *at != jiffy {
                (*h_load, *at) = (load, jiffy);
            }
            return *h_load;
        }
        let on_cpu = self.on_cpu(queue);
        if on_cpu.h_load_at == jiffy {
            return on_cpu.h_load;
        }
        let parent = self.groups.parent(queue);
        let above = self.h_load(jiffy, parent);
        let load = self.queue(parent).avg.load_avg;
        let on_cpu = self.on_cpu_mut(queue);
        on_cpu.h_load = above * on_cpu.se.avg.load_avg / (load + 1);
        on_cpu.h_load_at = jiffy;
        on_cpu.h_load
    }

    /// `task_h_load`: the part of its queue's load that is the task's.
    pub(in crate::fair::queue) fn group_task_h_load(&self, cpu: CpuId, p: TaskId) -> u64 {
        let queue = self.queue_of(cpu, p);
        let h_load = match queue.group {
            GroupId::ROOT => self.groups.h_load[cpu].0,
            _ => self.on_cpu(queue).h_load,
        };
        self.task_load(p) * h_load / (self.queue(queue).avg.load_avg + 1)
    }
}

impl SchedAvg {
    /// `update_tg_cfs_util`, `update_tg_cfs_runnable`: a group's entity takes over what its queue
    /// has, and this queue, which the entity is on, the difference.
    pub(super) fn update_tg_cfs_util(&mut self, se: &mut SchedAvg, below: &SchedAvg) {
        let divider = self.divider();
        let follow = |own: (&mut u64, &mut u64), se: (&mut u64, &mut u64), avg: u64| {
            if *se.0 == avg {
                return;
            }
            let sum = avg * divider;
            *own.0 = (*own.0 + avg).saturating_sub(*se.0);
            *own.1 = (*own.1 + sum).saturating_sub(*se.1).max(*own.0 * PELT_MIN_DIVIDER);
            (*se.0, *se.1) = (avg, sum);
        };
        follow(
            (&mut self.util_avg, &mut self.util_sum),
            (&mut se.util_avg, &mut se.util_sum),
            below.util_avg,
        );
        follow(
            (&mut self.runnable_avg, &mut self.runnable_sum),
            (&mut se.runnable_avg, &mut se.runnable_sum),
            below.runnable_avg,
        );
    }

    /// `update_tg_cfs_load`: tasks with these `load_sum`s, together, have joined the group's queue
    /// (or left it, if negative), on which `mean` is the load of one by now. How much of the time
    /// one of them was runnable is not known, only that it is no more than all of it, and no less
    /// than the entity ran.
    pub(super) fn update_tg_cfs_load(
        &mut self,
        se: &mut SchedAvg,
        weight: u64,
        changed: i64,
        mean: u64,
    ) {
        if changed == 0 {
            return;
        }
        let divider = self.divider();
        let runnable = if changed > 0 {
            (se.load_sum + changed as u64).min(divider)
        } else {
            se.load_sum.min(mean)
        };
        let sum = runnable.max(se.util_sum >> 10);
        let load_avg = weight * sum / divider;
        if load_avg == se.load_avg {
            return;
        }
        self.load_avg = (self.load_avg + load_avg).saturating_sub(se.load_avg);
        let load_sum = (self.load_sum + weight * sum).saturating_sub(weight * se.load_sum);
        self.load_sum = load_sum.max(self.load_avg * PELT_MIN_DIVIDER);
        (se.load_sum, se.load_avg) = (sum, load_avg);
    }
}
