//! Decisions of a balance pass: whether to balance, from which group, how
//! much of what, and from which queue. Pure functions over the statistics, and the two methods that
//! feed them.

use super::stats::{DomainStats, GroupStats, GroupType};
use crate::fair::queue::Discipline;
use crate::fair::state::domain::domain_at;
use crate::fair::state::lb_env::{LoadBalance, MigrationType};
use crate::fair::state::{Fair, KernelRules, reasons};
use sim_core::{IdleType, Reason, World};
use topology::{CpuId, Domain, SdFlags};

/// What the decision needs to know of the domain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DomainFacts {
    pub imbalance_pct: u32,
    /// The child domain exists and has PREFER_SIBLING.
    pub prefer_sibling: bool,
    pub share_llc: bool,
    pub numa: bool,
    pub imb_numa_nr: u32,
    /// What differs between kernels.
    pub kernel: &'static KernelRules,
    /// Cores of the local and the busiest group, if siblings are balanced by them (since v6.6).
    pub cores: Option<(u32, u32)>,
}

/// NUMA_IMBALANCE_MIN: an imbalance that is always tolerated between lightly loaded nodes.
pub(crate) const NUMA_IMBALANCE_MIN: i64 = 2;

/// `find_busiest_group` after the statistics: the kind and amount to move, or the rule by
/// which the domain is balanced.
pub(crate) fn find_busiest_group(
    s: &DomainStats,
    d: &DomainFacts,
    idle: IdleType,
) -> Result<(MigrationType, i64), &'static Reason> {
    let (_, busiest) = s.busiest.as_ref().ok_or(reasons::NO_BUSIEST)?;
    out_of_balance(s, &s.local, busiest, d, idle)?;
    let (migration_type, amount) = calculate_imbalance(s, &s.local, busiest, d, idle);
    if amount > 0 { Ok((migration_type, amount)) } else { Err(reasons::NO_IMBALANCE) }
}

fn out_of_balance(
    s: &DomainStats,
    local: &GroupStats,
    busiest: &GroupStats,
    d: &DomainFacts,
    idle: IdleType,
) -> Result<(), &'static Reason> {
    // Affinity has kept a level below from balancing: anything that can be moved helps.
    if busiest.group_type == GroupType::Imbalanced {
        return Ok(());
    }
    if local.group_type > busiest.group_type {
        return Err(reasons::LOCAL_BUSIER);
    }
    if local.group_type == GroupType::Overloaded {
        let avg = s.total_load * 1024 / s.total_capacity;
        if local.avg_load >= busiest.avg_load || local.avg_load >= avg {
            return Err(reasons::LOCAL_BUSIER);
        }
        if 100 * busiest.avg_load <= u64::from(d.imbalance_pct) * local.avg_load {
            return Err(reasons::WITHIN_PCT);
        }
    }
    // SD_PREFER_SIBLING: tasks are spread over the groups even if none of them waits.
    let sibling = d.prefer_sibling && local.group_type == GroupType::HasSpare;
    if sibling && sibling_imbalance(local, busiest, d, idle) > 1 {
        return Ok(());
    }
    // No task waits in the busiest group: only an idle CPU takes one, to spread them.
    if busiest.group_type != GroupType::Overloaded {
        let even = busiest.weight > 1 && local.idle_cpus <= busiest.idle_cpus + 1;
        if idle == IdleType::NotIdle || even || busiest.h_nr == 1 {
            return Err(reasons::EVEN);
        }
    }
    Ok(())
}

/// `calculate_imbalance`.
pub(crate) fn calculate_imbalance(
    s: &DomainStats,
    local: &GroupStats,
    busiest: &GroupStats,
    d: &DomainFacts,
    idle: IdleType,
) -> (MigrationType, i64) {
    // One task, whatever the loads are.
    if matches!(busiest.group_type, GroupType::Imbalanced | GroupType::SmtBalance) {
        return (MigrationType::Task, 1);
    }
    if local.group_type == GroupType::HasSpare {
        return spare_imbalance(local, busiest, d, idle);
    }
    let avg = s.total_load * 1024 / s.total_capacity;
    let mut local_avg = local.avg_load;
    // `avg_load` was made for overloaded groups only.
    if local.group_type < GroupType::Overloaded {
        local_avg = local.load * 1024 / local.capacity;
        let above_average = d.kernel.compares_local_with_average && local_avg >= avg;
        if local_avg >= busiest.avg_load || above_average {
            return (MigrationType::Load, 0);
        }
    }
    // The kernel's differences are unsigned: below zero they are larger than any other.
    let surplus = busiest.avg_load.wrapping_sub(avg).wrapping_mul(busiest.capacity);
    let room = avg.wrapping_sub(local_avg).wrapping_mul(local.capacity);
    (MigrationType::Load, (surplus.min(room) / 1024) as i64)
}

fn spare_imbalance(
    local: &GroupStats,
    busiest: &GroupStats,
    d: &DomainFacts,
    idle: IdleType,
) -> (MigrationType, i64) {
    // Between LLCs the spare capacity is filled with utilization.
    if busiest.group_type > GroupType::FullyBusy && !d.share_llc {
        let spare = local.capacity.max(local.util) - local.util;
        // The averages say that the local group is full, and yet this CPU idles.
        if spare == 0 && idle != IdleType::NotIdle {
            return (MigrationType::Task, 1);
        }
        return (MigrationType::Util, spare as i64);
    }
    let n = if busiest.weight == 1 || d.prefer_sibling {
        sibling_imbalance(local, busiest, d, idle)
    } else {
        local.idle_cpus.saturating_sub(busiest.idle_cpus)
    };
    let n = i64::from(n);
    // `adjust_numa_imbalance`: two tasks that talk to each other may stay on one node.
    let difference = if d.kernel.halves_after_numa_test { n } else { n >> 1 };
    if d.numa && local.nr < d.imb_numa_nr && difference <= NUMA_IMBALANCE_MIN {
        return (MigrationType::Task, 0);
    }
    (MigrationType::Task, n >> 1)
}

/// How many tasks more the busiest group has. Since v6.6 (`sibling_imbalance`) in proportion to the
/// cores, and nothing counts while this CPU is busy.
fn sibling_imbalance(
    local: &GroupStats,
    busiest: &GroupStats,
    d: &DomainFacts,
    idle: IdleType,
) -> u32 {
    let Some((own, theirs)) = d.cores else {
        return busiest.nr.saturating_sub(local.nr);
    };
    if idle == IdleType::NotIdle {
        return 0;
    }
    if own == theirs {
        return busiest.nr.saturating_sub(local.nr);
    }
    let scaled = (own * busiest.nr).saturating_sub(theirs * local.nr);
    // Rounded to the nearest integer.
    let n = (2 * scaled + own + theirs) / (own + theirs);
    // An empty group takes a task from a group of several, whatever the ratio of cores.
    if n <= 1 && local.nr == 0 && busiest.nr > 1 { 2 } else { n }
}

/// `nr_idle_scan`: how many CPUs of an LLC a wake-up may look at, given the summed utilization of
/// its CPUs. Falls with the square of utilization, to zero at 85 % (for 117).
pub fn nr_idle_scan(sum_util: u64, llc_weight: u64, imbalance_pct: u64) -> u32 {
    let util = sum_util / llc_weight;
    let pct = imbalance_pct * imbalance_pct;
    let busy = (util * util * pct / (10_000 * 1024)).min(1024);
    ((1024 - busy) * llc_weight / 1024) as u32
}

impl<S: Discipline> Fair<S> {
    pub(crate) fn domain_facts(
        &self,
        w: &World,
        cpu: CpuId,
        level: usize,
        busiest: u32,
    ) -> Option<DomainFacts> {
        let (d, link) = domain_at(w, cpu, level)?;
        let cores = self.discipline.kernel().balances_cores.then(|| {
            let cores = &self.balance.cores[link.domain];
            (cores[link.own_group as usize], cores[busiest as usize])
        });
        let child = level.checked_sub(1).and_then(|l| domain_at(w, cpu, l));
        Some(DomainFacts {
            imbalance_pct: d.imbalance_pct,
            prefer_sibling: child.is_some_and(|(c, _)| c.flags.has(SdFlags::PREFER_SIBLING)),
            share_llc: d.flags.has(SdFlags::SHARE_LLC),
            numa: d.flags.has(SdFlags::NUMA),
            imb_numa_nr: self.imb_numa_nr(d),
            kernel: self.discipline.kernel(),
            cores,
        })
    }

    /// `imb_numa_nr` of a domain, by the kernel's rules.
    pub(crate) fn imb_numa_nr(&self, d: &Domain) -> u32 {
        match self.discipline.kernel().tolerates_quarter_node {
            true => d.imb_numa_nr_quarter,
            false => d.imb_numa_nr,
        }
    }

    /// `should_we_balance`: newidle only while really nothing is there; otherwise the
    /// first idle CPU of the local group, or its lowest CPU if none is idle.
    pub(crate) fn should_we_balance(&self, w: &World, lb: &LoadBalance, removed: &[CpuId]) -> bool {
        // A pass for a destination that was struck off has come to its end.
        if removed.contains(&lb.dst) {
            return false;
        }
        if lb.idle == IdleType::NewlyIdle {
            let c = &w.cpus[lb.dst];
            // A pending wake-up brings a task in a moment.
            let has_none = c.nr_running == 0 && !c.ttwu_pending;
            return has_none || !self.discipline.kernel().newidle_yields_to_wakeup;
        }
        let d = &w.machine.domains.domains[lb.domain];
        let group = &d.groups[lb.own_group as usize];
        let is_idle = |c: &CpuId| w.idle_cpus.contains(*c) && !removed.contains(c);
        let mut first_idle = if removed.is_empty() {
            group.balance_mask.next_common(&w.idle_cpus, 0)
        } else {
            group.balance_mask.iter().find(is_idle)
        };
        let between_cores = !d.flags.has(SdFlags::SHARE_CPUCAPACITY);
        if self.discipline.kernel().balances_cores && between_cores {
            // A CPU of an idle core before the sibling of a busy one.
            let of_idle_core = |c: &CpuId| is_idle(c) && self.is_idle_core(w, *c);
            first_idle = group.balance_mask.iter().find(of_idle_core).or(first_idle);
        }
        first_idle.unwrap_or(group.balance_cpu) == lb.dst
    }

    /// Statistics, group and queue of the pass executed by `exec`: fills in the source, the kind
    /// and the amount. False if the domain is balanced.
    pub(crate) fn find_busiest(&mut self, w: &mut World, exec: CpuId) -> bool {
        self.catch_up_domain(w, self.balance.paths[exec].lb.domain);
        self.balance.paths[exec].lb.why = reasons::NO_BUSIEST;
        let path = &self.balance.paths[exec];
        let lb = &path.lb;
        let cpu = lb.cpu;
        let level = lb.level as usize;
        let idle = lb.idle;
        let stats = self.update_sd_lb_stats(w, lb, &path.removed);
        // Only the topmost domain has seen all CPUs.
        if level + 1 == self.sds[cpu].len() {
            self.overload = stats.overload;
        }
        if idle != IdleType::NewlyIdle && self.features.sis_util {
            self.write_idle_scan(w, exec, stats.sum_util);
        }
        let Some((group, _)) = stats.busiest else {
            return false;
        };
        let Some(facts) = self.domain_facts(w, cpu, level, group) else {
            return false;
        };
        let (migration_type, amount) = match find_busiest_group(&stats, &facts, idle) {
            Ok(found) => found,
            Err(why) => {
                self.balance.paths[exec].lb.why = why;
                return false;
            }
        };
        let Some(src) = self.find_busiest_queue(w, exec, group, migration_type, amount) else {
            self.balance.paths[exec].lb.why = reasons::NO_QUEUE;
            return false;
        };
        let lb = &mut self.balance.paths[exec].lb;
        (lb.src, lb.migration_type, lb.imbalance) = (src, migration_type, amount);
        true
    }

    /// `update_idle_cpu_scan`: the budget of SIS_UTIL, from the LLC's utilization.
    fn write_idle_scan(&mut self, w: &mut World, exec: CpuId, sum_util: u64) {
        let lb = &self.balance.paths[exec].lb;
        let d = &w.machine.domains.domains[lb.domain];
        let weight = w.machine.domains.llc_size[lb.dst];
        // The budget is made where the domain is the whole LLC.
        if d.weight() == weight {
            let llc = w.machine.cpus[lb.dst].llc;
            let new = nr_idle_scan(sum_util, weight.into(), d.imbalance_pct.into());
            // Unless it changes the line is left alone.
            if std::mem::replace(&mut self.llcs[llc as usize].nr_idle_scan, new) != new {
                w.write_llc_line(llc);
            }
        }
    }

    /// `find_busiest_queue`. Capacities are equal, so they drop out of the comparison.
    fn find_busiest_queue(
        &self,
        w: &World,
        exec: CpuId,
        group: u32,
        migration_type: MigrationType,
        amount: i64,
    ) -> Option<CpuId> {
        let path = &self.balance.paths[exec];
        let d = &w.machine.domains.domains[path.lb.domain];
        let mut best = None;
        let mut best_value = 0;
        for &cpu in &d.groups[group as usize].cpus {
            let nr = self.nr_to_balance(&self.rqs[cpu]);
            if nr == 0 || (!path.removed.is_empty() && path.removed.contains(&cpu)) {
                continue;
            }
            let value = match migration_type {
                MigrationType::Load => {
                    // A queue's only task is no source if its load is more than the imbalance.
                    let load = self.cpu_load(cpu);
                    if nr == 1 && load as i64 > amount { 0 } else { load }
                }
                MigrationType::Util if nr <= 1 => 0,
                MigrationType::Util => self.util_to_balance(cpu),
                MigrationType::Task => u64::from(nr),
            };
            if value > best_value {
                (best, best_value) = (Some(cpu), value);
            }
        }
        best
    }
}
