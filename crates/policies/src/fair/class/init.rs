//! The class is fitted to a machine: `sched_init`, and what CPUs look like at boot.

use crate::fair::queue::Discipline;
use crate::fair::state::balance::{BalanceState, domain_of};
use crate::fair::state::shared_queues::{SharedQueues, Swqueue};
use crate::fair::state::steals::Steals;
use crate::fair::state::{Fair, LlcShared, SdState};
use sim_core::World;
use topology::{ChainLink, CpuId, CpuSet};

/// When domains were balanced last before the run, in jiffies. A machine that has been up for
/// minutes and idled has levels that are long overdue: an idle CPU goes no further up than to the
/// level at which it is not the first idle CPU of its group, so most never balance their topmost
/// levels, and without a busy CPU nobody kicks the idle ones.
const LONG_AGO: i64 = -1_000_000;

impl<S: Discipline> Fair<S> {
    /// Fills `sds`, `llcs`, `swqueues` and the balance state. Call it after `rqs`
    /// was filled; CPUs whose tick is stopped at boot enter the nohz mask.
    pub(crate) fn init_balance(&mut self, w: &mut World) {
        let machine = w.machine.clone();
        let now = w.jiffies();
        let sd_state = |link: &ChainLink| SdState {
            balance_interval: u64::from(domain_of(&machine, link).weight()),
            max_newidle_lb_cost: 0,
            last_decay_max_lb_cost: now,
            nr_balance_failed: 0,
            last_balance: LONG_AGO,
            avg_scan_cost: 0,
            newidle_call: 512,
            newidle_success: self.tunables.newidle_ratio / 2,
            newidle_ratio: self.tunables.newidle_ratio,
        };
        self.sds = (machine.domains.chains.iter())
            .map(|chain| chain.iter().map(sd_state).collect())
            .collect();
        // Every core is idle at boot: its CPUs have entered the idle task.
        let has_idle_cores = self.topo.smt;
        // In the kernel nr_idle_scan is 0 until the first periodic balance; a run begins after it.
        let llc = |span: &CpuSet| LlcShared {
            nr_busy_cpus: span.len() as u32,
            has_idle_cores,
            nr_idle_scan: span.first().map_or(0, |c| machine.domains.llc_size[c]),
        };
        self.llcs = machine.llcs.iter().map(llc).collect();
        self.shared = SharedQueues::new(&machine, &self.features, &self.tunables);
        // The name of the locks in profiles.
        let class = if self.features.swqueue { "swqueue" } else { "shard" };
        self.swqueues = (0..self.shared.len).map(|_| Swqueue::new(w.new_lock(class))).collect();
        self.balance = BalanceState::new(&machine, now, w.new_lock("balancing"));
        self.balance.steals = Steals::new(&machine, &self.features);
        // At boot all CPUs idle: those that stop their ticks are in the nohz mask.
        for cpu in (0..machine.n_cpus() as u32).map(CpuId) {
            let stopped = w.cpus[cpu].tick_stopped;
            self.balance_idle_enter(w, cpu, stopped);
        }
    }
}
