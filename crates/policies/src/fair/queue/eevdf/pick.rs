//! Which task runs next, and when the current one gives way.
//!
//! Of the eligible tasks the one with the earliest deadline runs. The task that runs is protected
//! for a while, so that the queue does not change its mind with every wake-up: up to v6.12 until it
//! is not eligible any more or its slice is over (RUN_TO_PARITY), in v6.18 for the shortest slice
//! of all.

use super::state::Eevdf;
use crate::fair::state::weights::{NICE_0_WEIGHT, calc_delta_fair};
use crate::fair::state::{Fair, Protection, Rules};
use sim_core::{NEVER, Ns, SchedPolicy, TaskId, World};
use topology::CpuId;

impl Fair<Eevdf> {
    /// `pick_eevdf`: the task that should run, `None` if the queue is empty. It may be a
    /// delayed one. Without `protect` the protection of the current task does not count.
    fn pick_eevdf(&self, cpu: CpuId, protect: bool) -> Option<TaskId> {
        let rq = &self.rqs[cpu];
        let on_rq = |p: &TaskId| p.is_task() && self.tasks[*p].on_rq;
        let curr = Some(rq.curr).filter(on_rq);
        if rq.h_nr_running <= 1 {
            return curr.or(rq.queue.root.is_task().then_some(rq.queue.root));
        }
        let rules = self.discipline.rules;
        if rules >= Rules::V6_18 && self.features.pick_buddy && self.next_is_eligible(cpu) {
            return Some(rq.next);
        }
        let curr = curr.filter(|c| self.is_eligible(cpu, *c));
        if protect
            && let Some(c) = curr
            && self.is_protected(c)
        {
            return curr;
        }
        let v = self.avg_vruntime(cpu);
        let best = self.discipline.trees.first_up_to(rq.queue.root, v);
        let (Some(c), Some(b)) = (curr, best) else {
            return curr.or(best);
        };
        let (mine, theirs) = (self.tasks[c].ext.deadline, self.tasks[b].ext.deadline);
        // v6.6 stays with the current task if they are equal, later ones do not.
        let stays = if self.discipline.kernel.prefers_current_at_tie {
            mine <= theirs
        } else {
            mine < theirs
        };
        Some(if stays { c } else { b })
    }

    /// The current task keeps the CPU although a task with an earlier deadline waits. The caller
    /// has seen that it is eligible.
    #[inline]
    fn is_protected(&self, curr: TaskId) -> bool {
        if self.discipline.kernel.protection == Protection::UpToVruntime {
            return self.protect_slice(curr);
        }
        let ext = &self.tasks[curr].ext;
        self.features.run_to_parity && ext.protect == ext.deadline
    }

    #[inline]
    fn next_is_eligible(&self, cpu: CpuId) -> bool {
        let next = self.rqs[cpu].next;
        next.is_task() && self.is_eligible(cpu, next)
    }

    /// `pick_next_entity`: as `pick_eevdf`, and delayed tasks that it meets leave the queue.
    pub(super) fn pick_next(&mut self, w: &mut World, cpu: CpuId, protect: bool) -> Option<TaskId> {
        // After a look for work elsewhere the task that went to sleep is still current.
        let curr = self.rqs[cpu].curr;
        if curr.is_task() && self.tasks[curr].on_rq {
            self.charge_curr(w, cpu);
        }
        // In v6.18 `pick_eevdf` asks for the buddy.
        let early_buddy = match self.discipline.rules {
            Rules::V6_18 => false,
            Rules::V6_12 => self.features.pick_buddy,
            _ => self.features.next_buddy,
        };
        loop {
            let p = if early_buddy && self.next_is_eligible(cpu) {
                self.rqs[cpu].next
            } else {
                self.pick_eevdf(cpu, protect)?
            };
            if !self.tasks[p].ext.sched_delayed {
                return Some(p);
            }
            self.finish_delayed(w, cpu, p);
        }
    }

    /// `set_next_entity`. The protection begins here; it does not where the task that ran is picked
    /// again, because then this is not called.
    pub(super) fn set_next(&mut self, now: Ns, cpu: CpuId, p: TaskId) {
        self.clear_buddies(cpu, p);
        if self.tasks[p].on_rq {
            self.tree_remove(cpu, p);
            self.update_load_avg(now, cpu, p);
            self.tasks[p].ext.protect = self.protection(cpu, p);
        }
        self.rqs[cpu].curr = p;
        let se = &mut self.tasks[p];
        se.exec_start = now;
        se.prev_sum_exec_runtime = se.sum_exec_runtime;
        self.list_rotate_to_head(cpu, p);
    }

    /// The deadline as it is now, or `set_protect_slice`. `p` is not in the tree.
    fn protection(&self, cpu: CpuId, p: TaskId) -> u64 {
        let se = &self.tasks[p];
        if self.discipline.kernel.protection != Protection::UpToVruntime {
            return se.ext.deadline;
        }
        let shortest = if self.features.run_to_parity {
            self.min_slice(cpu)
        } else {
            self.tunables.normalized_base_slice_ns
        };
        if shortest >= se.ext.slice {
            return se.ext.deadline;
        }
        let vslice = calc_delta_fair(shortest, se.weight, se.inv_weight);
        se.ext.deadline.min(se.vruntime + vslice)
    }

    /// `put_prev_entity`
    pub(super) fn put_prev(&mut self, w: &mut World, cpu: CpuId, p: TaskId) {
        if self.tasks[p].on_rq {
            self.charge_curr(w, cpu);
            self.tree_insert(cpu, p);
            self.update_load_avg(w.now, cpu, p);
        }
        self.rqs[cpu].curr = TaskId::NONE;
    }

    /// `check_preempt_wakeup_fair`
    pub(super) fn check_preempt_wakeup(
        &mut self,
        w: &mut World,
        cpu: CpuId,
        p: TaskId,
        fork: bool,
    ) {
        let curr = w.cpus[cpu].curr;
        let idle_policy = self.tasks[p].is_idle_policy();
        let still_delayed = self.tasks[p].ext.sched_delayed;
        if self.features.next_buddy && !fork && !still_delayed && !idle_policy {
            self.rqs[cpu].next = p;
        }
        if w.cpus[cpu].need_resched {
            return;
        }
        let rules = self.discipline.rules;
        if rules >= Rules::V6_12 && !self.features.wakeup_preemption {
            return;
        }
        if self.tasks[curr].is_idle_policy() && !idle_policy {
            if self.discipline.kernel.unprotects_idle_policy {
                self.cancel_protection(curr);
            }
            return w.resched_curr(cpu);
        }
        // Batch and idle tasks do not preempt.
        if self.tasks[p].policy != SchedPolicy::Normal || !self.features.wakeup_preemption {
            return;
        }
        self.charge_curr(w, cpu);
        let preempts = match self.discipline.kernel.protection {
            Protection::WhileEligible => self.pick_eevdf(cpu, true) == Some(p),
            Protection::UntilCancelled => {
                if self.preempts_short(cpu, curr, p) {
                    self.cancel_protection(curr);
                }
                self.pick_eevdf(cpu, true) == Some(p)
            }
            Protection::UpToVruntime => self.preempts_protected(w, cpu, p, fork || still_delayed),
        };
        if preempts {
            w.resched_curr(cpu);
        }
    }

    /// `do_preempt_short` (v6.12): a shorter slice breaks the protection, if `p` could run at all.
    fn preempts_short(&self, cpu: CpuId, curr: TaskId, p: TaskId) -> bool {
        let (mine, theirs) = (&self.tasks[p].ext, &self.tasks[curr].ext);
        self.features.preempt_short
            && mine.slice < theirs.slice
            && self.is_eligible(cpu, p)
            && (mine.deadline < theirs.deadline || !self.is_eligible(cpu, curr))
    }

    /// v6.18: is `p` the pick? `weak`: it has been forked, or came here asleep.
    fn preempts_protected(&mut self, w: &mut World, cpu: CpuId, p: TaskId, weak: bool) -> bool {
        let curr = w.cpus[cpu].curr;
        let slice = |p: TaskId| self.tasks[p].ext.slice;
        let short = self.features.preempt_short && slice(p) < slice(curr);
        if !short && weak {
            return false;
        }
        if self.pick_next(w, cpu, !short) == Some(p) {
            if short {
                self.cancel_protection(curr);
            }
            return true;
        }
        if self.features.run_to_parity {
            self.shorten_protection(cpu, curr);
        }
        false
    }

    /// `cancel_protect_slice`
    fn cancel_protection(&mut self, curr: TaskId) {
        let se = &mut self.tasks[curr];
        se.ext.protect = match self.discipline.kernel.protection {
            Protection::UpToVruntime => se.ext.protect.min(se.vruntime),
            // The stamp is no deadline any more.
            _ => se.ext.deadline.wrapping_add(1),
        };
    }

    /// `update_protect_slice`: the queue has got a shorter slice.
    fn shorten_protection(&mut self, cpu: CpuId, curr: TaskId) {
        let shortest = self.min_slice(cpu);
        let se = &mut self.tasks[curr];
        let end = se.vruntime + calc_delta_fair(shortest, se.weight, se.inv_weight);
        se.ext.protect = se.ext.protect.min(end);
    }

    /// The first tick edge of `cpu` at which `update_curr` may ask the current task to give way.
    pub(super) fn preempting_tick(&self, w: &World, cpu: CpuId) -> Ns {
        let rq = &self.rqs[cpu];
        let tick_next = w.cpus[cpu].tick_next;
        if rq.h_nr_running < 2 || !rq.curr.is_task() {
            return NEVER;
        }
        let se = &self.tasks[rq.curr];
        let mut end = se.ext.deadline;
        match self.discipline.kernel.protection {
            Protection::WhileEligible => {}
            Protection::UntilCancelled => {
                if self.features.preempt_short && se.ext.protect != se.ext.deadline {
                    // From here on it is not eligible.
                    let v = self.avg_vruntime_waiting(cpu).map(|v| v + 1);
                    end = end.min(v.unwrap_or(u64::MAX));
                }
            }
            Protection::UpToVruntime => end = end.min(se.ext.protect),
        }
        let left = end.saturating_sub(se.vruntime);
        let earliest = se.exec_start + wall_time(left, se.weight, se.inv_weight);
        if earliest <= tick_next { tick_next } else { w.tick_after(cpu, earliest - 1) }
    }

    /// `yield_task_fair`: let others run for a slice.
    pub(super) fn yield_curr(&mut self, w: &mut World, cpu: CpuId) {
        let curr = self.rqs[cpu].curr;
        if w.cpus[cpu].nr_running == 1 || !curr.is_task() {
            return;
        }
        self.clear_buddies(cpu, curr);
        self.charge_curr(w, cpu);
        let yields_rest = self.discipline.kernel.yields_rest_of_slice;
        if yields_rest && !self.is_eligible(cpu, curr) {
            return;
        }
        let se = &mut self.tasks[curr];
        if yields_rest {
            se.vruntime = se.ext.deadline;
        }
        se.ext.deadline += calc_delta_fair(se.ext.slice, se.weight, se.inv_weight);
        self.update_min_vruntime(cpu);
    }
}

/// The shortest time in which a task of this weight moves on by `vtime`: not more than what
/// `calc_delta_fair` needs, whose rounding makes it longer.
#[inline]
fn wall_time(vtime: u64, weight: u32, inverse: u32) -> Ns {
    if weight == NICE_0_WEIGHT {
        return vtime;
    }
    let inverse = inverse.max(1);
    match vtime.checked_mul(1 << 22) {
        Some(scaled) => scaled / u64::from(inverse),
        None => ((u128::from(vtime) << 22) / u128::from(inverse)) as u64,
    }
}
