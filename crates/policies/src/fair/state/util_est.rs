//! Estimated utilization: what a task used before it slept.
//!
//! PELT forgets a sleeper; the estimate remembers. A runqueue sums the estimates of its queued
//! tasks, so `cpu_util_cfs` jumps when a big task wakes up instead of creeping.

use super::fair::{Fair, QueueKind};
use super::task::FairTask;
use sim_core::TaskId;
use topology::CpuId;

/// Changes below 1 % of full utilization are noise.
const UTIL_EST_MARGIN: u32 = 1024 / 100;
/// Weight of a new sample: 1/4.
const UTIL_EST_WEIGHT_SHIFT: u32 = 2;

impl<E> FairTask<E> {
    /// `_task_util_est`.
    #[inline]
    pub fn util_est(&self) -> u32 {
        self.util_est_enqueued.max(self.util_est_ewma)
    }

    /// `util_est_update` at a dequeue for sleep, up to v6.7. The flag says that `util_avg` is older
    /// than the last estimate: a task that ran for a moment only has nothing new to say.
    #[inline]
    pub(crate) fn util_est_update(&mut self, fastup: bool) {
        if self.util_avg_unchanged {
            return;
        }
        let sample = self.avg.util_avg as u32;
        let ewma = self.util_est_ewma;
        if fastup && ewma < sample {
            self.util_est_ewma = sample;
        // Noise: the average stays, and so does the last sample if it is near, too.
        } else if sample.abs_diff(ewma) < UTIL_EST_MARGIN {
            if sample.abs_diff(self.util_est_enqueued) < UTIL_EST_MARGIN {
                return;
            }
        } else if sample > 1024 {
            // No idle time: the sample says how crowded the CPU was, not what the task needs.
            return;
        } else {
            self.util_est_ewma =
                ((ewma << UTIL_EST_WEIGHT_SHIFT) + sample - ewma) >> UTIL_EST_WEIGHT_SHIFT;
        }
        self.util_est_enqueued = sample;
        self.util_avg_unchanged = true;
    }

    /// The same since v6.8: one number, which grows at once and does not shrink for a task that had
    /// to wait for its CPU time.
    pub(crate) fn util_est_update_v6_8(&mut self) {
        if self.util_avg_unchanged {
            return;
        }
        let (sample, ewma) = (self.avg.util_avg as u32, self.util_est_ewma);
        // It was runnable for longer than it ran: the sample is less than it needs.
        let had_to_wait = u64::from(sample + UTIL_EST_MARGIN) < self.avg.runnable_avg;
        let estimate = if ewma <= sample {
            sample
        } else if ewma - sample < UTIL_EST_MARGIN || had_to_wait {
            ewma
        } else {
            ((ewma << UTIL_EST_WEIGHT_SHIFT) - (ewma - sample)) >> UTIL_EST_WEIGHT_SHIFT
        };
        (self.util_est_enqueued, self.util_est_ewma) = (estimate, estimate);
        self.util_avg_unchanged = true;
    }
}

impl<S: QueueKind> Fair<S> {
    #[inline]
    pub(crate) fn util_est_enqueue(&mut self, cpu: CpuId, p: TaskId) {
        self.rqs[cpu].util_est_enqueued += self.tasks[p].util_est();
    }

    #[inline]
    pub(crate) fn util_est_dequeue(&mut self, cpu: CpuId, p: TaskId) {
        let rq = &mut self.rqs[cpu];
        let est = self.tasks[p].util_est();
        rq.util_est_enqueued = rq.util_est_enqueued.saturating_sub(est);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_core::TaskAttr;

    fn task(enqueued: u32, ewma: u32, util: u64) -> FairTask {
        let mut p = FairTask::new(&TaskAttr::default());
        (p.util_est_enqueued, p.util_est_ewma, p.avg.util_avg) = (enqueued, ewma, util);
        p
    }

    fn check(enqueued: u32, ewma: u32, util: u64, fastup: bool, expected: (u32, u32, bool)) {
        let mut p = task(enqueued, ewma, util);
        p.util_est_update(fastup);
        assert_eq!((p.util_est_enqueued, p.util_est_ewma, p.util_avg_unchanged), expected);
    }

    #[test]
    fn growth_is_taken_at_once_and_shrinking_slowly() {
        check(100, 100, 300, true, (300, 300, true));
        check(100, 100, 300, false, (300, 150, true));
        check(300, 300, 100, true, (100, 250, true));
    }

    #[test]
    fn small_changes_are_noise() {
        check(300, 300, 291, true, (300, 300, false));
        check(280, 300, 295, true, (295, 300, true));
    }

    #[test]
    fn since_v6_8_who_had_to_wait_keeps_its_estimate() {
        let check = |ewma: u32, util: u64, runnable: u64, expected: u32| {
            let mut p = task(ewma, ewma, util);
            p.avg.runnable_avg = runnable;
            p.util_est_update_v6_8();
            assert_eq!((p.util_est_enqueued, p.util_est_ewma), (expected, expected));
            assert!(p.util_avg_unchanged);
        };
        check(300, 100, 110, 250);
        check(300, 100, 111, 300);
        check(300, 291, 291, 300);
        check(100, 300, 900, 300);
    }

    #[test]
    fn an_average_that_did_not_move_says_nothing() {
        let mut p = task(100, 100, 300);
        p.util_avg_unchanged = true;
        p.util_est_update(true);
        assert_eq!(p.util_est(), 100);
    }
}
