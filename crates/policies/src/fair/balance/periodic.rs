//! Periodic balance: `rebalance_domains`, for this CPU or, in nohz-idle balance, for
//! another.

use crate::fair::queue::Discipline;
use crate::fair::state::domain::domain_at;
use crate::fair::state::lb_env::BalanceCall;
use crate::fair::state::path::{Flow, RebalancePath, RebalanceStage};
use crate::fair::state::{Fair, reasons, sites};
use sim_core::{IdleType, Step, World};
use std::ops::ControlFlow;
use topology::{CpuId, SdFlags};

impl<S: Discipline> Fair<S> {
    /// Prepares `rebalance_domains(cpu, idle)`, to be executed by `exec`.
    pub(crate) fn rebalance_begin(&mut self, w: &World, exec: CpuId, cpu: CpuId, idle: IdleType) {
        self.balance.paths[exec].rebalance = RebalancePath {
            cpu: cpu.0,
            idle,
            continue_balancing: true,
            next_balance: w.jiffies() + 60 * u64::from(w.machine.hz),
            ..RebalancePath::default()
        };
    }

    /// Goes on with `rebalance_domains`. The path stays where it is, and its fields are read one by
    /// one: a copy made right after one of them was written would wait for the write.
    pub(crate) fn rebalance_domains(&mut self, w: &mut World, exec: CpuId) -> Flow<()> {
        loop {
            let r = &self.balance.paths[exec].rebalance;
            let (step, next) = match r.stage {
                RebalanceStage::Level => self.rebalance_level(w, exec),
                RebalanceStage::Tried if w.cpus[exec].trylock_ok => {
                    (None, self.rebalance_start(w, exec, true))
                }
                // `balancing` is taken: this level waits for its next interval, not for the lock.
                RebalanceStage::Tried => {
                    if r.idle != IdleType::NotIdle {
                        w.note_sought(CpuId(r.cpu), r.level as usize, reasons::SERIALIZED);
                    }
                    (None, RebalanceStage::Next)
                }
                RebalanceStage::Balance => (None, self.rebalance_balance(w, exec)?),
                RebalanceStage::Unlock => {
                    (self.balance.serialize.map(Step::Unlock), RebalanceStage::Next)
                }
                RebalanceStage::Next => {
                    self.rebalance_next(w, exec);
                    (None, RebalanceStage::Level)
                }
                RebalanceStage::Done => {
                    self.rebalance_finish(w, exec);
                    return ControlFlow::Continue(());
                }
            };
            self.balance.paths[exec].rebalance.stage = next;
            if let Some(step) = step {
                return ControlFlow::Break(step);
            }
        }
    }

    fn rebalance_level(&mut self, w: &mut World, exec: CpuId) -> (Option<Step>, RebalanceStage) {
        let r = &self.balance.paths[exec].rebalance;
        let cpu = CpuId(r.cpu);
        let level = r.level as usize;
        let idle = r.idle;
        let Some((d, _)) = domain_at(w, cpu, level) else {
            return (None, RebalanceStage::Done);
        };
        let jiffies = w.jiffies();
        let hz = w.machine.hz;
        let sd = &mut self.sds[cpu][level];
        let decayed = sd.update_newidle_cost(0, jiffies, hz);
        let cost = sd.max_newidle_lb_cost;
        let path = &mut self.balance.paths[exec].rebalance;
        path.need_decay = decayed;
        path.max_cost += cost;
        if !path.continue_balancing {
            // Only the decay of the upper levels goes on, as long as they decay.
            path.level += 1;
            return (None, if decayed { RebalanceStage::Level } else { RebalanceStage::Done });
        }
        let busy = self.is_busy(w, cpu, idle);
        let interval = self.sd_interval(w, cpu, level, busy);
        let due = jiffies >= self.sds[cpu][level].balanced_next(interval);
        if !due {
            return (None, RebalanceStage::Next);
        }
        match self.balance.serialize {
            Some(lock) if d.flags.has(SdFlags::SERIALIZE) => {
                let step = Step::TryLock(lock, sites::BALANCE_SERIALIZE);
                (Some(step), RebalanceStage::Tried)
            }
            _ => (None, self.rebalance_start(w, exec, false)),
        }
    }

    /// A CPU that runs SCHED_IDLE tasks only looks for work as often as an idle one.
    fn is_busy(&self, w: &World, cpu: CpuId, idle: IdleType) -> bool {
        idle != IdleType::Idle && !self.sched_idle_cpu(w, cpu)
    }

    fn rebalance_start(&mut self, w: &mut World, exec: CpuId, locked: bool) -> RebalanceStage {
        let r = &mut self.balance.paths[exec].rebalance;
        r.serialized = locked;
        let call = BalanceCall { cpu: CpuId(r.cpu), level: r.level as usize, idle: r.idle };
        self.lb_start(w, exec, call);
        RebalanceStage::Balance
    }

    fn rebalance_balance(&mut self, w: &mut World, exec: CpuId) -> Flow<RebalanceStage> {
        let moved = self.load_balance(w, exec)?;
        let path = &mut self.balance.paths[exec];
        let r = &mut path.rebalance;
        r.continue_balancing = path.lb.continue_balancing;
        // LBF_DST_PINNED may have moved the tasks to another CPU, so whether this one idles is read
        // anew.
        if moved > 0 {
            let idle = w.cpus[CpuId(r.cpu)].idle;
            r.idle = if idle { IdleType::Idle } else { IdleType::NotIdle };
        }
        self.sds[CpuId(r.cpu)][r.level as usize].last_balance = w.jiffies() as i64;
        ControlFlow::Continue(if r.serialized {
            RebalanceStage::Unlock
        } else {
            RebalanceStage::Next
        })
    }

    fn rebalance_next(&mut self, w: &World, exec: CpuId) {
        let r = &self.balance.paths[exec].rebalance;
        let cpu = CpuId(r.cpu);
        let level = r.level as usize;
        // The interval by what the CPU is now: the pass may have given it a task.
        let interval = self.sd_interval(w, cpu, level, self.is_busy(w, cpu, r.idle));
        let next = self.sds[cpu][level].balanced_next(interval);
        let path = &mut self.balance.paths[exec].rebalance;
        path.next_balance = path.next_balance.min(next);
        path.serialized = false;
        path.level += 1;
    }

    fn rebalance_finish(&mut self, w: &mut World, exec: CpuId) {
        let floor = self.migration_cost_unsigned();
        let r = &self.balance.paths[exec].rebalance;
        let rq = &mut self.rqs[CpuId(r.cpu)];
        // As the levels' costs decay, so does the bound that `avg_idle` is capped by.
        if r.need_decay {
            rq.max_idle_balance_cost = r.max_cost.max(floor);
        }
        rq.next_balance = r.next_balance;
        // Turns that run ahead end at `next_balance`, which has just changed.
        w.disturb(CpuId(r.cpu));
    }
}
