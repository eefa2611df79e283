//! Kernel paths and devices of a program: `queue_work()`, a completion interrupt, a lock of a
//! driver. The program says the steps, as a policy does for its paths; interrupts stay off.

use crate::cpu::Irq;
use crate::frame::{Flow, Frame, Path, Pc};
use crate::{
    Category, NEVER, Ns, Observer, Policy, Program, ProgramCx, Simulation, Step, TaskId, TaskState,
    World,
};
use topology::CpuId;

impl World {
    /// `set_current_state()`: from now on `p`, which runs, counts as asleep for wakers, and its
    /// next [`crate::Op::Wait`] lasts only if no waker has come until then.
    pub(crate) fn prepare_to_wait(&mut self, p: TaskId) {
        let t = &mut self.tasks[p];
        debug_assert!(t.on_cpu && t.on_rq, "{p:?} prepares to wait but does not run");
        t.state = TaskState::Sleeping;
        t.prepared = true;
    }

    /// `se.sum_exec_runtime`: how long `p` has been current, interrupts included, ns.
    pub fn ran_ns(&self, p: TaskId) -> Ns {
        let t = &self.tasks[p];
        let c = &self.cpus[t.cpu];
        t.ran_ns + if c.curr == p { self.now - c.curr_since } else { 0 }
    }

    /// Lets a device interrupt `cpu` now.
    pub(crate) fn device_interrupt(&mut self, cpu: CpuId) {
        let now = self.now;
        self.raise(cpu, Irq::Device, now);
    }
}

impl<P: Policy, W: Program, O: Observer> Simulation<P, W, O> {
    pub(crate) fn enter_path(&mut self, cpu: CpuId, p: TaskId) -> Flow {
        let frame =
            Frame { task: p, ..Frame::at(Pc::ProgramPath, Path::Program, Category::Kernel) };
        self.w.push_frame(cpu, frame);
        Flow::Again
    }

    pub(crate) fn program_path(&mut self, cpu: CpuId) -> Flow {
        let p = self.w.cpus[cpu].top().task;
        let ask = |s: &mut Self| s.program.path(&mut ProgramCx::of(&mut s.w), p);
        self.resume_path(cpu, Pc::ProgramPath, ask)
    }

    pub(crate) fn device_handler(&mut self, cpu: CpuId) -> Flow {
        let ask = |s: &mut Self| s.program.interrupt(&mut ProgramCx::of(&mut s.w));
        self.resume_path(cpu, Pc::DeviceHandler, ask)
    }

    /// Asks for step after step until one of them takes time or waits for a lock or a task.
    fn resume_path(&mut self, cpu: CpuId, pc: Pc, ask: impl Fn(&mut Self) -> Step) -> Flow {
        loop {
            let step = ask(self);
            if step.is_done() {
                return self.pop_frame(cpu);
            }
            if let Some(flow) = self.carry_out(cpu, step, pc) {
                return flow;
            }
        }
    }

    /// `Op::Wait`: a task that has prepared to wait does not sleep if a waker has come since.
    pub(crate) fn wait(&mut self, cpu: CpuId, p: TaskId) -> Flow {
        let t = &mut self.w.tasks[p];
        if std::mem::take(&mut t.prepared) && t.state == TaskState::Runnable {
            return Flow::Again;
        }
        self.block(cpu, p, TaskState::Sleeping)
    }

    /// The CPU has taken ticks since its last event: tells the program, if it watches the task.
    #[cold]
    pub(crate) fn tell_tick(&mut self, cpu: CpuId) {
        let c = &mut self.w.cpus[cpu];
        c.tick_untold = false;
        let p = c.curr;
        if p.is_task() && self.w.tasks[p].ticks_watched {
            self.program.tick(&mut ProgramCx::of(&mut self.w), p);
        }
    }

    /// Does the devices' instant come first? `at` is the first instant in the queues.
    #[inline]
    pub(crate) fn device_is_next(&self, at: Ns) -> bool {
        let device_at = self.w.device_at;
        device_at != NEVER && device_at <= at && device_at <= self.w.policy_timer
    }

    /// Lets the devices act, outside of the CPUs. False if their instant is after `until`.
    pub(crate) fn device_event(&mut self, until: Ns) -> bool {
        let at = self.w.device_at;
        if at > until {
            return false;
        }
        debug_assert!(at >= self.w.now, "a device in the past: {at} < {}", self.w.now);
        self.w.now = at;
        // No CPU executes this, so none pays for it.
        self.w.this = CpuId(u32::MAX);
        self.w.device_at = NEVER;
        self.w.counters.events += 1;
        self.program.device(&mut ProgramCx::of(&mut self.w));
        self.finish_event();
        true
    }
}
