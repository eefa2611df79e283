//! `flush_work` and `flush_workqueue`: waiting for the end of what is queued.
//!
//! A work item is flushed by a barrier behind it, which its worker executes next. A workqueue is
//! flushed by colors: each flush begins a new one, and waits until no item of an older color is
//! left. Unlike the kernel, which locks each pool in turn to change the color, this is one instant.

use super::path::Errand;
use super::{Item, WorkId, Workqueues, WqId};
use sim_core::{ProgramCx, TaskId};
use std::collections::VecDeque;

/// The colors of a workqueue.
#[derive(Default)]
pub(super) struct Flushes {
    color: u64,
    /// Items not complete of each color that has some, the oldest first.
    in_flight: VecDeque<(u64, u32)>,
    /// Tasks that wait for the end of a color and all before it.
    waiting: Vec<(u64, TaskId)>,
}

impl Flushes {
    /// One more item, of the present color.
    pub fn add(&mut self) -> u64 {
        match self.in_flight.back_mut() {
            Some((color, n)) if *color == self.color => *n += 1,
            // A flush has begun since: items from here on are of a new color.
            _ => self.in_flight.push_back((self.color, 1)),
        }
        self.color
    }

    /// An item is complete; `tell` hears of the tasks that have waited for it and all before.
    pub fn remove(&mut self, color: u64, mut tell: impl FnMut(TaskId)) {
        let at = self.in_flight.iter().position(|(c, _)| *c == color);
        let at = at.expect("an item in flight has its color");
        self.in_flight[at].1 -= 1;
        if self.in_flight[at].1 > 0 {
            return;
        }
        self.in_flight.remove(at);
        // Colors complete in order: a flush waits for its own and all before.
        let oldest = self.in_flight.front().map_or(u64::MAX, |(c, _)| *c);
        self.waiting.retain(|(color, task)| {
            let waits = *color >= oldest;
            if !waits {
                tell(*task);
            }
            waits
        });
    }
}

impl Workqueues {
    /// Begins `flush_work(work)` by `task`, which goes through [`Workqueues::step`] and then waits
    /// as long as [`Workqueues::is_flushing`] says. False: there is nothing to wait for.
    pub fn flush_work(&mut self, cx: &mut ProgramCx<'_>, work: WorkId, task: TaskId) -> bool {
        let w = &self.works[work];
        let pool = match (w.listed, w.running) {
            (true, _) => self.pwqs[w.pwq].pool,
            (_, Some(worker)) => self.workers[worker].pool,
            _ => return false,
        };
        self.begin(cx, Errand::Flush(work, task), pool);
        true
    }

    /// `flush_workqueue` by `task`: true if it must wait, as long as [`Workqueues::is_flushing`].
    pub fn flush_workqueue(&mut self, wq: WqId, task: TaskId) -> bool {
        let flushes = &mut self.wqs[wq].flushes;
        let color = flushes.color;
        flushes.color += 1;
        let waits = !flushes.in_flight.is_empty();
        if waits {
            flushes.waiting.push((color, task));
            self.set_flushing(task, true);
        }
        waits
    }

    /// True while what `task` flushes is not complete.
    pub fn is_flushing(&self, task: TaskId) -> bool {
        self.flushing.at(task).copied().unwrap_or(false)
    }

    pub(super) fn set_flushing(&mut self, task: TaskId, on: bool) {
        self.flushing.cover(task, || false);
        self.flushing[task] = on;
    }

    /// Under the pool's lock.
    pub(super) fn insert_barrier(&mut self, work: WorkId, task: TaskId) {
        let w = &mut self.works[work];
        if w.listed {
            // The item has not begun: the barrier follows it on the list.
            w.flushers.push(task);
        } else if let Some(worker) = w.running {
            // The item runs: the barrier is the next that its worker does.
            self.workers[worker].scheduled.push_front(Item::Barrier(task));
        } else {
            return;
        }
        self.set_flushing(task, true);
    }
}
