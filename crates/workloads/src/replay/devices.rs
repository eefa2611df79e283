//! Devices that end sleeps by interrupting a CPU that need not be the sleeper's.

use sim_core::{Ns, ProgramCx, Step, TaskId};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use topology::{CpuId, PerCpu};

/// What the devices of a replay have yet to end, and what their interrupts have yet to do.
#[derive(Default)]
pub(super) struct Devices {
    /// Interrupts to come: when, where, for which task, and how long they go on then, ns.
    due: BinaryHeap<Reverse<(Ns, CpuId, TaskId, Ns)>>,
    /// The steps of the interrupts that have been raised and not handled.
    raised: PerCpu<VecDeque<Step>>,
}

impl Devices {
    /// At `due` a device interrupts `cpu` and wakes `task`. Its interrupt goes on for `rest_ns`.
    pub(super) fn end_sleep(
        &mut self,
        cx: &mut ProgramCx<'_>,
        due: Ns,
        (cpu, task, rest_ns): (CpuId, TaskId, Ns),
    ) {
        self.due.push(Reverse((due, cpu, task, rest_ns)));
        self.program(cx);
    }

    /// Whose time has come interrupt their CPUs.
    pub(super) fn expire(&mut self, cx: &mut ProgramCx<'_>) {
        while let Some(&Reverse((due, cpu, task, rest_ns))) = self.due.peek()
            && due <= cx.now()
        {
            self.due.pop();
            self.raised.cover(cpu, VecDeque::new);
            self.raised[cpu].push_back(Step::Wake { task, sync: false });
            if rest_ns > 0 {
                self.raised[cpu].push_back(Step::Spend(rest_ns));
            }
            cx.raise(cpu);
        }
        self.program(cx);
    }

    /// Next step of the interrupt on this CPU.
    pub(super) fn interrupt(&mut self, cpu: CpuId) -> Step {
        self.raised[cpu].pop_front().unwrap_or(Step::Done)
    }

    fn program(&self, cx: &mut ProgramCx<'_>) {
        let next = self.due.peek();
        cx.set_device(next.map_or(sim_core::NEVER, |Reverse((due, ..))| *due));
    }
}
