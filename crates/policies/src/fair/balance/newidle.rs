//! Going idle (spec 0.5, 7.1 hook 4, 8.3): the pull from the shared queue, and newidle balance.
//!
//! SWQUEUE pulls before newidle balance; since version 2 the pull is a part of it, at a place that
//! changed with each version (spec 7.3 to 7.5).
//!
//! The CPU enters with its own runqueue lock held, gives it up for the walk over the domains, and
//! takes it again at the end. Wakers may enqueue here meanwhile, so `nr_running` and `ttwu_pending`
//! are read anew after each domain.

use super::{Flow, IdleType, domain_at, update_newidle_cost};
use crate::fair::calls::RQ_LOCK;
use crate::fair::shared_runq::Version;
use crate::fair::sites;
use crate::fair::state::{Fair, SdState};
use crate::fair::swqueue::Pulled;
use crate::fair::{Discipline, Rules, reasons};
use sim_core::{LockId, Ns, Stack, Step, TaskId, World};
use std::ops::ControlFlow;
use topology::{CpuId, SdFlags};

/// Where the CPU stands on its way to idle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stage {
    Pull,
    #[default]
    Enter,
    Gates,
    Blocked,
    Level,
    Balance,
    Relock,
    Finish,
    Done,
}

/// `newidle_balance` in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewidlePath {
    stage: Stage,
    prev: TaskId,
    /// The slow pick asks, which takes no for an answer.
    slow_pick: bool,
    level: u32,
    n_pulled: u32,
    t0: Ns,
    curr_cost: Ns,
    next_balance: u64,
    /// `continue_balancing`
    cont: bool,
    /// NI_RANDOM: what a success counts at this level.
    success_weight: u32,
}

impl Default for NewidlePath {
    fn default() -> Self {
        Self {
            stage: Stage::Enter,
            prev: TaskId::IDLE,
            slow_pick: false,
            level: 0,
            n_pulled: 0,
            t0: 0,
            curr_cost: 0,
            next_balance: 0,
            cont: true,
            success_weight: 1,
        }
    }
}

impl NewidlePath {
    /// The shared queue is asked.
    pub(crate) fn pulls(&self) -> bool {
        self.stage == Stage::Pull
    }

    /// The functions below `newidle_balance`; true in `load_balance`, which goes on.
    pub(crate) fn unwind(&self, stack: &mut Stack) -> bool {
        match self.stage {
            Stage::Blocked => stack.call(&["update_blocked_averages"]),
            Stage::Finish => stack.call(&[RQ_LOCK]),
            _ => {}
        }
        self.stage == Stage::Balance
    }
}

impl SdState {
    /// `update_newidle_stats`
    fn count_newidle(&mut self, success: u32) {
        self.newidle_call += 1;
        self.newidle_success += success;
        if self.newidle_call >= 1024 {
            self.newidle_ratio = self.newidle_success;
            self.newidle_call /= 2;
            self.newidle_success /= 2;
        }
    }
}

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
            if slow_pick && w.cpus[cpu].nr_running > 0 {
                return Step::Done;
            }
            let pulls_first = self.shared.version == Version::V1 && !slow_pick;
            let path = &mut self.balance.paths[cpu].newidle;
            (path.prev, path.slow_pick) = (prev, slow_pick);
            if pulls_first {
                self.swq_pull_begin(cpu);
            }
            self.newidle_begin(cpu, if pulls_first { Stage::Pull } else { Stage::Enter });
        }
        match self.newidle_run(w, cpu) {
            ControlFlow::Break(step) => step,
            ControlFlow::Continue(()) => Step::Done,
        }
    }

    fn newidle_begin(&mut self, cpu: CpuId, stage: Stage) {
        let path = &mut self.balance.paths[cpu].newidle;
        let (prev, slow_pick) = (path.prev, path.slow_pick);
        *path = NewidlePath { stage, prev, slow_pick, ..NewidlePath::default() };
    }

    /// What has come here sleeps on this queue now (spec 4.6), and the fast pick is under way.
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
                Stage::Pull => (None, self.newidle_pull(w, cpu)?),
                Stage::Enter => (None, self.newidle_enter(w, cpu)),
                Stage::Gates => self.newidle_gates(w, cpu),
                Stage::Blocked => {
                    self.update_blocked_averages(w, cpu);
                    self.balance.paths[cpu].blocked_tick = w.jiffies();
                    (Some(Step::Unlock(LockId::rq(cpu))), Stage::Level)
                }
                Stage::Level => (None, self.newidle_level(w, cpu)),
                Stage::Balance => (None, self.newidle_balance_level(w, cpu)?),
                Stage::Relock => {
                    let lock = Step::Lock(LockId::rq(cpu), sites::NEWIDLE_RQ_LOCK);
                    (Some(lock), Stage::Finish)
                }
                Stage::Finish => {
                    self.newidle_finish(w, cpu);
                    if !self.obtained_sleepers_only(w, cpu) {
                        return ControlFlow::Continue(());
                    }
                    // `goto again`: they leave the queue as they are picked.
                    let picked = S::pick_next_entity(self, w, cpu);
                    debug_assert_eq!(picked, None);
                    self.newidle_begin(cpu, Stage::Enter);
                    (None, Stage::Enter)
                }
                Stage::Done => return ControlFlow::Continue(()),
            };
            self.balance.paths[cpu].newidle.stage = next;
            if let Some(step) = step {
                return ControlFlow::Break(step);
            }
        }
    }

    /// The shared queue; and then?
    fn newidle_pull(&mut self, w: &mut World, cpu: CpuId) -> Flow<Stage> {
        let pulled = self.swq_pull(w, cpu)?;
        ControlFlow::Continue(match (self.shared.version, pulled) {
            (Version::V1, Pulled::Nothing) => Stage::Enter,
            (_, Pulled::Nothing) | (Version::V4, Pulled::Lost) => Stage::Gates,
            (Version::V4, Pulled::Moved) => {
                self.newidle_out(w, cpu, true);
                Stage::Done
            }
            // The pick starts anew, with the queue's lock held all the time.
            (Version::V3, Pulled::Moved) => Stage::Done,
            _ => self.slow_pick(w, cpu),
        })
    }

    /// RETRY_TASK: newidle balance once (more), unless prev is the idle task or something is
    /// runnable by now.
    fn slow_pick(&mut self, w: &mut World, cpu: CpuId) -> Stage {
        let path = &mut self.balance.paths[cpu].newidle;
        let asked = std::mem::replace(&mut path.slow_pick, true);
        if asked || path.prev == TaskId::IDLE || w.cpus[cpu].nr_running > 0 {
            // Unless it runs what it has pulled.
            w.note_gave_up(cpu, 0, reasons::POP_LOST);
            return Stage::Done;
        }
        Stage::Enter
    }

    /// The first gates, up to the pull if there is one (spec 8.3). `idle_stamp` is set before the
    /// search, which so counts as idle time; version 3 pulls before that.
    fn newidle_enter(&mut self, w: &mut World, cpu: CpuId) -> Stage {
        if w.cpus[cpu].ttwu_pending {
            return Stage::Done;
        }
        let path = &mut self.balance.paths[cpu].newidle;
        path.next_balance = w.jiffies() + u64::from(w.machine.hz);
        let version = self.shared.version;
        if version != Version::V3 {
            self.rqs[cpu].idle_stamp = w.now.max(1);
        }
        match version {
            Version::None | Version::V1 => Stage::Gates,
            Version::V4 if !self.overload => self.newidle_closed(w, cpu, 0),
            Version::V2 | Version::V3 | Version::V4 => {
                self.swq_pull_begin(cpu);
                Stage::Pull
            }
        }
    }

    /// A gate is closed, that of `level`.
    fn newidle_closed(&mut self, w: &mut World, cpu: CpuId, level: usize) -> Stage {
        let why = if self.overload { reasons::AVG_IDLE } else { reasons::NOT_OVERLOADED };
        w.note_gave_up(cpu, 0, why);
        self.newidle_next_balance(w, cpu, level);
        self.newidle_out(w, cpu, false);
        Stage::Done
    }

    /// The level whose cost is compared with `avg_idle`: version 3, which has asked the LLC's
    /// queue, means those above.
    fn gate_level(&self, w: &World, cpu: CpuId) -> usize {
        if self.shared.version != Version::V3 {
            return 0;
        }
        let levels = 0..self.sds[cpu].len();
        levels.take_while(|level| shares_llc(w, cpu, *level)).count()
    }

    fn newidle_gates(&mut self, w: &mut World, cpu: CpuId) -> (Option<Step>, Stage) {
        let version = self.shared.version;
        if version == Version::V3 {
            self.rqs[cpu].idle_stamp = w.now.max(1);
        }
        // Version 4 has looked at `overload`, and its pull gave wakers time.
        if version == Version::V4 && w.cpus[cpu].ttwu_pending {
            return (None, Stage::Done);
        }
        let level = self.gate_level(w, cpu);
        let avg_idle = self.rqs[cpu].avg_idle;
        let gate = (self.sds[cpu].get(level))
            .is_some_and(|sd| self.features.newidle_avg_idle && avg_idle < sd.max_newidle_lb_cost);
        if gate || !self.overload && version != Version::V4 {
            return (None, self.newidle_closed(w, cpu, level));
        }
        self.counters.newidle_attempts += 1;
        self.balance.paths[cpu].newidle.t0 = w.now;
        // The kernel drops the lock and takes it again at once for the update: one hold here.
        (Some(Step::Spend(self.blocked_ns(w, cpu))), Stage::Blocked)
    }

    /// `update_next_balance` of one level.
    fn newidle_next_balance(&mut self, w: &World, cpu: CpuId, level: usize) {
        let Some(sd) = self.sds[cpu].get(level) else {
            return;
        };
        let next = sd.last_balance + self.sd_interval(w, cpu, level, false);
        let path = &mut self.balance.paths[cpu].newidle;
        path.next_balance = path.next_balance.min(next);
    }

    fn newidle_level(&mut self, w: &mut World, cpu: CpuId) -> Stage {
        let path = self.balance.paths[cpu].newidle;
        let level = path.level as usize;
        let Some(max_cost) = self.sds[cpu].get(level).map(|sd| sd.max_newidle_lb_cost) else {
            return Stage::Relock;
        };
        self.newidle_next_balance(w, cpu, level);
        let expected = path.curr_cost + max_cost;
        if self.features.newidle_avg_idle && self.rqs[cpu].avg_idle < expected {
            w.note_gave_up(cpu, level, reasons::AVG_IDLE);
            return Stage::Relock;
        }
        if self.shared.version == Version::V4 && shares_llc(w, cpu, level) {
            w.note_sought(cpu, level, reasons::SHARED_RUNQ);
            self.balance.paths[cpu].newidle.level += 1;
            return Stage::Level;
        }
        let wanted =
            domain_at(w, cpu, level).is_some_and(|(d, _)| d.flags.has(SdFlags::BALANCE_NEWIDLE));
        if wanted && self.features.ni_random && !self.newidle_draw(cpu, level) {
            w.note_sought(cpu, level, reasons::NI_RANDOM);
            // On to the next level, whatever is here by now.
            self.balance.paths[cpu].newidle.level += 1;
            return Stage::Level;
        }
        if wanted {
            self.lb_start(w, cpu, (cpu, level), IdleType::NewlyIdle);
            return Stage::Balance;
        }
        w.note_sought(cpu, level, reasons::NOT_NEWIDLE);
        self.newidle_next_level(w, cpu)
    }

    fn newidle_balance_level(&mut self, w: &mut World, cpu: CpuId) -> Flow<Stage> {
        let moved = self.load_balance(w, cpu)?;
        let (now, jiffies, hz) = (w.now, w.jiffies(), w.machine.hz);
        let cont = self.balance.paths[cpu].lb.cont;
        let path = &mut self.balance.paths[cpu].newidle;
        (path.n_pulled, path.cont) = (moved, cont);
        let cost = now - path.t0;
        path.t0 = now;
        path.curr_cost += cost;
        let success = if moved > 0 { path.success_weight } else { 0 };
        let level = path.level as usize;
        let rules = self.discipline.rules();
        let sd = &mut self.sds[cpu][level];
        update_newidle_cost(sd, cost, jiffies, hz);
        if rules == Rules::V6_18 {
            sd.count_newidle(success);
        }
        ControlFlow::Continue(self.newidle_next_level(w, cpu))
    }

    /// NI_RANDOM: is this level worth a try? It is tried as often as it has been of use lately. A
    /// generator of its own per CPU, always started alike: the workload's numbers are not touched.
    fn newidle_draw(&mut self, cpu: CpuId, level: usize) -> bool {
        let path = &mut self.balance.paths[cpu];
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
        path.newidle.success_weight = (1024 + weight / 2) / weight;
        true
    }

    fn newidle_next_level(&mut self, w: &mut World, cpu: CpuId) -> Stage {
        let path = &mut self.balance.paths[cpu].newidle;
        path.level += 1;
        let c = &w.cpus[cpu];
        let stop = if self.discipline.rules() >= Rules::V6_12 {
            !path.cont
        } else {
            c.nr_running > 0 || c.ttwu_pending
        };
        if path.n_pulled > 0 || stop {
            let sleeps = path.n_pulled > 0;
            let why = if sleeps { reasons::PULLED_SLEEPER } else { reasons::TASK_CAME };
            w.note_gave_up(cpu, path.level as usize, why);
            return Stage::Relock;
        }
        Stage::Level
    }

    fn newidle_finish(&mut self, w: &mut World, cpu: CpuId) {
        let path = self.balance.paths[cpu].newidle;
        let rq = &mut self.rqs[cpu];
        rq.max_idle_balance_cost = rq.max_idle_balance_cost.max(path.curr_cost);
        let obtained = path.n_pulled > 0 || w.cpus[cpu].nr_running > 0;
        self.counters.newidle_pulls += u64::from(path.n_pulled > 0);
        self.newidle_out(w, cpu, obtained);
    }

    fn newidle_out(&mut self, w: &mut World, cpu: CpuId, obtained: bool) {
        let next = self.balance.paths[cpu].newidle.next_balance;
        let rq = &mut self.rqs[cpu];
        rq.next_balance = rq.next_balance.min(next);
        if obtained {
            rq.idle_stamp = 0;
        } else {
            self.nohz_newidle_balance(w, cpu);
        }
    }
}
