//! A FIFO queue for each last-level cache, with stealing.
//!
//! A task waits in the queue of the LLC that its CPU is in. A CPU that needs a task takes the first
//! of its own LLC's queue; if that is empty it looks at the others, those of its node first, from
//! its own LLC onwards, so that not all CPUs rob the same one. It wakes and chooses as
//! [`super::Fifo`] does, second look included; a look at several queues is not one instant, so a
//! CPU may go idle past a task that was put where it had looked already, until the kick of that
//! task's insertion, or the next dispatch of any CPU, finds it.

use super::cx::Cx;
use super::fifo::{insert_at_rest, select_cpu};
use super::ops::Ops;
use super::queue::Order;
use super::types::{Dsq, DsqId, Insert, Next, Wake};
use sim_core::{EnqueueFlags, TaskId};
use topology::CpuId;

/// See the module's documentation.
#[derive(Clone, Debug)]
pub struct LlcFifo {
    /// By LLC.
    queues: Vec<DsqId>,
    /// By LLC: all LLCs in the order in which its CPUs look at them.
    rounds: Vec<Vec<u32>>,
    /// Look again when a task is inserted (see [`super::Fifo`]).
    pub recheck: bool,
}

impl LlcFifo {
    /// The scheduler, with or without its second look.
    pub fn new(recheck: bool) -> Self {
        Self { queues: Vec::new(), rounds: Vec::new(), recheck }
    }
}

impl Ops for LlcFifo {
    fn init(&mut self, cx: &mut Cx<'_>) {
        let machine = cx.machine();
        let n = machine.llcs.len();
        let node = |llc: usize| {
            let first = machine.llcs[llc].first();
            first.map(|cpu| machine.cpus[cpu].node)
        };
        let round = |own: usize| {
            let mut round: Vec<usize> = (0..n).map(|i| (own + i) % n).collect();
            round.sort_by_key(|llc| node(*llc) != node(own));
            round.into_iter().map(|llc| llc as u32).collect()
        };
        self.rounds = (0..n).map(round).collect();
        self.queues = (0..n).map(|_| cx.create_dsq(Order::Fifo)).collect();
    }

    fn select_cpu(&mut self, cx: &mut Cx<'_>, p: TaskId, prev: CpuId, wake: Wake) -> CpuId {
        select_cpu(cx, p, prev, wake, self.recheck)
    }

    fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
        if !(self.recheck && insert_at_rest(cx, p)) {
            let llc = cx.machine().cpus[cx.task_cpu(p)].llc;
            let flags = Insert { kick_idle: self.recheck, ..Insert::default() };
            cx.insert_with(p, Dsq::User(self.queues[llc as usize]), cx.slice_dfl(), flags);
        }
    }

    fn dispatch(&mut self, cx: &mut Cx<'_>, cpu: CpuId, _: Option<TaskId>, attempt: u32) -> Next {
        let own = cx.machine().cpus[cpu].llc;
        match self.rounds[own as usize].get(attempt as usize) {
            Some(llc) => Next::Consume(self.queues[*llc as usize]),
            None => Next::Done,
        }
    }
}
