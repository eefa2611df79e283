//! Timers of programs: which callback belongs to which. When they fire, the host says.

use std::collections::BTreeMap;

/// A timer: a field of a map's value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timer {
    /// The first instruction of the callback.
    pub callback: Option<usize>,
    pub is_armed: bool,
}

/// All that were initialized, by address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timers {
    all: BTreeMap<u64, Timer>,
    /// Armed ones whose value is gone: the host is to be told.
    gone: Vec<u64>,
}

impl Timers {
    /// False if it was initialized before.
    pub fn init(&mut self, at: u64) -> bool {
        match self.all.entry(at) {
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(Timer::default());
                true
            }
            std::collections::btree_map::Entry::Occupied(_) => false,
        }
    }

    pub fn get(&mut self, at: u64) -> Option<&mut Timer> {
        self.all.get_mut(&at)
    }

    /// The timer fires: its callback, unless it was canceled meanwhile.
    pub fn fire(&mut self, at: u64) -> Option<usize> {
        let timer = self.all.get_mut(&at).filter(|timer| timer.is_armed)?;
        timer.is_armed = false;
        timer.callback
    }

    /// The value with the timer goes.
    pub fn forget(&mut self, at: u64) {
        if self.all.remove(&at).is_some_and(|timer| timer.is_armed) {
            self.gone.push(at);
        }
    }

    /// One of those that the host is to cancel.
    pub fn take_gone(&mut self) -> Option<u64> {
        self.gone.pop()
    }
}
