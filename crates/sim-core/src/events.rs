//! The indexed event queue: a winner tree over dense ids, one entry per id, updated in place.
//!
//! The order is total and independent of history: (time, class, id). So no sequence numbers are
//! needed, equal times are resolved the same way in every run and in every mode of the engine, and
//! replacing an entry leaves no tombstone.
//!
//! Each inner node holds the winner of its two children: a key, one `u64` of time and class, and
//! the id that it belongs to. The leaves stand in the order of the ids and of equal keys the left
//! one wins, so the key needs no bits for the id. A look reads the root; an update recomputes the
//! path from the leaf to the root: log2(n) steps without a branch that depends on the data, all of
//! whose reads are known at the start. (With keys alone a look has to walk down, each step waiting
//! for the one before; and to stop an update where nothing changes costs more in mispredicted
//! branches than it saves.) In a plain hold model `BinaryHeap` is slower (benchmark group
//! `event_queue`), and it cannot move an event that another CPU brings forward. Groups of four or
//! eight children, keys and ids in one `u128`, and an indexed 4-ary heap were tried: none was
//! faster.

use crate::{NEVER, Ns};
use std::hint::select_unpredictable;

/// Greater than all keys, and there is one number more: see [`EventQueue::set_key`].
const NOTHING: u64 = u64::MAX - 1;
/// Bits of a key that hold the class: four classes, and 146 years of time.
const CLASS_BITS: u32 = 2;

#[derive(Clone, Copy, Debug)]
struct Node {
    key: u64,
    id: u64,
}

/// Indexed priority queue of at most one event per id.
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// The winner of all.
    first: Node,
    /// Node i has the children `pairs[i]`; 1 is the root. The leaf of `id` is node `leaves + id`.
    pairs: Vec<[Node; 2]>,
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
        let nothing = Node { key: NOTHING, id: 0 };
        Self { first: nothing, pairs: vec![[nothing; 2]; n.max(2).next_power_of_two()] }
    }

    /// Number of leaves.
    #[inline]
    fn leaves(&self) -> usize {
        self.pairs.len()
    }

    /// The leaf of `id`.
    fn leaf(&self, id: usize) -> Option<Node> {
        let at = self.leaves() + id;
        self.pairs.get(at / 2).map(|pair| pair[at % 2])
    }

    /// Number of pending events. O(n).
    pub fn len(&self) -> usize {
        let leaves = self.pairs[self.leaves() / 2..].as_flattened();
        leaves.iter().filter(|n| n.key != NOTHING).count()
    }

    /// True if nothing is pending.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.key == NOTHING
    }

    /// Time and class of the first event as one number that orders events of several queues;
    /// [`EventQueue::NO_KEY`] if nothing is pending. [`EventQueue::time_of_key`] takes the time out
    /// again.
    #[inline]
    pub fn first_key(&self) -> u64 {
        self.first.key
    }

    /// The id of the first event; meaningless if nothing is pending.
    #[inline]
    pub fn first_id(&self) -> u32 {
        self.first.id as u32
    }

    /// The time in a key.
    #[inline]
    pub fn time_of_key(key: u64) -> Ns {
        if key == NOTHING { NEVER } else { key >> CLASS_BITS }
    }

    /// Time and id of the first event.
    #[inline]
    pub fn peek(&self) -> Option<(Ns, u32)> {
        (!self.is_empty()).then(|| (self.first_key() >> CLASS_BITS, self.first_id()))
    }

    /// The pending time of `id`, or [`NEVER`].
    pub fn time_of(&self, id: u32) -> Ns {
        self.leaf(id as usize).map_or(NEVER, |n| Self::time_of_key(n.key))
    }

    /// Sets the event of `id`, replacing a pending one; [`NEVER`] removes it. `class` is below 4.
    /// O(log n).
    #[inline]
    pub fn set(&mut self, id: u32, time: Ns, class: u8) {
        self.set_key(id, Self::key(time, class));
    }

    /// A time and a class (below 4) as one number; [`EventQueue::NO_KEY`] for [`NEVER`].
    #[inline]
    pub fn key(time: Ns, class: u8) -> u64 {
        debug_assert!(class < 4 && (time == NEVER || time < 1 << (64 - CLASS_BITS)));
        if time == NEVER { NOTHING } else { time << CLASS_BITS | u64::from(class) }
    }

    /// As [`EventQueue::set`], with time and class as a [`EventQueue::key`].
    #[inline]
    pub fn set_key(&mut self, id: u32, key: u64) {
        if id as usize >= self.leaves() {
            self.grow(id as usize + 1);
        }
        let mut at = self.leaves() + id as usize;
        let mut winner = Node { key, id: u64::from(id) };
        let pairs = self.pairs.as_mut_slice();
        if pairs[at / 2][at % 2].key == key {
            return;
        }
        while at > 1 {
            let pair = &mut pairs[at / 2];
            pair[at % 2] = winner;
            let other = pair[1 - at % 2];
            // From the right a winner must be less, from the left it may be equal.
            let loses = other.key < winner.key + (at % 2) as u64;
            winner.key = select_unpredictable(loses, other.key, winner.key);
            winner.id = select_unpredictable(loses, other.id, winner.id);
            at /= 2;
        }
        self.first = winner;
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
        for id in 0..self.leaves() {
            wider.set_key(id as u32, self.leaf(id).map_or(NOTHING, |n| n.key));
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
