//! Segments of work: how far a task has got, and when it will be through.
//!
//! Work is kept in units of 2^-17 ns at full speed and speeds are even integers, so progress is
//! exactly additive: it does not matter at how many instants it is looked at. A cache debt halves
//! the speed until it is paid: each unit of work then pays one unit of debt.

use super::{CLASS_CPU, CLASS_TICK};
use crate::cpu::FULL_SPEED;
use crate::cpu::{Base, Cpu};
use crate::{Category, EventQueue, NEVER, Ns, Task, TaskId, World};
use topology::CpuId;

/// A fixed duration stretched by the CPU's speed.
#[inline]
pub(crate) fn stretch(ns: Ns, speed: u32) -> Ns {
    if speed == FULL_SPEED {
        return ns;
    }
    (ns * u64::from(FULL_SPEED)).div_ceil(u64::from(speed))
}

/// How long a CPU of this speed takes for so much work.
#[inline]
fn time_for(effort: u64, speed: u32) -> Ns {
    // Mostly the siblings are idle: then this is a shift, and no division.
    if speed == FULL_SPEED {
        return effort.div_ceil(u64::from(FULL_SPEED));
    }
    effort.div_ceil(u64::from(speed))
}

impl Cpu {
    #[inline]
    pub(crate) fn base_category(&self) -> Category {
        match self.base {
            Base::Idle => Category::Idle,
            Base::Leaving => Category::Exit,
            _ => Category::Kernel,
        }
    }

    /// Accounts the time up to now to the category of the frame or the base that fills it.
    #[inline]
    pub(crate) fn settle(&mut self, now: Ns) {
        self.account(self.category, now - self.since);
        self.since = now;
    }

    /// Time spent in a category so far, the present stretch included, ns.
    pub fn time_in(&self, category: Category, now: Ns) -> Ns {
        let open = if self.category == category { now - self.since } else { 0 };
        self.time[category as usize] + open
    }

    #[inline]
    pub(crate) fn account(&mut self, category: Category, ns: Ns) {
        self.time[category as usize] += ns;
    }
}

impl World {
    /// May the return of an interrupt preempt a task in the middle of its segment? In user mode it
    /// may; in kernel mode only if the kernel is preemptible (CONFIG_PREEMPTION).
    #[inline]
    pub(crate) fn is_preemptible(&self, t: &Task) -> bool {
        !t.in_kernel || self.machine.preemptible_kernel
    }

    /// Accounts the CPU's time up to now, and its task's progress if it works on its segment.
    #[inline]
    pub(crate) fn settle(&mut self, cpu: CpuId) {
        let now = self.now;
        let c = &mut self.cpus[cpu];
        if c.depth == 0 && c.base == Base::Work {
            return self.advance(cpu, now);
        }
        c.settle(now);
    }

    /// Brings the segment that `cpu` works on up to the instant `to`.
    #[inline]
    pub(crate) fn advance(&mut self, cpu: CpuId, to: Ns) {
        let c = &mut self.cpus[cpu];
        let dt = to - c.since;
        if dt == 0 {
            return;
        }
        // The ticks that have hit the segment pass first.
        let stalled = dt.min(c.stall);
        c.stall -= stalled;
        c.account(Category::Irq, stalled);
        c.since = to;
        let ran = dt - stalled;
        let t = &mut self.tasks[c.curr];
        c.account(if t.in_kernel { Category::Kernel } else { Category::User }, ran);
        let effort = ran * u64::from(c.speed);
        // While it pays, half of the effort is work and half pays. A segment that ends sooner
        // leaves the rest of the debt to the next one.
        let paying = 2 * t.debt.min(t.work_left);
        let done = if effort < paying {
            t.debt -= effort / 2;
            effort / 2
        } else {
            t.debt -= paying / 2;
            paying / 2 + (effort - paying)
        };
        t.work_left = t.work_left.saturating_sub(done);
    }

    /// When the segment that `cpu` works on ends, ticks before `limit` included; at least `limit`
    /// if it does not end before.
    fn work_end(&self, c: &Cpu, limit: Ns) -> Ns {
        let t = &self.tasks[c.curr];
        let effort = t.work_left + t.debt.min(t.work_left);
        let mut end = c.since + c.stall + time_for(effort, c.speed);
        let mut edge = c.tick_next;
        if edge > end {
            return end;
        }
        let cost = stretch(self.machine.costs.tick_ns, c.speed);
        // Each tick moves the end, perhaps beyond another tick.
        while edge <= end {
            // At the limit the CPU has an event anyway, and the end is computed again.
            if edge >= limit {
                return NEVER;
            }
            end += cost;
            edge += self.times.tick_ns;
        }
        end
    }

    /// Recomputes the CPU's pending event from its state.
    #[inline]
    pub(crate) fn rearm(&mut self, cpu: CpuId) {
        // With an event of its own the CPU does not run ahead of the others.
        if self.ahead.first_key != EventQueue::NO_KEY {
            self.set_ahead(cpu, NEVER);
        }
        let key = self.next_key(cpu);
        self.events.set_key(cpu.0, key);
    }

    /// The key of the CPU's next event.
    #[inline]
    pub(crate) fn next_key(&self, cpu: CpuId) -> u64 {
        let (at, class) = self.next_event(cpu);
        EventQueue::key(at, class)
    }

    #[inline]
    fn next_event(&self, cpu: CpuId) -> (Ns, u8) {
        let c = &self.cpus[cpu];
        // With interrupts off nothing but the end of the step, or the grant, can come.
        if c.depth > 0 && c.top.irq_off {
            return (c.top.end, CLASS_CPU);
        }
        self.next_event_irq_on(c)
    }

    fn next_event_irq_on(&self, c: &Cpu) -> (Ns, u8) {
        if c.depth > 0 {
            let at = c.top.end.min(c.irq_first.max(self.now));
            return self.or_tick(c, at);
        }
        match c.base {
            Base::Work => self.next_work_event(c),
            Base::Idle => {
                // A flag without an interrupt was set on this CPU itself: nothing else will come.
                let at = if c.need_resched && c.curr == TaskId::IDLE && c.irq_first == NEVER {
                    self.now
                } else {
                    c.irq_first
                };
                if c.tick_stopped { (at, CLASS_CPU) } else { self.or_tick(c, at) }
            }
            // Interrupts that come now are taken in the idle loop.
            Base::Leaving => (c.base_end, CLASS_CPU),
            Base::Next | Base::IdleLoop => (self.now, CLASS_CPU),
        }
    }

    fn or_tick(&self, c: &Cpu, at: Ns) -> (Ns, u8) {
        let tick = if c.tick_stopped { NEVER } else { c.tick_next.max(self.now) };
        if tick <= at { (tick, CLASS_TICK) } else { (at, CLASS_CPU) }
    }

    /// A running task gives way where an interrupt returns: at the end of the tick in progress or
    /// of the next interrupt. A flag that another CPU has just set waits for that CPU's IPI.
    fn next_work_event(&self, c: &Cpu) -> (Ns, u8) {
        let free = c.since + c.stall;
        let preempts = c.need_resched && self.is_preemptible(&self.tasks[c.curr]);
        let asked = c.softirq || preempts;
        let in_tick = asked && free >= self.now;
        let sooner = c.irq_first.max(free).max(self.now).min(if in_tick { free } else { NEVER });
        // With the flag set every tick decides: the task gives way when the tick returns.
        let tick = if c.need_resched { c.tick_next } else { c.deciding_tick };
        let at = self.work_end(c, tick).min(sooner);
        if tick <= at { (tick, CLASS_TICK) } else { (at, CLASS_CPU) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_half_of_the_speed_a_duration_is_twice_as_long() {
        assert_eq!(stretch(1001, FULL_SPEED), 1001);
        assert_eq!(stretch(1001, FULL_SPEED / 2), 2002);
    }
}
