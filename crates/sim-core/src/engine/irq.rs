//! Interrupts: IPIs, timers, ticks outside of a segment, the wake list, softirqs.

use crate::cpu::{Irq, N_IRQ};
use crate::frame::{Flow, Frame, Path, Pc};
use crate::{
    Category, EnqueueFlags, LockId, NEVER, Ns, Observer, Policy, Program, Simulation, Site, TaskId,
};
use topology::CpuId;

/// The path of an interrupt, by [`Irq`].
const IRQ_PATHS: [Path; N_IRQ] = [Path::Poll, Path::Resched, Path::Call, Path::Timer, Path::Device];

impl<P: Policy, W: Program, O: Observer> Simulation<P, W, O> {
    /// Takes what is pending: interrupts first, else a tick that is due.
    pub(crate) fn interrupt(&mut self, cpu: CpuId) -> Flow {
        if self.w.cpus[cpu].irq_first <= self.w.now {
            self.w.push_frame(cpu, Frame::at(Pc::IrqEntry, Path::Call, Category::Irq));
        } else {
            self.enter_tick(cpu);
        }
        Flow::Again
    }

    /// A tick that does not fall into a segment of work but into a softirq, a system call or idle.
    /// As a computed one it works on the runqueue without its lock ([`crate::Site::TICK_RQ_LOCK`]).
    pub(crate) fn enter_tick(&mut self, cpu: CpuId) {
        let next = self.w.tick_after(cpu, self.w.now);
        let frame = Frame { first: true, ..Frame::at(Pc::TickBody, Path::Tick, Category::Irq) };
        self.w.push_frame(cpu, frame);
        let c = &mut self.w.cpus[cpu];
        c.tick_next = next;
        c.ticks += 1;
        c.tick_untold = true;
        self.w.sample_clock(cpu, self.w.now);
        self.policy.task_tick(&mut self.w, cpu);
    }

    pub(crate) fn tick_body(&mut self, cpu: CpuId) -> Flow {
        if std::mem::take(&mut self.w.cpus[cpu].top().first) {
            return self.w.spend(cpu, self.w.machine.costs.tick_ns, Pc::TickBody);
        }
        self.pop_frame(cpu)
    }

    /// An idle CPU that only polls takes no interrupt: the idle loop sees the flag.
    pub(crate) fn irq_entry(&mut self, cpu: CpuId) -> Flow {
        let now = self.w.now;
        let c = &mut self.w.cpus[cpu];
        let mut path = Path::Poll;
        let mut calls = false;
        let mut device = false;
        let mut ipis = false;
        // All that has arrived by now is one entry, which is named after the last kind.
        for (i, kind) in IRQ_PATHS.into_iter().enumerate() {
            if c.irq_at[i] <= now {
                c.irq_at[i] = NEVER;
                path = kind;
                calls |= matches!(kind, Path::Poll | Path::Call);
                device |= i == Irq::Device as usize;
                ipis |= matches!(kind, Path::Resched | Path::Call);
                if i == Irq::Timer as usize {
                    c.timers_until = Some(now);
                }
            }
        }
        let real = path != Path::Poll;
        c.irq_first = c.irq_at.iter().copied().min().unwrap_or(NEVER);
        // A polling CPU gets its calls without an interrupt (`flush_smp_call_function_queue()`).
        let nohz = calls && std::mem::take(&mut c.nohz_call);
        // In this frame `first` says that the nohz balancer is still to be called.
        (c.top().first, c.top().path) = (nohz, path);
        c.device_irq |= device;
        // The tick's interrupt, whose entry is a part of the tick, runs the timers after the tick.
        let in_tick = std::mem::take(&mut c.timers_in_tick) && path == Path::Timer && !ipis;
        if path == Path::Timer && !in_tick && !calls && !ipis && self.wake_to_idle(cpu) {
            return self.pop_frame(cpu);
        }
        let free = in_tick || path == Path::Timer && !ipis && self.w.settle_paid_timer(cpu);
        let costs = if real && !free { self.w.machine.costs.irq_ns } else { 0 };
        self.w.cpus[cpu].top().irq_exit = costs > 0;
        self.w.spend(cpu, costs - costs / 2, Pc::IrqBody)
    }

    /// Does one thing at a time: when the frame of that is gone, the path comes here again.
    pub(crate) fn irq_body(&mut self, cpu: CpuId) -> Flow {
        if self.w.cpus[cpu].top().first {
            self.w.cpus[cpu].top().first = false;
            self.policy.nohz_kick(&mut self.w, cpu);
        }
        if let Some(p) = self.w.next_expired(cpu) {
            let rest_ns = std::mem::take(&mut self.w.tasks[p].irq_rest_ns);
            let top = self.w.cpus[cpu].top();
            top.kept_ns = top.kept_ns.saturating_add(rest_ns);
            top.path = Path::Timer;
            return self.enter_wake(cpu, p, false, Category::Irq);
        }
        if self.w.cpus[cpu].wake_head != TaskId::NONE {
            // Whatever interrupt this is, the wake list is emptied in it.
            let top = self.w.cpus[cpu].top();
            if top.path != Path::Poll {
                top.path = Path::Call;
            }
            self.w.push_frame(cpu, Frame::at(Pc::FlushLock, Path::Flush, Category::Irq));
            return Flow::Again;
        }
        if std::mem::take(&mut self.w.cpus[cpu].device_irq) {
            self.w.cpus[cpu].top().path = Path::Device;
            self.w.push_frame(cpu, Frame::at(Pc::DeviceHandler, Path::Handler, Category::Irq));
            return Flow::Again;
        }
        let rest_ns = std::mem::take(&mut self.w.cpus[cpu].top().kept_ns);
        if rest_ns > 0 {
            return self.w.spend(cpu, Ns::from(rest_ns), Pc::IrqBody);
        }
        // The cost of an interrupt is half that of its way in and half that of its way out.
        if std::mem::take(&mut self.w.cpus[cpu].top().irq_exit) {
            return self.w.spend(cpu, self.w.machine.costs.irq_ns / 2, Pc::IrqBody);
        }
        self.pop_frame(cpu)
    }

    // --- `sched_ttwu_pending()`: the target empties its wake list ---

    /// Takes the whole list. What is pushed from now on needs a signal of its own.
    pub(crate) fn flush_lock(&mut self, cpu: CpuId) -> Flow {
        let c = &mut self.w.cpus[cpu];
        c.top().target = cpu;
        c.top().task = c.wake_head;
        (c.wake_head, c.wake_tail) = (TaskId::NONE, TaskId::NONE);
        if self.w.config.clears_pending_first {
            // Also if a waker is about to push here: until the enqueue others find the CPU idle.
            self.w.change_rq(cpu, |c| c.ttwu_pending = false);
        }
        self.lock(cpu, LockId::rq(cpu), Site::TTWU_PENDING_RQ_LOCK, Pc::FlushLocked)
    }

    /// The queue's clock is looked at once for the whole list.
    pub(crate) fn flush_locked(&mut self, cpu: CpuId) -> Flow {
        self.update_rq_clock(cpu);
        self.flush_next(cpu)
    }

    pub(crate) fn flush_next(&mut self, cpu: CpuId) -> Flow {
        if self.w.cpus[cpu].top().task != TaskId::NONE {
            let rest_ns = self.keep_enqueue_rest(cpu, Pc::FlushEnqueue);
            let ns = self.w.machine.costs.enqueue_ns - rest_ns;
            return self.w.spend(cpu, ns, Pc::FlushEnqueue);
        }
        if !self.w.config.clears_pending_first {
            // Wakers on their way to push here keep the CPU from looking idle.
            self.w.change_rq(cpu, |c| {
                c.ttwu_pending = c.wake_head != TaskId::NONE || c.pushes_under_way > 0;
            });
        }
        self.unlock(cpu, LockId::rq(cpu));
        self.pop_frame(cpu)
    }

    pub(crate) fn flush_enqueue(&mut self, cpu: CpuId) -> Flow {
        let p = self.w.cpus[cpu].top().task;
        let flags = self.wakeup_flags(p);
        let hook = self.enqueue(cpu, p, flags);
        self.run_hook(cpu, hook, Pc::FlushPreempt)
    }

    /// Of the wake flags the list keeps only WF_MIGRATED (`p->sched_remote_wakeup`, v6.4), not
    /// WF_SYNC.
    pub(crate) fn flush_preempt(&mut self, cpu: CpuId) -> Flow {
        if let Some(flow) = self.spend_enqueue_rest(cpu) {
            return flow;
        }
        let p = self.w.cpus[cpu].top().task;
        let flags = self.wakeup_flags(p);
        self.policy.wakeup_preempt(&mut self.w, cpu, p, flags);
        self.now_runnable(cpu, p, false);
        let next = self.w.tasks[p].next_on_wake_list;
        self.w.cpus[cpu].top().task = next;
        self.flush_next(cpu)
    }

    pub(crate) fn wakeup_flags(&self, p: TaskId) -> EnqueueFlags {
        let migrated = self.w.tasks[p].wake_migrated;
        EnqueueFlags { wakeup: true, migrated, initial: false }
    }

    // --- softirq ---

    pub(crate) fn enter_softirq(&mut self, cpu: CpuId) -> Flow {
        self.w.cpus[cpu].softirq = false;
        let frame = Frame {
            first: true,
            irq_off: false,
            ..Frame::at(Pc::Softirq, Path::Softirq, Category::Softirq)
        };
        self.w.push_frame(cpu, frame);
        Flow::Again
    }

    pub(crate) fn softirq_step(&mut self, cpu: CpuId) -> Flow {
        loop {
            let first = std::mem::take(&mut self.w.cpus[cpu].top().first);
            let step = self.policy.softirq(&mut self.w, cpu, first);
            if step.is_done() {
                return self.pop_frame(cpu);
            }
            if let Some(flow) = self.carry_out(cpu, step, Pc::Softirq) {
                return flow;
            }
            // Between steps that take no time there is no event, so interrupts are looked for here.
            if !self.w.cpus[cpu].top().irq_off && self.w.cpus[cpu].irq_first <= self.w.now {
                return self.interrupt(cpu);
            }
        }
    }
}
