//! What must hold after every event (spec 13), checked in debug builds and in property tests.

use crate::cpu::Base;
use crate::{LockId, TaskId, TaskState, World};
use topology::{CpuId, PerCpu};

impl World {
    /// Checks every invariant that the mechanism alone can see: I3, I4, I10, I12, I13 and its own
    /// counts. O(CPUs + tasks).
    ///
    /// # Errors
    /// The first violation found, in words.
    pub fn check_invariants(&self) -> Result<(), String> {
        let mut on_rq = PerCpu::filled(0u32, self.cpus.len());
        let mut delayed = on_rq.clone();
        for p in self.tasks.ids() {
            self.check_task(p)?;
            let t = &self.tasks[p];
            on_rq[t.cpu] += u32::from(t.on_rq);
            delayed[t.cpu] += u32::from(t.sched_delayed);
        }
        for cpu in (0..self.cpus.len() as u32).map(CpuId) {
            self.check_cpu(cpu)?;
            let c = &self.cpus[cpu];
            let stopper = u32::from(c.stop_work.is_some());
            ensure(c.nr_delayed == delayed[cpu], || {
                format!("I13: cpu {cpu} counts {} asleep of {}", c.nr_delayed, delayed[cpu])
            })?;
            ensure(c.nr_running == on_rq[cpu] + stopper, || {
                format!("I13: cpu {cpu} counts {} of {}", c.nr_running, on_rq[cpu])
            })?;
        }
        self.check_locks()?;
        let idle = self.cpus.iter().filter(|c| c.idle).count();
        let waiting: u32 = self.cpus.iter().map(|c| c.waiting()).sum();
        ensure(idle == self.n_idle as usize, || format!("n_idle {} of {idle}", self.n_idle))?;
        let same = |c: CpuId| self.idle_cpus.contains(c) == self.cpus[c].idle;
        let mut cpus = (0..self.cpus.len() as u32).map(CpuId);
        ensure(cpus.all(same), || format!("idle CPUs: {:?}", self.idle_cpus))?;
        ensure(waiting == self.n_waiting, || format!("n_waiting {} of {waiting}", self.n_waiting))?;
        self.counts.check(&self.cpus)?;
        self.check_pinned()
    }

    /// I3 and I4: a task is in one place, and where it may be.
    fn check_task(&self, p: TaskId) -> Result<(), String> {
        let t = &self.tasks[p];
        let place = || format!("{p:?} {t:?}");
        ensure(!(t.on_rq && t.migrating), || format!("I3: queued and in transit: {}", place()))?;
        // The enqueue is complete when the waker lets go of the runqueue's lock.
        let enqueuing = self.locks.owner(LockId::rq(t.cpu)).is_some();
        let early = matches!(t.state, TaskState::New | TaskState::Waking) && !enqueuing;
        ensure(!t.on_rq || !early, || format!("I3: queued before it is runnable: {}", place()))?;
        let asleep = t.on_rq && t.state == TaskState::Sleeping;
        ensure(!t.sched_delayed || asleep, || format!("I3: delayed, but not so: {}", place()))?;
        let may_stay = t.misplaced || self.allowed(p, t.cpu);
        ensure(!t.on_rq || may_stay, || format!("I4: {}", place()))?;
        ensure(t.state != TaskState::Runnable || t.on_rq || t.migrating, || {
            format!("I2: runnable but nowhere: {}", place())
        })
    }

    /// I10, and I12 for a CPU that idles or runs user code.
    pub(crate) fn check_cpu(&self, cpu: CpuId) -> Result<(), String> {
        let c = &self.cpus[cpu];
        let sum: u64 = c.time.iter().sum();
        ensure(sum == c.since - self.measured_from, || {
            format!("I10: cpu {cpu} has {sum} ns at {}", c.since)
        })?;
        if c.curr.is_task() {
            let t = &self.tasks[c.curr];
            ensure(t.cpu == cpu && t.on_cpu || c.depth > 0, || {
                format!("I3: cpu {cpu} runs {:?} {t:?}", c.curr)
            })?;
        }
        let at_rest = c.depth == 0 && matches!(c.base, Base::Work | Base::Idle);
        let holds = || (0..self.locks.len()).find(|l| self.locks.owner(LockId(*l)) == Some(cpu));
        if at_rest && self.cpus.len() <= 64 {
            ensure(holds().is_none(), || format!("I12: cpu {cpu} rests holding {:?}", holds()))?;
        }
        Ok(())
    }

    /// I12: the waiters of a lock stand in the order of their arrival, and each waits.
    fn check_locks(&self) -> Result<(), String> {
        for lock in 0..self.locks.len() {
            let l = &self.locks.locks[LockId((lock as usize) as u32)];
            ensure(l.head == u32::MAX || l.owner != u32::MAX, || {
                format!("I12: lock {lock} is free but waited for")
            })?;
            let (mut at, mut last) = (l.head, 0);
            while at != u32::MAX {
                let c = &self.cpus[CpuId((at as usize) as u32)];
                ensure(c.waiting_now && c.wait_since >= last, || {
                    format!("I12: lock {lock} is not first come, first served")
                })?;
                (last, at) = (c.wait_since, c.next_waiter);
            }
        }
        Ok(())
    }
}

fn ensure(holds: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message()) }
}
