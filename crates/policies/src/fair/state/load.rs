//! What a runqueue counts and how loaded it is: the sums over its tasks, and PELT.
//!
//! All averages are as of the last update of their runqueue; a caller that wants them as
//! of now updates them first.

use super::fair::{Fair, QueueKind};
use super::pelt::{Activity, DETACHED};
use super::rq::FairRq;
use sim_core::{Ns, TaskId, World};
use topology::CpuId;

/// The load of an idle task: its averages stay as they were at boot, the full load of nice 0.
const IDLE_TASK_LOAD: u64 = 1024;

impl<S: QueueKind> Fair<S> {
    /// `rq_clock_pelt`: by which the averages of `cpu`'s queues, and of what is on them, are
    /// updated.
    #[inline]
    pub(crate) fn clock_pelt(&self, now: Ns, cpu: CpuId) -> Ns {
        self.rqs[cpu].pelt_clock.read(now, self.topo.freq_scale)
    }

    /// `update_load_avg`: the averages of `p` (unless detached) and of its runqueue, up to `now`.
    #[inline]
    pub(crate) fn update_load_avg(&mut self, now: Ns, cpu: CpuId, p: TaskId) {
        let running = self.rqs[cpu].curr == p;
        let clock = self.clock_pelt(now, cpu);
        let se = &mut self.tasks[p];
        if se.avg.last_update_time != DETACHED {
            let mut activity = Activity::task(se.on_rq, running);
            // A task that sleeps on its queue has load, but is not runnable.
            if S::DELAYS && S::is_delayed(&se.ext) {
                activity.runnable = 0;
            }
            if se.avg.update(clock, activity, u64::from(se.weight)) {
                se.util_avg_unchanged = false;
            }
        }
        self.update_rq_load_avg(now, cpu);
    }

    /// `update_cfs_rq_load_avg`
    #[inline]
    pub(crate) fn update_rq_load_avg(&mut self, now: Ns, cpu: CpuId) {
        let clock = self.clock_pelt(now, cpu);
        let rq = &mut self.rqs[cpu];
        let activity = Activity {
            load: rq.load_weight,
            runnable: u64::from(rq.h_nr_runnable()),
            running: rq.curr.is_task(),
        };
        // `cfs.removed`: sleepers have left since the last update.
        let some_left = rq.removed.n_tasks > 0;
        if some_left {
            rq.avg.take_out(std::mem::take(&mut rq.removed));
        }
        if rq.avg.update(clock, activity, 1) || some_left {
            self.publish(cpu);
        }
    }

    /// `cpu_load`, as of the runqueue's last update.
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
    /// it counts tasks that wait, too.
    pub(crate) fn util_to_balance(&self, cpu: CpuId) -> u64 {
        let util = self.cpu_util(cpu);
        if !self.discipline.kernel().counts_waiting_as_util {
            return util;
        }
        // Waiting makes a queue runnable longer than it runs.
        util.max(self.rqs[cpu].avg.runnable_avg).min(1024)
    }

    #[inline]
    pub(crate) fn rq_util(&self, rq: &FairRq<S::Queue>) -> u64 {
        // A big task that has just woken counts before its average has grown again.
        let util = if self.features.util_est {
            rq.avg.util_avg.max(u64::from(rq.util_est_enqueued))
        } else {
            rq.avg.util_avg
        };
        util.min(1024)
    }

    /// `cpu_util_without`: of the CPU where `p` is or slept, as if `p` were not there.
    pub(crate) fn cpu_util_without(&self, cpu: CpuId, p: TaskId, on_rq: bool) -> u64 {
        let rq = &self.rqs[cpu];
        let se = &self.tasks[p];
        let mut util = rq.avg.util_avg.saturating_sub(se.avg.util_avg);
        if self.features.util_est {
            // A sleeper's estimate has left the sum with its dequeue.
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

    /// Sets `rd.overload` when `cpu`'s queue grows from one to two; to be called once
    /// for each task that joins. A longer queue does not set it again: a pass that had to leave
    /// out a CPU with nothing but pinned tasks may have cleared it.
    #[inline]
    pub(crate) fn note_nr_running(&mut self, w: &World, cpu: CpuId) {
        if w.cpus[cpu].nr_running == 2 {
            self.overload = true;
        }
    }

    /// The avg_idle part of a wake-up's activation: measures from `idle_stamp`.
    #[inline]
    pub(crate) fn avg_idle_update(&mut self, w: &World, cpu: CpuId) {
        let jiffies = w.jiffies();
        let rq = &mut self.rqs[cpu];
        // The CPU was not idle, or newidle balance found a task.
        if rq.idle_stamp == 0 {
            return;
        }
        let cap = 2 * rq.max_idle_balance_cost;
        // The stamp of instant 0 is 1.
        let idle_ns = w.rq_clock(cpu).saturating_sub(rq.idle_stamp);
        rq.avg_idle = avg_idle_after(rq.avg_idle, idle_ns, cap);
        // For SIS_PROP: the idle time that wake-ups may use for their scans.
        rq.wake_stamp = jiffies;
        rq.wake_avg_idle = rq.avg_idle / 2;
        rq.idle_stamp = 0;
    }

    /// A woken stopper counts for `rd.overload`, and its wake-up for avg_idle as any other: a stamp
    /// left by a fork placement ends here.
    pub(crate) fn note_stopper(&mut self, w: &World, cpu: CpuId) {
        self.note_nr_running(w, cpu);
        self.avg_idle_update(w, cpu);
    }

    /// Only SCHED_IDLE tasks are left on `cpu` now that `p` is gone: it balances at the next tick,
    /// so that a task of more weight may come.
    pub(crate) fn balance_if_only_idle_policy(&mut self, w: &World, cpu: CpuId, p: TaskId) {
        let gone_was_idle = self.tasks[p].is_idle_policy();
        let rq = &mut self.rqs[cpu];
        if !gone_was_idle && rq.h_nr_running > 0 && rq.h_nr_running == rq.idle_h_nr_running {
            rq.next_balance = w.jiffies();
        }
    }
}

/// `update_avg` on avg_idle with its cap; the eighth is truncated toward zero.
pub(crate) fn avg_idle_after(avg: Ns, idle: Ns, cap: Ns) -> Ns {
    let next = if idle >= avg { avg + (idle - avg) / 8 } else { avg - (avg - idle) / 8 };
    next.min(cap)
}
