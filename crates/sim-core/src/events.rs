//! The indexed event queue: a winner tree over dense ids, one entry per id, updated in place.
//!
//! The order is total and independent of history: (time, class, id). So no sequence numbers are
//! needed, equal times are resolved the same way in every run and in every mode of the engine, and
//! replacing an entry leaves no tombstone.
//!
//! Each inner node holds the smaller of its two children's keys, one `u64` of time and class; the
//! id needs no bits, because the leaves stand in the order of the ids and of equal keys the left
//! one wins. An update recomputes the path from the leaf to the root, a look walks it down: log2(n)
//! steps without a branch that depends on the data. In a plain hold model `BinaryHeap` is about as
//! fast (benchmark group `event_queue`), but it cannot move an event that another CPU brings
//! forward. An indexed 4-ary heap and a tree of groups of four were tried and were no faster.

use crate::{NEVER, Ns};

const NOTHING: u64 = u64::MAX;
/// Bits of a key that hold the class: four classes, and 146 years of time.
const CLASS_BITS: u32 = 2;

/// Indexed priority queue of at most one event per id.
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// Node 1 is the root, node i has the children 2i and 2i+1, leaf `leaves + id` belongs to `id`.
    nodes: Vec<u64>,
    leaves: usize,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self::new(1)
    }
}

impl EventQueue {
    /// Greater than the key of any event.
    pub const NO_KEY: u64 = NOTHING;

    /// An empty queue for ids below `n` (it grows if larger ids are used).
    pub fn new(n: usize) -> Self {
        let leaves = n.max(1).next_power_of_two();
        Self { nodes: vec![NOTHING; 2 * leaves], leaves }
    }

    /// Number of pending events. O(n).
    pub fn len(&self) -> usize {
        self.nodes[self.leaves..].iter().filter(|k| **k != NOTHING).count()
    }

    /// True if nothing is pending.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.nodes[1] == NOTHING
    }

    /// Time and class of the first event as one number that orders events of several queues;
    /// `u64::MAX` if nothing is pending. [`EventQueue::time_of_key`] takes the time out again.
    #[inline]
    pub fn first_key(&self) -> u64 {
        self.nodes[1]
    }

    /// The time in a key.
    #[inline]
    pub fn time_of_key(key: u64) -> Ns {
        if key == NOTHING { NEVER } else { key >> CLASS_BITS }
    }

    /// Time and id of the first event. O(log n).
    #[inline]
    pub fn peek(&self) -> Option<(Ns, u32)> {
        let first = self.nodes[1];
        if first == NOTHING {
            return None;
        }
        let mut at = 1;
        while at < self.leaves {
            at = 2 * at + usize::from(self.nodes[2 * at] != first);
        }
        Some((first >> CLASS_BITS, (at - self.leaves) as u32))
    }

    /// The pending time of `id`, or [`NEVER`].
    #[inline]
    pub fn time_of(&self, id: u32) -> Ns {
        self.nodes.get(self.leaves + id as usize).map_or(NEVER, |k| Self::time_of_key(*k))
    }

    /// Sets the event of `id`, replacing a pending one; [`NEVER`] removes it. `class` is below 4.
    /// O(log n).
    #[inline]
    pub fn set(&mut self, id: u32, time: Ns, class: u8) {
        self.set_key(id, Self::key(time, class));
    }

    /// A time and a class (below 4) as one number; [`NEVER`] is `u64::MAX`.
    #[inline]
    pub fn key(time: Ns, class: u8) -> u64 {
        debug_assert!(class < 4 && (time == NEVER || time < 1 << (64 - CLASS_BITS)));
        if time == NEVER { NOTHING } else { time << CLASS_BITS | u64::from(class) }
    }

    /// True if an event of `id` with this key would be the only first one, whatever is pending for
    /// `id` now. O(log n), and usually less if the answer is no.
    #[inline]
    pub fn would_lead(&self, id: u32, key: u64) -> bool {
        let mut at = self.leaves + id as usize;
        while at > 1 {
            if self.nodes[at ^ 1] <= key {
                return false;
            }
            at /= 2;
        }
        true
    }

    /// As [`EventQueue::set`], with time and class as a [`EventQueue::key`].
    #[inline]
    pub fn set_key(&mut self, id: u32, key: u64) {
        if id as usize >= self.leaves {
            self.grow(id as usize + 1);
        }
        let mut winner = key;
        let mut at = self.leaves + id as usize;
        while at > 1 {
            self.nodes[at] = winner;
            winner = winner.min(self.nodes[at ^ 1]);
            at /= 2;
            if self.nodes[at] == winner {
                return;
            }
        }
        self.nodes[1] = winner;
    }

    /// Removes and returns the first event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Ns, u32)> {
        let first = self.peek()?;
        self.set(first.1, NEVER, 0);
        Some(first)
    }

    #[cold]
    fn grow(&mut self, n: usize) {
        let mut wider = Self::new(n);
        wider.nodes[wider.leaves..wider.leaves + self.leaves]
            .copy_from_slice(&self.nodes[self.leaves..]);
        for at in (1..wider.leaves).rev() {
            wider.nodes[at] = wider.nodes[2 * at].min(wider.nodes[2 * at + 1]);
        }
        *self = wider;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn equal_times_come_out_by_class_then_id() {
        let mut q = EventQueue::new(8);
        q.set(5, 10, 1);
        q.set(7, 10, 0);
        q.set(2, 10, 1);
        q.set(1, 9, 1);
        let order: Vec<_> = std::iter::from_fn(|| q.pop()).map(|(_, id)| id).collect();
        assert_eq!(order, [1, 7, 2, 5]);
    }

    #[test]
    fn setting_never_removes() {
        let mut q = EventQueue::new(2);
        q.set(0, 5, 0);
        q.set(0, NEVER, 0);
        assert!(q.is_empty());
        assert_eq!(q.time_of(0), NEVER);
    }

    proptest! {
        /// The tree agrees with a sorted map under random updates, removals and pops.
        #[test]
        fn agrees_with_a_sorted_map(ops in prop::collection::vec((0u32..40, 0u64..60, 0u8..3, 0u8..5), 1..400)) {
            let mut q = EventQueue::new(4);
            let mut twin: BTreeMap<u32, (Ns, u8)> = BTreeMap::new();
            for (id, time, class, what) in ops {
                match what {
                    0 => {
                        let expected = twin.iter().map(|(&id, &(t, c))| (t, c, id)).min();
                        let got = q.pop();
                        prop_assert_eq!(got, expected.map(|(t, _, id)| (t, id)));
                        if let Some((_, _, id)) = expected {
                            twin.remove(&id);
                        }
                    }
                    1 => {
                        q.set(id, NEVER, 0);
                        twin.remove(&id);
                    }
                    _ => {
                        q.set(id, time, class);
                        twin.insert(id, (time, class));
                    }
                }
                prop_assert_eq!(q.len(), twin.len());
                prop_assert_eq!(q.time_of(id), twin.get(&id).map_or(NEVER, |e| e.0));
            }
        }
    }
}
