//! Readahead of an open file that is read from its begin to its end (mm/readahead.c of Linux 5.8).
//!
//! The file is a row of windows. A reader that touches the first page of a window asks for the next
//! one before it waits for this one, so one window is on its way while another is read. A file that
//! is read at random has no window ahead: each block is asked for when it is needed.
//! Left out: how windows grow from the first read on, and reclaim.

use sim_core::TaskId;
use std::collections::VecDeque;

/// The state of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Window {
    Asked,
    There,
    Read,
}

/// What is known of an open file's pages.
#[derive(Debug)]
pub(super) struct Readahead {
    /// Windows that are asked for before they are needed.
    ahead: u64,
    /// Windows before this one have been asked for.
    asked: u64,
    /// The first window that is not forgotten.
    first: u64,
    /// The windows from `first` on that have been asked for.
    windows: VecDeque<Window>,
    /// Tasks that sleep, each until a window is there.
    sleepers: Vec<(u64, TaskId)>,
}

impl Readahead {
    /// A file that has just been opened; sequential reads ask for one window ahead.
    pub fn new(sequential: bool) -> Self {
        Self {
            ahead: sequential.into(),
            asked: 0,
            first: 0,
            windows: VecDeque::new(),
            sleepers: Vec::new(),
        }
    }

    /// The window that has to be asked for before the first page of `window` can be read.
    pub fn ask(&mut self, window: u64) -> Option<u64> {
        if self.asked > window + self.ahead {
            return None;
        }
        self.windows.push_back(Window::Asked);
        self.asked += 1;
        Some(self.asked - 1)
    }

    /// True if `window` is in the page cache; if not, `task` is woken when it is.
    pub fn is_there(&mut self, window: u64, task: TaskId) -> bool {
        let there = self.windows[(window - self.first) as usize] == Window::There;
        if !there && !self.sleepers.contains(&(window, task)) {
            self.sleepers.push((window, task));
        }
        there
    }

    /// `window` has come. Returns the task to be woken, if one waits for it.
    pub fn come(&mut self, window: u64) -> Option<TaskId> {
        self.windows[(window - self.first) as usize] = Window::There;
        let sleeper = self.sleepers.iter().position(|(awaited, _)| *awaited == window)?;
        Some(self.sleepers.swap_remove(sleeper).1)
    }

    /// `window` has been read, and is not looked at again. Several threads may read.
    pub fn forget(&mut self, window: u64) {
        self.windows[(window - self.first) as usize] = Window::Read;
        while self.windows.front() == Some(&Window::Read) {
            self.windows.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_window_is_asked_for_ahead() {
        let (mut file, task) = (Readahead::new(true), TaskId(7));
        assert_eq!([file.ask(0), file.ask(0), file.ask(0)], [Some(0), Some(1), None]);
        assert!(!file.is_there(0, task));
        assert_eq!((file.come(1), file.come(0)), (None, Some(task)));
        assert!(file.is_there(0, task));
        file.forget(0);
        assert_eq!([file.ask(1), file.ask(1)], [Some(2), None]);
        assert!(file.is_there(1, task));
    }

    #[test]
    fn windows_may_be_read_in_another_order() {
        let (mut file, task) = (Readahead::new(true), TaskId(7));
        assert_eq!([file.ask(0), file.ask(1), file.ask(1)], [Some(0), Some(1), Some(2)]);
        assert_eq!((file.come(1), file.is_there(0, task)), (None, false));
        file.forget(1);
        assert_eq!((file.come(0), file.is_there(0, task)), (Some(task), true));
        file.forget(0);
        assert!(!file.is_there(2, task));
    }

    #[test]
    fn random_reads_ask_for_what_they_need() {
        let mut file = Readahead::new(false);
        assert_eq!([file.ask(0), file.ask(0)], [Some(0), None]);
        assert_eq!(file.come(0), None);
        file.forget(0);
        assert_eq!([file.ask(1), file.ask(1)], [Some(1), None]);
    }
}
