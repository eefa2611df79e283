//! The masks of idle CPUs and cores, and the built-in choice of a CPU.
//!
//! The masks say what CPUs have announced, not what they do: a CPU that was claimed by a wake-up
//! is not in them although it still sleeps. Each mask is one cache line that moves to the CPU
//! that reads it; that is what looking at it costs.
//!
//! In Linux: `scx_select_cpu_dfl`, `scx_pick_idle_cpu` and `__scx_update_idle`, `ext.c` v6.12 and
//! `ext_idle.c` v6.18. Left out: masks per node, and the rule that a task of restricted affinity
//! is not looked for by LLC.

use super::types::{Rules, Wake, Why};
use sim_core::{Ns, TaskId, World};
use std::ops::Range;
use topology::{CpuId, CpuSet, PerCpu};

/// The two masks, as places of a line.
#[derive(Clone, Copy)]
enum Mask {
    Cpus,
    Cores,
}

#[derive(Default)]
pub(super) struct IdleMasks {
    /// CPUs that idle.
    cpus: CpuSet,
    /// CPUs of cores that idle as a whole; empty without SMT.
    cores: CpuSet,
    has_smt: bool,
    rules: Rules,
    /// The CPU that touched each mask last.
    lines: [Option<CpuId>; 2],
    /// By executing CPU: the CPU that its last search has found.
    last_found: PerCpu<CpuId>,
}

impl IdleMasks {
    /// A machine at rest.
    pub fn new(w: &World, rules: Rules) -> Self {
        let n = w.cpus.len();
        let has_smt = w.machine.cores.iter().any(|core| core.len() > 1);
        Self {
            cpus: CpuSet::full(n),
            cores: if has_smt { CpuSet::full(n) } else { CpuSet::empty(n) },
            has_smt,
            rules,
            lines: [None; 2],
            last_found: vec![CpuId(n as u32 - 1); n].into(),
        }
    }

    /// True if the CPU has announced that it idles and no wake-up has claimed it.
    pub fn is_idle(&self, cpu: CpuId) -> bool {
        self.cpus.contains(cpu)
    }

    /// CPUs that idle.
    pub fn cpus(&self) -> &CpuSet {
        &self.cpus
    }

    /// CPUs of cores that idle as a whole; without SMT all that idle.
    pub fn cores(&self) -> &CpuSet {
        if self.has_smt { &self.cores } else { &self.cpus }
    }

    /// `__scx_update_idle`
    pub fn update(&mut self, w: &mut World, cpu: CpuId, idle: bool) {
        self.touch(w, Mask::Cpus);
        match idle {
            true => self.cpus.insert(cpu),
            false => self.cpus.remove(cpu),
        }
        if self.has_smt {
            self.touch(w, Mask::Cores);
            let core = &w.machine.cores[w.machine.cpus[cpu].core as usize];
            // A core with one busy thread, or one claimed thread, is no idle core.
            let whole = idle && core.is_subset(&self.cpus);
            for sibling in core.iter() {
                if whole { self.cores.insert(sibling) } else { self.cores.remove(sibling) }
            }
        }
    }

    /// `test_and_clear_cpu_idle`: claims the CPU if it idles. Its core no longer idles as a whole.
    pub fn claim(&mut self, w: &mut World, cpu: CpuId) -> bool {
        self.touch(w, Mask::Cpus);
        if !self.cpus.contains(cpu) {
            return false;
        }
        self.cpus.remove(cpu);
        // `scx_idle_test_and_clear_cpu`: the other threads stay idle, but not as a core.
        if self.has_smt && self.cores.contains(cpu) {
            self.touch(w, Mask::Cores);
            let core = &w.machine.cores[w.machine.cpus[cpu].core as usize];
            core.iter().for_each(|sibling| self.cores.remove(sibling));
        }
        true
    }

    /// `scx_pick_idle_cpu`: claims an idle CPU that `p` may use, of a whole idle core if there is
    /// one.
    pub fn pick(&mut self, w: &mut World, p: TaskId, cores_only: bool) -> Option<CpuId> {
        self.pick_core(w, p, None).or_else(|| match cores_only {
            true => None,
            false => self.pick_within(w, p, None, Mask::Cpus),
        })
    }

    /// The same among any CPUs.
    pub fn pick_among(&mut self, w: &mut World, among: &CpuSet, cores: bool) -> Option<CpuId> {
        let (first, last) = (!self.has_smt as usize, 2 - cores as usize);
        [Mask::Cores, Mask::Cpus].get(first..last)?.iter().find_map(|mask| {
            self.touch(w, *mask);
            let sets = [self.mask(*mask), among, among];
            let cpu = next_common(sets, w.cpus.len(), self.last_found[w.this])?;
            self.found(w, cpu)
        })
    }

    fn mask(&self, mask: Mask) -> &CpuSet {
        match mask {
            Mask::Cpus => &self.cpus,
            Mask::Cores => &self.cores,
        }
    }

    fn found(&mut self, w: &mut World, cpu: CpuId) -> Option<CpuId> {
        self.last_found[w.this] = cpu;
        self.claim(w, cpu);
        Some(cpu)
    }

    /// Claims an idle CPU that `p` may use and that `fits`, near a CPU first; ours.
    pub fn pick_near(
        &mut self,
        w: &mut World,
        p: TaskId,
        near: CpuId,
        fits: impl Fn(&World, CpuId) -> bool,
    ) -> Option<CpuId> {
        self.touch(w, Mask::Cpus);
        let allowed = w.allowed_set(p);
        let llc = Near::llc(w, near).cpus(w);
        let within = |within: &CpuSet| {
            around(near, w.cpus.len()).into_iter().find_map(|mut range| {
                loop {
                    let cpu = first_in([&self.cpus, allowed, within], range.clone())?;
                    if fits(w, cpu) {
                        return Some(cpu);
                    }
                    range.start = cpu.idx() + 1;
                }
            })
        };
        let cpu = within(llc).or_else(|| within(allowed))?;
        self.claim(w, cpu);
        Some(cpu)
    }

    fn pick_core(&mut self, w: &mut World, p: TaskId, near: Option<Near>) -> Option<CpuId> {
        if !self.has_smt {
            return None;
        }
        self.pick_within(w, p, near, Mask::Cores)
    }

    /// `cpumask_any_and_distribute`: the next CPU after the one found last, so that work spreads.
    fn pick_within(
        &mut self,
        w: &mut World,
        p: TaskId,
        near: Option<Near>,
        mask: Mask,
    ) -> Option<CpuId> {
        self.touch(w, mask);
        let allowed = w.allowed_set(p);
        let within = near.map_or(allowed, |near| near.cpus(w));
        // From the CPU found last: the first one of the mask would get all the work.
        let sets = [self.mask(mask), allowed, within];
        let cpu = next_common(sets, w.cpus.len(), self.last_found[w.this])?;
        self.found(w, cpu)
    }

    /// `scx_select_cpu_dfl`
    pub fn select_cpu_dfl(
        &mut self,
        w: &mut World,
        p: TaskId,
        prev: CpuId,
        wake: Wake,
        local_is_empty: bool,
    ) -> (CpuId, Why) {
        let prev_allowed = w.allowed(p, prev);
        if wake.sync
            && let Some(chosen) =
                self.select_sync(w, p, prev_allowed.then_some(prev), local_is_empty)
        {
            return chosen;
        }
        let near = [Some(Near::llc(w, prev)), Some(Near::node(w, prev)), None];
        let near = if self.rules == Rules::V6_12 { &near[2..] } else { &near[..] };
        if self.has_smt {
            self.touch(w, Mask::Cores);
            // An idle core near `prev`, and `prev` with a busy sibling only after that.
            if prev_allowed && self.cores.contains(prev) && self.claim(w, prev) {
                return (prev, Why::Idle);
            }
            for within in near {
                if let Some(cpu) = self.pick_core(w, p, *within) {
                    return (cpu, Why::Idle);
                }
            }
        }
        if prev_allowed && self.claim(w, prev) {
            return (prev, Why::Idle);
        }
        for within in near {
            if let Some(cpu) = self.pick_within(w, p, *within, Mask::Cpus) {
                return (cpu, Why::Idle);
            }
        }
        (prev, Why::Prev)
    }

    /// A SYNC wake-up while some CPU idles: the waker's own CPU, or `prev` next to it.
    fn select_sync(
        &mut self,
        w: &mut World,
        p: TaskId,
        prev: Option<CpuId>,
        local_is_empty: bool,
    ) -> Option<(CpuId, Why)> {
        let waker = w.this;
        let llc = |cpu: CpuId| w.machine.domains.llc_id[cpu];
        if let (Rules::V6_18, Some(prev)) = (self.rules, prev)
            // `prev` next to the waker is as warm, and leaves the waker its CPU.
            && llc(prev) == llc(waker)
            && self.claim(w, prev)
        {
            return Some((prev, Why::Idle));
        }
        self.touch(w, Mask::Cpus);
        let curr = w.cpus[waker].curr;
        let exits = curr.is_task() && w.tasks[curr].exiting;
        // With idle CPUs the system has room: the task may wait for the waker to sleep.
        let fits = !self.cpus.is_empty() && !exits && local_is_empty && w.allowed(p, waker);
        fits.then_some((waker, Why::Waker))
    }

    /// The executing CPU looks at a mask: its line comes here.
    fn touch(&mut self, w: &mut World, mask: Mask) {
        let from = self.lines[mask as usize].replace(w.this).unwrap_or(w.this);
        let ns: Ns = w.line_ns(w.this, from);
        w.charge(ns);
    }
}

/// A part of the machine around a CPU.
#[derive(Clone, Copy)]
enum Near {
    Llc(u32),
    Node(u32),
}

impl Near {
    fn llc(w: &World, cpu: CpuId) -> Self {
        Self::Llc(w.machine.cpus[cpu].llc)
    }

    fn node(w: &World, cpu: CpuId) -> Self {
        Self::Node(w.machine.cpus[cpu].node)
    }

    fn cpus(self, w: &World) -> &CpuSet {
        match self {
            Self::Llc(llc) => &w.machine.llcs[llc as usize],
            Self::Node(node) => &w.machine.nodes[node as usize],
        }
    }
}

/// All CPUs once, from the one behind `after`.
fn around(after: CpuId, n_cpus: usize) -> [Range<usize>; 2] {
    [after.idx() + 1..n_cpus, 0..after.idx() + 1]
}

/// The first CPU of all sets behind `after`, or from the start.
fn next_common(sets: [&CpuSet; 3], n_cpus: usize, after: CpuId) -> Option<CpuId> {
    around(after, n_cpus).into_iter().find_map(|range| first_in(sets, range))
}

/// The first CPU of all sets in a range of numbers.
fn first_in(sets: [&CpuSet; 3], range: Range<usize>) -> Option<CpuId> {
    if range.is_empty() {
        return None;
    }
    let [a, b, c] = sets.map(CpuSet::words);
    let (first, last) = (range.start / 64, (range.end - 1) / 64);
    (first..=last).find_map(|i| {
        let mut word = a[i] & b[i] & c[i];
        if i == first {
            word &= u64::MAX << (range.start % 64);
        }
        if i == last {
            word &= u64::MAX >> (63 - (range.end - 1) % 64);
        }
        (word != 0).then(|| CpuId(i as u32 * 64 + word.trailing_zeros()))
    })
}

#[cfg(test)]
mod tests;
