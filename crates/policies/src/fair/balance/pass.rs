//! `load_balance` of one domain: choose a source, detach under its lock, attach
//! under the destination's, and keep the domain's interval and failure count.
//!
//! ```text
//! Begin -> Stats -> LockSrc -> Detach -> Unlink* -> UnlockSrc -> LockDst -> Attach -> Judge
//!   |        |         ^                                                                |
//!   +-> Done +-> Done  +---- more, or another destination; with another source: Begin --+-> Done
//! ```
//! Judge counts the failure or success and may go on to the active push. With nothing to attach it
//! follows at once.
//!
//! Softirq passes keep interrupts off from the source's lock to the end of attach; newidle runs
//! with interrupts off anyway.

use crate::fair::queue::Discipline;
use crate::fair::shared::{APPEND, UNLINK};
use crate::fair::state::balance::PULL_LINES;
use crate::fair::state::domain::domain_at;
use crate::fair::state::lb_env::{
    BalanceCall, LbFlags, LbStage, LoadBalance, MigrationType, NR_MIGRATE_BREAK,
};
use crate::fair::state::path::Flow;
use crate::fair::state::{Fair, reasons, sites};
use sim_core::{Attempt, BalanceEnd, Decision, IdleType, LbStat, LockId, Site, Step, World};
use std::ops::ControlFlow;
use topology::CpuId;

/// MAX_PINNED_INTERVAL, ms.
const MAX_PINNED_INTERVAL: u64 = 512;

impl LoadBalance {
    /// Nothing was moved to an idle CPU: why.
    fn note_why(&self, w: &mut World) {
        let cpu = self.cpu;
        let level = self.level as usize;
        if self.continue_balancing {
            let queue = self.src_chosen.then_some(self.src);
            w.note_attempt(cpu, level, Attempt { at: w.now, reason: self.why, queue });
        } else {
            // Nor is anything above this level looked at.
            w.note_gave_up(cpu, level, self.why);
        }
    }

    /// How the pass has ended, for observers.
    fn end(&self) -> BalanceEnd {
        match self.n_moved {
            0 if self.failed => BalanceEnd::Failed,
            0 => BalanceEnd::Balanced,
            n => BalanceEnd::Moved(n),
        }
    }

    /// Where the pass is counted.
    pub(crate) fn stat<'a>(&self, w: &'a mut World) -> &'a mut LbStat {
        &mut w.stat.sd_mut(self.cpu, self.level as usize).lb[self.idle as usize]
    }

    /// An imbalance was found: `update_lb_imbalance_stat`.
    fn count_imbalance(&self, w: &mut World) {
        let stat = self.stat(w);
        let sum = match self.migration_type {
            MigrationType::Load => &mut stat.imbalance_load,
            MigrationType::Util => &mut stat.imbalance_util,
            MigrationType::Task => &mut stat.imbalance_task,
        };
        *sum += self.imbalance as u64;
    }

    fn site(&self) -> &'static Site {
        match self.idle {
            IdleType::NewlyIdle => sites::NEWIDLE_RQ_LOCK,
            _ => sites::PERIODIC_RQ_LOCK,
        }
    }

    /// The next stage, with a step only where interrupts are on (softirq passes).
    fn softirq_step(&self, step: Step, next: LbStage) -> Next {
        ((self.idle != IdleType::NewlyIdle).then_some(step), next)
    }

    /// Takes the source's lock, with interrupts off. (This and what follows without a step between
    /// goes from stage to stage without a look at the stage.)
    fn lock_src(&self) -> Next {
        match self.idle {
            IdleType::NewlyIdle => {
                (Some(Step::Lock(LockId::rq(self.src), self.site())), LbStage::Look)
            }
            _ => (Some(Step::IrqOff), LbStage::LockSrc),
        }
    }

    /// Gives the source's lock back, with no task to attach.
    fn unlock_src(&self) -> Next {
        let next = if self.idle == IdleType::NewlyIdle { LbStage::Judge } else { LbStage::IrqOn };
        (Some(Step::Unlock(LockId::rq(self.src))), next)
    }
}

type Next = (Option<Step>, LbStage);

impl<S: Discipline> Fair<S> {
    /// Prepares `load_balance(cpu, level, idle)`, to be executed by `exec`.
    pub(crate) fn lb_start(&mut self, w: &mut World, exec: CpuId, call: BalanceCall) {
        let BalanceCall { cpu, level, idle } = call;
        let Some((_, link)) = domain_at(w, cpu, level) else {
            return;
        };
        w.stat.sd_mut(cpu, level).lb[idle as usize].count += 1;
        w.tell(Decision::BalanceBegins { cpu, level: level as u32, idle });
        let path = &mut self.balance.paths[exec];
        path.removed.clear();
        path.lb = LoadBalance {
            cpu,
            level: level as u32,
            domain: link.domain,
            own_group: link.own_group,
            idle,
            dst: cpu,
            why: if idle == IdleType::NewlyIdle { reasons::TASK_CAME } else { reasons::NOT_MINE },
            ..LoadBalance::default()
        };
    }

    /// Goes on with the pass prepared by [`Fair::lb_start`]; the result is the number of tasks
    /// moved.
    pub(crate) fn load_balance(&mut self, w: &mut World, exec: CpuId) -> Flow<u32> {
        loop {
            let (step, next) = self.lb_stage(w, exec);
            let lb = &mut self.balance.paths[exec].lb;
            lb.stage = next;
            if let Some(step) = step {
                return ControlFlow::Break(step);
            }
            if next == LbStage::Done {
                w.tell(Decision::BalanceEnds(lb.end()));
                if lb.n_moved == 0 && lb.idle != IdleType::NotIdle {
                    lb.note_why(w);
                }
                return ControlFlow::Continue(lb.n_moved);
            }
        }
    }

    /// The pass stays where it is: a copy made right after its stage was written would wait for
    /// the write.
    fn lb_stage(&mut self, w: &mut World, exec: CpuId) -> Next {
        use LbStage as S;
        let lb = &self.balance.paths[exec].lb;
        match lb.stage {
            S::Begin => self.lb_begin(w, exec),
            S::Stats => self.lb_stats(w, exec),
            S::Again => lb.lock_src(),
            S::LockSrc => (Some(Step::Lock(LockId::rq(lb.src), lb.site())), S::Look),
            S::Look => {
                let src = lb.src;
                self.update_rq_clock(w, src);
                // The lock is held only now: the queue may have emptied since the statistics were
                // read.
                if w.cpus[src].nr_running <= 1 {
                    return (None, S::Detach);
                }
                (Some(Step::Spend(PULL_LINES * w.line_ns(exec, src))), S::Detach)
            }
            S::Detach => {
                let n = self.detach_tasks(w, exec);
                if n == 0 {
                    return self.balance.paths[exec].lb.unlock_src();
                }
                (Some(Step::Spend(n * w.machine.costs.pull_ns)), S::Unlink)
            }
            S::Unlink => match self.swq_link_step(w, exec, lb.src, UNLINK) {
                Some(step) => (Some(step), S::Unlink),
                None => (None, S::UnlockSrc),
            },
            S::UnlockSrc => (Some(Step::Unlock(LockId::rq(lb.src))), S::LockDst),
            S::LockDst => (Some(Step::Lock(LockId::rq(lb.dst), lb.site())), S::Attach),
            S::Attach => {
                self.attach_tasks(w, exec);
                self.lb_append(w, exec)
            }
            S::Append => self.lb_append(w, exec),
            S::IrqOn => lb.softirq_step(Step::IrqOn, S::Judge),
            S::Judge => (None, self.lb_judge(w, exec)),
            S::ActiveIrqOff => lb.softirq_step(Step::IrqOff, S::ActiveLock),
            S::ActiveLock => (Some(Step::Lock(LockId::rq(lb.src), lb.site())), S::Active),
            S::Active => {
                let lb = *lb;
                self.lb_active(w, exec, &lb);
                (Some(Step::Unlock(LockId::rq(lb.src))), S::ActiveStart)
            }
            S::ActiveStart => {
                if lb.start_active {
                    let src = lb.src;
                    let cpu = lb.cpu;
                    self.start_active_balance(w, src, cpu);
                }
                self.balance.paths[exec].lb.softirq_step(Step::IrqOn, S::Done)
            }
            S::Done => (None, S::Done),
        }
    }

    fn lb_begin(&mut self, w: &mut World, exec: CpuId) -> Next {
        let path = &self.balance.paths[exec];
        let lb = &path.lb;
        if !self.should_we_balance(w, lb, &path.removed) {
            // `continue_balancing` = 0: another CPU of the group balances this level and those
            // above.
            w.charge(w.machine.costs.lb_domain_ns);
            self.balance.paths[exec].lb.continue_balancing = false;
            self.lb_balanced(w, exec);
            return (None, LbStage::Done);
        }
        let domain = lb.domain;
        let n_removed = path.removed.len();
        let cost = w.machine.costs.lb_domain_ns + w.read_domain(domain, n_removed);
        (Some(Step::Spend(cost)), LbStage::Stats)
    }

    fn lb_stats(&mut self, w: &mut World, exec: CpuId) -> Next {
        let found = self.find_busiest(w, exec);
        self.balance.paths[exec].lb.src_chosen = found;
        if !found {
            let lb = &self.balance.paths[exec].lb;
            let stat = lb.stat(w);
            if lb.why == reasons::NO_QUEUE {
                stat.nobusyq += 1;
            } else {
                stat.nobusyg += 1;
            }
            self.lb_balanced(w, exec);
            return (None, LbStage::Done);
        }
        let nr_migrate = self.tunables.nr_migrate;
        let lb = &mut self.balance.paths[exec].lb;
        lb.count_imbalance(w);
        // LBF_ALL_PINNED, until a task is seen that may run here.
        lb.flags.all_pinned = true;
        let nr = w.cpus[lb.src].nr_running;
        if nr <= 1 {
            // Its current task can be moved by the stopper only: this counts as a failure.
            lb.why = reasons::ONE_TASK;
            return (None, self.lb_settle(w, exec));
        }
        lb.loop_max = nr_migrate.min(nr);
        lb.lock_src()
    }

    /// What was attached goes on the shared queue, if it is to.
    fn lb_append(&mut self, w: &World, exec: CpuId) -> Next {
        let dst = self.balance.paths[exec].lb.dst;
        match self.swq_link_step(w, exec, dst, APPEND) {
            Some(step) => (Some(step), LbStage::Append),
            None => (Some(Step::Unlock(LockId::rq(dst))), LbStage::IrqOn),
        }
    }

    /// After a round of detach and attach: again, with another destination, another source, or not.
    fn lb_judge(&mut self, w: &mut World, exec: CpuId) -> LbStage {
        let path = &mut self.balance.paths[exec];
        // The common case: all tasks seen may run here, and the lock was not dropped for a break.
        if path.lb.flags == LbFlags::default() {
            return self.lb_settle(w, exec);
        }
        let lb = path.lb;
        // LBF_NEED_BREAK: the lock is dropped after 32 tasks, so that wake-ups get it in between.
        if std::mem::take(&mut path.lb.flags.need_break) && lb.n_looked < w.cpus[lb.src].nr_running
        {
            return LbStage::Again;
        }
        // LBF_DST_PINNED: a task may run on another CPU of the local group, the next destination.
        if lb.flags.dst_pinned && lb.imbalance > 0 {
            path.removed.push(lb.dst);
            path.lb.dst = lb.new_dst;
            path.lb.flags.dst_pinned = false;
            (path.lb.n_looked, path.lb.loop_break) = (0, NR_MIGRATE_BREAK);
            return LbStage::Again;
        }
        // LBF_SOME_PINNED: in the parent domain this group counts as one that affinity unbalances.
        if lb.flags.some_pinned && lb.imbalance > 0 {
            self.set_parent_imbalance(w, exec, true);
        }
        if !lb.flags.all_pinned {
            return self.lb_settle(w, exec);
        }
        let path = &mut self.balance.paths[exec];
        // No task of that queue may run here: the whole pass again without its CPU.
        path.removed.push(lb.src);
        let d = &w.machine.domains.domains[lb.domain];
        let own = &d.groups[lb.own_group as usize];
        let in_play = |c: &CpuId| !own.balance_mask.contains(*c) && !path.removed.contains(c);
        if d.cpus.iter().any(in_play) {
            (path.lb.n_looked, path.lb.loop_break) = (0, NR_MIGRATE_BREAK);
            return LbStage::Begin;
        }
        // No source is left. The kernel forgets what it has moved before (`ld_moved = 0`).
        self.lb_all_pinned(w, exec);
        self.balance.paths[exec].lb.n_moved = 0;
        LbStage::Done
    }

    /// An imbalance was found: count the failure or the success; see whether to push.
    fn lb_settle(&mut self, w: &mut World, exec: CpuId) -> LbStage {
        let lb = &mut self.balance.paths[exec].lb;
        let sd = &mut self.sds[lb.cpu][lb.level as usize];
        if lb.n_moved > 0 {
            sd.nr_balance_failed = 0;
        } else {
            lb.failed = true;
            lb.stat(w).failed += 1;
            // Newidle passes are so frequent that their failures would bring hot moves and pushes.
            if lb.idle != IdleType::NewlyIdle {
                sd.nr_balance_failed += 1;
            }
            let lb = &self.balance.paths[exec].lb;
            if self.need_active_balance(w, lb) {
                self.balance.paths[exec].lb.start_active = false;
                return LbStage::ActiveIrqOff;
            }
        }
        self.reset_interval(w, exec);
        LbStage::Done
    }

    fn reset_interval(&mut self, w: &World, exec: CpuId) {
        let lb = &self.balance.paths[exec].lb;
        let min = w.machine.domains.domains[lb.domain].weight();
        self.sds[lb.cpu][lb.level as usize].balance_interval = u64::from(min);
    }

    pub(crate) fn need_active_balance(&self, w: &World, lb: &LoadBalance) -> bool {
        let tries = w.machine.domains.domains[lb.domain].cache_nice_tries;
        let failed = self.sds[lb.cpu][lb.level as usize].nr_balance_failed;
        lb.migration_type == MigrationType::Task && failed > tries + 2
    }

    /// Under the source's lock: may its current task be pushed here?
    fn lb_active(&mut self, w: &World, exec: CpuId, lb: &LoadBalance) {
        let curr = w.cpus[lb.src].curr;
        // The pass may have chosen the source for tasks that wait; a push takes the current one.
        if !curr.is_task() || !w.allowed(curr, lb.cpu) {
            self.raise_interval(w, exec);
            return;
        }
        let rq = &mut self.rqs[lb.src];
        if !rq.active_balance {
            rq.active_balance = true;
            rq.push_cpu = lb.cpu;
            self.balance.paths[exec].lb.start_active = true;
        }
        if !self.balance.paths[exec].lb.start_active || self.need_active_balance(w, lb) {
            self.reset_interval(w, exec);
        }
    }

    /// Nothing to do in this domain.
    fn lb_balanced(&mut self, w: &mut World, exec: CpuId) {
        let lb = &self.balance.paths[exec].lb;
        if !lb.flags.all_pinned {
            self.set_parent_imbalance(w, exec, false);
        }
        self.lb_all_pinned(w, exec);
    }

    fn lb_all_pinned(&mut self, w: &mut World, exec: CpuId) {
        let lb = &self.balance.paths[exec].lb;
        lb.stat(w).balanced += 1;
        self.sds[lb.cpu][lb.level as usize].nr_balance_failed = 0;
        self.raise_interval(w, exec);
    }

    fn raise_interval(&mut self, w: &World, exec: CpuId) {
        let lb = &self.balance.paths[exec].lb;
        // Newidle balance has no interval to keep.
        if lb.idle == IdleType::NewlyIdle {
            return;
        }
        let weight = w.machine.domains.domains[lb.domain].weight();
        let sd = &mut self.sds[lb.cpu][lb.level as usize];
        // Up to 512 ms while all tasks are pinned, else up to twice the weight of the domain.
        let pinned = lb.flags.all_pinned && sd.balance_interval < MAX_PINNED_INTERVAL;
        if pinned || sd.balance_interval < 2 * u64::from(weight) {
            sd.balance_interval *= 2;
        }
    }

    fn set_parent_imbalance(&mut self, w: &World, exec: CpuId, on: bool) {
        let lb = &self.balance.paths[exec].lb;
        if let Some((_, link)) = domain_at(w, lb.cpu, lb.level as usize + 1) {
            self.balance.imbalanced[link.domain][link.own_group as usize] = on;
        }
    }
}
