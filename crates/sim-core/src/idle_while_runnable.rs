//! CPUs that idle although they could run a task that waits: how many, and for how long.
//!
//! An idle CPU is wasted if a waiting task may run there, but each task wastes one CPU at most. So
//! the number is that of a largest matching of idle CPUs with waiting tasks. Without affinity it is
//! the smaller of two counts. Tasks with an affinity take CPUs first, from the smallest set to the
//! largest; tasks that may run everywhere take what is left. This finds the largest matching if of
//! two sets that share a CPU one contains the other, as with sets made of cores, caches and nodes.
//! With sets that cross each other it may find a smaller one.

use crate::cpu::Cpu;
use crate::pinned_waiters::PinnedWaiters;
use crate::{MaskId, TaskId, World};
use topology::{CpuId, IdVec, MAX_CPUS};

/// Words of the largest set of CPUs.
const WORDS_MAX: usize = MAX_CPUS as usize / 64;

impl World {
    /// CPUs that idle at present although they could run tasks that wait. O(1) if no task with an
    /// affinity waits, else O(masks + CPUs).
    #[inline]
    pub fn n_idle_while_runnable(&self) -> u32 {
        let wasted = self.n_idle.min(self.n_waiting);
        if wasted == 0 || self.pinned.n == 0 {
            return wasted;
        }
        // Tasks without an affinity fit on any CPU that the others leave.
        let anywhere = self.n_waiting.saturating_sub(self.pinned.n);
        wasted.min(anywhere + self.n_matched())
    }

    /// Idle CPUs that tasks with an affinity can be matched with.
    #[inline(never)]
    fn n_matched(&self) -> u32 {
        if self.pinned.n_movable == 0 {
            return 0;
        }
        let mut free = [0; WORDS_MAX];
        let idle = self.idle_cpus.words();
        free[..idle.len()].copy_from_slice(idle);
        let mut matched = 0;
        for mask in &self.pinned.order {
            let mut left = self.pinned.waiting[*mask];
            for (free, word) in free.iter_mut().zip(self.masks[*mask].words()) {
                while left > 0 && *free & word != 0 {
                    // The lowest CPU of the mask that is still free.
                    let cpus = *free & word;
                    *free &= !(cpus & cpus.wrapping_neg());
                    (left, matched) = (left - 1, matched + 1);
                }
            }
        }
        matched
    }

    /// `p` waits, and may not run on every CPU.
    #[inline]
    pub(crate) fn waits_pinned(&self, p: TaskId) -> bool {
        self.has_masks() && p.is_task() && {
            let t = &self.tasks[p];
            t.attr.allowed != MaskId::ALL
                && t.on_rq
                && !t.sched_delayed
                && !t.throttled
                && self.cpus[t.cpu].curr != p
        }
    }

    /// There may be tasks that may not run on every CPU.
    #[inline]
    fn has_masks(&self) -> bool {
        self.masks.len() > 1
    }

    /// Counts `p` anew after a change, before which [`World::waits_pinned`] was `before`.
    #[inline]
    pub(crate) fn recount(&mut self, p: TaskId, before: bool) {
        if self.has_masks() && self.waits_pinned(p) != before {
            self.count_pinned(self.tasks[p].attr.allowed, !before);
        }
    }

    /// Counts one more waiting task of this mask, or one less.
    #[inline(never)]
    pub(crate) fn count_pinned(&mut self, mask: MaskId, more: bool) {
        self.settle_idle_while_runnable();
        let movable = u32::from(self.masks[mask].len() > 1);
        let PinnedWaiters { waiting, n, n_movable, .. } = &mut self.pinned;
        let waiting = &mut waiting[mask];
        if more {
            (*waiting, *n, *n_movable) = (*waiting + 1, *n + 1, *n_movable + movable);
        } else {
            (*waiting, *n, *n_movable) = (*waiting - 1, *n - 1, *n_movable - movable);
        }
    }

    /// Sets [`Cpu::nr_running`], with all that is counted by it.
    pub fn set_nr_running(&mut self, cpu: CpuId, nr: u32) {
        self.change_rq(cpu, |c| c.nr_running = nr);
    }

    /// The current task of `cpu` is another one.
    #[inline]
    pub fn set_curr(&mut self, cpu: CpuId, next: TaskId) {
        let prev = self.cpus[cpu].curr;
        // From task to task as many wait as before, if all may run everywhere.
        if prev.is_task() && next.is_task() && !self.has_masks() {
            self.cpus[cpu].curr = next;
        } else {
            self.change_curr(cpu, prev, next);
        }
    }

    fn change_curr(&mut self, cpu: CpuId, prev: TaskId, next: TaskId) {
        let waited = self.waits_pinned(next);
        self.change_rq(cpu, |c| c.curr = next);
        self.recount(next, waited);
        self.recount(prev, false);
    }

    /// Applies `change` to what decides whether the CPU is idle and how many tasks wait there, and
    /// keeps `n_idle`, `n_waiting` and their integral up to date.
    pub(crate) fn change_rq(&mut self, cpu: CpuId, change: impl FnOnce(&mut Cpu)) {
        let c = &mut self.cpus[cpu];
        // Most changes alter neither of the two: they end below, after one comparison.
        let before = (c.idle, c.waiting());
        let nr_before = c.nr_running;
        change(c);
        let nr_running = c.nr_running;
        self.counts.set_nr_running(cpu, c.nr_running);
        // `idle_cpu()`: an entry on its way to the wake list ends it, while the CPU still sleeps.
        c.idle = c.curr == TaskId::IDLE && c.nr_running == 0 && !c.ttwu_pending;
        let after = (c.idle, c.waiting());
        // A switch from task to task writes `curr`, but whoever looks for a CPU finds it busy. So
        // turns that only ticks lead to are no writes: a CPU may run ahead through them.
        if nr_running != nr_before || before.0 != after.0 {
            self.write_rq_line(cpu);
        }
        if before == after {
            return;
        }
        self.settle_idle_while_runnable();
        if before.0 != after.0 {
            self.counts.set_idle(cpu, after.0);
            if after.0 { self.idle_cpus.insert(cpu) } else { self.idle_cpus.remove(cpu) }
        }
        self.n_idle = self.n_idle + u32::from(after.0) - u32::from(before.0);
        self.n_waiting = self.n_waiting + after.1 - before.1;
    }

    /// Adds what was wasted since the last time; called before any of the counts changes.
    pub(crate) fn settle_idle_while_runnable(&mut self) {
        let wasted = self.n_idle_while_runnable();
        if wasted > 0 {
            let ns = u128::from(self.now - self.idle_while_runnable_since);
            self.idle_while_runnable_ns += u128::from(wasted) * ns;
        }
        self.idle_while_runnable_since = self.now;
    }

    /// Fails if the counts by mask are not those of the tasks.
    pub(crate) fn check_pinned(&self) -> Result<(), String> {
        let mut waiting = IdVec::filled(0, self.masks.len());
        for p in self.tasks.ids().filter(|p| self.waits_pinned(*p)) {
            waiting[self.tasks[p].attr.allowed] += 1;
        }
        let PinnedWaiters { waiting: counted, n, .. } = &self.pinned;
        match waiting == *counted && waiting.iter().sum::<u32>() == *n {
            true => Ok(()),
            false => Err(format!("{n} tasks with an affinity wait, {counted:?} of {waiting:?}")),
        }
    }
}

#[cfg(test)]
mod tests;
