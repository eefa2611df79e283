//! Mutexes and condition variables of the C library on futexes, as far as a scheduler sees them.
//!
//! A mutex is a word: free, taken, or taken with waiters perhaps. Unlocking frees it *and then*
//! wakes one waiter. The waiter tries again, and loses if another thread has taken the mutex in
//! between. So a mutex is not handed over, and a waiter that comes too late runs for a moment only
//! to sleep again.

use sim_core::TaskId;
use std::collections::VecDeque;

/// The futex word of a mutex.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Word {
    #[default]
    Free,
    Taken,
    /// Taken, and unlocking asks the kernel to wake a waiter.
    Contended,
}

/// A mutex.
#[derive(Default, Debug)]
pub(super) struct Mutex {
    word: Word,
    sleepers: VecDeque<TaskId>,
}

impl Mutex {
    /// Takes it if it is free. A thread that has slept for it, or that returns from a condition
    /// variable, takes it as contended, since others may still sleep there. A failed try leaves the
    /// word contended.
    pub fn try_lock(&mut self, has_waited: bool) -> bool {
        let free = self.word == Word::Free;
        let contended = has_waited || !free;
        self.word = if contended { Word::Contended } else { Word::Taken };
        free
    }

    /// `FUTEX_WAIT`: false if the word has changed since the try, so that it is tried again.
    pub fn sleep(&mut self, task: TaskId) -> bool {
        let sleeps = self.word == Word::Contended;
        if sleeps {
            self.sleepers.push_back(task);
        }
        sleeps
    }

    /// True while `FUTEX_WAKE` has not taken the task out.
    pub fn is_asleep(&self, task: TaskId) -> bool {
        self.sleepers.contains(&task)
    }

    /// Frees it. True if the kernel must be asked to wake a waiter.
    pub fn unlock(&mut self) -> bool {
        std::mem::take(&mut self.word) == Word::Contended
    }

    /// `FUTEX_WAKE` of one: takes out the task that has slept longest.
    pub fn wake_one(&mut self) -> Option<TaskId> {
        self.sleepers.pop_front()
    }
}

/// A condition variable: tasks that wait for a signal, the oldest first.
#[derive(Default, Debug)]
pub(super) struct Cond {
    waiters: VecDeque<TaskId>,
}

impl Cond {
    /// The task counts as waiting from here on, before the mutex is given up.
    pub fn join(&mut self, task: TaskId) {
        self.waiters.push_back(task);
    }

    /// True while the task has not been signalled.
    pub fn is_waiting(&self, task: TaskId) -> bool {
        self.waiters.contains(&task)
    }

    /// Takes out the one to be woken by a signal.
    pub fn signal(&mut self) -> Option<TaskId> {
        self.waiters.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unlocked_mutex_goes_to_whoever_comes_first() {
        let mut m = Mutex::default();
        assert!(m.try_lock(false), "free");
        assert!(!m.try_lock(false) && m.sleep(TaskId(1)), "taken: the second sleeps");
        assert!(m.unlock(), "somebody sleeps");
        assert_eq!(m.wake_one(), Some(TaskId(1)));
        assert!(m.try_lock(false), "a third is quicker");
        assert!(!m.try_lock(true), "the woken one has lost");
        assert!(m.sleep(TaskId(1)) && m.is_asleep(TaskId(1)));
        assert!(m.unlock(), "and has left its mark");
        assert_eq!(m.wake_one(), Some(TaskId(1)));
        assert!(m.try_lock(true));
        assert!(m.unlock(), "who has waited always asks the kernel, needed or not");
        assert_eq!(m.wake_one(), None);
    }

    #[test]
    fn nobody_sleeps_on_a_mutex_that_was_freed_between_try_and_sleep() {
        let mut m = Mutex::default();
        assert!(m.try_lock(false) && !m.try_lock(false));
        assert!(m.unlock());
        assert!(!m.sleep(TaskId(1)), "the word has changed");
        assert!(m.try_lock(true));
    }

    #[test]
    fn a_condition_variable_is_first_come_first_served() {
        let mut c = Cond::default();
        assert_eq!(c.signal(), None, "a signal without waiters is lost");
        c.join(TaskId(3));
        c.join(TaskId(1));
        assert_eq!(c.signal(), Some(TaskId(3)));
        assert!(!c.is_waiting(TaskId(3)) && c.is_waiting(TaskId(1)));
    }
}
