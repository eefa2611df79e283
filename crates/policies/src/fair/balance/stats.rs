//! Statistics of a domain's groups: one pass over its CPUs, no allocation.
//!
//! All values of other CPUs are as of the last update of their runqueues; the pass first
//! lets each CPU replay the ticks that were only computed, so that "last update" means what it
//! means in a kernel where each tick really happens.

use crate::fair::queue::Discipline;
use crate::fair::state::lb_env::LoadBalance;
use crate::fair::state::{Fair, FairRq};
use sim_core::{IdleType, Policy, TaskId, World};
use topology::{CpuId, Domain, DomainId};

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
    /// CPUs with more than one task.
    pub crowded_cpus: u32,
    pub weight: u32,
    pub capacity: u64,
    pub avg_load: u64,
    pub group_type: GroupType,
    /// Since v6.6: a core with several tasks, seen by an idle CPU.
    pub smt_balance: bool,
    /// Since v6.5: of groups that are just as full, the one with the highest number is the busiest.
    pub tie: u32,
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

/// The groups of a domain, as a pass sees them.
struct Groups<'a> {
    domain: &'a Domain,
    /// `sgc->imbalance` by group.
    imbalanced: &'a [bool],
    own: usize,
    /// Since v6.6: an idle CPU looks for cores with several tasks.
    by_cores: bool,
    /// Since v6.5: of full groups the first core of siblings is the busiest, or else the last.
    breaks_ties: bool,
}

impl Groups<'_> {
    /// `update_sd_pick_busiest`, for full groups: siblings need more help than other groups, and
    /// without them a later group takes the place of its equal.
    #[inline]
    fn tie(&self, i: usize) -> u32 {
        let n = self.imbalanced.len();
        let nth = if i > self.own { i - self.own } else { i + n - self.own };
        if self.domain.groups[i].smt { n as u32 } else { nth as u32 }
    }
}

impl GroupStats {
    /// `group_is_overloaded`, `sg_imbalanced`, `group_has_capacity` in the order of
    /// `group_classify`.
    ///
    /// The types ascend, so the greatest that applies counts. Neighbors in a ring are of different
    /// types as it happens, which no processor can guess: nothing here depends on a branch.
    #[inline(always)]
    pub(crate) fn classify(&self, pct: u32, imbalanced: bool) -> GroupType {
        let pct = u64::from(pct);
        let (capacity, util) = (self.capacity * 100, self.util * pct);
        let starved = self.capacity * pct < self.runnable * 100;
        let overloaded = (self.nr > self.weight) & ((capacity < util) | starved);
        let has_spare = (self.nr < self.weight) | (!starved & (capacity > util));
        let at_least = |kind, is_so| if is_so { kind } else { GroupType::HasSpare };
        at_least(GroupType::FullyBusy, !has_spare)
            .max(at_least(GroupType::SmtBalance, self.smt_balance))
            .max(at_least(GroupType::Imbalanced, imbalanced))
            .max(at_least(GroupType::Overloaded, overloaded))
    }

    /// `update_sd_pick_busiest` as a number: the first group of the highest rank is the busiest, a
    /// group of rank 0 is none. The type decides; then the load of overloaded groups, and of those
    /// with spare capacity the fewer idle CPUs, then the more tasks. So it is with cores of several
    /// tasks, but those without an idle CPU are full, whatever waits there.
    #[inline(always)]
    pub(crate) fn rank(&self) -> u64 {
        const MOST_IDLE: u64 = (1 << 31) - 1;
        let of_core = self.group_type == GroupType::SmtBalance;
        let nr = u64::from(self.nr) * u64::from(!(of_core & (self.idle_cpus == 0)));
        let spare = (MOST_IDLE - u64::from(self.idle_cpus)) << 30 | nr;
        let spare = spare * u64::from((self.group_type == GroupType::HasSpare) | of_core);
        let tie = u64::from(self.tie) * u64::from(self.group_type == GroupType::FullyBusy);
        let rank = (self.group_type as u64) << 61 | spare | tie | self.avg_load;
        rank * u64::from(self.h_nr > 0)
    }
}

impl<S: Discipline> Fair<S> {
    /// Replays the computed ticks of all CPUs of a domain.
    pub(crate) fn catch_up_domain(&mut self, w: &mut World, domain: DomainId) {
        if w.now < self.balance.caught_up_to[domain] {
            return;
        }
        let n = w.machine.domains.domains[domain].cpus.len();
        for i in 0..n {
            let cpu = w.machine.domains.domains[domain].cpus[i];
            if w.cpus[cpu].tick_next <= w.now {
                self.catch_up(w, cpu);
            }
        }
        // A CPU whose path delays its tick takes it by itself when the path ends, so nothing is
        // missed until the next edge; with staggered ticks that comes too soon to be worth it.
        if w.machine.tick_skew_ns == 0 {
            let next_edge = (w.jiffies() + 1) * w.tick_ns();
            self.balance.caught_up_to[domain] = next_edge;
            // A walk over all CPUs was one over those of each domain.
            if n == w.cpus.len() {
                self.balance.caught_up_to.fill(next_edge);
            }
        }
    }

    /// The tasks that statistics count on a runqueue: since v6.18 without those that
    /// sleep there.
    #[inline]
    pub(crate) fn nr_to_balance(&self, rq: &FairRq<S::Queue>) -> u32 {
        if self.discipline.kernel().counts_runnable_only {
            rq.h_nr_runnable()
        } else {
            rq.h_nr_running
        }
    }

    /// The sums over group `i` of a domain: what its statistics begin with.
    #[inline]
    pub(super) fn sum_group(&self, w: &World, domain: DomainId, i: usize) -> GroupStats {
        match &self.balance.group_llcs[domain] {
            Some(llcs) => self.sum_llcs(w, llcs.of(i)),
            None => self.sum_cpus(w, self.balance.group_cpus[domain].of(i), |_| true),
        }
    }

    /// The sums over those CPUs of group `i` that `p` may use; the weight is the whole group's.
    #[cold]
    pub(super) fn sum_allowed(
        &self,
        w: &World,
        domain: DomainId,
        i: usize,
        p: TaskId,
    ) -> GroupStats {
        self.sum_cpus(w, self.balance.group_cpus[domain].of(i), |cpu| w.allowed(p, *cpu))
    }

    /// The sums over those CPUs of a group that are `in_play`.
    #[inline(always)]
    fn sum_cpus(&self, w: &World, cpus: &[CpuId], in_play: impl Fn(&CpuId) -> bool) -> GroupStats {
        let mut g = GroupStats::of_weight(cpus.len() as u32);
        for &cpu in cpus.iter().filter(|c| in_play(c)) {
            let rq = self.published(cpu);
            let nr = w.nr_running(cpu);
            g.load += rq.load;
            g.util += u64::from(rq.util);
            g.runnable += rq.runnable;
            g.h_nr += rq.h_nr;
            g.nr += nr;
            g.crowded_cpus += u32::from(nr > 1);
            g.idle_cpus += u32::from(w.idle_cpus.contains(cpu));
        }
        g
    }

    /// The sums over a group of whole LLCs.
    #[inline(always)]
    fn sum_llcs(&self, w: &World, llcs: &[u32]) -> GroupStats {
        let mut g = GroupStats::default();
        for &llc in llcs {
            let rqs = self.published_llc(llc);
            let counts = w.llc_counts(llc);
            g.load += rqs.load;
            g.util += rqs.util;
            g.runnable += rqs.runnable;
            g.h_nr += rqs.h_nr;
            g.nr += counts.nr_running;
            g.crowded_cpus += counts.n_crowded;
            g.idle_cpus += counts.n_idle;
            g.weight += rqs.weight;
        }
        g.capacity = 1024 * u64::from(g.weight);
        g
    }

    /// `update_sd_lb_stats` for the pass `lb`.
    pub(crate) fn update_sd_lb_stats(
        &self,
        w: &World,
        lb: &LoadBalance,
        removed: &[CpuId],
    ) -> DomainStats {
        let id = lb.domain;
        let kernel = self.discipline.kernel();
        let groups = Groups {
            domain: &w.machine.domains.domains[id],
            imbalanced: &self.balance.imbalanced[id],
            own: lb.own_group as usize,
            by_cores: kernel.balances_cores && lb.idle != IdleType::NotIdle,
            breaks_ties: kernel.takes_last_full_group,
        };
        let cpus = &self.balance.group_cpus[id];
        if !removed.is_empty() {
            let in_play = |cpu: &CpuId| !removed.contains(cpu);
            return read_groups(&groups, |i| self.sum_cpus(w, cpus.of(i), in_play));
        }
        if let Some(llcs) = &self.balance.group_llcs[id] {
            return read_groups(&groups, |i| self.sum_llcs(w, llcs.of(i)));
        }
        match cpus.one_each() {
            // A sum over one CPU is no loop: told so, the compiler makes half the code of it.
            Some(cpus) => {
                let only = |i| std::slice::from_ref(&cpus[i]);
                read_groups(&groups, |i| self.sum_cpus(w, only(i), |_| true))
            }
            None => read_groups(&groups, |i| self.sum_cpus(w, cpus.of(i), |_| true)),
        }
    }
}

/// `sum` gives the sums over group `i`. Inlined, as what it calls, so that the numbers stay in
/// registers.
#[inline(always)]
fn read_groups(groups: &Groups, sum: impl Fn(usize) -> GroupStats) -> DomainStats {
    let n = groups.imbalanced.len();
    let own = groups.own;
    let read = |i| update_sg_lb_stats(groups, i, sum(i));
    let local = read(own);
    let mut total_load = local.load;
    let mut total_capacity = local.capacity;
    let mut sum_util = local.util;
    let mut crowded = local.crowded_cpus;
    let mut busiest = own;
    let mut highest = 0;
    let mut i = own;
    for _ in 1..n {
        i = if i + 1 < n { i + 1 } else { 0 };
        let g = read(i);
        total_load += g.load;
        total_capacity += g.capacity;
        sum_util += g.util;
        crowded += g.crowded_cpus;
        let rank = g.rank();
        (busiest, highest) = if rank > highest { (i, rank) } else { (busiest, highest) };
    }
    let busiest = (highest > 0).then(|| (busiest as u32, read(busiest)));
    DomainStats { local, busiest, total_load, total_capacity, sum_util, overload: crowded > 0 }
}

/// `update_sg_lb_stats` of group `i`, given the sums over it.
#[inline(always)]
fn update_sg_lb_stats(groups: &Groups, i: usize, mut g: GroupStats) -> GroupStats {
    // `smt_balance`: only an idle CPU outside of that core takes a task from it.
    let several = groups.by_cores && i != groups.own && g.h_nr > 1;
    g.smt_balance = several && groups.domain.groups[i].smt;
    g.tie = if groups.breaks_ties { groups.tie(i) } else { 0 };
    g.group_type = g.classify(groups.domain.imbalance_pct, groups.imbalanced[i]);
    // Each CPU has a capacity of 1024, so it is their number that divides.
    let avg_load = if g.weight == 1 { g.load } else { g.load / u64::from(g.weight) };
    g.avg_load = avg_load * u64::from(g.group_type == GroupType::Overloaded);
    g
}
