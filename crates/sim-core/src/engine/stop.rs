//! The stopper thread (`migration/N`): it takes its CPU from the running task and moves that task
//! to another CPU, in steps (`migration_cpu_stop()`). For active balance the policy says the steps
//! (`active_load_balance_cpu_stop()`).

use crate::frame::{Flow, Pc};
use crate::{
    EnqueueFlags, LockId, MigrationCause, Observer, Policy, Program, Simulation, Site, StopWork,
    TaskId,
};
use topology::CpuId;

const MOVED: EnqueueFlags = EnqueueFlags { wakeup: false, migrated: true, initial: false };

impl<P: Policy, W: Program, O: Observer> Simulation<P, W, O> {
    pub(crate) fn stop_start(&mut self, cpu: CpuId) -> Flow {
        match self.w.cpus[cpu].stop_work {
            Some(StopWork::Migrate(p, to)) => {
                let top = self.w.cpus[cpu].top();
                (top.task, top.target) = (p, to);
                self.lock(cpu, LockId::rq(cpu), Site::STOP_RQ_LOCK, Pc::StopLocked)
            }
            Some(StopWork::Push(to)) => {
                let top = self.w.cpus[cpu].top();
                (top.target, top.first) = (to, true);
                self.w.goto(cpu, Pc::StopPush)
            }
            None => self.w.goto(cpu, Pc::StopEnd),
        }
    }

    pub(crate) fn stop_locked(&mut self, cpu: CpuId) -> Flow {
        self.update_rq_clock(cpu);
        self.w.spend(cpu, self.w.machine.costs.pull_ns, Pc::StopDetach)
    }

    /// `migration_cpu_stop()` for `sched_exec()` or for a new affinity.
    pub(crate) fn stop_detach(&mut self, cpu: CpuId) -> Flow {
        let top = self.w.cpus[cpu].top();
        let p = top.task;
        let to = top.target;
        let t = &self.w.tasks[p];
        // Since the call of the stopper the task may have left or its affinity may have changed.
        let is_here = t.on_rq && t.cpu == cpu && !t.on_cpu;
        let misplaced = t.misplaced && !self.w.allowed(p, t.cpu);
        let wanted = if t.misplaced { misplaced } else { self.w.allowed(p, to) };
        if misplaced && !t.on_rq && !t.migrating && t.cpu == cpu {
            // It has gone to sleep first: its wake-up begins there (`migration_cpu_stop()`).
            self.w.tasks[p].wake_cpu = t.affine_dest;
        }
        self.w.tasks[p].misplaced = misplaced;
        if !is_here || !wanted {
            self.unlock(cpu, LockId::rq(cpu));
            return self.w.goto(cpu, Pc::StopEnd);
        }
        // Exec has chosen a CPU, and so has who changed the affinity the last time.
        let hook = if misplaced {
            let to = self.w.tasks[p].affine_dest;
            self.take_off(p, to, MigrationCause::Affinity)
        } else {
            self.take_off(p, to, MigrationCause::Exec)
        };
        // The hook's critical section belongs to the queue that the task has left.
        self.w.cpus[cpu].top().target = cpu;
        self.run_hook(cpu, hook, Pc::StopDetached)
    }

    pub(crate) fn stop_detached(&mut self, cpu: CpuId) -> Flow {
        self.unlock(cpu, LockId::rq(cpu));
        let p = self.w.cpus[cpu].top().task;
        let to = self.w.tasks[p].cpu;
        self.w.cpus[cpu].top().target = to;
        self.lock(cpu, LockId::rq(to), Site::STOP_RQ_LOCK, Pc::StopAttachLocked)
    }

    pub(crate) fn stop_attach_locked(&mut self, cpu: CpuId) -> Flow {
        self.spend_enqueue(cpu, Pc::StopAttach)
    }

    pub(crate) fn stop_attach(&mut self, cpu: CpuId) -> Flow {
        let top = self.w.cpus[cpu].top();
        let p = top.task;
        let to = top.target;
        let hook = self.enqueue(to, p, MOVED);
        self.run_hook(cpu, hook, Pc::StopAttached)
    }

    pub(crate) fn stop_attached(&mut self, cpu: CpuId) -> Flow {
        let top = self.w.cpus[cpu].top();
        let p = top.task;
        let to = top.target;
        // Ticks may have passed there in the nested critical section.
        self.catch_up(to);
        self.policy.wakeup_preempt(&mut self.w, to, p, MOVED);
        self.unlock(cpu, LockId::rq(to));
        self.w.goto(cpu, Pc::StopEnd)
    }

    pub(crate) fn stop_push(&mut self, cpu: CpuId) -> Flow {
        loop {
            let top = self.w.cpus[cpu].top();
            let first = std::mem::take(&mut top.first);
            let to = top.target;
            let step = self.policy.stopper(&mut self.w, cpu, to, first);
            if step.is_done() {
                return self.w.goto(cpu, Pc::StopEnd);
            }
            if let Some(flow) = self.carry_out(cpu, step, Pc::StopPush) {
                return flow;
            }
        }
    }

    pub(crate) fn stop_end(&mut self, cpu: CpuId) -> Flow {
        self.lock(cpu, LockId::rq(cpu), Site::SCHEDULE_RQ_LOCK, Pc::StopRelocked)
    }

    /// The stopper goes to sleep and `schedule()` picks anew, unless there is more work.
    pub(crate) fn stop_relocked(&mut self, cpu: CpuId) -> Flow {
        self.w.update_clock_to_schedule(cpu);
        if let Some(work) = self.w.cpus[cpu].stop_queue.pop_front() {
            self.w.cpus[cpu].stop_work = Some(work);
            self.unlock(cpu, LockId::rq(cpu));
            return self.w.goto(cpu, Pc::StopStart);
        }
        self.w.change_rq(cpu, |c| {
            c.stop_work = None;
            c.nr_running -= 1;
        });
        // From here on the frame is `schedule()`, with the stopper as the previous task.
        let top = self.w.cpus[cpu].top();
        (top.other, top.target) = (TaskId::STOP, cpu);
        self.w.spend(cpu, self.w.machine.costs.pick_ns, Pc::SchedPick)
    }
}
