//! Tasks that wait and may not run on every CPU, counted by their affinity mask.

use crate::MaskId;
use topology::{CpuSet, IdVec};

/// Tasks that wait and may not run on every CPU.
pub(crate) struct PinnedWaiters {
    /// Number of waiting tasks by mask.
    pub waiting: IdVec<MaskId, u32>,
    /// Sum of `waiting`.
    pub n: u32,
    /// Those among them that may run on several CPUs. Each of the others waits on its only CPU,
    /// which therefore does not idle.
    pub n_movable: u32,
    /// Masks of several CPUs, the smallest first.
    pub order: Vec<MaskId>,
}

impl PinnedWaiters {
    /// No task waits, and the only mask is that of all CPUs.
    pub fn new() -> Self {
        Self { waiting: IdVec::filled(0, 1), n: 0, n_movable: 0, order: Vec::new() }
    }

    /// Takes in the last of `masks`, which is new.
    pub fn add_mask(&mut self, masks: &IdVec<MaskId, CpuSet>) {
        let new = masks.last().expect("the new one is there");
        self.waiting.push(0);
        // A task that may use a single CPU is never matched with an idle one.
        if new.len() > 1 {
            let smaller = |m: &MaskId| masks[*m].len() <= new.len();
            let at = self.order.partition_point(smaller);
            self.order.insert(at, MaskId(masks.len() as u32 - 1));
        }
    }
}
