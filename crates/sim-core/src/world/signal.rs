//! What CPUs tell each other: need-resched, softirqs, stopper work, and interrupts.

use super::World;
use crate::cpu::{Base, Irq};
use crate::{Ns, StopWork, TaskId};
use topology::CpuId;

impl World {
    /// `resched_curr(rq)`: asks the current task of `cpu` to give way. Charges the IPI, if one is
    /// needed, to the executing CPU.
    pub fn resched_curr(&mut self, cpu: CpuId) {
        let target = &mut self.cpus[cpu];
        if target.need_resched {
            return;
        }
        target.need_resched = true;
        // The executing CPU looks at its own flag when its path ends.
        if cpu == self.this {
            return;
        }
        if !self.tell_polling(cpu) {
            self.send_ipi(cpu, Irq::Resched);
        }
    }

    /// Carries out `handler`, the handler of a timer of the policy on `on`, at one instant: what it
    /// charges is that CPU's, and if it asks the current task there to give way, or raises the
    /// softirq, an interrupt says so.
    pub fn in_timer(&mut self, on: CpuId, handler: impl FnOnce(&mut Self)) {
        let this = std::mem::replace(&mut self.this, on);
        let asked = |w: &Self| (w.cpus[on].need_resched, w.cpus[on].softirq);
        let before = asked(self);
        handler(self);
        self.this = this;
        self.touch(on);
        if asked(self) > before {
            self.raise(on, Irq::Resched, self.now);
        }
    }

    /// Raises the scheduler softirq (SCHED_SOFTIRQ) on `cpu`, which is the executing CPU.
    #[inline]
    pub fn raise_softirq(&mut self, cpu: CpuId) {
        self.cpus[cpu].softirq = true;
    }

    /// `smp_call_function_single_async()` of the nohz idle balancer on `cpu`. An idle task that
    /// polls is told by its need-resched flag instead of an IPI (`call_function_single_prep_ipi()`,
    /// v6.4), and so calls `schedule()` afterwards.
    pub fn kick_nohz(&mut self, cpu: CpuId) {
        self.cpus[cpu].nohz_call = true;
        if self.call_single(cpu) {
            self.cpus[cpu].need_resched = true;
        }
    }

    /// `send_call_function_single_ipi()`: true if no IPI was sent, because the idle task polls.
    pub(crate) fn call_single(&mut self, cpu: CpuId) -> bool {
        let told = self.tell_polling(cpu);
        if !told {
            self.send_ipi(cpu, Irq::Call);
        }
        told
    }

    /// As [`Self::call_single`], of a CPU that is about to idle: it is told as if it idled already,
    /// or `turns_back`, since it was told before.
    pub(crate) fn call_once_idle(&mut self, cpu: CpuId, turns_back: bool) {
        let c = &mut self.cpus[cpu];
        (c.told_at, c.turns_back) = (self.now, turns_back);
        if turns_back || self.machine.cstates[c.cstate as usize].polling {
            // At this very instant it would find the task before it idles.
            self.raise(cpu, Irq::Poll, self.now + 1);
        } else {
            let costs = &self.machine.costs;
            let arrives = self.now + costs.ipi_send_ns + costs.ipi_delivery_ns;
            self.counters.ipis += 1;
            self.raise(cpu, Irq::Call, arrives);
        }
    }

    /// Tells the idle task of `cpu` by a store, which takes one line transfer, if it polls. False
    /// if it does not poll.
    fn tell_polling(&mut self, cpu: CpuId) -> bool {
        let told = self.cpus[cpu].curr == TaskId::IDLE && self.polls(cpu);
        if told {
            let at = self.now + self.line_ns(self.this, cpu);
            self.raise(cpu, Irq::Poll, at);
        }
        told
    }

    /// Queues work for `cpu`'s stopper and wakes it (`cpu_stop_queue_work()`, v6.1). False if the
    /// stopper is awake: it does this work after what it has.
    pub fn stop_one_cpu(&mut self, cpu: CpuId, work: StopWork) -> bool {
        let target = &mut self.cpus[cpu];
        if target.stop_work.is_some() {
            target.stop_queue.push_back(work);
            return false;
        }
        target.stop_work = Some(work);
        target.stop_queued_at = self.now;
        self.after.stoppers_woken.push(cpu);
        self.count_wakeup_on_rq(cpu);
        self.after.disturbed = true;
        // The stopper's wake-up takes no steps: it counts as runnable at once.
        self.update_clock_if_unlocked(cpu);
        self.set_nr_running(cpu, self.cpus[cpu].nr_running + 1);
        self.resched_curr(cpu);
        self.skip_clock_if_resched(cpu);
        true
    }

    /// Does the idle task of `cpu` watch its need-resched flag (TIF_POLLING_NRFLAG)? From the end
    /// of the C-state to the next idle entry it does not: a push to the wake list then needs an
    /// IPI.
    pub(super) fn polls(&self, cpu: CpuId) -> bool {
        let c = &self.cpus[cpu];
        match c.base {
            // While it enters the C-state, the idle loop still polls.
            Base::Idle | Base::Leaving => {
                self.now < c.cstate_from || self.machine.cstates[c.cstate as usize].polling
            }
            _ => false,
        }
    }

    pub(crate) fn send_ipi(&mut self, cpu: CpuId, irq: Irq) {
        self.counters.ipis += 1;
        let costs = &self.machine.costs;
        let send_ns = costs.ipi_send_ns;
        // A CPU that is about to idle takes its wake list as soon as `schedule()` is over.
        let preempts = irq == Irq::Resched && self.cpus[cpu].curr.is_task();
        let busy_ns = if preempts { self.machine.busy_ipi_ns } else { 0 };
        let at = self.now + send_ns + costs.ipi_delivery_ns + busy_ns;
        self.charge(send_ns);
        self.raise(cpu, irq, at);
    }

    pub(crate) fn raise(&mut self, cpu: CpuId, irq: Irq, at: Ns) {
        let c = &mut self.cpus[cpu];
        // A second interrupt of the same kind, before the first is taken, is one with it.
        let slot = &mut c.irq_at[irq as usize];
        *slot = (*slot).min(at);
        c.irq_first = c.irq_first.min(at);
        if cpu != self.this {
            // The executing CPU's event is computed anew at the end of this event.
            self.rearm(cpu);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use topology::{Machine, RegularSpec};

    #[test]
    fn a_busy_cpu_keeps_an_interrupt_waiting_that_is_to_preempt_its_task() {
        let mut machine = Machine::regular(RegularSpec::default());
        (machine.costs.ipi_send_ns, machine.costs.ipi_delivery_ns) = (200, 500);
        machine.busy_ipi_ns = 6_000;
        let arrives = |irq, curr| {
            let mut w = World::new(machine.clone().into(), Config::default());
            w.cpus[CpuId(1)].curr = curr;
            w.send_ipi(CpuId(1), irq);
            w.cpus[CpuId(1)].irq_at[irq as usize]
        };
        assert_eq!(arrives(Irq::Resched, TaskId(0)), 6_700);
        assert_eq!(arrives(Irq::Resched, TaskId::IDLE), 700);
        assert_eq!(arrives(Irq::Call, TaskId(0)), 700);
    }

    #[test]
    fn a_stopper_that_is_awake_gets_its_work_in_order_and_is_woken_once() {
        let machine = Machine::regular(RegularSpec::default());
        let mut w = World::new(machine.into(), Config::default());
        let cpu = CpuId(1);
        let works = [2, 3, 0].map(|to| StopWork::Push(CpuId(to)));
        assert_eq!(works.map(|work| w.stop_one_cpu(cpu, work)), [true, false, false]);
        let c = &w.cpus[cpu];
        assert_eq!((c.stop_work, c.nr_running), (Some(works[0]), 1));
        assert!(c.stop_queue.iter().eq(&works[1..]));
        assert_eq!(w.after.stoppers_woken, [cpu]);
    }
}
