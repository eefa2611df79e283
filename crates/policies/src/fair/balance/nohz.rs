//! NO_HZ idle balance: one idle CPU balances for all whose tick is stopped.
//!
//! In the kernel each tick of a busy CPU asks whether to kick. Ticks are computed here, so the
//! question is asked once per due edge by one global timer: the kicker is the lowest-numbered busy
//! CPU that would have kicked. The timer is off while no CPU is in the mask or all are, so an
//! idle machine makes no events.

use crate::fair::queue::Discipline;
use crate::fair::state::Fair;
use crate::fair::state::path::{BlockedStage, Flow, IlbPath, IlbStage};
use sim_core::{IdleType, NEVER, Ns, World};
use std::ops::ControlFlow;
use topology::CpuId;

/// NOHZ_STATS_KICK: blocked load is to be updated.
pub(crate) const STATS: u8 = 1;
/// NOHZ_BALANCE_KICK: balance too.
pub(crate) const BALANCE: u8 = 2;
/// NOHZ_NEXT_KICK: `next_balance` is to be recomputed.
pub(crate) const NEXT: u8 = 4;
/// NOHZ_NEWILB_KICK: a CPU asked itself for STATS before going idle.
pub(crate) const NEWILB: u8 = 8;

/// LOAD_AVG_PERIOD, ms: how often blocked load is updated.
const BLOCKED_PERIOD_MS: u64 = 32;

impl<S: Discipline> Fair<S> {
    /// `cpu` sleeps in the idle loop (`nohz_balance_enter_idle`, and what newidle asked for).
    pub(crate) fn balance_idle_enter(&mut self, w: &mut World, cpu: CpuId, stops_tick: bool) {
        let path = &mut self.balance.paths[cpu];
        if path.ilb.pending & NEWILB != 0 {
            path.ilb.pending &= !NEWILB;
            // Without another kick on its way the CPU serves its own request before it sleeps.
            if path.ilb.pending == 0 && !w.cpus[cpu].need_resched {
                path.ilb.granted |= STATS;
                path.idle_at_tick = true;
                self.raise_softirq(w, cpu);
            }
        }
        if !stops_tick {
            return;
        }
        let nohz = &mut self.balance.nohz;
        let Some(rq) = self.rqs.at_mut(cpu) else {
            return;
        };
        // A CPU without ticks cannot let its own averages decay.
        nohz.has_blocked = true;
        if !rq.nohz_idle {
            rq.nohz_idle = true;
            nohz.idle_cpus_mask.insert(cpu);
            nohz.nr_cpus += 1;
            nohz.needs_update = true;
            self.llcs[w.machine.cpus[cpu].llc as usize].nr_busy_cpus -= 1;
        }
        let now = w.now;
        self.nohz_arm(w, now);
    }

    /// `nohz_balance_exit_idle`: the first busy tick after idle.
    pub(crate) fn nohz_exit_idle(&mut self, w: &mut World, cpu: CpuId) {
        self.rqs[cpu].nohz_idle = false;
        let nohz = &mut self.balance.nohz;
        nohz.idle_cpus_mask.remove(cpu);
        nohz.nr_cpus -= 1;
        self.llcs[w.machine.cpus[cpu].llc as usize].nr_busy_cpus += 1;
        // This very tick may kick.
        let now = w.now;
        self.nohz_arm(w, now);
    }

    /// `nohz_newidle_balance`.
    pub(crate) fn nohz_newidle_balance(&mut self, w: &World, cpu: CpuId) {
        let nohz = &self.balance.nohz;
        // A CPU that will idle for a moment only leaves the update to others.
        let long_enough = self.rqs[cpu].avg_idle >= self.migration_cost_unsigned();
        if long_enough && nohz.has_blocked && w.jiffies() >= nohz.next_blocked {
            self.balance.paths[cpu].ilb.pending |= NEWILB;
        }
    }

    /// The tunable as the kernel's unsigned variable holds it: -1 is the largest value.
    pub(crate) fn migration_cost_unsigned(&self) -> u64 {
        match u64::try_from(self.tunables.migration_cost_ns) {
            Ok(cost) => cost,
            // `sysctl_sched_migration_cost` is an unsigned int.
            Err(_) => u64::from(u32::MAX),
        }
    }

    /// Sets the timer to the first tick edge, not before `from`, at which a busy CPU may kick.
    fn nohz_arm(&mut self, w: &mut World, from: Ns) {
        let n_cpus = self.rqs.len() as u32;
        let nohz = &mut self.balance.nohz;
        // No CPU to kick, or no busy CPU that would.
        if nohz.nr_cpus == 0 || nohz.nr_cpus == n_cpus {
            if nohz.timer_at != NEVER {
                nohz.timer_at = NEVER;
                self.set_policy_timer(w);
            }
            return;
        }
        let mut due = nohz.next_balance;
        if nohz.has_blocked {
            // `time_after`: later than that jiffy.
            due = due.min(nohz.next_blocked + 1);
        }
        if nohz.needs_update {
            due = 0;
        }
        let tick = w.tick_ns();
        let at = due.max(from.div_ceil(tick)) * tick;
        if at != nohz.timer_at {
            nohz.timer_at = at;
            self.set_policy_timer(w);
        }
    }

    /// `Policy::policy_timer`: `nohz_balancer_kick` on behalf of every busy CPU of this edge.
    pub(crate) fn nohz_timer(&mut self, w: &mut World) {
        let jiffies = w.jiffies();
        self.balance.nohz.timer_at = NEVER;
        self.set_policy_timer(w);
        if let Some((kicker, flags)) = self.nohz_kicker(w, jiffies) {
            self.kick_ilb(w, kicker, flags, jiffies);
        }
        let next_edge = (jiffies + 1) * w.tick_ns();
        self.nohz_arm(w, next_edge);
    }

    /// The CPU that kicks at this edge, and for what. CPUs still in the mask leave it at their own
    /// tick, and the timer is then set again for the same edge.
    fn nohz_kicker(&self, w: &World, jiffies: u64) -> Option<(CpuId, u8)> {
        let nohz = &self.balance.nohz;
        let mut lesser = 0;
        if nohz.has_blocked && jiffies > nohz.next_blocked {
            lesser |= STATS;
        }
        if nohz.needs_update {
            lesser |= NEXT;
        }
        let balance = jiffies >= nohz.next_balance;
        if lesser == 0 && !balance {
            return None;
        }
        let n_cpus = self.rqs.len() as u32;
        let mut lowest = None;
        for (i, word) in nohz.idle_cpus_mask.words().iter().enumerate() {
            // 64 CPUs at a time. A CPU in the mask is idle, or leaves it at its next tick.
            let mut busy = !word;
            while busy != 0 {
                let cpu = CpuId(i as u32 * 64 + busy.trailing_zeros());
                busy &= busy - 1;
                if cpu.0 >= n_cpus {
                    break;
                }
                let c = &w.cpus[cpu];
                // Idle, with its tick still on.
                if c.idle {
                    continue;
                }
                let llc = w.machine.cpus[cpu].llc as usize;
                if balance && (c.nr_running >= 2 || self.llcs[llc].nr_busy_cpus > 1) {
                    return Some((cpu, lesser | BALANCE | STATS));
                }
                lowest = lowest.or(Some(cpu));
                if !balance {
                    return lowest.map(|cpu| (cpu, lesser));
                }
            }
        }
        lowest.filter(|_| lesser != 0).map(|cpu| (cpu, lesser))
    }

    /// `kick_ilb`: the lowest idle CPU of the mask, if it is not kicked already.
    fn kick_ilb(&mut self, w: &mut World, kicker: CpuId, flags: u8, jiffies: u64) {
        if flags & BALANCE != 0 {
            // So that no other CPU kicks in this jiffy.
            self.balance.nohz.next_balance = jiffies + 1;
        }
        let idle = |c: &CpuId| *c != kicker && w.cpus[*c].idle;
        let Some(ilb) = self.balance.nohz.idle_cpus_mask.iter().find(idle) else {
            return;
        };
        let pending = &mut self.balance.paths[ilb].ilb.pending;
        // An interrupt that is under way will find the new flags, too.
        let kicked = *pending & (STATS | BALANCE | NEXT) != 0;
        *pending |= flags;
        if !kicked {
            // The timer fires on no CPU: the one that kicks pays for the interrupt.
            let this = std::mem::replace(&mut w.this, kicker);
            w.kick_nohz(ilb);
            w.this = this;
        }
    }

    /// `nohz_csd_func`: the kick has arrived. Before v6.13 a CPU that is about to reschedule drops
    /// it, and that is each one that polls, since the kick has set its flag: it balances for itself
    /// only, as it goes idle anew.
    pub(crate) fn nohz_kicked(&mut self, w: &mut World, cpu: CpuId) {
        let path = &mut self.balance.paths[cpu];
        let flags = std::mem::take(&mut path.ilb.pending);
        path.idle_at_tick = w.cpus[cpu].idle;
        let drops = !self.discipline.kernel().keeps_nohz_kick && w.cpus[cpu].need_resched;
        if path.idle_at_tick && !drops {
            path.ilb.granted = flags;
            self.raise_softirq(w, cpu);
        }
    }

    pub(crate) fn ilb_begin(&mut self, w: &World, exec: CpuId, flags: u8) {
        let nohz = &mut self.balance.nohz;
        // Cleared before the walk, so that a CPU that goes idle meanwhile sets it again.
        if flags & STATS != 0 {
            nohz.has_blocked = false;
        }
        if flags & NEXT != 0 {
            nohz.needs_update = false;
        }
        let path = &mut self.balance.paths[exec];
        path.blocked = BlockedStage::default();
        path.ilb = IlbPath {
            pending: path.ilb.pending,
            flags,
            // Later than the time of any CPU.
            next_balance: w.jiffies() + 60 * u64::from(w.machine.hz),
            ..IlbPath::default()
        };
    }

    /// `_nohz_idle_balance`: every idle CPU of the mask, the balancer itself last.
    pub(crate) fn nohz_idle_balance(&mut self, w: &mut World, exec: CpuId) -> Flow<()> {
        let n = self.rqs.len() as u32;
        loop {
            let ilb = self.balance.paths[exec].ilb;
            let target = CpuId((exec.0 + 1 + ilb.n_passed) % n);
            let next = match ilb.stage {
                IlbStage::Next if ilb.n_passed == n => {
                    self.ilb_end(w, ilb);
                    return ControlFlow::Continue(());
                }
                IlbStage::Next if !self.ilb_wants(w, target) => {
                    let skips = self.ilb_skips(w, target, n - ilb.n_passed);
                    self.balance.paths[exec].ilb.n_passed += skips;
                    IlbStage::Next
                }
                // The balancer has a task to run: the rest is asked for again.
                IlbStage::Next if self.has_other_work(w, exec) => {
                    self.ilb_abort(w, ilb);
                    return ControlFlow::Continue(());
                }
                IlbStage::Next => {
                    w.look_at_rq(target);
                    w.charge(w.machine.costs.scan_cpu_ns);
                    self.ilb_stats_stage(w, exec, ilb, target)
                }
                IlbStage::Blocked => {
                    self.update_blocked(w, exec, target)?;
                    let left = self.has_blocked_load(target);
                    self.balance.paths[exec].ilb.has_blocked |= left;
                    IlbStage::Look
                }
                IlbStage::Look => {
                    let due = w.jiffies() >= self.rqs[target].next_balance;
                    if due && ilb.flags & BALANCE != 0 {
                        self.rebalance_begin(w, exec, target, IdleType::Idle);
                        IlbStage::Rebalance
                    } else {
                        IlbStage::Passed
                    }
                }
                IlbStage::Rebalance => {
                    self.rebalance_domains(w, exec)?;
                    IlbStage::Passed
                }
                IlbStage::Passed => {
                    let next = self.rqs[target].next_balance;
                    let path = &mut self.balance.paths[exec].ilb;
                    path.update_next_balance |= next < path.next_balance;
                    path.next_balance = path.next_balance.min(next);
                    path.n_passed += 1;
                    IlbStage::Next
                }
            };
            self.balance.paths[exec].ilb.stage = next;
        }
    }

    /// Since v6.13 a flag alone does not count: the kick itself may have set it.
    fn has_other_work(&self, w: &World, exec: CpuId) -> bool {
        let c = &w.cpus[exec];
        c.need_resched && !(self.discipline.kernel().keeps_nohz_kick && c.idle)
    }

    pub(super) fn ilb_wants(&self, w: &World, target: CpuId) -> bool {
        self.rqs[target].nohz_idle && w.cpus[target].idle
    }

    /// How many of the next `n_left` CPUs are not wanted, from `target` on, which is not.
    pub(super) fn ilb_skips(&self, w: &World, target: CpuId, n_left: u32) -> u32 {
        let next = |from| self.balance.nohz.idle_cpus_mask.next_common(&w.idle_cpus, from);
        let n = self.rqs.len() as u32;
        let ahead = next(target.idx()).map(|cpu| cpu.0 - target.0);
        let skips = ahead.or_else(|| next(0).map(|cpu| cpu.0 + n - target.0));
        skips.unwrap_or(n_left).min(n_left)
    }

    /// `update_nohz_stats`: nothing to do without blocked load, or twice in one jiffy.
    fn ilb_stats_stage(&mut self, w: &World, exec: CpuId, ilb: IlbPath, target: CpuId) -> IlbStage {
        if ilb.flags & STATS == 0 || !self.has_blocked_load(target) {
            return IlbStage::Look;
        }
        // Updated in this jiffy already: it is left for the next walk.
        if w.jiffies() <= self.balance.paths[target].blocked_tick {
            self.balance.paths[exec].ilb.has_blocked = true;
            return IlbStage::Look;
        }
        IlbStage::Blocked
    }

    pub(crate) fn has_blocked_load(&self, cpu: CpuId) -> bool {
        let avg = &self.rqs[cpu].avg;
        let mut leaves = S::leaf_averages(self, cpu);
        avg.load_avg | avg.runnable_avg | avg.util_avg != 0
            || leaves.any(|avg| avg.load_avg | avg.util_avg != 0)
    }

    fn ilb_end(&mut self, w: &mut World, ilb: IlbPath) {
        let period = (BLOCKED_PERIOD_MS * u64::from(w.machine.hz)).div_ceil(1000);
        let nohz = &mut self.balance.nohz;
        if ilb.update_next_balance {
            nohz.next_balance = ilb.next_balance;
        }
        if ilb.flags & STATS != 0 {
            nohz.next_blocked = w.jiffies() + period;
        }
        nohz.has_blocked |= ilb.has_blocked;
        let from = w.now + 1;
        self.nohz_arm(w, from);
    }

    fn ilb_abort(&mut self, w: &mut World, ilb: IlbPath) {
        let nohz = &mut self.balance.nohz;
        nohz.has_blocked |= ilb.has_blocked || ilb.flags & STATS != 0;
        nohz.needs_update |= ilb.flags & NEXT != 0;
        let from = w.now + 1;
        self.nohz_arm(w, from);
    }
}
