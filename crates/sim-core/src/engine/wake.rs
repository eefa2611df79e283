//! `try_to_wake_up()` (v6.4), executed by a task or in an interrupt.

use crate::frame::{Flow, Frame, Path, Pc};
use crate::{
    Appends, Category, Choice, EnqueueFlags, GroupId, Hook, LockId, MigrationCause, Ns, Observer,
    Policy, Program, Reason, SchedPolicy, SelectKind, Simulation, Site, TaskId, TaskState,
    WakeList, World,
};
use topology::CpuId;

impl World {
    /// `ttwu_queue_cond()`: may a wake-up executed here use `target`'s wake list? `on_cpu`: the
    /// task is being switched out there (WF_ON_CPU). Never for a task of sched_ext, whose scheduler
    /// wants to see its wake-ups at once (v6.12).
    pub(crate) fn wake_list_allowed(&self, of: SchedPolicy, target: CpuId, on_cpu: bool) -> bool {
        if !self.config.ttwu_queue || target == self.this || of == SchedPolicy::Ext {
            return false;
        }
        let llc_id = &self.machine.domains.llc_id;
        let nr_running = self.cpus[target].nr_running;
        llc_id[target] != llc_id[self.this]
            || match self.config.wake_list {
                WakeList::OtherLlcOrIdle => nr_running == 0,
                WakeList::OtherLlcOrOnCpu => on_cpu && nr_running <= 1,
            }
    }

    /// Puts a task on the wake list of `cpu`. True if it is the first one there.
    fn put_on_wake_list(&mut self, cpu: CpuId, p: TaskId) -> bool {
        self.tasks[p].next_on_wake_list = TaskId::NONE;
        let c = &mut self.cpus[cpu];
        let tail = std::mem::replace(&mut c.wake_tail, p);
        if c.wake_head == TaskId::NONE {
            c.wake_head = p;
            return true;
        }
        self.tasks[tail].next_on_wake_list = p;
        false
    }
}

impl<P: Policy, W: Program, O: Observer> Simulation<P, W, O> {
    pub(crate) fn enter_wake(
        &mut self,
        cpu: CpuId,
        p: TaskId,
        sync: bool,
        category: Category,
    ) -> Flow {
        let frame = Frame { task: p, sync, ..Frame::at(Pc::WakeBegin, Path::Wake, category) };
        self.w.push_frame(cpu, frame);
        let lock_ns = self.w.take_pi_lock(p);
        let ns = if self.w.tasks[p].wake_paid.is_some() {
            0
        } else {
            self.w.machine.costs.ttwu_fixed_ns + lock_ns
        };
        self.w.spend(cpu, ns, Pc::WakeBegin)
    }

    /// The fixed part is over: is there anything to wake?
    pub(crate) fn wake_begin(&mut self, cpu: CpuId) -> Flow {
        let p = self.w.cpus[cpu].top().task;
        let t = &self.w.tasks[p];
        // The task is awake, or another waker is about to wake it.
        if t.state != TaskState::Sleeping {
            self.w.counters.wakeups_coalesced += 1;
            return self.pop_frame(cpu);
        }
        if t.migrating {
            // A delayed task: it sleeps, and is in transit between two runqueues.
            return self.wait_for_task(cpu, p, Site::MIGRATING_WAIT, Pc::WakeBegin);
        }
        if t.on_rq {
            // It is about to sleep but still queued, or it sleeps on the queue. Which one it will
            // be is known under the runqueue's lock only (`ttwu_runnable()`).
            let rq = LockId::rq(t.cpu);
            self.w.cpus[cpu].top().target = t.cpu;
            return self.lock(cpu, rq, Site::TTWU_RQ_LOCK, Pc::WakeOnRq);
        }
        self.is_woken(p);
        self.wake_look(cpu)
    }

    /// From here on the task is this waker's to enqueue.
    fn is_woken(&mut self, p: TaskId) {
        let now = self.w.now;
        let t = &mut self.w.tasks[p];
        t.state = TaskState::Waking;
        t.woken = true;
        t.runnable_since = now;
        t.wake_migrated = false;
        self.w.cancel_timer(p);
        self.observer.waking(&self.w, p);
    }

    /// The CPU idles, and its first timer stands for a wake-up that came before the sleep
    /// ([`crate::Op::SleepWoken`]). Its waker is taken to have run elsewhere: it puts the task on
    /// the wake list of this CPU, which an interrupt has yet to tell. True if the timer's interrupt
    /// has nothing else to do.
    pub(crate) fn wake_to_idle(&mut self, cpu: CpuId) -> bool {
        let Some(p) = self.w.idle_paid_timer(cpu) else {
            return false;
        };
        self.is_woken(p);
        self.w.note_placed(p, &Reason::ON_CPU);
        self.w.count_wakeup(cpu, cpu);
        let on_its_way = self.w.tasks[p].wake_paid.take() == Some(true);
        let turns_back = on_its_way && self.w.machine.turns_back_ns.is_some();
        self.w.change_rq(cpu, |c| c.ttwu_pending = true);
        if self.w.put_on_wake_list(cpu, p) {
            self.w.call_once_idle(cpu, turns_back);
        }
        self.w.timers_are_run(cpu)
    }

    /// The lock of the task's queue is held: is it still queued, or has it gone to sleep meanwhile?
    pub(crate) fn wake_on_rq(&mut self, cpu: CpuId) -> Flow {
        let top = self.w.cpus[cpu].top();
        let p = top.task;
        let target = top.target;
        let rq = LockId::rq(target);
        let t = &mut self.w.tasks[p];
        let still = t.on_rq && t.state == TaskState::Sleeping && t.cpu == target;
        if still && t.sched_delayed {
            t.woken = true;
            t.runnable_since = self.w.now;
            self.w.cancel_timer(p);
            self.observer.waking(&self.w, p);
            return self.spend_enqueue(cpu, Pc::WakeDelayed);
        }
        if still {
            let waits = !t.on_cpu;
            t.state = TaskState::Runnable;
            t.wake_paid = None;
            self.w.counters.wakeups_coalesced += 1;
            self.w.cancel_timer(p);
            self.observer.waking(&self.w, p);
            if waits {
                // It was preempted before it slept: should it run now?
                self.update_rq_clock(target);
                let flags = EnqueueFlags { wakeup: true, ..EnqueueFlags::default() };
                self.policy.wakeup_preempt(&mut self.w, target, p, flags);
            }
            self.w.count_wakeup_on_rq(target);
            self.observer.wakeup_on_rq(&self.w, target, p);
        }
        self.unlock(cpu, rq);
        // If it has left the queue, the whole wake-up starts again.
        if still { self.pop_frame(cpu) } else { self.w.goto(cpu, Pc::WakeBegin) }
    }

    /// `ttwu_runnable()` of a delayed task (v6.12): no CPU is chosen, the task stays on its queue.
    pub(crate) fn wake_delayed(&mut self, cpu: CpuId) -> Flow {
        let top = self.w.cpus[cpu].top();
        let p = top.task;
        let target = top.target;
        self.catch_up(target);
        self.policy.wake_delayed(&mut self.w, target, p);
        if self.w.cpus[target].curr != p {
            self.w.tasks[p].queued_at = self.w.now;
        }
        self.w.count_wakeup(target, target);
        let flags = EnqueueFlags { wakeup: true, ..EnqueueFlags::default() };
        self.policy.wakeup_preempt(&mut self.w, target, p, flags);
        self.now_runnable(target, p, false);
        self.unlock(cpu, LockId::rq(target));
        self.pop_frame(cpu)
    }

    /// Is the task still being switched out (`p->on_cpu`)? The wake list of its CPU can take it
    /// even so; without that, the waker spins until the switch has ended.
    pub(crate) fn wake_look(&mut self, cpu: CpuId) -> Flow {
        let p = self.w.cpus[cpu].top().task;
        let t = &self.w.tasks[p];
        if !t.on_cpu {
            return self.wake_select(cpu);
        }
        let at = t.cpu;
        if self.w.wake_list_allowed(t.attr.policy, at, true) && self.w.allowed(p, at) {
            // Its CPU enqueues it when it takes interrupts again. No other CPU is looked for.
            self.w.note_placed(p, &Reason::ON_CPU);
            self.w.count_wakeup(at, at);
            return self.begin_push(cpu, at);
        }
        self.wait_for_task(cpu, p, Site::ON_CPU_WAIT, Pc::WakeLook)
    }

    pub(crate) fn wake_select(&mut self, cpu: CpuId) -> Flow {
        let top = self.w.cpus[cpu].top();
        let p = top.task;
        let sync = top.sync;
        let in_irq = top.category == Category::Irq;
        let choice = self.select(p, SelectKind::Wake { sync, in_irq });
        if choice.scan_ns == 0 {
            return self.wake_commit(cpu, choice.cpu);
        }
        let top = self.w.cpus[cpu].top();
        (top.target, top.kept_ns) = (choice.cpu, choice.scan_ns as u32);
        self.w.spend(cpu, choice.scan_ns, Pc::WakeSearched)
    }

    /// The search ends. It has looked last at the CPU that it finds, so it decides now. Should that
    /// take longer than was expected at its beginning, the rest is charged to the next step.
    pub(crate) fn wake_searched(&mut self, cpu: CpuId) -> Flow {
        let top = self.w.cpus[cpu].top();
        let p = top.task;
        let target = top.target;
        let spent = u64::from(top.kept_ns);
        let choice = self.select(p, SelectKind::Search { target });
        self.w.charge(choice.scan_ns.saturating_sub(spent));
        self.wake_commit(cpu, choice.cpu)
    }

    /// From here on the task belongs to `target`.
    fn wake_commit(&mut self, cpu: CpuId, target: CpuId) -> Flow {
        let p = self.w.cpus[cpu].top().task;
        let from = self.w.tasks[p].cpu;
        self.w.count_wakeup(from, target);
        if target != from {
            self.w.tasks[p].wake_migrated = true;
            self.policy.migrate_task_rq(&mut self.w, p, from, target);
            self.observer.migrate(&self.w, p, from, target, MigrationCause::Wake);
            self.w.set_task_cpu(p, target, MigrationCause::Wake);
        }
        if self.w.wake_list_allowed(self.w.tasks[p].attr.policy, target, false) {
            return self.begin_push(cpu, target);
        }
        self.w.cpus[cpu].top().target = target;
        match self.lock(cpu, LockId::rq(target), Site::TTWU_RQ_LOCK, Pc::WakeLocked) {
            Flow::Again => self.wake_locked(cpu),
            Flow::Wait => Flow::Wait,
        }
    }

    /// From this instant on the target is not idle for other wakers: `rq->ttwu_pending` is set
    /// before the task is on the list. So two wakers do not choose the same idle CPU.
    fn begin_push(&mut self, cpu: CpuId, target: CpuId) -> Flow {
        self.w.change_rq(target, |c| c.ttwu_pending = true);
        self.w.cpus[target].pushes_under_way += 1;
        let top = self.w.cpus[cpu].top();
        (top.target, top.path) = (target, Path::WakeList);
        let p = top.task;
        // The idle CPU enqueues it, which takes nobody's time.
        self.w.tasks[p].wake_paid = None;
        let lines = u64::from(self.w.machine.costs.wake_list_lines);
        self.w.spend(cpu, lines * self.w.line_ns(cpu, target), Pc::WakePush)
    }

    pub(crate) fn wake_push(&mut self, cpu: CpuId) -> Flow {
        let top = self.w.cpus[cpu].top();
        let p = top.task;
        let target = top.target;
        self.w.cpus[target].pushes_under_way -= 1;
        // Only the first entry signals: later ones find the target on its way.
        if self.w.put_on_wake_list(target, p) {
            self.w.call_single(target);
        }
        self.pop_frame(cpu)
    }

    pub(crate) fn wake_locked(&mut self, cpu: CpuId) -> Flow {
        self.spend_enqueue(cpu, Pc::WakeEnqueue)
    }

    /// The lock of the target's runqueue has just been taken: an enqueue takes its time.
    pub(crate) fn spend_enqueue(&mut self, cpu: CpuId, pc: Pc) -> Flow {
        let Frame { target, task: p, .. } = *self.w.cpus[cpu].top();
        self.update_rq_clock(target);
        if self.w.tasks[p].wake_paid.take().is_some() {
            self.w.cpus[cpu].top().kept_ns = 0;
            return self.w.spend(cpu, 0, pc);
        }
        let costs = &self.w.machine.costs;
        // One of these lines is the lock's, which was paid for with the lock.
        let lines = u64::from(costs.enqueue_remote_lines.saturating_sub(1));
        let lines = lines * self.w.line_ns(cpu, target);
        let ns = costs.enqueue_ns - self.keep_enqueue_rest(cpu, pc);
        self.w.spend(cpu, ns + lines, pc)
    }

    /// What of an enqueue is to pass after `pc`, which puts the task on its queue, ns. If it joins
    /// no shared queue nobody can tell, as the runqueue's lock is held, and one step will do.
    pub(crate) fn keep_enqueue_rest(&mut self, cpu: CpuId, pc: Pc) -> Ns {
        let shows = matches!(pc, Pc::WakeEnqueue | Pc::ForkEnqueue | Pc::FlushEnqueue);
        let p = self.w.cpus[cpu].top().task;
        let costs = &self.w.machine.costs;
        let rest_ns = match self.w.config.appends {
            Appends::AtEnd if shows => costs.enqueue_rest_ns,
            Appends::InTree if shows => {
                costs.enqueue_rest_from_tree_ns(self.w.tasks[p].attr.group != GroupId::ROOT)
            }
            _ => 0,
        };
        self.w.cpus[cpu].top().kept_ns = rest_ns as u32;
        rest_ns
    }

    /// Lets that pass, now that the task is on its queue.
    pub(crate) fn spend_enqueue_rest(&mut self, cpu: CpuId) -> Option<Flow> {
        let top = self.w.cpus[cpu].top();
        let rest_ns = u64::from(std::mem::take(&mut top.kept_ns));
        let pc = top.pc;
        // The lock is held while the enqueue waits for a group's line, shared queue or not.
        let waits = self.w.cpus[cpu].carry > 0 && self.w.has_own_lines();
        (rest_ns > 0 || waits).then(|| self.w.spend(cpu, rest_ns, pc))
    }

    pub(crate) fn wake_enqueue(&mut self, cpu: CpuId) -> Flow {
        let top = self.w.cpus[cpu].top();
        let p = top.task;
        let target = top.target;
        let flags = self.wakeup_flags(p);
        let hook = self.enqueue(target, p, flags);
        if hook.is_none() {
            self.w.cpus[cpu].top().pc = Pc::WakePreempt;
            return self.wake_preempt(cpu);
        }
        self.run_hook(cpu, hook, Pc::WakePreempt)
    }

    /// Last part of a direct enqueue, by a wake-up or a fork.
    pub(crate) fn wake_preempt(&mut self, cpu: CpuId) -> Flow {
        if let Some(flow) = self.spend_enqueue_rest(cpu) {
            return flow;
        }
        let top = self.w.cpus[cpu].top();
        let p = top.task;
        let target = top.target;
        let new = top.pc == Pc::ForkPreempt;
        let flags = if new { FORKED } else { self.wakeup_flags(p) };
        // Ticks may have passed there in the nested critical section.
        self.catch_up(target);
        self.policy.wakeup_preempt(&mut self.w, target, p, flags);
        self.now_runnable(target, p, new);
        self.unlock(cpu, LockId::rq(target));
        self.pop_frame(cpu)
    }

    // --- shared by wake-ups, forks and the wake list ---

    /// `update_rq_clock`, after the ticks that have passed on `cpu`.
    #[inline]
    pub(crate) fn update_rq_clock(&mut self, cpu: CpuId) {
        self.catch_up(cpu);
        self.w.update_rq_clock(cpu);
    }

    /// Puts `p` on `cpu`'s runqueue, whose lock is held.
    pub(crate) fn enqueue(&mut self, cpu: CpuId, p: TaskId, flags: EnqueueFlags) -> Hook {
        self.catch_up(cpu);
        self.w.activate(cpu, p);
        self.observer.enqueued(&self.w, cpu, p);
        self.policy.enqueue_task(&mut self.w, cpu, p, flags)
    }

    pub(crate) fn now_runnable(&mut self, cpu: CpuId, p: TaskId, new: bool) {
        self.w.tasks[p].state = TaskState::Runnable;
        // An affinity that changed while the task was being woken could not move it then.
        if new || self.w.tasks[p].misplaced {
            self.check_woken(cpu, p);
        }
        self.w.counters.wakeups += u64::from(!new);
        self.observer.wakeup(&self.w, cpu, p, new);
    }

    /// `select_task_rq()`: a task that may run on one CPU skips the class's search, and a choice
    /// that is not allowed falls back to another CPU.
    pub(crate) fn select(&mut self, p: TaskId, kind: SelectKind) -> Choice {
        if let Some(cpu) = self.start_cpu(p) {
            self.w.note_placed(p, &Reason::START);
            return Choice { cpu, scan_ns: 0 };
        }
        if self.w.tasks[p].nr_cpus_allowed == 1 {
            self.w.note_placed(p, &Reason::ONE_CPU);
            let cpu = self.w.allowed_set(p).first().unwrap_or(self.w.tasks[p].cpu);
            return Choice { cpu, scan_ns: 0 };
        }
        let choice = self.policy.select_task_rq(&mut self.w, p, kind);
        let searches = choice.scan_ns > 0 && matches!(kind, SelectKind::Wake { .. });
        let cpu = if searches { choice.cpu } else { self.allowed_or_fallback(p, choice.cpu) };
        Choice { cpu, ..choice }
    }

    /// Where the workload wants a new task to start, if that is allowed.
    #[inline]
    fn start_cpu(&self, p: TaskId) -> Option<CpuId> {
        let t = &self.w.tasks[p];
        let wanted = t.attr.start_cpu.filter(|_| t.state == TaskState::New);
        wanted.filter(|c| c.idx() < self.w.cpus.len() && self.w.allowed(p, *c))
    }

    pub(crate) fn allowed_or_fallback(&mut self, p: TaskId, cpu: CpuId) -> CpuId {
        if self.w.allowed(p, cpu) {
            return cpu;
        }
        self.select_fallback_rq(p, cpu)
    }

    /// The first allowed CPU of the node where the task was; else the first of all.
    #[cold]
    fn select_fallback_rq(&mut self, p: TaskId, cpu: CpuId) -> CpuId {
        self.w.note_placed(p, &Reason::FALLBACK);
        let node = self.w.machine.cpus[self.w.tasks[p].cpu].node;
        let allowed = self.w.allowed_set(p);
        let near = self.w.machine.nodes[node as usize].first_common(allowed);
        near.or_else(|| allowed.first()).unwrap_or(cpu)
    }
}

pub(crate) const FORKED: EnqueueFlags =
    EnqueueFlags { wakeup: false, migrated: false, initial: true };

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use topology::{Machine, RegularSpec};

    #[test]
    fn the_wake_list_is_for_other_caches_and_for_cpus_with_nothing_to_run() {
        let spec = RegularSpec { llcs_per_socket: 2, cores_per_llc: 2, ..RegularSpec::default() };
        let machine = Machine::regular(RegularSpec { threads_per_core: 1, ..spec });
        use WakeList::{OtherLlcOrIdle as New, OtherLlcOrOnCpu as Old};
        // The feature, the rule, from CPU 0 to a target that runs so many, on_cpu, allowed.
        for (feature, rule, target, nr_running, on_cpu, allowed) in [
            (true, New, 2, 0, false, true),
            (true, New, 2, 3, true, true),
            (true, New, 1, 0, false, true),
            (true, New, 1, 1, false, false),
            (true, New, 1, 1, true, false),
            (true, New, 0, 0, false, false),
            (true, New, 0, 1, false, false),
            (false, New, 2, 0, false, false),
            (false, New, 1, 0, false, false),
            (true, Old, 2, 3, false, true),
            (true, Old, 1, 0, false, false),
            (true, Old, 1, 0, true, true),
            (true, Old, 1, 1, true, true),
            (true, Old, 1, 2, true, false),
            (true, Old, 0, 0, true, false),
            (false, Old, 1, 0, true, false),
        ] {
            let config = Config { ttwu_queue: feature, wake_list: rule, ..Config::default() };
            let mut w = World::new(machine.clone().into(), config);
            w.this = CpuId(0);
            w.cpus[CpuId(target)].nr_running = nr_running;
            let case = format!("{feature} {rule:?} {target} {nr_running} {on_cpu}");
            let is_allowed = |of| w.wake_list_allowed(of, CpuId(target), on_cpu);
            assert_eq!(is_allowed(SchedPolicy::Normal), allowed, "{case}");
            assert!(!is_allowed(SchedPolicy::Ext), "{case}");
        }
    }
}
