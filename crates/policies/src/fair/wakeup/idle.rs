//! The search for an idle CPU near a target: `select_idle_sibling`. SIS_NODE, which
//! goes on to other LLCs, is in `node`.
//!
//! Looks at the target, the previous and the recently used CPU belong to the fixed cost of a
//! wake-up, but for the transfer of a line that was written there; every CPU that a loop looks at
//! beyond them costs time, returned with the answer.

use crate::fair::queue::Discipline;
use crate::fair::state::{Fair, reasons};
use sim_core::{Choice, Decision, MaskId, Ns, Reads, Reason, TaskId, World};
use topology::CpuId;

/// What a scan has read so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Scan {
    /// It only asks how long the scan takes: nothing is noted.
    dry: bool,
    pub(super) reads: Reads,
    n_cpus: u64,
    /// It leaves more behind than what it has found.
    has_effects: bool,
    /// Should it find nothing: why.
    ended_by: &'static Reason,
    /// SIS_NODE left out an LLC of the node: why.
    pub(super) skipped_llc: Option<&'static Reason>,
}

impl Default for Scan {
    fn default() -> Self {
        Self {
            dry: false,
            reads: Reads::default(),
            n_cpus: 0,
            has_effects: false,
            ended_by: reasons::NO_IDLE_IN_LLC,
            skipped_llc: None,
        }
    }
}

impl Scan {
    pub(super) fn dry() -> Self {
        Self { dry: true, ..Self::default() }
    }

    #[inline]
    fn read_cpu(&mut self, w: &mut World, cpu: CpuId) {
        w.read_rq_line(cpu, &mut self.reads, !self.dry);
        self.n_cpus += 1;
    }

    /// `sd_llc_shared` of an LLC: `has_idle_cores` and `nr_idle_scan`.
    #[inline]
    pub(super) fn read_llc(&mut self, w: &mut World, llc: u32) {
        w.read_llc_line(llc, &mut self.reads, !self.dry);
    }

    /// How long it has taken so far, ns.
    #[inline]
    fn ns(&self, w: &World) -> Ns {
        w.scan_ns(self.n_cpus, &self.reads)
    }

    /// The scan has an effect beside its answer, and should have it.
    fn takes_effect(&mut self) -> bool {
        self.has_effects = true;
        !self.dry
    }
}

/// A search of domains counts when it ends, all of it at once: the measurement may begin while it
/// is under way, and then it would be one that looked beyond its target without having begun.
fn count_search(w: &mut World) {
    w.stat.sis.searches += 1;
    w.stat.sis.domain_searches += 1;
}

impl<S: Discipline> Fair<S> {
    /// `select_idle_sibling`: an idle CPU that shares the target's cache, or the target. The first
    /// looks are made at once. If they are in vain, the answer says how long the search takes.
    pub(crate) fn select_idle_sibling(
        &mut self,
        w: &mut World,
        p: TaskId,
        target: CpuId,
        in_irq: bool,
    ) -> Choice {
        if let Some(cpu) = self.check_nearby(w, p, target, in_irq) {
            w.stat.sis.searches += 1;
            w.note_placed(p, self.why_chosen(w, cpu));
            w.tell(Decision::Searched { task: p, found: Some(cpu), scanned: None });
            return Choice { cpu, scan_ns: 0 };
        }
        let mut scan = Scan::dry();
        let (found, ended_by) = self.scan_all(w, p, target, &mut scan);
        let scan_ns = scan.ns(w);
        if scan_ns > 0 {
            return Choice { cpu: target, scan_ns };
        }
        // It is over as soon as it has begun, and has read no line that was not there.
        if scan.has_effects || self.topo.llc_level[target].is_none() {
            return self.search_llc(w, p, target);
        }
        count_search(w);
        self.conclude(w, p, target, &scan, (found, ended_by))
    }

    /// The search of the target's LLC and beyond, as it ends: what it has found, and the time that
    /// it has taken.
    pub(crate) fn search_llc(&mut self, w: &mut World, p: TaskId, target: CpuId) -> Choice {
        count_search(w);
        if self.topo.llc_level[target].is_none() {
            w.note_placed(p, reasons::NO_LLC);
            w.stat.sis.failed += 1;
            w.tell(Decision::Searched { task: p, found: None, scanned: Some(0) });
            return Choice { cpu: target, scan_ns: 0 };
        }
        let mut scan = Scan::default();
        let end = self.scan_all(w, p, target, &mut scan);
        self.conclude(w, p, target, &scan, end)
    }

    /// The answer of a search, its counts and notes.
    fn conclude(
        &self,
        w: &mut World,
        p: TaskId,
        target: CpuId,
        scan: &Scan,
        (found, ended_by): (Option<CpuId>, &'static Reason),
    ) -> Choice {
        w.stat.sis.domain_scanned += scan.n_cpus;
        w.stat.sis.failed += u64::from(found.is_none());
        w.tell(Decision::Searched { task: p, found, scanned: Some(scan.n_cpus) });
        let why = match found {
            Some(cpu) => self.why_chosen(w, cpu),
            None => self.why_in_vain(w, p, target, scan, ended_by),
        };
        w.note_placed(p, why);
        Choice { cpu: found.unwrap_or(target), scan_ns: scan.ns(w) }
    }

    /// Why a search has found nothing, of which the scan of the first LLC was ended by a rule.
    fn why_in_vain(
        &self,
        w: &World,
        p: TaskId,
        target: CpuId,
        scan: &Scan,
        ended_by: &'static Reason,
    ) -> &'static Reason {
        let elsewhere = self.why_not_elsewhere(scan);
        // Often the two are the same.
        if std::ptr::eq(ended_by, elsewhere) || self.llc_has_idle(w, p, target) {
            return ended_by;
        }
        elsewhere
    }

    /// The LLC of `target`, then with SIS_NODE the others of its node: the CPU found, and what
    /// ended the scan of the first LLC if it was in vain.
    fn scan_all(
        &mut self,
        w: &mut World,
        p: TaskId,
        target: CpuId,
        scan: &mut Scan,
    ) -> (Option<CpuId>, &'static Reason) {
        if self.topo.llc_level[target].is_none() {
            return (None, reasons::NO_LLC);
        }
        let in_llc = self.scan_llc(w, p, target, scan);
        let ended_by = scan.ended_by;
        if in_llc.is_some() || !self.features.sis_node {
            return (in_llc, ended_by);
        }
        (self.select_idle_node(w, p, target, scan), ended_by)
    }

    /// Should a task have to wait on the CPU that a search has found: why.
    fn why_chosen(&self, w: &World, cpu: CpuId) -> &'static Reason {
        match w.cpus[cpu].idle {
            true => reasons::TAKEN_MEANWHILE,
            false if self.sched_idle_cpu(w, cpu) => reasons::ONLY_IDLE_POLICY,
            false => reasons::WITH_KTHREAD,
        }
    }

    /// Is a CPU behind the target's LLC idle that `p` may use?
    fn llc_has_idle(&self, w: &World, p: TaskId, target: CpuId) -> bool {
        let llc = self.topo.llc[target] as usize;
        if w.llc_counts(llc as u32).n_idle == 0 {
            return false;
        }
        let words = self.topo.llc_words[llc].clone();
        let (idle, allowed) = (w.idle_cpus.words(), w.allowed_set(p).words());
        let llc = w.machine.llcs[llc].words();
        words.into_iter().any(|i| idle[i] & llc[i] & allowed[i] != 0)
    }

    /// The own LLC had nothing to offer: why none behind another one was taken.
    fn why_not_elsewhere(&self, scan: &Scan) -> &'static Reason {
        match self.features.sis_node {
            true => scan.skipped_llc.unwrap_or(reasons::NODE_IN_VAIN),
            false => reasons::NO_IDLE_IN_LLC,
        }
    }

    /// Steps 1 to 4: the CPUs that come to mind first.
    fn check_nearby(
        &mut self,
        w: &mut World,
        p: TaskId,
        target: CpuId,
        in_irq: bool,
    ) -> Option<CpuId> {
        let prev = w.tasks[p].wake_cpu;
        if self.look_available(w, target) {
            return Some(target);
        }
        // The caches of `prev` are warm, and it is as near as the target.
        if prev != target && self.topo.share_cache(prev, target) && self.look_available(w, prev) {
            return Some(prev);
        }
        let this = w.this;
        if prev == this
            && !in_irq
            && w.cpus[this].nr_running <= 1
            && is_per_cpu_kthread(w, w.cpus[this].curr)
        {
            // A completion by a worker of this CPU, which is about to sleep.
            return Some(prev);
        }
        // Only a wake-up that has come this far remembers `prev`.
        let recent = std::mem::replace(&mut self.tasks[p].recent_used_cpu, prev);
        let elsewhere = recent != prev && recent != target;
        let near = elsewhere && self.topo.share_cache(recent, target);
        // The fixed form of the test: v6.4 looks up prev in the mask by mistake.
        let hit = near && self.look_available(w, recent) && w.allowed(p, recent);
        w.stat.sis.recent_hits += u64::from(hit);
        hit.then_some(recent)
    }

    /// Steps 6 and 7: the sibling threads of `prev`, then the LLC of the target.
    fn scan_llc(
        &mut self,
        w: &mut World,
        p: TaskId,
        target: CpuId,
        scan: &mut Scan,
    ) -> Option<CpuId> {
        let prev = w.tasks[p].wake_cpu;
        scan.read_llc(w, self.topo.llc[target]);
        let idle_cores = self.test_idle_cores(target);
        // Without an idle core in sight a sibling of `prev` shares its L1 and L2 with the task.
        if self.topo.smt && !idle_cores && self.topo.share_cache(prev, target) {
            let sibling = self.select_idle_smt(w, p, prev, scan);
            if sibling.is_some() {
                return sibling;
            }
        }
        self.select_idle_cpu(w, p, target, idle_cores, scan)
    }

    /// `available_idle_cpu() || sched_idle_cpu()`: a task put there runs at once.
    #[inline]
    fn is_available(&self, w: &World, cpu: CpuId) -> bool {
        w.cpus[cpu].idle || self.sched_idle_cpu(w, cpu)
    }

    /// The same of a CPU that is looked at alone, so that the CPU waits for its line.
    #[inline]
    fn look_available(&self, w: &mut World, cpu: CpuId) -> bool {
        w.look_at_rq(cpu);
        self.is_available(w, cpu)
    }

    /// `select_idle_smt`: an idle sibling thread of `prev`.
    fn select_idle_smt(
        &self,
        w: &mut World,
        p: TaskId,
        prev: CpuId,
        scan: &mut Scan,
    ) -> Option<CpuId> {
        for &c in self.topo.smt_mask(prev) {
            if c == prev || !w.allowed(p, c) {
                continue;
            }
            scan.read_cpu(w, c);
            if self.is_available(w, c) {
                return Some(c);
            }
        }
        None
    }

    /// `select_idle_cpu`: looks through the LLC of `target`, for an idle core if there may be one
    /// (`idle_cores`), else for any idle CPU, and then at no more than the scan budget.
    pub(super) fn select_idle_cpu(
        &mut self,
        w: &mut World,
        p: TaskId,
        target: CpuId,
        idle_cores: bool,
        scan: &mut Scan,
    ) -> Option<CpuId> {
        let llc = self.topo.llc[target] as usize;
        let timed = self.features.sis_prop && !idle_cores;
        let mut budget = u64::MAX;
        if timed {
            // SIS_PROP: a scan for CPUs has a budget, one for cores has none.
            budget = self.sis_prop_budget(w, target)?;
        }
        if self.features.sis_util {
            // A full LLC is not worth a look, not even for a core.
            budget = u64::from(self.llcs[llc].nr_idle_scan) + 1;
            if budget == 1 {
                scan.ended_by = reasons::SIS_UTIL_FULL;
                return None;
            }
        }
        let start_ns = scan.ns(w);
        let found = if idle_cores {
            let found = self.scan_cores(w, p, target, scan);
            found.unwrap_or_else(|fallback| {
                // The whole LLC was searched: no wake-up needs to look for a core until one goes
                // idle.
                if scan.takes_effect() {
                    self.llcs[llc].has_idle_cores = false;
                    w.write_llc_line(llc as u32);
                }
                fallback
            })
        } else if let Some(found) = self.scan_cpus(w, p, target, budget, scan) {
            found
        } else {
            let util = self.features.sis_util;
            scan.ended_by = if util { reasons::SIS_UTIL } else { reasons::SIS_PROP };
            return None;
        };
        if timed && scan.takes_effect() {
            self.sis_prop_account(w, scan.ns(w) - start_ns);
        }
        found
    }

    /// Looks for an idle CPU, in wrapping order from the one after `target`. `None`: the budget
    /// ran out; `Some(None)`: the whole LLC was looked at in vain.
    fn scan_cpus(
        &self,
        w: &mut World,
        p: TaskId,
        target: CpuId,
        budget: u64,
        scan: &mut Scan,
    ) -> Option<Option<CpuId>> {
        // The bitset of idle CPUs gives the same answer as a look at each CPU.
        if w.tasks[p].attr.allowed == MaskId::ALL && !self.sched_idle_used {
            return self.scan_idle_cpus(w, target, budget, scan);
        }
        self.scan_one_by_one(w, p, target, budget, scan)
    }

    pub(super) fn scan_one_by_one(
        &self,
        w: &mut World,
        p: TaskId,
        target: CpuId,
        mut budget: u64,
        scan: &mut Scan,
    ) -> Option<Option<CpuId>> {
        for cpu in self.scan_order(target) {
            if !w.allowed(p, cpu) {
                continue;
            }
            // A CPU that the task may not use costs neither time nor budget.
            budget -= 1;
            if budget == 0 {
                return None;
            }
            scan.read_cpu(w, cpu);
            if self.is_available(w, cpu) {
                return Some(Some(cpu));
            }
        }
        Some(None)
    }

    /// The same for a task that may run anywhere, found in the set of idle CPUs: the result and the
    /// cost are those of a look at one CPU after the other.
    pub(super) fn scan_idle_cpus(
        &self,
        w: &mut World,
        target: CpuId,
        budget: u64,
        scan: &mut Scan,
    ) -> Option<Option<CpuId>> {
        let llc = self.topo.llc[target] as usize;
        let n = self.topo.llc_cpus[llc].len() as u64;
        let words = self.topo.llc_words[llc].clone();
        let target_at = target.idx() - 64 * words.start;
        let (idle, of_llc) = (w.idle_cpus.words(), w.machine.llcs[llc].words());
        let found = next_common(&idle[words.clone()], &of_llc[words.clone()], target_at)
            .map(|at| CpuId((64 * words.start + at) as u32));
        let in_vain = if n < budget { (n, Some(None)) } else { (budget - 1, None) };
        let (n_looked, result) = match found {
            Some(cpu) if self.scan_pos(target, cpu) < budget => {
                (self.scan_pos(target, cpu), Some(Some(cpu)))
            }
            _ => in_vain,
        };
        scan.n_cpus += n_looked;
        if n_looked > 0 {
            let last = self.scanned(target, n_looked);
            w.read_llc_rqs(llc as u32, target, last, &mut scan.reads, !scan.dry);
        }
        result
    }

    /// The `n`th CPU that a scan of the target's LLC looks at, from 1.
    #[inline]
    fn scanned(&self, target: CpuId, n: u64) -> CpuId {
        let cpus = &self.topo.llc_cpus[self.topo.llc[target] as usize];
        let at = self.topo.llc_pos[target] as usize + n as usize;
        cpus[if at < cpus.len() { at } else { at - cpus.len() }]
    }

    /// Which CPU of the target's LLC a scan looks at as its first, second, …: that of `cpu`.
    #[inline]
    fn scan_pos(&self, target: CpuId, cpu: CpuId) -> u64 {
        let first = self.topo.llc_pos[target] + 1;
        let at = self.topo.llc_pos[cpu];
        if at >= first {
            return u64::from(at - first + 1);
        }
        let n = self.topo.llc_cpus[self.topo.llc[target] as usize].len() as u32;
        u64::from(n - first + at + 1)
    }

    /// CPUs of the target's LLC, from the one after it around to itself.
    #[inline]
    pub(super) fn scan_order(&self, target: CpuId) -> impl Iterator<Item = CpuId> + '_ {
        let list = &self.topo.llc_cpus[self.topo.llc[target] as usize];
        let (before, after) = list.split_at(self.topo.llc_pos[target] as usize + 1);
        after.iter().chain(before).copied()
    }

    /// Looks for a core with all threads idle. `Err`: there is none, but perhaps an idle CPU.
    fn scan_cores(
        &mut self,
        w: &mut World,
        p: TaskId,
        target: CpuId,
        scan: &mut Scan,
    ) -> Result<Option<CpuId>, Option<CpuId>> {
        self.topo.core_scan += 1;
        let this_scan = self.topo.core_scan;
        let mut fallback = None;
        let llc = self.topo.llc[target] as usize;
        let n = self.topo.llc_cpus[llc].len();
        let start = self.topo.llc_pos[target] as usize + 1;
        for i in start..start + n {
            let cpu = self.topo.llc_cpus[llc][if i < n { i } else { i - n }];
            let core = self.topo.core[cpu] as usize;
            // A core is looked at once per scan, from the first of its threads that the scan meets.
            if self.topo.core_seen[core] == this_scan || !w.allowed(p, cpu) {
                continue;
            }
            self.topo.core_seen[core] = this_scan;
            if self.select_idle_core(w, p, core, &mut fallback, scan) {
                return Ok(Some(cpu));
            }
        }
        Err(fallback)
    }

    /// `select_idle_core`: are all threads of a core idle? Notes the first idle CPU seen at all.
    fn select_idle_core(
        &self,
        w: &mut World,
        p: TaskId,
        core: usize,
        fallback: &mut Option<CpuId>,
        scan: &mut Scan,
    ) -> bool {
        let mut all_idle = true;
        for &cpu in &self.topo.core_cpus[core] {
            scan.read_cpu(w, cpu);
            if w.cpus[cpu].idle {
                if fallback.is_none() && w.allowed(p, cpu) {
                    *fallback = Some(cpu);
                }
                continue;
            }
            all_idle = false;
            // A busy thread is seen and an idle CPU is known: the rest of the core adds nothing.
            if fallback.is_some() {
                break;
            }
            if self.sched_idle_cpu(w, cpu) && w.allowed(p, cpu) {
                *fallback = Some(cpu);
                break;
            }
        }
        all_idle
    }

    /// SIS_PROP: as many CPUs as can be looked at in the idle time that is expected here. None if
    /// this CPU has no LLC.
    fn sis_prop_budget(&mut self, w: &World, target: CpuId) -> Option<u64> {
        let this = w.this;
        let level = self.topo.llc_level[this]? as usize;
        let jiffies = w.jiffies();
        let rq = &mut self.rqs[this];
        // A CPU that stays busy expects less and less idle time.
        while rq.wake_stamp < jiffies && rq.wake_avg_idle > 0 {
            rq.wake_stamp += 1;
            rq.wake_avg_idle >>= 1;
        }
        let avg_cost = self.sds[this][level].avg_scan_cost + 1;
        let span_avg = u64::from(self.topo.llc_size[target]) * rq.wake_avg_idle;
        Some(if span_avg > 4 * avg_cost { span_avg / avg_cost } else { 4 })
    }

    /// SIS_PROP: the scan took this long.
    fn sis_prop_account(&mut self, w: &World, elapsed: Ns) {
        let this = w.this;
        let Some(level) = self.topo.llc_level[this] else {
            return;
        };
        let rq = &mut self.rqs[this];
        // The time of the scan is taken from what later scans may use.
        rq.wake_avg_idle = rq.wake_avg_idle.saturating_sub(elapsed);
        update_avg(&mut self.sds[this][level as usize].avg_scan_cost, elapsed);
    }
}

/// The first bit of both sets after bit `at`, around to itself.
#[inline]
fn next_common(a: &[u64], b: &[u64], at: usize) -> Option<usize> {
    let start = at / 64;
    let n = a.len();
    let above = !1 << (at % 64);
    for i in 0..=n {
        let word = if start + i < n { start + i } else { start + i - n };
        let wanted = match i {
            0 => above,
            _ if i == n => !above,
            _ => !0,
        };
        let both = a[word] & b[word] & wanted;
        if both != 0 {
            return Some(64 * word + both.trailing_zeros() as usize);
        }
    }
    None
}

fn is_per_cpu_kthread(w: &World, p: TaskId) -> bool {
    p.is_task() && w.tasks[p].is_per_cpu_kthread()
}

/// Running average with weight 1/8 (`update_avg`).
pub(crate) fn update_avg(avg: &mut Ns, sample: Ns) {
    let diff = sample as i64 - *avg as i64;
    *avg = (*avg as i64 + diff / 8) as Ns;
}
