//! EEVDF, Linux v6.6 and later: lag, eligibility, virtual deadlines.
//!
//! V, the weighted mean of the vruntimes on a runqueue, is where every task would be if the CPU
//! could be shared in infinitely small parts. A task's *lag* is how far it is behind V; a task that
//! is not ahead of V is *eligible*, and of these the one with the earliest virtual deadline runs:
//! its vruntime plus a slice in its own virtual time. A task that leaves takes its lag along and is
//! placed by it on the next queue. Since v6.12 a task that would sleep while it is ahead of V stays
//! on its queue and pays its debt first (delayed dequeue).
//!
//! `eevdf::virtual_time` has V and lag, `eevdf::pick` which task runs and when it gives way,
//! `eevdf::tree` the order. Runtime is measured as in CFS, irq time included.

mod pick;
mod state;
#[cfg(test)]
mod tests;
mod tree;
mod virtual_time;

use super::discipline::Discipline;
use crate::fair::state::features::{Features, Tunables};
use crate::fair::state::pelt::DETACHED;
use crate::fair::state::weights::calc_delta_fair;
use crate::fair::state::{Fair, QueueId, Rules};
use sim_core::{DequeueFlags, EnqueueFlags, Ns, TaskId, TaskState, World};
pub use state::Eevdf;
use state::EevdfTask;
use topology::CpuId;
use tree::{Trees, Waiting};

/// Bounds of a custom slice, ns.
const SLICES: std::ops::RangeInclusive<Ns> = 100_000..=100_000_000;

impl Fair<Eevdf> {
    /// EEVDF as in the kernel whose rules are given (not before [`Rules::V6_6`]), with these
    /// features and tunables; `Policy::init` fits it to a machine.
    pub fn eevdf(rules: Rules, features: Features, tunables: Tunables) -> Self {
        debug_assert!(rules >= Rules::V6_6);
        Self::with(
            Eevdf { rules, kernel: rules.kernel(), trees: Trees::default() },
            features,
            tunables,
            &[],
        )
    }

    /// `place_entity`: where `p`, which is not counted in V, joins the queue of `cpu`.
    fn place(&mut self, cpu: CpuId, p: TaskId, initial: bool) {
        let base_slice = self.tunables.base_slice_ns;
        let se = &mut self.tasks[p];
        if !se.ext.custom_slice {
            se.ext.slice = base_slice;
        }
        let mut vslice = calc_delta_fair(se.ext.slice, se.weight, se.inv_weight);
        let vlag = se.ext.vlag;
        let weight = se.weight;
        // On an empty queue V is wherever the task is.
        let lag = if self.features.place_lag && self.rqs[cpu].h_nr_running > 0 {
            self.lag_before_joining(cpu, vlag, weight)
        } else {
            0
        };
        let vruntime = self.avg_vruntime(cpu).wrapping_sub(lag as u64);
        let half = initial && self.features.place_deadline_initial;
        let se = &mut self.tasks[p];
        se.vruntime = vruntime;
        if self.features.place_rel_deadline && std::mem::take(&mut se.ext.rel_deadline) {
            se.ext.deadline = se.ext.deadline.wrapping_add(vruntime);
            return;
        }
        if half {
            vslice /= 2;
        }
        se.ext.deadline = vruntime + vslice;
    }

    fn enqueue(&mut self, w: &mut World, cpu: CpuId, p: TaskId, f: EnqueueFlags) {
        if f.initial {
            // By the averages as wake_up_new_task finds them, before the enqueue updates them.
            let se = &mut self.tasks[p];
            se.avg.post_init(&self.rqs[cpu].avg, u64::from(se.weight));
        }
        let delayed = self.tasks[p].ext.sched_delayed;
        if !delayed {
            self.util_est_enqueue(cpu, p);
        }
        self.charge_curr(w, cpu);
        self.update_load_avg(w.now, cpu, p);
        let (rq, se) = (&mut self.rqs[cpu], &mut self.tasks[p]);
        if se.avg.last_update_time == DETACHED {
            rq.avg.attach(&mut se.avg, u64::from(se.weight));
        }
        // In v6.6 only the fork passes the flag, and the enqueue that follows places anew.
        self.place(cpu, p, f.initial && self.discipline.kernel.places_new_tasks_once);
        self.account_enqueue(cpu, p);
        let se = &mut self.tasks[p];
        if f.migrated {
            // It is not cache hot here.
            se.exec_start = 0;
        }
        se.on_rq = true;
        self.tree_insert(cpu, p);
        if delayed {
            self.rqs[cpu].h_nr_delayed += 1;
            w.set_delayed(p, true);
        }
        self.publish(cpu);
        // The mechanism has counted `p` already.
        self.note_nr_running(w, cpu);
    }

    /// Takes `p` off the queue of `cpu`, unless it wants to sleep and has to pay first. Without
    /// `sleep` it leaves for another CPU, delayed or not.
    fn dequeue(&mut self, w: &mut World, cpu: CpuId, p: TaskId, sleep: bool) {
        let was_delayed = self.tasks[p].ext.sched_delayed;
        let early_estimate = self.discipline.kernel.keeps_one_util_estimate;
        if !was_delayed {
            self.util_est_dequeue(cpu, p);
        }
        // In v6.12 the estimate is made before the dequeue brings the averages up to date.
        if sleep && early_estimate {
            self.estimate_util(p);
        }
        self.charge_curr(w, cpu);
        self.clear_buddies(cpu, p);
        // A task that exits is gone at once.
        let may_delay = sleep && self.features.delay_dequeue;
        if may_delay && w.tasks[p].state != TaskState::Dead && !self.is_eligible(cpu, p) {
            self.update_load_avg(w.now, cpu, p);
            self.tasks[p].ext.sched_delayed = true;
            self.rqs[cpu].h_nr_delayed += 1;
            self.publish(cpu);
            return w.set_delayed(p, true);
        }
        self.update_load_avg(w.now, cpu, p);
        if !sleep {
            let (rq, se) = (&mut self.rqs[cpu], &mut self.tasks[p]);
            rq.avg.detach(&mut se.avg, u64::from(se.weight));
        }
        self.take_off(w, cpu, p);
        let rel_deadline = self.features.place_rel_deadline;
        let se = &mut self.tasks[p];
        if !sleep && rel_deadline {
            se.ext.deadline = se.ext.deadline.wrapping_sub(se.vruntime);
            // What is left of the slice goes along to the next queue.
            se.ext.rel_deadline = true;
        }
        if was_delayed {
            self.rqs[cpu].h_nr_delayed -= 1;
            w.set_delayed(p, false);
        }
        self.publish(cpu);
        if sleep && !early_estimate {
            self.estimate_util(p);
        }
    }

    /// The delayed `p` has been picked: it has paid, and sleeps for good now.
    fn finish_delayed(&mut self, w: &mut World, cpu: CpuId, p: TaskId) {
        self.charge_curr(w, cpu);
        self.clear_buddies(cpu, p);
        self.update_load_avg(w.now, cpu, p);
        self.take_off(w, cpu, p);
        let delay_zero = self.features.delay_zero;
        let ext = &mut self.tasks[p].ext;
        ext.sched_delayed = false;
        if delay_zero {
            // It was not to gain by staying.
            ext.vlag = ext.vlag.min(0);
        }
        self.rqs[cpu].h_nr_delayed -= 1;
        self.publish(cpu);
        w.set_delayed(p, false);
        w.deactivate(cpu, p);
        if self.sched_idle_used {
            self.balance_if_only_idle_policy(w, cpu, p);
        }
    }

    /// The common end of a dequeue: `p` keeps its lag and is not counted any more.
    fn take_off(&mut self, w: &World, cpu: CpuId, p: TaskId) {
        let vlag = self.entity_lag(w, cpu, p);
        self.tasks[p].ext.vlag = vlag;
        if self.rqs[cpu].curr != p {
            self.tree_remove(cpu, p);
        }
        self.tasks[p].on_rq = false;
        self.account_dequeue(cpu, p);
        self.update_min_vruntime(cpu);
    }

    fn estimate_util(&mut self, p: TaskId) {
        if !self.features.util_est {
            return;
        }
        let se = &mut self.tasks[p];
        if self.discipline.kernel.keeps_one_util_estimate {
            se.util_est_update_v6_8();
        } else {
            se.util_est_update(self.features.util_est_fastup);
        }
    }

    /// `requeue_delayed_entity`: the delayed `p` is woken. `update_curr` is not called.
    fn wake_delayed(&mut self, w: &mut World, cpu: CpuId, p: TaskId) {
        self.util_est_enqueue(cpu, p);
        if self.features.delay_zero {
            let vlag = self.entity_lag(w, cpu, p);
            self.tasks[p].ext.vlag = vlag;
            // It has paid its debt by waiting: it is not to gain by it as well.
            if vlag > 0 {
                self.place_without_lag(cpu, p);
            }
        }
        self.update_load_avg(w.now, cpu, p);
        self.tasks[p].ext.sched_delayed = false;
        self.rqs[cpu].h_nr_delayed -= 1;
        self.publish(cpu);
        w.set_delayed(p, false);
    }

    /// The delayed `p` has more than paid while it slept: it starts afresh.
    fn place_without_lag(&mut self, cpu: CpuId, p: TaskId) {
        self.tree_remove(cpu, p);
        self.tasks[p].on_rq = false;
        self.rqs[cpu].h_nr_running -= 1;
        self.tasks[p].ext.vlag = 0;
        self.place(cpu, p, false);
        self.rqs[cpu].h_nr_running += 1;
        self.tasks[p].on_rq = true;
        self.tree_insert(cpu, p);
    }

    /// `__enqueue_entity`
    #[inline]
    fn tree_insert(&mut self, cpu: CpuId, p: TaskId) {
        let (rq, se) = (&mut self.rqs[cpu], &self.tasks[p]);
        let own = Waiting { deadline: se.ext.deadline, vruntime: se.vruntime, slice: se.ext.slice };
        rq.queue.root = self.discipline.trees.insert(rq.queue.root, p, own);
        rq.queue.sum += virtual_time::product(se.vruntime, rq.min_vruntime, se.weight.into());
        rq.queue.load += u64::from(se.weight);
    }

    /// `__dequeue_entity`
    #[inline]
    fn tree_remove(&mut self, cpu: CpuId, p: TaskId) {
        let (rq, se) = (&mut self.rqs[cpu], &self.tasks[p]);
        rq.queue.root = self.discipline.trees.remove(rq.queue.root, p);
        rq.queue.sum -= virtual_time::product(se.vruntime, rq.min_vruntime, se.weight.into());
        rq.queue.load -= u64::from(se.weight);
    }

    #[inline]
    fn clear_buddies(&mut self, cpu: CpuId, p: TaskId) {
        let next = &mut self.rqs[cpu].next;
        if *next == p {
            *next = TaskId::NONE;
        }
    }

    /// DEQUEUE_SAVE. Its lag, not limited, is kept in `vlag`.
    fn save(&mut self, w: &mut World, cpu: CpuId, p: TaskId) {
        let delayed = self.tasks[p].ext.sched_delayed;
        if !delayed {
            self.util_est_dequeue(cpu, p);
        }
        self.charge_curr(w, cpu);
        self.update_load_avg(w.now, cpu, p);
        self.clear_buddies(cpu, p);
        let v = self.avg_vruntime(cpu);
        if self.rqs[cpu].curr != p {
            self.tree_remove(cpu, p);
        }
        let se = &mut self.tasks[p];
        se.ext.vlag = v.wrapping_sub(se.vruntime) as i64;
        se.on_rq = false;
        self.account_dequeue(cpu, p);
        self.rqs[cpu].h_nr_delayed -= u32::from(delayed);
        self.publish(cpu);
    }

    /// ENQUEUE_RESTORE: lag and what is left of the slice are kept, in time of the CPU.
    fn restore(&mut self, w: &World, cpu: CpuId, p: TaskId, old_weight: u32) {
        let se = &mut self.tasks[p];
        if old_weight != se.weight {
            let v = se.vruntime.wrapping_add_signed(se.ext.vlag);
            let left = se.ext.deadline.wrapping_sub(se.vruntime) as i64;
            let vlag = rescale(se.ext.vlag, old_weight, se.weight);
            se.vruntime = v.wrapping_sub(vlag as u64);
            se.ext.deadline = se.vruntime.wrapping_add_signed(rescale(left, old_weight, se.weight));
        }
        let delayed = se.ext.sched_delayed;
        if !delayed {
            self.util_est_enqueue(cpu, p);
        }
        self.update_load_avg(w.now, cpu, p);
        self.account_enqueue(cpu, p);
        self.rqs[cpu].h_nr_delayed += u32::from(delayed);
        self.publish(cpu);
        self.tasks[p].on_rq = true;
        if self.rqs[cpu].curr != p {
            self.tree_insert(cpu, p);
        }
    }
}

/// A length of virtual time, in that of another weight.
fn rescale(x: i64, old_weight: u32, new_weight: u32) -> i64 {
    (i128::from(x) * i128::from(old_weight) / i128::from(new_weight)) as i64
}

impl Discipline for Eevdf {
    fn nr_entities(f: &Fair<Self>, queue: QueueId) -> u32 {
        f.rqs[queue.cpu].h_nr_running
    }

    fn reweight_group(f: &mut Fair<Self>, _w: &mut World, q: QueueId, se: TaskId, weight: u32) {
        f.set_group_weight(q, se, weight);
    }

    fn task_fork(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId) {
        // The place that v6.6 gives the child here is forgotten at its enqueue.
        if f.discipline.kernel.charges_parent_at_fork {
            f.charge_curr(w, cpu);
        }
        f.discipline.trees.make_room(p);
        Self::set_slice(f, p, w.tasks[p].attr.slice_ns.into());
    }

    #[inline]
    fn migrate_task(_f: &mut Fair<Self>, _cpu: CpuId, _p: TaskId) {}

    #[inline]
    fn enqueue_entity(
        f: &mut Fair<Self>,
        w: &mut World,
        cpu: CpuId,
        p: TaskId,
        flags: EnqueueFlags,
    ) {
        f.enqueue(w, cpu, p, flags);
    }

    #[inline]
    fn dequeue_entity(
        f: &mut Fair<Self>,
        w: &mut World,
        cpu: CpuId,
        p: TaskId,
        flags: DequeueFlags,
    ) {
        f.dequeue(w, cpu, p, flags.sleep);
    }

    fn wake_delayed(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId) {
        f.wake_delayed(w, cpu, p);
    }

    fn save_entity(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId) {
        f.save(w, cpu, p);
    }

    fn restore_entity(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId, old_weight: u32) {
        f.restore(w, cpu, p, old_weight);
    }

    fn reweight_sleeping(ext: &mut EevdfTask, old_weight: u32, new_weight: u32) {
        ext.vlag = rescale(ext.vlag, old_weight, new_weight);
    }

    fn set_slice(f: &mut Fair<Self>, p: TaskId, slice_ns: Ns) {
        let ext = &mut f.tasks[p].ext;
        ext.custom_slice = slice_ns != 0 && f.discipline.kernel.has_custom_slices;
        ext.slice = if ext.custom_slice {
            slice_ns.clamp(*SLICES.start(), *SLICES.end())
        } else {
            f.tunables.base_slice_ns
        };
    }

    #[inline]
    fn check_preempt_wakeup(
        f: &mut Fair<Self>,
        w: &mut World,
        cpu: CpuId,
        p: TaskId,
        flags: EnqueueFlags,
    ) {
        f.check_preempt_wakeup(w, cpu, p, flags.initial);
    }

    #[inline]
    fn pick_next_entity(f: &mut Fair<Self>, w: &mut World, cpu: CpuId) -> Option<TaskId> {
        f.pick_next(w, cpu, true)
    }

    #[inline]
    fn set_next_entity(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId, _prev: TaskId) {
        f.set_next(w.now, cpu, p);
    }

    #[inline]
    fn put_prev_entity(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, p: TaskId, _next: TaskId) {
        f.put_prev(w, cpu, p);
    }

    /// `update_curr` asks everything.
    #[inline]
    fn tick(f: &mut Fair<Self>, w: &mut World, cpu: CpuId, curr: TaskId) {
        f.charge_curr(w, cpu);
        f.update_load_avg(w.now, cpu, curr);
    }

    #[inline]
    fn preempting_tick(f: &Fair<Self>, w: &World, cpu: CpuId) -> Ns {
        f.preempting_tick(w, cpu)
    }

    fn yield_task(f: &mut Fair<Self>, w: &mut World, cpu: CpuId) {
        f.yield_curr(w, cpu);
    }

    #[inline]
    fn is_buddy(f: &Fair<Self>, cpu: CpuId, p: TaskId) -> bool {
        f.rqs[cpu].next == p
    }

    fn queued(f: &Fair<Self>, cpu: CpuId) -> Vec<TaskId> {
        let mut tasks = Vec::new();
        f.discipline.trees.in_order(f.rqs[cpu].queue.root, &mut tasks);
        tasks
    }
}
