//! Events beyond the horizon of the winner tree: a sorted set. Few runs have any: at 131 072 tasks
//! what happens after 19 hours, at 1024 after 104 days.

use super::EventQueue;
use std::collections::{BTreeMap, BTreeSet};

/// At most one event per id.
#[derive(Clone, Debug)]
pub(super) struct Far {
    /// (key, id) of all.
    order: BTreeSet<(u64, u32)>,
    /// Keys by id.
    keys: BTreeMap<u32, u64>,
    /// The first of `order`.
    first: (u64, u32),
}

impl Default for Far {
    fn default() -> Self {
        Self { order: BTreeSet::new(), keys: BTreeMap::new(), first: (EventQueue::NO_KEY, 0) }
    }
}

impl Far {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.0 == EventQueue::NO_KEY
    }

    /// [`EventQueue::NO_KEY`] if there is none.
    #[inline]
    pub fn first_key(&self) -> u64 {
        self.first.0
    }

    /// Meaningless if there is none.
    #[inline]
    pub fn first_id(&self) -> u32 {
        self.first.1
    }

    #[cold]
    pub fn key_of(&self, id: u32) -> u64 {
        self.keys.get(&id).copied().unwrap_or(EventQueue::NO_KEY)
    }

    #[cold]
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Sets the key of `id`; [`EventQueue::NO_KEY`] removes it.
    #[cold]
    pub fn set(&mut self, id: u32, key: u64) {
        if let Some(old) = self.keys.remove(&id) {
            self.order.remove(&(old, id));
        }
        if key != EventQueue::NO_KEY {
            self.keys.insert(id, key);
            self.order.insert((key, id));
        }
        self.first = self.order.first().copied().unwrap_or((EventQueue::NO_KEY, 0));
    }
}
