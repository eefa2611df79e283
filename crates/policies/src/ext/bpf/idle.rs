//! Calls that look for an idle CPU.
//!
//! In Linux: `ext.c` v6.12, `ext_idle.c` v6.18.

use super::calls::{Outcome, stop};
use super::host::Here;
use super::objects::{Mask, What};
use crate::ext::types::{Pick, Wake, Why};
use ::bpf::Memory;
use topology::CpuId;

const WAKE_FORK: u64 = 4;
const WAKE_SYNC: u64 = 0x10;
const PICK_IDLE_CORE: u64 = 1;
const PICK_IDLE_IN_NODE: u64 = 2;
/// `NUMA_NO_NODE`
const NO_NODE: i32 = -1;
const ENOENT: i64 = -2;
const EBUSY: i64 = -16;

impl Here<'_, '_> {
    pub(super) fn select_dfl(&mut self, a: [u64; 5], memory: &mut Memory) -> Outcome {
        let [p, prev, wake, is_idle, _] = a;
        let (p, prev) = (self.task(p)?, self.cpu(prev)?);
        let (cpu, why) = self.cx.select_cpu_dfl(p, prev, wake_of(wake));
        if !memory.store(self, is_idle, 1, u64::from(why != Why::Prev)) {
            return stop("scx_bpf_select_cpu_dfl: is_idle cannot be written".to_string());
        }
        Ok(cpu.0.into())
    }

    /// `scx_bpf_select_cpu_and(p, prev, wake_flags, allowed, flags)`: as the kernel's own choice,
    /// among those of these CPUs that `p` may use.
    pub(super) fn select_and(&mut self, a: [u64; 5], memory: &mut Memory) -> Outcome {
        let [p, prev, wake, among, flags] = a;
        let (p, prev) = (self.task(p)?, self.cpu(prev)?);
        self.read_mask(among, memory);
        let allowed = self.cx.world().allowed_set(p);
        for word in 0..allowed.words().len() {
            let both = allowed.words()[word] & self.books.mask.words()[word];
            self.books.mask.set_word(word, both);
        }
        let mask = &self.books.mask;
        Ok(as_u64(self.cx.select_cpu_and(mask, prev, wake_of(wake), pick_of(flags))))
    }

    pub(super) fn pick_idle(&mut self, among: u64, flags: u64, memory: &mut Memory) -> u64 {
        self.read_mask(among, memory);
        let pick = pick_of(flags);
        as_u64(self.cx.pick_idle_cpu_in(&self.books.mask, pick.core))
    }

    pub(super) fn pick_any(&mut self, among: u64, flags: u64, memory: &mut Memory) -> u64 {
        self.read_mask(among, memory);
        let idle = match self.books.builtin_idle {
            true => self.cx.pick_idle_cpu_in(&self.books.mask, pick_of(flags).core),
            false => None,
        };
        as_u64(idle.or_else(|| self.cx.any_distribute(&self.books.mask, None)))
    }

    /// `scx_bpf_pick_idle_cpu_node(allowed, node, flags)`, and `any`: if none of these CPUs idles,
    /// one that does not.
    pub(super) fn pick_node(&mut self, a: [u64; 5], any: bool, memory: &mut Memory) -> Outcome {
        let [among, node, flags, ..] = a;
        let Some(node) = self.node(node)? else {
            return Ok(ENOENT as u64);
        };
        self.read_mask(among, memory);
        let pick = pick_of(flags);
        let idle = self.cx.pick_idle_cpu_node(&self.books.mask, node, pick);
        if idle.is_some() || !any {
            return Ok(as_u64(idle));
        }
        let in_node = pick.in_node.then_some(node);
        Ok(as_u64(self.cx.any_distribute(&self.books.mask, in_node)))
    }

    /// `scx_bpf_get_idle_cpumask_node` and its like.
    pub(super) fn mask_of_node(&self, node: u64, mask: impl Fn(u32) -> Mask) -> Outcome {
        let mask = self.node(node)?.map_or(Mask::Empty, mask);
        Ok(What::Mask(mask).address())
    }

    /// `validate_node`; `None`: the number of no node, which is no fault.
    fn node(&self, node: u64) -> Result<Option<u32>, ::bpf::Answer> {
        let node = node as i32;
        match u32::try_from(node) {
            _ if node == NO_NODE => Ok(None),
            Ok(known) if (known as usize) < self.cx.machine().nodes.len() => Ok(Some(known)),
            _ => stop(format!("invalid node {node}")),
        }
    }

    /// Reads a mask of CPUs, the host's or the program's own.
    fn read_mask(&mut self, address: u64, memory: &mut Memory) {
        for word in 0..self.books.mask.words().len() {
            let bits = memory.load(self, address.wrapping_add(8 * word as u64), 8).unwrap_or(0);
            self.books.mask.set_word(word, bits);
        }
    }
}

fn wake_of(flags: u64) -> Wake {
    Wake { sync: flags & WAKE_SYNC != 0, fork: flags & WAKE_FORK != 0 }
}

fn pick_of(flags: u64) -> Pick {
    Pick { core: flags & PICK_IDLE_CORE != 0, in_node: flags & PICK_IDLE_IN_NODE != 0 }
}

fn as_u64(cpu: Option<CpuId>) -> u64 {
    cpu.map_or(EBUSY as u64, |cpu| cpu.0.into())
}
