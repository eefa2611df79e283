//! One queue for the whole machine by weighted run time, as scx_simple has it by default.
//!
//! A task's vtime grows by what it has run, the slower the heavier it is. A task that has slept is
//! put back by one slice at most. A CPU chooses its next task before the one whose slice is over is
//! back in the queue, so no task runs two slices in a row while others wait. It wakes, chooses and
//! dispatches as [`super::Fifo`] does, second look included.

use super::cx::Cx;
use super::fifo::{insert_at_rest, look_again, select_cpu};
use super::ops::Ops;
use super::queue::Order;
use super::types::{DsqId, Insert, Next, Wake};
use sim_core::{EnqueueFlags, TaskId};
use topology::CpuId;

/// See the module's documentation.
#[derive(Clone, Copy, Debug)]
pub struct Vtime {
    shared: DsqId,
    /// The largest vtime at which a task has started to run.
    now: u64,
    /// Look again when a task is inserted (see [`super::Fifo`]).
    pub recheck: bool,
}

impl Vtime {
    /// The scheduler, with or without its second look.
    pub fn new(recheck: bool) -> Self {
        Self { shared: DsqId::default(), now: 0, recheck }
    }
}

fn is_before(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i64) < 0
}

impl Ops for Vtime {
    fn init(&mut self, cx: &mut Cx<'_>) {
        self.shared = cx.create_dsq(Order::Vtime);
    }

    fn enable(&mut self, cx: &mut Cx<'_>, p: TaskId) {
        cx.set_vtime(p, self.now);
    }

    fn select_cpu(&mut self, cx: &mut Cx<'_>, p: TaskId, prev: CpuId, wake: Wake) -> CpuId {
        select_cpu(cx, p, prev, wake, self.recheck)
    }

    fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
        if self.recheck && insert_at_rest(cx, p) {
            return;
        }
        let slice = cx.slice_dfl();
        let earliest = self.now.wrapping_sub(slice);
        let vtime = cx.vtime(p);
        let vtime = if is_before(vtime, earliest) { earliest } else { vtime };
        let flags = Insert { kick_idle: self.recheck, ..Insert::default() };
        cx.insert_vtime(p, self.shared, slice, vtime, flags);
    }

    fn dispatch(&mut self, _: &mut Cx<'_>, _: CpuId, _: Option<TaskId>, attempt: u32) -> Next {
        if attempt == 0 { Next::Consume(self.shared) } else { Next::Done }
    }

    fn update_idle(&mut self, cx: &mut Cx<'_>, cpu: CpuId, idle: bool) {
        if self.recheck && idle {
            look_again(cx, cpu, self.shared);
        }
    }

    fn running(&mut self, cx: &mut Cx<'_>, p: TaskId) {
        if is_before(self.now, cx.vtime(p)) {
            self.now = cx.vtime(p);
        }
    }

    fn stopping(&mut self, cx: &mut Cx<'_>, p: TaskId, _runnable: bool) {
        let used = cx.slice_dfl().saturating_sub(cx.slice(p));
        let vtime = cx.vtime(p).wrapping_add(used * 100 / u64::from(cx.weight(p)));
        cx.set_vtime(p, vtime);
    }
}
