//! Statistics of a domain's groups (spec 8.6.2, 8.6.3): one pass over its CPUs, no allocation.
//!
//! All values of other CPUs are as of the last update of their runqueues (spec 2.7); the pass first
//! lets each CPU replay the ticks that were only computed, so that "last update" means what it
//! means in a kernel where each tick really happens.

use super::IdleType;
use super::pass::LoadBalance;
use crate::fair::state::{Fair, FairRq};
use crate::fair::{Discipline, Rules};
use sim_core::{Policy, World};
use topology::{CpuId, DomainId, Group};

/// `enum group_type`, ascending pull priority.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) enum GroupType {
    #[default]
    HasSpare,
    FullyBusy,
    /// Since v6.6: a core with several tasks (`group_smt_balance`).
    SmtBalance,
    Imbalanced,
    Overloaded,
}

/// `struct sg_lb_stats`.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct GroupStats {
    pub load: u64,
    pub util: u64,
    pub runnable: u64,
    pub h_nr: u32,
    pub nr: u32,
    pub idle_cpus: u32,
    pub weight: u32,
    pub capacity: u64,
    pub avg_load: u64,
    pub kind: GroupType,
    /// Since v6.6: a core with several tasks, seen by an idle CPU.
    pub smt_balance: bool,
}

impl GroupStats {
    pub(crate) fn of_weight(weight: u32) -> Self {
        Self { weight, capacity: 1024 * u64::from(weight), ..Self::default() }
    }
}

/// `struct sd_lb_stats`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DomainStats {
    pub local: GroupStats,
    /// Group index and its statistics.
    pub busiest: Option<(u32, GroupStats)>,
    pub total_load: u64,
    pub total_capacity: u64,
    pub sum_util: u64,
    /// Some CPU has more than one task.
    pub overload: bool,
}

/// `group_is_overloaded`, `sg_imbalanced`, `group_has_capacity` in the order of spec 8.6.3.
pub(crate) fn group_classify(pct: u32, g: &GroupStats, imbalanced: bool) -> GroupType {
    let pct = u64::from(pct);
    let starved = g.capacity * pct < g.runnable * 100;
    if g.nr > g.weight && (g.capacity * 100 < g.util * pct || starved) {
        GroupType::Overloaded
    } else if imbalanced {
        GroupType::Imbalanced
    } else if g.smt_balance {
        GroupType::SmtBalance
    } else if g.nr < g.weight || (!starved && g.capacity * 100 > g.util * pct) {
        GroupType::HasSpare
    } else {
        GroupType::FullyBusy
    }
}

/// `update_sd_pick_busiest`: is `g` a better source than the best so far?
pub(crate) fn is_busier(g: &GroupStats, best: Option<&GroupStats>) -> bool {
    if g.h_nr == 0 {
        return false;
    }
    let Some(best) = best else {
        // The initial candidate is an empty has_spare group with endless idle CPUs; a fully busy or
        // overloaded group beats it by type.
        return true;
    };
    if g.kind != best.kind {
        return g.kind > best.kind;
    }
    match g.kind {
        GroupType::Overloaded | GroupType::FullyBusy | GroupType::SmtBalance => {
            g.avg_load > best.avg_load
        }
        GroupType::Imbalanced => false,
        GroupType::HasSpare => {
            g.idle_cpus < best.idle_cpus || (g.idle_cpus == best.idle_cpus && g.nr > best.nr)
        }
    }
}

impl<S: Discipline> Fair<S> {
    /// Replays the computed ticks of all CPUs of a domain.
    pub(crate) fn catch_up_domain(&mut self, w: &mut World, domain: DomainId) {
        if w.now < self.balance.caught_up_to[domain.0 as usize] {
            return;
        }
        let n = w.machine.domains.domains[domain.0 as usize].cpus.len();
        for i in 0..n {
            let cpu = w.machine.domains.domains[domain.0 as usize].cpus[i];
            if w.cpus[cpu.idx()].tick_next <= w.now {
                self.catch_up(w, cpu);
            }
        }
        // A CPU whose path delays its tick takes it by itself when the path ends, so nothing is
        // missed until the next edge; with staggered ticks that comes too soon to be worth it.
        if w.machine.tick_skew_ns == 0 {
            self.balance.caught_up_to[domain.0 as usize] = (w.jiffies() + 1) * w.tick_ns();
        }
    }

    /// The tasks that statistics count on a runqueue (spec 4.6): since v6.18 without those that
    /// sleep there.
    #[inline]
    pub(crate) fn nr_to_balance(&self, rq: &FairRq<S::Queue>) -> u32 {
        if self.discipline.rules() >= Rules::V6_18_2 { rq.h_nr_runnable() } else { rq.h_nr_running }
    }

    fn update_sg_lb_stats(
        &self,
        w: &World,
        group: &Group,
        removed: &[CpuId],
        overload: &mut bool,
    ) -> GroupStats {
        let mut g = GroupStats::of_weight(group.cpus.len() as u32);
        let mut add = |cpu: CpuId| {
            let (c, rq) = (&w.cpus[cpu.idx()], &self.rqs[cpu.idx()]);
            g.load += rq.avg.load_avg;
            g.util += self.rq_util(rq);
            g.runnable += rq.avg.runnable_avg;
            g.h_nr += self.nr_to_balance(rq);
            g.nr += c.nr_running;
            *overload |= c.nr_running > 1;
            g.idle_cpus += u32::from(c.idle);
        };
        if removed.is_empty() {
            group.cpus.iter().for_each(|cpu| add(*cpu));
        } else {
            group.cpus.iter().filter(|cpu| !removed.contains(cpu)).for_each(|cpu| add(*cpu));
        }
        g
    }

    /// `update_sd_lb_stats` for the pass `lb`.
    pub(crate) fn update_sd_lb_stats(
        &self,
        w: &World,
        lb: &LoadBalance,
        removed: &[CpuId],
    ) -> DomainStats {
        let id = lb.domain.0 as usize;
        let d = &w.machine.domains.domains[id];
        let mut s = DomainStats {
            local: GroupStats::default(),
            busiest: None,
            total_load: 0,
            total_capacity: 0,
            sum_util: 0,
            overload: false,
        };
        let n = d.groups.len();
        let ring = (lb.own_group as usize..n).chain(0..lb.own_group as usize);
        for i in ring {
            let mut g = self.update_sg_lb_stats(w, &d.groups[i], removed, &mut s.overload);
            s.total_load += g.load;
            s.total_capacity += g.capacity;
            s.sum_util += g.util;
            let local = i == lb.own_group as usize;
            if g.h_nr == 0 && !local {
                // Nothing to take there.
                continue;
            }
            if self.discipline.rules() >= Rules::V6_6 && !local {
                g.smt_balance = lb.idle != IdleType::NotIdle && d.groups[i].smt && g.h_nr > 1;
            }
            g.kind = group_classify(d.imbalance_pct, &g, self.balance.imbalanced[id][i]);
            if g.kind == GroupType::Overloaded {
                g.avg_load = g.load * 1024 / g.capacity;
            }
            if local {
                s.local = g;
            } else if is_busier(&g, s.busiest.as_ref().map(|(_, best)| best)) {
                s.busiest = Some((i as u32, g));
            }
        }
        s
    }
}
