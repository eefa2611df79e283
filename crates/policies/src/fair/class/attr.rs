//! A task gets another policy, nice level or affinity (`__sched_setscheduler`, `set_user_nice`,
//! `__set_cpus_allowed_ptr`).
//!
//! Whatever changes, a queued task is taken off its queue, changed and put back, and a current one
//! starts a new turn. Under CFS its place in virtual time stays, and a new weight changes how fast
//! it moves on from there; under EEVDF its lag stays. Its load follows the weight at once.

use crate::fair::queue::Discipline;
use crate::fair::state::{Fair, QueueId, weights};
use sim_core::{EnqueueFlags, Hook, MaskId, SchedAttr, TaskId, World};
use topology::CpuId;

impl<S: Discipline> Fair<S> {
    /// `Policy::set_scheduler`
    pub(crate) fn change_scheduler(&mut self, w: &mut World, p: TaskId, attr: SchedAttr) -> Hook {
        let old = w.tasks[p].attr.sched();
        let hook = self.change(w, p, Some(attr), w.tasks[p].nr_cpus_allowed);
        if attr.nice != old.nice {
            self.prio_changed(w, p, attr.nice > old.nice);
        }
        hook
    }

    /// `Policy::set_cpus_allowed`: the class keeps no books by it, but the task is put anew.
    pub(crate) fn change_affinity(&mut self, w: &mut World, p: TaskId, allowed: MaskId) -> Hook {
        let n_allowed = w.masks[allowed].len() as u32;
        self.change(w, p, None, n_allowed)
    }

    fn change(
        &mut self,
        w: &mut World,
        p: TaskId,
        attr: Option<SchedAttr>,
        n_allowed: u32,
    ) -> Hook {
        let cpu = w.tasks[p].cpu;
        let queued = self.tasks[p].on_rq;
        let old_weight = self.tasks[p].weight;
        if queued {
            // A queued task is off its queue while it changes: sums and order depend on its weight.
            S::save_entity(self, w, cpu, p);
        }
        if let Some(attr) = attr {
            self.set_load_weight(cpu, p, attr);
            let se = &mut self.tasks[p];
            if !queued {
                // The lag of a sleeper is kept in its own virtual time, whose pace changes.
                S::reweight_sleeping(&mut se.ext, old_weight, se.weight);
            }
            S::set_slice(self, p, attr.slice_ns.into());
        }
        if queued {
            S::restore_entity(self, w, cpu, p, old_weight);
        }
        if queued && self.rqs[cpu].curr == p {
            // A current task begins a new turn, without a switch.
            self.put_prev(w, cpu, p, TaskId::NONE);
            S::set_next_entity(self, w, cpu, p, TaskId::NONE);
        }
        if queued { self.shared_changed(w, p, n_allowed) } else { None }
    }

    /// `set_load_weight`, `reweight_entity`: the share of `p` in its runqueue's load changes with
    /// its weight, also while it sleeps.
    fn set_load_weight(&mut self, cpu: CpuId, p: TaskId, attr: SchedAttr) {
        let (rq, se) = S::queue_and_task(self, cpu, p);
        let old = u64::from(se.weight);
        (se.weight, se.inv_weight) = weights::weight_of(attr.nice, attr.policy);
        se.policy = attr.policy;
        let new = u64::from(se.weight);
        if new != old {
            // A sleeper's load counts on the runqueue that it left, until it has decayed.
            rq.avg.reweight(&mut se.avg, old, new);
            self.publish(cpu);
        }
        self.sched_idle_used |= self.tasks[p].is_idle_policy();
    }

    /// `prio_changed_fair`: `p` may have to give way, or the task that runs to `p`.
    fn prio_changed(&mut self, w: &mut World, p: TaskId, lower: bool) {
        let cpu = w.tasks[p].cpu;
        // Without a rival on its queue nothing can be preempted.
        if !self.tasks[p].on_rq || S::nr_entities(self, QueueId::root(cpu)) == 1 {
            return;
        }
        if self.rqs[cpu].curr != p {
            self.check_preempt(w, cpu, p, EnqueueFlags::default());
        } else if lower {
            w.resched_curr(cpu);
        }
    }
}
