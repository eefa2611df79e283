//! The masks of idle CPUs and cores.
//!
//! The masks say what CPUs have announced, not what they do: a CPU that was claimed by a wake-up
//! is not in them although it still sleeps. Each mask is one cache line that moves to the CPU
//! that reads it; that is what looking at it costs. The machine has one pair of masks, or each
//! NUMA node has its own (`SCX_OPS_BUILTIN_IDLE_PER_NODE`, since 6.15): then there is a line for
//! each of them. A node's mask is the part of the machine's that lies in the node, so only the
//! lines and the order of the search differ.
//!
//! In Linux: `scx_pick_idle_cpu` and `__scx_update_idle`, `ext.c` v6.12 and `ext_idle.c` v6.18.

mod find;
pub(super) mod select;

pub(super) use find::{Allowed, next_common};

use super::types::{Pick, Rules};
use find::{Near, around, first_in};
use sim_core::{Ns, TaskId, World};
use topology::{CpuId, CpuSet, Machine};

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
    /// The CPU that touched each mask last; by node if each node has its own.
    lines: Vec<[Option<CpuId>; 2]>,
    /// By node: all nodes, nearest first. Empty if the machine has one pair of masks.
    rounds: Vec<Vec<u32>>,
}

impl IdleMasks {
    /// A machine at rest.
    pub fn new(w: &World, rules: Rules, per_node: bool) -> Self {
        let n = w.cpus.len();
        let has_smt = w.machine.cores.iter().any(|core| core.len() > 1);
        let rounds = if per_node { rounds(&w.machine) } else { Vec::new() };
        Self {
            cpus: CpuSet::full(n),
            cores: if has_smt { CpuSet::full(n) } else { CpuSet::empty(n) },
            has_smt,
            rules,
            lines: vec![[None; 2]; rounds.len().max(1)],
            rounds,
        }
    }

    /// True if each node has masks of its own.
    pub fn is_per_node(&self) -> bool {
        !self.rounds.is_empty()
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
        let node = self.node_of(w, cpu);
        self.touch(w, node, Mask::Cpus);
        match idle {
            true => self.cpus.insert(cpu),
            false => self.cpus.remove(cpu),
        }
        if self.has_smt {
            self.touch(w, node, Mask::Cores);
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
        let node = self.node_of(w, cpu);
        self.touch(w, node, Mask::Cpus);
        if !self.cpus.contains(cpu) {
            return false;
        }
        self.cpus.remove(cpu);
        // `scx_idle_test_and_clear_cpu`: the other threads stay idle, but not as a core.
        if self.has_smt && self.cores.contains(cpu) {
            self.touch(w, node, Mask::Cores);
            let core = &w.machine.cores[w.machine.cpus[cpu].core as usize];
            core.iter().for_each(|sibling| self.cores.remove(sibling));
        }
        true
    }

    /// `scx_pick_idle_cpu`: claims an idle CPU, of a whole idle core if there is one. Of masks per
    /// node those of `node` come first, and then those of the other nodes, nearest first.
    pub fn pick(
        &mut self,
        w: &mut World,
        allowed: Allowed<'_>,
        node: Option<u32>,
        pick: Pick,
    ) -> Option<CpuId> {
        let found = self.pick_in_node(w, allowed, node, pick.core);
        let Some(first) = node.filter(|_| found.is_none() && !pick.in_node) else {
            return found;
        };
        // `pick_idle_cpu_from_online_nodes`
        (1..self.rounds.len()).find_map(|i| {
            let node = self.rounds[first as usize][i];
            self.pick_in_node(w, allowed, Some(node), pick.core)
        })
    }

    /// `pick_idle_cpu_in_node`; without SMT no core is better than another.
    fn pick_in_node(
        &mut self,
        w: &mut World,
        allowed: Allowed<'_>,
        node: Option<u32>,
        cores_only: bool,
    ) -> Option<CpuId> {
        let within = node.map(Near::Node);
        if self.has_smt {
            let cpu = self.pick_within(w, allowed, node, within, Mask::Cores);
            if cpu.is_some() || cores_only {
                return cpu;
            }
        }
        self.pick_within(w, allowed, node, within, Mask::Cpus)
    }

    /// `cpumask_any_and_distribute`: the next CPU after the one found last, so that work spreads.
    /// The executing CPU has one counter for that, whatever it looks for.
    /// `within` lies in `node`, if that has masks of its own.
    fn pick_within(
        &mut self,
        w: &mut World,
        allowed: Allowed<'_>,
        node: Option<u32>,
        within: Option<Near>,
        mask: Mask,
    ) -> Option<CpuId> {
        self.touch(w, node, mask);
        let allowed = allowed.cpus(w);
        let within = within.map_or(allowed, |near| near.cpus(w));
        let idle = match mask {
            Mask::Cpus => &self.cpus,
            Mask::Cores => &self.cores,
        };
        // From the CPU found last: the first one of the mask would get all the work.
        let cpu = next_common([idle, allowed, within], w.cpus.len(), w.last_distributed())?;
        w.note_distributed(cpu);
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
        let node = self.node_of(w, near);
        self.touch(w, node, Mask::Cpus);
        let found = self.first_fit(w, p, near, Some(Near::llc(w, near)), &fits);
        let cpu = found.or_else(|| match node {
            None => self.first_fit(w, p, near, None, &fits),
            Some(own) => (0..self.rounds.len()).find_map(|i| {
                let node = self.rounds[own as usize][i];
                self.touch(w, Some(node), Mask::Cpus);
                self.first_fit(w, p, near, Some(Near::Node(node)), &fits)
            }),
        })?;
        self.claim(w, cpu);
        Some(cpu)
    }

    fn first_fit(
        &self,
        w: &World,
        p: TaskId,
        near: CpuId,
        within: Option<Near>,
        fits: impl Fn(&World, CpuId) -> bool,
    ) -> Option<CpuId> {
        let allowed = w.allowed_set(p);
        let within = within.map_or(allowed, |near| near.cpus(w));
        around(near, w.cpus.len()).into_iter().find_map(|mut range| {
            loop {
                let cpu = first_in([&self.cpus, allowed, within], range.clone())?;
                if fits(w, cpu) {
                    return Some(cpu);
                }
                range.start = cpu.idx() + 1;
            }
        })
    }

    /// `scx_cpu_node_if_enabled`: the node whose masks a CPU is in; `None`: those of the machine.
    pub fn node_of(&self, w: &World, cpu: CpuId) -> Option<u32> {
        self.is_per_node().then(|| w.machine.cpus[cpu].node)
    }

    /// The executing CPU looks at a mask: its line comes here.
    fn touch(&mut self, w: &mut World, node: Option<u32>, mask: Mask) {
        let line = &mut self.lines[node.unwrap_or(0) as usize][mask as usize];
        let from = line.replace(w.this).unwrap_or(w.this);
        let ns: Ns = w.line_ns(w.this, from);
        w.charge(ns);
    }
}

/// By node: all nodes by their distance from it, itself first, and of equals the lowest
/// (`for_each_node_numadist`).
fn rounds(machine: &Machine) -> Vec<Vec<u32>> {
    let n = machine.nodes.len();
    let round = |own: usize| {
        let row = &machine.numa_distance[own * n..][..n];
        let mut round: Vec<u32> = (0..n as u32).collect();
        round.sort_by_key(|node| (*node as usize != own, row[*node as usize]));
        round
    };
    (0..n).map(round).collect()
}

#[cfg(test)]
mod tests;
