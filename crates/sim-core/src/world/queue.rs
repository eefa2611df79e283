//! On and off the runqueues, and from one to another.

use super::{MigrationCause, Moved, World};
use crate::{LockId, NEVER, Ns, TaskId};
use topology::CpuId;

impl World {
    /// Counts `p` onto `cpu`'s runqueue (`activate_task`, before the policy's enqueue). Who has
    /// taken the lock has read the clock.
    pub fn activate(&mut self, cpu: CpuId, p: TaskId) {
        let now = self.now;
        let t = &mut self.tasks[p];
        debug_assert!(!t.on_rq && t.cpu == cpu, "{p:?} activated on {cpu}: {t:?}");
        t.on_rq = true;
        t.migrating = false;
        t.queued_at = now;
        // The migration has ended: CPUs that wait for its end go on.
        if t.spinner != u32::MAX {
            self.release_spinners(p);
        }
        self.touch(cpu);
        self.recount(p, false);
        self.set_nr_running(cpu, self.cpus[cpu].nr_running + 1);
    }

    /// `update_rq_clock`: who has taken `cpu`'s runqueue lock reads the clock for all that is done
    /// under it, however long that takes.
    #[inline]
    pub fn update_rq_clock(&mut self, cpu: CpuId) {
        debug_assert!(self.cpus[cpu].rq_clock <= self.now, "{cpu}: the clock goes back");
        self.cpus[cpu].rq_clock = self.now;
    }

    /// The same for what takes `cpu`'s lock in the kernel and none here: while another CPU holds
    /// the lock, its clock stands.
    pub fn update_clock_if_unlocked(&mut self, cpu: CpuId) {
        if self.locks.owner(LockId::rq(cpu)).is_none() {
            self.update_rq_clock(cpu);
        }
    }

    /// `rq_clock`
    #[inline]
    pub fn rq_clock(&self, cpu: CpuId) -> Ns {
        self.cpus[cpu].rq_clock
    }

    /// The end of `check_preempt_curr` (v6.1): `schedule()` follows at once, so the next one on
    /// `cpu` goes by the clock as it is. A task that preempts, or ends idling, is charged from the
    /// lock of its enqueue on.
    #[inline]
    pub fn skip_clock_if_resched(&mut self, cpu: CpuId) {
        let c = &self.cpus[cpu];
        let curr_queued = !c.curr.is_task() || self.tasks[c.curr].on_rq;
        if c.need_resched && curr_queued {
            self.skip_clock_update(cpu);
        }
    }

    /// `rq_clock_skip_update`: the next `schedule()` of `cpu` goes by the clock as it is.
    #[inline]
    pub fn skip_clock_update(&mut self, cpu: CpuId) {
        self.cpus[cpu].skips_clock = true;
    }

    /// `update_rq_clock` of `__schedule()`, which ends a skip.
    #[inline]
    pub(crate) fn update_clock_to_schedule(&mut self, cpu: CpuId) {
        if !std::mem::take(&mut self.cpus[cpu].skips_clock) {
            self.update_rq_clock(cpu);
        }
    }

    /// Counts `p` off `cpu`'s runqueue (`deactivate_task`, after the policy's dequeue).
    pub fn deactivate(&mut self, cpu: CpuId, p: TaskId) {
        let waited = self.waits_pinned(p);
        let t = &mut self.tasks[p];
        debug_assert!(t.on_rq && !t.throttled && t.cpu == cpu, "{p:?} leaves {cpu}: {t:?}");
        t.on_rq = false;
        let queued_at = std::mem::replace(&mut t.queued_at, NEVER);
        // It leaves without having run: the wait counts for the queue that it leaves.
        if queued_at != NEVER {
            self.cpus[cpu].stat.run_delay_ns += self.now - queued_at;
        }
        self.recount(p, waited);
        self.touch(cpu);
        self.set_nr_running(cpu, self.cpus[cpu].nr_running - 1);
    }

    /// Marks `p`, which is on a runqueue, as sleeping there (or no longer so). The mark does not
    /// move with the task: a class that moves a delayed task clears the mark before and sets it
    /// again on the other queue.
    pub fn set_delayed(&mut self, p: TaskId, delayed: bool) {
        let waited = self.waits_pinned(p);
        let t = &mut self.tasks[p];
        debug_assert!(t.on_rq && t.sched_delayed != delayed, "{p:?}: {t:?}");
        t.sched_delayed = delayed;
        if delayed {
            // It sleeps: what it does on the queue is no wait for the CPU.
            t.queued_at = NEVER;
        }
        let cpu = t.cpu;
        let counts = !t.throttled;
        self.recount(p, waited);
        self.touch(cpu);
        if counts {
            self.change_rq(cpu, |c| {
                c.nr_delayed = if delayed { c.nr_delayed + 1 } else { c.nr_delayed - 1 };
            });
        }
    }

    /// Marks `p`, which is on a runqueue, as throttled there (or no longer so): it does not count
    /// in [`crate::Cpu::nr_running`], though it is queued. The mark ends before the task leaves.
    pub fn set_throttled(&mut self, p: TaskId, throttled: bool) {
        let waited = self.waits_pinned(p);
        let t = &mut self.tasks[p];
        debug_assert!(t.on_rq && t.throttled != throttled, "{p:?}: {t:?}");
        t.throttled = throttled;
        let (cpu, delayed) = (t.cpu, u32::from(t.sched_delayed));
        self.recount(p, waited);
        self.touch(cpu);
        if throttled {
            self.n_throttled += 1;
        } else {
            self.n_throttled -= 1;
        }
        self.change_rq(cpu, |c| {
            if throttled {
                (c.nr_running, c.nr_delayed) = (c.nr_running - 1, c.nr_delayed - delayed);
            } else {
                (c.nr_running, c.nr_delayed) = (c.nr_running + 1, c.nr_delayed + delayed);
            }
        });
    }

    /// The next deciding tick of `cpu` may have changed: its event is computed anew when this event
    /// is over. The executing CPU's own event always is.
    #[inline]
    pub fn touch(&mut self, cpu: CpuId) {
        if cpu != self.this {
            self.after.touched.push(cpu);
            self.after.disturbed = true;
        }
    }

    /// `set_task_cpu`: moves `p`, which is on no runqueue, and counts the migration.
    pub fn set_task_cpu(&mut self, p: TaskId, to: CpuId, why: MigrationCause) {
        let from = self.tasks[p].cpu;
        let t = &mut self.tasks[p];
        debug_assert!(!t.on_rq, "{p:?} moved while on a runqueue");
        t.cpu = to;
        t.wake_cpu = to;
        if from != to {
            let d = self.distance(from, to);
            self.counters.migrations[d as usize] += 1;
            self.counters.migrations_by_cause[why.index()] += 1;
            // The engine tells the observer of its own moves on the spot; a policy cannot.
            if why.is_by_policy() {
                self.after.moved.push(Moved { task: p, from, to, why });
                self.after.disturbed = true;
            }
        }
    }
}
