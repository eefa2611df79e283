//! The slow path of CPU selection, for fork and exec: `find_idlest_cpu` walks down the
//! domains, at each level choosing the idlest group and in it the idlest CPU.

use super::decide::NUMA_IMBALANCE_MIN;
use super::stats::{GroupStats, GroupType};
use crate::fair::queue::Discipline;
use crate::fair::state::Fair;
use crate::fair::state::domain::domain_at;
use crate::fair::state::pelt::DETACHED;
use sim_core::{MaskId, Ns, TaskId, World};
use topology::{CpuId, DomainId, SdFlags};

/// A task that statistics leave out, since it is to be placed anew.
pub(super) struct Without {
    pub task: TaskId,
    /// `task_h_load` on the CPU that it is on; of no account for a new child.
    pub h_load: u64,
    /// The only group of the domain in which it is counted. None: the groups are asked one by one,
    /// each of which has its set of CPUs in cache lines of its own.
    pub only_group: Option<u32>,
}

impl<S: Discipline> Fair<S> {
    /// The CPU for a forked or exec'd `p`, and the time the search took. `sd_level` is a level of
    /// `this`'s chain, `sd_flag` SdFlags::BALANCE_FORK or BALANCE_EXEC.
    pub(crate) fn find_idlest_cpu(
        &mut self,
        w: &mut World,
        p: TaskId,
        prev: CpuId,
        sd_level: usize,
        sd_flag: u32,
    ) -> (CpuId, Ns) {
        let this = w.this;
        let Some((d, _)) = domain_at(w, this, sd_level) else {
            return (prev, 0);
        };
        // The task may run outside of this domain only: it stays where it is.
        if !d.span.intersects(w.allowed_set(p)) {
            return (prev, 0);
        }
        let mut cpu = this;
        let mut level = Some(sd_level);
        let mut time = 0;
        while let Some(l) = level {
            level = l.checked_sub(1);
            let Some((d, link)) = domain_at(w, cpu, l) else {
                break;
            };
            if !d.flags.has(sd_flag) {
                continue;
            }
            let weight = d.weight();
            self.catch_up_domain(w, link.domain);
            time += w.read_domain(link.domain, 0);
            let Some(group) = self.find_idlest_group(w, p, cpu, l) else {
                continue;
            };
            // The walk goes on in the domains of the CPU found, below the weight of this domain.
            let new = self.find_idlest_group_cpu(w, p, cpu, l, group);
            if new == cpu {
                continue;
            }
            cpu = new;
            level = self.level_below(w, cpu, weight, sd_flag);
        }
        (cpu, time)
    }

    /// The highest level of `cpu`'s chain below `weight` CPUs that has the flag.
    fn level_below(&self, w: &World, cpu: CpuId, weight: u32, flag: u32) -> Option<usize> {
        (0..self.sds[cpu].len())
            .take_while(|l| domain_at(w, cpu, *l).is_some_and(|(d, _)| d.weight() < weight))
            .filter(|l| domain_at(w, cpu, *l).is_some_and(|(d, _)| d.flags.has(flag)))
            .last()
    }

    /// `update_sg_wakeup_stats`: as if the task were not there.
    pub(super) fn wakeup_stats(
        &self,
        w: &World,
        domain: DomainId,
        group: usize,
        without: &Without,
    ) -> GroupStats {
        let p = without.task;
        let cpu = w.tasks[p].cpu;
        let masked = w.tasks[p].attr.allowed != MaskId::ALL
            && self.discipline.kernel().counts_allowed_cpus_only;
        let mut g = if masked {
            self.sum_allowed(w, domain, group, p)
        } else {
            self.sum_group(w, domain, group)
        };
        let is_counted = match without.only_group {
            Some(only) => only as usize == group,
            None => w.machine.domains.domains[domain].groups[group].span.contains(cpu),
        };
        if is_counted && (!masked || w.allowed(p, cpu)) {
            self.leave_out(w, &mut g, cpu, without);
        }
        g
    }

    /// The only group of a domain that `cpu` is in, by the chain of that CPU; none if the groups
    /// overlap.
    pub(super) fn only_group(&self, w: &World, cpu: CpuId, domain: DomainId) -> Option<u32> {
        let domains = &w.machine.domains;
        // Overlapping groups have more members than the domain has CPUs.
        if self.balance.group_cpus[domain].len() != domains.domains[domain].cpus.len() {
            return None;
        }
        let mut chain = domains.chains[cpu].iter();
        chain.find(|link| link.domain == domain).map(|link| link.own_group)
    }

    /// Takes a task out of the statistics of a group in which its CPU is counted.
    fn leave_out(&self, w: &World, g: &mut GroupStats, cpu: CpuId, without: &Without) {
        let p = without.task;
        let t = &w.tasks[p];
        let avg = &self.tasks[p].avg;
        let c = &w.cpus[cpu];
        let rq = self.published(cpu);
        // A new child is in no runqueue's averages yet.
        if avg.last_update_time != DETACHED {
            g.load -= rq.load.min(without.h_load);
            g.util -= u64::from(rq.util);
            g.util += self.cpu_util_without(cpu, p, t.on_rq);
            g.runnable -= rq.runnable.min(avg.runnable_avg);
        }
        if t.on_rq {
            g.nr -= c.nr_running.min(1);
            g.h_nr -= rq.h_nr.min(1);
            let idle_without_it = c.nr_running <= 1 && (c.curr == p || c.curr == TaskId::IDLE);
            g.idle_cpus -= u32::from(c.idle);
            g.idle_cpus += u32::from(idle_without_it && !c.ttwu_pending);
        }
    }

    /// `find_idlest_group`: an index into the domain's groups, or none if the local one will do.
    fn find_idlest_group(
        &mut self,
        w: &World,
        p: TaskId,
        cpu: CpuId,
        level: usize,
    ) -> Option<usize> {
        let (d, link) = domain_at(w, cpu, level)?;
        let own_cpu = w.tasks[p].cpu;
        let only_group = self.only_group(w, own_cpu, link.domain);
        let mut without = Without { task: p, h_load: 0, only_group };
        // A new child is in no average: its load is not asked for, which would update that of its
        // group's queue.
        if d.span.contains(own_cpu) && self.tasks[p].avg.last_update_time != DETACHED {
            without.h_load = S::task_h_load(self, w, own_cpu, p);
        }
        let allowed = w.allowed_set(p);
        let any_cpu = w.tasks[p].attr.allowed == MaskId::ALL;
        let mut idlest = None;
        let mut lowest = u64::MAX;
        let mut local = None;
        let n = d.groups.len();
        let own = link.own_group as usize;
        // The ring of groups begins with the local one.
        for i in (own..n).chain(0..own) {
            if !any_cpu && !d.groups[i].span.intersects(allowed) {
                continue;
            }
            let mut g = self.wakeup_stats(w, link.domain, i, &without);
            let imbalanced = self.balance.imbalanced[link.domain][i];
            g.group_type = g.classify(d.imbalance_pct, imbalanced);
            // Other types are compared by idle CPUs, not by load.
            let is_full = matches!(g.group_type, GroupType::FullyBusy | GroupType::Overloaded);
            g.avg_load = g.load / u64::from(g.weight) * u64::from(is_full);
            let rank = idle_rank(&g);
            if i == own {
                local = Some(g);
            } else if rank < lowest {
                (idlest, lowest) = (Some((i, g)), rank);
            }
        }
        let (idlest_index, idlest) = idlest?;
        let Some(local) = local else {
            return Some(idlest_index);
        };
        let mut imb_numa_nr = self.imb_numa_nr(d);
        // The imbalance tolerated is at most the number of CPUs that the task may use there.
        if w.tasks[p].nr_cpus_allowed as usize != w.machine.n_cpus() {
            let own_cpus = &d.groups[own].cpus;
            let usable = own_cpus.iter().filter(|c| allowed.contains(**c)).count();
            imb_numa_nr = imb_numa_nr.min(usable as u32);
        }
        let numa = d.flags.has(SdFlags::NUMA).then_some(Tolerance {
            imb_numa_nr,
            any_difference: !self.discipline.kernel().fork_heeds_numa_difference,
        });
        beats_local(&local, &idlest, d.imbalance_pct, numa).then_some(idlest_index)
    }

    /// `find_idlest_group_cpu`: a CPU with SCHED_IDLE tasks only, which needs no waking; the idle
    /// CPU that wakes fastest, the warmest of equals; else the least loaded.
    fn find_idlest_group_cpu(
        &self,
        w: &World,
        p: TaskId,
        cpu: CpuId,
        level: usize,
        group: usize,
    ) -> CpuId {
        let Some((d, _)) = domain_at(w, cpu, level) else {
            return cpu;
        };
        let cpus = &d.groups[group].cpus;
        if let [only] = cpus[..] {
            return only;
        }
        let mut best_exit = Ns::MAX;
        let mut latest = 0;
        let mut best_idle = None;
        let mut min_load = u64::MAX;
        let mut least_loaded = cpu;
        for &c in cpus.iter().filter(|c| w.allowed(p, **c)) {
            if self.sched_idle_cpu(w, c) {
                return c;
            }
            if w.idle_cpus.contains(c) {
                let exit = w.idle_exit_latency(c);
                let stamp = self.rqs[c].idle_stamp;
                // A CPU in a shallower idle state wakes sooner.
                let faster = exit.is_some_and(|e| e < best_exit);
                let warmer = exit.is_none_or(|e| e == best_exit) && stamp > latest;
                if faster {
                    best_exit = exit.unwrap_or(best_exit);
                }
                if faster || warmer {
                    (latest, best_idle) = (stamp, Some(c));
                }
            // Loads count only as long as no idle CPU was seen.
            } else if best_idle.is_none() {
                let load = self.published(c).load;
                if load < min_load {
                    (min_load, least_loaded) = (load, c);
                }
            }
        }
        best_idle.unwrap_or(least_loaded)
    }
}

/// `update_pick_idlest` as a number: the first group of the lowest rank is the idlest. The type
/// decides; then the load of full groups, and of those with spare capacity the more idle CPUs, then
/// the lower utilization.
#[inline(always)]
pub(super) fn idle_rank(g: &GroupStats) -> u64 {
    const MOST_IDLE: u64 = (1 << 26) - 1;
    let spare = (MOST_IDLE - u64::from(g.idle_cpus)) << 35 | g.util;
    let spare = spare * u64::from(g.group_type == GroupType::HasSpare);
    (g.group_type as u64) << 61 | spare | g.avg_load
}

/// What imbalance is tolerated between NUMA nodes.
struct Tolerance {
    /// While the node runs fewer tasks than this …
    imb_numa_nr: u32,
    /// … the task stays however the idle CPUs differ (before v6.0).
    any_difference: bool,
}

/// Is the idlest remote group worth leaving the local one? `numa`: they are nodes.
fn beats_local(local: &GroupStats, idlest: &GroupStats, pct: u32, numa: Option<Tolerance>) -> bool {
    if local.group_type != idlest.group_type {
        return local.group_type > idlest.group_type;
    }
    let pct = u64::from(pct);
    match local.group_type {
        GroupType::Overloaded | GroupType::FullyBusy => {
            // Two loads that differ by less than this are as good as equal.
            let slack = 1024 * (pct - 100) / 100;
            let near = numa.is_some() && idlest.avg_load + slack >= local.avg_load;
            let worse = idlest.avg_load >= local.avg_load + slack;
            !near && !worse && 100 * local.avg_load > pct * idlest.avg_load
        }
        GroupType::Imbalanced | GroupType::SmtBalance => false,
        GroupType::HasSpare => {
            if let Some(numa) = numa {
                let diff = i64::from(local.idle_cpus.abs_diff(idlest.idle_cpus));
                let tolerated = local.nr < numa.imb_numa_nr
                    && (numa.any_difference || diff <= NUMA_IMBALANCE_MIN);
                if diff == 0 || tolerated {
                    return false;
                }
            }
            local.idle_cpus < idlest.idle_cpus
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nodes of 40 CPUs; the task's own runs `nr`.
    fn stays(nr: u32, idle: u32, any_difference: bool) -> bool {
        let group = |nr, idle_cpus| GroupStats {
            nr,
            idle_cpus,
            weight: 40,
            group_type: GroupType::HasSpare,
            ..GroupStats::default()
        };
        let numa = Tolerance { imb_numa_nr: 5, any_difference };
        !beats_local(&group(nr, idle), &group(0, 40), 117, Some(numa))
    }

    #[test]
    fn a_nearly_empty_node_keeps_its_children_and_before_v6_0_however_empty_the_other_is() {
        assert!(stays(2, 38, false) && stays(2, 38, true));
        assert!(!stays(4, 36, false));
        assert!(stays(4, 36, true));
        assert!(!stays(5, 35, false) && !stays(5, 35, true));
    }
}
