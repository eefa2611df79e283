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

use super::features::{Features, Tunables};
use super::pelt::DETACHED;
use super::weights::{calc_delta, calc_delta_fair, rq_inverse};
use super::{Discipline, Fair, Rules};
pub use queue::CfsQueue;
use sim_core::{DequeueFlags, EnqueueFlags, Ns, TaskId, World};
use topology::CpuId;

/// CFS as a queueing discipline.
#[derive(Clone, Copy, Default, Debug)]
pub struct Cfs;

/// A task that slept longer is placed without regard to its old vruntime (spec 3.4).
const LONG_SLEEP_NS: Ns = (1 << 63) / 1024;

impl Discipline for Cfs {
    type Entity = ();
    type Queue = CfsQueue;

    #[inline]
    fn rules(&self) -> Rules {
        Rules::V6_4
    }

    #[inline]
    fn update_curr(f: &mut Fair, w: &mut World, cpu: CpuId) {
        f.charge_curr(cpu, w.now);
    }

    fn task_fork(f: &mut Fair, w: &mut World, cpu: CpuId, p: TaskId) {
        f.charge_curr(cpu, w.now);
        let curr = f.rqs[cpu.idx()].curr;
        if curr.is_task() {
            f.tasks[p.idx()].vruntime = f.tasks[curr.idx()].vruntime;
        }
        f.place_entity(w.now, cpu, p, true);
        // Relative until it is put on the queue that fork balancing chooses (spec 3.4).
        f.sub_min_vruntime(cpu, p);
    }

    #[inline]
    fn migrate_task(f: &mut Fair, cpu: CpuId, p: TaskId) {
        f.sub_min_vruntime(cpu, p);
    }

    #[inline]
    fn enqueue_entity(f: &mut Fair, w: &mut World, cpu: CpuId, p: TaskId, flags: EnqueueFlags) {
        f.enqueue(w, cpu, p, flags);
    }

    #[inline]
    fn dequeue_entity(f: &mut Fair, w: &mut World, cpu: CpuId, p: TaskId, flags: DequeueFlags) {
        f.dequeue(w.now, cpu, p, flags);
    }

    fn save_entity(f: &mut Fair, w: &mut World, cpu: CpuId, p: TaskId) {
        f.save(w.now, cpu, p);
    }

    fn restore_entity(f: &mut Fair, w: &mut World, cpu: CpuId, p: TaskId, _old_weight: u32) {
        f.restore(w.now, cpu, p);
    }

    #[inline]
    fn check_preempt_wakeup(
        f: &mut Fair,
        w: &mut World,
        cpu: CpuId,
        tasks: (TaskId, TaskId),
        flags: EnqueueFlags,
    ) {
        f.check_preempt_wakeup(w, cpu, tasks, flags.initial);
    }

    #[inline]
    fn pick_next_entity(f: &mut Fair, w: &mut World, cpu: CpuId) -> Option<TaskId> {
        f.pick(w.now, cpu)
    }

    #[inline(always)]
    fn set_next_entity(f: &mut Fair, w: &mut World, cpu: CpuId, p: TaskId) {
        f.set_next(w.now, cpu, p);
    }

    #[inline(always)]
    fn put_prev_entity(f: &mut Fair, w: &mut World, cpu: CpuId, p: TaskId) {
        f.put_prev(w.now, cpu, p);
    }

    #[inline]
    fn check_preempt_tick(f: &mut Fair, w: &mut World, cpu: CpuId, curr: TaskId) {
        if f.rqs[cpu.idx()].h_nr_running > 1 {
            f.check_preempt_tick(w, cpu, curr);
        }
    }

    #[inline]
    fn preempting_tick(f: &Fair, w: &World, cpu: CpuId) -> Ns {
        f.preempting_tick(w, cpu)
    }

    fn yield_task(f: &mut Fair, w: &mut World, cpu: CpuId) {
        f.yield_curr(w, cpu);
    }

    #[inline]
    fn is_buddy(f: &Fair, cpu: CpuId, p: TaskId) -> bool {
        let rq = &f.rqs[cpu.idx()];
        rq.next == p || rq.queue.last == p
    }

    fn queued(f: &Fair, cpu: CpuId) -> Vec<TaskId> {
        f.rqs[cpu.idx()].queue.tree.iter().map(|(_, p)| *p).collect()
    }
}

impl Fair<Cfs> {
    /// CFS with these features and tunables; `Policy::init` fits it to a machine.
    pub fn new(features: Features, tunables: Tunables) -> Self {
        Self::with(Cfs, features, tunables)
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
    fn enqueue(&mut self, w: &World, cpu: CpuId, p: TaskId, f: EnqueueFlags) {
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
        self.publish(cpu);
        // The mechanism has counted `p` already.
        self.note_nr_running(w, cpu);
    }

    /// Takes `p` off the queue of `cpu`. Without `sleep` it leaves for another CPU: its averages
    /// go with it and its vruntime becomes relative.
    fn dequeue(&mut self, now: Ns, cpu: CpuId, p: TaskId, f: DequeueFlags) {
        self.util_est_dequeue(cpu, p);
        self.charge_curr(cpu, now);
        self.update_load_avg(now, cpu, p);
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
        self.publish(cpu);
        if !f.sleep {
            self.sub_min_vruntime(cpu, p);
        }
        self.update_min_vruntime(cpu);
        if f.sleep && self.features.util_est {
            self.tasks[p.idx()].util_est_update(self.features.util_est_fastup);
        }
    }

    /// DEQUEUE_SAVE: takes `p` off the queue of `cpu` for a moment, in which it is changed. Its
    /// vruntime stays as it is.
    fn save(&mut self, now: Ns, cpu: CpuId, p: TaskId) {
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
        self.publish(cpu);
    }

    /// ENQUEUE_RESTORE: the reverse.
    fn restore(&mut self, now: Ns, cpu: CpuId, p: TaskId) {
        self.util_est_enqueue(cpu, p);
        self.update_load_avg(now, cpu, p);
        self.account_enqueue(cpu, p);
        self.publish(cpu);
        self.tasks[p.idx()].on_rq = true;
        if self.rqs[cpu.idx()].curr != p {
            self.tree_insert(cpu, p);
        }
    }

    #[inline]
    fn sub_min_vruntime(&mut self, cpu: CpuId, p: TaskId) {
        let se = &mut self.tasks[p.idx()];
        se.vruntime = se.vruntime.wrapping_sub(self.rqs[cpu.idx()].min_vruntime);
    }

    #[inline]
    fn add_min_vruntime(&mut self, cpu: CpuId, p: TaskId) {
        let se = &mut self.tasks[p.idx()];
        se.vruntime = se.vruntime.wrapping_add(self.rqs[cpu.idx()].min_vruntime);
    }
}
