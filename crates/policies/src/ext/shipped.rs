//! Whichever of the schedulers that come with the layer: chosen when a run begins, so that what
//! runs schedulers is compiled for one type.

use super::cx::Cx;
use super::ops::{Next, Ops, Wake};
use super::{Fifo, LlcFifo, Vtime};
use sim_core::{EnqueueFlags, TaskId};
use topology::CpuId;

/// One of the three. Passes on the operations that one of them has.
#[derive(Clone, Debug)]
pub enum Shipped {
    /// One queue, first come first served.
    Fifo(Fifo),
    /// One queue by weighted run time.
    Vtime(Vtime),
    /// A queue for each LLC.
    LlcFifo(LlcFifo),
}

/// Calls an operation of whichever it is.
macro_rules! whichever {
    ($self:ident, $ops:ident => $call:expr) => {
        match $self {
            Self::Fifo($ops) => $call,
            Self::Vtime($ops) => $call,
            Self::LlcFifo($ops) => $call,
        }
    };
}

impl Ops for Shipped {
    fn init(&mut self, cx: &mut Cx<'_>) {
        whichever!(self, ops => ops.init(cx));
    }

    fn enable(&mut self, cx: &mut Cx<'_>, p: TaskId) {
        whichever!(self, ops => ops.enable(cx, p));
    }

    fn select_cpu(&mut self, cx: &mut Cx<'_>, p: TaskId, prev: CpuId, wake: Wake) -> CpuId {
        whichever!(self, ops => ops.select_cpu(cx, p, prev, wake))
    }

    fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, flags: EnqueueFlags) {
        whichever!(self, ops => ops.enqueue(cx, p, flags));
    }

    fn dispatch(&mut self, cx: &mut Cx<'_>, cpu: CpuId, prev: Option<TaskId>, n: u32) -> Next {
        whichever!(self, ops => ops.dispatch(cx, cpu, prev, n))
    }

    fn running(&mut self, cx: &mut Cx<'_>, p: TaskId) {
        whichever!(self, ops => ops.running(cx, p));
    }

    fn stopping(&mut self, cx: &mut Cx<'_>, p: TaskId, runnable: bool) {
        whichever!(self, ops => ops.stopping(cx, p, runnable));
    }
}
