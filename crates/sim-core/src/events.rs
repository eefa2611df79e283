//! The indexed event queue: a winner tree over dense ids, one entry per id, updated in place.
//!
//! The order is total and independent of history: (time, class, id). So no sequence numbers are
//! needed, equal times are resolved the same way in every run and in every mode of the engine, and
//! replacing an entry leaves no tombstone.
//!
//! An entry is one `u64`: time, class, and in the lowest bits the id, so that each inner node is
//! the smaller of its two children. A look reads the root; an update recomputes the path from the
//! leaf to the root: log2(n) steps without a branch that depends on the data, all of whose reads
//! are known at the start. (To stop an update where nothing changes costs more in mispredicted
//! branches than it saves.) In a plain hold model `BinaryHeap` is slower (benchmark group
//! `event_queue`), and it cannot move an event that another CPU brings forward. Groups of four or
//! eight children, keys and ids in one `u128` or side by side, and an indexed 4-ary heap were
//! tried: none was faster.
//!
//! The price is a horizon: what the id takes, the time lacks. Events later than 2^63 ns / n of
//! simulated time (104 days for 1024 ids, 19 hours for 131 072) are kept aside, in a sorted set
//! that is slower and allocates.

mod far;

use crate::{NEVER, Ns};
use far::Far;

/// Greater than all entries.
const NOTHING: u64 = u64::MAX;
/// Bits of a key that hold the class: two classes.
const CLASS_BITS: u32 = 1;

/// Indexed priority queue of at most one event per id.
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// Bits of an entry that hold the id.
    id_bits: u32,
    /// The first entry of all.
    first: u64,
    /// Node i has the children 2 i and 2 i + 1; 1 is the root. The leaf of `id` is node
    /// `leaves + id`.
    nodes: Vec<u64>,
    /// The events beyond the horizon, all of them later than those in the tree.
    far: Far,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self::new(1)
    }
}

impl EventQueue {
    /// Greater than the key of any event.
    pub const NO_KEY: u64 = u64::MAX;

    /// An empty queue for ids below `n` (it grows if larger ids are used).
    pub fn new(n: usize) -> Self {
        let leaves = n.max(2).next_power_of_two();
        let nodes = vec![NOTHING; 2 * leaves];
        Self { id_bits: leaves.trailing_zeros(), first: NOTHING, nodes, far: Far::default() }
    }

    /// Number of leaves.
    #[inline]
    fn leaves(&self) -> usize {
        self.nodes.len() / 2
    }

    /// The key of the event of `id`.
    fn key_of(&self, id: u32) -> u64 {
        match self.nodes.get(self.leaves() + id as usize) {
            Some(&entry) if entry != NOTHING => entry >> self.id_bits,
            _ => self.far.key_of(id),
        }
    }

    /// Number of pending events. O(n).
    pub fn len(&self) -> usize {
        let near = self.nodes[self.leaves()..].iter().filter(|entry| **entry != NOTHING).count();
        near + self.far.len()
    }

    /// True if nothing is pending.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first_key() == Self::NO_KEY
    }

    /// Time and class of the first event as one number that orders events of several queues;
    /// [`EventQueue::NO_KEY`] if nothing is pending. [`EventQueue::time_of_key`] takes the time out
    /// again.
    #[inline]
    pub fn first_key(&self) -> u64 {
        if self.first == NOTHING { self.far.first_key() } else { self.first >> self.id_bits }
    }

    /// The id of the first event; meaningless if nothing is pending.
    #[inline]
    pub fn first_id(&self) -> u32 {
        if self.first == NOTHING {
            return self.far.first_id();
        }
        (self.first & ((1 << self.id_bits) - 1)) as u32
    }

    /// The time in a key.
    #[inline]
    pub fn time_of_key(key: u64) -> Ns {
        if key == Self::NO_KEY { NEVER } else { key >> CLASS_BITS }
    }

    /// Time and id of the first event.
    #[inline]
    pub fn peek(&self) -> Option<(Ns, u32)> {
        (!self.is_empty()).then(|| (self.first_key() >> CLASS_BITS, self.first_id()))
    }

    /// The pending time of `id`, or [`NEVER`].
    pub fn time_of(&self, id: u32) -> Ns {
        Self::time_of_key(self.key_of(id))
    }

    /// Sets the event of `id`, replacing a pending one; [`NEVER`] removes it. `class` is below 2.
    /// O(log n).
    #[inline]
    pub fn set(&mut self, id: u32, time: Ns, class: u8) {
        self.set_key(id, Self::key(time, class));
    }

    /// A time and a class (below 2) as one number; [`EventQueue::NO_KEY`] for [`NEVER`] and for
    /// what is later than 2^63 ns, three centuries.
    #[inline]
    pub fn key(time: Ns, class: u8) -> u64 {
        debug_assert!(class < 2);
        if time >> (64 - CLASS_BITS) != 0 {
            Self::NO_KEY
        } else {
            time << CLASS_BITS | u64::from(class)
        }
    }

    /// As [`EventQueue::set`], with time and class as a [`EventQueue::key`]. (Not inlined: with a
    /// copy in each caller a simulated kernel build takes 4 % longer.)
    #[inline(never)]
    pub fn set_key(&mut self, id: u32, key: u64) {
        if id as usize >= self.leaves() {
            self.grow(id as usize + 1);
        }
        let mut first = self.entry(id, key);
        let beyond_horizon = first == NOTHING;
        // In nearly all runs no event is that far, and this is one test.
        if beyond_horizon && key != Self::NO_KEY || !self.far.is_empty() {
            self.far.set(id, if beyond_horizon { key } else { Self::NO_KEY });
        }
        let mut at = self.leaves() + id as usize;
        let nodes = self.nodes.as_mut_slice();
        if nodes[at] == first {
            return;
        }
        // All the way up: to stop where nothing changes costs a mispredicted branch.
        while at > 1 {
            nodes[at] = first;
            first = first.min(nodes[at ^ 1]);
            at /= 2;
        }
        self.first = first;
    }

    /// What the tree holds of the event of `id`.
    #[inline]
    fn entry(&self, id: u32, key: u64) -> u64 {
        // The largest key that would fit is kept aside, too: with the largest id it is `NOTHING`.
        let beyond_horizon = key >= NOTHING >> self.id_bits;
        if beyond_horizon { NOTHING } else { key << self.id_bits | u64::from(id) }
    }

    /// True if the event of `id`, which comes at this key or later, would be the first of all were
    /// it set to this key. (False beyond the horizon, where it is not worth a look.)
    #[inline]
    pub fn would_lead(&self, id: u32, key: u64) -> bool {
        let entry = self.entry(id, key);
        entry <= self.first && entry != NOTHING
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
        for id in 0..self.leaves() as u32 {
            wider.set_key(id, self.key_of(id));
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

    #[test]
    fn what_lies_beyond_the_horizon_comes_in_its_turn() {
        let mut q = EventQueue::new(1024);
        let horizon = 1 << (63 - 10);
        q.set(2, horizon + 1, 1);
        q.set(1, horizon + 1, 1);
        q.set(0, horizon, 0);
        q.set(3, NEVER - 1, 0);
        q.set(1023, horizon - 2, 1);
        assert_eq!((q.len(), q.time_of(2), q.time_of(3)), (4, horizon + 1, NEVER));
        q.set(2, 7, 0);
        let order: Vec<_> = std::iter::from_fn(|| q.pop()).collect();
        assert_eq!(order, [(7, 2), (horizon - 2, 1023), (horizon, 0), (horizon + 1, 1)]);
        assert!(q.is_empty());
    }

    #[test]
    fn the_largest_key_with_the_largest_id_is_something() {
        let mut q = EventQueue::new(8);
        let last = (1 << (63 - 3)) - 1;
        q.set(7, last, 1);
        q.set(6, last, 1);
        q.set(5, last, 0);
        let order: Vec<_> = std::iter::from_fn(|| q.pop()).map(|(_, id)| id).collect();
        assert_eq!(order, [5, 6, 7]);
    }

    #[test]
    fn growing_brings_the_horizon_nearer_and_loses_nothing() {
        let mut q = EventQueue::new(2);
        let horizon_of_1024 = 1 << (63 - 10);
        q.set(0, horizon_of_1024, 0);
        q.set(1000, 5, 0);
        assert_eq!((q.pop(), q.pop()), (Some((5, 1000)), Some((horizon_of_1024, 0))));
    }

    /// Near ones, ones around the horizons of 4 to 64 ids, and ones beyond all of these.
    fn times() -> impl Strategy<Value = Ns> {
        let around = (56u32..62, 0u64..4).prop_map(|(bits, more)| (1 << bits) - 2 + more);
        prop_oneof![6 => 0u64..60, 2 => around, 1 => (1u64 << 62)..(1 << 63) - 1]
    }

    /// Mostly few; some make the tree grow.
    fn ids() -> impl Strategy<Value = u32> {
        prop_oneof![12 => 0u32..40, 1 => 0u32..5000]
    }

    proptest! {
        /// The tree agrees with a sorted map under random updates, removals and pops.
        #[test]
        fn agrees_with_a_sorted_map(ops in prop::collection::vec((ids(), times(), 0u8..2, 0u8..5), 1..400)) {
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
