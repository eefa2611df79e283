//! Taking and releasing locks, waiting for tasks, and the steps of resumable paths.

use crate::cpu::Occupancy;
use crate::frame::{Flow, Pc};
use crate::locks::Acquire;
use crate::{
    Category, Hook, LockId, NEVER, Ns, Observer, Policy, Program, Simulation, Site, Step, TaskId,
    World,
};
use topology::CpuId;

const NO_CPU: u32 = u32::MAX;

impl World {
    /// Marks the CPU as spinning; its event comes with the grant.
    fn start_wait(&mut self, cpu: CpuId, lock: Option<LockId>, site: &'static Site, first: bool) {
        self.settle(cpu);
        let now = self.now;
        let c = &mut self.cpus[cpu];
        c.wait_since = now;
        (c.wait_site, c.wait_lock) = (site, lock);
        c.wait_is_first = first;
        c.waiting_now = true;
        c.next_waiter = NO_CPU;
        c.category = Category::Spin;
        c.top().end = NEVER;
        self.set_occupancy(cpu, Occupancy::Spinning);
    }

    /// A waiter's attempt takes the line of the lock word away from the owner. In that of a
    /// runqueue lies `nr_running`, which the owner needs back: one transfer in its next step.
    /// (What waiters do to a queue's lock is `contended_lines`.)
    fn disturb_owner(&mut self, waiter: CpuId, lock: LockId) {
        // The runqueue locks have the first numbers.
        if lock.0 as usize >= self.cpus.len() {
            return;
        }
        let owner = CpuId(self.locks.locks[lock].owner);
        self.cpus[owner].carry += self.line_ns(owner, waiter);
    }

    /// The CPU gets what it waits for at `at`.
    fn grant(&mut self, cpu: CpuId, at: Ns) {
        self.cpus[cpu].top().end = at;
        if cpu != self.this {
            self.rearm(cpu);
        }
    }

    /// Releases a lock; the first waiter owns it from now and goes on after the hand-over.
    pub(crate) fn release(&mut self, cpu: CpuId, lock: LockId) {
        let l = &mut self.locks.locks[lock];
        debug_assert_eq!(l.owner, cpu.0, "{cpu} releases {lock:?}");
        l.last = cpu.0;
        l.owner = NO_CPU;
        if l.head == NO_CPU {
            return;
        }
        let next = CpuId(l.head);
        // It owns the lock already while the hand-over is on its way: no other CPU can get in.
        l.owner = next.0;
        l.head = self.cpus[next].next_waiter;
        if l.head == NO_CPU {
            l.tail = NO_CPU;
        }
        let site = self.cpus[next].wait_site;
        self.locks.site_mut(site).acquired += 1;
        // The pending waiter watches the lock word; queued ones are also told by their predecessor.
        let transfers = if self.cpus[next].wait_is_first { 1 } else { 2 };
        // At least 1 ns, so that the grant is an event after this one.
        let at = self.now + (transfers * self.line_ns(cpu, next)).max(1);
        self.grant(next, at);
    }

    /// Lets the CPUs go on that spin until `p`'s state changes.
    pub(crate) fn release_spinners(&mut self, p: TaskId) {
        let mut next = std::mem::replace(&mut self.tasks[p].spinner, NO_CPU);
        while next != NO_CPU {
            let cpu = CpuId(next);
            next = self.cpus[cpu].next_waiter;
            let from = self.tasks[p].cpu;
            let at = self.now + self.line_ns(from, cpu).max(1);
            self.grant(cpu, at);
        }
    }
}

impl<P: Policy, W: Program, O: Observer> Simulation<P, W, O> {
    /// Takes a lock and goes on at `pc`, at once or after spinning.
    pub(crate) fn lock(&mut self, cpu: CpuId, lock: LockId, site: &'static Site, pc: Pc) -> Flow {
        match self.w.locks.try_take(lock, cpu, site) {
            Acquire::Taken { last } => {
                // The CPU of this runqueue may run ahead: it stops to do so.
                self.w.disturb_rq(lock);
                let cost = self.w.machine.locks.fast_ns + self.w.line_ns(CpuId(last), cpu);
                // Paid in the next step, so that an uncontended lock needs no event of its own.
                let c = &mut self.w.cpus[cpu];
                c.carry += cost;
                c.top.pc = pc;
                self.observer.acquired(&self.w, cpu, lock, CpuId(last), None);
                Flow::Again
            }
            Acquire::Busy { first } => {
                self.w.cpus[cpu].top.pc = pc;
                self.w.start_wait(cpu, Some(lock), site, first);
                self.w.disturb_owner(cpu, lock);
                let l = &mut self.w.locks.locks[lock];
                if l.head == NO_CPU {
                    l.head = cpu.0;
                } else {
                    self.w.cpus[CpuId(l.tail)].next_waiter = cpu.0;
                }
                l.tail = cpu.0;
                Flow::Wait
            }
        }
    }

    pub(crate) fn unlock(&mut self, cpu: CpuId, lock: LockId) {
        self.observer.released(&self.w, cpu, lock);
        self.w.release(cpu, lock);
    }

    /// Spins until `p` neither migrates nor is being switched out; goes on at `pc`, which looks
    /// again.
    pub(crate) fn wait_for_task(
        &mut self,
        cpu: CpuId,
        p: TaskId,
        site: &'static Site,
        pc: Pc,
    ) -> Flow {
        self.w.cpus[cpu].top().pc = pc;
        let t = &self.w.tasks[p];
        if !t.on_cpu && !t.migrating {
            return Flow::Again;
        }
        // These waiters are all let go at once, so their list needs no order.
        self.w.start_wait(cpu, None, site, false);
        let head = std::mem::replace(&mut self.w.tasks[p].spinner, cpu.0);
        self.w.cpus[cpu].next_waiter = head;
        Flow::Wait
    }

    /// A step of the top frame is over; if it was spinning, the wait is accounted.
    pub(crate) fn end_wait(&mut self, cpu: CpuId) {
        if !self.w.cpus[cpu].waiting_now {
            return;
        }
        self.w.settle(cpu);
        let now = self.w.now;
        let c = &mut self.w.cpus[cpu];
        c.waiting_now = false;
        c.category = c.top().category;
        let site = c.wait_site;
        let lock = c.wait_lock;
        let waited = now - c.wait_since;
        let stats = self.w.locks.site_mut(site);
        stats.contended += 1;
        stats.wait_ns += waited;
        self.w.set_occupancy(cpu, Occupancy::Busy);
        self.observer.waited(&self.w, cpu, site, waited);
        if let Some(lock) = lock {
            let last = CpuId(self.w.locks.locks[lock].last);
            self.observer.acquired(&self.w, cpu, lock, last, Some(waited));
        }
    }

    /// Carries out a step of a resumable path. `None`: resume it at this instant.
    pub(crate) fn carry_out(&mut self, cpu: CpuId, step: Step, pc: Pc) -> Option<Flow> {
        let flow = match step {
            Step::Spend(ns) => self.w.spend(cpu, ns, pc),
            Step::Lock(lock, site) => self.lock(cpu, lock, site, pc),
            Step::TryLock(lock, site) => {
                self.try_lock(cpu, lock, site);
                Flow::Again
            }
            Step::Unlock(lock) => {
                self.unlock(cpu, lock);
                Flow::Again
            }
            Step::WaitTask(p, site) => self.wait_for_task(cpu, p, site, pc),
            // The path goes on at `pc` when the wake-up's frame is gone; its locks stay held.
            Step::Wake { task, sync } => {
                let top = self.w.cpus[cpu].top();
                top.pc = pc;
                let category = top.category;
                return Some(self.enter_wake(cpu, task, sync, category));
            }
            Step::IrqOff | Step::IrqOn => {
                self.w.cpus[cpu].top().irq_off = matches!(step, Step::IrqOff);
                Flow::Again
            }
            Step::Done => Flow::Again,
        };
        (flow == Flow::Wait).then_some(flow)
    }

    fn try_lock(&mut self, cpu: CpuId, lock: LockId, site: &'static Site) {
        let taken = self.w.locks.try_take(lock, cpu, site);
        self.w.disturb_rq(lock);
        // A failed attempt has fetched the line as well, from the owner.
        let last = match taken {
            Acquire::Taken { last } => last,
            Acquire::Busy { .. } => self.w.locks.locks[lock].owner,
        };
        let cost = self.w.machine.locks.fast_ns + self.w.line_ns(CpuId(last), cpu);
        let ok = matches!(taken, Acquire::Taken { .. });
        let c = &mut self.w.cpus[cpu];
        c.carry += cost;
        c.trylock_ok = ok;
        if ok {
            self.observer.acquired(&self.w, cpu, lock, CpuId(last), None);
        }
    }

    // --- nested critical sections: a policy's lock inside a runqueue's lock ---

    /// Runs the critical section that a hook asked for, if any, then goes on at `pc`.
    #[inline]
    pub(crate) fn run_hook(&mut self, cpu: CpuId, hook: Hook, pc: Pc) -> Flow {
        let c = &mut self.w.cpus[cpu];
        if hook.is_none() {
            c.top().pc = pc;
            return Flow::Again;
        }
        c.nested = hook;
        c.after_nested = pc;
        c.top().pc = Pc::NestLock;
        Flow::Again
    }

    pub(crate) fn nest_lock(&mut self, cpu: CpuId) -> Flow {
        // What the path was charged so far passes before it takes the lock, not behind it.
        if self.w.cpus[cpu].carry > 0 {
            return self.w.spend(cpu, 0, Pc::NestLock);
        }
        match self.w.cpus[cpu].nested {
            Some(n) => self.lock(cpu, n.lock, n.site, Pc::NestHold),
            None => self.w.goto(cpu, self.w.cpus[cpu].after_nested),
        }
    }

    pub(crate) fn nest_hold(&mut self, cpu: CpuId) -> Flow {
        let c = &self.w.cpus[cpu];
        let hold = c.nested.map_or(0, |n| self.policy.nested_hold(&self.w, c.top.target, n));
        self.w.spend(cpu, hold, Pc::NestDone)
    }

    pub(crate) fn nest_done(&mut self, cpu: CpuId) -> Flow {
        let mut next = None;
        if let Some(n) = self.w.cpus[cpu].nested.take() {
            let target = self.w.cpus[cpu].top().target;
            // The section changes the policy's state at its end, with the lock still held.
            next = self.policy.nested_done(&mut self.w, target, n);
            self.unlock(cpu, n.lock);
        }
        let after = self.w.cpus[cpu].after_nested;
        self.run_hook(cpu, next, after)
    }
}
