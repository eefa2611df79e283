//! Starting a task (`wake_up_new_task`) and balancing on exec (`sched_exec`).

use super::wake::FORKED;
use crate::frame::{Flow, Pc};
use crate::{
    LockId, MigrationCause, Observer, Policy, Program, SelectKind, Simulation, Site, StopWork,
    TaskId, TaskState,
};
use topology::CpuId;

impl<P: Policy, W: Program, O: Observer> Simulation<P, W, O> {
    pub(crate) fn fork_begin(&mut self, cpu: CpuId) -> Flow {
        // From here on it is `wake_up_new_task()`, which holds `pi_lock` with interrupts off.
        self.w.cpus[cpu].top().irq_off = true;
        let child = self.w.cpus[cpu].top().task;
        let parent = self.w.cpus[cpu].curr;
        let mark = self.w.cpus[cpu].footprint.mark();
        let t = &mut self.w.tasks[child];
        t.cache_mark = mark;
        debug_assert_eq!(t.state, TaskState::New, "{child:?} forked twice");
        // Until it runs elsewhere the child counts as having run where its parent runs.
        (t.cpu, t.wake_cpu, t.cache_cpu, t.pi_cpu) = (cpu, cpu, cpu, cpu);
        self.policy.task_fork(&mut self.w, child, Some(parent));
        self.observer.fork(&self.w, cpu, parent, child);
        self.w.goto(cpu, Pc::ForkSelect)
    }

    pub(crate) fn fork_select(&mut self, cpu: CpuId) -> Flow {
        let child = self.w.cpus[cpu].top().task;
        let choice = self.select(child, SelectKind::Fork);
        let top = self.w.cpus[cpu].top();
        (top.target, top.kept_ns) = (choice.cpu, choice.scan_ns as u32);
        self.w.spend(cpu, choice.scan_ns, Pc::ForkCommit)
    }

    /// `wake_up_new_task()` never uses the wake list: the parent takes the lock of the chosen CPU's
    /// runqueue and enqueues the child itself.
    pub(crate) fn fork_commit(&mut self, cpu: CpuId) -> Flow {
        let top = self.w.cpus[cpu].top();
        let child = top.task;
        // No one looks again at the CPU that was chosen, but for the affinity.
        let chosen = top.target;
        let target = self.allowed_or_fallback(child, chosen);
        self.w.cpus[cpu].top().target = target;
        if target != cpu {
            self.observer.migrate(&self.w, child, cpu, target, MigrationCause::Fork);
        }
        self.w.set_task_cpu(child, target, MigrationCause::Fork);
        self.lock(cpu, LockId::rq(target), Site::FORK_RQ_LOCK, Pc::ForkLocked)
    }

    pub(crate) fn fork_locked(&mut self, cpu: CpuId) -> Flow {
        self.spend_enqueue(cpu, Pc::ForkEnqueue)
    }

    pub(crate) fn fork_enqueue(&mut self, cpu: CpuId) -> Flow {
        let top = self.w.cpus[cpu].top();
        let child = top.task;
        let target = top.target;
        self.w.tasks[child].runnable_since = self.w.now;
        let hook = self.enqueue(target, child, FORKED);
        self.run_hook(cpu, hook, Pc::ForkPreempt)
    }

    /// The first enqueue of a task that exists at time 0. No CPU contends then, so a nested
    /// critical section takes no time.
    pub(crate) fn enqueue_first(&mut self, cpu: CpuId, p: TaskId) {
        self.w.tasks[p].runnable_since = self.w.now;
        self.update_rq_clock(cpu);
        let mut hook = self.enqueue(cpu, p, FORKED);
        while let Some(nested) = hook {
            hook = self.policy.nested_done(&mut self.w, cpu, nested);
        }
        self.policy.wakeup_preempt(&mut self.w, cpu, p, FORKED);
        self.now_runnable(cpu, p, true);
    }

    pub(crate) fn exec_select(&mut self, cpu: CpuId) -> Flow {
        let p = self.w.cpus[cpu].curr;
        let placed = self.w.tasks[p].placed;
        let choice = self.select(p, SelectKind::Exec);
        // The search has noted a reason, but the task has not moved yet and may stay.
        self.w.note_placed(p, placed);
        let top = self.w.cpus[cpu].top();
        (top.task, top.target, top.kept_ns) = (p, choice.cpu, choice.scan_ns as u32);
        self.w.spend(cpu, choice.scan_ns, Pc::ExecCommit)
    }

    /// If the choice is another CPU, the stopper of this CPU moves the running task there.
    pub(crate) fn exec_commit(&mut self, cpu: CpuId) -> Flow {
        let top = self.w.cpus[cpu].top();
        let p = top.task;
        let chosen = top.target;
        let placed = self.w.tasks[p].placed;
        let target = self.allowed_or_fallback(p, chosen);
        self.w.note_placed(p, placed);
        if target != cpu && self.w.stop_one_cpu(cpu, StopWork::Migrate(p, target)) {
            self.policy.stopper_woken(&mut self.w, cpu);
        }
        self.pop_frame(cpu)
    }
}
