//! Changing a task from outside: `sched_setscheduler` and `sched_setaffinity`, executed by a task.
//!
//! Both take the lock of the runqueue where the task is by then, and let the policy do the change.
//! A new affinity may force the task to move: a task that waits is moved by the caller, a running
//! task by its CPU's stopper, and a task that sleeps or is being woken when it is runnable next.

use crate::frame::{AttrStep, Change};
use crate::frame::{Flow, Frame, Path, Pc};
use crate::{
    Category, DequeueFlags, EnqueueFlags, Hook, LockId, MaskId, MigrationCause, Observer, Policy,
    Program, Reason, Simulation, Site, StopWork, TaskId, TaskState, World,
};
use topology::CpuId;

const MOVED: EnqueueFlags = EnqueueFlags { wakeup: false, migrated: true, initial: false };

impl World {
    /// Stores the attribute. The policy has been told before: its sums are by the old value.
    fn store(&mut self, p: TaskId, change: Change) {
        match change {
            Change::Scheduler(attr) => self.tasks[p].attr.set_sched(attr),
            Change::Affinity(mask) => {
                // The counts are by mask: out under the old one, in under the new one.
                if self.waits_pinned(p) {
                    self.count_pinned(self.tasks[p].attr.allowed, false);
                }
                self.tasks[p].attr.allowed = mask;
                self.tasks[p].nr_cpus_allowed = self.allowed_set(p).len() as u32;
                self.recount(p, false);
            }
        }
    }

    /// `set_user_nice()` and `__set_cpus_allowed_ptr_locked()` end if nothing is new.
    fn changes_nothing(&self, p: TaskId, change: Change) -> bool {
        match change {
            Change::Scheduler(attr) => attr == self.tasks[p].attr.sched(),
            Change::Affinity(mask) => self.masks[mask] == *self.allowed_set(p),
        }
    }

    /// Where the task goes if it has to move for its new affinity, which nobody knows yet.
    fn choose_dest(&mut self, p: TaskId, change: Change) {
        if let Change::Affinity(mask) = change {
            self.tasks[p].affine_dest = self.any_distribute(mask);
        }
    }

    /// `cpumask_any_and_distribute`: the CPUs of a mask in turn, by a counter of the executing CPU
    /// that is the same for all masks.
    pub(crate) fn any_distribute(&mut self, mask: MaskId) -> CpuId {
        let set = &self.masks[mask];
        let next = match self.cpus[self.this].distributed {
            Some(last) => set.iter().find(|c| *c > last).or_else(|| set.first()),
            None => set.iter().nth(scattered(self.this, set.len())),
        };
        let chosen = next.expect("an affinity mask allows at least one CPU");
        self.cpus[self.this].distributed = Some(chosen);
        chosen
    }

    /// The CPU behind which the executing CPU's next search in turn begins, whatever it is for
    /// (`distribute_cpu_mask_prev`, v6.12). Of a counter that is not known it is by the CPU.
    pub fn last_distributed(&self) -> CpuId {
        let unknown = || CpuId(scattered(self.this, self.cpus.len()) as u32);
        self.cpus[self.this].distributed.unwrap_or_else(unknown)
    }

    /// Such a search has found this CPU.
    pub fn note_distributed(&mut self, cpu: CpuId) {
        self.cpus[self.this].distributed = Some(cpu);
    }

    /// Others may have used the counters of `any_distribute` since boot: where a CPU's stands is
    /// not known, so its first pick is one of the mask by its own number. No seed is asked.
    pub fn forget_distributed(&mut self) {
        self.cpus.iter_mut().for_each(|c| c.distributed = None);
    }
}

/// A number below `n` for each CPU: the top of a multiplicative hash (Knuth, TAOCP 6.4), which
/// puts neighbors far apart.
fn scattered(cpu: CpuId, n: usize) -> usize {
    let hash = (cpu.0 + 1).wrapping_mul(0x9E37_79B1);
    ((u64::from(hash) * n as u64) >> 32) as usize
}

impl<P: Policy, W: Program, O: Observer> Simulation<P, W, O> {
    /// Kept apart from the steps of frequent paths, so that it does not slow them down.
    #[inline(never)]
    pub(crate) fn attr_step(&mut self, cpu: CpuId) -> Flow {
        match self.w.cpus[cpu].attr_step {
            AttrStep::Begin => self.attr_begin(cpu),
            AttrStep::Locked => self.attr_locked(cpu),
            AttrStep::Apply => self.attr_apply(cpu),
            AttrStep::Applied => self.attr_applied(cpu),
            AttrStep::Moved => self.attr_moved(cpu),
            AttrStep::AttachLocked => {
                let pc = self.attr_next(cpu, AttrStep::Attach);
                self.spend_enqueue(cpu, pc)
            }
            AttrStep::Attach => self.attr_attach(cpu),
            AttrStep::Attached => self.attr_attached(cpu),
        }
    }

    fn attr_next(&mut self, cpu: CpuId, step: AttrStep) -> Pc {
        self.w.cpus[cpu].attr_step = step;
        Pc::Attr
    }

    #[inline(never)]
    pub(crate) fn enter_set_attr(&mut self, cpu: CpuId, p: TaskId, change: Change) -> Flow {
        self.w.cpus[cpu].change = change;
        let pc = self.attr_next(cpu, AttrStep::Begin);
        self.w.push_frame(cpu, Frame { task: p, ..Frame::at(pc, Path::Attr, Category::Kernel) });
        let ns = self.w.take_pi_lock(p);
        self.w.spend(cpu, ns, pc)
    }

    fn attr_begin(&mut self, cpu: CpuId) -> Flow {
        let p = self.w.cpus[cpu].top().task;
        let change = self.w.cpus[cpu].change;
        let t = &self.w.tasks[p];
        match t.state {
            TaskState::Dead => return self.pop_frame(cpu),
            // On no runqueue yet: nothing but the attribute changes.
            TaskState::New => {
                self.w.choose_dest(p, change);
                self.w.store(p, change);
                return self.pop_frame(cpu);
            }
            // No runqueue's lock protects a task in transit (`task_rq_lock()` waits as well).
            _ if t.migrating => {
                let pc = self.attr_next(cpu, AttrStep::Begin);
                return self.wait_for_task(cpu, p, Site::MIGRATING_WAIT, pc);
            }
            _ => {}
        }
        let at = t.cpu;
        self.w.cpus[cpu].top().target = at;
        let pc = self.attr_next(cpu, AttrStep::Locked);
        self.lock(cpu, LockId::rq(at), Site::SET_ATTR_RQ_LOCK, pc)
    }

    /// True if the task is still on the runqueue whose lock is held; else the lock is released.
    fn attr_is_there(&mut self, cpu: CpuId) -> bool {
        let top = self.w.cpus[cpu].top();
        let p = top.task;
        let at = top.target;
        let t = &self.w.tasks[p];
        let is_there = t.cpu == at && !t.migrating;
        if !is_there {
            self.unlock(cpu, LockId::rq(at));
        }
        is_there
    }

    /// The lock is held: a queued task is taken off its queue and put back, as in the kernel.
    fn attr_locked(&mut self, cpu: CpuId) -> Flow {
        if !self.attr_is_there(cpu) {
            let pc = self.attr_next(cpu, AttrStep::Begin);
            return self.w.goto(cpu, pc);
        }
        let p = self.w.cpus[cpu].top().task;
        if self.w.changes_nothing(p, self.w.cpus[cpu].change) {
            self.unlock(cpu, LockId::rq(self.w.tasks[p].cpu));
            return self.pop_frame(cpu);
        }
        let at = self.w.tasks[p].cpu;
        self.update_rq_clock(at);
        let costs = &self.w.machine.costs;
        let queued = self.w.tasks[p].on_rq;
        let ns = if queued { costs.dequeue_ns + costs.enqueue_ns } else { 0 };
        let pc = self.attr_next(cpu, AttrStep::Apply);
        self.w.spend(cpu, ns, pc)
    }

    fn attr_apply(&mut self, cpu: CpuId) -> Flow {
        // A sleeper may have been woken elsewhere meanwhile: that takes another lock.
        if !self.attr_is_there(cpu) {
            let pc = self.attr_next(cpu, AttrStep::Begin);
            return self.w.goto(cpu, pc);
        }
        let top = self.w.cpus[cpu].top();
        let p = top.task;
        let at = top.target;
        let change = self.w.cpus[cpu].change;
        self.catch_up(at);
        self.w.choose_dest(p, change);
        let hook = match change {
            Change::Scheduler(attr) => self.policy.set_scheduler(&mut self.w, p, attr),
            Change::Affinity(mask) => self.policy.set_cpus_allowed(&mut self.w, p, mask),
        };
        self.w.store(p, change);
        let hook = hook.or_else(|| self.policy.attr_stored(&mut self.w, p));
        // With other weights another tick may be the next one that decides there.
        self.w.touch(at);
        let t = &self.w.tasks[p];
        // A sleeping task chooses anew at its wake-up: it is not misplaced.
        let counts = t.on_rq || t.state == TaskState::Waking;
        self.w.tasks[p].misplaced = counts && !self.w.allowed(p, at);
        let pc = self.attr_next(cpu, AttrStep::Applied);
        self.run_hook(cpu, hook, pc)
    }

    /// Moves the task now, or calls its CPU's stopper. A task that is being woken is looked at
    /// again when it is runnable ([`Self::check_woken`]).
    fn attr_applied(&mut self, cpu: CpuId) -> Flow {
        let top = self.w.cpus[cpu].top();
        let p = top.task;
        let at = top.target;
        let t = &self.w.tasks[p];
        let must_leave = t.misplaced && t.on_rq;
        if must_leave && !t.on_cpu && self.w.cpus[at].curr != p {
            return self.move_waiting(cpu, p, at);
        }
        // The stopper will take this lock, so it is called without (`affine_move_task()`, v6.4).
        self.unlock(cpu, LockId::rq(at));
        if must_leave {
            self.stop_misplaced(at, p);
        }
        self.pop_frame(cpu)
    }

    /// `move_queued_task`, first half: `p` leaves the runqueue of `from`, whose lock is held.
    fn move_waiting(&mut self, cpu: CpuId, p: TaskId, from: CpuId) -> Flow {
        self.catch_up(from);
        let to = self.w.tasks[p].affine_dest;
        let hook = self.take_off(p, to, MigrationCause::Affinity);
        let pc = self.attr_next(cpu, AttrStep::Moved);
        self.run_hook(cpu, hook, pc)
    }

    /// Takes `p` off its runqueue, whose lock is held: it is in transit to another CPU.
    #[inline(never)]
    pub(crate) fn take_off(&mut self, p: TaskId, to: CpuId, why: MigrationCause) -> Hook {
        debug_assert!(self.w.allowed(p, to), "{p:?} is sent to {to:?}, where it may not run");
        let from = self.w.tasks[p].cpu;
        let hook = self.policy.dequeue_task(&mut self.w, from, p, DequeueFlags { sleep: false });
        self.w.deactivate(from, p);
        let t = &mut self.w.tasks[p];
        (t.migrating, t.misplaced) = (true, false);
        self.observer.migrate(&self.w, p, from, to, why);
        self.w.set_task_cpu(p, to, why);
        let exec = why == MigrationCause::Exec;
        self.w.note_placed(p, if exec { &Reason::EXEC } else { &Reason::AFFINITY });
        hook
    }

    fn attr_moved(&mut self, cpu: CpuId) -> Flow {
        let top = self.w.cpus[cpu].top();
        let p = top.task;
        let from = top.target;
        // One lock at a time: the task is in transit between the two.
        self.unlock(cpu, LockId::rq(from));
        let to = self.w.tasks[p].cpu;
        self.w.cpus[cpu].top().target = to;
        let pc = self.attr_next(cpu, AttrStep::AttachLocked);
        self.lock(cpu, LockId::rq(to), Site::SET_ATTR_RQ_LOCK, pc)
    }

    fn attr_attach(&mut self, cpu: CpuId) -> Flow {
        let top = self.w.cpus[cpu].top();
        let p = top.task;
        let to = top.target;
        let hook = self.enqueue(to, p, MOVED);
        let pc = self.attr_next(cpu, AttrStep::Attached);
        self.run_hook(cpu, hook, pc)
    }

    fn attr_attached(&mut self, cpu: CpuId) -> Flow {
        let top = self.w.cpus[cpu].top();
        let p = top.task;
        let to = top.target;
        // Ticks may have passed there in the nested critical section.
        self.catch_up(to);
        self.policy.wakeup_preempt(&mut self.w, to, p, MOVED);
        self.unlock(cpu, LockId::rq(to));
        self.pop_frame(cpu)
    }

    /// The stopper of `cpu` is to move `p` away.
    fn stop_misplaced(&mut self, cpu: CpuId, p: TaskId) {
        // The change may have taken time.
        self.catch_up(cpu);
        let work = StopWork::Migrate(p, self.w.tasks[p].affine_dest);
        if self.w.stop_one_cpu(cpu, work) {
            self.policy.stopper_woken(&mut self.w, cpu);
        }
    }

    /// A task whose affinity may have changed while it was being woken is runnable on `cpu` now.
    #[cold]
    pub(crate) fn check_woken(&mut self, cpu: CpuId, p: TaskId) {
        let misplaced = !self.w.allowed(p, cpu);
        self.w.tasks[p].misplaced = misplaced;
        if misplaced {
            self.stop_misplaced(cpu, p);
        }
    }
}
