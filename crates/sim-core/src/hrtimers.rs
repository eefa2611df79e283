//! The timers that are armed on one CPU (`struct hrtimer_clock_base`).
//!
//! A timer has a soft expiry, the instant that was asked for, and a hard one, later by the slack of
//! its task. The interrupt is programmed for the first hard expiry, and it runs every timer whose
//! soft expiry has passed as well, up to the first whose has not.

use crate::{Ns, TaskId};
use std::collections::VecDeque;

/// One armed timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hrtimer {
    /// `node.expires`: it expires at this instant at the latest, ns.
    pub(crate) hard: Ns,
    /// `_softexpires`: from this instant on it may expire, ns.
    pub(crate) soft: Ns,
    /// The task that it wakes.
    pub(crate) task: TaskId,
}

/// The timers of a CPU by their hard expiries; of equal ones that which was armed first comes
/// first. Timers are mostly armed for an instant that is late among the others, and taken from the
/// front: so a sorted ring moves few of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hrtimers {
    sorted: VecDeque<Hrtimer>,
}

impl Hrtimers {
    /// The one that expires first (`timerqueue_getnext()`).
    #[inline]
    pub(crate) fn first(&self) -> Option<&Hrtimer> {
        self.sorted.front()
    }

    /// Adds a timer. True if it is the first now.
    #[inline]
    pub(crate) fn add(&mut self, timer: Hrtimer) -> bool {
        let later = self.sorted.back().is_some_and(|last| last.hard > timer.hard);
        if !later {
            self.sorted.push_back(timer);
            return self.sorted.len() == 1;
        }
        let at = self.sorted.partition_point(|t| t.hard <= timer.hard);
        self.sorted.insert(at, timer);
        at == 0
    }

    /// Removes the timer of `task` with this hard expiry. True if it was the first.
    pub(crate) fn remove(&mut self, hard: Ns, task: TaskId) -> bool {
        let start = self.sorted.partition_point(|t| t.hard < hard);
        let equal = self.sorted.range(start..).take_while(|t| t.hard == hard);
        let Some(at) = equal.into_iter().position(|t| t.task == task) else {
            debug_assert!(false, "{task:?} has no timer for {hard} here");
            return false;
        };
        self.sorted.remove(start + at);
        start + at == 0
    }

    /// Removes the first timer.
    #[inline]
    pub(crate) fn pop(&mut self) {
        self.sorted.pop_front();
    }

    /// Are the timers in order?
    pub(crate) fn is_sorted(&self) -> bool {
        self.sorted.iter().is_sorted_by_key(|t| t.hard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn timer(hard: Ns, task: u32) -> Hrtimer {
        Hrtimer { hard, soft: hard / 2, task: TaskId(task) }
    }

    #[test]
    fn of_equal_ones_the_older_comes_first() {
        let mut timers = Hrtimers::default();
        let is_first = [(20, 0), (10, 1), (20, 2), (10, 3)].map(|(h, p)| timers.add(timer(h, p)));
        assert_eq!(is_first, [true, true, false, false]);
        assert!(!timers.remove(20, TaskId(0)));
        assert!(timers.remove(10, TaskId(1)));
        let order: Vec<u32> = timers.sorted.iter().map(|t| t.task.0).collect();
        assert_eq!(order, [3, 2]);
    }

    proptest! {
        /// Whatever is armed, removed and taken: as a list that is sorted anew each time.
        #[test]
        fn agrees_with_a_sorted_list(ops in prop::collection::vec((0u8..4, 0u64..12), 1..80)) {
            let mut timers = Hrtimers::default();
            let mut twin: Vec<Hrtimer> = Vec::new();
            for (i, (what, n)) in ops.into_iter().enumerate() {
                let first = twin.first().copied();
                match what {
                    0 => {
                        timers.pop();
                        twin.drain(..twin.len().min(1));
                    }
                    1 if !twin.is_empty() => {
                        let gone = twin.remove(n as usize % twin.len());
                        prop_assert_eq!(timers.remove(gone.hard, gone.task), Some(gone) == first);
                    }
                    _ => {
                        let new = timer(n, i as u32);
                        twin.push(new);
                        twin.sort_by_key(|t| t.hard);
                        prop_assert_eq!(timers.add(new), twin.first() == Some(&new));
                    }
                }
                prop_assert_eq!(timers.first(), twin.first());
                prop_assert!(timers.is_sorted());
            }
        }
    }
}
