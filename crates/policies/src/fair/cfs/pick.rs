//! Who runs next, and who must give way (spec 3.6-3.9).
//!
//! The leftmost task runs, unless a buddy is nearly as far behind: the task that a wake-up just
//! preempted (`last`: its cache is warm) or that was just woken (`next`). A tick preempts who has
//! used up its slice, a wake-up preempts who is ahead by more than a granularity.

use super::super::Fair;
use super::super::weights::calc_delta_fair;
use super::Cfs;
use sim_core::{NEVER, Ns, SchedPolicy, TaskId, World};
use topology::CpuId;

impl Fair<Cfs> {
    /// `check_preempt_tick`, for a queue with more than one task.
    pub(super) fn check_preempt_tick(&mut self, w: &mut World, cpu: CpuId, curr: TaskId) {
        let ideal = self.sched_slice(cpu, curr).min(self.tunables.latency_ns);
        let se = &self.tasks[curr.idx()];
        let ran = se.sum_exec_runtime - se.prev_sum_exec_runtime;
        let rq = &mut self.rqs[cpu.idx()];
        if ran > ideal {
            // Its slice is over: it must not win the next pick as a buddy.
            rq.clear_buddies(curr);
            w.resched_curr(cpu);
            return;
        }
        if ran < self.tunables.min_granularity_ns {
            return;
        }
        let leftmost = rq.queue.tree.front().map_or(u64::MAX, |(vruntime, _)| *vruntime);
        if se.vruntime.saturating_sub(leftmost) > ideal {
            w.resched_curr(cpu);
        }
    }

    /// The shortest runtime since the pick at which a tick may preempt `curr`, ns.
    fn earliest_tick_preemption(&self, curr: TaskId) -> Ns {
        let t = &self.tunables;
        if !self.features.base_slice {
            return 0;
        }
        let slice = if self.tasks[curr.idx()].is_idle_policy() {
            t.min_granularity_ns.min(t.idle_min_granularity_ns)
        } else {
            t.min_granularity_ns
        };
        slice.min(t.latency_ns)
    }

    /// The first tick edge of `cpu` that may preempt its current task (spec 3.6).
    pub(super) fn preempting_tick(&self, w: &World, cpu: CpuId) -> Ns {
        let (rq, tick_next) = (&self.rqs[cpu.idx()], w.cpus[cpu.idx()].tick_next);
        if rq.h_nr_running < 2 || !rq.curr.is_task() {
            return NEVER;
        }
        let se = &self.tasks[rq.curr.idx()];
        let ran = se.sum_exec_runtime - se.prev_sum_exec_runtime;
        let left = self.earliest_tick_preemption(rq.curr).saturating_sub(ran);
        let earliest = se.exec_start + left;
        if earliest <= tick_next { tick_next } else { w.tick_after(cpu, earliest - 1) }
    }

    /// `wakeup_preempt_entity`: `curr` is ahead of `se` by more than the granularity of `se`.
    #[inline]
    fn is_ahead(&self, curr: TaskId, se: TaskId) -> bool {
        let (curr, se) = (&self.tasks[curr.idx()], &self.tasks[se.idx()]);
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
        (curr, p): (TaskId, TaskId),
        fork: bool,
    ) {
        let many = self.rqs[cpu.idx()].h_nr_running >= self.tunables.nr_latency;
        let next_marked = self.features.next_buddy && many && !fork;
        if next_marked {
            self.rqs[cpu.idx()].next = p;
        }
        if w.cpus[cpu.idx()].need_resched {
            return;
        }
        let wakee_policy = self.tasks[p.idx()].policy;
        let curr_idle_policy = self.tasks[curr.idx()].is_idle_policy();
        if !curr_idle_policy || wakee_policy == SchedPolicy::Idle {
            // Batch and idle tasks do not preempt.
            if wakee_policy != SchedPolicy::Normal || !self.features.wakeup_preemption {
                return;
            }
            self.charge_curr(cpu, w.now);
            if !self.is_ahead(curr, p) {
                return;
            }
            if !next_marked {
                self.rqs[cpu.idx()].next = p;
            }
        }
        w.resched_curr(cpu);
        let curr_se = &self.tasks[curr.idx()];
        if self.features.last_buddy && many && curr_se.on_rq {
            self.rqs[cpu.idx()].queue.last = curr;
        }
    }

    /// `pick_next_entity`, with the current task as a candidate if it is still runnable.
    pub(super) fn pick(&mut self, now: Ns, cpu: CpuId) -> Option<TaskId> {
        let curr = self.rqs[cpu.idx()].curr;
        let curr = (curr.is_task() && self.tasks[curr.idx()].on_rq).then_some(curr);
        if curr.is_some() {
            self.charge_curr(cpu, now);
        }
        let rq = &self.rqs[cpu.idx()];
        let left = match (curr, rq.leftmost()) {
            (Some(c), Some(l)) if self.vruntime(c) < self.vruntime(l) => c,
            (_, Some(l)) => l,
            (c, None) => c?,
        };
        let mut pick = left;
        if rq.queue.skip == pick {
            let second = self.second(cpu, curr, left);
            pick = second.filter(|s| !self.is_ahead(*s, left)).unwrap_or(pick);
        }
        if rq.next.is_task() && !self.is_ahead(rq.next, left) {
            pick = rq.next;
        } else if rq.queue.last.is_task() && !self.is_ahead(rq.queue.last, left) {
            pick = rq.queue.last;
        }
        Some(pick)
    }

    /// Who runs if the leftmost is to be skipped.
    fn second(&self, cpu: CpuId, curr: Option<TaskId>, skipped: TaskId) -> Option<TaskId> {
        let tree = &self.rqs[cpu.idx()].queue.tree;
        if curr == Some(skipped) {
            return tree.front().map(|(_, p)| *p);
        }
        let next = tree.get(1).map(|(_, p)| *p);
        match (next, curr) {
            (Some(n), Some(c)) if self.vruntime(c) < self.vruntime(n) => Some(c),
            (None, c) => c,
            (n, _) => n,
        }
    }

    #[inline]
    fn vruntime(&self, p: TaskId) -> u64 {
        self.tasks[p.idx()].vruntime
    }

    /// `set_next_entity`
    #[inline(always)]
    pub(super) fn set_next(&mut self, now: Ns, cpu: CpuId, p: TaskId) {
        let rq = &mut self.rqs[cpu.idx()];
        let se = &self.tasks[p.idx()];
        rq.clear_buddies(p);
        if se.on_rq {
            rq.tree_remove(se.vruntime, p);
            self.update_load_avg(now, cpu, p);
        }
        self.rqs[cpu.idx()].curr = p;
        let se = &mut self.tasks[p.idx()];
        se.exec_start = now;
        se.prev_sum_exec_runtime = se.sum_exec_runtime;
        self.list_rotate_to_head(cpu, p);
    }

    /// `put_prev_entity`
    #[inline(always)]
    pub(super) fn put_prev(&mut self, now: Ns, cpu: CpuId, p: TaskId) {
        if self.tasks[p.idx()].on_rq {
            self.charge_curr(cpu, now);
            self.tree_insert(cpu, p);
            self.update_load_avg(now, cpu, p);
        }
        self.rqs[cpu.idx()].curr = TaskId::NONE;
    }

    /// `yield_task_fair`: let another task run first, once.
    pub(super) fn yield_curr(&mut self, w: &World, cpu: CpuId) {
        let rq = &mut self.rqs[cpu.idx()];
        let curr = rq.curr;
        if w.cpus[cpu.idx()].nr_running == 1 || !curr.is_task() {
            return;
        }
        rq.clear_buddies(curr);
        self.charge_curr(cpu, w.now);
        self.rqs[cpu.idx()].queue.skip = curr;
    }
}
