//! Tasks that wait and may not run on every CPU, counted by their affinity mask.

use crate::MaskId;
use topology::{CpuSet, IdVec};

/// Tasks that wait and may not run on every CPU.
pub(crate) struct PinnedWaiters {
    /// How many, by mask.
    pub waiting: IdVec<MaskId, u32>,
    /// All of them.
    pub n: u32,
    /// Those that may run on several CPUs. The others wait on their CPU, so that it does not idle.
    pub n_movable: u32,
    /// Masks of several CPUs, the smallest first.
    pub order: Vec<MaskId>,
}

impl PinnedWaiters {
    /// Nobody; of the masks there is that of all CPUs.
    pub fn new() -> Self {
        Self { waiting: IdVec::filled(0, 1), n: 0, n_movable: 0, order: Vec::new() }
    }

    /// The last of `masks` is new.
    pub fn add_mask(&mut self, masks: &IdVec<MaskId, CpuSet>) {
        let new = masks.last().expect("the new one is there");
        self.waiting.push(0);
        if new.len() > 1 {
            let smaller = |m: &MaskId| masks[*m].len() <= new.len();
            let at = self.order.partition_point(smaller);
            self.order.insert(at, MaskId(masks.len() as u32 - 1));
        }
    }
}
