//! The indexed event queue: a 4-ary heap over dense ids, one entry per id, updated in place.
//!
//! The order is total and independent of history: (time, class, id). So no sequence numbers are
//! needed, equal times are resolved the same way in every run and in every mode of the engine, and
//! replacing an entry leaves no tombstone. The key is one `u128`: time in the high half, class and
//! id in the low half.

use crate::{NEVER, Ns};

const ARITY: usize = 4;
const ABSENT: u32 = u32::MAX;

/// Indexed priority queue of at most one event per id.
#[derive(Clone, Debug, Default)]
pub struct EventQueue {
    keys: Vec<u128>,
    pos: Vec<u32>,
}

#[inline]
fn key(time: Ns, class: u8, id: u32) -> u128 {
    u128::from(time) << 64 | u128::from(class) << 32 | u128::from(id)
}

#[inline]
fn id_of(key: u128) -> u32 {
    key as u32
}

impl EventQueue {
    /// An empty queue for ids below `n` (it grows if larger ids are used).
    pub fn new(n: usize) -> Self {
        Self {
            keys: Vec::with_capacity(n),
            pos: vec![ABSENT; n],
        }
    }

    /// Number of pending events.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// True if nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The full order key of the first event, or the largest key if there is none.
    #[inline]
    pub fn first_key(&self) -> u128 {
        self.keys.first().copied().unwrap_or(u128::MAX)
    }

    /// Time and id of the first event.
    #[inline]
    pub fn peek(&self) -> Option<(Ns, u32)> {
        self.keys.first().map(|k| ((k >> 64) as Ns, id_of(*k)))
    }

    /// The pending time of `id`, or [`NEVER`].
    #[inline]
    pub fn time_of(&self, id: u32) -> Ns {
        match self.pos.get(id as usize) {
            Some(&p) if p != ABSENT => (self.keys[p as usize] >> 64) as Ns,
            _ => NEVER,
        }
    }

    /// Sets the event of `id`, replacing a pending one; [`NEVER`] removes it. O(log n).
    #[inline]
    pub fn set(&mut self, id: u32, time: Ns, class: u8) {
        if id as usize >= self.pos.len() {
            self.pos.resize(id as usize + 1, ABSENT);
        }
        let at = self.pos[id as usize];
        if time == NEVER {
            if at != ABSENT {
                self.remove_at(at as usize);
            }
            return;
        }
        let new = key(time, class, id);
        if at == ABSENT {
            self.keys.push(new);
            self.sift_up(self.keys.len() - 1, new);
            return;
        }
        let at = at as usize;
        if new < self.keys[at] {
            self.sift_up(at, new);
        } else {
            self.sift_down(at, new);
        }
    }

    /// Removes and returns the first event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Ns, u32)> {
        let first = self.peek()?;
        self.remove_at(0);
        Some(first)
    }

    fn remove_at(&mut self, at: usize) {
        self.pos[id_of(self.keys[at]) as usize] = ABSENT;
        let last = self.keys.pop().expect("an entry at a valid position");
        if at == self.keys.len() {
            return;
        }
        if at > 0 && last < self.keys[(at - 1) / ARITY] {
            self.sift_up(at, last);
        } else {
            self.sift_down(at, last);
        }
    }

    #[inline]
    fn place(&mut self, at: usize, key: u128) {
        self.keys[at] = key;
        self.pos[id_of(key) as usize] = at as u32;
    }

    fn sift_up(&mut self, mut at: usize, key: u128) {
        while at > 0 {
            let parent = (at - 1) / ARITY;
            let above = self.keys[parent];
            if above <= key {
                break;
            }
            self.place(at, above);
            at = parent;
        }
        self.place(at, key);
    }

    #[inline]
    fn sift_down(&mut self, mut at: usize, key: u128) {
        let n = self.keys.len();
        loop {
            let first = at * ARITY + 1;
            if first >= n {
                break;
            }
            let children = &self.keys[first..n.min(first + ARITY)];
            let mut best = 0;
            let mut best_key = children[0];
            for (i, &k) in children.iter().enumerate().skip(1) {
                if k < best_key {
                    (best, best_key) = (i, k);
                }
            }
            if key <= best_key {
                break;
            }
            self.place(at, best_key);
            at = first + best;
        }
        self.place(at, key);
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
        /// The heap agrees with a sorted map under random updates, removals and pops.
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
