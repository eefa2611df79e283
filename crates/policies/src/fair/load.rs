//! What a runqueue counts and how loaded it is: the sums over its tasks, and PELT (spec 2.2, 2.5).
//!
//! All averages are as of the last update of their runqueue (spec 2.7); whoever wants them as of
//! now updates them first.

use super::pelt::{Activity, DETACHED};
use super::state::FairRq;
use super::{Discipline, Fair, Rules};
use sim_core::{Ns, Policy, TaskId, World};
use topology::CpuId;

/// The load of an idle task: its averages stay as they were at boot, the full load of nice 0.
const IDLE_TASK_LOAD: u64 = 1024;

impl<S: Discipline> Fair<S> {
    #[inline]
    pub(crate) fn account_enqueue(&mut self, cpu: CpuId, p: TaskId) {
        let se = &self.tasks[p];
        let (weight, idle) = (u64::from(se.weight), u32::from(se.is_idle_policy()));
        let rq = &mut self.rqs[cpu];
        rq.load_weight += weight;
        rq.h_nr_running += 1;
        rq.idle_h_nr_running += idle;
        self.list_add_head(cpu, p);
    }

    #[inline]
    pub(crate) fn account_dequeue(&mut self, cpu: CpuId, p: TaskId) {
        let se = &self.tasks[p];
        let (weight, idle) = (u64::from(se.weight), u32::from(se.is_idle_policy()));
        let rq = &mut self.rqs[cpu];
        rq.load_weight -= weight;
        rq.h_nr_running -= 1;
        rq.idle_h_nr_running -= idle;
        self.list_del(cpu, p);
    }

    /// `update_load_avg`: the averages of `p` (unless detached) and of its runqueue, up to `now`.
    #[inline]
    pub(crate) fn update_load_avg(&mut self, now: Ns, cpu: CpuId, p: TaskId) {
        let running = self.rqs[cpu].curr == p;
        let se = &mut self.tasks[p];
        if se.avg.last_update_time != DETACHED {
            let mut activity = Activity::task(se.on_rq, running);
            if S::DELAYS && S::is_delayed(&se.ext) {
                activity.runnable = 0;
            }
            if se.avg.update(now, activity, u64::from(se.weight)) {
                se.util_avg_unchanged = false;
            }
        }
        self.update_rq_load_avg(now, cpu);
    }

    /// `update_cfs_rq_load_avg`
    #[inline]
    pub(crate) fn update_rq_load_avg(&mut self, now: Ns, cpu: CpuId) {
        let rq = &mut self.rqs[cpu];
        let activity = Activity {
            load: rq.load_weight,
            runnable: u64::from(rq.h_nr_runnable()),
            running: rq.curr.is_task(),
        };
        let some_left = rq.removed.n_tasks > 0;
        if some_left {
            rq.avg.take_out(std::mem::take(&mut rq.removed));
        }
        if rq.avg.update(now, activity, 1) || some_left {
            self.publish(cpu);
        }
    }

    /// Takes the averages of the sleeping `p` out of its runqueue: it wakes up elsewhere, or has
    /// exited. The waker does not hold that runqueue's lock, so they go at its next update: until
    /// then it looks as busy as if `p` still slept there.
    pub(crate) fn remove_entity_load_avg(&mut self, w: &World, cpu: CpuId, p: TaskId) {
        let (rq, se) = S::queue_and_task(self, cpu, p);
        if se.avg.last_update_time == DETACHED {
            return;
        }
        let weight = u64::from(se.weight);
        se.avg.update(rq.avg.last_update_time, Activity::task(false, false), weight);
        rq.removed.n_tasks += 1;
        rq.removed.load_avg += se.avg.load_avg;
        rq.removed.runnable_avg += se.avg.runnable_avg;
        rq.removed.util_avg += se.avg.util_avg;
        // `migrate_se_pelt_lag`: an idle CPU's clock may stand since long ago.
        if w.cpus[cpu].curr == TaskId::IDLE {
            se.avg.update(w.now, Activity::task(false, false), weight);
        }
        se.avg.last_update_time = DETACHED;
    }

    /// Averages of `cpu`'s runqueue alone, up to now (`update_blocked_averages`).
    pub(crate) fn update_blocked_averages(&mut self, w: &mut World, cpu: CpuId) {
        self.catch_up(w, cpu);
        S::update_blocked(self, w, cpu);
    }

    /// How long that takes, ns.
    pub(crate) fn blocked_ns(&self, w: &World, cpu: CpuId) -> Ns {
        let costs = &w.machine.costs;
        costs.blocked_ns + S::n_leaf_queues(self, cpu) * costs.blocked_group_ns
    }

    /// `cpu_load`, as of the runqueue's last update (spec 2.7).
    #[inline]
    pub(crate) fn cpu_load(&self, cpu: CpuId) -> u64 {
        self.rqs[cpu].avg.load_avg
    }

    /// `cpu_util_cfs`, as of the runqueue's last update.
    #[inline]
    pub(crate) fn cpu_util(&self, cpu: CpuId) -> u64 {
        self.rq_util(&self.rqs[cpu])
    }

    /// What `find_busiest_queue` takes for a queue's utilization: since v6.5 (`cpu_util_cfs_boost`)
    /// it counts who waits, too.
    pub(crate) fn util_to_balance(&self, cpu: CpuId) -> u64 {
        let util = self.cpu_util(cpu);
        if self.discipline.rules() < Rules::V6_6 {
            return util;
        }
        util.max(self.rqs[cpu].avg.runnable_avg).min(1024)
    }

    #[inline]
    pub(crate) fn rq_util(&self, rq: &FairRq<S::Queue>) -> u64 {
        let util = if self.features.util_est {
            rq.avg.util_avg.max(u64::from(rq.util_est_enqueued))
        } else {
            rq.avg.util_avg
        };
        util.min(1024)
    }

    /// `cpu_util_without`: of the CPU where `p` is or slept, as if `p` were not there.
    pub(crate) fn cpu_util_without(&self, cpu: CpuId, p: TaskId, on_rq: bool) -> u64 {
        let (rq, se) = (&self.rqs[cpu], &self.tasks[p]);
        let mut util = rq.avg.util_avg.saturating_sub(se.avg.util_avg);
        if self.features.util_est {
            let own = if on_rq { se.util_est() } else { 0 };
            util = util.max(u64::from(rq.util_est_enqueued.saturating_sub(own)));
        }
        util.min(1024)
    }

    /// A task's own load in its queue, or the idle task's.
    #[inline]
    pub(crate) fn task_load(&self, p: TaskId) -> u64 {
        if p.is_task() { self.tasks[p].avg.load_avg } else { IDLE_TASK_LOAD }
    }

    /// `task_util_est`
    #[inline]
    pub(crate) fn task_util_est(&self, p: TaskId) -> u64 {
        let se = &self.tasks[p];
        if self.features.util_est {
            se.avg.util_avg.max(u64::from(se.util_est()))
        } else {
            se.avg.util_avg
        }
    }
}
