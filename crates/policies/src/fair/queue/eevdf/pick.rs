//! Which task runs next, and when the current one gives way.
//!
//! Of the eligible tasks the one with the earliest deadline runs. The task that runs is protected
//! for a while, so that the queue does not change its mind with every wake-up: up to v6.12 until it
//! is not eligible any more or its slice is over (RUN_TO_PARITY), in v6.18 for the shortest slice
//! of all.

use super::state::Eevdf;
use crate::fair::queue::discipline::Discipline;
use crate::fair::state::groups::is_group;
use crate::fair::state::weights::{NICE_0_WEIGHT, calc_delta_fair};
use crate::fair::state::{Fair, Protection, QueueId, Rules};
use sim_core::{GroupId, NEVER, Ns, SchedPolicy, TaskId, World};
use topology::CpuId;

impl<const GROUPS: bool> Fair<Eevdf<GROUPS>> {
    /// `pick_eevdf`: the entity that should run, `None` if the queue is empty. It may be a
    /// delayed one. Without `protect` the protection of the current entity does not count.
    fn pick_eevdf(&self, queue: QueueId, protect: bool) -> Option<TaskId> {
        let rq = self.queue(queue);
        let on_rq = |p: &TaskId| p.is_task() && self.entity(*p).on_rq;
        let curr = Some(self.curr_of(queue)).filter(on_rq);
        if Eevdf::nr_entities(self, queue) <= 1 {
            return curr.or(rq.queue.root.is_task().then_some(rq.queue.root));
        }
        let rules = self.discipline.rules;
        if rules >= Rules::V6_18 && self.features.pick_buddy && self.next_is_eligible(queue) {
            return Some(rq.next);
        }
        let curr = curr.filter(|c| self.is_eligible(queue, *c));
        if protect
            && let Some(c) = curr
            && self.is_protected(c)
        {
            return curr;
        }
        let v = self.avg_vruntime(queue);
        let best = self.discipline.trees.first_up_to(rq.queue.root, v);
        let (Some(c), Some(b)) = (curr, best) else {
            return curr.or(best);
        };
        let (mine, theirs) = (self.entity(c).ext.deadline, self.entity(b).ext.deadline);
        // v6.6 stays with the current task if they are equal, later ones do not.
        let stays = if self.discipline.kernel.prefers_current_at_tie {
            mine <= theirs
        } else {
            mine < theirs
        };
        Some(if stays { c } else { b })
    }

    /// The current task keeps the CPU although a task with an earlier deadline waits. The caller
    /// has seen that it is eligible.
    #[inline]
    fn is_protected(&self, curr: TaskId) -> bool {
        if self.discipline.kernel.protection == Protection::UpToVruntime {
            return self.protect_slice(curr);
        }
        let ext = &self.entity(curr).ext;
        self.features.run_to_parity && ext.protect == ext.deadline
    }

    #[inline]
    fn next_is_eligible(&self, queue: QueueId) -> bool {
        let next = self.queue(queue).next;
        next.is_task() && self.is_eligible(queue, next)
    }

    /// `pick_next_entity` of one queue. It may be a delayed one.
    fn pick_next_entity(&self, queue: QueueId, protect: bool) -> Option<TaskId> {
        // In v6.18 `pick_eevdf` asks for the buddy.
        let early_buddy = match self.discipline.rules {
            Rules::V6_18 => false,
            Rules::V6_12 => self.features.pick_buddy,
            _ => self.features.next_buddy,
        };
        if early_buddy && self.next_is_eligible(queue) {
            return Some(self.queue(queue).next);
        }
        self.pick_eevdf(queue, protect)
    }

    /// The same, of a queue that is not empty without those that are delayed: these leave it.
    fn pick_runnable(&mut self, w: &mut World, queue: QueueId, protect: bool) -> Option<TaskId> {
        loop {
            let se = self.pick_next_entity(queue, protect)?;
            if !self.entity(se).ext.sched_delayed {
                return Some(se);
            }
            self.finish_delayed(w, queue, se);
        }
    }

    /// `pick_task_fair`: from the root's queue down to a task. Delayed entities that it meets leave
    /// their queues, and the way begins anew: a group may have lost its last task.
    pub(super) fn pick(&mut self, w: &mut World, cpu: CpuId) -> Option<TaskId> {
        let mut queue = QueueId::root(cpu);
        loop {
            // After a look for work elsewhere the task that went to sleep is still current.
            let curr = self.curr_of(queue);
            if curr.is_task() && self.entity(curr).on_rq {
                self.charge_curr(w, queue);
            }
            if self.check_runtime(w, queue) {
                queue = QueueId::root(cpu);
                continue;
            }
            let se = self.pick_next_entity(queue, true)?;
            if self.entity(se).ext.sched_delayed {
                self.finish_delayed(w, queue, se);
                queue = QueueId::root(cpu);
                continue;
            }
            match self.group_queue(se) {
                Some(below) => queue = below,
                None => return Some(se),
            }
        }
    }

    /// `set_next_task_fair`, after `prev`: what both are part of goes on, and keeps its protection.
    #[inline]
    pub(super) fn set_next(&mut self, w: &mut World, cpu: CpuId, p: TaskId, prev: TaskId) {
        let mut level = Some((self.queue_of(cpu, p), p));
        while let Some((queue, se)) = level {
            self.set_next_entity(w, queue, se);
            self.set_curr_of(queue, se);
            let goes_on = GROUPS && self.entity_on(queue, prev).is_some();
            level = if goes_on { None } else { self.above(queue) };
        }
        self.rqs[cpu].curr = p;
        self.list_rotate_to_head(cpu, p);
    }

    /// `set_next_entity`. The protection begins here; it does not where the task that ran is picked
    /// again, because then this is not called.
    #[inline]
    fn set_next_entity(&mut self, w: &mut World, queue: QueueId, se: TaskId) {
        self.clear_buddies(queue, se);
        if self.entity(se).on_rq {
            self.tree_remove(queue, se);
            self.update_averages(w, queue, se);
            self.entity_mut(se).ext.protect = self.protection(queue, se);
        }
        let se = self.entity_mut(se);
        se.exec_start = w.rq_clock(queue.cpu);
        se.prev_sum_exec_runtime = se.sum_exec_runtime;
    }

    /// The deadline as it is now, or `set_protect_slice`. `p` is not in the tree.
    fn protection(&self, queue: QueueId, p: TaskId) -> u64 {
        let se = self.entity(p);
        if self.discipline.kernel.protection != Protection::UpToVruntime {
            return se.ext.deadline;
        }
        let shortest = if self.features.run_to_parity {
            self.min_slice(queue)
        } else {
            self.tunables.normalized_base_slice_ns
        };
        if shortest >= se.ext.slice {
            return se.ext.deadline;
        }
        let vslice = calc_delta_fair(shortest, se.weight, se.inv_weight);
        se.ext.deadline.min(se.vruntime + vslice)
    }

    /// `check_preempt_wakeup_fair`
    pub(super) fn check_preempt_wakeup(
        &mut self,
        w: &mut World,
        cpu: CpuId,
        p: TaskId,
        fork: bool,
    ) {
        let curr = w.cpus[cpu].curr;
        if self.in_throttled(self.queue_of(cpu, p)) {
            return;
        }
        let still_delayed = self.tasks[p].ext.sched_delayed;
        if self.features.next_buddy && !fork && !still_delayed && !self.tasks[p].is_idle_policy() {
            self.set_next_buddy(self.queue_of(cpu, p), p);
        }
        if w.cpus[cpu].need_resched {
            return;
        }
        let rules = self.discipline.rules;
        if rules >= Rules::V6_12 && !self.features.wakeup_preemption {
            return;
        }
        let (queue, rival, woken) = self.matching(cpu, curr, p);
        // v6.6 asks for the tasks' policies before those of their groups.
        if self.preempts_idle(rival, woken) || rules < Rules::V6_12 && self.preempts_idle(curr, p) {
            if self.discipline.kernel.unprotects_idle_policy {
                self.cancel_protection(rival);
            }
            return w.resched_curr(cpu);
        }
        // Batch and idle tasks do not preempt.
        if self.tasks[p].policy != SchedPolicy::Normal || !self.features.wakeup_preemption {
            return;
        }
        // What has passed since the queue's clock was set is nobody's yet: else a task that has the
        // same vruntime as the one that runs would be ahead of it.
        self.charge_curr(w, queue);
        if self.preempts(w, queue, rival, woken, fork || still_delayed) {
            w.resched_curr(cpu);
        }
    }

    /// `se_is_idle`: a group is not SCHED_IDLE, whatever its tasks are.
    #[inline]
    fn is_idle_entity(&self, se: TaskId) -> bool {
        !(GROUPS && is_group(se)) && self.tasks[se].is_idle_policy()
    }

    #[inline]
    fn preempts_idle(&self, curr: TaskId, woken: TaskId) -> bool {
        self.is_idle_entity(curr) && !self.is_idle_entity(woken)
    }

    /// Is `woken` the pick of this queue? `weak`: the task was forked, or came here asleep.
    fn preempts(
        &mut self,
        w: &mut World,
        queue: QueueId,
        curr: TaskId,
        woken: TaskId,
        weak: bool,
    ) -> bool {
        match self.discipline.kernel.protection {
            Protection::WhileEligible => self.pick_eevdf(queue, true) == Some(woken),
            Protection::UntilCancelled => {
                if self.preempts_short(queue, curr, woken) {
                    self.cancel_protection(curr);
                }
                self.pick_eevdf(queue, true) == Some(woken)
            }
            Protection::UpToVruntime => self.preempts_protected(w, queue, curr, woken, weak),
        }
    }

    /// `do_preempt_short` (v6.12): a shorter slice breaks the protection, if `p` could run at all.
    fn preempts_short(&self, queue: QueueId, curr: TaskId, p: TaskId) -> bool {
        let (mine, theirs) = (&self.entity(p).ext, &self.entity(curr).ext);
        self.features.preempt_short
            && mine.slice < theirs.slice
            && self.is_eligible(queue, p)
            && (mine.deadline < theirs.deadline || !self.is_eligible(queue, curr))
    }

    /// The same in v6.18.
    fn preempts_protected(
        &mut self,
        w: &mut World,
        queue: QueueId,
        curr: TaskId,
        woken: TaskId,
        weak: bool,
    ) -> bool {
        let slice = |se: TaskId| self.entity(se).ext.slice;
        let short = self.features.preempt_short && slice(woken) < slice(curr);
        if !short && weak {
            return false;
        }
        if self.pick_runnable(w, queue, !short) == Some(woken) {
            if short {
                self.cancel_protection(curr);
            }
            return true;
        }
        if self.features.run_to_parity {
            self.shorten_protection(queue, curr);
        }
        false
    }

    /// `cancel_protect_slice`
    fn cancel_protection(&mut self, curr: TaskId) {
        let protection = self.discipline.kernel.protection;
        let se = self.entity_mut(curr);
        se.ext.protect = match protection {
            Protection::UpToVruntime => se.ext.protect.min(se.vruntime),
            // The stamp is no deadline any more.
            _ => se.ext.deadline.wrapping_add(1),
        };
    }

    /// `update_protect_slice`: the queue has got a shorter slice.
    fn shorten_protection(&mut self, queue: QueueId, curr: TaskId) {
        let shortest = self.min_slice(queue);
        let se = self.entity_mut(curr);
        let end = se.vruntime + calc_delta_fair(shortest, se.weight, se.inv_weight);
        se.ext.protect = se.ext.protect.min(end);
    }

    /// The first tick edge of `cpu` at which `update_curr` may ask the current task to give way.
    pub(super) fn preempting_tick(&self, w: &World, cpu: CpuId) -> Ns {
        let rq = &self.rqs[cpu];
        let tick_next = w.cpus[cpu].tick_next;
        if GROUPS && rq.curr.is_task() {
            // A tick of a task in a group tells the other CPUs what the group has here.
            let concerns_others = self.tasks[rq.curr].group != GroupId::ROOT;
            return if concerns_others || rq.queue.nr > 1 { tick_next } else { NEVER };
        }
        if rq.h_nr_running < 2 || !rq.curr.is_task() {
            return NEVER;
        }
        let se = &self.tasks[rq.curr];
        let mut end = se.ext.deadline;
        match self.discipline.kernel.protection {
            Protection::WhileEligible => {}
            Protection::UntilCancelled => {
                if self.features.preempt_short && se.ext.protect != se.ext.deadline {
                    // From here on it is not eligible.
                    let v = self.avg_vruntime_waiting(QueueId::root(cpu)).map(|v| v + 1);
                    end = end.min(v.unwrap_or(u64::MAX));
                }
            }
            Protection::UpToVruntime => end = end.min(se.ext.protect),
        }
        let left = end.saturating_sub(se.vruntime);
        let earliest = se.exec_start + wall_time(left, se.weight, se.inv_weight);
        if earliest <= tick_next { tick_next } else { w.tick_after(cpu, earliest - 1) }
    }

    /// `yield_task_fair`: let others run for a slice.
    pub(super) fn yield_curr(&mut self, w: &mut World, cpu: CpuId) {
        let curr = self.rqs[cpu].curr;
        if w.cpus[cpu].nr_running == 1 || !curr.is_task() {
            return;
        }
        let queue = self.queue_of(cpu, curr);
        self.clear_buddies(queue, curr);
        w.update_clock_if_unlocked(cpu);
        self.charge_curr(w, queue);
        w.skip_clock_update(cpu);
        let yields_rest = self.discipline.kernel.yields_rest_of_slice;
        if yields_rest && !self.is_eligible(queue, curr) {
            return;
        }
        let se = &mut self.tasks[curr];
        if yields_rest {
            se.vruntime = se.ext.deadline;
        }
        se.ext.deadline += calc_delta_fair(se.ext.slice, se.weight, se.inv_weight);
        self.update_min_vruntime(queue);
    }
}

/// The shortest time in which a task of this weight moves on by `vtime`: not more than what
/// `calc_delta_fair` needs, whose rounding makes it longer.
#[inline]
fn wall_time(vtime: u64, weight: u32, inverse: u32) -> Ns {
    if weight == NICE_0_WEIGHT {
        return vtime;
    }
    let inverse = inverse.max(1);
    match vtime.checked_mul(1 << 22) {
        Some(scaled) => scaled / u64::from(inverse),
        None => ((u128::from(vtime) << 22) / u128::from(inverse)) as u64,
    }
}
