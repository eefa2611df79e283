//! The stopper (spec 14.1 S2): moves a task that was running, in steps on the busiest CPU.

use super::frame::{Flow, Pc};
use crate::{
    DequeueFlags, EnqueueFlags, LockId, MigrationCause, Observer, Policy, Program, Simulation,
    Site, Step, StopWork, TaskId,
};
use topology::CpuId;

const MOVED: EnqueueFlags = EnqueueFlags { wakeup: false, migrated: true, initial: false };

impl<P: Policy, W: Program, O: Observer> Simulation<P, W, O> {
    pub(crate) fn stop_start(&mut self, cpu: CpuId) -> Flow {
        match self.w.cpus[cpu.idx()].stop_work {
            Some(StopWork::Migrate(p, to)) => {
                let top = self.w.cpus[cpu.idx()].top();
                (top.task, top.target) = (p, to);
                self.lock(cpu, LockId::rq(cpu), Site::StopRqLock, Pc::StopLocked)
            }
            Some(StopWork::Push(to)) => {
                let top = self.w.cpus[cpu.idx()].top();
                (top.target, top.first) = (to, true);
                self.w.goto(cpu, Pc::StopPush)
            }
            None => self.w.goto(cpu, Pc::StopEnd),
        }
    }

    pub(crate) fn stop_locked(&mut self, cpu: CpuId) -> Flow {
        self.w.spend(cpu, self.w.machine.costs.pull_ns, Pc::StopDetach)
    }

    pub(crate) fn stop_detach(&mut self, cpu: CpuId) -> Flow {
        let top = self.w.cpus[cpu.idx()].top();
        let (p, to) = (top.task, top.target);
        let t = &self.w.tasks[p.idx()];
        if t.misplaced {
            return self.stop_detach_misplaced(cpu, p);
        }
        let movable = t.on_rq && t.cpu == cpu && !t.on_cpu && self.w.allowed(p, to);
        if movable {
            // A task that runs is on no shared queue, so the hook has nothing to unlink.
            self.policy.dequeue_task(&mut self.w, cpu, p, DequeueFlags { sleep: false });
            self.w.deactivate(cpu, p);
            self.w.tasks[p.idx()].migrating = true;
            self.observer.migrate(&self.w, p, cpu, to, MigrationCause::Exec);
            self.w.set_task_cpu(p, to, MigrationCause::Exec);
        }
        self.unlock(cpu, LockId::rq(cpu));
        if !movable {
            return self.w.goto(cpu, Pc::StopEnd);
        }
        self.lock(cpu, LockId::rq(to), Site::StopRqLock, Pc::StopAttachLocked)
    }

    /// The affinity of `p` was changed, perhaps again since the stopper was called.
    fn stop_detach_misplaced(&mut self, cpu: CpuId, p: TaskId) -> Flow {
        let t = &self.w.tasks[p.idx()];
        let (here, stays) = (t.on_rq && t.cpu == cpu && !t.on_cpu, self.w.allowed(p, t.cpu));
        self.w.tasks[p.idx()].misplaced = !stays;
        if !here || stays {
            self.unlock(cpu, LockId::rq(cpu));
            return self.w.goto(cpu, Pc::StopEnd);
        }
        let flags = DequeueFlags { sleep: false };
        let hook = self.policy.dequeue_task(&mut self.w, cpu, p, flags);
        let to = self.w.any_allowed(p);
        self.take_off(p, cpu, to);
        self.w.cpus[cpu.idx()].top().target = cpu;
        self.run_hook(cpu, hook, Pc::StopDetached)
    }

    pub(crate) fn stop_detached(&mut self, cpu: CpuId) -> Flow {
        self.unlock(cpu, LockId::rq(cpu));
        let p = self.w.cpus[cpu.idx()].top().task;
        let to = self.w.tasks[p.idx()].cpu;
        self.w.cpus[cpu.idx()].top().target = to;
        self.lock(cpu, LockId::rq(to), Site::StopRqLock, Pc::StopAttachLocked)
    }

    pub(crate) fn stop_attach_locked(&mut self, cpu: CpuId) -> Flow {
        self.spend_enqueue(cpu, Pc::StopAttach)
    }

    pub(crate) fn stop_attach(&mut self, cpu: CpuId) -> Flow {
        let top = self.w.cpus[cpu.idx()].top();
        let (p, to) = (top.task, top.target);
        let hook = self.enqueue(to, p, MOVED);
        self.run_hook(cpu, hook, Pc::StopAttached)
    }

    pub(crate) fn stop_attached(&mut self, cpu: CpuId) -> Flow {
        let top = self.w.cpus[cpu.idx()].top();
        let (p, to) = (top.task, top.target);
        self.catch_up(to);
        self.policy.wakeup_preempt(&mut self.w, to, p, MOVED);
        self.unlock(cpu, LockId::rq(to));
        self.w.goto(cpu, Pc::StopEnd)
    }

    pub(crate) fn stop_push(&mut self, cpu: CpuId) -> Flow {
        loop {
            let top = self.w.cpus[cpu.idx()].top();
            let (first, to) = (std::mem::take(&mut top.first), top.target);
            let step = self.policy.stopper(&mut self.w, cpu, to, first);
            if step == Step::Done {
                return self.w.goto(cpu, Pc::StopEnd);
            }
            if let Some(flow) = self.carry_out(cpu, step, Pc::StopPush) {
                return flow;
            }
        }
    }

    pub(crate) fn stop_end(&mut self, cpu: CpuId) -> Flow {
        self.lock(cpu, LockId::rq(cpu), Site::ScheduleRqLock, Pc::StopRelocked)
    }

    /// The stopper goes to sleep and `schedule()` picks anew, unless there is more work.
    pub(crate) fn stop_relocked(&mut self, cpu: CpuId) -> Flow {
        if let Some(work) = self.w.cpus[cpu.idx()].stop_queue.pop_front() {
            self.w.cpus[cpu.idx()].stop_work = Some(work);
            self.unlock(cpu, LockId::rq(cpu));
            return self.w.goto(cpu, Pc::StopStart);
        }
        self.w.change_rq(cpu, |c| {
            c.stop_work = None;
            c.nr_running -= 1;
        });
        let top = self.w.cpus[cpu.idx()].top();
        (top.other, top.target) = (TaskId::STOP, cpu);
        self.w.spend(cpu, self.w.machine.costs.pick_ns, Pc::SchedPick)
    }
}
