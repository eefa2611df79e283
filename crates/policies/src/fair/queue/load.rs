//! Loads that depend on how the discipline queues its tasks, and the common parts of a dequeue, of
//! a wake-up and of a switch.

use super::discipline::Discipline;
use crate::fair::state::Fair;
use crate::fair::state::groups::QueueId;
use crate::fair::state::pelt::{Activity, DETACHED};
use sim_core::{DequeueFlags, EnqueueFlags, Ns, Policy, TaskId, World};
use topology::CpuId;

impl<S: Discipline> Fair<S> {
    /// Takes the averages of the sleeping `p` out of its runqueue: it wakes up elsewhere, or has
    /// exited. The waker does not hold that runqueue's lock, so they go at its next update: until
    /// then it looks as busy as if `p` still slept there.
    pub(crate) fn remove_entity_load_avg(&mut self, w: &World, cpu: CpuId, p: TaskId) {
        let estimates_lag = self.discipline.kernel().estimates_pelt_lag;
        let (rq, se) = S::queue_and_task(self, cpu, p);
        if se.avg.last_update_time == DETACHED {
            return;
        }
        let weight = u64::from(se.weight);
        // Both as of the same instant, or more would be taken out than was put in.
        se.avg.update(rq.avg.last_update_time, Activity::task(false, false), weight);
        rq.removed.n_tasks += 1;
        rq.removed.load_avg += se.avg.load_avg;
        rq.removed.runnable_avg += se.avg.runnable_avg;
        rq.removed.util_avg += se.avg.util_avg;
        // `migrate_se_pelt_lag`: an idle CPU's clock may stand since long ago.
        let queue = self.queue_of(cpu, p);
        let stands = w.cpus[cpu].curr == TaskId::IDLE;
        if estimates_lag && stands && !self.in_throttled(queue) {
            let clock = self.cfs_rq_clock_pelt(queue, w.now);
            self.tasks[p].avg.update(clock, Activity::task(false, false), weight);
        }
        self.tasks[p].avg.last_update_time = DETACHED;
    }

    /// `update_rq_clock`, after the ticks that have passed on `cpu`.
    #[inline]
    pub(crate) fn update_rq_clock(&mut self, w: &mut World, cpu: CpuId) {
        self.catch_up(w, cpu);
        w.update_rq_clock(cpu);
    }

    /// Averages of `cpu`'s runqueue alone, up to its clock (`update_blocked_averages`).
    pub(crate) fn update_blocked_averages(&mut self, w: &mut World, cpu: CpuId) {
        self.catch_up(w, cpu);
        S::update_blocked(self, w, cpu);
    }

    /// How long that takes, ns.
    pub(crate) fn blocked_ns(&self, w: &World, cpu: CpuId) -> Ns {
        let costs = &w.machine.costs;
        costs.blocked_ns + S::leaf_averages(self, cpu).count() as u64 * costs.blocked_group_ns
    }

    /// `dequeue_task_fair`, to sleep or to go elsewhere.
    pub(crate) fn take_from_queue(
        &mut self,
        w: &mut World,
        cpu: CpuId,
        p: TaskId,
        f: DequeueFlags,
    ) {
        S::dequeue_entity(self, w, cpu, p, f);
        if self.sched_idle_used {
            self.balance_if_only_idle_policy(w, cpu, p);
        }
    }

    /// `put_prev_task_fair`, before `next`: what both are part of goes on.
    #[inline(always)]
    pub(crate) fn put_prev(&mut self, w: &mut World, cpu: CpuId, p: TaskId, next: TaskId) {
        let mut level = Some((self.queue_of(cpu, p), p));
        while let Some((queue, se)) = level {
            self.put_prev_entity(w, queue, se);
            self.set_curr_of(queue, TaskId::NONE);
            let goes_on = S::GROUPS && self.entity_on(queue, next).is_some();
            level = if goes_on { None } else { self.above(queue) };
        }
        self.rqs[cpu].curr = TaskId::NONE;
    }

    /// `put_prev_entity`
    #[inline(always)]
    fn put_prev_entity(&mut self, w: &mut World, queue: QueueId, se: TaskId) {
        if self.entity(se).on_rq {
            S::charge_curr(self, w, queue);
        }
        self.check_runtime(w, queue);
        if self.entity(se).on_rq {
            S::insert(self, queue, se);
            self.update_averages_no_tg(w, queue, se);
        }
    }

    /// `check_preempt_curr`: `p` was put on `cpu`'s queue; should it run at once?
    pub(crate) fn check_preempt(&mut self, w: &mut World, cpu: CpuId, p: TaskId, f: EnqueueFlags) {
        let curr = w.cpus[cpu].curr;
        if curr == TaskId::IDLE {
            w.resched_curr(cpu);
        } else if curr == self.rqs[cpu].curr {
            if curr != p {
                S::check_preempt_wakeup(self, w, cpu, p, f);
            }
        } else if curr.is_task() {
            // One of a lower class.
            w.resched_curr(cpu);
        }
        // The stopper is of a higher class and runs on.
        w.skip_clock_if_resched(cpu);
    }
}
