//! Frames: kernel paths in the middle of a step, as they lie on a CPU's stack.

use crate::category::Category;
use crate::{MaskId, Ns, SchedAttr, TaskId};
use topology::CpuId;

/// Where a path goes on when its present step is over. A name is the path, then what happens next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pc {
    SchedLock,
    SchedBody,
    SchedDequeue,
    SchedPick,
    SchedBeforeIdle,
    SchedPickAgain,
    SchedSwitch,
    SchedDone,
    NestLock,
    NestHold,
    NestDone,
    WakeBegin,
    WakeLook,
    WakeOnRq,
    WakeDelayed,
    WakeSearched,
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
    FlushLocked,
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

/// Does the CPU go on at this instant, or does it wait for the end of a step or for a grant?
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
    /// The way out of the interrupt is still to come.
    pub irq_exit: bool,
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
    /// A time that a later step asks for, ns: what a search took, what is left of an enqueue, or of
    /// an interrupt besides its way out; of a pick what has passed, then what is left.
    pub kept_ns: u32,
}

impl Frame {
    pub(crate) const EMPTY: Frame = Frame {
        pc: Pc::SchedLock,
        path: Path::Preempt,
        irq_off: true,
        first: false,
        sync: false,
        irq_exit: false,
        category: Category::Kernel,
        end: 0,
        task: TaskId::NONE,
        other: TaskId::NONE,
        target: CpuId(0),
        kept_ns: 0,
    };

    pub(crate) fn at(pc: Pc, path: Path, category: Category) -> Frame {
        Frame { pc, path, category, ..Frame::EMPTY }
    }
}

/// What the call under way on a CPU changes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    Scheduler(SchedAttr),
    Affinity(MaskId),
}

/// Where such a call goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AttrStep {
    Begin,
    Locked,
    Apply,
    Applied,
    Moved,
    AttachLocked,
    Attach,
    Attached,
}
