//! The balance softirq, and what a tick and a wake-up contribute to it.

use crate::fair::queue::Discipline;
use crate::fair::state::path::{BlockedStage, Flow, SoftirqWork};
use crate::fair::state::{Fair, sites};
use sim_core::{IdleType, LockId, Ns, Policy, Step, World};
use std::ops::ControlFlow;
use topology::CpuId;

impl<S: Discipline> Fair<S> {
    /// The part of `scheduler_tick` that belongs to balancing: raises the softirq
    /// if balance is due; at the first busy tick the CPU leaves the nohz mask.
    #[inline]
    pub(crate) fn balance_tick(&mut self, w: &mut World, cpu: CpuId) {
        let idle = w.cpus[cpu].idle;
        self.balance.paths[cpu].idle_at_tick = idle;
        if w.jiffies() >= self.rqs[cpu].next_balance {
            self.raise_softirq(w, cpu);
        }
        // The first tick while busy takes the CPU out of the mask.
        if self.rqs[cpu].nohz_idle && !idle {
            self.nohz_exit_idle(w, cpu);
        }
    }

    /// SCHED_SOFTIRQ on the executing CPU.
    pub(super) fn raise_softirq(&mut self, w: &mut World, cpu: CpuId) {
        self.balance.paths[cpu].has_raised = true;
        w.raise_softirq(cpu);
    }

    /// The earliest tick edge of `cpu` at which balancing may do something (see
    /// `Policy::next_deciding_tick`).
    #[inline]
    pub(crate) fn deciding_tick(&self, w: &World, cpu: CpuId) -> Ns {
        let c = &w.cpus[cpu];
        let rq = &self.rqs[cpu];
        if rq.nohz_idle {
            return c.tick_next;
        }
        let due = rq.next_balance.saturating_mul(w.tick_ns());
        // Staggered ticks: a CPU's edges come later than those of CPU 0.
        let skew = match w.machine.tick_skew_ns {
            0 => 0,
            skew => skew * u64::from(cpu.0) % w.tick_ns(),
        };
        c.tick_next.max(due.saturating_add(skew))
    }

    /// The scheduler softirq of `cpu`: a nohz request comes first and, if served, is
    /// all.
    pub(crate) fn softirq_step(&mut self, w: &mut World, cpu: CpuId, first: bool) -> Step {
        if first {
            let path = &mut self.balance.paths[cpu];
            let idle = path.idle_at_tick;
            let request = std::mem::take(&mut path.ilb.granted);
            path.blocked = BlockedStage::default();
            path.softirq = SoftirqWork::Blocked;
            // Only a CPU that still idles balances for others; if it does, that includes itself.
            if request != 0 && idle {
                path.softirq = SoftirqWork::Ilb;
                self.ilb_begin(w, cpu, request);
            }
        }
        match self.softirq_run(w, cpu) {
            ControlFlow::Break(step) => step,
            ControlFlow::Continue(()) => Step::Done,
        }
    }

    fn softirq_run(&mut self, w: &mut World, cpu: CpuId) -> Flow<()> {
        // `run_rebalance_domains` updates the averages before it balances.
        if self.balance.paths[cpu].softirq == SoftirqWork::Blocked {
            self.update_blocked(w, cpu, cpu)?;
            let path = &mut self.balance.paths[cpu];
            path.softirq = SoftirqWork::Rebalance;
            let idle = if path.idle_at_tick { IdleType::Idle } else { IdleType::NotIdle };
            self.rebalance_begin(w, cpu, cpu, idle);
        }
        match self.balance.paths[cpu].softirq {
            SoftirqWork::Ilb => self.nohz_idle_balance(w, cpu),
            _ => self.rebalance_domains(w, cpu),
        }
    }

    /// `update_blocked_averages` of `target` by `exec`, in a softirq: interrupts are off while the
    /// runqueue lock is held, or a tick of this CPU would wait for itself.
    pub(crate) fn update_blocked(&mut self, w: &mut World, exec: CpuId, target: CpuId) -> Flow<()> {
        use BlockedStage as S;
        let stage = self.balance.paths[exec].blocked;
        let site = sites::PERIODIC_RQ_LOCK;
        let (step, next) = match stage {
            S::IrqOff => (Step::IrqOff, S::Lock),
            S::Lock => (Step::Lock(LockId::rq(target), site), S::Spend),
            S::Spend => {
                self.update_rq_clock(w, target);
                (Step::Spend(self.blocked_ns(w, target)), S::Update)
            }
            S::Update => {
                self.catch_up(w, target);
                self.update_blocked_averages(w, target);
                self.balance.paths[target].blocked_tick = w.jiffies();
                (Step::Unlock(LockId::rq(target)), S::IrqOn)
            }
            S::IrqOn => (Step::IrqOn, S::Done),
            S::Done => {
                self.balance.paths[exec].blocked = S::IrqOff;
                return ControlFlow::Continue(());
            }
        };
        self.balance.paths[exec].blocked = next;
        ControlFlow::Break(step)
    }

    /// `get_sd_balance_interval` of one of a CPU's domains, jiffies.
    #[inline]
    pub(crate) fn sd_interval(&self, w: &World, cpu: CpuId, level: usize, busy: bool) -> u64 {
        let ms = self.sds[cpu][level].balance_interval;
        sd_balance_interval(ms, busy, w.machine.hz, self.balance.max_interval)
    }
}

/// `get_sd_balance_interval`: milliseconds to jiffies, times 16 while busy.
pub(crate) fn sd_balance_interval(ms: u64, busy: bool, hz: u32, max: u64) -> u64 {
    const BUSY_FACTOR: u64 = 16;
    let to_jiffies = |ms: u64| (ms * u64::from(hz)).div_ceil(1000);
    let interval =
        // One less, so that the intervals of the levels are not multiples of each other.
        if busy { to_jiffies(ms * BUSY_FACTOR).saturating_sub(1) } else { to_jiffies(ms) };
    interval.clamp(1, max)
}
