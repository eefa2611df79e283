//! Moving tasks between runqueues: which tasks may leave, and the two halves of a move.
//!
//! `detach_tasks` looks from the least recently run end of the source's list; tasks it may not take
//! go to the front. A detached task is in transit, on no runqueue, until it is attached; both ends
//! work at the list's head, so attaching reverses the order.

use crate::fair::queue::Discipline;
use crate::fair::state::lb_env::{LoadBalance, MigrationType, NR_MIGRATE_BREAK};
use crate::fair::state::{Fair, reasons};
use crate::moves;
use sim_core::{IdleType, Policy, Reason, TaskId, World};
use topology::{CpuId, SdFlags};

impl LoadBalance {
    /// A task may not be moved, which matters less than if one that might is too hot or too big.
    fn refuse(&mut self, why: &'static Reason) {
        if self.why == reasons::RUNNING {
            self.why = why;
        }
    }
}

impl<S: Discipline> Fair<S> {
    /// `detach_tasks`, under the source's lock; answers how many tasks are now in transit.
    pub(crate) fn detach_tasks(&mut self, w: &mut World, exec: CpuId) -> u64 {
        let src = self.balance.paths[exec].lb.src;
        self.catch_up(w, src);
        let lb = &mut self.balance.paths[exec].lb;
        if w.cpus[src].nr_running <= 1 {
            (lb.flags.all_pinned, lb.why) = (false, reasons::QUEUE_EMPTIED);
        } else if lb.imbalance > 0 {
            let mut lb = *lb;
            self.detach_loop(w, exec, &mut lb);
            self.balance.paths[exec].lb = lb;
        }
        let path = &self.balance.paths[exec];
        let n = path.detached.len() as u64;
        path.lb.stat(w).gained += n;
        n
    }

    fn detach_loop(&mut self, w: &mut World, exec: CpuId, lb: &mut LoadBalance) {
        // Unless something else is said of one of them.
        lb.why = reasons::RUNNING;
        // A preemptible kernel keeps newidle balance short: one task.
        let one_only = lb.idle == IdleType::NewlyIdle && w.machine.preemptible_kernel;
        loop {
            // The task that has not run for the longest time is the coldest.
            let p = self.list_tail(lb.src);
            if !p.is_task() || (lb.idle != IdleType::NotIdle && w.cpus[lb.src].nr_running <= 1) {
                return;
            }
            lb.n_looked += 1;
            let goes_on = lb.flags.all_pinned && !self.discipline.kernel().ends_detach_at_loop_max;
            if lb.n_looked > lb.loop_max && !goes_on {
                return;
            }
            if lb.n_looked > lb.loop_break {
                lb.loop_break += NR_MIGRATE_BREAK;
                // LBF_NEED_BREAK.
                lb.flags.need_break = true;
                return;
            }
            let weight =
                self.can_migrate(w, exec, lb, p).then(|| self.share_of_imbalance(w, lb, p));
            if weight == Some(None) {
                lb.why = reasons::TOO_BIG;
            }
            // Refused: it goes to the front, and the next one is looked at.
            let Some(Some(share)) = weight else {
                self.list_rotate_to_head(lb.src, p);
                continue;
            };
            if self.failed_too_often(w, lb) && self.task_hot(w, lb, p) {
                lb.stat(w).hot_gained += 1;
            }
            self.detach_task(w, p, lb.src, lb.dst, moves::BALANCE);
            self.balance.paths[exec].detached.push(p);
            lb.imbalance -= share;
            if one_only || lb.imbalance <= 0 {
                return;
            }
        }
    }

    /// What moving `p` takes off the imbalance, or `None` if it is too big to be moved.
    fn share_of_imbalance(&mut self, w: &World, lb: &LoadBalance, p: TaskId) -> Option<i64> {
        match lb.migration_type {
            MigrationType::Load => {
                let load = S::task_h_load(self, w, lb.src, p).max(1);
                // LB_MIN: small tasks are not worth a move, unless nothing else helps.
                if self.features.lb_min && load < 16 && !self.failed_before(lb) {
                    return None;
                }
                // The more often it failed, the bigger a task may be.
                let tries = self.sds[lb.cpu][lb.level as usize].nr_balance_failed;
                ((load >> tries.min(63)) as i64 <= lb.imbalance).then_some(load as i64)
            }
            MigrationType::Util => {
                let util = self.task_util_est(p) as i64;
                let tries = self.sds[lb.cpu][lb.level as usize].nr_balance_failed;
                let shifts = self.discipline.kernel().shifts_util_by_failures;
                let shift = if shifts { tries.min(63) } else { 0 };
                ((util >> shift) <= lb.imbalance).then_some(util)
            }
            MigrationType::Task => Some(1),
        }
    }

    fn failed_before(&self, lb: &LoadBalance) -> bool {
        self.sds[lb.cpu][lb.level as usize].nr_balance_failed > 0
    }

    /// `attach_tasks`: both ends work at the list's head, so the order reverses.
    pub(crate) fn attach_tasks(&mut self, w: &mut World, exec: CpuId) {
        let lb = &self.balance.paths[exec].lb;
        let dst = lb.dst;
        let idle = lb.idle;
        let mut n = 0;
        while let Some(p) = self.balance.paths[exec].detached.pop() {
            self.attach_task(w, p, dst, reasons::BALANCED_HERE);
            n += 1;
        }
        self.balance.paths[exec].lb.n_moved += n;
        if idle != IdleType::NewlyIdle {
            self.counters.balance_pulls += u64::from(n);
        }
    }

    /// `can_migrate_task`.
    fn can_migrate(&self, w: &World, exec: CpuId, lb: &mut LoadBalance, p: TaskId) -> bool {
        // A sleeping task does not help an idle CPU, but it carries load.
        let sleeps = S::DELAYS && S::is_delayed(&self.tasks[p].ext);
        if sleeps
            && self.discipline.kernel().leaves_delayed_tasks
            && lb.migration_type != MigrationType::Load
        {
            lb.refuse(reasons::ASLEEP);
            return false;
        }
        // `throttled_lb_pair`: where its group may not run it would be of no use.
        if w.tasks[p].throttled || self.in_throttled(self.queue_of(lb.dst, p)) {
            lb.refuse(reasons::THROTTLED);
            return false;
        }
        // It counts neither as pinned nor as movable.
        if w.tasks[p].is_per_cpu_kthread() {
            lb.refuse(reasons::PINNED);
            return false;
        }
        if !w.allowed(p, lb.dst) {
            lb.flags.some_pinned = true;
            lb.refuse(reasons::PINNED);
            if lb.idle != IdleType::NewlyIdle && !lb.flags.dst_pinned {
                self.find_other_dst(w, exec, lb, p);
            }
            return false;
        }
        lb.flags.all_pinned = false;
        if w.tasks[p].on_cpu || w.cpus[lb.src].curr == p {
            return false;
        }
        let may = self.failed_too_often(w, lb) || !self.task_hot(w, lb, p);
        if !may {
            lb.why = reasons::HOT;
        }
        may
    }

    /// It failed here so often that tasks are moved even if they are hot.
    fn failed_too_often(&self, w: &World, lb: &LoadBalance) -> bool {
        let d = &w.machine.domains.domains[lb.domain];
        self.sds[lb.cpu][lb.level as usize].nr_balance_failed > d.cache_nice_tries
    }

    /// The lowest CPU of the local group that `p` may use becomes the next destination.
    fn find_other_dst(&self, w: &World, exec: CpuId, lb: &mut LoadBalance, p: TaskId) {
        let removed = &self.balance.paths[exec].removed;
        let d = &w.machine.domains.domains[lb.domain];
        let mask = &d.groups[lb.own_group as usize].balance_mask;
        let other = mask.iter().find(|c| !removed.contains(c) && w.allowed(p, *c));
        if let Some(cpu) = other {
            lb.flags.dst_pinned = true;
            lb.new_dst = cpu;
        }
    }

    /// `task_hot`: ran within the last `migration_cost`.
    fn task_hot(&self, w: &World, lb: &LoadBalance, p: TaskId) -> bool {
        let d = &w.machine.domains.domains[lb.domain];
        if w.tasks[p].attr.policy == sim_core::SchedPolicy::Idle
            || d.flags.has(SdFlags::SHARE_CPUCAPACITY)
        {
            return false;
        }
        let buddy = S::is_buddy(self, lb.src, p);
        if self.features.cache_hot_buddy && buddy && w.cpus[lb.dst].nr_running > 0 {
            return true;
        }
        let cost = self.tunables.migration_cost_ns;
        let exec_start = self.tasks[p].exec_start;
        match cost {
            -1 => true,
            0 => false,
            // 0 means "just migrated", at whatever time.
            _ => exec_start != 0 && (w.rq_clock(lb.src).wrapping_sub(exec_start) as i64) < cost,
        }
    }
}
