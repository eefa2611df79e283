//! One FIFO queue for the whole machine, as scx_simple has it.
//!
//! A task that wakes up and finds an idle CPU goes straight to that CPU's local queue; any other
//! waits in the one shared queue, where a CPU that needs a task takes the first that it may run.
//!
//! scx_simple decides in `select_cpu` and does not look again, so a task may wait beside an idle
//! CPU, for a whole slice at worst. Between its look at the idle CPUs and the insertion a CPU may
//! go idle, and a claimed one may have got something else to do. And a SYNC wake-up while some CPU
//! idles puts the task on the waker's local queue, where it waits until the waker sleeps.
//! [`Fifo::recheck`] does without all three: a local queue is used only if its CPU rests when the
//! task is enqueued, an insertion into the shared queue kicks a CPU that idles by then, and a CPU
//! that goes idle looks a last time. So no CPU idles beside a task that waits.

use super::cx::Cx;
use super::ops::Ops;
use super::queue::Order;
use super::types::{Dsq, DsqId, Insert, Kick, Next, Wake, Why};
use sim_core::{EnqueueFlags, TaskId};
use topology::CpuId;

/// See the module's documentation.
#[derive(Clone, Copy, Debug)]
pub struct Fifo {
    shared: DsqId,
    /// Look again when a task is inserted. False: as scx_simple.
    pub recheck: bool,
}

impl Fifo {
    /// The scheduler, with or without its second look.
    pub fn new(recheck: bool) -> Self {
        Self { shared: DsqId::default(), recheck }
    }
}

impl Ops for Fifo {
    fn init(&mut self, cx: &mut Cx<'_>) {
        self.shared = cx.create_dsq(Order::Fifo);
    }

    fn select_cpu(&mut self, cx: &mut Cx<'_>, p: TaskId, prev: CpuId, wake: Wake) -> CpuId {
        select_cpu(cx, p, prev, wake, self.recheck)
    }

    fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
        if !(self.recheck && insert_at_rest(cx, p)) {
            let flags = Insert { kick_idle: self.recheck, ..Insert::default() };
            cx.insert_with(p, Dsq::User(self.shared), cx.slice_dfl(), flags);
        }
    }

    fn dispatch(&mut self, _: &mut Cx<'_>, _: CpuId, _: Option<TaskId>, attempt: u32) -> Next {
        if attempt == 0 { Next::Consume(self.shared) } else { Next::Done }
    }

    fn update_idle(&mut self, cx: &mut Cx<'_>, cpu: CpuId, idle: bool) {
        if self.recheck && idle {
            look_again(cx, cpu, self.shared);
        }
    }
}

/// A CPU goes idle. What was put into the queue since `dispatch` looked has kicked nobody, as this
/// CPU did not rest yet.
pub(super) fn look_again(cx: &mut Cx<'_>, cpu: CpuId, shared: DsqId) {
    if cx.dsq_nr_queued(shared) > 0 {
        cx.kick_cpu(cpu, Kick::Idle);
    }
}

/// The kernel's choice; a task for an idle CPU, or for its waker's, is dispatched there at once,
/// unless `enqueue` will look again.
pub(super) fn select_cpu(
    cx: &mut Cx<'_>,
    p: TaskId,
    prev: CpuId,
    wake: Wake,
    recheck: bool,
) -> CpuId {
    let (cpu, why) = cx.select_cpu_dfl(p, prev, wake);
    if why != Why::Prev && !recheck {
        cx.insert(p, Dsq::Local, cx.slice_dfl());
    }
    cpu
}

/// Inserts a task into the local queue of its CPU if that would run it at once.
pub(super) fn insert_at_rest(cx: &mut Cx<'_>, p: TaskId) -> bool {
    let rests = cx.is_at_rest(cx.task_cpu(p));
    if rests {
        cx.insert(p, Dsq::Local, cx.slice_dfl());
    }
    rests
}
