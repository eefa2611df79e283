//! Going idle: the pull from the shared queue, and newidle balance.
//!
//! SWQUEUE pulls before newidle balance; since version 2 the pull is a part of it, at a place that
//! changed with each version.
//!
//! The CPU enters with its own runqueue lock held, gives it up for the walk over the domains, and
//! takes it again at the end. Wakers may enqueue here meanwhile, so `nr_running` and `ttwu_pending`
//! are read anew after each domain.

use crate::fair::queue::Discipline;
use crate::fair::shared::Pulled;
use crate::fair::state::domain::domain_at;
use crate::fair::state::lb_env::BalanceCall;
use crate::fair::state::path::{Flow, NewidlePath, NewidleStage};
use crate::fair::state::shared_runq::{AfterPull, PullHook};
use crate::fair::state::{Fair, reasons, sites};
use sim_core::{IdleType, LockId, Step, TaskId, World};
use std::ops::ControlFlow;
use topology::{CpuId, SdFlags};

/// The domain is one LLC, or a part of it.
fn shares_llc(w: &World, cpu: CpuId, level: usize) -> bool {
    domain_at(w, cpu, level).is_some_and(|(d, _)| d.flags.has(SdFlags::SHARE_LLC))
}

impl<S: Discipline> Fair<S> {
    /// `Policy::before_idle`: the shared queue and newidle balance.
    pub(crate) fn newidle_step(
        &mut self,
        w: &mut World,
        cpu: CpuId,
        prev: TaskId,
        first: bool,
    ) -> Step {
        if first {
            // Behind the stopper only the slow pick is taken, without the wakequeue's hook.
            let slow_pick = prev == TaskId::STOP;
            // `balance_fair`: what was queued before the pick is something to run, also asleep.
            if slow_pick && self.rqs[cpu].was_runnable {
                self.balance.paths[cpu].newidle.says_yes = true;
                return Step::Done;
            }
            let pulls_first = self.shared.rules.pull == PullHook::BeforeNewidle && !slow_pick;
            let path = &mut self.balance.paths[cpu].newidle;
            (path.prev, path.slow_pick) = (prev, slow_pick);
            if pulls_first {
                self.swq_pull_begin(cpu);
            }
            self.newidle_begin(
                cpu,
                if pulls_first { NewidleStage::Pull } else { NewidleStage::Enter },
            );
        }
        match self.newidle_run(w, cpu) {
            ControlFlow::Break(step) => step,
            ControlFlow::Continue(()) => Step::Done,
        }
    }

    fn newidle_begin(&mut self, cpu: CpuId, stage: NewidleStage) {
        let path = &mut self.balance.paths[cpu].newidle;
        let prev = path.prev;
        let slow_pick = path.slow_pick;
        *path = NewidlePath { stage, prev, slow_pick, ..NewidlePath::default() };
    }

    /// What has come here sleeps on this queue now, and the fast pick is under way.
    fn obtained_sleepers_only(&self, w: &World, cpu: CpuId) -> bool {
        let rq = &self.rqs[cpu];
        S::DELAYS
            && self.balance.paths[cpu].newidle.prev != TaskId::STOP
            && w.cpus[cpu].stop_work.is_none()
            && rq.h_nr_running > 0
            && rq.h_nr_runnable() == 0
    }

    fn newidle_run(&mut self, w: &mut World, cpu: CpuId) -> Flow<()> {
        loop {
            let stage = self.balance.paths[cpu].newidle.stage;
            let (step, next) = match stage {
                NewidleStage::Pull => (None, self.newidle_pull(w, cpu)?),
                NewidleStage::Enter => (None, self.newidle_enter(w, cpu)),
                NewidleStage::Gates => self.newidle_gates(w, cpu),
                NewidleStage::Blocked => {
                    self.update_blocked_averages(w, cpu);
                    self.balance.paths[cpu].blocked_tick = w.jiffies();
                    (Some(Step::Unlock(LockId::rq(cpu))), NewidleStage::Level)
                }
                NewidleStage::Level => (None, self.newidle_level(w, cpu)),
                NewidleStage::Balance => (None, self.newidle_balance_level(w, cpu)?),
                NewidleStage::Relock => {
                    let lock = Step::Lock(LockId::rq(cpu), sites::NEWIDLE_RQ_LOCK);
                    (Some(lock), NewidleStage::Finish)
                }
                NewidleStage::Finish => {
                    self.newidle_finish(w, cpu);
                    if !self.obtained_sleepers_only(w, cpu) {
                        return ControlFlow::Continue(());
                    }
                    // `goto again`: they leave the queue as they are picked.
                    let picked = S::pick_next_entity(self, w, cpu);
                    debug_assert_eq!(picked, None);
                    self.newidle_begin(cpu, NewidleStage::Enter);
                    (None, NewidleStage::Enter)
                }
                NewidleStage::Done => return ControlFlow::Continue(()),
            };
            self.balance.paths[cpu].newidle.stage = next;
            if let Some(step) = step {
                return ControlFlow::Break(step);
            }
        }
    }

    /// The shared queue; and then?
    fn newidle_pull(&mut self, w: &mut World, cpu: CpuId) -> Flow<NewidleStage> {
        let pulled = self.swq_pull(w, cpu)?;
        let rules = &self.shared.rules;
        let after = match pulled {
            Pulled::Nothing => rules.after_nothing,
            Pulled::Lost => rules.after_lost,
            Pulled::Moved => rules.after_moved,
        };
        ControlFlow::Continue(match after {
            AfterPull::Newidle => NewidleStage::Enter,
            AfterPull::Gates => NewidleStage::Gates,
            AfterPull::SlowPick => self.slow_pick(w, cpu),
            AfterPull::Pick => NewidleStage::Done,
            AfterPull::Out => {
                self.newidle_out(w, cpu, true);
                NewidleStage::Done
            }
        })
    }

    /// RETRY_TASK: newidle balance once (more), unless prev is the idle task or something is
    /// runnable by now.
    fn slow_pick(&mut self, w: &mut World, cpu: CpuId) -> NewidleStage {
        let path = &mut self.balance.paths[cpu].newidle;
        let was_slow_pick = std::mem::replace(&mut path.slow_pick, true);
        if was_slow_pick || path.prev == TaskId::IDLE || w.cpus[cpu].nr_running > 0 {
            // Unless it runs what it has pulled.
            w.note_gave_up(cpu, 0, reasons::POP_LOST);
            return NewidleStage::Done;
        }
        NewidleStage::Enter
    }

    /// The first gates, up to the pull if there is one. `idle_stamp` is set before the
    /// search, which so counts as idle time; version 3 pulls before that.
    fn newidle_enter(&mut self, w: &mut World, cpu: CpuId) -> NewidleStage {
        // A wake-up brings a task in a moment: no search, and no stamp.
        if w.cpus[cpu].ttwu_pending {
            return NewidleStage::Done;
        }
        let path = &mut self.balance.paths[cpu].newidle;
        // At the latest in a second, as in the kernel; the levels bring it forward.
        path.next_balance = w.jiffies() + u64::from(w.machine.hz);
        let rules = &self.shared.rules;
        if !rules.stamps_after_pull {
            // 0 means that no stamp is set.
            self.rqs[cpu].idle_stamp = w.rq_clock(cpu).max(1);
        }
        if rules.pull != PullHook::InNewidle {
            return NewidleStage::Gates;
        }
        if rules.pulls_if_overloaded && !self.overload {
            return self.newidle_closed(w, cpu, 0);
        }
        self.swq_pull_begin(cpu);
        NewidleStage::Pull
    }

    /// A gate is closed, that of `level`.
    fn newidle_closed(&mut self, w: &mut World, cpu: CpuId, level: usize) -> NewidleStage {
        let why = if self.overload { reasons::AVG_IDLE } else { reasons::NOT_OVERLOADED };
        w.note_gave_up(cpu, 0, why);
        self.newidle_next_balance(w, cpu, level);
        self.newidle_out(w, cpu, false);
        NewidleStage::Done
    }

    /// The level whose cost is compared with `avg_idle`: version 3, which
    /// has searched the LLC's queue, means the first level above the LLC.
    fn gate_level(&self, w: &World, cpu: CpuId) -> usize {
        if !self.shared.rules.gates_above_llc {
            return 0;
        }
        let levels = 0..self.sds[cpu].len();
        levels.take_while(|level| shares_llc(w, cpu, *level)).count()
    }

    fn newidle_gates(&mut self, w: &mut World, cpu: CpuId) -> (Option<Step>, NewidleStage) {
        let rules = &self.shared.rules;
        if rules.stamps_after_pull {
            self.rqs[cpu].idle_stamp = w.rq_clock(cpu).max(1);
        }
        // The pull gave wakers time to come here.
        if rules.pulls_if_overloaded && w.cpus[cpu].ttwu_pending {
            return (None, NewidleStage::Done);
        }
        let level = self.gate_level(w, cpu);
        let avg_idle = self.rqs[cpu].avg_idle;
        let gate = (self.sds[cpu].get(level))
            .is_some_and(|sd| self.features.newidle_avg_idle && avg_idle < sd.max_newidle_lb_cost);
        let no_domain = self.sds[cpu].is_empty() && self.discipline.kernel().newidle_needs_domain;
        if gate || no_domain || !self.overload && !self.shared.rules.pulls_if_overloaded {
            return (None, self.newidle_closed(w, cpu, level));
        }
        self.counters.newidle_attempts += 1;
        self.balance.paths[cpu].newidle.t0 = w.now;
        // The kernel drops the lock and takes it again at once for the update: one hold here.
        self.update_rq_clock(w, cpu);
        (Some(Step::Spend(self.blocked_ns(w, cpu))), NewidleStage::Blocked)
    }

    /// `update_next_balance` of one level.
    fn newidle_next_balance(&mut self, w: &World, cpu: CpuId, level: usize) {
        let Some(sd) = self.sds[cpu].get(level) else {
            return;
        };
        let next = sd.balanced_next(self.sd_interval(w, cpu, level, false));
        let path = &mut self.balance.paths[cpu].newidle;
        path.next_balance = path.next_balance.min(next);
    }

    fn newidle_level(&mut self, w: &mut World, cpu: CpuId) -> NewidleStage {
        let path = &self.balance.paths[cpu].newidle;
        let level = path.level as usize;
        let curr_cost = path.curr_cost;
        let Some(max_cost) = self.sds[cpu].get(level).map(|sd| sd.max_newidle_lb_cost) else {
            return NewidleStage::Relock;
        };
        self.newidle_next_balance(w, cpu, level);
        // A search that is likely to take longer than the CPU idles does not begin.
        let expected = curr_cost + max_cost;
        if self.features.newidle_avg_idle && self.rqs[cpu].avg_idle < expected {
            w.note_gave_up(cpu, level, reasons::AVG_IDLE);
            return NewidleStage::Relock;
        }
        if self.shared.rules.skips_llc_domains && shares_llc(w, cpu, level) {
            w.note_sought(cpu, level, reasons::SHARED_RUNQ);
            self.balance.paths[cpu].newidle.level += 1;
            return NewidleStage::Level;
        }
        let wanted =
            domain_at(w, cpu, level).is_some_and(|(d, _)| d.flags.has(SdFlags::BALANCE_NEWIDLE));
        if wanted && self.features.ni_random && !self.newidle_draw(cpu, level) {
            w.note_sought(cpu, level, reasons::NI_RANDOM);
            // On to the next level, whatever is here by now.
            self.balance.paths[cpu].newidle.level += 1;
            return NewidleStage::Level;
        }
        if wanted {
            self.lb_start(w, cpu, BalanceCall { cpu, level, idle: IdleType::NewlyIdle });
            return NewidleStage::Balance;
        }
        w.note_sought(cpu, level, reasons::NOT_NEWIDLE);
        self.newidle_next_level(w, cpu)
    }

    fn newidle_balance_level(&mut self, w: &mut World, cpu: CpuId) -> Flow<NewidleStage> {
        let moved = self.load_balance(w, cpu)?;
        let now = w.now;
        let jiffies = w.jiffies();
        let hz = w.machine.hz;
        let continue_balancing = self.balance.paths[cpu].lb.continue_balancing;
        let path = &mut self.balance.paths[cpu].newidle;
        (path.n_pulled, path.continue_balancing) = (moved, continue_balancing);
        let cost = now - path.t0;
        path.t0 = now;
        path.curr_cost += cost;
        let success = if moved > 0 { path.success_weight } else { 0 };
        let level = path.level as usize;
        let ni_random = self.features.ni_random;
        let sd = &mut self.sds[cpu][level];
        sd.update_newidle_cost(cost, jiffies, hz);
        if ni_random {
            sd.count_newidle(success);
        }
        ControlFlow::Continue(self.newidle_next_level(w, cpu))
    }

    /// NI_RANDOM: is this level worth a try? It is tried as often as it has been of use lately. A
    /// generator of its own per CPU, always started alike: the workload's numbers are not touched.
    fn newidle_draw(&mut self, cpu: CpuId, level: usize) -> bool {
        let path = &mut self.balance.paths[cpu];
        // `sched_rng` has a generator per CPU, too; which one is of no account.
        path.draws ^= path.draws << 13;
        path.draws ^= path.draws >> 17;
        path.draws ^= path.draws << 5;
        let draw = path.draws % 1024;
        let sd = &mut self.sds[cpu][level];
        let weight = 1 + sd.newidle_ratio;
        if draw > weight {
            sd.count_newidle(0);
            return false;
        }
        // A success counts for the calls that the dice have skipped.
        path.newidle.success_weight = (1024 + weight / 2) / weight;
        true
    }

    fn newidle_next_level(&mut self, w: &mut World, cpu: CpuId) -> NewidleStage {
        let path = &mut self.balance.paths[cpu].newidle;
        path.level += 1;
        let c = &w.cpus[cpu];
        let stop = if self.discipline.kernel().newidle_trusts_balance {
            !path.continue_balancing
        } else {
            c.nr_running > 0 || c.ttwu_pending
        };
        if path.n_pulled > 0 || stop {
            let sleeps = path.n_pulled > 0;
            let why = if sleeps { reasons::PULLED_SLEEPER } else { reasons::TASK_CAME };
            w.note_gave_up(cpu, path.level as usize, why);
            return NewidleStage::Relock;
        }
        NewidleStage::Level
    }

    fn newidle_finish(&mut self, w: &mut World, cpu: CpuId) {
        let path = &mut self.balance.paths[cpu].newidle;
        let rq = &mut self.rqs[cpu];
        // It caps `avg_idle`; it goes down at periodic balance only.
        rq.max_idle_balance_cost = rq.max_idle_balance_cost.max(path.curr_cost);
        let obtained = path.n_pulled > 0 || w.cpus[cpu].nr_running > 0;
        path.says_yes = obtained;
        self.counters.newidle_pulls += u64::from(path.n_pulled > 0);
        self.newidle_out(w, cpu, obtained);
    }

    fn newidle_out(&mut self, w: &mut World, cpu: CpuId, obtained: bool) {
        let next = self.balance.paths[cpu].newidle.next_balance;
        let rq = &mut self.rqs[cpu];
        rq.next_balance = rq.next_balance.min(next);
        if obtained {
            // The CPU does not idle: this gap does not count for `avg_idle`.
            rq.idle_stamp = 0;
        } else {
            self.nohz_newidle_balance(w, cpu);
        }
    }
}
