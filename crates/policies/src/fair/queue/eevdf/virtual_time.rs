//! V, lag, eligibility, and the current task's virtual time.
//!
//! Sums are kept relative to `min_vruntime`, which follows the queue and never goes back, so they
//! stay small. 128 bits hold them whatever the weights.

use super::state::Eevdf;
use crate::fair::queue::discipline::Discipline;
use crate::fair::state::weights::calc_delta_fair;
use crate::fair::state::{Fair, Protection, QueueId};
use sim_core::{TaskId, World};

/// (vruntime - base) * weight
#[inline]
pub(super) fn product(vruntime: u64, base: u64, weight: u64) -> i128 {
    i128::from(vruntime.wrapping_sub(base) as i64) * i128::from(weight)
}

/// `sum / load`, rounded toward minus infinity.
#[inline]
fn floor_div(sum: i128, load: u64) -> i64 {
    match i64::try_from(sum) {
        Ok(sum) => sum.div_euclid(load as i64),
        Err(_) => sum.div_euclid(i128::from(load)) as i64,
    }
}

impl<const GROUPS: bool> Fair<Eevdf<GROUPS>> {
    /// The sums over all on the queue, the current task included: of weighted vruntimes, and of
    /// weights.
    #[inline]
    fn totals(&self, queue: QueueId) -> (i128, u64) {
        let rq = self.queue(queue);
        let (mut sum, mut load) = (rq.queue.sum, rq.queue.load);
        let curr = self.curr_of(queue);
        if curr.is_task() {
            let se = self.entity(curr);
            if se.on_rq {
                sum += product(se.vruntime, rq.min_vruntime, se.weight.into());
                load += u64::from(se.weight);
            }
        }
        (sum, load)
    }

    /// `avg_vruntime`: V, rounded down.
    #[inline]
    pub(super) fn avg_vruntime(&self, queue: QueueId) -> u64 {
        let base = self.queue(queue).min_vruntime;
        match self.totals(queue) {
            (_, 0) => base,
            (sum, load) => base.wrapping_add_signed(floor_div(sum, load)),
        }
    }

    /// `entity_eligible`: `p`, which is on the queue, is not ahead of V. Exact: no division.
    #[inline]
    pub(super) fn is_eligible(&self, queue: QueueId, p: TaskId) -> bool {
        let (sum, load) = self.totals(queue);
        sum >= product(self.entity(p).vruntime, self.queue(queue).min_vruntime, load)
    }

    /// Where the waiting tasks alone would have V, if there are any. The current task is
    /// eligible up to there: whatever its weight, it moves V toward itself and not past itself.
    #[inline]
    pub(super) fn avg_vruntime_waiting(&self, queue: QueueId) -> Option<u64> {
        let rq = self.queue(queue);
        let (sum, load) = (rq.queue.sum, rq.queue.load);
        (load > 0).then(|| rq.min_vruntime.wrapping_add_signed(floor_div(sum, load)))
    }

    /// The lag of `p` on its queue, whose V this is, as it takes it along: limited, so that a long
    /// slice or a rare tick does not make it owe or own too much.
    pub(super) fn entity_lag(&self, w: &World, queue: QueueId, p: TaskId, v: u64) -> i64 {
        let se = self.entity(p);
        let vlag = v.wrapping_sub(se.vruntime) as i64;
        // v6.18 limits by the longest slice of the queue, before by the task's own.
        let longest = if self.discipline.kernel.limits_lag_by_longest_slice {
            self.max_slice(queue) + w.tick_ns()
        } else {
            (2 * se.ext.slice).max(w.tick_ns())
        };
        let limit = calc_delta_fair(longest, se.weight, se.inv_weight) as i64;
        vlag.clamp(-limit, limit)
    }

    /// The lag that a task of this weight must be placed with so that it has `vlag` once it is
    /// counted itself.
    #[inline]
    pub(super) fn lag_before_joining(&self, queue: QueueId, vlag: i64, weight: u32) -> i64 {
        if vlag == 0 {
            return 0;
        }
        // Joining moves V toward the task by its part of the weight, so the lag is inflated by
        // that.
        let (_, load) = self.totals(queue);
        let inflated = i128::from(vlag) * i128::from(load + u64::from(weight));
        match i64::try_from(inflated) {
            Ok(lag) => lag / load.max(1) as i64,
            Err(_) => (inflated / i128::from(load.max(1))) as i64,
        }
    }

    /// `cfs_rq_min_slice`: of all on the queue.
    #[inline]
    pub(super) fn min_slice(&self, queue: QueueId) -> u64 {
        let rq = self.queue(queue);
        let waiting = self.discipline.trees.extremes(rq.queue.root);
        let curr = self.curr_slice(queue).unwrap_or(u64::MAX);
        waiting.map_or(curr, |all| curr.min(all.min_slice))
    }

    /// `cfs_rq_max_slice`
    fn max_slice(&self, queue: QueueId) -> u64 {
        let rq = self.queue(queue);
        let waiting = self.discipline.trees.extremes(rq.queue.root);
        let curr = self.curr_slice(queue).unwrap_or(0);
        waiting.map_or(curr, |all| curr.max(all.max_slice))
    }

    #[inline]
    fn curr_slice(&self, queue: QueueId) -> Option<u64> {
        let curr = self.curr_of(queue);
        let se = curr.is_task().then(|| self.entity(curr))?;
        se.on_rq.then_some(se.ext.slice)
    }

    /// `update_curr`: charges the current task up to the queue's clock; a deadline that has passed
    /// is renewed, and the task gives way if another one waits.
    pub(super) fn charge_curr(&mut self, w: &mut World, queue: QueueId) {
        let curr = self.curr_of(queue);
        if !curr.is_task() {
            return;
        }
        let now = w.rq_clock(queue.cpu);
        let base_slice = self.tunables.base_slice_ns;
        let se = self.entity_mut(curr);
        if now <= se.exec_start {
            return;
        }
        let delta = now - se.exec_start;
        se.exec_start = now;
        se.sum_exec_runtime += delta;
        se.vruntime += calc_delta_fair(delta, se.weight, se.inv_weight);
        let deadline_passed = se.vruntime >= se.ext.deadline;
        if deadline_passed {
            if !se.ext.custom_slice {
                se.ext.slice = base_slice;
            }
            // From where the task is, not from the old deadline: lateness is not carried over.
            let vslice = calc_delta_fair(se.ext.slice, se.weight, se.inv_weight);
            se.ext.deadline = se.vruntime + vslice;
        }
        self.update_min_vruntime(queue);
        self.account_runtime(w, queue, delta);
        let is_alone = Eevdf::nr_entities(self, queue) <= 1;
        if !is_alone && (deadline_passed || self.protection_is_over(queue, curr)) {
            self.clear_buddies(queue, curr);
            w.resched_curr(queue.cpu);
        }
    }

    /// The current task may not go on although its slice is not over.
    #[inline]
    fn protection_is_over(&self, queue: QueueId, curr: TaskId) -> bool {
        let ext = &self.entity(curr).ext;
        match self.discipline.kernel.protection {
            Protection::WhileEligible => false,
            // did_preempt_short: the protection was cancelled, or ended with an earlier deadline.
            Protection::UntilCancelled => {
                let cancelled = self.features.preempt_short && ext.protect != ext.deadline;
                cancelled && !self.is_eligible(queue, curr)
            }
            Protection::UpToVruntime => !self.protect_slice(curr),
        }
    }

    /// `protect_slice` (v6.18)
    #[inline]
    pub(super) fn protect_slice(&self, curr: TaskId) -> bool {
        let se = self.entity(curr);
        se.vruntime < se.ext.protect
    }

    /// The base of the sums follows the queue.
    pub(super) fn update_min_vruntime(&mut self, queue: QueueId) {
        let waiting = self.discipline.trees.extremes(self.queue(queue).queue.root);
        let mut least = waiting.map(|all| all.min_vruntime);
        let curr = self.curr_of(queue);
        if curr.is_task() {
            let se = self.entity(curr);
            if se.on_rq {
                least = Some(least.map_or(se.vruntime, |v| v.min(se.vruntime)));
            }
        }
        let rq = self.queue_mut(queue);
        if let Some(least) = least
            && least > rq.min_vruntime
        {
            // The sum is relative to the base, which moves on.
            rq.queue.sum -= product(least, rq.min_vruntime, rq.queue.load);
            rq.min_vruntime = least;
        }
    }
}
