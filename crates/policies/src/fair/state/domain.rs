//! What a CPU keeps about each of its scheduling domains, and what an LLC's CPUs share.

use sim_core::{Ns, World};
use topology::{ChainLink, CpuId, Domain};

/// What one CPU keeps about one of its domains; index `[cpu][level]`.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the fields are the kernel's names")]
pub struct SdState {
    /// Milliseconds.
    pub balance_interval: u64,
    pub max_newidle_lb_cost: Ns,
    /// In jiffies.
    pub last_decay_max_lb_cost: u64,
    pub nr_balance_failed: u32,
    /// In jiffies; below zero: before the run.
    pub last_balance: i64,
    pub avg_scan_cost: u64,
    /// NI_RANDOM: newidle calls, successes among them (weighted), and their ratio of 1024.
    pub newidle_call: u32,
    pub newidle_success: u32,
    pub newidle_ratio: u32,
}

impl SdState {
    /// The jiffy at which the domain is balanced next, with this interval in jiffies.
    #[inline]
    pub(crate) fn balanced_next(&self, interval: u64) -> u64 {
        self.last_balance.saturating_add_unsigned(interval).max(0) as u64
    }

    /// `update_newidle_stats`
    pub(crate) fn count_newidle(&mut self, success: u32) {
        self.newidle_call += 1;
        self.newidle_success += success;
        if self.newidle_call >= 1024 {
            self.newidle_ratio = self.newidle_success;
            self.newidle_call /= 2;
            self.newidle_success /= 2;
        }
    }

    /// `update_newidle_cost`: true if the cost was decayed.
    pub(crate) fn update_newidle_cost(&mut self, cost: Ns, jiffies: u64, hz: u32) -> bool {
        if cost > self.max_newidle_lb_cost {
            self.max_newidle_lb_cost = cost;
            self.last_decay_max_lb_cost = jiffies;
        } else if jiffies > self.last_decay_max_lb_cost + u64::from(hz) {
            self.max_newidle_lb_cost = self.max_newidle_lb_cost * 253 / 256;
            self.last_decay_max_lb_cost = jiffies;
            return true;
        }
        false
    }
}

/// `sd_llc_shared`. Indexed by the machine's LLC number.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the fields are the kernel's names")]
pub struct LlcShared {
    pub nr_busy_cpus: u32,
    pub has_idle_cores: bool,
    pub nr_idle_scan: u32,
}

/// The domain at `level` of `cpu`'s chain, and the index of the CPU's own group in it.
#[inline]
pub(crate) fn domain_at(w: &World, cpu: CpuId, level: usize) -> Option<(&Domain, ChainLink)> {
    let domains = &w.machine.domains;
    let link = *domains.chains[cpu].get(level)?;
    Some((&domains.domains[link.domain], link))
}
