//! What must hold after every event, checked in debug builds and in property tests.

use crate::cpu::{Base, Irq};
use crate::{LockId, NEVER, TaskId, TaskState, World};
use topology::{CpuId, PerCpu};

impl World {
    /// Checks every invariant that the mechanism alone can see. O(CPUs + tasks).
    ///
    /// * A task is in one place: running, queued, in transit between two CPUs, or asleep.
    /// * A task is queued only where its affinity allows it.
    /// * No wake-up is lost: a runnable task is queued or in transit.
    /// * A runqueue counts its tasks, and the sums over CPUs, LLCs and masks agree.
    /// * Every nanosecond of a CPU is in one category.
    /// * A CPU's first timer has its event, or its interrupt is pending or under way.
    /// * A lock is handed on first come, first served; a CPU at rest holds none.
    ///
    /// # Errors
    /// The first violation found, in words.
    pub fn check_invariants(&self) -> Result<(), String> {
        let mut on_rq = PerCpu::filled(0u32, self.cpus.len());
        let mut delayed = on_rq.clone();
        let mut throttled = 0;
        for p in self.tasks.ids() {
            self.check_task(p)?;
            let t = &self.tasks[p];
            // What is throttled is queued and does not count.
            on_rq[t.cpu] += u32::from(t.on_rq && !t.throttled);
            delayed[t.cpu] += u32::from(t.sched_delayed && !t.throttled);
            throttled += u32::from(t.throttled);
        }
        for cpu in (0..self.cpus.len() as u32).map(CpuId) {
            self.check_cpu(cpu)?;
            self.check_timers(cpu)?;
            let c = &self.cpus[cpu];
            // The kernel counts the stopper as running from its wake-up on.
            let stopper = u32::from(c.stop_work.is_some());
            ensure(c.nr_delayed == delayed[cpu], || {
                format!("runqueue counts: cpu {cpu}, {} asleep of {}", c.nr_delayed, delayed[cpu])
            })?;
            ensure(c.nr_running == on_rq[cpu] + stopper, || {
                format!("runqueue counts: cpu {cpu}, {} of {}", c.nr_running, on_rq[cpu])
            })?;
        }
        ensure(throttled == self.n_throttled, || {
            format!("n_throttled {} of {throttled}", self.n_throttled)
        })?;
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

    /// A task is in one place, where its affinity allows it, and no wake-up is lost.
    fn check_task(&self, p: TaskId) -> Result<(), String> {
        let t = &self.tasks[p];
        let broken = |rule: &str| format!("{rule}: {p:?} {t:?}");
        ensure(!(t.on_rq && t.migrating), || broken("one place: queued and in transit"))?;
        // The enqueue is complete when the waker releases the runqueue's lock.
        let enqueuing = self.locks.owner(LockId::rq(t.cpu)).is_some();
        let early = matches!(t.state, TaskState::New | TaskState::Waking) && !enqueuing;
        ensure(!t.on_rq || !early, || broken("one place: queued before it is runnable"))?;
        // Delayed dequeue: a sleeping task that its class keeps on the queue.
        let asleep = t.on_rq && t.state == TaskState::Sleeping;
        ensure(!t.throttled || t.on_rq, || broken("one place: throttled, but on no queue"))?;
        ensure(!t.sched_delayed || asleep, || broken("one place: delayed, but not asleep"))?;
        // A new affinity leaves the task where it is until it is moved.
        let may_stay = t.misplaced || self.allowed(p, t.cpu);
        ensure(!t.on_rq || may_stay, || broken("affinity: queued where it may not run"))?;
        ensure(t.state != TaskState::Runnable || t.on_rq || t.migrating, || {
            broken("no lost wake-up: runnable, but nowhere")
        })?;
        let awake = t.state == TaskState::Runnable;
        ensure(!(awake && t.wake_paid.is_some()), || {
            broken("a free wake-up is over, and another to come")
        })
    }

    /// Every nanosecond counts once, the current task is here, and a CPU at rest holds no lock.
    pub(crate) fn check_cpu(&self, cpu: CpuId) -> Result<(), String> {
        let c = &self.cpus[cpu];
        let sum: u64 = c.time.iter().sum();
        ensure(sum == c.since - self.measured_from, || {
            format!("every nanosecond once: cpu {cpu} has {sum} ns at {}", c.since)
        })?;
        if c.curr.is_task() {
            let t = &self.tasks[c.curr];
            ensure(t.cpu == cpu && t.on_cpu || c.depth > 0, || {
                format!("one place: cpu {cpu} runs {:?} {t:?}", c.curr)
            })?;
        }
        // `ttwu_queue_wakelist` sets it before the task is on the list, and only a CPU that has
        // found its list empty takes it away: so the CPU is not idle to others in between. Before
        // v6.2 a CPU takes it away whoever is about to push.
        let expects = c.wake_head != TaskId::NONE || c.pushes_under_way > 0;
        let says_so = c.ttwu_pending || self.config.clears_pending_first;
        ensure(says_so || !expects, || {
            format!("ttwu_pending: cpu {cpu} expects {:?} and does not say so", c.wake_head)
        })?;
        let at_rest = c.depth == 0 && matches!(c.base, Base::Work | Base::Idle);
        let holds = || (0..self.locks.len()).find(|l| self.locks.owner(LockId(*l)) == Some(cpu));
        // O(locks) per event: too slow on large machines.
        if at_rest && self.cpus.len() <= 64 {
            ensure(holds().is_none(), || format!("no lock at rest: cpu {cpu} has {:?}", holds()))?;
        }
        Ok(())
    }

    /// The timers of a CPU are in order, and the first of them is not forgotten.
    fn check_timers(&self, cpu: CpuId) -> Result<(), String> {
        let c = &self.cpus[cpu];
        let order = c.hrtimers.is_sorted();
        let pending = c.irq_at[Irq::Timer as usize] != NEVER || c.timers_until.is_some();
        let due = self.timers.time_of(cpu.0);
        ensure(order && (pending || due <= c.next_timer()), || {
            format!("timers: cpu {cpu} has {:?} and an event at {due}", c.hrtimers)
        })
    }

    /// A lock that is waited for has an owner, and its waiters stand in the order of their arrival.
    fn check_locks(&self) -> Result<(), String> {
        for lock in 0..self.locks.len() {
            let l = &self.locks.locks[LockId(lock)];
            ensure(l.head == u32::MAX || l.owner != u32::MAX, || {
                format!("lock: {lock} is free but waited for")
            })?;
            let mut at = l.head;
            let mut last = 0;
            while at != u32::MAX {
                let c = &self.cpus[CpuId(at)];
                ensure(c.waiting_now && c.wait_since >= last, || {
                    format!("lock: {lock} is not first come, first served")
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
