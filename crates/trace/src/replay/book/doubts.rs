//! The first sleeps of a thread, before it was known that timers end them.

use super::Book;
use crate::replay::habit::SHORTEST_NS;
use crate::replay::thread::Doubt;
use std::collections::BTreeMap;
use workloads::replay::Act;

/// So many of a thread's first waits may turn out to be a timer's.
const DOUBTS_MAX: usize = 16;

impl Book {
    /// A thread may have waited for a timer and not for another thread.
    pub(super) fn doubt(&mut self, thread: u32, doubt: Doubt) {
        let doubts = &mut self.live(thread).doubts;
        if doubt.length >= SHORTEST_NS && doubts.len() < DOUBTS_MAX {
            doubts.push(doubt);
        }
    }

    /// All is known now: where nearly all sleeps were ended by timers, the first were, too.
    pub(super) fn settle_doubts(&mut self) {
        let mut changes: BTreeMap<u32, Vec<(usize, Option<Act>)>> = BTreeMap::new();
        for thread in 0..self.lives.len() as u32 {
            let doubts = std::mem::take(&mut self.live(thread).doubts);
            let Some(end) = self.live(thread).habit.of_the_first() else {
                continue;
            };
            for Doubt { wait, waker, wake, at, length } in doubts {
                let timer = Act::Timer { at, length, repeats: end.repeats };
                changes.entry(thread).or_default().push((wait, Some(timer)));
                changes.entry(waker).or_default().push((wake, None));
            }
        }
        for (thread, mut others) in changes {
            others.sort_unstable_by_key(|(place, _)| *place);
            let acts = &mut self.live(thread).thread.acts;
            *acts = acts.with(&others);
        }
    }
}
