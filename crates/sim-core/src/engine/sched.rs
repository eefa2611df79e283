//! `schedule()` (`__schedule()`, v6.4): dequeue, pick, the pull path, the switch. Interrupts are
//! off throughout. The CPU holds its own runqueue's lock, which only the pull path may drop.

use crate::cpu::Base;
use crate::frame::{Flow, Path, Pc};
use crate::{
    DequeueFlags, Hook, LockId, Ns, Observer, Policy, Program, Simulation, Site, TaskId, TaskState,
    World,
};
use topology::CpuId;

impl World {
    /// Nothing is queued on `cpu`, and no stopper is wanted (`!rq->nr_running`).
    fn is_empty(&self, cpu: CpuId) -> bool {
        let c = &self.cpus[cpu];
        c.nr_running == 0 && c.stop_work.is_none()
    }

    /// Time of the switch of `cpu` to `next`, whose address space it loads.
    #[inline]
    pub(super) fn switch_ns(&mut self, cpu: CpuId, next: TaskId) -> Ns {
        let costs = &self.machine.costs;
        if !next.is_task() {
            return costs.switch_ns;
        }
        let attr = &self.tasks[next].attr;
        let c = &mut self.cpus[cpu];
        // A kernel thread keeps the address space of the task before it (lazy TLB).
        if c.mm == attr.mm || attr.kthread {
            return costs.switch_ns;
        }
        c.mm = attr.mm;
        costs.switch_ns + costs.mm_switch_ns
    }
}

impl<P: Policy, W: Program, O: Observer> Simulation<P, W, O> {
    pub(crate) fn sched_lock(&mut self, cpu: CpuId) -> Flow {
        self.w.cpus[cpu].top().target = cpu;
        // The usual case goes on without another turn of the loop over steps; so do those below.
        match self.lock(cpu, LockId::rq(cpu), Site::SCHEDULE_RQ_LOCK, Pc::SchedBody) {
            Flow::Again => self.sched_body(cpu),
            Flow::Wait => Flow::Wait,
        }
    }

    pub(crate) fn sched_body(&mut self, cpu: CpuId) -> Flow {
        self.w.update_clock_to_schedule(cpu);
        let prev = self.w.cpus[cpu].curr;
        if prev == TaskId::IDLE && self.w.config.idles_on_without_pick && self.w.is_empty(cpu) {
            return self.stay(cpu);
        }
        let sleeps = self.falls_asleep(cpu, prev);
        let top = self.w.cpus[cpu].top();
        top.other = prev;
        let before_ns = u64::from(std::mem::take(&mut top.kept_ns));
        let costs = &self.w.machine.costs;
        let pick_ns = costs.pick_ns - before_ns;
        // The share after an interrupt was counted from another point: it has the interrupt's way
        // out in it, so what is left to the look was never told apart. None is assumed.
        let by_interrupt = before_ns >= costs.pick_before_lock_ns();
        let look_ns = if by_interrupt { 0 } else { costs.pick_before_look_ns() - before_ns };
        let dequeue_ns = if sleeps { costs.dequeue_ns } else { 0 };
        // `pick_next_task_fair()` of an empty runqueue looks elsewhere before all else. With
        // something left to run nothing can come between, as the lock is held: one step will do.
        // What sched_ext does after `ops.dispatch()` was not counted: its look ends the pick.
        let is_left = self.w.cpus[cpu].nr_running > u32::from(sleeps);
        let looks = !is_left && !self.policy.idles_with_queued();
        let first_ns = if looks { look_ns } else { pick_ns };
        self.w.cpus[cpu].top().kept_ns = (pick_ns - first_ns) as u32;
        self.w.spend(cpu, first_ns + dequeue_ns, Pc::SchedDequeue)
    }

    /// Does `prev` leave the runqueue? A task that is preempted does not, even if it has prepared
    /// to sleep already (`SM_MASK_PREEMPT` in `__schedule()`). In a kernel that is not preemptible
    /// such a task comes here only to sleep.
    fn falls_asleep(&mut self, cpu: CpuId, prev: TaskId) -> bool {
        let preempted = self.w.cpus[cpu].top().path == Path::Preempt;
        prev.is_task()
            && self.w.tasks[prev].state != TaskState::Runnable
            && !(preempted && self.w.machine.preemptible_kernel)
    }

    pub(crate) fn sched_dequeue(&mut self, cpu: CpuId) -> Flow {
        let prev = self.w.cpus[cpu].top().other;
        if !self.falls_asleep(cpu, prev) {
            return self.sched_pick(cpu);
        }
        let flags = DequeueFlags { sleep: true };
        let hook = self.policy.dequeue_task(&mut self.w, cpu, prev, flags);
        // With DELAY_DEQUEUE (v6.12) the task may sleep on its queue, where it still counts.
        if !self.w.tasks[prev].sched_delayed {
            self.w.deactivate(cpu, prev);
        }
        self.observer.dequeue(&self.w, cpu, prev);
        if hook.is_none() {
            return self.sched_pick(cpu);
        }
        self.run_hook(cpu, hook, Pc::SchedPick)
    }

    pub(crate) fn sched_pick(&mut self, cpu: CpuId) -> Flow {
        // The stopper's class comes before all others.
        if self.w.cpus[cpu].stop_work.is_some() {
            return self.found_at_once(cpu, TaskId::STOP);
        }
        match self.policy.pick_next_task(&mut self.w, cpu) {
            Some(next) => self.found_at_once(cpu, next),
            None => {
                self.w.cpus[cpu].top().first = true;
                self.w.cpus[cpu].top().pc = Pc::SchedBeforeIdle;
                self.sched_before_idle(cpu)
            }
        }
    }

    /// There was something to run, so the look elsewhere for which the pick was cut did not come.
    fn found_at_once(&mut self, cpu: CpuId, next: TaskId) -> Flow {
        let left_ns = std::mem::take(&mut self.w.cpus[cpu].top().kept_ns);
        self.w.charge(u64::from(left_ns));
        self.switch_to(cpu, next)
    }

    pub(crate) fn sched_before_idle(&mut self, cpu: CpuId) -> Flow {
        loop {
            let top = self.w.cpus[cpu].top();
            let first = std::mem::take(&mut top.first);
            let prev = top.other;
            let step = self.policy.before_idle(&mut self.w, cpu, prev, first);
            if step.is_done() {
                let left_ns = std::mem::take(&mut self.w.cpus[cpu].top().kept_ns);
                return self.w.spend(cpu, left_ns.into(), Pc::SchedPickAgain);
            }
            if let Some(flow) = self.carry_out(cpu, step, Pc::SchedBeforeIdle) {
                return flow;
            }
        }
    }

    pub(crate) fn sched_pick_again(&mut self, cpu: CpuId) -> Flow {
        debug_assert_eq!(self.w.locks.owner(LockId::rq(cpu)), Some(cpu));
        // While the pull path had dropped the lock, other CPUs may have brought work here.
        if self.w.cpus[cpu].stop_work.is_some() {
            return self.switch_to(cpu, TaskId::STOP);
        }
        let next = self.policy.pick_next_task(&mut self.w, cpu).unwrap_or(TaskId::IDLE);
        self.switch_to(cpu, next)
    }

    /// The choice is made: `curr` changes now, the switch takes time.
    fn switch_to(&mut self, cpu: CpuId, next: TaskId) -> Flow {
        let prev = self.w.cpus[cpu].top().other;
        if next == prev {
            return self.stay(cpu);
        }
        let hook = self.change_current(cpu, prev, next);
        if hook.is_none() {
            return self.sched_switch(cpu);
        }
        self.run_hook(cpu, hook, Pc::SchedSwitch)
    }

    /// The current task stays, without a switch.
    fn stay(&mut self, cpu: CpuId) -> Flow {
        let c = &mut self.w.cpus[cpu];
        c.need_resched = false;
        c.skips_clock &= !self.w.config.ends_skip_with_schedule;
        c.stat.kept += 1;
        self.observer.stays(&self.w, cpu);
        self.unlock(cpu, LockId::rq(cpu));
        self.pop_frame(cpu)
    }

    /// `curr` becomes `next`, which is another than `prev`.
    #[inline(always)]
    pub(super) fn change_current(&mut self, cpu: CpuId, prev: TaskId, next: TaskId) -> Hook {
        let now = self.w.now;
        let c = &mut self.w.cpus[cpu];
        let since = std::mem::replace(&mut c.curr_since, now);
        if prev != TaskId::IDLE {
            c.stat.cpu_time_ns += now - since;
        }
        if prev.is_task() {
            let t = &mut self.w.tasks[prev];
            t.ran_ns += now - since;
            // A preempted task waits from here on.
            if t.on_rq && !t.sched_delayed {
                (t.queued_at, t.runnable_since) = (now, now);
            }
            // Before `first_run` asks what is left of the next task's cache contents.
            t.cache_mark = self.w.cpus[cpu].footprint.leave(prev, t.attr.working_set_kib);
        }
        let hook = self.policy.switch_task(&mut self.w, cpu, prev, next);
        self.w.set_curr(cpu, next);
        self.w.cpus[cpu].nr_switches += 1;
        // `switch_task` may have set the flag as it charged the previous task: it is served, too.
        let c = &mut self.w.cpus[cpu];
        c.need_resched = false;
        c.skips_clock &= !self.w.config.ends_skip_with_schedule;
        self.w.counters.switches += 1;
        self.tell_moves();
        self.observer.switch(&self.w, cpu, prev, next);
        self.w.cpus[cpu].top.task = next;
        if next.is_task() {
            self.first_run(cpu, prev, next);
        } else {
            self.w.count_other(cpu, next);
        }
        hook
    }

    #[inline(always)]
    fn first_run(&mut self, cpu: CpuId, prev: TaskId, next: TaskId) {
        let now = self.w.now;
        let debt = self.w.cache_debt(cpu, next);
        let t = &mut self.w.tasks[next];
        debug_assert!(!t.on_cpu, "{next:?} picked while on a CPU");
        t.on_cpu = true;
        // What is missing is missing once: the larger of the old debt and the new one.
        t.debt = t.debt.max(debt << 17);
        t.cache_cpu = cpu;
        let queued_at = std::mem::replace(&mut t.queued_at, crate::NEVER);
        self.w.cpus[cpu].stat.run_delay_ns += now - queued_at;
        let delay = now - t.runnable_since;
        if std::mem::take(&mut t.woken) {
            self.observer.sched_delay(&self.w, next, delay);
        }
        self.observer.waited_for_cpu(&self.w, cpu, next, prev, delay);
    }

    pub(crate) fn sched_switch(&mut self, cpu: CpuId) -> Flow {
        let next = self.w.cpus[cpu].top().task;
        let ns = self.w.switch_ns(cpu, next);
        self.w.spend(cpu, ns, Pc::SchedDone)
    }

    pub(crate) fn sched_done(&mut self, cpu: CpuId) -> Flow {
        let top = self.w.cpus[cpu].top();
        let prev = top.other;
        let next = top.task;
        if prev.is_task() {
            self.switched_out(prev);
        }
        self.unlock(cpu, LockId::rq(cpu));
        // The stopper's work is steps of this same frame.
        if next == TaskId::STOP {
            return self.w.goto(cpu, Pc::StopStart);
        }
        if next == TaskId::IDLE {
            self.w.cpus[cpu].base = Base::IdleLoop;
        } else {
            self.w.start_tick(cpu);
            // A preempted task goes on with what is left of its segment.
            let works = self.w.tasks[next].work_left > 0;
            self.w.cpus[cpu].base = if works { Base::Work } else { Base::Next };
        }
        self.pop_frame(cpu)
    }

    #[inline(always)]
    pub(super) fn switched_out(&mut self, prev: TaskId) {
        let t = &mut self.w.tasks[prev];
        t.on_cpu = false;
        let dead = t.state == TaskState::Dead;
        // Wakers that spin until `on_cpu` is clear go on.
        if t.spinner != u32::MAX {
            self.w.release_spinners(prev);
        }
        if dead {
            self.policy.task_dead(&mut self.w, prev);
            self.w.free_task(prev);
            if self.w.n_alive == 0 || self.program.is_done() {
                self.stop = Some(crate::StopReason::Done);
            }
        }
    }
}
