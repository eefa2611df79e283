//! The table of steps: which function carries a path on from where it stands.

use crate::frame::{Flow, Pc};
use crate::{Observer, Policy, Program, Simulation};
use topology::CpuId;

impl<P: Policy, W: Program, O: Observer> Simulation<P, W, O> {
    /// Carries the top frame's path on by a step.
    #[inline]
    pub(super) fn frame_step(&mut self, cpu: CpuId) -> Flow {
        let pc = self.w.cpus[cpu].top().pc;
        match pc {
            Pc::SchedLock => self.sched_lock(cpu),
            Pc::SchedBody => self.sched_body(cpu),
            Pc::SchedDequeue => self.sched_dequeue(cpu),
            Pc::SchedPick => self.sched_pick(cpu),
            Pc::SchedBeforeIdle => self.sched_before_idle(cpu),
            Pc::SchedPickAgain => self.sched_pick_again(cpu),
            Pc::SchedSwitch => self.sched_switch(cpu),
            Pc::SchedDone => self.sched_done(cpu),
            Pc::NestLock => self.nest_lock(cpu),
            Pc::NestHold => self.nest_hold(cpu),
            Pc::NestDone => self.nest_done(cpu),
            Pc::WakeBegin => self.wake_begin(cpu),
            Pc::WakeLook => self.wake_look(cpu),
            Pc::WakeOnRq => self.wake_on_rq(cpu),
            Pc::WakeDelayed => self.wake_delayed(cpu),
            Pc::WakeSearched => self.wake_searched(cpu),
            Pc::WakePush => self.wake_push(cpu),
            Pc::Pop => self.pop_frame(cpu),
            Pc::WakeLocked => self.wake_locked(cpu),
            Pc::WakeEnqueue => self.wake_enqueue(cpu),
            Pc::WakePreempt => self.wake_preempt(cpu),
            Pc::ProgramPath => self.program_path(cpu),
            Pc::DeviceHandler => self.device_handler(cpu),
            Pc::Attr => self.attr_step(cpu),
            Pc::IrqEntry => self.irq_entry(cpu),
            Pc::IrqBody => self.irq_body(cpu),
            Pc::TickBody => self.tick_body(cpu),
            Pc::FlushLock => self.flush_lock(cpu),
            Pc::FlushLocked => self.flush_locked(cpu),
            Pc::FlushEnqueue => self.flush_enqueue(cpu),
            Pc::FlushPreempt => self.flush_preempt(cpu),
            Pc::Softirq => self.softirq_step(cpu),
            Pc::ForkBegin
            | Pc::ForkSelect
            | Pc::ForkCommit
            | Pc::ForkLocked
            | Pc::ForkEnqueue
            | Pc::ForkPreempt
            | Pc::ExecSelect
            | Pc::ExecCommit
            | Pc::StopStart
            | Pc::StopLocked
            | Pc::StopDetach
            | Pc::StopDetached
            | Pc::StopAttachLocked
            | Pc::StopAttach
            | Pc::StopAttached
            | Pc::StopPush
            | Pc::StopEnd
            | Pc::StopRelocked => self.rare_step(cpu, pc),
        }
    }

    /// The steps of rare paths. They are kept apart so that the loop over the others stays small.
    #[cold]
    #[inline(never)]
    fn rare_step(&mut self, cpu: CpuId, pc: Pc) -> Flow {
        match pc {
            Pc::ForkBegin => self.fork_begin(cpu),
            Pc::ForkSelect => self.fork_select(cpu),
            Pc::ForkCommit => self.fork_commit(cpu),
            Pc::ForkLocked => self.fork_locked(cpu),
            Pc::ForkEnqueue => self.fork_enqueue(cpu),
            Pc::ForkPreempt => self.wake_preempt(cpu),
            Pc::ExecSelect => self.exec_select(cpu),
            Pc::ExecCommit => self.exec_commit(cpu),
            Pc::StopStart => self.stop_start(cpu),
            Pc::StopLocked => self.stop_locked(cpu),
            Pc::StopDetach => self.stop_detach(cpu),
            Pc::StopDetached => self.stop_detached(cpu),
            Pc::StopAttachLocked => self.stop_attach_locked(cpu),
            Pc::StopAttach => self.stop_attach(cpu),
            Pc::StopAttached => self.stop_attached(cpu),
            Pc::StopPush => self.stop_push(cpu),
            Pc::StopEnd => self.stop_end(cpu),
            Pc::StopRelocked => self.stop_relocked(cpu),
            _ => unreachable!("{pc:?} has its place in the loop"),
        }
    }
}
