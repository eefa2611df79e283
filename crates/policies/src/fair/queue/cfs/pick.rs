//! Which task runs next, and when the current one is preempted.
//!
//! The leftmost task runs, unless a buddy is nearly as far behind: the task that a wake-up just
//! preempted (`last`: its cache is warm) or that was just woken (`next`). A tick preempts
//! a task that has used up its slice, a wake-up one that is ahead by more than a granularity.

use super::state::Cfs;
use crate::fair::queue::discipline::Discipline;
use crate::fair::state::weights::calc_delta_fair;
use crate::fair::state::{Fair, QueueId};
use sim_core::{GroupId, NEVER, Ns, SchedPolicy, TaskId, World};
use topology::CpuId;

impl<const GROUPS: bool> Fair<Cfs<GROUPS>> {
    /// `entity_tick` of the current entity of a queue.
    #[inline]
    pub(super) fn entity_tick(&mut self, w: &mut World, queue: QueueId, curr: TaskId) {
        self.charge_curr(w, queue);
        self.update_averages(w, queue, curr);
        self.update_group(w, curr);
        if Cfs::nr_entities(self, queue) > 1 {
            self.check_preempt_tick(w, queue, curr);
        }
    }

    /// `check_preempt_tick`, for a queue with more than one entity.
    fn check_preempt_tick(&mut self, w: &mut World, queue: QueueId, curr: TaskId) {
        let mut ideal = self.sched_slice(queue, curr);
        if self.discipline.kernel.caps_slice_at_latency {
            ideal = ideal.min(self.tunables.latency_ns);
        }
        let se = self.entity(curr);
        let ran = se.sum_exec_runtime - se.prev_sum_exec_runtime;
        if ran > ideal {
            // Its slice is over: it must not win the next pick as a buddy.
            self.clear_buddies(queue, curr);
            w.resched_curr(queue.cpu);
            return;
        }
        if ran < self.tunables.min_granularity_ns {
            return;
        }
        let tree = &self.queue(queue).queue.tree;
        let leftmost = tree.front().map_or(u64::MAX, |(vruntime, _)| *vruntime);
        if se.vruntime.saturating_sub(leftmost) > ideal {
            w.resched_curr(queue.cpu);
        }
    }

    /// The shortest runtime since the pick at which a tick may preempt `curr`, ns.
    fn earliest_tick_preemption(&self, curr: TaskId) -> Ns {
        let t = &self.tunables;
        if !self.features.base_slice {
            return 0;
        }
        let slice = if self.tasks[curr].is_idle_policy() {
            t.min_granularity_ns.min(t.idle_min_granularity_ns)
        } else {
            t.min_granularity_ns
        };
        if self.discipline.kernel.caps_slice_at_latency { slice.min(t.latency_ns) } else { slice }
    }

    /// The first tick edge of `cpu` that may preempt its current task.
    pub(super) fn preempting_tick(&self, w: &World, cpu: CpuId) -> Ns {
        let rq = &self.rqs[cpu];
        let tick_next = w.cpus[cpu].tick_next;
        if GROUPS && rq.curr.is_task() {
            // A tick of a task in a group tells the other CPUs what the group has here.
            let concerns_others = self.tasks[rq.curr].group != GroupId::ROOT;
            return if concerns_others || rq.h_nr_running > 1 { tick_next } else { NEVER };
        }
        if rq.h_nr_running < 2 || !rq.curr.is_task() {
            return NEVER;
        }
        let se = &self.tasks[rq.curr];
        let ran = se.sum_exec_runtime - se.prev_sum_exec_runtime;
        let left = self.earliest_tick_preemption(rq.curr).saturating_sub(ran);
        let earliest = se.exec_start + left;
        if earliest <= tick_next { tick_next } else { w.tick_after(cpu, earliest - 1) }
    }

    /// `wakeup_preempt_entity`: `curr` is ahead of `se` by more than the granularity of `se`.
    #[inline]
    fn is_ahead(&self, curr: TaskId, se: TaskId) -> bool {
        let (curr, se) = (self.entity(curr), self.entity(se));
        if curr.vruntime <= se.vruntime {
            return false;
        }
        let granularity = self.tunables.wakeup_granularity_ns;
        curr.vruntime - se.vruntime > calc_delta_fair(granularity, se.weight, se.inv_weight)
    }

    pub(super) fn check_preempt_wakeup(
        &mut self,
        w: &mut World,
        cpu: CpuId,
        p: TaskId,
        fork: bool,
    ) {
        let curr = w.cpus[cpu].curr;
        let (of_curr, of_p) = (self.queue_of(cpu, curr), self.queue_of(cpu, p));
        let many = Cfs::nr_entities(self, of_curr) >= self.tunables.nr_latency;
        if self.in_throttled(of_p) {
            return;
        }
        let next_marked = self.features.next_buddy && many && !fork;
        if next_marked && !self.tasks[p].is_idle_policy() {
            self.set_next_buddy(of_p, p);
        }
        if w.cpus[cpu].need_resched {
            return;
        }
        let wakee_policy = self.tasks[p].policy;
        if self.tasks[curr].is_idle_policy() && wakee_policy != SchedPolicy::Idle {
            w.resched_curr(cpu);
            self.set_last_buddy(of_curr, curr, many);
            return;
        }
        // Batch and idle tasks do not preempt.
        if wakee_policy != SchedPolicy::Normal || !self.features.wakeup_preemption {
            return;
        }
        // `find_matching_se`: what of `curr` competes with what of `p`.
        let (queue, rival, woken) = self.matching(cpu, curr, p);
        self.charge_curr(w, queue);
        if !self.is_ahead(rival, woken) {
            return;
        }
        if !next_marked {
            self.set_next_buddy(queue, woken);
        }
        w.resched_curr(cpu);
        // A group's entity is no buddy that has been preempted.
        self.set_last_buddy(of_curr, curr, many && rival == curr);
    }

    /// `set_last_buddy`: `curr` is to come back, unless its policy is SCHED_IDLE.
    fn set_last_buddy(&mut self, queue: QueueId, curr: TaskId, may: bool) {
        let task = &self.tasks[curr];
        if !self.features.last_buddy || !may || !task.on_rq || task.is_idle_policy() {
            return;
        }
        let mut level = Some((queue, curr));
        while let Some((queue, se)) = level {
            self.queue_mut(queue).queue.last = se;
            level = self.above(queue);
        }
    }

    /// `set_next_buddy`, but for the test of `se_is_idle`.
    pub(super) fn set_next_buddy(&mut self, queue: QueueId, se: TaskId) {
        let mut level = Some((queue, se));
        while let Some((queue, se)) = level {
            self.queue_mut(queue).next = se;
            level = self.above(queue);
        }
    }

    /// The task to run on `cpu`, if there is any, the current one among them.
    #[inline]
    pub(super) fn pick(&mut self, w: &mut World, cpu: CpuId) -> Option<TaskId> {
        let mut queue = QueueId::root(cpu);
        loop {
            let se = self.pick_next_entity(w, queue)?;
            let Some(below) = self.group_queue(se) else {
                return Some(se);
            };
            queue = if self.may_go_on(w, below) { below } else { QueueId::root(cpu) };
        }
    }

    /// The queue has CPU time left for what runs on it, or is not limited.
    fn may_go_on(&mut self, w: &mut World, queue: QueueId) -> bool {
        let curr = self.curr_of(queue);
        if !curr.is_task() {
            return true;
        }
        if self.entity(curr).on_rq {
            self.charge_curr(w, queue);
        }
        !self.check_runtime(w, queue)
    }

    /// `pick_next_entity`, with the current entity as a candidate if it is still runnable.
    #[inline]
    fn pick_next_entity(&mut self, w: &mut World, queue: QueueId) -> Option<TaskId> {
        let curr = self.curr_of(queue);
        let curr = (curr.is_task() && self.entity(curr).on_rq).then_some(curr);
        if curr.is_some() {
            self.charge_curr(w, queue);
        }
        let rq = self.queue(queue);
        let left = match (curr, rq.leftmost()) {
            (Some(c), Some(l)) if self.vruntime(c) < self.vruntime(l) => c,
            (_, Some(l)) => l,
            (c, None) => c?,
        };
        let mut pick = left;
        // After a yield the second task runs, unless it is too far ahead.
        if rq.queue.skip == pick {
            let second = self.second(queue, curr, left);
            pick = second.filter(|s| !self.is_ahead(*s, left)).unwrap_or(pick);
        }
        // A buddy may be ahead of the leftmost task by a granularity.
        if rq.next.is_task() && !self.is_ahead(rq.next, left) {
            pick = rq.next;
        } else if rq.queue.last.is_task() && !self.is_ahead(rq.queue.last, left) {
            pick = rq.queue.last;
        }
        Some(pick)
    }

    /// The task that runs if the leftmost one is to be skipped (it has yielded).
    fn second(&self, queue: QueueId, curr: Option<TaskId>, skipped: TaskId) -> Option<TaskId> {
        let tree = &self.queue(queue).queue.tree;
        if curr == Some(skipped) {
            return tree.front().map(|(_, se)| *se);
        }
        let next = tree.get(1).map(|(_, se)| *se);
        match (next, curr) {
            (Some(n), Some(c)) if self.vruntime(c) < self.vruntime(n) => Some(c),
            (None, c) => c,
            (n, _) => n,
        }
    }

    #[inline]
    fn vruntime(&self, se: TaskId) -> u64 {
        self.entity(se).vruntime
    }

    /// `set_next_task_fair`, after `prev`: what both are part of goes on.
    #[inline(always)]
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

    /// `set_next_entity`
    #[inline(always)]
    fn set_next_entity(&mut self, w: &mut World, queue: QueueId, se: TaskId) {
        self.clear_buddies(queue, se);
        let (rq, entity) = self.queue_and_entity(queue, se);
        if entity.on_rq {
            rq.tree_remove(entity.vruntime, se);
            self.update_averages(w, queue, se);
        }
        let entity = self.entity_mut(se);
        entity.exec_start = w.rq_clock(queue.cpu);
        entity.prev_sum_exec_runtime = entity.sum_exec_runtime;
    }

    /// `yield_task_fair`: let another task run first, once.
    pub(super) fn yield_curr(&mut self, w: &mut World, cpu: CpuId) {
        let curr = self.rqs[cpu].curr;
        if w.cpus[cpu].nr_running == 1 || !curr.is_task() {
            return;
        }
        let queue = self.queue_of(cpu, curr);
        self.clear_buddies(queue, curr);
        if self.tasks[curr].policy != SchedPolicy::Batch {
            w.update_clock_if_unlocked(cpu);
            self.charge_curr(w, queue);
            w.skip_clock_update(cpu);
        }
        let mut level = Some((queue, curr));
        while let Some((queue, se)) = level {
            self.queue_mut(queue).queue.skip = se;
            level = self.above(queue);
        }
    }

    /// `clear_buddies`: nor are its groups' entities, where they were for the sake of `se`.
    #[inline]
    pub(super) fn clear_buddies(&mut self, queue: QueueId, se: TaskId) {
        let mut cleared = self.queue_mut(queue).clear_buddies(se);
        let mut level = self.above(queue);
        while let Some((queue, se)) = level
            && cleared.contains(&true)
        {
            for (buddy, was) in self.queue_mut(queue).buddies().into_iter().zip(&mut cleared) {
                *was &= *buddy == se;
                if *was {
                    *buddy = TaskId::NONE;
                }
            }
            level = self.above(queue);
        }
    }

    #[inline]
    pub(super) fn tree_insert(&mut self, queue: QueueId, se: TaskId) {
        let (rq, entity) = self.queue_and_entity(queue, se);
        rq.tree_insert(entity.vruntime, se);
    }
}
