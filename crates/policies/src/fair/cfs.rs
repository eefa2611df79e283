//! CFS as of Linux v6.4: virtual time, slices, placement, enqueue and dequeue (spec 3.1-3.5).
//!
//! Every task has a virtual runtime that advances at the inverse of its weight; the task that is
//! furthest behind runs next. `cfs::pick` decides who runs and who is preempted, `cfs::queue`
//! holds the order.
//!
//! Of a runqueue's two records the mechanism owns one (`rq.nr_running`, `rq.curr`) and this class
//! the other (`cfs.*`). Runtime is measured by the simulated clock, irq time included: the
//! simulator keeps no irq time apart (`clock_task` = `clock`, spec 0.4).

mod pick;
mod queue;
#[cfg(test)]
mod tests;

use super::Fair;
use super::pelt::{Activity, DETACHED};
use super::state::FairRq;
use super::weights::{calc_delta, calc_delta_fair, rq_inverse};
use sim_core::{DequeueFlags, EnqueueFlags, Ns, Policy, TaskId, World};
use topology::CpuId;

/// A task that slept longer is placed without regard to its old vruntime (spec 3.4).
const LONG_SLEEP_NS: Ns = (1 << 63) / 1024;

impl Fair {
    /// `update_curr`: charges the current task of `cpu` for the time up to now.
    #[inline]
    pub(crate) fn update_curr(&mut self, w: &World, cpu: CpuId) {
        self.charge_curr(cpu, w.now);
    }

    #[inline]
    pub(crate) fn charge_curr(&mut self, cpu: CpuId, now: Ns) {
        let rq = &mut self.rqs[cpu.idx()];
        if !rq.curr.is_task() {
            return;
        }
        let p = &mut self.tasks[rq.curr.idx()];
        if now <= p.exec_start {
            return;
        }
        let delta = now - p.exec_start;
        p.exec_start = now;
        p.sum_exec_runtime += delta;
        p.vruntime += calc_delta_fair(delta, p.weight, p.inv_weight);
        rq.update_min_vruntime(p.on_rq.then_some(p.vruntime));
    }

    /// The smallest vruntime of the queue, never going back.
    #[inline]
    pub(crate) fn update_min_vruntime(&mut self, cpu: CpuId) {
        let rq = &mut self.rqs[cpu.idx()];
        let curr = rq.curr.is_task().then(|| &self.tasks[rq.curr.idx()]);
        rq.update_min_vruntime(curr.filter(|se| se.on_rq).map(|se| se.vruntime));
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

    /// `sched_slice`: the share of the period that `p` may have on `cpu`'s queue.
    pub(crate) fn sched_slice(&self, cpu: CpuId, p: TaskId) -> Ns {
        let (rq, se) = (&self.rqs[cpu.idx()], &self.tasks[p.idx()]);
        let joins = !se.on_rq;
        let period = self.sched_period(rq.h_nr_running + u32::from(joins));
        let load = rq.load_weight + u64::from(joins) * u64::from(se.weight);
        let slice = calc_delta(period, se.weight, rq_inverse(load));
        if !self.features.base_slice {
            return slice;
        }
        let all_idle_policy = rq.h_nr_running == rq.idle_h_nr_running && rq.h_nr_running > 0;
        slice.max(if se.is_idle_policy() && !all_idle_policy {
            self.tunables.idle_min_granularity_ns
        } else {
            self.tunables.min_granularity_ns
        })
    }

    /// `sched_vslice`: the slice in the task's virtual time.
    pub(crate) fn sched_vslice(&self, cpu: CpuId, p: TaskId) -> u64 {
        let se = &self.tasks[p.idx()];
        calc_delta_fair(self.sched_slice(cpu, p), se.weight, se.inv_weight)
    }

    /// `place_entity`: a new task starts a slice late, a sleeper gets credit of half a latency
    /// (so that it can preempt), and nobody gains by sleeping.
    pub(crate) fn place_entity(&mut self, now: Ns, cpu: CpuId, p: TaskId, initial: bool) {
        let mut vruntime = self.rqs[cpu.idx()].min_vruntime;
        if initial {
            if self.features.start_debit {
                vruntime += self.sched_vslice(cpu, p);
            }
        } else {
            let credit = if self.tasks[p.idx()].is_idle_policy() {
                self.tunables.min_granularity_ns
            } else {
                self.tunables.latency_ns
            };
            vruntime -= credit >> u32::from(self.features.gentle_fair_sleepers);
        }
        let se = &mut self.tasks[p.idx()];
        let long_sleeper = se.exec_start != 0 && now.saturating_sub(se.exec_start) > LONG_SLEEP_NS;
        se.vruntime = if long_sleeper { vruntime } else { se.vruntime.max(vruntime) };
    }

    /// Puts `p` on the queue of `cpu`, as `enqueue_task_fair` does, but for the hooks of the
    /// wake-up path.
    pub(crate) fn enqueue_entity(&mut self, w: &World, cpu: CpuId, p: TaskId, f: EnqueueFlags) {
        let now = w.now;
        // Off the queue a vruntime is relative to min_vruntime, but for a sleeper that stayed.
        let renorm = !f.wakeup || f.migrated;
        let is_curr = self.rqs[cpu.idx()].curr == p;
        if f.initial {
            // By the averages as wake_up_new_task finds them, before the enqueue updates them.
            let se = &mut self.tasks[p.idx()];
            se.avg.post_init(&self.rqs[cpu.idx()].avg, u64::from(se.weight));
        }
        self.util_est_enqueue(cpu, p);
        if renorm && is_curr {
            self.add_min_vruntime(cpu, p);
        }
        self.charge_curr(cpu, now);
        if renorm && !is_curr {
            self.add_min_vruntime(cpu, p);
        }
        self.update_load_avg(now, cpu, p);
        let se = &mut self.tasks[p.idx()];
        if se.avg.last_update_time == DETACHED {
            let rq = &mut self.rqs[cpu.idx()];
            rq.avg.attach(&mut se.avg, u64::from(se.weight));
        }
        self.account_enqueue(cpu, p);
        if f.wakeup {
            self.place_entity(now, cpu, p, false);
        }
        let se = &mut self.tasks[p.idx()];
        if f.migrated {
            // It is not cache hot here (spec 8.8).
            se.exec_start = 0;
        }
        se.on_rq = true;
        if !is_curr {
            self.tree_insert(cpu, p);
        }
        // The mechanism has counted `p` already.
        self.note_nr_running(w, cpu);
    }

    /// Takes `p` off the queue of `cpu`. Without `sleep` it leaves for another CPU: its averages
    /// go with it and its vruntime becomes relative.
    pub(crate) fn dequeue_entity(&mut self, w: &World, cpu: CpuId, p: TaskId, f: DequeueFlags) {
        self.util_est_dequeue(cpu, p);
        self.charge_curr(cpu, w.now);
        self.update_load_avg(w.now, cpu, p);
        let rq = &mut self.rqs[cpu.idx()];
        let se = &mut self.tasks[p.idx()];
        if !f.sleep {
            rq.avg.detach(&mut se.avg, u64::from(se.weight));
        }
        rq.clear_buddies(p);
        if rq.curr != p {
            let vruntime = se.vruntime;
            rq.tree_remove(vruntime, p);
        }
        se.on_rq = false;
        self.account_dequeue(cpu, p);
        if !f.sleep {
            let min_vruntime = self.rqs[cpu.idx()].min_vruntime;
            let se = &mut self.tasks[p.idx()];
            se.vruntime = se.vruntime.wrapping_sub(min_vruntime);
        }
        self.update_min_vruntime(cpu);
        if f.sleep && self.features.util_est {
            self.tasks[p.idx()].util_est_update(self.features.util_est_fastup);
        }
    }

    /// DEQUEUE_SAVE: takes `p` off the queue of `cpu` for a moment, in which it is changed. Its
    /// vruntime stays as it is.
    pub(crate) fn save_entity(&mut self, now: Ns, cpu: CpuId, p: TaskId) {
        self.util_est_dequeue(cpu, p);
        self.charge_curr(cpu, now);
        self.update_load_avg(now, cpu, p);
        let (rq, se) = (&mut self.rqs[cpu.idx()], &mut self.tasks[p.idx()]);
        rq.clear_buddies(p);
        if rq.curr != p {
            rq.tree_remove(se.vruntime, p);
        }
        se.on_rq = false;
        self.account_dequeue(cpu, p);
    }

    /// ENQUEUE_RESTORE: the reverse.
    pub(crate) fn restore_entity(&mut self, now: Ns, cpu: CpuId, p: TaskId) {
        self.util_est_enqueue(cpu, p);
        self.update_load_avg(now, cpu, p);
        self.account_enqueue(cpu, p);
        self.tasks[p.idx()].on_rq = true;
        if self.rqs[cpu.idx()].curr != p {
            self.tree_insert(cpu, p);
        }
    }

    #[inline]
    fn add_min_vruntime(&mut self, cpu: CpuId, p: TaskId) {
        let se = &mut self.tasks[p.idx()];
        se.vruntime = se.vruntime.wrapping_add(self.rqs[cpu.idx()].min_vruntime);
    }

    #[inline]
    fn account_enqueue(&mut self, cpu: CpuId, p: TaskId) {
        let se = &self.tasks[p.idx()];
        let (weight, idle) = (u64::from(se.weight), u32::from(se.is_idle_policy()));
        let rq = &mut self.rqs[cpu.idx()];
        rq.load_weight += weight;
        rq.h_nr_running += 1;
        rq.idle_h_nr_running += idle;
        self.list_add_head(cpu, p);
    }

    #[inline]
    fn account_dequeue(&mut self, cpu: CpuId, p: TaskId) {
        let se = &self.tasks[p.idx()];
        let (weight, idle) = (u64::from(se.weight), u32::from(se.is_idle_policy()));
        let rq = &mut self.rqs[cpu.idx()];
        rq.load_weight -= weight;
        rq.h_nr_running -= 1;
        rq.idle_h_nr_running -= idle;
        self.list_del(cpu, p);
    }

    /// `update_load_avg`: the averages of `p` (unless detached) and of its runqueue, up to `now`.
    #[inline]
    pub(crate) fn update_load_avg(&mut self, now: Ns, cpu: CpuId, p: TaskId) {
        let running = self.rqs[cpu.idx()].curr == p;
        let se = &mut self.tasks[p.idx()];
        if se.avg.last_update_time != DETACHED {
            let activity = Activity::task(se.on_rq, running);
            if se.avg.update(now, activity, u64::from(se.weight)) {
                se.util_avg_unchanged = false;
            }
        }
        self.update_rq_load_avg(now, cpu);
    }

    /// `update_cfs_rq_load_avg`
    #[inline]
    pub(crate) fn update_rq_load_avg(&mut self, now: Ns, cpu: CpuId) {
        let rq = &mut self.rqs[cpu.idx()];
        let activity = Activity {
            load: rq.load_weight,
            runnable: u64::from(rq.h_nr_running),
            running: rq.curr.is_task(),
        };
        rq.avg.update(now, activity, 1);
    }

    /// Takes the averages of the sleeping `p` out of its runqueue: it wakes up elsewhere, or has
    /// exited. The kernel queues the removal until the runqueue's next update; here it is
    /// immediate (spec 2.5, \[model\]).
    pub(crate) fn remove_entity_load_avg(&mut self, cpu: CpuId, p: TaskId) {
        let (rq, se) = (&mut self.rqs[cpu.idx()], &mut self.tasks[p.idx()]);
        if se.avg.last_update_time == DETACHED {
            return;
        }
        let weight = u64::from(se.weight);
        se.avg.update(rq.avg.last_update_time, Activity::task(false, false), weight);
        rq.avg.detach(&mut se.avg, weight);
    }

    /// Averages of `cpu`'s runqueue alone, up to now (`update_blocked_averages`).
    pub(crate) fn update_blocked_averages(&mut self, w: &mut World, cpu: CpuId) {
        self.catch_up(w, cpu);
        self.update_rq_load_avg(w.now, cpu);
    }

    /// `cpu_load`, as of the runqueue's last update (spec 2.7).
    #[inline]
    pub(crate) fn cpu_load(&self, cpu: CpuId) -> u64 {
        self.rqs[cpu.idx()].avg.load_avg
    }

    /// `cpu_runnable`, as of the runqueue's last update.
    #[inline]
    pub(crate) fn cpu_runnable(&self, cpu: CpuId) -> u64 {
        self.rqs[cpu.idx()].avg.runnable_avg
    }

    /// `cpu_util_cfs`, as of the runqueue's last update.
    #[inline]
    pub(crate) fn cpu_util(&self, cpu: CpuId) -> u64 {
        self.rq_util(&self.rqs[cpu.idx()])
    }

    #[inline]
    pub(crate) fn rq_util(&self, rq: &FairRq) -> u64 {
        let util = if self.features.util_est {
            rq.avg.util_avg.max(u64::from(rq.util_est_enqueued))
        } else {
            rq.avg.util_avg
        };
        util.min(1024)
    }

    /// `cpu_util_without`: of the CPU where `p` is or slept, as if `p` were not there.
    pub(crate) fn cpu_util_without(&self, cpu: CpuId, p: TaskId, on_rq: bool) -> u64 {
        let (rq, se) = (&self.rqs[cpu.idx()], &self.tasks[p.idx()]);
        let mut util = rq.avg.util_avg.saturating_sub(se.avg.util_avg);
        if self.features.util_est {
            let own = if on_rq { se.util_est() } else { 0 };
            util = util.max(u64::from(rq.util_est_enqueued.saturating_sub(own)));
        }
        util.min(1024)
    }

    /// `task_h_load`: without cgroups a task's own load.
    #[inline]
    pub(crate) fn task_h_load(&self, p: TaskId) -> u64 {
        self.tasks[p.idx()].avg.load_avg
    }

    /// `task_util_est`
    #[inline]
    pub(crate) fn task_util_est(&self, p: TaskId) -> u64 {
        let se = &self.tasks[p.idx()];
        if self.features.util_est {
            se.avg.util_avg.max(u64::from(se.util_est()))
        } else {
            se.avg.util_avg
        }
    }
}
