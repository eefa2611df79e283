//! Frames: kernel paths in the middle of a step.

use crate::cpu::{Base, Cpu};
use crate::{Category, NEVER, Ns, Simulation, TaskId, World};
use crate::{Observer, Policy, Program};
use topology::CpuId;

/// Where a path goes on when its present step is over. Named path + what happens then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pc {
    SchedLock,
    SchedBody,
    SchedDequeue,
    SchedPick,
    SchedBeforeIdle,
    SchedSwitch,
    SchedDone,
    NestLock,
    NestHold,
    NestDone,
    WakeBegin,
    WakeLook,
    WakeOnRq,
    WakeDelayed,
    WakeCommit,
    WakePush,
    Pop,
    WakeLocked,
    WakeEnqueue,
    WakePreempt,
    ForkBegin,
    ForkSelect,
    ForkCommit,
    ForkLocked,
    ForkEnqueue,
    ForkPreempt,
    ExecSelect,
    ExecCommit,
    ProgramPath,
    DeviceHandler,
    Attr,
    IrqEntry,
    IrqBody,
    TickBody,
    FlushLock,
    FlushTake,
    FlushEnqueue,
    FlushPreempt,
    Softirq,
    StopStart,
    StopLocked,
    StopDetach,
    StopDetached,
    StopAttachLocked,
    StopAttach,
    StopAttached,
    StopPush,
    StopEnd,
    StopRelocked,
}

/// What a frame is, as a profile names it; the mechanism does not read it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Path {
    /// `schedule()` by a task that blocks or yields.
    Block,
    /// `schedule()` by preemption, or in the idle loop.
    Preempt,
    /// `try_to_wake_up`.
    Wake,
    /// … by the wake list.
    WakeList,
    Fork,
    Exec,
    /// `sched_setscheduler`, `sched_setaffinity`.
    Attr,
    /// A path of the program.
    Program,
    /// The handler of a device's interrupt, by the program.
    Handler,
    /// An idle CPU that polls has seen its flag.
    Poll,
    /// IPIs.
    Resched,
    Call,
    Device,
    /// The timer interrupt, for timers and for the tick.
    Timer,
    Tick,
    /// `sched_ttwu_pending`.
    Flush,
    Softirq,
}

/// Does the CPU go on at this instant, or has it set an end to wait for?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flow {
    Again,
    Wait,
}

/// A kernel path on a CPU's stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub pc: Pc,
    pub path: Path,
    /// Interrupts wait until the path is through.
    pub irq_off: bool,
    /// A resumable path is asked for the first time.
    pub first: bool,
    /// The wake is SYNC.
    pub sync: bool,
    pub category: Category,
    /// End of the present step, or NEVER while spinning; while another frame covers this one,
    /// what was left of the step.
    pub end: Ns,
    /// The task that the path is about.
    pub task: TaskId,
    /// A second one: the previous task in `schedule()`.
    pub other: TaskId,
    /// The target CPU.
    pub target: CpuId,
    /// Time that a search took, ns.
    pub scan_ns: u32,
}

impl Frame {
    pub(crate) const EMPTY: Frame = Frame {
        pc: Pc::SchedLock,
        path: Path::Preempt,
        irq_off: true,
        first: false,
        sync: false,
        category: Category::Kernel,
        end: 0,
        task: TaskId::NONE,
        other: TaskId::NONE,
        target: CpuId(0),
        scan_ns: 0,
    };

    pub(crate) fn at(pc: Pc, path: Path, category: Category) -> Frame {
        Frame { pc, path, category, ..Frame::EMPTY }
    }
}

impl Cpu {
    #[inline]
    pub(crate) fn top(&mut self) -> &mut Frame {
        debug_assert!(self.depth > 0);
        &mut self.top
    }
}

impl World {
    /// Lays a frame on the CPU's stack; what lies below is cut.
    ///
    /// Inlined so that the frame is written where it belongs: a frame made elsewhere, byte by byte,
    /// and copied in larger pieces makes the processor wait for its own writes.
    #[inline(always)]
    pub(crate) fn push_frame(&mut self, cpu: CpuId, frame: Frame) {
        let c = self.cover(cpu, frame.category);
        c.top = frame;
    }

    /// What the CPU is in the middle of is accounted and put aside.
    fn cover(&mut self, cpu: CpuId, category: Category) -> &mut Cpu {
        let now = self.now;
        let c = &mut self.cpus[cpu];
        if c.depth == 0 && c.base == Base::Work {
            self.advance(cpu, now);
        } else if c.category != category {
            c.settle(now);
        }
        let c = &mut self.cpus[cpu];
        if c.depth > 0 {
            c.top.end = c.top.end.saturating_sub(now);
            c.below[c.depth as usize - 1] = c.top;
        }
        c.depth += 1;
        c.category = category;
        c
    }

    /// Where in its path the CPU goes on, right now.
    #[inline]
    pub(crate) fn goto(&mut self, cpu: CpuId, pc: Pc) -> Flow {
        self.cpus[cpu].top().pc = pc;
        Flow::Again
    }

    /// Lets `ns`, and what side effects have cost, pass before the path goes on at `pc`.
    #[inline]
    pub(crate) fn spend(&mut self, cpu: CpuId, ns: Ns, pc: Pc) -> Flow {
        let now = self.now;
        let c = &mut self.cpus[cpu];
        let total = super::work::stretch(ns + c.carry, c.speed);
        c.carry = 0;
        let top = c.top();
        top.pc = pc;
        top.end = now + total;
        if total == 0 { Flow::Again } else { Flow::Wait }
    }
}

impl<P: Policy, W: Program, O: Observer> Simulation<P, W, O> {
    /// Takes the top frame off; costs of its last side effects are spent first.
    pub(crate) fn pop_frame(&mut self, cpu: CpuId) -> Flow {
        let c = &mut self.w.cpus[cpu];
        if c.carry > 0 {
            return self.w.spend(cpu, 0, Pc::Pop);
        }
        let now = self.w.now;
        c.depth -= 1;
        if c.depth > 0 {
            c.top = c.below[c.depth as usize - 1];
            if c.category != c.top.category {
                c.settle(now);
                c.category = c.top.category;
            }
            let left = c.top.end;
            if left > 0 && left != NEVER {
                c.top.end = now + left;
                return Flow::Wait;
            }
            return Flow::Again;
        }
        let category = c.base_category();
        if c.category != category || c.base == Base::Work {
            c.settle(now);
            c.category = category;
        }
        self.catch_up(cpu);
        Flow::Again
    }
}
