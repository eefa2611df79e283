//! The built-in choice of a CPU: `scx_select_cpu_dfl`, `ext.c` v6.12 and `ext_idle.c` v6.18.

use super::find::{Allowed, Near};
use super::{IdleMasks, Mask};
use crate::ext::types::{Pick, Rules, Wake, Why};
use sim_core::World;
use topology::CpuId;

/// A wake-up that needs a CPU.
#[derive(Clone, Copy)]
pub(in crate::ext) struct Question<'a> {
    /// The CPU that the task was on.
    pub prev: CpuId,
    pub wake: Wake,
    /// Nothing waits on the local queue of the executing CPU.
    pub local_is_empty: bool,
    /// CPUs that will do; the task may use all of them.
    pub allowed: Allowed<'a>,
    pub pick: Pick,
}

impl IdleMasks {
    /// `scx_select_cpu_dfl`
    pub fn select_cpu_dfl(&mut self, w: &mut World, q: Question<'_>) -> (CpuId, Why) {
        let Question { prev, wake, allowed, pick, .. } = q;
        // 6.12 does not ask: the task may then be sent to where it may not run; its wake-up falls
        // back to another CPU.
        let prev_allowed = self.rules == Rules::V6_12 || allowed.cpus(w).contains(prev);
        if wake.sync
            && let Some(chosen) = self.select_sync(w, q, prev_allowed)
        {
            return chosen;
        }
        let idle = |cpu: CpuId| (cpu, Why::Idle);
        if self.has_smt {
            let node = self.node_of(w, prev);
            self.touch(w, node, Mask::Cores);
            // An idle core near `prev`, and `prev` with a busy sibling only after that.
            if prev_allowed && self.cores.contains(prev) && self.claim(w, prev) {
                return (prev, Why::Idle);
            }
            let cpu = self.pick_around(w, q, Mask::Cores);
            if cpu.is_some() || pick.core {
                return cpu.map_or((prev, Why::Prev), idle);
            }
        }
        if prev_allowed && self.claim(w, prev) {
            return (prev, Why::Idle);
        }
        self.pick_around(w, q, Mask::Cpus).map_or((prev, Why::Prev), idle)
    }

    /// Near `prev`, which only 6.18 prefers, then anywhere. With masks per node the kernel does not
    /// look at the node before it does at all nodes: the search begins in that node.
    fn pick_around(&mut self, w: &mut World, q: Question<'_>, mask: Mask) -> Option<CpuId> {
        let Question { prev, allowed, pick, .. } = q;
        let node = self.node_of(w, prev);
        let near = [Near::llc(w, prev), Near::node(w, prev)];
        let near = match (self.rules, node) {
            (Rules::V6_12, _) => &near[..0],
            (Rules::V6_18, Some(_)) => &near[..1],
            (Rules::V6_18, None) => &near[..],
        };
        let found =
            near.iter().find_map(|within| self.pick_within(w, allowed, node, Some(*within), mask));
        let core = pick.core || matches!(mask, Mask::Cores);
        found.or_else(|| match node {
            // The kernel looks at idle cores once more, of which there still are none.
            None => self.pick_within(w, allowed, None, None, mask),
            Some(_) => self.pick(w, allowed, node, Pick { core, ..pick }),
        })
    }

    /// A SYNC wake-up while some CPU idles: the waker's own CPU, or `prev` next to it.
    fn select_sync(
        &mut self,
        w: &mut World,
        q: Question<'_>,
        prev_allowed: bool,
    ) -> Option<(CpuId, Why)> {
        let (waker, prev) = (w.this, q.prev);
        let llc = |cpu: CpuId| w.machine.domains.llc_id[cpu];
        if self.rules == Rules::V6_18
            && prev_allowed
            // `prev` next to the waker is as warm, and leaves the waker its CPU.
            && llc(prev) == llc(waker)
            && self.claim(w, prev)
        {
            return Some((prev, Why::Idle));
        }
        let node = self.node_of(w, waker);
        if q.pick.in_node && node != self.node_of(w, prev) {
            return None;
        }
        self.touch(w, node, Mask::Cpus);
        let curr = w.cpus[waker].curr;
        let exits = curr.is_task() && w.tasks[curr].exiting;
        let has_room = match node {
            None => !self.cpus.is_empty(),
            Some(node) => self.cpus.intersects(Near::Node(node).cpus(w)),
        };
        // With idle CPUs the system has room: the task may wait for the waker to sleep.
        let fits = has_room && !exits && q.local_is_empty && q.allowed.cpus(w).contains(waker);
        fits.then_some((waker, Why::Waker))
    }
}
