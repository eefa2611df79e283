//! The first sleeps of a thread, before it was known that timers end them.

use super::Reconstruction;
use crate::replay::thread::UncertainSleep;
use std::collections::BTreeMap;
use workloads::replay::{Act, Timed};

impl Reconstruction {
    /// Decides, at the end of the recording, what the first sleeps of a thread were: if timers
    /// ended nearly all later ones, they ended the first ones, too.
    pub(super) fn settle_uncertain_sleeps(&mut self) {
        let mut changes: BTreeMap<u32, Vec<(usize, Option<Act>)>> = BTreeMap::new();
        for thread in 0..self.lives.len() as u32 {
            let uncertain_sleeps = std::mem::take(&mut self.live(thread).uncertain_sleeps);
            let Some(repeats) = self.live(thread).first_repeat() else {
                continue;
            };
            for UncertainSleep { wait, waker, wake, at, set_at, .. } in uncertain_sleeps {
                let timed = if repeats { Timed::Usual } else { Timed::Until };
                let timer = Act::Timer { at, length: at - set_at, timed };
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
