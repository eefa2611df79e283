//! Which tasks have used the private caches of a CPU.

use crate::TaskId;

/// The tasks that have used the private caches of a CPU, and how much of them.
#[derive(Clone, Debug)]
pub(crate) struct Footprint {
    /// The last task that ran, and the one before it.
    last: TaskId,
    before: TaskId,
    last_kib: u32,
    /// Working sets that came in, all together. Two tasks that take turns come in once: with each
    /// turn they touch the same lines. Three and more count with each turn.
    kib: u64,
}

impl Footprint {
    pub(crate) const NEW: Self =
        Self { last: TaskId::NONE, before: TaskId::NONE, last_kib: 0, kib: 0 };

    /// `p`, with a working set of so many KiB, has run. Returns the mark by which [`Self::since`]
    /// knows the instant.
    #[inline]
    pub(crate) fn leave(&mut self, p: TaskId, kib: u32) -> u64 {
        if p != self.last {
            // Two tasks that take turns find their lines again: only a third one adds to the sum.
            if p != self.before {
                self.kib += u64::from(kib);
            }
            (self.before, self.last, self.last_kib) = (self.last, p, kib);
        }
        self.kib
    }

    /// KiB that others have touched since `p` left.
    #[inline]
    pub(crate) fn since(&self, p: TaskId, mark: u64) -> u64 {
        // The last task has touched its lines after `p`, also if the sum did not grow by them.
        if p == self.last { 0 } else { (self.kib - mark).max(u64::from(self.last_kib)) }
    }

    /// The mark that a task would get if it left now.
    #[inline]
    pub(crate) fn mark(&self) -> u64 {
        self.kib
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: TaskId = TaskId(1);
    const B: TaskId = TaskId(2);
    const C: TaskId = TaskId(3);

    #[test]
    fn a_task_that_comes_back_at_once_finds_everything() {
        let mut f = Footprint::NEW;
        let mark = f.leave(A, 64);
        assert_eq!(f.since(A, mark), 0);
    }

    #[test]
    fn all_that_ran_in_between_counts() {
        let mut f = Footprint::NEW;
        let mark = f.leave(A, 64);
        f.leave(B, 100);
        f.leave(C, 30);
        assert_eq!(f.since(A, mark), 130);
    }

    #[test]
    fn two_tasks_that_take_turns_count_once() {
        let mut f = Footprint::NEW;
        let mark = f.leave(A, 64);
        let mut b = 0;
        for _ in 0..10 {
            b = f.leave(B, 100);
            f.leave(C, 30);
        }
        assert_eq!(f.since(A, mark), 130);
        assert_eq!(f.since(B, b), 30);
    }
}
