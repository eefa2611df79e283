//! Periodic balance (spec 8.4): `rebalance_domains`, for this CPU or, in nohz-idle balance, for
//! another.

use super::{Flow, IdleType, domain_at, update_newidle_cost};
use crate::fair::sites;
use crate::fair::state::Fair;
use crate::fair::{Discipline, reasons};
use sim_core::{Step, World};
use std::ops::ControlFlow;
use topology::{CpuId, SdFlags};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stage {
    #[default]
    Level,
    Tried,
    Balance,
    Unlock,
    Next,
    Done,
}

/// `rebalance_domains` in progress.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RebalancePath {
    stage: Stage,
    cpu: u32,
    idle: IdleType,
    level: u32,
    cont: bool,
    serialized: bool,
    need_decay: bool,
    max_cost: u64,
    next_balance: u64,
}

impl RebalancePath {
    /// In `load_balance`.
    pub(crate) fn balances(&self) -> bool {
        self.stage == Stage::Balance
    }
}

impl<S: Discipline> Fair<S> {
    /// Prepares `rebalance_domains(cpu, idle)`, to be executed by `exec`.
    pub(crate) fn rebalance_begin(&mut self, w: &World, exec: CpuId, cpu: CpuId, idle: IdleType) {
        self.balance.paths[exec].rebalance = RebalancePath {
            cpu: cpu.0,
            idle,
            cont: true,
            next_balance: w.jiffies() + 60 * u64::from(w.machine.hz),
            ..RebalancePath::default()
        };
    }

    /// Goes on with `rebalance_domains`.
    pub(crate) fn rebalance_domains(&mut self, w: &mut World, exec: CpuId) -> Flow<()> {
        loop {
            let r = self.balance.paths[exec].rebalance;
            let (step, next) = match r.stage {
                Stage::Level => self.rebalance_level(w, exec, r),
                Stage::Tried if w.cpus[exec].trylock_ok => {
                    (None, self.rebalance_start(w, exec, r, true))
                }
                Stage::Tried => {
                    if r.idle != IdleType::NotIdle {
                        w.note_sought(CpuId(r.cpu), r.level as usize, reasons::SERIALIZED);
                    }
                    (None, Stage::Next)
                }
                Stage::Balance => (None, self.rebalance_balance(w, exec, r)?),
                Stage::Unlock => (self.balance.serialize.map(Step::Unlock), Stage::Next),
                Stage::Next => {
                    self.rebalance_next(w, exec, r);
                    (None, Stage::Level)
                }
                Stage::Done => {
                    self.rebalance_finish(w, r);
                    return ControlFlow::Continue(());
                }
            };
            self.balance.paths[exec].rebalance.stage = next;
            if let Some(step) = step {
                return ControlFlow::Break(step);
            }
        }
    }

    fn rebalance_level(
        &mut self,
        w: &mut World,
        exec: CpuId,
        r: RebalancePath,
    ) -> (Option<Step>, Stage) {
        let (cpu, level) = (CpuId(r.cpu), r.level as usize);
        let Some((d, _)) = domain_at(w, cpu, level) else {
            return (None, Stage::Done);
        };
        let (jiffies, hz) = (w.jiffies(), w.machine.hz);
        let sd = &mut self.sds[cpu][level];
        let decayed = update_newidle_cost(sd, 0, jiffies, hz);
        let (cost, last) = (sd.max_newidle_lb_cost, sd.last_balance);
        let path = &mut self.balance.paths[exec].rebalance;
        path.need_decay = decayed;
        path.max_cost += cost;
        if !r.cont {
            // Only the decay of the upper levels goes on, as long as they decay.
            path.level += 1;
            return (None, if decayed { Stage::Level } else { Stage::Done });
        }
        let busy = self.is_busy(w, r);
        let due = jiffies >= last + self.sd_interval(w, cpu, level, busy);
        if !due {
            return (None, Stage::Next);
        }
        match self.balance.serialize {
            Some(lock) if d.flags.has(SdFlags::SERIALIZE) => {
                let step = Step::TryLock(lock, sites::BALANCE_SERIALIZE);
                (Some(step), Stage::Tried)
            }
            _ => (None, self.rebalance_start(w, exec, r, false)),
        }
    }

    /// A CPU that runs SCHED_IDLE tasks only looks for work as often as an idle one.
    fn is_busy(&self, w: &World, r: RebalancePath) -> bool {
        r.idle != IdleType::Idle && !self.sched_idle_cpu(w, CpuId(r.cpu))
    }

    fn rebalance_start(
        &mut self,
        w: &mut World,
        exec: CpuId,
        r: RebalancePath,
        locked: bool,
    ) -> Stage {
        self.balance.paths[exec].rebalance.serialized = locked;
        self.lb_start(w, exec, (CpuId(r.cpu), r.level as usize), r.idle);
        Stage::Balance
    }

    fn rebalance_balance(&mut self, w: &mut World, exec: CpuId, r: RebalancePath) -> Flow<Stage> {
        let moved = self.load_balance(w, exec)?;
        let path = &mut self.balance.paths[exec];
        path.rebalance.cont = path.lb.cont;
        if moved > 0 {
            let idle = w.cpus[CpuId((r.cpu as usize) as u32)].idle;
            path.rebalance.idle = if idle { IdleType::Idle } else { IdleType::NotIdle };
        }
        self.sds[CpuId((r.cpu as usize) as u32)][r.level as usize].last_balance = w.jiffies();
        ControlFlow::Continue(if r.serialized { Stage::Unlock } else { Stage::Next })
    }

    fn rebalance_next(&mut self, w: &World, exec: CpuId, r: RebalancePath) {
        let (cpu, level) = (CpuId(r.cpu), r.level as usize);
        let interval = self.sd_interval(w, cpu, level, self.is_busy(w, r));
        let next = self.sds[cpu][level].last_balance + interval;
        let path = &mut self.balance.paths[exec].rebalance;
        path.next_balance = path.next_balance.min(next);
        path.serialized = false;
        path.level += 1;
    }

    fn rebalance_finish(&mut self, w: &mut World, r: RebalancePath) {
        let floor = self.migration_cost_unsigned();
        let rq = &mut self.rqs[CpuId((r.cpu as usize) as u32)];
        if r.need_decay {
            rq.max_idle_balance_cost = r.max_cost.max(floor);
        }
        rq.next_balance = r.next_balance;
        w.disturb(CpuId(r.cpu));
    }
}
